"""Rows of arithmetic on two and three tensors: sums, products, powers, extremes, mixing.

Long because: it is a table, one row for each operator of the family.
"""

from __future__ import annotations

import numpy as np

from op_case import Fixed, OpCase, Raises, sample

LOW = ("float16", "bfloat16")
WHOLE = ("uint8", "int8", "int32", "int64")
SHAPES = [((3, 4), (3, 4)), ((3, 4), (4,)), ((2, 1), (1, 3)), ((), (3,)), ((), ()), ((0,), (1,))]


def pairs(low=0.5, high=3.0, numbers=(2, 2.5), apart=0.0):
    """Return samples of two tensors, also broadcast, 0-d, empty, and of a tensor and a number.

    `apart` keeps the elements of a pair away from each other.
    """

    def make(rng):
        found = []
        for first, second in SHAPES:
            one, other = rng.uniform(low, high, first), rng.uniform(low, high, second)
            found.append(sample(np.asarray(one), np.asarray(other + apart)))
        found += [sample(rng.uniform(low, high, (2, 3)), number) for number in numbers]
        return found

    return make


def ints(*values, dtype=np.int64):
    return np.array(values, dtype)


def fails(error, text, *args, **kwargs):
    return Raises(error, text, sample(*args, **kwargs))


BROADCAST = fails(
    RuntimeError,
    "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0",
    np.ones(2),
    np.ones(3),
)
TRUE = np.array([True, False])
BYTES = ints(200, 100, dtype=np.uint8)


def sums(rng):
    normal = rng.standard_normal
    return [
        *pairs(-2, 2, numbers=(1, 0, 0.0, -1.5, 3))(rng),
        sample(normal((2, 3)), normal(3), alpha=2),
        sample(normal((2, 3)), 1.5, alpha=0.5),
        sample(normal(3), ints(1, 2, 3)),
        sample(ints(1, 2, 3), normal(3)),
        sample(ints(1, 2, 3), ints(3), alpha=-2),
        sample(normal(3), Fixed(np.array(2.0))),
        sample(2, normal(3)),
        sample(ints(1, 2), ints(1, 2, dtype=np.int8)),
        sample(BYTES, 100),
        sample(ints(1, 2, dtype=np.uint8), ints(-1, 2, dtype=np.int8)),
    ]


def np_sum(sign):
    """Return x + alpha y; bytes wrap around, and bool is a logical or."""

    def reference(x, y, alpha=1):
        total = np.asarray(x) * 1.0 + sign * alpha * (y * 1)
        kinds = {np.asarray(each).dtype for each in (x, y)}
        if kinds == {np.dtype(bool)}:
            return total > 0
        return total % 256 if x is BYTES else total

    return reference


SUMS = [
    OpCase(
        "add",
        lambda rng: [
            *sums(rng),
            sample(TRUE, TRUE),
            sample(TRUE, 2),
            sample(TRUE, TRUE, alpha=True),
        ],
        np_sum(1),
        complex=True,
        forward_dtypes=(*LOW, *WHOLE, "bool"),
        inplace="add_",
        out=True,
        errors=(
            BROADCAST,
            fails(RuntimeError, "Boolean alpha only supported for", np.ones(2), 1, alpha=True),
            fails(RuntimeError, "argument alpha must not be a floating", ints(1), 1, alpha=1.5),
            fails(RuntimeError, "argument alpha must not be a complex", np.ones(2), 1, alpha=2j),
            fails(TypeError, "argument 'alpha' must be Number, not str", np.ones(2), 1, alpha="a"),
            fails(
                TypeError, "argument 'other' (position 2) must be Tensor, not str", np.ones(2), "a"
            ),
            fails(NotImplementedError, '"add_stub" not', ints(1, dtype=np.uint16), 1),
            fails(OverflowError, "int too big to convert", np.ones(2), 2**70),
        ),
    ),
    OpCase(
        "sub",
        sums,
        np_sum(-1),
        complex=True,
        forward_dtypes=(*LOW, *WHOLE),
        inplace="sub_",
        out=True,
        errors=(
            BROADCAST,
            fails(RuntimeError, "with two bool tensors is not supported", TRUE, TRUE),
            fails(RuntimeError, "with a bool tensor is not supported", TRUE, 2),
            fails(RuntimeError, "with a bool tensor is not supported", np.ones(2), True),
            fails(RuntimeError, "with a bool tensor is not supported", np.ones(2), TRUE),
        ),
    ),
    OpCase(
        "rsub",
        lambda rng: [
            *pairs(-2, 2)(rng),
            sample(rng.standard_normal(3), rng.standard_normal(3), alpha=2),
            sample(rng.standard_normal(3), 2, alpha=0.5),
        ],
        lambda x, y, alpha=1: y - alpha * x,
        complex=True,
        forward_dtypes=(*LOW, *WHOLE),
        errors=(fails(RuntimeError, "with two bool tensors is not supported", TRUE, TRUE),),
    ),
]


