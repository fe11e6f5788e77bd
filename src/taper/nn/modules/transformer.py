"""The Transformer: layers of encoder and decoder, stacks of them, and the whole.

Owns which attention comes where, and how masks are handed on.  Attention itself is
`MultiheadAttention`'s.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from taper.autograd.grad_mode import is_grad_enabled
from taper.backends import mha
from taper.nn import functional as F
from taper.nn import init
from taper.nn.modules.activation import GELU, ReLU
from taper.nn.modules.container import ModuleList
from taper.nn.modules.dropout import Dropout
from taper.nn.modules.linear import Linear
from taper.nn.modules.module import Module
from taper.nn.modules.multihead_attention import MultiheadAttention
from taper.nn.modules.normalization import LayerNorm
from taper.ops.attention.multi_head import additive_mask
from taper.ops.creation.filled import full
from taper.ops.creation.ranges import arange
from taper.ops.shape.triangle import triu
from taper.tensor import Tensor
from taper.userwarning import warn_once, warn_user

if TYPE_CHECKING:
    from taper.dtypes import dtype as DType
    from taper.types import Device

Activation = str | Callable[[Tensor], Tensor]

_NESTED = (
    "The PyTorch API of nested tensors is in prototype stage and will change in the near future. "
    "We recommend specifying layout=torch.jagged when constructing a nested tensor, as this layout "
    "receives active development, has better operator coverage, and works with torch.compile."
)


# --- masks -----------------------------------------------------------------------------------


def _causal_mask(size: int, device: Device = None, dtype: DType | None = None) -> Tensor:
    """-inf above the diagonal, 0 elsewhere."""
    return triu(full((size, size), -math.inf, dtype=dtype, device=device), 1)


def _sequence_length(sequence: Tensor, batch_first: bool) -> int:
    shape = sequence.shape
    return shape[1 if batch_first and len(shape) != 2 else 0]


def _is_causal(mask: Tensor | None, said: bool | None, size: int) -> bool:
    """Whether a mask is the causal one: as said, or if nothing is said, by looking at it."""
    if said is not None or mask is None:
        return said is True
    causal = _causal_mask(size, mask.device, mask.dtype)
    return mask.shape == causal.shape and bool((mask == causal).all())


# --- layers ----------------------------------------------------------------------------------


def _get_activation_fn(activation: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    found: Callable[[Tensor], Tensor] = getattr(F, activation)
    return found


class _Layer(Module):
    """What both layers end with: a linear map, an activation, and a linear map back."""

    __constants__ = ["norm_first"]  # noqa: RUF012 - as PyTorch's
    activation: Any

    def _add_feed_forward(
        self, width: int, inner: int, dropout: float, bias: bool, factory: dict[str, Any]
    ) -> None:
        self.linear1 = Linear(width, inner, bias=bias, **factory)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(inner, width, bias=bias, **factory)

    def _add_norms(
        self, count: int, width: int, eps: float, dropout: float, bias: bool, factory: Any
    ) -> None:
        for nr in range(1, count + 1):
            self.add_module(f"norm{nr}", LayerNorm(width, eps=eps, bias=bias, **factory))
        for nr in range(1, count + 1):
            self.add_module(f"dropout{nr}", Dropout(dropout))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if not hasattr(self, "activation"):  # pickled before there was a choice
            self.activation = F.relu

    def _sa_block(
        self,
        x: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        found = self.self_attn(
            x,
            x,
            x,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            is_causal=is_causal,
            need_weights=False,
        )
        result: Tensor = self.dropout1(found[0])
        return result

    def _ff_inner(self, x: Tensor) -> Tensor:
        result: Tensor = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return result


class TransformerEncoderLayer(_Layer):
    """Attention of a sequence to itself and a feed-forward network, each with a shortcut.

    >>> import taper
    >>> layer = taper.nn.TransformerEncoderLayer(d_model=8, nhead=2, batch_first=True)
    >>> layer(taper.rand(3, 5, 8)).shape
    torch.Size([3, 5, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device = None,
        dtype: DType | None = None,
    ) -> None:
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__()
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **factory
        )
        self._add_feed_forward(d_model, dim_feedforward, dropout, bias, factory)
        self.norm_first = norm_first
        self._add_norms(2, d_model, layer_norm_eps, dropout, bias, factory)
        self.activation = _get_activation_fn(activation)
        self.activation_relu_or_gelu = 0
        if self.activation is F.relu or isinstance(self.activation, ReLU):
            self.activation_relu_or_gelu = 1
        elif self.activation is F.gelu or isinstance(self.activation, GELU):
            self.activation_relu_or_gelu = 2

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        padding = additive_mask(
            src_key_padding_mask, "src_key_padding_mask", src_mask, "src_mask", src
        )
        mask = additive_mask(src_mask, "src_mask", None, "", src)
        if self.norm_first:
            x = src + self._sa_block(self.norm1(src), mask, padding, is_causal=is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(src + self._sa_block(src, mask, padding, is_causal=is_causal))
        result: Tensor = self.norm2(x + self._ff_block(x))
        return result

    def _ff_block(self, x: Tensor) -> Tensor:
        result: Tensor = self.dropout2(self._ff_inner(x))
        return result


class TransformerDecoderLayer(_Layer):
    """Attention of a sequence to itself, then to `memory`, and a feed-forward network.

    >>> import taper
    >>> layer = taper.nn.TransformerDecoderLayer(d_model=8, nhead=2, batch_first=True)
    >>> layer(taper.rand(3, 5, 8), taper.rand(3, 7, 8)).shape
    torch.Size([3, 5, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device = None,
        dtype: DType | None = None,
    ) -> None:
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__()
        for name in ("self_attn", "multihead_attn"):
            attention = MultiheadAttention(
                d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **factory
            )
            self.add_module(name, attention)
        self._add_feed_forward(d_model, dim_feedforward, dropout, bias, factory)
        self.norm_first = norm_first
        self._add_norms(3, d_model, layer_norm_eps, dropout, bias, factory)
        self.activation = _get_activation_fn(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        if self.norm_first:
            x = tgt + self._sa_block(self.norm1(tgt), *own)
            x = x + self._mha_block(self.norm2(x), *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(tgt + self._sa_block(tgt, *own))
        x = self.norm2(x + self._mha_block(x, *other))
        result: Tensor = self.norm3(x + self._ff_block(x))
        return result

    def _mha_block(
        self,
        x: Tensor,
        mem: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        found = self.multihead_attn(
            x,
            mem,
            mem,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            is_causal=is_causal,
            need_weights=False,
        )
        result: Tensor = self.dropout2(found[0])
        return result

    def _ff_block(self, x: Tensor) -> Tensor:
        result: Tensor = self.dropout3(self._ff_inner(x))
        return result


# --- stacks ----------------------------------------------------------------------------------


def _get_clones(module: Module, N: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


def _why_not_nested(layer: Module) -> str:
    """Why PyTorch would not drop padding with such layers; empty if it would."""
    if not isinstance(layer, TransformerEncoderLayer):
        return " was not TransformerEncoderLayer"
    attention = layer.self_attn
    if layer.norm_first:
        return ".norm_first was True"
    if not attention.batch_first:
        return (
            ".self_attn.batch_first was not True(use batch_first for better inference performance)"
        )
    if not attention._qkv_same_embed_dim:
        return ".self_attn._qkv_same_embed_dim was not True"
    if attention.in_proj_bias is None:
        return ".self_attn was passed bias=False"
    if not layer.activation_relu_or_gelu:
        return ".activation_relu_or_gelu was not True"
    if layer.norm1.eps != layer.norm2.eps:
        return ".norm1.eps was not equal to encoder_layer.norm2.eps"
    return ".self_attn.num_heads is odd" if attention.num_heads % 2 else ""


class TransformerEncoder(Module):
    """Copies of an encoder layer, one after the other.

    As in PyTorch, when nothing needs a gradient in eval mode, places that a mask of padding covers
    at the end of sequences come out as zeros (before `norm`), unless `enable_nested_tensor` is
    off.  `mask_check=False` promises that padding is at the end.

    >>> import taper
    >>> layer = taper.nn.TransformerEncoderLayer(d_model=8, nhead=2, batch_first=True)
    >>> taper.nn.TransformerEncoder(layer, num_layers=2)(taper.rand(3, 5, 8)).shape
    torch.Size([3, 5, 8])
    """

    __constants__ = ["norm"]  # noqa: RUF012 - as PyTorch's

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        reason = _why_not_nested(encoder_layer) if enable_nested_tensor else ""
        self.use_nested_tensor = enable_nested_tensor and not reason
        self.mask_check = mask_check
        if reason:
            warn_user(
                "enable_nested_tensor is True, but self.use_nested_tensor is False because "
                f"encoder_layer{reason}"
            )

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        padding = additive_mask(src_key_padding_mask, "src_key_padding_mask", mask, "mask", src)
        mask = additive_mask(mask, "mask", None, "", src)
        length = _sequence_length(src, self.layers[0].self_attn.batch_first)
        causal = _is_causal(mask, is_causal, length)
        dropped = self._dropped(src, mask, padding)
        if dropped is not None:
            padding = src.new_zeros(dropped.shape).masked_fill_(dropped, -math.inf)
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        if dropped is not None:
            output = output.masked_fill(dropped.unsqueeze(-1), 0.0)
        return output if self.norm is None else self.norm(output)

    def _dropped(self, src: Tensor, mask: Tensor | None, padding: Tensor | None) -> Tensor | None:
        """The places of padding if PyTorch would compute without them, else None."""
        if padding is None or mask is not None or not self.use_nested_tensor:
            return None
        first = self.layers[0]
        if first.training or src.dim() != 3 or not mha.get_fastpath_enabled():
            return None
        if is_grad_enabled():
            if src.requires_grad or any(each.requires_grad for each in first.parameters()):
                return None
        padded = padding == -math.inf
        length = padded.shape[1]
        at_end = arange(length) >= length - padded.sum(1, keepdim=True)
        if self.mask_check and not bool((padded == at_end).all()):
            return None
        warn_once(_NESTED)
        if bool(at_end.all()):
            raise RuntimeError(
                "to_padded_tensor: at least one constituent tensor should have non-zero numel"
            )
        return at_end


class TransformerDecoder(Module):
    """Copies of a decoder layer, one after the other.

    >>> import taper
    >>> layer = taper.nn.TransformerDecoderLayer(d_model=8, nhead=2, batch_first=True)
    >>> decoder = taper.nn.TransformerDecoder(layer, num_layers=2)
    >>> decoder(taper.rand(3, 5, 8), taper.rand(3, 7, 8)).shape
    torch.Size([3, 5, 8])
    """

    __constants__ = ["norm"]  # noqa: RUF012 - as PyTorch's

    def __init__(
        self,
        decoder_layer: TransformerDecoderLayer,
        num_layers: int,
        norm: Module | None = None,
    ) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        length = _sequence_length(tgt, self.layers[0].self_attn.batch_first)
        causal = _is_causal(tgt_mask, tgt_is_causal, length)
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """An encoder of `src`, and a decoder of `tgt` that looks at what the encoder made of it.

    >>> import taper
    >>> model = taper.nn.Transformer(8, 2, 1, 1, dim_feedforward=16, batch_first=True)
    >>> model(taper.rand(3, 5, 8), taper.rand(3, 7, 8)).shape
    torch.Size([3, 7, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        sizes = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps)
        choices = (batch_first, norm_first, bias, device, dtype)

        def final_norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        if custom_encoder is None:
            custom_encoder = TransformerEncoder(
                TransformerEncoderLayer(*sizes, *choices), num_encoder_layers, final_norm()
            )
        self.encoder = custom_encoder
        if custom_decoder is None:
            custom_decoder = TransformerDecoder(
                TransformerDecoderLayer(*sizes, *choices), num_decoder_layers, final_norm()
            )
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(dim) != tgt.size(dim):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src,
            mask=src_mask,
            src_key_padding_mask=src_key_padding_mask,
            is_causal=src_is_causal,
        )
        result: Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
        return result

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: Device = None, dtype: DType | None = None
    ) -> Tensor:
        """The causal mask: a place sees itself and those before it.

        >>> import taper
        >>> taper.nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return _causal_mask(sz, device, dtype)

    def _reset_parameters(self) -> None:
        for weight in self.parameters():
            if weight.dim() > 1:
                init.xavier_uniform_(weight)
