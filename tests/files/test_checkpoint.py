"""`save` and `load`: what comes back, which files and options, how paths are replaced."""

from __future__ import annotations

import collections
import errno
import io
import os
import pathlib
import struct
import subprocess
import sys
import tarfile
import zipfile

import pytest

import taper
from files.forgery import archive as forge
from files.forgery import checkpoint, pickled, tensor
from taper import nn, optim, serialization
from taper.files import archive, atomic

DTYPES = sorted({repr(each).removeprefix("torch.") for each in taper.dtypes.FROM_NUMPY.values()})


def round_trip(value, legacy=False, **options):
    file = io.BytesIO()
    taper.save(value, file, _use_new_zipfile_serialization=not legacy)
    file.seek(0)
    return taper.load(file, **options)


@pytest.fixture(params=[False, True], ids=["zip", "legacy"])
def legacy(request):
    return request.param


# --- what comes back -------------------------------------------------------------------------


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_comes_back(name, legacy):
    dtype = getattr(taper, name)
    value = taper.arange(1, 7).reshape(2, 3).to(dtype)  # float8_e8m0fnu has no 0
    again = round_trip(value, legacy)
    assert (again.dtype, again.tolist()) == (dtype, value.tolist())


def test_containers_and_plain_values_come_back(legacy):
    value = collections.OrderedDict(
        none=None,
        flags=[True, False],
        numbers=(1, -(2**70), 2.5, 1 + 2j, float("inf")),
        texts={"a": "ä", "b": b"\0\xff", "c": bytearray(b"x"), "d": b"", "e": ""},
        groups={1, 2},
        counts=collections.Counter("abb"),
        torch=[taper.float16, taper.Size([2, 3]), taper.device("cuda:1"), taper.strided],
    )
    again = round_trip(value, legacy)
    assert again == value
    assert type(again) is collections.OrderedDict
    assert type(again["torch"][1]) is taper.Size


def test_views_share_memory_again(legacy):
    base = taper.arange(10.0)
    again = round_trip({"view": base[2:8:2], "base": base, "turned": base.view(2, 5).t()}, legacy)
    assert (again["view"].storage_offset(), again["view"].stride()) == (2, (2,))
    assert again["turned"].stride() == (1, 5)
    again["base"][4] = 99
    assert again["view"].tolist() == [2, 99, 6]
    assert again["turned"][4, 0] == 99


def test_the_same_object_comes_back_once(legacy):
    value = taper.ones(2)
    first, second = round_trip([value, value], legacy)
    assert first is second


def test_parameters_and_flags_come_back(legacy):
    parameter = nn.Parameter(taper.ones(2))
    parameter.tag = "kept"
    frozen = nn.Parameter(taper.ones(2), requires_grad=False)
    leaf = taper.ones(2, requires_grad=True)
    leaf.note = [1]
    first, second, third, computed = round_trip([parameter, frozen, leaf, leaf * 2], legacy)
    assert type(first) is nn.Parameter and first.requires_grad and first.tag == "kept"
    assert type(second) is nn.Parameter and not second.requires_grad
    assert type(third) is taper.Tensor and third.requires_grad and third.note == [1]
    assert computed.requires_grad and computed.is_leaf


def test_a_conjugate_view_comes_back_as_one(legacy):
    base = taper.tensor([1 + 2j])
    shared, conjugate = round_trip([base, base.conj()], legacy)
    assert conjugate.is_conj() and conjugate.is_leaf
    assert conjugate.tolist() == [1 - 2j]
    shared[0] = 3j
    assert conjugate.tolist() == [-3j]


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1)])
def test_small_shapes_come_back(shape, legacy):
    assert round_trip(taper.ones(shape), legacy).shape == shape


def test_storages_come_back(legacy):
    typed = taper.TypedStorage([1.0, 2.0], dtype=taper.float64)
    again = round_trip([typed, taper.UntypedStorage([7, 8])], legacy)
    assert again[0].dtype is taper.float64
    assert [each.tolist() for each in again] == [[1.0, 2.0], [7, 8]]


def test_two_dtypes_on_one_memory_are_refused():
    value = taper.zeros(4)
    with pytest.raises(RuntimeError, match="Cannot save multiple tensors or storages that view"):
        round_trip([value, value.view(taper.int32)])


