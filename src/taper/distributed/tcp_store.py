"""A store in a server, to which processes connect.

A request is a number of fields, the first of which names it; the answer is fields too.  The server
is one thread of the process that was said to be the master.  It never unpickles, checks lengths,
and forgets a client whose words it does not understand.
"""

from __future__ import annotations

import datetime
import errno
import selectors
import socket
import struct
import threading
import time
from collections.abc import Sequence
from typing import Any

from taper.distributed.stores import (
    DEFAULT_TIMEOUT,
    DistNetworkError,
    DistStoreError,
    Store,
    Timeout,
    changed,
    milliseconds,
)

_LENGTH = struct.Struct("<I")
_MOST = 1 << 28  # bytes of a request
_HELLO = b"taper store 1"
_CLIENTS = "init/"  # counts the processes that have connected; has no "/" before it
_GRACE = 5.0  # seconds that an answer may take beyond the wait that it was asked for


def pack(fields: Sequence[bytes]) -> bytes:
    """Return fields as one message."""
    body = b"".join(_LENGTH.pack(len(each)) + each for each in fields)
    return _LENGTH.pack(len(body)) + body


def unpack(body: bytes) -> list[bytes]:
    """Return the fields of a message without its length."""
    fields, place = [], 0
    while place < len(body):
        (length,) = _LENGTH.unpack_from(body, place)
        place += _LENGTH.size
        if place + length > len(body):
            raise ValueError("a field is longer than its message")
        fields.append(body[place : place + length])
        place += length
    return fields


class _Client:
    """What the server knows of a connection: bytes that are no whole request yet, and a wait."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.received = bytearray()
        self.unsent = bytearray()
        self.has_greeted = False
        self.waits_for: list[str] = []
        self.until = 0.0


class Server:
    """The thread that keeps the content."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._listener.setblocking(False)
        self.port: int = listener.getsockname()[1]
        self._content: dict[str, bytes] = {}
        self._clients: set[_Client] = set()
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, daemon=True, name="taper store")
        self._thread.start()

    def close(self) -> None:
        """End the thread and the connections."""
        try:
            self._wake.send(b"x")
        except OSError:
            return
        self._thread.join(1)

    def _serve(self) -> None:
        try:
            while True:
                for key, events in self._selector.select(self._patience()):
                    if key.fileobj is self._woken:
                        return
                    if key.fileobj is self._listener:
                        self._accept()
                    else:
                        self._attend(key.data, events)
                self._end_waits()
        finally:
            for client in list(self._clients):
                self._forget(client)
            for each in (self._listener, self._wake, self._woken):
                each.close()
            self._selector.close()

    def _patience(self) -> float | None:
        waits = [client.until for client in self._clients if client.waits_for]
        return max(0.0, min(waits) - time.monotonic()) if waits else None

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client = _Client(connection)
        self._clients.add(client)
        self._selector.register(connection, selectors.EVENT_READ, client)

    def _forget(self, client: _Client) -> None:
        self._clients.discard(client)
        self._selector.unregister(client.connection)
        client.connection.close()

    def _attend(self, client: _Client, events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE:
                self._send(client, b"")
            if events & selectors.EVENT_READ:
                new = client.connection.recv(1 << 16)
                if not new:
                    raise ConnectionResetError
                client.received += new
                self._read_requests(client)
        except BlockingIOError:
            pass
        except (OSError, ValueError, IndexError, UnicodeDecodeError, struct.error):
            self._forget(client)  # it is gone, or not one of ours

    def _read_requests(self, client: _Client) -> None:
        while len(client.received) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(client.received)
            if length > _MOST:
                raise ValueError("a request that is too long")
            end = _LENGTH.size + length
            if len(client.received) < end:
                return
            fields = unpack(bytes(client.received[_LENGTH.size : end]))
            del client.received[:end]
            if not client.has_greeted:
                if fields != [_HELLO]:
                    raise ValueError("not a client of this store")
                client.has_greeted = True
                continue
            self._answer(client, fields[0].decode(), fields[1:])

    def _send(self, client: _Client, message: bytes) -> None:
        client.unsent += message
        try:
            sent = client.connection.send(client.unsent)
            del client.unsent[:sent]
        except BlockingIOError:
            pass
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.unsent else 0)
        self._selector.modify(client.connection, wanted, client)

    def _answer(self, client: _Client, request: str, fields: list[bytes]) -> None:
        if request == "wait":
            client.waits_for = [each.decode() for each in fields[1:]]
            client.until = time.monotonic() + int(fields[0]) / 1000
            self._end_wait(client)
            return
        self._send(client, pack(self._result(request, fields)))

    def _result(self, request: str, fields: list[bytes]) -> list[bytes]:
        if request == "change":
            key, kind, *operands = fields
            try:
                value, answer = changed(self._content.get(key.decode()), kind.decode(), operands)
            except ValueError as error:
                return [b"error", str(error).encode()]
            if value is not None:
                self._content[key.decode()] = value
            return [b"ok", answer]
        if request == "values":
            return [b"ok", *(self._content[each.decode()] for each in fields)]
        if request == "list":
            return [b"ok", *(each.encode() for each in self._content)]
        if request == "delete":
            found = self._content.pop(fields[0].decode(), None)
            return [b"ok", b"" if found is None else b"1"]
        raise ValueError("an unknown request")

    def _end_waits(self) -> None:
        for client in list(self._clients):
            if client.waits_for:
                try:
                    self._end_wait(client)
                except OSError:
                    self._forget(client)

    def _end_wait(self, client: _Client) -> None:
        """Answer a client that waits, if its keys are there or its time is over."""
        is_there = all(key in self._content for key in client.waits_for)
        if is_there or time.monotonic() >= client.until:
            client.waits_for = []
            self._send(client, pack([b"ok", b"1" if is_there else b""]))


