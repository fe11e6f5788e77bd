"""Categories as vectors: `one_hot` from numbers, `gumbel_softmax` drawn from logits."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.arrays.foreign import has_elements
from taper.device import legacy_contiguous_format
from taper.factory import allocate, finish, integer, tensor_argument
from taper.opdef import composite
from taper.ops.activation.softmax import softmax
from taper.ops.creation.filled import empty_like, zeros_like
from taper.tensor import Tensor
from taper.userwarning import warn_user


@composite(method=False, public=False, arrays=True)
def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """Turn class numbers into vectors with a single one.

    Args:
        input: int64 tensor of class numbers.
        num_classes: length of the vectors; by default one more than the largest number.

    Shape: (*) gives (*, num_classes), in int64.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.one_hot(taper.tensor([0, 2]))
        tensor([[1, 0, 0],
                [0, 0, 1]])
    """
    numbers = tensor_argument("one_hot", "input", input)
    count = integer("one_hot", "num_classes", 2, num_classes)
    if numbers.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not numbers.size:
        if count <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return finish(np.empty((*numbers.shape, count), np.int64))
    if not has_elements(numbers):
        if count <= 0:
            numbers.item()  # raises
        return finish(allocate((*numbers.shape, count), np.dtype(np.int64), None, input.device))
    if numbers.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if count == -1:
        count = int(numbers.max()) + 1
    elif numbers.max() >= count:
        raise RuntimeError("Class values must be smaller than num_classes.")
    result = allocate((*numbers.shape, count), np.dtype(np.int64), 0, input.device)
    np.put_along_axis(result, numbers[..., None], 1, -1)
    return finish(result)


@composite(method=False, public=False)
def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """Draw from a categorical distribution so that gradients can flow through the draw.

    result = softmax((logits + g) / tau), with g drawn from the Gumbel distribution

    Args:
        logits: unnormalised log-probabilities.
        tau: temperature; small values give results close to one-hot.
        hard: return a one-hot draw that has the gradient of the soft one.
        eps: has no effect.
        dim: dimension along which the results sum to 1.

    Shape: the result has the shape of `logits`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> generator = taper.manual_seed(0)
        >>> F.gumbel_softmax(taper.zeros(1, 3), hard=True)
        tensor([[0., 0., 1.]])
    """
    if eps != 1e-10:
        warn_user("`eps` parameter is deprecated and has no effect.")
    noise: Any = -empty_like(logits, memory_format=legacy_contiguous_format).exponential_().log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    place = soft.max(dim, keepdim=True)[1]
    zeros = zeros_like(logits, memory_format=legacy_contiguous_format)
    found: Tensor = zeros.scatter_(dim, place, 1.0) - soft.detach() + soft
    return found
