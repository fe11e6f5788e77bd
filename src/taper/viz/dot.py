"""Dot: a drawn graph that can be written as DOT text or as SVG, like graphviz's `Digraph`.

Owns the DOT text, files and formats.  Must not know tensors: it holds texts only, so keeping a
picture does not keep a computation alive.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import webbrowser
from collections.abc import Collection, Sequence
from pathlib import Path

from taper.files.atomic import replacing
from taper.viz.layout import Point, place
from taper.viz.svg import Arrow, Box, box_size, draw

__all__ = ["Dot"]

_PIXELS_PER_POINT = 96 / 72
_PIXELS_PER_INCH = 96.0
_OWN_FORMATS = ("svg", "gv", "dot")
MOST_BOXES = 50_000  # which takes seconds to draw
_SVG_TYPE = "image/svg+xml"


class Dot:
    """A directed graph of boxes, with the attributes and methods that users of graphviz know.

    `source` is the DOT text.  SVG pictures need no other program.  `graph_attr`, `node_attr` and
    `edge_attr` are dicts of DOT attributes; our own SVG uses the graph's `rankdir=LR` and `size` (a
    limit in inches) and the nodes' `fontsize` and `fontname`.

    Args:
        boxes: the boxes.
        arrows: the arrows between them, by the boxes' indices.
        title: the title of the SVG picture.

    >>> from taper.viz import Dot
    >>> from taper.viz.svg import Arrow, Box
    >>> dot = Dot([Box(("a",), "white"), Box(("b",), "orange")], [Arrow(0, 1)])
    >>> print(dot.source.splitlines()[-2].strip())
    n0 -> n1
    >>> dot.svg().startswith("<svg ")
    True
    """

    engine = "dot"

    def __init__(
        self, boxes: Sequence[Box], arrows: Sequence[Arrow], title: str = "Directed graph"
    ) -> None:
        self.boxes = tuple(boxes)
        self.arrows = tuple(arrows)
        self.title = title
        self.format = "svg"
        self.filename = "Digraph.gv"
        self.directory = ""
        self.graph_attr: dict[str, str] = {}
        self.node_attr: dict[str, str] = {
            "align": "left",
            "fontname": "monospace",
            "fontsize": "10",
            "height": "0.2",
            "ranksep": "0.1",
            "shape": "box",
            "style": "filled",
        }
        self.edge_attr: dict[str, str] = {}

    @property
    def source(self) -> str:
        """The graph in the DOT language; equal graphs have equal text."""
        lines = ["digraph {"]
        for kind in ("graph", "node", "edge"):
            attributes = getattr(self, f"{kind}_attr")
            if attributes:
                lines.append(f"\t{kind} {_attribute_list(attributes)}")
        for index, box in enumerate(self.boxes):
            attributes = {"label": _label(box), "fillcolor": box.fill}
            lines.append(f"\tn{index} {_attribute_list(attributes)}")
        for arrow in self.arrows:
            attributes = {} if arrow.directed else {"dir": "none"}
            if arrow.dotted:
                attributes["style"] = "dotted"
            suffix = f" {_attribute_list(attributes)}" if attributes else ""
            lines.append(f"\tn{arrow.tail} -> n{arrow.head}{suffix}")
        return "\n".join([*lines, "}", ""])

    def svg(self) -> str:
        """Return the picture as the text of an SVG file.

        Raises RuntimeError for more boxes than a picture can show.
        """
        if len(self.boxes) > MOST_BOXES:
            raise RuntimeError(
                f"a picture of {len(self.boxes):,} boxes could not be read: taper.viz.show folds "
                "large graphs (taper graph --html), and `source` has the text for other programs"
            )
        font_size = float(self.node_attr.get("fontsize", 14)) * _PIXELS_PER_POINT
        layout = place(
            [box_size(box, font_size) for box in self.boxes],
            [(arrow.tail, arrow.head) for arrow in self.arrows],
            [(arrow.directed, arrow.dotted) for arrow in self.arrows],
            horizontal=self.graph_attr.get("rankdir", "").upper() == "LR",
        )
        return draw(
            self.boxes,
            self.arrows,
            layout,
            title=self.title,
            font_size=font_size,
            font=self.node_attr.get("fontname", "monospace"),
            max_size=_pixels(self.graph_attr.get("size", "")),
        )

    def pipe(self, format: str | None = None) -> bytes:
        """Return the content of the file that `render` would write."""
        format = self._checked_format(format)
        if format == "svg":
            return self.svg().encode()
        if format in _OWN_FORMATS:
            return self.source.encode()
        return _run_graphviz(self.source.encode(), format)

    def save(self, filename: str | os.PathLike[str] | None = None, directory: str = "") -> str:
        """Write the DOT text; return the path."""
        path = self._path(filename, directory)
        _write_whole(path, self.source.encode())
        return str(path)

    def render(
        self,
        filename: str | os.PathLike[str] | None = None,
        directory: str = "",
        view: bool = False,
        cleanup: bool = False,
        format: str | None = None,
    ) -> str:
        """Write the DOT text to `filename` and the picture to `filename.<format>`.

        Args:
            filename: the path without the ending of the picture.
            directory: the folder.
            view: open the picture.
            cleanup: do not keep the DOT text.
            format: `svg`, `gv` or `dot`; any other format needs graphviz's program `dot`.

        Returns: the path of the picture.
        """
        format = self._checked_format(format)
        source_path = self._path(filename, directory)
        picture_path = source_path.with_name(f"{source_path.name}.{format}")
        content = self.pipe(format)
        if not cleanup:
            _write_whole(source_path, self.source.encode())
        _write_whole(picture_path, content)
        if view:
            webbrowser.open(picture_path.resolve().as_uri())
        return str(picture_path)

    def view(
        self,
        filename: str | os.PathLike[str] | None = None,
        directory: str = "",
        cleanup: bool = False,
    ) -> str:
        """Write the picture and open it."""
        return self.render(filename, directory, view=True, cleanup=cleanup)

    def _path(self, filename: str | os.PathLike[str] | None, directory: str) -> Path:
        # As in graphviz, the last given names hold from then on.
        if filename is not None:
            self.filename = os.fspath(filename)
        if directory:
            self.directory = directory
        return Path(self.directory, self.filename)

    def _checked_format(self, format: str | None) -> str:
        chosen = self.format if format is None else format
        if not re.fullmatch(r"[A-Za-z0-9_.:-]+", chosen):
            raise ValueError(f"unknown format: {chosen!r}")
        return chosen.lower()

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, str]:
        wanted = (not include or _SVG_TYPE in include) and _SVG_TYPE not in (exclude or ())
        wanted = wanted and len(self.boxes) <= MOST_BOXES
        return {_SVG_TYPE: self.svg()} if wanted else {}

    def __str__(self) -> str:
        return self.source

    def __repr__(self) -> str:
        return f"<Dot of {len(self.boxes)} boxes and {len(self.arrows)} arrows>"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _attribute_list(attributes: dict[str, str]) -> str:
    return f"[{' '.join(f'{name}={_quote(str(value))}' for name, value in attributes.items())}]"


def _label(box: Box) -> str:
    """Return the box's text as one label; a table is aligned with spaces in a fixed-width font."""
    if not box.rows:
        return "\n ".join(box.lines)
    name_width = max(len(name) for name, _ in box.rows)
    value_width = max(len(value) for _, value in box.rows)
    table = [f"{name:<{name_width}}: {value:>{value_width}}" for name, value in box.rows]
    rule = "-" * max(len(line) for line in (*box.lines, *table))
    return "\n".join([*box.lines, rule, *table])


def _pixels(size: str) -> Point | None:
    """Return the DOT attribute `size`, '7,5' or '7' in inches, in pixels."""
    if not size:
        return None
    numbers = [float(number) * _PIXELS_PER_INCH for number in size.rstrip("!").split(",")]
    return numbers[0], numbers[-1]


def _run_graphviz(source: bytes, format: str) -> bytes:
    program = shutil.which("dot")
    if program is None:
        raise RuntimeError(
            f"format {format!r} needs graphviz's program 'dot', which is not on PATH. "
            f"Use format='svg' (or 'dot' for the text), which needs no other program."
        )
    done = subprocess.run([program, f"-T{format}"], input=source, capture_output=True, check=False)
    if done.returncode:
        message = done.stderr.decode(errors="replace").strip()
        raise RuntimeError(f"graphviz could not write format {format!r}: {message}")
    return done.stdout


def _write_whole(path: Path, content: bytes) -> None:
    """Write a file so that nobody ever sees half of it; a failure leaves the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(content)
