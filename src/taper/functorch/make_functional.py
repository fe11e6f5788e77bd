"""Modules as functions of their parameters and buffers."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Self

from taper.func import functional_call
from taper.nn.modules.module import Module
from taper.ops.shape.join import stack
from taper.tensor import Tensor

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "make_functional",
    "make_functional_with_buffers",
]


class FunctionalModuleWithBuffers(Module):
    """A module that is called with its parameters, its buffers and the arguments."""

    def __init__(
        self, stateless: Module, names: Sequence[str], buffer_names: Sequence[str]
    ) -> None:
        super().__init__()
        self.__dict__["stateless_model"] = stateless  # not a part: it has parameters of its own
        self.param_names = tuple(names)
        self.buffer_names = tuple(buffer_names)

    @classmethod
    def _create_from(
        cls, model: Module, disable_autograd_tracking: bool = False
    ) -> tuple[Self, tuple[Tensor, ...], tuple[Tensor, ...]]:
        stateless = copy.deepcopy(model)
        parameters = dict(stateless.named_parameters())
        buffers = dict(stateless.named_buffers())
        if disable_autograd_tracking:
            for each in parameters.values():
                each.requires_grad_(False)
        made = cls(stateless, tuple(parameters), tuple(buffers))
        return made, tuple(parameters.values()), tuple(buffers.values())

    def forward(
        self, params: Sequence[Tensor], buffers: Sequence[Tensor], *args: Any, **kwargs: Any
    ) -> Any:
        """Call the module with these parameters and buffers."""
        state = dict(zip(self.param_names, params, strict=True))
        state |= zip(self.buffer_names, buffers, strict=True)
        return functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """A module without buffers that is called with its parameters and the arguments."""

    def forward(self, params: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        """Call the module with these parameters."""
        return super().forward(params, (), *args, **kwargs)


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """Return a function of parameters and inputs, and the parameters.

    Args:
        model: a module without buffers; it stays as it is.
        disable_autograd_tracking: return parameters that do not require a gradient.

    >>> import taper
    >>> from taper.functorch import make_functional
    >>> function, parameters = make_functional(taper.nn.Linear(2, 1))
    >>> function(parameters, taper.ones(3, 2)).shape
    torch.Size([3, 1])
    """
    if next(iter(model.buffers()), None) is not None:
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use "
            "make_functional_with_buffers(model) instead."
        )
    return FunctionalModule._create_from(model, disable_autograd_tracking)[:2]


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return a function of parameters, buffers and inputs, the parameters and the buffers."""
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one function for modules of one class, and their parameters and buffers stacked."""
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({each.training for each in models}) > 1:
        raise RuntimeError(
            "combine_state_for_ensemble: Expected all models to have the same training/eval mode."
        )
    if len({type(each) for each in models}) > 1:
        raise RuntimeError(
            "combine_state_for_ensemble: Expected all models to be of the same class."
        )
    made = [make_functional_with_buffers(each) for each in models]
    parameters = tuple(stack(each) for each in zip(*(each[1] for each in made), strict=True))
    buffers = tuple(stack(each) for each in zip(*(each[2] for each in made), strict=True))
    return made[0][0], parameters, buffers
