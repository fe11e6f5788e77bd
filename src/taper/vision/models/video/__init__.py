"""`taper.vision.models.video`: networks for sequences of pictures."""

from taper.vision.models.video.resnet import *  # noqa: F403
