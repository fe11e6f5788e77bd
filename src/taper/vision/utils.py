"""`taper.vision.utils`: grids of pictures, files of them, and drawing on them.

Grids and masks need NumPy only; files, boxes and points need Pillow.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from taper import dtypes
from taper.autograd.grad_mode import no_grad
from taper.ops.creation.data import from_numpy
from taper.ops.creation.filled import full
from taper.ops.shape.split import cat, stack
from taper.tensor import Tensor
from taper.userwarning import warn_user
from taper.vision.pillow import from_array, pillow

__all__ = [
    "make_grid",
    "save_image",
    "draw_bounding_boxes",
    "draw_segmentation_masks",
    "draw_keypoints",
    "flow_to_image",
]

Colour = str | tuple[int, int, int]
Colours = list[Colour] | Colour | None

# --- grids -----------------------------------------------------------------------------------


def _as_batch(tensor: Any) -> Tensor:
    """Return pictures as one tensor, with three channels if they have one."""
    if isinstance(tensor, list):
        for each in tensor:
            if not isinstance(each, Tensor):
                raise TypeError(
                    f"tensor or list of tensors expected, got a list containing {type(each)}"
                )
        tensor = stack(tensor, dim=0)
    elif not isinstance(tensor, Tensor):
        raise TypeError(f"tensor or list of tensors expected, got {type(tensor)}")
    if tensor.dim() == 2:
        tensor = tensor.unsqueeze(0)
    if tensor.dim() == 3:
        if tensor.size(0) == 1:
            tensor = cat((tensor, tensor, tensor), 0)
        tensor = tensor.unsqueeze(0)
    if tensor.dim() == 4 and tensor.size(1) == 1:
        tensor = cat((tensor, tensor, tensor), 1)
    return tensor


def _scaled(pictures: Tensor, value_range: Any, scale_each: bool) -> Tensor:
    """Return a copy in which the range of values is 0 to 1."""
    pictures = pictures.clone()
    for part in pictures if scale_each else [pictures]:
        low, high = (float(part.min()), float(part.max())) if value_range is None else value_range
        part.clamp_(min=low, max=high)
        part.sub_(low).div_(max(high - low, 1e-5))
    return pictures


@no_grad()
def make_grid(
    tensor: Tensor | list[Tensor],
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[int, int] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Tensor:
    """Put pictures of one size into a grid.

    Args:
        tensor: a batch (N, C, H, W), or a list of pictures.
        nrow: the pictures in a row.
        padding: the pixels between them.
        normalize: move the values to the range 0 to 1.
        value_range: the range to move from; by default that of the values.
        scale_each: normalise each picture alone.
        pad_value: the value between pictures.

    >>> import taper
    >>> from taper.vision.utils import make_grid
    >>> make_grid(taper.zeros(5, 3, 4, 6), nrow=2).shape
    torch.Size([3, 20, 18])
    """
    pictures = _as_batch(tensor)
    if normalize:
        if value_range is not None and not isinstance(value_range, tuple):
            raise TypeError(
                "value_range has to be a tuple (min, max) if specified. min and max are numbers"
            )
        pictures = _scaled(pictures, value_range, scale_each)
    count, channels, height, width = pictures.shape
    if count == 1:
        return pictures.squeeze(0)
    columns = min(nrow, count)
    rows = math.ceil(float(count) / columns)
    height, width = height + padding, width + padding
    sizes = (channels, height * rows + padding, width * columns + padding)
    grid: Tensor = full(sizes, pad_value, dtype=pictures.dtype)
    for number, picture in enumerate(pictures):
        row, column = divmod(number, columns)
        top, left = row * height + padding, column * width + padding
        grid[:, top : top + height - padding, left : left + width - padding] = picture
    return grid


@no_grad()
def save_image(
    tensor: Tensor | list[Tensor], fp: Any, format: str | None = None, **kwargs: Any
) -> None:
    """Write a picture, or a grid of pictures, with values from 0 to 1 into a file.

    Args:
        tensor: a picture, or a batch of them.
        fp: a path or a file object.
        format: the format; by default the name of the file decides.

    Other keywords are those of `make_grid`.

    >>> import io, taper
    >>> from taper.vision.utils import save_image
    >>> file = io.BytesIO()
    >>> save_image(taper.zeros(3, 4, 4), file, format="png")
    >>> file.getvalue()[1:4]
    b'PNG'
    """
    grid = make_grid(tensor, **kwargs)
    pixels = grid.mul(255).add_(0.5).clamp_(0, 255).permute(1, 2, 0).to(dtypes.uint8).numpy()
    if pixels.shape[2] != 3:
        raise ValueError(f"a picture has 1 or 3 channels, not {pixels.shape[2]}")
    from_array(np.ascontiguousarray(pixels), "RGB").save(fp, format=format)


# --- colours and pictures --------------------------------------------------------------------


def _palette(count: int) -> list[Colour]:
    """Return colours that are easy to tell apart; the first is black."""
    return [(nr % 255, nr * 127 % 255, nr * 31 % 255) for nr in range(count)]


def _colours(colours: Any, count: int) -> list[Any]:
    """Return a colour for each of `count` objects, as three numbers."""
    if colours is None:
        colours = _palette(count)
    elif isinstance(colours, list):
        if len(colours) < count:
            raise ValueError(
                "Number of colors must be equal or larger than the number of objects, but got "
                f"{len(colours)} < {count}."
            )
    elif not isinstance(colours, tuple | str):
        raise ValueError(
            f"colors must be a tuple or a string, or a list thereof, but got {colours}."
        )
    elif isinstance(colours, tuple) and len(colours) != 3:
        raise ValueError(f"If passed as tuple, colors should be an RGB triplet, but got {colours}.")
    else:
        colours = [colours] * count
    rgb = pillow("ImageColor").getrgb
    return [rgb(each) if isinstance(each, str) else each for each in colours]


def _check_picture(image: Any) -> None:
    if not isinstance(image, Tensor):
        raise TypeError(f"Tensor expected, got {type(image)}")
    if not (image.dtype is dtypes.uint8 or image.is_floating_point()):
        raise ValueError(f"The image dtype must be uint8 or float, got {image.dtype}")
    if image.dim() != 3:
        raise ValueError("Pass individual images, not batches")


def _to_picture(image: Tensor) -> Any:
    if image.is_floating_point():
        image = image.mul(256 - 1e-3).to(dtypes.uint8)
    pixels = np.ascontiguousarray(image.detach().numpy().transpose(1, 2, 0))
    return from_array(pixels, "RGB")


def _from_picture(picture: Any, like: Tensor) -> Tensor:
    pixels = np.asarray(picture).transpose(2, 0, 1).copy()
    result = from_numpy(pixels)
    return result.to(like.dtype).div_(255) if like.is_floating_point() else result


# --- drawing ---------------------------------------------------------------------------------


@no_grad()
def draw_bounding_boxes(
    image: Tensor,
    boxes: Tensor,
    labels: list[str] | None = None,
    colors: Colours = None,
    fill: bool | None = False,
    width: int = 1,
    font: str | None = None,
    font_size: int | None = None,
    label_colors: Colours = None,
    label_background_colors: Colours = None,
    fill_labels: bool = False,
) -> Tensor:
    """Return a copy of a picture with boxes (x1, y1, x2, y2) and perhaps labels on it.

    Args:
        image: a picture (1 or 3, H, W), of bytes or of numbers from 0 to 1.
        boxes: a tensor (N, 4).
        labels: a text for each box.
        colors: one colour, or one for each box.
        fill: fill the boxes, half transparent.
        width: the width of the lines.
        font, font_size: the font of labels: a TrueType file and its size.
        label_colors: the colours of labels; by default those of the boxes.
        label_background_colors: the colours behind labels.
        fill_labels: fill the background of labels.

    >>> import taper
    >>> from taper.vision.utils import draw_bounding_boxes
    >>> picture = taper.zeros(3, 4, 5, dtype=taper.uint8)
    >>> draw_bounding_boxes(picture, taper.tensor([[1, 1, 3, 3]]), colors="red")[0]
    tensor([[  0,   0,   0,   0,   0],
            [  0, 255, 255, 255,   0],
            [  0, 255,   0, 255,   0],
            [  0, 255, 255, 255,   0]], dtype=torch.uint8)
    """
    _check_picture(image)
    if image.size(0) not in (1, 3):
        raise ValueError("Only grayscale and RGB images are supported")
    corners = boxes.tolist()
    _check_boxes(corners, labels)
    if not corners:
        warn_user("boxes doesn't contain any box. No box was drawn")
        return image
    outlines = _colours(colors, len(corners))
    texts, backgrounds = (
        outlines if each is None else _colours(each, len(corners))
        for each in (label_colors, label_background_colors)
    )
    if font is None and font_size is not None:
        warn_user("Argument 'font_size' will be ignored since 'font' is not set.")
    picture = _to_picture(image.tile(3, 1, 1) if image.size(0) == 1 else image)
    draw = pillow("ImageDraw").Draw(picture, "RGBA" if fill else None)
    letters = _font(font, font_size)
    for nr, corner in enumerate(corners):
        inside = {"fill": (*outlines[nr], 100)} if fill else {}
        draw.rectangle(corner, width=width, outline=outlines[nr], **inside)
        if labels is not None and labels[nr] is not None:
            place = (corner[0] + width + 1, corner[1] + width + 1)
            if fill_labels:
                left, top, right, bottom = draw.textbbox(place, labels[nr], font=letters)
                area = (left - 1, top - 1, right + 1, bottom + 1)
                draw.rectangle(area, fill=backgrounds[nr])
            draw.text(place, labels[nr], fill=texts[nr], font=letters)
    return _from_picture(picture, image)


def _check_boxes(corners: list[Any], labels: list[str] | None) -> None:
    if any(x1 > x2 or y1 > y2 for x1, y1, x2, y2 in corners):
        raise ValueError(
            "Boxes need to be in (xmin, ymin, xmax, ymax) format. Use torchvision.ops.box_convert "
            "to convert them"
        )
    if corners and labels is not None and len(labels) != len(corners):
        raise ValueError(
            f"Number of boxes ({len(corners)}) and labels ({len(labels)}) mismatch. "
            "Please specify labels for each box."
        )


def _font(font: str | None, size: int | None) -> Any:
    fonts = pillow("ImageFont")
    return fonts.load_default() if font is None else fonts.truetype(font, size or 10)


@no_grad()
def draw_segmentation_masks(
    image: Tensor, masks: Tensor, alpha: float = 0.8, colors: Colours = None
) -> Tensor:
    """Return a copy of a picture with coloured masks over it; overlaps are black.

    Args:
        image: a picture (3, H, W), of bytes or of numbers from 0 to 1.
        masks: booleans (N, H, W) or (H, W).
        alpha: how opaque the masks are.
        colors: one colour, or one for each mask.

    >>> import taper
    >>> from taper.vision.utils import draw_segmentation_masks
    >>> picture = taper.zeros(3, 1, 2)
    >>> draw_segmentation_masks(picture, taper.tensor([[True, False]]), 0.5, (255, 0, 0))[0]
    tensor([[0.5000, 0.0000]])
    """
    _check_picture(image)
    if image.size(0) != 3:
        raise ValueError("Pass an RGB image. Other Image formats are not supported")
    if masks.ndim == 2:
        masks = masks[None, :, :]
    if masks.ndim != 3:
        raise ValueError("masks must be of shape (H, W) or (batch_size, H, W)")
    if masks.dtype is not dtypes.bool_:
        raise ValueError(f"The masks must be of dtype bool. Got {masks.dtype}")
    if masks.shape[-2:] != image.shape[-2:]:
        raise ValueError("The image and the masks must have the same height and width")
    outlines = _colours(colors, masks.size(0))
    pixels, shapes = image.numpy(), masks.numpy()
    painted = pixels.copy()
    scale = 255 if image.is_floating_point() else 1
    for shape, colour in zip(shapes, outlines, strict=False):
        painted[:, shape] = (np.array(colour)[:, None] / scale).astype(painted.dtype)
    painted[:, shapes.sum(axis=0) > 1] = 0
    one, other = pixels.dtype.type(1) * np.float32(1 - alpha), np.float32(alpha)
    mixed = pixels * one + painted * other
    return from_numpy(mixed.astype(pixels.dtype))


@no_grad()
def draw_keypoints(
    image: Tensor,
    keypoints: Tensor,
    connectivity: list[tuple[int, int]] | None = None,
    colors: Colour | None = None,
    radius: int = 2,
    width: int = 3,
    visibility: Tensor | None = None,
) -> Tensor:
    """Return a copy of a picture with points of (objects, points, 2) and lines between them.

    Args:
        image: a picture (3, H, W), of bytes or of numbers from 0 to 1.
        keypoints: the places (x, y) of the points.
        connectivity: pairs of points that lines join.
        colors: the colour.
        radius: the radius of points.
        width: the width of lines.
        visibility: which points are drawn.

    >>> import taper
    >>> from taper.vision.utils import draw_keypoints
    >>> picture = taper.zeros(3, 3, 3, dtype=taper.uint8)
    >>> draw_keypoints(picture, taper.tensor([[[1.0, 1.0]]]), colors="red", radius=1)[0]
    tensor([[  0, 255,   0],
            [255, 255, 255],
            [  0, 255,   0]], dtype=torch.uint8)
    """
    _check_picture(image)
    if image.size(0) != 3:
        raise ValueError("Pass an RGB image. Other Image formats are not supported")
    if keypoints.ndim != 3:
        raise ValueError("keypoints must be of shape (num_instances, K, 2)")
    seen = np.ones(keypoints.shape[:2], bool) if visibility is None else visibility.numpy()
    colour = _colours(colors, 1)[0]
    picture = _to_picture(image)
    draw = pillow("ImageDraw").Draw(picture)
    for points, visible in zip(keypoints.tolist(), seen, strict=True):
        for (x, y), is_seen in zip(points, visible, strict=True):
            if is_seen:
                around = (x - radius, y - radius, x + radius, y + radius)
                draw.ellipse(around, fill=colour, outline=None, width=0)
        for start, end in connectivity or ():
            if visible[start] and visible[end]:
                draw.line((*points[start], *points[end]), width=width)  # white, as torchvision's
    return _from_picture(picture, image)


def flow_to_image(flow: Any) -> NoReturn:
    """Refused: models of optical flow are not part of taper."""
    raise NotImplementedError("taper.vision has no pictures of optical flow: use torchvision")
