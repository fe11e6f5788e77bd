"""Files that try to break out of being data: private slots, endless work, memory from nothing."""

from __future__ import annotations

import argparse
import io
import os
import struct
import time
import tracemalloc
import zipfile
from pickle import UnpicklingError
from types import SimpleNamespace

import numpy as np
import pytest

import taper
from files.forgery import Call, Name, Reference, archive, checkpoint, pickled, storage, tensor
from taper import serialization
from taper.files import key_tables, numpy_values, plain_classes

FROM_TYPE = Name("torch._tensor", "_rebuild_from_type_v2")
REBUILD = Name("torch._utils", "_rebuild_tensor_v2")
WITH_STATE = Name("torch._utils", "_rebuild_parameter_with_state")
TENSOR = Name("torch", "Tensor")


def opcodes(data: bytes) -> io.BytesIO:
    return archive(b"\x80\2" + data)


def refused(file: io.BytesIO, words: str, **options) -> None:
    with pytest.raises(UnpicklingError, match=words):
        taper.load(file, **options)


# --- C2: a file sets attributes, never slots of taper's nor names of Python's ------------------


class Slotted:
    __slots__ = ("first",)

    @property
    def watched(self):
        return 1

    @watched.setter
    def watched(self, value):
        raise AssertionError("a file has run this")


def typed_tensor(state, kind=TENSOR):
    made = tensor()
    return Call(FROM_TYPE, REBUILD, kind, made.arguments, state)


PRIVATE = [
    "_array",
    "_autograd_meta",
    "_grad_fn",
    "_requires_grad",
    "_counter",
    "_view",
    "__class__",
]


@pytest.mark.parametrize("name", [*PRIVATE, "__dict__", "grad", "backward"])
@pytest.mark.parametrize("state", ["slots", "attributes"])
def test_found_c2_a_file_sets_no_private_slot(name, state):
    given = (None, {name: 7}) if state == "slots" else {name: 7}
    refused(checkpoint(typed_tensor(given)), f"may not set '{name}' of")
    refused(checkpoint(Call(WITH_STATE, tensor(), True, None, given)), f"may not set '{name}' of")


def test_found_c2_attributes_and_own_slots_are_set():
    assert taper.load(checkpoint(typed_tensor({"tag": 3}))).tag == 3
    assert taper.load(checkpoint(Call(WITH_STATE, tensor(), True, None, {"tag": 3}))).tag == 3
    with serialization.safe_globals([(Slotted, "its.Slots")]):
        start = b"cits\nSlots\n)\x81N}X"
        assert taper.load(opcodes(start + b"\5\0\0\0firstK\3s\x86b.")).first == 3
        refused(opcodes(start + b"\7\0\0\0watchedK\3s\x86b."), "may not set 'watched'")


def test_found_c2_a_conjugate_view_keeps_its_memory():
    made = tensor(kind="ComplexFloatStorage", numel=2, size=(2,))
    arguments = (*made.arguments, {"conj": True})
    for name in ("_memory", "_change"):
        file = checkpoint(Call(FROM_TYPE, REBUILD, TENSOR, arguments, (None, {name: 1})))
        refused(file, "may not set")


@pytest.mark.parametrize("name", ["keys", "update", "__deepcopy__"])
def test_found_c2_an_ordered_dict_keeps_its_methods(name):
    data = b"ccollections\nOrderedDict\n)R}X" + struct.pack("<I", len(name)) + name.encode()
    refused(opcodes(data + b"K\1sb."), "may not set")


# --- C3: what weights_only=False lets a file name ----------------------------------------------


def test_found_c3_every_plain_class_has_a_checked_way_to_be_made():
    for each in plain_classes.NAMES.values():
        known = each in plain_classes.CALLS or each in numpy_values.CALLS
        assert known or issubclass(each, np.ndarray)


def doubled(count: int) -> bytes:
    """Return a list of two lists of two lists: its text has 2**count parts."""
    return b"]q\0" + b"".join(b"](h%ch%ceq%c" % (n, n, n + 1) for n in range(count))


