"""Values, gradients and tangents that random programs found different: both packages give the same.

An expression gives a tensor or a tuple of them; half precision is compared to the bit.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import torch

import taper

NAN, INF = math.nan, math.inf


def tangent(package, function, primal, given, dtype=None, given_dtype=None):
    """Return the tangent of a function's first result."""
    forward = package.autograd.forward_ad
    with forward.dual_level():
        x = package.tensor(primal, dtype=dtype and getattr(package, dtype))
        t = package.tensor(given, dtype=given_dtype and getattr(package, given_dtype))
        found = function(forward.make_dual(x, t))
        found = found[0] if isinstance(found, tuple) else found
        found = forward.unpack_dual(found).tangent
        return None if found is None else found.clone()


def gradient(package, function, *values, dtype="float32"):
    """Return the result of a function and the gradients of its sum."""
    leaves = [package.tensor(each, dtype=getattr(package, dtype)) for each in values]
    result = function(*(each.requires_grad_() for each in leaves))
    return result.detach(), *package.autograd.grad(result.sum(), leaves)


def recurrent(package, network, options, dtype):
    """Return the outputs of a recurrent network."""
    package.manual_seed(1)  # none of its numbers lies between two halves
    module = getattr(package.nn, network)(8, 5, 2, **options).to(getattr(package, dtype))
    return module(package.randn(4, 3, 8).to(getattr(package, dtype)))[0].detach()


def grown(package, view, size):
    """Return tensors on one storage after `out=` needed a larger one, and after another write."""
    base = package.arange(6.0).reshape(3, 2)
    out = view(base)
    with warnings.catch_warnings(action="ignore"):
        package.add(package.arange(float(size)), 10, out=out)
    before = base.clone(), out.clone(), package.tensor(out.storage_offset())
    out.mul_(2)
    return *before, base.clone()


