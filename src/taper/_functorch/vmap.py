"""`func.vmap`, and the names of PyTorch's own parts of it, which libraries import."""

from taper.absent.answers import refused_function
from taper.func import vmap
from taper.tensor import Tensor
from taper.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten

__all__ = ["Tensor", "_broadcast_to_and_flatten", "tree_flatten", "tree_unflatten", "vmap"]


def _get_name(func: object) -> str:
    """Return how messages name a function."""
    return getattr(func, "__name__", None) or repr(func)


_PARTS = """
_add_batch_dim _create_batched_inputs _flat_vmap _maybe_remove_batch_dim _process_batched_inputs
_remove_batch_dim _unwrap_batched _validate_and_get_batch_size vmap_impl
"""
for _name in _PARTS.split():
    _sentence = f"{_name}: PyTorch's own parts of vmap are not there: use torch.func.vmap"
    globals()[_name] = refused_function(_name, __name__, _sentence)
