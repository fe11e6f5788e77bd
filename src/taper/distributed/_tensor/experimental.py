"""The older name of `distributed.tensor.experimental`."""

from taper.distributed.tensor.experimental import *  # noqa: F403
from taper.distributed.tensor.experimental import __all__  # noqa: F401
