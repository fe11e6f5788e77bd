"""The types of `taper.functional`.  Written by tools/stubs.py (`make docs`)."""

# Names such as `int`, `float` and `dtype` are functions, dtypes and methods below: types have an
# underscore.

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Self, TypeAlias, overload

from taper import return_types as _return_types
from taper.device import device as _device
from taper.device import layout as _layout
from taper.device import memory_format as _memory_format
from taper.dtypes import dtype as _dtype
from taper.random import Generator
from taper.size import Size as _Size
from taper.tensor import Tensor
from typing_extensions import TypeIs
import numpy as _np

_Number: TypeAlias = _int | _float | _complex | _np.generic
_Operand: TypeAlias = Tensor | _Number
_Device: TypeAlias = _device | str | _int
_Ints: TypeAlias = _int | Sequence[_int]

@overload
def atleast_1d(tensors: Tensor) -> Tensor:
    """Tensors with at least one dimension.

    >>> import taper
    >>> taper.atleast_1d(taper.tensor(1))
    tensor([1])
    """
@overload
def atleast_1d(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Tensors with at least one dimension.

    >>> import taper
    >>> taper.atleast_1d(taper.tensor(1))
    tensor([1])
    """
@overload
def atleast_1d(first: Tensor, second: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
    """Tensors with at least one dimension.

    >>> import taper
    >>> taper.atleast_1d(taper.tensor(1))
    tensor([1])
    """
@overload
def atleast_2d(tensors: Tensor) -> Tensor:
    """Tensors with at least two dimensions; vectors become rows.

    >>> import taper
    >>> taper.atleast_2d(taper.tensor([1, 2]))
    tensor([[1, 2]])
    """
@overload
def atleast_2d(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Tensors with at least two dimensions; vectors become rows.

    >>> import taper
    >>> taper.atleast_2d(taper.tensor([1, 2]))
    tensor([[1, 2]])
    """
@overload
def atleast_2d(first: Tensor, second: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
    """Tensors with at least two dimensions; vectors become rows.

    >>> import taper
    >>> taper.atleast_2d(taper.tensor([1, 2]))
    tensor([[1, 2]])
    """
@overload
def atleast_3d(tensors: Tensor) -> Tensor:
    """Tensors with at least three dimensions; vectors become rows of one column each.

    >>> import taper
    >>> taper.atleast_3d(taper.zeros(2, 3)).shape
    torch.Size([2, 3, 1])
    """
@overload
def atleast_3d(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Tensors with at least three dimensions; vectors become rows of one column each.

    >>> import taper
    >>> taper.atleast_3d(taper.zeros(2, 3)).shape
    torch.Size([2, 3, 1])
    """
@overload
def atleast_3d(first: Tensor, second: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
    """Tensors with at least three dimensions; vectors become rows of one column each.

    >>> import taper
    >>> taper.atleast_3d(taper.zeros(2, 3)).shape
    torch.Size([2, 3, 1])
    """
def block_diag(*tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """A matrix with the tensors along its diagonal, zero elsewhere.

    >>> import taper
    >>> taper.block_diag(taper.tensor([[1]]), taper.tensor([2, 3]))
    tensor([[1, 0, 0],
            [0, 2, 3]])
    """
def broadcast_shapes(*shapes: _Ints) -> _Size:
    """The shape that tensors of these shapes broadcast to.

    >>> import taper
    >>> taper.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
def broadcast_tensors(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """All tensors expanded to their common shape.

    >>> import taper
    >>> taper.broadcast_tensors(taper.zeros(2, 1), taper.zeros(3))[1].shape
    torch.Size([2, 3])
    """
def cartesian_prod(*tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """All combinations of elements of the vectors, one row each.

    >>> import taper
    >>> taper.cartesian_prod(taper.tensor([1, 2]), taper.tensor([3]))
    tensor([[1, 3],
            [2, 3]])
    """
def cdist(x1: Tensor, x2: Tensor, p: _float = 2.0, compute_mode: str = 'use_mm_for_euclid_dist_if_necessary') -> Tensor:
    """The distance of order `p` of each row of `x1` and each of `x2`, for stacks of matrices.

    >>> import taper
    >>> taper.cdist(taper.tensor([[0.0, 0.0]]), taper.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """Product of several matrices, in the order of multiplications that costs least.

    >>> import taper
    >>> import warnings
    >>> warnings.simplefilter("ignore")  # PyTorch calls it deprecated
    >>> taper.chain_matmul(taper.ones(2, 3), taper.ones(3, 4), taper.ones(4, 1)).shape
    torch.Size([2, 1])
    """
def einsum(*args: Any) -> Tensor:
    """Sum of products of the elements of tensors, by Einstein's convention.

    `einsum("ij,jk->ik", a, b)`, or with lists of numbers: `einsum(a, [0, 1], b, [1, 2], [0, 2])`.

    >>> import taper
    >>> taper.einsum("ij->j", taper.tensor([[1., 2.], [3., 4.]]))
    tensor([4., 6.])
    """
def istft(input: Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> Tensor:
    """The signal whose `stft` this is, or comes closest to it in the sense of least squares.

    >>> import taper
    >>> signal, window = taper.arange(8.0), taper.ones(4)
    >>> taper.istft(taper.stft(signal, 4, window=window, return_complex=True), 4, window=window)
    tensor([0., 1., 2., 3., 4., 5., 6., 7.])
    """
@overload
def lu(A: Tensor, pivot: _bool = True, get_infos: Literal[False] = False, out: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """LU factors in one matrix and the pivots; `linalg.lu_factor` is the name to use.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> taper.lu(taper.eye(2))[1]
    tensor([1, 2], dtype=torch.int32)
    """
@overload
def lu(A: Tensor, pivot: _bool = True, *, get_infos: Literal[True], out: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """LU factors in one matrix and the pivots; `linalg.lu_factor` is the name to use.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> taper.lu(taper.eye(2))[1]
    tensor([1, 2], dtype=torch.int32)
    """
def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str | None = None) -> tuple[Tensor, ...]:
    """The coordinates of a grid: each vector expanded along the dimensions of the others.

    >>> import taper
    >>> taper.meshgrid(taper.tensor([1, 2]), taper.tensor([3, 4]), indexing="ij")[0]
    tensor([[1, 1],
            [2, 2]])
    """
def norm(input: Tensor, p: _float | str | None = 'fro', dim: _Ints | None = None, keepdim: _bool = False, out: Tensor | None = None, dtype: _dtype | None = None) -> Tensor:
    """The norm of all elements, or along dimensions: `p` is its order, "fro" means 2.

    "nuc" is the sum of the singular values, of matrices.

    >>> import taper
    >>> taper.norm(taper.tensor([[3.0, 4.0], [6.0, 8.0]]), dim=1)
    tensor([ 5., 10.])
    """
def pca_lowrank(A: Tensor, q: _int | None = None, center: _bool = True, niter: _int = 2) -> tuple[Any, Any, Any]:
    """U, S and V of the centred rows of A: the columns of V are its principal directions.

    >>> import taper
    >>> taper.pca_lowrank(taper.tensor([[1.0, 0.0], [3.0, 0.0]]), q=1)[1].round(decimals=3)
    tensor([1.4140])
    """
def split(tensor: Tensor, split_size_or_sections: _Ints, dim: _int = 0) -> tuple[Tensor, ...]:
    """Consecutive parts along `dim`, of one length or of given lengths; they share the memory.

    >>> import taper
    >>> taper.split(taper.arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
def stft(input: Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, pad_mode: str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor:
    """The Fourier transforms of overlapping pieces of a signal: frequencies by pieces.

    A piece of `n_fft` points begins every `hop_length` (a quarter of it) points and is multiplied
    by `window`.  With `center` the signal gets a border, so that piece k has its middle at point
    k * hop_length; without it, `align_to_window` lets the first window, not the first piece, begin
    where the signal does.

    >>> import taper
    >>> taper.stft(taper.ones(8), 4, window=taper.ones(4), return_complex=True).abs()
    tensor([[4., 4., 4., 4., 4., 4., 4., 4., 4.],
            [0., 0., 0., 0., 0., 0., 0., 0., 0.],
            [0., 0., 0., 0., 0., 0., 0., 0., 0.]])
    """
def svd_lowrank(A: Tensor, q: _int | None = 6, niter: _int | None = 2, M: Tensor | None = None) -> tuple[Any, Any, Any]:
    """U, S and V of an approximation of A - M of rank `q`, found with random vectors.

    >>> import taper
    >>> A = taper.tensor([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> taper.svd_lowrank(A, q=2)[1].round()
    tensor([2., 1.])
    """
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """Sum of products over the last `dims` dimensions of `a` and the first of `b`, or over lists.

    >>> import taper
    >>> taper.tensordot(taper.ones(2, 3), taper.ones(3, 4), dims=1).shape
    torch.Size([2, 4])
    >>> taper.tensordot(taper.ones(2, 3), taper.ones(4, 3), dims=([1], [1])).shape
    torch.Size([2, 4])
    """
@overload
def unique(input: Tensor, sorted: _bool = True, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None) -> Tensor:
    """The distinct elements, or slices along `dim`; they are in order also without `sorted`.

    Every NaN is distinct.  The inverse tells where each element is in the result.

    >>> import taper
    >>> taper.unique(taper.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
@overload
def unique(input: Tensor, sorted: _bool = True, *, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: _int | None = None) -> tuple[Tensor, Tensor]:
    """The distinct elements, or slices along `dim`; they are in order also without `sorted`.

    Every NaN is distinct.  The inverse tells where each element is in the result.

    >>> import taper
    >>> taper.unique(taper.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
@overload
def unique(input: Tensor, sorted: _bool = True, return_inverse: Literal[False] = False, *, return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor]:
    """The distinct elements, or slices along `dim`; they are in order also without `sorted`.

    Every NaN is distinct.  The inverse tells where each element is in the result.

    >>> import taper
    >>> taper.unique(taper.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
@overload
def unique(input: Tensor, sorted: _bool = True, *, return_inverse: Literal[True], return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """The distinct elements, or slices along `dim`; they are in order also without `sorted`.

    Every NaN is distinct.  The inverse tells where each element is in the result.

    >>> import taper
    >>> taper.unique(taper.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
@overload
def unique_consecutive(input: Tensor, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None) -> Tensor:
    """The elements, or slices along `dim`, without those equal to the one before.

    >>> import taper
    >>> taper.unique_consecutive(taper.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
@overload
def unique_consecutive(input: Tensor, *, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: _int | None = None) -> tuple[Tensor, Tensor]:
    """The elements, or slices along `dim`, without those equal to the one before.

    >>> import taper
    >>> taper.unique_consecutive(taper.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
@overload
def unique_consecutive(input: Tensor, return_inverse: Literal[False] = False, *, return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor]:
    """The elements, or slices along `dim`, without those equal to the one before.

    >>> import taper
    >>> taper.unique_consecutive(taper.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
@overload
def unique_consecutive(input: Tensor, *, return_inverse: Literal[True], return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """The elements, or slices along `dim`, without those equal to the one before.

    >>> import taper
    >>> taper.unique_consecutive(taper.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
def unravel_index(indices: Tensor, shape: _Ints) -> tuple[Tensor, ...]:
    """The coordinates of elements, in a tensor of `shape`, that are numbered row by row.

    >>> import taper
    >>> taper.unravel_index(taper.tensor([5, 7]), (3, 4))
    (tensor([1, 1]), tensor([1, 3]))
    """
