"""Optimizer: parameter groups, state, their dictionaries, and the hooks around `step`.

Knows parameters and dictionaries; how a parameter is updated is the subclass's business.
"""

from __future__ import annotations

import functools
import importlib
import itertools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar, overload

from taper import dtypes
from taper.autograd.grad_mode import enable_grad, set_grad_enabled
from taper.autograd.handles import HookDict, RemovableHandle
from taper.autograd.state import local
from taper.ops.creation.convert import typename
from taper.ops.elementwise.complexes import view_as_real
from taper.optim.update import plain
from taper.tensor import Tensor
from taper.userwarning import warn_user

# What an optimizer takes: tensors, (name, tensor) pairs, or groups as dicts.
ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]

Loss = TypeVar("Loss")  # what a closure returns


class _RequiredParameter:
    """Stand in `defaults` for a value that every group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()

_global_optimizer_pre_hooks = HookDict()
_global_optimizer_post_hooks = HookDict()

_HOOK_TABLES = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before every step of every optimizer."""
    return _global_optimizer_pre_hooks.add(hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after every step of every optimizer."""
    return _global_optimizer_post_hooks.add(hook)


def with_step_hooks(step: Any) -> Any:
    """Put the hooks around a `step`; every subclass's `step` is wrapped when it is defined."""

    @functools.wraps(step)
    def stepped(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if self._around_step is not None:
            with self._around_step(self):
                return run_with_hooks(self, step, (self, *args), kwargs)
        recorder = local.state.recorder
        if recorder is not None:
            name = f"Optimizer.step#{type(self).__name__}.step"
            return recorder.run_block(
                name, lambda: run_with_hooks(self, step, (self, *args), kwargs)
            )
        if (
            self._optimizer_step_pre_hooks
            or self._optimizer_step_post_hooks
            or _global_optimizer_pre_hooks
            or _global_optimizer_post_hooks
        ):
            return run_with_hooks(self, step, (self, *args), kwargs)
        return step(self, *args, **kwargs)

    stepped.hooked = True  # type: ignore[attr-defined]
    return stepped


def run_with_hooks(optimizer: Any, step: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    before = (_global_optimizer_pre_hooks, optimizer._optimizer_step_pre_hooks)
    for hook in itertools.chain.from_iterable(list(table.values()) for table in before):
        replaced = hook(optimizer, args, kwargs)
        if replaced is not None:
            if not (isinstance(replaced, tuple) and len(replaced) == 2):
                raise RuntimeError(
                    f"{step} must return None or a tuple of (new_args, new_kwargs), but got "
                    f"{replaced}."
                )
            args, kwargs = replaced
    result = step(*args, **kwargs)
    after = (optimizer._optimizer_step_post_hooks, _global_optimizer_post_hooks)
    for hook in itertools.chain.from_iterable(list(table.values()) for table in after):
        hook(optimizer, args, kwargs)
    return result


class Optimizer:
    """Hold parameters in groups, with options and state: the base of all optimizers.

    A loop calls `zero_grad()`, computes a loss, calls its `backward()`, then `step()`. Subclasses
    define `step`.

    Args:
        params: the parameters, pairs (name, parameter), or groups: dicts with "params" and options
            of their own.
        defaults: the options of groups that do not give their own.

    Attributes:
        param_groups: a list of dicts, each with "params" and its options.
        state: a dict for each parameter.

    Example:
        >>> import taper
        >>> weight = taper.nn.Parameter(taper.ones(2))
        >>> taper.optim.SGD([{"params": [weight], "lr": 0.5}]).param_groups[0]["lr"]
        0.5
    """

    # Empty: optimizers around another one often leave `super().__init__` out.
    _optimizer_step_pre_hooks: Mapping[int, Callable[..., Any]] = MappingProxyType({})
    _optimizer_step_post_hooks: Mapping[int, Callable[..., Any]] = MappingProxyType({})
    # A context around each step, for parameters that have their elements elsewhere.
    _around_step: Any = None
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = with_step_hooks(cls.__dict__["step"])  # type: ignore[method-assign]

    def _patch_step_function(self) -> None:
        """Do nothing: a class's `step` has its hooks since the class was defined.

        Optimizers around another one call this, which in PyTorch wraps `step`.
        """

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hook_tables()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or "
                f"dicts, but got {typename(params)}"
            )
        self.state: defaultdict[Tensor, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hook_tables(self) -> None:
        for name in _HOOK_TABLES:
            self.__dict__.setdefault(name, OrderedDict())

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_hook_tables()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"\nParameter Group {number}" if number else "Parameter Group 0")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])

    def _repr_html_(self) -> str:
        # late: only notebooks ask
        text: str = importlib.import_module("taper.viz.notebook").optimizer_html(self)
        return text

    # --- training ----------------------------------------------------------------------------

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], Loss]) -> Loss: ...
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters from their gradients; every subclass defines how.

        A `closure` computes the loss anew; its result is returned.
        """
        raise NotImplementedError

    @staticmethod
    def _evaluated(closure: Callable[[], Any] | None) -> Any:
        """Return the loss that the closure computes, None without one."""
        if closure is None:
            return None
        with enable_grad():
            return closure()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros."""
        recorder = local.state.recorder
        if recorder is None:
            self._forget_grads(set_to_none)
        else:
            name = f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"
            recorder.run_block(name, lambda: self._forget_grads(set_to_none))

    def _forget_grads(self, set_to_none: bool) -> None:
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none:
                    meta = param._autograd_meta
                    if meta is not None:
                        meta.grad = None
                elif param.grad is not None:
                    if param.grad.grad_fn is not None:
                        param.grad.detach_()
                    else:
                        param.grad.requires_grad_(False)
                    param.grad.zero_()

    # --- groups ------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, with its own hyperparameters where it gives them.

        "params" is a tensor, or an iterable of tensors or of (name, tensor).
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = _as_list(param_group["params"])
        names = _names_of(params)
        if names is not None:
            params = [pair[1] for pair in params]
        self._check_params(params)
        missing = [
            name
            for name, default in self.defaults.items()
            if default is required and name not in param_group
        ]
        if missing:
            raise ValueError(
                "parameter group didn't specify a value of required optimization parameter "
                f"{missing[0]}"
            )
        if len(set(params)) != len(params):
            warn_user(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error; see github.com/pytorch/pytorch/issues/40967 for more "
                "information"
            )
        self._check_groups(params, names)
        for param in params:
            self._around_step = getattr(type(param), "_around_step", self._around_step)
        param_group["params"] = params
        if names is not None:
            param_group["param_names"] = names
        for name, default in self.defaults.items():
            param_group.setdefault(name, default)
        self.param_groups.append(param_group)

    def _check_params(self, params: list[Any]) -> None:
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is "
                    + typename(param)
                )
            if not (self.defaults.get("differentiable") or param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")

    def _check_groups(self, params: list[Tensor], names: list[str] | None) -> None:
        """Check that the group fits the others: names for all or none, no parameter twice."""
        if self.param_groups and ("param_names" in self.param_groups[0]) != (names is not None):
            text = "without names" if names is None else "with names"
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{text} to the optimizer"
            )
        known: set[Tensor] = set()
        for group in self.param_groups:
            known.update(group["params"])
        if not known.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")

    # --- dictionaries ------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the state and the groups as a dictionary, with numbers instead of parameters.

        >>> import taper
        >>> taper.optim.SGD([taper.ones(1)], lr=0.1).state_dict()["param_groups"][0]["params"]
        [0]
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[Any, int] = {}
        groups = []
        for group in self.param_groups:
            for param in group["params"]:
                numbers.setdefault(param, len(numbers))
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[param] for param in group["params"]]
            groups.append(packed)
        state = {
            (numbers[key] if isinstance(key, Tensor) else key): value
            for key, value in self.state.items()
        }
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            replaced = hook(self, result)
            if replaced is not None:
                result = replaced
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned; tensors are converted to the parameters' dtype."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            replaced = hook(self, state_dict)
            if replaced is not None:
                state_dict = replaced
        saved = deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        for ours, theirs in zip(self.param_groups, saved, strict=True):
            if len(ours["params"]) != len(theirs["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of "
                    "optimizer's group"
                )
        params = {
            number: (param, ours)
            for ours, theirs in zip(self.param_groups, saved, strict=True)
            for number, param in zip(theirs["params"], ours["params"], strict=True)
        }
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                param, group = params[key]
                state[param] = _converted(param, group, value)
            else:
                state[key] = value
        groups = []
        for ours, theirs in zip(self.param_groups, saved, strict=True):
            if "param_names" in ours:
                theirs.setdefault("param_names", ours["param_names"])
            theirs["params"] = ours["params"]
            groups.append(theirs)
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    # --- hooks -------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before `step`; a result replaces the arguments."""
        return _add(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after `step`."""
        return _add(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict` collects."""
        return _add(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` afterwards; a result replaces the dictionary."""
        return _add(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before loading; a result replaces the dictionary."""
        return _add(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` after loading."""
        return _add(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def _add(table: Any, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(table)
    table[handle.id] = hook
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def _as_list(params: Any) -> list[Any]:
    if isinstance(params, Tensor):
        return [params]
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering "
            "of tensors in sets will change between runs. Please use a list instead."
        )
    return list(params)


def _names_of(params: list[Any]) -> list[str] | None:
    """Return the names if all parameters come as (name, tensor), None if none does."""
    named = [isinstance(param, tuple) for param in params]
    if not any(named):
        return None
    if not all(named):
        raise ValueError(
            "all optimizer params should be with/without names. Some param names are missing"
        )
    return [pair[0] for pair in params]


def _converted(param: Tensor, group: dict[str, Any], value: Any, key: Any = None) -> Any:
    """Convert a floating point tensor of a loaded state to the parameter's dtype."""
    if isinstance(value, Tensor):
        if key == "step":
            wanted = group.get("capturable") or group.get("fused")
            return value.to(param.device, dtypes.float32) if wanted else value
        return value.to(param.device, param.dtype) if param.is_floating_point() else value
    if isinstance(value, dict):
        return {name: _converted(param, group, each, name) for name, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        kind: Any = type(value)
        return kind(_converted(param, group, each) for each in value)
    return value


# --- what optimizers written for PyTorch import ------------------------------------------------


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """Record gradients in a `step` if the optimizer is differentiable, and only then."""

    @functools.wraps(func)
    def stepped(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(self.defaults["differentiable"]):
            return func(self, *args, **kwargs)

    return stepped


def _default_to_fused_or_foreach(
    params: list[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Choose `fused` and `foreach` where the user chose none: never `foreach` on the CPU."""
    return use_fused and not differentiable, False


_get_value = plain


def _stack_if_compiling(x: Any) -> Any:
    return x


def _get_scalar_dtype(is_fused: bool | None = None) -> dtypes.dtype:
    """Return the dtype of the tensors that count steps."""
    return (
        dtypes.float64
        if dtypes.default.float is dtypes.float64 and not is_fused
        else dtypes.float32
    )


def _to_scalar(x: Any) -> Any:
    """Drop the dimensions of a tensor of one element."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() else x


def _view_as_real(params: list[Any], *state_and_grads: list[Any]) -> None:
    """Replace complex parameters, their gradients and states by views as real numbers."""
    for number, param in enumerate(params):
        if param.is_complex():
            for each in (params, *state_and_grads):
                each[number] = view_as_real(each[number])
