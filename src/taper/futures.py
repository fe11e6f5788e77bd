"""`taper.futures`: a value that is set later, as PyTorch's `Future`."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from taper.autograd.disturbances import new_lock

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value that is set once, later; callbacks run in the thread that sets it.

    >>> import taper
    >>> first = taper.futures.Future()
    >>> second = first.then(lambda future: future.wait() + 1)
    >>> first.set_result(2)
    >>> second.wait()
    3
    """

    def __init__(self, *, devices: Sequence[Any] | None = None) -> None:
        for each in devices or ():
            raise ValueError(f"Expected devices to have indices, got {each}")
        self._lock = threading.Condition(new_lock(threading.RLock))
        self._is_done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[], None]] = []

    def done(self) -> bool:
        """Return whether the value, or an error instead, is there."""
        return self._is_done

    def wait(self) -> T:
        """Wait for the value and return it; raise the error that was set instead."""
        with self._lock:
            self._lock.wait_for(self.done)
        return self.value()

    def value(self) -> T:
        """Return the value, which must be there."""
        if not self._is_done:
            raise RuntimeError("value() of a Future that is not done: use wait()")
        if self._error is not None:
            raise self._error
        return self._value

    def set_result(self, result: T) -> None:
        """Set the value and run the callbacks."""
        self._complete(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Set an error instead of a value, and run the callbacks."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def _complete(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self._is_done:
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future "
                    "can only be marked completed once."
                )
            self._value, self._error, self._is_done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._lock.notify_all()
        for each in callbacks:
            each()

    def _when_done(self, callback: Callable[[], None]) -> None:
        with self._lock:
            if not self._is_done:
                self._callbacks.append(callback)
                return
        callback()

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """Return the future of the callback's result, which is called when this one is done."""
        if not callable(callback):
            raise TypeError(f"then(): the callback must be callable, not {type(callback).__name__}")
        result: Future[S] = Future()

        def run() -> None:
            try:
                value = callback(self)
            except Exception as error:
                result.set_exception(
                    RuntimeError(
                        "Got the following error when running the callback: "
                        f"{type(error).__name__}: {error}"
                    )
                )
            else:
                result.set_result(value)

        self._when_done(run)
        return result

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call a function when this is done; its errors are printed, not raised."""

        def run() -> None:
            try:
                callback(self)
            except Exception:
                print("Got the following error when running the callback:", file=sys.stderr)
                traceback.print_exc()

        self._when_done(run)


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """Return a future of the list of futures when all are done, or of the first error.

    >>> import taper
    >>> future = taper.futures.Future()
    >>> both = taper.futures.collect_all([future])
    >>> both.done()
    False
    """
    result: Future[list[Future[Any]]] = Future()
    lock = new_lock()
    missing = len(futures)

    def one_done() -> None:
        nonlocal missing
        with lock:
            missing -= 1
            if missing:
                return
        errors = [each._error for each in futures if each._error is not None]
        result._complete(futures, errors[0] if errors else None)

    if not futures:
        result.set_result(futures)
    for each in futures:
        each._when_done(one_done)
    return result


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """Wait for all futures and return their values.

    >>> import taper
    >>> future = taper.futures.Future()
    >>> future.set_result(1)
    >>> taper.futures.wait_all([future])
    [1]
    """
    return [each.wait() for each in collect_all(futures).wait()]
