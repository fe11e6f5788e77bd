"""`backward` and `grad`: checking what the user asks for, and starting the engine."""

from __future__ import annotations

import math
import warnings
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from taper import dtypes
from taper.autograd.engine import GraphTask, run
from taper.autograd.node import Node
from taper.autograd.views import gradient_edge, meta_of, requires_grad
from taper.tensor import Tensor, wrap


class GradientEdge(NamedTuple):
    """A place in the graph: a node and one of its outputs."""

    node: Node
    output_nr: int
    ownership_token: Any = None


_PLACES = (Tensor, GradientEdge)


def _as_sequence(value: Any) -> tuple[Any, ...]:
    if isinstance(value, _PLACES):
        return (value,)
    return tuple(value)


def _edge(output: Any) -> tuple[Node | None, int]:
    if output.__class__ is GradientEdge:
        return output.node, output.output_nr
    return gradient_edge(output)


def _metadata(output: Any) -> tuple[tuple[int, ...], Any]:
    if output.__class__ is GradientEdge:
        metadata: tuple[tuple[int, ...], Any] = output.node._output_metadata(output.output_nr)
        return metadata
    array = output._array
    return array.shape, array.dtype


# The implicit gradient of a 0-d loss, by dtype; nobody writes into a borrowed gradient (I6).
_ONES: dict[Any, np.ndarray] = {}


def _roots(outputs: Sequence[Any], grads: Sequence[Any], create_graph: bool) -> list[Any]:
    """The starting points of a pass, with their gradients checked (E1 to E3)."""
    roots = []
    for position, (output, grad) in enumerate(zip(outputs, grads, strict=False)):
        shape, dtype = _metadata(output)
        if grad is None:
            if output.__class__ is GradientEdge or requires_grad(output):
                grad = wrap(_implicit_grad(shape, dtype))
        elif not isinstance(grad, Tensor):
            raise TypeError(
                f"gradients can be either Tensors or None, but got {type(grad).__name__}"
            )
        else:
            _check_grad(grad, output, shape, dtype, position)
        roots.append((output, grad, dtype))
    starts = []
    for position, (output, grad, dtype) in enumerate(roots):
        node, nr = _edge(output)
        if node is None:
            raise RuntimeError(
                f"element {position} of tensors does not require grad and does not have a grad_fn"
            )
        array = grad._array
        if create_graph:
            fits = array.dtype is dtype
            starts.append((node, nr, grad if fits else grad.to(dtypes.FROM_NUMPY[dtype])))
        else:
            starts.append((node, nr, array if array.dtype is dtype else array.astype(dtype)))
    return starts


def _implicit_grad(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """The gradient of a scalar with respect to itself."""
    if not shape and dtype in _ONES:
        return _ONES[dtype]
    if math.prod(shape) != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if dtype.kind == "c":
        raise RuntimeError(
            "grad can be implicitly created only for real scalar outputs but got "
            f"{dtypes.FROM_NUMPY[dtype]}"
        )
    ones = np.ones(shape, dtype)
    if not shape:
        ones.flags.writeable = False
        _ONES[dtype] = ones
    return ones


def _check_grad(grad: Tensor, output: Any, shape: Any, dtype: Any, position: int) -> None:
    if grad._array.shape != tuple(shape):
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{position}] has a shape of {grad.shape} and "
            f"output[{position}] has a shape of {wrap(np.empty(shape, dtype)).shape}."
        )
    if (grad._array.dtype.kind == "c") != (dtype.kind == "c"):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same "
            f"dtype. Mismatch in dtype: grad_output[{position}] has a dtype of {grad.dtype} and "
            f"output[{position}] has a dtype of {wrap(np.empty(0, dtype)).dtype}."
        )


def _grad_list(outputs: Sequence[Any], grads: Any) -> tuple[Any, ...]:
    if grads is None:
        return (None,) * len(outputs)
    return (grads,) if isinstance(grads, Tensor) else tuple(grads)


