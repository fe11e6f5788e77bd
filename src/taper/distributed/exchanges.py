"""Collectives of lists of tensors: gather, scatter, reduce_scatter, all_to_all and their kin.

They follow the rules of `collectives.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taper.distributed.collectives import run_flat
from taper.distributed.groups import ProcessGroup, member_group
from taper.distributed.reduce_ops import RedOpType, check_dtype, checked
from taper.distributed.tensors import (
    Flat,
    check_list,
    check_same_dtype,
    check_shapes,
    check_tensor,
    root_in_group,
)
from taper.distributed.works import Work
from taper.tensor import Tensor

Group = ProcessGroup | None


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """Collect the tensors of all processes, for all.

    Args:
        tensor_list: a tensor for each process, which is written.
        tensor: what this process has.
        group: who takes part; all without it.
        async_op: return at once, with a `Work`.

    >>> import taper
    >>> from taper import distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> found = [taper.zeros(2)]
    >>> dist.all_gather(found, taper.ones(2))
    >>> found
    [tensor([1., 1.])]
    >>> dist.destroy_process_group()
    """
    check_list(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    check_same_dtype(tensor_list, tensor)
    members = member_group(group, "all_gather")
    if members is None:
        return None
    if len(tensor_list) != members.size():
        raise RuntimeError(
            "ProcessGroupGloo::allgather: invalid output tensor list at index 0 (expected length "
            f"{members.size()}, got {len(tensor_list)})"
        )
    return _all_gather(members, tensor_list, tensor, async_op, "all_gather", tensor_list)


def _all_gather(
    group: ProcessGroup,
    outputs: Sequence[Tensor],
    tensor: Tensor,
    async_op: bool,
    operation: str,
    result: list[Tensor],
) -> Work | None:
    check_shapes(outputs, tensor, "allgather")
    check_dtype(tensor)
    flat = Flat()
    array, targets = flat.of(tensor, False), flat.all_of(outputs)
    return run_flat(
        group,
        operation,
        flat,
        lambda: group._transport.all_gather(targets, array),
        result,
        async_op,
    )


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """Collect the tensors of all processes into one, for all.

    Args:
        output_tensor: has the tensors behind each other along its first dimension.
        input_tensor: what this process has.
        group: who takes part; all without it.
        async_op: return at once, with a `Work`.
    """
    check_tensor(input_tensor, "input_tensor")
    check_tensor(output_tensor, "output_tensor")
    members = member_group(group, "all_gather_into_tensor")
    if members is None:
        return None
    parts = list(output_tensor.detach().chunk(members.size()))
    return _all_gather(
        members, parts, input_tensor, async_op, "all_gather_into_tensor", [output_tensor]
    )


all_gather_single = all_gather_into_tensor


def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]],
    input_tensor_list: list[Tensor],
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Do `all_gather` for several tensors."""
    members = member_group(group, "all_gather_coalesced")
    if members is None:
        return None
    check_list(input_tensor_list, "tensor_list")
    flat = Flat()
    pairs = []
    for place, tensor in enumerate(input_tensor_list):
        outputs = [each[place] for each in output_tensor_lists]
        check_shapes(outputs, tensor, "allgather")
        pairs.append((flat.all_of(outputs), flat.of(tensor, False)))

    def job() -> None:
        for outputs, array in pairs:
            members._transport.all_gather(outputs, array)

    return run_flat(members, "all_gather_coalesced", flat, job, output_tensor_lists, async_op)