@pytest.mark.parametrize("kind", ["str", "tuple", "list", "set", "dict", "int", "float", "bool"])
def test_found_c3_types_are_not_made_by_a_file(kind):
    for call in (b"\x81", b"R"):
        data = doubled(60) + f"c__builtin__\n{kind}\n".encode() + b"h\x3c\x85" + call + b"."
        words = "may be named, not called|cannot be a key"
        refused(opcodes(data), words, weights_only=False)


def test_found_c3_a_refusal_does_not_print_what_it_refuses():
    for name in (b"ctorch.serialization\n_get_layout\n", b"ctorch\ndevice\n"):
        refused(opcodes(doubled(60) + name + b"h\x3c\x85R."), "layout|device")
    data = b"ctorch._tensor\n_rebuild_from_type_v2\n(Nh\x3c)NtR."
    refused(opcodes(doubled(60) + data), "cannot be rebuilt as")


def test_found_c3_a_long_path_is_not_joined_again_and_again():
    part = b"X" + struct.pack("<I", 50_000) + b"x" * 50_000
    data = part + b"q\0](" + b"cpathlib\nPosixPath\nh\0\x85R" * 2000 + b"e."
    refused(opcodes(data), "copies far more than it contains", weights_only=False)


def test_found_c3_one_state_is_not_set_again_and_again():
    state = b"}(" + b"".join(b"X\5\0\0\0%05dK\1" % n for n in range(5000)) + b"uq\0"
    data = state + b"](" + b"cargparse\nNamespace\n)\x81h\0b" * 2000 + b"e."
    refused(opcodes(data), "copies far more than it contains", weights_only=False)


@pytest.mark.parametrize(
    "data",
    [
        b"cargparse\nNamespace\nK\1\x85\x81.",
        b"ctypes\nSimpleNamespace\nK\1\x85R.",
        b"cdatetime\ndate\n)\x81.",
        b"cdatetime\ntimedelta\n\x8a\x63" + b"\x7f" * 0x63 + b"\x85R.",
        b"ccollections\ndefaultdict\nK\1\x85R.",
        b"ccollections\ndefaultdict\n]\x85R.",
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n](K\0eK\1\x87R.",
        b"cnumpy\ndtype\n]\x85R.",
        b"K\1}X\1\0\0\0aK\1sb.",
        b"]}X\1\0\0\0aK\1sb.",
        b"cdatetime\ndate\nM\xe8\7K\1K\1\x87R}X\1\0\0\0aK\1sb.",
        b"ctorch._utils\n_rebuild_tensor_v2\n(K\1K\1K\1K\1K\1K\1]tR.",
    ],
)
def test_found_c3_only_the_usual_errors_leave_the_reader(data):
    for weights_only in (True, False):
        with pytest.raises(UnpicklingError):
            taper.load(opcodes(data), weights_only=weights_only)


def test_found_c3_namespaces_still_load():
    for value in (argparse.Namespace(lr=0.1), SimpleNamespace(lr=0.1)):
        file = io.BytesIO()
        taper.save(value, file)
        file.seek(0)
        assert taper.load(file, weights_only=False) == value


def test_found_c3_sizes_of_tensors_are_not_walked_beyond_64():
    made = tensor(size=(1,) * 65, stride=(1,) * 65)
    with pytest.raises(RuntimeError, match="a tensor has at most 64 dimensions, not 65"):
        taper.load(checkpoint(made))


# --- C4: what is built is in proportion to the file --------------------------------------------


def deflated(data: bytes) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("archive/data.pkl", data)
        made.writestr("archive/version", b"3\n")
    file.seek(0)
    return file


def test_found_c4_a_small_file_does_not_become_millions_of_opcodes():
    file = deflated(b"\x80\2](" + b"}" * 20_000_000 + b"e.")
    assert len(file.getvalue()) < 25_000
    tracemalloc.start()
    try:
        refused(file, "its pickle of 20000006 bytes is too large for a file of")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    file.seek(0)
    with pytest.raises(UnpicklingError, match="too large for a file"):
        serialization.get_unsafe_globals_in_checkpoint(file)


def test_found_c4_a_deflated_checkpoint_loads():
    value = {f"layers.{n}.weight": n for n in range(10_000)}
    assert taper.load(deflated(pickled(value))) == value


