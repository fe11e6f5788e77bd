"""What programs ask `torch.onnx` about: the modes of an export, and whether one is running."""

from __future__ import annotations

import contextlib
import enum
import threading
from collections.abc import Iterator


class TrainingMode(enum.IntEnum):
    """Whether a model is exported for prediction, in its own mode, or for training."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(enum.IntEnum):
    """PyTorch's ways to treat operators that ONNX lacks; taper always writes ONNX's own."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


class _Running(threading.local):
    depth = 0


_running = _Running()


def is_in_onnx_export() -> bool:
    """Return whether this thread is exporting a model now.

    >>> is_in_onnx_export()
    False
    """
    return _running.depth > 0


@contextlib.contextmanager
def exporting() -> Iterator[None]:
    """Let `is_in_onnx_export()` be true during the block."""
    _running.depth += 1
    try:
        yield
    finally:
        _running.depth -= 1
