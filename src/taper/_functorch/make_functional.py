"""Names of `taper.functorch`."""

from taper.functorch.make_functional import *  # noqa: F403
