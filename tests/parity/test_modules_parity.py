"""A row for every module: the same constructor, seed and inputs on taper and on PyTorch.

Rows of simple modules are in `test_nn_parity`; here are the others, and the check that none is
missing.
"""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import types
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
import torch

import taper
from parity.test_nn_parity import CASES as SIMPLE
from parity.test_nn_parity import assert_close, floats, numbers, outcome, positive
from taper import nn

HERE = types.SimpleNamespace(
    **{name: getattr(taper, name) for name in dir(taper) if not name.startswith("__")} | {"nn": nn}
)


@dataclass(frozen=True)
class Row:
    """A module, its inputs as arrays, and how it is called with them."""

    text: str
    inputs: tuple
    call: str = "m(*x)"


def row(text, *inputs, call="m(*x)"):
    return Row(text, inputs, call)


def padding_mask(batch, length, *lengths):
    return np.arange(length)[None] >= np.asarray(lengths).reshape(batch, 1)


IMAGE, LINE, VOLUME = floats(2, 4, 6, 7), floats(2, 4, 9), floats(1, 2, 5, 6, 7)
CONVOLUTIONS = [
    row("nn.Conv1d(4, 6, 3)", LINE),
    row("nn.Conv1d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2, bias=False)", LINE),
    row("nn.Conv1d(4, 6, 3, padding='same', padding_mode='circular')", LINE),
    row("nn.Conv2d(4, 6, 3)", IMAGE),
    row("nn.Conv2d(4, 4, (3, 2), padding=(1, 0), groups=4, padding_mode='reflect')", IMAGE),
    row("nn.Conv3d(2, 3, 3, padding=1)", VOLUME),
    row("nn.Conv3d(2, 3, (1, 2, 3), stride=2)", VOLUME),
    row("nn.ConvTranspose1d(4, 6, 3)", LINE),
    row("nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2)", LINE),
    row("nn.ConvTranspose2d(4, 3, 3, stride=2, bias=False)", IMAGE),
    row("nn.ConvTranspose2d(4, 3, 3, dilation=2)", IMAGE),
    row("nn.ConvTranspose3d(2, 3, 2)", VOLUME),
    row("nn.Fold((4, 5), 2)", floats(2, 12, 12)),
    row("nn.Unfold(2, dilation=1, padding=1, stride=2)", IMAGE),
]
POOLS = [
    row("nn.MaxPool1d(2)", LINE),
    row("nn.MaxPool1d(3, stride=2, padding=1, return_indices=True)", LINE),
    row("nn.MaxPool2d(2, ceil_mode=True)", IMAGE),
    row("nn.MaxPool2d((2, 3), stride=1, dilation=2)", IMAGE),
    row("nn.MaxPool3d(2)", VOLUME),
    row("nn.AvgPool1d(3, 2, 1)", LINE),
    row("nn.AvgPool2d(2, count_include_pad=False, padding=1)", IMAGE),
    row("nn.AvgPool2d(3, divisor_override=5)", IMAGE),
    row("nn.AvgPool3d(2)", VOLUME),
    row("nn.LPPool1d(2, 3)", positive(2, 4, 9)),
    row("nn.LPPool2d(3, 2, stride=1)", positive(2, 4, 6, 7)),
    row("nn.LPPool3d(2, 2)", positive(1, 2, 5, 6, 7)),
    row("nn.AdaptiveAvgPool1d(4)", LINE),
    row("nn.AdaptiveAvgPool2d((3, None))", IMAGE),
    row("nn.AdaptiveAvgPool3d(2)", VOLUME),
    row("nn.AdaptiveMaxPool1d(4, return_indices=True)", LINE),
    row("nn.AdaptiveMaxPool2d((3, 2))", IMAGE),
    row("nn.AdaptiveMaxPool3d(2)", VOLUME),
    row("nn.FractionalMaxPool2d(2, output_size=(3, 4))", IMAGE),
    row("nn.FractionalMaxPool2d(2, output_ratio=0.5, return_indices=True)", IMAGE),
    row("nn.FractionalMaxPool3d(2, output_size=2)", VOLUME),
    row("nn.MaxUnpool1d(2)", floats(1, 2, 3), np.array([[[0, 3, 4], [1, 2, 5]]])),
    row("nn.MaxUnpool2d(2)", floats(1, 1, 2, 2), np.array([[[[0, 3], [8, 11]]]])),
    row("nn.MaxUnpool3d(2)", floats(1, 1, 1, 1, 2), np.array([[[[[0, 6]]]]])),
]
LINES = ("Reflection", "Replication", "Circular")
PADS = [
    *[row(f"nn.{kind}Pad1d((2, 1))", LINE) for kind in (*LINES, "Zero")],
    *[row(f"nn.{kind}Pad2d((2, 1, 0, 3))", IMAGE) for kind in (*LINES, "Zero")],
    *[row(f"nn.{kind}Pad3d(1)", VOLUME) for kind in (*LINES, "Zero")],
    row("nn.ConstantPad1d(2, 3.5)", LINE),
    row("nn.ConstantPad2d((1, -1, 2, 0), 3.5)", IMAGE),
    row("nn.ConstantPad3d(1, 0.5)", VOLUME),
    row("nn.PixelShuffle(2)", IMAGE),
    row("nn.PixelUnshuffle(3)", floats(2, 1, 6, 9)),
    row("nn.ChannelShuffle(2)", IMAGE),
    row("nn.Upsample(scale_factor=2)", LINE),
    row("nn.Upsample((8, 9), mode='bicubic', align_corners=False)", IMAGE),
    row("nn.UpsamplingNearest2d(scale_factor=2)", IMAGE),
    row("nn.UpsamplingBilinear2d(size=(5, 9))", IMAGE),
]
STEPS, STATE = floats(5, 3, 4), floats(1, 3, 6)
RECURRENT = [
    row("nn.RNN(4, 6)", STEPS),
    row("nn.RNN(4, 6, 2, nonlinearity='relu', bidirectional=True, batch_first=True)", STEPS),
    row("nn.LSTM(4, 6, bias=False)", STEPS, STATE, STATE * 2, call="m(x[0], (x[1], x[2]))"),
    row("nn.LSTM(4, 6, 2, proj_size=3, dropout=0.5)", STEPS),
    row("nn.GRU(4, 6)", STEPS, STATE),
    row("nn.GRU(4, 6, bidirectional=True)", floats(5, 4)),
    row("nn.RNNCell(4, 6)", floats(3, 4)),
    row("nn.LSTMCell(4, 6)", floats(3, 4)),
    row("nn.GRUCell(4, 6, bias=False)", floats(3, 4), floats(3, 6)),
    row("nn.RNNBase('GRU', 4, 6)", call="torch.zeros(1)"),
    row("nn.RNNCellBase(4, 6, True, 3)", call="torch.zeros(1)"),
]
BAG = numbers(6, 7)
LOOKUPS = [
    row("nn.EmbeddingBag(6, 3)", BAG, np.array([0, 2, 5])),
    row("nn.EmbeddingBag(6, 3, mode='sum', padding_idx=2)", numbers(6, 2, 4)),
    row("nn.EmbeddingBag(6, 3, mode='max', include_last_offset=True)", BAG, np.array([0, 4, 7])),
]
QUERY, KEY, WIDE = floats(2, 3, 4), floats(2, 5, 4), floats(2, 5, 6)
EARLY = "torch.nn.Transformer.generate_square_subsequent_mask"
ATTENTION = [
    row("nn.MultiheadAttention(4, 2)", QUERY, call="m(x[0], x[0], x[0])"),
    row("nn.MultiheadAttention(4, 2, batch_first=True)", QUERY, KEY, call="m(x[0], x[1], x[1])"),
    row("nn.MultiheadAttention(4, 1, bias=False)", floats(3, 4), call="m(x[0], x[0], x[0])"),
    row(
        "nn.MultiheadAttention(4, 2, kdim=6, vdim=4, batch_first=True)",
        *(QUERY, WIDE, KEY, padding_mask(2, 5, 3, 5)),
        call="m(*x[:3], key_padding_mask=x[3])",
    ),
    row(
        "nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True, batch_first=True)",
        *(QUERY, KEY, padding_mask(2, 5, 3, 5)),
        call="m(x[0], x[1], x[1], key_padding_mask=x[2], average_attn_weights=False)",
    ),
    row(
        "nn.MultiheadAttention(4, 2, dropout=0.4)",
        floats(3, 2, 4),
        call=f"m(x[0], x[0], x[0], attn_mask={EARLY}(3), need_weights=False, is_causal=True)",
    ),
    row(
        "nn.MultiheadAttention(4, 2, dtype=torch.float64)",
        floats(3, 2, 4).astype(np.float64),
        call="m(x[0], x[0], x[0], attn_mask=torch.eye(3) > 0, need_weights=False)",
    ),
]
LAYER = "nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)"
BACK = "nn.TransformerDecoderLayer(4, 2, 8, batch_first=True)"
SHORT = padding_mask(2, 5, 3, 5)
TRANSFORMERS = [
    row("nn.TransformerEncoderLayer(4, 2, 8)", QUERY),
    row("nn.TransformerEncoderLayer(4, 2, 8, 0.3, 'gelu', norm_first=True)", QUERY),
    row("nn.TransformerEncoderLayer(4, 2, 8, 0.0, nn.SiLU(), 1e-3, bias=False)", QUERY),
    row(LAYER, KEY, SHORT, call="m(x[0], src_key_padding_mask=x[1])"),
    row(LAYER, KEY, SHORT, call=f"m(x[0], {EARLY}(5).isinf(), x[1], is_causal=True)"),
    row("nn.TransformerDecoderLayer(4, 2, 8)", floats(3, 2, 4), floats(5, 2, 4)),
    row("nn.TransformerDecoderLayer(4, 2, 8, 0.2, torch.tanh, norm_first=True)", QUERY, QUERY * 2),
    row(BACK, QUERY, KEY, SHORT, call=f"m(x[0], x[1], {EARLY}(3), memory_key_padding_mask=x[2])"),
    row(f"nn.TransformerEncoder({LAYER}, 2)", KEY),
    row(
        f"nn.TransformerEncoder({LAYER}, 2, nn.LayerNorm(4))",
        KEY,
        SHORT,
        call="m(x[0], None, x[1])",
    ),
    row(f"nn.TransformerEncoder({LAYER}, 2)", KEY, call=f"m(x[0], {EARLY}(5))"),
    row(f"nn.TransformerEncoder({LAYER}, 1, enable_nested_tensor=False)", floats(5, 4)),
    row(f"nn.TransformerDecoder({BACK}, 2)", QUERY, KEY),
    row(
        f"nn.TransformerDecoder({BACK}, 2, nn.LayerNorm(4))", QUERY, KEY, call=f"m(*x, {EARLY}(3))"
    ),
    row("nn.Transformer(4, 2, 1, 2, 8)", floats(3, 2, 4), floats(5, 2, 4)),
    row(
        "nn.Transformer(4, 2, 2, 1, 8, 0.1, 'gelu', batch_first=True, norm_first=True)",
        *(KEY, QUERY, SHORT),
        call=f"m(x[0], x[1], None, {EARLY}(3), None, x[2], None, x[2])",
    ),
    row(
        "nn.Transformer(4, 2, custom_encoder=nn.Identity(), num_decoder_layers=1, bias=False)",
        *(floats(3, 2, 4), floats(5, 2, 4)),
        call="m.decoder(x[0], x[1])",
    ),
]
CLASSES = np.array([0, 7, 3, 9, 2])
OTHERS = [
    row("nn.LocalResponseNorm(3)", IMAGE),
    row("nn.LocalResponseNorm(2, alpha=0.1, beta=0.6, k=2.0)", LINE),
    *[row(f"nn.CrossMapLRN2d({size}, 0.1, 0.6, 2)", IMAGE) for size in (2, 3, 4, 5, 9)],
    row("nn.SyncBatchNorm(4)", IMAGE),
    row("nn.SyncBatchNorm(4, momentum=None, bias=False)", LINE),
    row("nn.SyncBatchNorm(4, affine=False, track_running_stats=False)", LINE),
    row("nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(4)))", LINE),
    row("nn.AdaptiveLogSoftmaxWithLoss(6, 10, [2, 5], 2.0)", floats(5, 6), CLASSES),
    row("nn.AdaptiveLogSoftmaxWithLoss(6, 10, [4], head_bias=True)", floats(5, 6), CLASSES),
    row("nn.AdaptiveLogSoftmaxWithLoss(6, 10, [2, 5], 2.0)", floats(6), np.array(7)),
    row("nn.AdaptiveLogSoftmaxWithLoss(6, 10, [2, 5], 2.0)", floats(5, 6), call="m.log_prob(x[0])"),
    row("nn.AdaptiveLogSoftmaxWithLoss(6, 10, [2, 5], 2.0)", floats(50, 6), call="m.predict(x[0])"),
    row("nn.LinearCrossEntropyLoss(6, 10)", floats(5, 6), CLASSES),
    row("nn.LinearCrossEntropyLoss(6, 10, bias=True, reduction='none')", floats(6), np.array(7)),
    row(
        "nn.LinearCrossEntropyLoss(6, 4, out_features=(2,), bias=True)",
        floats(3, 6),
        floats(3, 4, 2),
    ),
    row(
        "nn.LinearCrossEntropyLoss(6, 10, weight=torch.arange(10.0), label_smoothing=0.1, "
        "ignore_index=3)",
        *(floats(5, 6), CLASSES),
    ),
    *[
        row(
            f"nn.LinearCrossEntropyLoss(6, 10, bias={bias}, reduction={reduction!r}, "
            "ignore_index=3, options=nn.LinearCrossEntropyOptions(batch_chunk_size=2))",
            *(floats(5, 6), CLASSES),
        )
        for bias in (False, True)
        for reduction in ("mean", "sum", "none")
    ],
    row("nn.NLLLoss2d()", floats(2, 4, 3, 2), numbers(4, 2, 3, 2)),
    row("nn.Container(a=nn.Linear(3, 2))", floats(5, 3), call="m.a(x[0])"),
    row("nn.DataParallel(nn.Linear(3, 2))", floats(5, 3)),
]
CONTAINERS = [
    row("nn.ModuleList([nn.Linear(3, 2)])", floats(5, 3), call="m[0](x[0])"),
    row("nn.ModuleDict({'a': nn.Linear(3, 2)})", floats(5, 3), call="m['a'](x[0])"),
    row("nn.ParameterList([torch.ones(3)])", floats(5, 3), call="m[0] * x[0]"),
    row("nn.ParameterDict({'a': torch.ones(3)})", floats(5, 3), call="m['a'] * x[0]"),
    row("nn.Module()", call="torch.zeros(1)"),
]
LAZY = [
    row("nn.LazyLinear(3)", floats(5, 4)),
    *[row(f"nn.LazyConv{n}d(3, 2)", each) for n, each in enumerate((LINE, IMAGE, VOLUME), 1)],
    *[
        row(f"nn.LazyConvTranspose{n}d(3, 2)", each)
        for n, each in enumerate((LINE, IMAGE, VOLUME), 1)
    ],
    *[row(f"nn.LazyBatchNorm{n}d()", each) for n, each in enumerate((LINE, IMAGE, VOLUME), 1)],
    *[
        row(f"nn.LazyInstanceNorm{n}d(affine=True)", each)
        for n, each in enumerate((LINE, IMAGE, VOLUME), 1)
    ],
]
ROWS = [
    *CONVOLUTIONS,
    *POOLS,
    *PADS,
    *RECURRENT,
    *LOOKUPS,
    *ATTENTION,
    *TRANSFORMERS,
    *OTHERS,
    *CONTAINERS,
]
SETTLED = [each for each in ROWS if "RNNBase" not in each.text and "CellBase" not in each.text]


