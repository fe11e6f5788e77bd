"""Random tensors."""

from __future__ import annotations

import math

import numpy as np

from taper import dtypes
from taper.sampling import normals
from taper.generator import Generator, default_generator, initial_seed, manual_seed, seed  # noqa: F401
from taper.opdef import composite, composites
from taper.tensor import wrap

composites["manual_seed"] = manual_seed
composites["initial_seed"] = initial_seed
composites["seed"] = seed
composites["Generator"] = Generator
composites["default_generator"] = default_generator


def _shape(size):
    if len(size) == 1 and not isinstance(size[0], int):
        size = size[0]
    return tuple(size)


def _finish(flat, shape, dtype, requires_grad):
    tensor = wrap(flat.astype((dtype or dtypes.default.float).numpy).reshape(shape))
    if requires_grad:
        tensor.requires_grad = True
    return tensor


@composite(method=False)
def rand(*size, generator=None, dtype=None, requires_grad=False):
    """Uniform numbers in [0, 1)."""
    shape = _shape(size)
    draw = normals.uniform53 if dtype is dtypes.float64 else normals.uniform24
    return _finish(draw(generator or default_generator, math.prod(shape)), shape, dtype, requires_grad)


@composite(method=False)
def randn(*size, generator=None, dtype=None, requires_grad=False):
    """Standard normal numbers."""
    shape = _shape(size)
    count = math.prod(shape)
    source = generator or default_generator
    if count < normals.BLOCK:
        flat = normals.serial(source, count)
    else:
        flat = normals.blocks(source, count, (dtype or dtypes.default.float).numpy)
    return _finish(flat, shape, dtype, requires_grad)
