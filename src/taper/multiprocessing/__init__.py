"""`taper.multiprocessing`: Python's multiprocessing, with tensors that travel by their memory.

Everything of `multiprocessing` is here, and also `spawn` and `start_processes`, which start several
processes and raise what went wrong in one of them.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import *  # noqa: F403
from typing import Any

from taper import storage
from taper.multiprocessing.pickling import register
from taper.multiprocessing.spawn import (
    ENV_VAR_PARALLEL_START,
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)
from taper.nn.parameter import Parameter
from taper.tensor import Tensor

__all__ = [*multiprocessing.__all__]
__all__ += ["get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy"]
__all__ += ["ENV_VAR_PARALLEL_START", "ProcessContext", "ProcessExitedException"]
__all__ += ["ProcessRaisedException", "SpawnContext", "spawn", "start_processes"]

_STRATEGIES = ("file_descriptor", "file_system")
_strategy = "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    """Return the names of the ways in which PyTorch shares memory.

    >>> import taper
    >>> sorted(taper.multiprocessing.get_all_sharing_strategies())
    ['file_descriptor', 'file_system']
    """
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """Return the name of the chosen way; memory is shared by descriptor in any case.

    >>> import taper
    >>> taper.multiprocessing.get_sharing_strategy()
    'file_descriptor'
    """
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose a way of sharing memory.

    Differs: memory is shared by descriptor whatever is chosen; no names are left behind.

    Args:
        new_strategy: "file_descriptor" or "file_system".

    >>> import taper
    >>> taper.multiprocessing.set_sharing_strategy("file_descriptor")
    """
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {set(_STRATEGIES)}"
        )
    _strategy = new_strategy


def init_reductions() -> None:
    """Let multiprocessing's pipes and queues carry tensors."""
    register(Tensor, Parameter, storage.UntypedStorage)


def __getattr__(name: str) -> Any:
    return getattr(multiprocessing, name)  # names that its contexts provide


init_reductions()
