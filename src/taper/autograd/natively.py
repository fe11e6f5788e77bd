"""The native twins of recording and of the engine, told where nodes and leaves keep what (D7).

Each is None where there is no native module: then the Python beside it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper.arrays.native import native
from taper.autograd.accumulate import lock
from taper.autograd.meta import UNSET, AutogradMeta, nobody
from taper.autograd.node import Node
from taper.autograd.state import State

record: Callable[..., Any] | None = None  # the end of a recorded operation, see `opdef.compiler`
count_incoming: Callable[..., Any] | None = None  # see `engine.count_incoming`
first_gradient: Callable[..., Any] | None = None  # see `accumulate.accumulate_simply`

if native is not None:
    native.know_nodes(Node, State)
    native.know_leaves(AutogradMeta, nobody, UNSET, lock)
    record, count_incoming = native.record, native.count_incoming
    first_gradient = native.first_gradient
