"""What a writer records, as messages: scalars, histograms, pictures, sound, texts, tensors.

Owns: the message `Summary` and the contents of TensorBoard's plugins.  Each function returns an
encoded `Summary`, which `FileWriter.add_summary` takes.  Names and arguments are PyTorch's.
"""

from __future__ import annotations

import io
import json
import wave
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from taper.tensor import Tensor
from taper.utils._protobuf import (
    double,
    doubles,
    integer,
    integers,
    message,
    single,
    singles,
)
from taper.utils._protobuf import (
    text as characters,
)
from taper.utils.tensorboard import images
from taper.utils.tensorboard.arrays import as_array

_FLOAT, _DOUBLE, _STRING = 1, 2, 7  # of the enumeration DataType
_SMALLEST_COUNT = 1e-7  # keeps precision and recall from a division by zero


def _summary(*values: bytes) -> bytes:
    return b"".join(message(1, each) for each in values)


def _value(tag: str, *parts: bytes, plugin: str | None = None, content: bytes = b"") -> bytes:
    """Return one value; `plugin` is the part of TensorBoard that shows it."""
    metadata = b""
    if plugin is not None:
        shown_by = characters(1, plugin) + (characters(2, content) if content else b"")
        metadata = message(9, message(1, shown_by))
    return characters(1, tag) + b"".join(parts) + metadata


def _shape(sizes: Sequence[int]) -> bytes:
    return b"".join(message(2, integer(1, size)) for size in sizes)


def _tensor(dtype: int, sizes: Sequence[int] | None, data: bytes) -> bytes:
    shape = b"" if sizes is None else message(2, _shape(sizes))
    return message(8, integer(1, dtype), shape, data)


def _float_tensor(array: np.ndarray) -> bytes:
    return _tensor(_FLOAT, array.shape, singles(5, array))


# --- numbers ---------------------------------------------------------------------------------


def scalar(
    name: str,
    tensor: Any,
    collections: None = None,
    new_style: bool = False,
    double_precision: bool = False,
) -> bytes:
    """Return one number; in the new style it is a tensor without dimensions."""
    array = as_array(tensor).squeeze()
    if array.ndim != 0:
        raise AssertionError(
            "Tensor should contain one element (0 dimensions).             "
            f"Was given size: {array.size} and {array.ndim} dimensions."
        )
    number = float(array)
    if not new_style:
        return _summary(_value(name, single(2, number)))
    value = (
        _tensor(_DOUBLE, None, doubles(6, [number]))
        if double_precision
        else _tensor(_FLOAT, None, singles(5, [number]))
    )
    return _summary(_value(name, value, plugin="scalars"))


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> bytes:
    """Return how many values lie between the edges `bins`, as in `numpy.histogram`."""
    array = as_array(values).astype(np.float64)
    return _summary(_value(name, message(5, _histogram(array, bins, max_bins))))


def _histogram(values: np.ndarray, bins: Any, max_bins: int | None) -> bytes:
    if values.size == 0:
        raise ValueError("The input has no element.")
    values = values.reshape(-1)
    counts, edges = np.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        together = len(counts) // max_bins
        counts = np.pad(counts, (0, -len(counts) % together)).reshape(-1, together).sum(axis=1)
        edges = np.append(edges[:-1][::together], edges[-1])
    filled = np.flatnonzero(counts)
    if not filled.size:
        raise ValueError("The histogram is empty, please file a bug report.")
    # A bucket is known by its upper edge: an empty one in front says where the first begins.
    first, last = filled[0], filled[-1]
    return _histogram_fields(
        *(values.min(), values.max(), len(values), values.sum(), values.dot(values)),
        edges[first : last + 2],
        [0, *counts[first : last + 1]],
    )


def histogram_raw(
    name: str,
    min: Any,
    max: Any,
    num: Any,
    sum: Any,
    sum_squares: Any,
    bucket_limits: Any,
    bucket_counts: Any,
) -> bytes:
    """Return a histogram that was counted elsewhere."""
    limits, counts = _real_numbers(bucket_limits), _real_numbers(bucket_counts)
    return _summary(
        _value(name, message(5, _histogram_fields(min, max, num, sum, sum_squares, limits, counts)))
    )


def _real_numbers(values: Any) -> list[float]:
    for each in values:
        double(1, each)  # raises for what is no real number
    return [float(each) for each in values]


def _histogram_fields(
    least: Any, most: Any, number: Any, total: Any, squares: Any, limits: Any, counts: Any
) -> bytes:
    numbers = (least, most, number, total, squares)
    fields = b"".join(double(field, each) for field, each in enumerate(numbers, 1))
    return fields + doubles(6, limits) + doubles(7, counts)


