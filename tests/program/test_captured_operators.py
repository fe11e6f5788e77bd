"""Operators, captured, give eager values for other data than they were recorded with.

Some rows of the operator tests; `python tests/captured_operators.py` takes all of them.
"""

from __future__ import annotations

from typing import Any

import pytest

import captured_operators
from op_templates import case_id, samples_of

# Those that once gave something else: they draw, look at data, return views or lists of one.
ONCE_WRONG = {
    "bernoulli", "binomial", "nn.functional.alpha_dropout", "rrelu", "unique_consecutive",
    "nn.functional.gaussian_nll_loss", "fft.ihfft2", "inner", "polar", "unbind", "bucketize",
}  # fmt: skip
ROWS = [
    case
    for case in captured_operators.CASES
    if case.name in ONCE_WRONG or case in captured_operators.some(40)
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("case", ROWS, ids=case_id)
def test_other_data_give_eager_values(case: Any, exact: bool) -> None:
    sample = next(iter(samples_of(case)))
    assert captured_operators.differs(case, sample, case.differentiable, exact) == ""
