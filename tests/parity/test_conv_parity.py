"""Convolutional layers and functions, the same on taper and on PyTorch."""

from __future__ import annotations

import copy
import pickle
import types
import warnings

import numpy as np
import pytest
import torch

import taper

HERE = types.SimpleNamespace(
    **{name: getattr(taper, name) for name in dir(taper) if not name.startswith("__")}
    | {"nn": taper.nn}
)


def normal(*shape, dtype=np.float64):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def close(ours, theirs, tolerance=1e-9):
    assert (ours is None) == (theirs is None)
    if theirs is None:
        return
    assert str(ours.dtype) == str(theirs.dtype)
    assert tuple(ours.shape) == tuple(theirs.shape)
    ours, theirs = (each.detach().numpy() for each in (ours, theirs))
    np.testing.assert_allclose(ours, theirs, tolerance, tolerance * max(1, np.abs(theirs).max()))


# --- layers ----------------------------------------------------------------------------------

LAYERS = [
    ("nn.Conv1d(4, 6, 3)", (2, 4, 9)),
    ("nn.Conv1d(4, 6, 3, padding='same', bias=False)", (4, 9)),
    ("nn.Conv1d(4, 6, 3, padding=2, padding_mode='circular')", (2, 4, 9)),
    ("nn.Conv2d(4, 6, 3)", (2, 4, 7, 8)),
    ("nn.Conv2d(4, 6, (3, 2), stride=2, padding=1, dilation=2, groups=2)", (2, 4, 7, 8)),
    ("nn.Conv2d(4, 4, 3, padding=1, groups=4)", (2, 4, 7, 8)),
    ("nn.Conv2d(4, 6, 3, padding=(1, 2), padding_mode='reflect')", (2, 4, 7, 8)),
    ("nn.Conv2d(4, 6, 3, padding='same', padding_mode='replicate')", (4, 7, 8)),
    ("nn.Conv2d(4, 6, (4, 2), padding='same', padding_mode='circular')", (2, 4, 7, 8)),
    ("nn.Conv2d(4, 6, [3, 2], padding='valid')", (2, 4, 7, 8)),
    ("nn.Conv2d(4, 6, 1, dtype=torch.float64)", (2, 4, 7, 8)),
    ("nn.Conv3d(2, 4, 2, padding=(1, 0, 1))", (2, 2, 3, 4, 5)),
    ("nn.Conv3d(2, 4, 3, padding=1, padding_mode='replicate', groups=2)", (2, 2, 3, 4, 5)),
    ("nn.ConvTranspose1d(4, 6, 3, stride=2, output_padding=1)", (2, 4, 5)),
    ("nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, groups=2)", (2, 4, 5, 4)),
    ("nn.ConvTranspose2d(4, 6, (2, 3), dilation=2, bias=False)", (4, 5, 4)),
    ("nn.ConvTranspose3d(2, 4, 2, stride=(1, 2, 1))", (2, 2, 3, 2, 3)),
    ("nn.Fold((4, 5), 2, stride=1)", (2, 12, 12)),
    ("nn.Unfold((2, 3), padding=1)", (2, 3, 4, 5)),
]


def made(library, text):
    library.manual_seed(3)
    return eval(text, {"nn": library.nn, "torch": library})


@pytest.mark.parametrize(("text", "shape"), LAYERS, ids=[text for text, _ in LAYERS])
def test_layer(text, shape):
    outcomes = []
    for library in (HERE, torch):
        layer = made(library, text)
        dtype = np.float64 if "float64" in text else np.float32
        x = library.from_numpy(normal(*shape, dtype=dtype)).requires_grad_()
        y = layer(x)
        y.square().sum().backward()
        grads = [x.grad, *[each.grad for each in layer.parameters()]]
        outcomes.append((repr(layer), y, grads, layer.state_dict(), type(y.grad_fn).__name__))
    (ours, y, grads, state, node), (theirs, y_, grads_, state_, node_) = outcomes
    assert (ours, node, list(state)) == (theirs, node_, list(state_))
    for one, other in zip([y, *grads], [y_, *grads_], strict=True):
        close(one, other, 1e-5)
    for name, value in state_.items():
        np.testing.assert_array_equal(state[name].numpy(), value.numpy())


@pytest.mark.parametrize("text", [text for text, _ in LAYERS])
def test_layer_copies_and_pickles(text):
    layer = made(HERE, text)
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert repr(twin) == repr(layer)
        for name, value in layer.state_dict().items():
            assert twin.state_dict()[name].tolist() == value.tolist()