def products(rng):
    normal = rng.standard_normal
    return [
        *pairs(numbers=(2, 2.5, -1, 0))(rng),
        sample(normal(3), ints(1, 2, 3)),
        sample(TRUE, normal(2)),
        sample(normal(3), True),
        sample(ints(1, 2, 3), 2.5),
        sample(2, normal(3)),
        sample(normal(3), Fixed(np.array(2.0))),
    ]


PRODUCTS = [
    OpCase(
        "mul",
        products,
        np.multiply,
        complex=True,
        forward_dtypes=(*LOW, *WHOLE, "bool"),
        inplace="mul_",
        out=True,
        errors=(BROADCAST,),
    ),
    OpCase(
        "div",
        lambda rng: [
            *pairs()(rng),
            sample(ints(1, 2, 3), 2),
            sample(ints(1, 2, 3), ints(2, 0, 3)),
            sample(2, rng.uniform(1, 2, 3)),
            sample(np.array([-7.5, 7.5]), 2, rounding_mode="trunc"),
            sample(np.array([-7.5, 7.5]), np.array([2.0, -2.0]), rounding_mode="floor"),
            sample(ints(-7, 7), 2, rounding_mode="trunc"),
            sample(ints(-7, 7, -6), ints(2, -2, 3), rounding_mode="trunc"),
            sample(ints(-7, 7), 2, rounding_mode="floor"),
            sample(np.array([-7.5, 7.5]), 2, rounding_mode=None),
        ],
        complex=False,
        forward_dtypes=(*LOW, *WHOLE),
        inplace="div_",
        out=True,
        errors=(
            BROADCAST,
            fails(RuntimeError, "ZeroDivisionError", ints(1), 0, rounding_mode="trunc"),
            fails(
                RuntimeError,
                "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found 'up'",
                np.ones(2),
                1,
                rounding_mode="up",
            ),
            fails(NotImplementedError, '"div_trunc_cpu" not', TRUE, TRUE, rounding_mode="trunc"),
        ),
    ),
    OpCase(
        "true_divide",
        lambda rng: [*pairs()(rng), sample(ints(1, 2), 2)],
        np.true_divide,
        complex=True,
        forward_dtypes=(*LOW, *WHOLE, "bool"),
        inplace="true_divide_",
        out=True,
    ),
    OpCase(
        "floor_divide",
        lambda rng: [
            *pairs()(rng),
            sample(ints(-7, 7), 2),
            sample(ints(-7, 7), ints(2, -2)),
            sample(7, ints(2, -2)),
            sample(np.array([-7.5, 7.5]), 2),
            sample(np.array([5.0, -5.0, 0.0]), 0.0),
            sample(np.array([5.0, -5.0]), np.inf),
        ],
        differentiable=False,
        forward_dtypes=(*LOW, *WHOLE),
        inplace="floor_divide_",
        out=True,
        errors=(
            fails(RuntimeError, "ZeroDivisionError", ints(1), 0),
            fails(NotImplementedError, "\"div_floor_cpu\" not implemented for 'Bool'", TRUE, TRUE),
            fails(NotImplementedError, '"div_floor_cpu" not', np.array([1j]), 2),
        ),
    ),
    OpCase(
        "remainder",
        lambda rng: [
            *pairs(numbers=())(rng),
            sample(np.array([-7.3, 7.3]), 3),
            sample(np.array([-7.3, 7.3]), -2.5),
            sample(np.array([-7.3, 7.3]), np.array([-3.0, 3.0])),
            sample(ints(-7, 7), -3),
            sample(ints(-7, 7), ints(3, -3)),
            sample(7, ints(3, -3)),
        ],
        np.remainder,
        forward_dtypes=(*LOW, *WHOLE),
        inplace="remainder_",
        out=True,
        errors=(
            fails(RuntimeError, "ZeroDivisionError", ints(1), 0),
            fails(NotImplementedError, "\"remainder_cpu\" not implemented for 'Bool'", TRUE, TRUE),
        ),
    ),
    OpCase(
        "fmod",
        lambda rng: [
            *pairs(numbers=())(rng),
            sample(np.array([-7.3, 7.3]), 3),
            sample(np.array([-7.3, 7.3]), np.array([-3.0, 3.0])),
            sample(ints(-7, 7), -3),
        ],
        np.fmod,
        forward_dtypes=(*LOW, *WHOLE),
        inplace="fmod_",
        out=True,
        errors=(
            fails(RuntimeError, "ZeroDivisionError", ints(1), 0),
            fails(TypeError, "fmod() received an invalid combination of arguments", 3, np.ones(2)),
        ),
    ),
]

