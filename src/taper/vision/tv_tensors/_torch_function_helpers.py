"""Whether functions return the kind of tensor that they are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper.tensor import Tensor

_keeps_kind = False


class _Chosen:
    """A choice that has been made; as a `with` block it is undone at the end."""

    def __init__(self, undo: Callable[[], None]) -> None:
        self._undo = undo

    def __enter__(self) -> None:
        return None

    def __exit__(self, *raised: object) -> None:
        self._undo()


def set_return_type(return_type: str) -> _Chosen:
    """Choose what functions make of pictures, boxes and masks: plain tensors, or the same kind.

    Args:
        return_type: "Tensor" or "TVTensor".

    >>> import taper
    >>> from taper.vision import tv_tensors
    >>> image = tv_tensors.Image(taper.zeros(1, 2, 2))
    >>> with tv_tensors.set_return_type("TVTensor"):
    ...     type(image + 1).__name__
    'Image'
    """
    global _keeps_kind
    before = _keeps_kind
    kinds = {"tensor": False, "tvtensor": True}
    chosen = kinds.get(return_type.lower())
    if chosen is None:
        raise ValueError(f"return_type must be 'TVTensor' or 'Tensor', got {return_type}.")

    def undo() -> None:
        global _keeps_kind
        _keeps_kind = before

    _keeps_kind = chosen
    return _Chosen(undo)


def _must_return_subclass() -> bool:
    return _keeps_kind


# These give the kind that they are given in any case.
_FORCE_TORCHFUNCTION_SUBCLASS: set[Any] = {
    Tensor.clone,
    Tensor.to,
    Tensor.detach,
    Tensor.requires_grad_,
}
