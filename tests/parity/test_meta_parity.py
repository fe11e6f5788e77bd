"""Meta tensors have the forms of PyTorch's, and its errors, for every row of the table."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

import taper
from op_case import OpCase
from op_templates import CASES, Call, case_id, outputs_of, samples_of

# Rows for which PyTorch's meta device has another form than PyTorch's CPU; ours has the CPU's.
DIFFER = frozenset(
    """
    _standard_gamma _weight_norm _weight_norm_interface embedding_bag fft.hfft2 fft.hfftn fft.rfft2
    fft.rfftn linalg.eig nn.functional.multilabel_margin_loss
    """.split()
)
# Rows of packed sequences, which PyTorch refuses in other words.
PACKED = frozenset({"lstm", "gru", "rnn_tanh", "rnn_relu"})
SELECTED = [case for case in CASES if case.name not in DIFFER | PACKED]


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
    except (RuntimeError, IndexError, NotImplementedError) as error:
        return type(error), str(error)
    return [form_of(each) if isinstance(each, package.Tensor) else each for each in results]


def form_of(tensor: Any) -> Any:
    return tuple(tensor.shape), tuple(tensor.stride()), str(tensor.dtype), str(tensor.device)


@pytest.mark.parametrize("case", SELECTED, ids=case_id)
def test_forms(case: OpCase):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in samples_of(case)[:2]:
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
