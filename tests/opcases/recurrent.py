"""Rows of the recurrent networks and their cells."""

from __future__ import annotations

import numpy as np

from op_case import OpCase, Raises, sample

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def logistic(x):
    return 1 / (1 + np.exp(-x))


def step(kind, x, state, w_ih, w_hh, b_ih=0, b_hh=0):
    """Return one step from the definition."""
    a, b = x @ w_ih.T + b_ih, state[0] @ w_hh.T + b_hh
    if kind == "lstm":
        i, f, g, o = np.split(a + b, 4, axis=-1)
        cell = logistic(f) * state[1] + logistic(i) * np.tanh(g)
        return [logistic(o) * np.tanh(cell), cell]
    if kind == "gru":
        (r, z, n), (s, y, m) = np.split(a, 3, axis=-1), np.split(b, 3, axis=-1)
        update = logistic(z + y)
        return [(1 - update) * np.tanh(n + logistic(r + s) * m) + update * state[0]]
    return [np.tanh(a + b) if kind == "rnn_tanh" else np.maximum(a + b, 0)]


def one_by_one(kind, rows, state, weights, reverse):
    """Run a layer on one sequence of the batch at a time."""
    outputs = np.zeros((len(rows), weights[1].shape[1]))
    for place in reversed(range(len(rows))) if reverse else range(len(rows)):
        state = step(kind, rows[place], state, *weights)
        outputs[place] = state[0]
    return outputs, state


def network(kind, sequences, hx, params, has_biases, num_layers, directions):
    """Return the outputs of the sequences, and (layers, batch, width) of the last states."""
    count = 4 if has_biases else 2
    last = [np.zeros(each.shape) for each in hx]
    for layer in range(num_layers):
        found = []
        for nr, rows in enumerate(sequences):
            parts = []
            for direction in range(directions):
                place = layer * directions + direction
                weights = params[place * count : (place + 1) * count]
                state = [each[place, nr] for each in hx]
                out, state = one_by_one(kind, rows, state, weights, direction == 1)
                parts.append(out)
                for each, value in zip(last, state, strict=True):
                    each[place, nr] = value
            found.append(np.concatenate(parts, axis=-1))
        sequences = found
    return sequences, last


def reference_of(kind):
    def reference(input, *args):
        packed = isinstance(args[-1], bool) and len(args) == 8 and _is_sizes(args[0])
        states, rest = (args[1], args[2:]) if packed else (args[0], args[1:])
        params, has_biases, layers, _, _, bidirectional = rest[:6]
        hx = list(states) if kind == "lstm" else [states]
        directions = 2 if bidirectional else 1
        if packed:
            starts = np.cumsum([0, *args[0]])[:-1]
            lengths = [(args[0] > nr).sum() for nr in range(args[0][0])]
            sequences = [input[starts[:length] + nr] for nr, length in enumerate(lengths)]
        else:
            batch_first = rest[6]
            sequences = list(input if batch_first else input.swapaxes(0, 1))
        outputs, last = network(kind, sequences, hx, params, has_biases, layers, directions)
        if packed:
            flat = [each[t] for t in range(max(lengths)) for each in outputs if t < len(each)]
            return [np.array(flat), *last]
        return [np.stack(outputs, 0 if batch_first else 1), *last]

    return reference


def _is_sizes(value):
    return isinstance(value, np.ndarray) and value.dtype.kind == "i"


def parameters(rng, kind, inputs, hidden, biases=True, layers=1, directions=1):
    rows, found = GATES[kind] * hidden, []
    for layer in range(layers):
        width = hidden * directions if layer else inputs
        for _ in range(directions):
            found += [rng.normal(size=(rows, width)), rng.normal(size=(rows, hidden))]
            found += [rng.normal(size=rows), rng.normal(size=rows)] if biases else []
    return [each * 0.6 for each in found]


