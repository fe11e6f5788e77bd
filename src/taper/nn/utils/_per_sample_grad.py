"""The gradient of every sample of a batch, in one backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper.func import functional_call, vmap
from taper.nn.modules.module import Module
from taper.nn.parameter import Parameter
from taper.tensor import Tensor
from taper.utils._pytree import tree_map

__all__ = ["call_for_per_sample_grads"]


def call_for_per_sample_grads(
    module: Module,
    *,
    batch_size: int | None = None,
    loss_reduction: str = "sum",
    batch_first: bool = True,
) -> Callable[..., Any]:
    """Return a module as a function whose backward pass fills `grad_sample` of the parameters.

    Each sample has a copy of the parameters that takes no memory. `grad` of the parameters stays
    as it was.

    Args:
        module: what to call.
        batch_size: number of samples; None takes it from the first tensor.
        loss_reduction: `"sum"` or `"mean"`: how the loss puts samples together.
        batch_first: whether samples lie along the first or the second dimension.

    Example:
        >>> import taper
        >>> from taper.nn.utils._per_sample_grad import call_for_per_sample_grads
        >>> layer = taper.nn.Linear(2, 1)
        >>> x = taper.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> call_for_per_sample_grads(layer)(x).sum().backward()
        >>> layer.weight.grad_sample
        tensor([[[1., 2.]],
        <BLANKLINE>
                [[3., 4.]]])
    """
    _check(module, batch_size, loss_reduction)
    dim = 0 if batch_first else 1

    def call(*args: Any, **kwargs: Any) -> Any:
        given = [each for each in (*args, *kwargs.values()) if isinstance(each, Tensor)]
        if not given:
            raise RuntimeError(
                "Unable to find a tensor in the passed args and kwargs. They may not be "
                "pytree-able and so ExpandedWeights cannot compute the batch size from the "
                "inputs. Please specify explicitly"
            )
        count = given[0].shape[dim] if batch_size is None else batch_size
        scale = count if loss_reduction == "mean" else 1
        copies = {
            name: _copies(each, count, scale)
            for name, each in module.named_parameters()
            if each.requires_grad
        }

        def single(parameters: dict[str, Tensor], *tensors: Tensor) -> Any:
            rest = iter(each.unsqueeze(dim) for each in tensors)

            def filled(value: Any) -> Any:
                return next(rest) if isinstance(value, Tensor) else value

            positional = tuple(filled(each) for each in args)
            named = {name: filled(each) for name, each in kwargs.items()}
            result = functional_call(module, parameters, positional, named)
            return tree_map(lambda each: each.squeeze(dim), result)

        in_dims = (0, *[dim] * len(given))
        return vmap(single, in_dims, out_dims=dim, randomness="different")(copies, *given)

    return call


def _check(module: Any, batch_size: Any, loss_reduction: str) -> None:
    """Raise PyTorch's error if something is amiss."""
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(
            f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}"
        )
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(
            f"Batch size passed must be None or an integer, got {type(batch_size).__name__}"
        )
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    for parameter in module.parameters():
        _refuse_second_time(parameter)


def _copies(parameter: Parameter, count: int, scale: int) -> Tensor:
    """Return a parameter for every sample, which hands its gradient to the parameter."""
    copies = parameter.detach().expand(count, *parameter.shape).requires_grad_()

    def hand_over(leaf: Tensor) -> None:
        if leaf.grad is not None:
            gradient = leaf.grad * scale if scale != 1 else leaf.grad
            parameter.grad_sample = gradient  # type: ignore[attr-defined]
            leaf.grad = None

    copies.register_post_accumulate_grad_hook(hand_over)
    return copies


def _refuse_second_time(parameter: Parameter) -> None:
    if getattr(parameter, "grad_sample", None) is not None:
        raise RuntimeError(
            "Current Expanded Weights accumulates the gradients, which will be incorrect for "
            "multiple calls without clearing gradients. Please clear out the grad_sample "
            f"parameter of {parameter} or post an issue to pytorch/pytorch to prioritize "
            "correct behavior"
        )
