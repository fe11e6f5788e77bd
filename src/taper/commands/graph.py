"""`taper graph`: the picture of a program's last autograd graph, without a change to the program.

Owns: watching the program for graphs.  A pass only leaves a note of where it began; the picture is
drawn once, at the end.  A pass frees what its graph has saved, and the model may be gone by the
end, so names, modules and saved values are looked up when the 1st, 2nd, 4th, 8th ... pass begins.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import taper
from taper import Tensor, autograd
from taper.autograd import interception
from taper.commands.program import add_program, check_program, start
from taper.nn import Module
from taper.viz import Dot, Graph, Page, Tape, debug_backward, make_dot
from taper.viz.page import page_of
from taper.viz.reading import read
from taper.viz.tape import ForwardClock

FORMATS = (".svg", ".html", ".htm")


class Watch:
    """Knows on which tensors the last backward pass began, and draws their graph."""

    def __init__(self, page: bool, saved: bool, attributes: bool) -> None:
        self.page = page
        self.options = {"show_saved": saved, "show_attrs": attributes}
        self.passes = 0
        self.roots: tuple[Tensor, ...] = ()
        self.last: Tensor | None = None  # without a pass: what was recorded last
        self.names: dict[str, Tensor] = {}
        self.known: Dot | Graph | None = None  # as it was before a pass freed it
        self.tape: Tape | None = None  # of that pass
        self.clock = ForwardClock()

    def install(self) -> None:
        """Watch the backward passes of the program and, until the first one, its operators."""
        self.time_forward()
        interception.push(self.see_operator)
        Tensor.backward = self._seeing(Tensor.backward)  # type: ignore[method-assign]
        autograd.backward = self._seeing(autograd.backward)
        autograd.grad = self._seeing(autograd.grad)

    def _seeing(self, run: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(run)
        def backward(*args: Any, **kwargs: Any) -> Any:
            root = args[0] if args else kwargs.get("tensors", kwargs.get("outputs", ()))
            if not self.note(root) or self.known is None or not self.page:
                result = run(*args, **kwargs)
                self.time_forward()
                return result
            with debug_backward() as tape:
                tape.clock = self.clock
                result = run(*args, **kwargs)
            self.tape = tape
            self.time_forward()
            return result

        return backward

    def time_forward(self) -> None:
        """Measure the operators from here on if the next pass will be recorded."""
        interception.pop(self.clock)
        self.clock.seconds.clear()
        if self.page and not self.passes & (self.passes + 1):
            interception.push(self.clock)

    def see_operator(self, call: Any, run: Callable[[], Any]) -> Any:
        """Remember the result of an operator if it is recorded."""
        result = run()
        for each in result if isinstance(result, tuple) else (result,):
            if isinstance(each, Tensor) and each.requires_grad:
                self.last = each
        return result

    def note(self, root: Any) -> bool:
        """Remember where a pass begins: one tensor or several, as far as they have a graph.

        Returns whether the graph was read.
        """
        tensors = (root,) if isinstance(root, Tensor) else tuple(root)
        tensors = tuple(each for each in tensors if isinstance(each, Tensor) and each.requires_grad)
        if not tensors:
            return False
        if not self.passes:  # from now on only graphs of passes count
            self.last = None
            interception.pop(self.see_operator)
        self.roots = tensors
        self.passes += 1
        if self.passes & (self.passes - 1):
            return False
        self.names = _names_in_memory()
        if self.page or any(self.options.values()):
            self.known = self.drawn()
        return True

    def drawn(self) -> Dot | Graph | None:
        """Return the graph of the last pass as it is now, None if what is asked for was freed."""
        with taper.no_grad(), contextlib.suppress(RuntimeError):
            if not self.page:
                return make_dot(self.roots, params=self.names, **self.options)
            return read(self.roots, None, {id(each): name for name, each in self.names.items()})[0]
        return None

    def finish(self) -> Dot | Page | None:
        """Return the picture or page, if the program has recorded anything."""
        if not self.roots and self.last is not None:
            self.roots = (self.last,)
        if not self.roots:
            return None
        self.names = {**self.names, **_names_in_memory()}
        now = self.drawn()
        if isinstance(now, Graph) and isinstance(self.known, Graph):
            if [each.name for each in now] == [each.name for each in self.known]:
                now = self.known  # the same program, with what was saved and the modules
        found = self.known if now is None else now
        if not isinstance(found, Graph):
            return found
        return page_of(found, self.tape if found is self.known else None)


def _names_in_memory() -> dict[str, Tensor]:
    """Return the parameters of the program's models by name, and the tensors among its globals."""
    modules = [each for each in gc.get_objects() if isinstance(each, Module)]
    inside = {id(child) for module in modules for child in module.children()}
    names: dict[str, Tensor] = {}
    for module in modules:
        if id(module) not in inside:
            for name, parameter in module.named_parameters():
                names[name if name not in names else f"{type(module).__name__}.{name}"] = parameter
    named = {id(parameter) for parameter in names.values()}
    for name, value in vars(sys.modules["__main__"]).items():
        if isinstance(value, Tensor) and value.is_leaf and value.requires_grad:
            if id(value) not in named:
                names[name] = value
    return names


