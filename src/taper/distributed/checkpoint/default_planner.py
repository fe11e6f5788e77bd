"""The plans that are made if nobody says otherwise.

A part of a DTensor is written by one of the processes that have it; what all have alike goes to the
process that has least to write.  On loading, every saved part that overlaps with what this process
has is read, so the number of processes may be another one.
"""

from __future__ import annotations

import dataclasses
import io
from typing import Any

from taper.distributed.checkpoint.flattening import flatten, put
from taper.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from taper.distributed.checkpoint.planner import (
    BytesIOWriteData,
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)
from taper.distributed.tensor.api import DTensor
from taper.distributed.tensor.spread import local_part
from taper.files import load, save
from taper.size import Size
from taper.tensor import Tensor

__all__ = [
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "create_default_global_load_plan",
    "create_default_global_save_plan",
    "create_default_local_load_plan",
    "create_default_local_save_plan",
]


def _chunk_of(value: Tensor) -> ChunkStorageMetadata:
    """Return the part of a tensor that this process has."""
    if isinstance(value, DTensor):
        sizes, offsets = local_part(value.shape, value.device_mesh, value.placements)
        return ChunkStorageMetadata(Size(offsets), Size(sizes))
    return ChunkStorageMetadata(Size([0] * value.dim()), Size(value.shape))


def create_default_local_save_plan(state_dict: dict[str, Any], is_coordinator: bool) -> SavePlan:
    """Return what this process has of flat leaves."""
    items = []
    for name, value in state_dict.items():
        if isinstance(value, Tensor):
            chunk = _chunk_of(value)
            properties = TensorProperties.create_from_tensor(value)
            data = TensorWriteData(chunk, properties, Size(value.shape))
            kind = WriteItemType.SHARD if isinstance(value, DTensor) else WriteItemType.TENSOR
            if chunk.sizes.numel() or not Size(value.shape).numel():
                items.append(WriteItem(MetadataIndex(name, chunk.offsets), kind, tensor_data=data))
        elif is_coordinator:
            items.append(
                WriteItem(
                    MetadataIndex(name), WriteItemType.BYTE_IO, bytes_io_data=BytesIOWriteData(0)
                )
            )
    return SavePlan(items)


def create_default_global_save_plan(
    all_plans: list[SavePlan], rewrite_index_hints: bool = True
) -> tuple[list[SavePlan], Metadata]:
    """Return what each process writes, nothing twice, and what the checkpoint says about itself."""
    plans = _without_repetition(all_plans)
    described: dict[str, Any] = {}
    numbered: list[SavePlan] = []
    for plan in plans:
        items = []
        for item in plan.items:
            name, data = item.index.fqn, item.tensor_data
            if data is None:
                described[name] = BytesStorageMetadata()
                items.append(item)
                continue
            known = described.setdefault(
                name, TensorStorageMetadata(data.properties, data.size, [])
            )
            if known.size != data.size:
                raise ValueError(
                    f"{name}: processes disagree about its shape: {known.size} and {data.size}"
                )
            index = dataclasses.replace(item.index, index=len(known.chunks))
            known.chunks.append(data.chunk)
            items.append(dataclasses.replace(item, index=index))
        numbered.append(dataclasses.replace(plan, items=items))
    for name, each in described.items():
        if isinstance(each, TensorStorageMetadata):
            _check_chunks(name, each)
    return numbered, Metadata(described)


def _without_repetition(plans: list[SavePlan]) -> list[SavePlan]:
    """Give each part to one of the processes that have it, to who has least to write."""
    havers: dict[MetadataIndex, list[int]] = {}
    items: dict[MetadataIndex, WriteItem] = {}
    for rank, plan in enumerate(plans):
        for item in plan.items:
            havers.setdefault(item.index, []).append(rank)
            items[item.index] = item
    written = [0] * len(plans)
    given: list[list[WriteItem]] = [[] for _ in plans]
    # What only one process has goes first, so that the rest can even it out.
    for index, ranks in sorted(havers.items(), key=lambda each: len(each[1])):
        rank = min(ranks, key=lambda each: written[each])
        given[rank].append(items[index])
        written[rank] += items[index].tensor_storage_size() or 1
    return [dataclasses.replace(p, items=g) for p, g in zip(plans, given, strict=True)]


def _check_chunks(name: str, tensor: TensorStorageMetadata) -> None:
    """Refuse a tensor of which a part is missing: processes saved different things."""
    covered = sum(each.sizes.numel() for each in tensor.chunks)
    if covered != tensor.size.numel():
        raise ValueError(
            f"{name}: the parts of all processes have {covered} elements, the tensor "
            f"{tensor.size.numel()}"
        )


