"""`taper.autograd.functional`: Jacobians, Hessians, and their products with vectors.

Every function here takes a function of tensors and the point at which to differentiate it.  The
functions work inside `no_grad` too, and return tensors without history unless `create_graph=True`.
With `strict=True` an output that does not depend on an input, whose derivative would be a silent
zero, is an error.

Long because: public functions document their arguments.

>>> import taper
>>> taper.autograd.functional.jacobian(lambda x: x ** 2, taper.tensor([1.0, 3.0]))
tensor([[2., 0.],
        [0., 6.]])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from taper.autograd.backward import grad as autograd_grad
from taper.autograd.forward_ad import dual_level, make_dual, unpack_dual
from taper.autograd.grad_mode import enable_grad
from taper.autograd.state import local
from taper.autograd.views import requires_grad
from taper.func import jvp as pushed
from taper.func import vmap
from taper.ops.creation.filled import zeros_like
from taper.ops.shape.split import stack
from taper.tensor import Tensor, wrap

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Function = Callable[..., Any]
Tensors = tuple[Tensor, ...]

OUTPUTS = "outputs of the user-provided function"
NOT_STRICT = "This is not allowed in strict mode"

# What a missing gradient means in strict mode, at each place where one can be missing.
_INDEPENDENT_OUTPUT = (
    f"The output of the user-provided function is independent of input {{}}. {NOT_STRICT}."
)
_INDEPENDENT_JACOBIAN = (
    f"The jacobian of the user-provided function is independent of input {{}}. {NOT_STRICT}."
)
_CONSTANT_GRADIENT = (
    "The gradient with respect to input {} is independent of the inputs of the user-provided "
    f"function. {NOT_STRICT}."
)
_CONSTANT_JACOBIAN = (
    "While computing the hessian, found that the jacobian of the user-provided function with "
    f"respect to input {{}} is independent of the input. {NOT_STRICT}. You should ensure that your "
    "function is twice differentiable and that the jacobian depends on the inputs (this would be "
    "violated by a linear function for example)."
)
_NO_FORWARD_GRADIENT = (
    "The gradient with respect to the input is independent of entry {} in the grad_outputs when "
    f"using the double backward trick to compute forward mode gradients. {NOT_STRICT}."
)
_NO_FORWARD_HESSIAN = (
    "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. "
    f"{NOT_STRICT} as it prevents from using the double backward trick to replace forward mode AD."
)
_CONSTANT_RESULT = (
    "The {} of the user-provided function is independent of input {}. "
    f"{NOT_STRICT} when create_graph=True."
)


# --- arguments and results -------------------------------------------------------------------


def _as_tuple(values: Any, what: str, function: str | None) -> tuple[Tensors, bool]:
    """Return one tensor or a tuple of tensors as a tuple, and whether it was a tuple."""
    several = isinstance(values, tuple)
    expected = f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but"
    if not several and not isinstance(values, Tensor):
        raise TypeError(f"{expected} the given {what} has type {type(values)}.")
    found = values if several else (values,)
    for position, value in enumerate(found):
        if not isinstance(value, Tensor):
            raise TypeError(f"{expected} the value at index {position} has type {type(value)}.")
    return found, several


def _tracked(inputs: Tensors, create_graph: bool) -> Tensors:
    """Return tensors to differentiate by: detached, or with their history under `create_graph`."""
    return tuple(
        each.view_as(each)
        if create_graph and requires_grad(each)
        else each.detach().requires_grad_()
        for each in inputs
    )


def _vector(
    v: Any, function: str, create_graph: bool, expected: Tensors, expected_tuple: bool
) -> Tensors:
    """Return the vector to multiply with, after checking that it has the sizes of `expected`."""
    vector, _ = _as_tuple(v, "v", function)
    if len(vector) != len(expected):
        if not expected_tuple:
            raise RuntimeError("The given v should contain a single Tensor.")
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(expected)} but got {len(vector)}."
        )
    for position, (each, other) in enumerate(zip(vector, expected, strict=True)):
        if each.shape != other.shape:
            entry = f"Entry {position} in " if expected_tuple else ""
            raise RuntimeError(
                f"{entry}v has invalid size: should be {other.size()!r} but got {each.size()!r}."
            )
    return tuple(
        each.view_as(each) if create_graph and requires_grad(each) else each.detach()
        for each in vector
    )


def _vector_of_input(
    v: Any, function: str, create_graph: bool, inputs: Tensors, is_tuple: bool
) -> Tensors | None:
    """Return the vector for a product over the inputs; may be missing if there is one element."""
    if v is not None:
        return _vector(v, function, create_graph, inputs, is_tuple)
    if len(inputs) != 1 or inputs[0].numel() != 1:
        raise RuntimeError(
            "The vector v can only be None if the input to the user-provided function is a single "
            "Tensor with a single element."
        )
    return None


def _outputs(func: Function, inputs: Tensors, name: str, strict: bool) -> tuple[Tensors, bool]:
    outputs, is_tuple = _as_tuple(func(*inputs), OUTPUTS, name)
    if strict:
        for position, each in enumerate(outputs):
            if not requires_grad(each):
                raise RuntimeError(
                    f"Output {position} of the user-provided function does not require gradients. "
                    "The outputs must be computed in a differentiable manner from the input when "
                    "running in strict mode."
                )
    return outputs, is_tuple


def _single_output(func: Function, inputs: Tensors, name: str, strict: bool) -> Tensor:
    """Return the single element that the functions of the hessian family differentiate twice."""
    outputs, is_tuple = _outputs(func, inputs, name, strict)
    if is_tuple:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {name} should contain a single element"
        )
    return outputs[0]


def _finished(results: Tensors, create_graph: bool, as_tuple: bool) -> Any:
    """Return results in the form of the question, without history unless it is asked for."""
    found = results if create_graph else tuple(each.detach() for each in results)
    return found if as_tuple else found[0]


# --- gradients -------------------------------------------------------------------------------


def _gradients(
    outputs: Sequence[Any],
    inputs: Tensors,
    directions: Sequence[Any] | None = None,
    create_graph: bool = False,
    retain_graph: bool | None = None,
    batched: bool = False,
) -> Sequence[Any]:
    """Return gradients, None where an input has no influence; leave outputs without history out."""
    chosen = [
        nr for nr, each in enumerate(outputs) if isinstance(each, Tensor) and requires_grad(each)
    ]
    if not chosen:
        return (None,) * len(inputs)
    return autograd_grad(
        [outputs[nr] for nr in chosen],
        inputs,
        None if directions is None else [directions[nr] for nr in chosen],
        create_graph=create_graph,
        retain_graph=retain_graph,
        allow_unused=True,
        is_grads_batched=batched,
    )


def _without_holes(
    grads: Sequence[Any],
    inputs: Tensors,
    missing: str,
    what: str,
    strict: bool,
    create_graph: bool,
) -> Tensors:
    """Put zeros where gradients are missing; in strict mode raise `missing` or `what`."""
    found = []
    for position, (grad, source) in enumerate(zip(grads, inputs, strict=True)):
        if strict and grad is None:
            raise RuntimeError(missing.format(position))
        if strict and create_graph and not requires_grad(grad):
            raise RuntimeError(_CONSTANT_RESULT.format(what, position))
        found.append(zeros_like(source) if grad is None else grad)
    return tuple(found)


def _must_require_grad(grads: Sequence[Any], constant: str, strict: bool) -> None:
    """Refuse gradients that cannot be differentiated again, in strict mode."""
    for position, grad in enumerate(grads if strict else ()):
        if grad is None:
            raise RuntimeError(_INDEPENDENT_OUTPUT.format(position))
        if not requires_grad(grad):
            raise RuntimeError(constant.format(position))


def _zeros_to_track(tensors: Tensors) -> Tensors:
    """Return zeros to stand for vectors, so that a product can be differentiated by the vector."""
    return tuple(zeros_like(each, requires_grad=True) for each in tensors)


# --- products --------------------------------------------------------------------------------


@enable_grad()
def vjp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return the outputs of `func`, and the product of a vector `v` with its Jacobian.

    This is what `backward` computes.

    Args:
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: the point: a tensor or a tuple of tensors.
        v: the vector, of the sizes of the outputs; may be None if there is one output of one
            element.
        create_graph: record the computation, so that the result can be differentiated.
        strict: raise if an output does not depend on an input, instead of giving zeros.

    Returns: the outputs, and the product, which has the sizes of `inputs`.

    >>> import taper
    >>> x = taper.tensor([1.0, 3.0])
    >>> taper.autograd.functional.vjp(lambda x: x ** 2, x, taper.tensor([1.0, 10.0]))
    (tensor([1., 9.]), tensor([ 2., 60.]))
    """
    given, inputs_tuple = _as_tuple(inputs, "inputs", "vjp")
    given = _tracked(given, create_graph)
    outputs, outputs_tuple = _outputs(func, given, "vjp", strict)
    vector = None
    if v is not None:
        vector = _vector(v, "vjp", create_graph, outputs, outputs_tuple)
    elif len(outputs) != 1 or outputs[0].numel() != 1:
        raise RuntimeError(
            "The vector v can only be None if the user-provided function returns a single Tensor "
            "with a single element."
        )
    grads = _gradients(outputs, given, vector, create_graph)
    product = _without_holes(grads, given, _INDEPENDENT_OUTPUT, "jacobian", strict, create_graph)
    return (
        _finished(outputs, create_graph, outputs_tuple),
        _finished(product, create_graph, inputs_tuple),
    )


