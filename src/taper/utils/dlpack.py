"""`taper.utils.dlpack`: PyTorch's old place for what is in `taper.dlpack`."""

from taper.dlpack import DLDeviceType, from_dlpack, to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
