"""The older name of `distributed.tensor.placement_types`."""

from taper.distributed.tensor.placement_types import *  # noqa: F403
from taper.distributed.tensor.placement_types import __all__  # noqa: F401
