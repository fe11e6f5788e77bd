"""Rows of reading and writing at places given by tensors."""

from __future__ import annotations

import numpy as np

from op_case import OpCase, Raises, Sample, sample
from opcases.shape import KINDS

VECTOR = np.array([0, 1, 1])
ALONG_0 = np.array([[0, 1, 0], [0, 0, 1]])
ALONG_1 = np.array([[0, 2], [2, 1]])
MASK = np.array([[True, False, True], [False, True, True]])


def _is_shape(value: object) -> bool:
    return isinstance(value, list) and len(value) == 1 and isinstance(value[0], tuple)


def rows(name: str, *given: tuple, **claims: object) -> OpCase:
    """Return entries of a call: a tuple alone in a list is the shape of a float tensor."""

    def samples(rng: np.random.Generator):
        found = []
        for entry in given:
            *args, last = entry
            keywords = last if isinstance(last, dict) else {}
            args = args if isinstance(last, dict) else [*args, last]
            made = [rng.standard_normal(a[0]) if _is_shape(a) else a for a in args]
            found.append(Sample(tuple(made), keywords))
        return found

    return OpCase(name, samples, **claims)


def wrong(error: type[Exception], text: str, *args: object, **kwargs: object) -> Raises:
    return Raises(error, text, sample(*args, **kwargs))


M, V = [(2, 3)], [(4,)]
ZEROS = np.zeros((2, 3))
TALL = np.zeros((3, 1), np.int64)

ALONG = [
    rows(
        "gather",
        (M, 0, ALONG_0),
        (M, 1, ALONG_1),
        (M, -1, np.array([[0], [2]])),
        ([()], 0, np.array(0)),
        (V, 0, np.zeros(0, np.int64)),
        ([(2, 3, 4)], 2, np.zeros((1, 2, 2), np.int64)),
        complex=True,
        forward_dtypes=KINDS,
        out=True,
        errors=(
            wrong(RuntimeError, "index 3 is out of bounds for dim", ZEROS, 1, np.array([[3]])),
            wrong(RuntimeError, "index -1 is out of bounds", ZEROS, 1, np.array([[-1]])),
            wrong(RuntimeError, "same number of dimensions as input", ZEROS, 1, np.array([0])),
            wrong(RuntimeError, "Size does not match at dimension 0", ZEROS, 1, TALL),
            wrong(RuntimeError, "Expected dtype int32/int64", ZEROS, 1, np.array([[True]])),
        ),
    ),
    rows(
        "take_along_dim",
        (M, ALONG_0, 0),
        (M, np.array([[0], [2]]), 1),
        (M, np.array([[0]]), 1),
        (M, np.array([0, 5])),
        complex=True,
        errors=(
            wrong(RuntimeError, "should have the same number of dim", ZEROS, np.array([0]), 1),
        ),
    ),
    rows(
        "scatter",
        (M, 0, np.array([[0, 1, 0], [1, 0, 1]]), M),
        (M, 1, np.array([[0, 2], [1, 0]]), [(2, 2)]),
        (M, 1, ALONG_1, 2.5),
        ([()], 0, np.array(0), 1.0),
        complex=True,
        inplace="scatter_",
        errors=(
            wrong(RuntimeError, "index 3 is out of bounds", ZEROS, 1, np.array([[3]]), 1.0),
            wrong(RuntimeError, "Expected index [3, 1] to be no", ZEROS, 1, TALL, 1.0),
            wrong(RuntimeError, "Expected self.dtype to be equal", ZEROS, 1, ALONG_1, ALONG_1),
            wrong(
                RuntimeError,
                "reduce argument must be either add or multiply.",
                ZEROS,
                1,
                ALONG_1,
                1.0,
                reduce="foo",
            ),
        ),
    ),
    rows(
        "scatter_add",
        (M, 0, ALONG_0, M),
        (M, 1, np.array([[0, 0], [1, 1]]), [(2, 2)]),
        ([()], 0, np.array(0), [()]),
        complex=True,
        inplace="scatter_add_",
        errors=(wrong(RuntimeError, "index 5 is out of bounds", ZEROS, 1, np.array([[5]]), ZEROS),),
    ),
    rows(
        "scatter_reduce",
        *[
            (M, 0, ALONG_0, M, how, {"include_self": own})
            for how in ("sum", "prod", "mean", "amax", "amin")
            for own in (True, False)
        ],
        inplace="scatter_reduce_",
        errors=(
            wrong(RuntimeError, "must be either sum, prod, mean", ZEROS, 0, ALONG_0, ZEROS, "foo"),
        ),
    ),
]

