"""Small modules that networks for pictures consist of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from taper import nn
from taper.ops.creation.filled import ones, zeros
from taper.tensor import Tensor
from taper.userwarning import warn_user

Layer = Callable[..., nn.Module]


class FrozenBatchNorm2d(nn.Module):
    """Batch normalisation whose weights and statistics are buffers: it is never trained.

    >>> import taper
    >>> from taper.vision.ops import FrozenBatchNorm2d
    >>> FrozenBatchNorm2d(1)(taper.ones(1, 1, 1, 2))
    tensor([[[[1.0000, 1.0000]]]])
    """

    def __init__(self, num_features: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.register_buffer("weight", ones(num_features))
        self.register_buffer("bias", zeros(num_features))
        self.register_buffer("running_mean", zeros(num_features))
        self.register_buffer("running_var", ones(num_features))

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Accept a state of `BatchNorm2d` as well, without its count of batches."""
        state_dict.pop(prefix + "num_batches_tracked", None)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def forward(self, x: Tensor) -> Tensor:
        weight, bias, mean, variance = (
            each.reshape(1, -1, 1, 1)
            for each in (self.weight, self.bias, self.running_mean, self.running_var)
        )
        scale = weight * (variance + self.eps).rsqrt()
        return x * scale + (bias - mean * scale)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.weight.shape[0]}, eps={self.eps})"


def _same_padding(kernel_size: Any, dilation: Any) -> Any:
    """Return the padding with which a convolution of stride 1 keeps the size."""
    if isinstance(kernel_size, int) and isinstance(dilation, int):
        return (kernel_size - 1) // 2 * dilation
    rank = len(kernel_size) if isinstance(kernel_size, Sequence) else len(dilation)
    taps = kernel_size if isinstance(kernel_size, Sequence) else (kernel_size,) * rank
    apart = dilation if isinstance(dilation, Sequence) else (dilation,) * rank
    return tuple((taps[dim] - 1) // 2 * apart[dim] for dim in range(rank))


class ConvNormActivation(nn.Sequential):
    """A convolution, a normalisation and an activation; use the class for the rank you need."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any = 3,
        stride: Any = 1,
        padding: Any = None,
        groups: int = 1,
        norm_layer: Layer | None = nn.BatchNorm2d,
        activation_layer: Layer | None = nn.ReLU,
        dilation: Any = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
        conv_layer: Layer = nn.Conv2d,
    ) -> None:
        if padding is None:
            padding = _same_padding(kernel_size, dilation)
        if bias is None:
            bias = norm_layer is None  # a normalisation has its own bias
        places = {"stride": stride, "padding": padding, "dilation": dilation}
        layers = [
            conv_layer(in_channels, out_channels, kernel_size, groups=groups, bias=bias, **places)
        ]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            options = {} if inplace is None else {"inplace": inplace}
            layers.append(activation_layer(**options))
        super().__init__(*layers)
        self.out_channels = out_channels
        if type(self) is ConvNormActivation:
            warn_user(
                "Don't use ConvNormActivation directly, please use Conv2dNormActivation and "
                "Conv3dNormActivation instead."
            )


class Conv2dNormActivation(ConvNormActivation):
    """A convolution of pictures, a normalisation and an activation.

    By default `padding` keeps the size at stride 1, and there is a `bias` exactly if there is no
    normalisation.

    >>> import taper
    >>> from taper.vision.ops import Conv2dNormActivation
    >>> Conv2dNormActivation(3, 4, norm_layer=None)
    Conv2dNormActivation(
      (0): Conv2d(3, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
      (1): ReLU(inplace=True)
    )
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int] = 3,
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] | str | None = None,
        groups: int = 1,
        norm_layer: Layer | None = nn.BatchNorm2d,
        activation_layer: Layer | None = nn.ReLU,
        dilation: int | tuple[int, int] = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        sizes = (in_channels, out_channels, kernel_size, stride, padding, groups)
        super().__init__(
            *sizes, norm_layer, activation_layer, dilation, inplace, bias, conv_layer=nn.Conv2d
        )


class Conv3dNormActivation(ConvNormActivation):
    """A convolution of volumes, a normalisation and an activation.

    >>> import taper
    >>> from taper.vision.ops import Conv3dNormActivation
    >>> Conv3dNormActivation(3, 4, norm_layer=None, activation_layer=None)
    Conv3dNormActivation(
      (0): Conv3d(3, 4, kernel_size=(3, 3, 3), stride=(1, 1, 1), padding=(1, 1, 1))
    )
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int, int] = 3,
        stride: int | tuple[int, int, int] = 1,
        padding: int | tuple[int, int, int] | str | None = None,
        groups: int = 1,
        norm_layer: Layer | None = nn.BatchNorm3d,
        activation_layer: Layer | None = nn.ReLU,
        dilation: int | tuple[int, int, int] = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        sizes = (in_channels, out_channels, kernel_size, stride, padding, groups)
        super().__init__(
            *sizes, norm_layer, activation_layer, dilation, inplace, bias, conv_layer=nn.Conv3d
        )


class SqueezeExcitation(nn.Module):
    """Multiply each channel by a factor from 0 to 1, learned from the means of all channels.

    >>> import taper
    >>> from taper.vision.ops import SqueezeExcitation
    >>> SqueezeExcitation(8, 2)(taper.ones(1, 8, 4, 4)).shape
    torch.Size([1, 8, 4, 4])
    """

    def __init__(
        self,
        input_channels: int,
        squeeze_channels: int,
        activation: Layer = nn.ReLU,
        scale_activation: Layer = nn.Sigmoid,
    ) -> None:
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def _scale(self, input: Tensor) -> Tensor:
        squeezed = self.activation(self.fc1(self.avgpool(input)))
        return self.scale_activation(self.fc2(squeezed))

    def forward(self, input: Tensor) -> Tensor:
        return self._scale(input) * input


class MLP(nn.Sequential):
    """Linear layers with activation and dropout between them; the last one has dropout only.

    >>> import taper
    >>> from taper.vision.ops import MLP
    >>> MLP(3, [4, 2])(taper.ones(5, 3)).shape
    torch.Size([5, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: list[int],
        norm_layer: Layer | None = None,
        activation_layer: Layer | None = nn.ReLU,
        inplace: bool | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        options = {} if inplace is None else {"inplace": inplace}
        widths = [in_channels, *hidden_channels[:-1]]
        layers: list[nn.Module] = []
        for incoming, outgoing in zip(widths, hidden_channels[:-1], strict=False):
            layers.append(nn.Linear(incoming, outgoing, bias=bias))
            if norm_layer is not None:
                layers.append(norm_layer(outgoing))
            if activation_layer is not None:
                layers.append(activation_layer(**options))
            layers.append(nn.Dropout(dropout, **options))
        layers.append(nn.Linear(widths[-1], hidden_channels[-1], bias=bias))
        layers.append(nn.Dropout(dropout, **options))
        super().__init__(*layers)


class Permute(nn.Module):
    """Put the dimensions in another order.

    >>> import taper
    >>> from taper.vision.ops import Permute
    >>> Permute([1, 0])(taper.ones(2, 3)).shape
    torch.Size([3, 2])
    """

    def __init__(self, dims: list[int]) -> None:
        super().__init__()
        self.dims = dims

    def forward(self, x: Tensor) -> Tensor:
        return x.permute(*self.dims)
