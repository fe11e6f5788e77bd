"""`Tensor.resize` and `resize_as`: other shapes for the same number of elements; deprecated."""

from __future__ import annotations

from typing import Any

from taper.autograd.function import Function
from taper.tensor import Tensor
from taper.userwarning import warn_user


class Resize(Function):
    """View a tensor in another shape, or copy it if its elements lie apart."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, sizes: tuple[Any, ...]) -> Tensor:
        """Return the tensor in another shape."""
        wanted = 1
        for size in sizes:
            wanted = size if wanted == 1 else wanted * size
        if wanted != tensor.numel():
            asked, given = "x".join(map(str, sizes)), "x".join(map(str, tensor.shape))
            raise RuntimeError(
                f"requested resize to {asked} ({wanted} elements in total), but the given tensor "
                f"has a size of {given} ({tensor.numel()} elements). autograd's resize can only "
                "change the shape of a given tensor, while preserving the number of elements. "
            )
        ctx.input_sizes = tensor.shape
        if tensor.is_contiguous():
            result = tensor.new(tensor).contiguous().view(*sizes)
            return result
        return tensor.contiguous().view(*sizes)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Any, ...]:
        """Return the gradient in the shape of the tensor."""
        return grad_output.contiguous().view(ctx.input_sizes), None


def resize(self: Tensor, *sizes: Any) -> Tensor:
    """Return the tensor in another shape; deprecated: use `reshape`."""
    warn_user("non-inplace resize is deprecated")
    return Resize.apply(self, sizes)


def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """Return the tensor in the shape of another; deprecated: use `reshape`."""
    warn_user("non-inplace resize_as is deprecated")
    if not isinstance(tensor, Tensor):
        raise AttributeError(f"'{type(tensor).__name__}' object has no attribute 'size'")
    return Resize.apply(self, tuple(tensor.shape))


for _method in (resize, resize_as):
    setattr(Tensor, _method.__name__, _method)