BY_VECTOR = [
    rows(
        "index_select",
        (M, 0, VECTOR),
        (M, -1, VECTOR),
        (M, 1, np.array(1)),
        ([()], 0, np.array([0])),
        (M, 0, np.zeros(0, np.int64)),
        complex=True,
        forward_dtypes=KINDS,
        out=True,
        errors=(
            wrong(IndexError, "index out of range in self", ZEROS, 0, np.array([5])),
            wrong(IndexError, "Index is supposed to be a vector", ZEROS, 0, np.array([[0]])),
            wrong(RuntimeError, "Expected dtype int32 or int64", ZEROS, 0, np.array([True])),
        ),
    ),
    rows(
        "index_add",
        (M, 0, VECTOR, [(3, 3)]),
        (M, 1, np.array([0, 0]), [(2, 2)], {"alpha": 2}),
        ([()], 0, np.array(0), [()]),
        complex=True,
        inplace="index_add_",
        errors=(
            wrong(RuntimeError, "Number of indices (1) should be", ZEROS, 0, np.array([0]), ZEROS),
            wrong(RuntimeError, "index 5 is out of bounds", ZEROS, 0, np.array([5, 0]), ZEROS),
            wrong(
                RuntimeError,
                "source tensor shape must match self",
                ZEROS,
                0,
                np.array([0, 1]),
                ZEROS[:, :2].copy(),
            ),
        ),
    ),
    rows(
        "index_copy",
        (M, 0, np.array([1, 0]), M),
        (M, 1, np.array([2]), [(2, 1)]),
        ([()], 0, np.array(0), [()]),
        complex=True,
        inplace="index_copy_",
        errors=(
            wrong(IndexError, "index_copy_(): index 5 is", ZEROS, 0, np.array([5, 0]), ZEROS),
            wrong(IndexError, "Number of indices (1) should be", ZEROS, 0, np.array([0]), ZEROS),
        ),
    ),
    rows(
        "index_fill",
        (M, 0, np.array([1]), 2.5),
        (M, 1, np.array([2, 0]), [()]),
        complex=True,
        inplace="index_fill_",
        errors=(
            wrong(IndexError, "index 5 is out of bounds", ZEROS, 1, np.array([5]), 1.0),
            wrong(IndexError, "Expected dtype int64 for index", ZEROS, 1, np.array([True]), 1.0),
            wrong(RuntimeError, "Index has to be a vector/scalar", ZEROS, 1, np.array([[1]]), 1.0),
        ),
    ),
    rows(
        "index_reduce",
        *[
            (M, 0, np.array([0, 0]), M, how, {"include_self": own})
            for how in ("prod", "mean", "amax", "amin")
            for own in (True, False)
        ],
        ([(2,)], 0, np.array([0, 0]), [(2,)], "amax"),
        forward_dtypes=("int64", "bool", "complex128"),
        out=True,
        inplace="index_reduce_",
        errors=(
            wrong(
                RuntimeError,
                "Expected reduce to be one of prod, mean, amax or amin",
                ZEROS,
                0,
                np.array([0, 0]),
                ZEROS,
                "sum",
            ),
        ),
    ),
    rows(
        "take",
        (M, np.array([0, 5])),
        (M, np.array([[0, -1]])),
        (M, np.array(2)),
        reference=np.take,
        complex=True,
        out=True,
        errors=(
            wrong(IndexError, "tried to access index 6 on a tensor of 6", ZEROS, np.array([6])),
        ),
    ),
    rows(
        "put",
        (M, np.array([0, 5]), [(2,)]),
        (M, np.array([0, 0]), [(2,)], True),
        (M, np.array([0, -1]), [(2,)]),
        complex=True,
        inplace="put_",
        errors=(
            wrong(IndexError, "the same number of elements", ZEROS, np.array([0]), np.zeros(2)),
        ),
    ),
]

PUT = (
    (M, (VECTOR,), [(3, 3)], True),
    (M, (np.array([0, 1]), np.array([1, 2])), [(2,)]),
    (M, (MASK,), [(4,)]),
    (M, (VECTOR, VECTOR), [()], True),
    ([(2, 3, 4)], (VECTOR, VECTOR), [(4,)], True),
)