def listen(host: str, port: int) -> socket.socket:
    """Listen where a master is reached: on the loopback interface unless its name says otherwise.

    A name that is no address of this machine, but leads to it, is listened for on all of them.
    """
    try:
        address = socket.getaddrinfo(host, port, socket.AF_UNSPEC, socket.SOCK_STREAM)[0]
        try:
            return _listener(address[0], address[4])
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL:
                raise
        return _listener(socket.AF_INET, ("", port))
    except OSError as error:
        code = error.errno or 0
        raise DistNetworkError(
            "The server socket has failed to listen on any local network address. "
            f"port: {port}, useIpv6: false, code: -{code}, name: "
            f"{errno.errorcode.get(code, '?')}, message: {(error.strerror or '').lower()}"
        ) from None


def _listener(family: int, address: Any) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(1024)
    except OSError:
        listener.close()
        raise
    return listener


def connect(host: str, port: int, timeout: Timeout) -> socket.socket:
    """Connect to a server, which may not be there yet."""
    until = time.monotonic() + timeout.total_seconds()
    pause = 0.01
    while True:
        left = until - time.monotonic()
        try:
            connection = socket.create_connection((host, port), max(left, 0.001))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
        except OSError:
            if left <= pause:
                raise DistNetworkError(
                    f"The client socket has timed out after {milliseconds(timeout)}ms while "
                    f"trying to connect to ({host}, {port})."
                ) from None
        time.sleep(pause)
        pause = min(2 * pause, 0.5)


