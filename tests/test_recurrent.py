"""Recurrent networks: numbers of PyTorch, one operator for a layer, every kind of derivative."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import taper
from taper import nn
from taper.nn.utils.rnn import PackedSequence, pack_sequence, pad_packed_sequence, unpack_sequence
from taper.ops.recurrent import layers as recurrent

KINDS = ["LSTM", "GRU", "RNN"]


def network(kind, *args, **options):
    taper.manual_seed(0)
    return getattr(nn, kind)(*args, **options)


def close(found, expected, bound=1e-6):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=bound, atol=bound)


# --- numbers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "output", "gradient"),
    [
        (
            "LSTM",
            [0.046294, -0.168056, 0.049278, 0.133241],
            [0.023057, 0.009920, 0.007667, -0.003307],
        ),
        (
            "GRU",
            [-0.038400, 0.345029, -0.135323, -0.460347],
            [-0.028463, 0.020926, 0.130535, -0.019540],
        ),
        ("RNN", [0.115829, 0.173871, 0.417327, 0.017043], [-1.789099, -4.803974]),
    ],
)
def test_weights_dropout_and_gradients_are_those_of_pytorch(kind, output, gradient):
    model = network(kind, 2, 2, num_layers=2, dropout=0.5, bidirectional=True)
    y, _ = model(taper.linspace(-1, 1, 6).view(3, 1, 2))
    y.sum().backward()
    close(y[1].flatten().tolist(), output)
    close(model.bias_ih_l0.grad[:4].tolist(), gradient)


@pytest.mark.parametrize("kind", KINDS)
def test_a_cell_draws_its_weights_as_pytorch(kind):
    taper.manual_seed(1)
    cell = getattr(nn, f"{kind}Cell")(1, 1)
    expected = [0.515263, -0.441378, -0.193861, 0.469369][: len(cell.weight_ih)]
    close(cell.weight_ih.flatten().tolist(), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_a_network_is_its_cell_step_by_step(kind):
    model = network(kind, 3, 4, dtype=taper.float64)
    cell = getattr(nn, f"{kind}Cell")(3, 4, dtype=taper.float64)
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        setattr(cell, name, getattr(model, f"{name}_l0"))
    x = taper.randn(5, 2, 3, dtype=taper.float64)
    state, outputs = None, []
    for step in x:
        state = cell(step, state)
        outputs.append(state[0] if kind == "LSTM" else state)
    y, last = model(x)
    close(y.tolist(), taper.stack(outputs).tolist(), 1e-12)
    close((last[0] if kind == "LSTM" else last)[0].tolist(), y[-1].tolist(), 0)


# --- one operator ----------------------------------------------------------------------------


def by_steps(monkeypatch):
    monkeypatch.setattr(recurrent._Network, "fit", lambda *arguments: False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("packed", [False, True])
def test_the_operator_and_the_steps_agree(kind, packed, monkeypatch):
    model = network(kind, 3, 4, num_layers=2, bidirectional=True, dtype=taper.float64)
    x = taper.randn(5, 3, 3, dtype=taper.float64, requires_grad=True)
    leaves = [x, *model.parameters()]

    def results():
        pack = nn.utils.rnn.pack_padded_sequence
        y, last = model(pack(x, [2, 5, 4], enforce_sorted=False) if packed else x)
        outputs = [y.data if packed else y, *(last if kind == "LSTM" else [last])]
        total = sum((each.sin() * (nr + 1)).sum() for nr, each in enumerate(outputs))
        return [*outputs, *taper.autograd.grad(total, leaves)]

    whole = results()
    by_steps(monkeypatch)
    for one, other in zip(whole, results(), strict=True):
        close(one.tolist(), other.tolist(), 1e-12)


def nodes_of(tensor):
    found, pending = set(), [tensor.grad_fn]
    while pending:
        node = pending.pop()
        if node is not None and node not in found:
            found.add(node)
            pending += [each for each, _ in node.next_functions]
    return sorted(node.name() for node in found if "AccumulateGrad" not in node.name())


def test_a_layer_is_one_node():
    x = taper.ones(6, 2, 3)
    assert nodes_of(network("LSTM", 3, 4)(x)[0]) == ["MkldnnRnnLayerBackward0"]
    assert nodes_of(network("GRU", 3, 4)(x)[0]) == ["RnnLayerBackward0"]
    assert nodes_of(network("RNN", 3, 4, num_layers=2)(x)[0]) == ["RnnLayerBackward0"] * 2


@pytest.mark.parametrize("kind", ["GRU", "RNN"])
def test_outputs_may_be_overwritten(kind):
    model = network(kind, 2, 3)
    x = taper.ones(4, 1, 2, requires_grad=True)
    (model(x)[0] * 1).sum().backward()
    expected, x.grad = x.grad.clone(), None
    y = model(x)[0]
    y.mul_(1)
    y.sum().backward()
    close(x.grad.tolist(), expected.tolist())


def test_the_output_of_an_lstm_is_saved_as_in_pytorch():
    y = network("LSTM", 2, 3)(taper.ones(4, 1, 2))[0]
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_recorded_without_need(kind):
    model = network(kind, 2, 3)
    with taper.no_grad():
        assert model(taper.ones(4, 1, 2))[0].grad_fn is None
    model.requires_grad_(False)
    assert model(taper.ones(4, 1, 2))[0].grad_fn is None
    x = taper.ones(4, 1, 2, requires_grad=True)
    model(x)[0].sum().backward()
    assert x.grad is not None and all(each.grad is None for each in model.parameters())


def test_only_the_last_state_is_used():
    model = network("LSTM", 2, 3)
    x = taper.ones(4, 1, 2, requires_grad=True)
    _, (last, cells) = model(x)
    (cells.sum() * 2).backward()
    expected = x.grad.clone()
    assert expected[0].abs().sum() > 0
    x.grad = None
    output, (last, cells) = model(x)
    (cells * 2 + last * 0 + output[-1] * 0).sum().backward()
    close(x.grad.tolist(), expected.tolist())


# --- derivatives -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_first_and_second_derivatives_against_differences(kind):
    model = network(kind, 2, 2, bidirectional=True, dtype=taper.float64)
    x = taper.randn(3, 2, 2, dtype=taper.float64, requires_grad=True)

    def function(x, *weights):
        names = model._flat_weights_names
        return taper.func.functional_call(model, dict(zip(names, weights, strict=True)), (x,))[0]

    weights = [each.detach().clone().requires_grad_() for each in model.parameters()]
    assert taper.autograd.gradcheck(function, (x, *weights))
    assert taper.autograd.gradgradcheck(lambda x: function(x, *weights), (x,))


@pytest.mark.parametrize("kind", KINDS)
def test_third_derivative(kind):
    model = network(kind, 1, 2, dtype=taper.float64)
    x = taper.tensor(0.3, dtype=taper.float64, requires_grad=True)

    def value(x):
        return model(x.expand(3, 1, 1))[0].sum()

    found = value(x)
    for _ in range(3):
        (found,) = taper.autograd.grad(found, x, create_graph=True)
    at = [value(x.detach() + step * 1e-2).item() for step in (-2, -1, 1, 2)]
    close(found.item(), (-at[0] + 2 * at[1] - 2 * at[2] + at[3]) / 2e-6, 1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_forward_mode_and_transforms(kind):
    model = network(kind, 2, 3, dtype=taper.float64)
    x, v = taper.randn(2, 4, 1, 2, dtype=taper.float64)

    def total(x):
        return model(x)[0].sin().sum()

    gradient = taper.func.grad(total)(x)
    _, tangent = taper.func.jvp(total, (x,), (v,))
    close(tangent.item(), (gradient * v).sum().item(), 1e-12)
    batch = taper.stack([x, v])
    found = taper.func.vmap(taper.func.grad(total))(batch)
    close(found[0].tolist(), gradient.tolist(), 1e-12)
    x.requires_grad_()
    total(x).backward()
    close(x.grad.tolist(), gradient.tolist(), 1e-12)


def test_forward_over_a_reverse_pass_that_was_recorded_before():
    model = network("GRU", 2, 3, dtype=taper.float64)
    x = taper.randn(4, 1, 2, dtype=taper.float64, requires_grad=True)
    y = model(x)[0]
    start, direction = taper.randn(2, 4, 1, 3, dtype=taper.float64)
    with taper.autograd.forward_ad.dual_level():
        dual = taper.autograd.forward_ad.make_dual(start, direction)
        (found,) = taper.autograd.grad(y, x, dual, retain_graph=True)
        tangent = taper.autograd.forward_ad.unpack_dual(found).tangent
    (expected,) = taper.autograd.grad(y, x, direction)
    close(tangent.tolist(), expected.tolist(), 1e-12)


def test_checkpoint_and_saved_hooks():
    model = network("LSTM", 2, 3)
    x = taper.ones(4, 1, 2, requires_grad=True)
    model(x)[0].sum().backward()
    expected, x.grad = x.grad, None
    taper.utils.checkpoint.checkpoint(
        lambda x: model(x)[0].sum(), x, use_reentrant=False
    ).backward()
    close(x.grad.tolist(), expected.tolist())
    sizes = []
    with taper.autograd.graph.saved_tensors_hooks(
        lambda t: sizes.append(t.numel()) or t, lambda t: t
    ):
        model(x)
    assert sum(sizes) > 0


# --- modules ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "RNN(3, 4)",
        "GRU(3, 4, num_layers=2, bias=False, batch_first=True, dropout=0.5, bidirectional=True)",
        "LSTM(3, 4, proj_size=2)",
        "RNNCell(3, 4, bias=False, nonlinearity=relu)",
        "LSTMCell(3, 4)",
        "GRUCell(3, 4, bias=False)",
    ],
)
def test_repr(text):
    assert repr(eval("nn." + text.replace("=relu", "='relu'"))) == text


def test_parameters_have_the_names_and_order_of_pytorch():
    model = network("LSTM", 3, 4, num_layers=2, bidirectional=True, proj_size=2)
    kinds = ["weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr"]
    endings = ["l0", "l0_reverse", "l1", "l1_reverse"]
    assert list(model.state_dict()) == [f"{kind}_{end}" for end in endings for kind in kinds]
    assert [tuple(each.shape) for each in model.all_weights[2]] == [
        (16, 4),
        (16, 2),
        (16,),
        (16,),
        (2, 4),
    ]
    assert all(a is b for a, b in zip(model._flat_weights, model.parameters(), strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_copies_and_conversions(kind):
    model = network(kind, 2, 3)
    x = taper.ones(4, 1, 2)
    expected = model(x)[0].tolist()
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other(x)[0].tolist() == expected
        assert other.weight_ih_l0 is not model.weight_ih_l0
    fresh = network(kind, 2, 3)
    fresh.reset_parameters()
    fresh.load_state_dict(model.state_dict())
    assert fresh(x)[0].tolist() == expected
    assert model.double()(x.double())[0].dtype is taper.float64
    model.weight_hh_l0 = nn.Parameter(taper.zeros_like(model.weight_hh_l0))
    assert model._flat_weights[1] is model.weight_hh_l0
    model.flatten_parameters()


def test_dropout_with_one_layer_warns():
    with pytest.warns(
        UserWarning, match="dropout option adds dropout after all but last"
    ) as caught:
        nn.GRU(2, 3, dropout=0.5)
    assert caught[0].filename == __file__


def test_projections_warn_once():
    model = network("LSTM", 2, 3, proj_size=1)
    taper.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="LSTM with projections is not supported with oneDNN"):
            y, (last, cells) = model(taper.ones(4, 1, 2))
    finally:
        taper.set_warn_always(False)
    assert (y.shape, last.shape, cells.shape) == ((4, 1, 1), (1, 1, 1), (1, 1, 3))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: nn.GRU(3, 4)(taper.ones(3)), ValueError, "Expected input to be 2D or 3D, got 1D"),
        (lambda: nn.GRU(3, 4)(taper.ones(1, 2, 2)), RuntimeError, "Expected 3, got 2"),
        (lambda: nn.GRU(3, 4)(taper.ones(1, 2, 3).double()), ValueError, "does not match weight"),
        (lambda: nn.GRU(3, 4)(taper.ones(0, 2, 3)), RuntimeError, "sequence length"),
        (lambda: nn.GRU(3, 4, proj_size=1), ValueError, "only supported for LSTM"),
        (lambda: nn.LSTM(3, 4, proj_size=4), ValueError, "smaller than hidden_size"),
        (lambda: nn.RNN(3, 4, nonlinearity="a"), ValueError, "Unknown nonlinearity 'a'"),
        (lambda: nn.GRUCell(3, 4)(taper.ones(1, 2)), RuntimeError, "inconsistent input_size"),
    ],
)
def test_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call()


# --- packed sequences ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_packed_sequences_are_independent_of_each_other(kind):
    model = network(kind, 2, 3, num_layers=2, bidirectional=True, dtype=taper.float64)
    sequences = [taper.randn(length, 2, dtype=taper.float64) for length in (2, 5, 1, 5)]
    packed, last = model(pack_sequence(sequences, enforce_sorted=False))
    outputs = unpack_sequence(packed)
    for nr, sequence in enumerate(sequences):
        alone, state = model(sequence)
        close(outputs[nr].tolist(), alone.tolist(), 1e-12)
        pairs = zip(last, state, strict=True) if kind == "LSTM" else [(last, state)]
        for one, other in pairs:
            close(one[:, nr].tolist(), other.tolist(), 1e-12)


def test_packing_and_its_gradients():
    sequences = [taper.randn(length, 2, dtype=taper.float64) for length in (1, 3, 2)]
    padded = nn.utils.rnn.pad_sequence(sequences).requires_grad_()

    def pack(x):
        return nn.utils.rnn.pack_padded_sequence(x, [1, 3, 2], enforce_sorted=False).data

    packed = pack(padded)
    assert packed.grad_fn.name() == "PackPaddedSequenceBackward0"
    assert packed.grad_fn._saved_input_sym_sizes == (3, 3, 2)
    assert packed.grad_fn._saved_result1.tolist() == [3, 2, 1]
    assert taper.autograd.gradcheck(pack, padded, check_forward_ad=True)
    assert taper.autograd.gradgradcheck(lambda x: pack(x).sin(), padded)


def test_a_packed_sequence_is_a_named_tuple():
    packed = pack_sequence([taper.tensor([1.0]), taper.tensor([2.0, 3.0])], enforce_sorted=False)
    data, batch_sizes, order, back = packed
    assert data.tolist() == [2, 1, 3] and batch_sizes.tolist() == [2, 1]
    assert order.tolist() == back.tolist() == [1, 0]
    assert packed.to(taper.float32) is packed and packed.cpu() is packed
    assert packed.double().data.dtype is taper.float64 and packed.long().batch_sizes is batch_sizes
    again = pickle.loads(pickle.dumps(packed))
    assert isinstance(again, PackedSequence) and again.data.tolist() == [2, 1, 3]
    padded, lengths = pad_packed_sequence(packed, batch_first=True, total_length=3)
    assert padded.tolist() == [[1, 0, 0], [2, 3, 0]] and lengths.tolist() == [1, 2]
    with pytest.raises(AssertionError, match="CUDA"):
        packed.cuda()
