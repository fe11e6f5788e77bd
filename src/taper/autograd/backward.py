"""`backward` and `grad`: checking what the user asks for, and starting the engine."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from taper import dtypes
from taper.arrays.elements import Conjugated
from taper.arrays.foreign import ForeignArray, as_array, is_array
from taper.arrays.strides import empty_with, preserved_strides
from taper.autograd.conjugate import as_gradient, memory_of
from taper.autograd.cuts import explanation
from taper.autograd.engine import GraphTask, run
from taper.autograd.fitting import expands_to
from taper.autograd.interception import are_formulas_seen, seen_made
from taper.autograd.node import Node
from taper.autograd.overrides import call_overrider, overrider
from taper.autograd.state import DUAL, State, local
from taper.autograd.transforms import refuse_backward
from taper.autograd.views import gradient_edge, requires_grad
from taper.device import preserve_format, strided
from taper.size import Size
from taper.tensor import Tensor, array_or_sparse, element_strides, outline_of, wrap
from taper.userwarning import warn_once


class GradientEdge(NamedTuple):
    """A place in the graph: a node and one of its outputs.

    Args:
        node: the node, such as `y.grad_fn`.
        output_nr: the number of its output.
        ownership_token: accepted as in PyTorch; an object that keeps the graph alive.

    >>> import taper
    >>> x = taper.ones(2, requires_grad=True)
    >>> y = x * 2
    >>> edge = taper.autograd.graph.GradientEdge(y.grad_fn, 0)
    >>> taper.autograd.grad(y.sum() * 3, edge)
    (tensor([3., 3.]),)
    """

    node: Node
    output_nr: int
    ownership_token: Any = None


Places: TypeAlias = Tensor | GradientEdge | Sequence[Tensor] | Sequence[GradientEdge]
Wanted: TypeAlias = dict[Node, dict[int, list[int]]]

_PLACES = (Tensor, GradientEdge)

# The implicit gradient of a 0-d loss, by dtype: copying a ready one is faster than making one.
_ONES: dict[Any, np.ndarray] = {}


# --- roots -----------------------------------------------------------------------------------


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
    if not isinstance(output, Tensor):
        raise AssertionError("Expected output to be a torch.Tensor")
    array = outline_of(output)
    return array.shape, array.dtype


def _roots(outputs: Sequence[Any], grads: Sequence[Any], create_graph: bool) -> list[Any]:
    """Return the starting points of a pass with their checked gradients (E1 to E3)."""
    if len(grads) < len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    roots: list[Any] = []
    without = -1  # the first root without a graph; a wrong gradient is reported before it
    for position, (output, grad) in enumerate(zip(outputs, grads, strict=False)):
        shape, dtype = _metadata(output)
        node, nr = _edge(output)
        if grad is not None:
            _check_grad(grad, shape, dtype, position)
        elif node is not None or (isinstance(output, Tensor) and requires_grad(output)):
            grad = _implicit_grad_for(output, shape, dtype)
            if create_graph and isinstance(output, Tensor):
                options = {"pin_memory": False, "memory_format": preserve_format}
                grad = seen_made("ones_like", (output,), options, grad)
        if node is None:
            without = position if without < 0 else without
            continue
        if outline_of(grad).shape != node._output_metadata(nr)[0]:
            grad = _fitted_root(grad, node._output_metadata(nr)[0], position)
        array = outline_of(grad)
        fits = array.dtype is dtype or array.dtype == dtype
        if create_graph or grad.layout is not strided:
            roots.append((node, nr, grad if fits else grad.to(dtypes.FROM_NUMPY[dtype])))
        else:
            roots.append((node, nr, array if fits else array.astype(dtype)))
    if without >= 0:
        raise RuntimeError(
            f"element {without} of tensors does not require grad and does not have a grad_fn"
            + explanation(outputs[without])
        )
    return roots


def _fitted_root(grad: Tensor, shape: tuple[int, ...], position: int) -> Tensor:
    """Return a gradient for a root whose shape is no longer that of its node (`t_` in no_grad)."""
    if not expands_to(shape, grad._array.shape):
        raise RuntimeError(
            f"invalid gradient at index {position} - got {list(grad._array.shape)} but expected "
            f"shape compatible with {list(shape)}"
        )
    fitted: Tensor = grad.sum_to_size(shape)
    return fitted


def _implicit_grad_for(output: Any, shape: tuple[int, ...], dtype: Any) -> Tensor:
    """Return the same as a tensor on the device of the output."""
    grad = _implicit_grad(shape, dtype)
    like = output._array if isinstance(output, Tensor) else grad
    if isinstance(like, ForeignArray):
        return wrap(like.place.filled(shape, 1, dtype, like.device))
    return wrap(grad)


def _implicit_grad(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return the gradient of a scalar with respect to itself."""
    if not shape and dtype in _ONES:
        return _ONES[dtype].copy()
    if math.prod(shape) != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if dtype.kind == "c":
        raise RuntimeError(
            "grad can be implicitly created only for real scalar outputs but got "
            f"{dtypes.FROM_NUMPY[dtype]}"
        )
    ones = np.ones(shape, dtype)
    if not shape:
        _ONES[dtype] = ones.copy()
    return ones


