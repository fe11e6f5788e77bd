"""Workers end when they must, however the loader ends, and nothing is left behind.

Programs run in processes of their own and print the ids of their workers; the tests check that
these are gone, and that shared memory is.
"""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the programs use fork")

SOURCE = Path(__file__).resolve().parents[2] / "src"
SHARED = Path("/dev/shm")
HEAD = """
import gc, os, signal, sys, time
import taper
from taper.utils.data import DataLoader, Dataset

class Big(Dataset):
    def __init__(self, count=1000, seconds=0):
        self.count, self.seconds = count, seconds
    def __len__(self):
        return self.count
    def __getitem__(self, index):
        time.sleep(self.seconds)
        return taper.full((50_000,), index)

def loader(*arguments, **options):
    options = {"num_workers": 2, "multiprocessing_context": "fork", **options}
    return DataLoader(Big(*arguments), **options)

def show(passing):
    print(*[each.pid for each in passing._workers], flush=True)
"""


def start(program):
    text = HEAD + textwrap.dedent(program)
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONWARNINGS": "ignore"}
    return subprocess.Popen(
        [sys.executable, "-c", text],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )


def pids(process):
    line = process.stdout.readline()
    if not line:
        process.wait(60)
        pytest.fail(process.stderr.read())
    return [int(each) for each in line.split()]


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:  # one that nobody has asked about yet is over, too
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until_gone(workers, seconds=30):
    end = time.monotonic() + seconds
    while any(map(is_running, workers)):
        if time.monotonic() > end:
            left = [each for each in workers if is_running(each)]
            for each in left:
                os.kill(each, signal.SIGKILL)
            pytest.fail(f"still running: {left}")
        time.sleep(0.02)


def shared_names():
    return {each.name for each in SHARED.iterdir()} if SHARED.is_dir() else set()


def finish(process, workers, code=0):
    """Check that the program ends with this code, without an error if it is 0, or workers left."""
    try:
        # Not communicate(), which would lose what was read ahead with an earlier line.
        output, errors = process.stdout.read(), process.stderr.read()
        process.wait(60)
    finally:
        process.kill()
        process.stdout.close()
        process.stderr.close()
    assert process.returncode == code, errors
    if not code:
        assert errors == ""
    wait_until_gone(workers)
    return output


@pytest.fixture(autouse=True)
def nothing_left_in_shared_memory():
    before = shared_names()
    yield
    assert not {each for each in shared_names() - before if "taper" in each}


def test_end_of_a_pass_ends_the_workers():
    process = start("""
        passing = iter(loader(6))
        show(passing)
        for batch in passing:
            pass
        print(any(each.is_alive() for each in passing._workers))
    """)
    workers = pids(process)
    assert finish(process, workers) == "False\n"


def test_forgotten_pass_ends_the_workers_without_the_collector():
    process = start("""
        gc.disable()
        passing = iter(loader())
        show(passing)
        next(passing)
        processes = passing._workers
        del passing
        print(any(each.is_alive() for each in processes))
    """)
    workers = pids(process)
    assert finish(process, workers) == "False\n"


def test_broken_loop_ends_the_workers():
    process = start("""
        for batch in loader():
            break
        del batch
        import multiprocessing
        print(len(multiprocessing.active_children()))
    """)
    assert finish(process, []) == "0\n"


@pytest.mark.parametrize("options", ["", "persistent_workers=True"])
def test_end_of_the_program_ends_the_workers(options):
    process = start(f"""
        kept = loader({options})
        passing = iter(kept)
        show(passing)
        next(passing)
    """)
    workers = pids(process)
    begun = time.monotonic()
    finish(process, workers)
    assert time.monotonic() - begun < 20


def test_error_of_the_program_ends_the_workers():
    process = start("""
        passing = iter(loader())
        show(passing)
        next(passing)
        raise SystemExit(7)
    """)
    workers = pids(process)
    finish(process, workers, 7)


@pytest.mark.parametrize(
    "state, number",
    [("waiting", signal.SIGKILL), ("sleeping", signal.SIGTERM), ("sending", signal.SIGKILL)],
)
def test_death_of_the_program_ends_the_workers(state, number):
    """Idle workers, workers in the middle of a sample, workers whose pipe is full."""
    seconds = 60 if state == "sleeping" else 0
    process = start(f"""
        passing = iter(loader(1000, {seconds}, prefetch_factor={30 if state == "sending" else 2}))
        show(passing)
        if not {seconds}:
            next(passing)
        if os.fork() == 0:  # somebody else has all that was open, and lives on
            time.sleep(25)
            os._exit(0)
        time.sleep(0.2)
        print("ready", flush=True)
        time.sleep(60)
    """)
    workers = pids(process)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    process.wait(60)
    wait_until_gone(workers)
    os.killpg(process.pid, signal.SIGKILL)
    process.stdout.close()
    process.stderr.close()


def test_interrupt_of_the_whole_group():
    """Ctrl-C at a terminal reaches the workers, too: they are quiet about it."""
    process = start("""
        passing = iter(loader(1000, 0.05))
        show(passing)
        try:
            for batch in passing:
                print("batch", flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """)
    workers = pids(process)
    assert process.stdout.readline() == "batch\n"
    os.killpg(process.pid, signal.SIGINT)
    output = finish(process, workers)
    assert output.endswith("interrupted\n")


def test_interrupt_of_the_program_alone():
    process = start("""
        passing = iter(loader(1000, 0.05))
        show(passing)
        try:
            for batch in passing:
                print("batch", flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """)
    workers = pids(process)
    assert process.stdout.readline() == "batch\n"
    process.send_signal(signal.SIGINT)
    output = finish(process, workers)
    assert output.endswith("interrupted\n")


def test_batches_outlive_the_workers():
    process = start("""
        batches = list(loader(20, batch_size=2))
        import multiprocessing
        assert not multiprocessing.active_children()
        print(sum(int(each.sum()) for each in batches) == 50_000 * 190)
        batches[0].add_(1)
    """)
    assert finish(process, []) == "True\n"


def test_open_files_do_not_become_more():
    process = start("""
        def count():
            return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
        list(loader(4))
        before = count()
        for _ in range(5):
            list(loader(4))
            next(iter(loader(4)))
        print(count() - before)
    """)
    assert finish(process, []) == "0\n"


def test_memory_of_dead_batches_is_given_back():
    """One worker feeds 2 GB through a process that may only hold a part of it."""
    process = start("""
        def mapped():
            with open("/proc/self/maps") as file:
                return sum("memfd:taper" in line for line in file)
        most = 0
        for batch in loader(200, batch_size=50, num_workers=1):
            most = max(most, mapped())
        kept = [batch for batch in loader(200, batch_size=5, num_workers=1)]
        many = mapped()
        del kept, batch
        print(most <= 8, many >= 40, mapped())
    """)
    output = finish(process, [])
    if sys.platform == "linux":
        assert output == "True True 0\n"


def test_copies_of_a_pass_in_other_processes_leave_the_workers_alone():
    process = start("""
        passing = iter(loader(6))
        show(passing)
        next(passing)
        child = os.fork()
        if child == 0:
            del passing
            gc.collect()
            os._exit(0)
        os.waitpid(child, 0)
        print(len(list(passing)))
    """)
    workers = pids(process)
    assert finish(process, workers) == "5\n"
