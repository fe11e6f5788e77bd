"""The public functions that move pixels: on tensors, or on pictures."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from taper import dtypes
from taper.ops.creation.data import tensor
from taper.ops.linalg.lstsq import linalg_lstsq
from taper.tensor import Tensor
from taper.userwarning import warn_user
from taper.vision.pillow import is_picture
from taper.vision.transforms import pictures, tensors, warps
from taper.vision.transforms.conversions import pil_to_tensor, to_pil_image
from taper.vision.transforms.modes import (
    InterpolationMode,
    checked_mode,
    from_number,
    pillow_mode,
)


def get_dimensions(img: Any) -> list[int]:
    """Return channels, height and width.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.get_dimensions(taper.zeros(8, 3, 4, 5))
    [3, 4, 5]
    """
    return tensors.dimensions(img) if isinstance(img, Tensor) else pictures.dimensions(img)


def get_image_size(img: Any) -> list[int]:
    """Return width and height.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.get_image_size(taper.zeros(3, 4, 5))
    [5, 4]
    """
    return get_dimensions(img)[:0:-1]


def get_image_num_channels(img: Any) -> int:
    """Return how many channels there are.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.get_image_num_channels(taper.zeros(4, 5))
    1
    """
    return get_dimensions(img)[0]


def hflip(img: Any) -> Any:
    """Exchange left and right.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.hflip(taper.tensor([[1, 2, 3]]))
    tensor([[3, 2, 1]])
    """
    if not isinstance(img, Tensor):
        return pictures.hflip(img)
    tensors.check(img)
    return img.flip(-1)


def vflip(img: Any) -> Any:
    """Exchange top and bottom.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.vflip(taper.tensor([[1], [2]]))
    tensor([[2],
            [1]])
    """
    if not isinstance(img, Tensor):
        return pictures.vflip(img)
    tensors.check(img)
    return img.flip(-2)


# --- parts -----------------------------------------------------------------------------------


def pad(img: Any, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> Any:
    """Add a border of one width, (left/right, top/bottom), or (left, top, right, bottom).

    `padding_mode` is "constant" (with `fill`), "edge", "reflect" or "symmetric".

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.pad(taper.tensor([[[1, 2]]]), (2, 0), padding_mode="symmetric")
    tensor([[[2, 1, 1, 2, 2, 1]]])
    """
    if not isinstance(img, Tensor):
        return pictures.pad(img, padding, fill, padding_mode)
    return tensors.pad(img, padding, fill, padding_mode)


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """Return a rectangle, with zeros where it leaves the picture.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.crop(taper.tensor([[1, 2], [3, 4]]), 0, 1, 2, 2)
    tensor([[2, 0],
            [4, 0]])
    """
    if not isinstance(img, Tensor):
        return pictures.crop(img, top, left, height, width)
    return tensors.crop(img, top, left, height, width)


def center_crop(img: Any, output_size: Any) -> Any:
    """Return the middle of the picture, with zeros around if it is smaller.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.center_crop(taper.arange(9).reshape(3, 3), 1)
    tensor([[4]])
    """
    if isinstance(output_size, numbers.Number):
        output_size = (int(output_size), int(output_size))  # type: ignore[call-overload]
    elif isinstance(output_size, tuple | list) and len(output_size) == 1:
        output_size = (output_size[0], output_size[0])
    _, height, width = get_dimensions(img)
    crop_height, crop_width = output_size
    if crop_width > width or crop_height > height:
        widths = [
            (crop_width - width) // 2 if crop_width > width else 0,
            (crop_height - height) // 2 if crop_height > height else 0,
            (crop_width - width + 1) // 2 if crop_width > width else 0,
            (crop_height - height + 1) // 2 if crop_height > height else 0,
        ]
        img = pad(img, widths, fill=0)
        _, height, width = get_dimensions(img)
        if crop_width == width and crop_height == height:
            return img
    top = round((height - crop_height) / 2.0)
    left = round((width - crop_width) / 2.0)
    return crop(img, top, left, crop_height, crop_width)


def five_crop(img: Any, size: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Return the four corners (upper left and right, lower left and right) and the middle.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> taper.cat(functional.five_crop(taper.arange(9).reshape(3, 3), 1)).flatten()
    tensor([0, 2, 6, 8, 4])
    """
    if isinstance(size, numbers.Number):
        size = (int(size), int(size))  # type: ignore[call-overload]
    elif isinstance(size, tuple | list) and len(size) == 1:
        size = (size[0], size[0])
    if len(size) != 2:
        raise ValueError("Please provide only two dimensions (h, w) for size.")
    _, height, width = get_dimensions(img)
    rows, columns = size
    if columns > width or rows > height:
        raise ValueError(f"Requested crop size {size} is bigger than input size {(height, width)}")
    return (
        crop(img, 0, 0, rows, columns),
        crop(img, 0, width - columns, rows, columns),
        crop(img, height - rows, 0, rows, columns),
        crop(img, height - rows, width - columns, rows, columns),
        center_crop(img, [rows, columns]),
    )


