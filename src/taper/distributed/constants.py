"""The times that operations may take."""

from datetime import timedelta

from taper.distributed.groups import default_pg_timeout

__all__ = ["default_pg_nccl_timeout", "default_pg_timeout"]

default_pg_nccl_timeout: timedelta | None = None  # as in PyTorch's build for the CPU
