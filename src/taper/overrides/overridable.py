"""The functions that ask for `__torch_function__`, and how they come to ask.

Owns: which functions, methods and properties ask, what classes are told of a call, and the detours
by which the functions ask.  The detours lie while a mode is open or an instance of a subclass of
Tensor lives; without them nobody asks, and calls cost what they cost.  They are laid on what is
loaded, and on the rest as it loads.  What `autograd.overrides` does with a question is no business
of this file.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import threading
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from taper.autograd import detours, overrides
from taper.autograd.backward import backward, grad
from taper.autograd.disturbances import new_lock
from taper.autograd.overrides import declared, silent, switch
from taper.autograd.provenance import is_internal
from taper.opdef import Op, composites, registry
from taper.opdef.guards import guarded
from taper.ops.on_demand import load_all
from taper.tensor import Tensor

# What PyTorch has written in Python: such a function tells classes of its first arguments by
# position, and of all others by keyword, with their defaults.
_IN_PYTHON = {
    "torch": """
        _assert:2 lobpcg:1 sym_float:1 sym_int:1 sym_ite:3 sym_max:2 sym_min:2 sym_not:1 sym_sqrt:1
        sym_sum:1
    """,
    "torch.functional": """
        atleast_1d:1 atleast_2d:1 atleast_3d:1 block_diag:9 broadcast_tensors:9 cartesian_prod:9
        cdist:2 chain_matmul:9 einsum:9 lu:1 meshgrid:9 norm:1 pca_lowrank:1 split:2 stft:2
        svd_lowrank:1 tensordot:2 unique:1 unique_consecutive:1 unravel_index:1
    """,
    "torch.nn.functional": """
        adaptive_avg_pool2d:2 adaptive_avg_pool3d:2 adaptive_max_pool1d:2 adaptive_max_pool2d:2
        adaptive_max_pool1d_with_indices:2 adaptive_max_pool2d_with_indices:2
        adaptive_max_pool3d_with_indices:2 fractional_max_pool2d_with_indices:2
        fractional_max_pool3d_with_indices:2 hardsigmoid:1 hardswish:1 max_pool1d_with_indices:2
        max_pool2d_with_indices:2 max_pool3d_with_indices:2
        adaptive_max_pool3d:2 affine_grid:2 alpha_dropout:1 batch_norm:3 binary_cross_entropy:2
        binary_cross_entropy_with_logits:2 celu:1 cosine_embedding_loss:3 cross_entropy:2
        ctc_loss:4 dropout:1 dropout1d:1 dropout2d:1 dropout3d:1 elu:1 embedding:2 embedding_bag:2
        feature_alpha_dropout:1 fold:3 fractional_max_pool2d:2 fractional_max_pool3d:2
        gaussian_nll_loss:3 glu:1 grid_sample:2 group_norm:2 gumbel_softmax:1 hardtanh:1
        hinge_embedding_loss:2 huber_loss:2 instance_norm:1 interpolate:1 kl_div:2 l1_loss:2
        layer_norm:2 leaky_relu:1 linear_cross_entropy:3 local_response_norm:2 log_softmax:1
        lp_pool1d:3 lp_pool2d:3 lp_pool3d:3 margin_ranking_loss:3 max_pool1d:2 max_pool2d:2
        max_pool3d:2 max_unpool1d:3 max_unpool2d:3 max_unpool3d:3 mish:1 mse_loss:2
        multi_head_attention_forward:13 multi_margin_loss:2 multilabel_margin_loss:2
        multilabel_soft_margin_loss:2 nll_loss:2 normalize:1 pad:2 poisson_nll_loss:2 relu:1
        relu6:1 rms_norm:2 rrelu:1 selu:1 silu:1 smooth_l1_loss:2 soft_margin_loss:2 softmax:1
        softmin:1 softsign:1 tanhshrink:1 threshold:3 triplet_margin_loss:3
        triplet_margin_with_distance_loss:3 unfold:2
    """,
    "torch.nn.init": "constant_:0 kaiming_uniform_:0 normal_:0 uniform_:0",
    "torch.autograd": "backward:1 grad:2",
    "torch.Tensor": """
        __array__:1 __array_wrap__:1 __contains__:2 __deepcopy__:2 __dir__:1 __dlpack__:1
        __dlpack_device__:1 __floordiv__:2 __format__:2 __ipow__:2 __len__:1 __pow__:2
        __rtruediv__:2 __reduce_ex__:2 __repr__:1 __reversed__:1 __rfloordiv__:2 __rlshift__:2
        __rmatmul__:2 __rmod__:2 __rpow__:2 __rrshift__:2 __rsub__:2 __setstate__:2 backward:1
        dim_order:1 is_shared:1 istft:2 lu:1 module_load:2 norm:1 register_hook:2
        register_post_accumulate_grad_hook:2 resize:2 resize_as:2 share_memory_:1 split:2 stft:2
        storage:1 storage_type:1 unflatten:9 unique:1 unique_consecutive:1
    """,
}
# Operators of Python that show as another method.
_SHOWN_AS = """
    __abs__:abs __add__:add __div__:div __ge__:ge __gt__:gt __iadd__:add_ __idiv__:div_
    __ifloordiv__:floor_divide_ __imod__:remainder_ __imul__:mul_ __isub__:sub_ __itruediv__:div_
    __le__:le __long__:__int__ __lt__:lt __matmul__:matmul __mod__:remainder __mul__:mul __ne__:ne
    __neg__:neg __nonzero__:__bool__ __pos__:positive __radd__:add __rand__:bitwise_and
    __rdiv__:__rtruediv__ __rmul__:mul __ror__:bitwise_or __rxor__:bitwise_xor __str__:__repr__
    __sub__:sub __truediv__:div
