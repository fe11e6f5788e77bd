"""Collating: samples become batches, element by element of whatever they are made of."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from taper.autograd.state import local
from taper.autograd.views import requires_grad
from taper.device import strided
from taper.dtypes import float64
from taper.ops.creation.data import as_tensor, tensor
from taper.ops.shape.split import stack
from taper.tensor import Tensor, wrap
from taper.utils.data._utils import transport

CollateFunctions = dict[type | tuple[type, ...], Callable[..., Any]]

_PLAIN = {Tensor}
np_str_obj_array_pattern = re.compile(r"[SaUO]")
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_convert(data: Any) -> Any:
    """Turn NumPy arrays and scalars, even inside containers, into tensors; keep the rest.

    Args:
        data: any value.

    >>> import numpy
    >>> from taper.utils.data import default_convert
    >>> default_convert({"a": numpy.array([1, 2]), "b": "text"})
    {'a': tensor([1, 2]), 'b': 'text'}
    """
    if isinstance(data, Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)) and type(data).__module__ == "numpy":
        if isinstance(data, (np.str_, np.bytes_)):
            return data
        if isinstance(data, np.ndarray) and np_str_obj_array_pattern.search(data.dtype.str):
            return data
        return as_tensor(data)
    if isinstance(data, Mapping):
        return _mapping_like(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(each) for each in data))
    if isinstance(data, tuple):
        return [default_convert(each) for each in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _sequence_like(data, [default_convert(each) for each in data])
    return data


def _mapping_like(example: Any, items: dict[Any, Any]) -> Any:
    """Return a mapping of the example's class, if possible."""
    try:
        if isinstance(example, MutableMapping):
            # A copy, since classes such as defaultdict cannot be made from the items alone.
            made = copy.copy(example)
            made.update(items)
            return made
        return type(example)(items)
    except TypeError:
        return items


def _sequence_like(example: Any, elements: list[Any]) -> Any:
    """Return a sequence of the example's class, if possible."""
    try:
        if isinstance(example, MutableSequence):
            made = copy.copy(example)
            for number, each in enumerate(elements):
                made[number] = each
            return made
        return type(example)(elements)
    except TypeError:
        return elements


def collate(batch: Any, *, collate_fn_map: CollateFunctions | None = None) -> Any:
    """Return a batch of samples as one sample of batches; `collate_fn_map` has a way by class.

    >>> from taper.utils.data._utils.collate import collate
    >>> collate([[1, 2], [3, 4]], collate_fn_map={int: lambda batch, *, collate_fn_map: sum(batch)})
    [4, 6]
    """
    example = batch[0]
    kind = type(example)
    if collate_fn_map is not None:
        function = collate_fn_map.get(kind)
        if function is not None:
            return function(batch, collate_fn_map=collate_fn_map)
        for each, function in collate_fn_map.items():
            if isinstance(example, each):
                return function(batch, collate_fn_map=collate_fn_map)

    def joined(samples: Any) -> Any:
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(example, Mapping):
        items = {key: joined([sample[key] for sample in batch]) for key in example}
        return _mapping_like(example, items)
    if isinstance(example, tuple) and hasattr(example, "_fields"):
        return kind(*(joined(samples) for samples in zip(*batch, strict=False)))
    if isinstance(example, Sequence):
        if any(len(sample) != len(example) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        elements = [joined(samples) for samples in zip(*batch, strict=True)]
        return elements if isinstance(example, tuple) else _sequence_like(example, elements)
    raise TypeError(default_collate_err_msg_format.format(kind))


def default_collate(batch: Any) -> Any:
    """Join a list of samples to a batch: tensors are stacked, numbers become tensors, texts a list.

    Containers are collated element by element and keep their class; tuples become lists.

    Args:
        batch: the samples.

    >>> from taper.utils.data import default_collate
    >>> default_collate([(1, "a"), (2, "b")])
    [tensor([1, 2]), ('a', 'b')]
    >>> default_collate([{"x": 1.5}, {"x": 2.5}])
    {'x': tensor([1.5000, 2.5000], dtype=torch.float64)}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


# --- one function for each class -------------------------------------------------------------


def collate_tensor_fn(batch: Any, *, collate_fn_map: CollateFunctions | None = None) -> Any:
    """Stack tensors."""
    arrays = _plain_arrays(batch)
    if arrays is not None:
        return wrap(_stacked(arrays))
    if transport.in_worker() and any(map(requires_grad, batch)):
        # PyTorch's workers stack into shared memory, which cannot be recorded.
        raise RuntimeError(
            "stack(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad."
        )
    if any(each.layout is not strided for each in batch):
        raise RuntimeError(
            "Batches of sparse tensors are not currently supported by the default collate_fn; "
            "please provide a custom collate_fn to handle them appropriately."
        )
    return stack(batch, 0)


def _plain_arrays(batch: Any) -> list[np.ndarray] | None:
    """Return the arrays of plain tensors that look alike, which `stack` need not check."""
    if type(batch) not in (list, tuple) or local.state.mode > 1 or set(map(type, batch)) != _PLAIN:
        return None
    if any([each._requires_grad and requires_grad(each) for each in batch]):
        return None
    arrays = [each._array for each in batch]
    shape, dtype = arrays[0].shape, arrays[0].dtype
    for each in arrays:
        if type(each) is not np.ndarray or each.shape != shape or each.dtype is not dtype:
            return None
    return arrays


def _stacked(arrays: list[np.ndarray]) -> np.ndarray:
    """Stack arrays that look alike: 64 small ones take a fifth of the time of `stack`."""
    first = arrays[0]
    if transport.in_worker() and first.nbytes * len(arrays) >= transport.LARGE:
        return np.stack(arrays, 0, transport.empty((len(arrays), *first.shape), first.dtype))
    return np.array(arrays, first.dtype)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: CollateFunctions | None = None) -> Any:
    """Stack arrays of numbers."""
    dtype = batch[0].dtype
    if np_str_obj_array_pattern.search(dtype.str) is not None:
        raise TypeError(default_collate_err_msg_format.format(dtype))
    return collate([as_tensor(each) for each in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: CollateFunctions | None = None) -> Any:
    """Put NumPy's numbers into one tensor of their dtype."""
    return as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: CollateFunctions | None = None) -> Any:
    """Put numbers into one tensor of float64."""
    return tensor(batch, dtype=float64)


def collate_int_fn(batch: Any, *, collate_fn_map: CollateFunctions | None = None) -> Any:
    """Put integers into one tensor."""
    return tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: CollateFunctions | None = None) -> Any:
    """Return texts unchanged."""
    return batch


default_collate_fn_map: CollateFunctions = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
"""How `default_collate` joins samples of a class; programs may add their own."""
