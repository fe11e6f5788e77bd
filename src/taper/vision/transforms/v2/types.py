"""Transforms of kinds and dtypes, and small ones without geometry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper import dtypes
from taper.dtypes import dtype as Dtype
from taper.tensor import Tensor
from taper.userwarning import warn_user
from taper.vision.pillow import is_picture
from taper.vision.transforms import basic
from taper.vision.transforms import functional as first
from taper.vision.transforms.arguments import integer, pair_of, uniform
from taper.vision.transforms.v2 import functional as F
from taper.vision.transforms.v2.transform import Transform, is_array, is_picture_or_video
from taper.vision.tv_tensors import TVTensor


class ToImage(Transform):
    """Turn a picture or an array into a tensor (C, H, W) of the same values.

    >>> import numpy as np
    >>> from taper.vision.transforms import v2
    >>> v2.ToImage()(np.zeros((4, 5, 3), np.uint8)).shape
    torch.Size([3, 4, 5])
    """

    _transformed_types = (F.is_pure_tensor, is_picture, is_array)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Tensor:
        return F.to_image(inpt)


class ToTensor(Transform):
    """Turn a picture or an array into numbers from 0 to 1; use `ToImage` and `ToDtype`.

    >>> import warnings
    >>> from taper.vision.transforms import v2
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     v2.ToTensor()
    ToTensor()
    """

    _transformed_types = (is_picture, is_array)

    def __init__(self) -> None:
        warn_user(
            "The transform `ToTensor()` is deprecated and will be removed in a future release. "
            "Instead, please use `v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, "
            "scale=True)])`.Output is equivalent up to float precision."
        )
        super().__init__()

    def transform(self, inpt: Any, params: dict[str, Any]) -> Tensor:
        return first.to_tensor(inpt)


class PILToTensor(Transform):
    """Turn a picture into a tensor (C, H, W) of the same values.

    >>> from PIL import Image
    >>> from taper.vision.transforms import v2
    >>> v2.PILToTensor()(Image.new("L", (2, 1), 7))
    tensor([[[7, 7]]], dtype=torch.uint8)
    """

    _transformed_types = (is_picture,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Tensor:
        return F.pil_to_tensor(inpt)


class ToPILImage(Transform):
    """Turn a tensor or an array into a picture.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.ToPILImage()(taper.zeros(3, 4, 5)).mode
    'RGB'
    """

    _transformed_types = (Tensor, is_array)

    def __init__(self, mode: str | None = None) -> None:
        super().__init__()
        self.mode = mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        plain = inpt.as_subclass(Tensor) if isinstance(inpt, TVTensor) else inpt
        return F.to_pil_image(plain, mode=self.mode)


class ToPureTensor(Transform):
    """Turn pictures, masks, boxes and points into plain tensors.

    >>> import taper
    >>> from taper.vision import tv_tensors
    >>> from taper.vision.transforms import v2
    >>> v2.ToPureTensor()(tv_tensors.Image(taper.zeros(1, 1, 2)))
    tensor([[[0., 0.]]])
    """

    _transformed_types = (TVTensor,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Tensor:
        return inpt.as_subclass(Tensor)


class ToDtype(Transform):
    """Convert tensors to another dtype, scaled to that range if asked for.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.ToDtype(taper.float32, scale=True)(taper.tensor([[[51]]], dtype=taper.uint8))
    tensor([[[0.2000]]])
    """

    _transformed_types = (Tensor,)

    def __init__(self, dtype: Any, scale: bool = False) -> None:
        super().__init__()
        if not isinstance(dtype, dict | Dtype):
            raise ValueError(f"dtype must be a dict or a torch.dtype, got {type(dtype)} instead")
        self.dtype = dtype
        self.scale = scale

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        dtype: Any = self.dtype
        if isinstance(dtype, dict):
            if type(inpt) not in dtype and "others" not in dtype:
                raise ValueError(
                    f"No dtype was specified for type {type(inpt)}. If you only need to convert "
                    "the dtype of images or videos, you can just pass e.g. dtype=torch.float32. "
                    'If you\'re passing a dict as dtype, you can use "others" as a catch-all key '
                    'e.g. dtype={tv_tensors.Mask: torch.int64, "others": None} to pass-through '
                    "the rest of the inputs."
                )
            dtype = dtype.get(type(inpt), dtype.get("others"))
        elif not is_picture_or_video(inpt):
            return inpt  # one dtype is that of pictures
        return inpt if dtype is None else F.to_dtype(inpt, dtype, self.scale)


class ConvertImageDtype(Transform):
    """Convert tensors to another dtype, scaled to that range.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.ConvertImageDtype(taper.uint8)(taper.tensor([[[1.0]]]))
    tensor([[[255]]], dtype=torch.uint8)
    """

    _transformed_types = (Tensor,)

    def __init__(self, dtype: Dtype = dtypes.float32) -> None:
        super().__init__()
        self.dtype = dtype

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.to_dtype(inpt, self.dtype, True)


class Normalize(Transform):
    """Subtract the mean and divide by the deviation, channel by channel.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.Normalize([0.5], [0.25])(taper.tensor([[[0.5, 1.0]]]))
    tensor([[[0., 2.]]])
    """

    def __init__(self, mean: Any, std: Any, inplace: bool = False) -> None:
        super().__init__()
        self.mean = list(mean)
        self.std = list(std)
        self.inplace = inplace

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        if any(is_picture(each) for each in flat_inputs):
            raise TypeError(f"{type(self).__name__}() does not support PIL images.")

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.normalize(inpt, self.mean, self.std, self.inplace)


class Identity(Transform):
    """Return the sample unchanged.

    >>> from taper.vision.transforms import v2
    >>> v2.Identity()(3)
    3
    """

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return inpt


class Lambda(Transform):
    """Apply any function to all parts of a sample, or to those of some types.

    >>> from taper.vision.transforms import v2
    >>> v2.Lambda(lambda x: x * 2, str)((3, "ab"))
    (3, 'abab')
    """

    def __init__(self, lambd: Callable[[Any], Any], *types: type) -> None:
        super().__init__()
        self.lambd = lambd
        self.types = types or (object,)
        self._transformed_types = self.types

    def _needs_transform_list(self, flat_inputs: list[Any]) -> list[bool]:
        return [isinstance(each, self.types) for each in flat_inputs]

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.lambd(inpt)

    def extra_repr(self) -> str:
        names = [getattr(self.lambd, "__name__", repr(self.lambd))]
        return ", ".join([*names, f"types={[each.__name__ for each in self.types]}"])


class GaussianBlur(Transform):
    """Blur the picture with a bell of random width.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.GaussianBlur(3)(taper.ones(1, 4, 4)).shape
    torch.Size([1, 4, 4])
    """

    def __init__(self, kernel_size: Any, sigma: Any = (0.1, 2.0)) -> None:
        super().__init__()
        message = "Kernel size should be a tuple/list of two integers"
        self.kernel_size = pair_of(kernel_size, message)
        if any(size <= 0 or size % 2 == 0 for size in self.kernel_size):
            raise ValueError("Kernel size value should be an odd and positive number.")
        both = [sigma, sigma] if isinstance(sigma, int | float) else sigma
        self.sigma = [float(each) for each in both]
        if not 0.0 < self.sigma[0] <= self.sigma[1]:
            raise ValueError(
                f"sigma values should be positive and of the form (min, max). Got {self.sigma}"
            )

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        sigma = uniform(self.sigma[0], self.sigma[1])
        return {"sigma": [sigma, sigma]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.gaussian_blur(inpt, list(self.kernel_size), params["sigma"])


class GaussianNoise(Transform):
    """Add normal noise to tensors.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.GaussianNoise()(taper.ones(1, 4, 4)).shape
    torch.Size([1, 4, 4])
    """

    def __init__(self, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> None:
        super().__init__()
        self.mean = mean
        self.sigma = sigma
        self.clip = clip

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.gaussian_noise(inpt, self.mean, self.sigma, self.clip)


class LinearTransformation(Transform):
    """Flatten a picture, subtract the mean, multiply by a square matrix.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.LinearTransformation(taper.eye(2), taper.ones(2))(taper.ones(1, 1, 2)).sum()
    tensor(0.)
    """

    def __init__(self, transformation_matrix: Tensor, mean_vector: Tensor) -> None:
        super().__init__()
        self._whiten = basic.LinearTransformation(transformation_matrix, mean_vector)
        self.transformation_matrix = transformation_matrix
        self.mean_vector = mean_vector

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        if any(is_picture(each) for each in flat_inputs):
            raise TypeError(f"{type(self).__name__}() does not support PIL images.")

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._whiten.forward(inpt)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class UniformTemporalSubsample(Transform):
    """Pick evenly spaced pictures of a video (..., T, C, H, W).

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.UniformTemporalSubsample(2)(taper.zeros(9, 3, 2, 2)).shape
    torch.Size([2, 3, 2, 2])
    """

    _transformed_types = (Tensor,)

    def __init__(self, num_samples: int) -> None:
        super().__init__()
        self.num_samples = num_samples

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.uniform_temporal_subsample(inpt, self.num_samples)


class JPEG(Transform):
    """Write the picture as JPEG of a random quality, and read it again.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.JPEG((20, 50))(taper.zeros(3, 8, 8, dtype=taper.uint8)).shape
    torch.Size([3, 8, 8])
    """

    def __init__(self, quality: Any) -> None:
        super().__init__()
        both = [quality, quality] if isinstance(quality, int) else list(quality)
        if len(both) != 2 or not 1 <= both[0] <= both[1] <= 100:
            raise ValueError(f"quality must be an integer from 1 to 100 or a range, got {quality=}")
        self.quality = both

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"quality": integer(self.quality[0], self.quality[1] + 1)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.jpeg(inpt, params["quality"])
