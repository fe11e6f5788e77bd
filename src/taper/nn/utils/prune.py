"""Pruning: parameters with some elements fixed at zero.

A pruned parameter `weight` becomes `weight_orig` and the buffer `weight_mask`; before each call of
the module a hook, the pruning method, computes their product as a plain attribute `weight`.

Long because: each way to prune is a class and a function, and each has an example.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from taper.device import contiguous_format
from taper.nn.modules.module import Module
from taper.ops.creation.filled import ones_like, zeros_like
from taper.ops.random.draws import rand, rand_like
from taper.ops.reduction.order import kthvalue, topk
from taper.ops.reduction.vector_norm import norm
from taper.ops.shape.join import cat
from taper.tensor import Tensor

__all__ = [
    "BasePruningMethod",
    "PruningContainer",
    "Identity",
    "RandomUnstructured",
    "L1Unstructured",
    "RandomStructured",
    "LnStructured",
    "CustomFromMask",
    "identity",
    "random_unstructured",
    "l1_unstructured",
    "random_structured",
    "ln_structured",
    "global_unstructured",
    "custom_from_mask",
    "remove",
    "is_pruned",
]

# --- what the methods have in common ---------------------------------------------------------


class BasePruningMethod(ABC):
    """Choose what is pruned; as a hook, apply the mask before each call.

    A subclass defines `compute_mask`, and as PRUNING_TYPE what it wants to see of a tensor that is
    pruned already: "unstructured" the elements that are left, "structured" the slices along its
    attribute `dim` that have any left, "global" everything.

    Example:
        >>> import taper
        >>> from taper.nn.utils import prune
        >>> class EverySecond(prune.BasePruningMethod):
        ...     PRUNING_TYPE = "unstructured"
        ...     def compute_mask(self, t, default_mask):
        ...         mask = default_mask.clone()
        ...         mask.view(-1)[::2] = 0
        ...         return mask
        >>> layer = taper.nn.Linear(4, 1)
        >>> made = EverySecond.apply(layer, "weight")
        >>> layer.weight_mask
        tensor([[0., 1., 0., 1.]])
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return a new `default_mask` with zeros where the importance scores `t` say so."""

    def apply_mask(self, module: Any) -> Any:
        """Return the product of the original parameter and its mask."""
        name = self._tensor_name
        mask, original = getattr(module, name + "_mask"), getattr(module, name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune a parameter by a new method of this class, made with the further arguments.

        A parameter that was pruned before keeps a PruningContainer of all its methods.
        """
        key, former = _hook_of(module, name)
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        current = getattr(module, name)
        if importance_scores is None:
            importance_scores = current
        elif importance_scores.shape != current.shape:
            raise AssertionError(
                "importance_scores should have the same shape as parameter "
                f"{name} of {module}, got {importance_scores.shape} vs {current.shape}"
            )
        if former is None:
            mask = method.compute_mask(importance_scores, default_mask=ones_like(current))
            module.register_parameter(name + "_orig", current)
            del module._parameters[name]
            chosen = method
        else:
            default = getattr(module, name + "_mask").detach()
            default = default.clone(memory_format=contiguous_format)
            mask = _combined(method, importance_scores, default)
            chosen = former if isinstance(former, PruningContainer) else PruningContainer(former)
            chosen.add_pruning_method(method)
            del module._forward_pre_hooks[key]
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, chosen.apply_mask(module))
        module.register_forward_pre_hook(chosen)
        return chosen

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Any = None
    ) -> Any:
        """Prune a tensor without any module, and return it."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError(
                "importance_scores should have the same shape as tensor t, got "
                f"{importance_scores.shape} vs {t.shape}"
            )
        default_mask = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(importance_scores, default_mask=default_mask)

    def remove(self, module: Any) -> None:
        """Make the pruned parameter an ordinary one, with the zeros in it."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters[name + "_orig"]
        original.data = weight.data
        del module._parameters[name + "_orig"]
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _hook_of(module: Any, name: str) -> tuple[Any, BasePruningMethod | None]:
    """Return the pruning method of a parameter and its key among the hooks."""
    found = [
        (key, hook)
        for key, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    ]
    if len(found) > 1:
        raise AssertionError(
            f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. "
            "Use a PruningContainer."
        )
    return found[0] if found else (None, None)


def _combined(method: Any, scores: Tensor, mask: Tensor) -> Tensor:
    """Return `mask` after the method has pruned among what is left."""
    left = _left_for(method, scores, mask)
    combined = mask.clone()
    combined[left] = method.compute_mask(scores[left], default_mask=mask[left]).to(mask.dtype)
    return combined