"""
# Methods whose function is called otherwise.
_NAMED = {"__pow__": "pow", "__rtruediv__": "__rdiv__"}
# Operators that leave it to the other operand if nobody has done their work.
_OPERATORS = frozenset(
    f"__{way}{name}__"
    for name in "add sub mul truediv div floordiv mod pow matmul and or xor lshift rshift".split()
    for way in ("", "r", "i")
) | {"__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"}
# Of the names that begin with an underscore, those that ask.
_PRIVATE = frozenset(
    "_backward_hooks _base _dimI _dimV _grad _indices _is_view _nnz _post_accumulate_grad_hooks "
    "_values _version".split()
)
# Methods that do not ask: what they call does.
_SILENT = frozenset(
    "__class__ __getattribute__ __hash__ __init__ __init_subclass__ __iter__ __new__ "
    "__torch_dispatch__ __torch_function__ as_subclass to_sparse_bsc to_sparse_bsr to_sparse_coo "
    "to_sparse_csc to_sparse_csr".split()
)
# Functions of `torch` whose arguments are no tensors: only modes see them.
MAKERS: frozenset[str] = frozenset(
    "arange as_tensor asarray bartlett_window blackman_window empty empty_permuted empty_strided "
    "eye frombuffer from_numpy full hamming_window hann_window kaiser_window linspace logspace "
    "ones rand randint randn randperm range scalar_tensor tensor tril_indices triu_indices zeros "
    "sparse_coo_tensor".split()
)
# Of these, those that look at whatever they are given themselves.
_READERS = frozenset("as_tensor asarray from_numpy frombuffer sparse_coo_tensor tensor".split())
_IGNORED = frozenset(
    "broadcast_shapes is_storage is_tensor upsample upsample_bilinear upsample_nearest".split()
)
_OF_FUNCTIONAL = frozenset(
    each.partition(":")[0] for each in _IN_PYTHON["torch.functional"].split()
)
_SHOWN = dict(each.split(":") for each in _SHOWN_AS.split())
_POSITIONS = {
    f"{space}.{name}": int(count)
    for space, names in _IN_PYTHON.items()
    for name, count in [each.split(":") for each in names.split()]
}
silent.update((Tensor, np.ndarray))


class Asker:
    """A function that asks: the handler of its detour."""

    __slots__ = ("binary", "func", "maker", "name", "picky", "positions", "single")

    def __init__(self, name: str, func: Any, operator: bool = False) -> None:
        self.name = name
        self.func = func
        self.positions = _POSITIONS.get(name)
        space, _, last = name.rpartition(".")
        self.maker = space == "torch" and last in MAKERS
        self.binary = operator
        self.single = last == "__get__" or (space == "torch.Tensor" and _takes_nothing(func))
        # PyTorch's functions in C look at the arguments of operators before they ask.
        self.picky = self.positions is None and (operator or _entry_of(func) is not None)

    def __call__(self, run: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if declared:
            _grow()
        if not switch.modes or switch.all_off:
            if switch.off:
                return run(*args, **kwargs)
            if self.maker and not self._stand_ins(args, kwargs):
                with overrides.disabled():  # what it reads of a tensor is no question either
                    return run(*args, **kwargs)
            for each in args:
                if type(each) not in silent:
                    break
            else:
                if not kwargs:
                    if not overrides.instances:
                        _count_idle_call()
                    return run(*args, **kwargs)
        return self.ask(run, args, kwargs)

    def ask(self, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Let modes and classes do the work, if there are some that want to."""
        asked: list[Any] = []
        if self.maker:
            asked = [] if switch.off else self._stand_ins(args, kwargs)
        elif not switch.off:
            asked = overrides.asked_of(overrides.flat((*args, *kwargs.values())), silent)
        mode = overrides.modes()[-1] if overrides.modes() else None
        if (mode is None and not asked) or (self.picky and _do_not_fit(self.binary, args)):
            return run(*args, **kwargs)
        if self.positions is not None:
            types = asked
            if not switch.off:
                types = overrides.asked_of(overrides.flat((*args, *kwargs.values())))
            args, kwargs = self._as_python_passes(args, kwargs)
        elif self.single and not asked:
            types = args[:1]
        else:
            types, kwargs = asked, kwargs or None
        result = overrides.answer(self.func, tuple(map(type, types)), asked, args, kwargs)
        if result is not NotImplemented or self.binary:
            return result
        if self.positions is None or self.name.startswith("torch.Tensor."):
            raise overrides.refusal(_name_in_errors(self.name), asked, mode)
        raise no_implementation(self.name, [type(each) for each in types], mode)

    def _stand_ins(self, args: Any, kwargs: Any) -> list[Any]:
        """Return what stands for the sizes and numbers of a maker and wants to be asked."""
        if self.name.rpartition(".")[2] in _READERS:
            return []
        found = overrides.asked_of(overrides.flat((*args, *kwargs.values())), silent)
        return [each for each in found if not isinstance(each, Tensor)]

    def _as_python_passes(self, args: Any, kwargs: Any) -> tuple[Any, dict[str, Any]]:
        bound = signature(self.func).bind(*args, **kwargs)
        bound.apply_defaults()
        first: list[Any] = []
        for each in bound.signature.parameters.values():
            if each.kind is each.VAR_POSITIONAL:
                first += bound.arguments.pop(each.name)
            elif each.kind is each.VAR_KEYWORD:
                bound.arguments.update(bound.arguments.pop(each.name))
            elif each.kind is not each.KEYWORD_ONLY and len(first) < (self.positions or 0):
                first.append(bound.arguments.pop(each.name))
        if self.name.startswith("torch.autograd."):
            bound.arguments.pop("grad_variables", None)  # an old name that nobody is told
            first = [each if isinstance(each, tuple | list) else (each,) for each in first]
        elif self.name == "torch.functional.einsum" and isinstance(first[-1], tuple | list):
            first = [first[0], *first[-1]]  # operands one by one
        elif self.name == "torch.functional.chain_matmul":
            bound.arguments.pop("out", None)
        return tuple(first), dict(bound.arguments)


