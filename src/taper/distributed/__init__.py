"""`taper.distributed`: programs of several processes, with PyTorch's names.

Processes meet in a store, make groups, and combine and exchange tensors; `docs/architecture.md`
(D14) says how.
"""

from taper.distributed.collectives import (
    all_reduce,
    all_reduce_coalesced,
    barrier,
    broadcast,
    monitored_barrier,
    reduce,
)
from taper.distributed.debug_level import (
    DebugLevel,
    get_debug_level,
    set_debug_level,
    set_debug_level_from_env,
)
from taper.distributed.exchanges import (
    all_gather,
    all_gather_coalesced,
    all_gather_into_tensor,
    all_gather_single,
    all_to_all,
    all_to_all_single,
    gather,
    reduce_scatter,
    reduce_scatter_single,
    reduce_scatter_tensor,
    scatter,
)
from taper.distributed.file_store import (
    FileStore,
)
from taper.distributed.groups import (
    Backend,
    GroupMember,
    ProcessGroup,
    default_pg_timeout,
    destroy_process_group,
    get_backend,
    get_backend_config,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_initialized,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
)
from taper.distributed.objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from taper.distributed.point_to_point import (
    P2POp,
    batch_isend_irecv,
    irecv,
    isend,
    recv,
    send,
)
from taper.distributed.questions import (
    get_default_backend_for_device,
    is_available,
    is_backend_available,
    is_gloo_available,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    is_ucc_available,
    is_xccl_available,
)
from taper.distributed.reduce_ops import (
    ReduceOp,
    reduce_op,
)
from taper.distributed.rendezvous import register_rendezvous_handler, rendezvous
from taper.distributed.stores import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    HashStore,
    PrefixStore,
    QueueEmptyError,
    Store,
)
from taper.distributed.tcp_store import (
    TCPStore,
)
from taper.distributed.works import (
    Work,
)
from taper.first_use import on_first_use

# Modules that few programs use, and names in them.
_MODULES = (
    "algorithms autograd c10d_logger checkpoint collective_utils constants device_mesh elastic "
    "fsdp launcher nn optim pipelining rpc run tensor _composable _functional_collectives _shard "
    "_symmetric_memory _tensor distributed_c10d"
).split()
__getattr__, __dir__ = on_first_use(
    globals(),
    _MODULES,
    {
        "DeviceMesh": "device_mesh",
        "init_device_mesh": "device_mesh",
        "BuiltinCommHookType": "buckets",
        "GradBucket": "buckets",
        "Reducer": "reducer",
        "_DEFAULT_FIRST_BUCKET_BYTES": "buckets",
        "_broadcast_coalesced": "buckets",
        "_compute_bucket_assignment_by_size": "buckets",
    },
)

__all__ = [
    "DeviceMesh",
    "init_device_mesh",
    "Backend",
    "BuiltinCommHookType",
    "DebugLevel",
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "FileStore",
    "GradBucket",
    "GroupMember",
    "HashStore",
    "P2POp",
    "PrefixStore",
    "ProcessGroup",
    "QueueEmptyError",
    "ReduceOp",
    "Reducer",
    "Store",
    "TCPStore",
    "Work",
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "default_pg_timeout",
    "destroy_process_group",
    "gather",
    "gather_object",
    "get_backend",
    "get_backend_config",
    "get_debug_level",
    "get_default_backend_for_device",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_pg_count",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "irecv",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "isend",
    "monitored_barrier",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_op",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "register_rendezvous_handler",
    "rendezvous",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
    "set_debug_level",
    "set_debug_level_from_env",
]