@enable_grad()
def jvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return the outputs of `func`, and the product of its Jacobian with a vector `v`.

    Two backward passes compute it: the product of a vector with the Jacobian is linear in the
    vector, and differentiating that by the vector gives the Jacobian the other way round.

    Args:
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: the point: a tensor or a tuple of tensors.
        v: the vector, of the sizes of the inputs; may be None if there is one input of one element.
        create_graph: record the computation, so that the result can be differentiated.
        strict: raise if an output does not depend on an input, instead of giving zeros.

    Returns: the outputs, and the product, which has the sizes of the outputs.

    >>> import taper
    >>> x = taper.tensor([1.0, 3.0])
    >>> taper.autograd.functional.jvp(lambda x: x.sum() * x, x, taper.tensor([1.0, 0.0]))
    (tensor([ 4., 12.]), tensor([5., 3.]))
    """
    given, inputs_tuple = _as_tuple(inputs, "inputs", "jvp")
    given = _tracked(given, create_graph)
    vector = _vector_of_input(v, "jvp", create_graph, given, inputs_tuple)
    outputs, outputs_tuple = _outputs(func, given, "jvp", strict)
    weights = _zeros_to_track(outputs)
    grads = _gradients(outputs, given, weights, create_graph=True)
    _must_require_grad(grads, _CONSTANT_GRADIENT, strict)
    twice = _gradients(grads, weights, vector, create_graph)
    product = _without_holes(twice, outputs, _NO_FORWARD_GRADIENT, "jacobian", strict, create_graph)
    return (
        _finished(outputs, create_graph, outputs_tuple),
        _finished(product, create_graph, outputs_tuple),
    )


@enable_grad()
def vhp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return the value of `func`, and the product of a vector `v` with its Hessian.

    Args:
        func: a function of tensors that returns a tensor of one element.
        inputs: the point: a tensor or a tuple of tensors.
        v: the vector, of the sizes of the inputs; may be None if there is one input of one element.
        create_graph: record the computation, so that the result can be differentiated.
        strict: raise if the value does not depend on an input, instead of giving zeros.

    Returns: the value, and the product, which has the sizes of `inputs`.

    >>> import taper
    >>> x = taper.tensor([1.0, 3.0])
    >>> taper.autograd.functional.vhp(lambda x: (x ** 3).sum(), x, taper.tensor([1.0, 1.0]))
    (tensor(28.), tensor([ 6., 18.]))
    """
    given, inputs_tuple = _as_tuple(inputs, "inputs", "vhp")
    given = _tracked(given, create_graph)
    vector = _vector_of_input(v, "vhp", create_graph, given, inputs_tuple)
    output = _single_output(func, given, "vhp", strict)
    jacobian = _gradients([output], given, create_graph=True)
    _must_require_grad(jacobian, _CONSTANT_JACOBIAN, strict)
    twice = _gradients(jacobian, given, vector, create_graph)
    product = _without_holes(twice, given, _INDEPENDENT_JACOBIAN, "hessian", strict, create_graph)
    return (
        _finished((output,), create_graph, False),
        _finished(product, create_graph, inputs_tuple),
    )


