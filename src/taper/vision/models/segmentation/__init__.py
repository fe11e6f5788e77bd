"""`taper.vision.models.segmentation`: networks that give each pixel of a picture a class."""

from taper.vision.models.segmentation.deeplabv3 import *  # noqa: F403
from taper.vision.models.segmentation.fcn import *  # noqa: F403
from taper.vision.models.segmentation.lraspp import *  # noqa: F403
