"""`taper graph`: the picture of a program's last autograd graph, without a change to the program.

Owns: watching the program for graphs.  A backward pass frees what its graph has saved, so the
picture is taken, as text, when the pass begins.  If no pass begins, it is taken at the end, of the
last recorded tensor.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import taper
from taper import Tensor, autograd
from taper.autograd import interception
from taper.commands.program import add_program, check_program, start
from taper.nn import Module
from taper.viz import Dot, make_dot

# How often the memory is searched for names of parameters, which takes 10 ms.
MOST_SEARCHES = 20


class Watch:
    """Keeps the picture of the last graph that a backward pass started from."""

    def __init__(self, saved: bool, attributes: bool) -> None:
        self.options = {"show_saved": saved, "show_attrs": attributes}
        self.picture: Dot | None = None
        self.last: Tensor | None = None
        self.names: dict[str, Tensor] = {}
        self.searches = 0

    def install(self) -> None:
        """Watch the backward passes of the program and, until the first one, its operators."""
        interception.push(self.see_operator)
        Tensor.backward = self._seeing(Tensor.backward)  # type: ignore[method-assign]
        autograd.backward = self._seeing(autograd.backward)
        autograd.grad = self._seeing(autograd.grad)

    def _seeing(self, run: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(run)
        def backward(*args: Any, **kwargs: Any) -> Any:
            self.take(args[0] if args else kwargs.get("tensors", kwargs.get("outputs", ())))
            return run(*args, **kwargs)

        return backward

    def see_operator(self, call: Any, run: Callable[[], Any]) -> Any:
        """Remember the result of an operator if it is recorded."""
        result = run()
        for each in result if isinstance(result, tuple) else (result,):
            if isinstance(each, Tensor) and each.requires_grad:
                self.last = each
        return result

    def take(self, root: Any) -> None:
        """Draw the graph of one tensor or several, if they have one."""
        tensors = [root] if isinstance(root, Tensor) else list(root)
        tensors = [each for each in tensors if isinstance(each, Tensor) and each.requires_grad]
        if not tensors:
            return
        if self.last is not None:  # there was a backward pass: only graphs of passes count
            self.last = None
            interception.pop(self.see_operator)
        if self.searches < MOST_SEARCHES:
            self.searches += 1
            self.names = _names_in_memory()
        # A freed graph has no saved values to draw; the pass itself will raise the error.
        with contextlib.suppress(RuntimeError):
            self.picture = make_dot(tuple(tensors), params=self.names, **self.options)

    def finish(self) -> Dot | None:
        """Return the picture, if the program has recorded anything."""
        if self.picture is None and self.last is not None:
            self.take(self.last)
        return self.picture


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
        usage="taper graph [-h] [--output FILE] [--saved] [--attrs] "
        "(SCRIPT | -m MODULE) [ARGS ...]",
        description="Run a program as `taper run` does and draw (SVG) the graph of the last tensor "
        "that a backward pass began on, or without one of the last tensor that was recorded.",
        epilog="exit code: the program's own; 1 if it recorded no graph. "
        "Example: taper graph --output loss.svg train.py --epochs 1",
        allow_abbrev=False,
    )
    parser.add_argument("--output", metavar="FILE", help="file to write (default: SCRIPT.svg)")
    parser.add_argument("--saved", action="store_true", help="show what is saved for backward, too")
    parser.add_argument("--attrs", action="store_true", help="list what each function keeps")
    add_program(parser)
    options = parser.parse_args(argv)
    check_program(parser, options)
    name = options.module[0] if options.module else Path(options.script[0]).stem
    output = Path(options.output or f"{name}.svg").absolute()
    watch = Watch(options.saved, options.attrs)
    watch.install()
    try:
        code = start(options.module, options.script)
    except SystemExit:
        write(watch.finish(), output)
        raise
    written = write(watch.finish(), output)
    return int(code or not written)


def write(picture: Dot | None, output: Path) -> bool:
    """Write the picture and print where it is; return False if there is none."""
    if picture is None:
        print("taper graph: the program recorded no graph", file=sys.stderr)
        return False
    with taper.no_grad():
        output.write_text(picture.svg(), encoding="utf-8")
    print(f"taper graph: {picture.title} in {output}", file=sys.stderr)
    return True
