"""Lazy modules and parameters, one expression on both libraries."""

from __future__ import annotations

import copy
import pickle
import re

import pytest
import torch

import taper

EXPRESSIONS = """
call(nn.LazyLinear(3), ones(2, 5))
call(nn.LazyLinear(3), ones(()))
call(nn.LazyLinear(3, dtype=float64), ones(2, 5, dtype=float64))
call(nn.LazyConv1d(6, 2, groups=2), ones(2, 4, 6))
call(nn.LazyConv1d(6, 2, groups=2), ones(2, 5, 6))
call(nn.LazyConv2d(3, 3, padding="same", padding_mode="reflect"), ones(1, 2, 5, 5))
call(nn.LazyConv2d(3, 2), ones(2, 5))
call(nn.LazyConv3d(2, 1, bias=False), ones(1, 2, 2, 2, 2))
call(nn.LazyConvTranspose1d(6, 3, stride=2), ones(2, 4, 6), output_size=[13])
call(nn.LazyConvTranspose2d(4, 3, groups=2, bias=False), ones(2, 6, 6))
call(nn.LazyConvTranspose3d(2, 2), ones(1, 2, 2, 2, 2))
call(nn.LazyBatchNorm1d(), ones(2, 4))
call(nn.LazyBatchNorm1d(), ones(4))
call(nn.LazyBatchNorm1d(affine=False), ones(2, 4))
call(nn.LazyBatchNorm1d(track_running_stats=False, affine=False), ones(2, 4))
call(nn.LazyBatchNorm2d(bias=False), ones(2, 4, 3, 3))
call(nn.LazyBatchNorm3d(momentum=None), ones(2, 4, 2, 2, 2))
call(nn.LazyInstanceNorm1d(), ones(2, 4, 3))
call(nn.LazyInstanceNorm1d(), ones(4, 3))
call(nn.LazyInstanceNorm2d(affine=False, track_running_stats=False), ones(2, 4, 3, 3))
call(nn.LazyInstanceNorm3d(), ones(2, 4, 2, 2, 2))
call(nn.Sequential(nn.LazyLinear(3), nn.ReLU(), nn.LazyLinear(2, bias=False)), ones(1, 4))
call(loaded(nn.LazyLinear(3), nn.Linear(4, 3)), ones(1, 4))
call(loaded(nn.LazyLinear(3), nn.Linear(4, 3)), ones(1, 5))
call(loaded(nn.LazyLinear(3), nn.Linear(4, 7)), ones(1, 4))
call(loaded(nn.LazyLinear(3), nn.Linear(4, 3), assign=True), ones(1, 4))
call(loaded(nn.LazyLinear(3), nn.Linear(4, 3).double()), ones(1, 4))
call(loaded(nn.LazyConv2d(3, 2), nn.Conv2d(4, 3, 2)), ones(1, 4, 5, 5))
call(loaded(nn.LazyBatchNorm1d(), nn.BatchNorm1d(4)), ones(2, 4))
loaded(nn.LazyLinear(3), nn.LazyLinear(3))
loaded(nn.Linear(4, 3), nn.LazyLinear(3))
loaded(nn.LazyLinear(3), nn.Linear(4, 3, bias=False))
call(copy.deepcopy(nn.LazyLinear(3)), ones(1, 4))
call(pickle.loads(pickle.dumps(nn.LazyBatchNorm1d())), ones(2, 4))
call(nn.LazyLinear(3).half(), ones(1, 4).half())
call(nn.LazyBatchNorm1d().double(), ones(2, 3).double())
nn.LazyLinear(3).to(float64).weight.dtype
nn.LazyLinear(3).state_dict(keep_vars=True)
nn.LazyBatchNorm1d().state_dict()
nn.LazyLinear(3).share_memory()
nn.LazyLinear(3).requires_grad_(False)
nn.LazyLinear(3)._replicate_for_data_parallel()
nn.LazyLinear(3).reset_parameters()
[len(nn.LazyLinear(3)._forward_pre_hooks), len(nn.LazyLinear(3)._load_state_dict_pre_hooks)]
[nn.LazyLinear.cls_to_become.__name__, nn.LazyInstanceNorm2d.cls_to_become.__name__]
nn.UninitializedParameter().shape
nn.UninitializedParameter().numel()
nn.UninitializedParameter() + 1
nn.UninitializedBuffer() * 2
nn.UninitializedParameter().__reduce_ex__(2)[1]
nn.UninitializedParameter(dtype=int64)
nn.UninitializedParameter(foo=1)
nn.UninitializedBuffer(False, None, int64).dtype
nn.UninitializedBuffer().double().dtype
nn.UninitializedBuffer().copy_(ones(2))
nn.UninitializedParameter().materialize("a")
nn.UninitializedParameter().materialize(-1)
""".strip().splitlines()


def outcome(library, text):
    def call(module, *args, **kwargs):
        before = repr(module)
        library.manual_seed(0)
        result = module(*args, **kwargs)
        state = {name: (tuple(v.shape), str(v.dtype)) for name, v in module.state_dict().items()}
        values = [round(each, 4) for each in result.detach().double().flatten().tolist()]
        return before, repr(module), state, tuple(result.shape), values

    def loaded(module, other, **options):
        return str(module.load_state_dict(other.state_dict(), **options)) and module

    names = {
        **{"nn": library.nn, "ones": library.ones, "copy": copy, "pickle": pickle},
        **{"float64": library.float64, "int64": library.int64, "call": call, "loaded": loaded},
    }
    library.manual_seed(0)
    try:
        result = eval(text, names)
    except Exception as error:
        return type(error).__name__, str(error)
    return type(result).__name__, re.sub(r"0x\w+", "", repr(result))


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression(text):
    assert outcome(taper, text) == outcome(torch, text)
