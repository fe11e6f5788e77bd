"""What there is: backends, launchers, devices."""

from __future__ import annotations

import importlib.util
import os
from typing import Any


def is_available() -> bool:
    """Return True: there are process groups.

    >>> import taper
    >>> taper.distributed.is_available()
    True
    """
    return True


def is_gloo_available() -> bool:
    """Return True: programs that say gloo are served, see `init_process_group`."""
    return True


def is_nccl_available() -> bool:
    """Return whether CuPy is there, with NCCL and a device."""
    # late: an extra
    from taper.distributed.backends.nccl import libraries

    return libraries() is not None


def is_mpi_available() -> bool:
    """Return whether mpi4py is installed, the `mpi` extra."""
    return importlib.util.find_spec("mpi4py") is not None


def is_ucc_available() -> bool:
    """Return False: UCC is not used."""
    return False


def is_xccl_available() -> bool:
    """Return False: XCCL is not used."""
    return False


def is_backend_available(backend: str) -> bool:
    """Return whether groups can be made with a backend."""
    name = backend.lower()
    known = {"gloo": is_gloo_available, "mpi": is_mpi_available, "nccl": is_nccl_available}
    return name in known and known[name]()


def is_torchelastic_launched() -> bool:
    """Return whether the program was started by `taper run` with several processes."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_default_backend_for_device(device: Any) -> str:
    """Return the backend that is used for a device."""
    return "gloo"
