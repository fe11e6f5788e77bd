"""The reader of pickles executes nothing, trusts nothing and does not grow beyond the file."""

from __future__ import annotations

import collections
import io
import itertools
import os
import pickle
import struct
import subprocess
import sys
import time
import tracemalloc
from pickle import UnpicklingError

import numpy as np
import pytest

import taper
from files.forgery import (
    FLOATS,
    REBUILD,
    Call,
    Name,
    Reference,
    archive,
    checkpoint,
    pickled,
    storage,
    tensor,
)
from taper import serialization

ORDERED = Name("collections", "OrderedDict")


def refused(file: io.BytesIO, text: str, kind: type[Exception] = UnpicklingError) -> None:
    with pytest.raises(kind, match=text):
        taper.load(file)


def opcodes(data: bytes) -> io.BytesIO:
    return archive(b"\x80\2" + data)


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


# --- names -----------------------------------------------------------------------------------

DANGEROUS = [
    "builtins.eval",
    "builtins.exec",
    "builtins.getattr",
    "builtins.__import__",
    "subprocess.Popen",
    "shutil.rmtree",
    "torch.load",
    "torch.hub.load",
    "torch.jit.load",
    "torch._utils._rebuild_xla_tensor",
    "taper.load",
    "taper.files.rebuild.tensor",
    "pickle.loads",
    "numpy.load",
    "numpy._core.multiarray._reconstruct",
    "collections.defaultdict",
    "collections.OrderedDict.fromkeys",
    "functools.partial",
    "operator.attrgetter",
]


@pytest.mark.parametrize("name", DANGEROUS)
def test_a_name_off_the_list_is_refused_and_named(name):
    module, _, attribute = name.rpartition(".")
    shown = name.removeprefix("builtins.")
    file = checkpoint(Call(Name(module, attribute), "print('executed')"))
    refused(file, rf"Unsupported global: GLOBAL {shown} was not .*add_safe_globals\(\[{shown}\]\)")


@pytest.mark.parametrize("module", ["os", "sys", "posix", "nt"])
def test_names_of_the_system_are_refused(module):
    file = checkpoint(Call(Name(module, "system"), "true"))
    refused(file, f"Trying to load unsupported GLOBAL {module}.system whose module {module} is bl")


def test_errors_begin_as_those_of_pytorch():
    refused(checkpoint(Name("a", "b")), r"\AWeights only load failed\. ")


def test_weights_only_false_executes_nothing_either():
    with pytest.raises(NotImplementedError, match=r"never executes files.*shutil\.rmtree"):
        taper.load(checkpoint(Call(Name("shutil", "rmtree"), "x")), weights_only=False)
    assert taper.load(checkpoint(tensor()), weights_only=False).tolist() == [0, 1, 2, 3]


def test_reading_runs_no_unpickler(monkeypatch):
    def never(*_):
        raise AssertionError("an unpickler was made")

    for name in ("Unpickler", "_Unpickler", "load", "loads"):
        monkeypatch.setattr(pickle, name, never)
    file = io.BytesIO()
    taper.save({"a": taper.ones(2)}, file)
    file.seek(0)
    assert taper.load(file)["a"].tolist() == [1, 1]


@pytest.mark.parametrize(
    "name",
    [
        "torch.float4_e2m1fn_x2",
        "torch.qint8",
        "torch.QInt8Storage",
        "torch.sparse.FloatTensor",
        "torch.cuda.FloatTensor",
        "torch.complex32",
        "torch.int4",
        "torch.per_tensor_affine",
    ],
)
def test_what_taper_does_not_have_is_named(name):
    module, _, attribute = name.rpartition(".")
    refused(checkpoint(Name(module, attribute)), f"{name} is not provided", NotImplementedError)


@pytest.mark.parametrize("kind", ["q", "nested"])
def test_other_kinds_of_tensors_are_named(kind):
    name = Name("torch._utils", f"_rebuild_{'qtensor' if kind == 'q' else kind + '_tensor'}")
    refused(checkpoint(Call(name)), "save the dense tensor", NotImplementedError)


# --- the user's allow-list -------------------------------------------------------------------


class Plain:
    def __init__(self):
        self.value = 3


class Slotted:
    __slots__ = ("first", "second")