@enable_grad()
def hvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return the value of `func`, and the product of its Hessian with a vector `v`.

    For smooth functions, whose Hessian is symmetric, this equals `vhp`, which needs one pass less.

    Args:
        func: a function of tensors that returns a tensor of one element.
        inputs: the point: a tensor or a tuple of tensors.
        v: the vector, of the sizes of the inputs; may be None if there is one input of one element.
        create_graph: record the computation, so that the result can be differentiated.
        strict: raise if the value does not depend on an input, instead of giving zeros.

    Returns: the value, and the product, which has the sizes of `inputs`.

    >>> import taper
    >>> x = taper.tensor([1.0, 3.0])
    >>> taper.autograd.functional.hvp(lambda x: (x ** 3).sum(), x, taper.tensor([1.0, 1.0]))
    (tensor(28.), tensor([ 6., 18.]))
    """
    given, inputs_tuple = _as_tuple(inputs, "inputs", "hvp")
    given = _tracked(given, create_graph)
    vector = _vector_of_input(v, "hvp", create_graph, given, inputs_tuple)
    output = _single_output(func, given, "hvp", strict)
    jacobian = _gradients([output], given, create_graph=True)
    _must_require_grad(jacobian, _CONSTANT_JACOBIAN, strict)
    weights = _zeros_to_track(given)
    twice = _gradients(jacobian, given, weights, create_graph=True)
    thrice = _gradients(twice, weights, vector, create_graph)
    product = _without_holes(thrice, given, _NO_FORWARD_HESSIAN, "hessian", strict, create_graph)
    return (
        _finished((output,), create_graph, False),
        _finished(product, create_graph, inputs_tuple),
    )


# --- whole matrices --------------------------------------------------------------------------


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return all derivatives of the outputs of `func` by its inputs.

    Args:
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: the point: a tensor or a tuple of tensors.
        create_graph: record the computation, so that the result can be differentiated.
        strict: raise if an output does not depend on an input, instead of giving zeros.
        vectorize: compute all rows as one batch, instead of one after the other.
        strategy: "reverse-mode", a row for each element of the outputs, or "forward-mode" (only
            with `vectorize`), a column for each element of the inputs: better when the outputs have
            more elements.

    Returns: for one output and one input a tensor of the output's shape followed by the input's;
    with several, nested tuples by output, then input.

    >>> import taper
    >>> taper.autograd.functional.jacobian(lambda x: x.sum() * x, taper.tensor([1.0, 3.0]))
    tensor([[5., 1.],
            [3., 7.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        _refuse_for_forward(create_graph, strict, vectorize)
        return _forward_jacobian(func, inputs)
    with enable_grad():
        given, inputs_tuple = _as_tuple(inputs, "inputs", "jacobian")
        given = _tracked(given, create_graph)
        outputs, outputs_tuple = _outputs(func, given, "jacobian", strict)
        if not vectorize:
            rows = tuple(
                _jacobian_of(output, nr, given, create_graph, strict)
                for nr, output in enumerate(outputs)
            )
        elif strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
                "supported together. Please either set `strict=False` or `vectorize=False`."
            )
        else:
            rows = _batched_jacobians(outputs, given, create_graph)
        results = tuple(_finished(each, create_graph, inputs_tuple) for each in rows)
        return results if outputs_tuple else results[0]


def _jacobian_of(
    output: Tensor, number: int, inputs: Tensors, create_graph: bool, strict: bool
) -> Tensors:
    """Return the Jacobians of one output by all inputs, by a backward pass for each element."""
    columns: list[list[Tensor]] = [[] for _ in inputs]
    flat = output.reshape(-1)
    for element in range(output.numel()):
        grads = _gradients([flat[element]], inputs, None, create_graph, retain_graph=True)
        for position, (column, grad) in enumerate(zip(columns, grads, strict=True)):
            if strict and grad is None:
                raise RuntimeError(
                    f"Output {number} of the user-provided function is independent of input "
                    f"{position}. {NOT_STRICT}."
                )
            if strict and create_graph and not requires_grad(grad):
                # This is the number of the output, as in PyTorch.
                raise RuntimeError(_CONSTANT_RESULT.format("jacobian", number))
            column.append(zeros_like(inputs[position]) if grad is None else grad)
    return tuple(
        stack(column).view(output.shape + source.shape)
        for column, source in zip(columns, inputs, strict=True)
    )


def _batched_jacobians(
    outputs: Tensors, inputs: Tensors, create_graph: bool
) -> tuple[Tensors, ...]:
    """Return Jacobians by [output][input], from all outputs' unit vectors as one batch."""
    counts = tuple(each.numel() for each in outputs)
    basis = _construct_standard_basis_for(outputs, counts)
    flat = [each.reshape(-1) for each in outputs]
    grads = _gradients(flat, inputs, basis, create_graph, batched=True)
    whole = [
        zeros_like(source).expand((sum(counts), *source.shape)) if grad is None else grad
        for grad, source in zip(grads, inputs, strict=True)
    ]
    by_input = [
        [
            part.view(output.shape + source.shape)
            for part, output in zip(each.split(counts), outputs, strict=True)
        ]
        for each, source in zip(whole, inputs, strict=True)
    ]
    return tuple(zip(*by_input, strict=True))


