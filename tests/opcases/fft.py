"""Rows of Fourier transforms, their frequencies and shifts."""

from __future__ import annotations

import numpy as np

from op_case import OpCase, Raises, Sample, sample

POINTS = "Invalid number of data points (0) specified"


def lines(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    return [
        sample(normal((3, 4))),
        sample(normal(5)),
        sample(normal((3, 4)), dim=0),
        sample(normal((3, 4)), n=6),
        sample(normal((3, 4)), n=3, norm="ortho"),
        sample(normal((2, 3, 4)), dim=1, norm="forward"),
    ]


def blocks(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    return [
        sample(normal((3, 4))),
        sample(normal((2, 3, 4)), dim=(0, 2)),
        sample(normal((3, 4)), s=(2, 6), norm="ortho"),
        sample(normal((3, 4)), norm="forward"),
    ]


def np_line(name):
    def reference(x, n=None, dim=-1, norm=None):
        return getattr(np.fft, name)(x, n, dim, norm)

    return reference


def np_block(name, dims=None):
    def reference(x, s=None, dim=dims, norm=None):
        if s is not None and dim is None:
            dim = tuple(range(-len(s), 0))
        return getattr(np.fft, name)(x, s, dim, norm)

    return reference


def row(name, samples, reference, complex=True):
    return OpCase(
        f"fft.{name}",
        samples,
        reference=reference,
        complex=complex,
        out=True,
        errors=(Raises(RuntimeError, POINTS, sample(np.ones((2, 0)))),),
    )


LINES = [
    row(name, lines, np_line(name), complex=name not in ("rfft", "ihfft"))
    for name in ("fft", "ifft", "rfft", "ihfft")
]
HALF_LINES = [
    OpCase(f"fft.{name}", lines, reference=np_line(name), complex=True, out=True)
    for name in ("irfft", "hfft")
]
BLOCKS = [
    row(f"{name}{end}", blocks, np_block(f"{name}n", dims), complex=name != "rfft")
    for name in ("fft", "ifft", "rfft")
    for end, dims in (("2", (-2, -1)), ("n", None))
]
OTHER_BLOCKS = [
    OpCase(
        f"fft.{name}{end}",
        blocks,
        reference=np_block("irfftn", (-2, -1) if end == "2" else None) if name == "irfft" else None,
        complex=name != "ihfft",
        out=True,
    )
    for name in ("irfft", "hfft", "ihfft")
    for end in ("2", "n")
]


def frequencies(rng: np.random.Generator) -> list[Sample]:
    return [sample(n, d) for n in (1, 4, 5) for d in (1.0, 0.25)]


def shifts(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    return [sample(normal((3, 4))), sample(normal((3, 4)), 0), sample(normal(5), (-1,))]


CASES = [
    *LINES,
    *HALF_LINES,
    *BLOCKS,
    *OTHER_BLOCKS,
    OpCase("fft.fftfreq", frequencies, differentiable=False),
    OpCase("fft.rfftfreq", frequencies, differentiable=False),
    OpCase("fft.fftshift", shifts, reference=np.fft.fftshift, complex=True),
    OpCase("fft.ifftshift", shifts, reference=np.fft.ifftshift, complex=True),
]
