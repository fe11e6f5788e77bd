"""The functions that ask for `__torch_function__`, and how they come to ask.

Owns: which functions, methods and properties ask, what classes are told of a call, and the detours
by which the functions ask.  The detours lie while a mode is open or an instance of a subclass of
Tensor lives; without them nobody asks, and calls cost what they cost.  What `autograd.overrides`
does with a question is no business of this file.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from taper import fft, linalg, special
from taper.autograd import detours, overrides
from taper.autograd.backward import backward, grad
from taper.autograd.disturbances import new_lock
from taper.autograd.overrides import switch
from taper.nn import functional, init
from taper.nn.parameter import Parameter
from taper.opdef import Op, composites, registry
from taper.opdef.guards import guarded
from taper.ops.on_demand import load_all
from taper.tensor import Tensor

# What PyTorch has written in Python: such a function tells classes of its first arguments by
# position, and of all others by keyword, with their defaults.
_IN_PYTHON = {
    "torch": "lobpcg:1",
    "torch.functional": """
        atleast_1d:1 atleast_2d:1 atleast_3d:1 block_diag:9 broadcast_tensors:9 cartesian_prod:9
        cdist:2 chain_matmul:9 einsum:9 lu:1 meshgrid:9 norm:1 pca_lowrank:1 split:2 stft:2
        svd_lowrank:1 tensordot:2 unique:1 unique_consecutive:1 unravel_index:1
    """,
    "torch.nn.functional": """
        adaptive_avg_pool2d:2 adaptive_avg_pool3d:2 adaptive_max_pool1d:2 adaptive_max_pool2d:2
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
_IGNORED = frozenset("broadcast_shapes can_cast is_storage is_tensor promote_types".split())
_OF_FUNCTIONAL = frozenset(
    each.partition(":")[0] for each in _IN_PYTHON["torch.functional"].split()
)
_SHOWN = dict(each.split(":") for each in _SHOWN_AS.split())
_POSITIONS = {
    f"{space}.{name}": int(count)
    for space, names in _IN_PYTHON.items()
    for name, count in [each.split(":") for each in names.split()]
}
# Values of these classes have nothing to say.
_QUIET = {Tensor, Parameter, int, float, bool, str, complex, type(None), slice, type(Ellipsis)}
_EXACT = (Tensor, Parameter)