class Restoring:
    def __init__(self):
        self.value = 3

    def __setstate__(self, state):
        self.restored = state


class OwnTensor(taper.Tensor):
    pass


def round_trip(value, **options):
    file = io.BytesIO()
    taper.save(value, file)
    file.seek(0)
    return taper.load(file, **options)


def test_a_class_of_the_user_loads_when_allowed():
    with pytest.raises(UnpicklingError, match=r"GLOBAL .*Plain was not an allowed global"):
        round_trip(Plain())
    serialization.add_safe_globals([Plain])
    assert round_trip(Plain()).value == 3
    serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []
    with pytest.raises(UnpicklingError):
        round_trip(Plain())


def test_states_of_allowed_classes():
    slotted = Slotted()
    slotted.first, slotted.second = 1, [2]
    with serialization.safe_globals([Slotted, Restoring]):
        assert round_trip(slotted).second == [2]
        assert round_trip(Restoring()).restored == {"value": 3}
    assert serialization.get_safe_globals() == []


def test_safe_globals_end_with_their_block_also_after_an_error():
    serialization.add_safe_globals([Plain])
    with pytest.raises(ZeroDivisionError), serialization.safe_globals([Slotted]):
        assert serialization.get_safe_globals() == [Plain, Slotted]
        _ = 1 / 0
    assert serialization.get_safe_globals() == [Plain]


def test_an_allowed_class_may_have_another_name_in_files():
    file = checkpoint(Call(Name("old.place", "Thing")))
    with serialization.safe_globals([(collections.OrderedDict, "old.place.Thing")]):
        assert taper.load(file) == collections.OrderedDict()


def test_a_subclass_of_tensor_must_be_allowed():
    made = taper.ones(2)
    made.__class__ = OwnTensor
    with pytest.raises(UnpicklingError, match="OwnTensor was not an allowed"):
        round_trip(made)
    with serialization.safe_globals([OwnTensor]):
        assert type(round_trip(made)) is OwnTensor


def test_names_to_allow_are_listed():
    file = io.BytesIO()
    taper.save([Plain(), frozenset([1]), np.arange(2), taper.ones(1)], file)
    file.seek(0)
    found = serialization.get_unsafe_globals_in_checkpoint(file)
    prefix = np.empty(0).__reduce__()[0].__module__
    assert set(found) == {
        f"{Plain.__module__}.Plain",
        "frozenset",
        f"{prefix}._reconstruct",
        "numpy.ndarray",
        "numpy.dtype",
    }


def test_modules_load_whole_when_their_classes_are_allowed():
    model = taper.nn.Sequential(taper.nn.Linear(2, 3), taper.nn.ReLU())
    with serialization.safe_globals([taper.nn.Sequential, taper.nn.Linear, taper.nn.ReLU]):
        again = round_trip(model)
    values = taper.ones(1, 2)
    assert again(values).tolist() == model(values).tolist()


# --- NumPy, if allowed -----------------------------------------------------------------------

NUMPY = [
    np.ndarray,
    np.dtype,
    np.empty(0).__reduce__()[0],
    np.float64(0).__reduce__()[0],
]


@pytest.mark.parametrize(
    "value",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)),
        np.array([True, False]),
        np.array(["ab", "c"]),
        np.arange(3, dtype=">f4"),
        np.zeros((0, 3), np.complex64),
        np.float32(2.5),
        np.bool_(True),
    ],
    ids=str,
)
def test_arrays_of_numpy_load_when_allowed(value):
    with pytest.raises(UnpicklingError, match="numpy"):
        round_trip(value)
    with serialization.safe_globals(NUMPY):
        again = round_trip(value)
    assert type(again) is type(value)
    assert again.dtype == pickle.loads(pickle.dumps(value)).dtype
    np.testing.assert_array_equal(again, value)


RECONSTRUCT = Name("numpy._core.multiarray", "_reconstruct")
DTYPE = Name("numpy", "dtype")


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.array([{}], dtype=object),
        lambda: np.zeros(2, [("a", "f4")]),
        lambda: np.array(["2020"], "M8[D]"),
    ],
)
def test_other_elements_of_numpy_are_refused(make):
    with serialization.safe_globals(NUMPY), pytest.raises(UnpicklingError, match="numbers and te"):
        round_trip(make())


