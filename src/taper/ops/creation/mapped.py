"""from_file: tensors whose memory is a file."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

from taper.factory import finish, integer, options, refuse
from taper.opdef import composite
from taper.tensor import Tensor


def _mapping(filename: str, shared: bool, nbytes: int) -> mmap.mmap:
    """Map the first bytes of a file; a shared mapping is written back, and extended if needed."""
    mode = "r+b" if shared else "rb"
    if shared and not os.path.exists(filename):
        mode = "w+b"
    try:
        with open(filename, mode) as file:
            present = os.fstat(file.fileno()).st_size
            if shared and present < nbytes:
                file.truncate(nbytes)
            elif present < nbytes:
                raise RuntimeError(
                    f"file <{filename}> size <{present}> is smaller than the required mapping "
                    f"size <{nbytes}>"
                )
            access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
            return mmap.mmap(file.fileno(), nbytes, access=access)
    except OSError as error:
        how = "read-write" if shared else "read-only"
        raise RuntimeError(
            f"unable to open file <{filename}> in {how} mode: {error.strerror} ({error.errno})"
        ) from None


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
    which = options("from_file", dtype, layout, device, pin_memory)
    if count < 0:
        raise RuntimeError(
            f"unable to mmap {count * which.itemsize} bytes from file <{filename}>: Cannot "
            "allocate memory (12)"
        )
    if not count:
        return finish(np.empty(0, which.numpy), requires_grad)
    mapping = _mapping(filename, bool(shared), count * which.itemsize)
    return finish(np.frombuffer(mapping, which.numpy, count), requires_grad)