def ten_crop(img: Any, size: Any, vertical_flip: bool = False) -> tuple[Any, ...]:
    """Return `five_crop` of the picture, and of the flipped picture.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> taper.cat(functional.ten_crop(taper.arange(9).reshape(3, 3), 1)).flatten()
    tensor([0, 2, 6, 8, 4, 2, 0, 8, 6, 4])
    """
    first = five_crop(img, size)
    return first + five_crop(vflip(img) if vertical_flip else hflip(img), size)


# --- sizes -----------------------------------------------------------------------------------


def resized_size(size: tuple[int, int], wanted: Any, max_size: int | None) -> list[int]:
    """Return height and width after `resize`: one number is the shorter side."""
    height, width = size
    if wanted is None:
        raise ValueError("This should never happen!!")
    if len(wanted) != 1:
        return [wanted[0], wanted[1]]
    shorter, longer = (width, height) if width <= height else (height, width)
    new_shorter = wanted[0]
    if max_size is not None and max_size <= new_shorter:
        raise ValueError(
            f"max_size = {max_size} must be strictly greater than the requested size for the "
            f"smaller edge size = {wanted}"
        )
    new_longer = int(new_shorter * longer / shorter)
    if max_size is not None and new_longer > max_size:
        new_shorter, new_longer = int(max_size * new_shorter / new_longer), max_size
    return [new_longer, new_shorter] if width <= height else [new_shorter, new_longer]


def check_max_size(size: Any, max_size: Any) -> None:
    """Refuse a largest size together with height and width."""
    if max_size is not None and len(size) != 1:
        raise ValueError(
            "max_size should only be passed if size specifies the length of the smaller edge, "
            "i.e. size should be an int or a sequence of length 1 in torchscript mode."
        )


