"""Calling a Module: `forward` with the hooks around it.

Owns the hooks on forward and backward, those of one module and those of all (global), and their
order.  A module without hooks pays for one look at the tables.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from taper.arrays.native import native
from taper.autograd.handles import HookDict, RemovableHandle
from taper.autograd.state import local
from taper.nn.modules.backward_hooks import BackwardHook
from taper.nn.modules.notes import note_module
from taper.nn.modules.registration import Registration
from taper.tensor import Tensor
from taper.userwarning import warn_user

if TYPE_CHECKING:
    from taper.nn.modules.module import Module

M = TypeVar("M", bound="Module")
Args: TypeAlias = tuple[Any, ...]  # `Callable[..., Any]` beside it is for `with_kwargs`
Grads: TypeAlias = tuple[Tensor, ...] | Tensor

global_forward_pre_hooks = HookDict()
global_forward_hooks = HookDict()
global_forward_hooks_with_kwargs: HookDict = HookDict()
global_forward_hooks_always_called: HookDict = HookDict()
global_backward_pre_hooks = HookDict()
global_backward_hooks = HookDict()

# Whether the global backward hooks are full ones; None as long as there was none.
_global_is_full: list[bool | None] = [None]

_BOTH_KINDS = (
    "Cannot use both regular backward hooks and full backward hooks {where}. Please use only one "
    "of them."
)


def _forward_unimplemented(self: Any, *input: Any) -> None:
    """Compute the module's result; every subclass defines how."""
    raise NotImplementedError(
        f'Module [{type(self).__name__}] is missing the required "forward" function'
    )


