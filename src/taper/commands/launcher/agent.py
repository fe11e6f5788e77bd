"""The launcher of one node: starts its processes, watches them, starts them again, ends them all.

If one process fails, the others get a moment to fail by themselves, since they know best what the
loss meant to them; then they are ended.  Nothing outlives the launcher.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from taper.arrays.threads import allowed_cores
from taper.commands.launcher.logs import Logs
from taper.commands.launcher.pmi import Manager
from taper.distributed.stores import PrefixStore, Timeout
from taper.distributed.tcp_store import TCPStore

_MOMENT = 2.0  # seconds for the others after a failure
_GRACE = 10.0  # seconds after SIGTERM, before SIGKILL
INTERRUPTED = 130


@dataclass
class Plan:
    """What is to be started."""

    program: str
    command: list[str]
    local: int
    nodes: int = 1
    node: int = 0
    address: str = "127.0.0.1"
    port: int = 29500
    restarts: int = 0
    interval: float = 0.1
    run: str = "none"
    role: str = "default"
    log_dir: str | None = None
    redirects: str = "0"
    tee: str = "0"

    @property
    def world_size(self) -> int:
        """The number of processes on all nodes."""
        return self.nodes * self.local


class Interrupted(Exception):  # noqa: N818 - no error
    """The launcher was told to end."""


def uses_mpi() -> bool:
    """Return whether processes are started as MPI's: MPICH is there, and nobody says otherwise."""
    if os.environ.get("TAPER_TRANSPORT") == "host" or os.name != "posix":
        return False
    if importlib.util.find_spec("mpi4py") is None:
        return False
    for name in ("mpich", "impi-rt"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            importlib.metadata.version(name)
            return True
    return False


class Agent:
    """Runs a plan on this node."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._store = TCPStore(
            plan.address,
            plan.port,
            None,
            is_master=plan.node == 0,
            timeout=Timeout(minutes=15),
            wait_for_workers=False,
        )
        self._logs = Logs(plan.log_dir, plan.run, plan.redirects, plan.tee, plan.local)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._with_mpi = uses_mpi()
        self._say_threads()

    def _say_threads(self) -> None:
        """Decide how many threads each process takes, unless somebody said it; say it once."""
        cores = allowed_cores()
        self._threads = max(1, cores // self.plan.local)
        if "OMP_NUM_THREADS" not in os.environ and self.plan.local > 1 and self.plan.node == 0:
            print(
                f"taper run: {self.plan.local} processes on {cores} cores: each takes "
                f"{self._threads} thread{'s' * (self._threads != 1)} (OMP_NUM_THREADS says "
                "otherwise)",
                file=sys.stderr,
            )

    def run(self) -> int:
        """Run the plan; return the exit code."""
        with _told_to_end():
            try:
                for attempt in range(self.plan.restarts + 1):
                    self._start(attempt)
                    failed = self._watch()
                    if failed is None:
                        return 0
                    self._end(_MOMENT)
                    self._report(failed, attempt)
                return 1
            except (Interrupted, KeyboardInterrupt):
                return INTERRUPTED
            finally:
                self._end(0.2)
                self._logs.close()

    def _start(self, attempt: int) -> None:
        plan = self.plan
        store = PrefixStore(f"attempt {attempt}", self._store)
        # Node 0 chooses a name that no other run has.
        name = store.compare_set("name", "", f"taper-{secrets.token_hex(8)}").decode()
        manager = Manager(name, store, plan.local, plan.world_size, plan.nodes)
        self._processes = []
        for local_rank in range(plan.local):
            environment = self._environment(attempt, local_rank)
            inherited = []
            connection = None
            if self._with_mpi:
                connection = manager.attach()
                inherited = [connection.fileno()]
                environment["PMI_FD"] = str(connection.fileno())
                environment["PMI_RANK"] = environment["RANK"]
                environment["PMI_SIZE"] = environment["WORLD_SIZE"]
            out, err = self._logs.streams(attempt, local_rank, plan.role)
            command = [part.replace("${local_rank}", str(local_rank)) for part in plan.command]
            self._processes.append(
                subprocess.Popen(
                    command, env=environment, stdout=out, stderr=err, pass_fds=inherited
                )
            )
            for stream in (out, err, connection):
                if stream is not None and stream not in self._logs._files:
                    stream.close()

    def _environment(self, attempt: int, local_rank: int) -> dict[str, str]:
        plan = self.plan
        rank = plan.node * plan.local + local_rank
        added: dict[str, Any] = {
            "LOCAL_RANK": local_rank,
            "RANK": rank,
            "GROUP_RANK": plan.node,
            "ROLE_RANK": rank,
            "ROLE_NAME": plan.role,
            "LOCAL_WORLD_SIZE": plan.local,
            "WORLD_SIZE": plan.world_size,
            "GROUP_WORLD_SIZE": plan.nodes,
            "ROLE_WORLD_SIZE": plan.world_size,
            "MASTER_ADDR": plan.address,
            "MASTER_PORT": self._store.port,
            "TORCHELASTIC_RESTART_COUNT": attempt,
            "TORCHELASTIC_MAX_RESTARTS": plan.restarts,
            "TORCHELASTIC_RUN_ID": plan.run,
            "TORCHELASTIC_USE_AGENT_STORE": True,
            "TAPER_LAUNCHER": os.getpid(),
        }
        environment = {**os.environ, **{name: str(value) for name, value in added.items()}}
        if plan.local > 1:
            environment.setdefault("OMP_NUM_THREADS", str(self._threads))
        return environment

    def _watch(self) -> int | None:
        """Wait until all processes have ended well, or one has not: return its number."""
        while True:
            codes = [process.poll() for process in self._processes]
            for local_rank, code in enumerate(codes):
                if code not in (None, 0):
                    return local_rank
            if all(code == 0 for code in codes):
                return None
            time.sleep(self.plan.interval)

    def _end(self, moment: float) -> None:
        """End all processes: by themselves, by SIGTERM, by SIGKILL."""
        _wait(self._processes, moment)
        for process in self._processes:
            if process.poll() is None:
                process.terminate()
        _wait(self._processes, _GRACE)
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.wait()

    def _report(self, failed: int, attempt: int) -> None:
        """Say which processes failed, the first of them first."""
        order = [failed, *(each for each in range(self.plan.local) if each != failed)]
        again = "; starting again" if attempt < self.plan.restarts else ""
        print(f"taper run: {self.plan.program} failed{again}", file=sys.stderr)
        for local_rank in order:
            process = self._processes[local_rank]
            code = process.returncode
            if code:
                rank = self.plan.node * self.plan.local + local_rank
                first = " (first failure)" if local_rank == failed else ""
                print(
                    f"  rank {rank}: local_rank {local_rank}, pid {process.pid}, "
                    f"{_in_words(code)}{first}",
                    file=sys.stderr,
                )
        if self._logs.folder:
            print(f"  logs: {self._logs.folder}", file=sys.stderr)


def _in_words(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return f"signal {signal.Signals(-code).name}"
    return f"signal {-code}"


def _wait(processes: Sequence[subprocess.Popen[bytes]], seconds: float) -> None:
    until = time.monotonic() + seconds
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, until - time.monotonic()))


@contextlib.contextmanager
def _told_to_end() -> Iterator[None]:
    """Raise where SIGINT, SIGTERM or a hangup comes, inside the block."""

    def end(number: int, frame: object) -> None:
        raise Interrupted

    before = {each: signal.signal(each, end) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
