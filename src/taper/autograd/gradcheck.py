"""`gradcheck` and `gradgradcheck`: derivatives compared with central differences.

A Jacobian here has one row for each element of the input and one column for each element of the
output.  Complex outputs are checked as two real functions, their real and imaginary part; for a
complex input the entry is the derivative along the real axis plus i times that along the
imaginary axis, which is the gradient that backward gives (C6).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from taper.autograd import forward_ad
from taper.autograd.backward import grad as autograd_grad
from taper.autograd.grad_mode import enable_grad, no_grad
from taper.autograd.tangents import set_tangent
from taper.autograd.tangents import tangent as tangent_of
from taper.autograd.views import requires_grad
from taper.tensor import Tensor, wrap

_FAST_NOTE = (
    "\nThe above quantities relating the numerical and analytical jacobians are computed \n"
    "in fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background \n"
    "about fast mode. Below, we recompute numerical and analytical jacobians in slow mode:\n\n"
)


class GradcheckError(RuntimeError):
    """A derivative that does not agree with differences."""


def _is_differentiable(value: Any) -> bool:
    return isinstance(value, Tensor) and requires_grad(value)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def _differentiable_outputs(outputs: Any) -> list[Tensor]:
    return [each for each in _as_tuple(outputs) if _is_differentiable(each)]


class _Options:
    """What the caller asked for."""

    def __init__(self, **values: Any) -> None:
        self.eps: float = values["eps"]
        self.atol: float = values["atol"]
        self.rtol: float = values["rtol"]
        self.nondet_tol: float = values["nondet_tol"]
        self.check_undefined_grad: bool = values["check_undefined_grad"]
        self.check_grad_dtypes: bool = values["check_grad_dtypes"]
        self.check_batched_grad: bool = values["check_batched_grad"]
        self.check_forward_ad: bool = values["check_forward_ad"]
        self.check_backward_ad: bool = values["check_backward_ad"]
        self.fast_mode: bool = values["fast_mode"]


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of `func` at `inputs` agree with differences.

    >>> import taper
    >>> x = taper.tensor([0.5, 1.5], dtype=taper.float64, requires_grad=True)
    >>> taper.autograd.gradcheck(taper.sin, (x,))
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
        )
    options = _Options(
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_forward_ad,
        check_backward_ad=check_backward_ad,
        fast_mode=fast_mode,
    )
    given = _as_tuple(inputs)
    _check_inputs(given)
    try:
        _check(func, given, options)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check_inputs(inputs: Sequence[Any]) -> None:
    found = False
    for index, value in enumerate(inputs):
        if not _is_differentiable(value):
            continue
        found = True
        if value._array.dtype not in (np.float64, np.complex128):
            warnings.warn(
                f"Input #{index} requires gradient and is not a double precision floating point "
                "or complex. This check will likely fail if all the inputs are not of double "
                "precision floating point or complex. ",
                UserWarning,
                stacklevel=3,
            )
        array = value._array
        if any(s == 0 and n > 1 for s, n in zip(value.stride(), array.shape, strict=True)):
            raise RuntimeError(
                f"The {index}th input has a dimension with stride 0. gradcheck only supports "
                "inputs that are non-overlapping to be able to compute the numerical gradients "
                "correctly. You should call .contiguous on the input before passing it to "
                "gradcheck."
            )
        if value.is_leaf is False:
            value.retain_grad()
    if not found:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )


def _check(func: Callable[..., Any], inputs: tuple[Any, ...], options: _Options) -> None:
    outputs = _differentiable_outputs(func(*inputs))
    if not outputs:
        _check_no_differentiable_outputs(func, inputs, options)
        return
    parts: list[tuple[str, Callable[..., Any]]] = [("", func)]
    if any(each.dtype.is_complex for each in outputs):
        parts = [
            (f"While considering the {name} part of complex outputs only, ", _part(func, name))
            for name in ("imaginary", "real")
        ]
        if not all(each.dtype.is_complex for each in outputs):
            parts[1:] = [("While considering the real part of complex outputs only, ", _part(func, "real"))]
    for prefix, function in parts:
        if options.check_backward_ad:
            _compare_jacobians(function, inputs, options, prefix, forward=False)
        if options.check_forward_ad:
            _compare_jacobians(function, inputs, options, prefix, forward=True)
    if options.check_backward_ad:
        if options.check_grad_dtypes:
            _check_dtypes(func, inputs)
        if options.check_batched_grad:
            _check_batched(func, inputs)
        _check_multiplied_by_grad_output(func, inputs)
        if options.check_undefined_grad:
            _check_undefined(func, inputs)


def _part(func: Callable[..., Any], name: str) -> Callable[..., Any]:
    def part(*inputs: Any) -> tuple[Any, ...]:
        found = []
        for each in _as_tuple(func(*inputs)):
            if isinstance(each, Tensor) and each.dtype.is_complex:
                found.append(each.imag if name == "imaginary" else each.real)
            elif name == "real" or not isinstance(each, Tensor):
                found.append(each)
        return tuple(found)

    return part


def _check_no_differentiable_outputs(
    func: Callable[..., Any], inputs: tuple[Any, ...], options: _Options
) -> None:
    for position, value in enumerate(inputs):
        if _is_differentiable(value):
            for jacobian in numerical_jacobian(func, inputs, position, options.eps, every=True):
                if not np.allclose(jacobian, 0):
                    raise GradcheckError("Numerical gradient for function expected to be zero")


# --- Jacobians -------------------------------------------------------------------------------


def _detached_outputs(func: Callable[..., Any], inputs: Sequence[Any], every: bool) -> list[Any]:
    """Copies of the outputs' arrays; `every` also takes those that do not require grad."""
    outputs = _as_tuple(func(*inputs))
    chosen = [each for each in outputs if isinstance(each, Tensor) and (every or requires_grad(each))]
    return [each._array.copy() for each in chosen]


