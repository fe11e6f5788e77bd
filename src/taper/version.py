"""The version of PyTorch that taper follows, the package's own, and what is built in."""

from __future__ import annotations

__version__ = "2.13.0"  # what programs ask for: PyTorch's
taper = "0.1.0"  # the package's own
debug = False
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
git_version = "unknown"
