"""Transforms of the second interface that move pixels.

Numbers are drawn from the default generator in torchvision's order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taper.ops.random.draws import rand
from taper.vision.transforms import random_geometry as drawing
from taper.vision.transforms.arguments import (
    angles_of,
    check_fill,
    check_ranges,
    check_sequence,
    integer,
    pair_of,
)
from taper.vision.transforms.geometry import perspective_coefficients
from taper.vision.transforms.modes import InterpolationMode
from taper.vision.transforms.v2 import functional as F
from taper.vision.transforms.v2.transform import (
    RandomApplyTransform,
    Transform,
    query_size,
)


def _fill_of(fill: Any, inpt: Any) -> Any:
    """Return the colour for one kind of tensor, if there are several."""
    if not isinstance(fill, dict):
        return fill
    if type(inpt) in fill:
        return fill[type(inpt)]
    if "others" in fill:
        return fill["others"]
    raise ValueError(
        "This should never happen, please open an issue on the torchvision repo if you hit this."
    )


def _checked_fill(fill: Any) -> Any:
    if isinstance(fill, dict):
        for each in fill.values():
            check_fill(each)
    elif fill is not None:
        check_fill(fill)
    return fill


def _check_padding(padding: Any) -> None:
    is_list = isinstance(padding, tuple | list) and len(padding) in (1, 2, 4)
    if not isinstance(padding, int) and not is_list:
        raise ValueError(
            f"Padding must be an int or a 1, 2, or 4 element of tuple or list, got {padding}."
        )


class RandomHorizontalFlip(RandomApplyTransform):
    """Exchange left and right, with a probability.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RandomHorizontalFlip(p=1.0)(taper.tensor([[[1, 2]]]))
    tensor([[[2, 1]]])
    """

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.horizontal_flip(inpt)


class RandomVerticalFlip(RandomApplyTransform):
    """Exchange top and bottom, with a probability.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RandomVerticalFlip(p=1.0)(taper.tensor([[[1], [2]]])).flatten()
    tensor([2, 1])
    """

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.vertical_flip(inpt)


class Resize(Transform):
    """Resize to (height, width), a length of the shorter side, or to fit `max_size`.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.Resize(2)(taper.zeros(3, 4, 8)).shape
    torch.Size([3, 2, 4])
    """

    def __init__(
        self,
        size: Any,
        interpolation: Any = InterpolationMode.BILINEAR.value,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        if isinstance(size, int):
            size = [size]
        elif isinstance(size, Sequence) and len(size) in (1, 2):
            size = list(size)
        elif size is None:
            if not isinstance(max_size, int):
                raise ValueError(
                    f"max_size must be an integer when size is None, but got {max_size} instead."
                )
        else:
            raise ValueError(
                "size can be an integer, a sequence of one or two integers, or None, but got "
                f"{size} instead."
            )
        self.size = size
        self.interpolation = interpolation
        self.max_size = max_size
        self.antialias = antialias

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.resize(inpt, self.size, self.interpolation, self.max_size, self.antialias)


class CenterCrop(Transform):
    """Cut out the middle of the picture, with zeros around if it is smaller.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.CenterCrop(1)(taper.arange(9).reshape(1, 3, 3))
    tensor([[[4]]])
    """

    def __init__(self, size: Any) -> None:
        super().__init__()
        self.size = pair_of(size)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.center_crop(inpt, self.size)


class FiveCrop(Transform):
    """Cut out the four corners and the middle of the picture, as a tuple.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> len(v2.FiveCrop(2)(taper.zeros(3, 4, 4)))
    5
    """

    def __init__(self, size: Any) -> None:
        super().__init__()
        self.size = pair_of(size)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.five_crop(inpt, self.size)


class TenCrop(Transform):
    """Cut out corners and middle of the picture and of the flipped picture.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> len(v2.TenCrop(2)(taper.zeros(3, 4, 4)))
    10
    """

    def __init__(self, size: Any, vertical_flip: bool = False) -> None:
        super().__init__()
        self.size = pair_of(size)
        self.vertical_flip = vertical_flip

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.ten_crop(inpt, self.size, self.vertical_flip)


class Pad(Transform):
    """Add a border of one width, (left/right, top/bottom), or (left, top, right, bottom).

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.Pad((1, 0), fill=7)(taper.tensor([[[1, 2]]]))
    tensor([[[7, 1, 2, 7]]])
    """

    def __init__(self, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        _check_padding(padding)
        if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
            raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
        self.padding = padding if isinstance(padding, int) else list(padding)
        self.fill = _checked_fill(fill)
        self.padding_mode = padding_mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.pad(inpt, self.padding, _fill_of(self.fill, inpt), self.padding_mode)


class RandomZoomOut(RandomApplyTransform):
    """Put the picture somewhere on a larger canvas, with a probability.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RandomZoomOut(p=0.0)(taper.zeros(3, 4, 4)).shape
    torch.Size([3, 4, 4])
    """

    def __init__(
        self, fill: Any = 0, side_range: Sequence[float] = (1.0, 4.0), p: float = 0.5
    ) -> None:
        super().__init__(p=p)
        self.fill = _checked_fill(fill)
        check_sequence(side_range, "side_range")
        self.side_range = side_range
        if side_range[0] < 1.0 or side_range[0] > side_range[1]:
            raise ValueError(f"Invalid side range provided {side_range}.")

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = query_size(flat_inputs)
        factor = self.side_range[0] + rand(1) * (self.side_range[1] - self.side_range[0])
        canvas_width, canvas_height = int(width * factor), int(height * factor)
        place = rand(2)
        left = int((canvas_width - width) * place[0])
        top = int((canvas_height - height) * place[1])
        right, bottom = canvas_width - (left + width), canvas_height - (top + height)
        return {"padding": [left, top, right, bottom]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.pad(inpt, params["padding"], _fill_of(self.fill, inpt))


class RandomCrop(Transform):
    """Cut out a rectangle of a given size, at a random place.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RandomCrop(28, padding=4)(taper.zeros(1, 28, 28)).shape
    torch.Size([1, 28, 28])
    """

    def __init__(
        self,
        size: Any,
        padding: Any = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        self.size = pair_of(size)
        if padding is not None:
            _check_padding(padding)
            padding = [padding] if isinstance(padding, int) else list(padding)
            # Left, right, top, bottom.
            if len(padding) == 4:
                padding = [padding[0], padding[2], padding[1], padding[3]]
            else:
                padding = [padding[0], padding[0], padding[-1], padding[-1]]
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = _checked_fill(fill)
        self.padding_mode = padding_mode

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        given = height, width = query_size(flat_inputs)
        left, right, top, bottom = self.padding if self.padding is not None else (0, 0, 0, 0)
        height, width = height + top + bottom, width + left + right
        rows, columns = self.size
        if self.pad_if_needed:
            more_y, more_x = max(rows - height, 0), max(columns - width, 0)
            top, bottom, height = top + more_y, bottom + more_y, height + 2 * more_y
            left, right, width = left + more_x, right + more_x, width + 2 * more_x
        if height < rows or width < columns:
            padded = "padded " if self.padding is not None else ""
            shown = (height, width) if padded else given
            raise ValueError(
                f"Required crop size {(rows, columns)} is larger than {padded}input image size "
                f"{shown}."
            )
        return {
            "padding": [left, top, right, bottom],
            "top": integer(0, height - rows + 1) if height > rows else 0,
            "left": integer(0, width - columns + 1) if width > columns else 0,
        }

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if any(params["padding"]):
            inpt = F.pad(inpt, params["padding"], _fill_of(self.fill, inpt), self.padding_mode)
        if F.get_size(inpt) == list(self.size):
            return inpt
        return F.crop(inpt, params["top"], params["left"], *self.size)


class RandomResizedCrop(Transform):
    """Cut out a rectangle of random area and aspect ratio, and resize it to a given size.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RandomResizedCrop(5)(taper.zeros(3, 20, 30)).shape
    torch.Size([3, 5, 5])
    """

    def __init__(
        self,
        size: Any,
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Any = InterpolationMode.BILINEAR.value,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size = pair_of(size)
        check_ranges(scale, ratio)
        self.scale = scale
        self.ratio = ratio
        self.interpolation = interpolation
        self.antialias = antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        query_size(flat_inputs)
        place = drawing.RandomResizedCrop.get_params(flat_inputs[0], self.scale, self.ratio)
        return dict(zip(("top", "left", "height", "width"), place, strict=True))

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        options = {"interpolation": self.interpolation, "antialias": self.antialias}
        return F.resized_crop(inpt, **params, size=self.size, **options)


class RandomRotation(Transform):
    """Turn the picture by a random angle.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RandomRotation(10)(taper.zeros(1, 4, 8)).shape
    torch.Size([1, 4, 8])
    """

    def __init__(
        self,
        degrees: Any,
        interpolation: Any = InterpolationMode.NEAREST.value,
        expand: bool = False,
        center: Any = None,
        fill: Any = 0,
    ) -> None:
        super().__init__()
        self.degrees = angles_of(degrees, "degrees")
        self.interpolation = interpolation
        self.expand = expand
        self.fill = _checked_fill(fill)
        if center is not None:
            check_sequence(center, "center")
        self.center = center

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"angle": drawing.RandomRotation.get_params(self.degrees)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        fill = _fill_of(self.fill, inpt)
        mode = self.interpolation
        return F.rotate(inpt, params["angle"], mode, self.expand, self.center, fill)


class RandomAffine(Transform):
    """Turn, move, scale and shear the picture at random.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RandomAffine(10, translate=(0.1, 0.1))(taper.zeros(3, 20, 30)).shape
    torch.Size([3, 20, 30])
    """

    def __init__(
        self,
        degrees: Any,
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: Any = None,
        interpolation: Any = InterpolationMode.NEAREST.value,
        fill: Any = 0,
        center: Any = None,
    ) -> None:
        super().__init__()
        # The same checks as in the first interface.
        checked = drawing.RandomAffine(degrees, translate, scale, shear, center=center)
        self.degrees = checked.degrees
        self.translate = translate
        self.scale = scale
        self.shear = checked.shear
        self.interpolation = interpolation
        self.fill = _checked_fill(fill)
        self.center = center

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = query_size(flat_inputs)
        drawn = drawing.RandomAffine.get_params(
            self.degrees, self.translate, self.scale, self.shear, [width, height]
        )
        return dict(zip(("angle", "translate", "scale", "shear"), drawn, strict=True))

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        options = {"interpolation": self.interpolation, "center": self.center}
        return F.affine(inpt, **params, fill=_fill_of(self.fill, inpt), **options)


class RandomPerspective(RandomApplyTransform):
    """Show the picture from a random side, with a probability.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RandomPerspective(p=1.0)(taper.zeros(3, 20, 30)).shape
    torch.Size([3, 20, 30])
    """

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: Any = InterpolationMode.BILINEAR.value,
        fill: Any = 0,
    ) -> None:
        super().__init__(p=p)
        if not 0 <= distortion_scale <= 1:
            raise ValueError("Argument distortion_scale value should be between 0 and 1")
        self.distortion_scale = distortion_scale
        self.interpolation = interpolation
        self.fill = _checked_fill(fill)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = query_size(flat_inputs)
        draw = drawing.RandomPerspective.get_params
        points = draw(width, height, self.distortion_scale)
        return {"coefficients": perspective_coefficients(*points)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        fill = _fill_of(self.fill, inpt)
        return F.perspective(inpt, None, None, self.interpolation, fill, **params)


class ElasticTransform(Transform):
    """Show the picture as through moving water.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.ElasticTransform(alpha=20.0)(taper.zeros(3, 30, 30)).shape
    torch.Size([3, 30, 30])
    """

    def __init__(
        self,
        alpha: Any = 50.0,
        sigma: Any = 5.0,
        interpolation: Any = InterpolationMode.BILINEAR.value,
        fill: Any = 0,
    ) -> None:
        super().__init__()
        self.alpha = _two_numbers(alpha, "alpha")
        self.sigma = _two_numbers(sigma, "sigma")
        self.interpolation = interpolation
        self.fill = _checked_fill(fill)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        size = list(query_size(flat_inputs))
        draw = drawing.ElasticTransform.get_params
        return {"displacement": draw(self.alpha, self.sigma, size)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.elastic(
            inpt, params["displacement"], self.interpolation, _fill_of(self.fill, inpt)
        )


def _two_numbers(value: Any, name: str) -> list[float]:
    if not isinstance(value, int | float | Sequence):
        raise TypeError(f"{name} should be a number or a sequence of numbers. Got {type(value)}")
    if isinstance(value, Sequence) and len(value) not in (1, 2):
        raise ValueError(f"If {name} is a sequence its length should be 1 or 2. Got {len(value)}")
    both = [value, value] if isinstance(value, int | float) else [value[0], value[-1]]
    return [float(each) for each in both]


class RandomResize(Transform):
    """Resize the shorter side of the picture to a random length.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RandomResize(4, 5)(taper.zeros(3, 8, 8)).shape
    torch.Size([3, 4, 4])
    """

    def __init__(
        self,
        min_size: int,
        max_size: int,
        interpolation: Any = InterpolationMode.BILINEAR.value,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.min_size = min_size
        self.max_size = max_size
        self.interpolation = interpolation
        self.antialias = antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"size": [integer(self.min_size, self.max_size)]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.resize(inpt, params["size"], self.interpolation, antialias=self.antialias)


class RandomShortestSize(Transform):
    """Resize the shorter side to one of some lengths, within `max_size`.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RandomShortestSize([4])(taper.zeros(3, 8, 16)).shape
    torch.Size([3, 4, 8])
    """

    def __init__(
        self,
        min_size: Any,
        max_size: int | None = None,
        interpolation: Any = InterpolationMode.BILINEAR.value,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.min_size = [min_size] if isinstance(min_size, int) else list(min_size)
        self.max_size = max_size
        self.interpolation = interpolation
        self.antialias = antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = query_size(flat_inputs)
        shortest = self.min_size[integer(0, len(self.min_size))]
        factor = shortest / min(height, width)
        if self.max_size is not None:
            factor = min(factor, self.max_size / max(height, width))
        return {"size": [int(height * factor), int(width * factor)]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.resize(inpt, params["size"], self.interpolation, antialias=self.antialias)


class ScaleJitter(Transform):
    """Scale the picture to a random part, or multiple, of what fits a size.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.ScaleJitter((4, 4), scale_range=(1, 1))(taper.zeros(3, 8, 16)).shape
    torch.Size([3, 2, 4])
    """

    def __init__(
        self,
        target_size: tuple[int, int],
        scale_range: tuple[float, float] = (0.1, 2.0),
        interpolation: Any = InterpolationMode.BILINEAR.value,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.target_size = target_size
        self.scale_range = scale_range
        self.interpolation = interpolation
        self.antialias = antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = query_size(flat_inputs)
        low, high = self.scale_range
        scale = low + rand(1) * (high - low)
        factor = min(self.target_size[1] / height, self.target_size[0] / width) * scale
        return {"size": [int(height * factor), int(width * factor)]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.resize(inpt, params["size"], self.interpolation, antialias=self.antialias)
