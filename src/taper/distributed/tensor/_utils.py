"""Where the parts of spread tensors lie, under PyTorch's names."""

from taper.distributed.tensor.spread import local_part as compute_local_shape_and_global_offset

__all__ = ["compute_local_shape_and_global_offset"]
