"""Names that PyTorch still has and warns about: Container, NLLLoss2d."""

from __future__ import annotations

from typing import Any

from taper.nn.modules.loss import NLLLoss
from taper.nn.modules.module import Module
from taper.userwarning import warn_user


class _Deprecated:
    """Warn when a class below is instantiated or subclassed."""

    _advice: str

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if "_advice" in vars(cls):
            warn_user(cls._advice, FutureWarning)
        return super().__new__(cls)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_advice" not in vars(cls):
            warn_user(cls._advice, FutureWarning)


class Container(_Deprecated, Module):
    """Hold the given submodules; deprecated, subclass `Module` instead.

    Args:
        kwargs: the submodules by name.

    Example:
        >>> import taper, warnings
        >>> warnings.simplefilter("ignore")
        >>> taper.nn.Container(head=taper.nn.Linear(3, 2))
        Container(
          (head): Linear(in_features=3, out_features=2, bias=True)
        )
    """

    _advice = (
        "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. "
        "Subclass that instead."
    )

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class NLLLoss2d(_Deprecated, NLLLoss):
    """Apply `NLLLoss` under its old name for images; deprecated.

        l = -w[y] x[y], and "mean" divides the sum by Σ w[y]

    Args:
        weight, size_average, ignore_index, reduce, reduction: as for `NLLLoss`.

    Shape:
        input (N, C, H, W); target (N, H, W) of class numbers; the result is a scalar, or (N, H, W)
        for "none".

    Example:
        >>> import taper, warnings
        >>> warnings.simplefilter("ignore")
        >>> logs, classes = taper.full((1, 2, 1, 1), -0.5), taper.zeros(1, 1, 1, dtype=taper.long)
        >>> taper.nn.NLLLoss2d()(logs, classes)
        tensor(0.5000)
    """

    _advice = (
        "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement "
        "and see https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more details."
    )

    def __init__(
        self,
        weight: Any = None,
        size_average: Any = None,
        ignore_index: int = -100,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, ignore_index, reduce, reduction)
