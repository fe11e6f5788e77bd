"""`taper.fx`: programs are not captured as graphs; using one of its names raises an error."""

from __future__ import annotations

from typing import Any

from taper.absent.answers import refused_class, refused_function

_NOT_PROVIDED = (
    "torch.fx.{} is not provided, programs run as they are written: use hooks of modules, or walk "
    "the graph of a result (`grad_fn.next_functions`)."
)
for _name in "CodeGen Graph GraphModule Interpreter Node Proxy Tracer Transformer".split():
    globals()[_name] = refused_class(_name, __name__, _NOT_PROVIDED.format(_name))
for _name in "has_side_effect map_arg replace_pattern symbolic_trace".split():
    globals()[_name] = refused_function(_name, __name__, _NOT_PROVIDED.format(_name))


def wrap(fn_or_name: Any) -> Any:
    """Return the function itself: nothing is traced.

    >>> import taper
    >>> taper.fx.wrap(len) is len
    True
    """
    return fn_or_name
