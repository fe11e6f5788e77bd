"""The types of taper's public names.  Written by tools/stubs.py (`make docs`)."""

# Names such as `int`, `float` and `dtype` are functions, dtypes and methods below: types have an
# underscore.

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Self, TypeAlias, overload

from taper import _C as _C
from taper import __config__ as __config__
from taper import _dynamo as _dynamo
from taper import _functorch as _functorch
from taper import _guards as _guards
from taper import _higher_order_ops as _higher_order_ops
from taper import _inductor as _inductor
from taper import _tensor as _tensor
from taper import _tensor_str as _tensor_str
from taper import _utils as _utils
from taper import accelerator as accelerator
from taper import amp as amp
from taper import ao as ao
from taper import autograd as autograd
from taper import backends as backends
from taper import compat as compat
from taper import compiler as compiler
from taper import cpu as cpu
from taper import cuda as cuda
from taper import distributed as distributed
from taper import distributions as distributions
from taper import fft as fft
from taper import files as files
from taper import func as func
from taper import functional as functional
from taper import futures as futures
from taper import fx as fx
from taper import hub as hub
from taper import jit as jit
from taper import library as library
from taper import linalg as linalg
from taper import masked as masked
from taper import mps as mps
from taper import mtia as mtia
from taper import multiprocessing as multiprocessing
from taper import nn as nn
from taper import onnx as onnx
from taper import ops as ops
from taper import optim as optim
from taper import overrides as overrides
from taper import profiler as profiler
from taper import quantization as quantization
from taper import quasirandom as quasirandom
from taper import random as random
from taper import return_types as _return_types
from taper import return_types as return_types
from taper import serialization as serialization
from taper import signal as signal
from taper import sparse as sparse
from taper import special as special
from taper import testing as testing
from taper import types as types
from taper import utils as utils
from taper import version as version
from taper import vision as vision
from taper import viz as viz
from taper import xpu as xpu
from taper._higher_order_ops import cond as cond
from taper._higher_order_ops import while_loop as while_loop
from taper.absent.symbols import SymBool as SymBool
from taper.absent.symbols import SymFloat as SymFloat
from taper.absent.symbols import SymInt as SymInt
from taper.absent.symbols import sym_float as sym_float
from taper.absent.symbols import sym_int as sym_int
from taper.absent.symbols import sym_ite as sym_ite
from taper.absent.symbols import sym_max as sym_max
from taper.absent.symbols import sym_min as sym_min
from taper.absent.symbols import sym_not as sym_not
from taper.absent.symbols import sym_sqrt as sym_sqrt
from taper.absent.symbols import sym_sum as sym_sum
from taper.amp import GradScaler as GradScaler
from taper.amp import autocast as autocast
from taper.amp.grad_scaler import _amp_foreach_non_finite_check_and_unscale_ as _amp_foreach_non_finite_check_and_unscale_
from taper.amp.grad_scaler import _amp_update_scale_ as _amp_update_scale_
from taper.amp.state import autocast_decrement_nesting as autocast_decrement_nesting
from taper.amp.state import autocast_increment_nesting as autocast_increment_nesting
from taper.amp.state import clear_autocast_cache as clear_autocast_cache
from taper.amp.state import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from taper.amp.state import get_autocast_dtype as get_autocast_dtype
from taper.amp.state import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from taper.amp.state import get_autocast_ipu_dtype as get_autocast_ipu_dtype
from taper.amp.state import get_autocast_xla_dtype as get_autocast_xla_dtype
from taper.amp.state import is_autocast_cache_enabled as is_autocast_cache_enabled
from taper.amp.state import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from taper.amp.state import is_autocast_enabled as is_autocast_enabled
from taper.amp.state import is_autocast_ipu_enabled as is_autocast_ipu_enabled
from taper.amp.state import is_autocast_xla_enabled as is_autocast_xla_enabled
from taper.amp.state import set_autocast_cache_enabled as set_autocast_cache_enabled
from taper.amp.state import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from taper.amp.state import set_autocast_cpu_enabled as set_autocast_cpu_enabled
from taper.amp.state import set_autocast_dtype as set_autocast_dtype
from taper.amp.state import set_autocast_enabled as set_autocast_enabled
from taper.amp.state import set_autocast_gpu_dtype as set_autocast_gpu_dtype
from taper.amp.state import set_autocast_ipu_dtype as set_autocast_ipu_dtype
from taper.amp.state import set_autocast_ipu_enabled as set_autocast_ipu_enabled
from taper.amp.state import set_autocast_xla_dtype as set_autocast_xla_dtype
from taper.amp.state import set_autocast_xla_enabled as set_autocast_xla_enabled
from taper.arrays.memory import empty_cache as empty_cache
from taper.arrays.memory import memory_stats as memory_stats
from taper.autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from taper.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from taper.autograd.grad_mode import enable_grad as enable_grad
from taper.autograd.grad_mode import inference_mode as inference_mode
from taper.autograd.grad_mode import is_grad_enabled as is_grad_enabled
from taper.autograd.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from taper.autograd.grad_mode import no_grad as no_grad
from taper.autograd.grad_mode import set_grad_enabled as set_grad_enabled
from taper.compiler import compile as compile
from taper.device import channels_last as channels_last
from taper.device import channels_last_3d as channels_last_3d
from taper.device import contiguous_format as contiguous_format
from taper.device import device as _device
from taper.device import device as device
from taper.device import get_default_device as get_default_device
from taper.device import jagged as jagged
from taper.device import layout as _layout
from taper.device import layout as layout
from taper.device import legacy_contiguous_format as legacy_contiguous_format
from taper.device import memory_format as _memory_format
from taper.device import memory_format as memory_format
from taper.device import preserve_format as preserve_format
from taper.device import set_default_device as set_default_device
from taper.device import sparse_bsc as sparse_bsc
from taper.device import sparse_bsr as sparse_bsr
from taper.device import sparse_coo as sparse_coo
from taper.device import sparse_csc as sparse_csc
from taper.device import sparse_csr as sparse_csr
from taper.device import strided as strided
from taper.dlpack import from_dlpack as from_dlpack
from taper.dlpack import to_dlpack as to_dlpack
from taper.dtypes import dtype as _dtype
from taper.dtypes import dtype as dtype
from taper.dtypes import finfo as finfo
from taper.dtypes import get_default_dtype as get_default_dtype
from taper.dtypes import iinfo as iinfo
from taper.dtypes import set_default_dtype as set_default_dtype
from taper.errors import AcceleratorError as AcceleratorError
from taper.errors import OutOfMemoryError as OutOfMemoryError
from taper.files.records import PyTorchFileReader as PyTorchFileReader
from taper.func import vmap as vmap
from taper.futures import Future as Future
from taper.jit import ScriptFunction as ScriptFunction
from taper.jit import ScriptModule as ScriptModule
from taper.ops.creation.data import from_numpy as from_numpy
from taper.ops.creation.legacy import set_default_tensor_type as set_default_tensor_type
from taper.ops.creation.legacy import tensortype as _tensortype
from taper.ops.creation.ranges import range as range
from taper.printing import set_printoptions as set_printoptions
from taper.program.capturing import CaptureError as CaptureError
from taper.program.capturing import Captured as Captured
from taper.program.capturing import capture as capture
from taper.random import Generator as Generator
from taper.random import default_generator as default_generator
from taper.random import get_rng_state as get_rng_state
from taper.random import initial_seed as initial_seed
from taper.random import manual_seed as manual_seed
from taper.random import seed as seed
from taper.random import set_rng_state as set_rng_state
from taper.serialization import load as load
from taper.serialization import save as save
from taper.settings import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from taper.settings import get_deterministic_debug_mode as get_deterministic_debug_mode
from taper.settings import get_float32_matmul_precision as get_float32_matmul_precision
from taper.settings import get_num_interop_threads as get_num_interop_threads
from taper.settings import get_num_threads as get_num_threads
from taper.settings import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from taper.settings import set_deterministic_debug_mode as set_deterministic_debug_mode
from taper.settings import set_float32_matmul_precision as set_float32_matmul_precision
from taper.settings import set_flush_denormal as set_flush_denormal
from taper.settings import set_num_interop_threads as set_num_interop_threads
from taper.settings import set_num_threads as set_num_threads
from taper.settings import use_deterministic_algorithms as use_deterministic_algorithms
from taper.size import Size as Size
from taper.size import Size as _Size
from taper.storage import StorageBase as StorageBase
from taper.storage import TypedStorage as TypedStorage
from taper.storage import UntypedStorage as UntypedStorage
from taper.tensor import Tensor as Tensor
from taper.top_level import DisableTorchFunction as DisableTorchFunction
from taper.top_level import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from taper.top_level import Event as Event
from taper.top_level import ScriptObject as ScriptObject
from taper.top_level import Stream as Stream
from taper.top_level import TensorType as TensorType
from taper.top_level import _assert as _assert
from taper.top_level import _assert_async as _assert_async
from taper.top_level import _cast_Long as _cast_Long
from taper.top_level import _check as _check
from taper.top_level import _check_index as _check_index
from taper.top_level import _check_is_size as _check_is_size
from taper.top_level import _check_not_implemented as _check_not_implemented
from taper.top_level import _check_tensor_all as _check_tensor_all
from taper.top_level import _check_tensor_all_with as _check_tensor_all_with
from taper.top_level import _check_type as _check_type
from taper.top_level import _check_value as _check_value
from taper.top_level import _check_with as _check_with
from taper.top_level import _convert_indices_from_coo_to_csr as _convert_indices_from_coo_to_csr
from taper.top_level import _convert_indices_from_csr_to_coo as _convert_indices_from_csr_to_coo
from taper.top_level import _segment_reduce as _segment_reduce
from taper.top_level import _shape_as_tensor as _shape_as_tensor
from taper.top_level import _softmax_backward_data as _softmax_backward_data
from taper.top_level import get_device_module as get_device_module
from taper.top_level import has_lapack as has_lapack
from taper.top_level import has_mkl as has_mkl
from taper.top_level import has_openmp as has_openmp
from taper.top_level import has_spectral as has_spectral
from taper.top_level import set_anomaly_enabled as set_anomaly_enabled
from taper.userwarning import is_warn_always_enabled as is_warn_always_enabled
from taper.userwarning import set_warn_always as set_warn_always
from taper.viz.explaining import explain as explain
from typing_extensions import TypeIs
import numpy as _np

_Number: TypeAlias = _int | _float | _complex | _np.generic
_Operand: TypeAlias = Tensor | _Number
_Device: TypeAlias = _device | str | _int
_Ints: TypeAlias = _int | Sequence[_int]

def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """Compute the derivative of beta numbers `x` with respect to `alpha`, over `1 - x`.

    `total` is the sum of both parameters, of which the other one is fixed.

    >>> import taper
    >>> half, two, four = (taper.tensor([value]) for value in (0.5, 2.0, 4.0))
    >>> taper._dirichlet_grad(half, two, four)
    tensor([0.2954])
    """
def _neg_view(input: _Operand) -> Tensor:
    """Show the negative as a view: a write to either shows in both.

    >>> import taper
    >>> x = taper.ones(2)
    >>> taper._neg_view(x).fill_(3)
    tensor([3., 3.])
    >>> x
    tensor([-3., -3.])
    """
def _sample_dirichlet(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw points of the Dirichlet distribution, one for each row of concentrations.

    >>> import taper
    >>> generator = taper.manual_seed(0)
    >>> taper._sample_dirichlet(taper.tensor([2.0, 3.0]))
    tensor([0.6726, 0.3274])
    """
def _standard_gamma(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw numbers of the gamma distribution of rate 1, each with its concentration.

    Their gradient with respect to the concentration is that at a fixed probability.

    >>> import taper
    >>> generator = taper.manual_seed(0)
    >>> taper._standard_gamma(taper.tensor([2.0, 3.0]))
    tensor([4.5526, 2.2156])
    """
def _standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor:
    """Compute the derivative of gamma numbers `output` by their concentrations `input`.

    >>> import taper
    >>> taper._standard_gamma_grad(taper.tensor([1.0, 5.0]), taper.tensor([0.5, 6.0]))
    tensor([0.8070, 1.1311])
    """
def _weight_norm(v: Tensor, g: Tensor, dim: _int = 0) -> Tensor:
    """Scale the direction `v` to lengths `g` along `dim`; to one length if `dim` is -1.

    >>> import taper
    >>> taper._weight_norm(taper.tensor([[3.0, 4.0]]), taper.tensor([[10.0]]))
    tensor([[6., 8.]])
    """
def _weight_norm_interface(v: Tensor, g: Tensor, dim: _int = 0) -> tuple[Tensor, Tensor]:
    """Scale the direction `v` to lengths `g`; also return the norms of `v`.

    >>> import taper
    >>> taper._weight_norm_interface(taper.tensor([[3.0, 4.0]]), taper.tensor([[10.0]]))[0]
    tensor([[6., 8.]])
    """
def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the absolute value of every element.

    result = |input|; of a complex element its distance from zero, a real number.

    Args:
        input: a tensor.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.abs(taper.tensor([1.0, -2.0]))
        tensor([1., 2.])
    """
def abs_(input: _Operand) -> Tensor:
    """In-place version of `abs`.

    >>> import taper
    >>> taper.abs_(taper.tensor([1.0, -2.0]))
    tensor([1., 2.])
    """
def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the absolute value of every element.

    result = |input|; of a complex element its distance from zero, a real number.

    Args:
        input: a tensor.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.abs(taper.tensor([1.0, -2.0]))
        tensor([1., 2.])
    """
def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Find the angle in radians whose cosine is the element.

    >>> import taper
    >>> taper.acos(taper.tensor([0.0, 1.0]))
    tensor([1.5708, 0.0000])
    """
def acos_(input: Tensor) -> Tensor:
    """In-place version of `acos`.

    >>> import taper
    >>> taper.acos_(taper.tensor([0.0, 1.0]))
    tensor([1.5708, 0.0000])
    """
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the inverse hyperbolic cosine of every element.

    >>> import taper
    >>> taper.acosh(taper.tensor([1.0, 2.0]))
    tensor([0.0000, 1.3170])
    """
def acosh_(input: Tensor) -> Tensor:
    """In-place version of `acosh`.

    >>> import taper
    >>> taper.acosh_(taper.tensor([1.0, 2.0]))
    tensor([0.0000, 1.3170])
    """
def adaptive_avg_pool1d(input: Tensor, output_size: _int | Sequence[_int | None] | None) -> Tensor:
    """Average windows whose number is given and that together cover the last dimension.

    Window i of n goes from ⌊i · L / n⌋ to ⌈(i + 1) · L / n⌉.

    Args:
        input: a tensor (N, C, L) or (C, L).
        output_size: number of windows.

    Shape: (N, C, output_size).

    Example:
        >>> import taper
        >>> taper.adaptive_avg_pool1d(taper.tensor([[1.0, 2.0, 3.0]]), 2)
        tensor([[1.5000, 2.5000]])
    """
def adaptive_max_pool1d(input: Tensor, output_size: _int | Sequence[_int | None] | None) -> tuple[Tensor, Tensor]:
    """Find the largest elements of windows that cover the last dimension, and their places.

    >>> import taper
    >>> taper.adaptive_max_pool1d(taper.tensor([[1.0, 2.0, 3.0]]), 2)
    (tensor([[2., 3.]]), tensor([[1, 2]]))
    """
def add(input: _Operand, other: _Operand, *, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Add two tensors element by element, the second multiplied by `alpha`.

    result = input + alpha · other

    Args:
        input: first summand.
        other: second summand, a tensor or a number.
        alpha: number that multiplies `other`.
        out: tensor that receives the result.

    Shape: `input` and `other` broadcast; the result has their common shape and dtype.

    Example:
        >>> import taper
        >>> taper.add(taper.tensor([1.0, 2.0]), taper.tensor([3.0, 4.0]), alpha=2)
        tensor([ 7., 10.])
    """
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Compute `beta * input + alpha * (the sum of bmm(batch1, batch2) over the stack)`.

    >>> import taper
    >>> taper.addbmm(taper.tensor(1.), taper.ones(5, 2, 3), taper.ones(5, 3, 2))
    tensor([[16., 16.],
            [16., 16.]])
    """
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Operand = 1, out: Tensor | None = None) -> Tensor:
    """Add `value` times the quotient of two tensors to `input`.

    >>> import taper
    >>> x = taper.tensor([1.0, 2.0])
    >>> taper.addcdiv(x, x, x, value=10)
    tensor([11., 12.])
    """
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Operand = 1, out: Tensor | None = None) -> Tensor:
    """Add `value` times the product of two tensors to `input`.

    >>> import taper
    >>> x = taper.tensor([1.0, 2.0])
    >>> taper.addcmul(x, x, x, value=10)
    tensor([11., 42.])
    """
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Compute `beta * input + alpha * (mat1 @ mat2)`.

    >>> import taper
    >>> taper.addmm(taper.tensor([1., 2.]), taper.ones(2, 3), taper.ones(3, 2))
    tensor([[4., 5.],
            [4., 5.]])
    """
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Compute `beta * input + alpha * (mat @ vec)`.

    >>> import taper
    >>> taper.addmv(taper.tensor([1., 2.]), taper.ones(2, 3), taper.ones(3), alpha=2)
    tensor([7., 8.])
    """
def addmv_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """In-place version of `addmv`.

    >>> import taper
    >>> taper.addmv_(taper.tensor([1., 2.]), taper.ones(2, 3), taper.ones(3), alpha=2)
    tensor([7., 8.])
    """
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Compute `beta * input + alpha * outer(vec1, vec2)`.

    >>> import taper
    >>> taper.addr(taper.zeros(2, 2), taper.tensor([1., 2.]), taper.tensor([3., 4.]))
    tensor([[3., 4.],
            [6., 8.]])
    """
def adjoint(input: Tensor) -> Tensor:
    """Conjugate and transpose a matrix or a batch of matrices.

    >>> import taper
    >>> taper.adjoint(taper.zeros(2, 3)).shape
    torch.Size([3, 2])
    """
def affine_grid_generator(theta: Tensor, size: Sequence[_int], align_corners: _bool) -> Tensor:
    """Compute where each affine map takes the places of a picture of `size`.

    >>> import taper
    >>> identity = taper.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> taper.affine_grid_generator(identity, (1, 1, 1, 2), True)
    tensor([[[[-1.,  0.],
              [ 1.,  0.]]]])
    """
def alias_copy(input: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Copy what `alias` shows.

    >>> import taper
    >>> taper.alias_copy(taper.ones(2, 3)).shape
    torch.Size([2, 3])
    """
def all(input: Tensor, dim: _Ints | None = None, keepdim: _bool = False, *, out: Tensor | None = None, axis: _Ints | None = None, keepdims: _bool = False) -> Tensor:
    """Tell whether all elements are true (not zero).

    Args:
        input: a tensor.
        dim: dimension or dimensions to reduce; all of them by default.
        keepdim: keep the reduced dimensions, with length 1.
        out: tensor that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimensions in `dim`; the result is bool (uint8 for uint8).

    Example:
        >>> import taper
        >>> taper.all(taper.tensor([[True, True], [False, True]]), dim=1)
        tensor([ True, False])
    """
def allclose(input: _Operand, other: _Operand, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
    """Tell whether all elements of two tensors are close to each other.

    Close means |input - other| ≤ atol + rtol · |other|.

    Args:
        input: first tensor.
        other: second tensor, of the same dtype; it broadcasts with the first.
        rtol: relative tolerance.
        atol: absolute tolerance.
        equal_nan: whether nan counts as close to nan.

    Returns: True or False.

    Example:
        >>> import taper
        >>> taper.allclose(taper.tensor([1.0, 2.0]), taper.tensor([1.0, 2.0]))
        True
    """
def alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Drop elements or channels as in `nn.functional`; `alpha_dropout_` works in place.

    >>> import taper
    >>> taper.alpha_dropout(taper.ones(1, 2), 0.5, train=False)
    tensor([[1., 1.]])
    """
def alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Drop elements or channels as in `nn.functional`; `alpha_dropout_` works in place.

    >>> import taper
    >>> taper.alpha_dropout_(taper.ones(1, 2), 0.5, train=False)
    tensor([[1., 1.]])
    """
def amax(input: Tensor, dim: _Ints | None = ..., keepdim: _bool = False, *, out: Tensor | None = None, axis: _Ints | None = ..., keepdims: _bool = False) -> Tensor:
    """Find the largest elements along dimensions, by default of all.

    Equal largest elements share the gradient evenly.

    >>> import taper
    >>> taper.amax(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=0)
    tensor([2., 3.])
    """
def amin(input: Tensor, dim: _Ints | None = ..., keepdim: _bool = False, *, out: Tensor | None = None, axis: _Ints | None = ..., keepdims: _bool = False) -> Tensor:
    """Find the smallest elements along dimensions, by default of all.

    Equal smallest elements share the gradient evenly.

    >>> import taper
    >>> taper.amin(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=0)
    tensor([1., 0.])
    """
def aminmax(input: Tensor, *, dim: _int | None = None, keepdim: _bool = False, out: Sequence[Tensor] | None = None) -> _return_types.aminmax:
    """Find the smallest and the largest element, of all or along a dimension.

    >>> import taper
    >>> taper.aminmax(taper.tensor([1.0, 3.0, 2.0]))
    torch.return_types.aminmax(
    min=tensor(1.),
    max=tensor(3.))
    """
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute the angle of every element in radians; pi for negative real numbers.

    >>> import taper
    >>> taper.angle(taper.tensor([1j, -1.0]))
    tensor([1.5708, 3.1416])
    """
def any(input: Tensor, dim: _Ints | None = None, keepdim: _bool = False, *, out: Tensor | None = None, axis: _Ints | None = None, keepdims: _bool = False) -> Tensor:
    """Tell whether any element is true (not zero).

    Args:
        input: a tensor.
        dim: dimension or dimensions to reduce; all of them by default.
        keepdim: keep the reduced dimensions, with length 1.
        out: tensor that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimensions in `dim`; the result is bool (uint8 for uint8).

    Example:
        >>> import taper
        >>> taper.any(taper.tensor([[False, True], [False, False]]), dim=1)
        tensor([ True, False])
    """
def arange(start: _Operand | None = None, end: _Operand | None = None, step: _Number | None = None, *, out: Tensor | None = None, dtype: _dtype | None = None, layout: _layout | None = ..., device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Make a vector of numbers at equal distances, `end` excluded.

    result = start, start + step, start + 2·step, … below `end`

    Args:
        start: first number; 0 if only one number is given, which is then `end`.
        end: bound that is not reached.
        step: distance of neighbours, 1 by default; negative to count down.
        out: tensor that receives the result.
        dtype: dtype of the result; by default int64, or the default dtype if a number is a float.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.

    Shape: (⌈(end - start) / step⌉,)

    Example:
        >>> import taper
        >>> taper.arange(3), taper.arange(1, 2, 0.5)
        (tensor([0, 1, 2]), tensor([1.0000, 1.5000]))
    """
def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Find the angle in radians whose cosine is the element.

    >>> import taper
    >>> taper.acos(taper.tensor([0.0, 1.0]))
    tensor([1.5708, 0.0000])
    """
def arccos_(input: Tensor) -> Tensor:
    """In-place version of `acos`.

    >>> import taper
    >>> taper.acos_(taper.tensor([0.0, 1.0]))
    tensor([1.5708, 0.0000])
    """
def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the inverse hyperbolic cosine of every element.

    >>> import taper
    >>> taper.acosh(taper.tensor([1.0, 2.0]))
    tensor([0.0000, 1.3170])
    """
def arccosh_(input: Tensor) -> Tensor:
    """In-place version of `acosh`.

    >>> import taper
    >>> taper.acosh_(taper.tensor([1.0, 2.0]))
    tensor([0.0000, 1.3170])
    """
def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Find the angle in radians whose sine is the element.

    >>> import taper
    >>> taper.asin(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5708])
    """
def arcsin_(input: Tensor) -> Tensor:
    """In-place version of `asin`.

    >>> import taper
    >>> taper.asin_(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5708])
    """
def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the inverse hyperbolic sine of every element.

    >>> import taper
    >>> taper.asinh(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8814])
    """
def arcsinh_(input: Tensor) -> Tensor:
    """In-place version of `asinh`.

    >>> import taper
    >>> taper.asinh_(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8814])
    """
def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Find the angle in radians whose tangent is the element.

    >>> import taper
    >>> taper.atan(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7854])
    """
def arctan2(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Find angles: another name of `atan2`.

    >>> import taper
    >>> taper.arctan2(taper.tensor([1.0, 0.0]), taper.tensor([1.0, -1.0]))
    tensor([0.7854, 3.1416])
    """
def arctan_(input: Tensor) -> Tensor:
    """In-place version of `atan`.

    >>> import taper
    >>> taper.atan_(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7854])
    """
def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the inverse hyperbolic tangent of every element.

    >>> import taper
    >>> taper.atanh(taper.tensor([0.0, 0.5]))
    tensor([0.0000, 0.5493])
    """
def arctanh_(input: Tensor) -> Tensor:
    """In-place version of `atanh`.

    >>> import taper
    >>> taper.atanh_(taper.tensor([0.0, 0.5]))
    tensor([0.0000, 0.5493])
    """
def argmax(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None, axis: _int | None = None, keepdims: _bool = False) -> Tensor:
    """Find the index of the largest element.

    Args:
        input: a tensor.
        dim: dimension to search along; by default the index counts in the flattened tensor.
        keepdim: keep the reduced dimensions, with length 1.
        out: tensor that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimension `dim`, in int64; of equal elements the first counts.

    Example:
        >>> import taper
        >>> taper.argmax(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1)
        tensor([1, 0])
    """
def argmin(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None, axis: _int | None = None, keepdims: _bool = False) -> Tensor:
    """Find the index of the smallest element, in the flattened tensor or along a dimension.

    >>> import taper
    >>> taper.argmin(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1)
    tensor([0, 1])
    """
def argsort(input: Tensor, dim: _int = -1, descending: _bool = False, *, stable: _bool = False, axis: _int | None = None) -> Tensor:
    """Find the indices that sort a tensor along a dimension.

    Args:
        input: a tensor.
        dim: dimension to sort along.
        descending: whether the largest element comes first.
        stable: whether equal elements keep their order; here they always do.
        axis: NumPy's name for `dim`.

    Shape: the result has the shape of `input`, in int64.

    Example:
        >>> import taper
        >>> taper.argsort(taper.tensor([3.0, 1.0, 2.0]))
        tensor([1, 2, 0])
    """
def argwhere(input: Tensor) -> Tensor:
    """Find the coordinates of all elements that are not zero, one row each.

    >>> import taper
    >>> taper.argwhere(taper.tensor([0, 5, 6]))
    tensor([[1],
            [2]])
    """
def as_strided(input: Tensor, size: _Ints, stride: _Ints, storage_offset: _int | None = None) -> Tensor:
    """View the tensor's whole storage with any shape and strides.

    >>> import taper
    >>> taper.as_strided(taper.arange(6), (2, 3), (1, 2))
    tensor([[0, 2, 4],
            [1, 3, 5]])
    """
def as_strided_(input: Tensor, size: _Ints, stride: _Ints, storage_offset: _int | None = None) -> Tensor:
    """In-place version of `as_strided`.

    >>> import taper
    >>> taper.as_strided_(taper.arange(6), (3,), (2,))
    tensor([0, 2, 4])
    """
def as_strided_copy(input: Tensor, size: _Ints, stride: _Ints, storage_offset: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Copy elements of the storage at any strides.

    >>> import taper
    >>> taper.as_strided_copy(taper.arange(6), (2, 2), (1, 2))
    tensor([[0, 2],
            [1, 3]])
    """