def pr_curve(
    tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None
) -> bytes:
    """Return precision and recall of predictions from 0 to 1, at evenly spaced thresholds."""
    num_thresholds = min(num_thresholds, 127)
    labels, predictions = as_array(labels), as_array(predictions)
    weights = 1.0 if weights is None else weights
    buckets = np.int32(np.floor(predictions * (num_thresholds - 1)))
    truth = labels.astype(float)
    counts = [
        np.histogram(
            buckets, bins=num_thresholds, range=(0, num_thresholds - 1), weights=each * weights
        )[0]
        for each in (truth, 1.0 - truth)
    ]
    # A prediction above a threshold is above all smaller ones.
    true_positive, false_positive = (np.cumsum(each[::-1])[::-1] for each in counts)
    true_negative = false_positive[0] - false_positive
    false_negative = true_positive[0] - true_positive
    found = np.maximum(_SMALLEST_COUNT, true_positive + false_positive)
    there = np.maximum(_SMALLEST_COUNT, true_positive + false_negative)
    rows = (true_positive, false_positive, true_negative, false_negative)
    curve = np.stack([*rows, true_positive / found, true_positive / there])
    return _pr_curve(tag, curve, num_thresholds)


def pr_curve_raw(
    tag: str,
    tp: Any,
    fp: Any,
    tn: Any,
    fn: Any,
    precision: Any,
    recall: Any,
    num_thresholds: int = 127,
    weights: None = None,
) -> bytes:
    """Return a curve that was counted elsewhere."""
    curve = np.stack([np.asarray(each) for each in (tp, fp, tn, fn, precision, recall)])
    return _pr_curve(tag, curve, min(num_thresholds, 127))


def _pr_curve(tag: str, curve: np.ndarray, thresholds: int) -> bytes:
    content = integer(2, thresholds)
    return _summary(_value(tag, _float_tensor(curve), plugin="pr_curves", content=content))


# --- pictures and sound ----------------------------------------------------------------------


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> bytes:
    """Return a picture, or a grid of pictures."""
    picture = images.as_bytes(images.in_rows(as_array(tensor), dataformats))
    return _picture(tag, picture, rescale)


def image_boxes(
    tag: str,
    tensor_image: Any,
    tensor_boxes: Any,
    rescale: float = 1,
    dataformats: str = "CHW",
    labels: Sequence[str] | None = None,
) -> bytes:
    """Return a picture with frames (left, top, right, bottom) and, with Pillow, labels."""
    picture = images.as_bytes(images.in_rows(as_array(tensor_image), dataformats))
    boxes = as_array(tensor_boxes)
    if boxes.ndim < 2:
        raise IndexError(
            f"too many indices for array: array is {boxes.ndim}-dimensional, but 2 were indexed"
        )
    return _picture(tag, images.with_boxes(picture, boxes, labels), rescale)


def _picture(tag: str, picture: np.ndarray, rescale: float) -> bytes:
    height, width, channels = picture.shape
    if rescale != 1:
        picture = images.resized(picture, int(height * rescale), int(width * rescale))
    sizes = b"".join(
        integer(field, each) for field, each in enumerate((height, width, channels), 1)
    )
    return _summary(_value(tag, message(4, sizes, characters(4, images.png(picture)))))


def audio(tag: str, tensor: Any, sample_rate: float = 44100) -> bytes:
    """Return one channel of sound, numbers from -1 to 1, as a WAV file of 16 bits."""
    samples = as_array(tensor)
    if abs(samples).max() > 1:
        print("warning: audio amplitude out of range, auto clipped.")
        samples = samples.clip(-1, 1)
    samples = samples.squeeze()
    if samples.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    samples = (samples * 32767.0).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(sample_rate)
        writer.writeframes(samples.tobytes())
    fields = single(1, sample_rate), integer(2, 1), integer(3, len(samples))
    sound = characters(4, file.getvalue()) + characters(5, "audio/wav")
    return _summary(_value(tag, message(6, *fields, sound)))


def video(tag: str, tensor: Any, fps: float = 4) -> NoReturn:
    """Refused: there is no encoder of moving pictures."""
    raise NotImplementedError(
        "add_video needs an encoder of moving pictures, which taper does not have: use add_images "
        "with the frames as the batch."
    )


# --- texts and tensors -----------------------------------------------------------------------


def text(tag: str, text: str) -> bytes:
    """Return a text, which TensorBoard reads as Markdown."""
    value = _tensor(_STRING, (1,), characters(8, text.encode("utf_8")))
    return _summary(_value(tag + "/text_summary", value, plugin="text"))


# For each dtype its number in the enumeration DataType, and how its elements are encoded.
_DTYPES: dict[str, tuple[int, Any]] = {
    "float32": (1, lambda array: singles(5, array)),
    "float64": (2, lambda array: doubles(6, array)),
    "int32": (3, lambda array: integers(7, array.tolist())),
    "uint8": (4, lambda array: integers(16, array.tolist())),
    "int16": (5, lambda array: integers(7, array.tolist())),
    "int8": (6, lambda array: integers(7, array.tolist())),
    "complex64": (8, lambda array: singles(9, array.view("<f4"))),
    "int64": (9, lambda array: integers(10, array.tolist())),
    "bool": (10, lambda array: integers(11, array.tolist())),
    "bfloat16": (14, lambda array: integers(13, array.view("<u2").tolist())),
    "complex128": (18, lambda array: doubles(12, array.view("<f8"))),
    "float16": (19, lambda array: integers(13, array.view("<u2").tolist())),
}