def main(argv: Sequence[str]) -> int:
    """Run the program, then write the picture; return the program's exit code."""
    parser = argparse.ArgumentParser(
        prog="taper graph",
        usage="taper graph [-h] [--html] [--output FILE] [--saved] [--attrs] "
        "(SCRIPT | -m MODULE) [ARGS ...]",
        description="Run a program as `taper run` does and draw the graph of the last tensor that "
        "a backward pass began on, or without one of the last tensor that was recorded: as a "
        "picture (SVG), or as a page to look around in (HTML).",
        epilog="exit code: the program's own; 1 if it recorded no graph; 2 if the file cannot be "
        "written. Example: taper graph --html --output loss.html train.py --epochs 1",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--output", metavar="FILE", help=".svg or .html (default: SCRIPT.svg, SCRIPT.html)"
    )
    parser.add_argument("--html", action="store_true", help="write a page, not a picture")
    parser.add_argument("--saved", action="store_true", help="show what is saved for backward, too")
    parser.add_argument("--attrs", action="store_true", help="list what each function keeps")
    add_program(parser)
    options = parser.parse_args(argv)
    check_program(parser, options)
    output = _checked_output(parser, options)
    watch = Watch(output.suffix.lower() != ".svg", options.saved, options.attrs)
    watch.install()
    try:
        code = start(options.module, options.script)
    except SystemExit:
        write(watch.finish(), output)
        raise
    written = write(watch.finish(), output)
    return int(code or not written)


def _checked_output(parser: argparse.ArgumentParser, options: argparse.Namespace) -> Path:
    """Return the file to write; refuse one that cannot be written, before the program runs."""
    name = options.module[0] if options.module else Path(options.script[0]).stem
    ending = ".html" if options.html else ".svg"
    output = Path(options.output or f"{name}{ending}").absolute()
    if output.suffix.lower() not in FORMATS:
        parser.error(
            f"cannot write {output.name}: the name must end in .svg (a picture) or .html (a page); "
            "a browser or an editor can turn an SVG into other formats"
        )
    if options.html and output.suffix.lower() == ".svg":
        parser.error(f"--html writes a page, but {output.name} is the name of a picture")
    if output.is_dir():
        parser.error(f"cannot write {output}: it is a folder")
    if not output.parent.is_dir():
        parser.error(f"cannot write {output}: there is no folder {output.parent}")
    if not os.access(output if output.exists() else output.parent, os.W_OK):
        parser.error(f"cannot write {output}: permission denied")
    return output


def write(picture: Dot | Page | None, output: Path) -> bool:
    """Write the picture and print where it is; return False if there is none."""
    if picture is None:
        print("taper graph: the program recorded no graph", file=sys.stderr)
        return False
    if isinstance(picture, Page):
        picture.save(output)
        print(f"taper graph: a page of {len(picture.graph):,} nodes in {output}", file=sys.stderr)
        return True
    try:
        text = picture.svg()
    except RuntimeError as error:
        print(f"taper graph: {error}", file=sys.stderr)
        return False
    output.write_text(text, encoding="utf-8")
    print(f"taper graph: {picture.title} in {output}", file=sys.stderr)
    return True
