"""Tensors as the flat arrays that backends carry: checks with PyTorch's texts, and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from taper.distributed.groups import ProcessGroup, get_group_rank
from taper.tensor import Tensor


def check_tensor(value: Any, name: str) -> None:
    """Raise if a parameter is no tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead."
        )


def check_list(value: Any, name: str) -> None:
    """Raise if a parameter is no list of tensors."""
    if not isinstance(value, list) or not all(isinstance(each, Tensor) for each in value):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(value)} instead."
        )


def check_same_dtype(*tensors: Tensor | Sequence[Tensor] | None) -> None:
    """Raise if tensors differ in dtype."""
    flat = [
        each
        for given in tensors
        for each in ([given] if isinstance(given, Tensor) else given or ())
    ]
    for each in flat[1:]:
        if each.dtype != flat[0].dtype:
            raise ValueError(
                "Invalid usage of tensors with different dtypes"
                f"Found {flat[0].dtype} and  {each.dtype}"
            )


def in_parentheses(shape: Sequence[int]) -> str:
    """Return a shape as C++ prints it."""
    return str(tuple(shape)).replace(",)", ")")


def check_shapes(tensors: Sequence[Tensor], expected: Tensor, function: str) -> None:
    """Raise if tensors differ in shape or dtype from one that they must fit."""
    for index, each in enumerate(tensors):
        if each.shape != expected.shape:
            raise RuntimeError(
                f"ProcessGroupGloo::{function}: invalid tensor size at index {index} (expected "
                f"{in_parentheses(expected.shape)}, got {in_parentheses(each.shape)})"
            )
        if each.dtype != expected.dtype:
            raise RuntimeError(
                f"ProcessGroupGloo::{function}: invalid tensor type at index {index} (expected "
                f"{expected.dtype}, got {each.dtype})"
            )


def root_in_group(
    group: ProcessGroup, function: str, rank: int | None, group_rank: int | None
) -> int:
    """Return the number in the group of the one process that gives or gets."""
    if rank is not None and group_rank is not None:
        raise ValueError("Can't specify both group_rank and global_rank")
    if rank is None and group_rank is None:
        raise ValueError("Must specify global_rank or group_rank")
    root = get_group_rank(group, rank) if rank is not None else group_rank
    if root is None or not 0 <= root < group.size():
        raise RuntimeError(f"ProcessGroupGloo::{function}: invalid root rank: {root}")
    return root


class Flat:
    """Flat arrays for tensors; arrays of tensors that are not row-major are copies."""

    __slots__ = ("_copies",)

    def __init__(self) -> None:
        self._copies: list[tuple[np.ndarray, np.ndarray]] = []

    def of(self, tensor: Tensor, is_written: bool = True) -> np.ndarray:
        """Return the elements of a tensor as a flat array."""
        if tensor._change is not None:
            if is_written:
                raise RuntimeError(
                    "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the "
                    "conjugate tensor so you can view it as real, use self.resolve_conj(); "
                    "however, be warned that the resulting tensor will NOT alias the original."
                )
            tensor = tensor.resolve_conj().resolve_neg()
        array = tensor._array
        if array.flags.c_contiguous:
            return array.reshape(-1)
        flat = array.copy().reshape(-1)
        if is_written:
            self._copies.append((array, flat))
        return flat

    def all_of(self, tensors: Sequence[Tensor], is_written: bool = True) -> list[np.ndarray]:
        """Return the elements of several tensors."""
        return [self.of(each, is_written) for each in tensors]

    def write_back(self) -> None:
        """Write copies back into the tensors."""
        for array, flat in self._copies:
            np.copyto(array, flat.reshape(array.shape))
