"""The older name of `GradScaler`, for the CPU."""

from taper.amp.older_names import OlderGradScaler


class GradScaler(OlderGradScaler):
    """`taper.amp.GradScaler("cpu")`."""

    _of = "cpu"
