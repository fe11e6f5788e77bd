"""Names that few programs use: both packages answer the same."""

from __future__ import annotations

import warnings

import pytest
import torch

import taper

EXPRESSIONS = [
    "p.has_cuda",
    "p.has_cudnn",
    "p.has_mps",
    "p._assert(1, 'no')",
    "p._assert(False, 'no')",
    "p._assert(p.tensor(0), 'no')",
    "p._assert(p.tensor([1, 0]), 'no')",
    "p.backends.quantized.engine",
    "p.backends.quantized.supported_engines",
    "setattr(p.backends.quantized, 'engine', 'x')",
    "setattr(p.backends.quantized, 'engine', 'none')",
    "setattr(p.backends.quantized, 'engine', 3)",
    "setattr(p.backends.quantized, 'engine', 'fbgemm') or p.backends.quantized.engine",
    "setattr(p.backends.quantized, 'engine', 'x86') or p.backends.quantized.engine",
    "setattr(p.backends.quantized, 'supported_engines', 1)",
    "p.backends.cuda.preferred_linalg_library()",
    "p.backends.cuda.preferred_linalg_library('default')",
    "p.backends.cuda.preferred_linalg_library('x')",
    "p.backends.cuda.preferred_linalg_library(3)",
    "p.backends.cuda.preferred_blas_library()",
    "p.backends.cuda.preferred_blas_library('cublas')",
    "p.backends.cuda.preferred_blas_library('hipblaslt')",
    "p.backends.cuda.preferred_blas_library('x')",
    "p.futures.Future().done()",
    "p.futures.Future(devices=['cpu'])",
    "done(p).set_result(2)",
    "done(p).wait()",
    "done(p).then(lambda future: future.value() + 1).wait()",
    "p.futures.Future().set_exception('x')",
    "p.futures.wait_all([done(p), done(p)])",
    "p.futures.wait_all([done(p), failed(p)])",
    "p.futures.collect_all([]).wait()",
    "failed(p).wait()",
    "failed(p).value()",
]


def done(package):
    future = package.futures.Future()
    future.set_result(1)
    return future


def failed(package):
    future = package.futures.Future()
    future.set_exception(ValueError("wrong"))
    return future


def answer(package, expression):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = repr(eval(expression, {"p": package, "done": done, "failed": failed}))
        except Exception as error:
            found = type(error), str(error)
    return found, [(each.category, str(each.message)) for each in caught]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_answers_are_the_same(expression):
    assert answer(taper, expression) == answer(torch, expression)