def built(value: bytes, state: bytes) -> io.BytesIO:
    return archive(value[:-1] + state[2:-1] + b"b.")


def test_an_array_with_too_few_bytes_is_refused():
    value = pickled(Call(RECONSTRUCT, Name("numpy", "ndarray"), (0,), b"b"))
    state = pickled((1, (1000,), Call(DTYPE, "f4"), False, b"abcd"))
    with serialization.safe_globals(NUMPY):
        refused(built(value, state), "bytes of all its elements")


@pytest.mark.parametrize(
    "state",
    [
        (3, "<", None, None, None, -1, -1, 63),
        (3, "<", None, None, None, 400, -1, 0),
        (3, "<", None, ("a",), {"a": 1}, -1, -1, 0),
        (3, "x", None, None, None, -1, -1, 0),
        (3, "<"),
    ],
)
def test_only_the_byte_order_of_a_dtype_is_set(state):
    with serialization.safe_globals(NUMPY):
        refused(
            built(pickled(Call(DTYPE, "f4", False, True)), pickled(state)), "only the byte order"
        )


def test_an_array_cannot_be_a_key():
    key = pickled(Call(RECONSTRUCT, Name("numpy", "ndarray"), (0,), b"b"))[2:-1]
    with serialization.safe_globals(NUMPY):
        refused(opcodes(b"}" + key + b"K\1s."), "cannot be a key")


def test_arrays_are_not_made_by_their_class():
    with serialization.safe_globals(NUMPY):
        refused(checkpoint(Call(Name("numpy", "ndarray"), (10**12,))), "unrecognized function")


def test_bytes_that_are_no_truth_values_are_refused():
    value = pickled(Call(RECONSTRUCT, Name("numpy", "ndarray"), (0,), b"b"))
    state = pickled((1, (2,), Call(DTYPE, "b1"), False, b"\2\3"))
    with serialization.safe_globals(NUMPY):
        refused(built(value, state), "neither 0 nor 1", RuntimeError)


# --- tensors that do not fit their storage ---------------------------------------------------


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (tensor((5,)), "out of bounds for storage of size 16"),
        (tensor((4,), (1,), 1), "out of bounds"),
        (tensor((2, 2), (3, 1)), "out of bounds"),
        (tensor((2,), (2**61,)), "overflowed|out of bounds"),
        (tensor((2,), (2**70,)), "overflowed"),
        (tensor((4,), (1,), 2**70), "out of bounds"),
        (tensor((4,), (1,), -1), "invalid storage offset -1"),
        (tensor((4,), (-1,), 3), "overflowed"),
        (tensor((-1,)), "numel: integer multiplication overflow"),
        (tensor((2**62, 2**62), (1, 1)), "numel: integer multiplication overflow"),
        (tensor((2**62, 0, 2**62), (1, 1, 1)), "numel: integer multiplication overflow"),
        (tensor((2**62,), (0,)), "numel: integer multiplication overflow"),
        (tensor((2, 2)), r"unequal size length \(2\) and stride length \(1\)"),
        (tensor((1,) * 65, (1,) * 65), "at most 64 dimensions"),
        (tensor(kind="IntStorage", flag=True), "only Tensors of floating point"),
        (tensor(numel=8), r"record size \(16 bytes\) does not match expected size \(32 bytes"),
        (tensor(numel=2), r"record size \(16 bytes\)"),
        (tensor(key="7"), "failed locating file data/7: file not found"),
        (tensor(key="../0"), "file not found"),
        (tensor(location="cuda:0"), "torch.cuda.is_available"),
        (tensor(location="elsewhere"), "don't know how to restore data location"),
    ],
)
def test_a_tensor_beyond_its_storage_is_refused(value, message):
    refused(checkpoint(value), message, RuntimeError)


