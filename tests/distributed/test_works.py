"""The operations of a group: their order, and who does them."""

from __future__ import annotations

import threading

import pytest

from taper.distributed import threads
from taper.distributed.works import Queue, Work


class Noted:
    """Operations that note in which order and thread they were done."""

    def __init__(self) -> None:
        self.queue = Queue("test")
        self.done: list[tuple[str, bool]] = []

    def work(self, name: str) -> Work:
        return Work(lambda: self.note(name), [], name)

    def note(self, name: str) -> None:
        self.done.append((name, threading.current_thread() is threading.main_thread()))

    def names(self) -> str:
        return "".join(name for name, _ in self.done)


def test_lazy_work_is_done_by_who_waits_for_it_after_what_came_before():
    noted = Noted()
    first, second = (noted.queue.start(noted.work(name), lazily=True) for name in "ab")
    assert not noted.done and not first.is_completed()
    second.wait()
    assert noted.done == [("a", True), ("b", True)]
    assert first.is_success()


def test_work_of_the_thread_comes_after_lazy_work():
    noted = Noted()
    noted.queue.start(noted.work("a"), lazily=True)
    assert noted.queue.start(noted.work("b"))._done.wait(10)  # nobody helps
    assert noted.done == [("a", False), ("b", False)]
    lazy = noted.queue.start(noted.work("c"), lazily=True)
    noted.queue.run(lambda: noted.note("d"))
    assert noted.names() == "abcd" and lazy.is_success()
    noted.queue.close()
    noted.queue._thread.join(10)
    assert not noted.queue._thread.is_alive()


def test_many_threads_wait_and_each_operation_is_done_once():
    noted = Noted()
    works = [noted.queue.start(noted.work(chr(97 + nr)), lazily=nr % 3 != 0) for nr in range(26)]
    waiting = [threading.Thread(target=each.wait) for each in works[::5]]
    for each in waiting:
        each.start()
    works[-1].wait()
    for each in waiting:
        each.join(10)
    assert noted.names() == "abcdefghijklmnopqrstuvwxyz"
    noted.queue.close()


def test_an_interrupt_while_helping_ends_the_operation():
    queue = Queue("test")

    def interrupted() -> None:
        raise KeyboardInterrupt

    first = queue.start(Work(interrupted, [], "all_reduce"), lazily=True)
    with pytest.raises(KeyboardInterrupt):
        first.wait()
    with pytest.raises(RuntimeError, match="all_reduce: interrupted"):
        first.wait()
    noted: list[str] = []
    queue.run(lambda: noted.append("next"))
    assert noted == ["next"]


@pytest.mark.parametrize("cores, own, spare", [(2, 1, False), (4, 1, True), (4, 2, False)])
def test_a_core_is_spare_if_the_processes_leave_one(monkeypatch, cores, own, spare):
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setattr(threads, "allowed_cores", lambda: cores)
    monkeypatch.setattr(threads, "get_num_threads", lambda: own)
    assert threads.has_spare_core(8) is spare