def _construct_standard_basis_for(
    tensors: Sequence[Tensor], tensor_numels: Sequence[int]
) -> tuple[Tensor, ...]:
    """Return the unit vectors of all elements of several tensors, as one matrix for each tensor.

    >>> import taper
    >>> from taper.autograd.functional import _construct_standard_basis_for
    >>> _construct_standard_basis_for((taper.ones(1), taper.ones(2)), (1, 2))
    (tensor([[1.],
            [0.],
            [0.]]), tensor([[0., 0.],
            [1., 0.],
            [0., 1.]]))
    """
    if len(tensors) != len(tensor_numels):
        raise AssertionError(
            "Expected tensors and tensor_numels to have the same length, but got "
            f"{len(tensors)} and {len(tensor_numels)}"
        )
    if not tensors:
        raise AssertionError("Expected at least one tensor")
    total = sum(tensor_numels)
    chunks = []
    first = 0
    for tensor, count in zip(tensors, tensor_numels, strict=True):
        chunks.append(wrap(np.eye(total, count, -first, tensor._array.dtype)))
        first += count
    return tuple(chunks)


# --- forward mode ----------------------------------------------------------------------------


def _refuse_for_forward(create_graph: bool, strict: bool, vectorize: bool) -> None:
    for name, wrong, kind in (
        ("strict", strict, RuntimeError),
        ("create_graph", create_graph, NotImplementedError),
    ):
        if wrong:
            raise kind(
                f'torch.autograd.functional.jacobian: `{name}=True` and `strategy="forward-mode"` '
                f"are not supported together (yet). Please either set `{name}=False` or "
                '`strategy="reverse-mode"`.'
            )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly "
            "implemented for `vectorize=True`."
        )


