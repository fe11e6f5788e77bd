"""Recurrent networks and packed sequences against PyTorch: values, gradients, graphs, errors."""

from __future__ import annotations

import warnings

import pytest
import torch as pytorch

import taper
from both_packages import assert_same
from taper.ops.recurrent import layers as recurrent


def run(torch, make, kind, inputs=3, hidden=4, shape=(5, 2), hx=False, packed=None, **options):
    """Return a network on made input; its parameters count as leaves."""
    dtype = getattr(torch, make.dtype)
    network = getattr(torch.nn, kind)(inputs, hidden, dtype=dtype, **options)
    make.leaves += list(network.parameters())
    x = make(*shape, inputs)
    if packed is not None:
        x = torch.nn.utils.rnn.pack_padded_sequence(
            x,
            packed,
            batch_first=options.get("batch_first", False),
            enforce_sorted=packed == sorted(packed, reverse=True),
        )
    if not hx:
        found = network(x)
    else:
        batch = list(shape[:0] if len(shape) == 1 else shape[1:])
        if options.get("batch_first") and len(shape) == 2:
            batch = [shape[0]]
        lead = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
        state = make(lead, *batch, options.get("proj_size") or hidden)
        found = network(x, (state, make(lead, *batch, hidden)) if kind == "LSTM" else state)
    return [_plain(found[0]), found[1]]


def _plain(output):
    return output.data if hasattr(output, "batch_sizes") else output


OPTIONS = {
    "plain": {},
    "given state": {"hx": True},
    "no bias": {"bias": False},
    "batch first": {"batch_first": True, "hx": True},
    "both directions": {"bidirectional": True, "hx": True},
    "three layers, both directions": {"num_layers": 3, "bidirectional": True, "hx": True},
    "dropout": {"num_layers": 3, "dropout": 0.4, "bidirectional": True},
    "unbatched": {"shape": (5,), "hx": True},
    "unbatched, batch first": {"shape": (5,), "batch_first": True},
    "one step": {"shape": (1, 2)},
    "no sequences": {"shape": (3, 0)},
    "packed": {"packed": [5, 2], "hx": True},
    "packed, unsorted": {"packed": [1, 4, 4, 5], "shape": (5, 4), "hx": True},
    "packed, all": {
        "packed": [4, 4, 2, 1],
        "shape": (4, 5),
        "batch_first": True,
        "num_layers": 2,
        "bidirectional": True,
        "dropout": 0.3,
    },
}
KINDS = ("LSTM", "GRU", "RNN")


def program_of(kind, options):
    return lambda torch, make: run(torch, make, kind, **options)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OPTIONS)
def test_values_gradients_and_random_numbers(name, kind, dtype):
    assert_same(pytorch, program_of(kind, OPTIONS[name]), dtype, graph=False, strides=True)


