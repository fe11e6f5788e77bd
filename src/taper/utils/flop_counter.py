"""`FlopCounterMode`: the floating-point operations of matrix products and convolutions.

Owns: the formulas, the counts by module, their table.  A `TorchDispatchMode` sees the operators,
forward and backward.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from taper.ops.identity import aten
from taper.tensor import Tensor
from taper.utils._python_dispatch import TorchDispatchMode
from taper.utils._pytree import tree_map
from taper.utils.module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

Shape = Sequence[int]
flop_registry: dict[Any, Callable[..., int]] = {}


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[..., Any]:
    """Let a function count for operators; it gets the shapes of the arguments, and `out_shape`.

    With `get_raw=True` it gets the arguments themselves, and `out_val`.

    >>> import taper
    >>> from taper.utils.flop_counter import flop_registry, register_flop_formula
    >>> @register_flop_formula(taper.ops.aten.sin)
    ... def sin_flop(shape, *arguments, out_shape=None):
    ...     return 10 * shape.numel()
    >>> del flop_registry[taper.ops.aten.sin]
    """

    def register(formula: Callable[..., int]) -> Callable[..., int]:
        for target in targets if isinstance(targets, (list, tuple)) else (targets,):
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = formula if get_raw else _of_shapes(formula)
        return formula

    return register


def _shape(value: Any) -> Any:
    return value.shape if isinstance(value, Tensor) else value


def _of_shapes(formula: Callable[..., int]) -> Callable[..., int]:
    def count(*arguments: Any, out_val: Any = None, **options: Any) -> int:
        args, kwargs, out = tree_map(_shape, (arguments, options, out_val))
        return formula(*args, out_shape=out, **kwargs)

    return count


# --- formulas ----------------------------------------------------------------------------------


@register_flop_formula(aten.mm)
def mm_flop(
    a_shape: Shape, b_shape: Shape, *args: Any, out_shape: Any = None, **kwargs: Any
) -> int:
    """Count a product and a sum for each element of each row with each column."""
    m, k = a_shape
    return m * b_shape[1] * 2 * k


@register_flop_formula(aten.addmm)
def addmm_flop(self_shape: Shape, a_shape: Shape, b_shape: Shape, **kwargs: Any) -> int:
    """Count as `mm_flop`: the sum is not counted."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape: Shape, b_shape: Shape, out_shape: Any = None, **kwargs: Any) -> int:
    """Count as `mm_flop`, for each pair of the batch."""
    return a_shape[0] * mm_flop(a_shape[1:], b_shape[1:])


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(self_shape: Shape, a_shape: Shape, b_shape: Shape, **kwargs: Any) -> int:
    """Count as `bmm_flop`: the sum is not counted."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(
    x_shape: Shape, w_shape: Shape, out_shape: Shape, transposed: bool = False
) -> int:
    """Count a convolution; a transposed one spreads each input place."""
    places = (x_shape if transposed else out_shape)[2:]
    return prod(places) * x_shape[0] * prod(w_shape) * 2


@register_flop_formula(aten.convolution)
def conv_flop(
    x_shape: Shape,
    w_shape: Shape,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    *args: Any,
    out_shape: Any = None,
    **kwargs: Any,
) -> int:
    """Count as `conv_flop_count`."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed)


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(
    grad_out_shape: Shape,
    x_shape: Shape,
    w_shape: Shape,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: Any,
    output_mask: Sequence[bool],
    out_shape: Any = None,
) -> int:
    """Count the convolutions for the gradients of input and weight, each if it is wanted."""

    def turned(shape: Shape) -> list[int]:
        return [shape[1], shape[0], *shape[2:]]

    count = 0
    if output_mask[0]:
        count += conv_flop_count(grad_out_shape, w_shape, x_shape, not transposed)
    if output_mask[1]:
        one, other = (grad_out_shape, x_shape) if transposed else (x_shape, grad_out_shape)
        count += conv_flop_count(turned(one), turned(other), turned(w_shape))
    return count


