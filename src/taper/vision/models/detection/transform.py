"""Pictures of any size made ready for a detector, and its answers brought back to their sizes."""

from __future__ import annotations

import math
from typing import Any

from taper import dtypes, nn
from taper.nn import functional as F
from taper.ops.creation.data import as_tensor, tensor
from taper.ops.creation.filled import empty
from taper.ops.shape.split import stack
from taper.tensor import Tensor
from taper.vision.models.detection.image_list import ImageList
from taper.vision.models.detection.pasting import paste_masks_in_image


def _ratios(original_size: Any, new_size: Any, like: Tensor) -> list[Tensor]:
    options: dict[str, Any] = {"dtype": dtypes.float32, "device": like.device}
    return [
        tensor(new, **options) / tensor(old, **options)
        for new, old in zip(new_size, original_size, strict=True)
    ]


def resize_boxes(boxes: Tensor, original_size: Any, new_size: Any) -> Tensor:
    """Return boxes in a picture of another size."""
    down, along = _ratios(original_size, new_size, boxes)
    x1, y1, x2, y2 = boxes.unbind(1)
    return stack((x1 * along, y1 * down, x2 * along, y2 * down), dim=1)


def resize_keypoints(keypoints: Tensor, original_size: Any, new_size: Any) -> Tensor:
    """Return key points in a picture of another size."""
    down, along = _ratios(original_size, new_size, keypoints)
    resized = keypoints.clone()
    resized[..., 0] *= along
    resized[..., 1] *= down
    return resized


def _resize_image_and_masks(
    image: Tensor,
    self_min_size: int,
    self_max_size: int,
    target: dict[str, Tensor] | None = None,
    fixed_size: tuple[int, int] | None = None,
) -> tuple[Tensor, dict[str, Tensor] | None]:
    how: dict[str, Any]
    if fixed_size is not None:
        how = {"size": [fixed_size[1], fixed_size[0]]}
    else:
        sides = tensor(image.shape[-2:]).to(dtypes.float32)
        shorter, longer = sides.min(), sides.max()
        by_shorter, by_longer = self_min_size / shorter, self_max_size / longer
        factor = min(by_shorter.item(), by_longer.item())
        how = {"scale_factor": factor, "recompute_scale_factor": True}
    image = F.interpolate(image[None], mode="bilinear", align_corners=False, **how)[0]
    if target is not None and "masks" in target:
        masks = F.interpolate(target["masks"][:, None].float(), **how)[:, 0]
        target["masks"] = masks.byte()
    return image, target


class GeneralizedRCNNTransform(nn.Module):
    """Normalise and resize pictures and their targets, and put them into one tensor.

    Args:
        min_size: the shorter side, or several to draw from in training.
        max_size: the most that the longer side may have.
        image_mean: the mean of each channel.
        image_std: the deviation of each channel.
        size_divisible: sides are filled up to a multiple of it.
        fixed_size: width and height for all pictures instead.

    >>> import taper
    >>> from taper.vision.models.detection.transform import GeneralizedRCNNTransform
    >>> prepare = GeneralizedRCNNTransform(32, 64, [0.5] * 3, [0.5] * 3)
    >>> prepare([taper.zeros(3, 20, 30)])[0].tensors.shape
    torch.Size([1, 3, 32, 64])
    """

    def __init__(
        self,
        min_size: Any,
        max_size: int,
        image_mean: list[float],
        image_std: list[float],
        size_divisible: int = 32,
        fixed_size: tuple[int, int] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.min_size = min_size if isinstance(min_size, list | tuple) else (min_size,)
        self.max_size = max_size
        self.image_mean = image_mean
        self.image_std = image_std
        self.size_divisible = size_divisible
        self.fixed_size = fixed_size
        self._skip_resize = kwargs.pop("_skip_resize", False)

    def forward(
        self, images: list[Tensor], targets: list[dict[str, Tensor]] | None = None
    ) -> tuple[ImageList, list[dict[str, Tensor]] | None]:
        images = list(images)
        if targets is not None:
            targets = [dict(each) for each in targets]
        for nr, image in enumerate(images):
            if image.dim() != 3:
                raise ValueError(
                    "images is expected to be a list of 3d tensors of shape [C, H, W], got "
                    f"{image.shape}"
                )
            target = targets[nr] if targets is not None else None
            images[nr], target = self.resize(self.normalize(image), target)
            if targets is not None and target is not None:
                targets[nr] = target
        sizes = [(each.shape[-2], each.shape[-1]) for each in images]
        return ImageList(self.batch_images(images, self.size_divisible), sizes), targets

    def normalize(self, image: Tensor) -> Tensor:
        """Return a picture with the usual mean and deviation."""
        if not image.is_floating_point():
            raise TypeError(
                "Expected input images to be of floating type (in range [0, 1]), "
                f"but found type {image.dtype} instead"
            )
        options: dict[str, Any] = {"dtype": image.dtype, "device": image.device}
        mean, deviation = (as_tensor(each, **options) for each in (self.image_mean, self.image_std))
        return (image - mean[:, None, None]) / deviation[:, None, None]

    def torch_choice(self, k: list[int]) -> int:
        """Return one of several sizes at random."""
        return k[int(empty(1).uniform_(0.0, float(len(k))).item())]

    def resize(
        self, image: Tensor, target: dict[str, Tensor] | None = None
    ) -> tuple[Tensor, dict[str, Tensor] | None]:
        """Return a picture and its target in the size that the detector wants."""
        before = image.shape[-2:]
        if self.training:
            if self._skip_resize:
                return image, target
            size = self.torch_choice(self.min_size)
        else:
            size = self.min_size[-1]
        image, target = _resize_image_and_masks(image, size, self.max_size, target, self.fixed_size)
        if target is None:
            return image, target
        target["boxes"] = resize_boxes(target["boxes"], before, image.shape[-2:])
        if "keypoints" in target:
            after = image.shape[-2:]
            target["keypoints"] = resize_keypoints(target["keypoints"], before, after)
        return image, target

    def batch_images(self, images: list[Tensor], size_divisible: int = 32) -> Tensor:
        """Return pictures in one tensor, filled up with zeros."""
        largest = [max(each.shape[dim] for each in images) for dim in range(3)]
        sides = [math.ceil(side / size_divisible) * size_divisible for side in largest[1:]]
        batch = images[0].new_full([len(images), largest[0], *sides], 0)
        for place, image in zip(batch, images, strict=True):
            place[: image.shape[0], : image.shape[1], : image.shape[2]].copy_(image)
        return batch

    def postprocess(
        self,
        result: list[dict[str, Tensor]],
        image_shapes: list[tuple[int, int]],
        original_image_sizes: list[tuple[int, int]],
    ) -> list[dict[str, Tensor]]:
        """Bring boxes, masks and key points back to the sizes that the pictures had."""
        if self.training:
            return result
        for found, now, before in zip(result, image_shapes, original_image_sizes, strict=True):
            found["boxes"] = resize_boxes(found["boxes"], now, before)
            if "masks" in found:
                found["masks"] = paste_masks_in_image(found["masks"], found["boxes"], before)
            if "keypoints" in found:
                found["keypoints"] = resize_keypoints(found["keypoints"], now, before)
        return result

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(\n"
            f"    Normalize(mean={self.image_mean}, std={self.image_std})\n"
            f"    Resize(min_size={self.min_size}, max_size={self.max_size}, mode='bilinear')\n)"
        )
