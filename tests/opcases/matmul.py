"""Rows of products of matrices and vectors, of sums with them, and of sums over named indices."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import taper
from op_case import OpCase, Raises, Sample, sample

COUNTS = ("int64", "uint8")
HALF = ("float16", "bfloat16")


def fails(error: type[Exception], text: str, *args: Any, **kwargs: Any) -> Raises:
    return Raises(error, text, sample(*args, **kwargs))


def of_shapes(*calls: Any, **options: Any):
    """Return samples of tensors of the given shapes; a dict at the end of a call is keywords."""

    def samples(rng: np.random.Generator) -> list[Sample]:
        found = []
        for call in calls:
            keywords = call[-1] if isinstance(call[-1], dict) else {}
            shapes = call[:-1] if keywords else call
            arrays = [rng.standard_normal(shape) for shape in shapes]
            found.append(Sample(tuple(arrays), {**options, **keywords}))
        return found

    return samples


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape)


def row(name: str, *calls: Any, **claims: Any) -> OpCase:
    claims.setdefault("complex", True)
    claims.setdefault("forward_dtypes", (*HALF, *COUNTS, "bool"))
    return OpCase(name, of_shapes(*calls), **claims)


INT = np.ones((3, 2), np.int64)
SAME_DTYPE = "expected m1 and m2 to have the same dtype, but got: double != long int"

PRODUCTS = [
    row(
        "mm",
        ((2, 3), (3, 4)),
        ((1, 1), (1, 1)),
        ((2, 0), (0, 3)),
        ((0, 3), (3, 2)),
        reference=np.matmul,
        out=True,
        errors=(
            fails(RuntimeError, "cannot be multiplied (2x3 and 2x3)", zeros(2, 3), zeros(2, 3)),
            fails(RuntimeError, "self must be a matrix", zeros(3), zeros(3, 2)),
            fails(RuntimeError, "mat2 must be a matrix", zeros(2, 3), zeros(3)),
            fails(RuntimeError, SAME_DTYPE, zeros(2, 3), INT),
            fails(
                TypeError, "argument 'mat2' (position 2) must be Tensor, not int", zeros(2, 3), 2
            ),
        ),
    ),
    row(
        "mv",
        ((2, 3), (3,)),
        ((2, 0), (0,)),
        ((0, 3), (3,)),
        reference=np.matmul,
        out=True,
        errors=(
            fails(RuntimeError, "got input (2), mat (2x3), vec (2)", zeros(2, 3), zeros(2)),
            fails(RuntimeError, "expected, got 1, 2, 2", zeros(2, 3), zeros(3, 1)),
            fails(RuntimeError, "but got Long, Double, and Long", zeros(2, 3), INT[:, 0]),
        ),
    ),
    row(
        "dot",
        ((3,), (3,)),
        ((0,), (0,)),
        reference=np.dot,
        out=True,
        errors=(
            fails(RuntimeError, "but got 2D and 1D tensors", zeros(2, 3), zeros(3)),
            fails(RuntimeError, "but got 2 and 3 elements respectively", zeros(2), zeros(3)),
            fails(RuntimeError, "but found Double and Long", zeros(3), INT[:, 0]),
        ),
    ),
    row(
        "vdot",
        ((3,), (3,)),
        reference=np.vdot,
        out=True,
        errors=(fails(RuntimeError, "1D tensors expected", zeros(2, 3), zeros(3)),),
    ),
    row(
        "bmm",
        ((2, 3, 4), (2, 4, 2)),
        ((0, 3, 4), (0, 4, 2)),
        ((2, 3, 0), (2, 0, 2)),
        reference=np.matmul,
        out=True,
        errors=(
            fails(RuntimeError, "batch1 must be a 3D tensor", zeros(2, 3), zeros(3, 2)),
            fails(RuntimeError, "to be: [2, 3] but got: [3, 3]", zeros(2, 2, 3), zeros(3, 3, 2)),
            fails(RuntimeError, "type Double but found Long", zeros(1, 2, 3), INT[None]),
        ),
    ),
    row(
        "matmul",
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3, 2)),
        ((5, 2, 3), (3,)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((3,), (5, 3, 4)),
        ((2, 3), (5, 3, 4)),
        ((1, 2, 3), (5, 3, 4)),
        ((5, 2, 3), (1, 3, 4)),
        ((4, 1, 2, 3), (5, 3, 2)),
        ((0, 2, 3), (3, 4)),
        ((2, 3, 0), (0, 4)),
        reference=np.matmul,
        out=True,
        errors=(
            fails(RuntimeError, "at least 1D, but they are 0D and 1D", zeros(), zeros(3)),
            fails(RuntimeError, "(10x3 and 4x2)", zeros(5, 2, 3), zeros(4, 2)),
            fails(RuntimeError, "tensor a (5) must match", zeros(5, 2, 3), zeros(4, 3, 2)),
            fails(TypeError, "argument 'other' (position 2) must be Tensor, not int", zeros(3), 2),
        ),
    ),
    row(
        "Tensor.__matmul__",
        ((2, 3), (3, 2)),
        ((3,), (3,)),
        reference=np.matmul,
    ),
    row(
        "outer",
        ((2,), (3,)),
        ((0,), (3,)),
        reference=np.outer,
        out=True,
        errors=(
            fails(RuntimeError, "Expected 1-D argument self, but got 2-D", zeros(2, 2), zeros(3)),
            fails(RuntimeError, "Expected 1-D argument vec2, but got 0-D", zeros(2), zeros()),
        ),
    ),
    row("ger", ((2,), (3,)), reference=np.outer, out=True),
]


def plus(product: Any):
    """NumPy's version of an operator that adds to a product."""

    def reference(added, first, second, beta=1, alpha=1):
        found = alpha * product(first, second)
        return found + beta * added if beta else found

    return reference