def sdpa_flop_count(query_shape: Shape, key_shape: Shape, value_shape: Shape) -> int:
    """Count the two batched products of attention."""
    b, h, s_q, d_q = query_shape
    s_k, d_v = key_shape[-2], value_shape[-1]
    scores = bmm_flop((b * h, s_q, d_q), (b * h, d_q, s_k))
    return scores + bmm_flop((b * h, s_q, s_k), (b * h, s_k, d_v))


# --- counting ----------------------------------------------------------------------------------


class FlopCounterMode:
    """Count the matrix products and convolutions in a block, forward and backward.

    The counts are printed by module at the end, unless `display=False`.  As in PyTorch on the CPU,
    attention in one operator and recurrent layers are not counted.

    >>> import taper
    >>> from taper.utils.flop_counter import FlopCounterMode
    >>> with FlopCounterMode(display=False) as counter:
    ...     _ = taper.ones(3, 4) @ taper.ones(4, 5)
    >>> counter.get_total_flops()
    120
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        if mods is not None:
            warnings.warn(
                "mods argument is not needed anymore, you can stop passing it", stacklevel=2
            )
        self.depth = depth
        self.display = display
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.flop_registry = {**flop_registry}
        for target, formula in (custom_mapping or {}).items():
            raw = getattr(formula, "_get_raw", False)
            self.flop_registry[target] = formula if raw else _of_shapes(formula)
        self.mod_tracker = ModuleTracker()
        self.mode = _Watch(self)

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self.mode.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.mode.__exit__(*error)
        self.mod_tracker.__exit__(*error)
        if self.display:
            print(self.get_table(self.depth))

    def count(self, packet: Any, result: Any, args: Any, kwargs: dict[str, Any]) -> None:
        """Add what an operator costs to the modules that are running."""
        if packet in self.flop_registry:
            cost = self.flop_registry[packet](*args, **kwargs, out_val=result)
            for name in self.mod_tracker.parents:
                self.flop_counts[name][packet] += cost

    # --- answers -------------------------------------------------------------------------------

    def get_total_flops(self) -> int:
        """Return the total count."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Return the counts of each operator, for each module."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Return the counts as a table, of modules down to `depth`."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        unit = _UNITS[min(max((len(str(total)) - 2) // 3, 0), len(_UNITS) - 1)]
        rows: list[list[str]] = []
        names = [name for name in sorted(self.flop_counts) if name != "Global"]
        # A single root says the same as "Global".
        if not any(sum(self.flop_counts[name].values()) == total for name in names) or depth == 0:
            names = ["Global", *names]
            outer = 1
        else:
            outer = 0
        for name in names:
            level = 0 if name == "Global" else name.count(".") + 1
            if level > depth:
                continue
            rows += self._rows(name, max(level - 1 + outer, 0), total, unit)
        return _table(rows or [["Global", "0.000", "0%"]])

    def _rows(self, name: str, indent: int, total: int, unit: tuple[int, str]) -> list[list[str]]:
        counts = self.flop_counts[name]
        lines = [(name, sum(counts.values()))]
        lines += [(f" - {packet}", count) for packet, count in counts.items()]
        return [
            [
                " " * indent + text,
                f"{count / unit[0]:.3f}{unit[1]}",
                f"{count / total:.2%}" if total else "0%",
            ]
            for text, count in lines
        ]


class _Watch(TorchDispatchMode):
    """See the operators that a counter counts."""

    def __init__(self, counter: FlopCounterMode) -> None:
        super().__init__()
        self.counter = counter

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        self.counter.count(func.overloadpacket, result, args, kwargs or {})
        return result


_UNITS = [(1, ""), (1_000, "K"), (1_000_000, "M"), (10**9, "B"), (10**12, "T")]


def _table(rows: list[list[str]]) -> str:
    heads = ["Module", "FLOP", "% Total"]
    widths = [
        max(len(head) + 2, *(len(row[number]) for row in rows)) for number, head in enumerate(heads)
    ]

    def line(cells: list[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        parts = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
        return "  ".join(parts)

    return "\n".join([line(heads), line(["-" * width for width in widths]), *map(line, rows)])
