"""Rows of the convolutions."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from op_case import OpCase, Raises, Sample, sample

HALF = ("float16", "bfloat16")
INTEGERS = ("int64", "int32", "uint8")
# Not bfloat16: PyTorch's transposed convolution of it is an illegal instruction on some machines.
TRANSPOSED_DTYPES = ("float16", "int64")


def fails(error: type[Exception], text: str, *shapes: Any, **settings: Any) -> Raises:
    """Return a call with zeros of the first three shapes."""
    arrays = [np.zeros(each) if isinstance(each, tuple) else each for each in shapes[:3]]
    return Raises(error, text, sample(*arrays, *shapes[3:], **settings))


def each(value: Any, rank: int) -> list[int]:
    return [value] * rank if isinstance(value, int) else list(value)


def np_conv(x, w, b=None, stride=1, padding=0, dilation=1, groups=1) -> np.ndarray:
    """Convolve tap by tap; an input with one dimension less is one image."""
    rank = w.ndim - 2
    if x.ndim == rank + 1:
        return np_conv(x[None], w, b, stride, padding, dilation, groups)[0]
    stride, dilation = each(stride, rank), each(dilation, rank)
    if isinstance(padding, str):
        totals = [
            d * (k - 1) * (padding == "same") for k, d in zip(w.shape[2:], dilation, strict=True)
        ]
        widths = [(total // 2, total - total // 2) for total in totals]
    else:
        widths = [(width, width) for width in each(padding, rank)]
    x = np.pad(x, [(0, 0), (0, 0), *widths])
    sizes = [
        (n - d * (k - 1) - 1) // s + 1
        for n, k, d, s in zip(x.shape[2:], w.shape[2:], dilation, stride, strict=True)
    ]
    outputs, inputs = w.shape[0] // groups, w.shape[1]
    result = np.zeros((len(x), w.shape[0] if x.shape[1] else 0, *sizes), x.dtype)
    for tap in product(*map(range, w.shape[2:])):
        seen = [
            slice(k * d, k * d + (n - 1) * s + 1, s)
            for k, d, n, s in zip(tap, dilation, sizes, stride, strict=True)
        ]
        for group in range(groups if x.size else 0):
            to = slice(group * outputs, (group + 1) * outputs)
            part = x[(slice(None), slice(group * inputs, (group + 1) * inputs), *seen)]
            result[:, to] += np.einsum("oc,nc...->no...", w[(to, slice(None), *tap)], part)
    return result if b is None else result + b[: result.shape[1]].reshape(-1, *[1] * rank)


def np_conv_transpose(
    x, w, b=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1
) -> np.ndarray:
    """Let every place add its taps to a larger result, which is cut to size."""
    rank = w.ndim - 2
    if x.ndim == rank + 1:
        given = (stride, padding, output_padding, groups, dilation)
        return np_conv_transpose(x[None], w, b, *given)[0]
    stride, padding, dilation = (each(value, rank) for value in (stride, padding, dilation))
    extra = each(output_padding, rank)
    every = list(zip(x.shape[2:], w.shape[2:], stride, dilation, padding, extra, strict=True))
    full = [(n - 1) * s + d * (k - 1) + 1 + e for n, k, s, d, _, e in every]
    inputs, outputs = w.shape[0] // groups, w.shape[1]
    result = np.zeros((len(x), outputs * groups, *full), x.dtype)
    for place in product(*map(range, x.shape[2:])):
        for tap in product(*map(range, w.shape[2:])):
            at = [y * s + k * d for y, k, s, d in zip(place, tap, stride, dilation, strict=True)]
            for group in range(groups):
                given = slice(group * inputs, (group + 1) * inputs)
                to = (slice(None), slice(group * outputs, (group + 1) * outputs), *at)
                result[to] += x[(slice(None), given, *place)] @ w[(given, slice(None), *tap)]
    inside = [slice(p, length - p) for length, p in zip(full, padding, strict=True)]
    result = result[(slice(None), slice(None), *inside)]
    return result if b is None else result + b.reshape(-1, *[1] * rank)


# --- samples ---------------------------------------------------------------------------------


def conv1ds(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    x, w, b = normal((2, 4, 7)), normal((6, 4, 3)), normal(6)
    return [
        sample(x, w),
        sample(x, w, b, 2, 1),
        sample(x, w, b, dilation=2, padding=(3,)),
        sample(x, normal((6, 2, 2)), b, stride=[3], groups=2),
        sample(x, normal((6, 4, 1)), b, stride=2),
        sample(normal((4, 7)), w, b, padding="same"),
        sample(x, w, padding="valid"),
        sample(normal((0, 4, 7)), w, b),
    ]


def conv2ds(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    x, w, b = normal((2, 4, 6, 7)), normal((6, 4, 3, 2)), normal(6)
    return [
        sample(x, w),
        sample(x, w, b),
        sample(x, w, b, (2, 1), (1, 2), (1, 2)),
        sample(x, w, b, stride=3, padding=2, dilation=2),
        sample(x, normal((6, 2, 3, 3)), b, padding=1, groups=2),
        sample(x, normal((4, 1, 3, 3)), normal(4), padding=1, groups=4),
        sample(x, normal((8, 1, 2, 2)), None, 2, 0, 1, 4),
        sample(x, normal((5, 4, 1, 1)), normal(5)),
        sample(x, normal((4, 2, 1, 1)), normal(4), stride=2, groups=2),
        sample(x, normal((5, 4, 1, 1)), padding=1),
        sample(x, normal((3, 4, 3, 3)), padding="same"),
        sample(x, normal((3, 4, 2, 3)), padding="same", dilation=(2, 1)),
        sample(x, w, padding="valid", stride=2),
        sample(normal((4, 6, 7)), w, b),
        sample(normal((0, 4, 6, 7)), w, b),
        sample(normal((2, 0, 6, 7)), normal((6, 0, 3, 2)), b),
        sample(normal((1, 1, 3, 3)), normal((1, 1, 3, 3))),
    ]


def conv3ds(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    x, w, b = normal((2, 2, 3, 4, 3)), normal((2, 2, 2, 3, 2)), normal(2)
    return [
        sample(x, w, b),
        sample(x, w, None, (2, 1, 1), (0, 1, 2), (1, 1, 2)),
        sample(x, normal((4, 1, 2, 1, 2)), groups=2, padding=1, stride=2),
        sample(normal((2, 3, 4, 3)), normal((2, 2, 1, 3, 3)), b, padding="same"),
        sample(x, normal((3, 2, 1, 1, 1)), normal(3)),
    ]


def conv_transpose1ds(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    x, w, b = normal((2, 4, 5)), normal((4, 3, 3)), normal(3)
    return [
        sample(x, w, b),
        sample(x, w, None, 2, 1, 1),
        sample(x, w, b, dilation=2, stride=3, padding=2, output_padding=2),
        sample(x, normal((4, 3, 2)), normal(6), groups=2),
        sample(normal((4, 5)), w, b, 2),
        sample(normal((0, 4, 5)), w),
    ]


def conv_transpose2ds(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    x, w, b = normal((2, 4, 3, 4)), normal((4, 3, 3, 2)), normal(3)
    return [
        sample(x, w),
        sample(x, w, b, 2, 1, 1),
        sample(x, w, b, (3, 2), (1, 0), (2, 1), 1, (2, 3)),
        sample(x, w, b, stride=2, dilation=2, padding=2, output_padding=1),
        sample(x, normal((4, 2, 2, 2)), normal(4), stride=2, groups=2),
        sample(x, normal((4, 1, 3, 3)), normal(4), padding=1, groups=4),
        sample(x, normal((4, 3, 1, 1)), b),
        sample(x, normal((4, 3, 1, 1)), b, stride=2, output_padding=1),
        sample(x, normal((4, 3, 1, 1)), None, stride=3, padding=1),
        sample(normal((4, 3, 4)), w, b),
        sample(normal((0, 4, 3, 4)), w, b),
    ]


def conv_transpose3ds(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    x, w, b = normal((2, 2, 2, 3, 2)), normal((2, 2, 2, 1, 3)), normal(2)
    return [
        sample(x, w, b),
        sample(x, w, b, (2, 1, 3), (1, 0, 1), (1, 0, 2)),
        sample(x, normal((2, 1, 2, 2, 2)), groups=2, dilation=2),
        sample(normal((2, 2, 3, 2)), w, b),
    ]


def convolutions(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    x, b = normal((2, 4, 5)), normal(2)
    plane = normal((2, 4, 5, 4))
    return [
        sample(x, normal((2, 4, 3)), b, (2,), (1,), (1,), False, (0,), 1),
        sample(x, normal((4, 2, 3)), b, (2,), (1,), (1,), True, (1,), 1),
        sample(plane, normal((2, 2, 3, 3)), None, [1], [1], [1], False, [0], 2),
        sample(plane, normal((4, 1, 3, 3)), b, (2, 2), (1, 1), (1, 1), True, (1, 0), 2),
    ]


def np_convolution(x, w, b, stride, padding, dilation, transposed, output_padding, groups):
    rank = w.ndim - 2
    one, two, three, four = (
        list(value) * (rank if len(value) == 1 else 1)
        for value in (stride, padding, dilation, output_padding)
    )
    if transposed:
        return np_conv_transpose(x, w, b, one, two, four, groups, three)
    return np_conv(x, w, b, one, two, three, groups)


def conv_tbcs(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    x, w, b = normal((5, 2, 3)), normal((2, 3, 4)), normal(4)
    return [
        sample(x, w, b),
        sample(x, w, b, 2),
        sample(x, w, b, -1),
        sample(normal((1, 2, 3)), w, b),
        sample(normal((5, 0, 3)), w, b, pad=1),
    ]


def np_conv_tbc(x, w, b, pad=0):
    x = np.pad(x, [(pad, pad), (0, 0), (0, 0)]) if pad >= 0 else x[-pad:pad]
    steps = len(x) - len(w) + 1
    return sum((x[k : k + steps] @ w[k] for k in range(len(w))), np.zeros(())) + b


# --- rows ------------------------------------------------------------------------------------

INPUT, WEIGHT = (1, 4, 5, 5), (2, 4, 3, 3)
TRANSPOSED = (4, 2, 3, 3)

CONV2D_ERRORS = (
    fails(RuntimeError, "to have 3 channels, but got 4 channels", INPUT, (2, 3, 3, 3)),
    fails(RuntimeError, "divisible by 2 at dimension 0", INPUT, (3, 2, 3, 3), groups=2),
    fails(RuntimeError, "at least 4 at dimension 0", INPUT, (2, 1, 3, 3), groups=4),
    fails(RuntimeError, "non-positive groups is not supported", INPUT, WEIGHT, groups=0),
    fails(RuntimeError, "Expected 3D (unbatched) or 4D (batched) input", (4, 5), WEIGHT),
    fails(RuntimeError, "weight should have at least three dimensions", INPUT, (4, 4)),
    fails(RuntimeError, "a list of 1 values to match", INPUT, (2, 4, 3)),
    fails(
        RuntimeError,
        "Calculated padded input size per channel: (4 x 4)",
        (1, 4, 2, 2),
        (2, 4, 5, 5),
        padding=1,
    ),
    fails(RuntimeError, "Kernel size: (7 x 7)", (1, 4, 4, 4), WEIGHT, dilation=3),
    fails(RuntimeError, "non-positive stride is not supported", INPUT, WEIGHT, stride=0),
    fails(RuntimeError, "negative padding is not supported", INPUT, WEIGHT, padding=-1),
    fails(RuntimeError, "but got [0, 0]", INPUT, WEIGHT, dilation=0),
    fails(RuntimeError, "dilation should be greater than zero", INPUT, WEIGHT, dilation=-1),
    fails(RuntimeError, "but got stride=[1, 1, 1]", INPUT, WEIGHT, stride=(1, 1, 1)),
    fails(RuntimeError, "but got padding=[]", INPUT, WEIGHT, padding=()),
    fails(RuntimeError, "Invalid padding string: 'full'", INPUT, WEIGHT, padding="full"),
    fails(RuntimeError, "not supported for strided", INPUT, WEIGHT, padding="same", stride=2),
    fails(RuntimeError, "stride cannot broadcast", INPUT, WEIGHT, padding="same", stride=(1,) * 3),
    fails(RuntimeError, "for 3-dimensional weight[2, 4, 3]", INPUT, (2, 4, 3), padding="same"),
    fails(RuntimeError, "but got bias of size [3] instead", INPUT, WEIGHT, (3,)),
    fails(RuntimeError, "but got bias of size [2, 1] instead", INPUT, WEIGHT, (2, 1)),
    fails(RuntimeError, "Only zero batch or zero channel inputs", (1, 4, 0, 5), WEIGHT, padding=2),
    fails(RuntimeError, "kernel_height: 0 kernel_width: 3", INPUT, (2, 4, 0, 3)),
    fails(TypeError, "got (Tensor, Tensor, stride=float)", INPUT, WEIGHT, stride=1.5),
    fails(TypeError, "got (Tensor, Tensor, float)", INPUT, WEIGHT, 1.0),
    fails(TypeError, "got (Tensor, int)", INPUT, 3),
    fails(
        RuntimeError,
        "expected scalar type Double but found Long",
        INPUT,
        np.zeros(WEIGHT, np.int64),
    ),
    fails(RuntimeError, "and bias type (long int)", INPUT, WEIGHT, np.zeros(2, np.int64)),
    Raises(
        NotImplementedError,
        "\"slow_conv2d_cpu\" not implemented for 'Bool'",
        sample(np.zeros(INPUT, bool), np.zeros(WEIGHT, bool)),
    ),
)

TRANSPOSE2D_ERRORS = (
    fails(RuntimeError, "Given transposed=1, weight of size [3, 2, 3, 3]", INPUT, (3, 2, 3, 3)),
    fails(RuntimeError, "divisible by 3 at dimension 0", INPUT, TRANSPOSED, groups=3),
    fails(
        RuntimeError,
        "output_padding_height: 1 output_padding_width: 1",
        INPUT,
        TRANSPOSED,
        output_padding=1,
    ),
    fails(RuntimeError, "negative output_padding", INPUT, TRANSPOSED, output_padding=-1),
    fails(RuntimeError, "(-1 x -1). Output size is too small", (1, 4, 1, 1), TRANSPOSED, padding=2),
    fails(
        RuntimeError,
        "Given transposed=1, weight of size [4, 2, 3, 3], expected bias",
        INPUT,
        TRANSPOSED,
        (3,),
    ),
    fails(
        RuntimeError,
        "Expected 3D (unbatched) or 4D (batched) input to conv_transpose2d",
        (5, 5),
        TRANSPOSED,
    ),
    fails(RuntimeError, "dilation_height: 0, dilation_width: 0", INPUT, TRANSPOSED, dilation=0),
    fails(TypeError, "'padding' must be tuple of ints, not str", INPUT, TRANSPOSED, padding="same"),
    fails(TypeError, "'input' (position 1) must be Tensor, not int", 1, TRANSPOSED),
    fails(TypeError, "'bias' (position 3) must be Tensor, not float", INPUT, TRANSPOSED, 1.5),
    fails(TypeError, "failed to unpack the object at pos 2", INPUT, TRANSPOSED, stride=(1, 1.0)),
    Raises(
        NotImplementedError,
        "\"slow_conv_transpose2d_out_cpu\" not implemented for 'Int'",
        sample(np.zeros(INPUT, np.int32), np.zeros(TRANSPOSED, np.int32)),
    ),
)

CASES = [
    OpCase(
        "nn.functional.conv1d",
        conv1ds,
        reference=np_conv,
        forward_dtypes=(*HALF, *INTEGERS),
        complex=True,
        errors=(
            fails(RuntimeError, "2D (unbatched) or 3D (batched) input to conv1d", (4,), (2, 4, 3)),
            fails(RuntimeError, "size per channel: (2). Kernel size: (3)", (1, 4, 2), (2, 4, 3)),
            fails(RuntimeError, "kernel_height: 1 kernel_width: 0", (1, 4, 5), (2, 4, 0)),
        ),
    ),
    OpCase(
        "nn.functional.conv2d",
        conv2ds,
        reference=np_conv,
        forward_dtypes=(*HALF, *INTEGERS),
        complex=True,
        errors=CONV2D_ERRORS,
    ),
    OpCase(
        "nn.functional.conv3d",
        conv3ds,
        reference=np_conv,
        forward_dtypes=(*HALF, *INTEGERS),
        complex=True,
        errors=(
            fails(RuntimeError, "4D (unbatched) or 5D", (4, 5, 5), (2, 4, 3, 3, 3)),
            fails(RuntimeError, "Kernel size: (3 x 3 x 3)", (1, 4, 2, 2, 2), (2, 4, 3, 3, 3)),
        ),
    ),
    OpCase(
        "nn.functional.conv_transpose1d",
        conv_transpose1ds,
        reference=np_conv_transpose,
        forward_dtypes=TRANSPOSED_DTYPES,
        complex=True,
        errors=(
            fails(
                RuntimeError,
                "output_padding_height: 0 output_padding_width: 1",
                (1, 4, 5),
                (4, 2, 3),
                output_padding=1,
            ),
            fails(
                RuntimeError,
                "(1 x 1). Calculated output size per channel: (1 x -1)",
                (1, 4, 1),
                (4, 2, 3),
                padding=2,
            ),
        ),
    ),
    OpCase(
        "nn.functional.conv_transpose2d",
        conv_transpose2ds,
        reference=np_conv_transpose,
        forward_dtypes=TRANSPOSED_DTYPES,
        complex=True,
        errors=TRANSPOSE2D_ERRORS,
    ),
    OpCase(
        "nn.functional.conv_transpose3d",
        conv_transpose3ds,
        reference=np_conv_transpose,
        forward_dtypes=TRANSPOSED_DTYPES,
        complex=True,
        errors=(
            fails(
                RuntimeError,
                "output_padding_depth: 1",
                (1, 4, 5, 5, 5),
                (4, 2, 3, 3, 3),
                output_padding=1,
            ),
        ),
    ),
    OpCase(
        "convolution",
        convolutions,
        reference=np_convolution,
        forward_dtypes=TRANSPOSED_DTYPES,
        errors=(
            fails(
                TypeError,
                "'stride' (position 4) must be tuple of ints, not int",
                INPUT,
                WEIGHT,
                None,
                1,
                (0, 0),
                (1, 1),
                False,
                (0, 0),
                1,
            ),
            fails(
                TypeError,
                "'transposed' (position 7) must be bool, not int",
                INPUT,
                WEIGHT,
                None,
                (1, 1),
                (0, 0),
                (1, 1),
                1,
                (0, 0),
                1,
            ),
            fails(
                RuntimeError,
                "Expected 4-dimensional input for 4-dimensional weight [2, 4, 3, 3]",
                (4, 5, 5),
                WEIGHT,
                None,
                (1, 1),
                (0, 0),
                (1, 1),
                False,
                (0, 0),
                1,
            ),
            fails(
                RuntimeError,
                "unsupported ConvNd parameters",
                (1, 4, 5, 5, 5, 5),
                (2, 4, 3, 3, 3, 3),
                None,
                *[(1,) * 4, (0,) * 4, (1,) * 4],
                False,
                (0,) * 4,
                1,
            ),
        ),
    ),
    OpCase(
        "conv_tbc",
        conv_tbcs,
        reference=np_conv_tbc,
        forward_dtypes=(*HALF, "int64", "bool", "complex64"),
        errors=(
            fails(RuntimeError, "Input must have 3 dims", (7, 2), (3, 3, 4), (4,)),
            fails(RuntimeError, "Weight tensor must have 3 dims", (7, 2, 3), (3, 3), (4,)),
            fails(RuntimeError, "Bias must be 1-D", (7, 2, 3), (3, 3, 4), (4, 1)),
            fails(RuntimeError, "is not == dim 1 in the weight", (7, 2, 3), (3, 5, 4), (4,)),
            fails(RuntimeError, "Bias size must equal dim 2", (7, 2, 3), (3, 3, 4), (5,)),
            fails(RuntimeError, "negative dimension -2: [-2, 2, 4]", (2, 2, 3), (5, 3, 4), (4,)),
            fails(TypeError, "'bias' (position 3) must be Tensor, not", (7, 2, 3), (3, 3, 4), None),
            fails(
                TypeError, "'pad' (position 4) must be int, not", (7, 2, 3), (3, 3, 4), (4,), 1.0
            ),
        ),
    ),
]
