"""PyTorch gives the answers that tests/sparse/answers.txt holds; programs train alike."""

from __future__ import annotations

import pytest
import torch as pytorch

import taper
from sparse_answers import answer, answers
from sparse_programs import attention_losses, convolution_losses, rows_losses


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("expression", "expected"), answers())
def test_pytorch_answers(expression, expected):
    assert answer(pytorch, expression) == expected


@pytest.mark.parametrize("program", [convolution_losses, attention_losses, rows_losses])
def test_programs_train_alike(program):
    assert program(taper) == pytest.approx(program(pytorch), rel=1e-4)