def test_found_c1_a_negative_view_comes_back_as_one():
    call = tensor()
    call.arguments += ({"neg": True},)
    loaded = taper.load(checkpoint(call))
    assert loaded.is_neg() and loaded.tolist() == [0, -1, -2, -3]
    both = round_trip(taper.tensor([1 + 2j]).conj()._neg_view())
    assert both.is_conj() and both.is_neg() and both.tolist() == [-1 + 2j]


def test_big_endian_files_are_read():
    content = struct.pack(">4f", 0, 1, 2, 3)
    found = taper.load(checkpoint(tensor(), {"0": content}, byteorder=b"big"))
    assert found.tolist() == [0, 1, 2, 3]
    pair = checkpoint(
        tensor((2,), kind="ComplexFloatStorage", numel=2), {"0": content}, byteorder=b"big"
    )
    assert taper.load(pair).tolist() == [1j, 2 + 3j]


def test_training_goes_on_after_a_checkpoint(tmp_path, legacy):
    def made():
        taper.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
        return model, optim.Adam(model.parameters(), lr=0.1)

    def step(model, optimizer):
        optimizer.zero_grad()
        loss = model(taper.arange(12.0).reshape(3, 4)).square().mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    model, optimizer = made()
    for _ in range(3):
        step(model, optimizer)
    path = tmp_path / "training.pt"
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
    taper.save(state, path, _use_new_zipfile_serialization=not legacy)
    expected = [step(model, optimizer) for _ in range(3)]
    model, optimizer = made()
    state = taper.load(path)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    assert [step(model, optimizer) for _ in range(3)] == expected
    assert state["model"]._metadata[""] == {"version": 1}


def test_hooks_are_not_saved_and_that_is_said():
    leaf = taper.ones(2, requires_grad=True)
    leaf.register_hook(lambda grad: grad)
    with pytest.warns(UserWarning, match="will not be serialized"):
        round_trip(leaf)


def test_what_cannot_be_named_cannot_be_saved():
    with pytest.raises(Exception, match="Can't pickle"):
        round_trip(lambda: None)
    with pytest.raises(TypeError, match="cannot pickle"):
        round_trip(taper.channels_last)


# --- the archive -----------------------------------------------------------------------------


def records(path):
    with zipfile.ZipFile(path) as opened:
        return opened.namelist()


def test_records_are_those_of_pytorch(tmp_path):
    path = tmp_path / "model.v2.pt"
    taper.save([taper.ones(2), taper.zeros(3)], path)
    names = ["data.pkl", ".format_version", ".storage_alignment", "byteorder", "data/0", "data/1"]
    names += ["version", ".data/serialization_id"]
    assert records(path) == [f"model.v2/{name}" for name in names]


@pytest.mark.parametrize("name", [".hidden", "..pt", "ünï.pt"])
def test_names_that_make_no_folder(tmp_path, name):
    taper.save(taper.ones(2), tmp_path / name)
    assert records(tmp_path / name)[0] == "archive/data.pkl"
    assert taper.load(tmp_path / name).tolist() == [1, 1]


def test_the_same_object_makes_the_same_bytes(tmp_path):
    files = [io.BytesIO(), io.BytesIO()]
    for file in files:
        taper.save({"a": taper.arange(5), "b": {1, 2}}, file)
    assert files[0].getvalue() == files[1].getvalue()


def test_checksums_can_be_left_out(tmp_path):
    assert serialization.get_crc32_options() is True
    serialization.set_crc32_options(False)
    try:
        taper.save(taper.ones(2), tmp_path / "a")
    finally:
        serialization.set_crc32_options(True)
    with zipfile.ZipFile(tmp_path / "a") as opened:
        assert {each.CRC for each in opened.infolist()} == {0}
    assert taper.load(tmp_path / "a").tolist() == [1, 1]


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ({"version": b"11"}, "version 11, but the maximum supported version for reading is 10"),
        ({"version": b"0"}, "version 0, but the minimum"),
        ({"version": b"x"}, "Couldn't parse the version x"),
        ({"version": b"1" * 1000}, "too long"),
        ({"other/x": b""}, "not in a subdirectory archive/: other/x"),
        ({"x": b""}, "not in a subdirectory: x"),
        ({"archive/constants.pkl": b""}, "TorchScript"),
    ],
)
def test_archives_that_are_no_checkpoints_are_refused(records, message):
    with pytest.raises(RuntimeError, match=message):
        taper.load(checkpoint(1, **records))


