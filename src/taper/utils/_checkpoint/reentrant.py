"""The reentrant kind: a custom function whose backward runs a forward and a pass of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from taper.autograd.backward import backward
from taper.autograd.function import Function
from taper.autograd.grad_mode import enable_grad, no_grad
from taper.autograd.variable import Variable
from taper.tensor import Tensor
from taper.userwarning import warn_user
from taper.utils._checkpoint.autocasting import AutocastState, casting_as
from taper.utils._checkpoint.frames import PUBLIC_MODULE
from taper.utils._checkpoint.randomness import RandomState, drawing_from


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no input requires a gradient: then the reentrant kind gives none.

    >>> import taper
    >>> taper.utils.checkpoint.check_backward_validity([taper.ones(2, requires_grad=True)])
    """
    if not any(each.requires_grad for each in inputs if isinstance(each, Tensor)):
        warn_user("None of the inputs have requires_grad=True. Gradients will be None")


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return tensors as leaves that require a gradient if the originals do; the rest unchanged.

    >>> import taper
    >>> x = taper.ones(1, requires_grad=True) * 2
    >>> taper.utils.checkpoint.detach_variable((x, "text"))
    (tensor([2.], requires_grad=True), 'text')
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: "
            f"{type(inputs).__name__}"
        )
    return tuple(
        each.detach().requires_grad_(each.requires_grad) if isinstance(each, Tensor) else each
        for each in inputs
    )


class CheckpointFunction(Function):
    """A call whose forward records nothing and whose backward computes it again.

    >>> import taper
    >>> x = taper.tensor([2.0], requires_grad=True)
    >>> taper.utils.checkpoint.CheckpointFunction.apply(taper.square, True, x)
    tensor([4.], grad_fn=<CheckpointFunctionBackward>)
    """

    __module__ = PUBLIC_MODULE

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.random_state = RandomState.now() if preserve_rng_state else None
        ctx.autocast_state = AutocastState.now()
        ctx.inputs = [None if isinstance(each, Tensor) else each for each in args]
        ctx.tensor_positions = [nr for nr, each in enumerate(args) if isinstance(each, Tensor)]
        ctx.save_for_backward(*[args[nr] for nr in ctx.tensor_positions])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        if not Variable._execution_engine.is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). To resolve this error, you can "
                "either set use_reentrant=False, or call .backward() without passing the `inputs` "
                "argument."
            )
        inputs = list(ctx.inputs)
        for position, tensor in zip(ctx.tensor_positions, ctx.saved_tensors, strict=True):
            inputs[position] = tensor
        leaves = detach_variable(tuple(inputs))
        with drawing_from(ctx.random_state), casting_as(ctx.autocast_state), enable_grad():
            outputs = ctx.run_function(*leaves)
        if isinstance(outputs, Tensor):
            outputs = (outputs,)
        pairs = [
            (output, grad)
            for output, grad in zip(outputs, args, strict=False)
            if isinstance(output, Tensor) and output.requires_grad
        ]
        if not pairs:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        backward([output for output, _ in pairs], [grad for _, grad in pairs])
        grads = [each.grad if isinstance(each, Tensor) else None for each in leaves]
        return None, None, *grads
