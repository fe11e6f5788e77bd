"""Progress of long work: a bar on a terminal and in a notebook, a line now and then elsewhere.

Owns `taper.viz.progress` and what it draws.  The names of arguments and methods are those of tqdm,
which users know.  Needs nothing but the standard library; IPython is used if it is running.
"""

from __future__ import annotations

import os
import shutil
import sys
import weakref
from collections.abc import Iterable, Iterator, Sized
from html import escape
from time import perf_counter
from typing import Any, Generic, TypeVar

__all__ = ["progress"]

Item = TypeVar("Item")

_QUIET = 10.0  # seconds between the lines of a file or pipe
_EIGHTHS = " ▏▎▍▌▋▊▉"


class progress(Generic[Item]):
    """Show how far a loop or a long piece of work is.

    On a terminal it is a bar with the rate and the time that is left, a bar in a bar has a line of
    its own; in a notebook it is a bar under the cell.  A file or a pipe gets a line every ten
    seconds, so that the log of short work stays empty.

    Args:
        iterable: what to go through; without it call `update`.
        desc: a word on what is done.
        total: how many steps there are; by default the length of the iterable, if it has one.
        leave: keep the bar at the end; by default that of the outermost one.
        file: where to write; by default standard error.
        mininterval: seconds between two drawings at least.
        delay: show nothing in the first seconds.
        disable: show nothing at all; None does so where `TAPER_PROGRESS=0` is set.
        unit: what the steps are.
        initial: how many steps were done before.

    >>> import io
    >>> from taper import viz
    >>> sum(each for each in viz.progress(range(1000), desc="adding"))
    499500
    >>> out = io.StringIO()
    >>> with viz.progress(total=3, desc="files", file=out) as bar:
    ...     bar.update(2)
    ...     print(bar)
    files:  67% 2/3 [...]
    """

    _open: list[weakref.ref[progress[Any]]] = []  # noqa: RUF012 - all bars share the screen

    def __init__(
        self,
        iterable: Iterable[Item] | None = None,
        desc: str | None = None,
        total: float | None = None,
        leave: bool | None = None,
        file: Any = None,
        mininterval: float = 0.1,
        delay: float = 0.0,
        disable: bool | None = None,
        unit: str = "it",
        initial: float = 0,
    ) -> None:
        if iterable is not None and not isinstance(iterable, Iterable):
            kind = type(iterable).__name__
            raise TypeError(f"progress: expected something to iterate over, got {kind}")
        self.iterable = iterable
        self.desc = desc or ""
        if total is None and isinstance(iterable, Sized):
            total = len(iterable)
        self.total = total
        self.unit = unit
        self.n: float = initial
        self.postfix = ""
        self.start_t = perf_counter()
        self._initial = initial
        self._interval = mininterval
        self._delay = delay
        self._next: float = initial  # the clock is read when `n` has come so far
        self._drawn = self.start_t  # when it was drawn last
        self._shown = False
        self._rate: float | None = None  # of late, steps per second
        self._before = self.start_t, initial
        if disable is None:
            disable = os.environ.get("TAPER_PROGRESS") == "0"
        self.disable = disable
        self._place = 0
        self._screen: _Screen | None = None
        if disable:
            return
        open_bars = [ref for ref in progress._open if ref() is not None]
        self._place = len(open_bars)
        progress._open[:] = [*open_bars, weakref.ref(self)]
        self.leave = self._place == 0 if leave is None else leave
        self._screen = _screen(sys.stderr if file is None else file)

    # --- going on -------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Item]:
        if self.iterable is None:
            raise TypeError("progress: nothing to iterate over was given; call update()")
        if self._screen is None:
            yield from self.iterable
            return
        try:
            for item in self.iterable:
                yield item
                self.n += 1
                if self.n >= self._next:
                    self._look()
        finally:
            self.close()

    def update(self, n: float = 1) -> None:
        """Go on by `n` steps."""
        self.n += n
        if self._screen is not None and self.n >= self._next:
            self._look()

    def set_description(self, desc: str | None = None) -> None:
        """Change the word on what is done."""
        self.desc = desc or ""
        self._look()

    def set_postfix(self, **values: Any) -> None:
        """Show values behind the bar: `set_postfix(loss=0.25)`."""
        shown = (
            f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
            for name, value in values.items()
        )
        self.postfix = ", ".join(shown)
        self._look()

    def write(self, text: str) -> None:
        """Print a line above the bar."""
        if self._screen is not None and self._shown:
            self._screen.clear(self._place)
        print(text, flush=True)
        self.refresh()

    def _look(self) -> None:
        """Draw if enough time has passed, and find out when to look at the clock again."""
        now = perf_counter()
        waited = now - self._drawn
        least = self._screen.interval if self._screen is not None else 0.0
        if waited < max(self._interval, least) or now - self.start_t < self._delay:
            # A quick loop reads the clock ten times between two drawings, not at every step.
            steps = (self.n - self._initial) / max(now - self.start_t, 1e-9)
            self._next = self.n + min(max(1.0, steps * self._interval / 10), 1e7)
            return
        self._next = self.n + 1
        self.refresh()

    def refresh(self) -> None:
        """Draw at once."""
        if self._screen is None:
            return
        now = perf_counter()
        time, count = self._before
        if now - time > 0.05:
            rate = (self.n - count) / (now - time)
            self._rate = rate if self._rate is None else 0.7 * self._rate + 0.3 * rate
            self._before = now, self.n
        self._drawn, self._shown = now, True
        self._screen.draw(self, self._place)

    def close(self) -> None:
        """Draw the last state, or clear the bar."""
        screen, self._screen = self._screen, None
        if screen is None:
            return
        if self._shown or (screen.interval == 0.0 and not self._delay and self.leave):
            self._rate = None  # at the end the mean rate counts
            screen.end(self, self._place, self.leave)
        progress._open[:] = [ref for ref in progress._open if ref() not in (None, self)]

    def __enter__(self) -> progress[Item]:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __len__(self) -> int:
        if self.total is None:
            raise TypeError("progress: the number of steps is not known")
        return int(self.total)

    # --- what it says ---------------------------------------------------------------------------

    @property
    def rate(self) -> float:
        """Steps per second of late; 0.0 before the first one."""
        if self._rate is not None:
            return self._rate
        elapsed = perf_counter() - self.start_t
        return (self.n - self._initial) / elapsed if elapsed > 0 else 0.0

    @property
    def share(self) -> float | None:
        """Which part is done, from 0.0 to 1.0; None if the end is not known."""
        return None if not self.total else min(max(self.n / self.total, 0.0), 1.0)

    def __str__(self) -> str:
        return "".join(self.parts())

    __repr__ = __str__

    def parts(self) -> tuple[str, str]:
        """Return what stands before the bar and what behind it."""
        share = self.share
        desc = f"{_line(self.desc)}: " if self.desc else ""
        before = desc if share is None else f"{desc}{share:4.0%} "
        total = "" if self.total is None else f"/{_count(self.total)}"
        elapsed, rate = perf_counter() - self.start_t, self.rate
        left = ""
        if self.total is not None and rate > 0 and self.n < self.total:
            left = f"<{_clock((self.total - self.n) / rate)}"
        speed = "" if rate <= 0 else f", {_speed(rate, self.unit)}"
        postfix = f", {_line(self.postfix)}" if self.postfix else ""
        return before, f"{_count(self.n)}{total} [{_clock(elapsed)}{left}{speed}{postfix}]"


