"""Errors of workers: carried to the loader as text and raised there in their own class."""

from __future__ import annotations

import signal
import sys
import traceback
from typing import Any, NoReturn


class KeyErrorMessage(str):
    """A text that `KeyError`, which shows the `repr` of its argument, shows unquoted."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """The exception that is being handled, with its traceback as text, so that it can be sent.

    >>> from taper.utils.data._utils import ExceptionWrapper
    >>> try:
    ...     raise ValueError("no")
    ... except ValueError:
    ...     wrapper = ExceptionWrapper(where="in the example")
    >>> wrapper.exc_msg.splitlines()[0]
    'Caught ValueError in the example.'
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        found: Any = sys.exc_info() if exc_info is None else exc_info
        kind, error, trace = found
        self.exc_type: type[BaseException] = kind
        text = "".join(traceback.format_exception(kind, error, trace))
        self.where = where
        self.exc_msg = f"Caught {kind.__name__} {where}.\nOriginal {text}"

    def reraise(self) -> NoReturn:
        """Raise an exception of the same class with the text; RuntimeError if it takes no text."""
        message = self.exc_msg
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        try:
            if getattr(self.exc_type, "message", None):
                error: BaseException = self.exc_type(message=message)  # type: ignore[call-arg]
            else:
                error = self.exc_type(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error


def description_of_exit(pid: int | None, exitcode: int) -> str:
    """Return what is known of a worker that ended unexpectedly."""
    if exitcode >= 0:
        return (
            f"DataLoader worker (pid {pid}) exited unexpectedly with exit code {exitcode}. Details "
            "are lost due to multiprocessing. Rerunning with num_workers=0 may give better error "
            "trace."
        )
    text = f"DataLoader worker (pid {pid}) is killed by signal: {signal.strsignal(-exitcode)}. "
    if -exitcode == getattr(signal, "SIGBUS", None):
        text += (
            "It is possible that dataloader's workers are out of shared memory. Please try to "
            "raise your shared memory limit."
        )
    return text
