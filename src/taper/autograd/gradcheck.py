"""`gradcheck` and `gradgradcheck`: derivatives compared with central differences.

Complex outputs are checked as two real functions, their imaginary and their real part; forward mode
takes the parts of complex inputs instead.  `grad_properties` has what else is asked of a backward.

Long because: public functions document their arguments.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from taper.autograd.backward import grad as autograd_grad
from taper.autograd.grad_mode import enable_grad
from taper.autograd.grad_properties import (
    GradcheckError,
    check_batched,
    check_batched_forward,
    check_multiplied_by_grad_output,
    check_undefined,
    check_undefined_tangents,
)
from taper.autograd.jacobians import (
    Function,
    analytical_jacobian,
    as_tuple,
    differentiable_outputs,
    differentiable_positions,
    floating_outputs,
    forward_jacobian,
    is_differentiable,
    numerical_jacobian,
)
from taper.autograd.projections import (
    analytical_projection,
    forward_slopes,
    numerical_slopes,
    project,
    random_directions,
    tolerance,
)
from taper.device import strided
from taper.tensor import Tensor
from taper.userwarning import warn_user

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

_FAST_NOTE = (
    "\nThe above quantities relating the numerical and analytical jacobians are computed \n"
    "in fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background \n"
    "about fast mode. Below, we recompute numerical and analytical jacobians in slow mode:\n\n"
)
_SLOW_AGREES = (
    "Fast gradcheck failed but element-wise differences are small. This means that the\n"
    "test might've passed in slow_mode!\n\nPass `fast_mode=False` to find out."
)


class _Options(NamedTuple):
    """What the caller asked for."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_undefined_grad: bool
    check_grad_dtypes: bool
    check_batched_grad: bool
    check_batched_forward_grad: bool
    check_forward_ad: bool
    check_backward_ad: bool
    fast_mode: bool


