"""A rank that dies, raises, hangs or disagrees: all others are told, and nothing stays."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from process_runs import HAS_MPI, by_hand, launched

FAULTY = Path(__file__).resolve().parent / "faulty.py"
NEEDS_MPI = pytest.mark.skipif(not HAS_MPI, reason="mpi4py is not installed (the mpi extra)")
MEMORY = Path("/dev/shm")

ENDED = r"rank 1 has ended"
LATE = r"rank 1 did not take part within 1500 ms"
LEFT = r"rank 1 has (left the group|ended)"
WAYS = {
    "forward": rf"ALLREDUCE \(number 2 of the group\): {ENDED}",
    "backward": rf"ALLREDUCE \(number 2 of the group\): {ENDED}",
    "all_reduce": rf"ALLREDUCE \(number \d+ of the group\): {ENDED}",
    "barrier": rf"BARRIER \(number 2 of the group\): {ENDED}",
    "work": rf"ALLREDUCE \(number 2 of the group\): {ENDED}",
    "raise": rf"BARRIER \(number 2 of the group\): {LEFT}",
    "exit": rf"BARRIER \(number 2 of the group\): {LEFT}",
    "hang": rf"BARRIER \(number 2 of the group\): {LATE}",
    "ddp forward": rf"\(number \d+ of the group\): {ENDED}",
    "ddp backward": rf"ALLREDUCE \(number \d+ of the group\): {ENDED}",
    "ddp all_reduce": rf"ALLREDUCE \(number \d+ of the group\): {ENDED}",
    "ddp raise": rf"\(number \d+ of the group\): {LEFT}",
    "ddp hang": rf"\(number \d+ of the group\): {LATE}",
}
DISAGREEMENTS = {
    "shapes": "Elements=2, ReduceOp=SUM), but Rank 1 is running collective: "
    "CollectiveFingerPrint(OpType=ALLREDUCE, TensorDtype=float32, Elements=3",
    "dtypes": "TensorDtype=float32, Elements=2, ReduceOp=SUM), but Rank 1 is running collective: "
    "CollectiveFingerPrint(OpType=ALLREDUCE, TensorDtype=float64",
    "operations": "OpType=BROADCAST, TensorDtype=float32, Elements=2, Root=0), but Rank 1 is "
    "running collective: CollectiveFingerPrint(OpType=BARRIER)",
}


@pytest.fixture(autouse=True)
def no_shared_memory_is_left():
    before = set(os.listdir(MEMORY)) if MEMORY.exists() else set()
    yield
    left = (set(os.listdir(MEMORY)) if MEMORY.exists() else set()) - before
    assert [name for name in left if name.startswith(("taper", "mpich"))] == []


def told(output: str) -> dict[int, tuple[float, str]]:
    """What each rank was told, and after how many seconds."""
    found = re.findall(r"rank (\d) was told after ([\d.]+) s: (.*)", output)
    return {int(rank): (float(seconds), text) for rank, seconds, text in found}


def check(way: str, output: str) -> None:
    answers = told(output)
    assert answers.keys() >= {0, 2}, output
    for rank in (0, 2):
        seconds, text = answers[rank]
        assert re.search(WAYS[way], text), text
        assert seconds < 6, "the timeout is 1.5 seconds"


@pytest.mark.parametrize("way", WAYS)
def test_all_others_are_told_who_failed_and_where(way):
    limit = "1.5" if way.endswith("hang") else "20"
    results = by_hand(FAULTY, 3, way, limit)
    check(way, "\n".join(output for _, output in results))
    assert results[0][0] == results[2][0] == 3


@NEEDS_MPI
@pytest.mark.parametrize(
    "way", ["all_reduce", "backward", "raise", "hang", "ddp backward", "ddp all_reduce"]
)
def test_all_others_are_told_under_mpi_too(way):
    limit = "1.5" if way == "hang" else "20"
    result = launched("--nproc-per-node", "3", str(FAULTY), way, limit, transport="mpi")
    assert result.returncode == 1
    check(way, result.stdout)
    assert "failed" in result.stderr and "local_rank 1" in result.stderr


@pytest.mark.parametrize("way", DISAGREEMENTS)
@pytest.mark.parametrize("transport", ["host", pytest.param("mpi", marks=NEEDS_MPI)])
def test_all_are_told_when_they_disagree_and_the_group_goes_on(way, transport):
    if transport == "host":
        output = "\n".join(text for _, text in by_hand(FAULTY, 2, way, "20"))
    else:
        line = ("--nproc-per-node", "2", str(FAULTY), way, "20")
        output = launched(*line, transport="mpi").stdout
    answers = told(output)
    assert answers.keys() == {0, 1}, output
    assert all(DISAGREEMENTS[way] in text for _, text in answers.values())
    assert output.count("and then 2.0") == 2


def test_a_receive_is_told_that_its_sender_ended():
    (code, output), _ = by_hand(FAULTY, 2, "recv", "20")
    assert code == 3 and "recv: rank 1 has ended" in output