def _forward_jacobian(func: Function, inputs: Any, at_once: bool = True) -> Any:
    """Return the Jacobians by tangents; the inner level is a list, not a tuple, as in PyTorch."""
    given, inputs_tuple = _as_tuple(inputs, "inputs", "jacobian")
    counts = tuple(each.numel() for each in given)
    basis = [
        part.view((sum(counts), *each.shape))
        for part, each in zip(_construct_standard_basis_for(given, counts), given, strict=True)
    ]
    outputs_tuple = False

    def checked(*arguments: Tensor) -> Tensors:
        nonlocal outputs_tuple
        outputs, outputs_tuple = _as_tuple(func(*arguments), "outputs", None)
        return outputs

    columns = (_all_at_once if at_once else _one_by_one)(checked, given, basis)
    results = tuple(_by_input(each.movedim(0, -1), given, counts) for each in columns)
    if inputs_tuple:
        return list(results) if outputs_tuple else results[0]
    singles = tuple(each[0] for each in results)
    return singles if outputs_tuple else singles[0]


def _all_at_once(func: Function, inputs: Tensors, basis: list[Tensor]) -> Sequence[Tensor]:
    """Return the tangents of the outputs for all unit vectors, from one call of `func`."""
    if local.state.dual_level >= 0:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")

    def push(*tangents: Tensor) -> Any:
        return pushed(func, inputs, tangents)[1]

    columns: Sequence[Tensor] = vmap(push)(*basis)
    return columns