@pytest.mark.parametrize("version", [1, 10])
def test_the_oldest_and_the_newest_version_are_read(version):
    assert taper.load(checkpoint(1, version=b"%d" % version)) == 1


def test_an_unknown_byte_order_is_refused():
    with pytest.raises(ValueError, match="Unknown endianness type: middle"):
        taper.load(checkpoint(1, byteorder=b"middle"))


# --- old files -------------------------------------------------------------------------------

MAGIC = pickled(0x1950A86A20F9469CFC6C)
SYSTEM = pickled({"little_endian": True})
FLOATS = struct.pack("<q4f", 4, 0, 1, 2, 3)


def old(value, keys=("0",), content=FLOATS, magic=MAGIC, version=1001, system=SYSTEM):
    parts = (magic, pickled(version), system, pickled(value), pickled(list(keys)), content)
    return io.BytesIO(b"".join(parts))


def test_old_files_are_read_one_after_the_other():
    file = io.BytesIO()
    for number in (1, 2):
        taper.save(taper.full((2,), number), file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert [taper.load(file).tolist() for _ in range(2)] == [[1, 1], [2, 2]]


def test_an_old_file_made_by_hand_is_read():
    assert taper.load(old(tensor())).tolist() == [0, 1, 2, 3]


def test_parts_of_storages_in_old_files():
    call = tensor((2,))
    call.arguments[0].parts += (("1", 1, 2),)
    assert taper.load(old(call)).tolist() == [1, 2]
    call.arguments[0].parts = (*call.arguments[0].parts[:-1], ("1", 3, 2))
    with pytest.raises(Exception, match="must lie in it"):
        taper.load(old(call))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"magic": pickled(5)}, "Invalid magic number; corrupt file"),
        ({"magic": pickled([])}, "Invalid magic number; corrupt file"),
        ({"version": 5}, "Invalid protocol version: 5"),
        ({"system": pickled(3)}, "description of the machine"),
        ({"keys": ()}, "other storages than its pickle uses"),
        ({"keys": ("0", "0")}, "other storages than its pickle uses"),
        ({"keys": ("0", "1")}, "other storages than its pickle uses"),
        ({"keys": (0,)}, "list of texts"),
        ({"content": struct.pack("<q5f", 5, 0, 1, 2, 3, 4)}, "another size than the pickle says"),
        ({"content": FLOATS[:-1]}, "Ran out of input|larger than the file"),
        ({"content": b""}, "Ran out of input|larger than the file"),
    ],
)
def test_broken_old_files_are_refused(options, message):
    with pytest.raises(Exception, match=message):
        taper.load(old(tensor(), **options))


def test_a_storage_larger_than_an_old_file_is_refused():
    with pytest.raises(Exception, match="larger than the file"):
        taper.load(old(tensor(numel=2**40)))


def test_tar_files_are_refused(tmp_path):
    with tarfile.open(tmp_path / "old.tar", "w") as made:
        made.add(__file__, "storages")
    with pytest.raises(RuntimeError, match="legacy .tar format"):
        taper.load(tmp_path / "old.tar")


@pytest.mark.parametrize("content", [b"", b"hello world", b"\0" * 1000])
def test_other_files_are_refused(content):
    with pytest.raises((EOFError, RuntimeError, Exception), match="Weights only load failed"):
        taper.load(io.BytesIO(content))


# --- where tensors go ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    ["cpu", taper.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage],
    ids=["name", "device", "dict", "function"],
)
def test_tensors_of_another_device_load_on_the_cpu(target):
    with pytest.raises(RuntimeError, match="torch.cuda.is_available.. is False"):
        taper.load(checkpoint(tensor(location="cuda:0")))
    found = taper.load(checkpoint(tensor(location="cuda:0")), map_location=target)
    assert (found.tolist(), found.device.type) == ([0, 1, 2, 3], "cpu")