REFUSED = [
    "nn.Conv2d(4, 6, 3, groups=0)",
    "nn.Conv2d(4, 6, 3, groups=3)",
    "nn.Conv2d(4, 6, 3, groups=4)",
    "nn.Conv2d(0, 6, 3)",
    "nn.Conv2d(-1, 6, 3)",
    "nn.Conv2d(4, 6, 3, padding='same', stride=2)",
    "nn.Conv2d(4, 6, 3.0)",
    "nn.ConvTranspose2d(4, 6, 3, padding_mode='reflect')",
    "nn.Conv2d(4, 6, 3)(torch.zeros(4, 5))",
    "nn.Conv2d(4, 6, 3)(torch.zeros(1, 3, 5, 5))",
    "nn.Conv2d(4, 6, (3, 3, 3))(torch.zeros(1, 4, 5, 5))",
    "nn.Conv2d(1, 1, 3, padding=4, padding_mode='reflect')(torch.zeros(1, 1, 4, 4))",
    *[
        f"nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1)(torch.zeros(1, 4, 5, 5), {size})"
        for size in ((8, 10), (12, 10), (12,), [1, 6, 10, 11], (9, 10), (6, 9, 9))
    ],
    "nn.ConvTranspose1d(4, 6, 3, stride=2)(torch.zeros(4, 5), [12, 3])",
    "nn.ConvTranspose1d(4, 6, 3, stride=2)(torch.zeros(4, 5), [6, 12]).shape",
]


@pytest.mark.parametrize("text", REFUSED)
def test_errors_and_warnings(text):
    def outcome(library):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = eval(text, {"nn": library.nn, "torch": library})
                found = str(getattr(result, "shape", result))
            except Exception as error:
                found = (type(error).__name__, str(error))
        return found, [(each.category, str(each.message)) for each in caught]

    assert outcome(HERE) == outcome(torch)


# --- functions -------------------------------------------------------------------------------

# Large enough for several blocks; kernel, stride, padding, dilation and groups of all kinds.
LARGE = [
    (2, (64, 1, 28, 28), (6, 1, 5, 5), {}),
    (2, (64, 6, 14, 14), (16, 6, 5, 5), {}),
    (2, (5, 64, 32, 32), (64, 64, 3, 3), {"padding": 1}),
    (2, (3, 32, 33, 31), (16, 32, 3, 3), {"padding": 1, "stride": 2}),
    (2, (1, 3, 96, 96), (8, 3, 7, 7), {"padding": 3, "stride": 2}),
    (2, (4, 64, 28, 28), (32, 64, 1, 1), {}),
    (2, (4, 64, 29, 28), (32, 64, 1, 1), {"stride": 2}),
    (2, (4, 64, 28, 28), (64, 1, 3, 3), {"padding": 1, "groups": 64}),
    (2, (4, 16, 28, 28), (32, 8, 3, 2), {"padding": (2, 0), "dilation": (2, 3), "groups": 2}),
    (2, (1, 8, 300, 40), (4, 8, 3, 3), {"padding": 1}),
    (1, (4, 16, 3000), (8, 16, 25), {"padding": 12, "stride": 3}),
    (3, (2, 8, 9, 20, 20), (4, 8, 3, 3, 3), {"padding": 1, "stride": (1, 2, 1)}),
]


