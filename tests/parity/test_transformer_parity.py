"""The Transformer and `nn.attention` against PyTorch: values, graphs, saved values, gradients."""

from __future__ import annotations

import itertools
import math
import warnings

import pytest
import torch as pytorch

import taper
from both_packages import assert_same


@pytest.fixture(autouse=True, scope="module")
def said_before():
    """Give the warning that comes once in a process, which depends on the order of tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for package in (taper, pytorch):
            layer = package.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
            with package.no_grad():
                module = package.nn.TransformerEncoder(layer, 1).eval()
                module(package.ones(2, 3, 4), None, padding_of(package, "bool", 3))


MASKS = (None, "causal", "causal bool", "added", "for heads")
PADDINGS = (None, "bool", "float")


def mask_of(torch, kind, rows, columns):
    """Return an attention mask for 2 samples and 2 heads; every row keeps a key."""
    if kind is None:
        return None
    causal = torch.full((rows, columns), -math.inf).triu(1)
    if kind == "causal":
        return causal
    if kind == "causal bool":
        return causal.isinf()
    if kind == "added":
        return torch.linspace(-1, 1, rows * columns).reshape(rows, columns)
    mask = torch.linspace(0, 20, 4 * rows * columns).reshape(4, rows, columns).sin() > 0.3
    mask[:, :, 0] = False
    return mask


def padding_of(torch, kind, length):
    """Return a mask in which the last place of the first of two samples is padding."""
    if kind is None:
        return None
    mask = torch.zeros(2, length, dtype=torch.bool)
    mask[0, -1] = True
    return mask if kind == "bool" else torch.zeros(2, length).masked_fill(mask, -math.inf)


def built(make, module, training):
    """Return the module in a mode, its parameters among those whose gradients are compared."""
    make.leaves.extend(module.parameters())
    return module.train(training)


def sequence(make, length, batch_first, width=4):
    shape = (2, length, width) if batch_first else (length, 2, width)
    return make(*shape)


# ------------------------------------------------------------------------------ MultiheadAttention

ATTENTIONS = {
    "plain": {},
    "batch first": {"batch_first": True},
    "widths": {"kdim": 3, "vdim": 5, "batch_first": True},
    "extra keys": {"add_bias_kv": True},
    "zero key, no bias": {"add_zero_attn": True, "bias": False, "batch_first": True},
    "dropout": {"dropout": 0.3},
}


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("settings", ATTENTIONS.values(), ids=ATTENTIONS)
def test_multihead_attention(settings, mask, padding, need_weights):
    batch_first = settings.get("batch_first", False)

    def program(torch, make):
        module = built(make, torch.nn.MultiheadAttention(4, 2, **settings), True)
        query = sequence(make, 3, batch_first)
        key = value = query
        if "kdim" in settings:
            key, value = sequence(make, 3, True, 3), sequence(make, 3, True, 5)
        return module(
            *(query, key, value, padding_of(torch, padding, 3), need_weights),
            *(mask_of(torch, mask, 3, 3), need_weights and padding is None),
        )

    assert_same(pytorch, program, dtype="float32")


# ------------------------------------------------------------------------------------- Transformer

SETTINGS = {
    "plain": {},
    "batch first": {"batch_first": True},
    "norm first": {"norm_first": True, "activation": "gelu"},
    "no bias": {"bias": False, "dropout": 0.0},
}


def encoder_layer(torch, make, settings, training, mask, padding):
    module = built(make, torch.nn.TransformerEncoderLayer(4, 2, 8, **settings), training)
    x = sequence(make, 3, settings.get("batch_first", False))
    return module(x, mask_of(torch, mask, 3, 3), padding_of(torch, padding, 3))


def decoder_layer(torch, make, settings, training, mask, padding):
    module = built(make, torch.nn.TransformerDecoderLayer(4, 2, 8, **settings), training)
    x, memory = (sequence(make, n, settings.get("batch_first", False)) for n in (3, 5))
    paddings = [padding_of(torch, padding, length) for length in (3, 5)]
    return module(x, memory, mask_of(torch, mask, 3, 3), None, *paddings)


def encoder(torch, make, settings, training, mask, padding):
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, **settings)
    stack = torch.nn.TransformerEncoder(layer, 2, torch.nn.LayerNorm(4))
    module = built(make, stack, training)
    x = sequence(make, 3, settings.get("batch_first", False))
    return module(x, mask_of(torch, mask, 3, 3), padding_of(torch, padding, 3))


def decoder(torch, make, settings, training, mask, padding):
    layer = torch.nn.TransformerDecoderLayer(4, 2, 8, **settings)
    module = built(make, torch.nn.TransformerDecoder(layer, 2), training)
    x, memory = (sequence(make, n, settings.get("batch_first", False)) for n in (3, 5))
    paddings = [padding_of(torch, padding, length) for length in (3, 5)]
    return module(x, memory, mask_of(torch, mask, 3, 3), None, *paddings)


def transformer(torch, make, settings, training, mask, padding):
    module = built(make, torch.nn.Transformer(4, 2, 1, 2, 8, **settings), training)
    x, y = (sequence(make, 3, settings.get("batch_first", False)) for _ in range(2))
    masks = [mask_of(torch, mask, 3, 3)] * 2
    return module(x, y, *masks, None, *[padding_of(torch, padding, 3)] * 3)


STACKS = (encoder_layer, decoder_layer, encoder, decoder, transformer)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("stack", STACKS, ids=lambda stack: stack.__name__)
def test_stack(stack, settings, mask):
    for padding, training in itertools.product(PADDINGS, (True, False)):

        def program(torch, make, padding=padding, training=training):
            return stack(torch, make, settings, training, mask, padding)

        assert_same(pytorch, program, dtype="float32")


@pytest.mark.parametrize("mask", (None, "causal", "causal bool", "for heads"))
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("stack", STACKS, ids=lambda stack: stack.__name__)
def test_stack_without_gradients(stack, settings, mask):
    """PyTorch goes another way then; the results are the same, with zeros for padding."""
    for padding in PADDINGS:

        def program(torch, make, padding=padding):
            with torch.no_grad():
                return stack(torch, make, settings, False, mask, padding)

        assert_same(pytorch, program, dtype="float32", factor=3.0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_masks_of_another_dtype_are_warned_of_at_each_level(dtype):
    def program(torch, make):
        layer = torch.nn.TransformerEncoderLayer(4, 2, 8, dtype=getattr(torch, dtype))
        module = torch.nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        masks = (mask_of(torch, "added", 3, 3), padding_of(torch, "bool", 3))
        return module(sequence(make, 3, False), *masks)

    assert_same(pytorch, program, dtype=dtype)


PLACES = {
    "at the end": [[0, 0, 1], [0, 0, 0]],
    "at the end of both": [[0, 0, 1], [0, 1, 1]],
    "at the start": [[1, 0, 0], [0, 0, 0]],
    "in between": [[0, 1, 0], [0, 0, 0]],
    "a whole sample": [[1, 1, 1], [0, 0, 0]],
    "nowhere": [[0, 0, 0], [0, 0, 0]],
    "everywhere": [[1, 1, 1], [1, 1, 1]],
}


CHANGES = {
    "nothing": lambda module: None,
    "first layer trains": lambda module: setattr(module.layers[0], "training", True),
    "second layer trains": lambda module: setattr(module.layers[1], "training", True),
    "not nested": lambda module: setattr(module, "use_nested_tensor", False),
    "other epsilon": lambda module: setattr(module.layers[0].norm1, "eps", 1e-3),
}


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
def test_padding_becomes_zero_in_inference(places, check):
    """With `mask_check=False` only the number of places counts."""
    if places == PLACES["a whole sample"] and not check:
        places = [[0, 1, 1], [0, 0, 0]]

    def program(torch, make):
        layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
        module = torch.nn.TransformerEncoder(layer, 2, mask_check=check).eval()
        padding = make.data(places).bool()
        with torch.no_grad():
            return module(sequence(make, 3, True), src_key_padding_mask=padding)

    assert_same(pytorch, program, dtype="float32", factor=3.0)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("how", ["no_grad", "frozen", "input"])
def test_when_padding_becomes_zero(change, how):
    def program(torch, make):
        layer = torch.nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True)
        norm = torch.nn.LayerNorm(4)
        torch.nn.init.constant_(norm.bias, 0.5)
        module = torch.nn.TransformerEncoder(layer, 2, norm).eval()
        module.requires_grad_(how == "no_grad")
        change(module)
        x = make(2, 3, 4, grad=how == "input")
        with torch.set_grad_enabled(how != "no_grad"):
            return module(x, src_key_padding_mask=padding_of(torch, "bool", 3))

    assert_same(pytorch, program, dtype="float32", factor=3.0)


def test_switch_of_inference():
    def program(torch, make):
        layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
        module = torch.nn.TransformerEncoder(layer, 2).eval()
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            with torch.no_grad():
                x = sequence(make, 3, True)
                return module(x, src_key_padding_mask=padding_of(torch, "bool", 3))
        finally:
            torch.backends.mha.set_fastpath_enabled(True)

    assert_same(pytorch, program, dtype="float32", factor=3.0)


def recorder(torch, calls):
    """Return a layer that notes what it is called with."""

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.self_attn = torch.nn.MultiheadAttention(4, 2, batch_first=False)

        def forward(self, *args, **kwargs):
            shown = {k: v if not hasattr(v, "shape") else str(v.dtype) for k, v in kwargs.items()}
            calls.append((len(args), shown))
            return args[0]

        def __deepcopy__(self, memo):
            return self

    return Layer()


@pytest.mark.parametrize("said", [None, True, False])
@pytest.mark.parametrize("kind", [None, "causal", "causal bool", "added"])
def test_layers_are_told_whether_the_mask_is_causal(kind, said):
    def program(torch, make):
        calls = []
        layer = recorder(torch, calls)
        x = make(3, 2, 4, grad=False)
        mask = mask_of(torch, kind, 3, 3)
        stack = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        stack(x, mask, padding_of(torch, "bool", 3), said)
        torch.nn.TransformerDecoder(layer, 1)(x, x, mask, mask, tgt_is_causal=said)
        model = torch.nn.Transformer(4, custom_encoder=layer, custom_decoder=layer)
        model(x, x, mask, src_is_causal=said, memory_is_causal=True)
        return repr(calls)

    assert_same(pytorch, program)


# ------------------------------------------------------------------------------------ nn.attention


def attend(torch, make, *args, **kwargs):
    heads = [make(1, 2, length, 4) for length in (3, 5, 5)]
    return torch.nn.functional.scaled_dot_product_attention(*heads, *args, **kwargs)


BACKENDS = ("ERROR", "MATH", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION")


@pytest.mark.parametrize("name", BACKENDS)
def test_only_one_way(name):
    def program(torch, make):
        backend = getattr(torch.nn.attention.SDPBackend, name)
        with torch.nn.attention.sdpa_kernel(backend):
            return attend(torch, make)

    pytorch.nn.attention
    assert_same(pytorch, program)


def test_flash_alone_cannot_drop():
    def program(torch, make):
        way = torch.nn.attention.SDPBackend.FLASH_ATTENTION
        with torch.nn.attention.sdpa_kernel(way):
            return attend(torch, make, dropout_p=0.5)

    assert_same(pytorch, program)


def test_ways_as_a_list_and_as_a_decorator():
    def program(torch, make):
        backend = torch.nn.attention.SDPBackend

        @torch.nn.attention.sdpa_kernel(backend.MATH)
        def decorated():
            return attend(torch, make)

        with torch.nn.attention.sdpa_kernel([backend.MATH, backend.FLASH_ATTENTION], True):
            return attend(torch, make), decorated()

    assert_same(pytorch, program)


@pytest.mark.parametrize("given", ["3", "'MATH'", "(torch.nn.attention.SDPBackend.MATH,)"])
def test_what_is_no_way(given):
    def program(torch, make):
        with torch.nn.attention.sdpa_kernel(eval(given, {"torch": torch})):
            return None

    assert_same(pytorch, program)


def test_switches_are_set_back():
    def program(torch, make):
        switches = torch.backends.cuda
        way = torch.nn.attention.SDPBackend.MATH
        seen = []

        def note():
            seen.append((switches.flash_sdp_enabled(), switches.math_sdp_enabled()))
            seen.append((switches.mem_efficient_sdp_enabled(), switches.cudnn_sdp_enabled()))

        try:
            with torch.nn.attention.sdpa_kernel(way):
                note()
                raise ZeroDivisionError
        except ZeroDivisionError:
            note()
        switches.enable_flash_sdp(False)
        note()
        result = attend(torch, make)
        switches.enable_flash_sdp(True)
        return repr(seen), type(result.grad_fn).__name__

    assert_same(pytorch, program)


BIASES = {
    "upper left": lambda bias: bias.causal_upper_left(3, 5),
    "lower right": lambda bias: bias.causal_lower_right(3, 5),
    "other size": lambda bias: bias.causal_lower_right(3, 4),
}


@pytest.mark.parametrize("options", [{}, {"scale": 2.0}, {"dropout_p": 0.5}, {"is_causal": True}])
@pytest.mark.parametrize("kind", BIASES.values(), ids=BIASES)
def test_causal_bias(kind, options):
    import torch.nn.attention.bias

    def program(torch, make):
        return attend(torch, make, kind(torch.nn.attention.bias), **options)

    assert torch.nn.attention.bias is pytorch.nn.attention.bias
    assert_same(pytorch, program)


@pytest.mark.parametrize(
    "text",
    [
        "bias.causal_upper_left(3, 4)",
        "bias.causal_lower_right(3, 4)",
        "bias.causal_lower_right(4, 3)",
        "bias.causal_upper_left(3)",
        "bias.causal_lower_right((3, 4))",
        "bias.CausalBias(3, 3, 4)",
        "bias.causal_lower_right(3, 4).shape",
        "bias.causal_lower_right(3, 4).dtype",
        "bias.causal_lower_right(3, 4).variant",
        "bias.causal_lower_right(3, 4).seq_len_kv",
        "list(bias.CausalVariant)",
    ],
)
def test_bias_shows_itself(text):
    import torch.nn.attention.bias

    def program(torch, make):
        return repr(eval(text, {"bias": torch.nn.attention.bias}))

    assert torch.nn.attention.bias is pytorch.nn.attention.bias
    assert_same(pytorch, program)


# ------------------------------------------------------- other functions that are built of modules


@pytest.mark.parametrize("name", ["conv1d", "conv2d", "conv3d"])
def test_gradients_of_convolutions_have_gradients(name):
    ndim = int(name[4])

    def program(torch, make):
        functions = torch.nn.grad
        input, weight = make(2, 4, *[5] * ndim), make(6, 2, *[2] * ndim)
        grad = make(2, 6, *[4] * ndim)
        return (
            getattr(functions, f"{name}_input")(input.shape, weight, grad, groups=2),
            getattr(functions, f"{name}_weight")(input, weight.shape, grad, groups=2),
        )

    pytorch.nn.grad
    assert_same(pytorch, program, saved=False)


@pytest.mark.parametrize("target", [[0, 3, 9, 3], [0, 1, 1, 0], [9, 9, 8, 7]])
def test_adaptive_softmax(target):
    def program(torch, make):
        loss = torch.nn.AdaptiveLogSoftmaxWithLoss(4, 10, [2, 5], div_value=2.0).double()
        module = built(make, loss, True)
        x = make(4, 4)
        return [*module(x, make.data(target)), module.log_prob(x)]

    assert_same(pytorch, program)


@pytest.mark.parametrize("retain", [True, False])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_linear_cross_entropy_in_chunks(reduction, retain):
    def program(torch, make):
        options = torch.nn.LinearCrossEntropyOptions(retain, batch_chunk_size=2)
        x, weight, bias = make(5, 4), make(7, 4), make(7)
        target = make.data([0, 6, -100, 3, 3])
        found = torch.nn.functional.linear_cross_entropy(
            *(x, weight, target),
            linear_bias=bias,
            weight=make(7, grad=False).abs(),
            reduction=reduction,
            options=options,
        )
        found.sum().backward(retain_graph=True)
        if not retain:
            return [each.grad for each in make.leaves]
        found.sum().backward()
        return [each.grad for each in make.leaves]

    assert_same(pytorch, program)


def test_chunks_are_not_run_through_twice():
    def program(torch, make):
        options = torch.nn.LinearCrossEntropyOptions()
        x, weight = make(5, 4), make(7, 4)
        target = make.data([0, 6, 2, 3, 3])
        loss = torch.nn.functional.linear_cross_entropy(x, weight, target, options=options)
        loss.backward(retain_graph=True)
        loss.backward()

    assert_same(pytorch, program)
