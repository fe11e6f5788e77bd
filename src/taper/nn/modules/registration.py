"""What a Module consists of: parameters, buffers, submodules, and how attributes become these.

Owns the rules of assignment and registration, looking things up by path, and iterating over the
tree.  Knows nothing of calls, hooks on them, or files.
"""

from __future__ import annotations

import inspect
import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from taper.autograd.handles import HookDict, RemovableHandle
from taper.nn.parameter import Buffer, Parameter
from taper.ops.creation.convert import typename
from taper.tensor import Tensor

if TYPE_CHECKING:
    from taper.nn.modules.module import Module

# Called as hook(module, name, value) before a registration; may return another value.
parameter_registration_hooks = HookDict()
buffer_registration_hooks = HookDict()
module_registration_hooks = HookDict()

_HOOK_TABLES = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


class Registration:
    """Hold parameters, buffers and submodules by name: a part of Module.

    Assigning `module.name = value` does, in this order:

          value is a Parameter          register it; whatever else had the name is forgotten
          name is a parameter           only None may replace it
          value is a Module             register it; whatever else had the name is forgotten
          name is a submodule           only None may replace it
          value is a Buffer             register it; whatever else had the name is forgotten
          name is a buffer              only a Tensor or None may replace it
          anything else                 set an ordinary attribute
    """

    call_super_init: bool = False

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _modules: dict[str, Any]
    _is_full_backward_hook: bool | None
    _backward_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _backward_hooks: OrderedDict[int, Callable[..., Any]]
    _forward_hooks: OrderedDict[int, Callable[..., Any]]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _forward_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _state_dict_hooks: OrderedDict[int, Callable[..., Any]]
    _state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument "
                    f"'{next(iter(kwargs))}'"
                )
            if args:
                raise TypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but "
                    f"{len(args) + 1} were given"
                )
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _non_persistent_buffers_set=set(),
            _is_full_backward_hook=None,
            **{name: OrderedDict() for name in _HOOK_TABLES},
            _modules={},
        )
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # --- registering -------------------------------------------------------------------------

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under a name, or the name with None as "no parameter"."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name(name, "parameter", self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must "
                    f"be created explicitly. To express '{name}' as a function of another Tensor, "
                    "compute the value in the forward() method."
                )
            param = _after_hooks(parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is no parameter, such as a running mean.

        A buffer that is not persistent is left out of `state_dict`.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name(name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        self._buffers[name] = _after_hooks(buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under a name, or the name with None."""
        if module is not None and not isinstance(module, Registration):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {typename(name)}")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        self._modules[name] = _after_hooks(module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a submodule: another name of `add_module`."""
        self.add_module(name, module)

    def _check_name(self, name: Any, kind: str, known: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if name not in known and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    # --- attributes --------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__
        if "_parameters" in state:
            if name in state["_parameters"]:
                return state["_parameters"][name]
            if name in state["_modules"]:
                return state["_modules"][name]
            if name in state["_buffers"]:
                return state["_buffers"][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        if isinstance(value, Parameter):
            self._require_init("parameters")
            self._forget(name, "_buffers", "_modules")
            self.register_parameter(name, value)
        elif name in state.get("_parameters", ()):
            self._refuse(name, value, "parameter", "torch.nn.Parameter or None")
            self.register_parameter(name, None)
        elif isinstance(value, Registration):
            self._require_init("module")
            self._forget(name, "_parameters", "_buffers")
            state["_modules"][name] = _after_hooks(module_registration_hooks, self, name, value)
        elif name in state.get("_modules", ()):
            self._refuse(name, value, "child module", "torch.nn.Module or None")
            state["_modules"][name] = _after_hooks(module_registration_hooks, self, name, None)
        elif isinstance(value, Buffer):
            self._require_init("buffer")
            self._forget(name, "_parameters", "_modules")
            self._assign_buffer(name, value, value.persistent)
        elif name in state.get("_buffers", ()):
            if not isinstance(value, Tensor):
                self._refuse(name, value, "buffer", "torch.nn.Buffer, torch.Tensor or None")
            self._assign_buffer(name, value, name not in self._non_persistent_buffers_set)
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def _require_init(self, kind: str) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")

    @staticmethod
    def _refuse(name: str, value: Any, kind: str, expected: str) -> None:
        if value is not None:
            raise TypeError(
                f"cannot assign '{typename(value)}' as {kind} '{name}' ({expected} expected)"
            )

    def _forget(self, name: str, *tables: str) -> None:
        """Make room for a registration: an attribute or another kind of entry gives way."""
        self.__dict__.pop(name, None)
        for table in tables:
            self.__dict__[table].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _assign_buffer(self, name: str, value: Tensor | None, persistent: bool) -> None:
        """Call `register_buffer`, which subclasses override, some without `persistent`."""
        usual = type(self).register_buffer is Registration.register_buffer
        if usual or "persistent" in inspect.signature(self.register_buffer).parameters:
            self.register_buffer(name, value, persistent)
            return
        if not persistent:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements "
                "register_buffer() without the persistent argument is not allowed."
            )
        self.register_buffer(name, value)

    def __dir__(self) -> list[str]:
        tables: tuple[Any, ...] = (self._parameters, self._modules, self._buffers)
        names = {*dir(type(self)), *self.__dict__, *itertools.chain.from_iterable(tables)}
        return sorted(name for name in names if not name[0].isdigit())

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in _HOOK_TABLES:  # written by a version that had fewer of them
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    # --- looking up by path ------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """Return the submodule at a dotted path such as "encoder.layers.0"; "" means `self`."""
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Registration):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put `module` at a dotted path; with `strict` there must be a submodule already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Registration):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Registration):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter at a dotted path."""
        _, name, found = self._member(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer at a dotted path."""
        module, name, found = self._member(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def _member(self, target: str) -> tuple[Any, str, Any]:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return module, name, getattr(module, name)

    # --- iterating ---------------------------------------------------------------------------

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Iterate over all modules of the tree with their paths, this one first; shared ones once.

        >>> from taper import nn
        >>> [name for name, _ in nn.Sequential(nn.ReLU(), nn.Tanh()).named_modules()]
        ['', '0', '1']
        """
        memo = set() if memo is None else memo
        this: Any = self
        if this in memo:
            return
        if remove_duplicate:
            memo.add(this)
        yield prefix, this
        for name, module in self._modules.items():
            if module is not None:
                inner = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, inner, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Iterate over all modules of the tree, this one first."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Iterate over the direct submodules with their names; shared ones once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """Iterate over the direct submodules."""
        for _, module in self.named_children():
            yield module

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """Iterate over what `get_members_fn` gives for each module, with full names; skip None."""
        seen: set[Any] = set()
        owners = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in owners:
            for name, value in get_members_fn(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield f"{path}.{name}" if path else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Iterate over the parameters of the tree with their full names; shared ones once.

        >>> from taper import nn
        >>> [name for name, _ in nn.Linear(2, 3).named_parameters()]
        ['weight', 'bias']
        """
        yield from self._named_members(_parameters_of, prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Iterate over the parameters of the tree, shared ones once; an optimizer takes them."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Iterate over the buffers of the tree with their full names; shared ones once."""
        yield from self._named_members(_buffers_of, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Iterate over the buffers of the tree, shared ones once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer


def _parameters_of(module: Registration) -> Any:
    return module._parameters.items()


def _buffers_of(module: Registration) -> Any:
    return module._buffers.items()


def _after_hooks(hooks: HookDict, module: Registration, name: str, value: Any) -> Any:
    for hook in hooks.values():
        replacement = hook(module, name, value)
        if replacement is not None:
            value = replacement
    return value


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, parameter)` when a module registers one; a result replaces it."""
    return parameter_registration_hooks.add(hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, buffer)` when a module registers one; a result replaces it."""
    return buffer_registration_hooks.add(hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, submodule)` when a module registers one; a result replaces it."""
    return module_registration_hooks.add(hook)
