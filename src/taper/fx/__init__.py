"""`taper.fx`: programs are not captured as graphs; using one of its names raises an error."""

from __future__ import annotations

from typing import Any, NoReturn


class _Absent:
    """A class of PyTorch's that raises when it is called; `isinstance` accepts it."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"torch.fx.{cls.__name__} is not provided, programs run as they are written: use hooks "
            "of modules, or walk the graph of a result (`grad_fn.next_functions`)."
        )


def _absent(name: str) -> Any:
    return type(name, (_Absent,), {"__module__": __name__})


CodeGen = _absent("CodeGen")
Graph = _absent("Graph")
GraphModule = _absent("GraphModule")
Interpreter = _absent("Interpreter")
Node = _absent("Node")
Proxy = _absent("Proxy")
Tracer = _absent("Tracer")
Transformer = _absent("Transformer")
has_side_effect = _absent("has_side_effect")
map_arg = _absent("map_arg")
replace_pattern = _absent("replace_pattern")
symbolic_trace = _absent("symbolic_trace")


def wrap(fn_or_name: Any) -> Any:
    """Return the function itself: nothing is traced.

    >>> import taper
    >>> taper.fx.wrap(len) is len
    True
    """
    return fn_or_name
