"""Steps of optimizers in a program: the update rule over all parameters in one native call.

Owns: when that is the same as the optimizer's own `step`, which is called otherwise.  Coefficients
are computed at every step from the options of the group, so a scheduler works.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import itemgetter
from typing import Any

from taper.arrays.native import native
from taper.autograd.meta import VersionCounter
from taper.optim.adam import AdamNumbers
from taper.optim.optimizer import _global_optimizer_post_hooks, _global_optimizer_pre_hooks
from taper.optim.programs import _OPERATIONS, program_of
from taper.optim.rule_optimizer import RuleOptimizer
from taper.optim.update import computed_in
from taper.program.compiling import COMPILE_AFTER, address_of, request
from taper.program.form import Place
from taper.program.text import rule_text
from taper.tensor import Tensor

_ODD = ("differentiable", "foreach", "fused", "capturable")


def has_extras(optimizer: RuleOptimizer) -> bool:
    """Whether a step does more than its rule: hooks, or what a GradScaler has set."""
    return bool(
        optimizer._optimizer_step_pre_hooks
        or optimizer._optimizer_step_post_hooks
        or _global_optimizer_pre_hooks
        or _global_optimizer_post_hooks
        or "found_inf" in optimizer.__dict__
        or "grad_scale" in optimizer.__dict__
    )


class Update:
    """Stand for `optimizer.step()`: called without arguments."""

    def __init__(
        self, optimizer: RuleOptimizer, otherwise: Callable[[], Any], place: Place
    ) -> None:
        self.optimizer, self.otherwise, self.place = optimizer, otherwise, place
        self.groups: list[_Group] | None = None

    def __call__(self) -> Any:
        optimizer = self.optimizer
        if has_extras(optimizer):
            return self.otherwise()
        groups = self.groups
        if groups is None or len(groups) != len(optimizer.param_groups):
            groups = self.groups = [
                _Group(optimizer, each, self.place) for each in optimizer.param_groups
            ]
        if len(groups) == 1:
            group = groups[0]
            if group.options is optimizer.param_groups[0] and (group.repeat() or group.update()):
                return None
        self.groups = None
        return self.otherwise()


class _Group:
    """One group of parameters, as it was when it was looked at."""

    def __init__(self, optimizer: RuleOptimizer, options: dict[str, Any], place: Place) -> None:
        self.optimizer, self.options = optimizer, options
        self.params = tuple(options["params"])
        self.values: tuple[Any, ...] = ()
        self.read = itemgetter(*[name for name in options if name != "params"])
        self.names = tuple(optimizer._arrays(options))
        self.scalars = type(optimizer)._scalars
        self.state = optimizer.state
        self.states: tuple[Any, ...] = tuple([self.state.get(each) for each in self.params])
        self.step = (
            *(self.params, self.states, self.state, self.names, self.scalars),
            *(place, VersionCounter),
        )
        self.numbers: Any = None
        self.constants: Any = None
        self.program: Any = None
        self.compiled: dict[bytes, int] = {}  # where the code of a rule is, as a function
        self.runs = 0
        self.ready: tuple[Any, ...] | None = None  # for `repeat`, where numbers stay the same
        self.is_usual = bool(self.params) and len(self.names) <= 6
        dtypes = {each._array.dtype for each in self.params}
        self.is_usual &= len(dtypes) == 1 and all(each._change is None for each in self.params)
        self.dtype: Any = next(iter(dtypes), None)

    def repeat(self) -> bool:
        """Run the rule with the numbers of the last time, if nothing has changed since.

        Measured: 0.3 of 4.1 us of a step of 5x5.
        """
        options, ready = self.options, self.ready
        if ready is None or self.optimizer.state is not self.state:
            return False
        if self.read(options) != self.values:
            return False
        done: bool = native.update_parameters(self.step, options["params"], (), *ready)
        return done

    def update(self) -> bool:
        """Run the rule; False, with nothing done, if the optimizer itself has to."""
        options, optimizer = self.options, self.optimizer
        if not self.is_usual or optimizer.state is not self.state:
            return False
        values = self.read(options)
        if values != self.values and not self._look_at(values):
            return False
        before: tuple[float, ...] = ()
        if self.scalars:
            state = self.states[0]
            before = tuple([state[name]._array.item() for name in self.scalars])
        if isinstance(self.numbers, AdamNumbers):
            self.numbers.advance(options, before)
        elif self.scalars or self.numbers is None:
            numbers = type(optimizer)._numbers(options, before, computed_in(self.dtype))
            self.program = program_of(type(optimizer)._rule, numbers, 2 + len(self.names))
            self.numbers = numbers
            self.constants = self.program and self.program.constants(numbers)
        if self.program is None:
            return False
        program, after, writes = self.program, self.numbers.after, self.numbers.writes
        code, rest, constants = program.instructions, program.temporaries, self.constants
        address = self.compiled.get(code, 0)
        done: bool = native.update_parameters(
            self.step, options["params"], before, after, writes, code, constants, rest, address
        )
        self.runs += 1
        if self.runs == COMPILE_AFTER:
            self._request(code, len(constants))
        if done and not self.scalars and self.runs > COMPILE_AFTER:
            self.ready = after, writes, code, constants, rest, address
        return done

    def _request(self, code: bytes, constants: int) -> None:
        """Let the rule be compiled in the background."""
        text = rule_text(code, _OPERATIONS, 2 + len(self.names), constants, self.dtype)
        if text is not None:
            request(text, functools.partial(self._use, code))

    def _use(self, code: bytes, function: Any) -> None:
        """Take a rule that was compiled, from the next step on."""
        self.compiled[code] = address_of(function)
        self.ready = None

    def _look_at(self, values: tuple[Any, ...]) -> bool:
        """Take note of options that have changed; False if they are not for this way."""
        options = self.options
        self.numbers = self.ready = None
        if any(isinstance(each, Tensor) for each in values) or any(map(options.get, _ODD)):
            return False
        if isinstance(options.get("betas"), tuple) and isinstance(options["betas"][0], Tensor):
            return False
        if tuple(self.optimizer._arrays(options)) != self.names:
            return False
        if (self.names or self.scalars) and not all(self.states):
            return False
        self.values = values
        return True


def is_plain_step(owner: Any, name: str) -> bool:
    """Whether a call is the step of an optimizer with a rule, as all of these make it."""
    return (
        isinstance(owner, RuleOptimizer)
        and name.startswith("Optimizer.step#")
        and type(owner).step is RuleOptimizer.step
    )


def update_call(owner: Any, run: Callable[[], Any], name: str, place: Place) -> Callable[[], Any]:
    """Return what runs a step of an optimizer: the native way where there is one."""
    if native is None or not is_plain_step(owner, name):
        return run
    return Update(owner, run, place)