def numerical_jacobian(
    func: Callable[..., Any], inputs: tuple[Any, ...], position: int, eps: float, every: bool = False
) -> list[np.ndarray]:
    """The Jacobians of all outputs with respect to one input, by central differences."""
    array = inputs[position]._array
    with enable_grad():
        base = _detached_outputs(func, inputs, every)
    dtype = np.result_type(array.dtype, *[each.dtype for each in base]) if base else array.dtype
    jacobians = [np.zeros((array.size, each.size), dtype) for each in base]
    steps = (1.0, 1j) if array.dtype.kind == "c" else (1.0,)
    for row, index in enumerate(np.ndindex(array.shape)):
        for step in steps:
            differences = _difference(func, inputs, position, index, eps * step, base, every)
            for jacobian, difference in zip(jacobians, differences, strict=True):
                jacobian[row] += difference * step / eps
    return jacobians


def _difference(
    func: Callable[..., Any],
    inputs: tuple[Any, ...],
    position: int,
    index: tuple[int, ...],
    step: complex,
    base: list[np.ndarray],
    every: bool,
) -> list[np.ndarray]:
    """(f(x + step) - f(x - step)) / 2 along one element."""
    array = inputs[position]._array
    original = array[index].copy() if array.ndim else array.copy()
    with enable_grad():
        try:
            array[index] = original + step
            above = _detached_outputs(func, inputs, every)
            array[index] = original - step
            below = _detached_outputs(func, inputs, every)
        finally:
            array[index] = original
    _check_same_kind(base, above, below)
    return [(a - b).ravel() / 2 for a, b in zip(above, below, strict=True)]


def _check_same_kind(*groups: list[np.ndarray]) -> None:
    kinds = [[(each.shape, each.dtype) for each in group] for group in groups]
    if any(kind != kinds[0] for kind in kinds):
        raise AssertionError(
            "Expected `func` to return outputs with the same shape/dtype when inputs are perturbed"
        )


def analytical_jacobian(
    func: Callable[..., Any], inputs: tuple[Any, ...], output_nr: int
) -> list[np.ndarray]:
    """The Jacobians of one output with respect to all differentiable inputs, by backward."""
    output = _differentiable_outputs(func(*inputs))[output_nr]
    sources = [each for each in inputs if _is_differentiable(each)]
    jacobians = [
        np.zeros((each._array.size, output._array.size), _wider(each, output)) for each in sources
    ]
    for column in range(output._array.size):
        direction = np.zeros(output._array.shape, output._array.dtype)
        direction.flat[column] = 1
        found = autograd_grad(output, sources, wrap(direction), retain_graph=True, allow_unused=True)
        for jacobian, each, source in zip(jacobians, found, sources, strict=True):
            if each is not None:
                _check_grad_shape(each, source)
                jacobian[:, column] = each._array.ravel()
    return jacobians


