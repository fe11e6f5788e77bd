"""`sparse.FloatTensor` and its kind: the old names of makers."""

from __future__ import annotations

from typing import Any

from taper import dtypes
from taper.device import sparse_coo
from taper.ops.sparse.making import sparse_coo_tensor, zeros
from taper.ops.sparse.tensor import SparseTensor


class _SparseType(type):
    """A class that makes sparse tensors of its dtype, and that those are instances of."""

    dtype: Any

    def __call__(cls, *args: Any) -> Any:
        if args and isinstance(args[0], int):
            return zeros(sparse_coo, args, cls.dtype)
        if not args or len(args) == 1:
            return zeros(sparse_coo, args[0] if args else (0,), cls.dtype)
        return sparse_coo_tensor(*args, dtype=cls.dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, SparseTensor) and instance.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.sparse.{cls.__name__}'>"


_KINDS = {
    "Float": dtypes.float32,
    "Double": dtypes.float64,
    "Half": dtypes.float16,
    "BFloat16": dtypes.bfloat16,
    "Char": dtypes.int8,
    "Byte": dtypes.uint8,
    "Short": dtypes.int16,
    "Int": dtypes.int32,
    "Long": dtypes.int64,
}
TENSOR_TYPES: dict[str, Any] = {
    f"{name}Tensor": _SparseType(
        f"{name}Tensor", (), {"dtype": which, "__module__": "torch.sparse"}
    )
    for name, which in _KINDS.items()
}
