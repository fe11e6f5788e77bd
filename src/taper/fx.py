"""`taper.fx`: programs are not captured as graphs; using one of its names raises an error."""

from __future__ import annotations

from typing import Any, NoReturn

_NAMES = """
    CodeGen Graph GraphModule Interpreter Node Proxy Tracer Transformer has_side_effect map_arg
    replace_pattern symbolic_trace
"""


class _Absent:
    """A class of PyTorch's that raises when it is called; `isinstance` accepts it."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"torch.fx.{cls.__name__} is not provided, programs run as they are written: use hooks "
            "of modules, or walk the graph of a result (`grad_fn.next_functions`)."
        )


def wrap(fn_or_name: Any) -> Any:
    """Return the function itself: nothing is traced.

    >>> import taper
    >>> taper.fx.wrap(len) is len
    True
    """
    return fn_or_name


for _name in _NAMES.split():
    globals()[_name] = type(_name, (_Absent,), {"__module__": __name__})

__all__ = [*_NAMES.split(), "wrap"]
