"""Batch normalisation, and the base that it shares with instance normalisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from taper import dtypes
from taper.autograd.grad_mode import no_grad
from taper.nn import functional as F
from taper.nn import init
from taper.nn.modules.lazy import LazyModuleMixin
from taper.nn.modules.module import Module
from taper.nn.modules.statedict import writes_last
from taper.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter
from taper.ops.creation.data import tensor
from taper.ops.creation.filled import empty, ones, zeros
from taper.tensor import Tensor

if TYPE_CHECKING:
    from taper.dtypes import dtype as DType
    from taper.types import Device


class _NormBase(Module):
    """Hold weight and bias for each channel, and running statistics."""

    num_features: int
    eps: float
    momentum: float | None
    affine: bool
    track_running_stats: bool
    weight: Parameter
    bias: Parameter
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    _version = 2  # which counts batches

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            value = empty(num_features, device=device, dtype=dtype) if wanted else None
            self.register_parameter(name, None if value is None else Parameter(value))
        if track_running_stats:
            mean = zeros(num_features, device=device, dtype=dtype)
            variance = ones(num_features, device=device, dtype=dtype)
            count = tensor(0, dtype=dtypes.int64, device=device)
        else:
            mean = variance = count = None
        self.register_buffer("running_mean", mean)
        self.register_buffer("running_var", variance)
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the statistics: mean 0, variance 1."""
        if self.track_running_stats:
            self.running_mean.zero_()  # type: ignore[union-attr]
            self.running_var.fill_(1)  # type: ignore[union-attr]
            self.num_batches_tracked.zero_()  # type: ignore[union-attr]

    def reset_parameters(self) -> None:
        """Set weights to 1 and biases to 0, and forget the statistics."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    @writes_last
    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load a state; one that is older than the count of batches gets the present count."""
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats:
            key = prefix + "num_batches_tracked"
            if key not in state_dict:
                count = self.num_batches_tracked
                state_dict[key] = tensor(0) if count is None else count
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        training = self.training
        factor = 0.0 if self.momentum is None else self.momentum
        mean, variance, weight, bias = self._tensors()
        if training and self.track_running_stats:
            count = self.num_batches_tracked
            if count is not None:
                count.add_(1)
                if self.momentum is None:
                    factor = 1.0 / float(count)
        elif training:
            mean = variance = None  # not tracked, so not to be updated either
        use_batch = training or (mean is None and variance is None)
        return F.batch_norm(input, mean, variance, weight, bias, use_batch, factor, self.eps)

    def _tensors(self) -> tuple[Any, Any, Any, Any]:
        try:  # reading attributes of a Module costs 0.4 us each
            own, buffers = self._parameters, self._buffers
            return buffers["running_mean"], buffers["running_var"], own["weight"], own["bias"]
        except KeyError:  # replaced by a plain attribute or a property
            return self.running_mean, self.running_var, self.weight, self.bias


