"""Rows of comparisons, logic, bits and questions about elements."""

from __future__ import annotations

import numpy as np

from op_case import Fixed, OpCase, Raises, sample

LOW = ("float16", "bfloat16")
WHOLE = ("bool", "uint8", "int8", "int32", "int64")
TRUE = np.array([True, False])


def ints(*values, dtype=np.int64):
    return np.array(values, dtype)


def fails(error, text, *args, **kwargs):
    return Raises(error, text, sample(*args, **kwargs))


def comparisons(rng):
    draw = lambda *shape: np.asarray(rng.integers(-2, 3, shape) * 0.5)  # noqa: E731
    return [
        sample(draw(3, 4), draw(3, 4)),
        sample(draw(3, 4), draw(4)),
        sample(draw(2, 1), draw(1, 3)),
        sample(draw(), draw(3)),
        sample(draw(), draw()),
        sample(np.empty(0), draw(1)),
        sample(draw(3, 4), 1),
        sample(draw(3, 4), 0),
        sample(draw(3, 4), 0.5),
        sample(draw(3), True),
        sample(ints(1, 2), draw(2)),
        sample(ints(200, 3, dtype=np.uint8), -56),
        sample(ints(2, 3, dtype=np.int8), 300),
        sample(draw(3), Fixed(np.array(0.5))),
    ]


OPERATORS = {
    "eq": (np.equal, "not_equal"),
    "ne": (np.not_equal, "not_equal"),
    "lt": (np.less, "less"),
    "le": (np.less_equal, "less_equal"),
    "gt": (np.greater, "greater"),
    "ge": (np.greater_equal, "greater_equal"),
}
NAMES = {
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
}


def comparison(name, short):
    ordered = short not in ("eq", "ne")
    refused = fails(
        NotImplementedError, f'"{short}_cpu" not implemented', np.ones(2), np.ones(2) * 1j
    )
    return OpCase(
        name,
        comparisons,
        differentiable=False,
        forward_dtypes=(*LOW, *WHOLE) if ordered else (*LOW, *WHOLE, "complex64", "complex128"),
        inplace=None,
        out=True,
        errors=(
            *((refused,) if ordered else ()),
            fails(
                TypeError, f"{short}() received an invalid combination of arguments", 3, np.ones(2)
            ),
            fails(RuntimeError, "must match the size of tensor b", np.ones(2), np.ones(3)),
        )
        if name == short
        else (),
    )


COMPARISONS = [comparison(name, name) for name in OPERATORS]
COMPARISONS += [comparison(name, short) for name, short in NAMES.items()]

CLOSE = [
    OpCase(
        "isclose",
        lambda rng: [
            sample(np.array([1.0, 2.0]), np.array([1.0, 2.1])),
            sample(np.array([1.0, 2.0]), np.array([1.000001, 2.1]), rtol=0.1),
            sample(np.array([1.0, 2.0]), np.array([[1.0], [2.0]]), 0.0, 0.0),
            sample(
                Fixed(np.array([np.nan, np.inf, 1.0])),
                Fixed(np.array([np.nan] * 3)),
                equal_nan=True,
            ),
            sample(Fixed(np.array([np.inf, -np.inf])), Fixed(np.array([np.inf, np.inf]))),
            sample(ints(1, 5), ints(2, 9), atol=1),
        ],
        differentiable=False,
        forward_dtypes=("int64", "uint8", "bool", "complex64"),
        errors=(
            fails(RuntimeError, "Double did not match Long", np.ones(1), ints(1)),
            fails(
                RuntimeError,
                "rtol must be greater than or equal to zero, but got -1",
                np.ones(1),
                np.ones(1),
                rtol=-1,
            ),
        ),
    ),
    OpCase(
        "allclose",
        lambda rng: [
            sample(np.array([1.0, 2.0]), np.array([1.0, 2.1])),
            sample(np.array([1.0, 2.0]), np.array([1.0, 2.0])),
            sample(np.array([1.0, 2.0]), np.array([1.0, 2.1]), atol=0.2),
        ],
        differentiable=False,
    ),
    OpCase(
        "equal",
        lambda rng: [
            sample(np.array([1.0, 2.0]), np.array([1.0, 2.0])),
            sample(np.array([1.0, 2.0]), np.array([1.0, 3.0])),
            sample(np.array([1.0]), np.array([1.0, 1.0])),
            sample(np.array([1.0]), ints(1)),
            sample(np.empty(0), np.empty(0)),
        ],
        differentiable=False,
        errors=(fails(TypeError, "argument 'other' (position 2) must be Tensor", np.ones(1), 1),),
    ),
    OpCase(
        "isin",
        lambda rng: [
            sample(ints(1, 2, 3), ints(2, 5)),
            sample(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([2.0, 3.0])),
            sample(ints(1, 2, 3), 2),
            sample(2, ints(1, 2)),
            sample(ints(1, 2, 3), ints(2), invert=True),
            sample(ints(1, 2), np.array([2.0]), assume_unique=True),
        ],
        differentiable=False,
        forward_dtypes=("float16", "bfloat16"),
        errors=(fails(RuntimeError, "Unsupported input type encountered for isin()", TRUE, TRUE),),
    ),
]

