"""`taper.cuda.random`: there are no device generators; seeding them does nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from taper.cuda.absent import not_compiled
from taper.tensor import Tensor


def manual_seed(seed: int) -> None:
    """Do nothing: there is no device generator."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Do nothing: there are no device generators."""
    int(seed)


def seed() -> None:
    """Do nothing: there is no device generator."""


def seed_all() -> None:
    """Do nothing: there are no device generators."""


def get_rng_state_all() -> list[Tensor]:
    """Return the states of all device generators: none."""
    return []


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Do nothing: there is no device generator."""


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Do nothing: there are no device generators."""


def get_rng_state(device: Any = "cuda") -> NoReturn:
    """Refused: there is no CUDA."""
    not_compiled()


def initial_seed() -> NoReturn:
    """Refused: there is no CUDA."""
    not_compiled()
