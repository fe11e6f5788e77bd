"""Calls of functions in other processes: the names; they refuse when they are used."""

from taper.distributed.refused import refuse

__all__ = [
    "is_available",
    *refuse(
        globals(),
        "init_rpc BackendType TensorPipeRpcBackendOptions shutdown get_worker_info remote rpc_sync "
        "rpc_async RRef",
        "use send and recv, or torch.multiprocessing",
    ),
]


def is_available() -> bool:
    """Return False: there is no RPC.

    >>> from taper.distributed import rpc
    >>> rpc.is_available()
    False
    """
    return False
