"""Rows of `interpolate` in all modes."""

from __future__ import annotations

import numpy as np

from op_case import OpCase, Raises, sample


def pictures(*calls):
    """Return samples given as (shape, keywords)."""
    return lambda rng: [sample(rng.standard_normal(shape), **kwargs) for shape, kwargs in calls]


def fails(error, text, shape, **kwargs):
    return Raises(error, text, sample(np.ones(shape), **kwargs))


def mode(name, **kwargs):
    return {"mode": name, **kwargs}


CASES = [
    OpCase(
        "nn.functional.interpolate",
        pictures(
            ((2, 3, 5), {"scale_factor": 2}),
            ((2, 3, 5), mode("nearest-exact", size=7)),
            ((2, 3, 5), mode("linear", size=8)),
            ((2, 3, 5), mode("linear", scale_factor=1.7, align_corners=True)),
            ((2, 3, 5), mode("area", size=3)),
            ((1, 2, 4, 5), {"size": (7, 3)}),
            ((1, 2, 4, 5), mode("nearest-exact", scale_factor=(1.5, 0.6))),
            ((1, 2, 4, 5), mode("bilinear", scale_factor=2)),
            ((1, 2, 4, 5), mode("bilinear", size=(3, 9), align_corners=True)),
            ((1, 2, 4, 5), mode("bilinear", scale_factor=1.4, recompute_scale_factor=True)),
            ((1, 2, 8, 9), mode("bilinear", size=(3, 4), antialias=True)),
            ((1, 2, 4, 5), mode("bicubic", scale_factor=(2, 0.7))),
            ((1, 2, 4, 5), mode("bicubic", size=(5, 3), align_corners=True)),
            ((1, 2, 8, 9), mode("bicubic", size=(3, 12), antialias=True)),
            ((1, 2, 8, 9), mode("lanczos", size=(3, 12), antialias=True)),
            ((1, 2, 4, 5), mode("area", scale_factor=0.5)),
            ((1, 2, 3, 4, 3), {"scale_factor": (2, 1, 1.5)}),
            ((1, 2, 3, 4, 3), mode("nearest-exact", size=2)),
            ((1, 2, 3, 4, 3), mode("trilinear", size=(4, 2, 5))),
            ((1, 2, 3, 4, 3), mode("trilinear", scale_factor=2, align_corners=True)),
            ((1, 2, 3, 4, 3), mode("area", size=2)),
            ((0, 2, 4, 5), mode("bilinear", size=3)),
            ((1, 1, 110, 3), mode("bilinear", size=(75, 4))),
        ),
        errors=(
            fails(ValueError, "either size or scale_factor should be defined", (1, 1, 4)),
            fails(ValueError, "only one of size or scale", (1, 1, 4), size=2, scale_factor=2),
            fails(ValueError, "same number of spatial dimensions", (1, 1, 4), size=(2, 2)),
            fails(NotImplementedError, "needs 4D input", (1, 1, 4), size=2, mode="bilinear"),
            fails(ValueError, "align_corners option", (1, 1, 4), size=2, align_corners=True),
            fails(RuntimeError, "sizes should be greater than 0", (1, 1, 4), size=0),
            fails(ValueError, "Anti-alias option is restricted", (1, 1, 4), size=2, antialias=True),
            fails(
                ValueError,
                "recompute_scale_factor is not meaningful",
                (1, 1, 4),
                size=2,
                recompute_scale_factor=True,
            ),
        ),
    ),
]