class _Checked(NamedTuple):
    """A function, its outputs for the inputs, and how errors call it."""

    func: Function
    inputs: tuple[Any, ...]
    func_out: Any
    part: str = ""  # such as "imaginary part of complex outputs"
    numbers: Sequence[int] = ()  # the outputs (forward mode: inputs) that this is a part of


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
    """Return whether the gradients of `func` at `inputs` agree with central differences.

    Args:
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: a tensor or a sequence of them; those that require grad are differentiated, and
            should have double precision.
        eps: the step of the differences.
        atol: the absolute tolerance.
        rtol: the relative tolerance.
        raise_exception: raise GradcheckError at a difference, instead of returning False.
        nondet_tol: how far two backward passes may differ.
        check_undefined_grad: also check that undefined gradients count as zeros.
        check_grad_dtypes: also check that gradients have the dtypes of the inputs.
        check_batched_grad: also check batches of gradients by `vmap`.
        check_batched_forward_grad: also check batches of tangents by `vmap`.
        check_forward_ad: also check forward mode.
        check_backward_ad: check backward mode.
        fast_mode: compare random projections of the Jacobians, not all their entries.
        masked: accepted; sparse tensors are moved by their elements.

    >>> import taper
    >>> x = taper.tensor([0.5, 1.5], dtype=taper.float64, requires_grad=True)
    >>> taper.autograd.gradcheck(taper.sin, (x,))
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    _requires(check_batched_grad, "check_batched_grad", check_backward_ad, "check_backward_ad")
    _requires(
        check_batched_forward_grad,
        "check_batched_forward_grad",
        check_forward_ad,
        "check_forward_ad",
    )
    options = _Options(
        eps,
        atol,
        rtol,
        nondet_tol,
        check_undefined_grad,
        check_grad_dtypes,
        check_batched_grad,
        check_batched_forward_grad,
        check_forward_ad,
        check_backward_ad,
        fast_mode,
    )
    given = as_tuple(inputs)
    try:
        if any(isinstance(each, Tensor) and each.layout is not strided for each in given):
            # late: few functions are of sparse tensors
            sparse = importlib.import_module("taper.ops.sparse.checking")
            func, given = sparse.of_elements(func, given)
        _check_inputs(given)
        _check(func, given, options)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _requires(option: bool, name: str, other: bool, other_name: str) -> None:
    if option and not other:
        raise AssertionError(f"Setting {name}=True requires {other_name} to be True")


def _check_inputs(inputs: Sequence[Any]) -> None:
    for index, value in enumerate(inputs):
        if not is_differentiable(value):
            continue
        array = value._array
        if array.dtype not in (np.float64, np.complex128):
            warn_user(
                f"Input #{index} requires gradient and is not a double precision floating point "
                "or complex. This check will likely fail if all the inputs are not of double "
                "precision floating point or complex. "
            )
        steps = zip(array.strides, array.shape, strict=True)
        if array.size and any(step == 0 and length > 1 for step, length in steps):
            raise RuntimeError(
                f"The {index}th input has a dimension with stride 0. gradcheck only supports "
                "inputs that are non-overlapping to be able to compute the numerical gradients "
                "correctly. You should call .contiguous on the input before passing it to "
                "gradcheck."
            )
    if not any(is_differentiable(value) for value in inputs):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )


def _check(func: Function, inputs: tuple[Any, ...], options: _Options) -> None:
    """Run all checks in PyTorch's order, which decides what is reported and how `func` is run."""
    func_out = func(*inputs)
    outputs = differentiable_outputs(func_out)
    if options.check_backward_ad:
        for checked in _parts_of_outputs(func, inputs, func_out):
            _compare(checked, options, forward=False)
    if options.check_forward_ad:
        parts = _parts_of_inputs(func, inputs, func_out, options)
        if options.check_undefined_grad:
            for checked in parts:
                check_undefined_tangents(checked.func, checked.inputs, checked.func_out)
    if options.check_batched_forward_grad:
        check_batched_forward(func, inputs)
    if not options.check_backward_ad:
        return
    if options.check_batched_grad:
        for number, output in enumerate(outputs):
            check_batched(inputs, output, number)
    if outputs:
        check_multiplied_by_grad_output(outputs, inputs, options.check_grad_dtypes)
        if options.check_undefined_grad:
            check_undefined(func, outputs, inputs)


# --- parts of complex functions --------------------------------------------------------------


def _parts_of_outputs(func: Function, inputs: tuple[Any, ...], func_out: Any) -> Iterator[_Checked]:
    """Return the functions with real outputs that stand for `func`."""
    if not any(each.is_complex() for each in as_tuple(func_out)):
        yield _Checked(func, inputs, func_out)
        return
    numbers = [nr for nr, each in enumerate(differentiable_outputs(func_out)) if each.is_complex()]
    for name, attribute in (("imaginary", "imag"), ("real", "real")):
        part = _part_of_outputs(func, attribute)
        yield _Checked(part, inputs, part(*inputs), f"{name} part of complex outputs", numbers)


def _part_of_outputs(func: Function, attribute: str) -> Function:
    def part(*inputs: Any) -> tuple[Any, ...]:
        return tuple(
            getattr(each, attribute) if each.is_complex() else each
            for each in as_tuple(func(*inputs))
        )

    return part


def _parts_of_inputs(
    func: Function, inputs: tuple[Any, ...], func_out: Any, options: _Options
) -> list[_Checked]:
    """Check forward mode of the functions of real inputs that stand for `func`, and return them."""
    numbers = [
        nr for nr, each in enumerate(inputs) if is_differentiable(each) and each.is_complex()
    ]
    if not numbers:
        parts = [_Checked(func, inputs, func_out)]
        _compare(parts[0], options, forward=True)
        return parts
    parts = []
    for name, attribute in (("imaginary", "imag"), ("real", "real")):
        part = _part_of_inputs(func, inputs, numbers, attribute)
        given = tuple(
            getattr(each, attribute) if nr in numbers else each for nr, each in enumerate(inputs)
        )
        checked = _Checked(part, given, part(*given), f"{name} part of complex inputs", numbers)
        _compare(checked, options, forward=True)
        parts.append(checked)
    return parts


