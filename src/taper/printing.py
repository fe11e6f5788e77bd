"""The text of a tensor: what ``repr`` shows, and the options that change it.

Owns the print options and the layout of numbers, rows and suffixes.  Works on arrays and plain
values; must not know Tensor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

from taper import dtypes


class PrintOptions(SimpleNamespace):  # importing `dataclasses` would take 1 ms
    """How tensors are printed; see `set_printoptions`."""

    precision: int
    threshold: float
    edgeitems: int
    linewidth: int
    sci_mode: bool | None

    def __init__(self, precision: int = 4, threshold: float = 1000, edgeitems: int = 3) -> None:
        super().__init__(
            precision=precision,
            threshold=threshold,
            edgeitems=edgeitems,
            linewidth=80,
            sci_mode=None,
        )


options = PrintOptions()

_PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Choose how tensors are printed: first the `profile`, then the given options.

    Args:
        precision: the number of decimals.
        threshold: a tensor with more elements is summarised.
        edgeitems: how many elements a summary shows at both ends of each dimension.
        linewidth: the characters of a line.
        profile: 'default', 'short' or 'full'; others are ignored.
        sci_mode: True forces exponents, False forbids them; each call without it makes the choice
            automatic again.

    >>> import taper
    >>> taper.set_printoptions(precision=2)
    >>> taper.tensor([0.12345])
    tensor([0.12])
    >>> taper.set_printoptions(profile="default")
    """
    chosen = _PROFILES.get(profile, options) if profile is not None else options
    values = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    for name, value in values.items():
        setattr(options, name, getattr(chosen, name) if value is None else value)
    options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """Return the present print options, as a dictionary for `set_printoptions`.

    >>> from taper.printing import get_printoptions
    >>> get_printoptions()
    {'precision': 4, 'threshold': 1000, 'edgeitems': 3, 'linewidth': 80, 'sci_mode': None}
    """
    return dict(vars(options))


@contextmanager
def printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> Iterator[None]:
    """Set print options for the body of a ``with``.

    >>> import taper
    >>> from taper.printing import printoptions
    >>> with printoptions(precision=2):
    ...     print(taper.tensor([0.12345]))
    tensor([0.12])
    """
    before = get_printoptions()
    set_printoptions(precision, threshold, edgeitems, linewidth, profile, sci_mode)
    try:
        yield
    finally:
        set_printoptions(**before)


# Numbers: an element's text and the width that the columns of its tensor have.

_ElementText = Callable[[Any], str]


def _plain_text(values: np.ndarray) -> tuple[_ElementText, int]:
    """Return the text of booleans and integers."""
    width = max(len(str(values.min())), len(str(values.max())))
    return lambda value: str(value).rjust(width), width


def _whole(value: float) -> str:
    return f"{value:.0f}." if math.isfinite(value) else str(value)


def _floating_text(values: np.ndarray) -> tuple[_ElementText, int]:
    """Return the text of floating point numbers: '1.', '1.2345' or '1.2345e-06' for all.

    Zeros, infinities and nans do not affect the choice.
    """
    shown = values[np.isfinite(values) & (values != 0)].astype(np.float64)
    if not shown.size:
        return _whole, 1
    magnitudes = np.abs(shown)
    smallest, largest = float(magnitudes.min()), float(magnitudes.max())
    whole = bool((shown == np.ceil(shown)).all())
    scientific = options.sci_mode
    if scientific is None:
        scientific = (
            largest / smallest > 1000.0 or largest > 1.0e8 or (not whole and smallest < 1.0e-4)
        )
    text: _ElementText = _whole
    if scientific or not whole:
        text = f"{{:.{options.precision}{'e' if scientific else 'f'}}}".format
    # The outermost values of each sign are the longest; an exponent is long at both ends.
    sides = [side for side in (shown[shown < 0], shown[shown > 0]) if side.size]
    width = max(len(text(float(end))) for side in sides for end in (side.min(), side.max()))
    return lambda value: text(value).rjust(width), width


def _complex_text(values: np.ndarray) -> tuple[_ElementText, int]:
    real_text, real_width = _floating_text(values.real)
    imag_text, imag_width = _floating_text(values.imag)

    def text(value: complex) -> str:
        imag = imag_text(value.imag).lstrip()
        return f"{real_text(value.real)}{'' if imag.startswith('-') else '+'}{imag}j"

    return text, real_width + imag_width + 1


def _element_text(values: np.ndarray) -> tuple[_ElementText, int]:
    kind = values.dtype.kind
    if kind == "c":
        return _complex_text(values)
    return _floating_text(values) if kind == "f" else _plain_text(values)


# Rows and brackets.


def _edges(values: np.ndarray) -> np.ndarray:
    """Return the elements that a summary shows."""
    count = options.edgeitems
    kept = [
        [*range(count), *range(size - count, size)] if size > 2 * count else range(size)
        for size in values.shape
    ]
    # Not `take`, which copies all of an array that is not contiguous.
    edges: np.ndarray = values[np.ix_(*kept)] if kept else values
    return edges


