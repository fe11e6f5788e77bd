"""Recurrent cells, and layers that record every step: RNN, LSTM and GRU in terms of operators.

Owns: one step of each kind, and how a layer walks over the steps of a sequence. The graph is that
of PyTorch's own steps. Layers that are one operator are in `layers`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from taper.arrays.recurrent import GATES, GRU, LSTM, RELU, TANH
from taper.autograd.state import local
from taper.factory import refuse
from taper.opdef import composite
from taper.ops.linalg.linear import linear
from taper.ops.linalg.matmul import matmul, not_tensors
from taper.ops.shape.split import cat, stack, unbind, unsafe_chunk
from taper.ops.shape.transpose import t
from taper.tensor import Tensor

# (state,), or (state, cells) of an LSTM
State: TypeAlias = tuple[Tensor, ...]
# Weights of input and state, their biases or None, and the projection of an LSTM or None
Weights: TypeAlias = Sequence[Any]


# --- one step --------------------------------------------------------------------------------


def _plus(one: Tensor, other: Tensor) -> Tensor:
    """Add into the first tensor: PyTorch refuses what would have to be expanded."""
    if local.state.transforms:  # the second may differ from example to example
        return one + other
    return one.add_(other)


def _rnn_step(inputs: Tensor, state: State, weights: Weights, mode: int) -> State:
    gates = _plus(linear(state[0], weights[1], weights[3]), inputs)
    return (gates.tanh() if mode == TANH else gates.relu(),)


def _lstm_step(inputs: Tensor, state: State, weights: Weights) -> State:
    gates = _plus(linear(state[0], weights[1], weights[3]), inputs)
    opening, forget, candidate, leaving = unsafe_chunk(gates, 4, 1)
    opening, forget, candidate = opening.sigmoid(), forget.sigmoid(), candidate.tanh()
    leaving = leaving.sigmoid()
    cell = _plus(forget * state[1], opening * candidate)
    now = leaving * cell.tanh()
    if weights[4] is not None:
        now = matmul(now, t(weights[4]))
    return now, cell


def _gru_step(inputs: Tensor, state: State, weights: Weights) -> State:
    (before,) = state
    parts = unsafe_chunk(inputs, 3, 1)
    moved = unsafe_chunk(linear(before, weights[1], weights[3]), 3, 1)
    reset = _plus(moved[0], parts[0]).sigmoid()
    update = _plus(moved[1], parts[1]).sigmoid()
    candidate = (parts[2] + moved[2] * reset).tanh()
    return (_plus((before - candidate) * update, candidate),)


def _step(inputs: Tensor, state: State, weights: Weights, mode: int) -> State:
    """Compute the state after a step, given what the input adds to the gates."""
    if mode == LSTM:
        return _lstm_step(inputs, state, weights)
    if mode == GRU:
        return _gru_step(inputs, state, weights)
    return _rnn_step(inputs, state, weights, mode)


def _check_gates(inputs: Tensor, mode: int) -> None:
    """Raise for whole numbers: PyTorch cannot write the gates into them."""
    kind = inputs.dtype
    if mode in (LSTM, GRU) and not (kind.is_floating_point or kind.is_complex):
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {kind.scalar_type}"
        )


# --- the steps of a layer --------------------------------------------------------------------


def layer_by_steps(
    input: Tensor,
    weights: Weights,
    state: State,
    reverse: bool,
    batch_sizes: Sequence[int],
    mode: int,
) -> tuple[Tensor, State]:
    """Compute outputs and last state of a layer; `batch_sizes` are empty unless packed."""
    inputs = linear(input, weights[0], weights[2])
    _check_gates(inputs, mode)
    if batch_sizes:
        walk = _packed_backwards if reverse else _packed
        outputs, state = walk(inputs, weights, state, batch_sizes, mode)
        return cat(outputs), state
    parts = unbind(inputs, 0)
    outputs = []
    for part in reversed(parts) if reverse else parts:
        state = _step(part, state, weights, mode)
        outputs.append(state[0])
    return stack(outputs[::-1] if reverse else outputs), state


def _packed(
    inputs: Tensor, weights: Weights, state: State, batch_sizes: Sequence[int], mode: int
) -> tuple[list[Tensor], State]:
    """Run forwards over packed sequences: they drop out when they end; last states are joined."""
    outputs, ended = [], []
    start, last = 0, batch_sizes[0]
    for count in batch_sizes:
        part = inputs.narrow(0, start, count)
        start += count
        if count < last:
            ended.append([each.narrow(0, count, last - count) for each in state])
            state = tuple([each.narrow(0, 0, count) for each in state])
        last = count
        state = _step(part, state, weights, mode)
        outputs.append(state[0])
    ended.append(list(state))
    return outputs, tuple([cat(each[::-1]) for each in zip(*ended, strict=True)])


def _packed_backwards(
    inputs: Tensor, weights: Weights, first: State, batch_sizes: Sequence[int], mode: int
) -> tuple[list[Tensor], State]:
    """Run backwards over packed sequences: they come in where they end, with their first states."""
    outputs: list[Tensor] = []
    start, last = inputs.size(0), batch_sizes[-1]
    state = tuple([each.narrow(0, 0, last) for each in first])
    for count in reversed(batch_sizes):
        if count > last:
            coming = [each.narrow(0, last, count - last) for each in first]
            state = tuple([cat(pair) for pair in zip(state, coming, strict=True)])
        last = count
        start -= count
        state = _step(inputs.narrow(0, start, count), state, weights, mode)
        outputs.append(state[0])
    return outputs[::-1], state


# --- cells -----------------------------------------------------------------------------------


def _check_cell(input: Tensor, states: State, weights: Weights, mode: int) -> None:
    if input.size(1) != weights[0].size(1):
        raise RuntimeError(
            f"input has inconsistent input_size: got {input.size(1)} expected {weights[0].size(1)}"
        )
    size = weights[1].size(1)
    for number, state in enumerate(states):
        if input.size(0) != state.size(0):
            raise RuntimeError(
                f"Input batch size {input.size(0)} doesn't match hidden{number} batch size "
                f"{state.size(0)}"
            )
        if state.size(1) != size:
            raise RuntimeError(
                f"hidden{number} has inconsistent hidden_size: got {state.size(1)}, expected {size}"
            )
    gates = GATES[mode]
    if weights[0].size(0) != gates * size:
        raise RuntimeError(
            f"weight_ih first dim must be {gates} * hidden_size = {gates * size}, but got "
            f"{weights[0].size(0)}"
        )


def _cell(
    function: str, mode: int, input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any
) -> State:
    given = {"input": input, "hx": hx, "w_ih": w_ih, "w_hh": w_hh}
    states = (hx,)
    if mode == LSTM:
        states = hx
        if not isinstance(hx, (list, tuple)):
            refuse(function, "hx", 2, "tuple of Tensors", hx)
        given["hx"] = input
    if not all(isinstance(each, Tensor) for each in given.values()):
        raise not_tensors(function, **given)
    if mode == LSTM and len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    weights = (w_ih, w_hh, b_ih, b_hh, None)
    _check_cell(input, states, weights, mode)
    inputs = linear(input, w_ih, b_ih)
    _check_gates(inputs, mode)
    return _step(inputs, states, weights, mode)


@composite(method=False)
def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Do one step of an LSTM: return the next state and cells.

    >>> import taper
    >>> one, zero = taper.ones(1, 1), taper.zeros(1, 1)
    >>> taper.lstm_cell(one, (zero, zero), taper.ones(4, 1), taper.ones(4, 1))
    (tensor([[0.3696]]), tensor([[0.5568]]))
    """
    now, cell = _cell("lstm_cell", LSTM, input, hx, w_ih, w_hh, b_ih, b_hh)
    return now, cell