def _check_grad(grad: Any, shape: tuple[int, ...], dtype: Any, position: int) -> None:
    if not isinstance(grad, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")
    array = outline_of(grad)
    if array.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{position}] has a shape of {grad.shape} and "
            f"output[{position}] has a shape of {Size(shape)}."
        )
    if (array.dtype.kind == "c") != (dtype.kind == "c"):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same "
            f"dtype. Mismatch in dtype: grad_output[{position}] has a dtype of {grad.dtype} and "
            f"output[{position}] has a dtype of {dtypes.FROM_NUMPY[dtype]}."
        )


def _tensor_or_tensors_to_tuple(tensors: Any, length: int) -> tuple[Any, ...]:
    """Return one tensor, several tensors, or None for each of `length`, as a tuple.

    >>> import taper
    >>> taper.autograd._tensor_or_tensors_to_tuple(None, 2)
    (None, None)
    """
    if tensors is None:
        return (None,) * length
    return (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)


def _make_grads(
    outputs: Sequence[Any], grads: Sequence[Any], is_grads_batched: bool
) -> tuple[Tensor | None, ...]:
    """Return the gradients that a pass starts with: the given ones, checked, and ones for scalars.

    >>> import taper
    >>> x = taper.ones(2, requires_grad=True)
    >>> taper.autograd._make_grads((x.sum(),), (None,), False)
    (tensor(1.),)
    """
    made: list[Tensor | None] = []
    for position, (output, grad) in enumerate(zip(outputs, grads, strict=False)):
        shape, dtype = _metadata(output)
        if grad is None:
            node, _ = _edge(output)
            made.append(None if node is None else _implicit_grad_for(output, shape, dtype))
            continue
        first = grad[0] if is_grads_batched and isinstance(grad, Tensor) else grad
        if first is not grad:
            _check_row(output, first, shape, position)
        _check_grad(first, shape, dtype, position)
        made.append(grad)
    return tuple(made)


def _check_row(output: Any, first: Tensor, shape: tuple[int, ...], position: int) -> None:
    """Raise unless an entry of a batch of gradients has the shape of the output."""
    if first._array.shape == shape:
        return
    if output.__class__ is GradientEdge:
        raise RuntimeError("Batched grads are not supported with GradientEdge")
    raise RuntimeError(
        "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the "
        "batch dimension. The sizes of the remaining dimensions are expected to match the shape of "
        "corresponding output, but a mismatch was detected: "
        f"grad_output[{position}] has a shape of {Size(first._array.shape[1:])} and "
        f"output[{position}] has a shape of {Size(shape)}. If you only want some tensors in "
        "`grad_output` to be considered batched, consider using vmap."
    )