# ---------------------------------------------------------------------------------- how a row runs


def made(library, text):
    """Return the module, and what its making warned of."""
    library.manual_seed(42)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module = eval(text, {"nn": library.nn, "torch": library})
    return module, [(each.category, str(each.message)) for each in caught]


def tensors_in(result):
    if isinstance(result, tuple | list):
        return [each for part in result for each in tensors_in(part)]
    return [] if result is None else [result]


def is_floating(value):
    return np.issubdtype(np.asarray(value).dtype, np.floating)


def run(library, module, given, call):
    """Return the outputs and the gradients of inputs and parameters under fixed cotangents."""
    inputs = [
        library.tensor(np.asarray(each), requires_grad=is_floating(each) and "Loss(" not in call)
        for each in given
    ]
    module.zero_grad()
    library.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outputs = tensors_in(eval(call, {"m": module, "x": inputs, "torch": library}))
    draw = np.random.default_rng(5)
    wanted = [each for each in outputs if each.requires_grad]
    starts = [library.tensor(draw.normal(size=tuple(each.shape))).to(each.dtype) for each in wanted]
    if wanted:
        library.autograd.backward(wanted, starts)
    grads = {f"input {nr}": each.grad for nr, each in enumerate(inputs)}
    grads |= {name: param.grad for name, param in module.named_parameters()}
    return outputs, {name: grad for name, grad in grads.items() if grad is not None}


