"""The older name of `GradScaler`, for CUDA."""

from taper.amp.older_names import OlderGradScaler


class GradScaler(OlderGradScaler):
    """`taper.amp.GradScaler("cuda")`; without CUDA it is disabled."""

    _of = "cuda"