def _left_for(method: Any, scores: Tensor, mask: Tensor) -> Any:
    """Return the index of what a method of its type may see."""
    kind = method.PRUNING_TYPE
    if kind == "unstructured":
        return mask.eq(1)
    ndim = scores.dim()
    everything: list[Any] = [slice(None)] * ndim
    if kind == "structured":
        if not hasattr(method, "dim"):
            raise AttributeError(
                'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` '
                "defined."
            )
        dim = method.dim + ndim if method.dim < 0 else method.dim
        if dim < 0:
            raise IndexError(f"Index is out of bounds for tensor with dimensions {ndim}")
        others = [each for each in range(ndim) if each != dim]
        everything[dim] = mask.sum(dim=others) != 0
    elif kind != "global":
        raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
    return tuple(everything)


class PruningContainer(BasePruningMethod):
    """Hold the methods that have pruned one parameter, in order.

    Args:
        args: the first methods.

    Example:
        >>> from taper.nn.utils import prune
        >>> method = prune.L1Unstructured(2)
        >>> method._tensor_name = "weight"
        >>> len(prune.PruningContainer(method))
        1
    """

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Append a method for the same parameter."""
        if method is not None:
            if not isinstance(method, BasePruningMethod):
                raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
            if self._tensor_name != method._tensor_name:
                raise ValueError(
                    "Can only add pruning methods acting on the parameter named "
                    f"'{self._tensor_name}' to PruningContainer {self}. "
                    f"Found '{method._tensor_name}'"
                )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask after the last method has pruned, too."""
        return _combined(self._pruning_methods[-1], t, default_mask)


# --- the methods -----------------------------------------------------------------------------


class Identity(BasePruningMethod):
    """Prune nothing, but make parameter and mask all the same.

    Example:
        >>> import taper
        >>> taper.nn.utils.prune.Identity().prune(taper.tensor([3.0, -1.0]))
        tensor([ 3., -1.])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask as it was."""
        return default_mask

    @classmethod
    def apply(cls, module: Any, name: str) -> BasePruningMethod:  # type: ignore[override]
        """Give a parameter a mask of ones."""
        return super().apply(module, name)


class _Unstructured(BasePruningMethod):
    """Prune `amount` single elements: a number of them, or a fraction."""

    PRUNING_TYPE = "unstructured"
    amount: Any

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask without the elements that were chosen."""
        count = _compute_nparams_toprune(self.amount, t.nelement())
        _validate_pruning_amount(count, t.nelement())
        mask = default_mask.clone(memory_format=contiguous_format)
        if count != 0:
            mask.view(-1)[self._chosen(t, count)] = 0
        return mask

    @abstractmethod
    def _chosen(self, scores: Tensor, count: int) -> Tensor:
        """Return the places of the elements to prune, among all in one row."""


class RandomUnstructured(_Unstructured):
    """Prune single elements at random.

    Args:
        amount: how many elements to prune: a number of them, or a fraction.

    Example:
        >>> import taper
        >>> (taper.nn.utils.prune.RandomUnstructured(amount=2).prune(taper.ones(4)) == 0).sum()
        tensor(2)
    """

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _chosen(self, scores: Tensor, count: int) -> Tensor:
        return topk(rand_like(scores).view(-1), k=count).indices

    @classmethod
    def apply(cls, module: Any, name: str, amount: Any) -> Any:  # type: ignore[override]
        """Prune `amount` elements of a parameter."""
        return super().apply(module, name, amount=amount)


class L1Unstructured(_Unstructured):
    """Prune the elements nearest to zero.

    Args:
        amount: how many elements to prune: a number of them, or a fraction.

    Example:
        >>> import taper
        >>> taper.nn.utils.prune.L1Unstructured(amount=1).prune(taper.tensor([3.0, -1.0, 2.0]))
        tensor([3., -0., 2.])
    """

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _chosen(self, scores: Tensor, count: int) -> Tensor:
        return topk(scores.abs().view(-1), k=count, largest=False).indices

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Any, name: str, amount: Any, importance_scores: Any = None
    ) -> BasePruningMethod:
        """Prune `amount` elements of a parameter."""
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(BasePruningMethod):
    """Prune `amount` whole slices along `dim`: a number of them, or a fraction."""

    PRUNING_TYPE = "structured"
    amount: Any
    dim: int

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask without the slices that were chosen."""
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        count = _compute_nparams_toprune(self.amount, size)
        _validate_pruning_amount(count, size)
        if count == 0:
            return default_mask
        kept: list[Any] = [slice(None)] * t.dim()
        kept[self.dim] = self._kept(t, size, count)
        mask = zeros_like(t)
        mask[tuple(kept)] = 1
        mask *= default_mask.to(dtype=mask.dtype)
        return mask

    @abstractmethod
    def _kept(self, scores: Tensor, size: int, count: int) -> Tensor:
        """Return the index of the slices that stay."""