class BatchNorm1d(_BatchNorm):
    """Normalise each channel over the batch.

        y = (x - mean) / √(variance + eps) · weight + bias

    While training, mean and (biased) variance are those of the batch, and the running statistics
    move: running = (1 - momentum) running + momentum batch, with the unbiased variance. In eval
    mode the running statistics are used.

    Args:
        num_features: how many channels C there are.
        eps: added to the variance, against division by 0.
        momentum: the weight of a new batch in the running statistics; None averages all batches
            alike.
        affine: whether to learn a scale and a shift for each channel.
        track_running_stats: whether to keep running statistics; without them eval mode uses the
            batch's, too.
        device, dtype: where the parameters live, and their type; None means the default.
        bias: whether `affine` includes the shift.

    Shape: (N, C) or (N, C, L) → the same.
    Initialisation: weight (C,) = 1, bias (C,) = 0, running_mean (C,) = 0, running_var (C,) = 1.

    Example:
        >>> import taper
        >>> taper.nn.BatchNorm1d(1)(taper.tensor([[1.0], [3.0]])).detach()
        tensor([[-1.0000],
                [ 1.0000]])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    """Normalise each channel over all images of the batch; see `BatchNorm1d` for the statistics.

        y = (x - mean) / √(variance + eps) · weight + bias

    Args:
        num_features: how many channels C there are.
        eps: added to the variance, against division by 0.
        momentum: the weight of a new batch in the running statistics; None averages all batches
            alike.
        affine: whether to learn a scale and a shift for each channel.
        track_running_stats: whether to keep running statistics; without them eval mode uses the
            batch's, too.
        device, dtype: where the parameters live, and their type; None means the default.
        bias: whether `affine` includes the shift.

    Shape: (N, C, H, W) → the same.
    Initialisation: weight (C,) = 1, bias (C,) = 0, running_mean (C,) = 0, running_var (C,) = 1.

    Example:
        >>> import taper
        >>> out = taper.nn.BatchNorm2d(3)(taper.rand(2, 3, 4, 4))
        >>> out.shape, out.mean((0, 2, 3)).abs().amax() < 1e-5
        (torch.Size([2, 3, 4, 4]), tensor(True))
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(_BatchNorm):
    """Normalise each channel over all volumes of the batch; see `BatchNorm1d` for the statistics.

        y = (x - mean) / √(variance + eps) · weight + bias

    Args:
        num_features: how many channels C there are.
        eps: added to the variance, against division by 0.
        momentum: the weight of a new batch in the running statistics; None averages all batches
            alike.
        affine: whether to learn a scale and a shift for each channel.
        track_running_stats: whether to keep running statistics; without them eval mode uses the
            batch's, too.
        device, dtype: where the parameters live, and their type; None means the default.
        bias: whether `affine` includes the shift.

    Shape: (N, C, D, H, W) → the same.
    Initialisation: weight (C,) = 1, bias (C,) = 0, running_mean (C,) = 0, running_var (C,) = 1.

    Example:
        >>> import taper
        >>> out = taper.nn.BatchNorm3d(3)(taper.rand(2, 3, 4, 4, 4))
        >>> out.shape, out.mean((0, 2, 3, 4)).abs().amax() < 1e-5
        (torch.Size([2, 3, 4, 4, 4]), tensor(True))
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


# --- with the number of channels taken from the first input ----------------------------------


class _LazyNormBase(LazyModuleMixin, _NormBase):
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=bias)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tensor(0, dtype=dtypes.int64, device=device)

    def reset_parameters(self) -> None:
        """Set weights to 1 and biases to 0, and forget the statistics, once they have a shape."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Make what is needed for the channels of this input."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            own = (self.weight, self.bias, self.running_mean, self.running_var)
            with no_grad():
                for each in own:
                    if each is not None:
                        each.materialize((self.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """Apply `BatchNorm1d`, with `num_features` taken from the first input.

    Args:
        eps, momentum, affine, track_running_stats, device, dtype, bias: as for `BatchNorm1d`.

    Shape: as `BatchNorm1d`.
    Initialisation: as `BatchNorm1d`, at the first call.

    Example:
        >>> import taper
        >>> norm = taper.nn.LazyBatchNorm1d()
        >>> norm(taper.ones(2, 4)).shape, norm.num_features
        (torch.Size([2, 4]), 4)
    """

    cls_to_become = BatchNorm1d
    _check_input_dim = BatchNorm1d._check_input_dim


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """Apply `BatchNorm2d`, with `num_features` taken from the first input.

    Args:
        eps, momentum, affine, track_running_stats, device, dtype, bias: as for `BatchNorm2d`.

    Shape: as `BatchNorm2d`.
    Initialisation: as `BatchNorm2d`, at the first call.

    Example:
        >>> import taper
        >>> layer = taper.nn.LazyBatchNorm2d()
        >>> layer(taper.ones(2, 3, 4, 4)).shape, layer.num_features
        (torch.Size([2, 3, 4, 4]), 3)
    """

    cls_to_become = BatchNorm2d
    _check_input_dim = BatchNorm2d._check_input_dim


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """Apply `BatchNorm3d`, with `num_features` taken from the first input.

    Args:
        eps, momentum, affine, track_running_stats, device, dtype, bias: as for `BatchNorm3d`.

    Shape: as `BatchNorm3d`.
    Initialisation: as `BatchNorm3d`, at the first call.

    Example:
        >>> import taper
        >>> layer = taper.nn.LazyBatchNorm3d()
        >>> layer(taper.ones(2, 3, 4, 4, 4)).shape, layer.num_features
        (torch.Size([2, 3, 4, 4, 4]), 3)
    """

    cls_to_become = BatchNorm3d
    _check_input_dim = BatchNorm3d._check_input_dim
