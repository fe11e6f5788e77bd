"""A bounded interpreter of pickles: it builds data and executes nothing.

It knows the thirty-four opcodes that PyTorch's checkpoints need, calls only what is on the
allow-list (`allowed`), through functions that check their arguments, and never does more than the
file pays for:

I1  A count or a length is compared with what is left of the file before memory is allocated.
I2  What is copied (`charge`) is in proportion to what was read: a value that stands once in the
    file cannot be multiplied.
I3  Keys of dicts and sets are plain values of bounded size: hashing one is cheap, does not recurse
    deeply and runs no code of the file.  Keys that were chosen to collide are refused.
I4  Tuples are of bounded depth and size; the depth of marks and the number of opcodes are bounded.
I5  The memo is a list, and the file must be long enough for each number in it: nothing is hashed.

`pickle.Unpickler` is never used.
"""

from __future__ import annotations

import _compat_pickle
import struct
import warnings
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any, ClassVar

from taper import dtypes
from taper.device import device
from taper.files.allowed import Allowed
from taper.files.key_tables import Insertions
from taper.files.refusals import (
    MOST_KEY_ITEMS,
    MOST_MARKS,
    MOST_OPCODES,
    MOST_TUPLE_DEPTH,
    failed,
)
from taper.files.sources import Source
from taper.size import Size

_STOP = ord(".")
_NOTHING = object()
_ENCODINGS = ("utf-8", "utf8", "ascii", "latin1", "latin-1", "bytes")


class PickleReader:
    """Reads one object from a source; `storages` gives the storages that it refers to."""

    steps: ClassVar[dict[int, Callable[[Any], None]]]
    """What each opcode does."""

    def __init__(
        self,
        source: Source,
        allowed: Allowed,
        storages: Any = None,
        encoding: str = "utf-8",
    ) -> None:
        if encoding not in _ENCODINGS:
            raise failed(f"texts of old Python may be read as one of {', '.join(_ENCODINGS)}")
        self.allowed = allowed
        self._source = source
        self.storages = storages
        self._encoding = encoding
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._floor = 0
        self._memo: list[Any] = []
        self._tuples: dict[int, tuple[int, int]] = {}  # depth and size by address
        self._copied = 0
        self.insertions = Insertions()

    def read(self) -> Any:
        """Return the object that the pickle describes."""
        take, steps, opcodes = self._source.take, self.steps, 0
        while True:
            code = take(1)[0]
            opcodes += 1
            if opcodes > MOST_OPCODES:
                raise failed(f"it has more than {MOST_OPCODES} opcodes")
            if code == _STOP:
                return self._pop()
            step = steps.get(code)
            if step is None:
                raise failed(f"Unsupported operand {code}")
            step(self)

    # --- bounds ------------------------------------------------------------------------------

    def charge(self, count: int) -> None:
        """Count elements or bytes that are copied from one value into another (I2)."""
        self._copied += count
        paid = self._source.consumed + (self.storages.nbytes if self.storages else 0)
        if self._copied > 16 * paid + 65536:
            raise failed("it copies far more than it contains")

    def check_key(self, key: Any) -> None:
        """Refuse a key that is expensive to hash or to compare (I3)."""
        kind = type(key)
        if kind is str or kind is bytes or key is None or kind is bool:
            return
        if kind is int:
            if not -(1 << 63) <= key < 1 << 64:
                raise failed("an integer key must have at most 64 bits")
        elif kind is tuple or kind is Size:
            self._check_composed_key(key)
        elif kind is float or kind is dtypes.dtype or kind is device:
            pass
        elif not (isinstance(key, type) or self._hashes(kind)):
            raise failed(f"{kind} cannot be a key")

    def _hashes(self, kind: type) -> bool:
        """Return whether objects hash by address (tensors, layouts) or as the user allowed."""
        method = getattr(kind, "__hash__", None)
        return method is object.__hash__ or (method is not None and self.allowed.by_user(kind))

    def _check_composed_key(self, key: Any) -> None:
        if len(key) > MOST_KEY_ITEMS or self._tuple_size(key)[1] > MOST_KEY_ITEMS:
            raise failed(f"a key must have at most {MOST_KEY_ITEMS} items")
        self.charge(8 * self._tuple_size(key)[1])  # comparing it with other keys costs that much
        for each in key:
            self.check_key(each)

    def _tuple_size(self, value: Any) -> tuple[int, int]:
        return self._tuples.get(id(value), (1, 1)) if type(value) is tuple else (0, 1)

    # --- the stack ---------------------------------------------------------------------------

    def _pop(self) -> Any:
        if len(self._stack) <= self._floor:
            raise failed("an opcode misses its operand")
        return self._stack.pop()

    def _top(self) -> Any:
        if len(self._stack) <= self._floor:
            raise failed("an opcode misses its operand")
        return self._stack[-1]

    def _pop_to_mark(self) -> list[Any]:
        if not self._marks:
            raise failed("an opcode misses its mark")
        start = self._marks.pop()
        self._floor = self._marks[-1] if self._marks else 0
        items = self._stack[start:]
        del self._stack[start:]
        return items

    def _mark(self) -> None:
        if len(self._marks) >= MOST_MARKS:
            raise failed(f"it is nested more than {MOST_MARKS} deep")
        self._floor = len(self._stack)
        self._marks.append(self._floor)

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _push_tuple(self, items: list[Any]) -> None:
        made = tuple(items)
        inner = [self._tuple_size(each) for each in items]
        depth = 1 + max((each[0] for each in inner), default=0)
        size = 1 + sum(each[1] for each in inner)
        if depth > MOST_TUPLE_DEPTH or size > 16 * self._source.consumed + 65536:
            raise failed("tuples are nested too deep or repeated too often")
        self._tuples[id(made)] = depth, size
        self._stack.append(made)

    # --- opcodes -----------------------------------------------------------------------------

    def _protocol(self) -> None:
        protocol = self._source.take(1)[0]
        if protocol != 2:
            warnings.warn(
                f"Detected pickle protocol {protocol} in the checkpoint, which was not the default "
                "pickle protocol used by `torch.load` (2). The weights_only Unpickler might not "
                "support all instructions implemented by this protocol, please file an issue for "
                "adding support if you encounter this.",
                UserWarning,
                stacklevel=2,
            )

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._source.take(struct.calcsize(form)))[0]

    def _long(self) -> None:
        self._push(int.from_bytes(self._source.take(self._number("<B")), "little", signed=True))

    def _text(self) -> None:
        data = self._source.take(self._number("<I"))
        try:
            self._push(data.decode("utf-8", "surrogatepass"))
        except UnicodeDecodeError:
            raise failed("a text is not UTF-8") from None

    def _old_text(self, form: str = "<B") -> None:
        """Read a str of Python 2."""
        data = self._source.take(self._number(form))
        if self._encoding == "bytes":
            self._push(data)
            return
        try:
            self._push(data.decode(self._encoding))
        except UnicodeDecodeError:
            raise failed(f"a text of old Python is not {self._encoding}") from None

    def _put(self, form: str) -> None:
        number, memo = self._number(form), self._memo
        if number > len(memo):  # pickle counts its memo from 0 or 1
            if number > self._source.consumed:
                raise failed(f"the file is too short to remember {number} values")
            memo.extend([_NOTHING] * (number - len(memo)))
        memo[number : number + 1] = [self._top()]

    def _get(self, form: str) -> None:
        number = self._number(form)
        value = self._memo[number] if number < len(self._memo) else _NOTHING
        if value is _NOTHING:
            raise failed(f"nothing was remembered under {number}")
        self._push(value)

    def _pop_tuple(self, count: int) -> None:
        self._push_tuple([self._pop() for _ in range(count)][::-1])

    def _append(self, items: list[Any]) -> None:
        target = self._top()
        if type(target) is not list:
            raise failed(f"Can only append to lists, but got {type(target)}")
        target.extend(items)

    def _set_items(self, items: list[Any]) -> None:
        target = self._top()
        if type(target) not in (dict, OrderedDict, Counter, defaultdict):
            raise failed(
                "Can only SETITEM for dict, collections.OrderedDict, collections.Counter, but got "
                f"{type(target)}"
            )
        if len(items) % 2:
            raise failed("a key has no value")
        keys = items[::2]
        for key in keys:
            self.check_key(key)
        self.insertions.into_dict(target, keys, items[1::2])

    def _set_item(self) -> None:
        value, key = self._pop(), self._pop()
        self._set_items([key, value])

    def _global(self) -> None:
        module, name = self._source.line(), self._source.line()
        # Names of Python 2, which protocol 2 uses.
        if (module, name) in _compat_pickle.NAME_MAPPING:
            module, name = _compat_pickle.NAME_MAPPING[module, name]
        module = _compat_pickle.IMPORT_MAPPING.get(module, module)
        self._push(self.allowed.find(f"{module}.{name}"))

    def _reduce(self) -> None:
        arguments, function = self._pop(), self._pop()
        self._push(self.allowed.call(self, function, arguments))

    def _new_object(self) -> None:
        arguments, kind = self._pop(), self._pop()
        self._push(self.allowed.new(self, kind, arguments))

    def _build(self) -> None:
        state = self._pop()
        self.allowed.build(self, self._top(), state)

    def _reference(self) -> None:
        reference = self._pop()
        if type(reference) is not tuple:
            raise failed(f"persistent_load id must be tuple or int, but got {type(reference)}")
        if not reference or type(reference[0]) is not str or reference[0] != "storage":
            kind = type(reference[0]) if reference else None
            raise failed(f"Only persistent_load of storage is allowed, but got {kind}")
        if self.storages is None or not 5 <= len(reference) <= 6:
            raise failed("a storage is named by its type, key, location and size")
        self._push(self.storages.load(*reference[1:]))


