"""What nodes of a transformed graph remember of the nodes they come from.

Owns: the entries that new nodes get in `meta` during a block.
"""

from __future__ import annotations

import traceback as _traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = [
    "annotate",
    "annotate_fn",
    "format_stack",
    "get_current_meta",
    "get_current_replay_node",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "reset_grad_fn_seq_nr",
    "set_current_meta",
    "set_current_replay_node",
    "set_grad_fn_seq_nr",
    "set_stack_trace",
]

current_meta: dict[str, Any] = {}
current_replay_node: Any = None
should_preserve_node_meta = False


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Give new nodes the entries of the node that is being run, during the block.

    >>> from taper.fx import traceback
    >>> with traceback.preserve_node_meta():
    ...     traceback.has_preserved_node_meta()
    True
    """
    global current_meta, should_preserve_node_meta
    before = should_preserve_node_meta, current_meta
    should_preserve_node_meta, current_meta = enable, current_meta.copy()
    try:
        yield
    finally:
        should_preserve_node_meta, current_meta = before


def has_preserved_node_meta() -> bool:
    """Return whether new nodes get the entries of the node that is being run.

    >>> from taper.fx import traceback
    >>> traceback.has_preserved_node_meta()
    False
    """
    return should_preserve_node_meta


def set_stack_trace(stack: list[str]) -> None:
    """Say which lines new nodes come from; only while entries are preserved."""
    if should_preserve_node_meta and stack:
        current_meta["stack_trace"] = "".join(stack)


def set_grad_fn_seq_nr(seq_nr: int) -> None:
    """Say which node of autograd is being run; only while entries are preserved."""
    if should_preserve_node_meta:
        earlier = current_meta.setdefault("grad_fn_seq_nr", [])
        current_meta["grad_fn_seq_nr"] = [*earlier, seq_nr]
        current_meta["in_grad_fn"] = current_meta.get("in_grad_fn", 0) + 1


def reset_grad_fn_seq_nr() -> None:
    """Say that a node of autograd has been run."""
    if should_preserve_node_meta and current_meta.get("in_grad_fn", 0) > 0:
        current_meta["in_grad_fn"] -= 1
        current_meta["grad_fn_seq_nr"] = current_meta["grad_fn_seq_nr"][:-1]
        if not current_meta["in_grad_fn"]:
            del current_meta["in_grad_fn"], current_meta["grad_fn_seq_nr"]


def format_stack() -> list[str]:
    """Return the lines that new nodes come from.

    >>> from taper.fx import traceback
    >>> "format_stack" in traceback.format_stack()[-1]
    True
    """
    if should_preserve_node_meta:
        return [current_meta.get("stack_trace", "")]
    return _traceback.format_list(_traceback.extract_stack()[:-1])


@contextmanager
def set_current_meta(node: Any, pass_name: str = "") -> Iterator[None]:
    """Give new nodes the entries of a node during the block, while entries are preserved."""
    global current_meta
    if not (should_preserve_node_meta and node.meta):
        yield
        return
    before = current_meta
    current_meta = node.meta.copy()
    current_meta["from_node"] = [*current_meta.get("from_node", []), (node.name, node.target)]
    try:
        yield
    finally:
        current_meta = before


def get_current_meta() -> dict[str, Any]:
    """Return the entries that new nodes get.

    >>> from taper.fx import traceback
    >>> traceback.get_current_meta()
    {}
    """
    return current_meta


@contextmanager
def set_current_replay_node(node: Any) -> Iterator[None]:
    """Say which node an Interpreter runs, during the block."""
    global current_replay_node
    before, current_replay_node = current_replay_node, node
    try:
        yield
    finally:
        current_replay_node = before


def get_current_replay_node() -> Any:
    """Return the node that an Interpreter runs.

    >>> from taper.fx import traceback
    >>> traceback.get_current_replay_node() is None
    True
    """
    return current_replay_node


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Give new nodes entries of one's own, under `meta["custom"]`, while entries are preserved."""
    global current_meta
    before = current_meta
    custom = {**current_meta.get("custom", {}), **annotation_dict}
    current_meta = {**current_meta, "custom": custom}
    try:
        yield
    finally:
        current_meta = before


def annotate_fn(annotation_dict: dict[str, Any]) -> Callable[[Any], Any]:
    """Return a decorator: `annotate` during every call of a function.

    >>> from taper.fx import traceback
    >>> @traceback.annotate_fn({"stage": 1})
    ... def stage(x):
    ...     return x + 1
    >>> stage(1)
    2
    """
    # late: few programs ask
    import functools

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def annotated(*args: Any, **kwargs: Any) -> Any:
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return annotated

    return decorate
