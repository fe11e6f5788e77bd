"""`PostLocalSGDOptimizer`: an optimizer that averages parameters after its steps."""

from __future__ import annotations

from typing import Any

from taper.distributed.algorithms.model_averaging.averagers import ModelAverager
from taper.optim.optimizer import Optimizer
from taper.userwarning import warn_user

__all__ = ["PostLocalSGDOptimizer"]


class PostLocalSGDOptimizer(Optimizer):
    """Do the steps of an optimizer, and average the parameters when the averager says so.

    Args:
        optim: the optimizer.
        averager: when, and within which group.

    >>> import taper
    >>> from taper import distributed as dist
    >>> from taper.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> inner = taper.optim.SGD([taper.nn.Parameter(taper.ones(1))], lr=0.1)
    >>> optimizer = dist.optim.PostLocalSGDOptimizer(inner, PeriodicModelAverager(2))
    >>> optimizer.state_dict()["step"]
    0
    >>> dist.destroy_process_group()
    """

    def __init__(self, optim: Optimizer, averager: ModelAverager) -> None:
        self.optim = optim
        self.param_groups = optim.param_groups
        self.averager = averager

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The state of the optimizer."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the optimizer, with the step of the averager."""
        state = self.optim.state_dict()
        state["step"] = self.averager.step
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state; one without a step lets the averager begin anew.

        Args:
            state_dict: what `state_dict` returned.
        """
        self.optim.load_state_dict(state_dict)
        if "step" in state_dict:
            self.averager.step = state_dict["step"]
        else:
            warn_user(
                "Loaded state dict does not contain a step counter for an averager. Setting step "
                "counter to 0."
            )
            self.averager.step = 0

    def step(self) -> None:  # type: ignore[override]
        """Do a step, and average if it is time."""
        self.optim.step()
        self.averager.average_parameters(params=self.param_groups)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients.

        Args:
            set_to_none: let them be None instead of zeros.
        """
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters.

        Args:
            param_group: the parameters and their options.
        """
        self.optim.add_param_group(param_group)