@pytest.mark.parametrize("name", ["plain", "both directions", "packed"])
def test_relu(name):
    options = {"nonlinearity": "relu", **OPTIONS[name]}
    assert_same(pytorch, program_of("RNN", options), graph=False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex128"])
def test_other_dtypes(kind, dtype):
    def without_gradient(torch, make):
        with torch.no_grad():
            return program(torch, make)

    program = program_of(kind, {"hx": True})
    # The gradient of oneDNN's kernel for 16 bits ends the process on some processors.
    low = kind == "LSTM" and dtype != "complex128"
    # PyTorch rounds each step; taper rounds at the end.
    assert_same(pytorch, without_gradient if low else program, dtype, graph=False, factor=4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "options",
    [
        {"proj_size": 2, "hx": True},
        {"proj_size": 2, "num_layers": 2, "bidirectional": True, "batch_first": True, "hx": True},
        {"proj_size": 3, "packed": [5, 2]},
    ],
)
def test_projections(options, dtype):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recurrent, "warn_once", lambda text: None)
        program = program_of("LSTM", options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program(pytorch, _Warm())
        assert_same(pytorch, program, dtype)


class _Warm:
    """A maker for a first run, after which PyTorch has given its warning of projections."""

    def __init__(self):
        self.dtype, self.leaves = "float32", []

    def __call__(self, *shape):
        return pytorch.zeros(shape)


@pytest.mark.parametrize("name", [name for name in OPTIONS if "packed" not in name])
def test_a_layer_of_an_lstm_is_the_node_of_pytorch(name):
    if name != "no sequences":
        assert_same(pytorch, program_of("LSTM", OPTIONS[name]), "float32", saved=False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OPTIONS)
def test_steps_have_the_graph_of_pytorch(name, kind, monkeypatch):
    monkeypatch.setattr(recurrent._Network, "fit", lambda *arguments: False)
    assert_same(pytorch, program_of(kind, OPTIONS[name]), saved=False, strides=True)


def test_what_a_layer_saves_has_the_names_of_pytorch():
    nodes = []
    for torch in (taper, pytorch):
        torch.manual_seed(3)
        network = torch.nn.LSTM(2, 3)
        nodes.append(network(torch.ones(4, 1, 2, requires_grad=True))[0].grad_fn)
    ours, theirs = nodes
    names = {name for name in dir(theirs) if name.startswith("_saved_")}
    assert names == {name for name in dir(ours) if name.startswith("_saved_")}
    for name in sorted(names - {"_saved_result3"}):
        one, other = getattr(ours, name), getattr(theirs, name)
        if hasattr(other, "shape"):
            assert tuple(one.shape) == tuple(other.shape), name
        else:
            assert one == other, name


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["given state", "both directions", "packed"])
def test_second_derivatives(name, kind, dtype):
    def program(torch, make):
        outputs = run(torch, make, kind, **OPTIONS[name])
        flat = [outputs[0], *(outputs[1] if kind == "LSTM" else outputs[1:])]
        total = sum((each * each).sum() for each in flat)
        return torch.autograd.grad(total, make.leaves, create_graph=True)

    assert_same(pytorch, program, dtype, graph=False, factor=5)


@pytest.mark.parametrize("kind", ["LSTMCell", "GRUCell", "RNNCell"])
@pytest.mark.parametrize("batch", [(2,), ()])
@pytest.mark.parametrize("options", [{}, {"bias": False}, {"hx": True}])
def test_cells(kind, batch, options):
    options = dict(options)
    given = options.pop("hx", False)

    def program(torch, make):
        cell = getattr(torch.nn, kind)(3, 4, dtype=torch.float64, **options)
        make.leaves += list(cell.parameters())
        x = make(*batch, 3)
        if not given:
            return cell(x)
        state = make(*batch, 4)
        return cell(x, (state, make(*batch, 4)) if kind == "LSTMCell" else state)

    assert_same(pytorch, program)


def test_a_cell_with_relu():
    assert_same(
        pytorch,
        lambda t, m: t.nn.RNNCell(3, 4, nonlinearity="relu", dtype=t.float64)(m(2, 3)),
    )


# --- what is refused -------------------------------------------------------------------------


def wrong(kind, *shapes, options=None, dtype="float32"):
    """Return a network of 3 inputs and 4 units on an input and states of given shapes."""

    def program(torch, make):
        network = getattr(torch.nn, kind)(3, 4, **(options or {}))
        tensors = [torch.zeros(each, dtype=getattr(torch, dtype)) for each in shapes]
        states = tuple(tensors[1:]) if "LSTM" in kind else tensors[1] if tensors[1:] else None
        return network(tensors[0], states) if tensors[1:] else network(tensors[0])

    return program


def made(text):
    return lambda torch, make: repr(eval(text, {"nn": torch.nn, "torch": torch}))


def packed_into(kind, **options):
    def program(torch, make):
        data = torch.zeros(options.get("shape", (3, 2, 3)))
        packed = torch.nn.utils.rnn.pack_padded_sequence(data, [3, 1])
        network = getattr(torch.nn, kind)(options.get("inputs", 3), 4)
        if "hx" not in options:
            return network(packed)[1]
        state = torch.zeros(options["hx"])
        return network(packed, (state, state) if kind == "LSTM" else state)[1]

    return program


