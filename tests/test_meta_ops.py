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

# Rows whose results, or errors, depend on elements; PyTorch refuses most of them, too.
NEED_ELEMENTS = frozenset(
    """
    allclose equal isin nonzero_static Tensor.to Tensor.cpu masked_select is_nonzero
    Tensor.item Tensor.tolist nonzero argwhere embedding_renorm_ repeat_interleave
    segment_reduce lu_unpack linalg.lu_solve lu_solve linalg.ldl_solve nn.functional.one_hot
    unique unique_consecutive bincount multinomial istft index_put index_put_
    nn.functional.rrelu linalg.matrix_rank
    """.split()
)
# Rows whose functions make tensors of their own on the CPU, for some samples.
DIFFER = frozenset(
    """
    unravel_index Tensor.set_ Tensor.new vander nn.functional.ctc_loss ctc_loss combinations
    histogramdd linalg.eigh linalg.eig linalg.svd linalg.vander svd_lowrank pca_lowrank
    linalg.inv_ex mode quantile nanquantile
    """.split()
)


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
    if case.name in NEED_ELEMENTS | DIFFER:
        pytest.skip("depends on elements, or makes tensors on the CPU: listed above")
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