def _line(text: str) -> str:
    """Return a text without what would break the line of a bar."""
    return "".join(each if each.isprintable() else " " for each in text)


def _count(number: float) -> str:
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:,.2f}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


def _speed(rate: float, unit: str) -> str:
    if rate < 1:
        return f"{1 / rate:.2f}s/{unit}"
    return f"{rate:,.0f}{unit}/s" if rate >= 1000 else f"{rate:.3g}{unit}/s"


# --- where it is drawn -------------------------------------------------------------------------


class _Screen:
    """A place for bars; `interval` is the least time between two drawings on it."""

    interval = 0.0

    def __init__(self, file: Any) -> None:
        self.file = file

    def draw(self, bar: progress[Any], place: int) -> None:
        raise NotImplementedError

    def clear(self, place: int) -> None:
        """Make room for a line of text."""

    def end(self, bar: progress[Any], place: int, leave: bool) -> None:
        """Draw a bar for the last time."""
        self.draw(bar, place)

    def _write(self, text: str) -> None:
        try:
            self.file.write(text)
            self.file.flush()
        except (OSError, ValueError):  # the reader went away: the work goes on
            pass


class _Terminal(_Screen):
    """Bars one below the other; the cursor waits at the outermost one."""

    def _at(self, place: int, text: str) -> None:
        self._write("\n" * place + "\r\x1b[2K" + text + "\x1b[A" * place)

    def draw(self, bar: progress[Any], place: int) -> None:
        width = shutil.get_terminal_size().columns - 1
        before, behind = bar.parts()
        room = min(width - len(before) - len(behind) - 3, 40)
        middle = ""
        if bar.share is not None and room >= 5:
            middle = f"|{_bar(bar.share, room, self._has_blocks())}| "
        self._at(place, f"{before}{middle}{behind}"[:width])

    def _has_blocks(self) -> bool:
        encoding = getattr(self.file, "encoding", None) or "ascii"
        try:
            _EIGHTHS.encode(encoding)
        except (UnicodeError, LookupError):
            return False
        return True

    def clear(self, place: int) -> None:
        self._at(place, "")

    def end(self, bar: progress[Any], place: int, leave: bool) -> None:
        if leave:
            self.draw(bar, place)
            self._write("\n" if place == 0 else "")
        else:
            self._at(place, "")
            self._write("\r")


