"""Steps that all processes take together: an error of one is the error of all."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from taper.distributed import objects
from taper.distributed.checkpoint.api import CheckpointException
from taper.distributed.groups import ProcessGroup, default_group, is_initialized
from taper.userwarning import warn_user


class Together:
    """The processes that save or load; without a group, this one."""

    def __init__(self, group: ProcessGroup | None, no_dist: bool, intent: str) -> None:
        self.group = None
        if not no_dist and is_initialized():
            self.group = group or default_group()
        else:
            warn_user(
                "torch.distributed is disabled, unavailable or uninitialized, assuming the intent "
                f"is to {intent} in a single process."
            )
        self.rank = 0 if self.group is None else self.group.rank()
        self.is_coordinator = self.rank == 0

    def gather(self, step: str, do: Callable[[], Any]) -> list[Any]:
        """Do something in every process; return what all found, or raise what failed."""
        outcome: Any
        try:
            outcome = (True, do())
        except BaseException as error:
            if not isinstance(error, Exception):
                raise
            trace = "".join(traceback.format_tb(error.__traceback__))
            outcome = (False, (_portable(error), trace))
        found = [outcome]
        if self.group is not None:
            found = [None] * self.group.size()
            objects.all_gather_object(found, outcome, self.group)
        failures = {rank: each for rank, (good, each) in enumerate(found) if not good}
        if failures:
            raise CheckpointException(step, failures)
        return [each for _, each in found]

    def decide(self, step: str, do: Callable[[], Any]) -> Any:
        """Do something in the first process; return what it found, in every process."""
        return self.gather(step, lambda: do() if self.is_coordinator else None)[0]


def _portable(error: Exception) -> Exception:
    """Return an error of a known class: others may not exist in the other processes."""
    known = type(error).__module__ == "builtins"
    return error if known else RuntimeError(f"{type(error).__name__}: {error}")