def _one_by_one(func: Function, inputs: Tensors, basis: list[Tensor]) -> Sequence[Tensor]:
    """Return the same from a call for each unit vector, so that `func` may use autograd itself."""
    rows = []
    for tangents in zip(*basis, strict=True):
        with dual_level():
            duals = [make_dual(*pair) for pair in zip(inputs, tangents, strict=True)]
            pairs = [unpack_dual(each) for each in func(*duals)]
            rows.append([zeros_like(primal) if found is None else found for primal, found in pairs])
    return [stack(column) for column in zip(*rows, strict=True)]


def _by_input(whole: Tensor, inputs: Tensors, counts: Sequence[int]) -> list[Tensor]:
    """Return the columns of one output's Jacobian, cut and shaped for each input."""
    shape = whole.shape[:-1]
    parts = whole.split(list(counts), -1)
    return [part.reshape(shape + each.shape) for part, each in zip(parts, inputs, strict=True)]


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return all second derivatives of a function that returns one element.

    Args:
        func: a function of tensors that returns a tensor of one element.
        inputs: the point: a tensor or a tuple of tensors.
        create_graph: record the computation, so that the result can be differentiated.
        strict: raise if the value does not depend on an input, instead of giving zeros.
        vectorize: compute all rows as one batch, instead of one after the other.
        outer_jacobian_strategy: "reverse-mode", or "forward-mode" (only with `vectorize`) for the
            second differentiation.

    Returns: for one input a tensor of the input's shape twice; with several, nested tuples by
    input, then input.

    Differs: with `outer_jacobian_strategy="forward-mode"` `func` is called once for each element of
    the inputs, not once for all.

    >>> import taper
    >>> taper.autograd.functional.hessian(lambda x: (x ** 3).sum(), taper.tensor([1.0, 3.0]))
    tensor([[ 6.,  0.],
            [ 0., 18.]])
    """
    given, inputs_tuple = _as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def one_element(*arguments: Tensor) -> Tensor:
        return _single_output(func, arguments, "hessian", strict).squeeze()

    def gradient(*arguments: Tensor) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            arguments = tuple(each.requires_grad_() for each in arguments)
        found = jacobian(one_element, arguments, create_graph=True)
        _must_require_grad(found, _CONSTANT_JACOBIAN, strict)
        return found

    if outer_jacobian_strategy == "forward-mode":
        _refuse_for_forward(create_graph, strict, vectorize)
        found = _forward_jacobian(gradient, given, at_once=False)
    else:
        found = jacobian(gradient, given, create_graph, strict, vectorize)
    return found if inputs_tuple else found[0][0]