def _wider(source: Tensor, output: Tensor) -> Any:
    return np.result_type(source._array.dtype, output._array.dtype)


def _check_grad_shape(grad: Tensor, source: Tensor) -> None:
    if grad._array.shape != source._array.shape:
        raise GradcheckError("Analytical gradient has incorrect size")


def forward_jacobian(
    func: Callable[..., Any], inputs: tuple[Any, ...], position: int
) -> list[np.ndarray]:
    """The Jacobians of all outputs with respect to one input, by forward mode."""
    array = inputs[position]._array
    count = len(_differentiable_outputs(func(*inputs)))
    columns: list[list[np.ndarray]] = [[] for _ in range(count)]
    steps = (1.0, 1j) if array.dtype.kind == "c" else (1.0,)
    for index in np.ndindex(array.shape):
        rows: list[Any] = [0] * count
        for step in steps:
            direction = np.zeros(array.shape, array.dtype)
            direction[index] = step
            for nr, each in enumerate(_tangents(func, inputs, position, direction)):
                rows[nr] = rows[nr] + each.ravel() * step
        for nr in range(count):
            columns[nr].append(rows[nr])
    return [np.array(each) for each in columns]


def _tangents(
    func: Callable[..., Any], inputs: tuple[Any, ...], position: int, direction: np.ndarray
) -> list[np.ndarray]:
    keep = [nr for nr, each in enumerate(_as_tuple(func(*inputs))) if _is_differentiable(each)]
    with forward_ad.dual_level(), no_grad():
        given = [each.detach() if isinstance(each, Tensor) else each for each in inputs]
        given[position] = forward_ad.make_dual(given[position], wrap(direction))
        outputs = _as_tuple(func(*given))
        results = []
        for nr in keep:
            tangent = forward_ad.unpack_dual(outputs[nr]).tangent
            shape = outputs[nr]._array.shape
            results.append(np.zeros(shape) if tangent is None else tangent._array.copy())
    return results


# --- comparing -------------------------------------------------------------------------------


def _compare_jacobians(
    func: Callable[..., Any], inputs: tuple[Any, ...], options: _Options, prefix: str, forward: bool
) -> None:
    if options.fast_mode:
        _compare_fast(func, inputs, options, prefix, forward)
        return
    positions = [nr for nr, each in enumerate(inputs) if _is_differentiable(each)]
    numerical = {nr: numerical_jacobian(func, inputs, nr, options.eps) for nr in positions}
    count = len(_differentiable_outputs(func(*inputs)))
    if forward:
        by_input = {nr: forward_jacobian(func, inputs, nr) for nr in positions}
        analytical = [[by_input[nr][out] for nr in positions] for out in range(count)]
    else:
        analytical = [analytical_jacobian(func, inputs, out) for out in range(count)]
        _check_deterministic(func, inputs, analytical, options)
    for out in range(count):
        for order, nr in enumerate(positions):
            expected, found = numerical[nr][out], analytical[out][order]
            if not np.allclose(found, expected, options.rtol, options.atol, equal_nan=True):
                raise GradcheckError(_mismatch(prefix, forward, out, order, expected, found))


def _mismatch(
    prefix: str, forward: bool, output: int, position: int, expected: Any, found: Any
) -> str:
    what = "Jacobian computed with forward mode mismatch" if forward else "Jacobian mismatch"
    return (
        f"{prefix}{what} for output {output} with respect to input {position},\n"
        f"numerical:{_shown(expected)}\nanalytical:{_shown(found)}\n"
    )


def _shown(value: Any) -> Any:
    return wrap(value) if isinstance(value, np.ndarray) and value.ndim else value


