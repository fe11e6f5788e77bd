"""Do the tests notice it when the code is wrong?  Mutation testing, quick enough to be run.

    make mutants                                      # everything in FILES; about half an hour
    python tools/mutate.py src/taper/autograd/engine.py   # some files
    python tools/mutate.py --again                    # the survivors only, with more tests each

Each change of `tools/mutations.py` is made alone, and the tests that run the changed line are run
until one fails.  A change that no test notices is a survivor: either it makes no difference that
anybody could see, and then `tests/mutation_survivors.txt` has a line for it with the reason, or a
test is missing.

How it is quick: a process has the package loaded and all tests collected, and forks a child for
each change, which gives the live functions their changed code and runs the tests.  What runs at
import (module level, classes, default values) is changed in a child that has not imported the
package yet.  Which test runs which line is found out once, and kept in .cache/mutants with the
verdicts; tests are run for that again when their file changes.

First the Python twins are used (TAPER_NATIVE=0), which run more Python code; what survives there is
tried with the native module.  `make mutants` confines all this to .cache/mutants (confined.sh).
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.machinery
import os
import resource
import signal
import sys
import types
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401 - loaded before the forks
import numpy as np  # noqa: F401
import pytest
from covering_tests import (
    CACHE,
    ROOT,
    Collected,
    Coverage,
    arguments,
    ended,
    forget_operators,
    forked,
    keep,
    kept,
    measured,
    test_files,
)
from mutations import Mutant, mutants_of

HARMLESS = ROOT / "tests" / "mutation_survivors.txt"
FILES = [
    *sorted((ROOT / "src/taper/autograd").glob("*.py")),
    *(ROOT / f"src/taper/opdef/{name}.py" for name in ("compiler", "recording", "backward")),
    *(ROOT / f"src/taper/optim/{name}.py" for name in ("packs", "programs", "update")),
    ROOT / "src/taper/optim/rule_optimizer.py",
    *sorted((ROOT / "src/taper/files").glob("*.py")),
]
# Names that other packages expect, and the profiler, which has few users to disappoint.
LEFT_OUT = {"__init__.py", "_functions.py", "variable.py", "profiler.py", "profiler_util.py"}
# Files whose functions write the code of operators: what was written before the change must go.
COMPILERS = ("opdef/compiler.py", "opdef/recording.py", "opdef/backward.py")
# A file whose functions run when the package is imported.
RUNS_AT_IMPORT = "autograd/state.py"


# --- a change, and the tests that may notice it ----------------------------------------------


def tests_of(mutant: Mutant, coverage: Coverage) -> set[int]:
    """The tests that run the changed line; those of the whole file if it runs at import."""
    path = mutant.path.as_posix()
    if mutant.at_import:
        lines = [line for line in coverage.lines if line[0] == path]
        of_default = [line for line in lines if line[1] in mutant.lines]
        return {nr for line in of_default or lines for nr in coverage.lines[line]}
    each = [coverage.lines.get((path, line), ()) for line in reversed(mutant.lines)]
    return set(next(filter(None, each), ()))


def chosen(mutant: Mutant, coverage: Coverage, most: int, seconds: float) -> list[int]:
    """Tests that may notice a change: quick ones, of many files, those of its room first."""
    by_file: dict[str, list[int]] = defaultdict(list)
    for nr in sorted(tests_of(mutant, coverage), key=coverage.seconds.__getitem__):
        by_file[coverage.tests[nr].partition("::")[0]].append(nr)
    room = f"tests/{mutant.path.parts[2]}/"
    near = [tests for file, tests in by_file.items() if file.startswith(room)]
    far = [tests for file, tests in by_file.items() if not file.startswith(room)]
    if mutant.at_import:  # each file must be collected again
        near.sort(key=len, reverse=True)
        near, far, most = near[:4], far[: 4 - len(near[:4])], min(most, 40)
    mixed = [*_mixed(near)[: 2 * most // 3], *_mixed(far)]
    result: list[int] = []
    total = 0.0
    for nr in mixed[:most]:
        total += coverage.seconds[nr]
        if result and total > seconds:
            break
        result.append(nr)
    return result


def _mixed(groups: list[list[int]]) -> list[int]:
    return [nr for nr in chain(*zip_longest(*groups)) if nr is not None]


def live_functions(files: Iterable[Path]) -> dict[str, dict[tuple[str, int], list[Any]]]:
    """The functions of the files: file -> (name, first line) -> functions."""
    for path in files:
        parts = path.relative_to(ROOT / "src").with_suffix("").parts
        importlib.import_module(".".join(part for part in parts if part != "__init__"))
    found: dict[str, Any] = {str(path): defaultdict(list) for path in files}
    for each in gc.get_objects():
        if isinstance(each, types.FunctionType) and each.__code__.co_filename in found:
            code = each.__code__
            found[code.co_filename][code.co_qualname, code.co_firstlineno].append(each)
    return found


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield each
            yield from codes_in(each)


def change_functions(mutant: Mutant, live: Any) -> bool:
    """Give the functions that the change concerns their new code; whether there are any."""
    mutant.apply()
    filename = str(ROOT / mutant.path)
    changed = False
    for code in codes_in(compile(mutant.tree, filename, "exec")):
        for function in live[filename].get((code.co_qualname, code.co_firstlineno), ()):
            if function.__code__ != code:
                function.__code__ = code
                changed = True
    if filename.endswith(COMPILERS):
        forget_operators()
    return changed


def texts_of_operators() -> dict[str, str]:
    """The generated code of each operator, by its name."""
    compiler, backward = (sys.modules[f"taper.opdef.{each}"] for each in ("compiler", "backward"))
    texts = {}
    for name, op in sys.modules["taper.opdef"].registry.items():
        makers = [compiler.wrapper_source, backward.release_source]
        makers += [compiler.inplace_source] if op.inplace else []
        makers += [backward.apply_source] if op.differentiable else []
        try:
            texts[name] = "".join(make(op) for make in makers)
        except Exception as error:
            texts[name] = repr(error)
    return texts


def tests_by_operator(items: Iterable[Any]) -> dict[str, list[Any]]:
    """The tests of the rows of `tests/opcases`, by the name of the operator."""
    found: dict[str, list[Any]] = defaultdict(list)
    for item in items:
        file, _, row = item.nodeid.partition("[")
        if file.startswith(("tests/test_ops.py", "tests/test_gradients.py")):
            found[row.partition("-")[0].rstrip("]").replace(".", "_")].append(item)
    return found


# --- trying them -----------------------------------------------------------------------------


KILLED, SURVIVED, NOT_COVERED, ELSEWHERE = "killed", "survived", "not covered", "elsewhere"


def limit(seconds: float) -> None:
    """End this process if the next test takes far longer than it should."""
    signal.setitimer(signal.ITIMER_PROF, 2 + 5 * seconds)
    signal.setitimer(signal.ITIMER_REAL, 20 + 10 * seconds)


class Trial:
    """The changes of one job, tried one after the other in children of a process with the tests."""

    def __init__(self, mutants: list[Mutant], coverage: Coverage, options: Any, job: int) -> None:
        self.mutants = mutants
        self.coverage = coverage
        self.options = options
        self.file = CACHE / f"verdicts-{job}"
        self.steady: dict[int, bool] = {}

    def __call__(self, plugin: Collected, items: list[Any]) -> None:
        self.plugin = plugin
        self.items = {item.nodeid: item for item in items}
        self.live = live_functions({ROOT / each.path for each in self.mutants})
        self.texts = texts_of_operators()
        self.rows = tests_by_operator(plugin.everything)
        gc.freeze()
        with self.file.open("a") as verdicts:
            for mutant in self.mutants:
                tests = [nr for nr in self.tests_for(mutant) if self.steady.get(nr, True)]
                verdict, ran = self.verdict(mutant, tests)
                while verdict == KILLED and ran and ran[-1] not in self.steady:
                    self.steady[ran[-1]] = self.verdict(None, ran)[0] == SURVIVED
                    if not self.steady[ran[-1]]:  # the test fails without the change as well
                        tests.remove(ran[-1])
                        verdict, ran = self.verdict(mutant, tests)
                print(repr((mutant.key, verdict)), file=verdicts, flush=True)

    def tests_for(self, mutant: Mutant) -> list[int]:
        return chosen(mutant, self.coverage, self.options.tests, self.options.seconds)

    def rows_for(self, mutant: Mutant) -> list[Any]:
        """Tests of a dozen operators whose generated code has changed."""
        if not mutant.path.as_posix().endswith(COMPILERS):
            return []
        texts = texts_of_operators()
        changed = [name for name in texts if texts[name] != self.texts[name] and name in self.rows]
        return [item for name in changed[:: 1 + len(changed) // 12] for item in self.rows[name]]

    def passes_alone(self, item: Any) -> bool:
        limit(3)
        return self.plugin.passes(item)

    def verdict(self, mutant: Mutant | None, tests: list[int]) -> tuple[str, list[int]]:
        """What the tests say of the code with a change, or without any; and those that have run."""
        if not tests:
            return NOT_COVERED, []
        reading, writing = os.pipe()

        def work() -> int:
            resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
            if mutant is not None and not change_functions(mutant, self.live):
                return 3
            if mutant is not None and not all(map(self.passes_alone, self.rows_for(mutant))):
                return 1
            items = [self.items[self.coverage.tests[nr]] for nr in tests]
            for nr, item, following in zip_longest(tests, items, items[1:]):
                os.write(writing, b".")
                limit(self.coverage.seconds[nr])
                if not self.plugin.passes(item, following):
                    return 1
            return 0

        code = ended(forked(work))
        os.close(writing)
        ran = tests[: len(os.read(reading, len(tests)))]
        os.close(reading)
        return {0: SURVIVED, 3: ELSEWHERE, 4: ELSEWHERE}.get(code, KILLED), ran


def tried_at_import(mutant: Mutant, tests: list[str]) -> str:
    """Try a change in a process that has not imported the package."""
    if not tests:
        return NOT_COVERED
    get_code = importlib.machinery.SourceFileLoader.get_code
    target = str(ROOT / mutant.path)

    def changed(self: Any, name: str) -> Any:
        if self.get_filename(name) != target:
            return get_code(self, name)
        return compile(mutant.tree, target, "exec")

    def work() -> int:
        mutant.apply()
        importlib.machinery.SourceFileLoader.get_code = changed  # type: ignore[assignment]
        limit(20)
        return 1 if pytest.main([*arguments(tests), "-x"]) else 0

    return SURVIVED if ended(forked(work)) == 0 else KILLED


def tried(mutants: list[Mutant], coverage: Coverage, options: Any) -> dict[Any, str]:
    """The verdict on each change."""
    CACHE.mkdir(parents=True, exist_ok=True)
    inside = [
        each
        for each in mutants
        if not each.at_import and not each.path.match(f"*/{RUNS_AT_IMPORT}")
    ]
    parts = [inside[job :: options.jobs] for job in range(options.jobs)]
    trials = [Trial(part, coverage, options, job) for job, part in enumerate(parts)]
    running = []
    for trial in trials:
        trial.file.unlink(missing_ok=True)
        files = [str(path) for path in test_files()]
        run = lambda: pytest.main(arguments(files), [Collected(trial)])  # noqa: B023, E731
        running.append(forked(run, silent=False))
    for pid in running:
        ended(pid)
    found: dict[Any, str] = {}
    for trial in trials:
        found.update(eval(line) for line in trial.file.read_text().splitlines())
    for each in mutants:
        if found.get(each.key, ELSEWHERE) == ELSEWHERE:
            tests = [coverage.tests[nr] for nr in trials[0].tests_for(each)]
            found[each.key] = tried_at_import(each, tests)
    return found


# --- the report ------------------------------------------------------------------------------


def harmless() -> set[tuple[str, str, str]]:
    lines = HARMLESS.read_text(encoding="utf-8").splitlines() if HARMLESS.exists() else []
    judged = [line.rpartition(" | ")[0] for line in lines if line and not line.startswith("#")]
    return {tuple(line.split(" | ", 2)) for line in judged}  # type: ignore[misc]


def report(mutants: list[Mutant], verdicts: dict[Any, str]) -> int:
    """Print the counts of each file and the survivors that nobody has judged yet."""
    judged = harmless()
    counts: Any = defaultdict(lambda: defaultdict(int))
    new = []
    for each in mutants:
        verdict = verdicts[each.key]
        if verdict != KILLED and each.key in judged:
            verdict = "harmless"
        elif verdict != KILLED:
            new.append(f"{each.path}:{each.lines[-1]}: {verdict}: {each.function} | {each.change}")
        counts[each.path.as_posix()][verdict] += 1
        counts["all"][verdict] += 1
    columns = (KILLED, "harmless", SURVIVED, NOT_COVERED)
    print(f"{'':45}" + "".join(f"{column:>12}" for column in columns))
    for path, row in sorted(counts.items(), key=lambda each: each[0] == "all"):
        print(f"{path:45}" + "".join(f"{row[column]:12}" for column in columns))
    print(*new, sep="\n")
    files = {each.path.as_posix() for each in mutants}
    for key in sorted(judged - {each.key for each in mutants}):
        if key[0] in files:
            print("no such change any more:", *key, sep=" | ")
    return len(new)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="default: all of FILES")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--tests", type=int, default=90, help="most tests for a change")
    parser.add_argument("--seconds", type=float, default=4.0, help="most seconds for a change")
    parser.add_argument("--again", action="store_true", help="try again only what survived")
    parser.add_argument("--twins", action="store_true", help="not with the native module")
    options = parser.parse_args()
    files = [path.resolve() for path in options.files] or FILES
    files = [path for path in files if path.name not in LEFT_OUT]
    mutants = [each for path in files for each in mutants_of(path, path.relative_to(ROOT))]
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    known = (kept("verdicts") or {}) if options.again else {}
    verdicts = {each.key: known[each.key] for each in mutants if known.get(each.key) == KILLED}
    left = [each for each in mutants if each.key not in verdicts]
    for mode in ("0",) if options.twins else ("0", "1"):
        os.environ["TAPER_NATIVE"] = mode
        verdicts.update(tried(left, measured(FILES, mode), options))
        keep("verdicts", {**(kept("verdicts") or {}), **verdicts})
        left = [each for each in left if verdicts[each.key] != KILLED]
    return 1 if report(mutants, verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
