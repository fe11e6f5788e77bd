"""Checkpoints of several processes, in PyTorch's format; any number of processes reads them."""

from taper.distributed.checkpoint.api import CheckpointException
from taper.distributed.checkpoint.default_planner import DefaultLoadPlanner, DefaultSavePlanner
from taper.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from taper.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    TensorStorageMetadata,
)
from taper.distributed.checkpoint.planner import (
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
)
from taper.distributed.checkpoint.state_dict_loader import load, load_state_dict
from taper.distributed.checkpoint.state_dict_saver import async_save, save, save_state_dict
from taper.distributed.checkpoint.storage import StorageReader, StorageWriter
from taper.distributed.refused import refuse
from taper.first_use import on_first_use

__all__ = [
    "BytesStorageMetadata",
    "CheckpointException",
    "ChunkStorageMetadata",
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "FileSystemReader",
    "FileSystemWriter",
    "LoadPlan",
    "LoadPlanner",
    "Metadata",
    "ReadItem",
    "SavePlan",
    "SavePlanner",
    "StorageReader",
    "StorageWriter",
    "TensorStorageMetadata",
    "WriteItem",
    "async_save",
    "load",
    "load_state_dict",
    "save",
    "save_state_dict",
    *refuse(
        globals(),
        "HuggingFaceStorageReader HuggingFaceStorageWriter QuantizedHuggingFaceStorageReader "
        "load_sharded_optimizer_state_dict",
        "use FileSystemReader and FileSystemWriter, or torch.save of full_tensor()",
    ),
]

__getattr__, __dir__ = on_first_use(globals(), ("format_utils", "state_dict", "stateful"))
