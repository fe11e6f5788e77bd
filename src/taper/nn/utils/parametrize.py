"""Parameters of a module computed from others: `module.weight` as the result of modules.

A parametrized module gets a class of its own, derived from its former one, on which the tensor is
a property. The tensors that the value is computed from, and the modules that compute it, are in
`module.parametrizations`, a ModuleDict of one ParametrizationList for each such tensor.

Owns the machinery; the parametrizations that everybody uses are in `parametrizations`.
"""

from __future__ import annotations

import contextlib
import copy
import copyreg
from collections.abc import Iterator, Sequence
from typing import Any

from taper.autograd.grad_mode import no_grad
from taper.nn.modules.container import ModuleDict, ModuleList
from taper.nn.modules.module import Module
from taper.nn.parameter import Parameter
from taper.tensor import Tensor

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache_enabled = 0
# (id of a module, name) -> the module, which must not die before its entry, and the value.
_cache: dict[tuple[int, str], tuple[Module, Any]] = {}


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor once inside the block, when it is first read.

    Blocks may be nested; the outermost one forgets the values.

    Example:
        >>> from taper import nn
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
        >>> with nn.utils.parametrize.cached():
        ...     layer.weight is layer.weight
        True
    """
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


# --- the modules that compute one tensor -----------------------------------------------------


class ParametrizationList(ModuleList):
    """Hold the modules that compute one tensor, in order, and the tensors that they start from.

    These tensors are `original`, or `original0`, `original1`, ... if the `right_inverse` of the
    first module returns several. `original` stays the same object, with the value that
    `right_inverse` gives for it.

    Args:
        modules: the modules that compute the tensor.
        original: the parameter or buffer that they replace.
        unsafe: whether to check nothing.

    Example:
        >>> from taper import nn
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
        >>> [name for name, _ in layer.parametrizations.weight.named_parameters()]
        ['original0', 'original1']
    """

    original: Tensor
    unsafe: bool

    def __init__(
        self, modules: Sequence[Module], original: Tensor | Parameter, unsafe: bool = False
    ) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        started = _started(self, original)
        self.is_tensor = isinstance(started, Tensor)
        self.ntensors = 1 if isinstance(started, Tensor) else len(started)
        if not isinstance(started, Tensor):
            self._register_several(started, original)
            if not unsafe:
                _check_result(self(), shape, dtype)
            return
        if dtype != started.dtype:
            raise ValueError(
                "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                f"original.dtype: {dtype}\nright_inverse(original).dtype: {started.dtype}"
            )
        before = original.detach()
        _set(original, started)
        _register_parameter_or_buffer(self, "original", original)
        if not unsafe:
            try:
                _check_result(self(), shape, dtype)
            except BaseException:
                _set(original, before)
                raise

    def _register_several(self, tensors: Sequence[Any], original: Tensor | Parameter) -> None:
        for number, each in enumerate(tensors):
            if not isinstance(each, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, "
                    f"tuple...). Got element {number} of the sequence with type "
                    f"{type(each).__name__}."
                )
            if isinstance(original, Parameter):
                each = Parameter(each, original.requires_grad)
            each.requires_grad_(original.requires_grad)
            _register_parameter_or_buffer(self, f"original{number}", each)

    def right_inverse(self, value: Tensor) -> None:
        """Change the originals so that the computed tensor becomes `value`."""
        with no_grad():
            started: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                started = module.right_inverse(started)
            if self.is_tensor:
                _check_one(started, self.original)
                _set(self.original, started)
                return
            originals = [getattr(self, f"original{nr}") for nr in range(self.ntensors)]
            _check_several(started, originals)
            for original, each in zip(originals, started, strict=True):
                _set(original, each)

    def forward(self) -> Any:
        """Compute the tensor anew."""
        first, *others = self
        if self.is_tensor:
            value = first(self.original)
        else:
            value = first(*(getattr(self, f"original{nr}") for nr in range(self.ntensors)))
        for module in others:
            value = module(value)
        return value


def _started(modules: ModuleList, original: Tensor) -> Tensor | Sequence[Any]:
    """Return what the modules would have to start from to give `original`."""
    started: Any = original
    with no_grad():
        for module in reversed(list(modules)):
            if hasattr(module, "right_inverse"):
                with contextlib.suppress(NotImplementedError):
                    started = module.right_inverse(started)
    if not isinstance(started, (Tensor, Sequence)):
        raise ValueError(
            "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
            f"{type(started).__name__}"
        )
    return started


def _set(target: Tensor, source: Tensor) -> None:
    """Let a tensor look at the memory of another one, without history."""
    with no_grad():
        target.set_(source)


def _register_parameter_or_buffer(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


# --- checks ----------------------------------------------------------------------------------


def _check_tensor(value: Any) -> None:
    if not isinstance(value, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")


def _check_result(value: Any, shape: Any, dtype: Any) -> None:
    """Check that the first parametrization of a tensor gives something like the tensor."""
    _check_tensor(value)
    for what, before, after in (("dtype", dtype, value.dtype), ("shape", shape, value.shape)):
        if before != after:
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless "
                f"`unsafe` flag is enabled.\nunparametrized {what}: {before}\n"
                f"parametrized {what}: {after}"
            )


def _check_further(parametrization: Any, name: str, before: Tensor) -> None:
    """Check that a later parametrization takes and gives something like the tensor before it."""
    value = parametrization(before)
    _check_tensor(value)
    for what in ("dtype", "shape"):
        if getattr(value, what) != getattr(before, what):
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless "
                f"the `unsafe` flag is enabled.\nmodule.{name}.{what}: {getattr(before, what)}\n"
                f"parametrization(module.{name}).{what}: {getattr(value, what)}"
            )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        started = parametrization.right_inverse(before)
    except NotImplementedError:
        return
    if not isinstance(started, Tensor):
        raise ValueError(
            f"parametrization.right_inverse must return a tensor. Got: {type(started).__name__}"
        )
    for what in ("dtype", "shape"):
        if getattr(started, what) != getattr(before, what):
            raise ValueError(
                "The tensor returned by parametrization.right_inverse must have the same "
                f"{what} as module.{name}, unless the `unsafe` flag is enabled.\n"
                f"module.{name}.{what}: {getattr(before, what)}\n"
                f"returned {what}: {getattr(started, what)}"
            )


def _check_one(started: Any, original: Tensor) -> None:
    if not isinstance(started, Tensor):
        raise ValueError(f"`right_inverse` should return a tensor. Got {type(started).__name__}")
    if started.dtype != original.dtype:
        raise ValueError(
            f"The tensor returned by `right_inverse` has dtype {started.dtype} while `original` "
            f"has dtype {original.dtype}"
        )


def _check_several(started: Any, originals: list[Tensor]) -> None:
    wanted = "'right_inverse' must return a sequence of tensors"
    if not isinstance(started, Sequence):
        raise ValueError(f"{wanted}. Got {type(started).__name__}.")
    if len(started) != len(originals):
        raise ValueError(
            f"{wanted} of length {len(originals)}. Got a sequence of length {len(started)}."
        )
    for number, (each, original) in enumerate(zip(started, originals, strict=True)):
        if not isinstance(each, Tensor):
            raise ValueError(
                f"{wanted} or reference-type opaques. Got element {number} of type "
                f"{type(each).__name__}."
            )
        if each.dtype != original.dtype:
            raise ValueError(
                f"Tensor {number} returned by `right_inverse` has dtype {each.dtype} while "
                f"`original{number}` has dtype {original.dtype}"
            )


# --- the class of a parametrized module ------------------------------------------------------


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    known = memo.get(id(self))
    if known is not None:
        return known
    replica = memo[id(self)] = self.__new__(type(self))
    replica.__dict__.update(copy.deepcopy(self.__dict__, memo))
    for slot in copyreg._slotnames(type(self)):  # type: ignore[attr-defined]
        if hasattr(self, slot):
            setattr(replica, slot, copy.deepcopy(getattr(self, slot), memo))
    return replica


def _getstate(self: Any) -> Any:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def _property(name: str) -> property:
    def get(self: Any) -> Any:
        if not _cache_enabled:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = (self, self.parametrizations[name]())
        return _cache[key][1]

    def set(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(get, set)


def _give_class(module: Module, former: type, names: list[str]) -> None:
    """Make a class for a module on which `names` are properties.

    The class is new each time, since copies of the module keep the old one.
    """
    members: dict[str, Any] = {"__getstate__": _getstate}
    if not hasattr(former, "__deepcopy__"):
        members["__deepcopy__"] = _deepcopy
    members.update((name, _property(name)) for name in names)
    members["__module__"] = __name__
    module.__class__ = type(f"Parametrized{former.__name__}", (former,), members)


# --- registering and removing ----------------------------------------------------------------


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let a parameter or buffer be what a module computes from it.

    If the module has a `right_inverse`, the tensor keeps its value, and may be assigned to. A
    further parametrization is applied to the result of those before it.

    Args:
        module: the module that has the tensor, which is returned.
        tensor_name: the name of the tensor.
        parametrization: the module that computes it.
        unsafe: whether shape and dtype may change; nothing is checked then.

    Example:
        >>> import taper
        >>> from taper import nn
        >>> class Symmetric(nn.Module):
        ...     def forward(self, matrix):
        ...         return matrix.triu() + matrix.triu(1).T
        >>> layer = nn.Linear(3, 3)
        >>> layer = nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
        >>> taper.equal(layer.weight, layer.weight.T)
        True
    """
    parametrization.train(module.training)
    lists: Any
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_further(parametrization, tensor_name, getattr(module, tensor_name))
        lists = module.parametrizations
        lists[tensor_name].append(parametrization)
        lists[tensor_name].unsafe |= unsafe
        return module
    if tensor_name not in module._buffers and tensor_name not in module._parameters:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    # First of all: this may refuse, and a failed call changes nothing.
    made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
    delattr(module, tensor_name)
    former = type_before_parametrizations(module)
    if not is_parametrized(module):
        module.parametrizations = ModuleDict()
    lists = module.parametrizations
    _give_class(module, former, [*lists, tensor_name])
    lists[tensor_name] = made
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Tell whether a module has a parametrization, or has one of the tensor of that name.

    Args:
        module: the module.
        tensor_name: the tensor's name; None means any.

    Example:
        >>> from taper import nn
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
        >>> nn.utils.parametrize.is_parametrized(layer, "weight")
        True
        >>> nn.utils.parametrize.is_parametrized(layer, "bias")
        False
    """
    lists = getattr(module, "parametrizations", None)
    if not isinstance(lists, ModuleDict):
        return False
    return len(lists) > 0 if tensor_name is None else tensor_name in lists


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make a computed tensor an ordinary parameter or buffer again.

    Args:
        module: the module, which is returned.
        tensor_name: the name of the tensor.
        leave_parametrized: whether to keep the computed value; else that of `original` comes back.

    Example:
        >>> from taper import nn
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
        >>> nn.utils.parametrize.remove_parametrizations(layer, "weight")
        Linear(in_features=2, out_features=2, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    lists: Any = module.parametrizations
    original = _unparametrized(module, tensor_name, lists[tensor_name], leave_parametrized)
    former = type_before_parametrizations(module)
    del lists[tensor_name]
    if lists:
        _give_class(module, former, list(lists))
    else:
        del module.parametrizations
        module.__class__ = former
    _register_parameter_or_buffer(module, tensor_name, original)
    return module


def _unparametrized(module: Any, name: str, made: ParametrizationList, computed: bool) -> Tensor:
    """Return the tensor that replaces a computed one."""
    if not made.is_tensor:
        if not computed:
            raise ValueError(
                "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
                "parametrized in terms of a sequence of tensors."
            )
        value = getattr(module, name)
        return Parameter(value) if value.requires_grad else value
    original = made.original
    if computed:
        with no_grad():
            value = getattr(module, name)
        try:
            _set(original, value)
        except RuntimeError as error:
            raise RuntimeError(
                "Calling remove_parametrizations() with leave_parametrized=True for a parameter "
                "that is an instance of a tensor subclass requires set_() to be implemented "
                "correctly for the tensor subclass.Alternatively, one can opt into the "
                "swap_tensors pathEither set leave_parametrized=False or provide a working "
                "implementationfor set_() in the tensor subclass or set "
                "torch.__future__.set_swap_module_params_on_conversion(True)."
            ) from error
    return original


def type_before_parametrizations(module: Module) -> type:
    """Return the class that a module had, or has, without parametrizations.

    Args:
        module: the module.

    Example:
        >>> from taper import nn
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
        >>> nn.utils.parametrize.type_before_parametrizations(layer).__name__
        'Linear'
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give a module the parametrizations of another one; both share them afterwards.

    Args:
        from_module: the module that has them.
        to_module: the module that gets them, and is returned.
        tensor_name: the tensor that is meant; None means all.

    Example:
        >>> from taper import nn
        >>> from taper.nn.utils.parametrize import transfer_parametrizations_and_params
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
        >>> other = transfer_parametrizations_and_params(layer, nn.Linear(3, 2))
        >>> other.parametrizations.weight.original0 is layer.parametrizations.weight.original0
        True
    """
    if not is_parametrized(from_module):
        return to_module
    lists: Any = from_module.parametrizations
    for name in list(lists) if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        source = lists[name]
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = getattr(to_module.parametrizations, name)
        if source.is_tensor:
            target.original = source.original
        else:
            for number in range(source.ntensors):
                setattr(target, f"original{number}", getattr(source, f"original{number}"))
    return to_module