@pytest.mark.parametrize(
    "value",
    [
        tensor((4.0,)),
        tensor((True,)),
        tensor("4"),
        tensor(offset=0.0),
        tensor(flag=1),
        tensor(numel=-4),
        tensor(numel=2**62),
        tensor(numel=4.0),
        tensor(key=None),
        tensor(location=None),
        Call(REBUILD, FLOATS, 0, (4,), (1,), False, None),
        Call(REBUILD, storage()),
        Call(REBUILD, storage(), 0, (4,), (1,), False, None, {"other": True}),
        Call(Name("torch._utils", "_rebuild_parameter"), [1.0], True, None),
        Call(Name("torch._tensor", "_rebuild_from_type_v2"), REBUILD, ORDERED, (), {}),
        Call(Name("torch.serialization", "_get_layout"), "torch.other"),
        Reference("storage", Name("torch", "Tensor"), "0", "cpu", 4),
        Reference("storage", "FloatStorage", "0", "cpu", 4),
        Reference("module", ORDERED, "0", "cpu", 4),
        Reference("storage"),
        Reference(),
        Call(Name("torch", "Size"), (1.5,)),
        Call(Name("torch", "device"), 3),
    ],
)
def test_values_of_the_wrong_kind_are_refused(value):
    refused(checkpoint(value), "WeightsUnpickler error")


def test_a_bool_storage_must_hold_truth_values():
    file = checkpoint(tensor(kind="BoolStorage"), {"0": b"\1\0\1\2"})
    refused(file, "neither 0 nor 1", RuntimeError)
    assert taper.load(checkpoint(tensor(kind="BoolStorage"), {"0": b"\1\0\1\0"})).tolist() == [
        True,
        False,
        True,
        False,
    ]


def test_bytes_are_not_seen_as_bool_around_that_check():
    version_3 = Name("torch._utils", "_rebuild_tensor_v3")
    untyped = Reference("storage", Name("torch.storage", "UntypedStorage"), "0", "cpu", 16)
    call = Call(version_3, untyped, 0, (4,), (1,), False, None, Name("torch", "bool"))
    refused(checkpoint(call), "storage of bool")


def test_expanded_tensors_need_no_memory():
    assert taper.load(checkpoint(tensor((2**40,), (0,)))).shape == (2**40,)


# --- opcodes ---------------------------------------------------------------------------------

KNOWN = b"\x80()].}NGKMJQRXUa\x62ceh\x6aqrstu\x81\x85\x86\x87\x88\x89\x8a\x8f"


@pytest.mark.parametrize("code", sorted(set(range(256)) - set(KNOWN)))
def test_other_opcodes_are_refused(code):
    refused(opcodes(bytes([code]) + b"\0" * 20), f"Unsupported operand {code}")


@pytest.mark.parametrize(
    "data",
    [
        b"R.",
        b".",
        b"(.",
        b"K\1(R.",
        b"K\1(K\2\x86.",
        b"]K\1(a.",
        b"h\5.",
        b"K\1t.",
        b"]K\1e.",
        b")K\1a.",
        b"]K\1K\2s.",
        b"}(K\1u.",
        b"}}b.",
        b"K\1)R.",
        b"K\1)\x81.",
        b"}]K\2s.",
        b"X\1\0\0\0\xff.",
        text("a") + b"Q.",
        b"ccollections\nOrderedDict\nK\1R.",
        b"ccollections\nOrderedDict\n)R}K\1K\2sb.",
        b"c" + b"x" * 5000 + b"\ny\n.",
    ],
)
def test_broken_programs_are_refused(data):
    refused(opcodes(data), "WeightsUnpickler error")


@pytest.mark.parametrize(
    "data", [b"", b"K", b"K\1", b"X\xff\xff\xff\xffabc.", b"ccollec", b"\x8a\xff"]
)
def test_programs_that_end_early_are_refused(data):
    refused(opcodes(data), "Ran out of input", EOFError)


@pytest.mark.parametrize("codec", ["rot13", "utf-8", "zlib", "unicode_escape"])
def test_only_the_encoding_of_pickle_is_used(codec):
    refused(checkpoint(Call(Name("_codecs", "encode"), "a", codec)), "only text in latin1")


# --- work and memory -------------------------------------------------------------------------


def test_a_length_beyond_the_file_asks_for_no_memory():
    tracemalloc.start()
    try:
        refused(opcodes(b"X\xff\xff\xff\xffabc"), "Ran out", EOFError)
        refused(checkpoint(Call(Name("__builtin__", "bytearray"), 2**30)), "made of bytes")
        refused(checkpoint(tensor(numel=2**40)), "record size", RuntimeError)
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()


