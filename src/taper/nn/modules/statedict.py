"""The state of a Module as a flat dictionary, and back.

Owns `state_dict`, `load_state_dict`, extra state, and the hooks on both.

Differs: a load that fails writes nothing, where PyTorch has by then written every entry that
fitted. Only entries of modules with Module's own `_load_from_state_dict` are held back: an
override may work on what it has just loaded, so its entries are written at once, as in PyTorch.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from taper.autograd.grad_mode import no_grad
from taper.autograd.handles import RemovableHandle
from taper.nn.modules.registration import Registration
from taper.nn.parameter import Parameter, is_lazy
from taper.tensor import Tensor
from taper.userwarning import warn_user

EXTRA_STATE = "_extra_state"

_UNREACHABLE = (
    "Reached a code path in Module.{name}() that should never be called. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
)


class IncompatibleKeys(NamedTuple):
    """Hold the names that only one of module and state has."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class _IncompatibleKeys(IncompatibleKeys):
    """Hold what `load_state_dict` returns."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class StateDict(Registration):
    """Read and write a module's state as a dictionary: a part of Module."""

    _version: int = 1  # of the layout of the state; goes into the metadata

    # --- saving ------------------------------------------------------------------------------

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Return all parameters and persistent buffers by full name, as tensors that share memory.

        With `keep_vars` they are the parameters themselves instead of detached tensors.

        >>> from taper import nn
        >>> list(nn.Linear(2, 3).state_dict())
        ['weight', 'bias']
        """
        if args:
            warn_user(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module."
                "state_dict for details.",
                FutureWarning,
            )
            given = (*args, *(destination, prefix, keep_vars)[len(args) :])
            destination, prefix, keep_vars = given
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                inner = f"{prefix}{name}."
                module.state_dict(destination=destination, prefix=inner, keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            replaced = hook(self, destination, prefix, metadata)
            if replaced is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = replaced
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put the state of this module, without its submodules, into `destination`."""
        for name, value in self._own_state():
            destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not StateDict.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _own_state(self) -> list[tuple[str, Any]]:
        """Return parameters and persistent buffers of this module alone."""
        return [
            (name, value)
            for name, value in itertools.chain(self._parameters.items(), self._buffers.items())
            if value is not None and name not in self._non_persistent_buffers_set
        ]

    def get_extra_state(self) -> Any:
        """Return what a subclass wants in the state beside tensors; goes with `set_extra_state`."""
        raise RuntimeError(_UNREACHABLE.format(name="get_extra_state"))

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` returned."""
        raise RuntimeError(_UNREACHABLE.format(name="set_extra_state"))

    # --- loading -----------------------------------------------------------------------------

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy the tensors of `state_dict` into parameters and buffers of the same name.

        Missing and unexpected names are an error if `strict`, else they are only returned. With
        `assign` the tensors replace the old ones instead of being copied.

        >>> from taper import nn
        >>> nn.Linear(2, 3).load_state_dict(nn.Linear(2, 3).state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        load = _Load(getattr(state_dict, "_metadata", None), assign)
        load.run(self, OrderedDict(state_dict), "")
        errors = load.errors
        if strict:
            for names, text in ((load.unexpected, "Unexpected"), (load.missing, "Missing")):
                if names:
                    listed = ", ".join(f'"{name}"' for name in names)
                    errors.insert(0, f"{text} key(s) in state_dict: {listed}. ")
        if not errors:
            load.write()
        if errors:
            listed = "\n\t".join(errors)
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}"
            )
        return _IncompatibleKeys(load.missing, load.unexpected)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module, without its submodules; what does not fit goes into the lists."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
        known = dict(self._own_state())
        for name, target in known.items():
            key = prefix + name
            if key in state_dict:
                self._load_entry(name, target, key, state_dict[key], local_metadata, error_msgs)
            elif strict:
                missing_keys.append(key)
        self._load_extra_state(
            state_dict, prefix + EXTRA_STATE, strict, missing_keys, unexpected_keys
        )
        if strict:
            unexpected_keys += self._unexpected(state_dict, prefix, known)

    def _load_entry(
        self,
        name: str,
        target: Tensor,
        key: str,
        value: Any,
        metadata: dict[str, Any],
        errors: list[str],
    ) -> None:
        if not isinstance(value, Tensor):
            errors.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
                f"object from checkpoint but received {type(value)}"
            )
            return
        if target.ndim == 0 and value.ndim == 1 and len(value) == 1:
            value = value[0]  # scalars were saved as one-element tensors long ago
        if not is_lazy(target) and value.shape != target.shape:
            errors.append(
                f"size mismatch for {key}: copying a param with shape {value.shape} from "
                f"checkpoint, the shape in current model is {target.shape}."
            )
            return
        replace = metadata.get("assign_to_params_buffers", False)
        write = functools.partial(self._write_entry, name, target, key, value, replace, errors)
        held_back = getattr(metadata, "held_back", None)
        if held_back is None:
            write()
        else:
            held_back.append(write)

    def _write_entry(
        self, name: str, target: Tensor, key: str, value: Tensor, replace: bool, errors: list[str]
    ) -> None:
        try:
            if not replace:
                if target.is_meta and not value.is_meta:
                    warn_user(
                        f"for {key}: copying from a non-meta parameter in the checkpoint to a meta "
                        "parameter in the current model, which is a no-op. (Did you mean to pass "
                        "`assign=True` to assign items in the state dictionary to their "
                        "corresponding key in the module instead of copying them in place?)"
                    )
                with no_grad():
                    target.copy_(value)
                return
            if isinstance(target, Parameter):
                if isinstance(value, Parameter):
                    value.requires_grad_(target.requires_grad)
                else:
                    value = Parameter(value, requires_grad=target.requires_grad)
            setattr(self, name, value)
        except Exception as error:
            errors.append(
                f'While copying the parameter named "{key}", whose dimensions in the model are '
                f"{target.size()} and whose dimensions in the checkpoint are {value.size()}, an "
                f"exception occurred : {error.args}."
            )

    def _load_extra_state(
        self, state_dict: Any, key: str, strict: bool, missing: list[str], unexpected: list[str]
    ) -> None:
        if type(self).set_extra_state is not StateDict.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing.append(key)
        elif strict and key in state_dict:
            unexpected.append(key)

    def _unexpected(self, state_dict: Any, prefix: str, known: Any) -> list[str]:
        """Return the names under `prefix` that belong neither to this module nor to a submodule."""
        found = []
        for key in state_dict:
            if not key.startswith(prefix) or key == prefix + EXTRA_STATE:
                continue
            name, dot, _ = key[len(prefix) :].partition(".")
            if name not in (self._modules if dot else known):
                found.append(key)
        return found

    # --- hooks -------------------------------------------------------------------------------

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the state is collected."""
        return _add(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, metadata)` at the end; the dict may change."""
        hook._from_public_api = True
        return _add(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Any) -> RemovableHandle:
        """Register a post-hook that may return another dictionary."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was "
                "previously registered via register_state_dict_post_hook"
            )
        return _add(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a hook before this module is loaded.

        The call is `hook(module, state_dict, prefix, metadata, strict, missing_keys,
        unexpected_keys, error_msgs)`.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        return _add(self._load_state_dict_pre_hooks, _LoadHook(hook, self if with_module else None))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after this module and its submodules are loaded.

        The hook may take names off the lists of `incompatible_keys`.
        """
        return _add(self._load_state_dict_post_hooks, hook)


class _Metadata(dict[str, Any]):
    """Hold the metadata that `_load_from_state_dict` gets, and the writes that are held back."""

    held_back: list[Callable[[], None]] | None = None


class _Load:
    """Collect, in a run of `load_state_dict`, what did not fit and the writes held back."""

    def __init__(self, metadata: Any, assign: bool) -> None:
        self.metadata = metadata or {}
        self.assign = assign
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.errors: list[str] = []
        self.held_back: list[Callable[[], None]] = []

    def run(self, module: Any, state_dict: Any, prefix: str) -> None:
        metadata = _Metadata(self.metadata.get(prefix[:-1], {}))
        if self.assign:
            metadata["assign_to_params_buffers"] = True
        if getattr(type(module)._load_from_state_dict, "_writes_last", False):
            metadata.held_back = self.held_back
        module._load_from_state_dict(
            state_dict, prefix, metadata, True, self.missing, self.unexpected, self.errors
        )
        for name, child in module._modules.items():
            if child is not None:
                inner = f"{prefix}{name}."
                part = OrderedDict((k, v) for k, v in state_dict.items() if k.startswith(inner))
                self.run(child, part, inner)
        self._run_post_hooks(module)

    def _run_post_hooks(self, module: Any) -> None:
        if not module._load_state_dict_post_hooks:
            return
        if not self.errors:
            self.write()  # the hooks want to see the module loaded
        keys = _IncompatibleKeys(self.missing, self.unexpected)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not "
                    "expected to return new values, if incompatible_keys need to be modified, it "
                    "should be done inplace."
                )

    def write(self) -> None:
        for write in self.held_back:
            write()
        self.held_back.clear()


def writes_last(function: Any) -> Any:
    """Mark a `_load_from_state_dict` that never looks at what it has loaded."""
    function._writes_last = True
    return function


writes_last(StateDict._load_from_state_dict)


class _LoadHook:
    """Call a load pre-hook, with the module if the hook wants that, without keeping it alive."""

    def __init__(self, hook: Callable[..., Any], module: Any) -> None:
        functools.update_wrapper(self, hook)
        self.hook = hook
        self.with_module = module is not None
        self.module = None if module is None else weakref.ref(module)

    def __call__(self, *args: Any) -> Any:
        if self.module is None:
            return self.hook(*args)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args)

    def __getstate__(self) -> dict[str, Any]:
        module = self.module() if self.module is not None else None
        return {"hook": self.hook, "with_module": self.with_module, "module": module}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state["with_module"] and state["module"] is None:
            raise RuntimeError("You are trying to revive the hook of a dead Module!")
        self.__init__(state["hook"], state["module"])  # type: ignore[misc]


def _add(table: Any, hook: Any) -> RemovableHandle:
    handle = RemovableHandle(table)
    table[handle.id] = hook
    return handle
