"""`taper.vision.models.detection`: networks that find objects in pictures."""

from taper.vision.models.detection.faster_rcnn import *  # noqa: F403
from taper.vision.models.detection.fcos import *  # noqa: F403
from taper.vision.models.detection.keypoint_rcnn import *  # noqa: F403
from taper.vision.models.detection.mask_rcnn import *  # noqa: F403
from taper.vision.models.detection.retinanet import *  # noqa: F403
from taper.vision.models.detection.ssd import *  # noqa: F403
from taper.vision.models.detection.ssdlite import *  # noqa: F403