FACTORS = {"beta": 2, "alpha": 3}
EXPANDED = "The expanded size of the tensor (2) must match the existing size (5)"

SUMS = [
    row(
        "addmm",
        ((2, 4), (2, 3), (3, 4)),
        ((4,), (2, 3), (3, 4), FACTORS),
        ((), (2, 3), (3, 4), {"beta": 0}),
        ((2, 1), (2, 0), (0, 4)),
        ((2, 1), (2, 0), (0, 4), {"beta": True}),
        ((4,), (0, 2), (2, 4)),
        reference=plus(np.matmul),
        inplace="addmm_",
        out=True,
        errors=(
            fails(RuntimeError, "(2x3 and 2x3)", zeros(2), zeros(2, 3), zeros(2, 3)),
            fails(RuntimeError, EXPANDED, zeros(5), zeros(2, 3), zeros(3, 2)),
            fails(RuntimeError, "but got Long and Double", INT[0], zeros(2, 3), zeros(3, 2)),
            fails(RuntimeError, "mat1 must be a matrix", zeros(2), zeros(3), zeros(3, 2)),
        ),
    ),
    row(
        "addmv",
        ((2,), (2, 3), (3,)),
        ((), (2, 3), (3,), FACTORS),
        ((1,), (2, 3), (3,)),
        reference=plus(np.matmul),
        inplace="addmv_",
        out=True,
        errors=(fails(RuntimeError, "input (5)", zeros(5), zeros(2, 3), zeros(3)),),
    ),
    row(
        "baddbmm",
        ((4, 2, 2), (4, 2, 3), (4, 3, 2)),
        ((2,), (4, 2, 3), (4, 3, 2), FACTORS),
        ((2,), (4, 2, 0), (4, 0, 2)),
        reference=plus(np.matmul),
        inplace="baddbmm_",
        out=True,
        errors=(
            fails(IndexError, "Dimension out of range", zeros(2), zeros(2, 3), zeros(3, 2)),
            fails(RuntimeError, "input long int", INT, zeros(1, 3, 2), zeros(1, 2, 2)),
        ),
    ),
    row(
        "addbmm",
        ((2, 2), (4, 2, 3), (4, 3, 2)),
        ((2,), (4, 2, 3), (4, 3, 2), FACTORS),
        ((2, 2), (0, 2, 3), (0, 3, 2)),
        reference=plus(lambda first, second: np.matmul(first, second).sum(0)),
        inplace="addbmm_",
        out=True,
        errors=(
            fails(RuntimeError, "same number of batches", zeros(2), zeros(4, 2, 3), zeros(3, 3, 2)),
            fails(RuntimeError, "(2x3 and 2x2)", zeros(2), zeros(4, 2, 3), zeros(4, 2, 2)),
        ),
    ),
    row(
        "addr",
        ((2, 3), (2,), (3,)),
        ((3,), (2,), (3,), FACTORS),
        reference=plus(np.outer),
        inplace="addr_",
        out=True,
        errors=(
            fails(RuntimeError, "1-D argument vec1, but got 2-D", zeros(2), zeros(2, 1), zeros(3)),
            fails(
                RuntimeError,
                "argument alpha must not be a floating point number",
                INT,
                INT[:, 0],
                INT[0],
                alpha=1.5,
            ),
        ),
    ),
]


