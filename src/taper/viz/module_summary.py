"""`taper.viz.summary`: the layers of a model as a table, as torchinfo prints it.

Owns the arguments and the table.  What is in it is measured by `trial` and arranged by `layers`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from html import escape
from math import prod
from typing import Any

from taper import dtypes as all_dtypes
from taper.device import device as devices
from taper.nn.modules.module import Module
from taper.ops.random.draws import rand
from taper.random import fork_rng
from taper.tensor import Tensor
from taper.utils._pytree import tree_leaves, tree_map
from taper.viz.layers import Layer, called_layers, registered_layers
from taper.viz.notebook import card, table
from taper.viz.trial import run_model

__all__ = ["ModuleSummary", "summary"]

_HEADS = {
    "kernel_size": "Kernel Shape",
    "input_size": "Input Shape",
    "output_size": "Output Shape",
    "num_params": "Param #",
    "params_percent": "Param %",
    "mult_adds": "Mult-Adds",
    "output_bytes": "Output bytes",
    "saved_bytes": "Saved bytes",
    "forward_time": "Forward",
    "backward_time": "Backward",
    "trainable": "Trainable",
}
_OF_A_CALL = frozenset(_HEADS) - {"kernel_size", "num_params", "params_percent", "trainable"}
_DEFAULT = ("output_size", "num_params", "mult_adds", "forward_time", "backward_time")
_ROW_SETTINGS = ("ascii_only", "depth", "var_names")
_NONE = "--"


class ModuleSummary:
    """The table that `summary` returns; `print` shows it, a notebook too.

    Attributes:
        layers: a `Layer` for each row, also for those below the depth that is shown.
        total_params, trainable_params: elements of the parameters, each counted once.
        total_mult_adds: multiply-adds of a forward pass.
        total_input, total_output_bytes, total_param_bytes: bytes of the inputs, of what layers with
            parameters return (twice: there is a gradient of each), and of the parameters.
        saved_bytes: what a forward pass keeps for its backward.
        forward_time, backward_time: seconds of the whole; None if they were not measured.

    >>> import taper
    >>> model = taper.nn.Sequential(taper.nn.Linear(3, 2), taper.nn.ReLU())
    >>> found = taper.viz.summary(model, (5, 3), verbose=0)
    >>> found.total_params, found.total_mult_adds, [each.class_name for each in found.layers]
    (8, 40, ['Sequential', 'Linear', 'ReLU'])
    """

    def __init__(self, top: Layer, inputs: list[Tensor], columns: Sequence[str]) -> None:
        self.layers = tuple(top)
        self.input_size = [tuple(each.shape) for each in inputs]
        self.called = top.output_size is not None or top.input_size is not None
        self.total_params, self.trainable_params = top.num_params, top.trainable_params
        self.total_param_bytes = top.param_bytes
        self.total_mult_adds = top.mult_adds
        self.total_input = sum(each.nbytes for each in inputs)
        weighed = [each for each in self.layers if not each.children and each.num_params]
        self.total_output_bytes = 2 * sum(each.output_bytes for each in weighed)
        self.saved_bytes = top.saved_bytes
        self.forward_time, self.backward_time = top.forward_time, top.backward_time
        self._columns = tuple(columns)
        self._depth, self._width = 3, 0
        self._rows: tuple[str, ...] = ("depth",)
        self._parameters = False

    def shown(
        self, depth: int, width: int | None, rows: Sequence[str], parameters: bool
    ) -> ModuleSummary:
        """Set how the table looks, and return it."""
        self._depth, self._width, self._rows = depth, width or 0, tuple(rows)
        self._parameters = parameters
        return self

    def to_json(self) -> dict[str, Any]:
        """Return everything as dicts, lists, texts and numbers."""
        layers = [asdict(each) for each in self.layers]
        for each in layers:
            del each["children"]
        names = ["total_params", "trainable_params", "total_mult_adds", "total_input"]
        names += ["total_output_bytes", "total_param_bytes", "saved_bytes"]
        names += ["forward_time", "backward_time", "input_size"]
        return {**{name: getattr(self, name) for name in names}, "layers": layers}

    # --- as text --------------------------------------------------------------------------------

    def __str__(self) -> str:
        table = self._table()
        widths = [max(map(len, column)) + 2 for column in zip(*table, strict=True)]
        widths = [max(widths[0], 41), *(max(each, self._width) for each in widths[1:])]
        lines = [
            "".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in table
        ]
        rule = "=" * max(*(len(line) for line in lines), 65)
        parts = [lines[0], "\n".join(lines[1:]), "\n".join(self._totals())]
        if self.called:
            parts.append("\n".join(self._sizes()))
        return rule + "\n" + "".join(f"{part}\n{rule}\n" for part in parts).rstrip("\n")

    __repr__ = __str__

    def _table(self) -> list[list[str]]:
        """Return the cells of the head and of all rows that are shown."""
        named = " (var_name)" if "var_names" in self._rows else ""
        numbered = ":depth-idx" if "depth" in self._rows else ""
        table = [[f"Layer (type{named}{numbered})", *(_HEADS[each] for each in self._columns)]]
        for layer in self.layers:
            if layer.depth <= self._depth:
                cut = layer.depth == self._depth
                cells = [_cell(layer, each, cut, self.total_params) for each in self._columns]
                table.append([self._name(layer), *cells])
                if self._parameters and (cut or not layer.children):
                    table += self._parameter_rows(layer)
        return table

    def _branch(self, depth: int) -> str:
        if depth == 0:
            return ""
        if "ascii_only" in self._rows:
            return "    " * (depth - 1) + "+ "
        return "├─" if depth == 1 else "│    " * (depth - 1) + "└─"

    def _name(self, layer: Layer) -> str:
        name = layer.class_name
        if "var_names" in self._rows:
            name += f" ({layer.var_name})"
        if "depth" in self._rows and layer.depth:
            name += f": {layer.depth}-{layer.depth_index}"
        return self._branch(layer.depth) + name

    def _parameter_rows(self, layer: Layer) -> list[list[str]]:
        rows = []
        for name, shape in layer.parameters:
            cells = dict.fromkeys(self._columns, "")
            cells.update(num_params=f"└─{prod(shape):,}", kernel_size=str(list(shape)))
            shown = [cells[each] for each in self._columns]
            rows.append([self._branch(layer.depth + 1) + name, *shown])
        return rows

    def _totals(self) -> list[str]:
        lines = [
            f"Total params: {self.total_params:,}",
            f"Trainable params: {self.trainable_params:,}",
            f"Non-trainable params: {self.total_params - self.trainable_params:,}",
        ]
        if self.layers[0].is_lazy:
            lines[0] += " (without lazy ones, whose sizes a first call decides)"
        if self.called:
            lines.append(f"Total mult-adds{_counted(self.total_mult_adds)}")
        return lines

    def _sizes(self) -> list[str]:
        total = self.total_input + self.total_output_bytes + self.total_param_bytes
        unit, name = next(each for each in _UNITS if max(total, self.saved_bytes, 1) >= each[0])
        rows = {
            "Input size": self.total_input,
            "Forward/backward pass size": self.total_output_bytes,
            "Params size": self.total_param_bytes,
            "Estimated Total Size": total,
            "Saved for backward": self.saved_bytes,
        }
        digits = 0 if unit == 1 else 2
        lines = [f"{title} ({name}): {size / unit:.{digits}f}" for title, size in rows.items()]
        for title, seconds in (
            ("Forward", self.forward_time),
            ("Backward", self.backward_time),
        ):
            if seconds is not None:
                lines.append(f"{title} time: {_time(seconds)}")
        return lines

    def _repr_html_(self) -> str:
        head, *rows = self._table()
        parts = [f"<div style='overflow-x:auto'>{table(head, rows)}</div>"]
        below = self._totals() + (self._sizes() if self.called else [])
        parts.append(f"<div>{'<br>'.join(map(escape, below))}</div>")
        return card("", *parts)


_UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"), (1, "bytes"))


def _counted(count: int) -> str:
    for unit, name in ((10**12, "T"), (10**9, "G"), (10**6, "M")):
        if count >= unit:
            return f" ({name}): {count / unit:.2f}"
    return f": {count:,}"


def _time(seconds: float | None) -> str:
    if not seconds:
        return _NONE
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}" if seconds < 1000 * unit else f"{seconds:.0f} s"
    return f"{seconds * 1e6:.3g} us"


def _cell(layer: Layer, column: str, cut: bool, total: int) -> str:
    """Return what a row shows; `cut` is a row whose inner rows are not shown."""
    whole = cut or not layer.children
    params = layer.num_params if whole else layer.leftover_params
    if column in ("num_params", "params_percent"):
        if layer.is_lazy and not layer.num_params:
            return "(lazy)"
        if not params:
            return _NONE
        if layer.recursive:
            return "(recursive)"
        if column == "params_percent":
            return f"{params / total:.2%}"
        return f"{params:,}" if layer.trainable_params else f"({params:,})"
    if column in ("input_size", "output_size", "kernel_size"):
        size = getattr(layer, column)
        return _NONE if size is None else str(list(size) if isinstance(size, tuple) else size)
    if column in ("forward_time", "backward_time"):
        return _time(getattr(layer, column))
    if column == "trainable":
        return layer.trainable
    value = getattr(layer, column)
    if not whole and column == "mult_adds":
        value -= sum(each.mult_adds for each in layer.children)
    return f"{value:,}" if value else _NONE


# --- what users call ---------------------------------------------------------------------------


def summary(
    model: Module,
    input_size: Any = None,
    input_data: Any = None,
    batch_dim: int | None = None,
    *,
    col_names: Iterable[str] | None = None,
    col_width: int | None = None,
    depth: int = 3,
    device: Any = None,
    dtypes: Sequence[Any] | None = None,
    mode: str = "eval",
    row_settings: Iterable[str] = ("depth",),
    verbose: int | None = None,
    **kwargs: Any,
) -> ModuleSummary:
    """Print the layers of a model: shapes, parameters, multiply-adds, times, as torchinfo does.

    The model runs forward and backward on the input and is left as it was: modes, gradients,
    hooks, running statistics and random numbers, also if the run fails.

    Args:
        model: the module.
        input_size: the shape of the input with its batch, or a list of shapes; random numbers in
            [0, 1) are the data.  Tensors are taken as `input_data`.
        input_data: a tensor, a list of arguments or a dict of named ones.  Without any input the
            model is not run, and the table has only parameters.
        batch_dim: a dimension of 1 is put into the sizes here.
        col_names: of `input_size`, `output_size`, `num_params`, `params_percent`, `kernel_size`,
            `mult_adds`, `trainable`, `output_bytes`, `saved_bytes`, `forward_time` and
            `backward_time`.
        col_width: the least width of a column.
        depth: how deep nested layers are shown.
        device: where the input is made.
        dtypes: the dtype of each input that is made from a size.
        mode: "eval", "train", or "same" for the mode that each layer has.
        row_settings: of `depth`, `var_names` and `ascii_only`.
        verbose: 0 prints nothing, 1 the table, 2 the parameters of each layer too; by default 1,
            and 0 at a prompt, which shows the result itself.
        kwargs: further named arguments of the model.

    Returns: a `ModuleSummary`.

    Differs from torchinfo: a Linear layer counts multiply-adds at every position of its input, not
    only for every sample, attention and functions that a forward calls are counted, looking up an
    embedding is not; shared parameters are counted once.

    >>> import taper
    >>> from taper import nn, viz
    >>> model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    >>> columns = ("output_size", "num_params", "mult_adds")
    >>> _ = viz.summary(model, (5, 4), col_names=columns)
    =========================================================================
    Layer (type:depth-idx)                   Output Shape  Param #  Mult-Adds
    =========================================================================
    Sequential                               [5, 3]        --       --
    ├─Linear: 1-1                            [5, 8]        40       200
    ├─Tanh: 1-2                              [5, 8]        --       --
    ├─Linear: 1-3                            [5, 3]        27       135
    =========================================================================
    Total params: 67
    Trainable params: 67
    Non-trainable params: 0
    Total mult-adds: 335
    =========================================================================
    Input size (bytes): 80
    Forward/backward pass size (bytes): 440
    Params size (bytes): 268
    Estimated Total Size (bytes): 788
    Saved for backward (bytes): 240
    =========================================================================
    """
    if not isinstance(model, Module):
        raise TypeError(f"summary: expected a module, got {type(model).__name__}")
    if _tensors(input_size):
        if input_data is not None:
            kind = type(input_size).__name__
            raise TypeError(f"summary: expected sizes for 'input_size', got {kind} of tensors")
        input_size, input_data = None, input_size
    if input_size is not None and input_data is not None:
        raise RuntimeError("summary: give one of input_size and input_data, not both")
    called = input_size is not None or input_data is not None or bool(kwargs)
    columns = _checked_columns(col_names, called)
    rows = _checked_rows(row_settings)
    training = _checked_mode(mode)
    if verbose not in (None, 0, 1, 2):
        raise ValueError(f"summary: verbose must be 0, 1 or 2, got {verbose!r}")
    if called:
        with fork_rng():
            args, named = _arguments(input_size, input_data, batch_dim, dtypes, device)
        named.update(kwargs)
        timed = bool({"forward_time", "backward_time"}.intersection(columns))
        root = run_model(model, args, named, training, timed)
        found = ModuleSummary(called_layers(root), _tensors((args, named)), columns)
    else:
        found = ModuleSummary(registered_layers(model), [], columns)
    found.shown(depth, col_width, rows, verbose == 2)
    if verbose is None:
        verbose = 0 if _at_a_prompt() else 1
    if verbose:
        print(found)
    return found


def _at_a_prompt() -> bool:
    """Whether what a line returns is shown anyway: in a notebook, IPython or Python's prompt."""
    return hasattr(sys, "ps1")


