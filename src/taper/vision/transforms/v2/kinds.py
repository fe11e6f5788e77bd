"""Functions of pictures made functions of every kind of tensor: videos, masks, boxes, points."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from taper.tensor import Tensor
from taper.vision.transforms.modes import InterpolationMode
from taper.vision.transforms.v2.shapes import MOVES, moved_boxes, moved_points
from taper.vision.tv_tensors import BoundingBoxes, KeyPoints, Mask, TVTensor, Video, wrap

Function = Callable[..., Any]


def of_every_kind(function: Function, name: str) -> Function:
    """Return a function of pictures that also knows what to do with other kinds of tensors.

    Pictures and videos are changed and keep their kind.  A function that moves pixels moves masks,
    boxes and points likewise; another one leaves them as they are.
    """
    move = MOVES.get(name)
    names = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def dispatched(inpt: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(inpt, TVTensor):
            return function(inpt, *args, **kwargs)
        if not isinstance(inpt, Mask | BoundingBoxes | KeyPoints):
            return _rewrapped(function(inpt.as_subclass(Tensor), *args, **kwargs), inpt)
        if move is None:
            return inpt
        options = {**dict(zip(names[1:], args, strict=False)), **kwargs}
        if isinstance(inpt, BoundingBoxes):
            return moved_boxes(inpt, move(inpt.canvas_size, **options))
        if isinstance(inpt, KeyPoints):
            return moved_points(inpt, move(inpt.canvas_size, **options))
        return _of_mask(function, inpt, options, "interpolation" in names)

    return dispatched


def _of_mask(function: Function, mask: Mask, options: dict[str, Any], has_mode: bool) -> Any:
    if has_mode:
        options["interpolation"] = InterpolationMode.NEAREST
    plain = mask.as_subclass(Tensor)
    if plain.ndim == 2:
        return wrap(function(plain.unsqueeze(0), **options).squeeze(0), like=mask)
    return wrap(function(plain, **options), like=mask)


def _rewrapped(result: Any, like: TVTensor) -> Any:
    if isinstance(result, tuple | list):
        return type(result)(_rewrapped(each, like) for each in result)
    return wrap(result, like=like) if isinstance(result, Tensor) else result


def size_of(inpt: Any, size_of_picture: Callable[[Any], list[int]]) -> list[int]:
    """Return height and width of any kind of tensor."""
    if isinstance(inpt, BoundingBoxes | KeyPoints):
        return list(inpt.canvas_size)
    if isinstance(inpt, Mask | Video):
        return list(inpt.shape[-2:])
    return size_of_picture(inpt.as_subclass(Tensor) if isinstance(inpt, TVTensor) else inpt)