def einsums(rng: np.random.Generator) -> list[Sample]:
    calls: list[tuple[str, list[tuple[int, ...]]]] = [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ij,jk->ki", [(2, 3), (3, 4)]),
        ("ij->", [(2, 3)]),
        ("ij->ji", [(2, 3)]),
        ("ij->i", [(2, 3)]),
        ("ii->i", [(3, 3)]),
        ("ii", [(3, 3)]),
        ("iji->j", [(3, 2, 3)]),
        ("i,j->ij", [(3,), (4,)]),
        ("i,i", [(3,), (3,)]),
        ("bij,bjk->bik", [(5, 2, 3), (5, 3, 4)]),
        ("bqhd,bkhd->bhqk", [(2, 4, 3, 5), (2, 2, 3, 5)]),
        ("...ij,...jk->...ik", [(5, 2, 3), (3, 4)]),
        ("...i,i", [(2, 2, 3), (3,)]),
        ("i...->...", [(5, 3)]),
        ("ij,kl->il", [(2, 3), (4, 5)]),
        ("ij,jk->i", [(2, 3), (3, 4)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
        ("bn,anm,bm->ba", [(2, 3), (4, 3, 5), (2, 5)]),
        (" A b , b C ", [(2, 3), (3, 4)]),
        ("ij,jk->ik", [(2, 0), (0, 4)]),
    ]
    found = [
        Sample((equation, *[rng.standard_normal(shape) for shape in shapes]))
        for equation, shapes in calls
    ]
    a, b = rng.standard_normal((2, 3)), rng.standard_normal((3, 4))
    found.append(sample(a, [0, 1], b, [1, 2], [0, 2]))
    found.append(sample(a, [..., 1], b, [1, 0]))
    return found


def np_einsum(*args: Any) -> np.ndarray:
    return np.asarray(np.einsum(*args))


CONTRACTED = "contracted dimensions need to match, but first has size 2 in dim 0 and second has"


def chains(rng: np.random.Generator) -> list[Sample]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch calls it deprecated, once in a process
        taper.chain_matmul(taper.ones(1, 1))
    shapes = (
        [(2, 3)],
        [(2, 3), (3, 4)],
        [(9, 2), (2, 9), (9, 3)],
        [(2, 3), (3, 9), (9, 2), (2, 5)],
    )
    return [Sample(tuple(rng.standard_normal(each) for each in chain)) for chain in shapes]


def np_chain(*matrices: np.ndarray) -> np.ndarray:
    return np.linalg.multi_dot(matrices) if len(matrices) > 1 else matrices[0]


CONTRACTIONS = [
    OpCase(
        "einsum",
        einsums,
        reference=np_einsum,
        complex=True,
        forward_dtypes=(*HALF, "int64"),
        errors=(
            fails(RuntimeError, "fewer operands were provided", "ij,jk->ik", zeros(2, 3)),
            fails(RuntimeError, "more operands were provided", "ij", zeros(2, 3), zeros(3, 2)),
            fails(
                RuntimeError,
                "subscript j has size 4 for operand 1 which does not broadcast with previously",
                "ij,jk->ik",
                zeros(2, 3),
                zeros(4, 2),
            ),
            fails(RuntimeError, "output subscript k does not appear", "ij->k", zeros(2, 3)),
            fails(RuntimeError, "i appears more than once in the output", "ij->ii", zeros(2, 3)),
            fails(RuntimeError, "invalid subscript given at index 1", "i1->i", zeros(2, 3)),
            fails(RuntimeError, "is not part of any ellipsis", "i.j->i", zeros(2, 3)),
            fails(RuntimeError, "an ellipsis was already found", "i...j...->i", zeros(2, 3)),
            fails(RuntimeError, "is repeated for operand 0", "ii->i", zeros(2, 3)),
            fails(RuntimeError, "and no ellipsis was given", "i->i", zeros(2, 3)),
            fails(RuntimeError, "is more than the number of dimensions (1)", "i...k->i", zeros(2)),
            fails(ValueError, "not within the valid range [0, 52)", zeros(2, 3), [0, 60]),
            fails(ValueError, "must specify the equation string", "ij"),
            fails(TypeError, "argument 'equation' (position 1) must be str, not int", 2, zeros(3)),
        ),
    ),
    OpCase(
        "tensordot",
        lambda rng: [
            sample(rng.standard_normal((2, 3)), rng.standard_normal((3, 4)), 1),
            sample(rng.standard_normal((2, 3)), rng.standard_normal((3, 4)), 0),
            sample(rng.standard_normal((2, 3)), rng.standard_normal((2, 3))),
            sample(
                rng.standard_normal((2, 3, 4)), rng.standard_normal((4, 3, 5)), ([1, 2], [1, 0])
            ),
            sample(rng.standard_normal((2, 3)), rng.standard_normal((4, 3)), dims=([-1], [-1])),
        ],
        reference=lambda a, b, dims=2: np.tensordot(a, b, dims),
        complex=True,
        forward_dtypes=HALF,
        out=True,
        errors=(
            fails(RuntimeError, "dims < ndim_a or ndim_b", zeros(2, 3), zeros(3, 4), 3),
            fails(RuntimeError, "expects dims >= 0", zeros(2, 3), zeros(3, 4), -1),
            fails(RuntimeError, CONTRACTED, zeros(2, 3), zeros(3, 4), ([0], [1])),
            fails(RuntimeError, "same length", zeros(2, 3), zeros(3, 4), ([0, 1], [1])),
            fails(RuntimeError, "both inputs should have same dtype", zeros(2, 3), INT, 1),
            fails(IndexError, "Dimension out of range", zeros(2, 3), zeros(3, 4), ([5], [1])),
        ),
    ),
    row(
        "inner",
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((2, 4, 3), (5, 3)),
        ((2, 3), ()),
        reference=np.inner,
        forward_dtypes=HALF,
        out=True,
        errors=(fails(RuntimeError, "got shapes [2, 3] and [4]", zeros(2, 3), zeros(4)),),
    ),
    OpCase(
        "chain_matmul",
        chains,
        reference=np_chain,
        complex=True,
        out=True,
        errors=(
            fails(RuntimeError, "expected 2 instead", zeros(2, 3), zeros(3)),
            fails(RuntimeError, "[2, 3] and [4, 3] cannot be multiplied", zeros(2, 3), zeros(4, 3)),
        ),
    ),
]

CASES = PRODUCTS + SUMS + CONTRACTIONS
