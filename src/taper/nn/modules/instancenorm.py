"""Instance normalisation: each channel of each sample on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from taper.nn import functional as F
from taper.nn.modules.batchnorm import _LazyNormBase, _NormBase
from taper.nn.modules.statedict import writes_last
from taper.tensor import Tensor
from taper.userwarning import warn_user

if TYPE_CHECKING:
    from taper.dtypes import dtype as DType
    from taper.types import Device


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Device = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _get_no_batch_dim(self) -> int:
        """Return how many dimensions an input without a batch has."""
        raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        single = input.dim() == self._get_no_batch_dim()
        channel = input.dim() - self._get_no_batch_dim()
        if input.size(channel) != self.num_features:
            self._wrong_channels(input, channel)
        result = F.instance_norm(
            input.unsqueeze(0) if single else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return result.squeeze(0) if single else result

    def _wrong_channels(self, input: Tensor, channel: int) -> None:
        if self.affine:
            raise ValueError(
                f"expected input's size at dim={channel} to match num_features "
                f"({self.num_features}), but got: {input.size(channel)}."
            )
        warn_user(
            f"input's size at dim={channel} does not match num_features. You can silence this "
            "warning by not passing in num_features, which is not used because affine=False"
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
        """Load a state; say what to do about statistics from when they were tracked by default."""
        if local_metadata.get("version") is None and not self.track_running_stats:
            names = [n for n in ("running_mean", "running_var") if prefix + n in state_dict]
            if names:
                kind = type(self).__name__
                listed = " and ".join(f'"{prefix}{name}"' for name in names)
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {listed} for {kind} with "
                    "track_running_stats=False. If state_dict is a checkpoint saved before "
                    f"0.4.0, this may be expected because {kind} does not track running stats by "
                    "default since 0.4.0. Please remove these keys from state_dict. If the "
                    "running stats are actually needed, instead set track_running_stats=True in "
                    f"{kind} to enable them. See the documentation of {kind} for details."
                )
                for name in names:
                    state_dict.pop(prefix + name)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


def _check_dims(input: Tensor, low: int) -> None:
    if input.dim() not in (low, low + 1):
        raise ValueError(f"expected {low}D or {low + 1}D input (got {input.dim()}D input)")


class InstanceNorm1d(_InstanceNorm):
    """Normalise each channel of each sequence on its own.

        y = (x - mean) / √(variance + eps) · weight + bias, mean and variance over L

    Args:
        num_features: how many channels C there are.
        eps: added to the variance, against division by 0.
        momentum: the weight of a new batch in the running statistics.
        affine: whether to learn a scale and a shift for each channel.
        track_running_stats: whether to keep running statistics, and to use them in eval mode.
        device, dtype: where the parameters live, and their type; None means the default.
        bias: whether `affine` includes the shift.

    Shape: (N, C, L) → the same, or both without N.
    Initialisation: with `affine` weight (C,) = 1 and bias (C,) = 0.

    Example:
        >>> import taper
        >>> taper.nn.InstanceNorm1d(1)(taper.tensor([[1.0, 3.0]]))
        tensor([[-1.0000,  1.0000]])
    """

    def _get_no_batch_dim(self) -> int:
        return 2

    def _check_input_dim(self, input: Tensor) -> None:
        _check_dims(input, 2)


class InstanceNorm2d(_InstanceNorm):
    """Normalise each channel of each image on its own.

        y = (x - mean) / √(variance + eps) · weight + bias, mean and variance over H and W

    Args:
        num_features: how many channels C there are.
        eps: added to the variance, against division by 0.
        momentum: the weight of a new batch in the running statistics.
        affine: whether to learn a scale and a shift for each channel.
        track_running_stats: whether to keep running statistics, and to use them in eval mode.
        device, dtype: where the parameters live, and their type; None means the default.
        bias: whether `affine` includes the shift.

    Shape: (N, C, H, W) → the same, or both without N.
    Initialisation: with `affine` weight (C,) = 1 and bias (C,) = 0.

    Example:
        >>> import taper
        >>> out = taper.nn.InstanceNorm2d(3)(taper.rand(2, 3, 4, 4))
        >>> out.shape, out.mean((2, 3)).abs().amax() < 1e-5
        (torch.Size([2, 3, 4, 4]), tensor(True))
    """

    def _get_no_batch_dim(self) -> int:
        return 3

    def _check_input_dim(self, input: Tensor) -> None:
        _check_dims(input, 3)


class InstanceNorm3d(_InstanceNorm):
    """Normalise each channel of each volume on its own.

        y = (x - mean) / √(variance + eps) · weight + bias, mean and variance over D, H and W

    Args:
        num_features: how many channels C there are.
        eps: added to the variance, against division by 0.
        momentum: the weight of a new batch in the running statistics.
        affine: whether to learn a scale and a shift for each channel.
        track_running_stats: whether to keep running statistics, and to use them in eval mode.
        device, dtype: where the parameters live, and their type; None means the default.
        bias: whether `affine` includes the shift.

    Shape: (N, C, D, H, W) → the same, or both without N.
    Initialisation: with `affine` weight (C,) = 1 and bias (C,) = 0.

    Example:
        >>> import taper
        >>> out = taper.nn.InstanceNorm3d(3)(taper.rand(2, 3, 4, 4, 4))
        >>> out.shape, out.mean((2, 3, 4)).abs().amax() < 1e-5
        (torch.Size([2, 3, 4, 4, 4]), tensor(True))
    """

    def _get_no_batch_dim(self) -> int:
        return 4

    def _check_input_dim(self, input: Tensor) -> None:
        _check_dims(input, 4)


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """Apply `InstanceNorm1d`, with `num_features` taken from the first input.

    Args:
        eps, momentum, device, dtype, bias: as for `InstanceNorm1d`.
        affine, track_running_stats: as for `InstanceNorm1d`, but both are on by default.

    Shape: as `InstanceNorm1d`.
    Initialisation: as `InstanceNorm1d`, at the first call.

    Example:
        >>> import taper
        >>> norm = taper.nn.LazyInstanceNorm1d()
        >>> norm(taper.ones(2, 4, 3)).shape, norm.num_features
        (torch.Size([2, 4, 3]), 4)
    """

    cls_to_become = InstanceNorm1d
    _get_no_batch_dim = InstanceNorm1d._get_no_batch_dim
    _check_input_dim = InstanceNorm1d._check_input_dim


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """Apply `InstanceNorm2d`, with `num_features` taken from the first input.

    Args:
        eps, momentum, device, dtype, bias: as for `InstanceNorm2d`.
        affine, track_running_stats: as for `InstanceNorm2d`, but both are on by default.

    Shape: as `InstanceNorm2d`.
    Initialisation: as `InstanceNorm2d`, at the first call.

    Example:
        >>> import taper
        >>> layer = taper.nn.LazyInstanceNorm2d()
        >>> layer(taper.ones(2, 3, 4, 4)).shape, layer.num_features
        (torch.Size([2, 3, 4, 4]), 3)
    """

    cls_to_become = InstanceNorm2d
    _get_no_batch_dim = InstanceNorm2d._get_no_batch_dim
    _check_input_dim = InstanceNorm2d._check_input_dim


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """Apply `InstanceNorm3d`, with `num_features` taken from the first input.

    Args:
        eps, momentum, device, dtype, bias: as for `InstanceNorm3d`.
        affine, track_running_stats: as for `InstanceNorm3d`, but both are on by default.

    Shape: as `InstanceNorm3d`.
    Initialisation: as `InstanceNorm3d`, at the first call.

    Example:
        >>> import taper
        >>> layer = taper.nn.LazyInstanceNorm3d()
        >>> layer(taper.ones(2, 3, 4, 4, 4)).shape, layer.num_features
        (torch.Size([2, 3, 4, 4, 4]), 3)
    """

    cls_to_become = InstanceNorm3d
    _get_no_batch_dim = InstanceNorm3d._get_no_batch_dim
    _check_input_dim = InstanceNorm3d._check_input_dim
