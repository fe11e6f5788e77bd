"""Comparisons, logic and bits, element by element; nothing here is differentiable."""

from __future__ import annotations

import numpy as np

from taper.opdef import SAME, Array, Operand, op


def _comparison(ufunc):
    def kernel(self: Array, other: Operand) -> Array:
        return ufunc(self, other)

    return kernel


def _declare(name, ufunc):
    kernel = _comparison(ufunc)
    kernel.__name__ = name
    return op(name=name, promote=SAME, out=True, ufunc=ufunc)(kernel)


eq = _declare("eq", np.equal)
ne = _declare("ne", np.not_equal)
lt = _declare("lt", np.less)
le = _declare("le", np.less_equal)
gt = _declare("gt", np.greater)
ge = _declare("ge", np.greater_equal)