POWERS = [
    OpCase(
        "pow",
        lambda rng: [
            *pairs(numbers=(0, 1, 2, 3, -1, -2, 0.5, -0.5, 2.5))(rng),
            sample(2, rng.uniform(0.5, 2, (2, 3))),
            sample(2.5, rng.uniform(0.5, 2, 3)),
            sample(rng.uniform(0.5, 2, 3), ints(1, 2, 3)),
            sample(ints(1, 2, 3), rng.uniform(0.5, 2, 3)),
            sample(ints(1, 2, 3), 2),
            sample(ints(1, 2, 3), 2.5),
            sample(TRUE, True),
            sample(TRUE, 2),
            sample(2, ints(-1, 3)),
            sample(ints(2, -1, 0, -1, 3), ints(-1, -1, -1, -2, -3)),
            sample(ints(2, 3, dtype=np.uint8), 7),
        ],
        complex=True,
        forward_dtypes=LOW,
        inplace="pow_",
        out=True,
        errors=(
            fails(RuntimeError, "Integers to negative integer powers are not", ints(1, 2), -1),
            fails(NotImplementedError, "\"pow\" not implemented for 'Bool'", TRUE, TRUE),
            fails(TypeError, "pow() received an invalid combination of arguments", np.ones(2), "a"),
            fails(
                RuntimeError,
                "value cannot be converted to type int8_t without overflow",
                ints(2, dtype=np.int8),
                200,
            ),
        ),
    ),
    OpCase(
        "float_power",
        lambda rng: [
            *pairs(numbers=(2, -1, 0.5))(rng),
            sample(ints(1, 2, 3), 2),
            sample(2, rng.uniform(0.5, 2, 3)),
        ],
        np.float_power,
        complex=True,
        out=False,
        forward_dtypes=(*LOW, "int64"),
        inplace="float_power_",
    ),
    OpCase(
        "logaddexp",
        pairs(-2, 2, numbers=()),
        np.logaddexp,
        out=True,
        forward_dtypes=("bfloat16",),
        errors=(fails(NotImplementedError, '"logaddexp_cpu" not', ints(1), ints(1)),),
    ),
    OpCase("logaddexp2", pairs(-2, 2, numbers=()), np.logaddexp2, out=True),
    OpCase(
        "ldexp",
        lambda rng: [*pairs(numbers=())(rng), sample(rng.standard_normal(3), ints(1, 0, 2))],
        lambda x, y: x * 2.0**y,
        out=True,
        inplace="ldexp_",
        complex=True,
    ),
    OpCase(
        "xlogy",
        lambda rng: [
            *pairs(numbers=(2, 2.5))(rng),
            sample(2, rng.uniform(0.5, 2, 3)),
            sample(Fixed(np.array([0.0, 1.0, 0.0])), Fixed(np.array([0.0, 0.0, np.nan]))),
        ],
        forward_dtypes=(*LOW, "int64"),
        out=True,
        inplace="xlogy_",
        errors=(fails(TypeError, "xlogy() received an invalid combination of arguments", 2, 3),),
    ),
]

