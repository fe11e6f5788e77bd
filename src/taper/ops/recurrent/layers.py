"""Recurrent networks on whole sequences: `lstm`, `gru`, `rnn_tanh`, `rnn_relu`.

Owns: the operator that is one layer in one direction, its gradient, and the stacking of layers. The
computation is in `arrays.recurrent`. `cells` computes the same step by step, each step recorded. It
serves where the operator cannot: second derivatives, forward mode, transforms of `func`,
projections, complex numbers, and all that is wrong with arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays import recurrent as kernels
from taper.arrays.elements import FLOAT32, LOW_PRECISION
from taper.arrays.recurrent import GATES, GRU, LSTM, RELU, TANH
from taper.arrays.reduction import no_forward_mode
from taper.autograd.backward import grad as gradients
from taper.autograd.grad_mode import enable_grad, is_grad_enabled
from taper.autograd.state import DUAL, local
from taper.factory import is_integer
from taper.opdef import Array, composite, composites, derivative, op, tangent_of
from taper.opdef.operands import invalid_combination
from taper.ops.random import dropout as _dropout  # noqa: F401 - provides the composite
from taper.ops.recurrent import halves
from taper.ops.recurrent.cells import State, Weights, layer_by_steps
from taper.ops.shape.split import cat, stack, unbind
from taper.tensor import Tensor
from taper.userwarning import warn_once

_FLOATING = (*LOW_PRECISION, FLOAT32, np.dtype(np.float64))


# --- one layer, one operator -----------------------------------------------------------------


def _wide(array: Any) -> Any:
    low = array is not None and array.dtype in LOW_PRECISION
    return array.astype(np.float32) if low else array


def _rows(array: Any) -> Any:
    return None if array is None else _wide(array.reshape(-1, array.shape[-1]))


def _steps(input: ndarray, batch_sizes: tuple[int, ...], reverse: bool) -> kernels.Steps:
    return kernels.steps_of(batch_sizes or (input.shape[1],) * input.shape[0], reverse)


def _layer(
    input: ndarray,
    weights: Sequence[Any],
    hx: ndarray,
    cx: ndarray | None,
    reverse: bool,
    batch_sizes: tuple[int, ...],
    mode: int,
    fused: bool = False,
) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    given = (
        _rows(input),
        [_wide(each) for each in weights],
        _wide(hx),
        _wide(cx),
        _steps(input, batch_sizes, reverse),
        mode,
    )
    if input.dtype in LOW_PRECISION:
        rounded = halves.Rounded(input.dtype, input.flags.c_contiguous, fused)
        output, state, cells, workspace = halves.forward(*given, rounded)
    else:
        output, state, cells, workspace = kernels.forward(*given)
    output = output.reshape(*input.shape[:-1], hx.shape[1])
    found = [each.astype(input.dtype, copy=False) for each in (output, state, cells)]
    return found[0], found[1], found[2], workspace


@op(
    name="_rnn_layer",
    outputs=("result0", "result1", "result2", "result3"),
    nondifferentiable=(3,),
    public=False,
    method=False,
)
def rnn_layer(
    input: Array,
    weight0: Array,
    weight1: Array,
    weight2: Array | None,
    weight3: Array | None,
    hx: Array,
    cx: Array | None,
    reverse: bool,
    batch_sizes: tuple[int, ...],
    mode: int,
) -> tuple[Array, Array, Array, Array]:
    """Run a layer in one direction: outputs, last state, last cells, what the gradient needs."""
    weights = (weight0, weight1, weight2, weight3)
    return _layer(input, weights, hx, cx, reverse, batch_sizes, mode)


@op(
    outputs=("result0", "result1", "result2", "result3"),
    nondifferentiable=(3,),
    public=False,
    method=False,
)
def mkldnn_rnn_layer(
    input: Array,
    weight0: Array,
    weight1: Array,
    weight2: Array | None,
    weight3: Array | None,
    hx_: Array,
    cx_: Array,
    reverse: bool,
    batch_sizes: tuple[int, ...],
    mode: int,
    hidden_size: int,
    num_layers: int,
    has_biases: bool,
    bidirectional: bool,
    batch_first: bool,
    train: bool,
) -> tuple[Array, Array, Array, Array]:
    """Run an LSTM's layer under PyTorch's name for it, saving what PyTorch saves."""
    weights = (weight0, weight1, weight2, weight3)
    return _layer(input, weights, hx_, cx_, reverse, batch_sizes, mode, fused=True)


@op(
    name="_rnn_layer_backward",
    outputs=("grad0", "grad1", "grad2", "grad3", "grad4", "grad5", "grad6"),
    public=False,
    method=False,
)
def rnn_layer_backward(
    input: Array,  # first: operators whose first argument is an array go straight to the kernel
    weight0: Array,
    weight1: Array,
    weight2: Array | None,
    weight3: Array | None,
    hx: Array,
    cx: Array | None,
    grad_output: Array | None,
    grad_hy: Array | None,
    grad_cy: Array | None,
    workspace: Array,
    reverse: bool,
    batch_sizes: tuple[int, ...],
    mode: int,
    output_mask: tuple[bool, ...],
) -> Any:
    """Compute the gradients of input, weights, state and cells; None outside `output_mask`."""
    found = kernels.backward(
        (_rows(grad_output), _wide(grad_hy), _wide(grad_cy)),
        _rows(input),
        [_wide(each) for each in (weight0, weight1, weight2, weight3)],
        _wide(hx),
        _wide(cx),
        workspace,
        _steps(input, batch_sizes, reverse),
        mode,
        output_mask,
    )
    if found[0] is not None:
        found[0] = found[0].reshape(input.shape)
    return tuple([None if each is None else each.astype(input.dtype, copy=False) for each in found])


def _gradients(
    grads: Sequence[Any],
    tensors: Sequence[Any],
    workspace: Any,
    reverse: bool,
    batch_sizes: tuple[int, ...],
    mode: int,
    needs: Sequence[bool],
) -> Any:
    if isinstance(tensors[0], Tensor):
        return _recorded_gradients(grads, tensors, reverse, batch_sizes, mode, needs)
    return rnn_layer_backward(*tensors, *grads, workspace, reverse, batch_sizes, mode, needs)


@derivative(rnn_layer, wrt=("input", "weight0", "weight1", "weight2", "weight3", "hx", "cx"))
def rnn_layer_all(
    input,
    weight0,
    weight1,
    weight2,
    weight3,
    hx,
    cx,
    result3,
    reverse,
    batch_sizes,
    mode,
    needs,
    grad_result0=None,
    grad_result1=None,
    grad_result2=None,
):
    grads = (grad_result0, grad_result1, grad_result2)
    tensors = (input, weight0, weight1, weight2, weight3, hx, cx)
    return _gradients(grads, tensors, result3, reverse, batch_sizes, mode, needs)


@derivative(
    mkldnn_rnn_layer, wrt=("input", "weight0", "weight1", "weight2", "weight3", "hx_", "cx_")
)
def mkldnn_rnn_layer_all(
    input,
    weight0,
    weight1,
    weight2,
    weight3,
    hx_,
    cx_,
    result0,
    result1,
    result2,
    result3,
    reverse,
    batch_sizes,
    mode,
    hidden_size,
    num_layers,
    has_biases,
    bidirectional,
    batch_first,
    train,
    needs,
    grad_result0=None,
    grad_result1=None,
    grad_result2=None,
):
    grads = (grad_result0, grad_result1, grad_result2)
    tensors = (input, weight0, weight1, weight2, weight3, hx_, cx_)
    return _gradients(grads, tensors, result3, reverse, batch_sizes, mode, needs)


@tangent_of(rnn_layer)
def rnn_layer_tangent(input_t):
    raise no_forward_mode("_rnn_layer")


@tangent_of(mkldnn_rnn_layer)
def mkldnn_rnn_layer_tangent(input_t):
    raise no_forward_mode("mkldnn_rnn_layer")


def _recorded_gradients(
    grads: Sequence[Any],
    tensors: Sequence[Any],
    reverse: bool,
    batch_sizes: Sequence[int],
    mode: int,
    needs: Sequence[bool],
) -> list[Any]:
    """Compute gradients that can be differentiated: the layer runs again, step by step."""
    create = is_grad_enabled()
    with enable_grad():
        # Other tensors with the same history, so that these gradients end at the layer.
        copies = [
            each.view_as(each) if needed else each
            for each, needed in zip(tensors, needs, strict=True)
        ]
        input, *weights = copies[:5]
        state = tuple([each for each in copies[5:] if each is not None])
        output, last = layer_by_steps(input, (*weights, None), state, reverse, batch_sizes, mode)
    pairs = [
        (each, grad) for each, grad in zip((output, *last), grads, strict=False) if grad is not None
    ]
    wanted = [each for each, needed in zip(copies, needs, strict=True) if needed]
    outputs, given = zip(*pairs, strict=True)
    found = iter(gradients(outputs, wanted, given, create_graph=create, allow_unused=True))
    return [next(found) if needed else None for needed in needs]


# --- layers on each other --------------------------------------------------------------------


class _Network:
    """Holds the arguments that all layers share, and runs the layers."""

    def __init__(
        self,
        mode: int,
        batch_sizes: tuple[int, ...],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
    ) -> None:
        self.mode = mode
        self.batch_sizes = batch_sizes
        self.has_biases = has_biases
        self.num_layers = num_layers
        self.dropout = dropout
        self.train = train
        self.directions = 2 if bidirectional else 1

    def weights(self, params: Sequence[Tensor], projected: bool) -> list[Weights]:
        """List the parameters of each layer and direction: two weights, two biases, projection."""
        count = (4 if self.has_biases else 2) + projected
        if len(params) % count:
            raise RuntimeError("got an incorrect number of RNN parameters")
        groups: list[Weights] = []
        for start in range(0, len(params), count):
            group: list[Any] = list(params[start : start + count])
            projection = group.pop() if projected else None
            groups.append((*group, *[None] * (4 - len(group)), projection))
        return groups

    def fit(self, input: Tensor, states: Sequence[Tensor], weights: Sequence[Weights]) -> bool:
        """Tell whether the operator can do it: all shapes are right, all numbers real."""
        state, array = local.state, input._array
        if state.mode & DUAL or state.transforms:
            return False
        any_dtype = state.autocast is not None
        if any_dtype and (self.mode != LSTM or self.batch_sizes or array.dtype.itemsize == 8):
            return False  # as in PyTorch, autocast takes part in each product
        sizes, shape = self.batch_sizes, array.shape
        if array.dtype not in _FLOATING or not array.size:
            return False
        if sizes:
            batch, right = sizes[0], len(shape) == 2 and sum(sizes) == shape[0]
            if not right or min(sizes) < 1 or list(sizes) != sorted(sizes, reverse=True):
                return False
        elif len(shape) != 3:
            return False
        else:
            batch = shape[1]
        layers = self.num_layers * self.directions
        hidden = states[0]._array.shape[-1] if states[0]._array.ndim else 0
        if len(weights) != layers:
            return False
        pairs: list[Any] = [(each, (layers, batch, hidden)) for each in states]
        rows, width = GATES[self.mode] * hidden, shape[-1]
        for number, group in enumerate(weights):
            if number == self.directions:
                width = hidden * self.directions
            pairs += zip(group, ((rows, width), (rows, hidden), (rows,), (rows,)), strict=False)
        for tensor, wanted in pairs:
            if tensor is not None and (
                tensor._array.shape != wanted
                or not (any_dtype or tensor._array.dtype == array.dtype)
            ):
                return False
        return True

    def is_fused(self, input: Tensor) -> bool:
        """Return whether PyTorch computes a layer with oneDNN."""
        fitting = input.dtype.name in ("float32", "bfloat16")
        return self.mode == LSTM and not self.batch_sizes and fitting

    def layer(
        self, input: Tensor, weights: Weights, state: State, reverse: bool, whole: bool
    ) -> tuple[Tensor, State]:
        if not whole:
            return layer_by_steps(input, weights, state, reverse, self.batch_sizes, self.mode)
        given = (input, *weights[:4], *state, reverse, self.batch_sizes, self.mode)
        if self.mode != LSTM:
            found = rnn_layer(*given[:6], None, *given[6:])
        elif self.is_fused(input):
            size, biases = state[0].size(1), self.has_biases
            found = mkldnn_rnn_layer(*given, size, 1, biases, False, False, self.train)
        else:
            found = rnn_layer(*given)
        return found[0], tuple(found[1 : 1 + len(state)])

    def run(
        self, input: Tensor, states: Sequence[State], weights: Sequence[Weights], whole: bool
    ) -> tuple[Tensor, list[State]]:
        """Compute the outputs of the last layer, and the last states of all."""
        last = []
        for number in range(self.num_layers):
            outputs = []
            for direction in range(self.directions):
                place = number * self.directions + direction
                found = self.layer(input, weights[place], states[place], direction == 1, whole)
                outputs.append(found[0])
                last.append(found[1])
            input = cat(outputs, input.dim() - 1) if len(outputs) > 1 else outputs[0]
            if self.dropout and self.train and number < self.num_layers - 1:
                input = composites["dropout"](input, self.dropout, True)
        return input, last


def _states(network: _Network, hx: Sequence[Tensor], groups: int, whole: bool) -> list[State]:
    """List the first states of each layer and direction."""
    wanted = network.num_layers * network.directions
    if whole:
        return [tuple([each.select(0, place) for each in hx]) for place in range(wanted)]
    states = list(zip(*[unbind(each, 0) for each in hx], strict=False))
    if groups != wanted:
        raise RuntimeError("Expected more weights in stacked_rnn")
    if len(states) != wanted:
        raise RuntimeError("Expected more hidden states in stacked_rnn")
    return states


def _whole_network(
    function: str, mode: int, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Tensor, ...]:
    input, batch_sizes, hx, params, *settings, batch_first = _bound(function, mode, args, kwargs)
    if mode == LSTM and len(hx) != 2:
        raise RuntimeError("lstm expects two hidden states")
    states = hx if mode == LSTM else (hx,)
    projected = mode == LSTM and hx[0].size(2) != hx[1].size(2)
    network = _Network(mode, _sizes(batch_sizes), *settings)
    if batch_first:
        input = input.transpose(0, 1)
    if not input.size(0):
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    weights = network.weights(params, projected)
    whole = not projected and network.fit(input, states, weights)
    if projected and batch_sizes is None and input.dtype.name == "float32":
        warn_once(
            "LSTM with projections is not supported with oneDNN. Using default implementation."
        )
    first = _states(network, states, len(weights), whole)
    if whole and network.is_fused(input):
        input = input.contiguous()
    output, last = network.run(input, first, weights, whole)
    if batch_first:
        output = output.transpose(0, 1) if mode == LSTM else output.transpose_(0, 1)
    return (output, *[stack([each[nr] for each in last]) for nr in range(len(states))])


def _sizes(batch_sizes: Tensor | None) -> tuple[int, ...]:
    if batch_sizes is None:
        return ()
    if batch_sizes.dtype.name != "int64":
        raise RuntimeError(f"expected scalar type Long but found {batch_sizes.dtype.scalar_type}")
    return tuple(batch_sizes.tolist())


# --- arguments -------------------------------------------------------------------------------


_SEQUENCES = (list, tuple)


def _is_tensors(value: Any) -> bool:
    if isinstance(value, _SEQUENCES):
        for each in value:
            if not isinstance(each, Tensor):
                return False
        return True
    return False


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or is_integer(value)


_KINDS: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda value: isinstance(value, Tensor),
    "tuple of Tensors": _is_tensors,
    "bool": lambda value: isinstance(value, bool),
    "int": is_integer,
    "float": _is_number,
}
_SETTINGS = "bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"


def _overloads(hx: str) -> list[tuple[str, list[tuple[Callable[[Any], bool], str]]]]:
    """List the two signatures, for packed and padded input, with names and what each must be."""
    rest = f"{hx} hx, tuple of Tensors params, {_SETTINGS}"
    signatures = (
        f"(Tensor data, Tensor batch_sizes, {rest})",
        f"(Tensor input, {rest}, bool batch_first)",
    )
    pairs = [[word.rsplit(" ", 1) for word in each[1:-1].split(", ")] for each in signatures]
    checks = [[(_KINDS[kind], name) for kind, name in each] for each in pairs]
    return list(zip(signatures, checks, strict=True))


_OF_TWO_STATES, _OF_ONE_STATE = _overloads("tuple of Tensors"), _overloads("Tensor")


def _bound(function: str, mode: int, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """Return the arguments of either overload: input, batch sizes or None, ..., batch first."""
    overloads = _OF_TWO_STATES if mode == LSTM else _OF_ONE_STATE
    for signature, words in overloads:
        if len(words) != len(args) + len(kwargs):
            continue
        values = list(args)
        for _, name in words[len(args) :]:
            if name in kwargs:
                values.append(kwargs[name])
        fitting = [fits(value) for (fits, _), value in zip(words, values, strict=False)]
        if len(values) == len(words) and all(fitting):
            packed = signature is overloads[0][0]
            return [*values, False] if packed else [values[0], None, *values[1:]]
    signatures = [signature for signature, _ in overloads]
    raise invalid_combination(function, [*args, *kwargs.values()], signatures)


# --- public ----------------------------------------------------------------------------------


@composite(method=False)
def lstm(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Compute outputs, last states and last cells of an LSTM of several layers.

    `lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)`,
    or for a packed sequence `lstm(data, batch_sizes, hx, params, ...)` without `batch_first`.

    >>> import taper
    >>> x, zero, w = taper.ones(2, 1, 1), taper.zeros(1, 1, 1), taper.ones(4, 1)
    >>> taper.lstm(x, (zero, zero), (w, w), False, 1, 0.0, False, False, False)[0].flatten()
    tensor([0.3696, 0.6505])
    """
    output, states, cells = _whole_network("lstm", LSTM, args, kwargs)
    return output, states, cells


