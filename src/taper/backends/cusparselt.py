"""`taper.backends.cusparselt`: there is none."""

from taper.absent import devices
from taper.absent.answers import own

is_available = devices.is_available
version = devices.version

own(globals())
