"""MultiheadAttention: the parameters around `F.multi_head_attention_forward`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from taper.nn import functional as F
from taper.nn import init
from taper.nn.modules.linear import NonDynamicallyQuantizableLinear
from taper.nn.modules.module import Module
from taper.nn.parameter import Parameter
from taper.ops.attention.multi_head import additive_mask
from taper.ops.creation.filled import empty
from taper.tensor import Tensor

if TYPE_CHECKING:
    from taper.dtypes import dtype as DType
    from taper.types import Device

_PROJECTIONS = ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight")


class MultiheadAttention(Module):
    """Let queries collect values by the similarity of keys, in several heads.

        head = softmax(q kᵀ / √(embed_dim / num_heads) + mask) v
        y = concat(heads) W_outᵀ + b_out, with q, k, v linear maps of query, key, value

    Args:
        embed_dim: length of the queries and of the result.
        num_heads: how many heads there are; a divisor of `embed_dim`.
        dropout: the probability that an attention weight becomes 0 while training.
        bias: whether the linear maps have biases.
        add_bias_kv: whether to append a learned element to keys and values.
        add_zero_attn: whether to append a zero to keys and values.
        kdim, vdim: lengths of the keys and values; None means `embed_dim`.
        batch_first: whether the batch is the first dimension, (N, L, embed_dim).
        device, dtype: where the parameters live, and their type; None means the default.

    Shape:
        query (L, N, embed_dim), key (S, N, kdim), value (S, N, vdim) → result (L, N, embed_dim),
        weights (N, L, S), or (N, num_heads, L, S) if not averaged; or all without N.

    Initialisation:
        in_proj_weight (3 embed_dim, embed_dim), or a weight for each if kdim or vdim differ:
        `init.xavier_uniform_`; out_proj.weight as `Linear`; biases 0; bias_k and bias_v
        `init.xavier_normal_`.

    Differs from PyTorch:
        there is no second way for inference: results in eval mode under `no_grad` are those that
        the same call gives with gradients.

    Example:
        >>> import taper
        >>> attention = taper.nn.MultiheadAttention(4, 2, batch_first=True)
        >>> x = taper.ones(3, 5, 4)
        >>> result, weights = attention(x, x, x)
        >>> result.shape, weights.shape
        (torch.Size([3, 5, 4]), torch.Size([3, 5, 5]))
    """

    __constants__ = ["batch_first"]  # noqa: RUF012 - as PyTorch's
    bias_k: Parameter | None
    bias_v: Parameter | None
    in_proj_weight: Parameter
    in_proj_bias: Parameter
    q_proj_weight: Parameter
    k_proj_weight: Parameter
    v_proj_weight: Parameter

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Device = None,
        dtype: DType | None = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                f"num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim == self.vdim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self._add_projections(bias, device, dtype)
        if add_bias_kv:
            self.bias_k = Parameter(empty((1, 1, embed_dim), device=device, dtype=dtype))
            self.bias_v = Parameter(empty((1, 1, embed_dim), device=device, dtype=dtype))
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _add_projections(self, bias: bool, device: Any, dtype: Any) -> None:
        """Register one weight for query, key and value if their widths are equal, else three."""
        width = self.embed_dim
        shapes: tuple[Any, ...] = ((3 * width, width), None, None, None)
        if not self._qkv_same_embed_dim:
            shapes = (None, (width, width), (width, self.kdim), (width, self.vdim))
        pairs = list(zip(_PROJECTIONS, shapes, strict=True))
        pairs.sort(key=lambda pair: pair[1] is None)  # PyTorch's order: those that exist first
        for name, shape in pairs:
            value = None if shape is None else empty(shape, device=device, dtype=dtype)
            self.register_parameter(name, None if value is None else Parameter(value))
        value = empty(3 * width, device=device, dtype=dtype) if bias else None
        self.register_parameter("in_proj_bias", None if value is None else Parameter(value))
        self.out_proj = NonDynamicallyQuantizableLinear(
            width, width, bias=bias, device=device, dtype=dtype
        )

    def _reset_parameters(self) -> None:
        for name in _PROJECTIONS:
            weight = getattr(self, name)
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.xavier_normal_(extra)

    def __setstate__(self, state: dict[str, Any]) -> None:
        state.setdefault("_qkv_same_embed_dim", True)  # older pickles lack it
        super().__setstate__(state)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the result and, with `need_weights`, the weights, averaged over the heads or not.

        A bool mask is True where attention is forbidden; a floating one is added to the scores.
        `is_causal` says that `attn_mask` is the causal mask.
        """
        if key_padding_mask is not None:
            key_padding_mask = additive_mask(
                key_padding_mask, "key_padding_mask", attn_mask, "attn_mask", query
            )
        if attn_mask is not None:
            attn_mask = additive_mask(attn_mask, "attn_mask", None, "", query)
        swapped = self.batch_first and query.dim() == 3
        if swapped:
            query, key, value = _lengths_first(query, key, value)
        in_weight, in_bias, out_weight, out_bias = self._weights()
        same = self._qkv_same_embed_dim
        result, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            in_weight,
            in_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            out_weight,
            out_bias,
            self.training,
            key_padding_mask,
            need_weights,
            attn_mask,
            not same,
            None if same else self.q_proj_weight,
            None if same else self.k_proj_weight,
            None if same else self.v_proj_weight,
            None,
            None,
            average_attn_weights,
            is_causal,
        )
        return result.transpose(1, 0) if swapped else result, weights

    def _weights(self) -> tuple[Any, Any, Any, Any]:
        try:  # reading attributes of a Module costs 0.4 us each
            own, out = self._parameters, self._modules["out_proj"]._parameters
            return own["in_proj_weight"], own["in_proj_bias"], out["weight"], out["bias"]
        except KeyError:  # replaced by a plain attribute or a property
            out = self.out_proj
            return self.in_proj_weight, self.in_proj_bias, out.weight, out.bias

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Return both masks in one, and its kind: 1 for a padding mask alone, else 2.

        A mask of kind 2 has the dimensions batch, heads, query and key.

        >>> import taper
        >>> attention = taper.nn.MultiheadAttention(4, 2, batch_first=True)
        >>> mask, kind = attention.merge_masks(taper.zeros(5, 5), None, taper.ones(3, 5, 4))
        >>> mask.shape, kind
        (torch.Size([3, 2, 5, 5]), 2)
        """
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            padding = key_padding_mask.view(batch, 1, 1, length)
            merged = merged + padding.expand(-1, self.num_heads, -1, -1)
        return merged, 2


def _lengths_first(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Put the batch second in all three; arguments that are one tensor stay one."""
    turned = query.transpose(1, 0)
    turned_key = turned if key is query else key.transpose(1, 0)
    if value is key:
        return turned, turned_key, turned_key
    return turned, turned_key, value.transpose(1, 0)
