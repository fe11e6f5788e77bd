"""The names of `taper.distributed` in a place where some programs look for them."""

from taper.distributed import *  # noqa: F403
from taper.distributed.groups import default_group as _get_default_group

__all__ = ["_get_default_group"]