def node_names(case, outputs):
    if case.text.startswith(("nn.RNN(", "nn.GRU(")):
        return None  # a whole layer is one operator here; PyTorch has many steps
    return [type(each.grad_fn).__name__ if each.requires_grad else None for each in outputs]


@pytest.mark.parametrize("case", [*ROWS, *LAZY], ids=lambda case: f"{case.text} {case.call}")
def test_module(case):
    (ours, our_warnings), (theirs, their_warnings) = made(HERE, case.text), made(torch, case.text)
    assert our_warnings == their_warnings
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for nr in range(2):
        for mode in (True, False):
            ours.train(mode)
            theirs.train(mode)
            our_outputs, our_grads = run(HERE, ours, case.inputs, case.call)
            their_outputs, their_grads = run(torch, theirs, case.inputs, case.call)
            assert node_names(case, our_outputs) == node_names(case, their_outputs)
            for one, other in zip(our_outputs, their_outputs, strict=True):
                assert_close(one, other, rtol=2e-5, atol=2e-6)
            assert our_grads.keys() == their_grads.keys()
            for name, grad in their_grads.items():
                assert_close(our_grads[name], grad, rtol=1e-4, atol=1e-5)
        assert repr(ours) == repr(theirs), nr
        assert ours.state_dict()._metadata == theirs.state_dict()._metadata
        for name, value in theirs.state_dict().items():
            assert_close(ours.state_dict()[name], value, rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", SETTLED, ids=lambda case: f"{case.text} {case.call}")
def test_copies_and_pickles_compute_the_same(case):
    module, _ = made(HERE, case.text)
    expected, grads = run(HERE, module.eval(), case.inputs, case.call)
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert repr(twin) == repr(module)
        found, found_grads = run(HERE, twin, case.inputs, case.call)
        for one, other in zip(found, expected, strict=True):
            assert one.tolist() == other.tolist()
        assert {k: v.tolist() for k, v in found_grads.items()} == {
            k: v.tolist() for k, v in grads.items()
        }


def test_every_module_has_a_row():
    texts = [each.text for each in (*ROWS, *LAZY)] + [text for text, _ in SIMPLE]
    named = {name for text in texts for name in re.findall(r"nn\.(\w+)", text)}
    classes = {
        name
        for name in nn.__all__
        if inspect.isclass(getattr(nn, name)) and issubclass(getattr(nn, name), nn.Module)
    }
    assert classes - named == set()


def test_no_module_is_missing():
    theirs = {
        name
        for name in dir(torch.nn)
        if inspect.isclass(getattr(torch.nn, name))
        and issubclass(getattr(torch.nn, name), torch.nn.Module)
    }
    assert {name for name in theirs if not hasattr(nn, name)} == set()


# ------------------------------------------------------------------------------ errors and warnings

SAID = [
    "nn.MultiheadAttention(0, 2)",
    "nn.MultiheadAttention(4, -2)",
    "nn.MultiheadAttention(5, 2)",
    "nn.MultiheadAttention(4, 2)(*[torch.ones(2, 2, 2, 4)] * 3)",
    "nn.MultiheadAttention(4, 2)(*[torch.ones(2, 2, 5)] * 3)",
    "nn.MultiheadAttention(4, 2)(*[torch.ones(3, 4)] * 3, attn_mask=torch.ones(3, 3).int())",
    "nn.MultiheadAttention(4, 2)(*[torch.ones(3, 4)] * 3, attn_mask=torch.ones(5, 5))",
    "nn.MultiheadAttention(4, 2)(*[torch.ones(3, 4)] * 3, is_causal=True)",
    "nn.MultiheadAttention(4, 2, batch_first=True)(torch.ones(2, 3, 4), *[torch.ones(3, 4)] * 2)",
    "nn.MultiheadAttention(4, 2).merge_masks(None, None, torch.ones(2, 3, 4))",
    "nn.MultiheadAttention(4, 2).merge_masks(None, torch.ones(2, 3), torch.ones(2, 3, 4))",
    "nn.MultiheadAttention(4, 2).merge_masks(torch.ones(3, 3), None, torch.ones(2, 3, 4))",
    "nn.MultiheadAttention(4, 2).merge_masks("
    "torch.ones(4, 3, 3), torch.ones(2, 3), torch.ones(2, 3, 4))",
    "nn.MultiheadAttention(4, 2).merge_masks("
    "torch.eye(3) > 0, torch.eye(3)[:2] > 0, torch.ones(2, 3, 4))",
    "nn.TransformerEncoderLayer(4, 2, activation='tanh')",
    "nn.TransformerEncoderLayer(5, 2)",
    "nn.TransformerEncoderLayer(4, 2, 8)(torch.ones(3, 4), torch.ones(3, 3).int())",
    "nn.TransformerEncoderLayer(4, 2, 8)(torch.ones(3, 4), None, torch.ones(3).int())",
    "nn.TransformerEncoderLayer(4, 2, 8).activation_relu_or_gelu",
    "nn.TransformerEncoderLayer(4, 2, 8, activation=nn.GELU()).activation_relu_or_gelu",
    "nn.TransformerEncoderLayer(4, 2, 8, activation=torch.relu).activation_relu_or_gelu",
    *[
        f"nn.TransformerEncoder(nn.TransformerEncoderLayer(4, {heads}, 8{options}), 1)"
        for heads, options in [
            (2, ""),
            (1, ", batch_first=True"),
            (2, ", batch_first=True"),
            (2, ", batch_first=True, norm_first=True"),
            (2, ", batch_first=True, bias=False"),
            (2, ", batch_first=True, activation=torch.tanh"),
            (1, ", bias=False, activation=torch.tanh"),
        ]
    ],
    "nn.TransformerEncoder(nn.Linear(2, 2), 2)",
    "nn.TransformerEncoder(nn.Linear(2, 2), 2, enable_nested_tensor=False)",
    "nn.TransformerEncoder(nn.Linear(2, 2), 2)(torch.ones(2, 2))",
    "nn.TransformerEncoder(3, 1)",
    "nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 0)(torch.ones(3, 4))",
    "nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 1)("
    "torch.ones(3, 4), torch.ones(3, 3).int())",
    "nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 1)("
    "torch.ones(3, 4), is_causal=True)",
    "nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8), 1)("
    "torch.ones(3, 4), torch.ones(3, 4), torch.ones(3, 3).int())",
    "nn.TransformerDecoder(3, 1)",
    "nn.Transformer(4, 2, 1, 1, 8)(torch.ones(3, 2, 4), torch.ones(3, 1, 4))",
    "nn.Transformer(4, 2, 1, 1, 8, batch_first=True)(torch.ones(3, 2, 4), torch.ones(2, 2, 4))",
    "nn.Transformer(4, 2, 1, 1, 8)(torch.ones(3, 2, 5), torch.ones(3, 2, 5))",
    "nn.Transformer.generate_square_subsequent_mask(3)",
    "nn.Transformer.generate_square_subsequent_mask(0)",
    "nn.Transformer.generate_square_subsequent_mask(-1)",
    "nn.Transformer.generate_square_subsequent_mask(3, dtype=torch.float64)",
    "nn.Transformer.generate_square_subsequent_mask(3, dtype=torch.int32)",
    *[
        f"nn.AdaptiveLogSoftmaxWithLoss(4, 10, {cutoffs})"
        for cutoffs in ("[]", "[5, 2]", "[10]", "[0]", "[2, 2]", "[2.5]", "(2, 5)", "[2, 5], 5")
    ],
    *[
        f"nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2, 5], 2.0)({arguments})"
        for arguments in (
            "torch.ones(3, 8), torch.tensor([0, 3])",
            "torch.ones(2, 8), torch.tensor([0, 10])",
            "torch.ones(2, 8), torch.tensor([0, -1])",
            "torch.ones(2, 8), torch.tensor([[0, 1]])",
            "torch.ones(2, 8), torch.tensor(1)",
            "torch.ones(8), torch.tensor([1])",
            "torch.ones(1, 2, 8), torch.tensor([1])",
        )
    ],
    "nn.CrossMapLRN2d(3)(torch.ones(2, 3, 4))",
    "nn.CrossMapLRN2d(0)(torch.ones(2, 3, 4, 4))",
    "nn.CrossMapLRN2d(1)(torch.ones(1, 1, 1, 1, requires_grad=True)).sum().backward()",
    "nn.SyncBatchNorm(2)(torch.ones(2))",
    "nn.SyncBatchNorm(2)(torch.ones(2, 0, 2))",
    "nn.Container(a=3)",
    "type('Mine', (nn.Container,), {})()",
    *[
        f"nn.LinearCrossEntropyOptions({arguments})"
        for arguments in (
            "",
            "True, 3, None, 'compact', torch.float32",
            "batch_chunk_size=0",
            "batch_chunk_size=2.5",
            "chunking_method='x'",
            "chunking_method='aspect_ratio:3'",
            "chunking_method='aspect_ratio:0'",
            "chunking_method='aspect_ratio: 2'",
            "acc_policy='x'",
            "acc_dtype=torch.int32",
        )
    ],
    "nn.LinearCrossEntropyLoss(4, 5, weight=torch.ones(3))",
    "nn.LinearCrossEntropyLoss(4, 5, label_smoothing=2.0)",
    "nn.LinearCrossEntropyLoss(4, 5, out_features=3)",
    "nn.LinearCrossEntropyLoss(4, 5)(torch.ones(2, 3, 4), torch.ones(2).long())",
    "nn.LinearCrossEntropyLoss(4, 5, ignore_index=1)(torch.ones(3, 4), torch.ones(3, 5))",
    *[
        f"nn.functional.linear_cross_entropy({arguments})"
        for arguments in (
            "torch.ones(3, 4), torch.ones(5, 3), torch.ones(3).long()",
            "torch.ones(3, 4), torch.ones(4), torch.ones(3).long()",
            "torch.ones(3, 4), torch.ones(5, 4), torch.ones(3).long(), linear_bias=torch.ones(2)",
            "torch.ones(4), torch.ones(5, 2, 4), torch.ones(2).long()",
            "torch.ones(3, 4), torch.ones(5, 4), torch.ones(3).long(), reduction='x'",
            "torch.ones(3, 4), torch.ones(5, 4), torch.ones(3).int()",
            "torch.ones(3, 4), torch.ones(5, 4), torch.ones(3).long(), label_smoothing=-1.0",
            "torch.ones(3, 4), torch.ones(5, 4), torch.ones(3, 5), "
            "options=nn.LinearCrossEntropyOptions()",
        )
    ],
    "nn.factory_kwargs(None)",
    "nn.factory_kwargs({'device': 'cpu', 'factory_kwargs': {'dtype': torch.float64}})",
    "nn.factory_kwargs({'a': 1})",
    "nn.factory_kwargs({'device': 'cpu', 'factory_kwargs': {'device': 1}})",
    "nn.grad.conv1d_input((1, 1, 4), torch.ones(1, 1, 2), torch.ones(1, 1, 3))",
    "nn.grad.conv2d_weight(torch.ones(1, 4, 6, 6), [4, 2, 3, 3], torch.ones(1, 4, 4, 2), "
    "stride=(1, 2), groups=2)",
    "nn.grad.conv3d_input((1, 1, 2, 2, 2), torch.ones(1, 1, 1, 1, 1), torch.ones(1, 1, 2, 2, 2))",
    "nn.grad.conv2d_input((1, 4), torch.ones(4, 2, 3, 3), torch.ones(1, 4, 4, 2))",
]


@pytest.mark.parametrize("text", SAID)
def test_same_result_error_and_warning(text):
    for library in (HERE, torch):
        library.manual_seed(0)
    assert outcome(HERE, text) == outcome(torch, text)
