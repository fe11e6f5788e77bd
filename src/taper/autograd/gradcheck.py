"""`gradcheck` and `gradgradcheck`: derivatives compared with central differences.

Complex outputs are checked as two real functions, their imaginary and their real part.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from taper.autograd.backward import grad as autograd_grad
from taper.autograd.grad_mode import enable_grad
from taper.autograd.jacobians import (
    Function,
    analytical_jacobian,
    as_tuple,
    differences,
    differentiable_outputs,
    forward_jacobian,
    is_differentiable,
    numerical_jacobian,
    tangents,
)
from taper.autograd.probes import UndefinedGrad
from taper.autograd.tangents import set_tangent
from taper.autograd.tangents import tangent as tangent_of
from taper.autograd.views import requires_grad
from taper.tensor import Tensor, wrap

_FAST_NOTE = (
    "\nThe above quantities relating the numerical and analytical jacobians are computed \n"
    "in fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background \n"
    "about fast mode. Below, we recompute numerical and analytical jacobians in slow mode:\n\n"
)
_UNDEFINED_NOTE = (
    ' Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
)


class GradcheckError(RuntimeError):
    """A derivative that does not agree with differences."""


class _Options(NamedTuple):
    """What the caller asked for."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_undefined_grad: bool
    check_grad_dtypes: bool
    check_batched_grad: bool
    check_forward_ad: bool
    check_backward_ad: bool
    fast_mode: bool


def gradcheck(
    func: Function,
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
        eps,
        atol,
        rtol,
        nondet_tol,
        check_undefined_grad,
        check_grad_dtypes,
        check_batched_grad,
        check_forward_ad,
        check_backward_ad,
        fast_mode,
    )
    given = as_tuple(inputs)
    _check_inputs(given)
    try:
        _check(func, given, options)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check_inputs(inputs: Sequence[Any]) -> None:
    for index, value in enumerate(inputs):
        if not is_differentiable(value):
            continue
        array = value._array
        if array.dtype not in (np.float64, np.complex128):
            warnings.warn(
                f"Input #{index} requires gradient and is not a double precision floating point "
                "or complex. This check will likely fail if all the inputs are not of double "
                "precision floating point or complex. ",
                UserWarning,
                stacklevel=3,
            )
        if array.size and any(
            step == 0 and n > 1 for step, n in zip(array.strides, array.shape, strict=True)
        ):
            raise RuntimeError(
                f"The {index}th input has a dimension with stride 0. gradcheck only supports "
                "inputs that are non-overlapping to be able to compute the numerical gradients "
                "correctly. You should call .contiguous on the input before passing it to "
                "gradcheck."
            )
        value.retain_grad()
    if not any(is_differentiable(value) for value in inputs):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )


def _check(func: Function, inputs: tuple[Any, ...], options: _Options) -> None:
    outputs = differentiable_outputs(func(*inputs))
    if not outputs:
        _check_constant(func, inputs, options)
        return
    for prefix, function in _real_functions(func, outputs):
        if options.check_backward_ad:
            _compare(function, inputs, options, prefix, forward=False)
        if options.check_forward_ad:
            _compare(function, inputs, options, prefix, forward=True)
    if options.check_backward_ad:
        if options.check_batched_grad:
            _check_batched(func, inputs)
        _check_multiplied_by_grad_output(func, inputs, options)
        if options.check_undefined_grad:
            _check_undefined(func, inputs)


def _real_functions(func: Function, outputs: Sequence[Tensor]) -> list[tuple[str, Function]]:
    """The functions with real outputs that stand for `func`, and how errors call them."""
    if not any(each.dtype.is_complex for each in outputs):
        return [("", func)]
    return [
        (f"While considering the {name} part of complex outputs only, ", _part(func, name))
        for name in ("imaginary", "real")
    ]


def _part(func: Function, name: str) -> Function:
    def part(*inputs: Any) -> tuple[Any, ...]:
        found = []
        for each in as_tuple(func(*inputs)):
            if isinstance(each, Tensor) and each.dtype.is_complex:
                found.append(each.imag if name == "imaginary" else each.real)
            elif name == "real" or not isinstance(each, Tensor):
                found.append(each)
        return tuple(found)

    return part


