"""Recurrent networks, RNN, LSTM and GRU, and their cells, which do one step.

Long because: networks and cells belong together, and each has its reference.
"""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, overload

from taper.autograd.state import local
from taper.nn import init
from taper.nn.modules.module import Module
from taper.nn.parameter import Parameter
from taper.nn.utils.rnn import PackedSequence
from taper.ops.creation.filled import empty, zeros
from taper.ops.recurrent.cells import gru_cell, lstm_cell, rnn_relu_cell, rnn_tanh_cell
from taper.ops.recurrent.layers import gru, lstm, rnn_relu, rnn_tanh
from taper.tensor import Tensor

if TYPE_CHECKING:
    from taper.dtypes import dtype as DType
    from taper.types import Device

_P = ParamSpec("_P")
_Input = TypeVar("_Input", Tensor, PackedSequence)
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_FUNCTIONS = {"GRU": gru, "RNN_TANH": rnn_tanh, "RNN_RELU": rnn_relu}


def _permuted(tensor: Tensor, permutation: Tensor | None) -> Tensor:
    """Return a state with its batch in another order."""
    return tensor if permutation is None else tensor.index_select(1, permutation)


class RNNBase(Module):
    """Hold the parameters of a recurrent network, and check its input and state.

    Args:
        mode: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".
        input_size, hidden_size, num_layers, bias, batch_first, dropout: as for `LSTM`.
        bidirectional, proj_size, device, dtype: as for `LSTM`.

    Initialisation: all parameters ~ U(-k, k), k = 1/√hidden_size.

    Example:
        >>> import taper
        >>> network = taper.nn.RNNBase("LSTM", input_size=3, hidden_size=4, num_layers=2)
        >>> [tuple(each.shape) for each in network.parameters()][:4]
        [(16, 3), (16, 4), (16,), (16,)]
    """

    __constants__ = [  # noqa: RUF012 - as PyTorch's
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_settings(dropout)
        self._flat_weights_names: list[str] = []
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for ending in ("", "_reverse")[: self._directions]:
                self._add_layer(layer, ending, device, dtype)
        self.reset_parameters()

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _check_settings(self, dropout: Any) -> None:
        is_number = isinstance(dropout, numbers.Number) and not isinstance(dropout, bool)
        if not is_number or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an "
                "element being zeroed"
            )
        if dropout > 0 and self.num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero "
                f"dropout expects num_layers greater than 1, but got dropout={dropout} and "
                f"num_layers={self.num_layers}",
                stacklevel=4,
            )
        for name in ("input_size", "hidden_size"):
            value = getattr(self, name)
            if not isinstance(value, int):
                raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
        for name in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.proj_size < 0:
            raise ValueError(
                "proj_size should be a positive integer or zero to disable projections"
            )
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {self.mode}")

    def _add_layer(self, layer: int, ending: str, device: Any, dtype: Any) -> None:
        """Register the parameters of a layer in one direction."""
        rows = _GATES[self.mode] * self.hidden_size
        outputs = self.proj_size or self.hidden_size
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (rows, outputs * self._directions if layer else self.input_size),
            "weight_hh": (rows, outputs),
        }
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = [f"{name}_l{layer}{ending}" for name in shapes]
        for name, shape in zip(names, shapes.values(), strict=True):
            setattr(self, name, Parameter(empty(shape, device=device, dtype=dtype)))
        self._flat_weights_names += names
        self._all_weights.append(names)

    def __getstate__(self) -> dict[str, Any]:
        # PyTorch reads the parameters of a saved module from a list beside them.
        return {**self.__dict__, "_flat_weights": self._flat_weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({key: each for key, each in state.items() if key != "_flat_weights"})

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name, None) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Do nothing: only kernels for GPUs want all parameters in one piece of memory."""

    def reset_parameters(self) -> None:
        """Draw all parameters from U(-k, k), k = 1/√hidden_size."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        usual = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0,
            "bidirectional": False,
        }
        parts += [
            f"{name}={getattr(self, name)}"
            for name, value in usual.items()
            if getattr(self, name) != value
        ]
        return ", ".join(parts)

    # Checks.

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise if the input has a dtype or size that does not fit the network."""
        weight: Tensor = getattr(self, self._flat_weights_names[0])
        if input.dtype != weight.dtype and local.state.autocast is None:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). "
                f"Convert input: input.to({weight.dtype}), or convert model: "
                f"model.to({input.dtype})"
            )
        ndim = 3 if batch_sizes is None else 2
        if input.dim() != ndim:
            raise RuntimeError(f"input must have {ndim} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.size(-1)}"
            )

    def get_expected_hidden_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """Return the shape of the state for an input."""
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0 if self.batch_first else 1)
        return self.num_layers * self._directions, batch, self.proj_size or self.hidden_size

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        """Raise if a state has another shape."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise if input or state do not fit the network."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return a state with its batch in another order."""
        return _permuted(hx, permutation)

    # What `forward` shares.

    def _zeros(self, input: Tensor, batch: int, width: int) -> Tensor:
        shape = (self.num_layers * self._directions, batch, width)
        return zeros(shape, dtype=input.dtype, device=input.device)

    def _settings(self) -> tuple[Any, ...]:
        return self.bias, self.num_layers, self.dropout, self.training, self.bidirectional

    def _run(self, function: Any, input: Tensor, hx: Any, batch_sizes: Tensor | None) -> Any:
        if batch_sizes is None:
            return function(input, hx, self._flat_weights, *self._settings(), self.batch_first)
        return function(input, batch_sizes, hx, self._flat_weights, *self._settings())


def _settings_of(
    init: Callable[Concatenate[Any, str, _P], None],
) -> Callable[[Callable[..., None]], Callable[Concatenate[Any, _P], None]]:
    """Tell checkers that a constructor takes what another one takes after the mode."""
    return lambda own: own


class _OneState(RNNBase):
    """Base of the networks whose state is one tensor."""

    _dimensions = "{}: Expected input to be 2D or 3D, got {}D instead"

    def _whole(self, input: Any, hx: Tensor | None) -> Any:
        if isinstance(input, PackedSequence):
            return self._packed(input, hx)
        if input.dim() not in (2, 3):
            raise ValueError(self._dimensions.format(type(self).__name__, input.dim()))
        batched = input.dim() == 3
        if not batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
        if hx is None:
            hx = self._zeros(input, input.size(0 if self.batch_first else 1), self.hidden_size)
        else:
            ndim = 3 if batched else 2
            if hx.dim() != ndim:
                kind = "batched" if batched else "unbatched"
                raise RuntimeError(
                    f"For {kind} {ndim}-D input, hx should also be {ndim}-D but got {hx.dim()}-D "
                    "tensor"
                )
            hx = hx if batched else hx.unsqueeze(1)
        self.check_forward_args(input, hx, None)
        output, last = self._run(_FUNCTIONS[self.mode], input, hx, None)
        if not batched:
            return output.squeeze(0 if self.batch_first else 1), last.squeeze(1)
        return output, last

    def _packed(self, packed: PackedSequence, hx: Tensor | None) -> tuple[PackedSequence, Tensor]:
        input, batch_sizes, order, back = packed
        if hx is None:
            hx = self._zeros(input, int(batch_sizes[0]), self.hidden_size)
        else:
            hx = self.permute_hidden(hx, order)
        self.check_forward_args(input, hx, batch_sizes)
        output, last = self._run(_FUNCTIONS[self.mode], input, hx, batch_sizes)
        return PackedSequence(output, batch_sizes, order, back), self.permute_hidden(last, back)


class RNN(_OneState):
    """Run layers of a simple recurrent network over sequences.

        h[t] = tanh(x[t] W_ihᵀ + b_ih + h[t-1] W_hhᵀ + b_hh)

    `RNN(input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False,
    dropout=0.0, bidirectional=False, device=None, dtype=None)`

    Args:
        input_size: length of the input's last dimension.
        hidden_size: length of the state.
        num_layers: how many layers stand on top of each other.
        nonlinearity: "tanh" or "relu".
        bias: whether the layers have biases.
        batch_first: whether the batch is the first dimension of input and output, (N, L, *); not
            of states.
        dropout: the probability that an element between two layers becomes 0 while training.
        bidirectional: whether a second network reads each layer's input backwards; the outputs are
            joined.
        device, dtype: where the parameters live, and their type; None means the default.

    Shape:
        input (L, N, input_size), or (L, input_size), or a `PackedSequence`; state (D num_layers,
        N, hidden_size) or without N, zeros if left out; result: output (L, N, D hidden_size), with
        the last layer's state at each time, and the last states of all layers. D is 2 if
        bidirectional, else 1.

    Initialisation:
        all parameters ~ U(-k, k), k = 1/√hidden_size; weight_ih_l0 is (hidden_size, input_size),
        weight_hh_l0 (hidden_size, hidden_size).

    Example:
        >>> import taper
        >>> output, last = taper.nn.RNN(2, 3)(taper.ones(5, 1, 2))
        >>> output.shape, last.shape
        (torch.Size([5, 1, 3]), torch.Size([1, 1, 3]))
    """

    _dimensions = "{}: Expected input to be 2D or 3D, got {}D tensor instead"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity

    def forward(self, input: _Input, hx: Tensor | None = None) -> tuple[_Input, Tensor]:
        return self._whole(input, hx)


class GRU(_OneState):
    """Run layers of gated recurrent units over sequences.

        r = sigmoid(x[t] W_irᵀ + b_ir + h[t-1] W_hrᵀ + b_hr)
        z = sigmoid(x[t] W_izᵀ + b_iz + h[t-1] W_hzᵀ + b_hz)
        n = tanh(x[t] W_inᵀ + b_in + r (h[t-1] W_hnᵀ + b_hn))
        h[t] = (1 - z) n + z h[t-1]

    `GRU(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
    bidirectional=False, device=None, dtype=None)`

    Args:
        input_size: length of the input's last dimension.
        hidden_size: length of the state.
        num_layers: how many layers stand on top of each other.
        bias: whether the layers have biases.
        batch_first: whether the batch is the first dimension of input and output, (N, L, *); not
            of states.
        dropout: the probability that an element between two layers becomes 0 while training.
        bidirectional: whether a second network reads each layer's input backwards; the outputs are
            joined.
        device, dtype: where the parameters live, and their type; None means the default.

    Shape:
        input (L, N, input_size), or (L, input_size), or a `PackedSequence`; state (D num_layers,
        N, hidden_size) or without N, zeros if left out; result: output (L, N, D hidden_size), with
        the last layer's state at each time, and the last states of all layers. D is 2 if
        bidirectional, else 1.

    Initialisation:
        all parameters ~ U(-k, k), k = 1/√hidden_size; weight_ih_l0, (3 hidden_size, input_size),
        holds W_ir, W_iz, W_in.

    Example:
        >>> import taper
        >>> output, last = taper.nn.GRU(2, 3, bidirectional=True)(taper.ones(5, 1, 2))
        >>> output.shape, last.shape
        (torch.Size([5, 1, 6]), torch.Size([2, 1, 3]))
    """

    @_settings_of(RNNBase.__init__)
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input: _Input, hx: Tensor | None = None) -> tuple[_Input, Tensor]:
        return self._whole(input, hx)


class LSTM(RNNBase):
    """Run layers of long short-term memory over sequences.

        i = sigmoid(x[t] W_iiᵀ + b_ii + h[t-1] W_hiᵀ + b_hi), f and o likewise, g with tanh
        c[t] = f c[t-1] + i g
        h[t] = o tanh(c[t]), or (o tanh(c[t])) W_hrᵀ with a projection

    `LSTM(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
    bidirectional=False, proj_size=0, device=None, dtype=None)`

    Args:
        input_size: length of the input's last dimension.
        hidden_size: length of the state.
        num_layers: how many layers stand on top of each other.
        bias: whether the layers have biases.
        batch_first: whether the batch is the first dimension of input and output, (N, L, *); not
            of states.
        dropout: the probability that an element between two layers becomes 0 while training.
        bidirectional: whether a second network reads each layer's input backwards; the outputs are
            joined.
        proj_size: length to project h to; 0 means no projection.
        device, dtype: where the parameters live, and their type; None means the default.

    Shape:
        input (L, N, input_size), or (L, input_size), or a `PackedSequence`; state (h, c), zeros if
        left out: h (D num_layers, N, H), c (D num_layers, N, hidden_size), or without N; result:
        output (L, N, D H), with the last layer's h at each time, and the last (h, c). D is 2 if
        bidirectional, else 1; H is proj_size, or hidden_size without a projection.

    Initialisation:
        all parameters ~ U(-k, k), k = 1/√hidden_size; weight_ih_l0, (4 hidden_size, input_size),
        holds W_ii, W_if, W_ig, W_io.

    Example:
        >>> import taper
        >>> output, (last, cells) = taper.nn.LSTM(2, 3, num_layers=2)(taper.ones(5, 1, 2))
        >>> output.shape, last.shape, cells.shape
        (torch.Size([5, 1, 3]), torch.Size([2, 1, 3]), torch.Size([2, 1, 3]))
    """

    @_settings_of(RNNBase.__init__)
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """Return the shape of the cells for an input."""
        layers, batch, _ = self.get_expected_hidden_size(input, batch_sizes)
        return layers, batch, self.hidden_size

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise if input, state or cells do not fit the network."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(
            hidden[0],
            self.get_expected_hidden_size(input, batch_sizes),
            "Expected hidden[0] size {}, got {}",
        )
        self.check_hidden_size(
            hidden[1],
            self.get_expected_cell_size(input, batch_sizes),
            "Expected hidden[1] size {}, got {}",
        )

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return state and cells with their batch in another order."""
        if permutation is None:
            return hx
        return _permuted(hx[0], permutation), _permuted(hx[1], permutation)

    def _first(self, input: Tensor, batch: int) -> tuple[Tensor, Tensor]:
        width = self.proj_size or self.hidden_size
        return self._zeros(input, batch, width), self._zeros(input, batch, self.hidden_size)

    @overload
    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]: ...
    @overload
    def forward(
        self, input: PackedSequence, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[PackedSequence, tuple[Tensor, Tensor]]: ...
    def forward(self, input: Any, hx: Any = None) -> Any:
        if isinstance(input, PackedSequence):
            return self._packed(input, hx)
        if input.dim() not in (2, 3):
            raise ValueError(f"LSTM: Expected input to be 2D or 3D, got {input.dim()}D instead")
        batched = input.dim() == 3
        if not batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
        if hx is None:
            hx = self._first(input, input.size(0 if self.batch_first else 1))
        else:
            hx = self._with_batch(hx, batched)
        self.check_forward_args(input, hx, None)
        output, *last = self._run(lstm, input, hx, None)
        if not batched:
            output = output.squeeze(0 if self.batch_first else 1)
            last = [each.squeeze(1) for each in last]
        return output, tuple(last)

    @staticmethod
    def _with_batch(hx: Any, batched: bool) -> Any:
        ndim = 3 if batched else 2
        if hx[0].dim() != ndim or hx[1].dim() != ndim:
            kind = "batched" if batched else "unbatched"
            raise RuntimeError(
                f"For {kind} {ndim}-D input, hx and cx should also be {ndim}-D but got "
                f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            )
        return hx if batched else (hx[0].unsqueeze(1), hx[1].unsqueeze(1))

    def _packed(self, packed: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        input, batch_sizes, order, back = packed
        if hx is None:
            hx = self._first(input, int(batch_sizes[0]))
        else:
            hx = self.permute_hidden(hx, order)
        output, *last = self._run(lstm, input, hx, batch_sizes)
        sequence = PackedSequence(output, batch_sizes, order, back)
        return sequence, self.permute_hidden(tuple(last), back)


# --- cells -----------------------------------------------------------------------------------


class RNNCellBase(Module):
    """Hold the parameters of a cell.

    Args:
        input_size, hidden_size, bias: as for `RNNCell`.
        num_chunks: how many vectors of hidden_size the weights compute: 1, 3 (GRU) or 4 (LSTM).
        device, dtype: where the parameters live, and their type; None means the default.

    Initialisation: all parameters ~ U(-k, k), k = 1/√hidden_size.

    Example:
        >>> import taper
        >>> taper.nn.RNNCellBase(3, 4, bias=True, num_chunks=2).weight_ih.shape
        torch.Size([8, 3])
    """

    __constants__ = ["input_size", "hidden_size", "bias"]  # noqa: RUF012 - as PyTorch's

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Device = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        shapes = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size)}
        for name, shape in shapes.items():
            setattr(self, name, Parameter(empty(shape, device=device, dtype=dtype)))
        for name in ("bias_ih", "bias_hh"):
            made = Parameter(empty(rows, device=device, dtype=dtype)) if bias else None
            self.register_parameter(name, made)
        self.reset_parameters()

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def reset_parameters(self) -> None:
        """Draw all parameters from U(-k, k), k = 1/√hidden_size."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _check_dimensions(self, tensor: Tensor, what: str) -> None:
        if tensor.dim() not in (1, 2):
            raise ValueError(
                f"{type(self).__name__}: Expected {what} to be 1D or 2D, got {tensor.dim()}D "
                "instead"
            )

    def _step(self, function: Any, input: Tensor, hx: Any) -> Any:
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return function(input, hx, *weights)

    def _one_state(self, function: Any, input: Tensor, hx: Tensor | None) -> Tensor:
        """Do one step of a cell whose state is one tensor."""
        self._check_dimensions(input, "input")
        if hx is not None:
            self._check_dimensions(hx, "hidden")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = zeros((input.size(0), self.hidden_size), dtype=input.dtype, device=input.device)
        elif not batched:
            hx = hx.unsqueeze(0)
        result: Tensor = self._step(function, input, hx)
        return result if batched else result.squeeze(0)


class RNNCell(RNNCellBase):
    """Do one step of a simple recurrent network.

        h' = tanh(x W_ihᵀ + b_ih + h W_hhᵀ + b_hh)

    Args:
        input_size: length of the input's last dimension.
        hidden_size: length of the state.
        bias: whether there are biases.
        nonlinearity: "tanh" or "relu".
        device, dtype: where the parameters live, and their type; None means the default.

    Shape:
        input (N, input_size), h (N, hidden_size), zeros if left out → h' (N, hidden_size), or all
        without N.

    Initialisation: all parameters ~ U(-k, k), k = 1/√hidden_size.

    Example:
        >>> import taper
        >>> taper.nn.RNNCell(2, 3)(taper.ones(5, 2)).shape
        torch.Size([5, 3])
    """

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]  # noqa: RUF012

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Device = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        functions = {"tanh": rnn_tanh_cell, "relu": rnn_relu_cell}
        if self.nonlinearity not in functions:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._one_state(functions[self.nonlinearity], input, hx)


class LSTMCell(RNNCellBase):
    """Do one step of an LSTM.

        i = sigmoid(x W_iiᵀ + b_ii + h W_hiᵀ + b_hi), f and o likewise, g with tanh
        c' = f c + i g, h' = o tanh(c')

    Args:
        input_size: length of the input's last dimension.
        hidden_size: length of the state.
        bias: whether there are biases.
        device, dtype: where the parameters live, and their type; None means the default.

    Shape:
        input (N, input_size), (h, c), each (N, hidden_size), zeros if left out → (h', c'), or all
        without N.

    Initialisation: all parameters ~ U(-k, k), k = 1/√hidden_size.

    Example:
        >>> import taper
        >>> state, cells = taper.nn.LSTMCell(2, 3)(taper.ones(5, 2))
        >>> state.shape, cells.shape
        (torch.Size([5, 3]), torch.Size([5, 3]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Tensor]:
        self._check_dimensions(input, "input")
        if hx is not None:
            for number, each in enumerate(hx):
                self._check_dimensions(each, f"hx[{number}]")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            shape = (input.size(0), self.hidden_size)
            hx = (zeros(shape, dtype=input.dtype, device=input.device),) * 2
        elif not batched:
            hx = (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        state, cells = self._step(lstm_cell, input, hx)
        return (state, cells) if batched else (state.squeeze(0), cells.squeeze(0))


class GRUCell(RNNCellBase):
    """Do one step of a GRU.

        r = sigmoid(x W_irᵀ + b_ir + h W_hrᵀ + b_hr), z likewise
        n = tanh(x W_inᵀ + b_in + r (h W_hnᵀ + b_hn))
        h' = (1 - z) n + z h

    Args:
        input_size: length of the input's last dimension.
        hidden_size: length of the state.
        bias: whether there are biases.
        device, dtype: where the parameters live, and their type; None means the default.

    Shape:
        input (N, input_size), h (N, hidden_size), zeros if left out → h' (N, hidden_size), or all
        without N.

    Initialisation: all parameters ~ U(-k, k), k = 1/√hidden_size.

    Example:
        >>> import taper
        >>> taper.nn.GRUCell(2, 3)(taper.ones(5, 2)).shape
        torch.Size([5, 3])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._one_state(gru_cell, input, hx)
