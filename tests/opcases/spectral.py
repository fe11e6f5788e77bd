"""Rows of the Fourier transforms of pieces of a signal."""

from __future__ import annotations

import numpy as np

from op_case import Fixed, OpCase, Raises, Sample, sample

HALF_FIRST = "Cannot have onesided output if window or input is complex"


def signals(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    window = rng.random(8) + 0.2
    return [
        sample(normal(20), 8, window=window, return_complex=True),
        sample(normal((2, 20)), 8, 3, window=window, return_complex=True, normalized=True),
        sample(normal(20), 8, 3, 6, window[:6], center=False, return_complex=True),
        sample(normal(20), 8, 2, 5, window[:5], pad_mode="constant", return_complex=True),
        sample(normal((2, 20)), 8, 2, 8, Fixed(window), onesided=False, return_complex=True),
        sample(
            normal(20),
            *(8, 2, 6, window[:6]),
            center=False,
            align_to_window=True,
            return_complex=True,
        ),
    ]


def np_stft(x, n_fft, hop_length=None, win_length=None, window=None, **options):
    """Transform by the definition: a piece times the window; complex signals as a whole."""
    hop = hop_length or n_fft // 4
    length = len(window)
    wide = np.zeros(n_fft, window.dtype)
    left = (n_fft - length) // 2
    wide[left : left + length] = window
    border = [(0, 0)] * (x.ndim - 1)
    if options.get("center", True):
        mode = options.get("pad_mode", "reflect")
        x = np.pad(x, [*border, (n_fft // 2, n_fft // 2)], mode=mode)
    elif options.get("align_to_window"):
        x = np.pad(x, [*border, (left, left)])
    starts = range(0, x.shape[-1] - n_fft + 1, hop)
    pieces = np.stack([x[..., start : start + n_fft] * wide for start in starts], -1)
    norm = "ortho" if options.get("normalized") else "backward"
    if np.iscomplexobj(pieces) or options.get("onesided") is False:
        return np.fft.fft(pieces, axis=-2, norm=norm)
    return np.fft.rfft(pieces, axis=-2, norm=norm)


def spectra(rng: np.random.Generator) -> list[Sample]:
    def spectrum(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)

    window = rng.random(8) + 0.5
    return [
        sample(spectrum(5, 6), 8, window=window),
        sample(spectrum(2, 5, 6), 8, 3, window=window, normalized=True, length=15),
        sample(spectrum(5, 6), 8, 2, 8, window, center=False),
        sample(spectrum(8, 6), 8, 2, 8, window, onesided=False),
        sample(spectrum(2, 8, 6), 8, 2, 6, window[:6], return_complex=True, onesided=False),
    ]


SIGNAL = np.arange(20.0)
WINDOW = np.ones(8)
SPECTRUM = np.ones((5, 6), complex)

CASES = [
    OpCase(
        "stft",
        signals,
        reference=np_stft,
        complex=False,
        tolerance=1e-4,
        errors=(
            Raises(
                RuntimeError,
                "stft requires the return_complex parameter be given for real inputs",
                sample(SIGNAL, 8, window=WINDOW),
            ),
            Raises(
                RuntimeError,
                "expected 0 < n_fft < 20, but got n_fft=30",
                sample(SIGNAL, 30, window=WINDOW, center=False, return_complex=True),
            ),
            Raises(
                RuntimeError,
                "expected hop_length > 0, but got hop_length=0",
                sample(SIGNAL, 8, 0, window=WINDOW, return_complex=True),
            ),
            Raises(
                RuntimeError,
                "window=torch.DoubleTensor{[8]}, normalized=0, onesided=None, return_complex=1, "
                "align_to_window=None) : expected a 1D window tensor of size equal to win_length=6",
                sample(SIGNAL, 8, 2, 6, WINDOW, return_complex=True),
            ),
            Raises(
                RuntimeError,
                "stft align_to_window should only be set when center = false",
                sample(SIGNAL, 8, window=WINDOW, return_complex=True, align_to_window=True),
            ),
            Raises(RuntimeError, HALF_FIRST, sample(SIGNAL + 0j, 8, window=WINDOW, onesided=True)),
            Raises(TypeError, "stft() received an invalid combination", sample(SIGNAL, 8.0)),
        ),
    ),
    OpCase(
        "istft",
        spectra,
        tolerance=1e-4,
        errors=(
            Raises(
                RuntimeError,
                "istft requires a complex-valued input tensor",
                sample(SIGNAL.reshape(5, 4), 8, window=WINDOW),
            ),
            Raises(
                RuntimeError,
                "istft(CPUComplexDoubleType[5, 6], n_fft=8, hop_length=9, win_length=8",
                sample(SPECTRUM, 8, 9, window=WINDOW),
            ),
            Raises(
                RuntimeError, "window overlap add min: 1", sample(SPECTRUM, 8, window=np.zeros(8))
            ),
            Raises(
                RuntimeError, "to match n_fft / 2 + 1", sample(SPECTRUM, 16, window=np.ones(16))
            ),
            Raises(
                RuntimeError, HALF_FIRST, sample(SPECTRUM, 8, window=WINDOW, return_complex=True)
            ),
            Raises(TypeError, "argument 'n_fft' (position 2) must be int", sample(SPECTRUM, 8.0)),
        ),
    ),
]
