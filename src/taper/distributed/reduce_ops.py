"""How values of several processes are combined: the operations, and what gloo says about dtypes."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from taper.tensor import Tensor


class RedOpType(enum.Enum):
    """How values of several processes are combined."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    def __int__(self) -> int:
        return int(self.value)

    def __eq__(self, other: object) -> bool:
        return self.value == other if isinstance(other, int) else self is other

    def __hash__(self) -> int:
        return int(self.value)


class _ReduceOpMeta(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, RedOpType) or type.__instancecheck__(cls, value)


class ReduceOp(metaclass=_ReduceOpMeta):
    """The names of `RedOpType`, as programs write them; an instance may have a factor.

    >>> from taper import distributed as dist
    >>> dist.ReduceOp.SUM
    <RedOpType.SUM: 0>
    """

    RedOpType = RedOpType
    SUM = RedOpType.SUM
    AVG = RedOpType.AVG
    PRODUCT = RedOpType.PRODUCT
    MIN = RedOpType.MIN
    MAX = RedOpType.MAX
    BAND = RedOpType.BAND
    BOR = RedOpType.BOR
    BXOR = RedOpType.BXOR
    PREMUL_SUM = RedOpType.PREMUL_SUM

    def __init__(self, op: Any = RedOpType.SUM, factor: Any = None) -> None:
        self.op: RedOpType = op.op if isinstance(op, ReduceOp) and hasattr(op, "op") else op
        self.factor = factor

    def __eq__(self, other: object) -> bool:
        return self.op == getattr(other, "op", other)

    def __hash__(self) -> int:
        return hash(self.op)


class _ReduceOpOld:
    """The names that `torch.distributed.reduce_op` had."""

    SUM = RedOpType.SUM
    PRODUCT = RedOpType.PRODUCT
    MIN = RedOpType.MIN
    MAX = RedOpType.MAX


reduce_op = _ReduceOpOld()


def _make_nccl_premul_sum(factor: Any) -> ReduceOp:
    """Return the operation that multiplies by a factor and adds, which NCCL has."""
    return ReduceOp(RedOpType.PREMUL_SUM, factor)


FUNCTIONS: dict[RedOpType, Any] = {
    RedOpType.SUM: np.add,
    RedOpType.AVG: np.add,  # and a division at the end
    RedOpType.PRODUCT: np.multiply,
    RedOpType.MIN: np.minimum,
    RedOpType.MAX: np.maximum,
    RedOpType.BAND: np.bitwise_and,
    RedOpType.BOR: np.bitwise_or,
    RedOpType.BXOR: np.bitwise_xor,
}
_BITS = (RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR)
_DTYPES = (
    "float32 float64 float16 bfloat16 int8 uint8 int32 int64 bool complex64 complex128".split()
)
# As PyTorch's C++ calls them.
_KINDS = {"uint8": "Byte", "int8": "Char", "int32": "Int", "int64": "Long", "bool": "Bool"}


def checked(op: Any, tensor: Tensor, function: str) -> RedOpType:
    """Return the operation if gloo has it for the tensor's dtype; raise what gloo says."""
    kind = op.op if not isinstance(op, RedOpType) and isinstance(op, ReduceOp) else op
    if not isinstance(kind, RedOpType):
        raise TypeError(f"{function}(): op must be a ReduceOp, not {type(op).__name__}")
    if kind is RedOpType.PREMUL_SUM:
        if op is kind:
            raise TypeError(
                "(): incompatible function arguments: RedOpType.PREMUL_SUM needs a factor"
            )
        raise RuntimeError("Cannot use ReduceOp.PREMUL_SUM with Gloo")
    name = str(tensor.dtype).removeprefix("torch.")
    if name.startswith("complex") and kind not in (RedOpType.SUM, RedOpType.AVG):
        raise ValueError(f"{function} does not support {kind} on complex tensors")
    check_dtype(tensor)
    is_integral = name in _KINDS
    if kind in _BITS and not is_integral:
        raise RuntimeError(f"Cannot use ReduceOp.{kind.name} with non-integral dtype")
    if kind is RedOpType.AVG and is_integral:
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {_KINDS[name]}"
        )
    return kind


def check_dtype(tensor: Tensor) -> None:
    """Raise if gloo does not know the tensor's dtype."""
    if str(tensor.dtype).removeprefix("torch.") not in _DTYPES:
        raise RuntimeError("Invalid scalar type")