def calls(kind):
    def states(rng, *shape):
        return [rng.normal(size=shape) for _ in "hc"] if kind == "lstm" else rng.normal(size=shape)

    def samples(rng):
        x = rng.normal(size=(3, 2, 2))
        plain = (True, 1, 0.0, True, False, False)
        both = parameters(rng, kind, 2, 2, layers=2, directions=2)
        return [
            sample(x, states(rng, 1, 2, 3), parameters(rng, kind, 2, 3), *plain),
            sample(
                rng.normal(size=(2, 3, 2)),
                states(rng, 4, 2, 2),
                both,
                *(True, 2, 0.0, False, True, True),
            ),
            sample(
                x,
                states(rng, 1, 2, 1),
                parameters(rng, kind, 2, 1, biases=False),
                *(False, 1, 0.0, False, False, False),
            ),
            sample(
                rng.normal(size=(6, 2)),
                np.array([3, 2, 1]),
                states(rng, 2, 3, 2),
                parameters(rng, kind, 2, 2, directions=2),
                *(True, 1, 0.0, False, True),
            ),
        ]

    return samples


def row(kind):
    gates, ones, settings = GATES[kind], np.ones, (True, 1, 0.0, False, False, False)
    weights = [ones((gates, 1)), ones((gates, 1)), ones(gates), ones(gates)]
    state = [ones((1, 2, 1))] * 2 if kind == "lstm" else ones((1, 2, 1))
    small = [ones((1, 3, 1))] * 2 if kind == "lstm" else ones((1, 3, 1))
    more = [ones((2, 2, 1))] * 2 if kind == "lstm" else ones((2, 2, 1))
    x, nothing = ones((3, 2, 1)), np.zeros((0, 2, 1))
    return OpCase(
        kind,
        samples=calls(kind),
        reference=reference_of(kind),
        graph=False,  # a layer is one node; the tests of recurrent networks say which
        errors=(
            Raises(TypeError, "received an invalid combination of arguments", sample(x, state)),
            Raises(RuntimeError, "incorrect number", sample(x, state, weights[:3], *settings)),
            Raises(RuntimeError, "Expected more weights", sample(x, state, weights * 2, *settings)),
            Raises(RuntimeError, "Expected more hidden", sample(x, more, weights, *settings)),
            Raises(RuntimeError, "The size of tensor a (3)", sample(x, small, weights, *settings)),
            Raises(RuntimeError, "sequence length", sample(nothing, state, weights, *settings)),
        ),
    )


def cell_row(kind):
    gates = GATES[kind]

    def samples(rng):
        hidden = rng.normal(size=(2, 3))
        state = [hidden, rng.normal(size=(2, 3))] if kind == "lstm" else hidden
        weights = parameters(rng, kind, 4, 3)
        return [
            sample(rng.normal(size=(2, 4)), state, *weights),
            sample(rng.normal(size=(2, 4)), state, *weights[:2]),
        ]

    def reference(x, hx, *weights):
        found = step(kind, x, list(hx) if kind == "lstm" else [hx], *weights)
        return found if kind == "lstm" else found[0]

    ones = np.ones
    state = [ones((2, 3))] * 2 if kind == "lstm" else ones((2, 3))
    wide = [ones((2, 4))] * 2 if kind == "lstm" else ones((2, 4))
    fewer = [ones((1, 3))] * 2 if kind == "lstm" else ones((1, 3))
    weights = ones((gates * 3, 4)), ones((gates * 3, 3))
    x = ones((2, 4))
    return OpCase(
        f"{kind}_cell",
        samples=samples,
        reference=reference,
        forward_dtypes=("float16", "bfloat16", "int64", "bool"),
        complex=kind != "rnn_relu",
        errors=(
            Raises(RuntimeError, "inconsistent input_size", sample(x[:, :2], state, *weights)),
            Raises(RuntimeError, "inconsistent hidden_size", sample(x, wide, *weights)),
            Raises(RuntimeError, "doesn't match hidden0 batch", sample(x, fewer, *weights)),
            Raises(TypeError, "must be", sample(x, 1, *weights)),
            Raises(
                RuntimeError,
                "weight_ih first dim must be",
                sample(x, state, ones((gates * 3 + 1, 4)), weights[1]),
            ),
        ),
    )


CASES = [row(kind) for kind in GATES] + [cell_row(kind) for kind in GATES]
