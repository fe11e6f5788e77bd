"""How processes find each other: rank, number of processes and store, from an address."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from urllib.parse import ParseResult, parse_qs, urlparse

from taper.distributed.file_store import FileStore
from taper.distributed.stores import DEFAULT_TIMEOUT, PrefixStore, Store, Timeout
from taper.distributed.tcp_store import TCPStore

__all__ = ["register_rendezvous_handler", "rendezvous"]

Found = tuple[Store, int, int]
_handlers: dict[str, Callable[..., Iterator[Found]]] = {}


def register_rendezvous_handler(scheme: str, handler: Callable[..., Iterator[Found]]) -> None:
    """Let a function answer for the addresses of a scheme.

    Args:
        scheme: what stands before "://".
        handler: takes the address and yields store, rank and number of processes.

    >>> from taper import distributed as dist
    >>> dist.register_rendezvous_handler("mine", lambda url, **_: iter([(dist.HashStore(), 0, 1)]))
    >>> next(dist.rendezvous("mine://here"))[1:]
    (0, 1)
    """
    if scheme in _handlers or scheme in ("env", "tcp", "file"):
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(
    url: str, rank: int = -1, world_size: int = -1, timeout: Timeout = DEFAULT_TIMEOUT
) -> Iterator[Found]:
    """Yield store, rank and number of processes for an address.

    Args:
        url: "env://", "tcp://host:port" or "file:///path"; rank and world_size may stand in its
            query, and for "env://" in the environment.
        rank: the number of this process, if it is known.
        world_size: the number of processes, if it is known.
        timeout: how long to wait for the others.

    >>> import os, tempfile
    >>> from taper import distributed as dist
    >>> path = os.path.join(tempfile.mkdtemp(), "store")
    >>> next(dist.rendezvous(f"file://{path}?rank=0&world_size=1"))[1:]
    (0, 1)
    """
    parts = urlparse(url)
    if parts.scheme in _handlers:
        yield from _handlers[parts.scheme](url, rank=rank, world_size=world_size, timeout=timeout)
        return
    if parts.scheme not in ("env", "tcp", "file"):
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://")
    rank, world_size = _numbers(parts, rank, world_size)
    if parts.scheme == "file":
        path = parts.path
        if not path:
            raise ValueError(f"{_start(parts)}path missing")
        yield FileStore(path, world_size), rank, world_size
        return
    if parts.scheme == "tcp":
        if not parts.port:
            raise ValueError(f"{_start(parts)}port number missing")
        host, port = parts.hostname or "", parts.port
    else:
        host = _variable("MASTER_ADDR", parts)
        port = int(_variable("MASTER_PORT", parts))
    yield _tcp_store(host, port, rank, world_size, timeout), rank, world_size


def _tcp_store(host: str, port: int, rank: int, world_size: int, timeout: Timeout) -> Store:
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        # The launcher runs the server, and starts programs again: each time has keys of its own.
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        store = TCPStore(host, port, world_size, False, timeout)
        return PrefixStore(f"/worker/attempt_{attempt}", store)
    return TCPStore(host, port, world_size, rank == 0, timeout, multi_tenant=True)


def _start(parts: ParseResult) -> str:
    return f"Error initializing torch.distributed using {parts.scheme}:// rendezvous: "


def _numbers(parts: ParseResult, rank: int, world_size: int) -> tuple[int, int]:
    """Return rank and number, from the arguments, the query of an address or the environment."""
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}

    def found(given: int, name: str, words: str) -> int:
        if given != -1:
            return given
        if name in query:
            return int(query[name])
        if parts.scheme != "env":
            raise ValueError(f"{_start(parts)}{words} parameter missing")
        return int(_variable(name.upper(), parts))

    rank = found(rank, "rank", "rank")
    return rank, found(world_size, "world_size", "world size")


def _variable(name: str, parts: ParseResult) -> str:
    value = os.environ.get(name)
    if not value:
        raise ValueError(f"{_start(parts)}environment variable {name} expected, but not set")
    return value
