"""At the identity grid the last bit decides the gradient: the same cells as PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import taper


def gradients(package, dtype, rank, align_corners):
    functional = package.nn.functional
    found = []
    for size in range(2, 70):
        shape = (1, 1, *(2,) * (rank - 1), size)
        theta = package.eye(rank, rank + 1, dtype=getattr(package, dtype))[None]
        grid = functional.affine_grid(theta, shape, align_corners=align_corners)
        grid.requires_grad_()
        ramp = (package.arange(size, dtype=grid.dtype) ** 2).expand(shape).contiguous()
        sampled = functional.grid_sample(
            ramp, grid, align_corners=align_corners, padding_mode="border"
        )
        sampled.sum().backward()
        found += [grid.detach().numpy().ravel(), grid.grad.numpy()[..., 0].ravel()]
    return np.concatenate(found)


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_at_the_identity(dtype, rank, align_corners):
    found, expected = (gradients(each, dtype, rank, align_corners) for each in (taper, torch))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
