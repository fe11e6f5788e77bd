"""Parts of safetensors files put together: refused."""

from taper.distributed.refused import refuse

_INSTEAD = "use safetensors itself"

__all__ = [*refuse(globals(), "consolidate_safetensors_files", _INSTEAD)]