EXTREMES = [
    OpCase(
        name,
        pairs(numbers=()),
        getattr(np, name),
        forward_dtypes=(*LOW, *WHOLE, "bool"),
        out=True,
        errors=(
            fails(RuntimeError, f"{name} not implemented for complex", np.ones(1) * 1j, np.ones(1)),
            fails(TypeError, "argument 'other' (position 2) must be Tensor", np.ones(2), 3),
        ),
    )
    for name in ("maximum", "minimum", "fmax", "fmin")
]


def np_clamp(x, min=None, max=None):
    return np.clip(x, min, max)


CLAMPS = [
    OpCase(
        "clamp",
        lambda rng: [
            sample(rng.uniform(-2, 2, (3, 4)), -0.5, 0.5),
            sample(rng.uniform(-2, 2, (3, 4)), min=-0.5),
            sample(rng.uniform(-2, 2, 5), max=0.5),
            sample(np.array(3.0), 0, 1),
            sample(np.empty(0), 0, 1),
            sample(
                rng.uniform(-2, 2, (3, 4)), rng.uniform(-2, -0.5, 4), rng.uniform(0.5, 2, (3, 1))
            ),
            sample(rng.uniform(-2, 2, 5), max=rng.uniform(-2, 2, 5)),
            sample(ints(1, 5), 2),
            sample(ints(1, 5), 2.5),
            sample(ints(1, 5), 2, 3.5),
            sample(np.array([1.0, 5.0]), 3, 1),
            sample(TRUE, 0, 1),
        ],
        np_clamp,
        forward_dtypes=LOW,
        inplace="clamp_",
        out=True,
        errors=(
            fails(RuntimeError, "torch.clamp: At least one of 'min' or 'max' must not", np.ones(2)),
            fails(NotImplementedError, "clamp is not supported for complex", np.ones(2) * 1j, 0, 1),
            fails(
                TypeError, "clamp() received an invalid combination of arguments", np.ones(2), "a"
            ),
            fails(
                RuntimeError,
                "value cannot be converted to type uint8_t without overflow",
                ints(1, dtype=np.uint8),
                -300,
            ),
        ),
    ),
    OpCase(
        "clamp_min",
        lambda rng: [
            sample(rng.uniform(-2, 2, (3, 4)), 0.3),
            sample(rng.uniform(-2, 2, (3, 4)), rng.uniform(-2, 2, 4)),
            sample(ints(1, 5), 2),
        ],
        np.maximum,
        forward_dtypes=LOW,
        inplace="clamp_min_",
        out=True,
        errors=(fails(TypeError, "clamp_min() received an invalid", np.ones(2), None),),
    ),
    OpCase(
        "clamp_max",
        lambda rng: [
            sample(rng.uniform(-2, 2, (3, 4)), 0.3),
            sample(rng.uniform(-2, 2, (3, 4)), rng.uniform(-2, 2, 4)),
            sample(ints(1, 5), 2),
        ],
        np.minimum,
        forward_dtypes=LOW,
        inplace="clamp_max_",
        out=True,
    ),
]


