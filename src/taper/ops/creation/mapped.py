"""from_file: tensors whose memory is a file."""

from __future__ import annotations

from typing import Any

from taper.arrays.shared_memory import mapped_bytes
from taper.device import CPU
from taper.factory import finish, integer, options, refuse
from taper.opdef import composite
from taper.tensor import Tensor


@composite(method=False)
def from_file(
    filename: str,
    shared: bool | None = None,
    size: int | None = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Make a tensor on the memory of a file: its first `size` elements.

    With `shared` what is written to the tensor goes to the file, which is created or extended if
    need be; without it the file stays as it is.

    >>> import taper, tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(bytes([1, 2, 3]))
    ...     file.flush()
    ...     taper.from_file(file.name, size=2, dtype=taper.uint8)
    tensor([1, 2], dtype=torch.uint8)
    """
    if not isinstance(filename, str):
        refuse("from_file", "filename", 1, "str", filename)
    if shared is not None and not isinstance(shared, bool):
        refuse("from_file", "shared", 2, "bool", shared)
    count = 0 if size is None else integer("from_file", "size", 3, size)
    which, _ = options("from_file", dtype, layout, device or CPU, pin_memory)
    found = mapped_bytes(filename, bool(shared), count * which.itemsize)
    return finish(found.view(which.numpy), requires_grad)