def test_found_c4_a_short_file_remembers_little():
    """The number under which a value is remembered requires memory."""
    refused(opcodes(b"Nr" + struct.pack("<I", 2**31) + b"."), "remember 2147483648 values")


# --- C5: keys that were chosen so that they collide --------------------------------------------


def colliding(bits: int) -> list[int]:
    """Return integers that fill a table of 2**bits places and then collide with all of them.

    Once the high bits of a hash are used up, a dict goes from place p to 5p+1.  The first keys take
    3/5 of all places, in that order; the others begin at the head of this queue.
    """
    size = 1 << bits
    queue, place = [], 0
    for _ in range(3 * size // 5):
        queue.append(place)
        place = (5 * place + 1) % size
    rank = np.full(size, -1)
    rank[queue] = np.arange(len(queue))
    keys = np.arange(size, size << 5)
    rest, place = keys.copy(), keys % size
    inside = rank[place] >= 0
    while rest.any():
        rest >>= 5
        place = (5 * place + rest + 1) % size
        inside &= rank[place] >= 0
    late = keys[inside][np.argsort(rank[place[inside]])]
    return [*queue, *late[: 2 * size // 3 - len(queue) - 2].tolist()]


def numbers(values) -> bytes:
    return b"".join(b"J" + struct.pack("<i", each) for each in values)


COLLIDING = colliding(15)


@pytest.fixture
def _impatient(monkeypatch):
    """Check the keys of every large container, however fast it was filled."""
    monkeypatch.setattr(key_tables, "_PATIENCE", 0)
    monkeypatch.setattr(key_tables, "_USUAL", 0)


def items_of(keys) -> bytes:
    return b"(" + b"".join(b"J" + struct.pack("<i", each) + b"N" for each in keys) + b"u"


@pytest.mark.parametrize("kind", [b"}", b"ccollections\nOrderedDict\n)R"])
def test_found_c5_colliding_keys_are_refused(kind):
    """Without a lowered limit: these 22,000 keys take half a second, 87,000 eight."""
    refused(opcodes(kind + items_of(COLLIDING) + b"."), "the keys of a dict or set collide")


@pytest.mark.usefixtures("_impatient")
def test_found_c5_colliding_keys_are_refused_one_by_one_and_in_pairs():
    singly = b"".join(b"J" + struct.pack("<i", each) + b"Ns" for each in COLLIDING[::-1][:3000])
    refused(opcodes(b"}" + items_of(COLLIDING[:19_660]) + singly + b"."), "collide")
    pairs = b"".join(b"J" + struct.pack("<i", each) + b"N\x86" for each in COLLIDING)
    refused(opcodes(b"ccollections\nOrderedDict\n](" + pairs + b"e\x85R."), "collide")


@pytest.mark.usefixtures("_impatient")
def test_found_c5_one_costly_key_is_not_set_again_and_again():
    """All keys together are cheap on average; the last one is not."""
    keys = [*COLLIDING[:19_700], *[COLLIDING[19_700]] * 2000]
    refused(opcodes(b"}" + items_of(keys) + b"."), "collide")


@pytest.mark.usefixtures("_impatient")
def test_found_c5_colliding_items_of_a_set_are_refused(monkeypatch):
    """Multiples of the table's size begin at one place, where a set looks at ten neighbours."""
    items = [n << 16 for n in range(1 << 14)]
    data = b"c__builtin__\nset\n](" + numbers(items) + b"e\x85R."
    assert taper.load(opcodes(data)) == set(items)
    monkeypatch.setattr(key_tables, "_MOST_STEPS", 10)
    refused(opcodes(data), "the keys of a dict or set collide")


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize(
    "keys",
    [
        range(5000),
        [n << 16 for n in range(5000)],
        [n << 44 for n in range(5000)],
        [16 * n + 139_872_000_000_000 for n in range(5000)],
        [n / 1024 for n in range(5000)],
        [(n % 70, n // 70) for n in range(5000)],
        [-n for n in range(5000)],
    ],
    ids=["range", "pages", "high", "addresses", "floats", "pairs", "negative"],
)
def test_found_c5_honest_keys_are_read(keys):
    value = {"dict": dict.fromkeys(keys, 1), "set": set(keys)}
    file = io.BytesIO()
    taper.save(value, file)
    file.seek(0)
    assert taper.load(file) == value


def test_found_c5_a_table_takes_the_steps_of_cpython():
    """Equal hashes are compared one after the other: n keys take n(n-1)/2 steps."""
    modulus = 2**61 - 1
    same = [1 + n * modulus for n in range(8)]
    assert len({hash(each) for each in same}) == 1
    # Growing from 8 places to 16, after five keys, walks the first five again.
    assert key_tables.KeyTable(same)._steps == 8 * 7 // 2 + 5 * 4 // 2
    assert key_tables.KeyTable(range(1000))._steps == 0


# --- M7, E15 -----------------------------------------------------------------------------------


@pytest.mark.parametrize("weights_only", [True, False])
def test_found_m7_functions_of_the_system_cannot_be_allowed(weights_only):
    file = checkpoint(Call(Name("posix", "execv"), "/bin/true", ["true"]))
    with serialization.safe_globals([os.execv]):
        refused(
            file, "unsupported GLOBAL posix.execv whose module posix", weights_only=weights_only
        )


def test_found_e15_the_environment_chooses_plain_data(monkeypatch):
    file = io.BytesIO()
    taper.save(argparse.Namespace(lr=0.1), file)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    file.seek(0)
    with pytest.warns(UserWarning, match="TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the"):
        assert taper.load(file).lr == 0.1
    file.seek(0)
    refused(file, "Unsupported global", weights_only=True)
    file.seek(0)
    with pytest.warns(UserWarning), pytest.raises(NotImplementedError, match="never executes"):
        taper.load(checkpoint(Call(Name("shutil", "rmtree"), "x")))
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "y")
    with pytest.raises(RuntimeError, match="Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or"):
        taper.load(file)
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    refused(file, "Unsupported global", weights_only=False)


def test_found_c5_the_clock_alone_refuses_nothing(monkeypatch):
    """A machine under load makes a file look slow; only the count of steps decides."""
    ticks = iter(range(0, 10**18, 10**12))
    monkeypatch.setattr(time, "thread_time_ns", lambda: next(ticks))
    file = io.BytesIO()
    taper.save(dict.fromkeys(range(3000)), file)
    file.seek(0)
    assert len(taper.load(file)) == 3000


# --- found by mutating the code ----------------------------------------------------------------


def test_an_expanded_negative_view_is_not_computed():
    """Its elements are computed when it is read: a few bytes must not become a terabyte."""
    made = tensor(size=(1 << 40,), stride=(0,))
    file = checkpoint(Call(REBUILD, *made.arguments, {"neg": True}))
    loaded = taper.load(file)
    assert loaded.is_neg() and loaded.shape == (1 << 40,) and loaded.numel() == loaded.size(0)


@pytest.mark.parametrize("size", [(True,), (1.0,), ("1",), (None,)])
def test_sizes_are_integers_and_nothing_like_them(size):
    refused(checkpoint(tensor(size=size)), "sizes must be integers")
    refused(checkpoint(tensor(size=(1,), stride=size)), "strides must be integers")


ATTRIBUTES = {f"name{number}": None for number in range(2000)}
COPIES = {
    "bytearray": lambda: Call(Name("__builtin__", "bytearray"), MANY_BYTES),
    "Counter": lambda: Call(Name("collections", "Counter"), ATTRIBUTES),
    "Size": lambda: Call(Name("torch", "Size"), LENGTHS),
    "the attributes of a parameter": lambda: Call(WITH_STATE, ONE, True, None, ATTRIBUTES),
    "the attributes of a tensor": lambda: typed_tensor(ATTRIBUTES),
    "a negative tensor": lambda: Call(REBUILD, LARGE, 0, (1,), (1,), False, None, {"neg": True}),
}
MANY_BYTES, LENGTHS = b"x" * 50_000, (1,) * 2000
ONE, LARGE = tensor(), storage("1", numel=25_000)


@pytest.mark.parametrize("name", COPIES)
def test_one_value_is_not_copied_again_and_again_into(name):
    storages = {"0": bytes(16), "1": bytes(100_000)}
    taper.load(checkpoint(COPIES[name](), storages))
    file = checkpoint([COPIES[name]() for _ in range(1000)], storages)
    refused(file, "copies far more than it contains")


def test_one_dict_is_not_set_as_attributes_again_and_again():
    made = b"ccollections\nOrderedDict\n)Rh\0b"
    names = pickled(ATTRIBUTES)[2:-1]  # which puts it into the memo as number 0
    refused(opcodes(b"](" + names + made * 1000 + b"e."), "copies far more than it contains")


# --- checkpoints of the old format -------------------------------------------------------------


def old(value, content: bytes, count: int, little: bool = True) -> io.BytesIO:
    """An old checkpoint with one storage, whose key is "0"."""
    parts = [0x1950A86A20F9469CFC6C, 1001, {"little_endian": little}, value, ["0"]]
    return io.BytesIO(b"".join(map(pickled, parts)) + struct.pack("<q", count) + content)


def part_of(view, numel: int = 4, size: tuple[int, ...] = (2,), kind: str = "FloatStorage"):
    """A tensor on a part of the storage, as (key, offset, number of elements)."""
    reference = Reference("storage", Name("torch", kind), "0", "cpu", numel, view)
    return Call(REBUILD, reference, 0, size, (1,), False, None)


def test_numbers_of_a_machine_with_the_other_byte_order_are_turned():
    file = old(part_of(None), struct.pack(">4f", 1.5, 2, 3, 4), 4, little=False)
    assert taper.load(file).tolist() == [1.5, 2.0]
    file = old(part_of(None, kind="ByteStorage"), bytes([1, 2, 3, 4]), 4, little=False)
    assert taper.load(file).tolist() == [1, 2]


@pytest.mark.parametrize(("offset", "numel"), [(0, 2), (1, 3), (2, 2), (0, 4)])
def test_a_tensor_may_lie_on_a_part_of_a_storage(offset, numel):
    found = taper.load(old(part_of(("1", offset, numel)), struct.pack("<4f", 0, 1, 2, 3), 4))
    assert found.tolist() == [offset, offset + 1]


@pytest.mark.parametrize(
    "view", [("1", -1, 2), ("1", 0, -1), ("1", 0, 5), ("1", 3, 2), ("1", 5, 0)]
)
def test_a_part_beyond_its_storage_is_refused(view):
    refused(old(part_of(view), bytes(16), 4), "a part of a storage must lie in it")


@pytest.mark.parametrize("view", [("1", 0), ("1", 0, 2.0), ("1", "0", 2), ["1", 0, 2], 3])
def test_a_part_that_is_not_named_by_three_is_refused(view):
    refused(old(part_of(view), bytes(16), 4), "is named by its key, offset and size")


def test_an_empty_part_is_a_part():
    found = taper.load(old(part_of(("1", 4, 0), size=(0,)), bytes(16), 4))
    assert found.tolist() == []


def test_truth_values_of_an_old_file_are_checked():
    content = bytes([0, 1, 1, 0])
    assert taper.load(old(part_of(None, kind="BoolStorage"), content, 4)).tolist() == [False, True]
    with pytest.raises(RuntimeError, match="bytes that are neither 0 nor 1"):
        taper.load(old(part_of(None, kind="BoolStorage"), bytes([0, 2, 1, 0]), 4))


@pytest.mark.parametrize("new", [False, True])
def test_one_storage_has_one_size(new):
    value = [part_of(None), part_of(None, numel=3)]
    file = checkpoint(value, {"0": bytes(16)}) if new else old(value, bytes(16), 4)
    with pytest.raises(
        RuntimeError, match=r"record size \(16 bytes\) does not match expected size"
    ):
        taper.load(file)


# --- pickles that other programs may write -----------------------------------------------------


def test_whole_numbers_of_any_size_come_back():
    numbers = [
        sign * (1 << power) for power in (0, 7, 8, 15, 16, 31, 32, 40, 63, 70) for sign in (1, -1)
    ]
    file = io.BytesIO()
    taper.save(numbers, file)
    file.seek(0)
    assert taper.load(file) == numbers


def test_places_of_the_memo_may_be_taken_in_any_order():
    data = b"](K\1q\3K\2q\1h\3h\1K\5q\3h\3e."
    assert taper.load(opcodes(data)) == [1, 2, 1, 2, 5, 5]
