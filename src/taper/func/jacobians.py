"""Whole Jacobians and Hessians: `jacrev`, `jacfwd`, `hessian`; and `linearize`, `functionalize`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from taper.func.derivatives import Argnums, arranged, chosen_positions, jvp, vjp_of, wraps
from taper.func.vmap import vmap
from taper.ops.shape.split import cat
from taper.tensor import Tensor, wrap
from taper.utils._pytree import tree_flatten, tree_map, tree_unflatten


def _refuse_complex(function: str, kind: str, tensors: Sequence[Any]) -> None:
    for nr, each in enumerate(tensors):
        if isinstance(each, Tensor) and each.is_complex():
            raise RuntimeError(
                f"{function}: Expected all {kind} to be real but received complex tensor at "
                f"flattened input idx: {nr}"
            )


def _unit_vectors(tensors: Sequence[Tensor], first: int, last: int) -> list[Tensor]:
    """Return unit vectors `first` to `last` of the space of all tensors, as a tensor for each."""
    found = []
    start = 0
    for each in tensors:
        size = each._array.size
        rows = np.zeros((last - first, size), each._array.dtype)
        inside = np.arange(max(first, start), min(last, start + size))
        rows[inside - first, inside - start] = 1
        found.append(wrap(rows.reshape(last - first, *each._array.shape)))
        start += size
    return found


def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """Return the function that computes the Jacobian of `func` by reverse mode.

    It computes a row for each element of the outputs: better when the inputs have more elements.

    Args:
        func: a function of trees of tensors.
        argnums: the position of the argument to differentiate by, or a tuple of positions.
        has_aux: `func` returns (value, aux); the result is then (Jacobian, aux).
        chunk_size: how many rows are computed at once; all by default.

    Returns: a function of the same arguments.  Its result has the shape of the output followed by
    that of the argument, in the structures of both.

    >>> import taper
    >>> taper.func.jacrev(lambda x: x ** 2)(taper.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @wraps(func)
    def wrapper(*args: Any) -> Any:
        positions = chosen_positions(argnums, len(args))
        chosen = [args[nr] for nr in positions]
        _refuse_complex("jacrev", "inputs", tree_flatten(chosen)[0])
        output, pull, *aux = vjp_of(func, args, argnums, has_aux)
        outputs, out_spec = tree_flatten(output)
        _refuse_complex("jacrev", "outputs", outputs)
        _refuse_integers(outputs)
        inputs, in_spec = tree_flatten(arranged(argnums, chosen))
        rows = _rows(pull, outputs, out_spec, chunk_size)
        lengths = [each._array.size for each in outputs]
        blocks = []
        for whole, source in zip(rows, inputs, strict=True):
            parts = whole.split(lengths, 0)
            blocks.append(
                [
                    part.view((*each.shape, *source.shape))
                    for part, each in zip(parts, outputs, strict=True)
                ]
            )
        found = [tree_unflatten(each, in_spec) for each in zip(*blocks, strict=True)]
        jacobian = tree_unflatten(found, out_spec)
        return (jacobian, *aux) if has_aux else jacobian

    return wrapper


def _refuse_integers(outputs: Sequence[Tensor]) -> None:
    for each in outputs:
        if not (each.is_floating_point() or each.is_complex()):
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                f"Tensor with dtype {each.dtype}"
            )


def _rows(
    pull: Any, outputs: Sequence[Tensor], out_spec: Any, chunk_size: int | None
) -> list[Tensor]:
    """Return for each input the gradients of all output elements, one below the other."""
    count = sum(each._array.size for each in outputs)
    step = count if chunk_size is None else chunk_size
    [0] * step  # refuses a chunk size that is no integer, as PyTorch does
    pieces: list[list[Any]] = []
    for first in range(0, count, step) if count else [0]:
        vectors = _unit_vectors(outputs, first, min(first + step, count))
        pieces.append(tree_flatten(vmap(pull)(tree_unflatten(vectors, out_spec)))[0])
    if len(pieces) == 1:
        return pieces[0]
    return [cat(list(each)) for each in zip(*pieces, strict=True)]