@pytest.mark.parametrize(
    "target", ["cuda", {"cpu": "cuda:0"}, lambda s, where: None], ids=["name", "dict", "function"]
)
def test_no_tensor_goes_to_a_device_that_is_not_there(target):
    location = "cuda:0" if callable(target) else "cpu"
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        taper.load(checkpoint(tensor(location=location)), map_location=target)


def test_a_function_sees_each_storage_and_its_location():
    seen = []
    taper.load(
        checkpoint([tensor(), tensor((2,))]),
        map_location=lambda storage, where: seen.append((type(storage), len(storage), where)),
    )
    assert seen == [(taper.UntypedStorage, 16, "cpu")]


def test_a_function_may_return_another_storage_of_that_size(legacy):
    value = taper.arange(4.0)
    again = round_trip(value, legacy, map_location=lambda storage, where: storage.clone())
    assert again.tolist() == value.tolist()
    with pytest.raises(RuntimeError, match="of the same size"):
        round_trip(value, legacy, map_location=lambda storage, where: taper.UntypedStorage(3))


# --- mapped files ----------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.pt"
    taper.save({"a": taper.arange(1000.0), "b": taper.zeros(0)}, path)
    return path


def test_mapped_tensors_look_at_the_file(saved):
    found = taper.load(saved, mmap=True)
    assert found["a"].tolist() == list(range(1000))
    assert found["b"].shape == (0,)
    assert not found["a"]._array.flags.owndata
    found["a"][0] = 99  # the mapping is private
    assert taper.load(saved)["a"][0] == 0


def test_a_shared_mapping_writes_to_the_file(saved):
    with serialization.set_default_mmap_options(serialization.MAP_SHARED):
        taper.load(saved, mmap=True)["a"][0] = 99
    assert serialization.get_default_mmap_options() == serialization.MAP_PRIVATE
    assert taper.load(saved, mmap=True)["a"][0] == 99
    with pytest.raises(RuntimeError, match="checksum"):
        taper.load(saved)


