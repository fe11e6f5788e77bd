"""Which test runs which line: what `tools/mutate.py` chooses the tests by.

Owns: collecting tests in a process, running one of them, and noting the lines.  What was found is
kept in .cache/mutants; only test files that have changed since then are run again.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import signal
import sys
import threading
import time
import types
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "mutants"
TESTS = ["autograd", "optim", "files", "nn", "amp", "."]
TESTS_LEFT_OUT = {
    "project",
    "examples",
    "cli",
    "benchmarks",
    "stubs",
    "doctests",
    "vmap_ops",
    "linalg",
}
MOST_TESTS_OF_A_LINE = 1000
MOST_CASES_OF_A_TEST = 40


# --- the process that has everything collected -----------------------------------------------


class Collected:
    """A pytest plugin that hands the collected tests to `work` instead of running them."""

    def __init__(self, work: Callable[[Collected, list[Any]], None]) -> None:
        self.work = work
        self.failed = False
        self.everything: list[Any] = []

    def pytest_runtestloop(self, session: Any) -> bool:
        self.everything = session.items
        self.work(self, thinned(session.items))
        return True

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.failed = self.failed or report.failed

    def passes(self, item: Any, following: Any = None) -> bool:
        self.failed = False
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        return not self.failed


def thinned(items: list[Any]) -> list[Any]:
    """The tests, with some cases of those that have hundreds."""
    cases: dict[str, list[Any]] = defaultdict(list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
    steps = {name: 1 + len(each) // MOST_CASES_OF_A_TEST for name, each in cases.items()}
    return [item for name, each in cases.items() for item in each[:: steps[name]]]


def arguments(tests: Iterable[str]) -> list[str]:
    plugins = ("cacheprovider", "xdist", "terminal")
    options = [part for name in plugins for part in ("-p", f"no:{name}")]
    options.append("--hypothesis-profile=ci")  # the same examples each time
    return [*options, "-m", "not slow", "-o", "addopts=--import-mode=importlib", *tests]


def forked(work: Callable[[], int], silent: bool = True) -> int:
    """Run `work` in a child process of its own group; gives the process id."""
    pid = os.fork()
    if pid:
        return pid
    code = 4
    try:
        os.setsid()
        if silent:
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(null, stream)
        code = work()
    finally:
        os._exit(code)


def ended(pid: int) -> int:
    """The child's exit code; negative for the signal that ended it."""
    _, status = os.waitpid(pid, 0)
    try:
        os.killpg(pid, signal.SIGKILL)  # what its tests have started
    except OSError:
        pass
    return os.waitstatus_to_exitcode(status)


# --- which test runs which line --------------------------------------------------------------