def _part_of_inputs(
    func: Function, originals: tuple[Any, ...], numbers: Sequence[int], attribute: str
) -> Function:
    """Return `func` of one part of the complex inputs; the other part is fixed."""

    def part(*inputs: Any) -> Any:
        given = list(inputs)
        for nr in numbers:
            if attribute == "imag":
                given[nr] = originals[nr].real + inputs[nr] * 1j
            else:
                given[nr] = inputs[nr] + originals[nr].imag * 1j
        return func(*given)

    return part


# --- comparing Jacobians ---------------------------------------------------------------------


def _compare(checked: _Checked, options: _Options, forward: bool) -> None:
    if not differentiable_outputs(checked.func_out):
        _check_constant(checked, options)
    elif options.fast_mode:
        _compare_fast(checked, options, forward)
    else:
        _compare_slow(checked, options, forward)


def _check_constant(checked: _Checked, options: _Options) -> None:
    """Check that outputs that do not require grad do not depend on the inputs (§K6)."""
    func, inputs = checked.func, checked.inputs
    outputs = floating_outputs(checked.func_out)
    positions = differentiable_positions(inputs)
    along, _ = random_directions([inputs[nr] for nr in positions], ())
    for order, nr in enumerate(positions):
        if options.fast_mode:
            slopes = numerical_slopes(func, inputs, nr, along[order], options.eps, floating_outputs)
            found = [each for several in slopes for each in several]
        else:
            found = numerical_jacobian(func, inputs, nr, outputs, options.eps, floating_outputs)
        if any(each._array.any() for each in found):
            raise GradcheckError("Numerical gradient for function expected to be zero")


def _compare_slow(checked: _Checked, options: _Options, forward: bool) -> None:
    func, inputs = checked.func, checked.inputs
    outputs = differentiable_outputs(checked.func_out)
    positions = differentiable_positions(inputs)
    numerical = [numerical_jacobian(func, inputs, nr, outputs, options.eps) for nr in positions]
    if forward:
        by_input = [forward_jacobian(func, inputs, nr, checked.func_out) for nr in positions]
    sources = [inputs[nr] for nr in positions]
    for output_nr, output in enumerate(outputs):
        if forward:
            found = [each[output_nr] for each in by_input]
        else:
            found = analytical_jacobian(output, sources)
            _check_deterministic(found, analytical_jacobian(output, sources), options)
        for order, jacobian in enumerate(found):
            expected = numerical[order][output_nr]
            if not _close(jacobian, expected, options.rtol, options.atol):
                raise GradcheckError(
                    _mismatch(checked, forward, output_nr, order, expected, jacobian)
                )


def _close(found: Tensor, expected: Tensor, rtol: float, atol: float) -> bool:
    return bool(np.allclose(found._array, expected._array, rtol, atol))


def _mismatch(
    checked: _Checked, forward: bool, output: int, position: int, expected: Any, found: Any
) -> str:
    what = "Jacobian computed with forward mode mismatch" if forward else "Jacobian mismatch"
    number = position if forward else output
    part = f"While considering the {checked.part} only, " if number in checked.numbers else ""
    return (
        f"{part}{what} for output {output} with respect to input {position},\n"
        f"numerical:{expected}\nanalytical:{found}\n"
    )


def _check_deterministic(
    first: Sequence[Tensor], second: Sequence[Tensor], options: _Options
) -> None:
    """Check that backward gives the same twice (§K7)."""
    for one, other in zip(first, second, strict=True):
        if bool(((one - other).abs() > options.nondet_tol).any()):
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and "
                "grad_output multiple times gives different values, although analytical gradient "
                "matches numerical gradient.The tolerance for nondeterminism was "
                f"{options.nondet_tol}.\n\nIf that is as it should be, pass `nondet_tol=<tol>`."
            )


