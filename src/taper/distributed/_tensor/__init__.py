"""The older name of `distributed.tensor`."""

from taper.distributed.tensor import *  # noqa: F403
from taper.distributed.tensor import __all__  # noqa: F401
