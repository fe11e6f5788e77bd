"""Special functions against PyTorch: values, edges, dtypes, graphs, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest
import torch as pytorch

import taper
from both_packages import assert_same

UNARY = """
    airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 digamma entr erf erfc erfcx erfinv exp2 expit
    expm1 gammaln i0 i0e i1 i1e log1p log_ndtr logit modified_bessel_i0 modified_bessel_i1
    modified_bessel_k0 modified_bessel_k1 ndtr ndtri psi round scaled_modified_bessel_k0
    scaled_modified_bessel_k1 sinc spherical_bessel_j0
""".split()
POLYNOMIALS = [each for each in dir(pytorch.special) if "_polynomial_" in each]
TWO_TENSORS = ["gammainc", "gammaincc"]
WITH_NUMBERS = ["xlog1py", "xlogy", "zeta", *POLYNOMIALS]
POINTS = [-7.5, -2.3, -0.6, -1e-3, 1e-5, 0.1, 0.45, 0.7, 0.95, 1.3, 2.7, 6.0, 9.5, 40.0]
# Where PyTorch itself is off: by 1e-7 for Bessel functions near 6, by 1e-6 for Ai near -2.
INEXACT = {"airy_ai": 2000.0, **dict.fromkeys(("bessel_j0", "bessel_j1", "bessel_y0"), 200.0)}
EDGES = [0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.0, 30.0, -30.0, 1e-30, 150.0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "complex64"])
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype):
    def program(torch, make):
        values = [int(each) for each in POINTS] if dtype in ("int64", "bool") else POINTS
        return getattr(torch.special, name)(make.data(values, dtype))

    assert_same(pytorch, program, factor=INEXACT.get(name, 3 if dtype == "float32" else 1))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", UNARY)
def test_unary_in_lower_precision(name, dtype):
    def program(torch, make):
        return getattr(torch.special, name)(make.data([-0.6, 0.1, 0.7, 1.3], dtype))

    assert_same(pytorch, program, factor=2)


@pytest.mark.parametrize("name", UNARY)
def test_unary_edges(name):
    def program(torch, make):
        return getattr(torch.special, name)(make.data(EDGES, "float64"))

    assert_same(pytorch, program)


DIFFERENTIABLE = [
    each
    for each in UNARY
    if getattr(pytorch.special, each)(pytorch.ones(1, requires_grad=True)).requires_grad
]


@pytest.mark.parametrize("name", UNARY)
def test_unary_gradients(name):
    def program(torch, make):
        return getattr(torch.special, name)(make(6).sigmoid() * 0.9)

    assert_same(pytorch, program)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_unary_second_gradients_and_tangents(name):
    def second(torch, make):
        tensor = make(6)
        result = getattr(torch.special, name)(tensor.sigmoid() * 0.9)
        return torch.autograd.grad(result.sum(), tensor, create_graph=True)

    def tangent(torch, make):
        forward = torch.autograd.forward_ad
        with forward.dual_level():
            point = make(6, grad=False).sigmoid()
            dual = forward.make_dual(point, make(6, grad=False))
            return forward.unpack_dual(getattr(torch.special, name)(dual)).tangent

    assert_same(pytorch, second, graph=False)
    assert_same(pytorch, tangent)


@pytest.mark.parametrize("name", ["i0e", "i1", "i1e"])
def test_gradient_at_zero(name):
    def program(torch, make):
        return getattr(torch.special, name)(make(3) * 0)

    assert_same(pytorch, program)


@pytest.mark.parametrize("name", UNARY)
def test_unary_out_and_errors(name):
    def written(torch, make):
        return getattr(torch.special, name)(
            make(3, grad=False).sigmoid(), out=torch.empty(3).double()
        )

    def integers(torch, make):
        out = torch.empty(3, dtype=torch.int64)
        return getattr(torch.special, name)(make(3, grad=False).sigmoid(), out=out)

    def recorded(torch, make):
        return getattr(torch.special, name)(make(3), out=torch.empty(3).double())

    def no_tensor(torch, make):
        return getattr(torch.special, name)("a")

    for program in (written, no_tensor) if name == "round" else (written, integers, no_tensor):
        assert_same(pytorch, program)
    if name != "ndtr":
        assert_same(pytorch, recorded)


# ----------------------------------------------------------------------------- two arguments

FIRST = [0.3, 0.7, 1.5, 4.0, 25.0, 300.0, 0.01, 1e-6, 2.0, 50.0]
SECOND = [0.2, 1.1, 1.4, 9.0, 20.0, 310.0, 0.5, 1e-3, 3.0, 0.5]
DEGREES = [0.0, 1.0, 2.0, 3.0, 7.0, 12.0, 30.0, -1.0, 2.9, 5.0]


def arguments(name):
    if name in POLYNOMIALS:
        return [0.3, -0.7, 1.0, -1.2, 0.0, 0.9, 0.45, 0.5, -0.1, 1.7], DEGREES
    if name == "zeta":
        return [1.5, 2.0, 3.0, 4.0, 2.0, 30.0, 1.01, 40.0, 5.5, 1.0], SECOND
    return FIRST, SECOND


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int64", "float16", "bfloat16", "complex64"]
)
@pytest.mark.parametrize("name", TWO_TENSORS + WITH_NUMBERS)
def test_binary(name, dtype):
    def program(torch, make):
        values = arguments(name)
        if dtype == "int64":
            values = [[int(each) for each in given] for given in values]
        return getattr(torch.special, name)(*(make.data(each, dtype) for each in values))

    assert_same(pytorch, program, factor=3)


@pytest.mark.parametrize("name", TWO_TENSORS + WITH_NUMBERS)
def test_binary_edges(name):
    def program(torch, make):
        pairs = [(a, b) for a in EDGES[:5] for b in EDGES[:3]] + [(2.0, 30.0), (0.5, np.inf)]
        if name in POLYNOMIALS:
            pairs = [(a, b) for a in (0.0, 1.0, -1.0) for b in (0.0, 1.0, 2.0, 9.0, -3.0)]
        first, second = zip(*pairs, strict=True)
        return getattr(torch.special, name)(
            make.data(first, "float64"), make.data(second, "float64")
        )

    assert_same(pytorch, program)


@pytest.mark.parametrize("name", WITH_NUMBERS)
@pytest.mark.parametrize("number", [2, 2.5, -1])
def test_numbers(name, number):
    def first(torch, make):
        return getattr(torch.special, name)(number, make(4).sigmoid() + 1)

    def second(torch, make):
        return getattr(torch.special, name)(make(4).sigmoid() + 1.5, number)

    def no_gradient(torch, make):
        second(torch, make).sum().backward()

    assert_same(pytorch, first, saved=name != "xlogy")
    assert_same(pytorch, no_gradient if name == "zeta" else second, saved=name != "xlogy")


@pytest.mark.parametrize("name", ["xlog1py", *TWO_TENSORS, "zeta"])
def test_binary_gradients(name):
    def both(torch, make):
        function = getattr(torch.special, name)
        return function(make(4).sigmoid() + 1.5, make(2, 1).sigmoid() + 1)

    def second_only(torch, make):
        function = getattr(torch.special, name)
        return function(make(4, grad=False).sigmoid() + 1.5, make(2, 1).sigmoid() + 1)

    def second_order(torch, make):
        function, tensor = getattr(torch.special, name), make(4)
        result = function(make(4, grad=False).sigmoid() + 1.5, tensor.sigmoid() + 1)
        return torch.autograd.grad(result.sum(), tensor, create_graph=True)

    def backward(torch, make):
        both(torch, make).sum().backward()

    assert_same(pytorch, second_only)
    assert_same(pytorch, second_order, graph=False)
    assert_same(pytorch, both if name == "xlog1py" else backward)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_xlog1py_has_its_subgradient(value):
    def program(torch, make):
        return torch.special.xlog1py(make(3) * 0 + value, make(3) * 0 - 1)

    def number(torch, make):
        return torch.special.xlog1py(make(3) * 0, -1.0)

    assert_same(pytorch, program)
    assert_same(pytorch, number)


OTHERS = {
    "softmax": lambda t, m: t.special.softmax(m(3, 4), 1, dtype=t.float64),
    "log_softmax": lambda t, m: t.special.log_softmax(m(3, 4), 0),
    "logsumexp": lambda t, m: t.special.logsumexp(m(3, 4), 0, True),
    "round": lambda t, m: t.special.round(m(3), decimals=1),
    "logit": lambda t, m: t.special.logit(m(3), 0.1),
    "polygamma": lambda t, m: t.special.polygamma(2, m(3).sigmoid()),
    "multigammaln": lambda t, m: t.special.multigammaln(m(3).sigmoid() + 2, 3),
    "mvlgamma of one": lambda t, m: t.mvlgamma(m(3).sigmoid() + 2, 1),
    "mvlgamma of integers": lambda t, m: t.mvlgamma(m.data([3, 4]), 2),
    "mvlgamma in place": lambda t, m: (m(3).sigmoid() + 2).mvlgamma_(2),
    "mvlgamma of half": lambda t, m: t.mvlgamma(m.data([3.0, 4.5], "float16"), 2),
    "mvlgamma of bool": lambda t, m: t.mvlgamma(m.data([True]), 1),
    "mvlgamma of complex": lambda t, m: t.mvlgamma(m.data([3 + 1j]), 2),
    "mvlgamma of no dimension": lambda t, m: t.mvlgamma(m(3), 0),
    "mvlgamma of a fraction": lambda t, m: t.mvlgamma(m(3), 2.0),
    "mvlgamma outside": lambda t, m: t.mvlgamma(m.data([0.4]), 2),
    "i0": lambda t, m: t.i0(m(3)),
    "i0 in place": lambda t, m: t.i0_(m(3) * 2),
    "igamma": lambda t, m: t.igamma(m.data([2.0]), m(3).exp()),
    "igammac in place": lambda t, m: m.data([2.0, 3.0]).igammac_(m.data([1.0, 2.0])),
    "igamma of a number": lambda t, m: t.igamma(m(3), 2.0),
    "xlog1py of a string": lambda t, m: t.special.xlog1py(m(3), "a"),
    "zeta of a string": lambda t, m: t.special.zeta("a", m(3)),
    "zeta of numbers": lambda t, m: t.special.zeta(2.0, 1.0),
    "polynomial of a string": lambda t, m: t.special.legendre_polynomial_p(m(3), "a"),
    "polynomial of numbers": lambda t, m: t.special.legendre_polynomial_p(1.0, 2.0),
    "softmax of a string": lambda t, m: t.special.softmax("a", 0),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others(name):
    assert_same(pytorch, OTHERS[name], saved="mvlgamma" not in name or "place" not in name)


def test_the_names_are_pytorchs():
    assert set(pytorch.special.__all__) <= set(taper.special.__all__) | {"Tensor"}
    assert all(hasattr(pytorch.special, name) for name in taper.special.__all__)
