"""Shows files of the repository as pages of their own, and parts of them inside a page."""

from __future__ import annotations

import ast
import re
from html import escape
from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound

INCLUDED = re.compile(r"^```source (?P<path>\S+) (?P<name>[\w.]+)\n```$", re.MULTILINE)
LIGHT = HtmlFormatter(style="default").get_style_defs("pre")
DARK = HtmlFormatter(style="monokai").get_style_defs("pre")
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{name}</title>
<meta name="viewport" content="width=device-width">
<style>body{{margin:0;font:14px/1.5 system-ui,sans-serif}}
header{{padding:.6rem 1rem;background:#0b5a8c;color:#fff}}
header a{{color:#fff}}pre{{margin:0;padding:1rem;overflow-x:auto;tab-size:4}}{light}
@media(prefers-color-scheme:dark){{body{{background:#272822}}{dark}}}</style></head>
<body><header><a href="{home}">taper</a> / {name}</header>{code}</body></html>
"""


def source_page(root: Path, path: str) -> str:
    """Return a file of the repository as an HTML page that needs nothing else."""
    text = (root / path).read_text(encoding="utf-8")
    try:
        lexer = get_lexer_for_filename(path)
    except ClassNotFound:
        lexer = TextLexer()
    code = highlight(text, lexer, HtmlFormatter(nowrap=True))
    home = "../" * (path.count("/") + 1) + "index.html"
    return PAGE.format(
        name=escape(path), home=home, light=LIGHT, dark=DARK, code=f"<pre>{code}</pre>"
    )


def definition(text: str, name: str) -> tuple[int, int]:
    """Return the first and the last line of a function, a class, or a method `Class.method`."""
    scope: ast.AST = ast.parse(text)
    for part in name.split("."):
        scope = next(
            node
            for node in ast.iter_child_nodes(scope)
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == part
        )
    assert isinstance(scope, ast.FunctionDef | ast.ClassDef)
    first = min([scope.lineno, *(each.lineno for each in scope.decorator_list)])
    assert scope.end_lineno is not None
    return first, scope.end_lineno


def with_sources(root: Path, text: str, link: str) -> str:
    """Fill the blocks ```` ```source FILE NAME ```` of a page with what the file defines.

    Args:
        link: where the folder of source pages is, as seen from the page.
    """

    def block(found: re.Match[str]) -> str:
        path = f"src/taper/{found['path']}"
        whole = (root / path).read_text(encoding="utf-8")
        first, last = definition(whole, found["name"])
        lines = "\n".join(whole.splitlines()[first - 1 : last])
        place = f"[`{path}`, line {first}]({link}{path}.html)"
        return f'```python linenums="{first}"\n{lines}\n```\n\n{place}'

    return INCLUDED.sub(block, text)