def tensor_proto(tag: str, tensor: Tensor) -> bytes:
    """Return a tensor with its dtype and shape."""
    tensor.numel()  # raises PyTorch's error for what is no tensor
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in _DTYPES:
        raise ValueError(f"{tag} has unsupported tensor dtype {tensor.dtype}")
    number, encode = _DTYPES[name]
    array = np.ascontiguousarray(tensor.detach().resolve_conj()._array).reshape(-1)
    value = _tensor(number, tuple(tensor.shape), encode(array))
    return _summary(_value(tag, value, plugin="tensor"))


_MESH_PARTS = (("VERTEX", 1), ("FACE", 2), ("COLOR", 3))


def mesh(
    tag: str,
    vertices: Any,
    colors: Any,
    faces: Any,
    config_dict: Mapping[str, Any] | None,
    display_name: str | None = None,
    description: str | None = None,
) -> bytes:
    """Return points in space (batch, number, 3), with triangles between them and colours."""
    settings = json.dumps(config_dict if config_dict is not None else {}, sort_keys=True)
    parts = [
        (name, kind, as_array(each) if isinstance(each, Tensor) else np.asarray(each))
        for (name, kind), each in zip(_MESH_PARTS, (vertices, faces, colors), strict=True)
        if each is not None
    ]
    present = sum(1 << kind for _, kind, _ in parts)
    values = []
    for name, kind, array in parts:
        if array.ndim != 3:
            raise ValueError(
                f"Tensor shape should be of shape BxNx3, but got torch.Size({list(array.shape)})."
            )
        content = characters(2, tag) + integer(3, kind) + characters(5, settings)
        content += integers(6, array.shape) + integer(7, present)
        named = f"{tag}_{name}"
        values.append(_value(named, _float_tensor(array), plugin="mesh", content=content))
    return _summary(*values)


# --- plugins with settings of their own ------------------------------------------------------


def hparams(
    hparam_dict: Mapping[str, Any] | None = None,
    metric_dict: Mapping[str, Any] | None = None,
    hparam_domain_discrete: Mapping[str, Any] | None = None,
) -> tuple[bytes, bytes, bytes]:
    """Return the hyperparameters of a run and the names of its metrics: experiment, start, end."""
    if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
        raise TypeError("hparam_dict and metric_dict should be dictionary.")
    domains = hparam_domain_discrete or {}
    if not isinstance(domains, dict):
        raise TypeError("parameter: hparam_domain_discrete should be a dictionary, nothing logged.")
    for key, values in domains.items():
        if (
            key not in hparam_dict
            or not isinstance(values, list)
            or not all(isinstance(each, type(hparam_dict[key])) for each in values)
        ):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{key}] should be a list of same type as "
                f"hparam_dict[{key}]."
            )
    infos, settings = b"", b""
    for key, value in hparam_dict.items():
        if value is None:
            continue
        kind, encoded = _setting(value)
        domain = b"".join(message(1, _setting(each)[1]) for each in domains.get(key, ()))
        domain = message(5, domain) if key in domains else b""
        infos += message(4, characters(1, key), integer(4, kind), domain)
        settings += message(1, characters(1, key), message(2, encoded))
    infos += b"".join(message(5, message(1, characters(2, key))) for key in metric_dict)
    contents = {
        "experiment": message(2, infos),
        "session_start_info": message(3, settings),
        "session_end_info": message(4, integer(1, 1)),  # a success
    }
    experiment, start, end = (
        _summary(_value(f"_hparams_/{name}", plugin="hparams", content=content))
        for name, content in contents.items()
    )
    return experiment, start, end


def _setting(value: Any) -> tuple[int, bytes]:
    """Return the number of its type, and a setting as a `Value`."""
    if isinstance(value, int | float):
        return 3, double(2, value)
    if isinstance(value, str):
        return 1, characters(3, value)
    if isinstance(value, Tensor):
        return 3, double(2, float(as_array(value).reshape(-1)[0]))
    raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")


def custom_scalars(layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> bytes:
    """Return which scalars stand together: `{category: {chart: [kind, tags]}}`."""
    categories = b"".join(
        message(2, characters(1, category), *(_chart(*each) for each in charts.items()))
        for category, charts in layout.items()
    )
    value = _tensor(_STRING, (), characters(8, categories))
    return _summary(_value("custom_scalars__config__", value, plugin="custom_scalars"))


def _chart(title: str, description: Sequence[Any]) -> bytes:
    kind, tags = description[0], description[1]
    if kind == "Margin":
        if len(tags) != 3:
            raise AssertionError("len(tags) != 3")
        series = b"".join(characters(field, tag) for field, tag in enumerate(tags, 1))
        content = message(3, message(1, series))
    else:
        content = message(2, *(characters(1, tag) for tag in tags))
    return message(2, characters(1, title), content)
