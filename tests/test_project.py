"""The rules of the house that a machine can check: documents, layout, imports, size of files.

Checks read the source with `ast` and never import what they check, so one broken module shows as
one failure.  Only the tests of examples need a working package.
"""

from __future__ import annotations

import ast
import doctest
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "taper"
MODULES = sorted(PACKAGE.rglob("*.py"))
CODE = sorted(
    path
    for folder in ("src", "tests", "benchmarks", "examples")
    for path in (ROOT / folder).rglob("*.py")
)
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
)

MOST_LINES = 600

# Extras are imported where they are used, since nobody must have them.
EXTRAS = {"safetensors", "PIL", "cupy", "matplotlib", "mpi4py", "IPython"}


def name_of(path: Path) -> str:
    """Return `taper.autograd.node` for `src/taper/autograd/node.py`."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


NAMES = {name_of(path) for path in MODULES}


def imported(node: ast.AST, module: str, is_package: bool) -> list[str]:
    """The modules that an import statement, or a call of `import_module`, names; absolute."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        source = node.module or ""
        if node.level:
            parts = module.split(".")
            base = parts[: len(parts) - node.level + is_package]
            source = ".".join([*base, *([source] if source else [])])
        found = [f"{source}.{alias.name}" for alias in node.names]
        return [each if each in NAMES else source for each in found]
    if isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else None
        called = node.func.id if isinstance(node.func, ast.Name) else called
        if called in ("import_module", "__import__") and node.args:
            target = node.args[0]
            return [target.value if isinstance(target, ast.Constant) else "(computed)"]
    return []


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def walk(node: ast.AST, inside_function: bool = False):
    """Yield (node, stands in a function) for all nodes that exist when the program runs."""
    for child in ast.iter_child_nodes(node):
        if is_type_checking(child):
            yield from walk(ast.Module(child.orelse, []), inside_function)
            continue
        inside = inside_function or isinstance(
            child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
        )
        yield child, inside
        yield from walk(child, inside)


def imports_of(path: Path) -> list[tuple[str, bool, int]]:
    """Yield (module, stands in a function, line) for each import of a file."""
    module, is_package = name_of(path), path.name == "__init__.py"
    return [
        (name, inside, node.lineno)
        for node, inside in walk(tree_of(path))
        for name in imported(node, module, is_package)
    ]


def rooms() -> list[tuple[str, list[str]]]:
    """Return who may import whom: the picture in docs/architecture.md, rows from the top."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    found: list[tuple[str, list[str]]] = []
    for line in re.findall(r"^```rooms\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[
        0
    ].splitlines():
        name, _, members = line.partition("|")
        if name.strip():
            found.append((name.strip(), []))
        found[-1][1].extend(members.split())
    return found


ROOMS = rooms()


def row_of(module: str) -> int | None:
    """Return the row of a module in the picture: of its name, or of the innermost package named."""
    inner = module.partition(".")[2] or "taper"
    fitting = [
        (len(member), index)
        for index, (_, members) in enumerate(ROOMS)
        for member in members
        if inner == member or inner.startswith(member + ".")
    ]
    return max(fitting)[1] if fitting else None


def is_ours(module: str) -> bool:
    return module == "taper" or module.startswith("taper.")


# ---------------------------------------------------------------------------------- the layout


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_module_has_a_room_and_imports_downwards(path):
    module = name_of(path)
    row = row_of(module)
    assert row is not None, f"{module} has no room: say in docs/architecture.md whom it may know"
    wrong = [
        f"line {line}: {module} ({ROOMS[row][0]}) imports {other} ({ROOMS[theirs][0]})"
        for other, _, line in imports_of(path)
        if is_ours(other) and (theirs := row_of(other)) is not None and theirs < row
    ]
    assert wrong == []


def test_rooms_name_modules_that_exist():
    members = [member for _, row in ROOMS for member in row]
    assert len(members) == len(set(members))
    assert [each for each in members if each != "taper" and f"taper.{each}" not in NAMES] == []


MOST_FILES = 25


def test_rooms_of_operators_can_be_taken_in_at_a_glance():
    folders = {path.parent for path in MODULES if {"ops", "arrays", "opdef"} & set(path.parts)}
    crowded = {relative(each): len(list(each.glob("*.py"))) for each in folders}
    assert {name: count for name, count in crowded.items() if count > MOST_FILES} == {}


def test_no_import_cycle():
    edges = top_level_imports()
    # Take away what imports nothing that is left, again and again: what remains is in a cycle.
    while free := [name for name, others in edges.items() if not (others - {name}) & edges.keys()]:
        for name in free:
            del edges[name]
    assert sorted(edges) == []


def test_any_module_may_be_imported_first():
    """Packages load before their modules, which can close a circle that no single import shows."""
    first = sorted(
        name
        for name in NAMES
        if "__main__" not in name and (name.count(".") == 1 or name.startswith("taper.autograd."))
    )
    program = f"""
