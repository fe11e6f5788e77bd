"""`torch._C._functorch`: questions about tensors inside the transforms of `func`."""

from __future__ import annotations

from typing import Any

from taper.absent.answers import refused_function
from taper.autograd.state import local
from taper.func.batching import innermost, is_batched, levels_of

__all__ = ["get_unwrapped", "is_batchedtensor", "is_functorch_wrapped_tensor"]


def _level(tensor: Any) -> Any:
    levels = levels_of(tensor)
    return levels[-1] if levels else None


def is_batchedtensor(tensor: Any) -> bool:
    """Return whether a tensor stands for a batch of them inside `vmap`."""
    level = _level(tensor)
    return level is not None and is_batched(tensor, level)


def is_functorch_wrapped_tensor(tensor: Any) -> bool:
    """Return whether a tensor belongs to a transform at work."""
    return _level(tensor) is not None


def is_gradtrackingtensor(tensor: Any) -> bool:
    """Return whether a tensor belongs to a transform that differentiates."""
    return is_functorch_wrapped_tensor(tensor) and not is_batchedtensor(tensor)


def is_legacy_batchedtensor(tensor: Any) -> bool:
    """False: there is one kind of batches."""
    return False


def get_unwrapped(tensor: Any) -> Any:
    """Return the tensor below all transforms."""
    return innermost(tensor)


def maybe_current_level() -> int | None:
    """Return how many transforms are at work; None for none."""
    return len(local.state.transforms) or None


_SENTENCE = "{}: PyTorch's own parts of vmap are not there: use torch.func.vmap"
for (
    _name
) in "_add_batch_dim _remove_batch_dim _vmap_decrement_nesting _vmap_increment_nesting".split():
    globals()[_name] = refused_function(_name, __name__, _SENTENCE.format(_name))
