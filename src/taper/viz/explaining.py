"""`taper.explain`: why a tensor has or lacks a gradient, how one flows, and what an error means.

Owns: the sentences.  What they say is read where it is recorded: lines in nodes, reasons in `cuts`,
sizes on a tape, memory in `memory`.
"""

from __future__ import annotations

import html
import math
from typing import Any

from taper.autograd.callers import Holders, module_of, origin, path_of
from taper.autograd.callers import holders_of as modules_that_hold
from taper.autograd.cuts import cut_of, explanation
from taper.autograd.node import FREED
from taper.autograd.provenance import describe
from taper.autograd.views import requires_grad
from taper.nn.parameter import Parameter
from taper.tensor import Tensor
from taper.viz.errors import words_for
from taper.viz.holders import holders_of
from taper.viz.memory import leaves_of, pieces, size
from taper.viz.paths import LONG, path, table, verdict
from taper.viz.reading import dtype_name, saved_values
from taper.viz.summaries import Summary, number
from taper.viz.tape import names_of_callers, walk

__all__ = ["Explanation", "explain"]


class Explanation:
    """An answer in plain words: `str` gives the text, a notebook shows it.

    >>> import taper
    >>> taper.explain(taper.ones(2))
    This is a leaf: a float32 tensor of shape (2,) that no recorded operation made.
    It requires no grad: nothing asked for it. Set `requires_grad=True` to get gradients.
    Its `.grad` is None: gradients are only kept for tensors that require grad.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f'<pre style="white-space: pre-wrap">{html.escape(self.text)}</pre>'


def explain(what: Tensor | BaseException, parameter: Tensor | None = None, /) -> Explanation:
    """Explain a tensor, the way of a gradient, or an error, in plain words.

    `explain(tensor)` says what the tensor is, why it requires grad or not and where its history was
    cut, why its `.grad` is None, what its graph keeps in memory and who keeps the graph.
    `explain(loss, parameter)` follows the gradient from the loss to a parameter, or any tensor on
    the way, with its size at each step.  `explain(error)` says what an error means, where in your
    program it happened, and what helps.

    Args:
        what: a tensor, or an exception.
        parameter: a tensor that the gradient of the loss should reach.

    Returns: an `Explanation`; print it.

    Following a gradient runs a backward pass that keeps the graph and leaves every `.grad` alone;
    hooks in the graph run.

    >>> import taper
    >>> w = taper.tensor([1.0, 2.0], requires_grad=True)
    >>> loss = (w * 3).sum()
    >>> print(str(taper.explain(loss, w)).splitlines()[-1])
    It arrives in good health.
    >>> print(str(taper.explain(loss.detach())).splitlines()[1][:52])
    It requires no grad: its history ends at detach() at
    """
    if isinstance(what, BaseException):
        return Explanation(words_for(what))
    if not isinstance(what, Tensor):
        raise TypeError(f"explain: expected a tensor or an exception, got {type(what).__name__}")
    names = names_of_callers()
    if parameter is None:
        return Explanation("\n".join(_tensor(what, names)))
    if not isinstance(parameter, Tensor):
        raise TypeError(
            f"explain: expected a tensor as second argument, got {type(parameter).__name__}"
        )
    return Explanation("\n".join(_way(what, parameter, names)))


# --- one tensor -------------------------------------------------------------------------------


def _tensor(tensor: Tensor, names: dict[int, str]) -> list[str]:
    wanted = requires_grad(tensor)
    lines = [_what_it_is(tensor, names), _why_requires_grad(tensor, names, wanted)]
    lines.append(_why_grad(tensor, names, wanted))
    if tensor._grad_fn is not None:
        lines += _graph(tensor)
    return lines


def _called(tensor: Tensor, names: dict[int, str], otherwise: str) -> str:
    name = names.get(id(tensor))
    return f"`{name}`" if name else otherwise


def _what_it_is(tensor: Tensor, names: dict[int, str]) -> str:
    array = tensor._array
    called = _called(tensor, names, "This")
    shape = f"{dtype_name(array.dtype)} tensor of shape {tuple(array.shape)}"
    node = tensor._grad_fn
    if node is not None:
        view = ", a view of another tensor," if tensor._view is not None else ""
        return f"{called} is a {shape}{view} computed by {node._class_name()} {origin(node)}"
    kind = shape.replace("tensor", "Parameter") if isinstance(tensor, Parameter) else shape
    return f"{called} is a leaf: a {kind} that no recorded operation made."


def _why_requires_grad(tensor: Tensor, names: dict[int, str], wanted: bool) -> str:
    if wanted and tensor._grad_fn is None:
        return "It requires grad: its `requires_grad` is set."
    if wanted:
        _, numbers = walk([tensor._grad_fn])
        leaves = [name for key, name in names.items() if key in numbers]  # nodes have no names
        shown = ", ".join(f"`{name}`" for name in leaves[:5])
        more = f" and {len(leaves) - 5} more" if len(leaves) > 5 else ""
        verb = "requires" if len(leaves) == 1 else "require"
        of = f" {shown}{more}, which {verb} grad." if shown else " a tensor that requires grad."
        return f"It requires grad: it was computed from{of}"
    if cut_of(tensor) is not False:
        return f"It requires no grad: {_lower(explanation(tensor).strip())}"
    if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        return f"It requires no grad: {tensor.dtype} has no gradients."
    if isinstance(tensor, Parameter):
        return "It requires no grad: its `requires_grad` was set to False, so it stays as it is."
    return "It requires no grad: nothing asked for it. Set `requires_grad=True` to get gradients."


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _why_grad(tensor: Tensor, names: dict[int, str], wanted: bool) -> str:
    meta = tensor._autograd_meta
    if meta is not None and meta.grad is not None:
        return f"Its `.grad` has the norm {number(Summary(meta.grad).norm)}."
    called = names.get(id(tensor), "it")
    if not wanted:
        return "Its `.grad` is None: gradients are only kept for tensors that require grad."
    if tensor._grad_fn is not None:
        if meta is not None and meta.retains_grad:
            return (
                "Its `.grad` is None: no backward pass has gone through it since `retain_grad()`."
            )
        return (
            "Its `.grad` is None: only leaves keep gradients. "
            f"Call `{called}.retain_grad()` before backward to see this one."
        )
    return (
        "Its `.grad` is None: no backward pass has reached it, or `zero_grad()` has dropped it. "
        "`explain(loss, parameter)` follows the gradient."
    )


def _graph(tensor: Tensor) -> list[str]:
    nodes, numbers = walk([tensor._grad_fn])
    leaves = len(numbers) - len(nodes)
    count = f"Its graph has {_count(len(nodes), 'node')} and {_count(leaves, 'leaf', 'leaves')}"
    if len(nodes) > LONG:
        return [f"{count}: too many to look at each."]
    freed = [node for node in nodes if node._status == FREED]
    if freed:
        place = freed[-1]._freed_at
        return [f"{count}. What they saved was freed by the backward pass at {describe(place[:2])}"]
    held = list(pieces(nodes, leaves_of(nodes)))
    alone = sum(owner.nbytes for _, owner, only in held if only)
    shared = sum(owner.nbytes for _, owner, only in held if not only)
    also = f", and {size(shared)} that others hold too" if shared else ""
    lines = [f"{count}. It keeps {size(alone)} for backward{also}."]
    found = holders_of(tensor)
    if found:
        lines.append(f"The graph lives as long as {' and '.join(found)}.")
    saving = _checkpointing(nodes, held)
    return [*lines, saving] if saving else lines


def _count(number: int, one: str, many: str = "") -> str:
    return f"1 {one}" if number == 1 else f"{number:,} {many or one + 's'}"


def _checkpointing(nodes: list[Any], held: list[tuple[int, Any, bool]]) -> str:
    """Return what checkpointing each block of the model would save; '' if that is little."""
    blocks = _blocks(nodes)
    sizes: dict[str, int] = {}
    for place, owner, alone in held:
        if alone and blocks[place]:
            sizes[blocks[place]] = sizes.get(blocks[place], 0) + owner.nbytes
    kept = 0  # what goes into a block stays
    seen: set[tuple[int, int, str]] = set()
    places = {id(node): place for place, node in enumerate(nodes)}
    for place, node in enumerate(nodes):
        for end, nr in zip(node._edges, node._edge_nrs, strict=True):
            source = places.get(id(end))
            if source is not None and blocks[place] and blocks[source] != blocks[place]:
                key = source, nr, blocks[place]
                if key not in seen:
                    seen.add(key)
                    shape, dtype = end._output_metadata(nr)
                    kept += math.prod(shape) * (0 if dtype is None else dtype.itemsize)
    total = sum(owner.nbytes for _, owner, alone in held if alone)
    saved = sum(sizes.values()) - kept
    if len(sizes) < 2 or saved < total / 10:
        return ""
    names = list(sizes)
    return (
        f"Checkpointing each of {names[0]} ... {names[-1]} ({len(names)} blocks) would keep about "
        f"{size(total - saved)} instead of {size(total)}, and compute their forward twice."
    )


def _blocks(nodes: list[Any]) -> list[str]:
    """Return, for each node, the block of the model that recorded it: `layers.3`, `encoder`."""
    holders: Holders | None = None
    known: dict[int, str] = {}
    found = []
    for node in nodes:
        module = module_of(node)
        if module is None:
            found.append("")
            continue
        if id(module) not in known:
            holders = modules_that_hold(type(module)) if holders is None else holders
            parts = path_of(module, holders).split(".")
            last = next((place for place, part in enumerate(parts) if part.isdigit()), 0)
            known[id(module)] = ".".join(parts[: last + 1])
        found.append(known[id(module)])
    return found


# --- the way of a gradient --------------------------------------------------------------------


def _way(loss: Tensor, target: Tensor, names: dict[int, str]) -> list[str]:
    start, end = _called(loss, names, "the loss"), _called(target, names, "the tensor")
    if not requires_grad(loss):
        return [f"No gradient starts: {_rest(loss, start)}"]
    if not requires_grad(target):
        return [f"No gradient reaches {end}: {_rest(target, 'it')}"]
    if loss._grad_fn is None:
        return [f"{start.capitalize()} is a leaf: its gradient is what backward is given."]
    nodes, numbers = walk([loss._grad_fn])
    if id(target if target._grad_fn is None else target._grad_fn) not in numbers:
        return _not_reached(nodes, start, end)
    if len(nodes) > LONG:
        count = f"{len(nodes):,}"
        return [f"{end} is reached, through a graph of {count} nodes: too many to follow each."]
    freed = [node for node in nodes if node._status == FREED]
    if freed:
        place = describe(freed[-1]._freed_at[:2])
        return [
            f"{end} is reached, but what the graph had saved was freed by the backward pass at "
            f"{place}",
            "Explain before backward, or let backward retain the graph.",
        ]
    steps = path(loss, target)
    if not steps:
        return [f"{end} is {start} itself: its gradient is 1."]
    plural = "step" if len(steps) == 1 else "steps"
    lines = [f"The gradient of {start} reaches {end} in {len(steps)} {plural}:"]
    return [*lines, *table(steps, start, f"{end}"), verdict(steps)]


def _rest(tensor: Tensor, called: str) -> str:
    words = explanation(tensor).strip()
    return f"{called} requires no grad. {words}"


def _not_reached(nodes: list[Any], start: str, end: str) -> list[str]:
    """Say that a loss was not computed from a tensor, and where histories were cut on the way."""
    lines = [
        f"The gradient of {start} does not reach {end}: {start} was not computed from it, or its "
        "history was cut on the way."
    ]
    cuts: dict[str, None] = {}
    for node in nodes:
        for _, _, value in saved_values(node):
            if isinstance(value, Tensor) and not requires_grad(value):
                if cut_of(value) is not False:
                    user = f"its result was used by {node._class_name()} {origin(node)}"
                    cuts[f"{explanation(value).strip()}\n  {user}"] = None
    if cuts:
        lines.append("Histories that were cut on the way to it:")
        lines += [f"- {each}" for each in list(cuts)[:5]]
    return lines
