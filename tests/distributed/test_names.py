"""Every module of `torch.distributed` that libraries import is there, and says what it refuses."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from process_runs import environment

# Modules, and names in them that libraries import from PyTorch's.
NAMES = {
    "_composable": "fully_shard replicate checkpoint contract",
    "_composable.fsdp": "fully_shard MixedPrecisionPolicy FSDPModule",
    "_functional_collectives": "all_reduce wait_tensor",
    "_shard.api": "ShardedTensor",
    "_shard.sharded_tensor": "ShardedTensor Shard ShardMetadata",
    "_symmetric_memory": "empty rendezvous",
    "_tensor": "DTensor Shard Replicate distribute_tensor",
    "algorithms._checkpoint.checkpoint_wrapper": "checkpoint_wrapper CheckpointImpl",
    "algorithms.join": "Join Joinable JoinHook",
    "autograd": "backward context",
    "c10d_logger": "_exception_logger",
    "checkpoint": "save load async_save FileSystemReader HuggingFaceStorageReader",
    "checkpoint.default_planner": "DefaultSavePlanner DefaultLoadPlanner",
    "checkpoint.filesystem": "FileSystemReader FileSystemWriter",
    "checkpoint.metadata": "Metadata TensorStorageMetadata",
    "checkpoint.planner": "SavePlan ReadItem",
    "checkpoint.state_dict": "get_state_dict StateDictOptions",
    "checkpoint.stateful": "Stateful",
    "collective_utils": "broadcast all_gather",
    "constants": "default_pg_timeout",
    "device_mesh": "init_device_mesh DeviceMesh",
    "distributed_c10d": "ProcessGroup",
    "elastic.agent.server.api": "WorkerSpec",
    "elastic.multiprocessing.errors": "record",
    "elastic.rendezvous": "RendezvousHandler",
    "fsdp": "FullyShardedDataParallel fully_shard ShardingStrategy MixedPrecision StateDictType",
    "fsdp.api": "ShardingStrategy BackwardPrefetch CPUOffload",
    "fsdp.fully_sharded_data_parallel": "FullyShardedDataParallel",
    "fsdp.sharded_grad_scaler": "ShardedGradScaler",
    "fsdp.wrap": "transformer_auto_wrap_policy size_based_auto_wrap_policy ModuleWrapPolicy",
    "launcher": "LaunchConfig elastic_launch",
    "nn": "all_gather all_reduce",
    "nn.functional": "all_gather",
    "optim": "ZeroRedundancyOptimizer DistributedOptimizer",
    "pipelining": "pipeline PipelineStage",
    "rpc": "is_available init_rpc RRef",
    "run": "main",
    "tensor": "DTensor Shard Replicate Partial distribute_tensor DeviceMesh",
    "tensor.debug": "CommDebugMode",
    "tensor.experimental": "local_map",
    "tensor.parallel": "ColwiseParallel parallelize_module",
    "tensor.placement_types": "Shard Placement",
}


@pytest.mark.parametrize("module", NAMES)
def test_names_are_there(module):
    found = importlib.import_module(f"taper.distributed.{module}")
    assert [name for name in NAMES[module].split() if not hasattr(found, name)] == []


@pytest.mark.parametrize(
    ("module", "name"),
    [("pipelining", "pipeline"), ("rpc", "init_rpc"), ("tensor.parallel", "ColwiseParallel")],
)
def test_what_is_not_there_says_so_in_one_sentence(module, name):
    found = getattr(importlib.import_module(f"taper.distributed.{module}"), name)
    with pytest.raises(NotImplementedError, match=rf"^torch.distributed.{module}.{name}: .*; use"):
        found()


def test_they_cost_nothing_until_they_are_used():
    line = (
        "import sys, taper, taper.distributed; print([n for n in sys.modules if n.startswith("
        "('taper.distributed.tensor.', 'taper.distributed.fsdp', 'taper.distributed.checkpoint'))])"
    )
    result = subprocess.run(
        [sys.executable, "-c", line], env=environment(), capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
