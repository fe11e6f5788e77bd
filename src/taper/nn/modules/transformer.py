"""The Transformer: layers of encoder and decoder, stacks of them, and the whole.

Owns which attention comes where, and how masks are handed on. Attention itself belongs to
`MultiheadAttention`.
"""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any

from taper.autograd.grad_mode import is_grad_enabled
from taper.backends import mha
from taper.nn import functional as F
from taper.nn import init
from taper.nn.modules.activation import GELU, ReLU
from taper.nn.modules.container import ModuleList
from taper.nn.modules.module import Module
from taper.nn.modules.multihead_attention import MultiheadAttention
from taper.nn.modules.normalization import LayerNorm
from taper.nn.modules.transformer_base import (
    Activation,
    _causal_mask,
    _get_activation_fn,
    _is_causal,
    _Layer,
    _sequence_length,
)
from taper.ops.attention.multi_head import additive_mask
from taper.ops.creation.ranges import arange
from taper.tensor import Tensor
from taper.userwarning import warn_once, warn_user

if TYPE_CHECKING:
    from taper.dtypes import dtype as DType
    from taper.types import Device


_NESTED = (
    "The PyTorch API of nested tensors is in prototype stage and will change in the near future. "
    "We recommend specifying layout=torch.jagged when constructing a nested tensor, as this layout "
    "receives active development, has better operator coverage, and works with torch.compile."
)


# --- layers ----------------------------------------------------------------------------------


class TransformerEncoderLayer(_Layer):
    """Let a sequence attend to itself, then pass a feed-forward network.

        x = norm1(x + attention(x, x, x))
        y = norm2(x + linear2(activation(linear1(x))))

    `forward(src, src_mask=None, src_key_padding_mask=None, is_causal=False)`; masks are True, or
    -∞, where attention is forbidden.

    Args:
        d_model: length of the vectors.
        nhead: how many heads the attention has; a divisor of `d_model`.
        dim_feedforward: the inner width of the feed-forward network.
        dropout: the probability that an element becomes 0 while training.
        activation: "relu", "gelu" or a function, within the feed-forward network.
        layer_norm_eps: the `eps` of the layer norms.
        batch_first: whether the batch is the first dimension, (N, L, d_model).
        norm_first: whether to normalise before each part instead of after it.
        bias: whether linear maps and norms have biases.
        device, dtype: where the parameters live, and their type; None means the default.

    Shape:
        src (L, N, d_model) or (L, d_model) → the same; src_mask (L, L) or (N nhead, L, L);
        src_key_padding_mask (N, L) or (L).

    Initialisation: `MultiheadAttention`'s, `Linear`'s and `LayerNorm`'s.

    Example:
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
    """Let a sequence attend to itself and to `memory`, then pass a feed-forward network.

        x = norm1(x + attention(x, x, x))
        x = norm2(x + attention(x, memory, memory))
        y = norm3(x + linear2(activation(linear1(x))))

    `forward(tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
    memory_key_padding_mask=None, tgt_is_causal=False, memory_is_causal=False)`; masks are True, or
    -∞, where attention is forbidden.

    Args:
        d_model: length of the vectors.
        nhead: how many heads the attention has; a divisor of `d_model`.
        dim_feedforward: the inner width of the feed-forward network.
        dropout: the probability that an element becomes 0 while training.
        activation: "relu", "gelu" or a function, within the feed-forward network.
        layer_norm_eps: the `eps` of the layer norms.
        batch_first: whether the batch is the first dimension, (N, L, d_model).
        norm_first: whether to normalise before each part instead of after it.
        bias: whether linear maps and norms have biases.
        device, dtype: where the parameters live, and their type; None means the default.

    Shape:
        tgt (T, N, d_model) → the same; memory (S, N, d_model); tgt_mask (T, T), memory_mask (T,
        S); padding masks (N, T) and (N, S); or all without N.

    Initialisation: `MultiheadAttention`'s, `Linear`'s and `LayerNorm`'s.

    Example:
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
    """Say why PyTorch would not drop padding with such layers; empty if it would."""
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
    """Apply copies of an encoder layer, one after the other.

        y = norm(layer(... layer(layer(src))))

    As in PyTorch, when nothing needs a gradient in eval mode, places that a padding mask covers at
    the end of sequences come out as zeros (before `norm`), unless `enable_nested_tensor` is off.

    Args:
        encoder_layer: the layer to copy, with equal first values.
        num_layers: how many copies to make.
        norm: a module for the end, such as `LayerNorm`; None means nothing.
        enable_nested_tensor: whether padding may come out as zeros.
        mask_check: whether to check that padding is at the end; False promises so.

    Shape: as `TransformerEncoderLayer`.

    Example:
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
        """Return the places of padding if PyTorch would compute without them, else None."""
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
    """Apply copies of a decoder layer, one after the other.

        y = norm(layer(... layer(layer(tgt, memory), memory) ..., memory))

    Args:
        decoder_layer: the layer to copy, with equal first values.
        num_layers: how many copies to make.
        norm: a module for the end, such as `LayerNorm`; None means nothing.

    Shape: as `TransformerDecoderLayer`.

    Example:
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
    """Encode `src`, then decode `tgt`, which looks at the encoded `src`.

        y = decoder(tgt, encoder(src))

    `forward(src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None,
    tgt_key_padding_mask=None, memory_key_padding_mask=None, ...)`; masks are True, or -∞, where
    attention is forbidden.

    Args:
        d_model: length of the vectors.
        nhead: how many heads the attention has; a divisor of `d_model`.
        num_encoder_layers, num_decoder_layers: how many layers the two stacks have.
        dim_feedforward: the inner width of the feed-forward networks.
        dropout: the probability that an element becomes 0 while training.
        activation: "relu", "gelu" or a function, within the feed-forward networks.
        custom_encoder, custom_decoder: modules to use instead of the two stacks.
        layer_norm_eps: the `eps` of the layer norms.
        batch_first: whether the batch is the first dimension, (N, L, d_model).
        norm_first: whether to normalise before each part instead of after it.
        bias: whether linear maps and norms have biases.
        device, dtype: where the parameters live, and their type; None means the default.

    Shape:
        src (S, N, d_model), tgt (T, N, d_model) → (T, N, d_model); masks (S, S), (T, T) and (T,
        S); padding masks (N, S), (N, T) and (N, S); or all without N.

    Initialisation: weight matrices by `init.xavier_uniform_`, the rest as in the layers.

    Example:
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
        """Return the causal mask, with which a place sees itself and the places before it.

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
