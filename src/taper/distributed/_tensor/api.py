"""The older name of `distributed.tensor.api`."""

from taper.distributed.tensor.api import *  # noqa: F403
from taper.distributed.tensor.api import __all__  # noqa: F401