def _compare_fast(checked: _Checked, options: _Options, forward: bool) -> None:
    """Compare random projections of the Jacobians instead of all their entries (§K4)."""
    func, inputs = checked.func, checked.inputs
    outputs = differentiable_outputs(checked.func_out)
    positions = differentiable_positions(inputs)
    sources = [inputs[nr] for nr in positions]
    along, across = random_directions(sources, () if forward else outputs)
    slopes = [
        numerical_slopes(func, inputs, nr, along[order], options.eps)
        for order, nr in enumerate(positions)
    ]
    if forward:
        by_input = [
            forward_slopes(func, inputs, nr, checked.func_out, along[order])
            for order, nr in enumerate(positions)
        ]
    for output_nr, output in enumerate(outputs):
        if not forward:
            vector = across[output_nr]
            found = analytical_projection(output, sources, vector, along)
            again = analytical_projection(output, sources, vector, along)
            _check_deterministic(found, again, options)
        for order, nr in enumerate(positions):
            expected = slopes[order][output_nr]
            if forward:
                pair = expected[0], by_input[order][output_nr]
                atol = tolerance(options.atol, along[order], None)
            else:
                pair = project(expected, vector), found[order]
                atol = tolerance(options.atol, along[order], vector)
            if not _close(pair[1], pair[0], options.rtol, atol):
                shown = pair if forward else tuple(each.item() for each in pair)
                text = _mismatch(checked, forward, output_nr, order, *shown)
                slow = _slow_report(checked, nr, output_nr, options, forward)
                raise GradcheckError(text + slow)


def _slow_report(
    checked: _Checked, position: int, output_nr: int, options: _Options, forward: bool
) -> str:
    """Return what slow mode finds, after fast mode has found a difference."""
    func, inputs = checked.func, checked.inputs
    outputs = differentiable_outputs(checked.func_out)
    numerical = numerical_jacobian(func, inputs, position, outputs, options.eps)[output_nr]
    if forward:
        analytical = forward_jacobian(func, inputs, position, checked.func_out)[output_nr]
    else:
        fresh = differentiable_outputs(func(*inputs))[output_nr]
        (analytical,) = analytical_jacobian(fresh, [inputs[position]])
    difference = (numerical - analytical).abs().max().item() if numerical.numel() else 0.0
    report = (
        f"{_FAST_NOTE}Numerical:\n {numerical}\nAnalytical:\n{analytical}\n\n"
        f"The max per-element difference (slow mode) is: {difference}.\n"
    )
    if _close(numerical, analytical, options.rtol, options.atol):
        report += _SLOW_AGREES
    return report


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
    """Return whether the second derivatives of `func` agree with central differences.

    Args:
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: a tensor or a sequence of them; those that require grad are differentiated, and
            should have double precision.
        grad_outputs: the gradients of the outputs at which the first derivative is taken; by
            default they are drawn between -1 and 1.
        gen_non_contig_grad_outputs: draw them non-contiguous.
        check_fwd_over_rev: check forward mode of the gradient.
        check_rev_over_rev: check backward mode of the gradient.

    The other arguments are those of `gradcheck`, which checks the gradient of `func` as a function.

    >>> import taper
    >>> x = taper.tensor([0.5, 1.5], dtype=taper.float64, requires_grad=True)
    >>> taper.autograd.gradgradcheck(lambda x: x ** 3, (x,))
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    reverse = (check_rev_over_rev, "check_rev_over_rev")
    _requires(check_undefined_grad, "check_undefined_grad", *reverse)
    _requires(check_batched_grad, "check_batched_grad", *reverse)
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
    """Return the gradients of `func` as a function of its inputs and of its outputs' gradients."""
    count = len(given)

    def gradients(*arguments: Any) -> tuple[Any, ...]:
        sources, grads = arguments[:count], arguments[count:]
        for new, original in zip(sources, given, strict=True):
            if is_differentiable(original) and not is_differentiable(new):
                new.requires_grad_()  # forward mode detaches the inputs
        wanted = [each for each in sources if is_differentiable(each)]
        with enable_grad():
            outputs = differentiable_outputs(func(*sources))
            found = autograd_grad(outputs, wanted, grads, create_graph=True, allow_unused=True)
        return tuple(each for each in found if each is not None)

    return gradients