class Asker:
    """A function that asks: the handler of its detour."""

    __slots__ = ("binary", "func", "maker", "name", "positions", "single")

    def __init__(self, name: str, func: Any, operator: bool = False) -> None:
        self.name = name
        self.func = func
        self.positions = _POSITIONS.get(name)
        space, _, last = name.rpartition(".")
        self.maker = space == "torch" and last in MAKERS
        self.binary = operator
        self.single = last == "__get__" or (space == "torch.Tensor" and _takes_nothing(func))

    def __call__(self, run: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if not switch.modes or switch.all_off:
            if switch.off:
                return run(*args, **kwargs)
            if self.maker:  # what it reads of a tensor is no question either
                with overrides.disabled():
                    return run(*args, **kwargs)
            for each in args:
                if type(each) not in _QUIET:
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
        if not switch.off and not self.maker:
            asked = overrides.asked_of(overrides.flat((*args, *kwargs.values())), _EXACT)
        mode = overrides.modes()[-1] if overrides.modes() else None
        if mode is None and not asked:
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

    def _as_python_passes(self, args: Any, kwargs: Any) -> tuple[Any, dict[str, Any]]:
        bound = _signature(self.func).bind(*args, **kwargs)
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
def _signature(func: Any) -> inspect.Signature:
    return inspect.signature(detours.original_of(_innermost(func)))


def _innermost(func: Any) -> Any:
    """Return the function behind guards and other wrappers."""
    while isinstance(getattr(func, "__wrapped__", None), FunctionType):
        func = func.__wrapped__
    return func


def _takes_nothing(func: Any) -> bool:
    """Return whether a method has no parameters but the tensor."""
    if not isinstance(func, FunctionType):
        return False
    inner = _innermost(func)
    entry = getattr(inner, "__wrapped__", None)
    if isinstance(entry, Op):
        return len(entry.params) == 1
    code = detours.original_of(inner).__code__
    return code.co_argcount == 1 and not code.co_kwonlyargcount and not code.co_flags & 0x0C


# --- which functions -------------------------------------------------------------------------


def _functions() -> Iterator[tuple[str, Any]]:
    """Return the public functions of `torch`, in the form that users hold, with their names."""
    public = {name: entry.function for name, entry in registry.items() if entry.public}
    public.update({name: guarded(name, each, "taper") for name, each in composites.items()})
    known = set(public.values())
    for module in (functional, linalg, fft, special):
        for name in module.__all__:
            function = getattr(module, name)
            if isinstance(function, FunctionType) and function not in known:
                yield f"{module.__name__.replace('taper', 'torch', 1)}.{name}", function
    for name, function in public.items():
        if name not in _IGNORED:
            space = "torch.functional" if name in _OF_FUNCTIONAL else "torch"
            yield f"{space}.{name}", function
    for name in ("constant_", "kaiming_uniform_", "normal_", "uniform_"):
        yield f"torch.nn.init.{name}", getattr(init, name)
    yield "torch.autograd.backward", backward
    yield "torch.autograd.grad", grad


def _methods() -> Iterator[tuple[str, Any, Any, bool]]:
    """Return name, what asks, what classes are told, and whether it is an operator of Python."""
    for name, member in list(vars(Tensor).items()):
        if name in _SILENT or (name[0] == "_" and name[:2] != "__" and name not in _PRIVATE):
            continue
        if isinstance(member, FunctionType):
            shown = _SHOWN.get(name, name)
            told = vars(Tensor).get(shown, member)
            yield f"torch.Tensor.{shown}", member, told, name in _OPERATORS
        elif isinstance(member, property):
            ways = ("__get__", member.fget), ("__set__", member.fset), ("__delete__", member.fdel)
            for way, function in ways:
                if isinstance(function, FunctionType):
                    yield f"torch.Tensor.{name}.{way}", function, getattr(member, way), False


@functools.lru_cache(maxsize=1)
def askers() -> dict[Any, Any]:
    """Return for each function on the detour who asks in its place."""
    load_all()
    found: dict[Any, Any] = {}
    for name, function, shown, operator in _methods():
        found.setdefault(function, Asker(name, shown, operator))
    public = [pair for pair in _functions() if isinstance(pair[1], FunctionType)]
    for name, function in public:
        found.setdefault(function, Asker(name, function))
    for _, function in public:
        inner = getattr(function, "__wrapped__", None)  # what the library itself calls
        while isinstance(inner, FunctionType):
            found.setdefault(inner, found[function])
            inner = getattr(inner, "__wrapped__", None)
    found[Tensor.__iter__] = _iterate
    return found


def _iterate(run: Callable[..., Any], tensor: Any) -> Any:
    """Ask for the parts, as PyTorch does, where somebody may want to know."""
    if switch.off or (type(tensor) in _EXACT and not overrides.modes()):
        return run(tensor)
    if tensor.dim() == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(tensor.unbind(0))


# --- the detours -----------------------------------------------------------------------------

_lock = new_lock()
_IDLE_CALLS = 500  # so many calls without an instance end the detours: laying them takes a while
_state = {"laid": False, "idle": 0, "blocks": 0}


def lay() -> None:
    """Put all functions on their detours, if they are not."""
    _state["idle"] = 0
    if not _state["laid"]:
        handlers = askers()
        with _lock:
            detours.lead_through("overrides", handlers)
            _state["laid"] = True


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
overrides.Default.plain_results = tuple(
    vars(Tensor)[name].__get__ for name in ("_base", "grad", "_grad")
)
