"""Batches of gradients, for `grad(is_grads_batched=True)`: one pass under `vmap`.

Owns: the error for random numbers there, which is not that of `func.vmap`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper.autograd.backward import map_batches_with

NOT_RANDOM = (
    "vmap: We do not yet support calling random operations inside of vmap. Please perform random "
    "operations outside of vmap as a workaround"
)


def for_batches(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of batches, given one of their entries."""

    def run(*batches: Any) -> Any:
        # late: few push batches, and `import taper` shall not load the transforms
        from taper.func.vmap import vmap

        try:
            return vmap(function)(*batches)
        except RuntimeError as error:
            if "randomness error mode" in str(error):
                raise RuntimeError(NOT_RANDOM) from None
            raise

    return run


map_batches_with(for_batches)