def digest(paths: Iterable[Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def test_files() -> list[Path]:
    found = [
        each for folder in TESTS for each in sorted((ROOT / "tests" / folder).glob("test_*.py"))
    ]
    return [each for each in found if each.stem.removeprefix("test_") not in TESTS_LEFT_OUT]


def kept(name: str) -> Any:
    path = CACHE / name
    return pickle.loads(path.read_bytes()) if path.exists() else None


def keep(name: str, value: Any) -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    new = CACHE / f"{name}.new"
    new.write_bytes(pickle.dumps(value))
    new.replace(CACHE / name)


class Coverage:
    """For each line of the files the tests that run it, and each test's seconds of computing."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.files: dict[str, str] = {}  # test file -> digest
        self.tests: list[str] = []
        self.seconds: list[float] = []
        self.lines: dict[tuple[str, int], array[int]] = defaultdict(lambda: array("I"))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "lines": dict(self.lines)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.lines = defaultdict(lambda: array("I"), state["lines"])

    def forget(self, file: str) -> None:
        gone = {nr for nr, test in enumerate(self.tests) if test.startswith(f"{file}::")}
        for line, tests in self.lines.items():
            self.lines[line] = array("I", [nr for nr in tests if nr not in gone])

    def add(self, test: str, seconds: float, lines: Iterable[tuple[str, int]]) -> None:
        self.tests.append(test)
        self.seconds.append(seconds)
        for line in lines:
            if len(self.lines[line]) < MOST_TESTS_OF_A_LINE:
                self.lines[line].append(len(self.tests) - 1)


class Tracer:
    """Notes the lines that run in some files; a function that has run whole costs no more."""

    def __init__(self, files: Iterable[Path]) -> None:
        self.wanted = {str(path): path.relative_to(ROOT).as_posix() for path in files}
        self.known: dict[int, Any] = {}
        self.touched: list[Any] = []

    def on_call(self, frame: Any, event: str, arg: Any) -> Any:
        code = frame.f_code
        entry = self.known.get(id(code))
        if entry is None:
            name = self.wanted.get(code.co_filename)
            total = {line for _, _, line in code.co_lines() if line} if name else ()
            entry = self.known[id(code)] = (code, name, set(), len(total))  # code: keeps its id
        if entry[1] is None or len(entry[2]) >= entry[3] - 1:  # the line of `def` is no event
            return None
        if not entry[2]:
            self.touched.append(entry)
        return self.on_line

    def on_line(self, frame: Any, event: str, arg: Any) -> Any:
        self.known[id(frame.f_code)][2].add(frame.f_lineno)
        return self.on_line

    def taken(self) -> Iterator[tuple[str, int]]:
        for _, name, lines, _ in self.touched:
            yield from ((name, line) for line in lines)
            lines.clear()
        self.touched.clear()


def measured(files: list[Path], mode: str) -> Coverage:
    """The coverage of all tests; only those whose file has changed are run."""
    name = f"coverage-{mode}"
    source = digest(files)
    known: Coverage = kept(name) or Coverage(source)
    if known.source != source:
        known = Coverage(source)
    changed = {each: digest([each]) for each in test_files()}
    changed = {each: text for each, text in changed.items() if known.files.get(str(each)) != text}
    if not changed:
        return known

    def work(plugin: Collected, items: list[Any]) -> None:
        for each, text in changed.items():
            known.forget(each.relative_to(ROOT).as_posix())
            known.files[str(each)] = text
        tracer = Tracer(files)
        for place, (item, following) in enumerate(zip_longest(items, items[1:])):
            if place % 10 == 0:  # so that some tests run the compiler
                forget_operators()
            begun = time.process_time()
            threading.settrace(tracer.on_call)
            sys.settrace(tracer.on_call)
            good = plugin.passes(item, following)
            sys.settrace(None)
            threading.settrace(None)
            lines = list(tracer.taken())
            if good:
                known.add(item.nodeid, time.process_time() - begun, lines)
            else:
                print(f"fails without any change: {item.nodeid}", file=sys.__stderr__)
            if place % 500 == 0:
                print(f"{place} of {len(items)} tests", file=sys.__stderr__)
        keep(name, known)

    print(f"running {len(changed)} test files to see which lines they run", flush=True)
    run = lambda: pytest.main(arguments(map(str, changed)), [Collected(work)])  # noqa: E731
    ended(forked(run, silent=False))
    result: Coverage = kept(name)
    return result


STUBS: dict[str, types.CodeType] = {}


def forget_operators() -> None:
    """Let every operator be compiled again when it is next called."""
    opdef = sys.modules["taper.opdef"]
    template = opdef._stub_template.__code__
    for entry in opdef.registry.values():
        entry.node_class = None
        for variant, function in entry.lazy_functions.items():
            label = f"{entry.name}:{variant}"
            if label not in STUBS:
                consts = tuple(label if each == "@name@" else each for each in template.co_consts)
                STUBS[label] = template.replace(
                    co_consts=consts, co_name=entry.name, co_qualname=entry.name
                )
            if function.__code__ is not STUBS[label]:
                function.__code__ = STUBS[label]
                function.__defaults__ = function.__kwdefaults__ = None
