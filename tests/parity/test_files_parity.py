"""Files between taper and PyTorch, both ways: checkpoints, old checkpoints, safetensors."""

from __future__ import annotations

import collections
import inspect
import io
import pickle
import warnings
import zipfile

import numpy as np
import pytest
import torch
import torch.utils.serialization.config as torch_config

import taper
from files.forgery import Call, Name, Reference, archive, checkpoint, pickled, tensor

DTYPES = "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64"
DTYPES = [*DTYPES.split(), "complex64", "complex128"]


def described(value, package):
    """Return a value as something that compares equal for both packages."""
    if value is package.Tensor:
        return "Tensor"
    if isinstance(value, package.Tensor):
        return (
            type(value).__name__,
            str(value.dtype),
            tuple(value.shape),
            value.stride() if value.numel() else None,
            value.storage_offset() if value.numel() else None,
            value.requires_grad,
            value.is_leaf,
            value.is_conj(),
            value.detach().resolve_conj().tolist(),
            described(dict(value.__dict__), package),
        )
    if isinstance(value, dict):
        items = [(key, described(each, package)) for key, each in value.items()]
        return type(value).__name__, items, described(getattr(value, "_metadata", None), package)
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [described(each, package) for each in value]
    if isinstance(value, (package.TypedStorage, package.UntypedStorage)):
        return type(value).__name__, value.tolist()
    return type(value).__name__, repr(value).replace("taper", "torch")


def everything(package, kinds=DTYPES):
    """Return one object with all that a checkpoint of plain data may hold."""
    base = package.arange(10.0)
    package.manual_seed(3)
    model = package.nn.Sequential(package.nn.Linear(2, 3), package.nn.BatchNorm1d(3))
    noted = package.ones(2)
    noted.note = {"a": [1]}
    parameter = package.nn.Parameter(package.ones(2), requires_grad=False)
    parameter.tag = "x"
    complex_base = package.tensor([1 + 2j, 3j])
    return collections.OrderedDict(
        base=base,
        view=base[2:8:2],
        turned=base.view(2, 5).t(),
        expanded=package.ones(3).expand(2, 3),
        scalar=package.tensor(2.5),
        empty=package.zeros(0, 3),
        leaf=package.ones(2, requires_grad=True),
        parameter=package.nn.Parameter(package.zeros(2)),
        noted=noted,
        tagged=parameter,
        complex=complex_base,
        conjugate=complex_base.conj(),
        dtypes=[package.arange(3).to(getattr(package, name)) for name in kinds],
        numbers=[None, True, -3, 2**70, 1.5, 1 + 2j, float("nan")],
        texts=["", "ä", b"\0\xff", bytearray(b"x")],
        containers=[{1, 2}, (1, (2,)), collections.Counter("abb"), {2: "a", (1, 2): None}],
        torch=[package.float16, package.Size([2, 3]), package.strided, package.Tensor],
        state=model.state_dict(),
    )


def saved(package, value, path, **options):
    package.save(value, path, **options)
    return path


@pytest.fixture(params=[True, False], ids=["zip", "legacy"])
def new(request):
    return request.param


@pytest.mark.parametrize("writer", [taper, torch], ids=["taper", "torch"])
def test_everything_is_read_by_both(tmp_path, writer, new):
    # PyTorch cannot read its own old files with the newer unsigned dtypes.
    kinds = (
        DTYPES if new else [name for name in DTYPES if name not in ("uint16", "uint32", "uint64")]
    )
    path = tmp_path / "all.pt"
    writer.save(everything(writer, kinds), path, _use_new_zipfile_serialization=new)
    ours, theirs = taper.load(path), torch.load(path, weights_only=True)
    assert described(ours, taper) == described(theirs, torch)
    assert described(ours, taper) == described(everything(taper, kinds), taper)


@pytest.mark.parametrize("writer", [taper, torch], ids=["taper", "torch"])
def test_mapped_files_are_read_by_both(tmp_path, writer):
    path = saved(writer, everything(writer), tmp_path / "all.pt")
    ours, theirs = taper.load(path, mmap=True), torch.load(path, mmap=True)
    assert described(ours, taper) == described(theirs, torch)
    assert ours["base"].is_shared() == theirs["base"].is_shared()


def test_pytorch_finds_storages_without_reading_headers(tmp_path):
    """PyTorch computes where a record lies, which works only if every offset is as it writes it."""
    path = saved(taper, everything(taper), tmp_path / "all.pt")
    with torch_config.patch("load.calculate_storage_offsets", True):
        theirs = torch.load(path, mmap=True)
    assert described(theirs, torch) == described(everything(torch), torch)


