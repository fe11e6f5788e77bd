"""Fourier transforms against PyTorch: values, graphs, saved values, layouts, gradients, errors."""

from __future__ import annotations

import pytest
import torch as pytorch

from both_packages import assert_same

LINES = "fft ifft rfft irfft hfft ihfft".split()
PLANES = "fft2 ifft2 rfft2 irfft2 hfft2 ihfft2".split()
BLOCKS = "fftn ifftn rfftn irfftn hfftn ihfftn".split()
DTYPES = ["float32", "float64", "complex64", "complex128"]

LINE_CALLS = {
    "plain": ((3, 4), {}),
    "odd": ((3, 5), {}),
    "first dimension": ((3, 4), {"dim": 0}),
    "middle dimension": ((3, 4, 5), {"dim": -2}),
    "longer": ((3, 4), {"n": 7, "dim": 0}),
    "shorter": ((3, 6), {"n": 3}),
    "one point": ((3, 4), {"n": 1}),
    "ortho": ((3, 4), {"norm": "ortho"}),
    "forward": ((3, 4), {"norm": "forward"}),
    "backward": ((3, 4), {"norm": "backward"}),
    "vector": ((6,), {}),
    # errors
    "no dimensions": ((), {}),
    "no points": ((3, 0), {}),
    "no points wanted": ((3, 4), {"n": 0}),
    "negative points": ((3, 4), {"n": -2}),
    "one value": ((3, 1), {}),
    "dimension": ((3, 4), {"dim": 2}),
    "norm": ((3, 4), {"norm": "x"}),
    "norm type": ((3, 4), {"norm": 1}),
}
BLOCK_CALLS = {
    "plain": ((3, 4), {}),
    "three dimensions": ((2, 3, 4), {}),
    "dimensions in order": ((2, 3, 4, 5), {"dim": (0, 1)}),
    "dimensions turned": ((2, 3, 4, 5), {"dim": (3, 1)}),
    "three of four": ((2, 3, 4, 5), {"dim": (2, 0, 1)}),
    "one dimension": ((2, 3, 4), {"dim": (1,)}),
    "sizes": ((3, 4), {"s": (2, 6)}),
    "sizes of some": ((2, 3, 4, 5), {"s": (2, 5, 3), "dim": (1, 2, 3)}),
    "sizes left alone": ((3, 4), {"s": (-1, 6), "norm": "ortho"}),
    "last size left alone": ((3, 4), {"s": (5, -1), "norm": "forward"}),
    "forward": ((3, 4), {"norm": "forward"}),
    "backward": ((3, 4), {"norm": "backward"}),
    # errors
    "no points": ((0, 4), {}),
    "no points wanted": ((3, 4), {"s": (0, 3)}),
    "size": ((3, 4), {"s": (-2, 3)}),
    "too many sizes": ((3, 4), {"s": (1, 2, 3)}),
    "sizes and dimensions": ((3, 4), {"s": (1, 2), "dim": (0,)}),
    "twice": ((3, 4), {"dim": (0, -2)}),
    "out of range": ((3, 4), {"dim": (0, 5)}),
    "norm": ((3, 4), {"norm": "x"}),
    "norm type": ((3, 4), {"norm": 1}),
}
NOT_PLANES = {
    "default": ((3, 4), {"s": (3,)}),
    "number": ((3, 4), {"s": 3}),
    "of none": ((3, 4), {"dim": ()}),
    "no dimensions": ((), {}),
}
CASES = [
    *((name, call, *LINE_CALLS[call]) for name in LINES for call in LINE_CALLS),
    *((name, call, *BLOCK_CALLS[call]) for name in PLANES + BLOCKS for call in BLOCK_CALLS),
    *((name, call, *NOT_PLANES[call]) for name in BLOCKS for call in NOT_PLANES),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("name", "shape", "options"),
    [pytest.param(name, shape, given, id=f"{name}-{call}") for name, call, shape, given in CASES],
)
def test_transforms(name, shape, options, dtype):
    def program(torch, make):
        return getattr(torch.fft, name)(make(*shape), **options)

    assert_same(pytorch, program, dtype, strides=True, factor=3)


@pytest.mark.parametrize("name", LINES + PLANES + BLOCKS)
@pytest.mark.parametrize("dtype", ["int64", "bool", "float16", "bfloat16"])
def test_other_dtypes(name, dtype):
    def program(torch, make):
        return getattr(torch.fft, name)(make.data([[1, 0, 1, 1], [1, 1, 0, 0]], dtype))

    assert_same(pytorch, program)


@pytest.mark.parametrize("dim", [(0,), (1, 2), (3, 1), (0, 1, 2, 3)])
@pytest.mark.parametrize("name", BLOCKS)
def test_layout_follows_the_strides_of_the_input(name, dim):
    def program(torch, make):
        return getattr(torch.fft, name)(make(2, 3, 4, 5).permute(3, 1, 0, 2), dim=dim)

    assert_same(pytorch, program, strides=True)


