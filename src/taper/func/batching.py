"""Batched tensors: what a function under `vmap` sees of a tensor that has one dimension more.

Owns: `BatchedTensor`, which shows the shape of one example and holds the tensor of all examples
(`_whole`, batch dimension first), and the array that stands for its data and cannot be read.  Whole
tensors are ordinary ones, or batched themselves by an outer `vmap`; only they have history and
tangents.  Knows no rule of any operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from taper.autograd.overrides import _disabled_torch_function_impl
from taper.autograd.state import local
from taper.tensor import Tensor

if TYPE_CHECKING:
    from taper.func.levels import Level

NO_DATA = "Cannot access data pointer of Tensor that doesn't have storage"
ESCAPED = (
    "Either your tensor may have escaped from inside a function being vmapped and this is a user "
    "error (see https://pytorch.org/functorch/stable/ux_limitations.html), or there is an internal "
    "functorch error in `gen_vmap_plumbing` Please file an issue if it looks like the latter"
)
NO_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling "
    ".item() on a Tensor, please try to rewrite what you're doing with other operations. If error "
    "is occurring somewhere inside PyTorch internals, please file a bug report."
)
NO_CONTROL_FLOW = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We "
    "don't support that yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
)


def _refuse_data(*args: Any, **kwargs: Any) -> NoReturn:
    raise RuntimeError(NO_DATA if local.state.transforms else ESCAPED)


# Functions of NumPy that look at no element of their argument.
_SHAPE_ONLY = frozenset(
    {np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.may_share_memory}
)


class ExampleArray(np.ndarray):
    """The array of a batched tensor: it has shape, dtype and strides of an example but no values.

    A kernel that gets one by mistake fails loudly instead of computing with the first example.
    """

    __array_ufunc__ = _refuse_data
    __getitem__ = __setitem__ = _refuse_data
    __bool__ = __int__ = __float__ = __complex__ = __index__ = _refuse_data
    tolist = copy = astype = fill = tobytes = take = put = _refuse_data
    # Views are refused too: only an operator's rule knows which view of the batch one is.
    reshape = squeeze = ravel = flatten = diagonal = conj = conjugate = _refuse_data
    real = imag = property(_refuse_data)

    def item(self, *args: Any) -> NoReturn:
        raise RuntimeError(NO_ITEM)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func not in _SHAPE_ONLY:
            _refuse_data()
        plain = [each.view(np.ndarray) if type(each) is ExampleArray else each for each in args]
        return func(*plain, **kwargs)


def _refusing(text: str, kind: type[Exception] = RuntimeError) -> Any:
    def refuse(self: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
        raise kind(text)

    return refuse


class BatchedTensor(Tensor):
    """A tensor of one example that stands for those of all examples of an open `vmap`."""

    __slots__ = ("_level", "_place", "_whole")

    _level: Level
    _place: int  # which dimension was the batch when the tensor came, or an operator on it alone
    _whole: Tensor

    __torch_function__ = _disabled_torch_function_impl

    if not TYPE_CHECKING:
        item = __float__ = __int__ = __complex__ = __index__ = _refusing(NO_ITEM)
        __contains__ = item
        __bool__ = is_nonzero = _refusing(NO_CONTROL_FLOW)
        numpy = tolist = __array__ = data_ptr = __dlpack__ = _refusing(NO_DATA)
        storage = untyped_storage = typed_storage = _refusing(
            "Cannot access storage of BatchedTensorImpl", NotImplementedError
        )
        resize_ = resize_as_ = set_ = _refusing(
            "a tensor inside vmap cannot change its memory: make a new one", NotImplementedError
        )
        share_memory_ = storage
        data = property(_refusing("accessing `data` under vmap transform is not allowed"))

        @property
        def requires_grad(self):
            """Whether the innermost transform differentiates with respect to this tensor."""
            transforms = local.state.transforms
            tracked = bool(transforms) and transforms[-1].tracks_gradients
            return tracked and innermost(self).requires_grad

        @property
        def grad_fn(self):
            """The node that made the tensor of all examples, if `requires_grad` is True."""
            return innermost(self).grad_fn if self.requires_grad else None

        @property
        def is_leaf(self):
            """Whether no recorded operation made this tensor."""
            return self.grad_fn is None

        def register_hook(self, hook):
            """Call `hook(grad)` with the gradients of all examples, batched."""
            levels = levels_of(self)
            return innermost(self).register_hook(
                lambda grad: bare(hook(rewrap(grad, levels)), levels)
            )

        def __repr__(self, *, tensor_contents=None):
            if self._level.status.open:
                return super().__repr__(tensor_contents=tensor_contents)
            value = repr(innermost(self)).replace("\n", "\n    ")
            return f"BatchedTensor(lvl={self._level.depth}, bdim=0, value=\n    {value}\n)"

        def __format__(self, format_spec):
            return object.__format__(self, format_spec)

        def __deepcopy__(self, memo):
            return self.clone()

        def _become(self, whole):
            """Stand for another tensor of all examples, in place."""
            self._whole = whole
            self._array = _example(whole._array)
            return self

        def unsqueeze_(self, dim):
            """Do `unsqueeze` in place."""
            return self._become(self.unsqueeze(dim)._whole)

        def squeeze_(self, *dim):
            """Do `squeeze` in place."""
            return self._become(self.squeeze(*dim)._whole)

        def transpose_(self, dim0, dim1):
            """Do `transpose` in place."""
            return self._become(self.transpose(dim0, dim1)._whole)

        swapaxes_ = swapdims_ = transpose_

        def as_strided_(self, *args):
            """Do `as_strided` in place."""
            return self._become(self.as_strided(*args)._whole)

        def t_(self):
            """Do `t` in place."""
            return self._become(self.t()._whole)


BatchedTensor.__name__ = "Tensor"  # errors about attributes say it


def _example(array: np.ndarray) -> ExampleArray:
    if len(array):
        return np.ndarray.__getitem__(array, (0, ...)).view(ExampleArray)
    return np.empty(array.shape[1:], array.dtype).view(ExampleArray)


def batched(whole: Tensor, level: Level, place: int = 0) -> BatchedTensor:
    """Return the example that stands for all of `whole`, whose first dimension is the batch."""
    tensor: BatchedTensor = object.__new__(BatchedTensor)
    tensor._array = _example(whole._array)
    tensor._requires_grad = False
    tensor._grad_fn = None
    tensor._output_nr = 0
    tensor._counter = None
    tensor._view = None
    tensor._autograd_meta = None
    tensor._level = level
    tensor._whole = whole
    tensor._place = place
    return tensor


def is_batched(value: Any, level: Level) -> bool:
    """Return whether a value is a tensor that `level` has batched."""
    return value.__class__ is BatchedTensor and value._level is level


def innermost(tensor: Tensor) -> Tensor:
    """Return the ordinary tensor of all examples of all open `vmap`s."""
    while isinstance(tensor, BatchedTensor):
        tensor = tensor._whole
    return tensor


def levels_of(tensor: Tensor) -> list[Level]:
    """Return the `vmap`s that have batched a tensor, the outermost first."""
    found: list[Level] = []
    while isinstance(tensor, BatchedTensor):
        found.insert(0, tensor._level)
        tensor = tensor._whole
    return found


def rewrap(tensor: Tensor, levels: Iterable[Level]) -> Tensor:
    """Return a tensor as examples; its leading dimensions are the batches of `levels`.

    >>> import taper
    >>> taper.func.vmap(lambda example: example.sum())(taper.ones(2, 3))
    tensor([3., 3.])
    """
    for level in levels:
        tensor = batched(tensor, level)
    return tensor


def spread(tensor: Tensor, size: int) -> Tensor:
    """Return an unbatched tensor as a batch of equal examples, on the same memory."""
    return tensor.unsqueeze(0).expand(size, *tensor._array.shape)


def lifted(tensor: Tensor, own: Sequence[Level]) -> Tensor:
    """Return a tensor with the batches `own` as leading dimensions; others stay batches."""
    if not own:
        return tensor
    others = [each for each in levels_of(tensor) if each not in own]
    every = sorted([*own, *others], key=lambda each: each.number)
    whole = bare(tensor, every)
    return rewrap(_reordered(whole, [every.index(each) for each in (*others, *own)]), others)


def lowered(tensor: Tensor, own: Sequence[Level]) -> Tensor:
    """Return a tensor with its leading dimensions, the batches `own`, as batches again."""
    if not own:
        return tensor
    now = [*levels_of(tensor), *own]
    every = sorted(now, key=lambda each: each.number)
    return rewrap(_reordered(innermost(tensor), [now.index(each) for each in every]), every)


def _reordered(tensor: Tensor, order: list[int]) -> Tensor:
    """Return the tensor with its first dimensions in another order."""
    if order == sorted(order):
        return tensor
    turned: Tensor = tensor.permute(*order, *range(len(order), tensor.dim()))
    return turned


def bare(tensor: Any, levels: Sequence[Level]) -> Any:
    """Return the tensor with the batches of `levels`, even missing ones, as leading dimensions."""
    if tensor is None:
        return None
    for level in reversed(levels):
        tensor = tensor._whole if is_batched(tensor, level) else spread(tensor, level.size)
    return tensor