def np_where(condition, x, y):
    return np.where(condition, x, y)


BLENDS = [
    OpCase(
        "where",
        lambda rng: [
            sample(rng.random((3, 4)) > 0.5, rng.standard_normal((3, 4)), rng.standard_normal(4)),
            sample(rng.random(3) > 0.5, rng.standard_normal(3), 2.5),
            sample(rng.random(3) > 0.5, 1, rng.standard_normal((2, 3))),
            sample(np.array(True), rng.standard_normal(3), np.array(2.0)),
            sample(rng.random((30, 40)) > 0.5, Fixed(rng.random((30, 40))), Fixed(rng.random(40))),
            sample(TRUE, 1, 2.5),
            sample(TRUE, ints(1, 2), 2.5),
        ],
        np_where,
        complex=True,
        forward_dtypes=(*LOW, *WHOLE, "bool"),
        out=False,
        errors=(
            fails(
                RuntimeError,
                "where expected condition to be a boolean tensor, but got a tensor with dtype Long",
                ints(1, 0),
                np.ones(2),
                np.ones(2),
            ),
            fails(
                TypeError, "where() received an invalid combination", True, np.ones(1), np.ones(1)
            ),
            fails(
                RuntimeError, "The size of tensor a (2) must match", TRUE, np.ones(2), np.ones(3)
            ),
        ),
    ),
    OpCase(
        "lerp",
        lambda rng: [
            sample(rng.standard_normal((3, 4)), rng.standard_normal((3, 4)), 0.3),
            sample(rng.standard_normal((3, 4)), rng.standard_normal(4), 0.8),
            sample(rng.standard_normal((3, 4)), rng.standard_normal(4), rng.uniform(0, 1, (3, 4))),
            sample(np.array(1.0), np.array(2.0), 1),
            sample(rng.standard_normal(3), rng.standard_normal(3), Fixed(np.array(0.25))),
        ],
        lambda x, y, w: x + w * (y - x),
        complex=False,
        forward_dtypes=LOW,
        inplace="lerp_",
        out=True,
        errors=(
            fails(NotImplementedError, '"lerp_kernel_scalar" not implemented', ints(1), ints(2), 1),
            fails(
                RuntimeError,
                "expected dtype double for `end` but got dtype long int",
                np.ones(1),
                ints(1),
                0.5,
            ),
            fails(TypeError, "lerp() received an invalid combination", np.ones(2), 3.0, 1),
        ),
    ),
    OpCase(
        "addcmul",
        lambda rng: [
            sample(*rng.standard_normal((3, 2, 3))),
            sample(*rng.standard_normal((3, 2, 3)), value=0.5),
            sample(
                rng.standard_normal((2, 3)), rng.standard_normal(3), rng.standard_normal((2, 1))
            ),
            sample(ints(1), ints(2), ints(3)),
            sample(ints(1), ints(2), ints(3), value=1.5),
        ],
        lambda x, a, b, value=1: x + int(value) * a * b if x.dtype == int else x + value * a * b,
        complex=True,
        forward_dtypes=(*LOW, "int64"),
        inplace="addcmul_",
        out=True,
        errors=(
            fails(
                TypeError, "argument 'tensor2' (position 3) must be Tensor", *np.ones((2, 1)), 3.0
            ),
        ),
    ),
    OpCase(
        "addcdiv",
        lambda rng: [
            sample(*rng.uniform(0.5, 2, (3, 2, 3))),
            sample(*rng.uniform(0.5, 2, (3, 2, 3)), value=0.5),
            sample(rng.uniform(1, 2, (2, 3)), rng.uniform(1, 2, 3), rng.uniform(1, 2, (2, 1))),
        ],
        lambda x, a, b, value=1: x + value * a / b,
        complex=True,
        forward_dtypes=LOW,
        inplace="addcdiv_",
        out=True,
        errors=(fails(RuntimeError, "Integer division with addcdiv", ints(1), ints(1), ints(1)),),
    ),
    OpCase(
        "copysign",
        lambda rng: [
            *pairs(numbers=(-1, 2.5))(rng),
            sample(ints(1, 2), -1),
            sample(np.array([1.0, -2.0]), -0.0),
        ],
        np.copysign,
        forward_dtypes=(*LOW, "int64"),
        inplace="copysign_",
        out=True,
        errors=(fails(TypeError, "copysign() received an invalid combination", 1, np.ones(2)),),
    ),
    OpCase(
        "heaviside",
        lambda rng: [sample(rng.standard_normal((3, 4)), rng.standard_normal(4))],
        np.heaviside,
        differentiable=False,
        forward_dtypes=(*LOW, "int64", "bool"),
        inplace="heaviside_",
        out=True,
        errors=(
            fails(
                RuntimeError,
                "heaviside is not yet implemented for complex",
                1j * np.ones(1),
                np.ones(1),
            ),
            fails(RuntimeError, "for tensors with different dtypes", np.ones(1), ints(1)),
        ),
    ),
    OpCase(
        "atan2",
        pairs(numbers=()),
        np.arctan2,
        forward_dtypes=(*LOW, "int64"),
        inplace="atan2_",
        out=True,
    ),
    OpCase(
        "hypot",
        pairs(numbers=()),
        np.hypot,
        forward_dtypes=LOW,
        inplace="hypot_",
        out=True,
        errors=(fails(NotImplementedError, '"hypot_cpu" not implemented', ints(1), ints(1)),),
    ),
]


