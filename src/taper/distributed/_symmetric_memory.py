"""Memory that devices share: the names; they refuse when they are used."""

from taper.distributed.refused import refuse

__all__ = refuse(
    globals(),
    "empty is_symm_mem_tensor rendezvous is_nvshmem_available set_backend get_backend "
    "set_signal_pad_size get_signal_pad_size get_mem_pool reduce_scatter_offset",
    "use collectives",
)