NUMBERS = [0.75, -1.3, 2.2, 0.41, -0.09, 1.71, -2.63, 0.337, 1.9, -0.52, 3.1, 0.2]
TANGENTS = [
    f"tangent(p, lambda x: {call}, {primal}, {given})"
    for call in (
        "x.aminmax()",
        "x.amax()",
        "x.amin(0)",
        "x.max()",
        "x.min()",
        "x.median()",
        "x.prod()",
        "x.prod(0)",
        "x.cumprod(0)",
        "x.norm()",
        "x / x",
        "x.dist(x)",
    )
    for primal, given in (
        ([2.0, 1.0, 1.0], [INF, 3.0, 5.0]),
        ([0.0, 1.0, 1.0], [3.0, INF, 5.0]),
        ([NAN, 1.0, 2.0], [1.0, 3.0, 5.0]),
        (2.0, 3.0),
        (INF, 3.0),
        (NAN, 3.0),
        (0.0, NAN),
    )
]
MIXED = [
    f"tangent(p, lambda x: {call}, [0.5, 0.25], [1.0, 2.0], {one!r}, {other!r})"
    for call in (
        "x * 2.5",
        "x.mul(p.ones(2, dtype=x.dtype))",
        "x / 2",
        "x + 1",
        "x.add(x)",
        "x.exp() * 0",
        "x.maximum(p.ones(2, dtype=x.dtype))",
        "x.fmod(p.ones(2, dtype=x.dtype))",
        "x.where(p.tensor([True, False]), p.zeros(2, dtype=x.dtype))",
        "x.sum()",
        "-x",
        "x.square()",
    )
    for one in ("float32", "float64", "bfloat16", "complex64")
    for other in ("float32", "float64", "bfloat16")
    if "complex" not in one or not call.startswith(("x.max", "x.fmod"))
]
EMPTY = [
    f"(lambda x: {view}.as_strided((2,), (1,)))(p.arange(20.).reshape(4, 5))"
    for view in (
        "x[2:1]",
        "x[:, 3:3]",
        "x[2:1, 1]",
        "x.narrow(0, 1, 0)",
        "x.split((2, 0, 2))[1]",
        "x[3:3].t()",
        "x[1:1].unsqueeze(0)",
        "x[1, 2:2]",
        "x[2:1].detach()",
        "x.diagonal(7)",
        "x.tensor_split((2, 2))[1]",
    )
]
OTHERS = [
    *(
        f"gradient(p, lambda x: p.{name}(p.tensor([0, 3, 1, 5]), x), [0.5, 1.0, 2.0, 1.5]{dtype})"
        for name in ("igamma", "igammac", "xlogy", "atan2", "hypot")
        for dtype in ("", ", dtype='float64'")
    ),
    *(
        f"p.{name}(p.tensor([0., .5, {INF}, {NAN}])[:, None].nan_to_num(posinf={INF}, nan={NAN}), "
        f"p.tensor([0., {INF}, {NAN}]))"
        for name in ("igamma", "igammac")
    ),
    *(
        f"gradient(p, lambda x: p.{call}, [0.1, 0.3, 0.7], dtype={dtype!r})"
        for call in (
            "fmod(p.tensor([1, 1, 1]), x)",
            "remainder(p.tensor([1, 1, 1]), x)",
            "div(p.tensor([1, 1, 1]), x, rounding_mode='trunc')",
        )
        for dtype in ("bfloat16", "float16")
    ),
    "p.arange(3.).expand(2, 3).apply_(lambda value: value * 2 + 1)",
    "p.arange(3.)[:, None].expand(3, 2).map_(p.ones(3, 2), lambda one, two: one * 2 + two)",
    "p.eye(2, dtype=p.complex128).acos().imag.signbit()",
    *(
        f"p.tensor({NUMBERS}, dtype=p.{dtype}).{name}().view(p.int{bits})"
        for name in ("rad2deg", "deg2rad")
        for dtype, bits in (("float32", 32), ("float64", 64), ("bfloat16", 16), ("float16", 16))
    ),
    "p.eye(2, dtype=p.complex64).acos().imag.signbit()",
]
GROWN = [
    f"grown(p, lambda x: {view}, {size})"
    for view in ("x", "x[1:]", "x.view(6)", "x.t()", "x[2:1]", "x[:, 1:1]", "x[3:]")
    for size in (0, 2, 4, 9)
]
HALVES = [
    f"gradient(p, lambda x: {call}, {NUMBERS}, dtype={dtype!r})"
    for call in (
        "x.abs().rsqrt()",
        "x.asinh()",
        "x.reshape(4, 3).t().abs().rsqrt()",
        "p.cat([x] * 3).abs().rsqrt()",
        "p.atan2(x, p.tensor(1.25))",
        "p.logaddexp(x, p.tensor(1.25))",
        "p.logaddexp2(x, p.tensor(-1.5))",
        "p.ldexp(x, p.tensor(0.5))",
        "p.nn.functional.batch_norm(x.reshape(3, 4), None, None, training=True) ** 3",
        "p.nn.functional.batch_norm(x.reshape(2, 2, 3), None, None, x[:2], x[2:4], True) ** 3",
        "p.nn.functional.instance_norm(x.reshape(2, 2, 3)) ** 3",
        "p.pow(x, p.tensor(3))",
        "p.nn.functional.cosine_embedding_loss("
        "x.reshape(4, 3), x.reshape(4, 3) * 2 + 1, p.tensor([1, -1, 1, -1]), margin=0.1)",
    )
    for dtype in ("bfloat16", "float16")
] + [
    f"recurrent(p, {network!r}, {options}, {dtype!r})"
    for network in ("RNN", "GRU", "LSTM")
    for options in ({}, {"batch_first": True}, {"bidirectional": True, "bias": False})
    for dtype in ("bfloat16", "float16")
    if (network, dtype) != ("LSTM", "bfloat16")  # computed in float32 by oneDNN
]
SPACE = {
    "grown": grown,
    "recurrent": recurrent,
    "tangent": tangent,
    "gradient": gradient,
    "nan": NAN,
    "inf": INF,
}


def check(ours, theirs):
    if theirs is None or isinstance(theirs, tuple):
        assert type(ours) is type(theirs)
        for pair in zip(ours or (), theirs or (), strict=True):
            check(*pair)
        return
    assert str(ours.dtype) == str(theirs.dtype)
    half = theirs.dtype in (torch.bfloat16, torch.float16)
    values = [np.array((each.float() if half else each).tolist()) for each in (ours, theirs)]
    np.testing.assert_allclose(*values, rtol=0 if half else 1e-6)


@pytest.mark.filterwarnings("ignore:.torch.jit.script", "ignore:Casting complex")
@pytest.mark.parametrize("text", [*TANGENTS, *MIXED, *EMPTY, *OTHERS, *GROWN, *HALVES])
def test_both_packages_give_the_same(text):
    check(*(eval(text, {"p": each, **SPACE}) for each in (taper, torch)))
