"""Rows of sampling at a grid and of affine grids."""

from __future__ import annotations

import numpy as np

from op_case import Fixed, OpCase, Raises, sample


def places(rng, *shape):
    """Return coordinates inside and outside, away from the borders between elements."""
    near = rng.integers(-9, 9, shape) * 0.2
    return near + rng.uniform(0.02, 0.05, shape)


def picture(rng, shape, grid, *args):
    return sample(rng.standard_normal(shape), places(rng, *grid), *args)


def grids(rng):
    found = []
    for padding in ("zeros", "border", "reflection"):
        for aligned in (True, False):
            for mode in ("bilinear", "nearest", "bicubic"):
                found.append(picture(rng, (1, 2, 4, 3), (1, 2, 3, 2), mode, padding, aligned))
            found.append(
                picture(rng, (1, 2, 2, 4, 3), (1, 2, 1, 3, 3), "bilinear", padding, aligned)
            )
    found.append(picture(rng, (1, 2, 2, 4, 3), (1, 2, 1, 3, 3), "nearest", "zeros", False))
    found.append(picture(rng, (0, 2, 4, 3), (0, 2, 3, 2), "bilinear", "zeros", False))
    found.append(
        sample(
            rng.standard_normal((1, 2, 4, 3)),
            Fixed(places(rng, 1, 2, 3, 2)),
            "bilinear",
            "zeros",
            False,
        )
    )
    return found


def fails(error, text, shape, grid, *args):
    return Raises(error, text, sample(np.ones(shape), np.zeros(grid), *args))


def theta(error, text, shape, size):
    return Raises(error, text, sample(np.ones(shape), size, True))


CASES = [
    OpCase(
        "nn.functional.grid_sample",
        grids,
        errors=(
            fails(ValueError, "expected mode to be", (1, 1, 2, 2), (1, 1, 1, 2), "cubic"),
            fails(ValueError, "padding_mode to be", (1, 1, 2, 2), (1, 1, 1, 2), "nearest", "no"),
            fails(
                RuntimeError,
                "expected grid to have size 2 in last dimension",
                (1, 1, 2, 2),
                (1, 1, 1, 3),
                "bilinear",
                "zeros",
                False,
            ),
            fails(
                RuntimeError,
                "bicubic interpolation only supports 4D input",
                (1, 1, 2, 2, 2),
                (1, 1, 1, 1, 3),
                "bicubic",
                "zeros",
                False,
            ),
        ),
    ),
    OpCase(
        "grid_sampler",
        lambda rng: [
            picture(rng, (1, 2, 4, 3), (1, 2, 3, 2), 0, 0, False),
            picture(rng, (1, 2, 2, 4, 3), (1, 2, 1, 3, 3), 0, 1, True),
        ],
        errors=(
            fails(TypeError, "must be bool, not int", (1, 1, 2, 2), (1, 1, 1, 2), 0, 0, 1),
            fails(RuntimeError, "same batch size", (1, 1, 2, 2), (2, 1, 1, 2), 0, 0, True),
        ),
    ),
    OpCase(
        "grid_sampler_2d",
        lambda rng: [picture(rng, (1, 2, 4, 3), (1, 2, 3, 2), 2, 2, False)],
        errors=(fails(RuntimeError, "expected 4D input", (1, 1, 2), (1, 1, 1), 0, 0, True),),
    ),
    OpCase(
        "grid_sampler_3d",
        lambda rng: [picture(rng, (1, 2, 2, 4, 3), (1, 2, 1, 3, 3), 0, 2, False)],
        errors=(fails(RuntimeError, "expected 5D input", (1, 1, 2, 2), (1, 1, 1, 2), 0, 0, True),),
    ),
    OpCase(
        "affine_grid_generator",
        lambda rng: [
            sample(rng.standard_normal((2, 2, 3)), (2, 1, 3, 4), True),
            sample(rng.standard_normal((1, 3, 4)), (1, 1, 2, 3, 4), False),
        ],
        forward_dtypes=("int64", "bool"),
        errors=(theta(RuntimeError, "needs 4d (spatial) or 5d", (1, 2, 3), (1, 1, 2)),),
    ),
    OpCase(
        "nn.functional.affine_grid",
        lambda rng: [
            sample(rng.standard_normal((2, 2, 3)), (2, 1, 3, 4), False),
            sample(rng.standard_normal((1, 3, 4)), (1, 1, 2, 3, 4), True),
        ],
        forward_dtypes=("float16", "bfloat16"),
        errors=(
            theta(ValueError, "of shape Nx2x3 for size (1, 1, 2, 2)", (1, 3, 3), (1, 1, 2, 2)),
            theta(ValueError, "Expected non-zero, positive output size", (1, 2, 3), (1, 1, 0, 2)),
            theta(NotImplementedError, "only supports 4D and 5D sizes", (1, 2, 3), (1, 1, 2)),
        ),
    ),
]