def _checked_columns(names: Iterable[str] | None, called: bool) -> tuple[str, ...]:
    if names is None:
        return _DEFAULT if called else ("num_params",)
    names = (names,) if isinstance(names, str) else tuple(names)
    for name in names:
        if name not in _HEADS:
            raise ValueError(f"summary: there is no column {name!r}; there are {', '.join(_HEADS)}")
        if not called and name in _OF_A_CALL:
            raise ValueError(f"summary: the column {name!r} needs input_size or input_data")
    return names


def _checked_rows(settings: Iterable[str]) -> tuple[str, ...]:
    settings = (settings,) if isinstance(settings, str) else tuple(settings)
    for name in settings:
        if name not in _ROW_SETTINGS:
            raise ValueError(
                f"summary: there is no row setting {name!r}; there are {', '.join(_ROW_SETTINGS)}"
            )
    return settings


def _checked_mode(mode: str) -> bool | None:
    modes = {"eval": False, "train": True, "same": None}
    if mode not in modes:
        raise ValueError(f"summary: mode must be 'eval', 'train' or 'same', got {mode!r}")
    return modes[mode]


def _tensors(value: Any) -> list[Tensor]:
    return [each for each in tree_leaves(value) if isinstance(each, Tensor)]


def _arguments(
    size: Any, data: Any, batch_dim: int | None, dtypes: Sequence[Any] | None, device: Any
) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of the call that sizes or data stand for."""
    place = devices("cpu" if device is None else device)
    if size is not None:
        shapes = _shapes(size)
        kinds = list(dtypes) if dtypes is not None else [all_dtypes.float32] * len(shapes)
        if len(kinds) != len(shapes):
            raise ValueError(f"summary: {len(shapes)} sizes need {len(shapes)} dtypes")
        return [_made(*each, batch_dim, place) for each in zip(shapes, kinds, strict=True)], {}

    if data is None:
        return [], {}

    def moved(each: Any) -> Any:
        if not isinstance(each, Tensor):
            return each
        if batch_dim is not None:
            each = each.unsqueeze(batch_dim)
        return each if device is None else each.to(place)

    data = tree_map(moved, data)
    if isinstance(data, Mapping):
        return [], dict(data)
    return (list(data), {}) if isinstance(data, list | tuple) else ([data], {})


def _shapes(size: Any) -> list[tuple[int, ...]]:
    """Return the shapes that `input_size` names: one, or one for each argument."""
    one = all(isinstance(each, int | float) for each in size)
    found = [size] if one else list(size)
    for shape in found:
        numbers = isinstance(shape, list | tuple) and all(isinstance(each, int) for each in shape)
        if not numbers or not shape or min(shape) < 0:
            raise ValueError(f"summary: not a size of an input: {shape!r}")
    return [tuple(shape) for shape in found]


def _made(shape: tuple[int, ...], dtype: Any, batch_dim: int | None, place: Any) -> Tensor:
    if batch_dim is not None:
        shape = (*shape[:batch_dim], 1, *shape[batch_dim:])
    made: Tensor = rand(shape, device=place).to(dtype)
    return made