def _row(values: np.ndarray, text: _ElementText, width: int, indent: int, summarize: bool) -> str:
    count = options.edgeitems
    if summarize and len(values) > 2 * count:
        head, tail = values[:count].tolist(), values[-count:].tolist()
        texts = [*map(text, head), " ...", *map(text, tail)]
    else:
        texts = [text(value) for value in values.tolist()]
    per_line = max(1, (options.linewidth - indent) // (width + 2))
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _block(values: np.ndarray, text: _ElementText, width: int, indent: int, summarize: bool) -> str:
    if values.ndim == 0:
        return text(values.item())
    if values.ndim == 1:
        return _row(values, text, width, indent, summarize)
    count = options.edgeitems
    skip = summarize and len(values) > 2 * count
    kept = [*values[:count], *values[-count:]] if skip else list(values)
    parts = [_block(part, text, width, indent + 1, summarize) for part in kept]
    if skip:
        parts.insert(count, "...")
    return "[" + ("," + "\n" * (values.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _contents(values: np.ndarray, indent: int) -> str:
    if values.size == 0:
        return "[]"
    summarize = values.size > options.threshold
    if summarize and values.ndim and options.edgeitems == 0:
        return "[...]"
    if values.dtype.itemsize <= 2 and values.dtype.kind not in "iub":
        values = values.astype(np.float32)
    text, width = _element_text(_edges(values) if summarize else values)
    return _block(values, text, width, indent, summarize)


# Suffixes.


def _shows_dtype(which: dtypes.dtype, empty: bool) -> bool:
    """Return whether the elements alone do not show the dtype."""
    if empty:
        return which is not dtypes.default.float
    if which.is_complex:
        return (which is dtypes.complex128) != (dtypes.default.float is dtypes.float64)
    return which not in (dtypes.default.float, dtypes.int64, dtypes.bool_)


def _joined(contents: str, suffixes: list[str], indent: int, first_apart: bool = False) -> str:
    """Join contents and suffixes; one that does not fit, or `first_apart`, starts the next line."""
    pieces = [contents]
    # PyTorch counts two characters more than the last line has, and wraps that much earlier.
    used = len(contents) - contents.rfind("\n") + 1
    for suffix in suffixes:
        if first_apart or used + len(suffix) + 2 > options.linewidth:
            first_apart = False
            pieces.append(",\n" + " " * indent + suffix)
            used = indent + len(suffix)
        else:
            pieces.append(", " + suffix)
            used += len(suffix) + 2
    return "".join(pieces) + ")"


def tensor_repr(
    array: np.ndarray,
    *,
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    tangent: str | None = None,
    parameter: bool = False,
    name: str = "tensor",
    contents: str | None = None,
    device: Any = None,
) -> str:
    """Return the ``repr`` of a tensor with these elements.

    `grad_fn_name` takes precedence over `requires_grad`; `tangent` is the text of the tangent;
    `name` is the class of a subclass; `contents` replaces the text of the elements; `device` is
    shown if it is not the CPU.

    >>> import numpy
    >>> from taper.printing import tensor_repr
    >>> tensor_repr(numpy.array([1.0, 2.5], "float32"), grad_fn_name="MulBackward0")
    'tensor([1.0000, 2.5000], grad_fn=<MulBackward0>)'
    """
    which = dtypes.FROM_NUMPY[array.dtype]
    empty = array.size == 0
    suffixes = []
    away = device is not None and device.type != "cpu"
    if away:
        suffixes.append(f"device='{device}'")
    if away and device.type == "meta":
        suffixes.append(f"size={tuple(array.shape)}")
        contents = "..." if contents is None else contents
        if which is not dtypes.default.float:
            suffixes.append(f"dtype={which!r}")
    elif array.ndim != 1 if empty else options.edgeitems == 0:
        suffixes.append(f"size={tuple(array.shape)}")
    if contents != "..." and _shows_dtype(which, empty):
        suffixes.append(f"dtype={which!r}")
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    indent = len(name) + 1
    if contents is None:
        contents = _contents(array, indent)
    text = _joined(f"{name}({contents}", suffixes, indent)
    return f"Parameter containing:\n{text}" if parameter else text


_INDEX_NAMES = {
    "sparse_coo": ("indices",),
    "sparse_csr": ("crow_indices", "col_indices"),
    "sparse_csc": ("ccol_indices", "row_indices"),
    "sparse_bsr": ("crow_indices", "col_indices"),
    "sparse_bsc": ("ccol_indices", "row_indices"),
}


def sparse_repr(
    where: Any,
    content: np.ndarray,
    *,
    size: tuple[int, ...],
    layout: Any,
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    parameter: bool = False,
) -> str:
    """Return the ``repr`` of a sparse tensor with these indices and elements."""
    names = _INDEX_NAMES[str(layout).removeprefix("torch.")]
    arrays = where if isinstance(where, tuple) else (where,)
    lines = []
    for name, array in zip((*names, "values"), (*arrays, content), strict=True):
        start = f"{name}=tensor("
        indent = len("tensor(") + len(start)
        shown = _contents(array, indent)
        empty = f", size={tuple(array.shape)}" if not array.size else ""
        lines.append(f"{start}{shown}{empty})")
    counted = f"nnz={len(content) if len(arrays) == 1 else arrays[1].shape[-1]}"
    suffixes = [f"size={size}", counted]
    which = dtypes.FROM_NUMPY[content.dtype]
    if _shows_dtype(which, False):
        suffixes.append(f"dtype={which!r}")
    suffixes.append(f"layout={layout}")
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    indent = len("tensor(")
    between = ",\n" + " " * indent
    text = _joined("tensor(" + between.join(lines), suffixes, indent, len(arrays) == 1)
    return f"Parameter containing:\n{text}" if parameter else text


def format_scalar(array: np.ndarray, spec: str) -> str:
    """Return the text of a 0-d tensor in an f-string: that of its Python number.

    >>> import numpy
    >>> from taper.printing import format_scalar
    >>> format_scalar(numpy.array(0.12345), ".2f")
    '0.12'
    """
    return format(array.item(), spec)