_warned_create_graph = False


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of `tensors` to the `.grad` of the leaves of their graph.

    >>> import taper
    >>> x = taper.tensor(3.0, requires_grad=True)
    >>> taper.autograd.backward([x * 2, x * x])
    >>> x.grad
    tensor(8.)
    """
    if grad_variables is not None:
        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            FutureWarning,
            stacklevel=2,
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    if isinstance(inputs, dict):
        inputs = list(inputs.values())
    chosen = None if inputs is None else _as_sequence(inputs)
    if chosen is not None and not chosen:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    outputs = _as_sequence(tensors)
    grads = _grad_list(outputs, grad_tensors)
    if len(grads) < len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    keep = create_graph if retain_graph is None else retain_graph
    roots = _roots(outputs, grads, create_graph)
    if create_graph:
        _warn_create_graph()
    task = GraphTask(keep, create_graph, accumulate=True)
    if chosen is not None:
        task.wanted = _accumulating(chosen)
    run(roots, task)


def _warn_create_graph() -> None:
    global _warned_create_graph
    if not _warned_create_graph:
        _warned_create_graph = True
        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the "
            "parameter and its gradient which can cause a memory leak. We recommend using "
            "autograd.grad when creating the graph to avoid this. If you have to use this "
            "function, make sure to reset the .grad fields of your parameters to None after use "
            "to break the cycle and avoid the leak.",
            UserWarning,
            stacklevel=4,
        )


def _accumulating(inputs: Sequence[Any]) -> dict[Node, dict[int, list[int]]]:
    """`backward(inputs=)`: leaves accumulate by their node, other tensors retain their gradient."""
    wanted: dict[Node, dict[int, list[int]]] = {}
    for tensor in inputs:
        if isinstance(tensor, Tensor) and tensor.grad_fn is not None:
            tensor.retain_grad()
            meta_of(tensor).retains_grad = True
            tensor._grad_fn._rarely().retained[tensor._output_nr] = weakref.ref(tensor)
        elif isinstance(tensor, Tensor) and not requires_grad(tensor):
            raise RuntimeError(
                "One of the differentiated Tensors does not require grad"
            )
        node, nr = _edge(tensor)
        if node is not None:
            wanted.setdefault(node, {}).setdefault(nr, [])
    return wanted


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of `outputs` with respect to `inputs`, without touching any `.grad`.

    >>> import taper
    >>> x = taper.tensor(3.0, requires_grad=True)
    >>> taper.autograd.grad(x ** 3, x)
    (tensor(27.),)
    """
    names = None
    if isinstance(inputs, dict):
        names, inputs = list(inputs), list(inputs.values())
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    allow = materialize_grads if allow_unused is None else allow_unused
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To "
            "accumulate gradient for other parts of the graph, please use "
            "torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    sources = _as_sequence(inputs)
    if not sources:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    results_of = _as_sequence(outputs)
    grads = _grad_list(results_of, grad_outputs)
    if len(grads) < len(results_of):
        raise RuntimeError(f"got {len(results_of)} tensors and {len(grads)} gradients")
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        found = _batched(results_of, sources, grads, keep, create_graph, allow)
    else:
        found = _gradients(results_of, sources, grads, keep, create_graph)
    results = _finished(sources, found, allow, materialize_grads)
    return dict(zip(names, results, strict=True)) if names is not None else results


def _gradients(
    outputs: Sequence[Any], inputs: Sequence[Any], grads: Sequence[Any], keep: bool, create: bool
) -> list[Any]:
    wanted: dict[Node, dict[int, list[int]]] = {}
    for position, tensor in enumerate(inputs):
        if isinstance(tensor, Tensor) and not requires_grad(tensor):
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        node, nr = _edge(tensor)
        if node is not None:
            wanted.setdefault(node, {}).setdefault(nr, []).append(position)
    roots = _roots(outputs, grads, create)
    given = {id(grad._array): grad for grad in grads if grad is not None}
    task = GraphTask(keep, create, accumulate=False)
    task.wanted = wanted
    captured = run(roots, task)
    results = []
    for position in range(len(inputs)):
        value = captured.get(position)
        if isinstance(value, np.ndarray):
            tensor = given.get(id(value))
            value = wrap(value) if tensor is None else tensor
        results.append(value)
    return results


def _finished(
    inputs: Sequence[Any], found: Sequence[Any], allow_unused: bool, materialize: bool
) -> tuple[Any, ...]:
    results = list(found)
    for position, value in enumerate(results):
        if value is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {position} appears to not have been used in "
                "the graph. Set allow_unused=True if this is the desired behavior."
            )
        if value is None and materialize:
            if isinstance(inputs[position], GradientEdge):
                raise RuntimeError(
                    "materialize_grads cannot be used when the given input is a GradientEdge"
                )
            array = inputs[position]._array
            results[position] = wrap(np.zeros(array.shape, array.dtype))
    return tuple(results)


def _batched(
    outputs: Sequence[Any],
    inputs: Sequence[Any],
    grads: Sequence[Any],
    keep: bool,
    create: bool,
    allow_unused: bool,
) -> list[Any]:
    """`is_grads_batched`: one pass for each entry of the first dimension, results stacked."""
    count = len(grads[0])
    rows = []
    for index in range(count):
        row = [grad[index] for grad in grads]
        last = index == count - 1
        rows.append(_gradients(outputs, inputs, row, keep or not last, create))
    stacked = []
    for column in zip(*rows, strict=True):
        if column[0] is None:
            stacked.append(None)
        elif create:
            stacked.append(column[0].unsqueeze(0).new_stack(column))
        else:
            stacked.append(wrap(np.stack([each._array for each in column])))
    return stacked
