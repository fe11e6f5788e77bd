"""`taper.__config__`: what the library is built with."""

from __future__ import annotations

import os

import numpy as np

from taper import settings, version


def _blas() -> str:
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{blas.get('name')} {blas.get('version')}"


def show() -> str:
    """Return a text that says what the library is built with.

    >>> import taper
    >>> print(taper.__config__.show().splitlines()[0])
    PyTorch built with:
    """
    return (
        "PyTorch built with:\n"
        f"  - taper {version.taper}, which follows PyTorch {version.__version__}\n"
        f"  - NumPy {np.__version__}, BLAS: {_blas()}\n"
    )


def parallel_info() -> str:
    """Return a text that says how many threads there are, and for what."""
    return (
        "ATen/Parallel:\n"
        f"\tat::get_num_threads() : {settings.get_num_threads()}\n"
        f"\tat::get_num_interop_threads() : {settings.get_num_interop_threads()}\n"
        f"NumPy's matrix products: {_blas()}\n"
        f"std::thread::hardware_concurrency() : {os.cpu_count()}\n"
        "Environment variables:\n"
        f"\tOMP_NUM_THREADS : {os.environ.get('OMP_NUM_THREADS', '[not set]')}\n"
        f"\tMKL_NUM_THREADS : {os.environ.get('MKL_NUM_THREADS', '[not set]')}\n"
    )
