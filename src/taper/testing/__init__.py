"""Tools for tests: compare results, make inputs.

>>> import taper
>>> taper.testing.assert_close(taper.tensor([1.0, 2.0]), taper.tensor([1.0, 2.0 + 1e-7]))
"""

from taper.testing._comparison import assert_allclose, assert_close
from taper.testing._creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
