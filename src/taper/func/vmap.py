"""`vmap`: a function of examples as a function of batches.

Owns: where the batch dimension of inputs and outputs is, chunks, and the level.  The function runs
once, on batched tensors; `calls` and `whole_calls` say what functions do with them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from taper.arrays.strides import wrap_dim
from taper.autograd.interception import Call
from taper.autograd.state import DUAL, local
from taper.autograd.tangents import outside_of_level, set_tangent, tangent
from taper.func.batching import (
    batched,
    innermost,
    is_batched,
    levels_of,
    lifted,
    rewrap,
    spread,
)
from taper.func.calls import run_batched
from taper.func.custom_functions import apply_batched
from taper.func.levels import Level, unmarked
from taper.func.randomness import RANDOM_OPERATORS, draw
from taper.func.whole_calls import call_batched
from taper.ops.shape.split import cat
from taper.random import get_rng_state, set_rng_state
from taper.tensor import Tensor
from taper.utils._pytree import (
    TreeSpec,
    _broadcast_to_and_flatten,
    tree_any,
    tree_flatten,
    tree_map,
    tree_unflatten,
)

_RANDOMNESS = ("error", "different", "same")
_P = ParamSpec("_P")
_R = TypeVar("_R")


class VmapLevel(Level):
    """An open `vmap`: operators on tensors that it has batched run once for all examples."""

    is_vmap = True

    def __init__(self, size: int, randomness: str) -> None:
        super().__init__()
        self.size = size
        self.randomness = randomness

    def touches(self, arguments: Any) -> bool:
        """Return whether some argument, or an element of one, is batched by this level."""
        for each in arguments:
            kind = each.__class__
            if is_batched(each, self):
                return True
            if (kind is tuple or kind is list) and self.touches(each):
                return True
        return False

    def __call__(self, call: Call, run: Callable[[], Any]) -> Any:
        random = call.op.name in RANDOM_OPERATORS
        if not random and not self.touches(call.arguments):
            return run()
        state = local.state
        if self.may_share_tangents(state):
            call = call._replace(arguments=tuple(map(self.with_tangent, call.arguments)))
        transforms = state.transforms
        state.transforms = transforms[: transforms.index(self)]
        try:
            if random:
                return draw(self, call, run)
            return run_batched(self, call)
        finally:
            state.transforms = transforms

    def may_share_tangents(self, state: Any) -> bool:
        """Return whether tensors that the examples share may have a tangent for each of them."""
        return bool(state.mode & DUAL) and self in state.dual_vmaps

    def with_tangent(self, value: Any) -> Any:
        """Return a tensor that the examples share, but not its tangent, as one for each of them."""
        kind = value.__class__
        if kind is tuple or kind is list:
            return kind([self.with_tangent(each) for each in value])
        if not isinstance(value, Tensor) or is_batched(value, self):
            return value
        found = outside_of_level(tangent)(innermost(value))
        return value if found is None or self not in levels_of(found) else self.spread(value, found)

    def spread(self, value: Tensor, found: Tensor) -> Tensor:
        """Return a tensor with a place for each example, and with its tangent."""
        levels = levels_of(value)
        place = len(levels)
        whole = _spread_at(innermost(value), place, self.size)
        set_tangent(whole, _lifted_to(found, self, place))
        return batched(rewrap(whole, levels), self)

    def call(
        self, label: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        with self.hidden():
            outer = local.state.transforms

            def run(*given: Any, **named: Any) -> Any:
                if outer:
                    return outer[-1].call(label, function, given, named)
                return function(*given, **named)

            involved = tree_any(lambda each: is_batched(each, self), (args, kwargs))
            if involved and self.may_share_tangents(local.state):
                args, kwargs = tree_map(self.with_tangent, (args, kwargs))
            result = call_batched(self, label, run, args, kwargs, involved)
        return function(*args, **kwargs) if result is None else result

    def apply_function(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        involved = tree_any(lambda each: is_batched(each, self), args)
        if involved and self in local.state.dual_vmaps:
            args = tree_map(self.with_tangent, args)
        return apply_batched(self, cls, args, kwargs, super().apply_function)

    def head(self, tensor: Tensor) -> str:
        return f"BatchedTensor(lvl={self.depth}, bdim=0" if self in levels_of(tensor) else ""

    def enter(self, tensor: Any, dim: int | None) -> Any:
        """Return an input as the function sees it."""
        if dim is None:
            return tensor
        return batched(tensor if dim == 0 else tensor.movedim(dim, 0), self, dim)

    def leave(self, tensor: Any, dim: int) -> Tensor:
        """Return an output with the batch at `dim`; one that no example influences is expanded."""
        whole = tensor._whole if is_batched(tensor, self) else spread(tensor, self.size)
        dim = int(wrap_dim(dim, whole.dim()))
        return whole if dim == 0 else whole.movedim(0, dim)


def _spread_at(tensor: Tensor, dim: int, size: int) -> Tensor:
    """Return a tensor with one more dimension and memory for it, without tangent."""
    state = local.state
    mode = state.mode
    state.mode = mode & ~DUAL
    try:
        shape = tensor._array.shape
        wide = tensor.unsqueeze(dim).expand(*shape[:dim], size, *shape[dim:])
        return wide.contiguous()
    finally:
        state.mode = mode


@outside_of_level
def _lifted_to(found: Tensor, level: VmapLevel, dim: int) -> Tensor:
    """Return a tangent with the batch of a level as dimension `dim`."""
    whole = lifted(found, [level])
    return whole.movedim(0, dim).contiguous() if dim else whole.contiguous()


# --- the function ----------------------------------------------------------------------------


def vmap(
    func: Callable[_P, _R],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[_P, _R]:
    """Return the function that computes `func` for all examples of a batch.

    Operators run once for the whole batch where there is a rule for them, else example by example;
    both give the same results.

    Args:
        func: a function of trees of tensors, written for one example.
        in_dims: the batch dimension of each input: a number, or a tree like the arguments; None
            means that all examples share the input.
        out_dims: the batch dimension of each output, likewise.
        randomness: what random functions do: raise ("error"), draw "different" numbers for each
            example, or the "same" for all.
        chunk_size: how many examples are computed at once; all by default.

    Returns: a function of the same arguments with one dimension more.

    >>> import taper
    >>> taper.vmap(taper.dot)(taper.ones(2, 3), taper.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    tensor([ 6., 15.])
    >>> taper.vmap(lambda x, y: x + y, in_dims=(0, None))(taper.tensor([1, 2]), taper.tensor(10))
    tensor([11, 12])
    """
    if randomness not in _RANDOMNESS:
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, dims, spec, size = _read_inputs(func, in_dims, args)

        def run(given: list[Any], count: int) -> Any:
            return _run(func, given, dims, spec, count, out_dims, randomness, kwargs)

        if chunk_size is None:
            return run(leaves, size)
        return _in_chunks(run, leaves, dims, size, chunk_size, out_dims, randomness)

    if hasattr(func, "__name__"):
        wrapped = functools.wraps(func)(wrapped)
    return wrapped


def _name_of(func: Any) -> str:
    if isinstance(func, functools.partial):
        return f"functools.partial({_name_of(func.func)}, ...)"
    name: str = func.__name__ if hasattr(func, "__name__") else repr(func)
    return name


def _read_inputs(
    func: Any, in_dims: Any, args: tuple[Any, ...]
) -> tuple[list[Any], list[Any], TreeSpec, int]:
    """Return the leaves of the arguments, their batch dimensions, and the size of the batch."""
    name = _name_of(func)
    where = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, int | tuple):
        raise ValueError(
            f"{where}: expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
            "trying to vmap over a function with no inputs. The latter is unsupported."
        )
    leaves, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{where}: in_dims is not compatible with the structure of `inputs`. in_dims has "
            f"structure {tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    found = [_checked_dim(where, each, dim) for each, dim in zip(leaves, dims, strict=True)]
    sizes = [each.size(dim) for each, dim in zip(leaves, found, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return leaves, found, spec, sizes[0]


def _checked_dim(where: str, value: Any, dim: Any) -> int | None:
    if not isinstance(dim, int) and dim is not None:
        raise ValueError(
            f"{where}: Got in_dim={dim} for an input but in_dim must be either an integer "
            "dimension or None."
        )
    if dim is None:
        return None
    if not isinstance(value, Tensor):
        raise ValueError(
            f"{where}: Got in_dim={dim} for an input but the input is of type {type(value)}. We "
            "cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -value.dim() <= dim < value.dim():
        raise ValueError(
            f"{where}: Got in_dim={dim} for some input, but that input is a Tensor of "
            f"dimensionality {value.dim()} so expected in_dim to satisfy -{value.dim()} <= in_dim "
            f"< {value.dim()}."
        )
    return dim % value.dim()


def _run(
    func: Any,
    leaves: list[Any],
    dims: list[Any],
    spec: TreeSpec,
    size: int,
    out_dims: Any,
    randomness: str,
    kwargs: dict[str, Any],
) -> Any:
    level = VmapLevel(size, randomness)
    with level:
        given = [level.enter(each, dim) for each, dim in zip(leaves, dims, strict=True)]
        output = func(*tree_unflatten(given, spec), **kwargs)
    outputs, out_spec = tree_flatten(output)
    places = _output_dims(_name_of(func), out_dims, outputs, out_spec)
    results = [
        _left(_name_of(func), level, each, dim) for each, dim in zip(outputs, places, strict=True)
    ]
    return tree_unflatten(map(unmarked, results), out_spec)


def _left(name: str, level: VmapLevel, output: Any, dim: int | None) -> Any:
    if dim is not None:
        if not isinstance(output, Tensor):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(output)}. "
                "Did you mean to set out_dims= to None for output?"
            )
        return level.leave(output, dim)
    if isinstance(output, Tensor) and is_batched(output, level):
        raise ValueError(
            f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
        )
    return output


def _output_dims(name: str, out_dims: Any, outputs: list[Any], spec: TreeSpec) -> list[Any]:
    where = f"vmap({name}, ..., out_dims={out_dims})"
    if out_dims is not None and not isinstance(out_dims, int):
        for each in tree_flatten(out_dims)[0]:
            if not (each is None or isinstance(each, int)):
                raise ValueError(
                    f"{where}: `out_dims` must be an int, None or a python collection of ints "
                    "representing where in the outputs the vmapped dimension should appear."
                )
    if spec.is_leaf() and isinstance(out_dims, tuple) and len(out_dims) == 1:
        return [out_dims[0]]
    dims = _broadcast_to_and_flatten(out_dims, spec)
    if dims is None:
        raise ValueError(
            f"{where}(<inputs>): out_dims is not compatible with the structure of `outputs`. "
            f"out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    return dims


# --- chunks ----------------------------------------------------------------------------------


def _in_chunks(
    run: Callable[[list[Any], int], Any],
    leaves: list[Any],
    dims: list[Any],
    size: int,
    chunk_size: int,
    out_dims: Any,
    randomness: str,
) -> Any:
    full, rest = divmod(size, chunk_size)
    counts = [chunk_size] * full + ([rest] if rest else [])
    if not counts:
        return run(leaves, size)
    parts = [
        [each] * len(counts) if dim is None else each.split(counts, dim)
        for each, dim in zip(leaves, dims, strict=True)
    ]
    state = get_rng_state() if randomness == "same" else None
    results = []
    for nr, count in enumerate(counts):
        if state is not None and nr:
            set_rng_state(state)
        results.append(run([each[nr] for each in parts], count))
    if len(results) == 1:
        return results[0]
    spec = tree_flatten(results[0])[1]
    places = _broadcast_to_and_flatten(out_dims, spec)
    if places is None:
        places = [out_dims[0]]
    columns = zip(*(tree_flatten(each)[0] for each in results), strict=True)
    if None in places:
        raise TypeError("cat(): argument 'dim' must be int, not NoneType")
    joined = [cat(list(each), dim) for each, dim in zip(columns, places, strict=True)]
    return tree_unflatten(joined, spec)