def test_mapping_needs_a_path_and_a_new_file(saved, tmp_path):
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap"):
        taper.load(io.BytesIO(saved.read_bytes()), mmap=True)
    taper.save(1, tmp_path / "old", _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        taper.load(tmp_path / "old", mmap=True)


# --- arguments -------------------------------------------------------------------------------


def test_what_can_be_written_to():
    for target in (3, None, b"path"):
        with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like"):
            taper.save(1, target)


def test_what_can_be_read_from(saved):
    assert taper.load(str(saved))["b"].shape == (0,)
    assert taper.load(pathlib.Path(saved))["b"].shape == (0,)
    with open(saved, "rb") as file:
        assert taper.load(file)["b"].shape == (0,)
    with pytest.raises(AttributeError, match="'int' object has no attribute 'seek'. You can only"):
        taper.load(3)
    with pytest.raises(TypeError, match="Expected bytes, got str"):
        taper.load(io.StringIO("text"))
    with pytest.raises(FileNotFoundError):
        taper.load(saved.parent / "missing")


def test_a_file_that_can_only_read_is_enough(saved):
    class Reading:
        def __init__(self, file):
            self.read, self.seek, self.tell = file.read, file.seek, file.tell

    with open(saved, "rb") as file:
        assert taper.load(Reading(file))["a"].shape == (1000,)


def test_a_file_that_can_only_write_is_enough():
    class Writing:
        def __init__(self):
            self.content = b""

        def write(self, data):
            part = bytes(data)[:1000]  # as raw files may
            self.content += part
            return len(part)

    file = Writing()
    taper.save(taper.arange(2000.0), file)
    assert taper.load(io.BytesIO(file.content)).tolist() == list(range(2000))


def test_other_pickle_modules_are_refused(saved):
    module = type(os)("other")
    with pytest.raises(NotImplementedError, match="pickle_module"):
        taper.save(1, io.BytesIO(), pickle_module=module)
    with pytest.raises(NotImplementedError, match="pickle_module"):
        taper.load(saved, pickle_module=module)
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_modu"):
        taper.load(saved, pickle_module=module, weights_only=True)


def test_arguments_of_pickle(saved):
    with pytest.warns(UserWarning, match="pickle_load_args only works if `weights_only=False`"):
        taper.load(saved, encoding="ascii")
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        taper.load(saved, other=1)


def test_texts_of_python_2():
    assert taper.load(forge(b"\x80\2U\2ab.")) == "ab"
    assert taper.load(forge(b"\x80\2U\1\xe4."), weights_only=False, encoding="latin1") == "ä"
    assert taper.load(forge(b"\x80\2U\1\xe4."), weights_only=False, encoding="bytes") == b"\xe4"


def test_other_protocols():
    with pytest.raises(ValueError, match="pickle protocol must be <= 5"):
        taper.save(1, io.BytesIO(), pickle_protocol=9)
    file = io.BytesIO()
    taper.save(taper.ones(1), file, pickle_protocol=4)
    file.seek(0)
    with (
        pytest.warns(UserWarning, match="Detected pickle protocol 4"),
        pytest.raises(Exception, match="Unsupported operand"),
    ):
        taper.load(file)


# --- replacing paths -------------------------------------------------------------------------


def left_over(folder):
    return sorted(each.name for each in folder.iterdir())


def test_a_full_disk_leaves_the_old_file_whole(saved, monkeypatch):
    before = saved.read_bytes()
    written = 0

    def full(file, data):
        nonlocal written
        written += len(data)
        if written > 2000:
            raise OSError(errno.ENOSPC, "No space left on device")
        file.write(data)

    monkeypatch.setattr(archive, "write_all", full)
    with pytest.raises(OSError, match="No space left"):
        taper.save(taper.zeros(5000), saved)
    assert written > 2000
    assert saved.read_bytes() == before
    assert left_over(saved.parent) == [saved.name]


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_a_failure_at_the_end_leaves_the_old_file_whole(saved, monkeypatch, function):
    def fail(*_):
        raise OSError(errno.EIO, "Input/output error")

    before = saved.read_bytes()
    monkeypatch.setattr(atomic.os, function, fail)
    with pytest.raises(OSError, match="Input/output"):
        taper.save(1, saved)
    monkeypatch.undo()
    assert saved.read_bytes() == before
    assert left_over(saved.parent) == [saved.name]


def test_what_cannot_be_pickled_leaves_the_old_file_whole(saved):
    before = saved.read_bytes()
    with pytest.raises(Exception, match="Can't pickle"):
        taper.save([taper.ones(3), lambda: None], saved)
    assert saved.read_bytes() == before


def test_the_new_file_is_on_the_disk_before_it_is_renamed(saved, monkeypatch):
    order = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(
            atomic.os, name, lambda *a, name=name, real=real: (order.append(name), real(*a))[1]
        )
    taper.save(1, saved)
    assert order == ["fsync", "replace", "fsync"]


def test_rights_and_links_stay(saved):
    os.chmod(saved, 0o640)
    link = saved.parent / "link.pt"
    link.symlink_to(saved)
    taper.save(2, link)
    assert link.is_symlink()
    assert taper.load(saved) == 2
    assert saved.stat().st_mode & 0o777 == 0o640


def test_paths_that_cannot_be_written(tmp_path):
    with pytest.raises(RuntimeError, match="Parent directory .*missing does not exist"):
        taper.save(1, tmp_path / "missing" / "a.pt")
    with pytest.raises(RuntimeError, match="open file failed with strerror: Is a directory"):
        taper.save(1, tmp_path)
    assert left_over(tmp_path) == []


def test_a_name_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    taper.save(3, "plain.pt")
    assert taper.load("plain.pt") == 3


# --- reaching it -----------------------------------------------------------------------------


def test_importing_taper_does_not_import_files():
    program = "import sys, taper; print('taper.files' in sys.modules, callable(taper.save))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    assert ran.stdout.split() == ["False", "True"]


def test_public_names():
    assert taper.save is serialization.save is taper.files.save
    assert taper.load is serialization.load
    assert {"save", "load", "serialization", "files"} <= set(dir(taper))


def test_locations_of_others():
    placed = []

    def restore(storage, location):
        if location == "moon":
            placed.append(location)
            return storage
        return None

    packages = taper.files.locations._packages
    serialization.register_package(5, lambda storage: None, restore)
    try:
        assert taper.load(checkpoint(tensor(location="moon"))).tolist() == [0, 1, 2, 3]
        assert serialization.location_tag(taper.ones(2).untyped_storage()) == "cpu"
    finally:
        packages.pop()
    assert placed == ["moon"]