class TCPStore(Store):
    """A store in a server, which one process runs and all connect to.

    Args:
        host_name: where the server is; it listens on this address.
        port: its port; 0 lets the system choose, and `port` tells.
        world_size: how many processes connect, the master among them.
        is_master: run the server in this process.
        timeout: how long to wait for the server, for the others, and for keys.
        wait_for_workers: let the master wait until `world_size` processes have connected.
        multi_tenant: share a server that this process already runs at the same port.
        master_listen_fd: the descriptor of a socket that already listens.

    >>> import taper
    >>> store = taper.distributed.TCPStore("127.0.0.1", 0, 1, True)
    >>> store.set("key", "value")
    >>> store.get("key"), store.num_keys()
    (b'value', 2)
    """

    _servers: dict[int, Server] = {}  # noqa: RUF012 - of this process, by port

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: datetime.timedelta = DEFAULT_TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        self._timeout = timeout
        self.host, self.port = host_name, port
        self.libuvBackend = use_libuv
        self._server: Server | None = None
        self._owns_server = False
        if is_master:
            self._server = self._servers.get(port) if multi_tenant else None
            if self._server is None:
                if master_listen_fd is not None:
                    self._server = Server(socket.socket(fileno=master_listen_fd))
                else:
                    self._server = Server(listen(host_name, port))
                self._owns_server = True
            self.port = self._server.port
            if multi_tenant:
                self._servers[self.port] = self._server
                self._owns_server = False  # others of this process use it, too
        self._lock = threading.Lock()
        self._connection = connect(host_name, self.port, timeout)
        self._connection.sendall(pack([_HELLO]))
        self._joined(world_size, is_master and wait_for_workers)

    def _joined(self, world_size: int | None, waits: bool) -> None:
        """Count this process, and wait for the others."""
        (count,) = self._ask("change", [_CLIENTS, "add", b"1"])
        if world_size is None or not waits:
            return
        until = time.monotonic() + self.timeout.total_seconds()
        while int(count) < world_size:
            if time.monotonic() > until:
                raise DistStoreError(
                    f"Timed out after {int(self.timeout.total_seconds()) + 1} seconds waiting for "
                    f"clients. {int(count)}/{world_size} clients joined."
                )
            time.sleep(0.01)
            (count,) = self._ask("change", [_CLIENTS, "add", b"0"])

    def __del__(self) -> None:
        if (connection := getattr(self, "_connection", None)) is not None:
            connection.close()
        if getattr(self, "_owns_server", False) and self._server is not None:
            self._server.close()

    def __repr__(self) -> str:
        server = "<nullptr>" if self._server is None else f"TCPServer(port={self.port})"
        return f"TCPStore(client=TCPClient({self.host}:{self.port}), server={server})"

    def _ask(self, request: str, fields: Sequence[str | bytes], patience: float = 0) -> list[bytes]:
        """Send a request and return the fields of the answer."""
        said = [each.encode() if isinstance(each, str) else each for each in (request, *fields)]
        with self._lock:
            try:
                self._connection.settimeout(max(patience, self._timeout.total_seconds()) + _GRACE)
                self._connection.sendall(pack(said))
                (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
                if length > _MOST:
                    raise DistNetworkError("The store's answer is too long")
                status, *answer = unpack(self._read(length))
            except OSError as error:
                raise DistNetworkError(f"{error.strerror or error} (store {self.host})") from None
        if status == b"error":
            raise ValueError(answer[0].decode())
        return answer

    def _read(self, length: int) -> bytes:
        parts = []
        while length:
            part = self._connection.recv(min(length, 1 << 20))
            if not part:
                raise DistNetworkError(
                    "Failed to recv, got 0 bytes. Connection was likely closed. Did the remote "
                    "server shutdown or crash?"
                )
            parts.append(part)
            length -= len(part)
        return b"".join(parts)

    def _change(self, key: str, kind: str, *operands: bytes) -> bytes:
        return self._ask("change", [f"/{key}", kind, *operands])[0]

    def _values(self, keys: Sequence[str]) -> list[bytes]:
        return self._ask("values", [f"/{key}" for key in keys])

    def _wait(self, keys: Sequence[str], timeout: Timeout) -> None:
        names = [f"/{key}" for key in keys]
        waits = milliseconds(timeout)
        (is_there,) = self._ask("wait", [str(waits), *names], waits / 1000)
        if not is_there:
            raise DistStoreError(f"wait timeout after {waits}ms, keys: {', '.join(names)}")

    def _names(self) -> list[str]:
        return [each.decode() for each in self._ask("list", [])]

    def _list(self) -> list[str]:
        return [name[1:] for name in self._names() if name.startswith("/")]

    def num_keys(self) -> int:
        """Return how many keys are set, the store's own one among them."""
        return len(self._names())

    def delete_key(self, key: str, /) -> bool:
        """Remove a key; return whether it existed."""
        return bool(self._ask("delete", [f"/{key}"])[0])

    def clone(self) -> Store:
        """Return a store with a connection of its own."""
        return TCPStore(self.host, self.port, None, False, self.timeout)
