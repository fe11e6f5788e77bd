"""The native twins of recording and of the engine, told where nodes and leaves keep what (D7).

Each is None where there is no native module: then the Python beside it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper.arrays.native import native
from taper.autograd.accumulate import AccumulateGrad, lock
from taper.autograd.meta import UNSET, AutogradMeta, nobody
from taper.autograd.node import Node
from taper.autograd.state import State

complete: Callable[..., Any] | None = None  # see `opdef.recording.complete_in_python`
record: Callable[..., Any] | None = None  # see `opdef.recording.record_in_python`
run_pass: Callable[..., Any] | None = None  # see `engine.run_in_python`
leading: Callable[..., Any] | None = None  # see `engine.nodes_leading_to`

if native is not None:
    native.know_nodes(Node, State)
    native.know_leaves(AutogradMeta, AccumulateGrad, nobody, UNSET, lock)
    complete, record = native.complete, native.record
    run_pass, leading = native.run_pass, native.leading
