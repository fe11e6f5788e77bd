"""Tensors that know they are pictures, boxes or masks: importable, and refused when made."""

from __future__ import annotations

from taper.absent.answers import refused_class, refused_function
from taper.tensor import Tensor

_SENTENCE = "tv_tensors are not provided: transforms work on plain tensors and on pictures"

TVTensor: type = refused_class("TVTensor", __name__, _SENTENCE, Tensor)
BoundingBoxes: type = refused_class("BoundingBoxes", __name__, _SENTENCE, TVTensor)
BoundingBoxFormat: type = refused_class("BoundingBoxFormat", __name__, _SENTENCE)
Image: type = refused_class("Image", __name__, _SENTENCE, TVTensor)
KeyPoints: type = refused_class("KeyPoints", __name__, _SENTENCE, TVTensor)
Mask: type = refused_class("Mask", __name__, _SENTENCE, TVTensor)
Video: type = refused_class("Video", __name__, _SENTENCE, TVTensor)
wrap = refused_function("wrap", __name__, _SENTENCE)
set_return_type = refused_function("set_return_type", __name__, _SENTENCE)
