"""Distributed checkpoints between taper and PyTorch: each reads what the other has written."""

from __future__ import annotations

import pytest
import torch
import torch.distributed.checkpoint as theirs

import taper
from taper.distributed import checkpoint as ours

pytestmark = pytest.mark.filterwarnings("ignore")


def state(package):
    return {
        "model": {"weight": package.arange(6.0).reshape(2, 3), "half": package.ones(2).bfloat16()},
        "optim": {"state": {"weight": {"step": package.tensor(3.0)}}, "groups": [{"lr": 0.1}]},
        "step": 7,
    }


def empty(package):
    return {
        "model": {"weight": package.zeros(2, 3), "half": package.zeros(2).bfloat16()},
        "optim": {"state": {"weight": {"step": package.tensor(0.0)}}, "groups": [{"lr": 0.0}]},
        "step": 0,
    }


def test_pytorch_reads_what_taper_wrote(tmp_path):
    ours.save(state(taper), checkpoint_id=tmp_path)
    found = empty(torch)
    theirs.load(found, checkpoint_id=tmp_path)
    assert repr(found) == repr(state(torch))


def test_taper_reads_what_pytorch_wrote(tmp_path):
    theirs.save(state(torch), checkpoint_id=tmp_path)
    found = empty(taper)
    ours.load(found, checkpoint_id=tmp_path)
    assert repr(found) == repr(state(taper))
