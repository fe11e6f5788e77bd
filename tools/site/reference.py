"""Makes the pages of the reference: an entry for every public name, from table and docstrings.

An entry has signature, meaning, formula, arguments, shapes, example, derivative, and what differs
from PyTorch.  A name that several packages share has its entry in the first of them; the others
point there.  `pages()` returns the text of each page by its path.
"""

from __future__ import annotations

import enum
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path
from types import ModuleType
from typing import Any

from docstrings import as_html, coloured, first_sentence, inline

import taper
from taper.opdef import Op, composites, registry
from taper.opdef.docs import saved_text
from taper.opdef.formulas import formula_text
from taper.ops import load_all

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "taper"
# These packages have a page for each of their parts.
DIVIDED = ("taper", "taper.nn", "taper.nn.functional", "taper.distributed")
# Parts with fewer names share a page.
FEWEST_NAMES = 4


@dataclass
class Entry:
    """A public name: where users find it, what it is, and on which page it stands."""

    package: str
    name: str
    value: Any
    part: str = ""
    same_as: Entry | None = None
    differences: list[str] = field(default_factory=list)

    @property
    def full(self) -> str:
        return f"{self.package}.{self.name}"

    @property
    def page(self) -> str:
        return f"reference/{self.package}{f'-{self.part}' if self.part else ''}.md"


@cache
def module_at(path: str) -> Any:
    """Import a file of the repository that belongs to no package."""
    name = f"taper_{Path(path).stem}"
    specification = importlib.util.spec_from_file_location(name, ROOT / path)
    assert specification and specification.loader
    module = sys.modules[name] = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def namespaces() -> list[str]:
    """Return the packages that programs address by name: those of the tests' own list."""
    lists = module_at("tests/public_namespaces.py")
    return [*lists.SHOWN, *lists.ANSWERING]


def documented(package: str) -> list[str]:
    """Return the names of PyTorch's package that taper has, whether its list says them or not."""
    coverage = module_at("tools/coverage.py")
    area = package.replace("taper", "torch", 1)
    owner = coverage.counterpart(area)
    names = coverage.known_names().get(area, [])
    return [each.name for each in names if coverage.is_there(owner, each)]


def public(package: str) -> dict[str, Any]:
    """Return the public names of a package, or of the class Tensor."""
    if package == "taper.Tensor":
        found = {name: getattr(taper.Tensor, name) for name in dir(taper.Tensor)}
        return {name: value for name, value in found.items() if not name.startswith("_")}
    module = importlib.import_module(package)
    said = getattr(module, "__all__", None)
    names = said or [
        name
        for name, value in vars(module).items()
        if not isinstance(value, ModuleType)
        and str(getattr(value, "__module__", "")).startswith(package)
    ]
    names = dict.fromkeys([*names, *documented(package)])
    return {name: getattr(module, name) for name in names if not name.startswith("_")}


@cache
def operators() -> dict[int, Op]:
    """Return the entries of the operator table, by their public functions."""
    load_all()
    return {id(op.function): op for op in registry.values()}


def part_of(package: str, value: Any) -> str:
    """Return the subject of a name within a large package."""
    if isinstance(value, ModuleType):
        return "packages"
    if isinstance(value, taper.dtype):
        return "dtypes"
    code = getattr(inspect.unwrap(value), "__code__", None) if callable(value) else None
    op = operators().get(id(value))
    if op is not None:
        return op.kernel.__module__.split(".")[2]
    module = str(getattr(value, "__module__", None))
    if code is not None and module == package:  # made from the table, or said to be at the top
        place = Path(code.co_filename)
        if place.is_relative_to(PACKAGE / "ops"):
            return place.relative_to(PACKAGE / "ops").parts[0].removesuffix(".py")
    if module.startswith("taper.ops."):
        return module.split(".")[2]
    last = module.rpartition(".")[2]
    return last if module.startswith(f"{package}.") and last != "functional" else "more"


@cache
def entries() -> dict[str, Entry]:
    """Return every public name with its entry, in the order of the packages."""
    found: dict[str, Entry] = {}
    first: dict[int, Entry] = {}
    for package in [*namespaces(), "taper.Tensor"]:
        names = public(package)
        large = package in DIVIDED
        parts = {name: part_of(package, value) if large else "" for name, value in names.items()}
        counts = {part: list(parts.values()).count(part) for part in set(parts.values())}
        for name, value in names.items():
            part = parts[name]
            part = "more" if large and counts[part] < FEWEST_NAMES else part
            entry = found[f"{package}.{name}"] = Entry(package, name, value, part)
            if callable(value) and not isinstance(value, enum.Enum):
                entry.same_as = first.get(id(value))
                first.setdefault(id(value), entry)
    for name, text in differences():
        found[name].differences.append(text) if name in found else None
    return found