def no_implementation(name: str, types: list[Any], mode: Any) -> TypeError:
    """Return the error of a function in Python whose work nobody has done."""
    ending = "" if mode is None else f" nor in mode {mode}"
    return TypeError(
        f"no implementation found for '{name}' on types that implement __torch_function__: "
        f"{types}{ending}"
    )


def _name_in_errors(name: str) -> str:
    return name.replace("torch.nn.functional.", "torch.nn.")


@functools.cache
def signature(func: Any) -> inspect.Signature:
    """Return the parameters of a function that asks, behind guards and detours."""
    return inspect.signature(detours.original_of(_innermost(func)))


def _innermost(func: Any) -> Any:
    """Return the function behind guards and other wrappers."""
    while isinstance(getattr(func, "__wrapped__", None), FunctionType):
        func = func.__wrapped__
    return func


def _entry_of(func: Any) -> Op | None:
    """Return the entry of the table that a function is, if it is one."""
    entry = getattr(_innermost(func), "__wrapped__", None)
    return entry if isinstance(entry, Op) else None


def _do_not_fit(operator: bool, args: Any) -> bool:
    """Return whether an operand is no tensor, no number, and of no class that may answer."""
    if not operator:
        return any([type(each) is np.ndarray for each in overrides.flat(args)])
    known = (Tensor, int, float, complex, np.generic)
    return any(
        [not isinstance(each, known) and overrides.handler_of(type(each)) is None for each in args]
    )


