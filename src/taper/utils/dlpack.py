"""`taper.utils.dlpack`: PyTorch's old place for what `taper.dlpack` does."""

from taper.dlpack import DLDeviceType, from_dlpack, to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
