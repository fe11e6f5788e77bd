"""Pickles of arrays, lists, dicts and numbers, as the CIFAR datasets have them.

The bounded interpreter of checkpoints reads them and executes nothing; it knows the opcodes that
Python 2 and later protocols write for plain data.  NumPy arrays are the only objects.
"""

from __future__ import annotations

from pickle import UnpicklingError
from typing import Any, ClassVar

import numpy as np

from taper.files.allowed import Allowed
from taper.files.pickle_reader import PickleReader
from taper.files.refusals import MOST_PICKLE_BYTES, failed
from taper.files.sources import Source

_ARRAYS: dict[str, Any] = {
    "numpy.ndarray": np.ndarray,
    "numpy.dtype": np.dtype,
    # The names of NumPy 1 and 2.
    "numpy.core.multiarray._reconstruct": np.empty(0).__reduce__()[0],
    "numpy._core.multiarray._reconstruct": np.empty(0).__reduce__()[0],
}


class _Arrays(Allowed):
    """Arrays, and what Python 3 calls to make bytes in a pickle for Python 2; nothing else."""

    def find(self, name: str) -> Any:
        if name not in _ARRAYS and name != "_codecs.encode":
            raise failed(f"it names {name}, which is not plain data")
        return super().find(name)


class _BatchReader(PickleReader):
    """Knows the opcodes of all protocols for texts, bytes and the memo."""

    def __init__(self, source: Source) -> None:
        # A text of Python 2 is bytes: the pixels are one.
        super().__init__(source, _Arrays(names=_ARRAYS), encoding="bytes")

    def _any_protocol(self) -> None:
        if self._source.take(1)[0] > 5:
            raise failed("its protocol is not known")

    def _bytes(self, form: str) -> None:
        self._push(self._source.take(self._number(form)))

    def _short_text(self) -> None:
        data = self._source.take(self._number("<B"))
        try:
            self._push(data.decode("utf-8"))
        except UnicodeDecodeError:
            raise failed("a text is not UTF-8") from None

    def _memoize(self) -> None:
        self._memo.append(self._top())

    def _global_of_stack(self) -> None:
        name, module = self._pop(), self._pop()
        if type(name) is not str or type(module) is not str:
            raise failed("a name is a text")
        self._push(self.allowed.find(f"{module}.{name}"))

    steps: ClassVar[Any] = {
        **PickleReader.steps,
        0x80: _any_protocol,
        0x95: lambda self: self._source.take(8),  # the length of a frame, which is not needed
        ord("T"): lambda self: self._old_text("<I"),
        ord("B"): lambda self: self._bytes("<I"),
        ord("C"): lambda self: self._bytes("<B"),
        0x8E: lambda self: self._bytes("<Q"),
        0x8C: _short_text,
        0x94: _memoize,
        0x93: _global_of_stack,
    }


def read_batch(path: Any) -> dict[str, Any]:
    """Return the dict in a file; keys are texts."""
    try:
        with open(path, "rb") as file:
            source = Source(file)
            if source.remaining > MOST_PICKLE_BYTES:
                raise failed(f"it has more than {MOST_PICKLE_BYTES} bytes")
            batch = _BatchReader(source).read()
    except (UnpicklingError, EOFError) as error:
        told = str(error).rpartition("WeightsUnpickler error: ")[2]
        problem = told.removeprefix("Weights only load failed. ")
        raise ValueError(f"{path} is no pickle of plain data: {problem}") from None
    if type(batch) is not dict:
        raise ValueError(f"{path} should have a dict, but has {type(batch)}")
    return {text_of(key): value for key, value in batch.items()}


def text_of(value: Any) -> str:
    """Return a text, even one that Python 2 wrote."""
    return value.decode("latin1") if isinstance(value, bytes) else str(value)
