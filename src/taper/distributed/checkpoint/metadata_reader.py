"""Reads the pickle in `.metadata` as data: the reader of checkpoints, with opcodes of protocol 4.

PyTorch writes `.metadata` with Python's newest protocol.
"""

from __future__ import annotations

from typing import Any

from taper.files.pickle_reader import PickleReader
from taper.files.refusals import failed


class MetadataReader(PickleReader):
    """Reads one object, written with protocol 2 to 5."""

    def _any_protocol(self) -> None:
        if self._source.take(1)[0] > 5:
            raise failed("it has a newer protocol than 5")

    def _short_text(self) -> None:
        try:
            self._push(self._source.take(self._number("<B")).decode("utf-8", "surrogatepass"))
        except UnicodeDecodeError:
            raise failed("a text is not UTF-8") from None

    def _frame(self) -> None:
        self._source.take(8)  # how many bytes follow until the next one

    def _memoize(self) -> None:
        self._memo.append(self._top())

    def _named(self) -> None:
        name, module = self._pop(), self._pop()
        if type(name) is not str or type(module) is not str:
            raise failed("a global must be named by two texts")
        self._push(self.allowed.find(f"{module}.{name}"))


_NEW: dict[int, Any] = {
    0x80: MetadataReader._any_protocol,
    0x8C: MetadataReader._short_text,
    0x93: MetadataReader._named,
    0x94: MetadataReader._memoize,
    0x95: MetadataReader._frame,
}
MetadataReader.steps = {**PickleReader.steps, **_NEW}
