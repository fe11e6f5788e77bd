"""Meta tensors have PyTorch's shapes, strides and dtypes, for rows of every family of operators."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

import taper
from op_case import OpCase
from op_templates import CASES, Call, case_id, outputs_of, samples_of

NAMES = frozenset(
    """
    add mul div pow exp sigmoid where lerp addcmul clamp eq logical_and isnan sum mean prod amax
    argmax any var cumsum sort topk matmul mm bmm addmm baddbmm einsum outer dot cat stack split
    chunk unbind transpose permute squeeze unsqueeze expand flip roll tril diagonal gather
    index_select scatter scatter_add take_along_dim masked_fill nn.functional.relu
    nn.functional.gelu nn.functional.silu nn.functional.softplus nn.functional.log_softmax
    nn.functional.layer_norm nn.functional.group_norm nn.functional.linear nn.functional.embedding
    nn.functional.mse_loss nn.functional.pad linalg.inv linalg.cholesky linalg.solve fft.fft
    """.split()
)
SELECTED = [case for case in CASES if case.name in NAMES]


def converted(value: Any, package: Any) -> Any:
    """The arguments of a call with every tensor on the meta device of a package."""
    if isinstance(value, package.Tensor):
        options = {"dtype": value.dtype, "device": "meta"}
        return package.empty_strided(tuple(value.shape), tuple(value.stride()), **options)
    if isinstance(value, list | tuple):
        return type(value)([converted(each, package) for each in value])
    return value


def forms(package: Any, case: OpCase, sample: Any) -> Any:
    call = Call(package, case, sample, "float32")
    args = [converted(each, package) for each in call.args]
    kwargs = {name: converted(each, package) for name, each in call.kwargs.items()}
    try:
        results = outputs_of(call.function(*args, **kwargs))
    except (RuntimeError, IndexError) as error:
        return type(error)
    return [(tuple(each.shape), tuple(each.stride()), str(each.dtype)) for each in results]


@pytest.mark.parametrize("case", SELECTED, ids=case_id)
def test_forms(case: OpCase):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in samples_of(case)[:4]:
            if any(not each.numel() for each in Call(taper, case, sample).tensors):
                continue  # tensors on empty arrays have strides of 0 in PyTorch
            assert forms(taper, case, sample) == forms(torch, case, sample), sample


def test_texts():
    for package in (taper, torch):
        x = package.empty(2, 3, device="meta")
        assert repr(x) == "tensor(..., device='meta', size=(2, 3))"
        with pytest.raises(
            RuntimeError, match=r"^Tensor.item\(\) cannot be called on meta tensors"
        ):
            x[0, 0].item()
        with pytest.raises(RuntimeError, match="cpu is not on the expected device meta!$"):
            x + package.from_numpy(np.ones((2, 3)))