def differences() -> Iterator[tuple[str, str]]:
    """Yield names and sentences of the changelog's list of differences that speak of them."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    text = text.partition("## Differs from PyTorch")[2].partition("\n## ")[0]
    for point in re.split(r"^- ", text, flags=re.MULTILINE)[1:]:
        words = " ".join(point.split())
        subject = re.match(r"[A-Z]\w+(?: \w+)?: ", words)
        head = subject[0] if subject else ""
        for sentence in re.split(r"(?<=[;.]) (?![^(]*\))", words.removeprefix(head)):
            said = sentence.rstrip(";.")
            for name in re.findall(r"`([\w.]+)(?:\([^`]*)?`", said):
                yield f"taper.{name}", f"{head}{said}."


def signature(entry: Entry) -> str:
    """Return how a name is called; empty for what is not called."""
    if not callable(entry.value) or isinstance(entry.value, ModuleType | enum.EnumType):
        return ""
    try:
        said = str(inspect.signature(entry.value))
    except (ValueError, TypeError):
        return f"{entry.name}(...)"
    said = re.sub(r"(?<=[:>] )'([^']*)'", r"\1", said).replace("<not given>", "...")
    said = re.sub(r"<[^<>]* at 0x[0-9a-f]+>|<(?:class|function) '?([\w.]+)[^>]*>", r"\1", said)
    if inspect.isclass(entry.value):
        said = said.removesuffix(" -> None")
    return f"{entry.name}{said}"


def derivative(value: Any) -> str:
    """Return what autograd records for a function of the table."""
    op = operators().get(id(value))
    if op is None:
        composed = getattr(value, "__name__", None) in composites
        return "<p>Made of other operators: autograd records those.</p>" if composed else ""
    if not op.differentiable:
        return "<p>Has no derivative.</p>"
    rule = op.tangent if isinstance(op.tangent, str) else "its own rule" if op.tangent else "none"
    saved = f"saves {saved_text(op)}; forward mode: {rule}."
    parts = [f"<p>Node <code>{escape(op.node_name)}</code>; {inline(saved)}</p>"]
    for formula in op.formulas:
        given = ", ".join(inspect.signature(formula.function).parameters)
        head = f"# gradient of {', '.join(formula.wrt)}, from ({given})"
        parts.append(coloured(f"{head}\n{formula_text(formula)}", "python"))
    return f"<details><summary>Derivative</summary>{''.join(parts)}</details>"


def members(value: type) -> str:
    """Return the methods that a class adds to those of its bases, with what they do."""
    if issubclass(value, enum.Enum):
        names = ", ".join(f"<code>{escape(each.name)}</code>" for each in value)
        return f"<p>Values: {names}.</p>"
    items = []
    for name, member in vars(value).items():
        doc = first_sentence(getattr(member, "__doc__", None))
        method = inspect.isroutine(member) or isinstance(member, property)
        if name.startswith("_") or not method or not doc or name == "forward":
            continue
        items.append(f"<li><code>{escape(name)}</code>: {inline(doc)}</li>")
    return f'<p class="part">Methods</p><ul>{"".join(items)}</ul>' if items else ""


def reference_to(entry: Entry, other: Entry) -> str:
    """Return a link from one entry to another."""
    page = "" if other.page == entry.page else other.page.removeprefix("reference/")
    return f"[`{other.full}`]({page}#{other.full})"


def body(entry: Entry) -> str:
    """Return what an entry says below its heading."""
    value, known = entry.value, entries()
    if entry.same_as is not None:
        return f"The same as {reference_to(entry, entry.same_as)}.\n"
    if isinstance(value, ModuleType):
        inside = [each for each in known.values() if each.package == value.__name__]
        said = first_sentence(value.__doc__)
        return (
            f"{said}\n\nIts names begin with {reference_to(entry, inside[0])}.\n"
            if inside
            else said
        )
    doc = inspect.getdoc(value) or "" if callable(value) or isinstance(value, property) else ""
    function = known.get(f"taper.{entry.name}")
    is_method = entry.package == "taper.Tensor" and function is not None
    if is_method and (">>>" not in doc or doc == inspect.getdoc(function.value)):
        return f"The method of {reference_to(entry, function)}: `x.{entry.name}(...)`.\n"
    parts = []
    if called := signature(entry):
        parts.append(coloured(called, "python").replace("highlight", "highlight signature"))
    if doc:
        parts.append(as_html(doc))
    elif not callable(value):
        parts.append(f"<p>Value: <code>{escape(repr(value)[:100])}</code></p>")
    if inspect.isclass(value):
        parts.append(members(value))
    parts.append(derivative(value))
    if entry.differences:
        points = "".join(f"<li>{inline(each)}</li>" for each in dict.fromkeys(entry.differences))
        parts.append(f'<p class="part">Differs from PyTorch</p><ul>{points}</ul>')
    return "\n".join(filter(None, parts)) + "\n"


# Parts whose modules have names that say little by themselves.
TITLES = {
    "conv": "convolution",
    "device": "devices and layouts",
    "grad_mode": "grad modes",
    "index": "indexing",
    "more": "everything else",
    "norm": "normalisation",
    "pool": "pooling",
    "rnn": "recurrent",
    "state": "autocast",
}


def title_of(page: str) -> str:
    """Return the heading of a page: `taper.nn`, or `taper: activation` for a part."""
    package, _, part = Path(page).stem.partition("-")
    return f"{package}: {TITLES.get(part, part.replace('_', ' '))}" if part else package


def pages() -> dict[str, str]:
    """Return the text of each page of the reference by its path."""
    found: dict[str, list[str]] = {}
    for entry in entries().values():
        if entry.page not in found:
            module = taper.Tensor if entry.package == "taper.Tensor" else None
            module = module or importlib.import_module(entry.package)
            said = "" if entry.part else first_sentence(module.__doc__)
            found[entry.page] = [f"# {title_of(entry.page)}\n\n{said}\n"]
        found[entry.page].append(f"## {entry.name} {{ #{entry.full} }}\n\n{body(entry)}")
    return {page: "\n".join(parts) for page, parts in found.items()}
