"""`taper.cuda.random`: there are no device generators; seeding them does nothing."""

from __future__ import annotations

from typing import Any

from taper.absent import devices
from taper.absent.answers import answer_where_there, not_compiled, own, refused
from taper.tensor import Tensor

manual_seed = devices.manual_seed
manual_seed_all = devices.manual_seed_all
seed = devices.seed
seed_all = devices.seed_all
get_rng_state_all = devices.get_rng_state_all
set_rng_state_all = devices.set_rng_state_all
get_rng_state = refused(lambda device="cuda": not_compiled("CUDA"))
initial_seed = refused(lambda: not_compiled("CUDA"))


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Nothing to do: there is no device generator."""


own(globals())
answer_where_there(globals(), "taper.cuda.present")
