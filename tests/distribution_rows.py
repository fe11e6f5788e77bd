"""Distributions and questions about each of them, as programs for two packages.

A row is the text of a constructor.  Its names are those of the package's `distributions`, with
`t(values)` for a tensor that requires a gradient (float64, or the dtype of the row), `c(values)`
for one that does not, `C` for the constraints and `T` for the transforms.  `programs(ROWS)` turns
it into one program for each aspect, for `both_packages.assert_same`; `question` makes one from any
expression in these names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from both_packages import Maker, Program


@dataclass(frozen=True)
class Row:
    """A distribution: how to make it, and which questions need help."""

    text: str
    value: str = "d.sample((3,))"  # what `log_prob` and `cdf` are asked for; its value is detached
    probability: str = "c([0.07, 0.5, 0.93]).view(3, *[1] * len(d.batch_shape))"
    batch: tuple[int, ...] = (4, 2)  # for `expand`
    dtype: str = "float64"
    factor: float = 1.0  # how many times less exact than usual


class Names(dict[str, Any]):
    """The names of a row's text, for one package."""

    def __init__(self, package: Any, make: Maker) -> None:
        self.package = package
        self.make = make
        here = package.distributions
        super().__init__(
            torch=package,
            inf=float("inf"),
            nan=float("nan"),
            t=self.leaf,
            c=self.constant,
            D=here,
            C=here.constraints,
            T=here.transforms,
            U=here.utils,
            LogitRelaxedBernoulli=here.relaxed_bernoulli.LogitRelaxedBernoulli,
            ExpRelaxedCategorical=here.relaxed_categorical.ExpRelaxedCategorical,
        )

    def __missing__(self, name: str) -> Any:
        try:
            return getattr(self.package.distributions, name)
        except AttributeError:
            raise KeyError(name) from None  # a builtin

    def constant(self, values: Any) -> Any:
        return self.make.data(values, self.make.dtype)

    def leaf(self, values: Any) -> Any:
        tensor = self.constant(values).requires_grad_()
        self.make.leaves.append(tensor)
        return tensor


def question(text: str, given: str = "None") -> Program:
    """Return a program that answers an expression, in which `d` is the value of another one."""

    def program(package: Any, make: Maker) -> Any:
        names = Names(package, make)
        try:
            names["d"] = eval(given, names)
            package.manual_seed(17)  # whatever was drawn to make it
            return eval(text, names)
        except Exception as error:
            raise type(error)(str(error).replace("<class 'taper.", "<class 'torch.")) from error

    return program


# Texts of `d`, the distribution; `row.value` and `row.probability` are put in.
ASPECTS = {
    "shown": "(repr(d), d.batch_shape, d.event_shape, d.has_rsample, d.has_enumerate_support)",
    "arg_constraints": "repr(d.arg_constraints)",
    "support": "repr(d.support)",
    "sample": "(d.sample(), d.sample((5,)), d.sample(torch.Size([2, 20])), torch.rand(1))",
    "rsample": "(d.rsample(), d.rsample((5,)))",
    "log_prob": "d.log_prob({value})",
    "cdf": "d.cdf({value})",
    "icdf": "d.icdf({probability})",
    "entropy": "d.entropy()",
    "perplexity": "d.perplexity()",
    "mean": "d.mean",
    "mode": "d.mode",
    "variance": "d.variance",
    "stddev": "d.stddev",
    "enumerate_support": "(d.enumerate_support(), d.enumerate_support(expand=False))",
    "expanded": "(lambda e: (repr(e), e.batch_shape, e.event_shape, vars(e)['_validate_args']))"
    "(d.expand({batch}))",
    "expanded log_prob": "d.expand({batch}).log_prob(d.expand({batch}).sample((2,)))",
    "expanded mean": "d.expand({batch}).mean",
    "expanded rsample": "d.expand({batch}).rsample((2,))",
}


def programs(rows: list[Row]) -> list[tuple[str, Program, Row]]:
    """Yield (name, program, row) for each aspect of each row."""
    found = []
    for row in rows:
        parts = {
            "value": f"({row.value}).detach()",
            "probability": row.probability,
            "batch": row.batch,
        }
        for aspect, text in ASPECTS.items():
            found.append((f"{aspect} of {row.text}", question(text.format(**parts), row.text), row))
    return found


def outcome_of(package: Any, program: Program) -> Any:
    """Return what a program returns, or its error: the type and the whole text."""
    try:
        return program(package, Maker(package))
    except Exception as error:
        return type(error).__name__, str(error)
