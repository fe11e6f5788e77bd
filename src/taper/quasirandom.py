"""`taper.quasirandom`: points that fill a cube more evenly than random ones.

The numbers are those of `taper.sampling.sobol`; this module keeps the state as tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taper import dtypes
from taper.ops.creation.data import tensor
from taper.ops.random.draws import randint
from taper.random import Generator
from taper.sampling import sobol
from taper.tensor import Tensor

__all__ = ["SobolEngine"]


class SobolEngine:
    """Draw points of a Sobol sequence in the unit cube.

    PyTorch has numbers for 21,201 coordinates; here are those of the first 1,111.

    Args:
        dimension: the number of coordinates.
        scramble: mix the sequence at random, so that it stays even.
        seed: the seed of that mixing.

    Example:
        >>> import taper
        >>> engine = taper.quasirandom.SobolEngine(2)
        >>> engine.draw(3)
        tensor([[0.0000, 0.0000],
                [0.5000, 0.5000],
                [0.7500, 0.2500]])
        >>> engine
        SobolEngine(dimension=2)
    """

    MAXBIT = sobol.BITS
    MAXDIM = sobol.MOST

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]"
            )
        if dimension > sobol.KNOWN:
            raise NotImplementedError(
                f"SobolEngine: direction numbers for {sobol.KNOWN} dimensions are provided, not "
                f"for {dimension}"
            )
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        directions = sobol.direction_numbers(dimension)
        shift = np.zeros(dimension, np.int64)
        if scramble:
            directions, shift = self._scrambled(directions)
        self.sobolstate: Tensor = _tensor(directions)
        self.shift: Tensor = _tensor(shift)
        self.quasi: Tensor = self.shift.clone()
        self._first_point: Tensor = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def _scrambled(self, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mixed direction numbers and a start, drawn as PyTorch draws them."""
        generator: Generator | None = None
        if self.seed is not None:
            generator = Generator()
            generator.manual_seed(self.seed)
        size, bits = self.dimension, self.MAXBIT
        shifts = randint(2, (size, bits), generator=generator).numpy()
        matrices = randint(2, (size, bits, bits), generator=generator).numpy()
        weights = 1 << np.arange(bits, dtype=np.int64)
        return sobol.scrambled(directions, matrices), shifts @ weights

    def draw(
        self, n: int = 1, out: Tensor | None = None, dtype: dtypes.dtype | None = None
    ) -> Tensor:
        """Return the next points, one in each row.

        Args:
            n: how many.
            out: the tensor that gets them.
            dtype: their dtype; the default one if it is not given.
        """
        kind = dtypes.default.float if dtype is None else dtype
        parts = []
        count = n
        if self.num_generated == 0:
            parts.append(self.shift.numpy()[None])
            count -= 1
        if count > 0:
            parts.append(self._advance(count))
        self.num_generated += n
        points = np.concatenate(parts).astype(kind.numpy) * np.asarray(
            2.0**-self.MAXBIT, kind.numpy
        )
        result = tensor(points, dtype=kind)
        if out is None:
            return result
        out.resize_(result.shape).copy_(result)
        return out

    def _advance(self, count: int) -> np.ndarray:
        start = max(self.num_generated - 1, 0)
        return sobol.advance(self.quasi.numpy(), self.sobolstate.numpy(), start, count)

    def draw_base2(
        self, m: int, out: Tensor | None = None, dtype: dtypes.dtype | None = None
    ) -> Tensor:
        """Return the next 2^m points; their number must stay a power of two.

        Args:
            m: the exponent.
            out: the tensor that gets them.
            dtype: their dtype; the default one if it is not given.
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Start from the first point again; return the engine."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Skip points; return the engine.

        Args:
            n: how many.
        """
        count = n - 1 if self.num_generated == 0 else n
        if count > 0:
            self._advance(count)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}"]
        if self.scramble:
            parts.append("scramble=True")
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(parts)})"


def _tensor(array: Any) -> Tensor:
    return tensor(array, dtype=dtypes.int64)