def _check_constant(func: Function, inputs: tuple[Any, ...], options: _Options) -> None:
    """Outputs that do not require grad must not depend on the inputs (K6)."""
    for position, value in enumerate(inputs):
        if is_differentiable(value):
            for jacobian in numerical_jacobian(func, inputs, position, options.eps, every=True):
                if not np.allclose(jacobian, 0):
                    raise GradcheckError("Numerical gradient for function expected to be zero")


# --- comparing Jacobians ---------------------------------------------------------------------


def _compare(
    func: Function, inputs: tuple[Any, ...], options: _Options, prefix: str, forward: bool
) -> None:
    if options.fast_mode:
        _compare_fast(func, inputs, options, prefix, forward)
        return
    positions = [nr for nr, each in enumerate(inputs) if is_differentiable(each)]
    numerical = [numerical_jacobian(func, inputs, nr, options.eps) for nr in positions]
    analytical = _analytical(func, inputs, positions, forward)
    if not forward:
        _check_deterministic(func, inputs, analytical, options)
    for output_nr, jacobians in enumerate(analytical):
        for order, found in enumerate(jacobians):
            expected = numerical[order][output_nr]
            if not _close(found, expected, options):
                raise GradcheckError(_mismatch(prefix, forward, output_nr, order, expected, found))


def _analytical(
    func: Function, inputs: tuple[Any, ...], positions: Sequence[int], forward: bool
) -> list[list[np.ndarray]]:
    """Jacobians by [output][input]."""
    if forward:
        by_input = [forward_jacobian(func, inputs, nr) for nr in positions]
        return [list(each) for each in zip(*by_input, strict=True)]
    sources = [inputs[nr] for nr in positions]
    with enable_grad():
        outputs = differentiable_outputs(func(*inputs))
    return [analytical_jacobian(each, sources) for each in outputs]


def _close(found: Any, expected: Any, options: _Options, scale: float = 1.0) -> bool:
    return np.allclose(found, expected, options.rtol, options.atol * scale, equal_nan=True)


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
    func: Function, inputs: tuple[Any, ...], first: list[Any], options: _Options
) -> None:
    """Backward twice must give the same (K7)."""
    positions = [nr for nr, each in enumerate(inputs) if is_differentiable(each)]
    for jacobians, again in zip(
        first, _analytical(func, inputs, positions, forward=False), strict=True
    ):
        for one, other in zip(jacobians, again, strict=True):
            if not np.allclose(one, other, rtol=0, atol=options.nondet_tol, equal_nan=True):
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and "
                    "grad_output multiple times gives different values, although analytical "
                    "gradient matches numerical gradient.The tolerance for nondeterminism was "
                    f"{options.nondet_tol}."
                )


def _compare_fast(
    func: Function, inputs: tuple[Any, ...], options: _Options, prefix: str, forward: bool
) -> None:
    """Random projections of the Jacobians instead of all their entries (K4)."""
    rng = np.random.default_rng(2718)
    with enable_grad():
        outputs = differentiable_outputs(func(*inputs))
    positions = [nr for nr, each in enumerate(inputs) if is_differentiable(each)]
    for order, nr in enumerate(positions):
        along = _direction(rng, inputs[nr]._array)
        slopes = differences(func, inputs, nr, along, options.eps)
        found_slopes = tangents(func, inputs, nr, along) if forward else None
        for output_nr, output in enumerate(outputs):
            across = rng.random(output._array.shape)
            expected: Any = slopes[output_nr]
            if found_slopes is not None:
                found: Any = found_slopes[output_nr]
                scale = 1.0
            else:
                expected = float(np.sum(expected.real * across))
                found = _projected(output, inputs[nr], across, along)
                scale = max(float(np.abs(along).sum() * across.sum()), 1.0)
            if not _close(found, expected, options, scale):
                slow = _slow_report(func, inputs, nr, output_nr, options, forward)
                raise GradcheckError(
                    _mismatch(prefix, forward, output_nr, order, expected, found) + slow
                )


def _projected(output: Tensor, source: Tensor, across: np.ndarray, along: np.ndarray) -> float:
    """The gradient of `sum(across * output)` along a direction, by backward."""
    direction = wrap(across.astype(output._array.dtype))
    (grad,) = autograd_grad(output, [source], direction, retain_graph=True, allow_unused=True)
    return 0.0 if grad is None else float(np.sum((np.conj(grad._array) * along).real))