def test_archives_are_equal_but_for_their_fingerprint(tmp_path):
    contents = []
    for package in (taper, torch):
        path = saved(package, everything(package), tmp_path / f"{package.__name__}.pt")
        renamed = path.rename(tmp_path / "all.pt")
        with zipfile.ZipFile(renamed) as opened:
            contents.append(
                [
                    (each.filename.partition("/")[2], each.header_offset, opened.read(each))
                    for each in opened.infolist()
                ]
            )
    ours, theirs = contents
    assert [name for name, _, _ in ours] == [name for name, _, _ in theirs]
    assert [each for each in ours[:-1] if each[0] != "data.pkl"] == [
        each for each in theirs[:-1] if each[0] != "data.pkl"
    ]
    assert ours[0][2] == theirs[0][2]


# --- training goes on in the other package ---------------------------------------------------


def made(package, kind):
    package.manual_seed(0)
    model = package.nn.Sequential(
        package.nn.Linear(4, 8),
        package.nn.BatchNorm1d(8),
        package.nn.ReLU(),
        package.nn.Linear(8, 1),
    )
    options = {"momentum": 0.9} if kind in ("SGD", "RMSprop") else {}
    return model, getattr(package.optim, kind)(model.parameters(), lr=0.01, **options)


def train(package, model, optimizer, steps):
    data = package.tensor(np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32))
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(data) - data.sum(1, keepdim=True)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam"])
@pytest.mark.parametrize(
    ("writer", "reader"), [(taper, torch), (torch, taper)], ids=["to torch", "to taper"]
)
def test_training_goes_on_in_the_other_package(tmp_path, writer, reader, kind, new):
    model, optimizer = made(writer, kind)
    train(writer, model, optimizer, 3)
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
    path = saved(writer, state, tmp_path / "training.pt", _use_new_zipfile_serialization=new)
    expected = train(writer, model, optimizer, 5)
    model, optimizer = made(reader, kind)
    state = reader.load(path)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    assert state["epoch"] == 3
    np.testing.assert_allclose(train(reader, model, optimizer, 5), expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("writer", "reader"), [(taper, torch), (torch, taper)], ids=["to torch", "to taper"]
)
def test_whole_modules_are_read_when_allowed(tmp_path, writer, reader):
    model, _ = made(writer, "SGD")
    path = saved(writer, model.eval(), tmp_path / "model.pt")
    with pytest.raises(pickle.UnpicklingError, match="torch.nn.modules.container.Sequential"):
        reader.load(path)
    classes = [reader.nn.Sequential, reader.nn.Linear, reader.nn.BatchNorm1d, reader.nn.ReLU]
    with reader.serialization.safe_globals(classes):
        again = reader.load(path)
    data = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    np.testing.assert_allclose(
        again(reader.tensor(data)).tolist(), model(writer.tensor(data)).tolist(), rtol=1e-5
    )


def test_arrays_of_numpy_are_read_when_allowed(tmp_path):
    value = [np.arange(6.0).reshape(2, 3), np.float32(2), np.array(["a", "bc"])]
    names = [np.ndarray, np.dtype, np.empty(0).__reduce__()[0], np.float64(0).__reduce__()[0]]
    names += [type(np.dtype(each)) for each in ("f8", "f4", "U2")]
    for writer, reader in ((taper, torch), (torch, taper)):
        path = saved(writer, value, tmp_path / "arrays.pt")
        with reader.serialization.safe_globals(names):
            for ours, theirs in zip(reader.load(path), value, strict=True):
                np.testing.assert_array_equal(ours, theirs)
                assert ours.dtype == theirs.dtype


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("writer", [taper, torch], ids=["taper", "torch"])
def test_storages_are_read_by_both(tmp_path, writer):
    path = saved(writer, writer.UntypedStorage([7, 8]), tmp_path / "storage.pt")
    ours, theirs = taper.load(path), torch.load(path)
    assert (str(ours.dtype), ours.tolist()) == (str(theirs.dtype), theirs.untyped().tolist())


def test_a_negative_view_has_the_same_values():
    file = io.BytesIO()
    torch.save(torch.tensor([1 + 2j, 3 - 4j]).conj().imag, file)
    file.seek(0)
    assert taper.load(file).tolist() == [-2, 4]


def test_several_old_checkpoints_in_one_file():
    file = io.BytesIO()
    torch.save(torch.ones(2), file, _use_new_zipfile_serialization=False)
    taper.save(taper.zeros(2), file, _use_new_zipfile_serialization=False)
    for package in (taper, torch):
        file.seek(0)
        assert [package.load(file).tolist() for _ in range(2)] == [[1, 1], [0, 0]]