def test_a_length_beyond_an_old_file_asks_for_no_memory(tmp_path):
    path = tmp_path / "old.pt"
    path.write_bytes(b"\x80\2X\xff\xff\xff\x1fabc")
    tracemalloc.start()
    try:
        with pytest.raises(EOFError):
            taper.load(path)
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "call",
    [b"c__builtin__\nset\nh\0\x85R", b"ccollections\nOrderedDict\nh\1\x85R"],
)
def test_one_list_is_not_copied_again_and_again(call):
    items = b"(" + b"".join(b"M" + struct.pack("<H", n) for n in range(2000)) + b"e"
    pairs = b"(" + b"K\1K\2\x86" * 2000 + b"e"
    data = b"]q\0" + items + b"]q\1" + pairs + b"](" + call * 20_000 + b"e."
    refused(opcodes(data), "copies far more than it contains")


def test_one_text_is_not_encoded_again_and_again():
    data = (
        text("x" * 50_000)
        + b"q\0"
        + text("latin1")
        + b"q\1]("
        + (b"c_codecs\nencode\nh\0h\1\x86R" * 2000)
    )
    refused(opcodes(data + b"e."), "copies far more than it contains")


def test_deep_tuples_are_refused():
    refused(opcodes(b")" + b"\x85" * 200 + b"."), "nested too deep")


def test_tuples_that_double_are_refused():
    doubling = b"".join(b"q%ch%c\x86" % (n, n) for n in range(60))
    refused(opcodes(b")" + doubling + b"."), "repeated too often")


def test_deep_marks_are_refused():
    refused(opcodes(b"(" * 2000), "nested more than 1000 deep")


@pytest.mark.parametrize(
    "key",
    [
        pickle.dumps(2**61 - 1 << 64, 2)[2:-1],
        b"]",
        b"(" + b"K\1" * 2000 + b"t",
        b"ccollections\nCounter\n)R",
        b"c__builtin__\ncomplex\nG" + bytes(8) + b"G" + bytes(8) + b"\x86R",
    ],
)
def test_keys_that_could_collide_or_cost_are_refused(key):
    refused(opcodes(b"}" + key + b"K\1s."), "key")


def test_keys_of_many_kinds_are_read():
    value = {"a": 1, 2: 3, (1, "b"): 4, None: 5, 2.5: 6, True: 7, b"c": 8, taper.float32: 9}
    value[taper.Size([2])] = value[taper.device("cpu")] = 10
    assert round_trip(value) == value


def test_lists_nested_by_assignment_are_read_and_freed():
    """Each list is put into the one before: the depth is not bounded, and need not be."""
    depth = 50_000
    numbers = [struct.pack("<I", n) for n in range(depth + 1)]
    steps = b"".join(
        b"j" + outer + b"]r" + inner + b"a" for outer, inner in itertools.pairwise(numbers)
    )
    found = taper.load(opcodes(b"]r" + struct.pack("<I", 0) + steps + b"h\0."))
    count = 0
    while found:
        found, count = found[0], count + 1
    assert count == depth


def test_too_many_opcodes_are_refused(monkeypatch):
    monkeypatch.setattr("taper.files.pickle_reader.MOST_OPCODES", 10)
    refused(opcodes(b"N" * 20), "more than 10 opcodes")


def test_a_large_honest_pickle_is_fast():
    value = {f"layer.{n}.weight": [n, float(n), (n, str(n))] for n in range(20_000)}
    file = io.BytesIO()
    taper.save(value, file)
    file.seek(0)
    started = time.perf_counter()
    assert taper.load(file) == value
    assert time.perf_counter() - started < 10


def test_a_hostile_key_does_not_crash_the_interpreter(tmp_path):
    """Hashing a tuple nested a million deep overflows the C stack: that must never happen."""
    path = tmp_path / "deep.pt"
    path.write_bytes(opcodes(b"})" + b"\x85" * 10**6 + b"K\1s.").getvalue())
    program = (
        "import sys, taper\n"
        "try:\n    taper.load(sys.argv[1])\nexcept Exception as error:\n    print(type(error))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True, env=environment
    )
    assert (ran.returncode, ran.stdout.strip()) == (0, "<class '_pickle.UnpicklingError'>")