def _direction(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    direction: Any = rng.random(array.shape)
    if array.dtype.kind == "c":
        direction = direction + 1j * rng.random(array.shape)
    norm = np.linalg.norm(direction)
    return np.asarray(direction / norm if norm else direction).astype(array.dtype)


def _slow_report(
    func: Function,
    inputs: tuple[Any, ...],
    position: int,
    output_nr: int,
    options: _Options,
    forward: bool,
) -> str:
    numerical = numerical_jacobian(func, inputs, position, options.eps)[output_nr]
    analytical = _analytical(func, inputs, [position], forward)[output_nr][0]
    difference = np.abs(numerical - analytical).max() if numerical.size else 0.0
    return (
        f"{_FAST_NOTE}Numerical:\n {_shown(numerical)}\nAnalytical:\n{_shown(analytical)}\n\n"
        f"The max per-element difference (slow mode) is: {difference}.\n"
    )


# --- further properties of a backward --------------------------------------------------------


def _check_multiplied_by_grad_output(
    func: Function, inputs: tuple[Any, ...], options: _Options
) -> None:
    """A zero gradient in must give zero gradients out, of the inputs' shape and dtype (K8)."""
    sources = [each for each in inputs if is_differentiable(each)]
    outputs = differentiable_outputs(func(*inputs))
    zeros = [wrap(np.zeros(each._array.shape, each._array.dtype)) for each in outputs]
    found = autograd_grad(outputs, sources, zeros, retain_graph=True, allow_unused=True)
    for grad, source in zip(found, sources, strict=True):
        if grad is None:
            continue
        if not np.all(np.isnan(grad._array) | (grad._array == 0)):
            raise GradcheckError("backward not multiplied by grad_output")
        if grad._array.dtype != source._array.dtype:
            raise GradcheckError(
                "Gradient has dtype mismatch"
                if options.check_grad_dtypes
                else "grad is incorrect type"
            )
        if grad._array.shape != source._array.shape:
            raise GradcheckError("grad is incorrect size")


def _check_undefined(func: Function, inputs: tuple[Any, ...]) -> None:
    """Backward must cope with undefined gradients: of all outputs, and of each alone (K9)."""
    count = len(differentiable_outputs(func(*inputs)))
    choices: list[Sequence[int]] = [range(count)]
    if count > 1:
        choices += [(nr,) for nr in range(count)]
    sources = [each for each in inputs if is_differentiable(each)]
    for undefined in choices:
        outputs = differentiable_outputs(func(*inputs))
        used = [
            UndefinedGrad()(each) if nr in undefined else each for nr, each in enumerate(outputs)
        ]
        grads = [wrap(np.zeros(each._array.shape, each._array.dtype)) for each in outputs]
        try:
            found = autograd_grad(used, sources, grads, allow_unused=True)
        except RuntimeError as error:
            _warn_undefined()
            raise GradcheckError(
                "Expected backward function to handle undefined output grads." + _UNDEFINED_NOTE
            ) from error
        if any(each is not None and np.any(each._array != 0) for each in found):
            _warn_undefined()
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are "
                "undefined or zero." + _UNDEFINED_NOTE
            )


def _warn_undefined() -> None:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by "
        "default, but it may break existing callers of this function. If this is true for you, you "
        'can call this function with "check_undefined_grad=False" to disable the feature',
        UserWarning,
        stacklevel=2,
    )


def _check_batched(func: Function, inputs: tuple[Any, ...]) -> None:
    """A batch of gradients at once must give what one after the other gives."""
    sources = [each for each in inputs if is_differentiable(each)]
    rng = np.random.default_rng(31)
    for output in differentiable_outputs(func(*inputs)):
        shape = output._array.shape
        rows = [wrap(rng.random(shape).astype(output._array.dtype)) for _ in range(2)]
        singly = [
            autograd_grad(output, sources, row, retain_graph=True, allow_unused=True)
            for row in rows
        ]
        batch = wrap(np.stack([row._array for row in rows]))
        together = autograd_grad(
            output, sources, batch, retain_graph=True, allow_unused=True, is_grads_batched=True
        )
        for position, found in enumerate(together):
            if found is None:
                continue
            expected = np.stack([row[position]._array for row in singly])
            if not np.allclose(found._array, expected):
                raise GradcheckError(
                    f"For input {position}, gradcheck or gradgradcheck failed while testing "
                    "batched gradient computation."
                )