def jacfwd(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """Return the function that computes the Jacobian of `func` by forward mode.

    It computes a column for each element of the inputs: better when the outputs have more elements.

    Args:
        func: a function of trees of tensors.
        argnums: the position of the argument to differentiate by, or a tuple of positions.
        has_aux: `func` returns (value, aux); the result is then (Jacobian, aux).
        randomness: that of `vmap`, which computes all columns at once.

    Returns: a function of the same arguments.  Its result has the shape of the output followed by
    that of the argument, in the structures of both.

    >>> import taper
    >>> taper.func.jacfwd(lambda x: x ** 2)(taper.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @wraps(func)
    def wrapper(*args: Any) -> Any:
        positions = chosen_positions(argnums, len(args))
        chosen = [args[nr] for nr in positions]
        inputs, in_spec = tree_flatten(chosen)
        _refuse_complex("jacfwd", "inputs", inputs)
        lengths = [each.numel() for each in inputs]

        def part(*values: Any) -> Any:
            given = list(args)
            for nr, value in zip(positions, values, strict=True):
                given[nr] = value
            return func(*given)

        def push(*vectors: Any) -> Any:
            tangents = tree_unflatten(vectors, in_spec)
            return jvp(part, tuple(chosen), tuple(tangents), has_aux=has_aux)[1:]

        slopes, *aux = vmap(push, randomness=randomness)(*_unit_vectors(inputs, 0, sum(lengths)))
        columns, out_spec = tree_flatten(slopes)
        _refuse_complex("jacfwd", "outputs", columns)
        found = [_by_input(each, inputs, lengths, in_spec, argnums) for each in columns]
        jacobian = tree_unflatten(found, out_spec)
        if has_aux:
            return jacobian, tree_map(lambda each: each[0], aux[0])
        return jacobian

    return wrapper


def _by_input(
    column: Tensor, inputs: Sequence[Tensor], lengths: list[int], in_spec: Any, argnums: Argnums
) -> Any:
    """Return the columns of one output, as one block for each input."""
    last = column.movedim(0, -1)
    parts = last.split(lengths, -1)
    shape = last.shape[:-1]
    blocks = [
        part.view((*shape, *source.shape)) for part, source in zip(parts, inputs, strict=True)
    ]
    return arranged(argnums, tree_unflatten(blocks, in_spec))


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return the function that computes the second derivatives of `func`.

    It uses forward mode over reverse mode.

    Args:
        func: a function of trees of tensors that returns a tensor.
        argnums: the position of the argument to differentiate by, or a tuple of positions.

    Returns: a function of the same arguments; its result has the argument's shape twice behind that
    of the output.

    >>> import taper
    >>> taper.func.hessian(lambda x: (x ** 3).sum())(taper.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Return the value of `func`, and its derivative there as a function of tangents.

    Each call of that function is a `jvp`, for which `func` runs again.

    Args:
        func: a function of trees of tensors.
        primals: the point: the arguments of `func`.

    >>> import taper
    >>> value, push = taper.func.linearize(taper.sin, taper.tensor([0.0, 0.0]))
    >>> push(taper.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    output = func(*primals)
    flat, spec = tree_flatten(primals)

    def jvp_fn(*tangents: Any) -> Any:
        leaves, found = tree_flatten(tangents)
        if found != spec:
            raise RuntimeError(
                f"Expected the tangents {found} to have the same argspec as the primals {spec}"
            )
        for nr, (primal, tangent) in enumerate(zip(flat, leaves, strict=True)):
            for what in ("shape", "dtype"):
                own, wanted = getattr(tangent, what), getattr(primal, what)
                if own != wanted:
                    raise RuntimeError(
                        f"tangent:{nr} with {what} {own} in flattened pytree doesn't match the "
                        f"{what} {wanted} of the corresponding primal."
                    )
        return jvp(func, primals, tangents)[1]

    return output, jvp_fn


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """Return the function itself: taper traces nothing, so there is nothing to rewrite.

    Args:
        func: any function.
        remove: "mutations" or "mutations_and_views"; without effect.

    >>> import taper
    >>> taper.func.functionalize(lambda x: x.clone().add_(1))(taper.ones(2))
    tensor([2., 2.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. "
            "Valid options are:\n     remove='mutations': all inplace and out= operators will be "
            "removed from the program, and replaced with their out-of-place equivalents.\n     "
            "remove='mutations_and_views': In addition to the above, all aliasing operators {view} "
            "will be replaced with their non-aliasing counterparts, {view}_copy.\n"
        )

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return wrapped