@composite(method=False)
def gru(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Compute outputs and last states of a GRU of several layers; arguments as for `lstm`.

    >>> import taper
    >>> x, zero, w = taper.ones(2, 1, 1), taper.zeros(1, 1, 1), taper.ones(3, 1)
    >>> taper.gru(x, zero, (w, w), False, 1, 0.0, False, False, False)[0].flatten()
    tensor([0.2048, 0.3468])
    """
    output, states = _whole_network("gru", GRU, args, kwargs)
    return output, states


@composite(method=False)
def rnn_tanh(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Compute outputs and last states of an RNN of several layers with tanh; see `lstm`.

    >>> import taper
    >>> x, zero, w = taper.ones(2, 1, 1), taper.zeros(1, 1, 1), taper.ones(1, 1)
    >>> taper.rnn_tanh(x, zero, (w, w), False, 1, 0.0, False, False, False)[0].flatten()
    tensor([0.7616, 0.9427])
    """
    output, states = _whole_network("rnn_tanh", TANH, args, kwargs)
    return output, states


@composite(method=False)
def rnn_relu(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Compute outputs and last states of an RNN of several layers with relu; see `lstm`.

    >>> import taper
    >>> x, zero, w = taper.ones(2, 1, 1), taper.zeros(1, 1, 1), taper.ones(1, 1)
    >>> taper.rnn_relu(x, zero, (w, w), False, 1, 0.0, False, False, False)[0].flatten()
    tensor([1., 2.])
    """
    output, states = _whole_network("rnn_relu", RELU, args, kwargs)
    return output, states
