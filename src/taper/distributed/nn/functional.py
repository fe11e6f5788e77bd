"""Collectives through which gradients flow: each process calls the same in its backward pass.

The gradient of a collective is the collective that sends the other way.  They return new tensors.
"""

from __future__ import annotations

from typing import Any

from taper.autograd.function import Function
from taper.distributed import collectives, exchanges
from taper.distributed.groups import ProcessGroup, get_rank, get_world_size
from taper.distributed.reduce_ops import RedOpType
from taper.ops.creation.filled import empty_like, zeros_like
from taper.tensor import Tensor

Group = ProcessGroup | None


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Group, tensor: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        result = tensor.clone()
        collectives.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Group, tensor: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        result = tensor.clone()
        collectives.broadcast(result, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        total = _Reduce.apply(ctx.src, RedOpType.SUM, ctx.group, grad)
        return None, None, total if get_rank() == ctx.src else zeros_like(grad)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, group: Group, tensor: Tensor) -> Tensor:
        ctx.dst, ctx.group = dst, group
        result = tensor.clone()
        collectives.reduce(result, dst, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, grad)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Group, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.group = group
        outputs = [empty_like(tensor) for _ in range(get_world_size(group))]
        exchanges.all_gather(outputs, tensor.contiguous(), group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        result = empty_like(grads[0])
        exchanges.reduce_scatter(result, [each.contiguous() for each in grads], group=ctx.group)
        return None, result


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Group, output: Tensor, *inputs: Tensor) -> Tensor:
        ctx.group = group
        result = empty_like(output)
        exchanges.reduce_scatter(result, [each.contiguous() for each in inputs], op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, None, *_AllGather.apply(ctx.group, grad)


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Group, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.dst, ctx.group = dst, group
        outputs = [zeros_like(tensor) for _ in range(get_world_size(group))]
        own = tensor.contiguous()
        exchanges.gather(own, outputs if get_rank() == dst else None, dst, group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *grads)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Group, *tensors: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        result = zeros_like(tensors[0])
        given = [each.contiguous() for each in tensors]
        exchanges.scatter(result, given if get_rank() == src else None, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, *_Gather.apply(ctx.src, ctx.group, grad)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Group, outputs: list[Tensor], *inputs: Tensor) -> Any:
        ctx.group = group
        ctx.shapes = [empty_like(each) for each in inputs]
        results = [empty_like(each) for each in outputs]
        exchanges.all_to_all(results, [each.contiguous() for each in inputs], group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, *_AllToAll.apply(ctx.group, ctx.shapes, *grads)


class _AllToAllSingle(Function):
    @staticmethod
    def forward(ctx: Any, group: Group, output: Tensor, coming: Any, going: Any, x: Tensor) -> Any:
        ctx.group, ctx.coming, ctx.going, ctx.input = group, coming, going, empty_like(x)
        result = empty_like(output)
        exchanges.all_to_all_single(result, x.contiguous(), coming, going, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        back = _AllToAllSingle.apply(ctx.group, ctx.input, ctx.going, ctx.coming, grad)
        return None, None, None, None, back


def all_reduce(tensor: Tensor, op: Any = RedOpType.SUM, group: Group = None) -> Tensor:
    """Combine the tensors of all processes; return the result.

    >>> import taper
    >>> from taper import distributed as dist
    >>> from taper.distributed.nn.functional import all_reduce
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = taper.ones(2, requires_grad=True)
    >>> all_reduce(x).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    return _AllReduce.apply(op, group, tensor)


def broadcast(tensor: Tensor, src: int, group: Group = None) -> Tensor:
    """Return the tensor of one process, everywhere."""
    return _Broadcast.apply(src, group, tensor)


def reduce(tensor: Tensor, dst: int, op: Any = RedOpType.SUM, group: Group = None) -> Tensor:
    """Combine the tensors of all processes; return the result on one of them."""
    return _Reduce.apply(dst, op, group, tensor)


def all_gather(tensor: Tensor, group: Group = None) -> tuple[Tensor, ...]:
    """Return the tensors of all processes."""
    return _AllGather.apply(group, tensor)


def gather(tensor: Tensor, dst: int = 0, group: Group = None) -> tuple[Tensor, ...]:
    """Return the tensors of all processes, on one of them."""
    return _Gather.apply(dst, group, tensor)


def scatter(tensors: list[Tensor], src: int = 0, group: Group = None) -> Tensor:
    """Return the tensor of this process from a list that one process has."""
    return _Scatter.apply(src, group, *tensors)


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = RedOpType.SUM, group: Group = None
) -> Tensor:
    """Combine the lists of all processes; return the tensor of this one."""
    return _ReduceScatter.apply(op, group, output, *input_list)


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Group = None
) -> tuple[Tensor, ...]:
    """Send one tensor from each process to each; return those that came."""
    return _AllToAll.apply(group, output_tensor_list, *input_tensor_list)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Group = None,
) -> Tensor:
    """Send one part of a tensor from each process to each; return the parts that came."""
    return _AllToAllSingle.apply(group, output, output_split_sizes, input_split_sizes, input)