def _check_deterministic(
    func: Callable[..., Any], inputs: tuple[Any, ...], first: list[Any], options: _Options
) -> None:
    for output_nr, jacobians in enumerate(first):
        again = analytical_jacobian(func, inputs, output_nr)
        for one, other in zip(jacobians, again, strict=True):
            if not np.allclose(one, other, rtol=0, atol=options.nondet_tol, equal_nan=True):
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and "
                    "grad_output multiple times gives different values, although analytical "
                    "gradient matches numerical gradient.The tolerance for nondeterminism was "
                    f"{options.nondet_tol}."
                )


def _compare_fast(
    func: Callable[..., Any], inputs: tuple[Any, ...], options: _Options, prefix: str, forward: bool
) -> None:
    """Random projections of the Jacobians instead of all their entries."""
    rng = np.random.default_rng(2718)
    with enable_grad():
        outputs = _differentiable_outputs(func(*inputs))
    for order, nr in enumerate(n for n, each in enumerate(inputs) if _is_differentiable(each)):
        array = inputs[nr]._array
        along = _direction(rng, array)
        slopes = _slopes(func, inputs, nr, along, options.eps)
        for out, output in enumerate(outputs):
            across = rng.random(output._array.shape)
            expected = float(np.sum(slopes[out] * across))
            if forward:
                found = float(np.sum(_tangents(func, inputs, nr, along)[out].real * across))
            else:
                direction = wrap(across.astype(output._array.dtype))
                grad = autograd_grad(output, [inputs[nr]], direction, retain_graph=True, allow_unused=True)[0]
                found = 0.0 if grad is None else float(np.sum((np.conj(grad._array) * along).real))
            scale = max(float(np.abs(along).sum() * across.sum()), 1.0)
            if not np.isclose(found, expected, options.rtol, options.atol * scale, equal_nan=True):
                raise GradcheckError(
                    _mismatch(prefix, forward, out, order, expected, found)
                    + _slow_report(func, inputs, nr, out, order, options)
                )


