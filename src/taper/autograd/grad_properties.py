"""What `gradcheck` asks of a backward or jvp besides right numbers.

A zero gradient gives zeros; undefined gradients and tangents are accepted; a batch gives the same
as its entries one after the other (§K8, §K9, §K11).
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from taper.autograd.backward import grad as autograd_grad
from taper.autograd.batches import NOT_RANDOM
from taper.autograd.forward_ad import dual_level, make_dual, unpack_dual
from taper.autograd.jacobians import (
    Function,
    as_tuple,
    detached,
    differentiable_outputs,
    differentiable_positions,
    floating_outputs,
    floating_positions,
    is_differentiable,
    tangents_of,
)
from taper.autograd.probes import UndefinedGrad
from taper.autograd.projections import random_directions
from taper.ops.elementwise.compare import equal
from taper.random import get_rng_state
from taper.tensor import Tensor, wrap
from taper.userwarning import warn_user

_UNDEFINED_NOTE = (
    ' Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
)
_BATCHED_NOTE = (
    "gradcheck or gradgradcheck failed while testing batched gradient computation.\n"
    "Pass `check_batched_grad=False` to leave this check out."
)
_BATCHED_FORWARD_NOTE = (
    "gradcheck failed while testing batched gradient computation with forward-mode AD.\n"
    "Pass `check_batched_forward_grad=False` to leave this check out."
)


class GradcheckError(RuntimeError):
    """Raised by `gradcheck` when a derivative does not agree with differences."""


def check_multiplied_by_grad_output(
    outputs: Sequence[Tensor], inputs: Sequence[Any], check_dtypes: bool
) -> None:
    """Check that a zero gradient gives zero gradients, of the inputs' shape and dtype (§K8)."""
    sources = [each for each in inputs if is_differentiable(each)]
    zeros = [each.detach().new_zeros(each.shape) for each in outputs]
    found = autograd_grad(outputs, sources, zeros, retain_graph=True, allow_unused=True)
    for grad, source in zip(found, sources, strict=True):
        if grad is None:
            continue
        if grad._array.any():
            raise GradcheckError("backward not multiplied by grad_output")
        if grad.dtype != source.dtype:
            raise GradcheckError(
                "Gradient has dtype mismatch" if check_dtypes else "grad is incorrect type"
            )
        if grad.shape != source.shape:
            raise GradcheckError("grad is incorrect size")


# --- undefined gradients and tangents --------------------------------------------------------


def check_undefined(func: Function, outputs: Sequence[Tensor], inputs: Sequence[Any]) -> None:
    """Check that backward accepts undefined gradients: of all outputs, and of each alone (§K9)."""
    count = len(outputs)
    choices: list[Sequence[int]] = [range(count)]
    if count > 1:
        choices += [(nr,) for nr in range(count)]
    sources = [each for each in inputs if is_differentiable(each)]
    results = [differentiable_outputs(func(*inputs)) for _ in choices]
    for undefined, fresh in zip(choices, results, strict=True):
        used = [UndefinedGrad()(each) if nr in undefined else each for nr, each in enumerate(fresh)]
        zeros = [each.detach().new_zeros(each.shape) for each in fresh]
        try:
            found = autograd_grad(used, sources, zeros, allow_unused=True)
        except RuntimeError as error:
            _warn_undefined()
            raise GradcheckError(
                "Expected backward function to handle undefined output grads." + _UNDEFINED_NOTE
            ) from error
        if any(each is not None and each._array.any() for each in found):
            _warn_undefined()
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are "
                "undefined or zero." + _UNDEFINED_NOTE
            )


def _warn_undefined() -> None:
    warn_user(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by "
        "default, but it may break existing callers of this function. If this is true for you, you "
        'can call this function with "check_undefined_grad=False" to disable the feature'
    )


def check_undefined_tangents(func: Function, inputs: Sequence[Any], func_out: Any) -> None:
    """Check that a missing tangent counts as zero, for each input while the others have one."""
    positions = differentiable_positions(inputs)
    directions, _ = random_directions([inputs[nr] for nr in positions], ())
    along = {nr: each[0] for nr, each in zip(positions, directions, strict=True)}
    outputs = floating_positions(func_out)
    for missing in positions:
        with dual_level():
            zero = _tangents(func, inputs, {**along, missing: along[missing] * 0}, outputs)
            rest = {nr: each for nr, each in along.items() if nr != missing}
            undefined = _tangents(func, inputs, rest, outputs)
        for number, (one, other) in enumerate(zip(zero, undefined, strict=True)):
            if one is None or other is None or np.allclose(one._array, other._array):
                continue
            raise GradcheckError(
                "Mismatch in tangent values for output with index: ",
                number,
                " when input: ",
                inputs[missing],
                " has an undefined tangent value. ",
                " Got: ",
                one,
                " but expected: ",
                other,
            )


