"""Checkpoints in files of safetensors: refused."""

from taper.distributed.refused import refuse

_INSTEAD = "use FileSystemReader and FileSystemWriter, or safetensors itself"

__all__ = [*refuse(globals(), "HuggingFaceStorageReader HuggingFaceStorageWriter", _INSTEAD)]
