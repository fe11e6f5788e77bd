"""`taper.mtia`: there are no tensors on Meta's accelerators."""

from taper.absent import devices
from taper.absent.answers import own, refused, without_backend

is_available = devices.is_available
is_initialized = devices.is_initialized
device_count = devices.device_count
empty_cache = refused(lambda: without_backend("emptyCache", "MTIA"))

own(globals())
