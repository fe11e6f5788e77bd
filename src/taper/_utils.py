"""PyTorch's private helpers that libraries import from `torch._utils`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any

from taper.absent import compilers
from taper.device import device
from taper.dtypes import dtype
from taper.nn.parameter import _rebuild_parameter, _rebuild_parameter_with_state
from taper.ops.shape.join import cat
from taper.ops.shape.parts import narrow
from taper.ops.sparse.rules import _rebuild_sparse_tensor
from taper.pickling import _rebuild_tensor_v2
from taper.tensor import Tensor
from taper.utils.data._utils.errors import ExceptionWrapper

__all__ = [
    "ExceptionWrapper",
    "_element_size",
    "_flatten_dense_tensors",
    "_get_all_device_indices",
    "_get_available_device_type",
    "_get_device_index",
    "_get_device_module",
    "_import_dotted_name",
    "_rebuild_parameter",
    "_rebuild_parameter_with_state",
    "_rebuild_sparse_tensor",
    "_rebuild_tensor",
    "_rebuild_tensor_v2",
    "_reorder_tensors_as",
    "_take_tensors",
    "_unflatten_dense_tensors",
    "classproperty",
    "is_compiling",
]

is_compiling = compilers.not_at_work


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """Return all elements in one vector; of a single tensor it is a view.

    >>> import taper
    >>> from taper._utils import _flatten_dense_tensors
    >>> _flatten_dense_tensors([taper.ones(2), taper.zeros(1, 2)])
    tensor([1., 1., 0., 0.])
    """
    vectors = [each.contiguous().view(-1) for each in tensors]
    return vectors[0] if len(vectors) == 1 else cat(vectors)


def _unflatten_dense_tensors(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Return views of a vector in the shapes of `tensors`, from which it was made.

    >>> import taper
    >>> from taper._utils import _unflatten_dense_tensors
    >>> _unflatten_dense_tensors(taper.arange(3), [taper.ones(1), taper.ones(2)])
    (tensor([0]), tensor([1, 2]))
    """
    parts, start = [], 0
    for each in tensors:
        parts.append(narrow(flat, 0, start, each.numel()).view(each.shape))
        start += each.numel()
    return tuple(parts)


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Yield groups of tensors of one type that take at most `size_limit` bytes, rests last.

    >>> import taper
    >>> from taper._utils import _take_tensors
    >>> [len(group) for group in _take_tensors([taper.ones(3), taper.ones(2), taper.ones(9)], 24)]
    [2, 1]
    """
    groups: dict[str, tuple[list[Tensor], int]] = {}
    for each in tensors:
        kind, nbytes = each.type(), each.numel() * each.element_size()
        group, taken = groups.get(kind, ([], 0))
        if group and taken + nbytes > size_limit:
            yield group
            group, taken = [], 0
        groups[kind] = ([*group, each], taken + nbytes)
    yield from (group for group, _ in groups.values() if group)


def _reorder_tensors_as(tensors: Iterable[Tensor], ordered: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Return tensors that are sorted by type in the order of the types in `ordered`."""
    by_type: dict[str, list[Tensor]] = {}
    for each in tensors:
        by_type.setdefault(each.type(), []).append(each)
    waiting = {kind: iter(group) for kind, group in by_type.items()}
    return tuple(next(waiting[each.type()]) for each in ordered)


def _element_size(dtype: dtype) -> int:
    """Return how many bytes an element of a dtype takes."""
    return dtype.itemsize


def _rebuild_tensor(
    storage: Any, storage_offset: int, size: tuple[int, ...], stride: tuple[int, ...]
) -> Tensor:
    """Return a tensor on the memory of a typed storage."""
    return _rebuild_tensor_v2(storage, storage_offset, size, stride, False, None)


def _get_available_device_type() -> str | None:
    """Return the kind of accelerator that is there, or None."""
    for name in ("cuda", "mps", "xpu", "mtia"):
        if _get_device_module(name).is_available():
            return name
    return None


def _get_device_module(device_type: str) -> ModuleType:
    """Return the module of a kind of device, such as `torch.cpu`."""
    try:
        # late: which module, the argument says
        return importlib.import_module(f"taper.{device_type}")
    except ModuleNotFoundError:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as "
            f"'torch.{device_type}'."
        ) from None


def _get_all_device_indices() -> list[int] | None:
    """Return the numbers of all accelerators; None without any."""
    kind = _get_available_device_type()
    return None if kind is None else list(range(_get_device_module(kind).device_count()))


def _get_device_index(device_: Any, optional: bool = False, allow_cpu: bool = False) -> int | None:
    """Return the number of an accelerator, given as a number, a name or a device."""
    where = device(device_) if isinstance(device_, str) else device_
    if isinstance(where, device):
        if where.type == "cpu" and not allow_cpu:
            raise ValueError(f"Expected a non cpu device, but got: {where}")
        index = -1 if where.type == "cpu" else where.index
    else:
        index = where
    if index is None and not optional:
        raise ValueError(
            f"Expected a torch.device with a specified index or an integer, but got:{device_}"
        )
    return index


def _import_dotted_name(name: str) -> Any:
    """Return what a name such as `torch.nn.Linear` stands for."""
    first, *rest = name.split(".")
    # late: which module, the argument says
    found: Any = importlib.import_module("taper" if first == "torch" else first)
    for part in rest:
        found = getattr(found, part)
    return found


class classproperty:
    """A property of a class, read on the class or an object of it."""

    def __init__(self, func: Callable[[Any], Any]) -> None:
        self.func = func

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.func(type(instance) if owner is None else owner)
