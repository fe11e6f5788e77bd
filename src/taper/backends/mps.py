"""`taper.backends.mps`: there is none."""

from taper.absent import devices
from taper.absent.answers import own, refused, without_backend

is_available = devices.is_available
is_built = devices.is_built
is_macos13_or_newer = refused(lambda minor=0: without_backend("isOnMacOSorNewer", "MPS"))
is_macos_or_newer = refused(lambda major, minor: without_backend("isOnMacOSorNewer", "MPS"))

own(globals())
