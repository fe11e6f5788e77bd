"""Rows of `fold` and `unfold`."""

from __future__ import annotations

from typing import Any

import numpy as np

from op_case import OpCase, Raises, Sample, sample

FORWARD = ("float16", "bfloat16", "bool")


def fails(error: type[Exception], text: str, shape: Any, *args: Any, **settings: Any) -> Raises:
    array = np.zeros(shape) if isinstance(shape, tuple) else shape
    return Raises(error, text, sample(array, *args, **settings))


def pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else tuple(value)


def unfolds(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    return [
        sample(normal((2, 3, 5, 6)), 2),
        sample(normal((2, 3, 5, 6)), (2, 3), dilation=1, padding=1, stride=2),
        sample(normal((2, 3, 5, 6)), (3, 2), (2, 1), (1, 2), (1, 3)),
        sample(normal((3, 5, 6)), 2),
        sample(np.zeros((0, 3, 5, 6)), 2),
    ]


def np_unfold(x, kernel_size, dilation=1, padding=0, stride=1):
    if x.ndim == 3:
        return np_unfold(x[None], kernel_size, dilation, padding, stride)[0]
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = map(pair, (kernel_size, dilation, padding, stride))
    x = np.pad(x, [(0, 0), (0, 0), (ph, ph), (pw, pw)])
    rows = range(0, x.shape[2] - dh * (kh - 1), sh)
    columns = range(0, x.shape[3] - dw * (kw - 1), sw)
    windows = [
        x[:, :, i : i + dh * (kh - 1) + 1 : dh, j : j + dw * (kw - 1) + 1 : dw]
        for i in rows
        for j in columns
    ]
    return np.stack([each.reshape(len(x), x.shape[1] * kh * kw) for each in windows], -1)


def folds(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    return [
        sample(normal((2, 12, 20)), (5, 6), (2, 2)),
        sample(normal((2, 8, 4)), 3, 2),
        sample(normal((12, 20)), (5, 6), 2),
        sample(normal((2, 6, 6)), (5, 6), (2, 3), padding=1, stride=2, dilation=(3, 1)),
        sample(np.zeros((0, 8, 4)), (3, 3), 2),
    ]


def np_fold(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Return the adjoint of `unfold`, by the windows of a picture of numbers."""
    if x.ndim == 2:
        return np_fold(x[None], output_size, kernel_size, dilation, padding, stride)[0]
    height, width = pair(output_size)
    channels = x.shape[1] // int(np.prod(pair(kernel_size)))
    count = channels * height * width
    picture = np.arange(1.0, count + 1).reshape(1, channels, height, width)
    numbers = np_unfold(picture, kernel_size, dilation, padding, stride)[0].astype(int)
    result = np.zeros((len(x), count + 1))
    for image in range(len(x)):
        np.add.at(result[image], numbers, x[image])
    return result[:, 1:].reshape(len(x), channels, height, width)


CASES = [
    OpCase(
        "nn.functional.unfold",
        unfolds,
        reference=np_unfold,
        forward_dtypes=FORWARD,
        complex=True,
        errors=(
            fails(RuntimeError, "but got: [1, 2, 3, 4, 5]", (1, 2, 3, 4, 5), 2),
            fails(IndexError, "range of [-2, 1], but got 2", (4, 5), 2),
            fails(RuntimeError, "but got: [1, 0, 3, 4]", (1, 0, 3, 4), 2),
            fails(RuntimeError, "kernel_size equals to 2, but got size 3", (1, 2, 3, 4), (2, 2, 2)),
            fails(RuntimeError, "dilation equals to 2", (1, 2, 3, 4), 2, dilation=(1,)),
            fails(RuntimeError, "kernel_height: 0 kernel_width: 0", (1, 2, 3, 4), 0),
            fails(RuntimeError, "pad_height: -1 pad_width: -1", (1, 2, 3, 4), 2, padding=-1),
            fails(RuntimeError, "stride_height: 0 stride_width: 1", (1, 2, 3, 4), 2, stride=(0, 1)),
            fails(RuntimeError, "as (-1, 0), but its components", (1, 2, 3, 4), 5),
            fails(TypeError, "found element of type float at pos 0", (1, 2, 3, 4), 2.0),
            fails(TypeError, "must be Tensor, not list", [1], 2),
            fails(NotImplementedError, '"im2col_out_cpu"', np.zeros((1, 2, 3, 4), np.int64), 2),
        ),
    ),
    OpCase(
        "nn.functional.fold",
        folds,
        reference=np_fold,
        forward_dtypes=FORWARD,
        complex=True,
        errors=(
            fails(RuntimeError, "but got: [1, 2, 3, 4]", (1, 2, 3, 4), (3, 3), 2),
            fails(RuntimeError, "2 * 2 = 4, but got input.size(2)=5", (1, 8, 5), (3, 3), 2),
            fails(RuntimeError, "but got input.size(1)=7", (1, 7, 4), (3, 3), 2),
            fails(RuntimeError, "output_size equals to 2", (1, 8, 4), (3, 3, 3), 2),
            fails(RuntimeError, "dilation_height: 0", (1, 8, 4), (3, 3), 2, dilation=0),
            fails(RuntimeError, "but got: [1, 8, 0]", (1, 8, 0), (3, 3), 2),
            fails(TypeError, "failed to unpack the object at pos 2", (1, 8, 4), (3, 3.0), 2),
            fails(NotImplementedError, '"col2im_out_cpu"', np.zeros((1, 8, 4), np.int64), 3, 2),
        ),
    ),
]
