"""What notebooks show of tensors and nodes.

Owns the choice of picture: a number, a line, a heat map.  Of a large tensor only an even sample is
read, and nothing is computed with it that could take long.
"""

from __future__ import annotations

import base64
import math
from html import escape
from typing import Any

import numpy as np

from taper.autograd.callers import described, module_of
from taper.autograd.node import FREED, LEAF, Node
from taper.autograd.provenance import describe
from taper.opdef.nodes import TableNode
from taper.tensor import Tensor
from taper.viz.formulas import derivatives_of
from taper.viz.notebook import card, size_text, table
from taper.viz.raster import png_bytes
from taper.viz.reading import dtype_name, saved_values, settings_of
from taper.viz.summaries import number

__all__ = ["node_html", "tensor_html"]

_SIDE = 64  # rows and columns of a heat map at most
_POINTS = 240  # points of a line at most
_SAMPLE = 1 << 16  # elements of which least, greatest and mean are computed
_LISTED = 64  # up to so many elements the values are in sight


# --- tensors -----------------------------------------------------------------------------------


def tensor_html(tensor: Tensor) -> str | None:
    """Return a tensor with its values and a picture of them; None if it has no plain memory."""
    array = tensor._array
    if type(array) is not np.ndarray:
        return None
    shape = " x ".join(map(str, array.shape)) if array.ndim else "scalar"
    facts = [f"<b>{escape(type(tensor).__name__)}</b> {shape}", dtype_name(array.dtype)]
    facts.append(size_text(array.nbytes))
    node = tensor.grad_fn
    if node is not None:
        facts.append(f"made by <code>{escape(node.name())}</code>")
    elif tensor.requires_grad:
        has_grad = "" if tensor.grad is None else ", has a gradient"
        facts.append(f"leaf that requires grad{has_grad}")
    parts = []
    if array.size > 1 and array.dtype.kind in "biufcV":
        parts.append(_statistics(array))
        parts.append(_picture(array))
    shown = " open" if array.size <= _LISTED else ""
    values = f"<pre>{escape(repr(tensor.detach()))}</pre>"
    parts.append(f"<details{shown}><summary class='soft'>values</summary>{values}</details>")
    return card(" · ".join(facts), *parts)


def _sampled(array: np.ndarray, most: int) -> np.ndarray:
    """Return about `most` elements, evenly out of all dimensions; others are not read."""
    share = (most / array.size) ** (1 / max(sum(length > 1 for length in array.shape), 1))
    if share >= 1:
        return array
    steps = [max(1, math.ceil(1 / share)) if length > 1 else 1 for length in array.shape]
    return array[tuple(slice(None, None, step) for step in steps)]


def _real(array: np.ndarray) -> np.ndarray:
    """Return numbers that can be drawn; complex ones by their magnitude."""
    if array.dtype.kind == "c":
        return np.abs(array).astype(np.float64)
    return array.astype(np.float64)


def _statistics(array: np.ndarray) -> str:
    sample = _real(_sampled(array, _SAMPLE))
    finite = sample[np.isfinite(sample)]
    of = "" if sample.size == array.size else f" (of a sample of {sample.size:,})"
    texts = []
    if finite.size:
        names = ("min", finite.min()), ("mean", finite.mean()), ("max", finite.max())
        texts = [f"{name} {number(value)}" for name, value in names]
    nan, infinite = int(np.isnan(sample).sum()), int(np.isinf(sample).sum())
    texts += [f"{nan:,} NaN"] * bool(nan) + [f"{infinite:,} infinite"] * bool(infinite)
    what = " of magnitudes" if array.dtype.kind == "c" else ""
    return f"<div class='soft'>{', '.join(texts)}{what}{of}</div>"