@pytest.mark.parametrize(("rank", "shape", "kernel", "settings"), LARGE, ids=str)
@pytest.mark.parametrize("transposed", [False, True], ids=["plain", "transposed"])
def test_values_and_gradients_of_large_ones(rank, shape, kernel, settings, transposed):
    name = f"conv_transpose{rank}d" if transposed else f"conv{rank}d"
    if transposed:
        shape = (min(shape[0], 4), kernel[0], *[length // 2 for length in shape[2:]])
    results = []
    for library in (taper, torch):
        x, w = (library.from_numpy(normal(*each)).requires_grad_() for each in (shape, kernel))
        outputs = kernel[1] * settings.get("groups", 1) if transposed else kernel[0]
        b = library.from_numpy(normal(outputs)).requires_grad_()
        y = getattr(library.nn.functional, name)(x, w, b, **settings)
        grad = library.from_numpy(normal(*y.shape))
        results.append([y, *library.autograd.grad(y, (x, w, b), grad)])
    for one, other in zip(*results, strict=True):
        close(one, other, 1e-10)


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2)], ids=str)
def test_second_gradients_of_what_is_needed(wanted):
    results = []
    for library in (taper, torch):
        arrays = normal(2, 4, 6, 5), normal(6, 2, 3, 2), normal(6)
        leaves = [library.from_numpy(each) for each in arrays]
        chosen = [leaves[number].requires_grad_() for number in wanted]
        y = library.nn.functional.conv2d(*leaves, stride=(1, 2), padding=1, groups=2)
        start = library.from_numpy(normal(*y.shape)).requires_grad_()
        first = library.autograd.grad(y, chosen, start, create_graph=True)
        node = first[0].grad_fn
        total = sum(each.square().sum() for each in first)
        found = library.autograd.grad(total, [*chosen, start], allow_unused=True)
        saved = sorted(each for each in dir(node) if each.startswith("_saved"))
        edges = [edge is None for edge, _ in node.next_functions]
        results.append((type(node).__name__, saved, edges, [*first, *found]))
    assert results[0][:3] == results[1][:3]
    for one, other in zip(results[0][3], results[1][3], strict=True):
        if one is None or other is None:  # PyTorch gives None or zeros at random
            assert all(each is None or not each.abs().sum() for each in (one, other))
        else:
            close(one, other)


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("transposed", [False, True], ids=["plain", "transposed"])
def test_channels_last_stays(rank, dtype, transposed):
    results = []
    for library in (taper, torch):
        kind = getattr(library, dtype)
        name = "channels_last" if rank == 2 else "channels_last_3d"
        layout = getattr(library, name)
        x = library.ones(2, 4, *[6] * rank).to(kind)
        w = library.ones(4, 4, *[3] * rank).to(kind)
        ending = f"_transpose{rank}d" if transposed else f"{rank}d"
        convolve = getattr(library.nn.functional, f"conv{ending}")
        last = x.to(memory_format=layout)
        found = [convolve(last, w), convolve(x, w.to(memory_format=layout))]
        if kind.is_floating_point:
            leaves = last.detach().requires_grad_(), w.requires_grad_()
            y = convolve(*leaves)
            found += library.autograd.grad(y, leaves, library.ones_like(y))
        results.append([tuple(each.stride()) for each in found])
    assert results[0] == results[1]


@pytest.mark.parametrize("kernel", [(4, 2), (4, 3), (1, 2)], ids=str)
def test_padding_of_one_side(kernel):
    """`same` with an even kernel: the odd place is padded in front, with a warning."""
    results = []
    for library in (taper, torch):
        x = library.from_numpy(normal(2, 3, 8, 8)).requires_grad_()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            w = library.from_numpy(normal(4, 3, *kernel))
            y = library.nn.functional.conv2d(x, w, padding="same")
        node = y.grad_fn
        before = node.next_functions[0][0]
        results.append((y, node._saved_padding, type(before).__name__, before._saved_pad))
    close(results[0][0], results[1][0])
    assert results[0][1:] == results[1][1:]


@pytest.mark.parametrize(
    ("shape", "kernel", "input_dtype", "weight_dtype", "settings"),
    [
        ((1, 4, 5, 5), (2, 4, 3, 3), "float32", "float64", {}),
        ((2, 4, 5, 5), (2, 4, 3, 3), "float32", "float64", {}),
        ((1, 4, 5, 5), (2, 4, 4, 4), "float32", "bfloat16", {}),
        ((1, 4, 5, 5), (2, 2, 3, 3), "float32", "float16", {"groups": 2}),
        ((2, 4, 5, 5), (2, 4, 3, 3), "float64", "float32", {}),
        ((1, 4, 5, 5), (2, 4, 3, 3), "complex64", "float32", {}),
        ((1, 4, 5, 5), (2, 4, 3, 3), "complex64", "bool", {}),
        ((1, 4, 5, 5), (2, 4, 3, 3), "int64", "float32", {}),
        ((1, 4, 9, 9), (2, 4, 3, 3), "int32", "int32", {"dilation": 2}),
        ((0, 4, 5, 5), (2, 4, 3, 3), "float32", "float64", {}),
    ],
)
def test_dtypes_that_differ(shape, kernel, input_dtype, weight_dtype, settings):
    def outcome(library):
        x = library.zeros(shape, dtype=getattr(library, input_dtype))
        w = library.zeros(kernel, dtype=getattr(library, weight_dtype))
        try:
            return str(library.nn.functional.conv2d(x, w, **settings).dtype)
        except Exception as error:
            return type(error).__name__, str(error)

    assert outcome(taper) == outcome(torch)
