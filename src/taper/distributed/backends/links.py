"""Sockets between the processes of a group on one host: messages, and who is still there.

Each pair of members has a Unix socket.  A thread of each process reads all of them: it puts
messages into the mailbox, and notices at once when a member ends, however that happens.  What is
sent begins with a header of fixed size; lengths are checked, and a connection must know the
group's token, which is in the store.
"""

from __future__ import annotations

import hmac
import os
import secrets
import selectors
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Collection
from typing import Any

import numpy as np

from taper.distributed.backends.base import is_dead
from taper.distributed.stores import DistBackendError, Store, Timeout

_HEADER = struct.Struct("<4sIqqq")  # magic, kind, tag, length, a code of the dtype
_MAGIC = b"tpr1"
_MESSAGE, _BROKEN, _BYE, _ASK, _TOLD = range(1, 6)
_GREETING = struct.Struct("<32sq")  # token, rank
_MOST_TEXT = 1 << 16
_SOME = "a collective"  # where the finder of a problem cannot know which
_TALK = 1.0  # seconds to wait for an answer


def this_host() -> str:
    """Return what tells this host, and this container, from others."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        space = os.readlink("/proc/self/ns/ipc")
    except OSError:  # not Linux
        boot, space = socket.gethostname(), ""
    return f"{socket.gethostname()} {boot} {space}"


class Delivery:
    """An array that somebody waits for."""

    def __init__(self, mailbox: Links, array: np.ndarray, source: int | None, tag: int) -> None:
        self._mailbox = mailbox
        self._array = array
        self.source = -1
        self._wanted, self._tag = source, tag
        self._error: Exception | None = None
        self._is_done = False
        self.when_done: Any = None

    def fits(self, source: int, tag: int) -> bool:
        """Return whether a message is the one that is waited for."""
        return tag == self._tag and self._wanted in (None, source)

    def depends_on(self, rank: int) -> bool:
        """Return whether this can never be done once a member has ended."""
        return self._wanted in (None, rank)

    def fill(self, source: int, data: np.ndarray, dtype: int) -> None:
        """Take a message."""
        self.source = source
        if data.nbytes != self._array.nbytes or dtype != code_of(self._array.dtype):
            self.fail(
                DistBackendError(
                    f"recv: rank {source} sent {data.nbytes} bytes of dtype {name_of(dtype)}, "
                    f"but the tensor has {self._array.nbytes} of {self._array.dtype.name}"
                )
            )
            return
        self._array.view(np.uint8).reshape(-1)[:] = data
        self._finish()

    def fail(self, error: Exception) -> None:
        """End with an error."""
        self._error = error
        self._finish()

    def _finish(self) -> None:
        self._is_done = True
        if self.when_done is not None:
            self.when_done(self._error)

    def is_done(self) -> bool:
        """Return whether the message has arrived; raise if it never will."""
        if self._is_done and self._error is not None:
            raise self._error
        return self._is_done

    def wait(self, seconds: float) -> None:
        """Wait for the message; raise after so many seconds."""
        with self._mailbox.has_news:
            if not self._mailbox.has_news.wait_for(lambda: self._is_done, seconds):
                self._mailbox.forget(self)
                whom = "any rank" if self._wanted is None else f"rank {self._wanted}"
                raise DistBackendError(
                    f"recv: nothing came from {whom} with tag {self._tag} within "
                    f"{round(seconds * 1000)} ms, found by rank {self._mailbox.rank}"
                )
        self.is_done()


_NAMES = (
    "float32 float64 float16 bfloat16 int8 uint8 int16 uint16 int32 uint32 int64 uint64 bool "
    "complex64 complex128"
).split()
_CODES = {name: code for code, name in enumerate(_NAMES)}


def code_of(dtype: np.dtype[Any]) -> int:
    """Return the number of a dtype in headers."""
    return _CODES.get(dtype.name, len(_NAMES) + dtype.itemsize)


def name_of(code: int) -> str:
    """Return the name of a dtype from its number."""
    return _NAMES[code] if 0 <= code < len(_NAMES) else "another kind"


class Links:
    """The sockets of one process to the others of its group."""

    def __init__(
        self, store: Store, rank: int, size: int, seconds: float, is_star: bool = False
    ) -> None:
        self.rank, self.size = rank, size
        self._is_star = is_star
        self.has_news = threading.Condition()
        self.problem: DistBackendError | None = None
        self.calls = 0  # collectives that this member has begun
        self._told: dict[int, int] = {}  # the same of others, when asked
        self._telling = threading.RLock()  # nobody ends before all have been told
        self.gone: dict[int, float] = {}  # members that have ended or left, and when
        self._polite: set[int] = set()  # those of them that have said goodbye
        self._messages: list[tuple[int, int, np.ndarray, int]] = []
        self._expected: list[Delivery] = []
        self._sockets: dict[int, socket.socket] = {}
        self._send_locks = [threading.Lock() for _ in range(size)]
        self._closing = False
        self._thread: threading.Thread | None = None
        if size > 1:
            self._connect(store, seconds)

    # --- meeting -------------------------------------------------------------------------------

    def _connect(self, store: Store, seconds: float) -> None:
        until = time.monotonic() + seconds
        token = self._token(store)
        with tempfile.TemporaryDirectory(prefix="taper-") as folder:
            with self._listener(folder) as listener:
                where = listener.getsockname()
                address = where if isinstance(where, str) else f"{where[0]}:{where[1]}"
                store.set(f"member {self.rank}", f"{this_host()}\n{address}")
                partners = self._partners()
                for other in (each for each in partners if each < self.rank):
                    self._sockets[other] = self._call(store, other, token, until)
                while len(self._sockets) < len(partners):
                    self._answer(listener, token, until)
        self._thread = threading.Thread(target=self._read, daemon=True, name="taper links")

    def _partners(self) -> list[int]:
        """Return whom this member has a socket to: all; in a star rank 0, which has it to all."""
        others = [each for each in range(self.size) if each != self.rank]
        return others if not self._is_star or self.rank == 0 else [0]

    def _listener(self, folder: str) -> socket.socket:
        """Listen at a path of this host; in a star that spans hosts, at a port."""
        master = os.environ.get("MASTER_ADDR", "localhost")
        if not self._is_star or master in ("localhost", "127.0.0.1", "::1"):
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listener.bind(os.path.join(folder, "s"))
        else:
            listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.connect((master, 9))  # sends nothing, but tells the own address toward it
                listener.bind((probe.getsockname()[0], 0))
        listener.listen(self.size)
        return listener

    def start(self) -> None:
        """Begin to read; what the members exchange before is their own affair."""
        if self._thread is not None:
            self._thread.start()

    def _token(self, store: Store) -> bytes:
        if self.rank == 0:
            store.set("token", secrets.token_hex(16))
        return store.get("token")

    def _call(self, store: Store, other: int, token: bytes, until: float) -> socket.socket:
        name = f"member {other}"
        store.wait([name], Timeout(seconds=max(0.001, until - time.monotonic())))
        host, address = store.get(name).decode().split("\n")
        is_local = address.startswith(("/", "\0"))
        if is_local and host != this_host():
            raise DistBackendError(
                f"gloo: rank {other} is on another host or in another container "
                f"({host.split()[0]}) than rank {self.rank} ({socket.gethostname()}); without MPI "
                "the processes of a group share one host: use the backend `mpi`, with `mpiexec`"
            )
        connection = socket.socket(
            socket.AF_UNIX if is_local else socket.AF_INET, socket.SOCK_STREAM
        )
        connection.settimeout(max(0.001, until - time.monotonic()))
        machine, _, port = address.rpartition(":")
        connection.connect(address if is_local else (machine, int(port)))
        connection.sendall(_GREETING.pack(token, self.rank))
        connection.settimeout(None)
        return connection

    def _answer(self, listener: socket.socket, token: bytes, until: float) -> None:
        listener.settimeout(max(0.001, until - time.monotonic()))
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            missing = sorted({*self._partners()} - {*self._sockets})
            raise DistBackendError(
                f"init_process_group: ranks {missing} did not come, found by rank {self.rank}"
            ) from None
        connection.settimeout(max(0.001, until - time.monotonic()))
        try:
            greeting = connection.recv(_GREETING.size, socket.MSG_WAITALL)
            said, rank = _GREETING.unpack(greeting)
        except (OSError, struct.error):
            said, rank = b"", -1
        is_new = self.rank < rank < self.size and rank not in self._sockets
        if hmac.compare_digest(said, token) and is_new:
            connection.settimeout(None)
            self._sockets[rank] = connection
        else:
            connection.close()

    def is_on_one_host(self) -> bool:
        """Return whether all members of the group have met at paths of one host."""
        return all(each.family == socket.AF_UNIX for each in self._sockets.values())

    def hand_out(self, descriptor: int) -> None:
        """Give a file descriptor to all others; before `start`."""
        for connection in self._sockets.values():
            socket.send_fds(connection, [b"d"], [descriptor])

    def take(self, source: int) -> int:
        """Return the descriptor that a member hands out; before `start`."""
        _, descriptors, _, _ = socket.recv_fds(self._sockets[source], 1, 1)
        if not descriptors:
            raise is_dead("init_process_group", source, self.rank)
        return descriptors[0]

    # --- reading -------------------------------------------------------------------------------

    def _read(self) -> None:
        with selectors.DefaultSelector() as selector:
            for rank, connection in self._sockets.items():
                selector.register(connection, selectors.EVENT_READ, rank)
            while selector.get_map():
                for key, _ in selector.select():
                    if not self._read_one(key.data):
                        selector.unregister(key.fileobj)
            for connection in self._sockets.values():
                connection.close()

    def _read_one(self, rank: int) -> bool:
        """Read one message; return False when the member is gone."""
        try:
            magic, kind, tag, length, dtype = _HEADER.unpack(self._exactly(rank, _HEADER.size))
            if magic != _MAGIC or length < 0:
                raise ValueError("not a message of a member")
            if kind == _MESSAGE:
                data = np.frombuffer(self._exactly(rank, length), np.uint8)
                self._deliver(rank, tag, data, dtype)
            elif kind == _BROKEN and length <= _MOST_TEXT:
                self._break(DistBackendError(self._exactly(rank, length).decode()))
            elif kind == _BYE:
                with self.has_news:
                    self._polite.add(rank)
                    self.gone[rank] = time.monotonic()
                    self.has_news.notify_all()
            elif kind == _ASK:
                self._post(rank, _TOLD, self.calls, b"", 0)
            elif kind == _TOLD:
                with self.has_news:
                    self._told[rank] = tag
                    self.has_news.notify_all()
            else:
                raise ValueError("an unknown kind of message")
        except (OSError, ValueError, struct.error):
            self._lose(rank)
            return False
        return True

    def _exactly(self, rank: int, length: int) -> bytearray:
        data = bytearray(length)
        rest = memoryview(data)
        while len(rest):
            count = self._sockets[rank].recv_into(rest)
            if not count:
                raise ConnectionResetError
            rest = rest[count:]
        return data

    def _deliver(self, source: int, tag: int, data: np.ndarray, dtype: int) -> None:
        with self.has_news:
            for delivery in self._expected:
                if delivery.fits(source, tag):
                    self._expected.remove(delivery)
                    delivery.fill(source, data, dtype)
                    break
            else:
                self._messages.append((source, tag, data, dtype))
            self.has_news.notify_all()

    def _lose(self, rank: int) -> None:
        with self.has_news:
            self.gone.setdefault(rank, time.monotonic())
            if not self._closing:
                self._fail_those(
                    lambda each: each.depends_on(rank), is_dead("recv", rank, self.rank)
                )
            self.has_news.notify_all()
        if self._is_star and self.rank == 0 and rank not in self._polite and not self._closing:
            self.tell(is_dead(_SOME, rank, self.rank))  # the others have no socket to it

    def _break(self, problem: DistBackendError) -> None:
        with self.has_news:
            self.problem = self.problem or problem
            self._fail_those(lambda each: True, problem)
            self.has_news.notify_all()

    def _fail_those(self, which: Any, error: Exception) -> None:
        for each in [each for each in self._expected if which(each)]:
            self._expected.remove(each)
            each.fail(error)

    # --- for the transport ---------------------------------------------------------------------

    def named_problem(self, operation: str) -> DistBackendError:
        """What broke the group, as the operation that meets it says it."""
        with self._telling:
            return DistBackendError(str(self.problem).replace(_SOME, operation, 1))

    def check(self, operation: str, needed: Collection[int]) -> None:
        """Raise if a member that is needed has ended, or if somebody says the group is broken."""
        if self.problem is not None:
            raise self.named_problem(operation)
        for rank in sorted(self.gone.keys() & needed):
            if rank not in self._polite:
                raise is_dead(operation, rank, self.rank)
            # It may have done its part before it left.
            if time.monotonic() - self.gone[rank] > _TALK:
                raise DistBackendError(
                    f"{operation}: rank {rank} has left the group, found by rank {self.rank}: "
                    "Connection closed by peer"
                )

    def behind(self) -> list[int]:
        """Ask who has begun fewer collectives; in a star rank 0 knows better, and will tell."""
        with self.has_news:
            if self._is_star and self.rank and self.has_news.wait_for(lambda: self.problem, _TALK):
                return []
            self._told.clear()
        for rank in self._sockets:
            self._post(rank, _ASK, 0, b"", 0)
        with self.has_news:
            self.has_news.wait_for(lambda: len(self._told) == len(self._sockets), _TALK)
            return [each for each in self._sockets if self._told.get(each, -1) < self.calls]

    def tell(self, problem: DistBackendError) -> None:
        """Tell all members why the group is broken, so that they need not find out themselves."""
        with self._telling:
            if self.problem is None:
                self.problem = problem
                for rank in self._sockets:
                    self._post(rank, _BROKEN, 0, str(problem).encode()[:_MOST_TEXT], 0)

    def _post(self, rank: int, kind: int, tag: int, data: Any, dtype: int) -> bool:
        length = memoryview(data).nbytes
        try:
            with self._send_locks[rank]:  # header and data stay together
                self._sockets[rank].sendall(_HEADER.pack(_MAGIC, kind, tag, length, dtype))
                self._sockets[rank].sendall(data)
        except OSError:
            return False
        return True

    def send(self, array: np.ndarray, to: int, tag: int) -> None:
        """Send an array to a member, whose thread takes it at once."""
        if self.problem is not None:
            raise self.problem
        data = array.view(np.uint8).reshape(-1).data
        if to in self.gone or not self._post(to, _MESSAGE, tag, data, code_of(array.dtype)):
            raise is_dead("send", to, self.rank)

    def receive(self, array: np.ndarray, source: int | None, tag: int) -> Delivery:
        """Begin to receive an array."""
        wanted = Delivery(self, array, source, tag)
        with self.has_news:
            for place, (sender, sent_tag, data, dtype) in enumerate(self._messages):
                if wanted.fits(sender, sent_tag):
                    del self._messages[place]
                    wanted.fill(sender, data, dtype)
                    return wanted
            if self.problem is not None:
                raise self.problem
            lost = self.gone.keys() & (range(self.size) if source is None else {source})
            if lost:
                raise is_dead("recv", min(lost), self.rank)
            self._expected.append(wanted)
        return wanted

    def forget(self, delivery: Delivery) -> None:
        """Wait for a message no longer."""
        if delivery in self._expected:
            self._expected.remove(delivery)

    def all_have_left(self, seconds: float) -> bool:
        """Say goodbye together; return whether everybody whom this member knows did."""
        if self.rank:
            self.say_goodbye()
        with self.has_news:
            self.has_news.wait_for(
                lambda: self.problem or len(self.gone) == len(self._sockets), seconds
            )
            is_good = self.problem is None and self._polite == self._sockets.keys()
        if is_good:
            self.say_goodbye()
        return is_good

    def say_goodbye(self) -> None:
        """Tell the others that this member does nothing more."""
        if not self._closing:
            self._closing = True
            for rank in self._sockets.keys() - self.gone.keys():
                self._post(rank, _BYE, 0, b"", 0)

    def close(self) -> None:
        """Say goodbye and close the sockets."""
        self.say_goodbye()
        for connection in self._sockets.values():
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        if self._thread is not None and self._thread.is_alive():
            self._thread.join(1)