def _direction(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    direction = rng.random(array.shape) + (1j * rng.random(array.shape) if array.dtype.kind == "c" else 0)
    norm = np.linalg.norm(direction)
    return np.asarray(direction / norm if norm else direction).astype(array.dtype)


def _slopes(
    func: Callable[..., Any], inputs: tuple[Any, ...], position: int, along: np.ndarray, eps: float
) -> list[np.ndarray]:
    array = inputs[position]._array
    original = array.copy()
    try:
        array[...] = original + eps * along
        above = _detached_outputs(func, inputs, False)
        array[...] = original - eps * along
        below = _detached_outputs(func, inputs, False)
    finally:
        array[...] = original
    return [(a - b) / (2 * eps) for a, b in zip(above, below, strict=True)]


def _slow_report(
    func: Callable[..., Any], inputs: tuple[Any, ...], nr: int, out: int, order: int, options: _Options
) -> str:
    numerical = numerical_jacobian(func, inputs, nr, options.eps)[out]
    analytical = analytical_jacobian(func, inputs, out)[order]
    difference = np.abs(numerical - analytical).max() if numerical.size else 0.0
    return (
        f"{_FAST_NOTE}Numerical:\n {_shown(numerical)}\nAnalytical:\n{_shown(analytical)}\n\n"
        f"The max per-element difference (slow mode) is: {difference}.\n"
    )


# --- further properties of a backward --------------------------------------------------------


def _check_dtypes(func: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    sources = [each for each in inputs if _is_differentiable(each)]
    for output in _differentiable_outputs(func(*inputs)):
        ones = wrap(np.ones(output._array.shape, output._array.dtype))
        for grad, source in zip(
            autograd_grad(output, sources, ones, retain_graph=True, allow_unused=True),
            sources,
            strict=True,
        ):
            if grad is not None and grad._array.dtype != source._array.dtype:
                raise GradcheckError("Gradient has dtype mismatch")


def _check_multiplied_by_grad_output(func: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    """A zero gradient in must give zero gradients out, of the inputs' shape."""
    sources = [each for each in inputs if _is_differentiable(each)]
    outputs = _differentiable_outputs(func(*inputs))
    zeros = [wrap(np.zeros(each._array.shape, each._array.dtype)) for each in outputs]
    for grad, source in zip(
        autograd_grad(outputs, sources, zeros, allow_unused=True), sources, strict=True
    ):
        if grad is None:
            continue
        if not np.all(np.isnan(grad._array) | (grad._array == 0)):
            raise GradcheckError("backward not multiplied by grad_output")
        if grad._array.dtype != source._array.dtype:
            raise GradcheckError("grad is incorrect type")
        if grad._array.shape != source._array.shape:
            raise GradcheckError("grad is incorrect size")


def _check_undefined(func: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    """Backward must cope with outputs nobody used: it must give None or zeros for them."""
    outputs = _differentiable_outputs(func(*inputs))
    if len(outputs) < 2:
        return
    sources = [each for each in inputs if _is_differentiable(each)]
    for left_out in range(len(outputs)):
        fresh = _differentiable_outputs(func(*inputs))
        rest = [each for nr, each in enumerate(fresh) if nr != left_out]
        grads = [wrap(np.zeros(each._array.shape, each._array.dtype)) for each in rest]
        found = autograd_grad(rest, sources, grads, allow_unused=True)
        if any(each is not None and np.any(each._array != 0) for each in found):
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are "
                "undefined or zero. Please look at 'Notes about undefined output gradients' in "
                '"tools/autograd/derivatives.yaml"'
            )


def _check_batched(func: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    """A batch of gradients at once must give what one after the other gives."""
    sources = [each for each in inputs if _is_differentiable(each)]
    rng = np.random.default_rng(31)
    for output in _differentiable_outputs(func(*inputs)):
        shape = output._array.shape
        rows = [wrap(rng.random(shape).astype(output._array.dtype)) for _ in range(2)]
        each = [
            autograd_grad(output, sources, row, retain_graph=True, allow_unused=True) for row in rows
        ]
        batch = wrap(np.stack([row._array for row in rows]))
        together = autograd_grad(
            output, sources, batch, retain_graph=True, allow_unused=True, is_grads_batched=True
        )
        for position, found in enumerate(together):
            expected = [row[position] for row in each]
            if found is not None and not np.allclose(
                found._array, np.stack([grad._array for grad in expected])
            ):
                raise GradcheckError(
                    f"For input {position}, the batched gradient differs: failed while testing "
                    "batched gradient computation."
                )


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Whether the gradients of the gradients of `func` agree with differences.

    >>> import taper
    >>> x = taper.tensor([0.5, 1.5], dtype=taper.float64, requires_grad=True)
    >>> taper.autograd.gradgradcheck(lambda x: x ** 3, (x,))
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    given = _as_tuple(inputs)
    if grad_outputs is None:
        directions = _random_grads(func, given, gen_non_contig_grad_outputs)
    else:
        directions = _as_tuple(grad_outputs)
    count = len(given)

    def grads_of(*arguments: Any) -> tuple[Any, ...]:
        sources, grads = arguments[:count], arguments[count:]
        sources = tuple(_tracked(new, old) for new, old in zip(sources, given, strict=True))
        wanted = [each for each in sources if _is_differentiable(each)]
        outputs = _differentiable_outputs(func(*sources))
        with enable_grad():
            found = autograd_grad(outputs, wanted, grads, create_graph=True, allow_unused=True)
        return tuple(each for each in found if each is not None)

    return gradcheck(
        grads_of,
        (*given, *directions),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        masked=masked,
    )


def _tracked(new: Any, original: Any) -> Any:
    """In forward mode the inputs arrive detached; the inner gradient needs them to require grad."""
    if not _is_differentiable(original) or requires_grad(new):
        return new
    tangent = tangent_of(new)
    fresh = new.detach().requires_grad_()
    if tangent is not None:
        set_tangent(fresh, tangent)
    return fresh


def _random_grads(
    func: Callable[..., Any], inputs: tuple[Any, ...], noncontiguous: bool
) -> tuple[Tensor, ...]:
    rng = np.random.default_rng(0)
    grads = []
    for output in _differentiable_outputs(func(*inputs)):
        shape, dtype = output._array.shape, output._array.dtype
        values = rng.random(shape) * 2 - 1
        if dtype.kind == "c":
            values = values + 1j * (rng.random(shape) * 2 - 1)
        array = np.asarray(values).astype(dtype)
        if noncontiguous and array.ndim:
            wide = np.empty((*shape, 2), dtype)
            wide[..., 0] = array
            array = wide[..., 0]
        grads.append(wrap(array).requires_grad_())
    return tuple(grads)
