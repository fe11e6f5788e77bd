"""`taper.masked`: reductions and normalizations that leave elements out.

>>> import taper
>>> x = taper.tensor([1.0, 2.0, 30.0])
>>> taper.masked.mean(x, mask=taper.tensor([True, True, False]))
tensor(1.5000)
"""

from __future__ import annotations

from taper.masked import maskedtensor as maskedtensor  # a module, as in PyTorch
from taper.masked.maskedtensor import (
    MaskedTensor,
    as_masked_tensor,
    is_masked_tensor,
    masked_tensor,
)
from taper.masked.reductions import (
    amax,
    amin,
    argmax,
    argmin,
    cumprod,
    cumsum,
    log_softmax,
    logaddexp,
    logsumexp,
    mean,
    median,
    norm,
    normalize,
    prod,
    softmax,
    softmin,
    std,
    sum,
    var,
)

__all__ = [
    "MaskedTensor",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "as_masked_tensor",
    "cumprod",
    "cumsum",
    "is_masked_tensor",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "masked_tensor",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]
