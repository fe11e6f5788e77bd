"""The views that operators make: natively where that is possible (D7), in Python where it is not.

Owns: `new_view` and `new_views`, with which view operators end.  What a view is, `views` says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import numpy as np

from taper.arrays.native import native
from taper.autograd.conjugate import on_memory
from taper.autograd.meta import Creation, VersionCounter, ViewRecord
from taper.autograd.provenance import user_frame
from taper.autograd.state import State
from taper.autograd.views import make_view, of_memory, tracked
from taper.tensor import Tensor, wrap


def new_view_in_python(
    source: Tensor,
    array: np.ndarray,
    state: State,
    frame: FrameType,
    function: Callable[..., Any],
    *arguments: Any,
) -> Tensor:
    """Return what a view operator makes: `array` is that of `function(source, *arguments)`.

    `frame` is that of the operator's caller, where the search for the user's line begins.
    """
    creation = Creation.NO_GRAD if state.mode else Creation.PLAIN
    return make_view(source, array, creation, (function, arguments), user_frame(frame))


def new_views_in_python(
    source: Tensor,
    arrays: Sequence[np.ndarray],
    state: State,
    frame: FrameType,
    function: Callable[..., Any],
    *arguments: Any,
) -> tuple[Tensor, ...]:
    """Make the views of an operator that returns several, likewise."""
    if source._change is not None:
        parts = of_memory(source, (function, arguments))
        views: list[Tensor] = [on_memory(each._array, source._change) for each in parts]
    else:
        views = [wrap(each) for each in arrays]
    creation = Creation.NO_GRAD if state.mode else Creation.MULTIPLE
    frame = user_frame(frame)  # found once for all: saves 1 us a view
    return tuple([tracked(each, source, creation, None, frame) for each in views])


# 0.25 us less a view, 0.6 us for each of several.
new_view: Callable[..., Tensor] = new_view_in_python
new_views: Callable[..., tuple[Tensor, ...]] = new_views_in_python

if native is not None:
    native.know_views(
        ViewRecord,
        VersionCounter,
        (Creation.PLAIN, Creation.MULTIPLE, Creation.NO_GRAD, Creation.INFERENCE),
        new_view_in_python,
        new_views_in_python,
    )
    new_view, new_views = native.new_view, native.new_views