def whole_pairs(rng):
    draw = rng.integers
    return [
        sample(draw(-20, 20, (3, 4)), draw(-20, 20, 4)),
        sample(np.array(12), np.array(18)),
        sample(draw(0, 20, 3).astype(np.uint8), draw(0, 20, 3).astype(np.uint8)),
        sample(np.empty(0, int), np.empty(0, int)),
    ]


WHOLE_NUMBERS = [
    OpCase(
        name,
        whole_pairs,
        getattr(np, name),
        differentiable=False,
        inplace=f"{name}_",
        out=True,
        errors=(
            fails(NotImplementedError, f'"{name}_cpu" not implemented', np.ones(2), np.ones(2)),
        ),
    )
    for name in ("gcd", "lcm")
]

BASIC = [*SUMS, *PRODUCTS, *POWERS, *EXTREMES, *CLAMPS, *BLENDS, *WHOLE_NUMBERS]


def renamed(name, original):
    """Return the row of another name of an operator."""
    row = next(case for case in BASIC if case.name == original)
    inplace = f"{name}_" if row.inplace else None
    return OpCase(**{**row.__dict__, "name": name, "inplace": inplace, "errors": ()})


ALIASES = [
    renamed("subtract", "sub"),
    renamed("multiply", "mul"),
    renamed("divide", "div"),
    renamed("arctan2", "atan2"),
    renamed("clip", "clamp"),
]


def of_floats(samples):
    """Return the samples whose result can be written into their first tensor."""

    def make(rng):
        return [
            each
            for each in samples(rng)
            if isinstance(each.args[0], np.ndarray)
            and each.args[0].dtype.kind in "f"
            and each.args[0].ndim
            and np.broadcast_shapes(*[np.shape(a) for a in each.args]) == each.args[0].shape
        ]

    return make


IN_PLACE = [
    OpCase(f"{case.name}_", of_floats(case.samples), differentiable=False)
    for case in [*BASIC, *ALIASES]
    if case.name in ("clamp", "clamp_min", "clamp_max", "clip", "ldexp", "xlogy")
] + [OpCase(f"{name}_", whole_pairs, differentiable=False) for name in ("gcd", "lcm")]

CASES = [*BASIC, *ALIASES, *IN_PLACE]
