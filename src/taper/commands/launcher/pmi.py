"""The side of a process manager in PMI-1, the protocol in which MPICH's processes find each other.

With it the launcher starts MPI processes itself, as its own children: it sees each one end, and
needs no second launcher below it.  A request is a line `cmd=name key=value ...` on a socket that
the child inherits as PMI_FD.  What processes put lies in the launcher's store, so the launchers of
several nodes make one MPI world.
"""

from __future__ import annotations

import socket
import threading

from taper.distributed.stores import Store

_MOST = 1 << 16  # bytes of a line


class Manager:
    """Answers the processes that this node's launcher starts."""

    def __init__(self, name: str, store: Store, local: int, world_size: int, nodes: int) -> None:
        self._name = name  # of the world: MPICH names its shared memory after it
        self._store = store
        self._local, self._world_size, self._nodes = local, world_size, nodes
        self._lock = threading.Lock()
        self._arrived: list[socket.socket] = []
        self._barriers = 0

    def attach(self) -> socket.socket:
        """Return the end of a new connection that a child shall inherit."""
        own, theirs = socket.socketpair()
        threading.Thread(target=self._serve, args=(own,), daemon=True, name="taper pmi").start()
        return theirs

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            try:
                while line := lines.readline(_MOST):
                    self._answer(connection, line.decode().strip())
            except (OSError, ValueError, KeyError):
                pass  # the process has ended, or speaks another protocol

    def _answer(self, connection: socket.socket, line: str) -> None:
        said = dict(part.split("=", 1) for part in line.split(" ") if "=" in part)
        command = said["cmd"]
        if command == "barrier_in":
            self._barrier(connection)
            return
        if command == "put":
            self._store.set(f"pmi/{said['key']}", line.partition(" value=")[2])
        answers = {
            "init": "response_to_init pmi_version=1 pmi_subversion=1 rc=0",
            "get_maxes": "maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0",
            "get_appnum": "appnum appnum=0 rc=0",
            "get_my_kvsname": f"my_kvsname kvsname={self._name} rc=0",
            "get_universe_size": f"universe_size size={self._world_size} rc=0",
            "put": "put_result rc=0 msg=success",
            "finalize": "finalize_ack rc=0",
        }
        if command == "get":
            key = f"pmi/{said['key']}"
            if self._store.check([key]):
                answer = f"get_result rc=0 msg=success value={self._store.get(key).decode()}"
            else:
                answer = "get_result rc=-1 msg=unknown value=unknown"
        else:
            answer = answers.get(command, f"{command}_result rc=-1")
        connection.sendall(f"cmd={answer}\n".encode())

    def _barrier(self, connection: socket.socket) -> None:
        """Let the processes go on when those of all nodes have come."""
        with self._lock:
            self._arrived.append(connection)
            if len(self._arrived) < self._local:
                return
            arrived, self._arrived = self._arrived, []
            self._barriers += 1
        if self._nodes > 1:
            self._store.barrier(f"pmi barrier {self._barriers}", self._nodes)
        for each in arrived:
            try:
                each.sendall(b"cmd=barrier_out rc=0\n")
            except OSError:
                pass  # it has ended meanwhile
