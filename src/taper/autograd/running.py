"""Questions about the backward pass that runs on this thread (§E27, §G17): its id, its nodes.

Checkpointing and other tools ask them from hooks.  Knows the engine; the engine does not know this
module.
"""

from __future__ import annotations

import itertools
import threading
from heapq import heappop, heappush
from typing import Any

from taper.autograd.accumulate import AccumulateGrad
from taper.autograd.engine import GraphTask, count_incoming
from taper.autograd.node import Node
from taper.autograd.state import local


class _Group(threading.local):
    value: Any = None


_group = _Group()


def get_graph_exec_group() -> Any:
    """Return what `set_graph_exec_group` set on this thread: passes that belong together (§P11)."""
    return _group.value


def set_graph_exec_group(group: Any) -> None:
    """Set the group that the passes of this thread belong to from now on; None for no group."""
    _group.value = group


def current_graph_task_id() -> int:
    """Return the number of the running pass, -1 outside of one.

    >>> import taper
    >>> taper._C._current_graph_task_id()
    -1
    """
    task = local.state.graph_task
    return -1 if task is None else task.id


def current_autograd_node() -> Any:
    """Return the node that is running, None outside of a pass."""
    return local.state.current_node


def keeps_graph() -> bool:
    """Return whether the running pass keeps saved values; True outside of one."""
    task = local.state.graph_task
    return True if task is None else task.keep_graph


def will_engine_execute_node(node: Any) -> bool:
    """Return whether the running pass runs `node`, or has run it.

    A pass for some inputs also counts the nodes of these inputs, though they need not run.
    """
    if not isinstance(node, Node):
        raise RuntimeError(
            f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}"
        )
    task = local.state.graph_task
    if task is None:
        raise RuntimeError(
            "_get_should_execute_nodes should only be called during the backward pass"
        )
    if isinstance(node, AccumulateGrad) and not task.accumulate and node in task.wanted:
        raise RuntimeError(
            "A leaf node was passed to _will_engine_execute_node but we are currently running "
            "autograd.grad(). This is currently not supported."
        )
    will_run: bool = task.will_run(node)
    return will_run


def current_graph_task_execution_order() -> list[Node]:
    """Return the nodes of the running pass in the order in which it runs them."""
    state = local.state
    if state.graph_task is None:
        raise RuntimeError(
            "_current_graph_task_execution_order should only be called during the backward pass"
        )
    if state.multithreading:
        raise RuntimeError(
            "get_current_graph_task_execution_order expects the current backward to be executed "
            "with multithreading disabled, e.g. by running:\n\n"
            ">>> with torch.autograd.set_multithreading_enabled(False):\n"
            "...     torch.autograd.grad(...)\n"
        )
    return _order(state.graph_task)


def _order(task: GraphTask) -> list[Node]:
    """Order nodes as the engine's loop does with its heap, without running anything (I3)."""
    roots = list(dict.fromkeys(node for node, _, _ in task.roots))
    missing = count_incoming(roots)
    tick = itertools.count()
    ready: list[tuple[int, int, Node]] = []
    for node in roots:
        if not missing[node]:
            heappush(ready, (-node._sequence, next(tick), node))
    order = []
    while ready:
        node = heappop(ready)[2]
        order.append(node)
        for following, _ in node.next_functions:
            if following is not None:
                missing[following] -= 1
                if not missing[following] and task.will_run(following):
                    heappush(ready, (-following._sequence, next(tick), following))
    return order