ADVANCED = [
    rows(
        "index_put",
        *PUT,
        complex=True,
        inplace="index_put_",
        errors=(
            wrong(IndexError, "index 5 is out of bounds", ZEROS, (np.array([5]),), np.ones(3)),
            wrong(RuntimeError, "cannot be broadcast to indexing", ZEROS, (VECTOR,), np.ones(4)),
            wrong(IndexError, "too many indices", ZEROS, (VECTOR, VECTOR, VECTOR), np.ones(3)),
        ),
    ),
    rows("index_put_", *PUT, complex=True, differentiable=False),
]


def bracket(name: str, *given: tuple, **claims: object) -> OpCase:
    claims.setdefault("complex", True)
    return rows(f"Tensor.{name}", *given, **claims)


BRACKETS = [
    bracket(
        "__getitem__",
        (M, 0),
        (M, slice(1, None)),
        (M, (0, 1)),
        (M, (slice(None), 1)),
        (M, (Ellipsis, None, slice(0, 3, 2))),
        (M, ()),
        (M, True),
        (M, False),
        (M, VECTOR),
        (M, (VECTOR, VECTOR)),
        (M, (slice(None), VECTOR)),
        (M, MASK),
        (M, [0, 1]),
        (M, ([0, 1], 0)),
        (M, range(2)),
        ([(2, 3, 4)], (VECTOR, slice(None), VECTOR)),
        ([(2, 3, 4)], (0, VECTOR, slice(1, 3))),
        ([(2, 3, 4)], (MASK, None)),
        ([(2, 3, 4)], (np.array([[0], [1]]), np.array([0, 2]))),
        ([()], None),
        ([()], Ellipsis),
        errors=(
            wrong(IndexError, "index 2 is out of bounds for dimension 0 with size 2", ZEROS, 2),
            wrong(IndexError, "too many indices for tensor of dimension 2", ZEROS, (0, 0, 0)),
            wrong(ValueError, "step must be greater than zero", ZEROS, slice(None, None, -1)),
            wrong(IndexError, "only integers, slices", ZEROS, 1.0),
            wrong(IndexError, "The shape of the mask [3] at index 0", ZEROS, MASK[0]),
            wrong(IndexError, "index 5 is out of bounds for dimension 0", ZEROS, np.array([5])),
            wrong(IndexError, "invalid index of a 0-dim tensor", np.array(1.0), 0),
            wrong(
                IndexError,
                "could not be broadcast together with shapes [2], [3]",
                ZEROS,
                (np.array([0, 1]), VECTOR),
            ),
        ),
    ),
]

FOUND = [
    OpCase(
        "nonzero",
        lambda rng: [sample(MASK), sample(MASK, as_tuple=True), sample(np.array(True))],
        differentiable=False,
    ),
    OpCase("argwhere", lambda rng: [sample(MASK), sample(np.array(False))], differentiable=False),
]

VIEWS = [
    rows(
        "select_scatter",
        (M, [(3,)], 0, 1),
        (M, [(2,)], -1, -1),
        errors=(
            wrong(RuntimeError, "expected src to have a size equal", ZEROS, np.zeros(4), 0, 1),
        ),
    ),
    rows("slice_scatter", (M, [(1, 3)], 0, 1), (M, [(2, 2)], 1, 0, 3, 2)),
    rows(
        "diagonal_scatter",
        (M, [(2,)]),
        (M, [(2,)], 1),
        ([(2, 3, 4)], [(4, 2)], 0, 0, 1),
        complex=True,
    ),
]

TABLES = [
    rows(
        "embedding",
        ([(4, 3)], VECTOR),
        ([(4, 3)], np.array([[0, 1], [1, 3]]), 2),
        errors=(
            wrong(IndexError, "index out of range in self", ZEROS, np.array([5])),
            wrong(RuntimeError, "'weight' must be 2-D", np.zeros(3), VECTOR),
        ),
    ),
    rows(
        "nn.functional.embedding",
        (VECTOR, [(4, 3)]),
        (VECTOR, [(4, 3)], -1),
        errors=(
            wrong(AssertionError, "Padding_idx must be within num_embeddings", VECTOR, ZEROS, 5),
        ),
    ),
    OpCase(
        "embedding_renorm_",
        lambda rng: [sample(rng.standard_normal((4, 3)), VECTOR, 0.5, 2.0)],
        forward_dtypes=("int64", "bool", "complex128"),
        differentiable=False,
    ),
]

CASES = [*ALONG, *BY_VECTOR, *ADVANCED, *BRACKETS, *FOUND, *VIEWS, *TABLES]
