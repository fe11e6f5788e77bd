"""Distributed checkpoints: other numbers of processes, failures, files that nobody should trust."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

import taper
from process_runs import by_hand
from taper import nn
from taper.distributed import checkpoint as dcp
from taper.distributed.checkpoint import filesystem, metadata
from taper.size import Size

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
PROGRAM = Path(__file__).with_name("resharding.py")


def run(count, *arguments):
    results = by_hand(PROGRAM, count, *arguments)
    assert [code for code, _ in results] == [0] * count, results


def test_another_number_of_processes_goes_on_where_two_stopped(tmp_path):
    folder = str(tmp_path)
    run(2, "save", "fully_shard", folder)
    ways = [(4, "fully_shard"), (2, "fsdp"), (1, "fully_shard"), (1, "plain")]
    for count, way in ways:
        run(count, "load", way, folder)
    digests = {Path(folder, f"digest-{count}-{way}").read_text() for count, way in ways}
    assert len(digests) == 1 and digests.pop().startswith("3 {")


@pytest.fixture
def saved(tmp_path):
    dcp.save({"a": taper.arange(6.0).reshape(2, 3), "n": 5}, checkpoint_id=tmp_path)
    return tmp_path


def loaded(folder):
    state = {"a": taper.zeros(2, 3), "n": 0}
    dcp.load(state, checkpoint_id=folder)
    return state["a"].sum().item(), state["n"]


def test_modules_and_optimizers_save_themselves(tmp_path):
    net = nn.Linear(2, 1)
    optimizer = taper.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    net(taper.ones(1, 2)).sum().backward()
    optimizer.step()
    dcp.save({"net": net, "optimizer": optimizer}, checkpoint_id=tmp_path)
    other = nn.Linear(2, 1)
    dcp.load({"net": other}, checkpoint_id=tmp_path)
    assert taper.equal(net.weight, other.weight)


def test_a_save_that_fails_leaves_what_was_there(saved, monkeypatch):
    def fail(*_):
        raise OSError("the disk is full")

    before = sorted(os.listdir(saved))
    with monkeypatch.context() as patched:
        patched.setattr(filesystem.FileSystemWriter, "finish", fail)
        with pytest.raises(dcp.CheckpointException, match="the disk is full"):
            dcp.save({"a": taper.ones(2, 3), "n": 6}, checkpoint_id=saved)
    assert loaded(saved) == (15.0, 5)
    with monkeypatch.context() as patched:
        patched.setattr(filesystem, "save", fail)
        with pytest.raises(dcp.CheckpointException, match="the disk is full"):
            dcp.save({"a": taper.ones(2, 3), "n": 6}, checkpoint_id=saved)
    assert loaded(saved) == (15.0, 5)
    dcp.save({"a": taper.ones(2, 3), "n": 6}, checkpoint_id=saved)
    assert loaded(saved) == (6.0, 6)
    assert len(os.listdir(saved)) == len(before), "files of the checkpoints before are gone"


def test_a_checkpoint_is_kept_if_it_may_not_be_replaced(saved):
    writer = dcp.FileSystemWriter(saved, overwrite=False)
    with pytest.raises(dcp.CheckpointException, match="already exists"):
        dcp.save({"a": taper.ones(2)}, storage_writer=writer)


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("bomb",)


def rewritten(folder, change):
    """Change what a checkpoint says about itself."""
    path = Path(folder, ".metadata")
    found = filesystem._read_metadata(path)
    path.write_bytes(filesystem.plain(change(found) or found, 2))


def test_metadata_is_never_executed(saved, monkeypatch):
    monkeypatch.chdir(saved)
    for protocol in (2, 4):
        Path(saved, ".metadata").write_bytes(pickle.dumps(Bomb(), protocol))
        with pytest.raises(dcp.CheckpointException, match="mkdir"):
            loaded(saved)
    assert not Path("bomb").exists()


def change_place(name, value):
    def change(found):
        for each in found.storage_data.values():
            setattr(each, name, value)

    return change


def change_chunk(found):
    found.state_dict_metadata["a"].chunks[0].sizes = Size([3, 3])


def change_shape(found):
    found.state_dict_metadata["a"].size = Size([1 << 40, 3])
    found.state_dict_metadata["a"].chunks[0].sizes = Size([1 << 40, 3])


def change_index(found):
    found.storage_data = {
        metadata.MetadataIndex("b"): value for value in found.storage_data.values()
    }


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (change_place("relative_path", "../secret"), "outside the folder"),
        (change_place("offset", -1), "outside the folder"),
        (change_place("length", 1 << 40), "too short"),
        (change_place("transform_descriptors", ["zstd"]), "compressed"),
        (change_chunk, "outside of it"),
        (change_shape, "Size mismatch"),
        (change_index, "does not say where"),
        (lambda found: {"state_dict_metadata": {}}, "not the metadata"),
    ],
)
def test_what_metadata_says_is_checked(saved, change, text):
    rewritten(saved, change)
    with pytest.raises(dcp.CheckpointException, match=text):
        loaded(saved)


def test_files_that_are_cut_off_are_refused(saved):
    path = Path(saved, "__0_0.distcp")
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(dcp.CheckpointException, match="too short"):
        loaded(saved)


def test_a_key_of_metadata_is_hashed_only_if_it_is_plain():
    nested: tuple = ()
    for _ in range(60):
        nested = (nested, nested)
    with pytest.raises(ValueError, match="a text and an offset"):
        hash(metadata.MetadataIndex(nested))


def test_one_file_and_back(saved, tmp_path):
    from taper.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp

    dcp_to_torch_save(saved, tmp_path / "whole.pt")
    assert taper.load(tmp_path / "whole.pt")["a"].sum() == 15
    torch_save_to_dcp(tmp_path / "whole.pt", tmp_path / "again")
    assert loaded(tmp_path / "again") == (15.0, 5)


def test_keys_of_plain_numbers_find_their_way_back(tmp_path):
    state = {"state": {0: {"m": taper.ones(2)}, 1: {"m": taper.zeros(2), "k": 3}}}
    dcp.save(state, checkpoint_id=tmp_path)
    empty = {"state": {0: {"m": taper.zeros(2)}, 1: {"m": taper.ones(2), "k": 0}}}
    dcp.load(empty, checkpoint_id=tmp_path)
    assert empty["state"][0]["m"].sum() == 2 and empty["state"][1]["k"] == 3