class DefaultSavePlanner(SavePlanner):
    """Write all that a state dict has, each part once.

    Args:
        flatten_state_dict: whether nested dictionaries are taken apart.
        flatten_sharded_tensors, enable_plan_caching: accepted.
        dedup_replicated_tensors, dedup_save_to_lowest_rank: accepted; parts go to who has least.
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.mappings: Any = None

    def set_up_planner(
        self, state_dict: dict[str, Any], storage_meta: Any = None, is_coordinator: bool = False
    ) -> None:
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten(state_dict)
        self.state_dict, self.is_coordinator = state_dict, is_coordinator

    def create_local_plan(self) -> SavePlan:
        plan = create_default_local_save_plan(self.state_dict, self.is_coordinator)
        return dataclasses.replace(plan, planner_data=self.mappings)

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        plans, metadata = create_default_global_save_plan(all_plans)
        merged: dict[str, Any] = {}
        for each in plans:
            merged |= each.planner_data or {}
        metadata.planner_data = merged or None
        return plans, metadata

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        value = self.state_dict[write_item.index.fqn]
        if isinstance(value, DTensor):
            value = value._local_tensor
        return self.transform_object(write_item, value)

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """Return what is written for a value: bytes, if it is no tensor."""
        if write_item.type is not WriteItemType.BYTE_IO:
            return object
        made = io.BytesIO()
        save(object, made)
        return made


# --- loading ----------------------------------------------------------------------------------


def create_default_local_load_plan(
    state_dict: dict[str, Any], metadata: Metadata, strict: bool = True
) -> LoadPlan:
    """Return what to read for flat leaves: all saved parts that overlap with what is here."""
    items: list[ReadItem] = []
    for name, value in state_dict.items():
        found = metadata.state_dict_metadata.get(name)
        if found is None:
            if strict:
                raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
            continue
        if not isinstance(found, TensorStorageMetadata):
            index, nothing = MetadataIndex(name), Size([0])
            items.append(ReadItem(LoadItemType.BYTE_IO, index, nothing, index, nothing, Size([0])))
            continue
        if isinstance(value, Tensor):
            if found.size != value.shape:
                raise ValueError(
                    f"Size mismatch between saved {found.size} and current: {Size(value.shape)} "
                    f"for {name}"
                )
            items += _overlaps(name, _chunk_of(value), found)
        else:
            raise ValueError(
                f"Invalid checkpoint metadata for {name}, expected BytesStorageMetadata but found "
                f"{type(found)}"
            )
    return LoadPlan(items)


def _overlaps(
    name: str, wanted: ChunkStorageMetadata, saved: TensorStorageMetadata
) -> list[ReadItem]:
    items = []
    for number, chunk in enumerate(saved.chunks):
        begins, lengths = [], []
        for a, n, b, m in zip(
            wanted.offsets, wanted.sizes, chunk.offsets, chunk.sizes, strict=True
        ):
            begin, end = max(a, b), min(a + n, b + m)
            begins.append(begin)
            lengths.append(max(0, end - begin))
        if not Size(lengths).numel():
            continue
        there = [begin - at for begin, at in zip(begins, chunk.offsets, strict=True)]
        here = [begin - at for begin, at in zip(begins, wanted.offsets, strict=True)]
        items.append(
            ReadItem(
                LoadItemType.TENSOR,
                MetadataIndex(name, wanted.offsets),
                Size(here),
                MetadataIndex(name, chunk.offsets, number),
                Size(there),
                Size(lengths),
            )
        )
    return items


def create_default_global_load_plan(all_plans: list[LoadPlan]) -> list[LoadPlan]:
    """Return the plans: each process reads what it needs."""
    return all_plans


class DefaultLoadPlanner(LoadPlanner):
    """Read all that a state dict asks for, in place.

    Args:
        flatten_state_dict: whether nested dictionaries are taken apart.
        flatten_sharded_tensors: accepted.
        allow_partial_load: whether keys that the checkpoint lacks are left as they are.
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.allow_partial_load = allow_partial_load

    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        self.original_state_dict = state_dict
        self.mappings: Any = None
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten(state_dict)
        self.state_dict, self.metadata = state_dict, metadata
        self.is_coordinator = is_coordinator

    def create_local_plan(self) -> LoadPlan:
        if self.metadata is None:
            raise AssertionError("metadata is not None")
        strict = not self.allow_partial_load
        return create_default_local_load_plan(self.state_dict, self.metadata, strict)

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        return create_default_global_load_plan(global_plan)

    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        return central_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        name, found = read_item.dest_index.fqn, load(value, weights_only=False)
        self.state_dict[name] = found
        if self.flatten_state_dict:
            put(self.original_state_dict, self.mappings[name], found)

    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        value = self.state_dict[read_item.dest_index.fqn]
        local = value._local_tensor if isinstance(value, DTensor) else value
        part: Tensor = local.detach()
        for dim, (begin, length) in enumerate(
            zip(read_item.dest_offsets, read_item.lengths, strict=True)
        ):
            part = part.narrow(dim, begin, length)
        return part

    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        pass