def _picture(array: np.ndarray) -> str:
    dims = [place for place, length in enumerate(array.shape) if length != 1]
    if len(dims) < 2:
        return _line(array.reshape(-1)) if array.flags.c_contiguous else _line(array.squeeze())
    rows, columns = dims[-2:]
    place = tuple(slice(None) if each in (rows, columns) else 0 for each in range(array.ndim))
    matrix = array[place]
    step = [max(1, math.ceil(length / _SIDE)) for length in matrix.shape]
    image = _heat(_real(matrix[:: step[0], :: step[1]]))
    height, width = image.shape[:2]
    scale = max(2, min(14, 280 // max(height, width)))
    data = base64.b64encode(png_bytes(image)).decode()
    label = "heat map"
    if len(dims) > 2:
        label += " of [" + ", ".join(":" if each == slice(None) else "0" for each in place) + "]"
    if max(step) > 1:
        label += f", every {step[0]} x {step[1]}th element"
    return (
        f'<img class="heat" alt="{label}" title="{label}" width="{width * scale}" '
        f'height="{height * scale}" src="data:image/png;base64,{data}">'
        + (f"<div class='soft'>{label}</div>" if label != "heat map" else "")
    )


def _heat(values: np.ndarray) -> np.ndarray:
    """Return pixels: white is zero or nearest to it, red above, blue below; NaN is grey."""
    finite = np.isfinite(values)
    known = values[finite]
    low, high = (known.min(), known.max()) if known.size else (0.0, 0.0)
    if low < 0 < high:
        most = max(-low, high)
        share = np.where(finite, values, 0.0) / most
    else:
        far = low if high <= 0 and low < 0 else high
        near = high if far == low else low
        span = (far - near) or 1.0
        share = (np.where(finite, values, near) - near) / span
        share = -share if far == low and low < 0 else share
    share = share.clip(-1, 1)[..., None]
    white, red, blue = (
        np.array(each, float) for each in ((250,) * 3, (178, 24, 43), (33, 102, 172))
    )
    colours = white + np.abs(share) * (np.where(share < 0, blue, red) - white)
    colours[~finite] = (128, 128, 128)
    return np.rint(colours).astype(np.uint8)


def _line(values: np.ndarray) -> str:
    step = max(1, math.ceil(len(values) / _POINTS))
    shown = _real(values[::step])
    finite = shown[np.isfinite(shown)]
    if len(shown) < 3 or not finite.size:
        return ""
    low, high = float(finite.min()), float(finite.max())
    span = (high - low) or 1.0
    paths: list[list[str]] = [[]]
    for place, value in enumerate(shown):
        if math.isfinite(value):
            x, y = 300 * place / (len(shown) - 1), 44 - 40 * (float(value) - low) / span
            paths[-1].append(f"{x:.1f} {y:.1f}")
        elif paths[-1]:
            paths.append([])
    path = "".join("M" + "L".join(each) for each in paths if each)
    return (
        '<svg width="300" height="48" viewBox="0 0 300 48" role="img" aria-label="the values" '
        'style="display:block;max-width:100%"><path d="'
        f'{path}" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round"/>'
        "</svg>"
    )


# --- nodes -------------------------------------------------------------------------------------


def node_html(node: Node) -> str:
    """Return a node with its formula, line, module, shapes and what it keeps."""
    op = node.op if isinstance(node, TableNode) else None
    parts = []
    if op is not None:
        parts.append(f"<div>{escape(op.doc.splitlines()[0])}</div>")
        parts += [
            f"<div>{_mathematics(each.mathematics)}</div>" for each in derivatives_of(op, node)
        ]
    rows = []
    if node._code is not None:
        rows.append(("recorded at", describe((node._code, node._offset))))
    module = module_of(node)
    if module is not None:
        rows.append(("in", described(module)))
    ends = zip(node._edges, node._edge_nrs, strict=True)
    rows.append(("took", ", ".join(_shape(*each) for each in ends) or "-"))
    made = map(node._output_metadata, range(node._output_count))
    rows.append(("made", ", ".join(_described(tuple(shape), dtype) for shape, dtype in made)))
    rows += [(f"setting {name}", text) for name, text in settings_of(node)]
    parts.append(table(("", ""), rows).replace("<tr><th></th><th></th></tr>", ""))
    kept = [
        (name, kind, _described(value.shape, getattr(value, "_array", value).dtype))
        for name, kind, value in saved_values(node)
        if hasattr(value, "shape")
    ]
    if kept:
        parts.append(table(("saved for backward", "", ""), kept))
    elif node._status == FREED:
        parts.append("<div class='soft'>what it had saved was freed by a backward pass</div>")
    return card(f"<b>{escape(node._class_name().rpartition('::')[2])}</b>", *parts)


def _mathematics(text: str) -> str:
    return text if text.startswith("<math") else f"<math>{text}</math>"


def _shape(end: Any, nr: int) -> str:
    if end is None:
        return "-"
    if nr == LEAF:
        return f"leaf {_described(end._array.shape, end._array.dtype)}"
    shape, dtype = end._output_metadata(nr)
    return _described(tuple(shape), dtype)


def _described(shape: Any, dtype: Any) -> str:
    return f"{dtype_name(dtype)} ({', '.join(map(str, shape))})"
