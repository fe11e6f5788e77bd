"""Meta tensors: every row of the operator table gives the form that it gives on the CPU.

The samples of a row are run twice, on tensors with elements and on meta tensors of the same
strides: shape, strides and dtype of the results must agree, and so must those of the gradients.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import taper
from op_case import OpCase
from op_templates import CASES, Call, case_id, outputs_of, samples_of

MOST_SAMPLES = 2

# Rows that read elements, which the meta device does not have: PyTorch refuses them, too.
NEED_ELEMENTS = frozenset(
    """
    Tensor.cpu Tensor.item Tensor.tolist _dirichlet_grad _sample_dirichlet _standard_gamma_grad
    allclose argwhere bincount binomial combinations corrcoef cov equal geqrf histogram histogramdd
    is_nonzero istft linalg.lstsq masked_select nn.functional.gaussian_nll_loss nonzero unique
    unique_consecutive
    """.split()
)
# Rows that PyTorch lays out otherwise on the meta device, or where one sample is refused.
OTHERWISE = frozenset({"nonzero_static", "nn.functional.one_hot"})


class MetaCall(Call):
    """The same call with every tensor on the meta device."""

    def _tensor(self, array: np.ndarray) -> Any:
        real = taper.from_numpy(np.array(self.transform(array), copy=True, order="K"))
        made = taper.empty_strided(real.shape, real.stride(), dtype=real.dtype, device="meta")
        self.tensors.append(made)
        return made


def swapped(array: np.ndarray) -> np.ndarray:
    """Let the last two dimensions lie the other way round in memory."""
    return array.swapaxes(-1, -2).copy().swapaxes(-1, -2) if array.ndim > 1 else array


def form_of(tensors: list[Any]) -> list[Any]:
    return [
        None if each is None else (tuple(each.shape), each.stride(), each.dtype) for each in tensors
    ]


def forms(call: Call) -> list[Any]:
    """Run a call, and the backward pass from its results."""
    results = outputs_of(call())
    found = form_of(results)
    total = [each.abs().sum() for each in results if each.requires_grad]
    if total and call.leaves:
        sum(total[1:], total[0]).backward()
        found += form_of([each.grad for each in call.leaves])
    if isinstance(call, MetaCall):
        assert {str(each.device) for each in results} <= {"meta"}
    return found


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_forms_are_those_of_the_cpu(case: OpCase):
    if case.name in NEED_ELEMENTS | OTHERWISE:
        pytest.skip("PyTorch's meta device refuses it, or lays it out otherwise: see parity")
    for nr, sample in enumerate(samples_of(case)[:MOST_SAMPLES]):
        wants_grad = case.differentiable and not case.name.endswith("_")
        options: tuple[Any, ...] = ("float32", wants_grad, swapped if nr % 2 else np.asarray)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            on_cpu = Call(taper, case, sample, *options)
            if not on_cpu.tensors:
                continue
            try:
                expected = forms(on_cpu)
            except RuntimeError:  # not for tensors that lie the other way round
                assert nr % 2
                continue
            assert forms(MetaCall(taper, case, sample, *options)) == expected, sample