def _tangents(
    func: Function, inputs: Sequence[Any], along: dict[int, np.ndarray], outputs: Sequence[int]
) -> list[Tensor | None]:
    given = detached(inputs)
    for nr, direction in along.items():
        given[nr] = make_dual(given[nr], wrap(direction))
    several = as_tuple(func(*given))
    found = [unpack_dual(several[nr]).tangent for nr in outputs]
    return [each if each is None else each.detach() for each in found]


# --- batches ---------------------------------------------------------------------------------


def _stacked(tensors: Sequence[Tensor]) -> Tensor:
    return wrap(np.stack([each._array for each in tensors]))


def check_batched(inputs: Sequence[Any], output: Tensor, number: int) -> None:
    """Check that a batch of gradients gives the same as its entries one after the other (§K11)."""
    sources = [each for each in inputs if is_differentiable(each)]
    directions = [output.detach().new_empty(output.shape).normal_() for _ in range(2)]
    singly = [
        autograd_grad(output, sources, each, retain_graph=True, allow_unused=True)
        for each in directions
    ]
    try:
        together = autograd_grad(
            output,
            sources,
            _stacked(directions),
            retain_graph=True,
            allow_unused=True,
            is_grads_batched=True,
        )
    except RuntimeError as error:
        raise GradcheckError(
            f"While computing batched gradients, got: {error}\n\n{_BATCHED_NOTE}"
        ) from error
    for position, found in enumerate(together):
        if found is not None:
            expected = _stacked([each[position] for each in singly])
            _compare_batch(found.detach(), expected, number, position, _BATCHED_NOTE)


def check_batched_forward(func: Function, inputs: tuple[Any, ...]) -> None:
    """Check the same for tangents in forward mode."""
    for order, position in enumerate(differentiable_positions(inputs)):
        source = inputs[position].detach()

        def tangents(tangent: Tensor, position: int = position, source: Tensor = source) -> Any:
            with dual_level():
                given = detached(inputs)
                given[position] = make_dual(source, tangent)
                outputs = func(*given)
                return tangents_of(outputs, floating_positions(outputs))

        directions = [source.new_empty(source.shape).normal_() for _ in range(2)]
        singly = [tangents(each) for each in directions]
        together = _pushed_batch(func, inputs, position, _stacked(directions))
        if together is None:
            together = _in_turn(tangents, directions)
        for number, found in enumerate(together):
            expected = _stacked([each[number] for each in singly])
            _compare_batch(found.detach(), expected, number, order, _BATCHED_FORWARD_NOTE)


def _pushed_batch(
    func: Function, inputs: tuple[Any, ...], position: int, batch: Tensor
) -> Sequence[Tensor] | None:
    """Return the tangents for a batch by `vmap`; None if a custom function has no rule for it."""
    # late: few checks push batches, and `import taper` shall not load the transforms
    transforms = importlib.import_module("taper.func")

    def chosen(tensor: Tensor) -> Any:
        given = detached(inputs)
        given[position] = tensor
        return tuple(floating_outputs(func(*given)))

    def push(tangent: Tensor) -> Any:
        return transforms.jvp(chosen, (inputs[position].detach(),), (tangent,))[1]

    try:
        found: Sequence[Tensor] = transforms.vmap(push)(batch)
        return found
    except RuntimeError as error:
        if "setup_context" in str(error):
            return None
        text = NOT_RANDOM if "randomness error mode" in str(error) else error
        raise GradcheckError(
            f"While computing batched gradients, got: {text}\n\n{_BATCHED_FORWARD_NOTE}"
        ) from error


def _in_turn(function: Function, arguments: Sequence[Tensor]) -> Sequence[Tensor]:
    """Return the tangents one after the other; random numbers are refused as in a batch."""
    before = get_rng_state()
    found = [function(each) for each in arguments]
    if not equal(get_rng_state(), before):
        raise GradcheckError(
            f"While computing batched gradients, got: {NOT_RANDOM}\n\n{_BATCHED_FORWARD_NOTE}"
        )
    return [_stacked(each) for each in zip(*found, strict=True)]


def _compare_batch(found: Tensor, expected: Tensor, output: int, position: int, note: str) -> None:
    if not np.allclose(found._array, expected._array):
        raise GradcheckError(
            f"For output {output} and input {position}:\n\n{note}\n\nGot:\n{found}\n\nExpected:\n"
            f"{expected}"
        )