PickleReader.steps = {
    ord(code): step
    for code, step in {
        "\x80": PickleReader._protocol,
        "(": PickleReader._mark,
        "N": lambda self: self._push(None),
        "\x88": lambda self: self._push(True),
        "\x89": lambda self: self._push(False),
        "K": lambda self: self._push(self._number("<B")),
        "M": lambda self: self._push(self._number("<H")),
        "J": lambda self: self._push(self._number("<i")),
        "G": lambda self: self._push(self._number(">d")),
        "\x8a": PickleReader._long,
        "X": PickleReader._text,
        "U": PickleReader._old_text,
        ")": lambda self: self._push(()),
        "]": lambda self: self._push([]),
        "}": lambda self: self._push({}),
        "\x8f": lambda self: self._push(set()),
        "\x85": lambda self: self._pop_tuple(1),
        "\x86": lambda self: self._pop_tuple(2),
        "\x87": lambda self: self._pop_tuple(3),
        "t": lambda self: self._push_tuple(self._pop_to_mark()),
        "a": lambda self: self._append([self._pop()]),
        "e": lambda self: self._append(self._pop_to_mark()),
        "s": PickleReader._set_item,
        "u": lambda self: self._set_items(self._pop_to_mark()),
        "q": lambda self: self._put("<B"),
        "r": lambda self: self._put("<I"),
        "h": lambda self: self._get("<B"),
        "j": lambda self: self._get("<I"),
        "c": PickleReader._global,
        "R": PickleReader._reduce,
        "\x81": PickleReader._new_object,
        "b": PickleReader._build,
        "Q": PickleReader._reference,
    }.items()
}