def _list_size(function: str, which: str, count: int, size: int) -> str:
    return (
        f"ProcessGroupGloo::{function}: Incorrect {which} list size {count}. "
        f"{which.capitalize()} list size should be {size}, same as size of the process group."
    )


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Collect the tensors of all processes, for one of them.

    Args:
        tensor: what this process has.
        gather_list: on the process that gets them, a tensor for each process, which is written.
        dst: the rank that gets them; 0 without it.
        group: who takes part; all without it.
        async_op: return at once, with a `Work`.
        group_dst: the rank in the group that gets them, instead of `dst`.
    """
    check_tensor(tensor, "tensor")
    members = member_group(group, "gather")
    if members is None:
        return None
    if dst is None and group_dst is None:
        dst = 0
    root = root_in_group(members, "gather", dst, group_dst)
    outputs = _only_at_root(members, root, gather_list, "gather_list", "destination")
    if outputs is not None:
        if len(outputs) != members.size():
            raise RuntimeError(_list_size("gather", "output", len(outputs), members.size()))
        check_same_dtype(tensor, outputs)
        check_shapes(outputs, tensor, "gather")
    check_dtype(tensor)
    flat = Flat()
    array = flat.of(tensor, False)
    targets = None if outputs is None else flat.all_of(outputs)
    return run_flat(
        members,
        "gather",
        flat,
        lambda: members._transport.gather(targets, array, root),
        outputs or [],
        async_op,
    )


def _only_at_root(
    group: ProcessGroup, root: int, given: list[Tensor] | None, name: str, end: str
) -> list[Tensor] | None:
    if group.rank() == root:
        if not given:
            raise ValueError(f"Argument ``{name}`` must be specified on {end} rank.")
        check_list(given, name)
        return given
    if given:
        raise ValueError(f"Argument ``{name}`` must NOT be specified on non-{end} ranks.")
    return None


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give each process one tensor of a list.

    Args:
        tensor: is written.
        scatter_list: on the process that gives, a tensor for each process.
        src: the rank that gives; 0 without it.
        group: who takes part; all without it.
        async_op: return at once, with a `Work`.
        group_src: the rank in the group that gives, instead of `src`.
    """
    check_tensor(tensor, "tensor")
    members = member_group(group, "scatter")
    if members is None:
        return None
    if src is None and group_src is None:
        src = 0
    root = root_in_group(members, "scatter", src, group_src)
    inputs = _only_at_root(members, root, scatter_list, "scatter_list", "source")
    if inputs is not None:
        if len(inputs) != members.size():
            raise RuntimeError(_list_size("scatter", "input", len(inputs), members.size()))
        check_same_dtype(tensor, inputs)
        check_shapes(inputs, tensor, "scatter")
    check_dtype(tensor)
    flat = Flat()
    array = flat.of(tensor)
    sources = None if inputs is None else flat.all_of(inputs, False)
    return run_flat(
        members,
        "scatter",
        flat,
        lambda: members._transport.scatter(array, sources, root),
        [tensor],
        async_op,
    )


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: Any = RedOpType.SUM,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Combine the lists of all processes, and give each process one of the tensors.

    Args:
        output: is written.
        input_list: a tensor for each process.
        op: how to combine, of `ReduceOp`.
        group: who takes part; all without it.
        async_op: return at once, with a `Work`.
    """
    check_tensor(output, "output")
    check_list(input_list, "input_list")
    check_same_dtype(output, input_list)
    members = member_group(group, "reduce_scatter")
    if members is None:
        return None
    if len(input_list) != members.size():
        raise RuntimeError("invalid input tensor list size, must be world size")
    check_shapes(input_list, output, "reduce_scatter")
    return _reduce_scatter(members, output, input_list, op, async_op, "reduce_scatter")


def _reduce_scatter(
    group: ProcessGroup,
    output: Tensor,
    inputs: Sequence[Tensor],
    op: Any,
    async_op: bool,
    operation: str,
) -> Work | None:
    kind = checked(op, output, operation)
    flat = Flat()
    target, sources = flat.of(output), flat.all_of(inputs, False)
    return run_flat(
        group,
        operation,
        flat,
        lambda: group._transport.reduce_scatter(target, sources, kind),
        [output],
        async_op,
    )


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: Any = RedOpType.SUM,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Combine the tensors of all processes, and give each process one part.

    Args:
        output: is written.
        input: has the parts behind each other along its first dimension.
        op: how to combine, of `ReduceOp`.
        group: who takes part; all without it.
        async_op: return at once, with a `Work`.
    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    members = member_group(group, "reduce_scatter_tensor")
    if members is None:
        return None
    if output.dtype != input.dtype:
        raise RuntimeError(
            "Check failed: outputTensors[i].dtype() == inputTensors[i].dtype() "
            f"({output.dtype} vs. {input.dtype}). "
        )
    size = members.size()
    if output.numel() * size != input.numel():
        rows = (output.shape[0] if output.dim() else 1, input.shape[0] if input.dim() else 1)
        raise RuntimeError(
            "Check failed: outputShape[0] * worldSize == inputShape[0] "
            f"({rows[0] * size} vs. {rows[1]}). "
        )
    parts = list(input.detach().contiguous().view(size, -1).unbind())
    return _reduce_scatter(members, output, parts, op, async_op, "reduce_scatter_tensor")


reduce_scatter_single = reduce_scatter_tensor


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Send one tensor from each process to each.

    Args:
        output_tensor_list: a tensor for each process that sends, which is written.
        input_tensor_list: a tensor for each process that gets one.
        group: who takes part; all without it.
        async_op: return at once, with a `Work`.
    """
    check_list(output_tensor_list, "output_tensor_list")
    check_list(input_tensor_list, "input_tensor_list")
    check_same_dtype(output_tensor_list, input_tensor_list)
    members = member_group(group, "all_to_all")
    if members is None:
        return None
    size = members.size()
    for which, given in (("input", input_tensor_list), ("output", output_tensor_list)):
        if len(given) != size:
            raise RuntimeError(
                f"ProcessGroupGloo::alltoall: {which} tensor list size {len(given)} does not match "
                f"world size {size}"
            )
    return _all_to_all(
        members, output_tensor_list, input_tensor_list, async_op, "all_to_all", output_tensor_list
    )


def _all_to_all(
    group: ProcessGroup,
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    async_op: bool,
    operation: str,
    result: list[Tensor],
) -> Work | None:
    check_dtype(inputs[0])
    flat = Flat()
    sources, targets = flat.all_of(inputs, False), flat.all_of(outputs)
    return run_flat(
        group,
        operation,
        flat,
        lambda: group._transport.all_to_all(targets, sources),
        result,
        async_op,
    )


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Send one part of a tensor from each process to each.

    Args:
        output: has the parts that come, along its first dimension.
        input: has the parts that go.
        output_split_sizes: the lengths of the parts that come; equal parts without it.
        input_split_sizes: the lengths of the parts that go; equal parts without it.
        group: who takes part; all without it.
        async_op: return at once, with a `Work`.
    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    check_same_dtype(output, input)
    members = member_group(group, "all_to_all_single")
    if members is None:
        return None
    size = members.size()
    outputs = _parts(output, output_split_sizes, size)
    inputs = _parts(input, input_split_sizes, size)
    return _all_to_all(members, outputs, inputs, async_op, "all_to_all_single", [output])


def _parts(tensor: Tensor, sizes: Sequence[int] | None, count: int) -> list[Tensor]:
    """Return the parts of a tensor along its first dimension."""
    length = tensor.shape[0] if tensor.dim() else 1
    if not sizes:
        if length % count:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        sizes = [length // count] * count
    if len(sizes) != count:
        raise RuntimeError("Number of tensor splits not equal to group size")
    if sum(sizes) != length:
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    return list(tensor.detach().reshape(tensor.shape or (1,)).split(list(sizes)))
