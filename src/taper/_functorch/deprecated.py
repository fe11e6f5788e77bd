"""Names of `taper.functorch`."""

from taper.functorch import *  # noqa: F403
from taper.functorch import __all__  # noqa: F401