NUMBERS = np.array([1.0, -0.0, 0.0, np.nan, np.inf, -np.inf, -2.0])
PAIRS = np.array([1 + 0j, 2j, complex(np.nan, 1), complex(1, np.inf), 0j])


def questions(rng):
    return [
        sample(NUMBERS),
        sample(np.array(1.0)),
        sample(np.empty((0, 2))),
        sample(ints(1, -2, 0)),
        sample(TRUE),
        sample(ints(1, 0, dtype=np.uint8)),
    ]


def also_complex(rng):
    return [*questions(rng), sample(PAIRS)]


QUESTIONS = [
    OpCase("isnan", also_complex, differentiable=False, forward_dtypes=LOW),
    OpCase("isinf", also_complex, differentiable=False, forward_dtypes=LOW),
    OpCase("isfinite", also_complex, differentiable=False, forward_dtypes=LOW),
    OpCase("isreal", also_complex, differentiable=False, forward_dtypes=LOW),
    OpCase(
        "isposinf",
        questions,
        differentiable=False,
        forward_dtypes=LOW,
        out=True,
        errors=(fails(RuntimeError, "isposinf does not support complex", np.ones(1) * 1j),),
    ),
    OpCase(
        "isneginf",
        questions,
        differentiable=False,
        forward_dtypes=LOW,
        out=True,
        errors=(fails(RuntimeError, "isneginf does not support complex", np.ones(1) * 1j),),
    ),
    OpCase(
        "signbit",
        lambda rng: [sample(NUMBERS[~np.isnan(NUMBERS)]), *questions(rng)[1:]],
        differentiable=False,
        forward_dtypes=LOW,
        out=True,
        errors=(
            fails(NotImplementedError, "signbit is not implemented for complex", np.ones(1) * 1j),
        ),
    ),
]


def logic(rng):
    draw = lambda *shape: np.asarray(rng.integers(0, 2, shape) * 1.5)  # noqa: E731
    return [
        sample(draw(3, 4), draw(4)),
        sample(draw(), draw(3)),
        sample(np.empty(0), draw(1)),
        sample(draw(2), TRUE),
        sample(ints(1, 0), draw(2)),
        sample(TRUE, TRUE),
    ]


LOGIC = [
    OpCase(
        name,
        logic,
        getattr(np, name),
        differentiable=False,
        forward_dtypes=(*LOW, *WHOLE, "complex64"),
        out=True,
        errors=(
            fails(
                TypeError, "argument 'other' (position 2) must be Tensor, not int", np.ones(2), 1
            ),
        ),
    )
    for name in ("logical_and", "logical_or", "logical_xor")
]
LOGIC.append(
    OpCase(
        "logical_not",
        also_complex,
        np.logical_not,
        differentiable=False,
        forward_dtypes=LOW,
        out=True,
    )
)


def bits(rng):
    draw = rng.integers
    return [
        sample(draw(-9, 9, (3, 4)), draw(-9, 9, 4)),
        sample(np.array(6), np.array(3)),
        sample(draw(0, 99, 3).astype(np.uint8), draw(0, 99, 3).astype(np.uint8)),
        sample(draw(-9, 9, 3), 3),
        sample(3, draw(-9, 9, 3)),
        sample(TRUE, TRUE[::-1].copy()),
        sample(TRUE, ints(1, 2)),
        sample(TRUE, True),
        sample(TRUE, 2),
    ]


def shifts(rng):
    draw = rng.integers
    return [
        sample(draw(-9, 9, (3, 4)), draw(0, 5, 4)),
        sample(ints(100, -3, dtype=np.int8), ints(1, 2, dtype=np.int8)),
        sample(ints(200, 3, dtype=np.uint8), 1),
        sample(ints(1, -8), 70),
        sample(3, ints(1, 2)),
    ]


BITS = [
    OpCase(
        name,
        bits,
        getattr(np, name),
        differentiable=False,
        inplace=f"{name}_",
        out=True,
        errors=(
            fails(NotImplementedError, f'"{name}_cpu" not implemented for', np.ones(2), 1),
            fails(NotImplementedError, f'"{name}_cpu" not implemented for', ints(1), 1.5),
        ),
    )
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor")
] + [
    OpCase(
        "bitwise_not",
        lambda rng: [sample(ints(0, -1, 5)), sample(TRUE), sample(ints(3, dtype=np.uint8))],
        np.invert,
        differentiable=False,
        inplace="bitwise_not_",
        out=True,
        errors=(fails(NotImplementedError, '"bitwise_not_cpu" not implemented', np.ones(1)),),
    ),
    OpCase(
        "bitwise_left_shift",
        shifts,
        differentiable=False,
        inplace="bitwise_left_shift_",
        out=True,
        errors=(
            fails(NotImplementedError, "\"lshift_cpu\" not implemented for 'Bool'", TRUE, TRUE),
            fails(NotImplementedError, '"lshift_cpu" not implemented for', np.ones(1), 1),
        ),
    ),
    OpCase(
        "bitwise_right_shift",
        shifts,
        differentiable=False,
        inplace="bitwise_right_shift_",
        out=True,
        errors=(fails(NotImplementedError, '"rshift_cpu" not implemented', np.ones(1), 1),),
    ),
]

CASES = [*COMPARISONS, *CLOSE, *QUESTIONS, *LOGIC, *BITS]
