"""ONNX nodes of convolutions, normalisations, embeddings and interpolation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from taper.onnx.errors import OnnxExporterError
from taper.onnx.graph import FLOAT32, INT64, Graph, Value
from taper.onnx.mapping.reductions import variance
from taper.onnx.mapping.shapes import MAPPING as SHAPES
from taper.onnx.sizes import Varying


def _convolution(
    graph: Graph,
    input: Value,
    weight: Value,
    bias: Value | None,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    transposed: bool,
    output_padding: tuple[int, ...],
    groups: int,
) -> Value:
    return graph.op(
        "ConvTranspose" if transposed else "Conv",
        input,
        weight,
        bias,
        kernel_shape=list(weight.sizes[2:]),
        strides=list(stride),
        pads=[*padding, *padding],
        dilations=list(dilation),
        group=groups,
        output_padding=list(output_padding) if transposed and any(output_padding) else None,
    )


def _per_channel(graph: Graph, value: Value | None, filler: float, like: Value) -> Value:
    """Return a parameter with an element per channel; a missing one is filled in."""
    if value is not None:
        return value
    channels = like.sizes[1]
    if isinstance(channels, Varying):
        return graph.op("Expand", graph.number(filler, like.dtype), graph.size(channels))
    return graph.constant(np.full(channels, filler), like.dtype)


def _batch_norm(
    graph: Graph,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value | None,
    running_var: Value | None,
    training: bool,
    eps: float,
) -> list[Value | None]:
    if training:
        if running_mean is not None:
            raise OnnxExporterError("it is training. Export the model in eval mode")
        return [_normalized_by_itself(graph, input, weight, bias, eps), None, None, None]
    parameters = [
        _per_channel(graph, each, filler, input)
        for each, filler in zip(
            (weight, bias, running_mean, running_var), (1, 0, 0, 1), strict=True
        )
    ]
    return [graph.op("BatchNormalization", input, *parameters, epsilon=eps), None, None, None]


def _normalized_by_itself(
    graph: Graph, input: Value, weight: Value | None, bias: Value | None, eps: float
) -> Value:
    """Normalise with the statistics of the input, channel by channel."""
    dims = tuple(each for each in range(input.rank) if each != 1)
    var, mean = variance(graph, input, dims, 0, True)
    wide = graph.op("Sqrt", graph.op("Add", var, graph.number(eps, input.dtype)))
    found = graph.op("Div", graph.op("Sub", input, mean), wide)
    return _affine(graph, found, input.rank, weight, bias)


def _affine(
    graph: Graph, value: Value, rank: int, weight: Value | None, bias: Value | None
) -> Value:
    trailing = graph.constant(list(range(1, rank - 1)))
    for kind, parameter in (("Mul", weight), ("Add", bias)):
        if parameter is not None:
            wide = graph.op("Unsqueeze", parameter, trailing) if rank > 2 else parameter
            value = graph.op(kind, value, wide)
    return value


def _layer_norm(
    graph: Graph,
    input: Value,
    normalized_shape: tuple[int, ...],
    weight: Value | None,
    bias: Value | None,
    eps: float,
) -> list[Value | None]:
    shape = normalized_shape if isinstance(normalized_shape, tuple) else (normalized_shape,)
    scale = weight if weight is not None else graph.constant(np.ones(shape), input.dtype)
    found = graph.op("LayerNormalization", input, scale, bias, axis=-len(shape), epsilon=eps)
    return [found, None, None]


def _group_norm(
    graph: Graph,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    batch: Any,
    channels: Any,
    positions: Any,
    group: int,
    eps: float,
) -> list[Value | None]:
    flat = graph.op("Reshape", input, graph.constant([0, group, -1]))
    ones, zeros = (graph.constant(np.full(group, each), input.dtype) for each in (1, 0))
    normalized = graph.op("InstanceNormalization", flat, ones, zeros, epsilon=eps)
    found = graph.op("Reshape", normalized, graph.op("Shape", input, dtype=INT64))
    return [_affine(graph, found, input.rank, weight, bias), None, None]


def _embedding(graph: Graph, weight: Value, indices: Value, *settings: Any) -> Value:
    return graph.op("Gather", weight, indices, axis=0)


def _resize(
    graph: Graph,
    self: Value,
    output_size: tuple[Any, ...],
    scales: tuple[Any, ...],
    **attributes: Any,
) -> Value:
    rank = len(output_size)
    if all(each is not None for each in scales):
        factors = graph.constant([1.0, 1.0, *scales], FLOAT32)
        return graph.op("Resize", self, None, factors, **attributes)
    ahead = graph.op("Shape", self, dtype=INT64, start=0, end=self.rank - rank)
    sizes = graph.op("Concat", ahead, graph.shape(output_size), axis=0)
    return graph.op("Resize", self, None, None, sizes, **attributes)


def _nearest(exact: bool, graph: Graph, self: Value, output_size: Any, *scales: Any) -> Value:
    mode = "half_pixel" if exact else "asymmetric"
    return _resize(
        graph,
        self,
        output_size,
        scales,
        mode="nearest",
        coordinate_transformation_mode=mode,
        nearest_mode="round_prefer_ceil" if exact else "floor",
    )


def _smooth(
    mode: str, graph: Graph, self: Value, output_size: Any, align_corners: bool, *scales: Any
) -> Value:
    known = (None,) * len(scales) if align_corners else scales
    return _resize(
        graph,
        self,
        output_size,
        known,
        mode=mode,
        coordinate_transformation_mode="align_corners" if align_corners else "pytorch_half_pixel",
        cubic_coeff_a=-0.75 if mode == "cubic" else None,
    )


_MODES = {True: ("linear", "nearest", "cubic"), False: ("bilinear", "nearest", "bicubic")}


def _grid_sample(
    graph: Graph, input: Value, grid: Value, mode: int, padding_mode: int, align_corners: bool
) -> Value:
    return graph.op(
        "GridSample",
        input,
        grid,
        mode=_MODES[graph.opset >= 20][mode],
        padding_mode=("zeros", "border", "reflection")[padding_mode],
        align_corners=int(bool(align_corners)),
    )


def _im2col(
    graph: Graph,
    self: Value,
    kernel_size: tuple[int, int],
    dilation: tuple[int, int],
    padding: tuple[int, int],
    stride: tuple[int, int],
) -> Value:
    high, wide = padding
    padded = SHAPES["constant_pad_nd"](graph, self, (wide, wide, high, high), 0.0)
    value = padded
    for nr, axis in ((0, 2), (1, 4)):
        size = self.sizes[2 + nr]
        if isinstance(size, Varying):
            raise OnnxExporterError("height and width must not vary")
        reach = dilation[nr] * (kernel_size[nr] - 1) + 1
        starts = np.arange(0, size + 2 * padding[nr] - reach + 1, stride[nr])
        places = np.arange(kernel_size[nr])[:, None] * dilation[nr] + starts
        value = graph.op("Gather", value, graph.constant(places), axis=axis)
    value = graph.op("Transpose", value, perm=[0, 1, 2, 4, 3, 5])
    return graph.reshape(value, graph.result.shape)


MAPPING: dict[str, Callable[..., Any]] = {
    "convolution": _convolution,
    "native_batch_norm": _batch_norm,
    "native_layer_norm": _layer_norm,
    "native_group_norm": _group_norm,
    "embedding": _embedding,
    **dict.fromkeys(
        [f"upsample_nearest{rank}d" for rank in (1, 2, 3)], functools.partial(_nearest, False)
    ),
    **dict.fromkeys(
        [f"_upsample_nearest_exact{rank}d" for rank in (1, 2, 3)], functools.partial(_nearest, True)
    ),
    **dict.fromkeys(
        ("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"),
        functools.partial(_smooth, "linear"),
    ),
    "upsample_bicubic2d": functools.partial(_smooth, "cubic"),
    "grid_sampler_2d": _grid_sample,
    "im2col": _im2col,
}