def resize(
    img: Any,
    size: Any,
    interpolation: Any = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """Return the picture in (height, width), or with its shorter side of one length.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.resize(taper.zeros(3, 4, 8), 2).shape
    torch.Size([3, 2, 4])
    """
    mode = checked_mode(interpolation)
    if isinstance(size, list | tuple):
        if len(size) not in (1, 2):
            raise ValueError(
                "Size must be an int or a 1 or 2 element tuple/list, not a "
                f"{len(size)} element tuple/list"
            )
        check_max_size(size, max_size)
    _, height, width = get_dimensions(img)
    if isinstance(size, int):
        size = [size]
    new_size = resized_size((height, width), size, max_size)
    if [height, width] == new_size:
        return img
    if isinstance(img, Tensor):
        return tensors.resize(img, new_size, mode.value, antialias)
    if antialias is False:
        warn_user(
            "Anti-alias option is always applied for PIL Image input. Argument antialias is "
            "ignored."
        )
    return pictures.resize(img, new_size, pillow_mode(mode))


def resized_crop(
    img: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: Any,
    interpolation: Any = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Any:
    """Return a rectangle of the picture, resized.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.resized_crop(taper.eye(4)[None], 0, 0, 2, 2, (1, 1))
    tensor([[[0.5000]]])
    """
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


# --- maps of the plane -----------------------------------------------------------------------


def _from_centre(img: Any, center: Any) -> list[float]:
    """Return a place counted from the middle of the picture."""
    if center is None:
        return [0.0, 0.0]
    _, height, width = get_dimensions(img)
    return [place - size * 0.5 for place, size in zip(center, (width, height), strict=False)]


def rotate(
    img: Any,
    angle: float,
    interpolation: Any = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: Any = None,
) -> Any:
    """Turn the picture counterclockwise, in degrees; `expand` makes room for all of it.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.rotate(taper.tensor([[[1, 2], [3, 4]]]), 90)
    tensor([[[2, 4],
             [1, 3]]])
    """
    mode = checked_mode(interpolation)
    if not isinstance(angle, int | float):
        raise TypeError("Argument angle should be int or float")
    if center is not None and not isinstance(center, list | tuple):
        raise TypeError("Argument center should be a sequence")
    if not isinstance(img, Tensor):
        return pictures.rotate(img, angle, pillow_mode(mode), expand, center, fill)
    # Coordinates grow downwards: the matrix turns the other way.
    around = _from_centre(img, center)
    matrix = warps.inverse_affine_matrix(around, -angle, [0.0, 0.0], 1.0, [0.0, 0.0])
    return warps.rotate(img, matrix, mode.value, expand, fill)


def _both_shears(shear: Any) -> Any:
    if not isinstance(shear, numbers.Number | list | tuple):
        raise TypeError("Shear should be either a single value or a sequence of two values")
    if isinstance(shear, numbers.Number):
        return [shear, 0.0]
    shear = list(shear)
    if len(shear) == 1:
        return [shear[0], shear[0]]
    if len(shear) != 2:
        raise ValueError(f"Shear should be a sequence containing two values. Got {shear}")
    return shear


def _check_affine(angle: Any, translate: Any, scale: Any) -> None:
    if not isinstance(angle, int | float):
        raise TypeError("Argument angle should be int or float")
    if not isinstance(translate, list | tuple):
        raise TypeError("Argument translate should be a sequence")
    if len(translate) != 2:
        raise ValueError("Argument translate should be a sequence of length 2")
    if scale <= 0.0:
        raise ValueError("Argument scale should be positive")


def affine(
    img: Any,
    angle: float,
    translate: Sequence[int],
    scale: float,
    shear: Any,
    interpolation: Any = InterpolationMode.NEAREST,
    fill: Any = None,
    center: Sequence[float] | None = None,
) -> Any:
    """Scale, shear and turn the picture clockwise (degrees), then move it.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.affine(taper.tensor([[[1, 2, 3]]]), 0, [1, 0], 1.0, [0.0])
    tensor([[[0, 1, 2]]])
    """
    mode = checked_mode(interpolation)
    _check_affine(angle, translate, scale)
    shear = _both_shears(shear)
    if center is not None and not isinstance(center, list | tuple):
        raise TypeError("Argument center should be a sequence")
    _, height, width = get_dimensions(img)
    if isinstance(img, Tensor):
        around = _from_centre(img, center)
        matrix = warps.inverse_affine_matrix(around, angle, translate, scale, shear)
        return warps.affine(img, matrix, mode.value, fill)
    if center is None:
        # Half a pixel from the centre of pixels, so that an angle of 0 changes nothing.
        center = [width * 0.5, height * 0.5]
    matrix = warps.inverse_affine_matrix(center, angle, translate, scale, shear)
    return pictures.affine(img, matrix, pillow_mode(mode), fill)


def perspective_coefficients(
    startpoints: Sequence[Sequence[int]], endpoints: Sequence[Sequence[int]]
) -> list[float]:
    """Return the eight numbers of the projective map from end points to start points."""
    if len(startpoints) != 4 or len(endpoints) != 4:
        raise ValueError(
            f"Please provide exactly four corners, got {len(startpoints)} startpoints and "
            f"{len(endpoints)} endpoints."
        )
    rows, targets = [], []
    for (x, y), (to_x, to_y) in zip(endpoints, startpoints, strict=True):
        rows.append([x, y, 1, 0, 0, 0, -to_x * x, -to_x * y])
        rows.append([0, 0, 0, x, y, 1, -to_y * x, -to_y * y])
        targets += [to_x, to_y]
    matrix = tensor(rows, dtype=dtypes.float64)
    known = tensor(targets, dtype=dtypes.float64)
    solution = linalg_lstsq(matrix, known[:, None], driver="gels").solution[:, 0]
    coefficients: list[float] = solution.to(dtypes.float32).tolist()
    return coefficients


def perspective(
    img: Any,
    startpoints: Sequence[Sequence[int]],
    endpoints: Sequence[Sequence[int]],
    interpolation: Any = InterpolationMode.BILINEAR,
    fill: Any = None,
) -> Any:
    """Return the picture seen so that four points of it move to four others.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> corners = [[0, 0], [3, 0], [3, 3], [0, 3]]
    >>> functional.perspective(taper.ones(1, 4, 4), corners, corners).shape
    torch.Size([1, 4, 4])
    """
    coefficients = perspective_coefficients(startpoints, endpoints)
    mode = checked_mode(interpolation)
    if not isinstance(img, Tensor):
        return pictures.perspective(img, coefficients, pillow_mode(mode), fill)
    return warps.perspective(img, coefficients, mode.value, fill)


def elastic_transform(
    img: Any,
    displacement: Tensor,
    interpolation: Any = InterpolationMode.BILINEAR,
    fill: Any = None,
) -> Any:
    """Fetch each pixel from a place beside its own; `displacement` is (1, H, W, 2).

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.elastic_transform(taper.eye(2)[None], taper.zeros(1, 2, 2, 2))
    tensor([[[1., 0.],
             [0., 1.]]])
    """
    if isinstance(interpolation, int):
        warn_user(
            "Argument interpolation should be of type InterpolationMode instead of int. Please, "
            "use InterpolationMode enum."
        )
        interpolation = from_number(interpolation)
    if not isinstance(displacement, Tensor):
        raise TypeError("Argument displacement should be a Tensor")
    warped = img
    if not isinstance(img, Tensor):
        if not is_picture(img):
            raise TypeError(f"img should be PIL Image or Tensor. Got {type(img)}")
        warped = pil_to_tensor(img)
    expected = (1, *warped.shape[-2:], 2)
    if displacement.shape != expected:
        raise ValueError(
            f"Argument displacement shape should be {type(warped.shape)(expected)}, but given "
            f"{displacement.shape}"
        )
    moved = warps.elastic_transform(warped, displacement, interpolation.value, fill)
    return moved if isinstance(img, Tensor) else to_pil_image(moved, mode=img.mode)