class RandomStructured(_Structured):
    """Prune slices at random.

    Args:
        amount: how many slices to prune: a number of them, or a fraction.
        dim: the dimension whose indices are the slices.

    Example:
        >>> import taper
        >>> taper.nn.utils.prune.RandomStructured(amount=1, dim=0).prune(taper.ones(3, 2)).sum()
        tensor(4.)
    """

    def __init__(self, amount: Any, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.dim = dim

    def _kept(self, scores: Tensor, size: int, count: int) -> Tensor:
        drawn = rand(size)
        return drawn > kthvalue(drawn, k=count).values

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Any, name: str, amount: Any, dim: int = -1
    ) -> BasePruningMethod:
        """Prune `amount` slices of a parameter."""
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Prune the slices with the smallest norm.

    Args:
        amount: how many slices to prune: a number of them, or a fraction.
        n: the order of the norm, as for `taper.norm`.
        dim: the dimension whose indices are the slices.

    Example:
        >>> import taper
        >>> method = taper.nn.utils.prune.LnStructured(amount=1, n=2, dim=0)
        >>> method.prune(taper.tensor([[3.0, 4.0], [1.0, 1.0]]))
        tensor([[3., 4.],
                [0., 0.]])
    """

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.n = n
        self.dim = dim

    def _kept(self, scores: Tensor, size: int, count: int) -> Tensor:
        return topk(_compute_norm(scores, self.n, self.dim), k=size - count).indices

    @classmethod
    def apply(  # type: ignore[override]
        cls,
        module: Any,
        name: str,
        amount: Any,
        n: Any,
        dim: int,
        importance_scores: Any = None,
    ) -> BasePruningMethod:
        """Prune `amount` slices of a parameter."""
        return super().apply(
            module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores
        )


class CustomFromMask(BasePruningMethod):
    """Prune where a given mask is zero.

    Args:
        mask: zeros and ones, of the parameter's shape.

    Example:
        >>> import taper
        >>> mask = taper.tensor([1, 0, 1])
        >>> taper.nn.utils.prune.CustomFromMask(mask).prune(taper.tensor([3.0, -1.0, 2.0]))
        tensor([3., -0., 2.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the product of the masks."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape "
                f"{self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: Any, name: str, mask: Any) -> Any:  # type: ignore[override]
        """Prune a parameter by a mask."""
        return super().apply(module, name, mask=mask)


# --- the same as functions -------------------------------------------------------------------


def identity(module: Any, name: str) -> Any:
    """Give a parameter a mask, but prune nothing.

    Args:
        module: the module, which is returned.
        name: the parameter's name.

    Example:
        >>> from taper import nn
        >>> nn.utils.prune.identity(nn.Linear(2, 1), "bias").bias_mask
        tensor([1.])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Prune elements of a parameter at random.

    Args:
        module: the module, which is returned.
        name: the parameter's name.
        amount: how many elements to prune: a number of them, or a fraction.

    Example:
        >>> from taper import nn
        >>> from taper.nn.utils import prune
        >>> layer = prune.random_unstructured(nn.Linear(4, 3), "weight", amount=0.25)
        >>> int((layer.weight_mask == 0).sum())
        3
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Prune the elements of a parameter with the smallest absolute scores.

    Args:
        module: the module, which is returned.
        name: the parameter's name.
        amount: how many elements to prune: a number of them, or a fraction.
        importance_scores: what to compare, of the parameter's shape; None means the parameter.

    Example:
        >>> import taper
        >>> from taper import nn
        >>> from taper.nn.utils import prune
        >>> layer = nn.Linear(3, 1)
        >>> layer.weight.data = taper.tensor([[3.0, -1.0, 2.0]])
        >>> prune.l1_unstructured(layer, "weight", 1).weight_mask
        tensor([[1., 0., 1.]])
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Prune slices of a parameter at random.

    Args:
        module: the module, which is returned.
        name: the parameter's name.
        amount: how many slices to prune: a number of them, or a fraction.
        dim: the dimension whose indices are the slices.

    Example:
        >>> from taper import nn
        >>> layer = nn.utils.prune.random_structured(nn.Linear(4, 3), "weight", amount=1, dim=0)
        >>> layer.weight_mask.sum()
        tensor(8.)
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None
) -> Any:
    """Prune the slices of a parameter with the smallest norm.

    Args:
        module: the module, which is returned.
        name: the parameter's name.
        amount: how many slices to prune: a number of them, or a fraction.
        n: the order of the norm, as for `taper.norm`.
        dim: the dimension whose indices are the slices.
        importance_scores: what to compare, of the parameter's shape; None means the parameter.

    Example:
        >>> from taper import nn
        >>> layer = nn.utils.prune.ln_structured(nn.Linear(4, 3), "weight", amount=2, n=2, dim=0)
        >>> layer.weight_mask.sum()
        tensor(4.)
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune elements of several parameters as if they were one.

    Args:
        parameters: pairs `(module, name)`.
        pruning_method: the class of the method.
        importance_scores: a dict with a tensor for each pair whose scores are not its values.
        kwargs: what the class gets, such as `amount`.

    Example:
        >>> from taper import nn
        >>> from taper.nn.utils import prune
        >>> layers = [nn.Linear(2, 2), nn.Linear(2, 3)]
        >>> pairs = [(layer, "weight") for layer in layers]
        >>> prune.global_unstructured(pairs, prune.L1Unstructured, amount=4)
        >>> sum(int((layer.weight_mask == 0).sum()) for layer in layers)
        4
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    given = {} if importance_scores is None else importance_scores
    if not isinstance(given, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = list(parameters)
    currents = [getattr(module, name) for module, name in pairs]
    scores = [
        given.get((module, name), current)
        for (module, name), current in zip(pairs, currents, strict=True)
    ]
    masks = [
        getattr(module, name + "_mask", ones_like(current))
        for (module, name), current in zip(pairs, currents, strict=True)
    ]
    row = cat([each.reshape(-1) for each in scores])
    default = cat([each.reshape(-1) for each in masks])
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    final = _combined(method, row, default)
    start = 0
    for (module, name), current in zip(pairs, currents, strict=True):
        part = final[start : start + current.numel()].view_as(current)
        custom_from_mask(module, name, mask=part)
        start += current.numel()


def custom_from_mask(module: Any, name: str, mask: Any) -> Any:
    """Prune a parameter where a mask is zero.

    Args:
        module: the module, which is returned.
        name: the parameter's name.
        mask: zeros and ones, of the parameter's shape.

    Example:
        >>> import taper
        >>> layer = taper.nn.Linear(2, 1)
        >>> taper.nn.utils.prune.custom_from_mask(layer, "bias", taper.zeros(1)).bias_mask
        tensor([0.])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: Any, name: str) -> Any:
    """Make a pruned parameter an ordinary one, with the zeros in it.

    Args:
        module: the module, which is returned.
        name: the parameter's name.

    Example:
        >>> from taper import nn
        >>> from taper.nn.utils import prune
        >>> layer = prune.remove(prune.identity(nn.Linear(2, 2), "weight"), "weight")
        >>> prune.is_pruned(layer)
        False
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
    )


def is_pruned(module: Module) -> bool:
    """Tell whether a module, or one below it, has a pruned parameter.

    Args:
        module: the module.

    Example:
        >>> from taper import nn
        >>> layer = nn.Linear(2, 1)
        >>> nn.utils.prune.is_pruned(layer)
        False
        >>> nn.utils.prune.is_pruned(nn.utils.prune.identity(layer, "weight"))
        True
    """
    return any(
        isinstance(hook, BasePruningMethod)
        for _, each in module.named_modules()
        for hook in each._forward_pre_hooks.values()
    )


# --- checks ----------------------------------------------------------------------------------


def _validate_pruning_amount_init(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    whole = isinstance(amount, numbers.Integral)
    if (whole and amount < 0) or (not whole and not 0.0 <= float(amount) <= 1.0):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
            "integer"
        )


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    if isinstance(amount, numbers.Integral) and int(amount) > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to "
            f"prune={tensor_size}"
        )


def _validate_structured_pruning(t: Tensor) -> None:
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of "
            f"shape {t.shape} with {t.dim()} dims"
        )


def _validate_pruning_dim(t: Tensor, dim: int) -> None:
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> Any:
    return amount if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


def _compute_norm(t: Tensor, n: Any, dim: int) -> Tensor:
    """Return the norm of each slice along `dim`."""
    kept = dim + t.dim() if dim < 0 else dim
    others = [each for each in range(t.dim()) if each != kept]
    return norm(t, p=n, dim=others)