import os
for name in {first!r}:
    child = os.fork()
    if not child:
        try:
            __import__(name)
        except BaseException as error:
            print(name, error, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")


def late_imports(path: Path) -> list[tuple[str, int]]:
    return [
        (other, line)
        for other, inside, line in imports_of(path)
        if inside and other.partition(".")[0] not in EXTRAS
    ]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_import_inside_a_function_says_why(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    unexplained = [
        f"line {line}: {other}: say beside it what a later import saves, as `# late: ...`"
        for other, line in late_imports(path)
        if not any(re.search(r"# late: \w", each) for each in lines[line - 2 : line])
    ]
    assert unexplained == []


def top_level_imports() -> dict[str, set[str]]:
    return {
        name_of(path): {o for o, inside, _ in imports_of(path) if not inside and o in NAMES}
        for path in MODULES
    }


def reached_from(module: str, edges: dict[str, set[str]]) -> set[str]:
    """The modules that loading a module loads, itself among them."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        if (name := waiting.pop()) not in seen:
            seen.add(name)
            waiting.extend(edges.get(name, ()))
    return seen


def test_import_inside_a_function_hides_no_cycle():
    edges = top_level_imports()
    cycles = [
        f"{name_of(path)} line {line}: {other} imports it in turn"
        for path in MODULES
        for other, line in late_imports(path)
        if other in NAMES and name_of(path) in reached_from(other, edges)
    ]
    assert cycles == []
    # A module that is named by its package's name, as `f"{PACKAGE}.func"`, would not be seen.
    own = re.compile(r"import_module\(f\"\{(?!own|__name__)\w+\}\.\w+\"")
    assert [relative(p) for p in MODULES if own.search(p.read_text(encoding="utf-8"))] == []


def test_only_parity_tests_and_benchmarks_know_torch():
    # Examples and programs over libraries run on both.
    allowed = ("tests/parity/", "benchmarks/", "examples/", "tests/libraries/programs/")
    found = [
        f"{relative(path)}:{node.lineno}"
        for path in CODE
        if not relative(path).startswith(allowed)
        for node, _ in walk(tree_of(path))
        for name in imported(node, "", False)
        if name.partition(".")[0] == "torch"
    ]
    assert found == []


def test_imports_are_seen():
    """The reader of imports sees relative, late, computed and type-checking ones."""
    source = (
        "from . import node\nfrom .. import tensor\nfrom ..ops import x\nimport numpy as np\n"
        "if TYPE_CHECKING:\n    import never\nelse:\n    import numpy\n"
        "def f():\n    from taper.ops import y\n    importlib.import_module(name)\n"
    )
    seen = [
        (name, inside)
        for node, inside in walk(ast.parse(source))
        for name in imported(node, "taper.autograd.engine", False)
    ]
    assert [inside for _, inside in seen] == [False, False, False, False, False, True, True]
    assert [name.removesuffix(".node").removesuffix(".tensor") for name, _ in seen] == [
        "taper.autograd",
        "taper",
        "taper.ops",
        "numpy",
        "numpy",
        "taper.ops",
        "(computed)",
    ]


# ------------------------------------------------------------------------------------ the code


@pytest.mark.parametrize("path", CODE, ids=relative)
def test_file_is_short_or_says_why_not(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) > MOST_LINES:
        head = "\n".join(lines[:30])
        assert "Long because: " in head, f"{len(lines)} lines and no line 'Long because: ...'"


MOST_BODY_LINES = 40

# Functions whose bodies are longer, and why.
LONG_FUNCTIONS = {
    ("taper.autograd.custom_forward", "apply_function"): "the order of steps is the subject",
    ("taper.autograd.backward", "grad"): "half of it checks arguments",
    ("taper.opdef.recording", "_add_saving"): "one case for each kind of value",
    ("taper.opdef.compiler", "wrapper_source"): "the text of one function",
    ("taper.opdef.nodes", "apply_slowly"): "the twin of generated text, in its order",
    ("taper.ops.index.embedding_bag", "functional_embedding_bag"): "half of it checks arguments",
}


def body_length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function's body; signatures are PyTorch's, docstrings may be long."""
    first = function.body[0]
    if ast.get_docstring(function) is not None and len(function.body) > 1:
        first = function.body[1]
    return (function.end_lineno or 0) - first.lineno + 1


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_functions_are_short_or_say_why_not(path):
    module = name_of(path)
    long = {
        (module, node.name)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and body_length(node) > MOST_BODY_LINES
    }
    assert long == {each for each in LONG_FUNCTIONS if each[0] == module}


SMALL_WORDS = set("a an and as at by for from in is it its of on or that the to what with".split())


def words_of(text: str) -> set[str]:
    return {word.rstrip("s") for word in re.findall(r"[a-z]+", text.lower())}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_the_first_line_states_the_subject(path):
    """What it owns, in words: the file's name alone, or with the room's, says nothing new."""
    text = ast.get_docstring(tree_of(path))
    assert text, "no docstring: what does it own, whom does it know?"
    module = name_of(path)
    of_path = words_of(module.replace("_", " "))
    said = words_of(text.splitlines()[0].replace(f"`{module}`", "")) - SMALL_WORDS
    assert said - of_path, f"the first line only repeats the name: {text.splitlines()[0]}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_library_code_has_no_bare_assert(path):
    found = [node.lineno for node in ast.walk(tree_of(path)) if isinstance(node, ast.Assert)]
    assert found == [], "raise an error instead: asserts vanish under python -O"


def packages():
    return sorted({path.parent for path in MODULES})


@pytest.mark.parametrize("folder", packages(), ids=relative)
def test_package_has_an_init(folder):
    assert (folder / "__init__.py").exists(), "without it the folder is not installed"


def test_benchmark_does_not_hide_a_folder_of_tests():
    # A module anywhere on the path comes before a folder that has no `__init__`.
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/*.py")}
    assert not folders & {path.stem for path in (ROOT / "benchmarks").glob("*.py")}


# ------------------------------------------------------------------------------- the documents


def tracked_files() -> list[Path]:
    """Return what is, or is about to be, in the repository; in an unpacked archive all files."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0:
        return [path for name in listed.stdout.splitlines() if (path := ROOT / name).is_file()]
    return [*CODE, *DOCUMENTS]


def test_no_path_of_one_machine():
    folders = "|".join(["work", "tmp", "root"])
    absolute = re.compile(rf"(?<![\w./~-])/(?:{folders})(?![\w-])")
    found = []
    for path in tracked_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if absolute.search(line):
                found.append(f"{relative(path)}:{number}: {line.strip()[:80]}")
    assert found == []


def blocks(text: str) -> list[tuple[int, str]]:
    """Return (line, text) of each block that is marked as an interactive session."""
    found = re.finditer(r"^```pycon\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, match.start(1)), match[1]) for match in found]


def failures(examples: list[tuple[int, str]], name: str, names: dict) -> tuple[int, str]:
    """Run examples in one namespace; return how many there were and what went wrong."""
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    output: list[str] = []
    tried = 0
    for line, text in examples:
        # A name of its own: doctest finds the lines of an earlier block by it.
        test = doctest.DocTestParser().get_doctest(text, names, f"{name}:{line}", name, line)
        tried += len(test.examples)
        runner.run(test, out=output.append, clear_globs=False)
        names.update(test.globs)  # doctest gives each block a copy
    return tried, "".join(output)


@pytest.mark.parametrize("path", DOCUMENTS, ids=relative)
def test_document_examples_print_what_they_say(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf-8")
    tried, wrong = failures(blocks(text), relative(path), {})
    assert wrong == ""
    assert tried == len(re.findall(r"^>>> ", text, flags=re.MULTILINE)), (
        "one is outside a pycon block"
    )


def test_readme_has_a_runnable_example():
    assert blocks((ROOT / "README.md").read_text(encoding="utf-8"))


def test_wrong_example_is_noticed():
    tried, wrong = failures([(0, ">>> 1 + 1\n3\n")], "wrong", {})
    assert tried == 1
    assert "Expected:\n    3\nGot:\n    2" in wrong


@pytest.mark.parametrize("path", DOCUMENTS, ids=relative)
def test_links_lead_somewhere(path):
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    local = [target.partition("#")[0] for target in targets if "://" not in target]
    assert [each for each in local if each and not (path.parent / each).exists()] == []


def test_readme_names_only_targets_that_exist():
    named = set(re.findall(r"`?make ([\w-]+)", (ROOT / "README.md").read_text(encoding="utf-8")))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, flags=re.MULTILINE))
    assert {"demo", "test"} <= named
    assert named <= targets


def test_ci_runs_what_readme_says():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    steps = re.findall(r"^step make ([\w-]+)$", script, flags=re.MULTILINE)
    assert len(steps) == script.count("\nstep ") == 6
    row = next(
        line for line in (ROOT / "README.md").read_text().splitlines() if "`.ci/run`" in line
    )
    assert re.findall(r"`make ([\w-]+)`", row) == steps


# Modules with numbered invariants of their own, stated at their head.
STATED = re.compile(r"^(?:Invariants: )?\(?(I\d)\b", flags=re.MULTILINE)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_codes_lead_somewhere(path):
    """(D4) is a decision and (I3) an invariant of the engine; (§E12) a behaviour of autograd."""
    decided = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    known = set(re.findall(r"^(?:### |\| )([DI]\d+)[ .]", decided, flags=re.MULTILINE))
    behaviours = (ROOT / "docs" / "behaviours.md").read_text(encoding="utf-8")
    known |= {f"§{code}" for code in re.findall(r"^\| ([A-Z]\d+) \|", behaviours, re.MULTILINE)}
    text = path.read_text(encoding="utf-8")
    lists = re.findall(r"\((§?[A-Z]\d{1,2}(?:, §?[A-Z]\d{1,2})*)\)", text)
    codes = {code for each in lists for code in each.split(", ")}
    in_head = set(STATED.findall(ast.get_docstring(tree_of(path)) or ""))
    numbered = {"I1", "I2", "I3", "I4"} if in_head or "viz" in path.parts else set()
    assert codes - known - numbered == set()


def test_changelog_knows_the_version_and_the_differences():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert re.search(r"^## Differs from PyTorch$", text, flags=re.MULTILINE)
    assert re.search(rf"^## \[{re.escape(version)}\]", text, flags=re.MULTILINE)
