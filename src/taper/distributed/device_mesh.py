"""A grid of processes, with a group for each of its lines."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.arrays.strides import row_major
from taper.distributed.groups import (
    ProcessGroup,
    default_group,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    is_initialized,
    new_group,
)
from taper.distributed.groups import init_process_group as _init
from taper.tensor import Tensor, wrap

__all__ = ["DeviceMesh", "init_device_mesh"]

Names = tuple[str, ...] | None


class DeviceMesh:
    """Processes as an array of ranks; each dimension divides them into groups.

    Args:
        device_type: the kind of device, "cpu".
        mesh: the ranks, as a tensor or nested lists.
        mesh_dim_names: names of the dimensions.

    >>> from taper import distributed as dist
    >>> from taper.distributed.device_mesh import DeviceMesh
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> DeviceMesh("cpu", [[0]], mesh_dim_names=("dp", "tp"))["dp"].size()
    1
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any,
        *,
        mesh_dim_names: Names = None,
        _groups: list[ProcessGroup] | None = None,
    ) -> None:
        self.device_type = device_type
        ranks = mesh._array if isinstance(mesh, Tensor) else np.array(mesh)
        self._ranks = np.ascontiguousarray(ranks, np.int64)
        self.mesh_dim_names = mesh_dim_names
        if len(np.unique(self._ranks)) != self._ranks.size:
            raise RuntimeError(f"The ranks of a DeviceMesh must be unique: {self._ranks.tolist()}")
        self._groups = self._make_groups() if _groups is None else _groups

    def _make_groups(self) -> list[ProcessGroup]:
        """Make the groups of all lines of the grid; keep those of this process."""
        own: list[ProcessGroup] = []
        whole = list(range(get_world_size()))
        for dim in range(self._ranks.ndim):
            lines = np.moveaxis(self._ranks, dim, -1).reshape(-1, self._ranks.shape[dim])
            for line in lines.tolist():
                group = default_group() if line == whole else new_group(line)
                if get_rank() in line:
                    own.append(group)
        return own

    @property
    def mesh(self) -> Tensor:
        """The ranks, as a tensor."""
        return wrap(self._ranks)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._ranks.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of processes along the dimensions."""
        return self._ranks.shape

    def size(self, mesh_dim: int | None = None) -> int:
        """Return the number of processes, in all or along a dimension."""
        return int(self._ranks.size if mesh_dim is None else self._ranks.shape[mesh_dim])

    def _dim(self, mesh_dim: int | str | None) -> int:
        if isinstance(mesh_dim, str):
            if not self.mesh_dim_names or mesh_dim not in self.mesh_dim_names:
                raise KeyError(f"Mesh dimension {mesh_dim!r} is not one of {self.mesh_dim_names}")
            return self.mesh_dim_names.index(mesh_dim)
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions. Optional kwarg `mesh_dim` "
                "needs to be specified when device_mesh.ndim > 1."
            )
        return mesh_dim or 0

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """Return the group of this process along a dimension."""
        return self._groups[self._dim(mesh_dim)]

    def get_all_groups(self) -> list[ProcessGroup]:
        """Return the groups of this process along all dimensions."""
        return list(self._groups)

    def get_rank(self) -> int:
        """Return the rank of this process among all."""
        return get_rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """Return the rank of this process in its group along a dimension."""
        return get_rank(self.get_group(mesh_dim))

    def get_coordinate(self) -> list[int] | None:
        """Return where this process is in the grid; None if it is not."""
        found = np.argwhere(self._ranks == get_rank())
        return found[0].tolist() if len(found) else None

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        named = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        dims = [self._dim(each) for each in named]
        place: list[Any] = list(self.get_coordinate() or [0] * self.ndim)
        for dim in dims:
            place[dim] = slice(None)
        groups = [self._groups[dim] for dim in dims]
        return DeviceMesh(
            self.device_type, self._ranks[tuple(place)], mesh_dim_names=named, _groups=groups
        )

    @staticmethod
    def from_group(
        group: ProcessGroup, device_type: str, *, mesh_dim_names: Names = None
    ) -> DeviceMesh:
        """Return the line of processes of a group."""
        ranks = get_process_group_ranks(group)
        return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, _groups=[group])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DeviceMesh)
            and self.device_type == other.device_type
            and self.mesh_dim_names == other.mesh_dim_names
            and np.array_equal(self._ranks, other._ranks)
        )

    def __hash__(self) -> int:
        return hash((self.device_type, self.mesh_dim_names, self._ranks.tobytes()))

    def __repr__(self) -> str:
        strides = row_major(self.shape)
        if not self.mesh_dim_names:
            return f"DeviceMesh({self.shape}, '{self.device_type}', stride={strides})"
        named = ", ".join(
            f"{name}={size}" for name, size in zip(self.mesh_dim_names, self.shape, strict=True)
        )
        return f"DeviceMesh(({named}), '{self.device_type}', stride={strides})"


def init_device_mesh(
    device_type: str, mesh_shape: tuple[int, ...], *, mesh_dim_names: Names = None
) -> DeviceMesh:
    """Arrange all processes as a grid, in the order of ranks; make the default group if need be.

    Args:
        device_type: the kind of device, "cpu".
        mesh_shape: the numbers of processes along the dimensions.
        mesh_dim_names: names of the dimensions.

    >>> from taper import distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.init_device_mesh("cpu", (1,)).shape
    (1,)
    >>> dist.destroy_process_group()
    """
    if mesh_dim_names is not None and len(mesh_dim_names) != len(mesh_shape):
        raise RuntimeError(
            "mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): "
            f"{len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}."
        )
    if not is_initialized():
        _init()
    size = int(np.prod(mesh_shape))
    if size != get_world_size():
        raise RuntimeError(
            f"Mesh should not be bigger than default world size {get_world_size()}, but found "
            f"{size} ranks!"
        )
    return DeviceMesh(
        device_type, np.arange(size).reshape(mesh_shape), mesh_dim_names=mesh_dim_names
    )