def _takes_nothing(func: Any) -> bool:
    """Return whether a method has no parameters but the tensor."""
    if not isinstance(func, FunctionType):
        return False
    entry = _entry_of(func)
    if entry is not None:
        return len(entry.params) == 1
    code = detours.original_of(_innermost(func)).__code__
    return code.co_argcount == 1 and not code.co_kwonlyargcount and not code.co_flags & 0x0C


# --- which functions -------------------------------------------------------------------------


_INITIALIZERS = ("constant_", "kaiming_uniform_", "normal_", "uniform_")
_public: dict[str, Any] = {}  # the functions of `torch`, in the form that users hold
_OTHER_SPACES = "nn.functional nn.init linalg fft special top_level absent.symbols".split()
# Modules of which only some functions ask, and modules that users know as `torch`.
_SELECTED = {"taper.nn.init": _INITIALIZERS, "taper.top_level": ("_assert",)}
_AT_TOP = frozenset({"torch.absent.symbols", "torch.top_level"})


def _functions() -> Iterator[tuple[str, Any]]:
    """Return the public functions that are loaded, as users hold them, with their names."""
    new = {name: entry.function for name, entry in registry.items() if entry.public}
    new.update(composites)
    new = {name: each for name, each in new.items() if name not in _public}
    for name, each in new.items():
        _public[name] = guarded(name, each, "taper") if name in composites else each
    known = set(_public.values())
    for module, names in overrides.namespaces.items():
        space = module.replace("taper", "torch", 1)
        space = "torch" if space in _AT_TOP else space
        for name in _SELECTED.get(module) or names["__all__"]:
            function = names[name]
            if isinstance(function, FunctionType) and function not in known:
                if name not in _IGNORED:
                    yield f"{space}.{name}", function
    for name in new:
        if name not in _IGNORED:
            space = "torch.functional" if name in _OF_FUNCTIONAL else "torch"
            yield f"{space}.{name}", _public[name]
    yield "torch.autograd.backward", backward
    yield "torch.autograd.grad", grad


def _methods() -> Iterator[tuple[str, Any, Any, bool]]:
    """Return name, what asks, what classes are told, and whether it is an operator of Python."""
    for name, member in list(vars(Tensor).items()):
        if name in _SILENT or (name[0] == "_" and name[:2] != "__" and name not in _PRIVATE):
            continue
        if isinstance(member, FunctionType):
            if not is_internal(detours.original_of(member).__code__.co_filename):
                continue  # a method that a program has given all tensors is no function of PyTorch
            shown = _SHOWN.get(name, name)
            told = getattr(Tensor, shown, member)  # loads its family, if that is not there
            if isinstance(told, FunctionType) and vars(Tensor).get(told.__name__) is not told:
                told.__name__ = _NAMED.get(shown, shown)  # classes look at it
            yield f"torch.Tensor.{shown}", member, told, name in _OPERATORS
        elif isinstance(member, property):
            ways = ("__get__", member.fget), ("__set__", member.fset), ("__delete__", member.fdel)
            for way, function in ways:
                if isinstance(function, FunctionType):
                    yield f"torch.Tensor.{name}.{way}", function, getattr(member, way), False


_askers: dict[Any, Any] = {}