def _calculate_shape(
    output: Any, grad: Tensor, is_grads_batched: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the two shapes that must agree: the output's, and its gradient's (one of a batch).

    >>> import taper
    >>> taper.autograd._calculate_shape(taper.ones(2), taper.ones(5, 2), True)
    (torch.Size([2]), torch.Size([2]))
    """
    if output.__class__ is GradientEdge and is_grads_batched:
        raise RuntimeError("Batched grads are not supported with GradientEdge")
    shape = Size(_metadata(output)[0])
    return shape, Size(grad._array.shape[1:]) if is_grads_batched else grad.shape


# --- backward --------------------------------------------------------------------------------


def _needs_tensors(state: State) -> bool:
    """Return whether formulas run on Tensors, recorded or not (D5).

    They must in a dual level, where saved values may have tangents, under autocast, which casts
    what formulas call, in a transform, where gradients may be batched, and where a mode sees the
    operators of a pass.
    """
    if state.interceptors and are_formulas_seen(state):
        return True
    return bool(state.mode & DUAL or state.transforms) or state.autocast is not None


def of_a_loss(output: Tensor, retain_graph: bool | None) -> bool:
    """Run the commonest pass, from a single number; return False, with nothing done, for any other.

    This only shortens what `backward` does: it saves 2.5 us.
    """
    state = local.state
    array = output._array
    one = _ONES.get(array.dtype)
    node = output._grad_fn
    if (
        node is None
        or one is None
        or array.ndim
        or type(array) is not np.ndarray
        or output._view is not None
        or output.__class__ is not Tensor
        or node._output_metadata(output._output_nr)[0]
        or state.transforms
        or _needs_tensors(state)
    ):
        return False
    task = GraphTask(bool(retain_graph), False, True)
    run(((node, output._output_nr, one.copy()),), task)
    return True


def backward(
    tensors: Places,
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Tensor | Sequence[Tensor | None] | None = None,
    inputs: Places | None = None,
) -> None:
    """Add the gradients of `tensors` to the `.grad` of the leaves of their graph.

    Args:
        tensors: a tensor or gradient edge, or a sequence of them, to differentiate.
        grad_tensors: the gradient to start with for each of `tensors`, of its shape; None stands
            for one, and is allowed for a tensor of one element.
        retain_graph: keep the saved values, so that another pass can use the graph.  The default is
            the value of `create_graph`.
        create_graph: record the pass itself, so that its gradients can be differentiated.
        grad_variables: the deprecated name of `grad_tensors`.
        inputs: the tensors whose `.grad` is added to; by default all leaves that were used.

    >>> import taper
    >>> x = taper.tensor(3.0, requires_grad=True)
    >>> taper.autograd.backward([x * 2, x * x])
    >>> x.grad
    tensor(8.)
    """
    state = local.state
    if state.transforms:
        refuse_backward()
    if tensors.__class__ is not Tensor and (asked := overrider(tensors)) is not None:
        options = {
            "grad_tensors": grad_tensors,
            "retain_graph": retain_graph,
            "create_graph": create_graph,
            "inputs": inputs,
        }
        result: None = call_overrider(asked, backward, (tensors,), options)
        return result
    if grad_variables is not None:
        grad_tensors = _renamed(grad_tensors, grad_variables)
    chosen = None
    if inputs is not None:
        chosen = _as_sequence(inputs.values() if isinstance(inputs, dict) else inputs)
        if not chosen:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    outputs = _as_sequence(tensors)
    keep = create_graph if retain_graph is None else retain_graph
    tensors_too = create_graph or _needs_tensors(state)
    roots = _roots(outputs, _tensor_or_tensors_to_tuple(grad_tensors, len(outputs)), tensors_too)
    if create_graph:
        warn_once(
            "Using backward() with create_graph=True will create a reference cycle between the "
            "parameter and its gradient which can cause a memory leak. We recommend using "
            "autograd.grad when creating the graph to avoid this. If you have to use this "
            "function, make sure to reset the .grad fields of your parameters to None after use "
            "to break the cycle and avoid the leak."
        )
    task = GraphTask(keep, tensors_too, accumulate=True)
    task.records = create_graph
    if chosen is not None:
        task.wanted = _accumulating(chosen)
    run(roots, task)


def _renamed(grad_tensors: Any, grad_variables: Any) -> Any:
    warnings.warn(
        "`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=3
    )
    if grad_tensors is not None:
        raise RuntimeError(
            "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
            "`backward()`. Please only use `grad_tensors`."
        )
    return grad_variables


def _accumulating(inputs: Sequence[Any]) -> Wanted:
    """Prepare `backward(inputs=)`: leaves accumulate, other tensors retain their gradient."""
    for each in inputs:
        _check_input(each)
        if isinstance(each, Tensor):
            each.retain_grad()  # nothing for a leaf; refuses a tensor without gradient
    wanted: Wanted = {}
    for each in inputs:
        node, nr = _edge(each)
        if node is not None:
            wanted.setdefault(node, {}).setdefault(nr, [])
    return wanted


def _check_input(value: Any) -> None:
    if not isinstance(value, _PLACES):
        raise RuntimeError(
            f"all inputs have to be Tensors or GradientEdges, but got {type(value).__name__}"
        )


# --- grad ------------------------------------------------------------------------------------


def grad(
    outputs: Places,
    inputs: Places,
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    """Return the gradients of `outputs` with respect to `inputs`, without touching any `.grad`.

    Args:
        outputs: a tensor or gradient edge, or a sequence of them, to differentiate.
        inputs: the tensors or edges to differentiate by: one, a sequence, or a dict.
        grad_outputs: the gradient to start with for each output; None stands for one, and is
            allowed for an output of one element.
        retain_graph: keep the saved values, so that another pass can use the graph.  The default is
            the value of `create_graph`.
        create_graph: record the pass itself, so that the results can be differentiated.
        only_inputs: deprecated, without effect.
        allow_unused: return None for an input that the outputs do not depend on, which is an error
            otherwise.  The default is the value of `materialize_grads`.
        is_grads_batched: treat the first dimension of each gradient in `grad_outputs` as a batch,
            and stack the results of one pass for each entry.
        materialize_grads: return zeros instead of None for an unused input.

    Returns: a tuple with the gradient of each input (a dict with the same keys if `inputs` is one).

    >>> import taper
    >>> x = taper.tensor(3.0, requires_grad=True)
    >>> taper.autograd.grad(x ** 3, x)
    (tensor(27.),)
    """
    asked = overrider(outputs)
    if asked is None:
        asked = overrider(inputs)
    if asked is not None:
        options = {
            "grad_outputs": grad_outputs,
            "retain_graph": retain_graph,
            "create_graph": create_graph,
            "only_inputs": only_inputs,
            "allow_unused": allow_unused,
            "is_grads_batched": is_grads_batched,
            "materialize_grads": materialize_grads,
        }
        return call_overrider(asked, grad, (outputs, inputs), options)
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To "
            "accumulate gradient for other parts of the graph, please use "
            "torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    names = list(inputs) if isinstance(inputs, dict) else None
    sources = _as_sequence(inputs.values() if isinstance(inputs, dict) else inputs)
    if not sources:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    for each in sources:
        _check_input(each)
    differentiated = _as_sequence(outputs)
    grads = _tensor_or_tensors_to_tuple(grad_outputs, len(differentiated))
    keep = create_graph if retain_graph is None else retain_graph
    compute = _batched_gradients if is_grads_batched else _gradients
    found = compute(differentiated, sources, grads, keep, create_graph)
    allow = materialize_grads if allow_unused is None else allow_unused
    results = _finished(sources, found, allow, materialize_grads, create_graph)
    return results if names is None else dict(zip(names, results, strict=True))


def _gradients(
    outputs: Sequence[Any], inputs: Sequence[Any], grads: Sequence[Any], keep: bool, create: bool
) -> list[Any]:
    tensors_too = create or _needs_tensors(local.state)
    roots = _roots(outputs, grads, tensors_too)
    wanted: Wanted = {}
    for position, each in enumerate(inputs):
        if isinstance(each, Tensor) and not requires_grad(each):
            raise RuntimeError(
                "One of the differentiated Tensors does not require grad" + explanation(each)
            )
        node, nr = _edge(each)
        if node is not None:
            wanted.setdefault(node, {}).setdefault(nr, []).append(position)
    task = GraphTask(keep, tensors_too, accumulate=False)
    task.records = create
    task.wanted = wanted
    captured = run(roots, task)
    # A gradient that arrives unchanged comes back as the tensor that was given (§E7), and one
    # that was captured for two inputs as one tensor.
    known = {id(array_or_sparse(each)): each for each in grads if each is not None}
    results: list[Any] = []
    for position in range(len(inputs)):
        value: Any = captured.get(position)
        if is_array(value):
            tensor = known.get(id(value))
            if tensor is None:
                marked = isinstance(value, Conjugated)
                tensor = as_gradient(value if marked else as_array(value))
            value = known[id(value)] = tensor
        results.append(value)
    return results


def _finished(
    inputs: Sequence[Any],
    found: Sequence[Any],
    allow_unused: bool,
    materialize: bool,
    create_graph: bool,
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
            results[position] = _zeros_for(inputs[position], create_graph)
    return tuple(results)


def _zeros_for(tensor: Tensor, requires_grad: bool) -> Tensor:
    """Return the gradient of an input that was not used, as the user asked for it."""
    array = memory_of(tensor)
    strides = preserved_strides(array.shape, element_strides(array))
    zeros = wrap(empty_with(array.shape, strides, array.dtype, array))
    zeros._array.fill(0)
    zeros._requires_grad = requires_grad
    return zeros


def _batched_gradients(
    outputs: Sequence[Any], inputs: Sequence[Any], grads: Sequence[Any], keep: bool, create: bool
) -> list[Any]:
    """Run one pass for all entries of the first dimension (`is_grads_batched`), as `vmap` does."""
    _check_batches(outputs, grads)
    used: list[bool] = []

    def vjp(*row: Tensor) -> tuple[Tensor, ...]:
        found = _gradients(outputs, inputs, row, keep, create)
        used[:] = [each is not None for each in found]
        return (row[0], *[each for each in found if each is not None])

    results = iter(_for_batches[0](vjp)(*grads)[1:])
    return [next(results) if each else None for each in used]


_for_batches: list[Callable[[Any], Any]] = []  # `vmap`, which belongs to a room above


def map_batches_with(vmap: Callable[[Any], Any]) -> None:
    """Say what turns a function of one gradient into one of a batch of them."""
    _for_batches[:] = [vmap]


def _check_batches(outputs: Sequence[Any], grads: Sequence[Any]) -> None:
    """Raise unless all gradients have one first dimension, and the outputs' shapes behind it."""
    sizes = []
    for position, (output, each) in enumerate(zip(outputs, grads, strict=False)):
        shape, dtype = _metadata(output)
        if each is None:
            _implicit_grad(shape, dtype)  # raises unless the output has one element
            raise ValueError(
                "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but that input "
                "is a Tensor of dimensionality 0 so expected in_dim to satisfy 0 <= in_dim < 0."
            )
        first = each[0]  # raises for a gradient without entries
        _check_row(output, first, shape, position)
        sizes.append(len(each._array))
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
