"""`taper.vision.models.optical_flow`: networks that say where pixels go between two pictures."""

from taper.vision.models.optical_flow.raft import *  # noqa: F403