def as_strided_scatter(input: Tensor, src: Tensor, size: _Ints, stride: _Ints, storage_offset: _int | None = None) -> Tensor:
    """Copy a tensor with `src` written to `as_strided(size, stride, storage_offset)`.

    Differs from PyTorch: the gradient of `input` is zero where it was replaced; in PyTorch it is
    zero elsewhere.

    >>> import taper
    >>> taper.as_strided_scatter(taper.zeros(6), taper.ones(2), (2,), (3,))
    tensor([1., 0., 0., 1., 0., 0.])
    """
def as_tensor(data: Any, *, dtype: _dtype | None = None, device: _Device | None = None) -> Tensor:
    """Turn data into a tensor, sharing memory and history where that is possible.

    Args:
        data: a tensor, a NumPy array, a number or a nested sequence of numbers.
        dtype: dtype of the result; by default that of the data.
        device: only the CPU is provided.

    Returns: `data` itself if it is such a tensor already, a tensor on its memory if it is an array,
        else a new one.

    Example:
        >>> import numpy, taper
        >>> taper.as_tensor(numpy.array([1, 2]))
        tensor([1, 2])
    """
def asarray(obj: Any, *, dtype: _dtype | None = None, device: _Device | None = None, copy: _bool | None = None, requires_grad: _bool | None = None) -> Tensor:
    """Turn `obj` into a tensor; `copy` demands or forbids a copy, None copies where needed.

    Also reads objects with DLPack, or with the buffer protocol, whose bytes become the elements.

    >>> import taper
    >>> taper.asarray([1, 2])
    tensor([1, 2])
    """
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Find the angle in radians whose sine is the element.

    >>> import taper
    >>> taper.asin(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5708])
    """
def asin_(input: Tensor) -> Tensor:
    """In-place version of `asin`.

    >>> import taper
    >>> taper.asin_(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5708])
    """
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the inverse hyperbolic sine of every element.

    >>> import taper
    >>> taper.asinh(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8814])
    """
def asinh_(input: Tensor) -> Tensor:
    """In-place version of `asinh`.

    >>> import taper
    >>> taper.asinh_(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8814])
    """
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Find the angle in radians whose tangent is the element.

    >>> import taper
    >>> taper.atan(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7854])
    """
def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Find the angle in radians of the point with height `input` and width `other`.

    >>> import taper
    >>> taper.atan2(taper.tensor([1.0, 0.0]), taper.tensor([1.0, -1.0]))
    tensor([0.7854, 3.1416])
    """
def atan_(input: Tensor) -> Tensor:
    """In-place version of `atan`.

    >>> import taper
    >>> taper.atan_(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7854])
    """
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the inverse hyperbolic tangent of every element.

    >>> import taper
    >>> taper.atanh(taper.tensor([0.0, 0.5]))
    tensor([0.0000, 0.5493])
    """
def atanh_(input: Tensor) -> Tensor:
    """In-place version of `atanh`.

    >>> import taper
    >>> taper.atanh_(taper.tensor([0.0, 0.5]))
    tensor([0.0000, 0.5493])
    """
@overload
def atleast_1d(tensors: Tensor) -> Tensor:
    """Give tensors at least one dimension.

    >>> import taper
    >>> taper.atleast_1d(taper.tensor(1))
    tensor([1])
    """
@overload
def atleast_1d(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Give tensors at least one dimension.

    >>> import taper
    >>> taper.atleast_1d(taper.tensor(1))
    tensor([1])
    """