@pytest.mark.parametrize("name", LINES + PLANES + BLOCKS)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_second_derivatives_and_tangents(name, dtype):
    def program(torch, make):
        tensor = make(3, 4)
        result = getattr(torch.fft, name)(tensor)
        result = (result * result.conj()).real
        (grad,) = torch.autograd.grad(result.sum(), tensor, create_graph=True)
        return grad * grad.conj() * grad

    def tangent(torch, make):
        forward = torch.autograd.forward_ad
        with forward.dual_level():
            dual = forward.make_dual(make(3, 4, grad=False), make(3, 4, grad=False))
            return forward.unpack_dual(getattr(torch.fft, name)(dual)).tangent

    assert_same(pytorch, program, dtype, graph=False, factor=10)
    assert_same(pytorch, tangent, dtype)


@pytest.mark.parametrize("name", LINES + PLANES + BLOCKS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int64"])
def test_out(name, dtype):
    def program(torch, make):
        out = torch.empty(0, dtype=getattr(torch, dtype))
        kind = "complex64" if name in ("irfft", "hfft", "irfftn", "hfftn") else "float32"
        result = getattr(torch.fft, name)(make(3, 4, dtype=kind, grad=False), out=out)
        return out, result is out

    assert_same(pytorch, program, factor=1e4)


@pytest.mark.parametrize("name", [each for each in LINES + BLOCKS if each not in ("ifft", "ihfft")])
def test_out_refuses_gradients(name):
    def program(torch, make):
        whole = name in ("irfft", "hfft", "irfftn", "hfftn")
        out = torch.empty(0, dtype=torch.float32 if whole else torch.complex64)
        return getattr(torch.fft, name)(make(3, 4, dtype="float32"), out=out)

    assert_same(pytorch, program)


OTHERS = {
    "no tensor": lambda t, m: t.fft.fft("a"),
    "no tensors": lambda t, m: t.fft.fftn("a"),
    "points as a tensor": lambda t, m: t.fft.fft(m(4), m.data(2)),
    "points as a string": lambda t, m: t.fft.fft(m(4), "a"),
    "points as a bool": lambda t, m: t.fft.fft(m(4), True),
    "dimension as a string": lambda t, m: t.fft.fft(m(4), 2, "a"),
    "sizes as a string": lambda t, m: t.fft.fftn(m(4), "a"),
    "sizes as numbers": lambda t, m: t.fft.fftn(m(4), dim=(1.0,)),
    "no plane": lambda t, m: t.fft.fft2(m(3)),
    "no dimensions of a plane": lambda t, m: t.fft.fft2(m(3, 4), dim=None),
    "three dimensions of a plane": lambda t, m: t.fft.fft2(m(2, 3, 4), dim=(0, 1, 2)),
    "all optional": lambda t, m: t.fft.fftn(m(3, 4), None, None, None),
    "frequencies": lambda t, m: [t.fft.fftfreq(n, d) for n in (0, 1, 4, 5) for d in (1, 0.5)],
    "half of the frequencies": lambda t, m: [
        t.fft.rfftfreq(n, d) for n in (1, 4, 5) for d in (1, 0.5)
    ],
    "frequencies in float64": lambda t, m: t.fft.fftfreq(5, 0.3, dtype=t.float64),
    "frequencies in float16": lambda t, m: t.fft.rfftfreq(5, 0.3, dtype=t.float16),
    "frequencies that require grad": lambda t, m: (
        t.fft.fftfreq(3, requires_grad=True).requires_grad
    ),
    "frequencies of no distance": lambda t, m: t.fft.fftfreq(3, 0.0),
    "frequencies of nothing": lambda t, m: t.fft.rfftfreq(0),
    "frequencies into": lambda t, m: t.fft.fftfreq(3, out=t.empty(3)),
    "frequencies into another": lambda t, m: t.fft.fftfreq(3, out=t.empty(3), dtype=t.float64),
    "frequencies of integers": lambda t, m: t.fft.fftfreq(3, dtype=t.int64),
    "half of them of integers": lambda t, m: t.fft.rfftfreq(3, dtype=t.int64),
    "complex frequencies": lambda t, m: t.fft.fftfreq(3, dtype=t.complex64),
    "negative points": lambda t, m: t.fft.fftfreq(-1),
    "a fraction of points": lambda t, m: t.fft.fftfreq(3.0),
    "shift": lambda t, m: t.fft.fftshift(m(3, 4)),
    "shift back": lambda t, m: t.fft.ifftshift(m(3, 4)),
    "shift one dimension": lambda t, m: t.fft.fftshift(m(3, 4), 0),
    "shift two dimensions": lambda t, m: t.fft.ifftshift(m(3, 4), (0, -1)),
    "shift integers": lambda t, m: t.fft.fftshift(m.data([1, 2, 3])),
    "shift no dimensions": lambda t, m: t.fft.fftshift(m(3, 4), ()),
    "shift out of range": lambda t, m: t.fft.fftshift(m(3, 4), 5),
    "shift no tensor": lambda t, m: t.fft.fftshift("a"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others(name):
    assert_same(pytorch, OTHERS[name])


def test_the_names_are_pytorchs():
    import taper

    assert set(pytorch.fft.__all__) - {"Tensor"} <= set(taper.fft.__all__)
    assert all(hasattr(pytorch.fft, name) for name in taper.fft.__all__)