def askers() -> dict[Any, Any]:
    """Return for each function on the detour who asks in its place."""
    load_all()
    for name in _OTHER_SPACES:
        importlib.import_module(f"taper.{name}")  # late: programs with subclasses do without
    _find_more()
    return _askers


def _find_more() -> dict[Any, Any]:
    """Return the functions that have been loaded since the last look, with those who ask."""
    declared.clear()
    found: dict[Any, Any] = {}
    for name, function, shown, operator in _methods():
        known = _askers.get(function)
        if known is None or not known.name.startswith("torch.Tensor."):
            found[function] = _askers[function] = Asker(name, shown, operator)
    public = [pair for pair in _functions() if isinstance(pair[1], FunctionType)]
    for name, function in public:
        if function not in _askers:
            found[function] = _askers[function] = Asker(name, function)
    known_public = set(_public.values())
    for _, function in public:
        inner = getattr(function, "__wrapped__", None)  # what the library itself calls
        while isinstance(inner, FunctionType):
            known = _askers.get(inner)
            hidden = inner not in known_public and _is_of_torch(known)
            if known is None or (function in found and hidden):
                found[inner] = _askers[inner] = _askers[function]
            inner = getattr(inner, "__wrapped__", None)
    if Tensor.__iter__ not in _askers:
        _askers[Tensor.__iter__] = found[Tensor.__iter__] = _iterate
    return found


def _is_of_torch(asker: Any) -> bool:
    """Return whether a function is one of `torch`: it gives way to that of a smaller module."""
    return isinstance(asker, Asker) and asker.name.count(".") == 1


def _iterate(run: Callable[..., Any], tensor: Any) -> Any:
    """Ask for the parts, as PyTorch does, where somebody may want to know."""
    if switch.off or (type(tensor) in silent and not overrides.modes()):
        return run(tensor)
    if tensor.dim() == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(tensor.unbind(0))


# --- the detours -----------------------------------------------------------------------------

_lock = new_lock(threading.RLock)  # a look for functions may load some
_IDLE_CALLS = 500  # so many calls without an instance end the detours: laying them takes a while
_state = {"laid": False, "idle": 0, "blocks": 0}


def lay() -> None:
    """Put all functions on their detours, if they are not."""
    _state["idle"] = 0
    if not _state["laid"]:
        with _lock:
            _find_more()
            detours.lead_through("overrides", _askers)
            _state["laid"] = True


def _grow() -> None:
    """Put functions on their detours that have been loaded since."""
    with _lock:
        if _state["laid"]:
            detours.lead_through("overrides", _find_more())
            _state["laid"] = True  # the last instance may have gone meanwhile


overrides.grown.append(_grow)


def enter_block() -> None:
    """Note that a mode has been opened, in whatever thread."""
    with _lock:
        _state["blocks"] += 1
    lay()


def leave_block() -> None:
    """Note that a mode has been closed."""
    with _lock:
        _state["blocks"] -= 1
    if not overrides.instances:
        _end()


def end_at_once() -> None:
    """Take all functions off their detours, if nobody is left who wants to be asked."""
    if not overrides.instances:
        _end()


overrides.end.append(end_at_once)


def _count_idle_call() -> None:
    _state["idle"] += 1
    if _state["idle"] > _IDLE_CALLS:
        _end()


def _end() -> None:
    with _lock:
        somebody = overrides.instances or len(overrides.others)
        if _state["laid"] and not _state["blocks"] and not somebody:
            detours.leave("overrides")
            _state["laid"] = False


# --- the class of results --------------------------------------------------------------------


def convert(result: Any, cls: type) -> Any:
    """Give a class to the tensors in a result that are not of it."""
    if cls is Tensor:
        return result
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return result.as_subclass(cls)
    if isinstance(result, tuple | list):
        kind: Any = type(result)
        return kind([convert(each, cls) for each in result])
    return result


overrides.Default.convert = staticmethod(convert)
# What classes and modes call is called by whoever has asked them.
detours.handler_files.add(overrides.__file__)
overrides.Default.plain_results = tuple(
    vars(Tensor)[name].__get__ for name in ("_base", "grad", "_grad")
)