@overload
def atleast_1d(first: Tensor, second: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
    """Give tensors at least one dimension.

    >>> import taper
    >>> taper.atleast_1d(taper.tensor(1))
    tensor([1])
    """
@overload
def atleast_2d(tensors: Tensor) -> Tensor:
    """Give tensors at least two dimensions; vectors become rows.

    >>> import taper
    >>> taper.atleast_2d(taper.tensor([1, 2]))
    tensor([[1, 2]])
    """
@overload
def atleast_2d(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Give tensors at least two dimensions; vectors become rows.

    >>> import taper
    >>> taper.atleast_2d(taper.tensor([1, 2]))
    tensor([[1, 2]])
    """
@overload
def atleast_2d(first: Tensor, second: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
    """Give tensors at least two dimensions; vectors become rows.

    >>> import taper
    >>> taper.atleast_2d(taper.tensor([1, 2]))
    tensor([[1, 2]])
    """
@overload
def atleast_3d(tensors: Tensor) -> Tensor:
    """Give tensors at least three dimensions; vectors become rows of one column each.

    >>> import taper
    >>> taper.atleast_3d(taper.zeros(2, 3)).shape
    torch.Size([2, 3, 1])
    """
@overload
def atleast_3d(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Give tensors at least three dimensions; vectors become rows of one column each.

    >>> import taper
    >>> taper.atleast_3d(taper.zeros(2, 3)).shape
    torch.Size([2, 3, 1])
    """
@overload
def atleast_3d(first: Tensor, second: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
    """Give tensors at least three dimensions; vectors become rows of one column each.

    >>> import taper
    >>> taper.atleast_3d(taper.zeros(2, 3)).shape
    torch.Size([2, 3, 1])
    """
def avg_pool1d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, ceil_mode: _bool = False, count_include_pad: _bool = True) -> Tensor:
    """Average each window of the last dimension.

    Args:
        input: a tensor (N, C, L) or (C, L).
        kernel_size: length K of a window.
        stride: step from window to window; K by default.
        padding: zeros added at both ends, at most K / 2.
        ceil_mode: round the number of windows up, not down.
        count_include_pad: whether padding counts in the averages.

    Shape: (N, C, ⌊(L + 2·padding - K) / stride⌋ + 1).

    Example:
        >>> import taper
        >>> taper.avg_pool1d(taper.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
        tensor([[2., 1.]])
    """
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Compute `beta * input + alpha * bmm(batch1, batch2)`.

    >>> import taper
    >>> taper.baddbmm(taper.tensor(1.), taper.ones(1, 2, 3), taper.ones(1, 3, 2))
    tensor([[[4., 4.],
             [4., 4.]]])
    """
def bartlett_window(window_length: _int, periodic: _bool = True, *, dtype: _dtype | None = None, layout: _layout | None = ..., device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Make a triangular window: 0 at the ends and 1 in the middle.

    >>> import taper
    >>> taper.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
def batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool) -> Tensor:
    """Compute `nn.functional.batch_norm` with other argument order; `cudnn_enabled` is ignored.

    >>> import taper
    >>> x = taper.tensor([[1.0], [3.0]])
    >>> taper.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False)
    tensor([[-1.0000],
            [ 1.0000]])
    """
def bernoulli(input: Tensor, p: Any = None, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Draw ones and zeros: each element is 1 with its own probability.

    Args:
        input: tensor of probabilities in [0, 1].
        p: one probability for all; only the shape of `input` counts then.
        generator: source of random numbers; by default the one that `manual_seed` seeds.
        out: tensor that receives the result.

    Shape: the result has the shape and dtype of `input`.

    Example:
        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.bernoulli(taper.tensor([0.0, 0.5, 1.0]))
        tensor([0., 0., 1.])
    """
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Apply a bilinear map to two inputs.

    result[k] = input1 @ weight[k] @ input2ᵀ + bias[k]

    Args:
        input1: a tensor (*, in1).
        input2: a tensor (*, in2).
        weight: a tensor (out, in1, in2).
        bias: vector (out,), or None.

    Shape: (*, out).

    Example:
        >>> import taper
        >>> taper.bilinear(taper.ones(1, 2), taper.ones(1, 3), taper.ones(1, 2, 3))
        tensor([[6.]])
    """
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: _int = 0) -> Tensor:
    """Compute `nn.functional.binary_cross_entropy_with_logits`, given a reduction's number.

    >>> import taper
    >>> taper.binary_cross_entropy_with_logits(taper.tensor([0.0]), taper.tensor([1.0]))
    tensor([0.6931])
    """
def bincount(input: Tensor, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
    """Count how often each non-negative integer occurs, or add up its weights.

    >>> import taper
    >>> taper.bincount(taper.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw how many of `count` trials succeed, each with probability `prob`; both broadcast.

    >>> import taper
    >>> generator = taper.manual_seed(0)
    >>> taper.binomial(taper.tensor([10.0, 100.0]), taper.tensor([0.5]))
    tensor([ 7., 51.])
    """
def bitwise_and(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Keep the bits that both elements have; for bool logical and.

    >>> import taper
    >>> taper.bitwise_and(taper.tensor([6, 5]), 3)
    tensor([2, 1])
    """
def bitwise_left_shift(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Move the bits up by `other` places; those pushed out are lost.

    >>> import taper
    >>> taper.bitwise_left_shift(taper.tensor([1, 3]), 2)
    tensor([ 4, 12])
    """
def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Turn all bits; for bool logical not.

    >>> import taper
    >>> taper.bitwise_not(taper.tensor([0, -1]))
    tensor([-1,  0])
    """
def bitwise_or(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Keep the bits that one of the elements has; for bool logical or.

    >>> import taper
    >>> taper.bitwise_or(taper.tensor([6, 5]), 3)
    tensor([7, 7])
    """
def bitwise_right_shift(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Move the bits down by `other` places; the sign stays.

    >>> import taper
    >>> taper.bitwise_right_shift(taper.tensor([4, -8]), 2)
    tensor([ 1, -2])
    """
def bitwise_xor(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Keep the bits that exactly one of the elements has; for bool logical xor.

    >>> import taper
    >>> taper.bitwise_xor(taper.tensor([6, 5]), 3)
    tensor([5, 6])
    """
def blackman_window(window_length: _int, periodic: _bool = True, *, dtype: _dtype | None = None, layout: _layout | None = ..., device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Make a window of two cosines, so that little leaks to neighbouring frequencies.

    >>> import taper
    >>> taper.blackman_window(4, dtype=taper.float64)[1:]
    tensor([0.3400, 1.0000, 0.3400], dtype=torch.float64)
    """
def block_diag(*tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """Make a matrix with the tensors along its diagonal, zero elsewhere.

    >>> import taper
    >>> taper.block_diag(taper.tensor([[1]]), taper.tensor([2, 3]))
    tensor([[1, 0, 0],
            [0, 2, 3]])
    """
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Multiply the matrices of two stacks, pair by pair; nothing broadcasts.

    result[b] = input[b] @ mat2[b]

    Args:
        input: stack of left matrices.
        mat2: stack of right matrices.
        out: tensor that receives the result.

    Shape: (b, n, k) and (b, k, m) give (b, n, m).

    Example:
        >>> import taper
        >>> taper.bmm(taper.ones(2, 1, 3), taper.ones(2, 3, 1))
        tensor([[[3.]],
        <BLANKLINE>
                [[3.]]])
    """
def broadcast_shapes(*shapes: _Ints) -> _Size:
    """Compute the shape that tensors of these shapes broadcast to.

    >>> import taper
    >>> taper.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
def broadcast_tensors(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Expand all tensors to their common shape, as views.

    >>> import taper
    >>> taper.broadcast_tensors(taper.zeros(2, 1), taper.zeros(3))[1].shape
    torch.Size([2, 3])
    """
def broadcast_to(input: Tensor, size: _Ints) -> Tensor:
    """Expand the tensor to `size`, as a view.

    >>> import taper
    >>> taper.broadcast_to(taper.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
def bucketize(input: _Operand, boundaries: Tensor, *, out_int32: _bool = False, right: _bool = False, out: Tensor | None = None) -> Tensor:
    """Find the bucket between sorted boundaries that each value falls into.

    A value equal to a boundary belongs to the bucket below it, with `right` to the one above.

    >>> import taper
    >>> taper.bucketize(taper.tensor([1.0, 2.0]), taper.tensor([1.0, 3.0]))
    tensor([0, 1])
    """
def can_cast(from_: _dtype, to: _dtype) -> _bool:
    """Tell whether values of `from_` can be written into `to`, of no lower category.

    >>> import taper
    >>> taper.can_cast(taper.float64, taper.float16), taper.can_cast(taper.float16, taper.int64)
    (True, False)
    """
def cartesian_prod(*tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """List all combinations of elements of the vectors, one row each.

    >>> import taper
    >>> taper.cartesian_prod(taper.tensor([1, 2]), taper.tensor([3]))
    tensor([[1, 3],
            [2, 3]])
    """
def cat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None, axis: _int | None = None) -> Tensor:
    """Join tensors along a dimension that they have already.

    Args:
        tensors: sequence of tensors; their shapes agree except along `dim`.
        dim: dimension to join along.
        out: tensor that receives the result.
        axis: NumPy's name for `dim`.

    Shape: (*, n, *) and (*, m, *) give (*, n + m, *); the result has the common dtype.

    Example:
        >>> import taper
        >>> taper.cat([taper.tensor([1, 2]), taper.tensor([3])])
        tensor([1, 2, 3])
    """
def cdist(x1: Tensor, x2: Tensor, p: _float = 2.0, compute_mode: str = 'use_mm_for_euclid_dist_if_necessary') -> Tensor:
    """Compute the distance of order `p` of each row of `x1` and each of `x2`, for stacks, too.

    >>> import taper
    >>> taper.cdist(taper.tensor([[0.0, 0.0]]), taper.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Round every element up to a whole number.

    >>> import taper
    >>> taper.ceil(taper.tensor([1.5, -1.5]))
    tensor([ 2., -1.])
    """
def ceil_(input: Tensor) -> Tensor:
    """In-place version of `ceil`.

    >>> import taper
    >>> taper.ceil_(taper.tensor([1.5, -1.5]))
    tensor([ 2., -1.])
    """
def celu(input: Tensor, alpha: _Number = 1.0) -> Tensor:
    """Keep x above zero, else return `alpha * (exp(x / alpha) - 1)`.

    >>> import taper
    >>> taper.celu(taper.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """
def celu_(input: Tensor, alpha: _Number = 1.0) -> Tensor:
    """Bend negative elements smoothly towards -alpha, in place.

    result = x where x > 0, else alpha · (exp(x / alpha) - 1)

    Args:
        input: the tensor that is changed.
        alpha: bound of the negative side.

    Returns: `input`.

    Example:
        >>> import taper
        >>> taper.celu_(taper.tensor([-1.0, 1.0]), alpha=2.0)
        tensor([-0.7869,  1.0000])
    """
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """Multiply several matrices, in the order that costs least.

    >>> import taper
    >>> import warnings
    >>> warnings.simplefilter("ignore")  # PyTorch calls it deprecated
    >>> taper.chain_matmul(taper.ones(2, 3), taper.ones(3, 4), taper.ones(4, 1)).shape
    torch.Size([2, 1])
    """
def channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Interleave groups of channels: the first of each group, then the second of each, and so on.

    Args:
        input: a tensor (N, C, *).
        groups: number of groups, a divisor of C.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.channel_shuffle(taper.arange(4).reshape(1, 4, 1), 2).flatten()
        tensor([0, 2, 1, 3])
    """
def cholesky(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Factor matrices as A = L L^H; `linalg.cholesky` is the name to use.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> taper.cholesky(taper.tensor([[4.0]]))
    tensor([[2.]])
    """
def cholesky_inverse(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Invert A with its Cholesky factor.

    >>> import taper
    >>> taper.cholesky_inverse(taper.tensor([[2.0]]))
    tensor([[0.2500]])
    """
def cholesky_solve(input: Tensor, input2: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Solve A X = B with Cholesky's factor of A, the second argument.

    >>> import taper
    >>> taper.cholesky_solve(taper.tensor([[4.0]]), taper.tensor([[2.0]]))
    tensor([[1.]])
    """
def chunk(input: Tensor, chunks: _int, dim: _int = 0, *, axis: _int | None = None) -> tuple[Tensor, ...]:
    """Cut a tensor into at most `chunks` parts of equal length.

    Args:
        input: the tensor to cut.
        chunks: how many parts are wanted; there are fewer where the length does not allow so many.
        dim: dimension to cut.
        axis: NumPy's name for `dim`.

    Returns: a tuple of views, each ⌈length / chunks⌉ long, the last perhaps shorter.

    Example:
        >>> import taper
        >>> taper.chunk(taper.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
    """
def clamp(input: _Operand, min: _Operand | None = None, max: _Operand | None = None, *, out: Tensor | None = None) -> Tensor:
    """Move every element into the interval from `min` to `max`.

    result = min(max(x, min), max); where `min` is above `max` the result is `max`.

    Args:
        input: a tensor.
        min: lower bound, a number or a tensor; None for no bound.
        max: upper bound, likewise; one of the two must be given.
        out: tensor that receives the result.

    Shape: `input` and tensor bounds broadcast together; the result has the broadcast shape.

    Example:
        >>> import taper
        >>> taper.clamp(taper.tensor([-2.0, 0.5, 3.0]), 0, 1)
        tensor([0.0000, 0.5000, 1.0000])
    """
def clamp_(input: _Operand, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
    """In-place version of `clamp`.

    >>> import taper
    >>> taper.clamp_(taper.tensor([-2.0, 0.5, 3.0]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
def clamp_max(input: _Operand, max: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Lower elements that lie above `max` to it.

    >>> import taper
    >>> taper.clamp_max(taper.tensor([-2.0, 3.0]), 0)
    tensor([-2.,  0.])
    """
def clamp_max_(input: _Operand, max: _Operand) -> Tensor:
    """In-place version of `clamp_max`.

    >>> import taper
    >>> taper.clamp_max_(taper.tensor([-2.0, 3.0]), 0)
    tensor([-2.,  0.])
    """
def clamp_min(input: _Operand, min: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Raise elements that lie below `min` to it.

    >>> import taper
    >>> taper.clamp_min(taper.tensor([-2.0, 3.0]), 0)
    tensor([0., 3.])
    """
def clamp_min_(input: _Operand, min: _Operand) -> Tensor:
    """In-place version of `clamp_min`.

    >>> import taper
    >>> taper.clamp_min_(taper.tensor([-2.0, 3.0]), 0)
    tensor([0., 3.])
    """
def clip(input: _Operand, min: _Operand | None = None, max: _Operand | None = None, *, out: Tensor | None = None) -> Tensor:
    """Move every element into the interval from `min` to `max`.

    result = min(max(x, min), max); where `min` is above `max` the result is `max`.

    Args:
        input: a tensor.
        min: lower bound, a number or a tensor; None for no bound.
        max: upper bound, likewise; one of the two must be given.
        out: tensor that receives the result.

    Shape: `input` and tensor bounds broadcast together; the result has the broadcast shape.

    Example:
        >>> import taper
        >>> taper.clamp(taper.tensor([-2.0, 0.5, 3.0]), 0, 1)
        tensor([0.0000, 0.5000, 1.0000])
    """
def clip_(input: _Operand, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
    """In-place version of `clamp`.

    >>> import taper
    >>> taper.clamp_(taper.tensor([-2.0, 0.5, 3.0]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
def clone(input: Tensor, *, memory_format: _memory_format | None = None) -> Tensor:
    """Copy a tensor into memory of its own; the copy is recorded by autograd.

    Args:
        input: a tensor.
        memory_format: order of the dimensions in memory; by default that of the input.

    Shape: the result has the shape and dtype of `input`.

    Example:
        >>> import taper
        >>> taper.clone(taper.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors along the second dimension, vectors as columns.

    >>> import taper
    >>> taper.column_stack([taper.tensor([1, 2]), taper.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """
def combinations(input: Tensor, r: _int = 2, with_replacement: _bool = False) -> Tensor:
    """List all choices of `r` elements of the vector in order, one row each.

    >>> import taper
    >>> taper.combinations(taper.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Make a complex tensor from real and imaginary parts.

    >>> import taper
    >>> taper.complex(taper.tensor([1.0]), taper.tensor([2.0]))
    tensor([1.+2.j])
    """
def concat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None, axis: _int | None = None) -> Tensor:
    """Join tensors along a dimension: another name of `cat`.

    >>> import taper
    >>> taper.concat([taper.tensor([1, 2]), taper.tensor([3])])
    tensor([1, 2, 3])
    """
def concatenate(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None, axis: _int | None = None) -> Tensor:
    """Join tensors along a dimension: another name of `cat`.

    >>> import taper
    >>> taper.concat([taper.tensor([1, 2]), taper.tensor([3])])
    tensor([1, 2, 3])
    """
def conj(input: _Operand) -> Tensor:
    """Conjugate a complex tensor, as a view; return a real one as it is.

    >>> import taper
    >>> taper.conj(taper.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
def conj_physical(input: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Conjugate a complex tensor into new memory; return a real one as it is.

    >>> import taper
    >>> taper.conj_physical(taper.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
def conj_physical_(input: _Operand) -> Tensor:
    """In-place version of `conj_physical`.

    >>> import taper
    >>> taper.conj_physical_(taper.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
def constant_pad_nd(input: Tensor, pad: Sequence[_int], value: _Operand = 0) -> Tensor:
    """Add a border of one number; a negative width cuts off.

    >>> import taper
    >>> taper.constant_pad_nd(taper.tensor([1, 2]), (1, 1))
    tensor([0, 1, 2, 0])
    """
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Ints = 1, padding: _Ints | str = 0, dilation: _Ints = 1, groups: _int = 1) -> Tensor:
    """Convolve a signal with a kernel (a cross-correlation, as usual in networks).

    result[n, o, i] = bias[o] + Σ weight[o, c, k] · input[n, c, stride · i + dilation · k - padding]

    Args:
        input: signal (N, C, L) or (C, L).
        weight: kernel (O, C / groups, K).
        bias: one number for each output channel, or None.
        stride: step from window to window.
        padding: zeros added at both ends, or "valid" (none) or "same" (so many that L stays).
        dilation: distance of the kernel's elements.
        groups: number of blocks of channels that are convolved apart from each other.

    Shape: (N, O, ⌊(L + 2·padding - dilation · (K - 1) - 1) / stride⌋ + 1).

    Example:
        >>> import taper
        >>> taper.conv1d(taper.tensor([[1.0, 2.0, 3.0]]), taper.tensor([[[1.0, 10.0]]]))
        tensor([[21., 32.]])
    """
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Ints = 1, padding: _Ints | str = 0, dilation: _Ints = 1, groups: _int = 1) -> Tensor:
    """Convolve an image with a kernel (a cross-correlation, as usual in networks).

    result[n, o] = bias[o] + Σ weight[o, c] · window of input[n, c], over channels and window

    Args:
        input: image (N, C, H, W) or (C, H, W).
        weight: kernel (O, C / groups, K₁, K₂).
        bias: one number for each output channel, or None.
        stride: step from window to window, a number or a pair.
        padding: zeros added on all sides, a number or a pair; or "valid" (none) or "same" (so many
            that the size stays).
        dilation: distance of the kernel's elements, a number or a pair.
        groups: number of blocks of channels that are convolved apart from each other.

    Shape: (N, O, H', W'), with H' = ⌊(H + 2·padding - dilation · (K₁ - 1) - 1) / stride⌋ + 1 and W'
        alike.

    Example:
        >>> import taper
        >>> taper.conv2d(taper.ones(1, 1, 3, 3), taper.ones(1, 1, 3, 3), padding="same")
        tensor([[[[4., 6., 4.],
                  [6., 9., 6.],
                  [4., 6., 4.]]]])
    """
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Ints = 1, padding: _Ints | str = 0, dilation: _Ints = 1, groups: _int = 1) -> Tensor:
    """Convolve a volume with a kernel (a cross-correlation, as usual in networks).

    result[n, o] = bias[o] + Σ weight[o, c] · window of input[n, c], over channels and window

    Args:
        input: volume (N, C, D, H, W) or (C, D, H, W).
        weight: kernel (O, C / groups, K₁, K₂, K₃).
        bias: one number for each output channel, or None.
        stride: step from window to window, a number or a triple.
        padding: zeros added on all sides, a number or a triple; or "valid" (none) or "same" (so
            many that the size stays).
        dilation: distance of the kernel's elements, a number or a triple.
        groups: number of blocks of channels that are convolved apart from each other.

    Shape: (N, O, D', H', W'), with D' = ⌊(D + 2·padding - dilation · (K₁ - 1) - 1) / stride⌋ + 1,
        and so on.

    Example:
        >>> import taper
        >>> taper.conv3d(taper.ones(1, 1, 2, 2, 2), taper.ones(1, 1, 2, 2, 2))
        tensor([[[[[8.]]]]])
    """
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int = 0) -> Tensor:
    """Convolve along the first dimension of (time, batch, channels).

    result[t, b] = bias + Σₖ input[t + k - pad, b] @ weight[k]

    Args:
        input: signal (T, B, C).
        weight: kernel (K, C, O).
        bias: vector (O,).
        pad: zeros added at both ends of the time.

    Shape: (T + 2·pad - K + 1, B, O).

    Example:
        >>> import taper
        >>> x = taper.tensor([1.0, 2.0, 3.0]).view(3, 1, 1)
        >>> taper.conv_tbc(x, taper.tensor([[[1.0]], [[10.0]]]), taper.zeros(1)).flatten()
        tensor([21., 32.])
    """
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Ints = 1, padding: _Ints | str = 0, output_padding: _Ints = 0, groups: _int = 1, dilation: _Ints = 1) -> Tensor:
    """Let every element of a signal add the kernel to the result: the gradient of `conv1d`.

    Args:
        input: signal (N, C, L) or (C, L).
        weight: kernel (C, O / groups, K).
        bias: one number for each output channel, or None.
        stride: step from kernel to kernel in the result.
        padding: how many elements are cut off at both ends.
        output_padding: how many elements are added at the end.
        groups: number of blocks of channels that are convolved apart from each other.
        dilation: distance of the kernel's elements.

    Shape: (N, O, (L - 1) · stride - 2·padding + dilation · (K - 1) + output_padding + 1).

    Example:
        >>> import taper
        >>> x, weight = taper.tensor([[1.0, 2.0]]), taper.tensor([[[1.0, 10.0]]])
        >>> taper.conv_transpose1d(x, weight, stride=2)
        tensor([[ 1., 10.,  2., 20.]])
    """
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Ints = 1, padding: _Ints | str = 0, output_padding: _Ints = 0, groups: _int = 1, dilation: _Ints = 1) -> Tensor:
    """Let every element of an image add the kernel to the result: the gradient of `conv2d`.

    Args:
        input: image (N, C, H, W) or (C, H, W).
        weight: kernel (C, O / groups, K₁, K₂).
        bias: one number for each output channel, or None.
        stride: step from kernel to kernel in the result, a number or a pair.
        padding: how much is cut off on all sides, a number or a pair.
        output_padding: how much is added at the far ends, a number or a pair.
        groups: number of blocks of channels that are convolved apart from each other.
        dilation: distance of the kernel's elements, a number or a pair.

    Shape: (N, O, H', W'), with H' = (H - 1) · stride - 2·padding + dilation · (K₁ - 1) +
        output_padding + 1 and W' alike.

    Example:
        >>> import taper
        >>> taper.conv_transpose2d(taper.ones(1, 2, 2), taper.ones(1, 1, 2, 2))
        tensor([[[1., 2., 1.],
                 [2., 4., 2.],
                 [1., 2., 1.]]])
    """
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Ints = 1, padding: _Ints | str = 0, output_padding: _Ints = 0, groups: _int = 1, dilation: _Ints = 1) -> Tensor:
    """Let every element of a volume add the kernel to the result: the gradient of `conv3d`.

    Args:
        input: volume (N, C, D, H, W) or (C, D, H, W).
        weight: kernel (C, O / groups, K₁, K₂, K₃).
        bias: one number for each output channel, or None.
        stride: step from kernel to kernel in the result, a number or a triple.
        padding: how much is cut off on all sides, a number or a triple.
        output_padding: how much is added at the far ends, a number or a triple.
        groups: number of blocks of channels that are convolved apart from each other.
        dilation: distance of the kernel's elements, a number or a triple.

    Shape: (N, O, D', H', W'), with D' = (D - 1) · stride - 2·padding + dilation · (K₁ - 1) +
        output_padding + 1, and so on.

    Example:
        >>> import taper
        >>> taper.conv_transpose3d(taper.ones(1, 1, 1, 1), taper.ones(1, 2, 2, 2, 2)).shape
        torch.Size([2, 2, 2, 2])
    """
def convolution(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[_int], padding: Sequence[_int], dilation: Sequence[_int], transposed: _bool, output_padding: Sequence[_int], groups: _int) -> Tensor:
    """Convolve a batch of images, or convolve transposed, in one to three dimensions.

    >>> import taper
    >>> x, w = taper.ones(1, 1, 4), taper.ones(1, 1, 3)
    >>> taper.convolution(x, w, None, (1,), (0,), (1,), False, (0,), 1)
    tensor([[[3., 3.]]])
    """
def copysign(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Give the absolute values of `input` the signs of `other`.

    >>> import taper
    >>> taper.copysign(taper.tensor([1.0, -2.0]), taper.tensor([-1.0, 3.0]))
    tensor([-1.,  2.])
    """
def corrcoef(input: Tensor) -> Tensor:
    """Compute the correlation coefficients of the rows; columns are observations.

    >>> import taper
    >>> taper.corrcoef(taper.tensor([[1.0, 2.0, 3.0], [6.0, 4.0, 2.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the cosine of every element.

    result = cos x for each x of `input`, in radians

    Args:
        input: a tensor; integers give the default floating dtype.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.cos(taper.tensor([0.0, 1.0]))
        tensor([1.0000, 0.5403])
    """
def cos_(input: Tensor) -> Tensor:
    """In-place version of `cos`.

    >>> import taper
    >>> taper.cos_(taper.tensor([0.0, 1.0]))
    tensor([1.0000, 0.5403])
    """
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the hyperbolic cosine of every element.

    >>> import taper
    >>> taper.cosh(taper.tensor([0.0, 1.0]))
    tensor([1.0000, 1.5431])
    """
def cosh_(input: Tensor) -> Tensor:
    """In-place version of `cosh`.

    >>> import taper
    >>> taper.cosh_(taper.tensor([0.0, 1.0]))
    tensor([1.0000, 1.5431])
    """
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0.0, reduction: _int = 0) -> Tensor:
    """Compute `nn.functional.cosine_embedding_loss`, given a reduction's number.

    >>> import taper
    >>> a, b = taper.tensor([[1.0, 0.0]]), taper.tensor([[0.0, 1.0]])
    >>> taper.cosine_embedding_loss(a, b, taper.tensor([1]))
    tensor([1.])
    """
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08) -> Tensor:
    """Compute the cosine of the angle between vectors.

    result = x1 · x2 / (max(‖x1‖, eps) · max(‖x2‖, eps)), summed along `dim`

    Args:
        x1: first vectors.
        x2: second vectors; they broadcast with the first.
        dim: dimension of the vectors.
        eps: smallest norm; gradients ignore it.

    Shape: the broadcast shape without `dim`.

    Example:
        >>> import taper
        >>> a, b = taper.tensor([[1.0, 0.0]]), taper.tensor([[1.0, 1.0]])
        >>> taper.cosine_similarity(a, b)
        tensor([0.7071])
    """
def count_nonzero(input: Tensor, dim: _Ints | None = None, *, axis: _Ints | None = None) -> Tensor:
    """Count the elements that are not zero, of all or along dimensions.

    >>> import taper
    >>> taper.count_nonzero(taper.tensor([0, 3, 0, 4]))
    tensor(2)
    """
def cov(input: Tensor, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """Compute the covariances of the rows; columns are observations, which may have weights.

    >>> import taper
    >>> taper.cov(taper.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]))
    tensor([[1., 2.],
            [2., 4.]])
    """
def cross(input: Tensor, other: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute the cross product of vectors of length 3, by default along the first such dimension.

    >>> import taper
    >>> taper.cross(taper.tensor([1, 0, 0]), taper.tensor([0, 1, 0]), dim=0)
    tensor([0, 0, 1])
    """
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor | Sequence[_int], target_lengths: Tensor | Sequence[_int], blank: _int = 0, reduction: _int = 0, zero_infinity: _bool = False) -> Tensor:
    """Compute `nn.functional.ctc_loss`, given a reduction's number.

    >>> import taper
    >>> log_probs = taper.zeros(2, 1, 2).log_softmax(2)
    >>> taper.ctc_loss(log_probs, taper.tensor([[1]]), (2,), (1,))
    tensor([0.2877])
    """
def cummax(input: Tensor, dim: _int, *, out: Sequence[Tensor] | None = None) -> _return_types.cummax:
    """Find the largest element up to each one along a dimension, and where it is.

    >>> import taper
    >>> taper.cummax(taper.tensor([1.0, 3.0, 2.0]), dim=0).indices
    tensor([0, 1, 1])
    """
def cummin(input: Tensor, dim: _int, *, out: Sequence[Tensor] | None = None) -> _return_types.cummin:
    """Find the smallest element up to each one along a dimension, and where it is.

    >>> import taper
    >>> taper.cummin(taper.tensor([2.0, 3.0, 1.0]), dim=0).values
    tensor([2., 2., 1.])
    """
def cumprod(input: Tensor, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Multiply the elements up to each one along a dimension; integers in int64.

    >>> import taper
    >>> taper.cumprod(taper.tensor([1.0, 2.0, 3.0]), dim=0)
    tensor([1., 2., 6.])
    """
def cumsum(input: Tensor, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Add up the elements from the first to each one, along a dimension.

    result[i] = input[0] + … + input[i]

    Args:
        input: a tensor; integers and bools are added in int64.
        dim: dimension to go along.
        dtype: dtype that `input` is converted to first.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.cumsum(taper.tensor([1.0, 2.0, 3.0]), dim=0)
        tensor([1., 3., 6.])
    """
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _Number | None = None, dim: _int = -1) -> Tensor:
    """Integrate from the start up to each further point, by the trapezoidal rule.

    >>> import taper
    >>> taper.cumulative_trapezoid(taper.tensor([1.0, 2.0, 3.0]))
    tensor([1.5000, 4.0000])
    """
def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Convert degrees to radians.

    >>> import taper
    >>> taper.deg2rad(taper.tensor([180.0]))
    tensor([3.1416])
    """
def deg2rad_(input: Tensor) -> Tensor:
    """In-place version of `deg2rad`.

    >>> import taper
    >>> taper.deg2rad_(taper.tensor([180.0]))
    tensor([3.1416])
    """
def det(input: Tensor) -> Tensor:
    """Compute determinants: another name of `linalg.det`.

    >>> import taper
    >>> taper.det(taper.eye(2))
    tensor(1.)
    """
def detach(input: Tensor) -> Tensor:
    """Look at the same memory without history: no gradient flows through the result.

    Writing in place into the result changes `input` too, and autograd notices it.

    Args:
        input: a tensor.

    Returns: a tensor that does not require a gradient and shares the memory of `input`.

    Example:
        >>> import taper
        >>> taper.ones(2, requires_grad=True).detach()
        tensor([1., 1.])
    """
def detach_(input: Tensor) -> Tensor:
    """Cut a tensor from its graph, in place: it becomes a leaf without gradient.

    Args:
        input: the tensor that is changed; views cannot be cut in place.

    Returns: `input`.

    Example:
        >>> import taper
        >>> taper.detach_(taper.ones(2, requires_grad=True) * 2)
        tensor([2., 2.])
    """
def detach_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Copy; PyTorch records it, though without a derivative.

    >>> import taper
    >>> taper.detach_copy(taper.tensor([1.0]))
    tensor([1.])
    """
def diag(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Put a vector on a diagonal, or take a diagonal from a matrix.

    Args:
        input: a vector or a matrix.
        diagonal: which diagonal; positive ones lie above the main one.
        out: tensor that receives the result.

    Shape: (n,) gives (n + |diagonal|, n + |diagonal|); (n, m) gives the vector of its diagonal.

    Example:
        >>> import taper
        >>> taper.diag(taper.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
    """
def diag_embed(input: Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """Make matrices with the tensor's last dimension on a diagonal, zero elsewhere.

    >>> import taper
    >>> taper.diag_embed(taper.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
def diagflat(input: Tensor, offset: _int = 0) -> Tensor:
    """Make a matrix with all elements of the tensor on a diagonal.

    >>> import taper
    >>> taper.diagflat(taper.tensor([[1], [2]]))
    tensor([[1, 0],
            [0, 2]])
    """
def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """View the diagonal of two dimensions as a new last dimension.

    >>> import taper
    >>> taper.diagonal(taper.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
def diagonal_copy(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """Copy a diagonal.

    >>> import taper
    >>> taper.diagonal_copy(taper.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
def diagonal_scatter(input: Tensor, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """Copy a tensor with `src` written to a diagonal.

    >>> import taper
    >>> taper.diagonal_scatter(taper.zeros(2, 2), taper.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
def diff(input: Tensor, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, out: Tensor | None = None, axis: _int | None = None) -> Tensor:
    """Subtract neighbours along a dimension, `n` times over.

    `prepend` and `append` are joined to the input first.

    >>> import taper
    >>> taper.diff(taper.tensor([1, 3, 7]))
    tensor([2, 4])
    """
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute the derivative of lgamma.

    >>> import taper
    >>> taper.digamma(taper.tensor([1.0, 2.0]))
    tensor([-0.5772,  0.4228])
    """
def dist(input: Tensor, other: Tensor, p: _float = 2) -> Tensor:
    """Compute the norm of order `p` of the difference of two tensors.

    >>> import taper
    >>> taper.dist(taper.tensor([1.0, 2.0]), taper.tensor([4.0, 6.0]))
    tensor(5.)
    """
def div(input: _Operand, other: _Operand, *, rounding_mode: str | None = ..., out: Tensor | None = None) -> Tensor:
    """Divide one tensor by another, element by element.

    result = input / other; integers give the default floating dtype unless the quotient is rounded.

    Args:
        input: the dividend.
        other: the divisor, a tensor or a number.
        rounding_mode: None (exact), "trunc" (towards zero) or "floor" (down); both keep integers.
        out: tensor that receives the result.

    Shape: `input` and `other` broadcast together; the result has the broadcast shape.

    Example:
        >>> import taper
        >>> taper.div(taper.tensor([1.0, 2.0]), 4)
        tensor([0.2500, 0.5000])
        >>> taper.div(taper.tensor([-7, 7]), 2, rounding_mode="floor")
        tensor([-4,  3])
    """
def divide(input: _Operand, other: _Operand, *, rounding_mode: str | None = ..., out: Tensor | None = None) -> Tensor:
    """Divide one tensor by another, element by element.

    result = input / other; integers give the default floating dtype unless the quotient is rounded.

    Args:
        input: the dividend.
        other: the divisor, a tensor or a number.
        rounding_mode: None (exact), "trunc" (towards zero) or "floor" (down); both keep integers.
        out: tensor that receives the result.

    Shape: `input` and `other` broadcast together; the result has the broadcast shape.

    Example:
        >>> import taper
        >>> taper.div(taper.tensor([1.0, 2.0]), 4)
        tensor([0.2500, 0.5000])
        >>> taper.div(taper.tensor([-7, 7]), 2, rounding_mode="floor")
        tensor([-4,  3])
    """
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sum the products of the elements of two vectors.

    >>> import taper
    >>> taper.dot(taper.tensor([1., 2.]), taper.tensor([3., 4.]))
    tensor(11.)
    """
def dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Drop elements or channels as in `nn.functional`; `dropout_` works in place.

    >>> import taper
    >>> taper.dropout(taper.ones(1, 2), 0.5, train=False)
    tensor([[1., 1.]])
    """
def dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Drop elements or channels as in `nn.functional`; `dropout_` works in place.

    >>> import taper
    >>> taper.dropout_(taper.ones(1, 2), 0.5, train=False)
    tensor([[1., 1.]])
    """
def dsmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Multiply two matrices, of which one may be sparse: an old name of `spmm`.

    >>> import taper
    >>> taper.dsmm(taper.eye(2).to_sparse(), taper.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
def dsplit(input: Tensor, indices_or_sections: Tensor | _Ints | None = None, *, sections: _Ints | None = None, indices: Any = None) -> tuple[Tensor, ...]:
    """Cut along the third dimension.

    >>> import taper
    >>> taper.dsplit(taper.zeros(2, 2, 4), 2)[0].shape
    torch.Size([2, 2, 2])
    """
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors along the third dimension.

    >>> import taper
    >>> taper.dstack([taper.tensor([1, 2]), taper.tensor([3, 4])])
    tensor([[[1, 3],
             [2, 4]]])
    """
def einsum(*args: Any) -> Tensor:
    """Sum products of elements over indices that are named by letters.

    Indices that stand in the operands but not behind `->` are summed over; `...` stands for any
    dimensions, which broadcast. Without `->` the result has the letters that occur once, in
    alphabetical order.

    Args:
        args: the equation and the tensors, as `einsum("ij,jk->ik", a, b)`, or tensors and lists of
            numbers in turn, as `einsum(a, [0, 1], b, [1, 2], [0, 2])`.

    Shape: one dimension for each letter of the result, as long as in the operands.

    Example:
        >>> import taper
        >>> taper.einsum("ij->j", taper.tensor([[1., 2.], [3., 4.]]))
        tensor([4., 6.])
    """
def embedding(weight: Tensor, indices: Tensor, padding_idx: _int = -1, scale_grad_by_freq: _bool = False, sparse: _bool = False) -> Tensor:
    """Look up the rows of `weight` at `indices`; the shape of `indices` gains a dimension.

    >>> import taper
    >>> taper.embedding(taper.tensor([[1.0], [2.0]]), taper.tensor([1, 0]))
    tensor([[2.],
            [1.]])
    """
def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: _bool = False, mode: _int = 0, sparse: _bool = False, per_sample_weights: Tensor | None = None, include_last_offset: _bool = False, padding_idx: _int | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Reduce bags of rows (`mode` 0 sum, 1 mean, 2 max); also return three bookkeeping tensors.

    >>> import taper
    >>> weight = taper.tensor([[1.0], [2.0], [4.0]])
    >>> taper.embedding_bag(weight, taper.tensor([0, 2, 1]), taper.tensor([0, 2]))[0]
    tensor([[5.],
            [2.]])
    """
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: _float, norm_type: _float) -> Tensor:
    """Scale the rows at `indices` down to the norm `max_norm`, in place and unrecorded.

    >>> import taper
    >>> taper.embedding_renorm_(taper.tensor([[3.0, 4.0]]), taper.tensor([0]), 1.0, 2.0)
    tensor([[0.6000, 0.8000]])
    """
def empty(*sizes: _Ints, size: _Ints | None = None, out: Tensor | None = None, dtype: _dtype | None = None, layout: _layout | None = ..., device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, memory_format: _memory_format | None = None) -> Tensor:
    """Make a tensor whose elements are whatever the memory held.

    Args:
        sizes: the lengths, one by one or as one tuple; none make a 0-d tensor.
        size: the lengths, as a keyword.
        out: tensor that receives the result.
        dtype: dtype of the result; by default the default floating dtype.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.
        memory_format: order of the dimensions in memory, row-major by default.

    Shape: the given lengths.

    Example:
        >>> import taper
        >>> taper.empty(2, 3).shape
        torch.Size([2, 3])
    """
def empty_like(input: Tensor, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, memory_format: _memory_format | None = None) -> Tensor:
    """Make a tensor in the form of another; its elements are whatever the memory held.

    Args:
        input: tensor whose shape, dtype and order of dimensions in memory are taken.
        dtype: another dtype for the result.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.
        memory_format: order of the dimensions in memory; by default that of the input.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.empty_like(taper.ones(2, 3).t()).stride()
        (1, 3)
    """
def empty_permuted(size: _Ints, physical_layout: Any, *, dtype: _dtype | None = None, layout: _layout | None = ..., device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Make an uninitialised tensor whose dimensions lie in memory as `physical_layout` says.

    >>> import taper
    >>> taper.empty_permuted((2, 3, 4), (0, 2, 1)).stride()
    (12, 1, 3)
    """
def empty_strided(size: _Ints, stride: _Ints, *, dtype: _dtype | None = None, layout: _layout | None = ..., device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Make an uninitialised tensor with the given strides.

    >>> import taper
    >>> taper.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
def eq(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Compare two tensors for equality, element by element.

    result = (input == other)

    Args:
        input: first tensor.
        other: a tensor or a number.
        out: tensor that receives the result.

    Shape: `input` and `other` broadcast together; the result is a bool tensor of the broadcast
        shape.

    Example:
        >>> import taper
        >>> taper.eq(taper.tensor([1.0, 2.0]), 2)
        tensor([False,  True])
    """
def equal(input: _Operand, other: _Operand) -> _bool:
    """Tell whether two tensors have the same shape and elements.

    >>> import taper
    >>> taper.equal(taper.tensor([1, 2]), taper.tensor([1, 2]))
    True
    """
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute the error function: the probability that a normal deviate of variance 1/2 is in +-x.

    >>> import taper
    >>> taper.erf(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8427])
    """
def erf_(input: Tensor) -> Tensor:
    """In-place version of `erf`.

    >>> import taper
    >>> taper.erf_(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8427])
    """
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute 1 - erf(x), accurately where that is small.

    >>> import taper
    >>> taper.erfc(taper.tensor([0.0, 1.0]))
    tensor([1.0000, 0.1573])
    """
def erfc_(input: Tensor) -> Tensor:
    """In-place version of `erfc`.

    >>> import taper
    >>> taper.erfc_(taper.tensor([0.0, 1.0]))
    tensor([1.0000, 0.1573])
    """
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Invert the error function.

    >>> import taper
    >>> taper.erfinv(taper.tensor([0.0, 0.5]))
    tensor([0.0000, 0.4769])
    """
def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Raise e to the power of every element.

    result = eˣ for each x of `input`

    Args:
        input: a tensor; integers give the default floating dtype.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.exp(taper.tensor([0.0, 1.0]))
        tensor([1.0000, 2.7183])
    """
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Raise 2 to the power of every element.

    >>> import taper
    >>> taper.exp2(taper.tensor([0.0, 3.0]))
    tensor([1., 8.])
    """
def exp2_(input: Tensor) -> Tensor:
    """In-place version of `exp2`.

    >>> import taper
    >>> taper.exp2_(taper.tensor([0.0, 3.0]))
    tensor([1., 8.])
    """
def exp_(input: Tensor) -> Tensor:
    """In-place version of `exp`.

    >>> import taper
    >>> taper.exp_(taper.tensor([0.0, 1.0]))
    tensor([1.0000, 2.7183])
    """
def expand_copy(input: Tensor, size: _Ints, *, implicit: _bool = False, out: Tensor | None = None) -> Tensor:
    """Copy with dimensions of length 1 repeated.

    >>> import taper
    >>> taper.expand_copy(taper.ones(1, 3), (2, 3)).shape
    torch.Size([2, 3])
    """
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute exp(x) - 1 of every element, accurately near zero.

    >>> import taper
    >>> taper.expm1(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 1.7183])
    """
def expm1_(input: Tensor) -> Tensor:
    """In-place version of `expm1`.

    >>> import taper
    >>> taper.expm1_(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 1.7183])
    """
def eye(n: _int, m: _int | None = None, *, out: Tensor | None = None, dtype: _dtype | None = None, layout: _layout | None = ..., device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Make a matrix with ones on the diagonal and zeros elsewhere.

    Args:
        n: number of rows.
        m: number of columns; `n` by default.
        out: tensor that receives the result.
        dtype: dtype of the result; by default the default floating dtype.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.

    Shape: (n, m).

    Example:
        >>> import taper
        >>> taper.eye(2)
        tensor([[1., 0.],
                [0., 1.]])
    """
def feature_alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Drop elements or channels as in `nn.functional`; `feature_alpha_dropout_` works in place.

    >>> import taper
    >>> taper.feature_alpha_dropout(taper.ones(1, 2), 0.5, train=False)
    tensor([[1., 1.]])
    """
def feature_alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Drop elements or channels as in `nn.functional`; `feature_alpha_dropout_` works in place.

    >>> import taper
    >>> taper.feature_alpha_dropout_(taper.ones(1, 2), 0.5, train=False)
    tensor([[1., 1.]])
    """
def feature_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Drop elements or channels as in `nn.functional`; `feature_dropout_` works in place.

    >>> import taper
    >>> taper.feature_dropout(taper.ones(1, 2), 0.5, train=False)
    tensor([[1., 1.]])
    """
def feature_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Drop elements or channels as in `nn.functional`; `feature_dropout_` works in place.

    >>> import taper
    >>> taper.feature_dropout_(taper.ones(1, 2), 0.5, train=False)
    tensor([[1., 1.]])
    """
def fill(input: Tensor, value: _Operand) -> Tensor:
    """Make a tensor of the same shape and dtype with `value` everywhere.

    >>> import taper
    >>> taper.fill(taper.tensor([1.0, 2.0]), 3)
    tensor([3., 3.])
    """
def fill_(input: Tensor, value: _Operand) -> Tensor:
    """Write one value into every element, in place.

    Args:
        input: the tensor that is changed.
        value: a number or a 0-d tensor.

    Returns: `input`.

    Example:
        >>> import taper
        >>> taper.fill_(taper.zeros(2), 3)
        tensor([3., 3.])
    """
def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Cut off the fraction of every element.

    >>> import taper
    >>> taper.trunc(taper.tensor([1.5, -1.5]))
    tensor([ 1., -1.])
    """
def fix_(input: Tensor) -> Tensor:
    """In-place version of `trunc`.

    >>> import taper
    >>> taper.trunc_(taper.tensor([1.5, -1.5]))
    tensor([ 1., -1.])
    """
def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
    """Merge the dimensions from `start_dim` to `end_dim` into one.

    Args:
        input: a tensor.
        start_dim: first dimension to merge.
        end_dim: last dimension to merge.

    Shape: (*, a, b, c, *) gives (*, a·b·c, *); the result is a view where strides allow one.

    Example:
        >>> import taper
        >>> taper.flatten(taper.zeros(2, 3, 4), 1).shape
        torch.Size([2, 12])
    """
def flip(input: _Operand, *order: _Ints, dims: _Ints | None = None) -> Tensor:
    """Reverse the order of the elements along dimensions.

    Args:
        input: a tensor.
        order: dimensions to reverse, one by one or as one tuple.
        dims: the dimensions, as a keyword.

    Shape: the result has the shape of `input`; it is a copy.

    Example:
        >>> import taper
        >>> taper.flip(taper.tensor([[1, 2], [3, 4]]), (0,))
        tensor([[3, 4],
                [1, 2]])
    """
def fliplr(input: Tensor) -> Tensor:
    """Reverse the order of the columns.

    >>> import taper
    >>> taper.fliplr(taper.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
def flipud(input: Tensor) -> Tensor:
    """Reverse the order of the rows.

    >>> import taper
    >>> taper.flipud(taper.tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
    """
def float_power(input: _Operand, exponent: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Raise `input` to the power of `exponent`, computed in double precision.

    >>> import taper
    >>> taper.float_power(taper.tensor([2, 3]), -1)
    tensor([0.5000, 0.3333], dtype=torch.float64)
    """
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Round every element down to a whole number.

    >>> import taper
    >>> taper.floor(taper.tensor([1.5, -1.5]))
    tensor([ 1., -2.])
    """
def floor_(input: Tensor) -> Tensor:
    """In-place version of `floor`.

    >>> import taper
    >>> taper.floor_(taper.tensor([1.5, -1.5]))
    tensor([ 1., -2.])
    """
def floor_divide(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Divide two tensors and round down. Differentiating it fails, as in PyTorch.

    >>> import taper
    >>> taper.floor_divide(taper.tensor([-7, 7]), 2)
    tensor([-4,  3])
    """
def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the larger of two elements; nan only if both are nan.

    >>> import taper
    >>> taper.fmax(taper.tensor([1.0, float("nan")]), taper.tensor([3.0, 2.0]))
    tensor([3., 2.])
    """
def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the smaller of two elements; nan only if both are nan.

    >>> import taper
    >>> taper.fmin(taper.tensor([1.0, float("nan")]), taper.tensor([3.0, 2.0]))
    tensor([1., 2.])
    """
def fmod(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Take the remainder of the division, with the sign of the dividend, as C's `fmod`.

    >>> import taper
    >>> taper.fmod(taper.tensor([-7.0, 7.0]), 3)
    tensor([-1.,  1.])
    """
def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Keep the fraction of every element, with its sign.

    >>> import taper
    >>> taper.frac(taper.tensor([1.5, -1.25]))
    tensor([ 0.5000, -0.2500])
    """
def frac_(input: Tensor) -> Tensor:
    """In-place version of `frac`.

    >>> import taper
    >>> taper.frac_(taper.tensor([1.5, -1.25]))
    tensor([ 0.5000, -0.2500])
    """
def frexp(input: Tensor, *, out: Sequence[Tensor] | None = None) -> _return_types.frexp:
    """Split numbers into mantissa * 2**exponent, with a mantissa of size 1/2 to below 1.

    >>> import taper
    >>> taper.frexp(taper.tensor([3.0])).exponent
    tensor([2], dtype=torch.int32)
    """
def frobenius_norm(input: Tensor, dim: _Ints | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Compute the root of the sum of squares; `linalg.vector_norm` is the name to use.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> taper.frobenius_norm(taper.tensor([[3.0, 4.0]]), (0, 1))
    tensor(5.)
    """
def from_file(filename: str, shared: _bool | None = None, size: _int | None = 0, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Make a tensor on the memory of a file: its first `size` elements.

    With `shared` what is written to the tensor goes to the file, which is created or extended if
    need be; without it the file stays as it is.

    >>> import taper, tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(bytes([1, 2, 3]))
    ...     file.flush()
    ...     taper.from_file(file.name, size=2, dtype=taper.uint8)
    tensor([1, 2], dtype=torch.uint8)
    """
def frombuffer(buffer: Any, *, dtype: _dtype | None, count: _int = -1, offset: _int = 0, requires_grad: _bool = False) -> Tensor:
    """Make a tensor on the memory of an object with the buffer protocol.

    `count` is in elements, `offset` in bytes.

    >>> import taper
    >>> taper.frombuffer(bytearray([1, 0, 2, 0]), dtype=taper.int16)
    tensor([1, 2], dtype=torch.int16)
    """
def full(size: _Ints, fill_value: _Number, *, out: Tensor | None = None, dtype: _dtype | None = None, layout: _layout | None = ..., device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Make a tensor with one value everywhere.

    Args:
        size: the lengths.
        fill_value: the value, a number or a 0-d tensor.
        out: tensor that receives the result.
        dtype: dtype of the result; by default that of the value.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.

    Shape: the given lengths.

    Example:
        >>> import taper
        >>> taper.full((2, 2), 7)
        tensor([[7, 7],
                [7, 7]])
    """
def full_like(input: Tensor, fill_value: _Number, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, memory_format: _memory_format | None = None) -> Tensor:
    """Make a tensor with one value everywhere, in the form of another tensor.

    Args:
        input: tensor whose shape, dtype and order of dimensions in memory are taken.
        fill_value: the value, a number or a 0-d tensor.
        dtype: another dtype for the result.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.
        memory_format: order of the dimensions in memory; by default that of the input.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.full_like(taper.tensor([1, 2]), 7)
        tensor([7, 7])
    """
def gather(input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """Take elements along a dimension at the places in `index`.

    result[i, j] = input[index[i, j], j] for dim = 0, input[i, index[i, j]] for dim = 1, and so on

    Args:
        input: a tensor.
        dim: dimension that `index` counts along.
        index: int64 tensor with as many dimensions as `input`; other lengths at most those of
            `input`.
        sparse_grad: whether the gradient is sparse.
        out: tensor that receives the result.

    Shape: the result has the shape of `index`.

    Example:
        >>> import taper
        >>> taper.gather(taper.tensor([[1, 2], [3, 4]]), 1, taper.tensor([[0, 0], [1, 0]]))
        tensor([[1, 1],
                [4, 3]])
    """
def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Find the greatest common divisor of two whole numbers.

    >>> import taper
    >>> taper.gcd(taper.tensor([12, 18]), taper.tensor([8, 27]))
    tensor([4, 9])
    """
def gcd_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of `gcd`.

    >>> import taper
    >>> taper.gcd_(taper.tensor([12, 18]), taper.tensor([8, 27]))
    tensor([4, 9])
    """
def ge(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Tell where the first tensor is larger than or equal to the second.

    >>> import taper
    >>> taper.ge(taper.tensor([1.0, 2.0]), 2)
    tensor([False,  True])
    """
def geqrf(input: Tensor, *, out: Sequence[Tensor] | None = None) -> _return_types.geqrf:
    """Compute R and the reflectors whose product is Q, as LAPACK stores them, for `ormqr`.

    >>> import taper
    >>> taper.geqrf(taper.tensor([[3.0], [4.0]])).a[0].abs()
    tensor([5.])
    """
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Multiply each element of one vector with each of another: another name of `outer`.

    >>> import taper
    >>> taper.ger(taper.tensor([1., 2.]), taper.tensor([3.]))
    tensor([[3.],
            [6.]])
    """
def get_device(input: Tensor) -> _int:
    """Return the number of the tensor's device; -1 on the CPU.

    >>> import taper
    >>> taper.get_device(taper.ones(2))
    -1
    """
def gradient(input: Tensor, *, spacing: Any = None, dim: _Ints | None = None, edge_order: _int = 1) -> tuple[Tensor, ...]:
    """Estimate the slope along each dimension, or along those of `dim`, from neighbours.

    `spacing` is the distance of neighbours: a number, one for each dimension, or for each a tensor
    of coordinates. At the edges `edge_order` 1 or 2 is the order of the error.

    >>> import taper
    >>> taper.gradient(taper.tensor([1.0, 4.0, 9.0, 16.0]))
    (tensor([3., 4., 6., 7.]),)
    """
def greater(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Tell where the first tensor is larger than the second.

    >>> import taper
    >>> taper.gt(taper.tensor([1.0, 2.0]), 1)
    tensor([False,  True])
    """
def greater_equal(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Tell where the first tensor is larger than or equal to the second.

    >>> import taper
    >>> taper.ge(taper.tensor([1.0, 2.0]), 2)
    tensor([False,  True])
    """
def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """Sample pictures or volumes at a grid; modes are numbers, else as `grid_sample`.

    >>> import taper
    >>> picture, center = taper.arange(9.0).reshape(1, 1, 3, 3), taper.zeros(1, 1, 1, 2)
    >>> taper.grid_sampler(picture, center, 0, 0, True)
    tensor([[[[4.]]]])
    """
def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """Sample pictures at the places of a grid with coordinates from -1 to 1; modes are numbers.

    >>> import taper
    >>> picture, center = taper.arange(9.0).reshape(1, 1, 3, 3), taper.zeros(1, 1, 1, 2)
    >>> taper.grid_sampler_2d(picture, center, 0, 0, True)
    tensor([[[[4.]]]])
    """
def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """Sample volumes at the places of a grid with coordinates from -1 to 1; modes are numbers.

    >>> import taper
    >>> volume, center = taper.arange(8.0).reshape(1, 1, 2, 2, 2), taper.zeros(1, 1, 1, 1, 3)
    >>> taper.grid_sampler_3d(volume, center, 0, 0, True)
    tensor([[[[[3.5000]]]]])
    """
def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05, cudnn_enabled: _bool = True) -> Tensor:
    """Compute `nn.functional.group_norm`; `cudnn_enabled` is ignored.

    >>> import taper
    >>> taper.group_norm(taper.tensor([[1.0, 3.0]]), 1)
    tensor([[-1.0000,  1.0000]])
    """
def gru(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Compute outputs and last states of a GRU of several layers; arguments as for `lstm`.

    >>> import taper
    >>> x, zero, w = taper.ones(2, 1, 1), taper.zeros(1, 1, 1), taper.ones(3, 1)
    >>> taper.gru(x, zero, (w, w), False, 1, 0.0, False, False, False)[0].flatten()
    tensor([0.2048, 0.3468])
    """
def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """Do one step of a GRU: return the next state.

    >>> import taper
    >>> one, zero = taper.ones(1, 1), taper.zeros(1, 1)
    >>> taper.gru_cell(one, zero, taper.ones(3, 1), taper.ones(3, 1))
    tensor([[0.2048]])
    """
def gt(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Tell where the first tensor is larger than the second.

    >>> import taper
    >>> taper.gt(taper.tensor([1.0, 2.0]), 1)
    tensor([False,  True])
    """
def hamming_window(window_length: _int, periodic: _bool = True, alpha: _float = 0.54, beta: _float = 0.46, *, dtype: _dtype | None = None, layout: _layout | None = ..., device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Make a window of `alpha - beta * cos`: a raised cosine whose ends are not quite 0.

    >>> import taper
    >>> taper.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
def hann_window(window_length: _int, periodic: _bool = True, *, dtype: _dtype | None = None, layout: _layout | None = ..., device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Make a window of half of one minus a cosine: 0 at the ends and 1 in the middle.

    >>> import taper
    >>> taper.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
def hardshrink(input: Tensor, lambd: _Number = 0.5, *, out: Tensor | None = None) -> Tensor:
    """Replace small elements by zero.

    result = x where |x| > lambd, else 0

    Args:
        input: a tensor.
        lambd: bound that |x| must exceed.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.hardshrink(taper.tensor([-0.4, 0.6]))
        tensor([0.0000, 0.6000])
    """
def hash_tensor(input: Tensor, dim: _Ints | None = ..., *, keepdim: _bool = False, mode: _int = 0, out: Tensor | None = None) -> Tensor:
    """Hash the elements along dimensions, or all: the exclusive or of their bits.

    >>> import taper
    >>> taper.hash_tensor(taper.tensor([1, 2, 4]))
    tensor(7, dtype=torch.uint64)
    """
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return 0 below zero, 1 above, `values` at zero. Differentiating it fails, as in PyTorch.

    >>> import taper
    >>> taper.heaviside(taper.tensor([-1.0, 0.0, 2.0]), taper.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000])
    """
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: _float = 1.0, reduction: _int = 0) -> Tensor:
    """Compute `nn.functional.hinge_embedding_loss`, given a reduction's number.

    >>> import taper
    >>> taper.hinge_embedding_loss(taper.tensor([0.5, 0.25]), taper.tensor([1, -1]))
    tensor([0.5000, 0.7500])
    """
def histc(input: Tensor, bins: _int = 100, min: _float = 0, max: _float = 0, *, out: Tensor | None = None) -> Tensor:
    """Count the elements in each of `bins` equal parts of the range from `min` to `max`.

    Elements outside are not counted. With `min == max` the range is that of the elements.

    >>> import taper
    >>> taper.histc(taper.tensor([1.0, 2.0, 1.0]), bins=2, min=0, max=2)
    tensor([0., 3.])
    """
def histogram(input: Tensor, bins: Any = 100, *, range: Any = None, weight: Tensor | None = None, density: _bool = False, out: Sequence[Tensor] | None = None) -> _return_types.histogram:
    """Count the elements, or add up their weights, in each bin; also return the edges.

    `bins` is a tensor of edges, or a number of bins of one width in `range` (by default that of the
    elements). Elements outside are not counted. With `density` the integral is 1.

    >>> import taper
    >>> taper.histogram(taper.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 2.0)).hist
    tensor([0., 3.])
    """
def histogramdd(input: Tensor, bins: Any, range: Any = None, weight: Tensor | None = None, density: _bool = False) -> _return_types.histogramdd:
    """Count the points, rows of the last dimension, in each bin of a grid.

    `bins` holds the edges in each dimension, or their numbers, or one number for all; `range` the
    lowest and highest edge of each dimension in turn.

    >>> import taper
    >>> taper.histogramdd(taper.tensor([[0.0, 0.0], [1.0, 1.0]]), 2).hist
    tensor([[1., 0.],
            [0., 1.]])
    """
def hsmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """Multiply a sparse matrix with a dense one: an old name of `hspmm`.

    >>> import taper
    >>> taper.hsmm(taper.eye(2).to_sparse(), taper.ones(2, 1)).sparse_dim()
    1
    """
def hsplit(input: Tensor, indices_or_sections: Tensor | _Ints | None = None, *, sections: _Ints | None = None, indices: Any = None) -> tuple[Tensor, ...]:
    """Cut along the second dimension; a vector along its only one.

    >>> import taper
    >>> taper.hsplit(taper.arange(4), 2)
    (tensor([0, 1]), tensor([2, 3]))
    """
def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """Multiply a sparse matrix with a dense one; the result stores whole rows.

    >>> import taper
    >>> taper.hspmm(taper.eye(2).to_sparse(), taper.ones(2, 1)).sparse_dim()
    1
    """
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors along the second dimension, vectors along the first.

    >>> import taper
    >>> taper.hstack([taper.tensor([1, 2]), taper.tensor([3])])
    tensor([1, 2, 3])
    """
def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute the longest side of a right-angled triangle from the other two.

    >>> import taper
    >>> taper.hypot(taper.tensor([3.0]), taper.tensor([4.0]))
    tensor([5.])
    """
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute the modified Bessel function of the first kind of order 0.

    >>> import taper
    >>> taper.i0(taper.tensor([0.0, 1.0]))
    tensor([1.0000, 1.2661])
    """
def i0_(input: Tensor) -> Tensor:
    """In-place version of `i0`.

    >>> import taper
    >>> taper.i0_(taper.tensor([0.0, 1.0]))
    tensor([1.0000, 1.2661])
    """
def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute the regularised lower incomplete gamma function of parameter `input` at `other`.

    >>> import taper
    >>> taper.igamma(taper.tensor([4.0]), taper.tensor([3.0]))
    tensor([0.3528])
    """
def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute the regularised upper incomplete gamma function: one minus `igamma`.

    >>> import taper
    >>> taper.igammac(taper.tensor([4.0]), taper.tensor([3.0]))
    tensor([0.6472])
    """
def imag(input: _Operand) -> Tensor:
    """View the imaginary part of a complex tensor.

    >>> import taper
    >>> taper.imag(taper.tensor([1 + 2j]))
    tensor([2.])
    """
def index_add(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Copy a tensor and add slices of `source`, times `alpha`, at `index` along `dim`.

    >>> import taper
    >>> taper.index_add(taper.zeros(3), 0, taper.tensor([0, 0]), taper.tensor([1.0, 2.0]))
    tensor([3., 0., 0.])
    """
def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Copy a tensor and write slices of `source` at `index` along `dim`.

    >>> import taper
    >>> taper.index_copy(taper.zeros(3), 0, taper.tensor([2, 0]), taper.tensor([1.0, 2.0]))
    tensor([2., 0., 1.])
    """
def index_fill(input: _Operand, dim: _int, index: _Operand, value: _Operand) -> Tensor:
    """Copy a tensor and write `value`, a number or 0-d tensor, to the slices at `index`.

    >>> import taper
    >>> taper.index_fill(taper.zeros(3), 0, taper.tensor([1]), 5)
    tensor([0., 5., 0.])
    """
def index_put(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
    """Copy a tensor and write, or add, `values` at the places `indices`.

    >>> import taper
    >>> taper.index_put(taper.zeros(3), (taper.tensor([0, 2]),), taper.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
def index_put_(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
    """Write `values`, or add them, at the places `indices`.

    >>> import taper
    >>> taper.zeros(3).index_put_((taper.tensor([0, 0]),), taper.tensor(1.0), accumulate=True)
    tensor([2., 0., 0.])
    """
def index_reduce(input: Tensor, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
    """Copy a tensor and combine slices of `source` by `reduce` where `index` points along `dim`.

    >>> import taper
    >>> index = taper.tensor([0, 0])
    >>> taper.index_reduce(taper.ones(2), 0, index, taper.tensor([2.0, 3.0]), "amax")
    tensor([3., 1.])
    """
def index_select(input: Tensor, dim: _int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take slices along a dimension at the places in a vector.

    Args:
        input: a tensor.
        dim: dimension that `index` counts along.
        index: int32 or int64 vector; a place may occur several times.
        out: tensor that receives the result.

    Shape: `input` with the length of `index` along `dim`; the result is a copy.

    Example:
        >>> import taper
        >>> taper.index_select(taper.tensor([[1, 2], [3, 4]]), 0, taper.tensor([1, 1]))
        tensor([[3, 4],
                [3, 4]])
    """
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sum products over the last dimension of both tensors.

    >>> import taper
    >>> taper.inner(taper.tensor([1., 2.]), taper.tensor([3., 4.]))
    tensor(11.)
    """
def instance_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, use_input_stats: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool) -> Tensor:
    """Compute `nn.functional.instance_norm` with its arguments in another order.

    >>> import taper
    >>> x = taper.tensor([[[1.0, 3.0]]])
    >>> taper.instance_norm(x, None, None, None, None, True, 0.1, 1e-5, False)
    tensor([[[-1.0000,  1.0000]]])
    """
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Invert matrices: another name of `linalg.inv`.

    >>> import taper
    >>> taper.inverse(taper.tensor([[2.0]]))
    tensor([[0.5000]])
    """
def is_complex(input: Tensor) -> _bool:
    """Tell whether the elements are complex numbers.

    >>> import taper
    >>> taper.is_complex(taper.tensor([1j]))
    True
    """
def is_conj(input: _Operand) -> _bool:
    """Tell whether the tensor is a conjugate view, which shows memory conjugated.

    >>> import taper
    >>> taper.is_conj(taper.tensor([1 + 2j]).conj())
    True
    """
def is_distributed(input: Tensor) -> _bool:
    """Return False: every tensor is in this process.

    >>> import taper
    >>> taper.is_distributed(taper.ones(2))
    False
    """
def is_floating_point(input: Tensor) -> _bool:
    """Tell whether the elements are floating point numbers.

    >>> import taper
    >>> taper.is_floating_point(taper.ones(2))
    True
    """
def is_inference(input: Tensor) -> _bool:
    """Tell whether a tensor was made in inference mode.

    >>> import taper
    >>> taper.is_inference(taper.ones(2))
    False
    """
def is_neg(input: _Operand) -> _bool:
    """Tell whether the tensor is a negative view, which shows memory negated.

    >>> import taper
    >>> taper.is_neg(taper.tensor([1 + 2j]).conj().imag)
    True
    """
def is_nonzero(input: Tensor) -> _bool:
    """Tell whether the only element is not zero.

    >>> import taper
    >>> taper.is_nonzero(taper.tensor([0.0]))
    False
    """
def is_same_size(input: Tensor, other: Tensor) -> _bool:
    """Tell whether two tensors have the same shape.

    >>> import taper
    >>> taper.is_same_size(taper.ones(2, 3), taper.ones(3, 2))
    False
    """
def is_signed(input: Tensor) -> _bool:
    """Tell whether the dtype has negative numbers.

    >>> import taper
    >>> taper.is_signed(taper.tensor([1], dtype=taper.uint8))
    False
    """
def is_storage(obj: Any) -> _bool:
    """Tell whether an object is a storage.

    >>> import taper
    >>> taper.is_storage(taper.ones(2).untyped_storage())
    True
    """
def is_tensor(obj: object) -> TypeIs[Tensor]:
    """Tell whether an object is a Tensor.

    Args:
        obj: any object.

    Returns: True or False.

    Example:
        >>> import taper
        >>> taper.is_tensor(taper.ones(2)), taper.is_tensor([1.0])
        (True, False)
    """
def isclose(input: _Operand, other: _Operand, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor:
    """Tell where two tensors differ by at most `atol + rtol * abs(other)`.

    >>> import taper
    >>> taper.isclose(taper.tensor([1.0, 2.0]), taper.tensor([1.0, 2.1]))
    tensor([ True, False])
    """
def isfinite(input: Tensor) -> Tensor:
    """Tell which elements are neither infinite nor nan.

    >>> import taper
    >>> taper.isfinite(taper.tensor([1.0, float("inf")]))
    tensor([ True, False])
    """
def isin(elements: Any = None, test_elements: Any = None, *, assume_unique: _bool = False, invert: _bool = False, out: Tensor | None = None, element: Any = None, test_element: Any = None) -> Tensor:
    """Tell which of `elements` are among `test_elements`.

    >>> import taper
    >>> taper.isin(taper.tensor([1, 2, 3]), taper.tensor([2, 5]))
    tensor([False,  True, False])
    """
def isinf(input: Tensor) -> Tensor:
    """Tell which elements are infinite.

    >>> import taper
    >>> taper.isinf(taper.tensor([1.0, float("inf")]))
    tensor([False,  True])
    """
def isnan(input: Tensor) -> Tensor:
    """Tell which elements are nan.

    Args:
        input: a tensor; a complex element is nan if either of its parts is.

    Shape: the result is a bool tensor with the shape of `input`.

    Example:
        >>> import taper
        >>> taper.isnan(taper.tensor([1.0, float("nan")]))
        tensor([False,  True])
    """
def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Tell which elements are -inf.

    >>> import taper
    >>> taper.isneginf(taper.tensor([float("inf"), -float("inf")]))
    tensor([False,  True])
    """
def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Tell which elements are +inf.

    >>> import taper
    >>> taper.isposinf(taper.tensor([float("inf"), -float("inf")]))
    tensor([ True, False])
    """
def isreal(input: Tensor) -> Tensor:
    """Tell which elements have the imaginary part zero.

    >>> import taper
    >>> taper.isreal(taper.tensor([1 + 0j, 1j]))
    tensor([ True, False])
    """
def istft(input: Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> Tensor:
    """Find the signal whose `stft` this is, or comes closest to it by least squares.

    >>> import taper
    >>> signal, window = taper.arange(8.0), taper.ones(4)
    >>> taper.istft(taper.stft(signal, 4, window=window, return_complex=True), 4, window=window)
    tensor([0., 1., 2., 3., 4., 5., 6., 7.])
    """
def kaiser_window(window_length: _int, periodic: _bool = True, beta: _float = 12.0, *, dtype: _dtype | None = None, layout: _layout | None = ..., device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Make a window of a Bessel function; the larger `beta`, the narrower the window.

    >>> import taper
    >>> taper.kaiser_window(4, beta=2.0)
    tensor([0.4387, 0.8348, 1.0000, 0.8348])
    """
def kl_div(input: Tensor, target: Tensor, reduction: _int = 0, *, log_target: _bool = False) -> Tensor:
    """Compute `nn.functional.kl_div`, given a reduction's number.

    >>> import taper
    >>> taper.kl_div(taper.tensor([-1.0]), taper.tensor([1.0]))
    tensor([1.])
    """
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Replace each element of `input` by `other` times that element: Kronecker's product.

    >>> import taper
    >>> taper.kron(taper.tensor([1, 10]), taper.tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
def kthvalue(input: Tensor, k: _int, dim: _int = -1, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None) -> _return_types.kthvalue:
    """Find the `k`-th smallest element along a dimension, counted from 1, and where it is.

    >>> import taper
    >>> taper.kthvalue(taper.tensor([3.0, 1.0, 2.0]), 2).values
    tensor(2.)
    """
def layer_norm(input: Tensor, normalized_shape: _Ints, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05, cudnn_enable: _bool = True) -> Tensor:
    """Compute `nn.functional.layer_norm`; `cudnn_enable` is ignored.

    >>> import taper
    >>> taper.layer_norm(taper.tensor([1.0, 3.0]), (2,))
    tensor([-1.0000,  1.0000])
    """
def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Find the least common multiple of two whole numbers.

    >>> import taper
    >>> taper.lcm(taper.tensor([4, 6]), taper.tensor([6, 9]))
    tensor([12, 18])
    """
def lcm_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of `lcm`.

    >>> import taper
    >>> taper.lcm_(taper.tensor([4, 6]), taper.tensor([6, 9]))
    tensor([12, 18])
    """
def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Multiply `input` by 2 to the power of `other`.

    >>> import taper
    >>> taper.ldexp(taper.tensor([1.5]), taper.tensor([3]))
    tensor([12.])
    """
def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of `ldexp`.

    >>> import taper
    >>> taper.ldexp_(taper.tensor([1.5]), taper.tensor([3]))
    tensor([12.])
    """
def le(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Tell where the first tensor is less than or equal to the second.

    result = (input ≤ other)

    Args:
        input: first tensor.
        other: a tensor or a number.
        out: tensor that receives the result.

    Shape: `input` and `other` broadcast together; the result is a bool tensor of the broadcast
        shape.

    Example:
        >>> import taper
        >>> taper.le(taper.tensor([1.0, 2.0]), 1)
        tensor([ True, False])
    """
def lerp(input: _Operand, end: _Operand, weight: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Go `weight` of the way from `input` to `end`: input + weight (end - input).

    >>> import taper
    >>> taper.lerp(taper.tensor([0.0, 10.0]), taper.tensor([1.0, 20.0]), 0.25)
    tensor([ 0.2500, 12.5000])
    """
def less(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Tell where the first tensor is smaller than the second.

    >>> import taper
    >>> taper.lt(taper.tensor([1.0, 2.0]), 2)
    tensor([ True, False])
    """
def less_equal(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Tell where the first tensor is less than or equal to the second.

    result = (input ≤ other)

    Args:
        input: first tensor.
        other: a tensor or a number.
        out: tensor that receives the result.

    Shape: `input` and `other` broadcast together; the result is a bool tensor of the broadcast
        shape.

    Example:
        >>> import taper
        >>> taper.le(taper.tensor([1.0, 2.0]), 1)
        tensor([ True, False])
    """
def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the logarithm of the absolute value of the gamma function.

    >>> import taper
    >>> taper.lgamma(taper.tensor([1.0, 4.0]))
    tensor([0.0000, 1.7918])
    """
def linspace(start: _Operand, end: _Operand, steps: _int, *, out: Tensor | None = None, dtype: _dtype | None = None, layout: _layout | None = ..., device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Make a vector of `steps` numbers at equal distances, both ends included.

    Args:
        start: first number, or a 0-d tensor.
        end: last number, or a 0-d tensor.
        steps: how many numbers.
        out: tensor that receives the result.
        dtype: dtype of the result; by default the default floating dtype.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.

    Shape: (steps,)

    Example:
        >>> import taper
        >>> taper.linspace(0, 1, 5)
        tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
def lobpcg(A: Tensor, k: _int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: _int | None = None, iK: Tensor | None = None, niter: _int | None = None, tol: _float | None = None, largest: _bool | None = None, method: str | None = None, tracker: Any = None, ortho_iparams: dict[str, _int] | None = None, ortho_fparams: dict[str, _float] | None = None, ortho_bparams: dict[str, _bool] | None = None) -> tuple[Any, Any]:
    """Find the k largest (or smallest) eigenvalues of A x = d B x, and their vectors.

    `X` is where the search begins, `iK` a preconditioner.

    Differs from PyTorch: there is one method; `tracker` and the parameters of `ortho` are not used.

    >>> import taper
    >>> A = taper.diag(taper.tensor([1.0, 2.0, 3.0, 4.0]))
    >>> taper.lobpcg(A, k=1)[0].round()
    tensor([4.])
    """
def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the natural logarithm of every element.

    result = ln x for each x of `input`; -inf at 0 and nan below it.

    Args:
        input: a tensor; integers give the default floating dtype.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.log(taper.tensor([1.0, 2.0]))
        tensor([0.0000, 0.6931])
    """
def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the logarithm of every element to the base 10.

    >>> import taper
    >>> taper.log10(taper.tensor([1.0, 100.0]))
    tensor([0., 2.])
    """
def log10_(input: Tensor) -> Tensor:
    """In-place version of `log10`.

    >>> import taper
    >>> taper.log10_(taper.tensor([1.0, 100.0]))
    tensor([0., 2.])
    """
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the logarithm of 1 + x for every element, accurately near zero.

    result = ln(1 + x) for each x of `input`

    Args:
        input: a tensor; integers give the default floating dtype.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.log1p(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.6931])
    """
def log1p_(input: Tensor) -> Tensor:
    """In-place version of `log1p`.

    >>> import taper
    >>> taper.log1p_(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 0.6931])
    """
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the logarithm of every element to the base 2.

    >>> import taper
    >>> taper.log2(taper.tensor([1.0, 8.0]))
    tensor([0., 3.])
    """
def log2_(input: Tensor) -> Tensor:
    """In-place version of `log2`.

    >>> import taper
    >>> taper.log2_(taper.tensor([1.0, 8.0]))
    tensor([0., 3.])
    """
def log_(input: Tensor) -> Tensor:
    """In-place version of `log`.

    >>> import taper
    >>> taper.log_(taper.tensor([1.0, 2.0]))
    tensor([0.0000, 0.6931])
    """
def log_softmax(input: Tensor, dim: _int = ..., dtype: _dtype | None = None, *, out: Tensor | None = None, axis: _int = ...) -> Tensor:
    """Take the logarithm of softmax along a dimension, without overflow.

    result[i] = input[i] - ln Σⱼ exp(input[j])

    Args:
        input: a floating point tensor.
        dim: dimension along which the exponentials of the results sum to 1.
        dtype: dtype that `input` is converted to first.
        out: tensor that receives the result.
        axis: NumPy's name for `dim`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.log_softmax(taper.tensor([0.0, 0.0]), dim=0)
        tensor([-0.6931, -0.6931])
    """
def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute log(exp(x) + exp(y)) without overflow.

    >>> import taper
    >>> taper.logaddexp(taper.tensor([0.0]), taper.tensor([0.0]))
    tensor([0.6931])
    """
def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute log2(2**x + 2**y) without overflow.

    >>> import taper
    >>> taper.logaddexp2(taper.tensor([1.0]), taper.tensor([1.0]))
    tensor([2.])
    """
def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """Take the logarithm of the running sum of exponentials along a dimension, without overflow.

    >>> import taper
    >>> taper.logcumsumexp(taper.tensor([0.0, 0.0, 0.0]), dim=0)
    tensor([0.0000, 0.6931, 1.0986])
    """
def logdet(input: Tensor) -> Tensor:
    """Compute the logarithm of each determinant; nan where it is negative.

    >>> import taper
    >>> taper.logdet(taper.tensor([[2.0, 0.0], [0.0, 0.5]]))
    tensor(0.)
    """
def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Tell where both tensors are not zero.

    >>> import taper
    >>> taper.logical_and(taper.tensor([1.0, 0.0]), taper.tensor([True, True]))
    tensor([ True, False])
    """
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Tell which elements are zero.

    >>> import taper
    >>> taper.logical_not(taper.tensor([1.0, 0.0]))
    tensor([False,  True])
    """
def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Tell where at least one of two tensors is not zero.

    >>> import taper
    >>> taper.logical_or(taper.tensor([1.0, 0.0]), taper.tensor([False, False]))
    tensor([ True, False])
    """
def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Tell where exactly one of two tensors is not zero.

    >>> import taper
    >>> taper.logical_xor(taper.tensor([1.0, 0.0]), taper.tensor([True, True]))
    tensor([False,  True])
    """
def logit(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute log(x / (1 - x)), with x first moved into [eps, 1 - eps] if `eps` is given.

    >>> import taper
    >>> taper.logit(taper.tensor([0.5, 0.75]))
    tensor([0.0000, 1.0986])
    """
def logit_(input: Tensor, eps: _float | None = None) -> Tensor:
    """In-place version of `logit`.

    >>> import taper
    >>> taper.logit_(taper.tensor([0.5, 0.75]))
    tensor([0.0000, 1.0986])
    """
def logspace(start: _Operand, end: _Operand, steps: _int, base: _float = 10.0, *, out: Tensor | None = None, dtype: _dtype | None = None, layout: _layout | None = ..., device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Make a vector of `steps` numbers from `base**start` to `base**end`, evenly in exponents.

    >>> import taper
    >>> taper.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
def logsumexp(input: Tensor, dim: _Ints | None = ..., keepdim: _bool = False, *, out: Tensor | None = None, axis: _Ints | None = ..., keepdims: _bool = False) -> Tensor:
    """Take the logarithm of the sum of exponentials along dimensions, without overflow.

    result = ln Σ eˣ

    Args:
        input: a tensor; integers give the default floating dtype.
        dim: dimension or dimensions to reduce.
        keepdim: keep the reduced dimensions, with length 1.
        out: tensor that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimensions in `dim`.

    Example:
        >>> import taper
        >>> taper.logsumexp(taper.tensor([1000.0, 1000.0]), dim=0)
        tensor(1000.6932)
    """
def lstm(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Compute outputs, last states and last cells of an LSTM of several layers.

    `lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)`,
    or for a packed sequence `lstm(data, batch_sizes, hx, params, ...)` without `batch_first`.

    >>> import taper
    >>> x, zero, w = taper.ones(2, 1, 1), taper.zeros(1, 1, 1), taper.ones(4, 1)
    >>> taper.lstm(x, (zero, zero), (w, w), False, 1, 0.0, False, False, False)[0].flatten()
    tensor([0.3696, 0.6505])
    """
def lstm_cell(input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Do one step of an LSTM: return the next state and cells.

    >>> import taper
    >>> one, zero = taper.ones(1, 1), taper.zeros(1, 1)
    >>> taper.lstm_cell(one, (zero, zero), taper.ones(4, 1), taper.ones(4, 1))
    (tensor([[0.3696]]), tensor([[0.5568]]))
    """
def lt(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Tell where the first tensor is smaller than the second.

    >>> import taper
    >>> taper.lt(taper.tensor([1.0, 2.0]), 2)
    tensor([ True, False])
    """
@overload
def lu(A: Tensor, pivot: _bool = True, get_infos: Literal[False] = False, out: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Factor A = P L U: both factors in one matrix, and pivots; `linalg.lu_factor` is newer.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> taper.lu(taper.eye(2))[1]
    tensor([1, 2], dtype=torch.int32)
    """
@overload
def lu(A: Tensor, pivot: _bool = True, *, get_infos: Literal[True], out: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Factor A = P L U: both factors in one matrix, and pivots; `linalg.lu_factor` is newer.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> taper.lu(taper.eye(2))[1]
    tensor([1, 2], dtype=torch.int32)
    """
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Solve A X = B with LU factors: `linalg.lu_solve` with its arguments in another order.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> taper.lu_solve(taper.ones(2, 1), *taper.linalg.lu_factor(taper.eye(2)))
    tensor([[1.],
            [1.]])
    """
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = True, unpack_pivots: _bool = True, *, out: Sequence[Tensor] | None = None) -> _return_types.lu_unpack:
    """Unpack P, L and U from what `linalg.lu_factor` returns.

    >>> import taper
    >>> taper.lu_unpack(*taper.linalg.lu_factor(taper.tensor([[1.0, 2.0], [4.0, 0.0]]))).P
    tensor([[0., 1.],
            [1., 0.]])
    """
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0.0, reduction: _int = 0) -> Tensor:
    """Compute `nn.functional.margin_ranking_loss`, given a reduction's number.

    >>> import taper
    >>> taper.margin_ranking_loss(taper.tensor([1.0]), taper.tensor([3.0]), taper.tensor([1.0]))
    tensor([2.])
    """
def masked_fill(input: _Operand, mask: Tensor, value: _Operand) -> Tensor:
    """Replace the elements where a mask is True.

    Args:
        input: a tensor.
        mask: bool tensor that broadcasts with `input`.
        value: a number or a 0-d tensor.

    Shape: the broadcast shape of `input` and `mask`.

    Example:
        >>> import taper
        >>> taper.masked_fill(taper.tensor([1.0, 2.0]), taper.tensor([True, False]), 0)
        tensor([0., 2.])
    """
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Copy a tensor, with the elements of `source` one after the other where the mask is true.

    >>> import taper
    >>> mask = taper.tensor([True, False, True])
    >>> taper.masked_scatter(taper.zeros(3), mask, taper.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the elements where the mask is true, as a vector.

    >>> import taper
    >>> taper.masked_select(taper.tensor([1, 2, 3]), taper.tensor([True, False, True]))
    tensor([1, 3])
    """
def matmul(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Multiply matrices, vectors or stacks of matrices.

    Two vectors give their dot product, a matrix and a vector a vector. With more than two
    dimensions
    the last two are the matrices and those before them broadcast.

    Args:
        input: left factor, with at least one dimension.
        other: right factor, with at least one dimension.
        out: tensor that receives the result.

    Shape: (*, n, k) and (*, k, m) give (*, n, m). A vector counts as (1, k) on the left and (k, 1)
        on the right, and the added dimension is dropped from the result.

    Example:
        >>> import taper
        >>> taper.matmul(taper.ones(5, 2, 3), taper.ones(3)).shape
        torch.Size([5, 2])
    """
def matrix_exp(input: Tensor) -> Tensor:
    """Compute the exponential of matrices: another name of `linalg.matrix_exp`.

    >>> import taper
    >>> taper.matrix_exp(taper.zeros(1, 1))
    tensor([[1.]])
    """
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor:
    """Raise matrices to a power: another name of `linalg.matrix_power`.

    >>> import taper
    >>> taper.matrix_power(taper.tensor([[2]]), 3)
    tensor([[8]])
    """
@overload
def max(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Find the largest element, of all or along a dimension; nan is larger than any number.

    `max(input, other)` with a second tensor is `maximum`.

    Args:
        input: a tensor.
        dim: dimension to search along; by default all elements are searched.
        keepdim: keep the reduced dimensions, with length 1.
        other: a tensor to compare with instead, element by element.
        out: tensor, or pair of tensors, that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimension `dim`.

    Returns: the largest element; with `dim` a named tuple (values, indices). The gradient is shared
        evenly among equal largest elements without `dim`, and goes to the one at `indices` with it.

    Example:
        >>> import taper
        >>> taper.max(taper.tensor([1.0, 3.0, 2.0]), dim=0)
        torch.return_types.max(
        values=tensor(3.),
        indices=tensor(1))
    """
@overload
def max(input: Tensor, dim: _int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None) -> _return_types.max:
    """Find the largest element, of all or along a dimension; nan is larger than any number.

    `max(input, other)` with a second tensor is `maximum`.

    Args:
        input: a tensor.
        dim: dimension to search along; by default all elements are searched.
        keepdim: keep the reduced dimensions, with length 1.
        other: a tensor to compare with instead, element by element.
        out: tensor, or pair of tensors, that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimension `dim`.

    Returns: the largest element; with `dim` a named tuple (values, indices). The gradient is shared
        evenly among equal largest elements without `dim`, and goes to the one at `indices` with it.

    Example:
        >>> import taper
        >>> taper.max(taper.tensor([1.0, 3.0, 2.0]), dim=0)
        torch.return_types.max(
        values=tensor(3.),
        indices=tensor(1))
    """
@overload
def max(input: Tensor, *, axis: _int, keepdims: _bool = False, out: Sequence[Tensor] | None = None) -> _return_types.max:
    """Find the largest element, of all or along a dimension; nan is larger than any number.

    `max(input, other)` with a second tensor is `maximum`.

    Args:
        input: a tensor.
        dim: dimension to search along; by default all elements are searched.
        keepdim: keep the reduced dimensions, with length 1.
        other: a tensor to compare with instead, element by element.
        out: tensor, or pair of tensors, that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimension `dim`.

    Returns: the largest element; with `dim` a named tuple (values, indices). The gradient is shared
        evenly among equal largest elements without `dim`, and goes to the one at `indices` with it.

    Example:
        >>> import taper
        >>> taper.max(taper.tensor([1.0, 3.0, 2.0]), dim=0)
        torch.return_types.max(
        values=tensor(3.),
        indices=tensor(1))
    """
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Find the largest element, of all or along a dimension; nan is larger than any number.

    `max(input, other)` with a second tensor is `maximum`.

    Args:
        input: a tensor.
        dim: dimension to search along; by default all elements are searched.
        keepdim: keep the reduced dimensions, with length 1.
        other: a tensor to compare with instead, element by element.
        out: tensor, or pair of tensors, that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimension `dim`.

    Returns: the largest element; with `dim` a named tuple (values, indices). The gradient is shared
        evenly among equal largest elements without `dim`, and goes to the one at `indices` with it.

    Example:
        >>> import taper
        >>> taper.max(taper.tensor([1.0, 3.0, 2.0]), dim=0)
        torch.return_types.max(
        values=tensor(3.),
        indices=tensor(1))
    """
def max_pool1d(input: Tensor, kernel_size: _Ints, stride: _Ints = ..., padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False) -> Tensor:
    """Find the largest element in each window of the last dimension.

    >>> import taper
    >>> taper.max_pool1d(taper.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[3., 2.]])
    """
def max_pool1d_with_indices(input: Tensor, kernel_size: _Ints, stride: _Ints = ..., padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False) -> tuple[Tensor, Tensor]:
    """Find the largest element in each window of the last dimension, and its place.

    >>> import taper
    >>> taper.max_pool1d_with_indices(taper.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
def max_pool2d(input: Tensor, kernel_size: _Ints, stride: _Ints = ..., padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False) -> Tensor:
    """Find the largest element in each window of the last two dimensions.

    >>> import taper
    >>> taper.max_pool2d(taper.arange(4.0).reshape(1, 2, 2), 2)
    tensor([[[3.]]])
    """
def max_pool3d(input: Tensor, kernel_size: _Ints, stride: _Ints = ..., padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False) -> Tensor:
    """Find the largest element in each window of the last three dimensions.

    >>> import taper
    >>> taper.max_pool3d(taper.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[7.]]]])
    """
def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the larger of two elements, place by place; nan if either is nan.

    The gradient of equal elements is halved between the two.

    Args:
        input: first tensor.
        other: second tensor.
        out: tensor that receives the result.

    Shape: `input` and `other` broadcast; the result has their common shape and dtype.

    Example:
        >>> import taper
        >>> taper.maximum(taper.tensor([1.0, 4.0]), taper.tensor([3.0, 2.0]))
        tensor([3., 4.])
    """
def mean(input: Tensor, dim: _Ints | None = ..., keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None, axis: _Ints | None = ..., keepdims: _bool = False) -> Tensor:
    """Average all elements, or those along dimensions.

    result = (1/n) Σ x

    Args:
        input: a floating point or complex tensor.
        dim: dimension or dimensions to reduce; all of them by default.
        keepdim: keep the reduced dimensions, with length 1.
        dtype: dtype that `input` is converted to first.
        out: tensor that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimensions in `dim`.

    Example:
        >>> import taper
        >>> taper.mean(taper.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
        tensor([2., 3.])
    """
@overload
def median(input: Tensor) -> Tensor:
    """Find the median, the lower of two middle elements; with `dim` also where it is.

    >>> import taper
    >>> taper.median(taper.tensor([3.0, 1.0, 2.0, 4.0]))
    tensor(2.)
    """
@overload
def median(input: Tensor, dim: _int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None) -> _return_types.median:
    """Find the median, the lower of two middle elements; with `dim` also where it is.

    >>> import taper
    >>> taper.median(taper.tensor([3.0, 1.0, 2.0, 4.0]))
    tensor(2.)
    """
@overload
def median(input: Tensor, *, axis: _int, keepdims: _bool = False, out: Sequence[Tensor] | None = None) -> _return_types.median:
    """Find the median, the lower of two middle elements; with `dim` also where it is.

    >>> import taper
    >>> taper.median(taper.tensor([3.0, 1.0, 2.0, 4.0]))
    tensor(2.)
    """
def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str | None = None) -> tuple[Tensor, ...]:
    """Make the coordinates of a grid: each vector expanded along the dimensions of the others.

    >>> import taper
    >>> taper.meshgrid(taper.tensor([1, 2]), taper.tensor([3, 4]), indexing="ij")[0]
    tensor([[1, 1],
            [2, 2]])
    """
@overload
def min(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Find the smallest element, of all or along a dimension; nan is smaller than any number.

    `min(input, other)` with a second tensor is `minimum`.

    Args:
        input: a tensor.
        dim: dimension to search along; by default all elements are searched.
        keepdim: keep the reduced dimensions, with length 1.
        other: a tensor to compare with instead, element by element.
        out: tensor, or pair of tensors, that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimension `dim`.

    Returns: the smallest element; with `dim` a named tuple (values, indices). The gradient is
        shared evenly among equal smallest elements without `dim`, and goes to the one at `indices`
        with it.

    Example:
        >>> import taper
        >>> taper.min(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1).values
        tensor([1., 0.])
    """
@overload
def min(input: Tensor, dim: _int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None) -> _return_types.min:
    """Find the smallest element, of all or along a dimension; nan is smaller than any number.

    `min(input, other)` with a second tensor is `minimum`.

    Args:
        input: a tensor.
        dim: dimension to search along; by default all elements are searched.
        keepdim: keep the reduced dimensions, with length 1.
        other: a tensor to compare with instead, element by element.
        out: tensor, or pair of tensors, that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimension `dim`.

    Returns: the smallest element; with `dim` a named tuple (values, indices). The gradient is
        shared evenly among equal smallest elements without `dim`, and goes to the one at `indices`
        with it.

    Example:
        >>> import taper
        >>> taper.min(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1).values
        tensor([1., 0.])
    """
@overload
def min(input: Tensor, *, axis: _int, keepdims: _bool = False, out: Sequence[Tensor] | None = None) -> _return_types.min:
    """Find the smallest element, of all or along a dimension; nan is smaller than any number.

    `min(input, other)` with a second tensor is `minimum`.

    Args:
        input: a tensor.
        dim: dimension to search along; by default all elements are searched.
        keepdim: keep the reduced dimensions, with length 1.
        other: a tensor to compare with instead, element by element.
        out: tensor, or pair of tensors, that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimension `dim`.

    Returns: the smallest element; with `dim` a named tuple (values, indices). The gradient is
        shared evenly among equal smallest elements without `dim`, and goes to the one at `indices`
        with it.

    Example:
        >>> import taper
        >>> taper.min(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1).values
        tensor([1., 0.])
    """
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Find the smallest element, of all or along a dimension; nan is smaller than any number.

    `min(input, other)` with a second tensor is `minimum`.

    Args:
        input: a tensor.
        dim: dimension to search along; by default all elements are searched.
        keepdim: keep the reduced dimensions, with length 1.
        other: a tensor to compare with instead, element by element.
        out: tensor, or pair of tensors, that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimension `dim`.

    Returns: the smallest element; with `dim` a named tuple (values, indices). The gradient is
        shared evenly among equal smallest elements without `dim`, and goes to the one at `indices`
        with it.

    Example:
        >>> import taper
        >>> taper.min(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1).values
        tensor([1., 0.])
    """
def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the smaller of two elements, place by place; nan if either is nan.

    The gradient of equal elements is halved between the two.

    Args:
        input: first tensor.
        other: second tensor.
        out: tensor that receives the result.

    Shape: `input` and `other` broadcast; the result has their common shape and dtype.

    Example:
        >>> import taper
        >>> taper.minimum(taper.tensor([1.0, 4.0]), taper.tensor([3.0, 2.0]))
        tensor([1., 2.])
    """
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Multiply two matrices; nothing broadcasts.

    result[i, j] = Σₖ input[i, k] · mat2[k, j]

    Args:
        input: left matrix.
        mat2: right matrix.
        out: tensor that receives the result.

    Shape: (n, k) and (k, m) give (n, m).

    Example:
        >>> import taper
        >>> taper.mm(taper.tensor([[1., 2.], [3., 4.]]), taper.tensor([[1., 0.], [1., 1.]]))
        tensor([[3., 2.],
                [7., 4.]])
    """
def mode(input: Tensor, dim: _int = -1, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None) -> _return_types.mode:
    """Find the most frequent element along a dimension, and where it is last.

    Of equally frequent elements the smallest counts.

    >>> import taper
    >>> taper.mode(taper.tensor([1, 2, 2, 3]))
    torch.return_types.mode(
    values=tensor(2),
    indices=tensor(2))
    """
def moveaxis(input: Tensor, source: _Ints, destination: _Ints) -> Tensor:
    """Move dimensions: NumPy's name of `movedim`.

    >>> import taper
    >>> taper.moveaxis(taper.zeros(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
def movedim(input: Tensor, source: _Ints, destination: _Ints) -> Tensor:
    """Move the dimensions `source` to the places `destination`; the others stay in order.

    >>> import taper
    >>> taper.movedim(taper.zeros(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sort the elements along the first dimension.

    >>> import taper
    >>> taper.msort(taper.tensor([[3, 1], [2, 4]]))
    tensor([[2, 1],
            [3, 4]])
    """
def mul(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Multiply two tensors element by element.

    result = input · other

    Args:
        input: first factor.
        other: second factor, a tensor or a number.
        out: tensor that receives the result.

    Shape: `input` and `other` broadcast; the result has their common shape and dtype.

    Example:
        >>> import taper
        >>> taper.mul(taper.tensor([1.0, 2.0]), 3)
        tensor([3., 6.])
    """
def multinomial(input: Tensor, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Draw indices of categories, weighted.

    Args:
        input: weights of the categories, not negative; they need not sum to 1.
        num_samples: how many indices are drawn for each row.
        replacement: whether an index may be drawn again.
        generator: source of random numbers; by default the one that `manual_seed` seeds.
        out: tensor that receives the result.

    Shape: (c,) gives (num_samples,), (n, c) gives (n, num_samples); the result is int64.

    Example:
        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.multinomial(taper.tensor([0.0, 10.0, 3.0, 0.0]), 2).sort().values
        tensor([1, 2])
    """
def multiply(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Multiply two tensors element by element.

    result = input · other

    Args:
        input: first factor.
        other: second factor, a tensor or a number.
        out: tensor that receives the result.

    Shape: `input` and `other` broadcast; the result has their common shape and dtype.

    Example:
        >>> import taper
        >>> taper.mul(taper.tensor([1.0, 2.0]), 3)
        tensor([3., 6.])
    """
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Multiply a matrix and a vector.

    result[i] = Σₖ input[i, k] · vec[k]

    Args:
        input: the matrix.
        vec: the vector.
        out: tensor that receives the result.

    Shape: (n, k) and (k,) give (n,).

    Example:
        >>> import taper
        >>> taper.mv(taper.tensor([[1., 2.], [3., 4.]]), taper.tensor([1., 1.]))
        tensor([3., 7.])
    """
def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """Take the logarithm of the gamma function of dimension `p`, without its constant sign.

    >>> import taper
    >>> taper.mvlgamma(taper.tensor([3.0]), 2)
    tensor([1.5502])
    """
def nan_to_num(input: Tensor, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """Replace nan by `nan` (0), inf by `posinf` and -inf by `neginf` (the dtype's limits).

    >>> import taper
    >>> taper.nan_to_num(taper.tensor([float("nan"), 1.0]))
    tensor([0., 1.])
    """
def nan_to_num_(input: Tensor, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
    """In-place version of `nan_to_num`.

    >>> import taper
    >>> taper.nan_to_num_(taper.tensor([float("nan"), 1.0]))
    tensor([0., 1.])
    """
def nanmean(input: Tensor, dim: _Ints | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None, axis: _Ints | None = None, keepdims: _bool = False) -> Tensor:
    """Average the elements that are not NaN, of all or along dimensions.

    >>> import taper
    >>> taper.nanmean(taper.tensor([1.0, float("nan"), 2.0]))
    tensor(1.5000)
    """
@overload
def nanmedian(input: Tensor) -> Tensor:
    """Find the median of the elements that are not NaN; see `median`.

    >>> import taper
    >>> taper.nanmedian(taper.tensor([1.0, float("nan"), 3.0, 2.0]))
    tensor(2.)
    """
@overload
def nanmedian(input: Tensor, dim: _int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None) -> _return_types.nanmedian:
    """Find the median of the elements that are not NaN; see `median`.

    >>> import taper
    >>> taper.nanmedian(taper.tensor([1.0, float("nan"), 3.0, 2.0]))
    tensor(2.)
    """
@overload
def nanmedian(input: Tensor, *, axis: _int, keepdims: _bool = False, out: Sequence[Tensor] | None = None) -> _return_types.nanmedian:
    """Find the median of the elements that are not NaN; see `median`.

    >>> import taper
    >>> taper.nanmedian(taper.tensor([1.0, float("nan"), 3.0, 2.0]))
    tensor(2.)
    """
def nanquantile(input: Tensor, q: _Operand, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Tensor | None = None, axis: _int | None = None, keepdims: _bool = False) -> Tensor:
    """Compute the `q`-quantiles of the elements that are not NaN; see `quantile`.

    >>> import taper
    >>> taper.nanquantile(taper.tensor([1.0, float("nan"), 3.0]), 0.5)
    tensor(2.)
    """
def nansum(input: Tensor, dim: _Ints | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None, axis: _Ints | None = None, keepdims: _bool = False) -> Tensor:
    """Sum all elements, or along dimensions, counting NaN as zero.

    >>> import taper
    >>> taper.nansum(taper.tensor([1.0, float("nan"), 2.0]))
    tensor(3.)
    """
def narrow(input: _Operand, dim: _Ints | None = ..., start: _Operand = ..., length: Any = ..., *, axis: _Ints | None = ...) -> Tensor:
    """Take `length` slices along a dimension, beginning at `start`.

    Args:
        input: a tensor.
        dim: dimension to cut.
        start: index of the first slice; may be negative, or a 0-d integer tensor.
        length: how many slices.
        axis: NumPy's name for `dim`.

    Shape: `input` with `length` along `dim`; the result is a view.

    Example:
        >>> import taper
        >>> taper.narrow(taper.arange(5), 0, 1, 3)
        tensor([1, 2, 3])
    """
def narrow_copy(input: Tensor, dim: _int, start: _int, length: _int, *, out: Tensor | None = None) -> Tensor:
    """Copy `length` slices along `dim` from `start` on.

    >>> import taper
    >>> taper.narrow_copy(taper.arange(5), 0, 1, 2)
    tensor([1, 2])
    """
def native_batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: _bool, momentum: _float, eps: _float, *, out: tuple[Tensor, Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Compute `batch_norm`; also return mean and inverse deviation of each channel.

    >>> import taper
    >>> x = taper.tensor([[1.0], [3.0]])
    >>> taper.native_batch_norm(x, None, None, None, None, True, 0.1, 0.0)[1:]
    (tensor([2.]), tensor([1.]))
    """
def native_channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Interleave groups of channels as `channel_shuffle`, without a derivative.

    Args:
        input: a tensor (N, C, *).
        groups: number of groups, a divisor of C.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.native_channel_shuffle(taper.arange(4).reshape(1, 4, 1), 2).flatten()
        tensor([0, 2, 1, 3])
    """
def native_dropout(input: Tensor, p: _float, train: _bool | None) -> tuple[Tensor, Tensor]:
    """Compute `dropout`; also return the mask of what stays. `train=None` means True.

    >>> import taper
    >>> taper.native_dropout(taper.ones(2), 0.5, False)
    (tensor([1., 1.]), tensor([True, True]))
    """
def native_group_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, N: _int, C: _int, HxW: _int, group: _int, eps: _float) -> tuple[Tensor, Tensor, Tensor]:
    """Compute `group_norm`; also return mean and inverse deviation of each group.

    `N`, `C` and `HxW` are the numbers of samples, of channels and of elements of a channel.

    >>> import taper
    >>> x = taper.tensor([[1.0, 3.0]])
    >>> taper.native_group_norm(x, None, None, 1, 2, 1, 1, 0.0)[1:]
    (tensor([[2.]]), tensor([[1.]]))
    """
def native_layer_norm(input: Tensor, normalized_shape: _Ints, weight: Tensor | None, bias: Tensor | None, eps: _float) -> tuple[Tensor, Tensor, Tensor]:
    """Compute `layer_norm`; also return mean and inverse deviation of each sample.

    >>> import taper
    >>> taper.native_layer_norm(taper.tensor([[1.0, 3.0]]), (2,), None, None, 0.0)[1:]
    (tensor([[2.]]), tensor([[1.]]))
    """
def native_norm(input: Tensor, p: Any = 2, dim: _Ints | None = None, keepdim: _bool = False, dtype: _dtype | None = None) -> Tensor:
    """Refuse the norm of a sparse tensor: there is none here, and PyTorch refuses dense ones too.

    >>> import taper
    >>> taper.native_norm(taper.ones(2))
    Traceback (most recent call last):
    NotImplementedError: Could not run 'aten::native_norm' with arguments from the 'CPU' backend...
    """
def ne(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Tell where two tensors differ.

    >>> import taper
    >>> taper.ne(taper.tensor([1.0, 2.0]), 2)
    tensor([ True, False])
    """
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Change the sign of every element.

    result = -input

    Args:
        input: a tensor; bool is refused.
        out: tensor that receives the result.

    Shape: the result has the shape and dtype of `input`.

    Example:
        >>> import taper
        >>> taper.neg(taper.tensor([1.0, -2.0]))
        tensor([-1.,  2.])
    """
def neg_(input: Tensor) -> Tensor:
    """In-place version of `neg`.

    >>> import taper
    >>> taper.neg_(taper.tensor([1.0, -2.0]))
    tensor([-1.,  2.])
    """
def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Change the sign of every element.

    result = -input

    Args:
        input: a tensor; bool is refused.
        out: tensor that receives the result.

    Shape: the result has the shape and dtype of `input`.

    Example:
        >>> import taper
        >>> taper.neg(taper.tensor([1.0, -2.0]))
        tensor([-1.,  2.])
    """
def negative_(input: Tensor) -> Tensor:
    """In-place version of `neg`.

    >>> import taper
    >>> taper.neg_(taper.tensor([1.0, -2.0]))
    tensor([-1.,  2.])
    """
def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Step from `input` to the next floating point number towards `other`.

    The gradient passes to `input` where the two differ.

    >>> import taper
    >>> taper.nextafter(taper.tensor([1.0]), taper.tensor([2.0])) > 1
    tensor([True])
    """
@overload
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: Literal[False] = False) -> Tensor:
    """Find the coordinates of all elements that are not zero.

    Args:
        input: a tensor with d dimensions and n nonzero elements.
        out: tensor that receives the result.
        as_tuple: whether to return one vector for each dimension, ready to index with.

    Returns: an int64 matrix (n, d) with a row for each element, or a tuple of d vectors (n,).

    Example:
        >>> import taper
        >>> taper.nonzero(taper.tensor([[0, 5], [6, 0]]))
        tensor([[0, 1],
                [1, 0]])
    """
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
    """Find the coordinates of all elements that are not zero.

    Args:
        input: a tensor with d dimensions and n nonzero elements.
        out: tensor that receives the result.
        as_tuple: whether to return one vector for each dimension, ready to index with.

    Returns: an int64 matrix (n, d) with a row for each element, or a tuple of d vectors (n,).

    Example:
        >>> import taper
        >>> taper.nonzero(taper.tensor([[0, 5], [6, 0]]))
        tensor([[0, 1],
                [1, 0]])
    """
def nonzero_static(input: Tensor, *, size: _int, fill_value: _int = -1, out: Tensor | None = None) -> Tensor:
    """Find the coordinates of the first `size` nonzero elements; the rest is `fill_value`.

    >>> import taper
    >>> taper.nonzero_static(taper.tensor([0, 5, 6]), size=3)
    tensor([[ 1],
            [ 2],
            [-1]])
    """
def norm(input: Tensor, p: _float | str | None = 'fro', dim: _Ints | None = None, keepdim: _bool = False, out: Tensor | None = None, dtype: _dtype | None = None) -> Tensor:
    """Compute a norm of all elements, or along dimensions.

    result = (Σ |x|ᵖ)^(1/p); `linalg.vector_norm` and `linalg.matrix_norm` are the newer functions.

    Args:
        input: a floating point or complex tensor.
        p: order of the norm; "fro" means 2, inf the largest |x|, 0 the number of nonzero elements,
            "nuc" the sum of the singular values of matrices.
        dim: dimension or dimensions to reduce; all of them by default.
        keepdim: keep the reduced dimensions, with length 1.
        out: tensor that receives the result.
        dtype: dtype that `input` is converted to first.

    Shape: `input` without the dimensions in `dim`.

    Example:
        >>> import taper
        >>> taper.norm(taper.tensor([[3.0, 4.0], [6.0, 8.0]]), dim=1)
        tensor([ 5., 10.])
    """
def norm_except_dim(v: Tensor, pow: _int = 2, dim: _int = 0) -> Tensor:
    """Compute the norms over all dimensions but one, which stays; over all if `dim` is -1.

    >>> import taper
    >>> taper.norm_except_dim(taper.tensor([[3.0, 4.0], [0.0, 2.0]]))
    tensor([[5.],
            [2.]])
    """
def normal(mean: _Operand | None = None, std: _Operand | None = None, size: _Ints | None = None, *, generator: Generator | None = None, out: Tensor | None = None, dtype: _dtype | None = None, layout: _layout | None = ..., device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Draw normally distributed numbers, each with its mean and standard deviation.

    Args:
        mean: means, a tensor or a number.
        std: standard deviations, a tensor or a number.
        size: the lengths of the result, where both are numbers.
        generator: source of random numbers; by default the one that `manual_seed` seeds.
        out: tensor that receives the result.
        dtype: dtype of the result, where both are numbers.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.

    Shape: `size`; the shape of `mean` and `std`, broadcast together, where one of them is a tensor.

    Example:
        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.normal(taper.tensor([0.0, 100.0]), 1.0)
        tensor([ 1.5410, 99.7066])
        >>> taper.normal(0.0, 0.1, (2,))
        tensor([-0.2179,  0.0568])
    """
def not_equal(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Tell where two tensors differ.

    >>> import taper
    >>> taper.ne(taper.tensor([1.0, 2.0]), 2)
    tensor([ True, False])
    """
def nuclear_norm(input: Tensor, dim: _Ints | None = ..., keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Sum the singular values; `linalg.matrix_norm` is the name to use.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> taper.nuclear_norm(taper.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(7.)
    """
def numel(input: Tensor) -> _int:
    """Count the elements.

    Args:
        input: a tensor.

    Returns: the product of all lengths, an int.

    Example:
        >>> import taper
        >>> taper.numel(taper.ones(2, 3))
        6
    """
def ones(*sizes: _Ints, size: _Ints | None = None, out: Tensor | None = None, dtype: _dtype | None = None, layout: _layout | None = ..., device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Make a tensor of ones.

    Args:
        sizes: the lengths, one by one or as one tuple; none make a 0-d tensor.
        size: the lengths, as a keyword.
        out: tensor that receives the result.
        dtype: dtype of the result; by default the default floating dtype.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.

    Shape: the given lengths.

    Example:
        >>> import taper
        >>> taper.ones((2,), dtype=taper.int64)
        tensor([1, 1])
    """
def ones_like(input: Tensor, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, memory_format: _memory_format | None = None) -> Tensor:
    """Make a tensor of ones in the form of another tensor.

    Args:
        input: tensor whose shape, dtype and order of dimensions in memory are taken.
        dtype: another dtype for the result.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.
        memory_format: order of the dimensions in memory; by default that of the input.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.ones_like(taper.tensor([5.0, 6.0]))
        tensor([1., 1.])
    """
def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute Q from reflectors: another name of `linalg.householder_product`.

    >>> import taper
    >>> taper.orgqr(*taper.geqrf(taper.tensor([[3.0], [4.0]]))).abs()
    tensor([[0.6000],
            [0.8000]])
    """
def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: _bool = True, transpose: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Multiply the third argument by Q or its adjoint, where Q is what `geqrf` returns.

    >>> import taper
    >>> A = taper.tensor([[3.0], [4.0]])
    >>> taper.ormqr(*taper.geqrf(A), A, transpose=True).abs().round()
    tensor([[5.],
            [0.]])
    """
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Multiply each element of one vector with each element of another.

    result[i, j] = input[i] · vec2[j]

    Args:
        input: first vector.
        vec2: second vector.
        out: tensor that receives the result.

    Shape: (n,) and (m,) give (n, m).

    Example:
        >>> import taper
        >>> taper.outer(taper.tensor([1., 2.]), taper.tensor([3., 4.]))
        tensor([[3., 4.],
                [6., 8.]])
    """
def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False) -> Tensor:
    """Compute the distance between vectors, pair by pair.

    result = ‖x1 - x2 + eps‖ₚ along the last dimension

    Args:
        x1: vectors (N, D) or (D,).
        x2: vectors that broadcast with the first.
        p: order of the norm.
        eps: added to every difference.
        keepdim: keep the last dimension, with length 1.

    Shape: (N,) or ().

    Example:
        >>> import taper
        >>> taper.pairwise_distance(taper.tensor([[3.0, 0.0]]), taper.tensor([[0.0, 4.0]]))
        tensor([5.])
    """
def pca_lowrank(A: Tensor, q: _int | None = None, center: _bool = True, niter: _int = 2) -> tuple[Any, Any, Any]:
    """Find the principal directions of the rows of A: columns of V, with U and S.

    >>> import taper
    >>> taper.pca_lowrank(taper.tensor([[1.0, 0.0], [3.0, 0.0]]), q=1)[1].round(decimals=3)
    tensor([1.4140])
    """
def pdist(input: Tensor, p: _float = 2) -> Tensor:
    """Compute the distances between all pairs of rows.

    result = ‖input[i] - input[j]‖ₚ for all i < j

    Args:
        input: a matrix (N, M).
        p: order of the norm.

    Shape: (N · (N - 1) / 2,)

    Example:
        >>> import taper
        >>> taper.pdist(taper.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
        tensor([5.0000, 1.0000, 4.2426])
    """
def permute(input: _Operand, *order: _Ints, dims: _Ints | None = None) -> Tensor:
    """Put the dimensions into another order.

    Args:
        input: a tensor.
        order: numbers of the dimensions in their new order, one by one or as one tuple.
        dims: the order, as a keyword.

    Shape: length i of the result is length `dims[i]` of `input`; the result is a view.

    Example:
        >>> import taper
        >>> taper.permute(taper.zeros(2, 3, 4), (2, 0, 1)).shape
        torch.Size([4, 2, 3])
    """
def permute_copy(input: Tensor, dims: _Ints, *, out: Tensor | None = None) -> Tensor:
    """Copy with the dimensions in another order.

    >>> import taper
    >>> taper.permute_copy(taper.ones(2, 3), (1, 0)).shape
    torch.Size([3, 2])
    """
def pinverse(input: Tensor, rcond: _float = 1e-15) -> Tensor:
    """Compute the pseudo-inverse as `linalg.pinv` does, with a fixed relative tolerance.

    >>> import taper
    >>> taper.pinverse(taper.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor:
    """Rearrange groups of channels into blocks of pixels.

    Args:
        input: a tensor (*, C · r², H, W).
        upscale_factor: r.

    Shape: (*, C, H · r, W · r).

    Example:
        >>> import taper
        >>> taper.pixel_shuffle(taper.tensor([[[1]], [[2]], [[3]], [[4]]]), 2)
        tensor([[[1, 2],
                 [3, 4]]])
    """
def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor:
    """Rearrange blocks of pixels into groups of channels: the inverse of `pixel_shuffle`.

    Args:
        input: a tensor (*, C, H · r, W · r).
        downscale_factor: r.

    Shape: (*, C · r², H, W).

    Example:
        >>> import taper
        >>> taper.pixel_unshuffle(taper.tensor([[[1, 2], [3, 4]]]), 2).shape
        torch.Size([4, 1, 1])
    """
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw counts of events, each with the rate at its place in `input`.

    >>> import taper
    >>> generator = taper.manual_seed(0)
    >>> taper.poisson(taper.tensor([1.0, 10.0, 100.0])).shape
    torch.Size([3])
    """
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: _bool, full: _bool, eps: _float, reduction: _int) -> Tensor:
    """Compute `nn.functional.poisson_nll_loss`, given a reduction's number.

    >>> import taper
    >>> taper.poisson_nll_loss(taper.zeros(1), taper.full((1,), 2.0), True, False, 1e-8, 0)
    tensor([1.])
    """
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Make a complex tensor from absolute values and angles.

    >>> import taper
    >>> taper.polar(taper.tensor([2.0]), taper.tensor([0.0]))
    tensor([2.+0.j])
    """
def polygamma(n: _int, input: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Compute the derivative of order `n` of digamma.

    >>> import taper
    >>> taper.polygamma(1, taper.tensor([1.0]))
    tensor([1.6449])
    """
def positive(input: _Operand) -> Tensor:
    """Return the tensor itself; bool is refused.

    >>> import taper
    >>> taper.positive(taper.tensor([1.0, -2.0]))
    tensor([ 1., -2.])
    """
def pow(input: _Operand, exponent: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Raise one tensor to the power of another; one of the two may be a number.

    result = input ^ exponent

    Args:
        input: the base, a tensor or a number.
        exponent: a tensor or a number; integers cannot be raised to a negative integer.
        out: tensor that receives the result.

    Shape: `input` and `exponent` broadcast together; the result has the broadcast shape.

    Example:
        >>> import taper
        >>> taper.pow(taper.tensor([1.0, 2.0, 3.0]), 2)
        tensor([1., 4., 9.])
        >>> taper.pow(2, taper.tensor([1.0, 2.0, 3.0]))
        tensor([2., 4., 8.])
    """
def prelu(input: _Operand, weight: _Operand) -> Tensor:
    """Scale negative elements by a learnable weight.

    result = x where x > 0, else weight · x

    Args:
        input: a tensor; its second dimension are the channels.
        weight: one number for all, or a vector with one for each channel.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.prelu(taper.tensor([-1.0, 2.0]), taper.tensor([0.25]))
        tensor([-0.2500,  2.0000])
    """
def prod(input: Tensor, dim: _Ints | None = ..., keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None, axis: _Ints | None = ..., keepdims: _bool = False) -> Tensor:
    """Multiply all elements, or those along a dimension.

    Args:
        input: a tensor; integers and bools are multiplied in int64.
        dim: dimension to reduce; all of them by default.
        keepdim: keep the reduced dimensions, with length 1.
        dtype: dtype that `input` is converted to first.
        out: tensor that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimension `dim`.

    Example:
        >>> import taper
        >>> taper.prod(taper.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=1)
        tensor([ 2., 12.])
    """
def promote_types(type1: _dtype, type2: _dtype) -> _dtype:
    """Find the smallest dtype that holds the values of both, by PyTorch's table.

    >>> import taper
    >>> taper.promote_types(taper.int64, taper.float16)
    torch.float16
    """
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
    """Copy a tensor and write, or add, `source` at places `index` of the flattened tensor.

    >>> import taper
    >>> taper.put(taper.zeros(2, 2), taper.tensor([0, 3]), taper.tensor([1.0, 2.0]))
    tensor([[1., 0.],
            [0., 2.]])
    """
def qr(input: Tensor, some: _bool = True, *, out: Sequence[Tensor] | None = None) -> _return_types.qr:
    """Factor A = Q R; `linalg.qr` is the name to use.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> taper.qr(taper.tensor([[3.0], [4.0]])).R.abs()
    tensor([[5.]])
    """
def quantile(input: Tensor, q: _Operand, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Tensor | None = None, axis: _int | None = None, keepdims: _bool = False) -> Tensor:
    """Compute the `q`-quantiles of all elements, or along a dimension; NaN if one is NaN.

    `q` is a number between 0 and 1, or a 1-d tensor of them, which adds a first dimension.

    >>> import taper
    >>> taper.quantile(taper.tensor([1.0, 2.0, 3.0, 4.0]), 0.5)
    tensor(2.5000)
    """
def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Convert radians to degrees.

    >>> import taper
    >>> taper.rad2deg(taper.tensor([1.0]))
    tensor([57.2958])
    """
def rad2deg_(input: Tensor) -> Tensor:
    """In-place version of `rad2deg`.

    >>> import taper
    >>> taper.rad2deg_(taper.tensor([1.0]))
    tensor([57.2958])
    """
def rand(*sizes: _Ints, size: _Ints | None = None, generator: Generator | None = None, out: Tensor | None = None, dtype: _dtype | None = None, layout: _layout | None = ..., device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Draw numbers evenly from the interval [0, 1).

    Args:
        sizes: the lengths, one by one or as one tuple.
        size: the lengths, as a keyword.
        generator: source of random numbers; by default the one that `manual_seed` seeds.
        out: tensor that receives the result.
        dtype: dtype of the result; by default the default floating dtype.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.

    Shape: the given lengths.

    Example:
        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.rand(3)
        tensor([0.4963, 0.7682, 0.0885])
    """
def rand_like(input: Tensor, *, generator: Generator | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, memory_format: _memory_format | None = None) -> Tensor:
    """Draw numbers evenly from [0, 1), in the form of another tensor.

    Args:
        input: tensor whose shape, dtype and order of dimensions in memory are taken.
        generator: source of random numbers; by default the one that `manual_seed` seeds.
        dtype: another dtype for the result.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.
        memory_format: order of the dimensions in memory; by default that of the input.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.rand_like(taper.zeros(2))
        tensor([0.4963, 0.7682])
    """
def randint(*bounds: Any, low: _Number | None = None, high: _Number | None = None, size: _Ints | None = None, generator: Generator | None = None, out: Tensor | None = None, dtype: _dtype | None = None, layout: _layout | None = ..., device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Draw integers evenly from `low` to `high` - 1.

    Args:
        bounds: `high, size` or `low, high, size`.
        low: lowest integer, as a keyword; 0 by default.
        high: integer above the highest, as a keyword.
        size: the lengths, as a keyword.
        generator: source of random numbers; by default the one that `manual_seed` seeds.
        out: tensor that receives the result.
        dtype: dtype of the result; by default int64.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.

    Shape: the given lengths.

    Example:
        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.randint(2, 5, (3,))
        tensor([4, 2, 4])
    """
def randint_like(input: Tensor, *bounds: Any, low: _Number | None = None, high: _Number | None = None, generator: Generator | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, memory_format: _memory_format | None = None) -> Tensor:
    """Draw integers from `low` (0 if left out) to `high - 1`, in the form of `input`.

    >>> import taper
    >>> generator = taper.manual_seed(0)
    >>> taper.randint_like(taper.zeros(2), 5)
    tensor([4., 4.])
    """
def randn(*sizes: _Ints, size: _Ints | None = None, generator: Generator | None = None, out: Tensor | None = None, dtype: _dtype | None = None, layout: _layout | None = ..., device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Draw numbers from the normal distribution of mean 0 and standard deviation 1.

    Args:
        sizes: the lengths, one by one or as one tuple.
        size: the lengths, as a keyword.
        generator: source of random numbers; by default the one that `manual_seed` seeds.
        out: tensor that receives the result.
        dtype: dtype of the result; by default the default floating dtype.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.

    Shape: the given lengths.

    Example:
        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.randn(3)
        tensor([ 1.5410, -0.2934, -2.1788])
    """
def randn_like(input: Tensor, *, generator: Generator | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, memory_format: _memory_format | None = None) -> Tensor:
    """Draw normally distributed numbers (mean 0, deviation 1), in the form of another tensor.

    Args:
        input: tensor whose shape, dtype and order of dimensions in memory are taken.
        generator: source of random numbers; by default the one that `manual_seed` seeds.
        dtype: another dtype for the result.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.
        memory_format: order of the dimensions in memory; by default that of the input.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.randn_like(taper.zeros(2))
        tensor([ 1.5410, -0.2934])
    """
def randperm(n: _int, *, generator: Generator | None = None, out: Tensor | None = None, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Draw a random order of the integers from 0 to n - 1.

    Args:
        n: how many integers.
        generator: source of random numbers; by default the one that `manual_seed` seeds.
        out: tensor that receives the result.
        dtype: dtype of the result.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.

    Shape: (n,)

    Example:
        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.randperm(5)
        tensor([4, 0, 1, 3, 2])
    """
def ravel(input: Tensor) -> Tensor:
    """Flatten all elements into one dimension; a view if the tensor is contiguous.

    >>> import taper
    >>> taper.ravel(taper.tensor([[1, 2], [3, 4]]))
    tensor([1, 2, 3, 4])
    """
def real(input: _Operand) -> Tensor:
    """View the real part of a tensor; return a real tensor as it is.

    >>> import taper
    >>> taper.real(taper.tensor([1 + 2j]))
    tensor([1.])
    """
def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute 1 / x of every element.

    >>> import taper
    >>> taper.reciprocal(taper.tensor([2.0, 4.0]))
    tensor([0.5000, 0.2500])
    """
def reciprocal_(input: Tensor) -> Tensor:
    """In-place version of `reciprocal`.

    >>> import taper
    >>> taper.reciprocal_(taper.tensor([2.0, 4.0]))
    tensor([0.5000, 0.2500])
    """
def relu(input: Tensor) -> Tensor:
    """Replace negative elements by zero.

    result = max(0, x) for each x of `input`

    Args:
        input: a tensor; bool is refused.

    Shape: the result has the shape and dtype of `input`.

    Example:
        >>> import taper
        >>> taper.relu(taper.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
def relu_(input: Tensor) -> Tensor:
    """In-place version of `relu`.

    >>> import taper
    >>> taper.relu_(taper.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
def remainder(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Take the remainder of the division, with the sign of the divisor, as Python's `%`.

    >>> import taper
    >>> taper.remainder(taper.tensor([-7.0, 7.0]), 3)
    tensor([2., 1.])
    """
def renorm(input: Tensor, p: _float, dim: _int, maxnorm: _float, *, out: Tensor | None = None) -> Tensor:
    """Scale down slices along `dim` whose norm is larger than `maxnorm`.

    >>> import taper
    >>> taper.renorm(taper.tensor([[3.0, 4.0], [0.0, 1.0]]), 2, 0, 2.0)
    tensor([[1.2000, 1.6000],
            [0.0000, 1.0000]])
    """
def repeat_interleave(input: Tensor, repeats: Tensor | _int | None = None, dim: _int | None = None, *, output_size: _int | None = None, axis: _int | None = None) -> Tensor:
    """Repeat each slice along `dim`; `repeats` is a number, or one number for each slice.

    Without `dim` the flattened tensor is used. A single argument is taken as the numbers; the
    result then says for each place which slice stands there.

    >>> import taper
    >>> taper.repeat_interleave(taper.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
def reshape(input: _Operand, *dims: _Ints, shape: _Ints | None = None) -> Tensor:
    """Give a tensor another shape; the elements keep their row-major order.

    Args:
        input: a tensor.
        dims: the new lengths, one by one or as one tuple; one of them may be -1 and is computed.
        shape: the new lengths, as a keyword.

    Returns: a view of `input` where its strides allow one, else a copy.

    Example:
        >>> import taper
        >>> taper.reshape(taper.arange(4), (2, 2))
        tensor([[0, 1],
                [2, 3]])
    """
def resize_as_(input: Tensor, the_template: Tensor, memory_format: _memory_format | None = None) -> Tensor:
    """Give a tensor the shape of another, in place.

    >>> import taper
    >>> taper.resize_as_(taper.arange(6), taper.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
def resolve_conj(input: _Operand) -> Tensor:
    """Carry out the conjugation of a conjugate view; return other tensors as they are.

    >>> import taper
    >>> x = taper.tensor([1 + 2j])
    >>> taper.resolve_conj(x) is x
    True
    >>> taper.resolve_conj(x.conj()).is_conj()
    False
    """
def resolve_neg(input: _Operand) -> Tensor:
    """Carry out the negation of a negative view; return other tensors as they are.

    >>> import taper
    >>> x = taper.tensor([1 + 2j])
    >>> taper.resolve_neg(x) is x
    True
    >>> taper.resolve_neg(x.conj().imag).is_neg()
    False
    """
def result_type(tensor: _Operand, other: _Operand) -> _dtype:
    """Find the dtype of an operation on two tensors or numbers.

    >>> import taper
    >>> taper.result_type(taper.tensor([1], dtype=taper.int8), 1.5)
    torch.float32
    """
def rms_norm(input: Tensor, normalized_shape: _Ints, weight: Tensor | None = None, eps: _float | None = None) -> Tensor:
    """Divide the last dimensions by their root mean square.

    result = x / √(mean(x²) + eps) · weight

    Args:
        input: a tensor whose last dimensions are `normalized_shape`.
        normalized_shape: the lengths of the dimensions to normalise over.
        weight: factors in that shape, or None.
        eps: added to the mean square; by default the machine precision of the dtype.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.rms_norm(taper.tensor([1.0, 7.0]), (2,))
        tensor([0.2000, 1.4000])
    """
def rnn_relu(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Compute outputs and last states of an RNN of several layers with relu; see `lstm`.

    >>> import taper
    >>> x, zero, w = taper.ones(2, 1, 1), taper.zeros(1, 1, 1), taper.ones(1, 1)
    >>> taper.rnn_relu(x, zero, (w, w), False, 1, 0.0, False, False, False)[0].flatten()
    tensor([1., 2.])
    """
def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """Do one step of an RNN with relu: return the next state.

    >>> import taper
    >>> one = taper.ones(1, 1)
    >>> taper.rnn_relu_cell(one, one, one, -one)
    tensor([[0.]])
    """
def rnn_tanh(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Compute outputs and last states of an RNN of several layers with tanh; see `lstm`.

    >>> import taper
    >>> x, zero, w = taper.ones(2, 1, 1), taper.zeros(1, 1, 1), taper.ones(1, 1)
    >>> taper.rnn_tanh(x, zero, (w, w), False, 1, 0.0, False, False, False)[0].flatten()
    tensor([0.7616, 0.9427])
    """
def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """Do one step of an RNN with tanh: return the next state.

    >>> import taper
    >>> one = taper.ones(1, 1)
    >>> taper.rnn_tanh_cell(one, one, one, -one)
    tensor([[0.]])
    """
def roll(input: _Operand, shifts: _Ints, dims: _Ints = ...) -> Tensor:
    """Move elements along dimensions; what leaves at the end comes in at the front.

    Without `dims` the flattened tensor is rolled.

    >>> import taper
    >>> taper.roll(taper.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
def rot90(input: _Operand, k: _int = 1, dims: _Ints = ...) -> Tensor:
    """Turn by 90 degrees, `k` times, in the plane of two dimensions.

    >>> import taper
    >>> taper.rot90(taper.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
def round(input: _Operand, *, decimals: _int | None = None, out: Tensor | None = None) -> Tensor:
    """Round to the nearest whole number, or to `decimals` places; halves to the even one.

    >>> import taper
    >>> taper.round(taper.tensor([0.5, 1.5, -2.7]))
    tensor([ 0.,  2., -3.])
    """
def round_(input: _Operand, *, decimals: _int | None = None) -> Tensor:
    """In-place version of `round`.

    >>> import taper
    >>> taper.round_(taper.tensor([0.5, 1.5, -2.7]))
    tensor([ 0.,  2., -3.])
    """
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors along the first dimension: another name of `vstack`.

    >>> import taper
    >>> taper.row_stack([taper.tensor([1, 2]), taper.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
def rrelu(input: _Operand, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False, generator: Generator | None = None) -> Tensor:
    """Keep x above zero, else multiply it by a slope.

    The slope is drawn from [lower, upper] while training, and their mean otherwise.

    >>> import taper
    >>> taper.rrelu(taper.tensor([-1.0, 2.0]), 0.25, 0.75)
    tensor([-0.5000,  2.0000])
    """
def rrelu_(input: _Operand, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False, generator: Generator | None = None) -> Tensor:
    """Scale down negative elements by a random slope, in place; see `rrelu`.

    Args:
        input: the tensor that is changed.
        lower: smallest slope.
        upper: largest slope.
        training: whether slopes are drawn.
        generator: source of random numbers; by default the one that `manual_seed` seeds.

    Returns: `input`.

    Example:
        >>> import taper
        >>> taper.rrelu_(taper.tensor([-48.0, 2.0]))
        tensor([-11.,   2.])
    """
def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take one over the square root of every element.

    result = 1 / √x for each x of `input`

    Args:
        input: a tensor; integers give the default floating dtype.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.rsqrt(taper.tensor([4.0, 16.0]))
        tensor([0.5000, 0.2500])
    """
def rsqrt_(input: Tensor) -> Tensor:
    """In-place version of `rsqrt`.

    >>> import taper
    >>> taper.rsqrt_(taper.tensor([4.0, 16.0]))
    tensor([0.5000, 0.2500])
    """
def rsub(input: _Operand, other: _Operand, *, alpha: _Number = 1) -> Tensor:
    """Subtract `alpha` times `input` from `other`.

    >>> import taper
    >>> taper.rsub(taper.tensor([1.0, 2.0]), 3)
    tensor([2., 1.])
    """
def scalar_tensor(s: Any, *, dtype: _dtype | None = None, layout: _layout | None = ..., device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Make a 0-d tensor of a number, of the default dtype if none is given.

    >>> import taper
    >>> taper.scalar_tensor(3)
    tensor(3.)
    """
def scatter(input: Tensor, dim: _int, index: Tensor, src: _Operand | None = None, *, value: _Operand | None = None, reduce: str | None = None, out: Tensor | None = None) -> Tensor:
    """Copy a tensor and write elements of `src`, or a number, where `index` points along `dim`.

    >>> import taper
    >>> taper.scatter(taper.zeros(1, 3), 1, taper.tensor([[2, 0]]), 1.0)
    tensor([[1., 0., 1.]])
    """
def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Copy a tensor and add elements of `src` where `index` points along `dim`.

    >>> import taper
    >>> taper.scatter_add(taper.zeros(1, 3), 1, taper.tensor([[0, 0]]), taper.ones(1, 2))
    tensor([[2., 0., 0.]])
    """
def scatter_reduce(input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
    """Copy a tensor and combine elements of `src` by `reduce` where `index` points along `dim`.

    `reduce` is "sum", "prod", "mean", "amax" or "amin"; without `include_self` the tensor's own
    elements do not count where something is written.

    >>> import taper
    >>> index = taper.tensor([0, 0, 1])
    >>> taper.scatter_reduce(taper.ones(3), 0, index, taper.tensor([2.0, 3.0, 4.0]), "prod")
    tensor([6., 4., 1.])
    """
def searchsorted(sorted_sequence: Tensor, input: _Operand, *, out_int32: _bool = False, right: _bool = False, side: str | None = None, sorter: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """Find where values would be inserted into a sorted sequence, row by row.

    By default before equal elements, with `right` (or `side="right"`) after them.

    >>> import taper
    >>> taper.searchsorted(taper.tensor([1, 3, 5]), taper.tensor([3, 4]))
    tensor([1, 2])
    """
def segment_reduce(data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None, offsets: Tensor | None = None, axis: _int = 0, unsafe: _bool = False, initial: _Number | None = None) -> Tensor:
    """Reduce consecutive pieces of a dimension, each to one element.

    `lengths` or the `offsets` of the pieces say where they are; `reduce` is "sum", "mean", "prod",
    "max" or "min". Every piece begins with `initial`.

    >>> import taper
    >>> taper.segment_reduce(taper.tensor([1.0, 2.0, 3.0]), "sum", lengths=taper.tensor([2, 1]))
    tensor([3., 3.])
    """
def select(input: _Operand, dim: _Ints | None = ..., index: _Operand = ..., *, axis: _Ints | None = ...) -> Tensor:
    """Take the slice at one index along a dimension.

    Args:
        input: a tensor.
        dim: dimension that disappears.
        index: which slice.
        axis: NumPy's name for `dim`.

    Shape: `input` without `dim`; the result is a view.

    Example:
        >>> import taper
        >>> taper.select(taper.tensor([[1, 2], [3, 4]]), 1, 0)
        tensor([1, 3])
    """
def select_copy(input: Tensor, dim: _int, index: _int, *, out: Tensor | None = None) -> Tensor:
    """Copy one slice along a dimension; PyTorch gives complex ones no gradient.

    >>> import taper
    >>> taper.select_copy(taper.tensor([[1, 2], [3, 4]]), 0, 1)
    tensor([3, 4])
    """
def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int) -> Tensor:
    """Copy a tensor with `src` written to `select(dim, index)`.

    >>> import taper
    >>> taper.select_scatter(taper.zeros(2, 2), taper.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
def selu(input: _Operand) -> Tensor:
    """Apply elu with the constants that keep mean 0 and variance 1.

    >>> import taper
    >>> taper.selu(taper.tensor([-1.0, 1.0]))
    tensor([-1.1113,  1.0507])
    """
def selu_(input: _Operand) -> Tensor:
    """Apply selu in place.

    result = s · x where x > 0, else s · a · (eˣ - 1), with a = 1.6733 and s = 1.0507

    Args:
        input: the tensor that is changed.

    Returns: `input`.

    Example:
        >>> import taper
        >>> taper.selu_(taper.tensor([-1.0, 1.0]))
        tensor([-1.1113,  1.0507])
    """
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the sign of real elements; divide complex ones by their absolute value, zero at zero.

    >>> import taper
    >>> taper.sgn(taper.tensor([3 + 4j]))
    tensor([0.6000+0.8000j])
    """
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Apply the logistic function to every element.

    result = 1 / (1 + e⁻ˣ) for each x of `input`

    Args:
        input: a tensor; integers give the default floating dtype.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.sigmoid(taper.tensor([0.0, 1.0]))
        tensor([0.5000, 0.7311])
    """
def sigmoid_(input: Tensor) -> Tensor:
    """In-place version of `sigmoid`.

    >>> import taper
    >>> taper.sigmoid_(taper.tensor([0.0, 1.0]))
    tensor([0.5000, 0.7311])
    """
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the sign of every element: -1, 0 or 1.

    >>> import taper
    >>> taper.sign(taper.tensor([-3.0, 0.0, 2.0]))
    tensor([-1.,  0.,  1.])
    """
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Tell which elements have a minus sign; -0.0 has one.

    >>> import taper
    >>> taper.signbit(taper.tensor([-0.0, 1.0]))
    tensor([ True, False])
    """
def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the sine of every element.

    result = sin x for each x of `input`, in radians

    Args:
        input: a tensor; integers give the default floating dtype.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.sin(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8415])
    """
def sin_(input: Tensor) -> Tensor:
    """In-place version of `sin`.

    >>> import taper
    >>> taper.sin_(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8415])
    """
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute sin(pi x) / (pi x) of every element; 1 at zero.

    >>> import taper
    >>> taper.sinc(taper.tensor([0.0, 0.5]))
    tensor([1.0000, 0.6366])
    """
def sinc_(input: Tensor) -> Tensor:
    """In-place version of `sinc`.

    >>> import taper
    >>> taper.sinc_(taper.tensor([0.0, 0.5]))
    tensor([1.0000, 0.6366])
    """
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the hyperbolic sine of every element.

    >>> import taper
    >>> taper.sinh(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 1.1752])
    """
def sinh_(input: Tensor) -> Tensor:
    """In-place version of `sinh`.

    >>> import taper
    >>> taper.sinh_(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 1.1752])
    """
def slice_copy(input: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """Copy every `step`-th slice from `start` to `end`; complex ones get no gradient.

    >>> import taper
    >>> taper.slice_copy(taper.arange(5), 0, 1, 4, 2)
    tensor([1, 3])
    """
def slice_inverse(input: Tensor, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1) -> Tensor:
    """Recover the tensor that `self` is a slice of: its memory in shape and strides of `src`.

    >>> import taper
    >>> whole = taper.arange(5)
    >>> taper.slice_inverse(whole[1:3], whole, 0, 1, 3)
    tensor([0, 1, 2, 3, 4])
    """
def slice_scatter(input: Tensor, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """Copy a tensor with `src` written to every `step`-th slice from `start` up to `end`.

    >>> import taper
    >>> taper.slice_scatter(taper.zeros(4), taper.ones(2), 0, 1, 3)
    tensor([0., 1., 1., 0.])
    """
def slogdet(input: Tensor, *, out: Sequence[Tensor] | None = None) -> _return_types.slogdet:
    """Compute sign and logarithm of determinants: another name of `linalg.slogdet`.

    >>> import taper
    >>> taper.slogdet(taper.eye(2)).sign
    tensor(1.)
    """
def smm(input: Tensor, mat2: Tensor) -> Tensor:
    """Multiply a sparse matrix with a dense one; the result is sparse.

    >>> import taper
    >>> taper.smm(taper.eye(2).to_sparse(), taper.ones(2, 1)).to_dense()
    tensor([[1.],
            [1.]])
    """
def softmax(input: Tensor, dim: _int = ..., dtype: _dtype | None = None, *, out: Tensor | None = None, axis: _int = ...) -> Tensor:
    """Turn numbers into probabilities along a dimension.

    result[i] = exp(input[i]) / Σⱼ exp(input[j])

    Args:
        input: a floating point tensor.
        dim: dimension along which the results sum to 1.
        dtype: dtype that `input` is converted to first.
        out: tensor that receives the result.
        axis: NumPy's name for `dim`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.softmax(taper.tensor([0.0, 0.0]), dim=0)
        tensor([0.5000, 0.5000])
    """
def sort(input: Tensor, dim: _int = -1, descending: _bool = False, *, stable: _bool | None = None, out: Sequence[Tensor] | None = None, axis: _int | None = None) -> _return_types.sort:
    """Sort the elements along a dimension; nan counts as larger than any number.

    Args:
        input: a tensor.
        dim: dimension to sort along.
        descending: whether the largest element comes first.
        stable: whether equal elements keep their order; here they always do.
        out: pair of tensors that receives the result.
        axis: NumPy's name for `dim`.

    Returns: a named tuple (values, indices), both with the shape of `input`; indices are int64.

    Example:
        >>> import taper
        >>> taper.sort(taper.tensor([3.0, 1.0, 2.0]))
        torch.return_types.sort(
        values=tensor([1., 2., 3.]),
        indices=tensor([1, 2, 0]))
    """
def sparse_bsc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: _Ints | None = None, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _bool | None = None) -> Tensor:
    """Make a sparse tensor of blocks, by columns.

    Args:
        ccol_indices: where the elements of each column begin, and the end of the last.
        row_indices: the row of each element.
        values: the elements, or blocks of them.
        size: the shape; by default as large as the indices need.
        dtype: dtype of the elements; by default that of `values`.
        layout, device, pin_memory: only the layout of the name, in ordinary CPU memory.
        requires_grad: whether autograd records what is computed from the result.
        check_invariants: whether to check that the indices fit.

    Example:
        >>> import taper
        >>> taper.sparse_bsc_tensor([0, 1, 2], [1, 0], [[[4.0]], [[3.0]]]).to_dense()
        tensor([[0., 3.],
                [4., 0.]])
    """
def sparse_bsr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: _Ints | None = None, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _bool | None = None) -> Tensor:
    """Make a sparse tensor of blocks, by rows.

    Args:
        crow_indices: where the elements of each row begin, and the end of the last.
        col_indices: the column of each element.
        values: the elements, or blocks of them.
        size: the shape; by default as large as the indices need.
        dtype: dtype of the elements; by default that of `values`.
        layout, device, pin_memory: only the layout of the name, in ordinary CPU memory.
        requires_grad: whether autograd records what is computed from the result.
        check_invariants: whether to check that the indices fit.

    Example:
        >>> import taper
        >>> taper.sparse_bsr_tensor([0, 1, 2], [1, 0], [[[3.0]], [[4.0]]]).to_dense()
        tensor([[0., 3.],
                [4., 0.]])
    """
def sparse_compressed_tensor(compressed_indices: Any, plain_indices: Any, values: Any, size: _Ints | None = None, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _bool | None = None) -> Tensor:
    """Make a sparse tensor of a compressed layout.

    Args:
        compressed_indices: where the elements of each row (column) begin, and the end of the last.
        plain_indices: the column (row) of each element.
        values: the elements, or blocks of them.
        size: the shape; by default as large as the indices need.
        dtype: dtype of the elements; by default that of `values`.
        layout: `sparse_csr`, `sparse_csc`, `sparse_bsr` or `sparse_bsc`.
        device, pin_memory: only ordinary CPU memory is provided.
        requires_grad: whether autograd records what is computed from the result.
        check_invariants: whether to check that the indices fit.

    Example:
        >>> import taper
        >>> x = taper.sparse_compressed_tensor(
        ...     [0, 1, 2], [1, 0], [3.0, 4.0], layout=taper.sparse_csr
        ... )
        >>> x.to_dense()
        tensor([[0., 3.],
                [4., 0.]])
    """
def sparse_coo_tensor(indices: Any = None, values: Any = None, size: _Ints | None = None, *, dtype: _dtype | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _bool | None = None, is_coalesced: _bool | None = None) -> Tensor:
    """Make a sparse tensor from the coordinates of its elements (layout COO).

    Elements at the same place are added up.

    Args:
        indices: the coordinates, a matrix of integers: a row for each sparse dimension, a column
            for each element.  A shape alone, as the first argument, makes a tensor of zeros.
        values: the elements; more dimensions than one make dense dimensions.
        size: the shape; by default as large as the indices need.
        dtype: dtype of the elements; by default that of `values`.
        device, pin_memory: only ordinary CPU memory is provided.
        requires_grad: whether autograd records what is computed from the result.
        check_invariants: whether to check that the indices fit; by default as
            `taper.sparse.check_sparse_tensor_invariants` says.
        is_coalesced: say that the coordinates are sorted and different.

    Example:
        >>> import taper
        >>> taper.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
        tensor(indices=tensor([[0, 1],
                               [2, 0]]),
               values=tensor([3., 4.]),
               size=(2, 3), nnz=2, layout=torch.sparse_coo)
    """
def sparse_csc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: _Ints | None = None, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _bool | None = None) -> Tensor:
    """Make a sparse tensor compressed by columns.

    Args:
        ccol_indices: where the elements of each column begin, and the end of the last.
        row_indices: the row of each element.
        values: the elements, or blocks of them.
        size: the shape; by default as large as the indices need.
        dtype: dtype of the elements; by default that of `values`.
        layout, device, pin_memory: only the layout of the name, in ordinary CPU memory.
        requires_grad: whether autograd records what is computed from the result.
        check_invariants: whether to check that the indices fit.

    Example:
        >>> import taper
        >>> taper.sparse_csc_tensor([0, 1, 2], [1, 0], [4.0, 3.0]).to_dense()
        tensor([[0., 3.],
                [4., 0.]])
    """
def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: _Ints | None = None, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _bool | None = None) -> Tensor:
    """Make a sparse tensor compressed by rows.

    Args:
        crow_indices: where the elements of each row begin, and the end of the last.
        col_indices: the column of each element.
        values: the elements, or blocks of them.
        size: the shape; by default as large as the indices need.
        dtype: dtype of the elements; by default that of `values`.
        layout, device, pin_memory: only the layout of the name, in ordinary CPU memory.
        requires_grad: whether autograd records what is computed from the result.
        check_invariants: whether to check that the indices fit.

    Example:
        >>> import taper
        >>> taper.sparse_csr_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense()
        tensor([[0., 3.],
                [4., 0.]])
    """
def split(tensor: Tensor, split_size_or_sections: _Ints, dim: _int = 0) -> tuple[Tensor, ...]:
    """Cut a tensor into consecutive parts along a dimension.

    Args:
        tensor: the tensor to cut.
        split_size_or_sections: length of each part (the last may be shorter), or a list of lengths.
        dim: dimension to cut.

    Returns: a tuple of views.

    Example:
        >>> import taper
        >>> taper.split(taper.arange(5), 2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
def split_copy(input: Tensor, split_size: _int, dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Copy the parts of `split_size` along a dimension.

    >>> import taper
    >>> [each.shape[0] for each in taper.split_copy(taper.ones(5), 2)]
    [2, 2, 1]
    """
def split_with_sizes(input: _Operand, split_sizes: _Ints, dim: _int = 0, *, axis: _int | None = None) -> tuple[Tensor, ...]:
    """Cut into consecutive parts of given lengths along `dim`, as views.

    >>> import taper
    >>> taper.split_with_sizes(taper.arange(3), (1, 2))
    (tensor([0]), tensor([1, 2]))
    """
def split_with_sizes_copy(input: Tensor, split_sizes: _Ints, dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Copy parts of these sizes along a dimension.

    >>> import taper
    >>> [each.shape[0] for each in taper.split_with_sizes_copy(taper.ones(5), [1, 4])]
    [1, 4]
    """
def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Multiply two matrices, of which one may be sparse.

    >>> import taper
    >>> taper.spmm(taper.eye(2).to_sparse(), taper.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the square root of every element.

    result = √x for each x of `input`; nan below 0.

    Args:
        input: a tensor; integers give the default floating dtype.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.sqrt(taper.tensor([4.0, 9.0]))
        tensor([2., 3.])
    """
def sqrt_(input: Tensor) -> Tensor:
    """In-place version of `sqrt`.

    >>> import taper
    >>> taper.sqrt_(taper.tensor([4.0, 9.0]))
    tensor([2., 3.])
    """
def square(input: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Square every element.

    result = x² for each x of `input`

    Args:
        input: a tensor.
        out: tensor that receives the result.

    Shape: the result has the shape and dtype of `input`; bool gives int64.

    Example:
        >>> import taper
        >>> taper.square(taper.tensor([1.0, -3.0]))
        tensor([1., 9.])
    """
def square_(input: _Operand) -> Tensor:
    """In-place version of `square`.

    >>> import taper
    >>> taper.square_(taper.tensor([1.0, -3.0]))
    tensor([1., 9.])
    """
def squeeze(input: _Operand, dim: _Ints | None = None, *, axis: _Ints | None = None) -> Tensor:
    """Drop dimensions of length 1.

    Args:
        input: a tensor.
        dim: dimension or dimensions to drop if their length is 1; by default all that can be.
        axis: NumPy's name for `dim`.

    Shape: `input` without those dimensions; the result is a view.

    Example:
        >>> import taper
        >>> taper.squeeze(taper.zeros(1, 2, 1)).shape
        torch.Size([2])
    """
def squeeze_copy(input: Tensor, dim: _Ints | None = None, *, out: Tensor | None = None) -> Tensor:
    """Copy without the dimensions of length 1, or without those in `dim`.

    >>> import taper
    >>> taper.squeeze_copy(taper.ones(2, 1, 3)).shape
    torch.Size([2, 3])
    """
def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _float = 1, alpha: _float = 1) -> Tensor:
    """Multiply a sparse matrix with a dense one and add a sparse one; the result is sparse.

    >>> import taper
    >>> one = taper.eye(2).to_sparse()
    >>> taper.sspaddmm(one, one, taper.ones(2, 2)).to_dense()
    tensor([[2., 1.],
            [1., 2.]])
    """
def stack(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Join tensors of one shape along a new dimension.

    Args:
        tensors: sequence of tensors of one shape.
        dim: position of the new dimension in the result.
        out: tensor that receives the result.

    Shape: k tensors (*) give (*, k, *).

    Example:
        >>> import taper
        >>> taper.stack([taper.tensor([1, 2]), taper.tensor([3, 4])])
        tensor([[1, 2],
                [3, 4]])
    """
def std(input: Tensor, dim: _Ints | None = ..., unbiased: _bool | None = ..., keepdim: _bool = False, *, correction: _Number | None = ..., out: Tensor | None = None, axis: _Ints | None = None, keepdims: _bool = False) -> Tensor:
    """Compute the standard deviation of all elements, or along dimensions.

    result = √(Σ (x - mean)² / max(0, n - correction)), n elements in each sum

    Args:
        input: a floating point or complex tensor.
        dim: dimension or dimensions to reduce; all of them by default.
        unbiased: old form of `correction`: True means 1, False means 0.
        keepdim: keep the reduced dimensions, with length 1.
        correction: what is subtracted from the number of elements; 1 by default.
        out: tensor that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimensions in `dim`.

    Example:
        >>> import taper
        >>> taper.std(taper.tensor([1.0, 2.0, 3.0]))
        tensor(1.)
    """
def std_mean(input: Tensor, dim: _Ints | None = ..., unbiased: _bool | None = ..., keepdim: _bool = False, *, correction: _Number | None = ..., axis: _Ints | None = None, keepdims: _bool = False) -> tuple[Tensor, Tensor]:
    """Compute standard deviation and mean of all elements, or along dimensions; see `var`.

    >>> import taper
    >>> taper.std_mean(taper.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
def stft(input: Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, pad_mode: str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor:
    """Transform overlapping pieces of a signal: frequencies by pieces.

    A piece of `n_fft` points begins every `hop_length` (a quarter of it) points and is multiplied
    by `window`. With `center` the signal gets a border, so that piece k has its middle at point k *
    hop_length; without it, `align_to_window` lets the first window, not the first piece, begin
    where the signal does.

    >>> import taper
    >>> taper.stft(taper.ones(8), 4, window=taper.ones(4), return_complex=True).abs()
    tensor([[4., 4., 4., 4., 4., 4., 4., 4., 4.],
            [0., 0., 0., 0., 0., 0., 0., 0., 0.],
            [0., 0., 0., 0., 0., 0., 0., 0., 0.]])
    """
def sub(input: _Operand, other: _Operand, *, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Subtract from one tensor another, multiplied by `alpha`.

    result = input - alpha · other

    Args:
        input: the minuend.
        other: the subtrahend, a tensor or a number.
        alpha: number that multiplies `other`.
        out: tensor that receives the result.

    Shape: `input` and `other` broadcast; the result has their common shape and dtype.

    Example:
        >>> import taper
        >>> taper.sub(taper.tensor([1.0, 2.0]), 1)
        tensor([0., 1.])
    """
def subtract(input: _Operand, other: _Operand, *, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Subtract from one tensor another, multiplied by `alpha`.

    result = input - alpha · other

    Args:
        input: the minuend.
        other: the subtrahend, a tensor or a number.
        alpha: number that multiplies `other`.
        out: tensor that receives the result.

    Shape: `input` and `other` broadcast; the result has their common shape and dtype.

    Example:
        >>> import taper
        >>> taper.sub(taper.tensor([1.0, 2.0]), 1)
        tensor([0., 1.])
    """
def sum(input: Tensor, dim: _Ints | None = ..., keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None, axis: _Ints | None = ..., keepdims: _bool = False) -> Tensor:
    """Add up all elements, or those along dimensions.

    Args:
        input: a tensor; integers and bools are added in int64.
        dim: dimension or dimensions to reduce; all of them by default.
        keepdim: keep the reduced dimensions, with length 1.
        dtype: dtype that `input` is converted to first.
        out: tensor that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimensions in `dim`.

    Example:
        >>> import taper
        >>> taper.sum(taper.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
        tensor([4., 6.])
    """
def svd(input: Tensor, some: _bool = True, compute_uv: _bool = True, *, out: Sequence[Tensor] | None = None) -> _return_types.svd:
    """Factor A = U diag(S) V^H; `linalg.svd` is the name to use.

    >>> import taper
    >>> taper.svd(taper.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
def svd_lowrank(A: Tensor, q: _int | None = 6, niter: _int | None = 2, M: Tensor | None = None) -> tuple[Any, Any, Any]:
    """Approximate A - M by U diag(S) V^H of rank `q`, found with random vectors.

    >>> import taper
    >>> A = taper.tensor([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> taper.svd_lowrank(A, q=2)[1].round()
    tensor([2., 1.])
    """
def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor:
    """Exchange two dimensions: NumPy's name of `transpose`.

    >>> import taper
    >>> taper.swapaxes(taper.zeros(2, 3), 0, 1).shape
    torch.Size([3, 2])
    """
def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Exchange two dimensions: another name of `transpose`.

    >>> import taper
    >>> taper.swapdims(taper.zeros(2, 3), 0, 1).shape
    torch.Size([3, 2])
    """
def t(input: Tensor) -> Tensor:
    """Transpose a matrix; vectors and 0-d tensors stay as they are.

    Args:
        input: a tensor with at most two dimensions.

    Shape: (n, m) gives (m, n); the result is a view.

    Example:
        >>> import taper
        >>> taper.t(taper.tensor([[1, 2], [3, 4]]))
        tensor([[1, 3],
                [2, 4]])
    """
def t_copy(input: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Copy what `t` shows.

    >>> import taper
    >>> taper.t_copy(taper.ones(2, 3)).shape
    torch.Size([3, 2])
    """
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take elements of the flattened tensor at the places `index`, in the shape of `index`.

    >>> import taper
    >>> taper.take(taper.tensor([[1, 2], [3, 4]]), taper.tensor([0, 3]))
    tensor([1, 4])
    """
def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = None, *, out: Tensor | None = None, axis: _int | None = None) -> Tensor:
    """Take elements along a dimension as `gather`, with broadcasting.

    Without `dim` the flattened tensor is read. Along a dimension indices are taken modulo its
    length.

    >>> import taper
    >>> taper.take_along_dim(taper.tensor([[3, 1], [2, 4]]), taper.tensor([[1]]), 1)
    tensor([[1],
            [4]])
    """
def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the tangent of every element, in radians.

    >>> import taper
    >>> taper.tan(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5574])
    """
def tan_(input: Tensor) -> Tensor:
    """In-place version of `tan`.

    >>> import taper
    >>> taper.tan_(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5574])
    """
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the hyperbolic tangent of every element.

    result = (eˣ - e⁻ˣ) / (eˣ + e⁻ˣ) for each x of `input`

    Args:
        input: a tensor; integers give the default floating dtype.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.tanh(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7616])
    """
def tanh_(input: Tensor) -> Tensor:
    """In-place version of `tanh`.

    >>> import taper
    >>> taper.tanh_(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """
def tensor(data: Any, *, dtype: _dtype | None = None, device: _Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """Make a tensor with a copy of the given data.

    Args:
        data: a number, a nested sequence of numbers, a NumPy array or a tensor.
        dtype: dtype of the result; by default that of the data, Python floats in the default dtype.
        device, pin_memory: where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.

    Returns: a new leaf tensor without history.

    Example:
        >>> import taper
        >>> taper.tensor([[1.0, 2.0], [3.0, 4.0]])
        tensor([[1., 2.],
                [3., 4.]])
    """
def tensor_split(input: Tensor, indices_or_sections: Tensor | _Ints | None = None, dim: _int = 0, *, indices: Any = None, sections: _Ints | None = None, tensor_indices_or_sections: Any = None, axis: _int | None = None) -> tuple[Tensor, ...]:
    """Cut into so many parts of lengths that differ by at most 1, or at given places.

    >>> import taper
    >>> taper.tensor_split(taper.arange(5), (1, 3))
    (tensor([0]), tensor([1, 2]), tensor([3, 4]))
    """
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """Sum products over the last `dims` dimensions of `a` and the first of `b`, or over lists.

    >>> import taper
    >>> taper.tensordot(taper.ones(2, 3), taper.ones(3, 4), dims=1).shape
    torch.Size([2, 4])
    >>> taper.tensordot(taper.ones(2, 3), taper.ones(4, 3), dims=([1], [1])).shape
    torch.Size([2, 4])
    """
def threshold(input: Tensor, threshold: _Number, value: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Keep x where it is above `threshold`, else return `value`.

    >>> import taper
    >>> taper.threshold(taper.tensor([-1.0, 2.0]), 0.5, 10)
    tensor([10.,  2.])
    """
def threshold_(input: Tensor, threshold: _Number, value: _Operand) -> Tensor:
    """Replace elements that are not above a threshold, in place.

    result = x where x > threshold, else value

    Args:
        input: the tensor that is changed.
        threshold: bound that an element must exceed.
        value: what the others become.

    Returns: `input`.

    Example:
        >>> import taper
        >>> taper.threshold_(taper.tensor([-1.0, 2.0]), 0.5, 10)
        tensor([10.,  2.])
    """
def tile(input: _Operand, *times: _Ints, dims: _Ints | None = None) -> Tensor:
    """Repeat the tensor along its last dimensions.

    >>> import taper
    >>> taper.tile(taper.tensor([[1, 2]]), (2,))
    tensor([[1, 2, 1, 2]])
    """
def topk(input: Tensor, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, out: Sequence[Tensor] | None = None) -> _return_types.topk:
    """Find the `k` largest (or smallest) elements along a dimension.

    Args:
        input: a tensor.
        k: how many elements.
        dim: dimension to search along.
        largest: whether the largest are wanted; else the smallest.
        sorted: whether they come in order; here they always do.
        out: pair of tensors that receives the result.

    Returns: a named tuple (values, indices), shaped as `input` with length `k` along `dim`.

    Example:
        >>> import taper
        >>> taper.topk(taper.tensor([3.0, 1.0, 2.0]), 2).values
        tensor([3., 2.])
    """
def trace(input: Tensor) -> Tensor:
    """Sum the main diagonal of a matrix.

    >>> import taper
    >>> taper.trace(taper.tensor([[1, 2], [3, 4]]))
    tensor(5)
    """
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Exchange two dimensions.

    Args:
        input: a tensor.
        dim0: first dimension.
        dim1: second dimension.

    Shape: `input` with the lengths `dim0` and `dim1` exchanged; the result is a view.

    Example:
        >>> import taper
        >>> taper.transpose(taper.tensor([[1, 2], [3, 4]]), 0, 1)
        tensor([[1, 3],
                [2, 4]])
    """
def transpose_copy(input: _Operand, dim0: Any, dim1: Any, *, out: Tensor | None = None) -> Tensor:
    """Copy what `transpose` shows.

    >>> import taper
    >>> taper.transpose_copy(taper.ones(2, 3), 0, 1).shape
    torch.Size([3, 2])
    """
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _Number | None = None, dim: _int = -1) -> Tensor:
    """Integrate along `dim` by the trapezoidal rule, between points `x` or at distance `dx`.

    >>> import taper
    >>> taper.trapezoid(taper.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
def trapz(y: Tensor, x: Tensor | None = None, *, dx: _Number | None = None, dim: _int = -1) -> Tensor:
    """Integrate by the trapezoidal rule: another name of `trapezoid`.

    >>> import taper
    >>> taper.trapz(taper.tensor([1.0, 2.0, 3.0]), dx=2.0)
    tensor(8.)
    """
def triangular_solve(input: Tensor, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False, *, out: Sequence[Tensor] | None = None) -> _return_types.triangular_solve:
    """Solve A X = B with a triangular A, and copy A; `linalg.solve_triangular` is newer.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> taper.triangular_solve(taper.ones(2, 1), 2 * taper.eye(2)).solution
    tensor([[0.5000],
            [0.5000]])
    """
def tril(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Keep the lower triangle of a matrix; set the rest to zero.

    result[i, j] = input[i, j] where j ≤ i + diagonal, else 0

    Args:
        input: a matrix or a batch of matrices.
        diagonal: which diagonal ends the triangle; positive ones lie above the main one.
        out: tensor that receives the result.

    Shape: (*, n, m) gives (*, n, m).

    Example:
        >>> import taper
        >>> taper.tril(taper.tensor([[1, 2], [3, 4]]))
        tensor([[1, 0],
                [3, 4]])
    """
def tril_indices(row: _int, col: _int, offset: _int = 0, *, dtype: _dtype | None = ..., device: _Device | None = None, layout: _layout | None = None, pin_memory: _bool = False) -> Tensor:
    """List the coordinates of the lower triangle of a matrix: a line of rows, one of columns.

    >>> import taper
    >>> taper.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: _float = 1.0, p: _float = 2.0, eps: _float = 1e-06, swap: _bool = False, reduction: _int = 0) -> Tensor:
    """Compute `nn.functional.triplet_margin_loss`, given a reduction's number.

    >>> import taper
    >>> a, b, c = taper.zeros(1, 2), taper.zeros(1, 2), taper.ones(1, 2)
    >>> taper.triplet_margin_loss(a, b, c, margin=2.0)
    tensor([0.5858])
    """
def triu(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Keep the upper triangle of a matrix; set the rest to zero.

    result[i, j] = input[i, j] where j ≥ i + diagonal, else 0

    Args:
        input: a matrix or a batch of matrices.
        diagonal: which diagonal begins the triangle; positive ones lie above the main one.
        out: tensor that receives the result.

    Shape: (*, n, m) gives (*, n, m).

    Example:
        >>> import taper
        >>> taper.triu(taper.tensor([[1, 2], [3, 4]]))
        tensor([[1, 2],
                [0, 4]])
    """
def triu_indices(row: _int, col: _int, offset: _int = 0, *, dtype: _dtype | None = ..., device: _Device | None = None, layout: _layout | None = None, pin_memory: _bool = False) -> Tensor:
    """List the coordinates of the upper triangle of a matrix: a line of rows, one of columns.

    >>> import taper
    >>> taper.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
def true_divide(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Divide two tensors, never rounding.

    >>> import taper
    >>> taper.true_divide(taper.tensor([1, 2]), 4)
    tensor([0.2500, 0.5000])
    """
def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Cut off the fraction of every element.

    >>> import taper
    >>> taper.trunc(taper.tensor([1.5, -1.5]))
    tensor([ 1., -1.])
    """
def trunc_(input: Tensor) -> Tensor:
    """In-place version of `trunc`.

    >>> import taper
    >>> taper.trunc_(taper.tensor([1.5, -1.5]))
    tensor([ 1., -1.])
    """
def typename(obj: Any) -> str:
    """Return the name of an object's type, with PyTorch's words for tensors.

    >>> import taper
    >>> taper.typename(taper.tensor([1]))
    'torch.LongTensor'
    """
def unbind(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
    """Take a tensor apart into its slices along a dimension.

    Args:
        input: a tensor.
        dim: dimension to take apart.

    Returns: a tuple of views without `dim`.

    Example:
        >>> import taper
        >>> taper.unbind(taper.tensor([[1, 2], [3, 4]]))
        (tensor([1, 2]), tensor([3, 4]))
    """
def unbind_copy(input: Tensor, dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Copy the slices along a dimension.

    >>> import taper
    >>> taper.unbind_copy(taper.tensor([1, 2]))
    (tensor(1), tensor(2))
    """
def unflatten(input: Tensor, dim: _int, sizes: _Ints) -> Tensor:
    """Cut one dimension into several, whose product is its length.

    >>> import taper
    >>> taper.unflatten(taper.zeros(4, 3), 0, (2, -1)).shape
    torch.Size([2, 2, 3])
    """
def unfold_copy(input: _Operand, dimension: Any, size: _Ints, step: _Number, *, out: Tensor | None = None) -> Tensor:
    """Copy what `unfold` shows.

    >>> import taper
    >>> taper.unfold_copy(taper.ones(2, 3), 1, 2, 1).shape
    torch.Size([2, 2, 2])
    """
@overload
def unique(input: Tensor, sorted: _bool = True, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None) -> Tensor:
    """Find the distinct elements, or slices along `dim`; they are sorted even without `sorted`.

    Every NaN is distinct. The inverse tells where each element is in the result.

    >>> import taper
    >>> taper.unique(taper.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
@overload
def unique(input: Tensor, sorted: _bool = True, *, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: _int | None = None) -> tuple[Tensor, Tensor]:
    """Find the distinct elements, or slices along `dim`; they are sorted even without `sorted`.

    Every NaN is distinct. The inverse tells where each element is in the result.

    >>> import taper
    >>> taper.unique(taper.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
@overload
def unique(input: Tensor, sorted: _bool = True, return_inverse: Literal[False] = False, *, return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor]:
    """Find the distinct elements, or slices along `dim`; they are sorted even without `sorted`.

    Every NaN is distinct. The inverse tells where each element is in the result.

    >>> import taper
    >>> taper.unique(taper.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
@overload
def unique(input: Tensor, sorted: _bool = True, *, return_inverse: Literal[True], return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Find the distinct elements, or slices along `dim`; they are sorted even without `sorted`.

    Every NaN is distinct. The inverse tells where each element is in the result.

    >>> import taper
    >>> taper.unique(taper.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
@overload
def unique_consecutive(input: Tensor, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None) -> Tensor:
    """Drop elements, or slices along `dim`, that equal the one before.

    >>> import taper
    >>> taper.unique_consecutive(taper.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
@overload
def unique_consecutive(input: Tensor, *, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: _int | None = None) -> tuple[Tensor, Tensor]:
    """Drop elements, or slices along `dim`, that equal the one before.

    >>> import taper
    >>> taper.unique_consecutive(taper.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
@overload
def unique_consecutive(input: Tensor, return_inverse: Literal[False] = False, *, return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor]:
    """Drop elements, or slices along `dim`, that equal the one before.

    >>> import taper
    >>> taper.unique_consecutive(taper.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
@overload
def unique_consecutive(input: Tensor, *, return_inverse: Literal[True], return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Drop elements, or slices along `dim`, that equal the one before.

    >>> import taper
    >>> taper.unique_consecutive(taper.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
def unravel_index(indices: Tensor, shape: _Ints) -> tuple[Tensor, ...]:
    """Turn numbers of elements, counted row by row in a tensor of `shape`, into coordinates.

    >>> import taper
    >>> taper.unravel_index(taper.tensor([5, 7]), (3, 4))
    (tensor([1, 1]), tensor([1, 3]))
    """
def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """Cut as `chunk`, without the check that parts written in place stand alone.

    >>> import taper
    >>> taper.unsafe_chunk(taper.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
def unsafe_split(input: _Operand, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """Cut as `split`, without the check that parts written in place stand alone.

    >>> import taper
    >>> taper.unsafe_split(taper.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
def unsafe_split_with_sizes(input: _Operand, split_sizes: _Ints, dim: _int = 0) -> tuple[Tensor, ...]:
    """Cut as `split_with_sizes`, without the check that parts written in place stand alone.

    >>> import taper
    >>> taper.unsafe_split_with_sizes(taper.arange(3), (1, 2))
    (tensor([0]), tensor([1, 2]))
    """
def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """Insert a dimension of length 1.

    Args:
        input: a tensor with d dimensions.
        dim: position of the new dimension in the result, from -(d + 1) to d.

    Shape: (*) gives (*, 1, *); the result is a view.

    Example:
        >>> import taper
        >>> taper.unsqueeze(taper.tensor([1, 2]), 1)
        tensor([[1],
                [2]])
    """
def unsqueeze_copy(input: _Operand, dim: _Ints | None, *, out: Tensor | None = None) -> Tensor:
    """Copy what `unsqueeze` shows.

    >>> import taper
    >>> taper.unsqueeze_copy(taper.ones(2, 3), 0).shape
    torch.Size([1, 2, 3])
    """
def vander(x: Tensor, N: _int | None = None, increasing: _bool = False) -> Tensor:
    """Make a matrix of powers of a vector, the highest first unless `increasing`.

    Differs from PyTorch: it can be differentiated; PyTorch's backward fails.

    >>> import taper
    >>> taper.vander(taper.tensor([1, 2, 3]), increasing=True)
    tensor([[1, 1, 1],
            [1, 2, 4],
            [1, 3, 9]])
    """
def var(input: Tensor, dim: _Ints | None = ..., unbiased: _bool | None = ..., keepdim: _bool = False, *, correction: _Number | None = ..., out: Tensor | None = None, axis: _Ints | None = None, keepdims: _bool = False) -> Tensor:
    """Compute the variance of all elements, or along dimensions.

    result = Σ (x - mean)² / max(0, n - correction), n elements in each sum

    Args:
        input: a floating point or complex tensor.
        dim: dimension or dimensions to reduce; all of them by default.
        unbiased: old form of `correction`: True means 1, False means 0.
        keepdim: keep the reduced dimensions, with length 1.
        correction: what is subtracted from the number of elements; 1 by default.
        out: tensor that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimensions in `dim`.

    Example:
        >>> import taper
        >>> taper.var(taper.tensor([1.0, 2.0, 3.0]))
        tensor(1.)
    """
def var_mean(input: Tensor, dim: _Ints | None = ..., unbiased: _bool | None = ..., keepdim: _bool = False, *, correction: _Number | None = ..., axis: _Ints | None = None, keepdims: _bool = False) -> tuple[Tensor, Tensor]:
    """Compute the variance and the mean of all elements, or along dimensions; see `var`.

    >>> import taper
    >>> taper.var_mean(taper.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Multiply two vectors as `dot` does, with the first one conjugated.

    >>> import taper
    >>> taper.vdot(taper.tensor([1j, 2.]), taper.tensor([1j, 1.]))
    tensor(3.+0.j)
    """
def view_as_complex(input: Tensor) -> Tensor:
    """View a last dimension of length 2 as the parts of complex numbers.

    >>> import taper
    >>> taper.view_as_complex(taper.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
def view_as_complex_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Copy pairs of real numbers as complex ones; PyTorch gives no gradient.

    >>> import taper
    >>> taper.view_as_complex_copy(taper.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
def view_as_real(input: Tensor) -> Tensor:
    """View a complex tensor as real and imaginary parts, a last dimension of length 2.

    >>> import taper
    >>> taper.view_as_real(taper.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
def view_as_real_copy(input: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Copy what `view_as_real` shows.

    >>> import taper
    >>> taper.view_as_real_copy(taper.tensor([1 + 2j])).shape
    torch.Size([1, 2])
    """
def view_copy(input: Tensor, *shape: _Ints | _dtype, size: _Ints = ..., dtype: _dtype | None = ..., out: Tensor | None = None) -> Tensor:
    """Copy into another shape, or copy the same bytes as another dtype.

    >>> import taper
    >>> taper.view_copy(taper.ones(2, 3), (3, 2)).shape
    torch.Size([3, 2])
    >>> taper.view_copy(taper.ones(2), dtype=taper.int32)
    tensor([1065353216, 1065353216], dtype=torch.int32)
    """
def vsplit(input: Tensor, indices_or_sections: Tensor | _Ints | None = None, *, sections: _Ints | None = None, indices: Any = None) -> tuple[Tensor, ...]:
    """Cut along the first dimension.

    >>> import taper
    >>> taper.vsplit(taper.tensor([[1, 2], [3, 4]]), 2)
    (tensor([[1, 2]]), tensor([[3, 4]]))
    """
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors along the first dimension, vectors as rows.

    >>> import taper
    >>> taper.vstack([taper.tensor([1, 2]), taper.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
@overload
def where(condition: Tensor) -> tuple[Tensor, ...]:
    """Choose elements from one of two tensors, as a condition tells.

    result = input where condition holds, else other

    Args:
        condition: a bool tensor.
        input: tensor or number taken where the condition is True.
        other: tensor or number taken where it is False.
        out: tensor that receives the result.

    Shape: the three broadcast together; the result has the broadcast shape.

    Returns: the chosen elements; with the condition alone, its `nonzero(as_tuple=True)`.

    Example:
        >>> import taper
        >>> x = taper.tensor([1.0, -2.0])
        >>> taper.where(x > 0, x, 0)
        tensor([1., 0.])
    """
@overload
def where(condition: Tensor, input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Choose elements from one of two tensors, as a condition tells.

    result = input where condition holds, else other

    Args:
        condition: a bool tensor.
        input: tensor or number taken where the condition is True.
        other: tensor or number taken where it is False.
        out: tensor that receives the result.

    Shape: the three broadcast together; the result has the broadcast shape.

    Returns: the chosen elements; with the condition alone, its `nonzero(as_tuple=True)`.

    Example:
        >>> import taper
        >>> x = taper.tensor([1.0, -2.0])
        >>> taper.where(x > 0, x, 0)
        tensor([1., 0.])
    """
def xlogy(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Compute x log(y); zero where x is zero. One of the two may be a number.

    >>> import taper
    >>> taper.xlogy(taper.tensor([0.0, 2.0]), taper.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """
def xlogy_(input: _Operand, other: _Operand) -> Tensor:
    """In-place version of `xlogy`.

    >>> import taper
    >>> taper.xlogy_(taper.tensor([0.0, 2.0]), taper.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """
def zero_(input: Tensor) -> Tensor:
    """Write zero into every element, in place.

    Args:
        input: the tensor that is changed.

    Returns: `input`.

    Example:
        >>> import taper
        >>> taper.zero_(taper.ones(2))
        tensor([0., 0.])
    """
def zeros(*sizes: _Ints, size: _Ints | None = None, out: Tensor | None = None, dtype: _dtype | None = None, layout: _layout | None = ..., device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Make a tensor of zeros.

    Args:
        sizes: the lengths, one by one or as one tuple; none make a 0-d tensor.
        size: the lengths, as a keyword.
        out: tensor that receives the result.
        dtype: dtype of the result; by default the default floating dtype.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.

    Shape: the given lengths.

    Example:
        >>> import taper
        >>> taper.zeros(2, 3)
        tensor([[0., 0., 0.],
                [0., 0., 0.]])
    """
def zeros_like(input: Tensor, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, memory_format: _memory_format | None = None) -> Tensor:
    """Make a tensor of zeros in the form of another tensor.

    Args:
        input: tensor whose shape, dtype and order of dimensions in memory are taken.
        dtype: another dtype for the result.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.
        memory_format: order of the dimensions in memory; by default that of the input.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.zeros_like(taper.tensor([1, 2]))
        tensor([0, 0])
    """
__version__: str
newaxis: None
e: _float
inf: _float
nan: _float
pi: _float
bfloat16: _dtype
bits16: _dtype
bits1x8: _dtype
bits2x4: _dtype
bits4x2: _dtype
bits8: _dtype
bool: _dtype
cdouble: _dtype
cfloat: _dtype
chalf: _dtype
complex128: _dtype
complex32: _dtype
complex64: _dtype
double: _dtype
float: _dtype
float16: _dtype
float32: _dtype
float4_e2m1fn_x2: _dtype
float64: _dtype
float8_e4m3fn: _dtype
float8_e4m3fnuz: _dtype
float8_e5m2: _dtype
float8_e5m2fnuz: _dtype
float8_e8m0fnu: _dtype
half: _dtype
int: _dtype
int1: _dtype
int16: _dtype
int2: _dtype
int3: _dtype
int32: _dtype
int4: _dtype
int5: _dtype
int6: _dtype
int64: _dtype
int7: _dtype
int8: _dtype
long: _dtype
qint32: _dtype
qint8: _dtype
quint2x4: _dtype
quint4x2: _dtype
quint8: _dtype
short: _dtype
uint1: _dtype
uint16: _dtype
uint2: _dtype
uint3: _dtype
uint32: _dtype
uint4: _dtype
uint5: _dtype
uint6: _dtype
uint64: _dtype
uint7: _dtype
uint8: _dtype
BFloat16Tensor: _tensortype
BoolTensor: _tensortype
ByteTensor: _tensortype
CharTensor: _tensortype
DoubleTensor: _tensortype
FloatTensor: _tensortype
HalfTensor: _tensortype
IntTensor: _tensortype
LongTensor: _tensortype
ShortTensor: _tensortype
BFloat16Storage: type[TypedStorage]
BoolStorage: type[TypedStorage]
ByteStorage: type[TypedStorage]
CharStorage: type[TypedStorage]
ComplexDoubleStorage: type[TypedStorage]
ComplexFloatStorage: type[TypedStorage]
DoubleStorage: type[TypedStorage]
FloatStorage: type[TypedStorage]
HalfStorage: type[TypedStorage]
IntStorage: type[TypedStorage]
LongStorage: type[TypedStorage]
ShortStorage: type[TypedStorage]
Storage: type[TypedStorage]
