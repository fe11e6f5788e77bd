"""DTensor: a tensor whose parts lie in several processes.

A DTensor has the part of this process as a plain tensor, `_local_tensor`, whose history, gradient
and hooks are its own; shape and strides are those of the whole.  It has no array: an operator that
asks for one hears an AttributeError, hence turns to `bad_arguments`, which finds `_run_operator`
(see `rules.py`).  So operators on plain tensors pay nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from taper.arrays.strides import row_major, wrap_dim
from taper.autograd.grad_mode import no_grad
from taper.autograd.overrides import _disabled_torch_function_impl
from taper.distributed import collectives
from taper.distributed.device_mesh import DeviceMesh
from taper.distributed.groups import default_group
from taper.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard
from taper.distributed.tensor.spread import (
    Placements,
    Redistribute,
    _FromTorchTensor,
    _ToTorchTensor,
    local_part,
    normalized,
)
from taper.nn.modules.module import Module
from taper.nn.parameter import Parameter
from taper.size import Size
from taper.tensor import Tensor

__all__ = ["DTensor", "distribute_module", "distribute_tensor"]


class NoArrayError(AttributeError):
    """What a DTensor answers to whoever asks for its array."""


def _slot_of_local(name: str) -> property:
    def read(self: Any) -> Any:
        return getattr(self._local_tensor, name)

    def write(self: Any, value: Any) -> None:
        setattr(self._local_tensor, name, value)

    return property(read, write)


class DTensor(Tensor):
    """A tensor whose parts lie in the processes of a mesh: `distribute_tensor` makes one.

    >>> import taper
    >>> from taper import distributed as dist
    >>> from taper.distributed.tensor import Shard, distribute_tensor
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> spread = distribute_tensor(taper.ones(2), mesh, [Shard(0)])
    >>> spread.to_local()
    tensor([1., 1.])
    >>> (spread + spread).full_tensor()
    tensor([2., 2.])
    >>> dist.destroy_process_group()
    """

    __slots__ = ()

    _local_tensor: Tensor = None  # type: ignore[assignment]
    _placements: Placements
    _mesh: DeviceMesh
    _whole: Size
    _wrapped_grad: Any

    __torch_function__ = _disabled_torch_function_impl

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        raise RuntimeError("use DTensor.from_local or distribute_tensor to make a DTensor")

    @property
    def _array(self) -> Any:  # type: ignore[override]
        raise NoArrayError(
            "a DTensor has no array of its own here: use to_local() for the part of this process, "
            "full_tensor() for the whole"
        )

    _requires_grad = _slot_of_local("_requires_grad")
    _grad_fn = _slot_of_local("_grad_fn")
    _output_nr = _slot_of_local("_output_nr")
    _counter = _slot_of_local("_counter")
    _view = _slot_of_local("_view")
    _autograd_meta = _slot_of_local("_autograd_meta")
    device = _slot_of_local("device")

    # --- making ------------------------------------------------------------------------------

    @staticmethod
    def _of(local: Tensor, mesh: DeviceMesh, placements: Placements, shape: Sequence[int]) -> Any:
        """Make a DTensor that has this very tensor as its part."""
        made: Any = object.__new__(DTensor)
        made._local_tensor, made._mesh, made._placements = local, mesh, placements
        made._whole, made._wrapped_grad = Size(shape), None
        return made

    def _like(self, local: Tensor) -> Any:
        return DTensor._of(local, self._mesh, self._placements, self._whole)

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Any = None,
        stride: Any = None,
        grad_placements: Any = None,
    ) -> DTensor:
        """Make a DTensor of the parts that processes have.

        Args:
            local_tensor: the part of this process; gradients flow back to it.
            device_mesh: the processes; all of them without it.
            placements: how the tensor lies along each dimension of the mesh; replicated without.
            run_check: give the tensor of the first process to all where it is replicated.
            shape, stride: of the whole; needed if parts differ in length.
            grad_placements: accepted.
        """
        mesh = DeviceMesh.from_group(default_group(), "cpu") if device_mesh is None else device_mesh
        found = normalized(placements, mesh, local_tensor.dim())
        if shape is None:
            sizes = list(local_tensor.shape)
            for along, each in zip(mesh.shape, found, strict=True):
                if isinstance(each, Shard):
                    sizes[each.dim] *= along
            shape = sizes
        if run_check:
            for dim, each in enumerate(found):
                if isinstance(each, Replicate):
                    collectives.broadcast(
                        local_tensor.detach(), group=mesh.get_group(dim), group_src=0
                    )
        is_recorded = local_tensor.requires_grad
        local = _FromTorchTensor.apply(local_tensor) if is_recorded else local_tensor.detach()
        return DTensor._of(local, mesh, found, shape)

    # --- what it is --------------------------------------------------------------------------

    @property
    def device_mesh(self) -> DeviceMesh:
        """The processes among which the tensor lies."""
        return self._mesh

    @property
    def placements(self) -> Placements:
        """How the tensor lies along each dimension of the mesh."""
        return self._placements

    @property
    def shape(self) -> Size:
        return self._whole

    @property
    def ndim(self) -> int:
        return len(self._whole)

    @property
    def dtype(self) -> Any:
        return self._local_tensor.dtype

    @property
    def itemsize(self) -> int:
        return self._local_tensor.itemsize

    @property
    def nbytes(self) -> int:
        return self.numel() * self.itemsize

    def size(self, dim: int | None = None) -> Any:
        return self._whole if dim is None else self._whole[wrap_dim(dim, self.ndim)]

    def dim(self) -> int:
        return self.ndim

    ndimension = dim

    def numel(self) -> int:
        return self._whole.numel()

    nelement = numel

    def stride(self, dim: int | None = None) -> Any:
        strides = row_major(self._whole)
        return strides if dim is None else strides[wrap_dim(dim, self.ndim)]

    def element_size(self) -> int:
        return self._local_tensor.element_size()

    def __len__(self) -> int:
        return self._whole[0]

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        local = self._local_tensor.detach()
        return (
            f"DTensor(local_tensor={local}, device_mesh={self._mesh}, placements="
            f"{self._placements})"
        )

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        known = memo.get(id(self))
        if known is None:
            local = self._local_tensor
            copied = local.detach().clone().requires_grad_(local.requires_grad)
            known = memo[id(self)] = self._like(copied)
            if getattr(self, "_is_param", False):
                known._is_param = True
        return known

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise NotImplementedError(
            "a DTensor cannot be pickled, since other processes have the rest of it: save "
            "full_tensor(), or use torch.distributed.checkpoint"
        )

    def tolist(self) -> NoReturn:
        raise RuntimeError(".tolist() is not supported for tensor subclasses, got DTensor")

    def numpy(self, *, force: bool = False) -> NoReturn:
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    # --- moving ------------------------------------------------------------------------------

    def to_local(self, *, grad_placements: Any = None) -> Tensor:
        """Return the part of this process, through which gradients flow."""
        local = self._local_tensor
        return _ToTorchTensor.apply(local) if local.requires_grad else local

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
        forward_dtype: Any = None,
        backward_dtype: Any = None,
    ) -> DTensor:
        """Return the tensor with other placements; gradients take the way back.

        Args:
            device_mesh: the same mesh, or None.
            placements: how the tensor shall lie.
            async_op, forward_dtype, backward_dtype: accepted; there is one way.
        """
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        if device_mesh is not None and device_mesh != self._mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        target = normalized(placements, self._mesh, self.ndim)
        for was, wanted in zip(self._placements, target, strict=True):
            if isinstance(wanted, Partial) and was != wanted:
                raise RuntimeError(
                    f"Can not redistribute from {was} to {wanted}, redistributing to Partial is "
                    "for internal use only!"
                )
        local = Redistribute.apply(
            self._local_tensor, self._mesh, self._whole, self._placements, target
        )
        made: DTensor = DTensor._of(local, self._mesh, target, self._whole)
        return made

    def full_tensor(self, *, grad_placements: Any = None) -> Tensor:
        """Return the whole tensor, in every process."""
        return self.redistribute(placements=[Replicate()] * self._mesh.ndim).to_local()

    # --- autograd ----------------------------------------------------------------------------

    @property
    def grad(self) -> Any:
        """The gradient, spread as the tensor is."""
        found = self._local_tensor.grad
        if found is None:
            self._wrapped_grad = None
        elif self._wrapped_grad is None or self._wrapped_grad._local_tensor is not found:
            self._wrapped_grad = self._like(found)
        return self._wrapped_grad

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is None:
            self._local_tensor.grad = None
            return
        if not isinstance(value, DTensor):
            raise TypeError(
                "assigned grad has data of a different type: the gradient of a DTensor is a DTensor"
            )
        if value.shape != self.shape:
            raise RuntimeError(
                f"assigned grad has data of a different size: {value.shape} instead of {self.shape}"
            )
        spread = value.redistribute(placements=self._placements)
        self._local_tensor.grad = spread._local_tensor
        self._wrapped_grad = spread

    @grad.deleter
    def grad(self) -> None:
        self._local_tensor.grad = None

    @property
    def data(self) -> Any:
        """The same parts, without history."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        self._local_tensor.data = value._local_tensor
        self._mesh, self._placements, self._whole = value._mesh, value._placements, value._whole

    def backward(
        self,
        gradient: Any = None,
        retain_graph: Any = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Compute the gradients of what this tensor was made of."""
        given = gradient._local_tensor if isinstance(gradient, DTensor) else gradient
        asked = [each._local_tensor if isinstance(each, DTensor) else each for each in inputs or ()]
        self._local_tensor.backward(given, retain_graph, create_graph, asked or None)

    def detach(self) -> Any:
        return self._like(self._local_tensor.detach())

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        self._local_tensor.requires_grad_(requires_grad)
        return self


# --- functions --------------------------------------------------------------------------------


def distribute_tensor(
    tensor: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> DTensor:
    """Spread a tensor over the processes of a mesh; the result is a leaf.

    Args:
        tensor: the whole tensor; what the first process has counts.
        device_mesh: the processes; all of them without it.
        placements: how the tensor shall lie along each dimension of the mesh; replicated without.
        src_data_rank: the process whose tensor counts; None if all have the same.
    """
    mesh = DeviceMesh.from_group(default_group(), "cpu") if device_mesh is None else device_mesh
    target = normalized(placements, mesh, tensor.dim())
    if isinstance(tensor, DTensor):
        return tensor.redistribute(placements=target)
    if not tensor.is_leaf:
        raise RuntimeError(
            "`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf "
            "tensor!"
        )
    for each in target:
        if isinstance(each, Shard) and each.dim >= tensor.dim():
            raise AssertionError(f"Sharding dim {each.dim} greater than tensor ndim {tensor.dim()}")
    with no_grad():
        local = tensor.detach().clone()
        if src_data_rank is not None:
            for dim in range(mesh.ndim):
                collectives.broadcast(local, group=mesh.get_group(dim), group_src=src_data_rank)
        sizes, offsets = local_part(tensor.shape, mesh, target)
        for dim, (begin, length) in enumerate(zip(offsets, sizes, strict=True)):
            if length != local.shape[dim]:
                local = local.narrow(dim, begin, length)
        local = local.clone() if local.shape != tensor.shape else local
    local.requires_grad_(tensor.requires_grad)
    return DTensor._of(local, mesh, target, tensor.shape)


def distribute_module(
    module: Module,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Any = None,
    input_fn: Any = None,
    output_fn: Any = None,
) -> Module:
    """Make the parameters and buffers of a module DTensors, in place; return the module.

    Args:
        module: the module.
        device_mesh: the processes; all of them without it.
        partition_fn: called as `partition_fn(name, submodule, mesh)` to spread what it wants; the
            rest is replicated.
        input_fn: called as `input_fn(module, inputs, mesh)` before the forward pass.
        output_fn: called as `output_fn(module, outputs, mesh)` after it.
    """
    mesh = DeviceMesh.from_group(default_group(), "cpu") if device_mesh is None else device_mesh
    for name, each in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, each, mesh)
        for key, param in each._parameters.items():
            if param is not None and not isinstance(param, DTensor):
                spread = distribute_tensor(param.data, mesh)
                each.register_parameter(key, Parameter(spread, param.requires_grad))
        for key, buffer in each._buffers.items():
            if buffer is not None and not isinstance(buffer, DTensor):
                each._buffers[key] = distribute_tensor(buffer, mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda own, inputs: input_fn(own, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda own, _, outputs: output_fn(own, outputs, mesh))
    return module