class Calls(Registration):
    """Call a module, with hooks before and after: a part of Module."""

    # A variable to type checkers: a method would forbid subclasses other arguments.
    forward: Callable[..., Any] = _forward_unimplemented

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # The twin of `native/calls.c`: 0.37 us a call, and 0.17 there.
        tables = self.__dict__
        try:
            hooked = (
                tables["_backward_hooks"]
                or tables["_backward_pre_hooks"]
                or tables["_forward_hooks"]
                or tables["_forward_pre_hooks"]
                or global_backward_hooks
                or global_backward_pre_hooks
                or global_forward_hooks
                or global_forward_pre_hooks
            )
        except KeyError:
            hooked = self._backward_hooks  # raises: Module.__init__ was not called
        state = local.state
        outer = state.module
        state.module = self
        try:
            if hooked:
                return self._call_with_hooks(args, kwargs)
            return self.forward(*args, **kwargs) if kwargs else self.forward(*args)
        except Exception as error:
            note_module(error, self)
            raise
        finally:
            state.module = outer

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        called: set[int] = set()
        try:
            return self._call_in_order(args, kwargs, called)
        except Exception:
            self._call_always_called(args, kwargs, called)
            raise

    def _call_in_order(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], called: set[int]
    ) -> Any:
        """Run pre-hooks, forward and hooks; `called` collects those that must always run."""
        full, plain, pre = self._backward_hook_lists()
        args, kwargs = self._run_forward_pre_hooks(args, kwargs)
        around = None
        if full or pre:
            around = BackwardHook(self, full, pre)
            args = around.wrap_inputs(args)
        result = self.forward(*args, **kwargs)
        for identity, hook in (*global_forward_hooks.items(), *self._forward_hooks.items()):
            if self._is_always_called(identity):
                called.add(identity)
            replaced = self._run_forward_hook(identity, hook, args, kwargs, result)
            if replaced is not None:
                result = replaced
        if around is not None:
            if not isinstance(result, (Tensor, tuple)):
                warn_user(
                    "For backward hooks to be called, module output should be a Tensor or a tuple "
                    f"of Tensors but received {type(result)}"
                )
            result = around.wrap_outputs(result)
        if plain:
            self._hook_last_node(plain, args, result)
        return result

    def _run_forward_pre_hooks(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        hooks = (*global_forward_pre_hooks.items(), *self._forward_pre_hooks.items())
        for identity, hook in hooks:
            if identity in self._forward_pre_hooks_with_kwargs:
                replaced = hook(self, args, kwargs)
                if replaced is not None:
                    if not (isinstance(replaced, tuple) and len(replaced) == 2):
                        raise RuntimeError(
                            "forward pre-hook must return None or a tuple of (new_args, "
                            f"new_kwargs), but got {replaced}."
                        )
                    args, kwargs = replaced
            else:
                replaced = hook(self, args)
                if replaced is not None:
                    args = replaced if isinstance(replaced, tuple) else (replaced,)
        return args, kwargs

    def _run_forward_hook(
        self, identity: int, hook: Callable[..., Any], args: Any, kwargs: Any, result: Any
    ) -> Any:
        if (
            identity in self._forward_hooks_with_kwargs
            or identity in global_forward_hooks_with_kwargs
        ):
            return hook(self, args, kwargs, result)
        return hook(self, args, result)

    def _is_always_called(self, identity: int) -> bool:
        return (
            identity in self._forward_hooks_always_called
            or identity in global_forward_hooks_always_called
        )

    def _call_always_called(self, args: Any, kwargs: Any, called: set[int]) -> None:
        """Run, after an error, the hooks that want to see every call, with None as the result."""
        hooks = (*global_forward_hooks.items(), *self._forward_hooks.items())
        for identity, hook in hooks:
            if identity in called or not self._is_always_called(identity):
                continue
            try:
                self._run_forward_hook(identity, hook, args, kwargs, None)
            except Exception as error:
                kind = "global module" if identity in global_forward_hooks else "module"
                warn_user(
                    f"{kind} forward hook with ``always_call=True`` raised an exception that was "
                    f"silenced as another error was raised in forward: {error}"
                )

    # --- backward hooks ----------------------------------------------------------------------

    def _backward_hook_lists(self) -> tuple[list[Any], list[Any], list[Any]]:
        """Return full backward hooks, those of the old kind, and pre-hooks; global first."""
        full: list[Any] = []
        plain: list[Any] = []
        if global_backward_hooks:
            (full if _global_is_full[0] else plain).extend(global_backward_hooks.values())
        if self._backward_hooks:
            own = full if self._is_full_backward_hook else plain
            own.extend(self._backward_hooks.values())
        pre = [*global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]
        return full, plain, pre

    def _hook_last_node(self, hooks: list[Any], args: Any, result: Any) -> None:
        """Put backward hooks of the old kind on the node that made the (first) output."""
        tensor = result
        while not isinstance(tensor, Tensor):
            if isinstance(tensor, dict):
                tensor = next(each for each in tensor.values() if isinstance(each, Tensor))
            else:
                tensor = tensor[0]
        node = tensor.grad_fn
        if node is not None:
            for hook in hooks:
                node.register_hook(_OnModule(hook, self))
            _warn_non_full(args, result, node)

    # --- registration ------------------------------------------------------------------------

    def register_forward_pre_hook(
        self,
        hook: Callable[[M, Args], Any] | Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args)` before `forward`; a result replaces the arguments.

        With `with_kwargs` the call is `hook(module, args, kwargs)`, and a result is
        `(args, kwargs)`.

        >>> import taper
        >>> identity = taper.nn.Identity()
        >>> handle = identity.register_forward_pre_hook(lambda module, args: args[0] + 1)
        >>> identity(taper.zeros(1))
        tensor([1.])
        """
        table, flags = self._forward_pre_hooks, self._forward_pre_hooks_with_kwargs
        handle = _add(table, hook, prepend, extra=flags)
        if with_kwargs:
            flags[handle.id] = True
        return handle

    def register_forward_hook(
        self,
        hook: Callable[[M, Args, Any], Any] | Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after `forward`; a result replaces the output.

        With `with_kwargs` the call is `hook(module, args, kwargs, output)`. With `always_call` the
        hook is called even when `forward` raised, with None as the output.
        """
        flags = [self._forward_hooks_with_kwargs, self._forward_hooks_always_called]
        handle = _add(self._forward_hooks, hook, prepend, extra=flags)
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        return handle

    def register_full_backward_pre_hook(
        self, hook: Callable[[M, Grads], Grads | None], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the gradients of the inputs are computed.

        A result replaces the gradients of the outputs.
        """
        return _add(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(
        self, hook: Callable[[M, Grads, Grads], Grads | None], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the input gradients are computed.

        A result replaces the gradients of the inputs.
        """
        self._set_kind(full=True)
        return _add(self._backward_hooks, hook, prepend)

    def register_backward_hook(
        self, hook: Callable[[M, Grads, Grads], Grads | None]
    ) -> RemovableHandle:
        """Hook the node that made the output; deprecated, use `register_full_backward_hook`."""
        self._set_kind(full=False)
        return _add(self._backward_hooks, hook, prepend=False)

    def _set_kind(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(_BOTH_KINDS.format(where="on a single Module"))
        self._is_full_backward_hook = full


if native is not None:
    native.know_calls(
        Calls,
        global_backward_hooks,
        global_backward_pre_hooks,
        global_forward_hooks,
        global_forward_pre_hooks,
        note_module,
    )


def _add(table: Any, hook: Callable[..., Any], prepend: bool, extra: Any = None) -> RemovableHandle:
    handle = RemovableHandle(table, extra_dict=extra)
    table[handle.id] = hook
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


class _OnModule:
    """Call a hook of a module from a node, without keeping the module alive."""

    def __init__(self, hook: Callable[..., Any], module: Any) -> None:
        self.hook = hook
        self.module = weakref.ref(module)

    def __call__(self, grad_inputs: Any, grad_outputs: Any) -> Any:
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, grad_inputs, grad_outputs)


def _is_tensors(value: Any) -> bool:
    if isinstance(value, Tensor):
        return True
    return isinstance(value, tuple) and all(isinstance(each, Tensor) for each in value)


def _warn_non_full(args: tuple[Any, ...], result: Any, node: Any) -> None:
    """Say what a backward hook of the old kind will not see."""
    if not _is_tensors(result):
        where = "hooks on a Module that does not return a single Tensor or a tuple of Tensors"
        lost = "some of the grad_output"
    elif not _is_tensors(args):
        where = (
            "hooks on a Module that does not take as input a single Tensor or a tuple of Tensors"
        )
        lost = "some of the grad_input"
    elif isinstance(result, tuple) and len({each.grad_fn for each in result} - {None}) > 1:
        where = "hook when outputs are generated by different autograd Nodes"
        lost = "some grad_output"
    elif {each.grad_fn for each in args} - {None} != {edge for edge, _ in node.next_functions}:
        where = "hook when the forward contains multiple autograd Nodes"
        lost = "some grad_input"
    else:
        return
    article = "a " if where.startswith("hook ") else ""
    warn_user(
        f"Using {article}non-full backward {where} is deprecated and will be removed in future "
        f"versions. This hook will be missing {lost}. Please use register_full_backward_hook to "
        "get the documented behavior.",
        FutureWarning,
    )


# --- hooks of all modules --------------------------------------------------------------------


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, args)` before the forward of every module."""
    return global_forward_pre_hooks.add(hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after the forward of every module."""
    flags = [global_forward_hooks_with_kwargs, global_forward_hooks_always_called]
    handle = _add(global_forward_hooks, hook, prepend=False, extra=flags)
    if with_kwargs:
        global_forward_hooks_with_kwargs[handle.id] = hook
    if always_call:
        global_forward_hooks_always_called[handle.id] = hook
    return handle


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_output)` before the backward of every module."""
    return global_backward_pre_hooks.add(hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` after the backward of every module."""
    _set_global_kind(full=True)
    return global_backward_hooks.add(hook)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Hook the node that made the output of every module; deprecated, use the full kind."""
    _set_global_kind(full=False)
    return global_backward_hooks.add(hook)


def _set_global_kind(full: bool) -> None:
    if _global_is_full[0] is (not full):
        raise RuntimeError(_BOTH_KINDS.format(where="as a global Module hook"))
    _global_is_full[0] = full
