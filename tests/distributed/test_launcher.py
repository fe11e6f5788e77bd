"""`taper run --nproc-per-node` and torchrun's command line: ranks, logs, restarts, one Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from process_runs import HAS_MPI, environment, free_port, launched
from taper.commands.launcher.logs import streams_of
from taper.distributed.run import _plan, parse_args

NEEDS_MPI = pytest.mark.skipif(not HAS_MPI, reason="mpi4py is not installed (the mpi extra)")


@pytest.fixture
def program(tmp_path):
    def write(text: str) -> str:
        path = tmp_path / "program.py"
        path.write_text(text)
        return str(path)

    return write


def test_ranks_logs_and_threads(program, tmp_path):
    script = program(
        "import os, sys, torch\n"
        "names = 'RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_RANK ROLE_NAME'.split()\n"
        "print([os.environ[each] for each in names], sys.argv[1:], torch.__spec__.name)\n"
        "print('to stderr', file=sys.stderr)\n"
    )
    line = ("--nproc_per_node=2", "-r", "2", "-t", "1", "--log-dir", str(tmp_path / "logs"))
    result = launched(*line, script, "--log_dir", "its own")
    assert result.returncode == 0, result.stderr
    shown = sorted(result.stdout.splitlines())
    for rank in (0, 1):
        words = f"['{rank}', '{rank}', '2', '2', '0', 'default'] ['--log_dir', 'its own'] taper"
        assert shown[rank] == f"[default{rank}]:{words}"
        (log,) = Path(tmp_path, "logs").glob(f"*/attempt_0/{rank}/stdout.log")
        assert log.read_text() == words + "\n"
        assert log.with_name("stderr.log").read_text() == "to stderr\n"
    assert "to stderr" not in result.stderr


def test_the_share_of_the_cores_is_said_once(program):
    script = program("import sys, torch; sys.stdout.write(f'{torch.get_num_threads()}\\n')")
    result = subprocess.run(
        [sys.executable, "-m", "taper.distributed.run", "--nproc-per-node", "2", script],
        env={k: v for k, v in environment().items() if k != "OMP_NUM_THREADS"},
        capture_output=True,
        text=True,
    )
    cores = len(os.sched_getaffinity(0))
    share = str(max(1, cores // 2))
    assert result.stdout.split() == [share, share]
    assert result.stderr.count("2 processes on") == 1


def test_a_failure_starts_all_again(program):
    script = program(
        "import os, sys\n"
        "count = os.environ['TORCHELASTIC_RESTART_COUNT']\n"
        "sys.stdout.write(f'try {count}\\n')\n"
        "sys.exit(7 if count == '0' and os.environ['RANK'] == '1' else 0)\n"
    )
    result = launched("--nproc-per-node", "2", "--max-restarts", "2", script)
    assert result.returncode == 0
    assert sorted(result.stdout.split("\n")[:-1]) == ["try 0"] * 2 + ["try 1"] * 2
    assert "rank 1: local_rank 1" in result.stderr and "exit code 7" in result.stderr
    result = launched("--nproc-per-node", "2", script)
    assert result.returncode == 1 and "program.py failed" in result.stderr


def test_modules_and_commands_of_their_own(tmp_path):
    result = launched("--nproc-per-node", "1", "-m", "this")
    assert result.returncode == 0 and "Zen of Python" in result.stdout
    shell = "echo rank $RANK"
    result = launched("--nproc-per-node", "2", "--no-python", "sh", "-c", shell)
    assert sorted(result.stdout.split("\n")) == ["", "rank 0", "rank 1"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_interrupt_ends_all(program, number, tmp_path):
    launcher = _sleepers(program, tmp_path)
    pids = _pids(tmp_path)
    launcher.send_signal(number)
    assert launcher.wait(30) == 130
    _gone(pids)


def test_processes_end_with_a_launcher_that_is_killed(program, tmp_path):
    launcher = _sleepers(program, tmp_path)
    pids = _pids(tmp_path)
    launcher.kill()
    launcher.wait(30)
    _gone(pids)


def _sleepers(program, folder) -> subprocess.Popen:
    script = program(
        "import os, time\n"
        f"path = os.path.join({str(folder)!r}, 'pid' + os.environ['RANK'])\n"
        "open(path, 'w').write(str(os.getpid()))\n"
        "time.sleep(120)\n"
    )
    line = [sys.executable, "-m", "taper", "run", "--nproc-per-node", "2", script]
    return subprocess.Popen(line, env=environment(), stderr=subprocess.DEVNULL)


def _pids(folder: Path) -> list[int]:
    files = [folder / "pid0", folder / "pid1"]
    until = time.monotonic() + 60
    while not all(each.exists() and each.read_text() for each in files):
        assert time.monotonic() < until
        time.sleep(0.05)
    return [int(each.read_text()) for each in files]


def _gone(pids: list[int]) -> None:
    until = time.monotonic() + 30
    while any(_is_running(pid) for pid in pids):
        assert time.monotonic() < until, "a process stayed behind"
        time.sleep(0.05)


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@NEEDS_MPI
def test_two_launchers_make_one_world(program, tmp_path):
    script = program(
        "import torch, torch.distributed as dist\n"
        "dist.init_process_group('mpi')\n"
        "x = torch.ones(1) * (dist.get_rank() + 1)\n"
        "dist.all_reduce(x)\n"
        "print(dist.get_rank(), dist.get_world_size(), x.item())\n"
        "dist.destroy_process_group()\n"
    )
    line = [
        sys.executable,
        "-m",
        "taper",
        "run",
        "--nnodes",
        "2",
        "--master-port",
        str(free_port()),
    ]
    nodes = [
        subprocess.Popen(
            [*line, "--node-rank", str(node), "--nproc-per-node", "1", script],
            env=environment(TAPER_TRANSPORT="mpi"),
            stdout=subprocess.PIPE,
            text=True,
        )
        for node in (0, 1)
    ]
    assert [each.communicate(timeout=60)[0] for each in nodes] == ["0 2 3.0\n", "1 2 3.0\n"]


@NEEDS_MPI
def test_mpiexec_starts_processes_too(program):
    script = program(
        "import taper as torch, taper.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "x = torch.ones(1) * (dist.get_rank() + 1)\n"
        "dist.all_reduce(x)\n"
        "name = type(dist.group.WORLD._transport).__name__\n"
        "import os; os.write(1, f'{name} {x.item()}\\n'.encode())\n"
    )
    mpiexec = Path(sys.executable).with_name("mpiexec")
    if not mpiexec.exists():
        pytest.skip("the wheel's mpiexec is not beside this Python")
    result = subprocess.run(
        [str(mpiexec), "-n", "2", sys.executable, script],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (result.returncode, result.stdout) == (0, "Mpi 3.0\n" * 2), result.stderr


def test_torchruns_command_line_is_understood():
    given = "--nnodes 2 --node-rank 1 --master-addr host --master-port 5 --nproc-per-node 3"
    plan = _plan(parse_args([*given.split(), __file__, "--own"]))
    assert (plan.world_size, plan.node, plan.address, plan.port) == (6, 1, "host", 5)
    assert plan.command[-2:] == [__file__, "--own"]
    plan = _plan(parse_args(["--standalone", "--nproc-per-node=auto", __file__]))
    assert (plan.port, plan.nodes) == (0, 1) and plan.local >= 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--nproc-per-node none x", "Unsupported --nproc-per-node value: none"),
        ("--no-python -m x", "Don't use both the '--no-python' flag and the '--module' flag"),
        ("-r 4 {file}", "'4' is none of 0, 1, 2, 3"),
        ("--nnodes 2 --node-rank 2 {file}", "--node-rank 2 of 2 nodes"),
        ("/does/not/exist.py", "can't open file"),
    ],
)
def test_wrong_command_lines(line, words):
    with pytest.raises(ValueError, match=words):
        _plan(parse_args(line.format(file=__file__).split()))


def test_streams_for_all_and_for_some():
    assert streams_of("3", 2) == {0: 3, 1: 3}
    assert streams_of("0:1,1:2", 2) == {0: 1, 1: 2}
