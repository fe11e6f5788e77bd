"""MultiheadAttention and the Transformer: what they compute, masks, modes, copies."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import taper
from taper import nn
from taper.nn import functional as F


@pytest.fixture(autouse=True)
def seed():
    taper.manual_seed(0)


def encoder(**options):
    layer = nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2, **options)


def close(one, other):
    np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-5, atol=1e-6)


# ------------------------------------------------------------------------------ MultiheadAttention


def test_attention_is_the_formula():
    module = nn.MultiheadAttention(4, 2, batch_first=True)
    query, key = taper.randn(3, 5, 4), taper.randn(3, 6, 4)
    result, weights = module(query, key, key, average_attn_weights=False)
    q, k, v = (
        F.linear(each, weight).view(3, -1, 2, 2).transpose(1, 2)
        for each, weight in zip((query, key, key), module.in_proj_weight.chunk(3), strict=True)
    )
    expected = ((q @ k.transpose(-2, -1)) / math.sqrt(2)).softmax(-1)
    close(weights, expected)
    close(result, module.out_proj((expected @ v).transpose(1, 2).reshape(3, 5, 4)))


def test_results_with_and_without_weights_agree():
    module = nn.MultiheadAttention(4, 2)
    x = taper.randn(5, 3, 4)
    close(module(x, x, x)[0], module(x, x, x, need_weights=False)[0])
    assert module(x, x, x, need_weights=False)[1] is None


def test_batch_first_is_only_another_order():
    module = nn.MultiheadAttention(4, 2)
    x = taper.randn(5, 3, 4)
    other = copy.deepcopy(module)
    other.batch_first = True
    close(module(x, x, x)[0], other(*[x.transpose(0, 1)] * 3)[0].transpose(0, 1))


def test_padding_has_no_influence():
    module = nn.MultiheadAttention(4, 2, batch_first=True)
    x = taper.randn(1, 3, 4)
    longer = taper.cat([x, taper.full((1, 2, 4), 7.0)], 1)
    mask = taper.tensor([[False, False, False, True, True]])
    found = module(x, longer, longer, key_padding_mask=mask)[0]
    close(found, module(x, x, x)[0])


def test_first_values_are_those_of_pytorch():
    module = nn.MultiheadAttention(4, 2)
    expected = [0.2224, 0.5085, -0.1260, 0.4582]  # PyTorch 2.13 after manual_seed(0)
    np.testing.assert_allclose(module.in_proj_weight[0].tolist(), expected, atol=1e-4)


def test_widths_of_key_and_value_have_weights_of_their_own():
    module = nn.MultiheadAttention(4, 2, kdim=3, vdim=5)
    assert module.in_proj_weight is None
    assert {name: tuple(each.shape) for name, each in module.named_parameters()} == {
        "q_proj_weight": (4, 4),
        "k_proj_weight": (4, 3),
        "v_proj_weight": (4, 5),
        "in_proj_bias": (12,),
        "out_proj.weight": (4, 4),
        "out_proj.bias": (4,),
    }


def test_masks_are_merged():
    module = nn.MultiheadAttention(4, 2)
    query, mask = taper.ones(3, 5, 4), taper.zeros(5, 5)
    padding = taper.ones(3, 5)
    assert module.merge_masks(None, None, query) == (None, None)
    assert module.merge_masks(None, padding, query) == (padding, 1)
    merged, kind = module.merge_masks(mask, padding, query)
    assert (tuple(merged.shape), kind) == ((3, 2, 5, 5), 2)
    assert merged.tolist() == taper.ones(3, 2, 5, 5).tolist()


def test_widths_must_fit():
    with pytest.raises(AssertionError, match="embed_dim must be divisible by num_heads"):
        nn.MultiheadAttention(5, 2)
    with pytest.raises(ValueError, match="must be greater than 0, got embed_dim=4 and num_heads=0"):
        nn.MultiheadAttention(4, 0)


# ------------------------------------------------------------------------------------- Transformer


def test_a_causal_mask_hides_what_comes_later():
    stack = encoder()
    x = taper.randn(2, 5, 4)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    changed = x.clone()
    changed[:, 3:] = 0.0
    close(stack(x, mask)[:, :3], stack(changed, mask)[:, :3])


@pytest.mark.parametrize("norm_first", [True, False])
def test_the_order_of_norms(norm_first):
    layer = nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True, norm_first=norm_first)
    x = taper.randn(2, 5, 4)
    attention, norm1, norm2 = layer.self_attn, layer.norm1, layer.norm2

    def feed(y):
        return layer.linear2(layer.linear1(y).relu())

    if norm_first:
        y = x + attention(*[norm1(x)] * 3)[0]
        expected = y + feed(norm2(y))
    else:
        y = norm1(x + attention(x, x, x)[0])
        expected = norm2(y + feed(y))
    close(layer(x), expected)


def test_decoder_attends_to_memory():
    layer = nn.TransformerDecoderLayer(4, 2, 8, 0.0)
    x, memory = taper.randn(3, 2, 4), taper.randn(5, 2, 4)
    y = layer.norm1(x + layer.self_attn(x, x, x)[0])
    y = layer.norm2(y + layer.multihead_attn(y, memory, memory)[0])
    expected = layer.norm3(y + layer.linear2(layer.linear1(y).relu()))
    close(layer(x, memory), expected)


def test_layers_are_copies():
    stack = encoder()
    first, second = stack.layers
    close(first.linear1.weight, second.linear1.weight)
    assert first.linear1.weight is not second.linear1.weight


def test_all_parameters_get_gradients():
    model = nn.Transformer(4, 2, 1, 1, 8, batch_first=True)
    model(taper.randn(2, 3, 4), taper.randn(2, 5, 4)).sum().backward()
    assert [name for name, each in model.named_parameters() if each.grad is None] == []


def test_activation_is_a_name_or_a_function():
    assert nn.TransformerEncoderLayer(4, 2, activation="gelu").activation is F.gelu
    layer = nn.TransformerEncoderLayer(4, 2, activation=nn.SiLU())
    assert dict(layer.named_children())["activation"] is layer.activation
    with pytest.raises(RuntimeError, match="activation should be relu/gelu, not tanh"):
        nn.TransformerEncoderLayer(4, 2, activation="tanh")


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize("activation", ["relu", "gelu", taper.tanh, nn.ReLU()])
def test_pickle_and_copy(activation):
    model = nn.Transformer(4, 2, 1, 1, 8, activation=activation, batch_first=True).eval()
    x = taper.randn(2, 3, 4)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert repr(twin) == repr(model)
        assert twin(x, x).tolist() == model(x, x).tolist()


def test_a_layer_from_before_there_was_a_choice_of_activation():
    layer = nn.TransformerEncoderLayer(4, 2, 8)
    state = dict(vars(layer))
    del state["activation"]
    old = nn.TransformerEncoderLayer.__new__(nn.TransformerEncoderLayer)
    old.__setstate__(state)
    assert old.activation is F.relu


def test_training_repeats_with_the_seed():
    layer = nn.TransformerEncoderLayer(4, 2, 8, 0.5)
    x = taper.randn(3, 2, 4)
    results = []
    for number in (1, 1, 2):
        taper.manual_seed(number)
        results.append(layer(x).tolist())
    assert results[0] == results[1] != results[2]


def test_sizes_of_source_and_target_must_agree():
    model = nn.Transformer(4, 2, 1, 1, 8, batch_first=True)
    with pytest.raises(RuntimeError, match="the batch number of src and tgt must be equal"):
        model(taper.ones(2, 3, 4), taper.ones(3, 3, 4))
    with pytest.raises(RuntimeError, match="feature number of src and tgt must be equal to d_m"):
        model(taper.ones(2, 3, 5), taper.ones(2, 3, 5))


# --------------------------------------------------------------------------------------- inference

PADDING = [[False, False, True], [False, False, False]]


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_padding_is_zero_in_inference_and_nothing_else_changes():
    stack = encoder().eval()
    x, padding = taper.randn(2, 3, 4), taper.tensor(PADDING)
    with_gradients = stack(x, src_key_padding_mask=padding)
    with taper.no_grad():
        without = stack(x, src_key_padding_mask=padding)
    assert without[0, 2].tolist() == [0.0] * 4
    kept = ~padding
    close(without[kept], with_gradients[kept])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("padding", [PADDING, [[True, False, False], [False] * 3]])
def test_padding_stays_where_it_must(padding):
    """If padding is not asked for, or not at the end."""
    stack = encoder(enable_nested_tensor=padding is not PADDING).eval()
    with taper.no_grad():
        found = stack(taper.randn(2, 3, 4), src_key_padding_mask=taper.tensor(padding))
    assert bool((found != 0).all())


def test_rows_without_any_key_are_the_same_with_and_without_gradients():
    """PyTorch's inference gives nan there."""
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
    x, everything = taper.randn(1, 3, 4), taper.tensor([[True, True, True]])
    expected = layer(x, src_key_padding_mask=everything)
    with taper.no_grad():
        found = layer(x, src_key_padding_mask=everything)
    close(found, expected)
    assert bool(found.isfinite().all())


def test_pytorchs_warning_of_nested_tensors():
    taper.set_warn_always(True)
    try:
        with taper.no_grad(), pytest.warns(UserWarning, match="API of nested tensors is in proto"):
            encoder().eval()(taper.randn(2, 3, 4), None, taper.tensor(PADDING))
    finally:
        taper.set_warn_always(False)


def test_why_padding_stays_is_said():
    layer = nn.TransformerEncoderLayer(4, 2, 8)
    with pytest.warns(UserWarning, match=r"because encoder_layer\.self_attn\.batch_first was not"):
        nn.TransformerEncoder(layer, 1)
