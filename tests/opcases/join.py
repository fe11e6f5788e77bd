"""Rows of operators that join tensors, or put elements in another order."""

from __future__ import annotations

import numpy as np

from op_case import Dtype, OpCase, Raises, sample
from opcases.shape import KINDS, fails, row


def several(name: str, *shapes: object, **claims: object) -> OpCase:
    """A row of an operator on a list of tensors: each entry is (list of shapes, arguments...)."""

    def samples(rng: np.random.Generator):
        found = []
        for entry in shapes:
            listed, *rest = entry
            keywords = rest.pop() if rest and isinstance(rest[-1], dict) else {}
            found.append(sample([rng.standard_normal(each) for each in listed], *rest, **keywords))
        return found

    claims.setdefault("complex", True)
    claims.setdefault("forward_dtypes", KINDS)
    return OpCase(name, samples, **claims)


def spread(name: str, *shapes: object, **claims: object) -> OpCase:
    """Return the same for an operator that takes the tensors one by one."""

    def samples(rng: np.random.Generator):
        found = []
        for entry in shapes:
            listed, *rest = entry
            keywords = rest[0] if rest else {}
            found.append(sample(*[rng.standard_normal(each) for each in listed], **keywords))
        return found

    claims.setdefault("complex", True)
    return OpCase(name, samples, **claims)


def wrong(error: type[Exception], text: str, shapes: list, *args: object) -> Raises:
    return Raises(error, text, sample([np.zeros(each) for each in shapes], *args))


CAT = {
    "reference": np.concatenate,
    "out": True,
    "errors": (
        wrong(RuntimeError, "Sizes of tensors must match except in dimension 0", [(2, 3), (2, 4)]),
        wrong(RuntimeError, "Tensors must have same number of dimensions", [(2, 3), (2,)]),
        wrong(RuntimeError, "zero-dimensional tensor (at position 0)", [(), ()]),
        wrong(ValueError, "expected a non-empty list of Tensors", []),
    ),
}

TOGETHER = [
    several("cat", ([(2, 3), (1, 3)],), ([(2, 3), (2, 1)], -1), ([(2,), (0,)],), **CAT),
    several("concat", ([(2, 3), (1, 3)],), reference=np.concatenate),
    several("concatenate", ([(2, 3), (1, 3)],), reference=np.concatenate),
    several(
        "stack",
        ([(2, 3), (2, 3)],),
        ([(2, 3), (2, 3)], -1),
        ([(), ()],),
        reference=np.stack,
        out=True,
        errors=(
            wrong(RuntimeError, "stack expects each tensor to be equal size", [(2, 3), (4,)]),
            wrong(RuntimeError, "stack expects a non-empty TensorList", []),
        ),
    ),
    several("hstack", ([(2, 3), (2, 1)],), ([(2,), (3,)],), ([(), ()],), reference=np.hstack),
    several("vstack", ([(2, 3), (1, 3)],), ([(3,), (3,)],), ([(), ()],), reference=np.vstack),
    several("row_stack", ([(3,), (3,)],), reference=np.vstack),
    several("dstack", ([(2, 3), (2, 3)],), ([(3,), (3,)],), reference=np.dstack),
    several("column_stack", ([(3,), (3, 2)],), ([(), ()],)),
    spread("atleast_1d", ([()],), ([(), (2, 3)],)),
    spread("atleast_2d", ([()],), ([(3,), (2, 3)],)),
    spread("atleast_3d", ([()],), ([(3,), (2, 3), (2, 3, 4)],)),
    spread(
        "block_diag",
        ([(2, 3), (1, 2)],),
        ([(), (3,), (2, 2)],),
        errors=(
            Raises(RuntimeError, "must have 2 or fewer dimensions", sample(np.zeros((1, 2, 3)))),
        ),
    ),
    spread(
        "meshgrid",
        ([(2,), (3,)], {"indexing": "ij"}),
        ([(2,), (3,)], {"indexing": "xy"}),
        ([(), (3,)], {"indexing": "ij"}),
        errors=(
            Raises(RuntimeError, "meshgrid expects a non-empty TensorList", sample(indexing="ij")),
        ),
    ),
    spread("cartesian_prod", ([(2,), (3,)],), ([(3,)],)),
    row(
        "combinations",
        ((4,),),
        ((3,), 2, True),
        ((4,), 3),
        errors=(fails(RuntimeError, "Expect a 1D vector", (2, 3)),),
    ),
    spread("kron", ([(2, 3), (2, 2)],), ([(3,), (2, 2)],), ([(), (3,)],), reference=np.kron),
    spread(
        "cross",
        ([(2, 3), (2, 3)], {"dim": 1}),
        ([(3, 2), (3, 2)], {"dim": 0}),
        ([(4, 3), (1, 3)], {"dim": -1}),
        forward_dtypes=("int64", "bool"),
        out=True,
        errors=(
            Raises(
                RuntimeError,
                "must have length 3. Got 2 and 2",
                sample(np.zeros((2, 3)), np.zeros((2, 3)), dim=0),
            ),
        ),
    ),
]