@composite(method=False)
def gru_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """Do one step of a GRU: return the next state.

    >>> import taper
    >>> one, zero = taper.ones(1, 1), taper.zeros(1, 1)
    >>> taper.gru_cell(one, zero, taper.ones(3, 1), taper.ones(3, 1))
    tensor([[0.2048]])
    """
    return _cell("gru_cell", GRU, input, hx, w_ih, w_hh, b_ih, b_hh)[0]


def _plain_cell(function: str, mode: int) -> Callable[..., Tensor]:
    @composite(method=False, name=function)
    def cell(
        input: Tensor,
        hx: Tensor,
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor | None = None,
        b_hh: Tensor | None = None,
    ) -> Tensor:
        return _cell(function, mode, input, hx, w_ih, w_hh, b_ih, b_hh)[0]

    cell.__name__ = cell.__qualname__ = function
    cell.__doc__ = f"""Do one step of an RNN with {function.split("_")[1]}: return the next state.

    >>> import taper
    >>> one = taper.ones(1, 1)
    >>> taper.{function}(one, one, one, -one)
    tensor([[0.]])
    """
    made: Callable[..., Tensor] = cell
    return made


rnn_tanh_cell = _plain_cell("rnn_tanh_cell", TANH)
rnn_relu_cell = _plain_cell("rnn_relu_cell", RELU)