REFUSED = [
    *[wrong(kind, shape) for kind in KINDS for shape in ((2, 2, 2, 3), (3,), (2, 5, 2), (0, 5, 3))],
    *[wrong(kind, (2, 5, 3), dtype=dtype) for kind in KINDS for dtype in ("float64", "int64")],
    *[wrong(kind, (2, 0, 3), options={"batch_first": True}) for kind in KINDS],
    *[
        wrong(kind, (2, 5, 3), shape)
        for kind in ("GRU", "RNN")
        for shape in ((5, 4), (1, 4, 4), (2, 5, 4), (1, 5, 3))
    ],
    *[wrong(kind, (2, 3), (1, 5, 4)) for kind in ("GRU", "RNN")],
    *[
        wrong("LSTM", (2, 5, 3), one, other)
        for one, other in (
            ((5, 4), (5, 4)),
            ((1, 5, 4), (5, 4)),
            ((1, 4, 4), (1, 4, 4)),
            ((1, 5, 4), (1, 5, 3)),
        )
    ],
    wrong("LSTM", (2, 5, 3), (1, 5, 4), (1, 5, 4), (1, 5, 4)),
    wrong("LSTM", (2, 3), (1, 4), (1, 1, 4)),
    wrong("LSTM", (2, 5, 3), (1, 5, 4), (1, 5, 4), options={"proj_size": 2}),
    *[packed_into(kind, inputs=2) for kind in KINDS],
    *[packed_into(kind, shape=(3, 2, 2, 3)) for kind in KINDS],
    *[packed_into(kind, hx=shape) for kind in KINDS for shape in ((1, 3, 4), (2, 4))],
    *[
        wrong(kind, *shapes)
        for kind in ("GRUCell", "RNNCell")
        for shapes in (
            [(1, 2, 3)],
            [()],
            [(5, 2)],
            [(2,)],
            [(5, 3), (4, 4)],
            [(5, 3), (5, 3)],
            [(5, 3), (1, 5, 4)],
            [(5, 3), (4,)],
            [(3,), (1, 4)],
        )
    ],
    *[
        wrong("LSTMCell", *shapes)
        for shapes in (
            [(1, 2, 3)],
            [(5, 2)],
            [(5, 3), (4, 4), (4, 4)],
            [(5, 3), (5, 4), (5, 3)],
            [(5, 3), (1, 5, 4), (5, 4)],
            [(5, 3), (5, 4), (5, 4), (5, 4)],
        )
    ],
    *map(
        made,
        (
            "nn.LSTM(3, 4, dropout=0.5)",
            "nn.LSTM(3, 4, 2, dropout=1.5)",
            "nn.LSTM(3, 4, 2, dropout=True)",
            "nn.LSTM(3, 4, 2, dropout='a')",
            "nn.LSTM(3, 4.0)",
            "nn.LSTM(3.0, 4)",
            "nn.LSTM(3, 0)",
            "nn.LSTM(0, 4)",
            "nn.LSTM(3, 4, 0)",
            "nn.LSTM(3, 4, 1.5)",
            "nn.LSTM(3, 4, proj_size=-1)",
            "nn.LSTM(3, 4, proj_size=4)",
            "nn.LSTM(3, 4, proj_size=2, num_layers=2)",
            "nn.GRU(3, 4, proj_size=2)",
            "nn.RNN(3, 4, nonlinearity='x')",
            "nn.RNN(3, 4, 1, 'relu')",
            "nn.RNN(3, 4, 2, 'relu', False, True, 0.1, True)",
            "nn.RNN(3, 4, foo=1)",
            "nn.GRU(3)",
            "nn.LSTM()",
            "nn.RNNBase('X', 3, 4)",
            "nn.RNNBase('GRU', 3, 4)(torch.ones(1, 1, 3))",
            "nn.RNNCell(3, 4, False, 'relu')",
            "nn.RNNCell(3, 4, nonlinearity='x')",
            "nn.RNNCell(3, 4, nonlinearity='x')(torch.ones(1, 3))",
            "nn.LSTMCell(3, 4, bias=False)",
            "nn.GRUCell(3, 4.0)",
            "nn.LSTM(3, 4)(None)",
            "nn.GRU(3, 4)()",
            "nn.GRU(3, 4)(torch.ones(1, 1, 3), (1, 2))",
            "nn.LSTMCell(3, 4)(torch.ones(1, 3), torch.ones(1, 4))",
            "list(nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2).state_dict())",
            "[tuple(each.shape) for each in nn.GRU(3, 4, 2, bias=False).parameters()]",
            "[len(each) for each in nn.LSTM(3, 4, 2, bidirectional=True).all_weights]",
            "nn.GRU(3, 4).flatten_parameters()",
            "nn.GRU(3, 4)._flat_weights_names",
        ),
    ),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refusals_warnings_and_texts(number):
    assert_same(pytorch, REFUSED[number], graph=False)


# --- packed sequences ------------------------------------------------------------------------


def rnn(torch):
    return torch.nn.utils.rnn


def there_and_back(torch, make, lengths, shape, batch_first=False, **options):
    utils = rnn(torch)
    packed = utils.pack_padded_sequence(make(*shape), lengths, batch_first, enforce_sorted=False)
    return [packed, utils.pad_packed_sequence(packed, batch_first, **options)]


def ragged(make, *lengths, width=(2,)):
    return [make(length, *width) for length in lengths]


PACKING = {
    "pack": lambda t, m: rnn(t).pack_padded_sequence(m(4, 3, 2), [4, 2, 2]),
    "pack, batch first": lambda t, m: rnn(t).pack_padded_sequence(m(3, 4, 2), [4, 2, 2], True),
    "pack numbers": lambda t, m: rnn(t).pack_padded_sequence(m(4, 3), m.data([4, 2, 1])),
    "pack short": lambda t, m: rnn(t).pack_padded_sequence(m(6, 3, 1, 2), (4, 2, 1)),
    "pack too long": lambda t, m: rnn(t).pack_padded_sequence(m(3, 2, 2, grad=False), [4, 1]),
    "pack unsorted": lambda t, m: rnn(t).pack_padded_sequence(
        m(4, 4), [2, 4, 1, 2], enforce_sorted=False
    ),
    "back": lambda t, m: there_and_back(t, m, [3, 3, 2, 1], (3, 4, 2)),
    "back, unsorted": lambda t, m: there_and_back(t, m, [1, 3, 3], (3, 3), padding_value=-1.5),
    "back, batch first": lambda t, m: there_and_back(t, m, [2, 1], (2, 3, 2), True),
    "back, longer": lambda t, m: there_and_back(t, m, [2, 1], (3, 2), total_length=5),
    "back, shorter": lambda t, m: there_and_back(t, m, [3, 1], (3, 2), total_length=2),
    "pad": lambda t, m: rnn(t).pad_sequence(ragged(m, 2, 4, 0)),
    "pad, batch first": lambda t, m: rnn(t).pad_sequence(ragged(m, 2, 4), True, 7),
    "pad on the left": lambda t, m: rnn(t).pad_sequence(
        ragged(m, 2, 4, width=()), padding_side="left", padding_value=2.5
    ),
    "pad a tensor": lambda t, m: rnn(t).pad_sequence(m(3, 2)),
    "pad a generator": lambda t, m: rnn(t).pad_sequence(iter(ragged(m, 1, 2))),
    "pad integers": lambda t, m: rnn(t).pad_sequence(
        [m.data([1]), m.data([2.5, 3.5])], padding_value=1.7
    ),
    "pad booleans": lambda t, m: rnn(t).pad_sequence([m.data([True]), m.data([True, False])]),
    "unpad": lambda t, m: rnn(t).unpad_sequence(m(4, 2, 3, grad=False), m.data([4, 2])),
    "unpad, batch first": lambda t, m: rnn(t).unpad_sequence(m(2, 4), m.data([5, 2]), True),
    "pack sequences": lambda t, m: rnn(t).pack_sequence(ragged(m, 3, 1)),
    "unpack": lambda t, m: rnn(t).unpack_sequence(
        rnn(t).pack_sequence(ragged(m, 2, 3), enforce_sorted=False)
    ),
    "invert": lambda t, m: rnn(t).invert_permutation(m.data([2, 0, 1])),
    "unsorted": lambda t, m: rnn(t).pack_padded_sequence(m(3, 2), [1, 3]),
    "length of zero": lambda t, m: rnn(t).pack_padded_sequence(m(3, 2), [3, 0]),
    "few lengths": lambda t, m: rnn(t).pack_padded_sequence(m(3, 2), [3]),
    "lengths of two dimensions": lambda t, m: rnn(t).pack_padded_sequence(
        m(3, 2), m.data([[3, 1]])
    ),
    "fractional lengths": lambda t, m: rnn(t).pack_padded_sequence(m(3, 2), m.data([3.9, 1.0])),
    "words as lengths": lambda t, m: rnn(t).pack_padded_sequence(m(3, 2), "ab"),
    "one dimension": lambda t, m: rnn(t).pack_padded_sequence(m(3), [3]),
    "no dimension": lambda t, m: rnn(t).pack_padded_sequence(m.data(1.0), [1]),
    "nothing to pack": lambda t, m: rnn(t).pack_padded_sequence(t.zeros(0, 2), [1, 1]),
    "no tensor": lambda t, m: rnn(t).pack_padded_sequence([1, 2], [2, 1]),
    "batch_first=1": lambda t, m: rnn(t).pack_padded_sequence(m(3, 2), [3, 1], 1),
    "pad nothing": lambda t, m: rnn(t).pad_sequence([]),
    "pad None": lambda t, m: rnn(t).pad_sequence(None),
    "pad numbers": lambda t, m: rnn(t).pad_sequence([1, 2]),
    "pad scalars": lambda t, m: rnn(t).pad_sequence([m.data(1.0)]),
    "pad to a side": lambda t, m: rnn(t).pad_sequence([m(2)], padding_side="up"),
    "pad with a word": lambda t, m: rnn(t).pad_sequence([m(2)], padding_value="a"),
    "pad widths": lambda t, m: rnn(t).pad_sequence([m(2, 2), m(3, 3)]),
    "pad dimensions": lambda t, m: rnn(t).pad_sequence([m(2), m(3, 3)]),
    "unpad few": lambda t, m: rnn(t).unpad_sequence(m(2, 3), m.data([2]), True),
    "unpad list": lambda t, m: rnn(t).unpad_sequence(m(2, 3), [2, 1], True),
    "invert int32": lambda t, m: rnn(t).invert_permutation(m.data([1, 0], "int32")),
    "pad no packed": lambda t, m: rnn(t).pad_packed_sequence(m(2)),
    "made by hand": lambda t, m: rnn(t).PackedSequence(m(3), m.data([2, 1]), m.data([1, 0])),
    "made of a pair": lambda t, m: rnn(t).PackedSequence((m(3), m.data([2, 1]))),
    "made of one": lambda t, m: rnn(t).PackedSequence(m(3)),
    "sizes grow": lambda t, m: rnn(t).pad_packed_sequence(
        rnn(t).PackedSequence(m(9), m.data([3, 6]))
    ),
    "sizes of int32": lambda t, m: rnn(t).pad_packed_sequence(
        rnn(t).PackedSequence(m(3), m.data([2, 1], "int32"))
    ),
    "no sizes": lambda t, m: rnn(t).pad_packed_sequence(
        rnn(t).PackedSequence(m(3), m.data([], "int64"))
    ),
}


@pytest.mark.parametrize("name", PACKING)
def test_packed_sequences(name):
    assert_same(pytorch, PACKING[name], strides=True)


def packed_of(torch):
    data = torch.arange(4.0)
    return rnn(torch).PackedSequence(data, torch.tensor([2, 1, 1]), torch.tensor([1, 0]))


@pytest.mark.parametrize(
    "text",
    [
        "p",
        "len(p), p._fields, p == p, p._asdict()",
        "p.to(torch.float64), p.to('cpu') is p, p.to(device='cpu', dtype=torch.half)",
        "p.to(torch.ones(1).double()), p.cpu() is p, p.float() is p",
        "p.double(), p.half(), p.long(), p.int(), p.short(), p.char(), p.byte()",
        "p.is_cuda, p.is_pinned(), p._replace(data=p.data * 2)",
        "p.to(torch.float64, copy=True)",
        "p.cuda()",
        "p.cuda(device='cuda:0')",
        "p.to('cuda')",
        "p.to('junk')",
        "p.pin_memory()",
        "setattr(p, 'data', 1)",
        "type(p)._make([1, 2, 3, 4])",
    ],
)
def test_what_a_packed_sequence_can_do(text):
    def program(torch, make):
        return repr(eval(text, {"p": packed_of(torch), "torch": torch}))

    assert_same(pytorch, program)