# --- second derivatives ----------------------------------------------------------------------


def gradgradcheck(
    func: Function,
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
    given = as_tuple(inputs)
    if grad_outputs is None:
        directions = _random_grads(func, given, gen_non_contig_grad_outputs)
    else:
        directions = as_tuple(grad_outputs)
    return gradcheck(
        _gradient_function(func, given),
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


def _gradient_function(func: Function, given: tuple[Any, ...]) -> Function:
    """The gradients of `func` as a function of its inputs and of the gradients of its outputs."""
    count = len(given)

    def gradients(*arguments: Any) -> tuple[Any, ...]:
        sources, grads = arguments[:count], arguments[count:]
        sources = tuple(_tracked(new, old) for new, old in zip(sources, given, strict=True))
        wanted = [each for each in sources if is_differentiable(each)]
        with enable_grad():
            outputs = differentiable_outputs(func(*sources))
            found = autograd_grad(outputs, wanted, grads, create_graph=True, allow_unused=True)
        return tuple(each for each in found if each is not None)

    return gradients


def _tracked(new: Any, original: Any) -> Any:
    """In forward mode the inputs arrive detached; the inner gradient needs them to require grad."""
    if not is_differentiable(original) or requires_grad(new):
        return new
    found = tangent_of(new)
    fresh = new.detach().requires_grad_()
    if found is not None:
        set_tangent(fresh, found)
    return fresh


def _random_grads(
    func: Function, inputs: tuple[Any, ...], noncontiguous: bool
) -> tuple[Tensor, ...]:
    rng = np.random.default_rng(0)
    grads = []
    for output in differentiable_outputs(func(*inputs)):
        shape, dtype = output._array.shape, output._array.dtype
        array = np.asarray(rng.random(shape) * 2 - 1)
        if dtype.kind == "c":
            array = array + 1j * (rng.random(shape) * 2 - 1)
        array = np.asarray(array).astype(dtype)
        if noncontiguous and array.ndim:
            wide = np.empty((*shape, 2), dtype)
            wide[..., 0] = array
            array = wide[..., 0]
        grads.append(wrap(array).requires_grad_())
    return tuple(grads)


# --- old helpers -----------------------------------------------------------------------------


def _deprecated(name: str, grad_out: float) -> None:
    warnings.warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are "
        "deprecating it and it will be removed in a future version of PyTorch. If you have a "
        "specific use for this or feature request for this to be a stable API, please file us an "
        "issue at https://github.com/pytorch/pytorch/issues/new",
        FutureWarning,
        stacklevel=3,
    )
    if grad_out != 1.0:
        raise ValueError(
            f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0."
        )


def get_numerical_jacobian(
    fn: Callable[[Any], Any],
    inputs: Any,
    target: Any = None,
    eps: float = 1e-3,
    grad_out: float = 1.0,
) -> Any:
    """The Jacobian of `fn(inputs)` by differences; deprecated, use `gradcheck`."""
    _deprecated("get_numerical_jacobian", grad_out)
    given = as_tuple(inputs)
    positions = [nr for nr, each in enumerate(given) if is_differentiable(each)]
    found = [
        numerical_jacobian(lambda *tensors: fn(tensors), given, nr, eps, every=True)[0]
        for nr in positions
    ]
    return tuple(wrap(each) for each in found)


def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> Any:
    """The Jacobian of `output` by backward; deprecated, use `gradcheck`.

    Returns the Jacobians, and whether backward was deterministic and sizes and dtypes right.
    """
    _deprecated("get_analytical_jacobian", grad_out)
    sources = [each for each in as_tuple(inputs) if is_differentiable(each)]
    first = analytical_jacobian(output, sources)
    second = analytical_jacobian(output, sources)
    same = all(
        np.allclose(one, other, rtol=0, atol=nondet_tol, equal_nan=True)
        for one, other in zip(first, second, strict=True)
    )
    return tuple(wrap(each) for each in first), same, True, True
