"""What notebooks show of modules and optimizers, and the small pieces that all such views share.

Owns the HTML.  Knows modules and optimizers by their attributes only, so that their classes can ask
this module without a circle.  Colours come from the page around it, so that it suits light and
dark; all texts of the user are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from math import prod
from typing import Any

__all__ = ["card", "module_html", "optimizer_html", "table"]

MOST_ROWS = 400  # modules in a tree
_GROUPS = 8  # of an optimizer
_OPEN = 12  # up to so many children a module is open

_STYLE = (
    "<style>.taper-view{font:13px/1.5 system-ui,sans-serif;max-width:60em}"
    ".taper-view code,.taper-view pre{font-family:ui-monospace,monospace;font-size:12px;"
    "background:none;color:inherit}"
    ".taper-view pre{margin:.3em 0;overflow-x:auto}"
    ".taper-view summary{cursor:pointer}.taper-view .soft{opacity:.65}"
    ".taper-view .kids{margin-left:.55em;padding-left:.8em;border-left:1px solid #8886}"
    ".taper-view .leaf{padding-left:1.05em}"
    ".taper-view table{border-collapse:collapse;margin:.3em 0;font-size:12px}"
    ".taper-view math{display:block;text-align:left;margin:.3em 0}"
    ".taper-view td,.taper-view th{text-align:left;white-space:pre-wrap;padding:1px 1em 1px 0;"
    "border-bottom:1px solid #8884;background:none;vertical-align:top}"
    ".taper-view .heat{image-rendering:pixelated;border:1px solid #8886;display:block;"
    "margin:.3em 0;max-width:100%}</style>"
)


def card(head: str, *parts: str) -> str:
    """Return a view: a line of HTML above some parts, with its style."""
    return f'<div class="taper-view">{_STYLE}<div>{head}</div>{"".join(parts)}</div>'


def table(heads: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a table of texts."""
    top = "".join(f"<th>{escape(str(each))}</th>" for each in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(each))}</td>" for each in row) + "</tr>" for row in rows
    )
    return f"<table><tr>{top}</tr>{body}</table>"


def size_text(count: float) -> str:
    """Return a number of bytes for people: `12 bytes`, `3.4 kB`."""
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count:.0f} bytes"


def _count(parameters: Iterable[Any]) -> int:
    """Return the elements of parameters that have a shape yet; lazy ones have none."""
    total = 0
    for each in parameters:
        try:
            total += prod(each.shape)
        except (RuntimeError, ValueError):
            continue
    return total


# --- modules -----------------------------------------------------------------------------------


class _Tree:
    """A tree of modules as nested elements that fold, of at most `MOST_ROWS` rows."""

    def __init__(self) -> None:
        self.rows = 0
        self.seen: set[int] = set()

    def row(self, name: str, module: Any, outer: bool) -> str:
        self.rows += 1
        again = id(module) in self.seen
        self.seen.add(id(module))
        children = [] if again else [each for each in module._modules.items() if each[1]]
        line = _line(name, module, bool(children), again)
        if not children:
            return f'<div class="leaf">{line}</div>'
        inner = []
        for place, (child_name, child) in enumerate(children):
            if self.rows >= MOST_ROWS:
                left = len(children) - place
                inner.append(f'<div class="leaf soft">and {left} more</div>')
                break
            inner.append(self.row(child_name, child, False))
        shown = " open" if outer and len(children) <= _OPEN else ""
        kids = f'<div class="kids">{"".join(inner)}</div>'
        return f"<details{shown}><summary>{line}</summary>{kids}</details>"


def _line(name: str, module: Any, holds: bool, again: bool) -> str:
    parameters = list(module.parameters())
    count = _count(parameters)
    frozen = count - _count(each for each in parameters if each.requires_grad)
    extra = "" if holds else " ".join(module.extra_repr().split())
    extra = extra if len(extra) <= 120 else extra[:117] + "..."
    parts = [f"<code>{escape(name)}</code> " if name else ""]
    parts.append(f"<b>{escape(module._get_name())}</b>")
    parts.append(f" <span class='soft'>{escape(extra)}</span>" if extra else "")
    if again:
        parts.append(" <span class='soft'>(see above)</span>")
    elif count:
        own = f"{count:,} parameter{'s' * (count != 1)}"
        held = ", frozen" if frozen == count else f", {frozen:,} frozen" if frozen else ""
        parts.append(f" <span class='soft'>· {own}{held}</span>")
    return "".join(parts)


def module_html(module: Any) -> str:
    """Return a module as a tree that folds, with the parameters of each part counted."""
    mode = "training" if module.training else "evaluation"
    held = [each for each in module.parameters() if hasattr(each, "nbytes")]
    try:
        size = f", {size_text(sum(each.nbytes for each in held))}"
    except (RuntimeError, ValueError):  # a lazy parameter has no size yet
        size = ""
    tree = _Tree().row("", module, True)
    return card("", tree, f"<div class='soft'>in {mode} mode{size}</div>")


# --- optimizers --------------------------------------------------------------------------------


def optimizer_html(optimizer: Any) -> str:
    """Return an optimizer's groups with their options, and what its state holds."""
    groups = optimizer.param_groups
    names = list(dict.fromkeys(key for group in groups for key in group if key != "params"))
    names = [each for each in names if each != "param_names"]
    shown = groups[:_GROUPS]
    rows = [
        ["tensors", *(f"{len(group['params']):,}" for group in shown)],
        ["parameters", *(f"{_count(group['params']):,}" for group in shown)],
        *([name, *(_option(group.get(name, "")) for group in shown)] for name in names),
    ]
    parts = [table(["", *(f"group {nr}" for nr in range(len(shown)))], rows)]
    if len(groups) > _GROUPS:
        parts.append(f"<div class='soft'>and {len(groups) - _GROUPS} more groups</div>")
    kept: dict[str, list[int]] = {}
    for state in optimizer.state.values():
        for key, value in state.items() if isinstance(state, dict) else ():
            entry = kept.setdefault(str(key), [0, 0])
            entry[0] += 1
            entry[1] += getattr(value, "nbytes", 0)
    if kept:
        total = size_text(sum(each[1] for each in kept.values()))
        parts.append(f"<div class='soft'>state: {total}</div>")
        found = [[key, number, size_text(size)] for key, (number, size) in kept.items()]
        parts.append(table(["state", "tensors", "size"], found))
    else:
        parts.append("<div class='soft'>no state yet: no step was taken</div>")
    return card(f"<b>{escape(type(optimizer).__name__)}</b>", *parts)


def _option(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 40 else text[:37] + "..."