def _bar(share: float, width: int, blocks: bool) -> str:
    if not blocks:
        return ("#" * round(share * width)).ljust(width, ".")
    full, rest = divmod(round(share * width * 8), 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)


class _Lines(_Screen):
    """A line now and then, for files and pipes."""

    interval = _QUIET

    def draw(self, bar: progress[Any], place: int) -> None:
        self._write(f"{bar}\n")


class _Cell(_Screen):
    """An output of a notebook's cell, which is written again and again."""

    def __init__(self, display: Any) -> None:
        super().__init__(None)
        self.display = display
        self.handle: Any = None

    def draw(self, bar: progress[Any], place: int) -> None:
        data = {"text/plain": str(bar), "text/html": _html(bar)}
        if self.handle is None:
            self.handle = self.display(data, raw=True, display_id=True)
        else:
            self.handle.update(data, raw=True)

    def end(self, bar: progress[Any], place: int, leave: bool) -> None:
        if leave or self.handle is None:
            self.draw(bar, place)
        else:
            self.handle.update({"text/plain": "", "text/html": ""}, raw=True)


def _html(bar: progress[Any]) -> str:
    before, behind = bar.parts()
    value = "" if bar.share is None else f' value="{bar.share:.4f}"'
    return (
        '<div style="display:flex;gap:.6em;align-items:center;font-family:monospace">'
        f"<span>{escape(before)}</span>"
        f'<progress max="1"{value} style="flex:0 1 20em"></progress>'
        f"<span>{escape(behind)}</span></div>"
    )


def _screen(file: Any) -> _Screen:
    display = notebook_display() if file is sys.stderr else None
    if display is not None:
        return _Cell(display)
    is_terminal = getattr(file, "isatty", None)
    if is_terminal is not None and is_terminal() and os.environ.get("TERM") != "dumb":
        return _Terminal(file)
    return _Lines(file)


def notebook_display() -> Any:
    """Return IPython's `display` if this is a notebook's kernel; else None."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    return sys.modules["IPython.display"].display
