"""Stores: what PyTorch's clients see, for each kind, and between processes and threads."""

from __future__ import annotations

import datetime
import socket
import threading

import pytest

from taper import distributed as dist
from taper.distributed.tcp_store import pack

SHORT = datetime.timedelta(seconds=0.05)
KINDS = ["hash", "file", "tcp"]


@pytest.fixture(params=KINDS)
def store(request, tmp_path):
    if request.param == "hash":
        return dist.HashStore()
    if request.param == "file":
        return dist.FileStore(str(tmp_path / "store"), 1)
    return dist.TCPStore("127.0.0.1", 0, 1, True, datetime.timedelta(seconds=5))


def test_values_and_numbers(store):
    store.set("a", "b")
    store.set("bytes", b"\x00\xff")
    assert (store.get("a"), store.get("bytes")) == (b"b", b"\x00\xff")
    assert (store.add("n", 3), store.add("n", -1), store.get("n")) == (3, 2, b"2")
    store.append("ap", "x")
    store.append("ap", "y")
    assert store.get("ap") == b"xy"
    with pytest.raises(ValueError, match="stoll"):
        store.add("a", 1)
    with pytest.raises(TypeError):
        store.set("i", 3)


def test_compare_set(store):
    assert store.compare_set("k", "", "v") == b"v"
    assert store.compare_set("k", "x", "w") == b"v"
    assert store.compare_set("k", "v", "w") == b"w"
    assert store.compare_set("missing", "x", "w") == b"x"
    assert not store.check(["missing"])


def test_several_keys(store):
    store.multi_set(["p", "q"], ["1", "2"])
    assert store.multi_get(["p", "q"]) == [b"1", b"2"]
    assert (store.check(["p", "q"]), store.check(["p", "z"]), store.check([])) == (
        True,
        False,
        True,
    )
    before = store.num_keys()
    assert store.delete_key("p") and store.num_keys() == before - 1
    assert sorted(store.list_keys()) == ["q"]


def test_queues(store):
    store.set_timeout(SHORT)
    store.queue_push("jobs", "1")
    store.queue_push("jobs", "2")
    assert (store.queue_len("jobs"), store.queue_pop("jobs"), store.queue_pop("jobs")) == (
        2,
        b"1",
        b"2",
    )
    with pytest.raises(dist.QueueEmptyError, match="queue is empty"):
        store.queue_pop("jobs", block=False)
    with pytest.raises(RuntimeError):
        store.queue_pop("jobs")


def test_prefixes(store):
    inner = dist.PrefixStore("pre", store)
    dist.PrefixStore("o", inner).set("x", "1")
    assert store.get("pre/o/x") == b"1" and inner.list_keys() == ["o/x"]
    assert inner.num_keys() == store.num_keys() and inner.timeout == store.timeout
    assert dist.PrefixStore("o", inner)._underlying_non_prefix_store is store


def test_a_key_that_nobody_sets(store):
    store.set_timeout(SHORT)
    texts = {
        "HashStore": (dist.DistStoreError, "^Wait timeout$", "^Wait timeout$"),
        "FileStore": (RuntimeError, "^Timeout waiting for key: a after 50 ms$", "^Wait timeout$"),
        "TCPStore": (
            dist.DistStoreError,
            "^wait timeout after 50ms, keys: /a$",
            "^wait timeout after 50ms, keys: /a, /b$",
        ),
    }
    kind, get, wait = texts[type(store).__name__]
    with pytest.raises(kind, match=get):
        store.get("a")
    with pytest.raises(kind, match=wait):
        store.wait(["a", "b"])


def test_another_thread_sets_the_key(store):
    timer = threading.Timer(0.05, store.clone().set, ("late", "now"))
    timer.start()
    if isinstance(store, dist.FileStore):
        timer.join()  # a FileStore is one process's own
    assert store.get("late") == b"now"
    timer.join()


def test_clients_of_one_server_see_the_same():
    server = dist.TCPStore("127.0.0.1", 0, 1, True)
    client = dist.TCPStore("127.0.0.1", server.port, 2, False)
    client.set("a", "1")
    assert (server.get("a"), server.port == client.port) == (b"1", True)
    assert "TCPServer(port=" in repr(server) and "<nullptr>" in repr(client)


def test_a_port_in_use_says_so():
    server = dist.TCPStore("127.0.0.1", 0, 1, True)
    with pytest.raises(dist.DistNetworkError, match="EADDRINUSE, message: address already in use"):
        dist.TCPStore("127.0.0.1", server.port, 1, True)


def test_a_server_that_is_not_there_is_waited_for_only_so_long():
    with pytest.raises(dist.DistNetworkError, match=r"timed out after 50ms .* \(127.0.0.1, 1\)\.$"):
        dist.TCPStore("127.0.0.1", 1, 2, False, SHORT)
    with pytest.raises(dist.DistStoreError, match=r"waiting for clients. 1/2 clients joined.$"):
        dist.TCPStore("127.0.0.1", 0, 2, True, SHORT)


@pytest.mark.parametrize(
    "words",
    [b"GET / HTTP/1.1\r\n\r\n", pack([b"someone"]), b"\xff" * 64, pack([b"taper store 1"])[:-1]],
)
def test_a_server_forgets_who_does_not_speak_its_language(words):
    store = dist.TCPStore("127.0.0.1", 0, 1, True)
    store.set("a", "1")
    with socket.create_connection(("127.0.0.1", store.port), 5) as stranger:
        stranger.sendall(words)
        stranger.shutdown(socket.SHUT_WR)
        assert stranger.recv(100) == b""
    assert store.get("a") == b"1"


def test_the_last_process_removes_the_file(tmp_path):
    path = tmp_path / "store"
    first, second = dist.FileStore(str(path), 2), dist.FileStore(str(path), 2)
    first.set("a", "1")
    assert second.get("a") == b"1"
    del first
    assert path.exists()
    del second
    assert not path.exists()


def test_a_store_listens_on_the_loopback_interface_only():
    store = dist.TCPStore("localhost", 0, 1, True)
    assert store._server._listener.getsockname()[0] in ("127.0.0.1", "::1")