def _random_grads(
    func: Function, inputs: tuple[Any, ...], noncontiguous: bool
) -> tuple[Tensor, ...]:
    grads = []
    for output in differentiable_outputs(func(*inputs)):
        shape = tuple(output.shape)
        spread = noncontiguous and bool(shape)
        if spread:
            shape = (*shape[:-1], 2 * shape[-1])
        grad = _uniform(output, shape)
        if spread:
            grad = grad[..., 1::2]
        grads.append(grad.detach().requires_grad_())
    return tuple(grads)


def _uniform(like: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return random numbers between -1 and 1; a complex one takes two of them."""
    empty = like.detach().new_empty(shape)
    if not empty.is_complex():
        return empty.uniform_(-1, 1)
    parts = empty.real.new_empty((*shape, 2)).uniform_(-1, 1)
    drawn: Tensor = parts[..., 0] + parts[..., 1] * 1j
    return drawn


# --- old helpers -----------------------------------------------------------------------------


def _deprecated(name: str, grad_out: float) -> None:
    warn_user(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are "
        "deprecating it and it will be removed in a future version of PyTorch. If you have a "
        "specific use for this or feature request for this to be a stable API, please file us an "
        "issue at https://github.com/pytorch/pytorch/issues/new",
        FutureWarning,
    )
    if grad_out != 1.0:
        raise ValueError(
            f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0."
        )


def _refuse_complex(name: str, outputs: Sequence[Tensor]) -> None:
    if any(each.is_complex() for each in outputs):
        raise ValueError(
            f"Expected output to be non-complex. {name} no longer supports functions that return "
            "complex outputs."
        )


def get_numerical_jacobian(
    fn: Callable[[Any], Any],
    inputs: Any,
    target: Any = None,
    eps: float = 1e-3,
    grad_out: float = 1.0,
) -> Any:
    """Return the Jacobians of `fn(inputs)` by differences; deprecated, use `gradcheck`.

    `target` chooses the inputs to differentiate by, all that require grad if it is None.
    """
    name = "get_numerical_jacobian"
    _deprecated(name, grad_out)
    given = as_tuple(inputs)
    outputs = floating_outputs(fn(given))
    _refuse_complex(name, outputs)
    chosen = given if target is None else as_tuple(target)
    positions = [
        nr for nr in differentiable_positions(given) if any(each is given[nr] for each in chosen)
    ]

    def function(*tensors: Any) -> Any:
        return fn(tensors)

    return tuple(
        numerical_jacobian(function, given, nr, outputs, eps, floating_outputs)[0]
        for nr in positions
    )


def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> Any:
    """Compute the Jacobian of `output` by backward; deprecated, use `gradcheck`.

    Returns: the Jacobians, whether backward was deterministic, and whether sizes and dtypes were
    right.
    """
    name = "get_analytical_jacobian"
    _deprecated(name, grad_out)
    _refuse_complex(name, [output])
    sources = [each for each in as_tuple(inputs) if is_differentiable(each)]
    first = analytical_jacobian(output, sources)
    second = analytical_jacobian(output, sources)
    same = all(
        not bool(((one - other).abs() > nondet_tol).any())
        for one, other in zip(first, second, strict=True)
    )
    return tuple(first), same, True, True
