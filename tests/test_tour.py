"""The tour, docs/tour.md and its Chinese twin: every statement has its picture, script and source.

The `>>>` examples and the links of the pages are tested by test_project.py, with those of all
documents; tests/parity/ runs the scripts on PyTorch.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SCRIPTS = sorted((ROOT / "examples" / "tour").glob("*.py"))
PAGES = {"english": DOCS / "tour.md", "chinese": DOCS / "tour.zh.md"}

# The last number of each letter: A1 to A9, B1 to B6, ...
CLAIMS = {"A": 9, "B": 6, "C": 8, "D": 5, "E": 5, "F": 4, "G": 2, "H": 1, "I": 3, "J": 2}
CODES = [f"{letter}{number}" for letter in CLAIMS for number in range(1, CLAIMS[letter] + 1)]

SOURCE = re.compile(r"\[`([\w/]+\.py)`\]\(\.\./src/taper/([\w/]+\.py)\) `([\w.]+)`")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def index_of(page: Path) -> dict[str, list[str]]:
    """Return the cells of each row of the index: statement, pictures, scripts, sources."""
    rows = re.findall(r"^\| ([A-J]\d) \| (.*) \|$", text_of(page), re.MULTILINE)
    assert [code for code, _ in rows] == CODES
    return {code: rest.split(" | ") for code, rest in rows}


def chapters_of(page: Path) -> list[str]:
    return re.split(r'^<a id="(?:picture-\d+|index)"></a>$', text_of(page), flags=re.MULTILINE)


def defined(path: Path, name: str) -> bool:
    """Whether a file defines a function, a class, or a method as `Class.method`."""
    scope: ast.AST = ast.parse(text_of(path))
    for part in name.split("."):
        found = [
            node
            for node in ast.iter_child_nodes(scope)
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == part
        ]
        if not found:
            return False
        scope = found[0]
    return True


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_every_statement_has_a_picture_a_script_and_a_source(page):
    for code, (statement, pictures, scripts, sources) in index_of(page).items():
        assert statement, code
        numbers = [int(each) for each in re.findall(r"\[(\d+)\]\(#picture-\1\)", pictures)]
        assert numbers and set(numbers) <= set(range(1, 13)), code
        assert re.findall(r"\]\(\.\./examples/tour/(\w+)\.py\)", scripts), code
        found = SOURCE.findall(sources)
        assert found and len(found) == sources.count("]("), code
        for shown, path, name in found:
            assert shown == path and defined(ROOT / "src" / "taper" / path, name), (code, name)


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_chapter_speaks_of_the_statements_that_lead_to_it(page):
    _, *chapters, _ = chapters_of(page)
    index = index_of(page)
    assert len(chapters) == 12
    for number, chapter in enumerate(chapters, 1):
        listed = re.search(r"^\w+(?::|\uff1a) ?((?:[A-J]\d ?)+)$", chapter, re.MULTILINE)[1].split()
        assert listed == [code for code in CODES if f"(#picture-{number})" in index[code][1]]
        prose = FENCE.sub("", chapter).replace(listed[0], "", 1)
        assert [code for code in listed if not re.search(rf"\b{code}\b", prose)] == []
        assert len(re.findall(r"^!\[.+\]\(tour/\w+\.svg\)$", chapter, re.MULTILINE)) == 1


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_says_what_it_shows_and_knows_only_torch(path):
    text = text_of(path)
    assert "taper" not in text.replace("taper run", "")
    claimed = re.search(r"Claims? ((?:[A-J]\d ?)+)\.", ast.get_docstring(ast.parse(text)))[1]
    index = index_of(PAGES["english"])
    assert sorted(claimed.split()) == [code for code in CODES if f"/{path.name})" in index[code][2]]


def test_pages_and_pictures_are_what_the_scripts_give(tmp_path):
    """`make docs` would change nothing: code, output and pictures are those of this moment."""
    for page in PAGES.values():
        shutil.copy(page, tmp_path)
    command = [sys.executable, str(ROOT / "tools" / "tour"), str(tmp_path)]
    subprocess.run(command, check=True, env=environment(), timeout=300)
    for page in PAGES.values():
        assert text_of(tmp_path / page.name) == text_of(page)
    pictures = sorted((DOCS / "tour").iterdir())
    assert [each.name for each in pictures] == sorted(os.listdir(tmp_path / "tour"))
    made = {each.name: text_of(tmp_path / "tour" / each.name) for each in pictures}
    assert [each.name for each in pictures if made[each.name] != text_of(each)] == []


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src")}


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_every_block_is_run(page):
    """Code is a script, its output follows, or it is an interactive session, which is run too."""
    text = text_of(page)
    blocks = FENCE.findall(text)
    scripts = [text_of(path) for path in SCRIPTS]
    assert sorted(code for kind, code in blocks if kind == "python") == sorted(scripts)
    kinds = [kind for kind, _ in blocks]
    assert set(kinds) == {"sh", "python", "text", "pycon"}
    followed = [kinds[place + 1] for place, kind in enumerate(kinds) if kind == "python"]
    assert followed == ["text"] * len(SCRIPTS)
    assert kinds.count("text") == len(SCRIPTS) + 1  # that of two processes, tested below
    commands = [line for kind, code in blocks if kind == "sh" for line in code.splitlines()]
    named = [re.search(r"examples/tour/\w+\.py", line)[0] for line in commands]
    assert all((ROOT / name).exists() for name in named)


def skeleton(chapter: str) -> list[object]:
    """What both languages have in common: headings, pictures, code, links, codes in the text."""
    text = FENCE.sub("", chapter)
    text = text.replace("(tour.md)", "(tour.zh.md)")
    return [
        [len(marks) for marks in re.findall(r"^(#+) ", text, re.MULTILINE)],
        FENCE.findall(chapter),
        re.findall(r"\]\(([^)]+)\)", text),
        re.findall(r"\b[A-J]\d\b", text),
        len(re.findall(r"\n\n(?![\n#<|!\[])", text)),  # paragraphs
    ]


def test_both_languages_have_the_same_structure_pictures_and_code():
    english, chinese = (chapters_of(page) for page in PAGES.values())
    assert len(english) == len(chinese) == 14
    for one, other in zip(english, chinese, strict=True):
        assert skeleton(one) == skeleton(other)


@pytest.mark.parametrize("path", sorted((DOCS / "tour").iterdir()), ids=lambda path: path.stem)
def test_a_picture_is_small_has_a_dark_face_and_stands_alone(path):
    text = text_of(path)
    assert len(text) < 40_000
    assert "@media(prefers-color-scheme:dark)" in text
    assert re.search(r"<title>.+</title>\n<desc>.+</desc>", text)
    assert not re.search(r"<script|href=|url\(|@import", text)
    assert "NaN" not in text and 'width="480"' in text


def test_the_data_parallel_script_gives_the_same_with_two_processes():
    script = ROOT / "examples" / "tour" / "09_data_parallel.py"
    command = [sys.executable, "-m", "taper", "run", "--nproc-per-node", "2", str(script)]
    one_thread = {"OMP_NUM_THREADS": "1", "MASTER_PORT": "0"}
    done = subprocess.run(
        command, capture_output=True, text=True, env={**environment(), **one_thread}, timeout=300
    )
    assert done.returncode == 0, done.stderr
    page = text_of(PAGES["english"])
    shown = [code for _, code in FENCE.findall(page) if code.startswith("DistributedDataParallel")]
    assert [done.stdout] == shown