REPEATED = [
    row(
        "Tensor.repeat",
        ((2, 3), 2, 1),
        ((3,), (2, 2)),
        ((), 3),
        ((2,), 0),
        errors=(
            fails(RuntimeError, "can not be smaller than number of dimensions", (2, 3), 2),
            fails(RuntimeError, "negative dimension -2", (2,), -1),
        ),
    ),
    row("tile", ((2, 3), (2,)), ((2,), (2, 2)), ((2, 3), ()), reference=np.tile),
    row(
        "repeat_interleave",
        ((2, 3), 2),
        ((2, 3), 2, 0),
        ((2, 3), np.array([1, 2]), 0),
        ((2, 3), np.array([2]), 1),
        ((), 2),
        errors=(
            fails(RuntimeError, "repeats must have the same size", (2,), np.array([1, 2, 3]), 0),
            fails(RuntimeError, "repeats can not be negative", (2,), np.array([1, -2]), 0),
            fails(RuntimeError, "Repeats must be non-negative", (2,), -1, 0),
        ),
    ),
]

ORDER = [
    row(
        "flip",
        ((2, 3), (0,)),
        ((2, 3), (0, -1)),
        ((2, 3), ()),
        ((), (0,)),
        errors=(fails(RuntimeError, "dim 0 appears multiple times", (2, 3), (0, 0)),),
    ),
    row("fliplr", ((2, 3),), reference=np.fliplr),
    row("flipud", ((2, 3),), ((3,),), reference=np.flipud),
    row(
        "roll",
        ((2, 3), 1),
        ((2, 3), 1, 0),
        ((2, 3), (1, -1), (0, 1)),
        ((0, 3), 1, 1),
        errors=(fails(RuntimeError, "shifts and dimensions must align", (2, 3), (1, 1), 0),),
    ),
    row(
        "rot90",
        ((2, 3),),
        ((2, 3), 2),
        ((2, 3), -1),
        ((2, 3, 4), 1, (1, 2)),
        ((2, 3), 0),
        reference=np.rot90,
        errors=(fails(RuntimeError, "expected rotation dims to be different", (2, 3), 1, (0, 0)),),
    ),
]

TRIANGLES = [
    row(
        "tril",
        ((3, 3),),
        ((2, 3), 1),
        ((2, 3, 3), -1),
        reference=np.tril,
        inplace="tril_",
        out=True,
    ),
    row(
        "triu",
        ((3, 3),),
        ((2, 3), 1),
        ((2, 3, 3), -1),
        reference=np.triu,
        inplace="triu_",
        out=True,
    ),
    OpCase(
        "tril_indices",
        lambda rng: [sample(3, 3), sample(3, 2, -1), sample(2, 4, 1, dtype=Dtype("int32"))],
        differentiable=False,
        errors=(Raises(RuntimeError, "row must be non-negative", sample(-1, 2)),),
    ),
    OpCase(
        "triu_indices",
        lambda rng: [sample(3, 3), sample(3, 2, -1), sample(0, 0)],
        differentiable=False,
    ),
    row("diag", ((3,),), ((3,), 1), ((2, 3),), ((2, 3), -1), reference=np.diag),
    row("diag_embed", ((3,),), ((2, 3), 1), ((2, 3), -1, 0, 2)),
    row("diagflat", ((2, 3),), ((3,), 1), reference=np.diagflat),
    row("diagonal_copy", ((3, 3),), ((2, 3, 4), 1, 0, 2), out=True),
    row(
        "trace",
        ((3, 3),),
        ((2, 3),),
        reference=np.trace,
        forward_dtypes=("int64", "int32"),
        errors=(fails(RuntimeError, "trace: expected a matrix", (3,)),),
    ),
]

PICTURES = [
    row(
        "pixel_shuffle",
        ((1, 4, 2, 2), 2),
        ((8, 1, 3), 2),
        errors=(fails(RuntimeError, "divisible by the square of upscale_factor", (1, 3, 2, 2), 2),),
    ),
    row(
        "pixel_unshuffle",
        ((1, 1, 4, 4), 2),
        ((2, 2, 6), 2),
        errors=(fails(RuntimeError, "height to be divisible", (1, 1, 3, 4), 2),),
    ),
    row("channel_shuffle", ((1, 4, 2, 2), 2), ((2, 6, 1), 3)),
    row(
        "constant_pad_nd",
        ((2, 3), (1, 1)),
        ((2, 3), (1, -1, 0, 2), 0.5),
        ((), ()),
        errors=(fails(RuntimeError, "narrow(): length must be non-negative", (2, 3), (-2, -2)),),
    ),
    row(
        "nn.functional.pad",
        ((2, 3), (1, 1)),
        ((2, 3), (1, 1, 2, 0), "constant", 3.0),
        ((2, 3), (2, 1), "reflect"),
        ((1, 2, 3, 4), (1, 2, 2, 1), "reflect"),
        ((1, 2, 2, 3, 4), (1, 2, 2, 1, 1, 0), "reflect"),
        ((2, 3), (2, 1), "replicate"),
        ((1, 2, 3, 4), (1, 2, 2, 1), "replicate"),
        ((1, 2, 2, 3, 4), (1, 2, 2, 1, 1, 0), "replicate"),
        ((2, 3), (2, 1), "circular"),
        ((1, 2, 3, 4), (1, 2, 2, 1), "circular"),
        forward_dtypes=(),
        errors=(
            fails(RuntimeError, "Padding size should be less", (2, 3), (3, 1), "reflect"),
            fails(NotImplementedError, "Unrecognised padding mode foo", (2, 3), (1, 1), "foo"),
            fails(RuntimeError, "Padding length must be divisible by 2", (2, 3), (1,)),
            fails(NotImplementedError, "is not supported for 1D input", (3,), (1, 1), "reflect"),
            fails(RuntimeError, "wrapping around more than once", (2, 3), (4, 1), "circular"),
        ),
    ),
]

CASES = [*TOGETHER, *REPEATED, *ORDER, *TRIANGLES, *PICTURES]
