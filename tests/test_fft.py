"""Fourier transforms: inverses, energies, precision, and that looking at the package is cheap."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import taper

PAIRS = [("fft", "ifft"), ("fft2", "ifft2"), ("fftn", "ifftn")]
HALVES = [("rfft", "irfft"), ("rfft2", "irfft2"), ("rfftn", "irfftn")]


def random(*shape, dtype=np.float64):
    return taper.from_numpy(np.random.default_rng(0).standard_normal(shape).astype(dtype))


@pytest.mark.parametrize(("there", "back"), PAIRS)
@pytest.mark.parametrize("norm", [None, "forward", "backward", "ortho"])
def test_inverse_undoes_the_transform(there, back, norm):
    x = random(3, 5)
    found = getattr(taper.fft, back)(getattr(taper.fft, there)(x, norm=norm), norm=norm)
    assert taper.allclose(found.real, x) and taper.allclose(found.imag, taper.zeros_like(x))


@pytest.mark.parametrize(("there", "back"), HALVES)
@pytest.mark.parametrize("norm", [None, "forward", "backward", "ortho"])
@pytest.mark.parametrize("length", [6, 7])
def test_half_is_enough_for_real_numbers(there, back, norm, length):
    x = random(4, length)
    sizes = {"n": length} if there == "rfft" else {"s": (4, length)}
    found = getattr(taper.fft, back)(getattr(taper.fft, there)(x, norm=norm), norm=norm, **sizes)
    assert taper.allclose(found, x)


def test_ortho_keeps_the_energy():
    x = random(4, 6)
    assert taper.allclose(taper.fft.fftn(x, norm="ortho").abs().square().sum(), x.square().sum())


def test_hermitian_transforms_are_each_others_inverse():
    x = random(3, 8)
    assert taper.allclose(taper.fft.hfft(taper.fft.ihfft(x)), x)
    assert taper.allclose(taper.fft.hfftn(taper.fft.ihfftn(x)), x)


def test_single_precision_stays_single():
    x = random(64, dtype=np.float32)
    assert taper.fft.fft(x).dtype is taper.complex64
    assert taper.fft.irfft(taper.fft.rfft(x)).dtype is taper.float32
    exact = np.fft.fft(x.numpy().astype(np.float64))
    assert np.abs(taper.fft.fft(x).numpy() - exact).max() < 1e-4


def test_an_empty_batch_has_an_empty_transform():
    """Differs: PyTorch's library refuses it."""
    assert taper.fft.rfft(taper.empty(0, 4)).shape == (0, 3)


def test_transformed_dimensions_are_innermost_in_memory():
    assert taper.fft.fft(random(2, 3, 4), dim=1).stride() == (12, 1, 3)


def test_convolution_theorem_has_the_gradient_of_the_sum():
    x, y = random(8).requires_grad_(), random(8)
    product = taper.fft.irfft(taper.fft.rfft(x) * taper.fft.rfft(y))
    (found,) = taper.autograd.grad(product.sum(), x)
    assert taper.allclose(found, y.sum().expand(8))


def test_the_package_is_loaded_when_it_is_first_used():
    program = "import taper, sys; assert 'taper.fft' not in sys.modules; taper.fft.fft; print(1)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "1\n", done.stderr
