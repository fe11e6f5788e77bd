"""Checkpoints of several processes: the names; they refuse when they are used."""

from taper.distributed.refused import refuse

__all__ = refuse(
    globals(),
    "save load async_save save_state_dict load_state_dict FileSystemReader "
    "FileSystemWriter CheckpointException",
    "use torch.save on rank 0",
)
