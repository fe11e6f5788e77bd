"""Sparse tensors written in place: they take over what the function computes."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper import dtypes
from taper.autograd.state import local
from taper.autograd.views import bump_version, check_inplace, wants_grad
from taper.device import sparse_coo
from taper.ops.sparse.parts import is_sparse
from taper.ops.sparse.tensor import sparse, unsupported
from taper.tensor import Tensor

_WRITING = (
    "abs_ asin_ asinh_ atan_ atanh_ ceil_ deg2rad_ erf_ erfinv_ expm1_ floor_ frac_ log1p_ "
    "nan_to_num_ neg_ negative_ rad2deg_ relu_ round_ sgn_ sign_ sin_ sinh_ sqrt_ tan_ tanh_ "
    "trunc_ add_ sub_ subtract_ mul_ multiply_ div_ divide_ true_divide_ pow_ square_ t_ "
    "transpose_ floor_divide_ unsqueeze_"
)
_UNORDERED = "neg_ negative_ add_ sub_ subtract_ mul_ multiply_ div_ divide_ true_divide_".split()
_UNORDERED += ["pow_", "square_", "t_", "transpose_", "unsqueeze_", "floor_divide_"]


_ALLOWED = "requires_grad_ detach_ sparse_resize_ sparse_resize_and_clear_ share_memory_".split()


def _refusing(name: str) -> Any:
    def refuse(self: Any, *args: Any, **named: Any) -> Any:
        others = any(isinstance(each, Tensor) and wants_grad(each) for each in args)
        check_inplace(self, others, local.state)
        raise unsupported(name, self._kind)

    refuse.__name__ = name
    return refuse


def _writing(name: str) -> Any:
    """Make the method that takes over what the function without the underscore computes."""

    def write(self: Any, *args: Any, **named: Any) -> Any:
        others = any(isinstance(each, Tensor) and wants_grad(each) for each in args)
        check_inplace(self, others, local.state)
        if name not in _UNORDERED and self._kind is sparse_coo and not self._ordered:
            raise RuntimeError(f"{name} requires coalesced input")
        take_over(self, getattr(self, name[:-1])(*args, **named))
        if name == "mul_" and self._kind is sparse_coo and len(self._content) > 1:
            self._ordered = False  # PyTorch does not remember
        return self

    write.__name__ = name
    return write


def take_over(target: Any, result: Any) -> Any:
    """Let a sparse tensor hold what was computed, with its history, and count the write."""
    if result.dtype is not target.dtype:
        if dtypes.promote_types(result.dtype, target.dtype) is not target.dtype:
            names = result.dtype.scalar_type, target.dtype.scalar_type
            raise RuntimeError(
                f"result type {names[0]} can't be cast to the desired output type {names[1]}"
            )
        result = result.to(target.dtype)
    target._become(result)
    if result._grad_fn is not None:
        target._requires_grad, target._grad_fn = True, result._grad_fn
    bump_version(target)
    return target


def zero_(self: Any) -> Any:
    """Take all elements away."""
    check_inplace(self, False, local.state)
    return take_over(self, self.zeros_like())


def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Take over the elements of another sparse tensor."""
    if not is_sparse(src):
        names = [f"torch.{'sparse.' if is_sparse(e) else ''}" for e in (self, src)]
        kinds = [f"{n}{e.dtype.scalar_type}Tensor" for n, e in zip(names, (self, src), strict=True)]
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = "
            f"{kinds[0]} and src type = {kinds[1]}"
        )
    check_inplace(self, wants_grad(src), local.state)
    return take_over(self, src.clone())


def new_zeros(
    self: Any, *size: Any, dtype: Any = None, requires_grad: bool = False, **_: Any
) -> Any:
    """Make a sparse tensor without elements."""
    shape = size[0] if len(size) == 1 and isinstance(size[0], (list, tuple)) else size
    kind = self._content.dtype if dtype is None else dtype.numpy
    made = sparse(sparse_coo, np.zeros((len(shape), 0), np.int64), np.zeros(0, kind), shape, True)
    return made.requires_grad_() if requires_grad else made


def _refuse_resize(self: Any, *size: Any, **named: Any) -> Any:
    raise unsupported("resize_", self._kind)


def resize_as_(self: Any, the_template: Any, *, memory_format: Any = None) -> Any:
    """Take over the shape of another sparse tensor."""
    return self.sparse_resize_(
        the_template._size, the_template._sparse_dims, the_template._dense_dims
    )


def writing_methods() -> dict[str, Any]:
    """Return the methods that write, or make tensors to be written; most are refused."""
    found = {
        name: _refusing(name)
        for name in dir(Tensor)
        if name[0] != "_" and name[-1] == "_" and name not in _ALLOWED
    }
    found |= {name: _writing(name) for name in _WRITING.split()}
    found |= {f"__i{name}__": _writing(f"{name}_") for name in ("add", "sub", "mul")}
    found["__itruediv__"] = _writing("div_")
    found |= {"zero_": zero_, "copy_": copy_, "resize_as_": resize_as_, "resize_": _refuse_resize}
    return found | {"new_zeros": new_zeros, "new_empty": new_zeros}