# --- the same files, hostile or not, in both packages ----------------------------------------

ORDERED = Name("collections", "OrderedDict")


def outcome(package, content: bytes, **options):
    """Return (what was loaded, or the error's type and text; warnings)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = described(package.load(io.BytesIO(content), **options), package)
        except Exception as error:
            found = type(error), str(error)
    return found, [str(each.message) for each in caught]


SAME = {
    "tensor": checkpoint(tensor()),
    "part": checkpoint(tensor((1, 2), (1, 2), 1)),
    "number as key": checkpoint(tensor(key=0)),
    "one storage as two dtypes": checkpoint([tensor(), tensor(kind="IntStorage")]),
    "big endian": checkpoint(tensor(), byteorder=b"big"),
    "pairs": checkpoint(Call(ORDERED, [["a", 1], ["b", 2]])),
    "negative offset": checkpoint(tensor(offset=-1)),
    "negative stride": checkpoint(tensor((4,), (-1,), 3)),
    "negative size": checkpoint(tensor((-1,))),
    "huge": checkpoint(tensor((2**62, 2**62), (1, 1))),
    "lengths": checkpoint(tensor((2, 2), (1,))),
    "large numel": checkpoint(tensor(numel=8)),
    "small numel": checkpoint(tensor(numel=2)),
    "missing": checkpoint(tensor(key="7")),
    "cuda": checkpoint(tensor(location="cuda:0")),
    "elsewhere": checkpoint(tensor(location="elsewhere")),
    "integer that requires grad": checkpoint(tensor(kind="IntStorage", flag=True)),
    "byte order": checkpoint(1, byteorder=b"middle"),
    "protocol": archive(b"\x80\x03K\1."),
    "set": archive(b"\x80\2\x8f."),
    "text of old Python": archive(b"\x80\2U\1a."),
    "two values": archive(b"\x80\2K\1K\2."),
    "after the end": archive(b"\x80\2K\1.xyz"),
    "attribute": archive(b"\x80\2ccollections\nOrderedDict\n)R}X\1\0\0\0aK\1sb."),
    "magic": io.BytesIO(pickled(5)),
    "version": io.BytesIO(pickled(0x1950A86A20F9469CFC6C) + pickled(5)),
}


@pytest.mark.parametrize("name", SAME)
def test_both_packages_find_the_same(name):
    content = SAME[name].getvalue()
    assert outcome(taper, content) == outcome(torch, content)


# Same type; the text ends as PyTorch's does, without its advice.
UNPICKLING = {
    "name": checkpoint(Name("argparse", "Namespace")),
    "builtin": checkpoint(Name("builtins", "eval")),
    "system": checkpoint(Name("os", "system")),
    "pop": archive(b"\x80\2K\1K\0020."),
    "frame": archive(b"\x80\2\x95\3\0\0\0\0\0\0\0K\1."),
    "append": archive(b"\x80\2)K\1a."),
    "item": archive(b"\x80\2]K\1K\2s."),
    "state": archive(b"\x80\2}}b."),
    "call": archive(b"\x80\2K\1)R."),
    "reference": archive(b"\x80\2X\1\0\0\0aQ."),
    "module": checkpoint(Reference("module", Name("torch", "FloatStorage"), "0", "cpu", 4)),
}


@pytest.mark.parametrize("name", UNPICKLING)
def test_refusals_say_the_same(name):
    content = UNPICKLING[name].getvalue()
    (kind, ours), _ = outcome(taper, content)
    (their_kind, theirs), _ = outcome(torch, content)
    assert kind is their_kind is pickle.UnpicklingError
    essential = theirs.partition("\n\nCheck the documentation")[0].splitlines()[-1]
    assert ours.startswith("Weights only load failed.")
    assert ours.endswith(essential.removeprefix("\t"))


REFUSED_BY_TYPE = {
    "beyond": checkpoint(tensor((5,))),
    "offset": checkpoint(tensor(offset=1)),
    "version 99": checkpoint(1, version=b"99"),
    "version 0": checkpoint(1, version=b"0"),
    "no number": checkpoint(1, version=b"x"),
    "two folders": checkpoint(1, **{"other/x": b""}),
    "script": checkpoint(1, **{"archive/constants.pkl": b""}),
    "no zip": io.BytesIO(b"PK\3\4hello"),
    "nothing": io.BytesIO(b""),
    "ends": archive(b"\x80\2K\1"),
}


@pytest.mark.parametrize("name", REFUSED_BY_TYPE)
def test_refusals_have_the_same_type(name):
    content = REFUSED_BY_TYPE[name].getvalue()
    assert outcome(taper, content)[0][0] is outcome(torch, content)[0][0]


@pytest.mark.parametrize(
    "target",
    [
        "cpu",
        "cuda",
        "elsewhere",
        {"cuda:0": "cpu"},
        {"cuda:1": "cpu"},
        lambda storage, location: storage,
        lambda storage, location: None,
        3,
    ],
)
def test_map_location_does_the_same(target):
    content = checkpoint(tensor(location="cuda:0")).getvalue()
    ours, theirs = (outcome(each, content, map_location=target) for each in (taper, torch))
    assert ours == theirs


def test_opcodes_are_those_of_pytorch():
    def understood(package, code):
        (*_, message), _ = outcome(package, archive(b"\x80\2" + bytes([code])).getvalue())
        return "Unsupported operand" not in str(message)

    ours, theirs = ([c for c in range(256) if understood(p, c)] for p in (taper, torch))
    assert ours == theirs


@pytest.mark.parametrize(
    "call",
    [
        lambda package: package.load(3),
        lambda package: package.load(None),
        lambda package: package.save(1, 3),
        lambda package: package.load(io.BytesIO(SAME["tensor"].getvalue()), other=1),
        lambda package: package.load("missing.pt"),
        lambda package: package.save(1, "missing/folder/a.pt"),
        lambda package: package.save(1, io.BytesIO(), pickle_protocol=9),
        lambda package: package.load("x", pickle_module=pickle, weights_only=True),
        lambda package: package.load("x", "cpu", None, True),
        lambda package: package.serialization.add_safe_globals(3),
    ],
)
def test_wrong_arguments_say_the_same(call):
    messages = []
    for package in (taper, torch):
        with pytest.raises(Exception) as caught, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(package)
        messages.append((type(caught.value), str(caught.value)))
    assert messages[0] == messages[1]


def test_signatures_are_those_of_pytorch():
    for name in ("save", "load"):
        ours, theirs = (inspect.signature(getattr(p, name)) for p in (taper, torch))
        assert list(ours.parameters) == list(theirs.parameters)
        for parameter in ours.parameters.values():
            assert parameter.default == theirs.parameters[parameter.name].default
            assert parameter.kind == theirs.parameters[parameter.name].kind


# --- safetensors -----------------------------------------------------------------------------

safetensors_torch = pytest.importorskip("safetensors.torch", reason="the package is an extra")


def tensors_for_safetensors(package):
    kinds = [name for name in DTYPES if name != "complex128"]
    made = {f"x.{name}": package.arange(3).to(getattr(package, name)) for name in kinds}
    made |= {f"a.{name}": package.ones(2, 2).to(getattr(package, name)) for name in kinds}
    return {
        **made,
        "scalar": package.tensor(2.0),
        "empty": package.zeros(0, 3),
        "ä": package.ones(1),
    }


@pytest.mark.parametrize("metadata", [None, {}, {"b": "1", "a": 'ä"\n'}, {"format": "pt"}])
def test_safetensors_are_written_byte_for_byte(tmp_path, metadata):
    taper.files.save_safetensors(tensors_for_safetensors(taper), tmp_path / "ours", metadata)
    safetensors_torch.save_file(tensors_for_safetensors(torch), tmp_path / "theirs", metadata)
    ours, theirs = ((tmp_path / name).read_bytes() for name in ("ours", "theirs"))
    if metadata and len(metadata) > 1:  # the package has no order of metadata
        assert len(ours) == len(theirs)
    else:
        assert ours == theirs
    assert taper.files.read_safetensors_metadata(tmp_path / "theirs") == (metadata or {})


def test_safetensors_are_read_both_ways(tmp_path):
    taper.files.save_safetensors(tensors_for_safetensors(taper), tmp_path / "ours")
    safetensors_torch.save_file(tensors_for_safetensors(torch), tmp_path / "theirs")
    ours = taper.files.load_safetensors(tmp_path / "theirs")
    theirs = safetensors_torch.load_file(tmp_path / "ours")
    assert list(ours) == list(theirs)
    assert described(ours, taper) == described(theirs, torch)


def test_a_model_goes_through_safetensors(tmp_path):
    model, _ = made(torch, "SGD")
    safetensors_torch.save_file(model.state_dict(), tmp_path / "model")
    ours, _ = made(taper, "SGD")
    ours.load_state_dict(taper.files.load_safetensors(tmp_path / "model"))
    assert described(ours.state_dict(), taper)[1] == described(model.state_dict(), torch)[1]
