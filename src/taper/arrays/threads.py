"""Threads: how many this process may use, and which of NumPy's loops run on them.

The native module has one pool of threads (`native/pool.c`).  From a size on, NumPy's own
element-wise loops and matrix products are cut into pieces for it: importing taper makes NumPy
itself faster, with the same results.  Without the native module only BLAS
uses threads.
"""

from __future__ import annotations

import math
import os

import numpy as np

from taper.arrays.native import native

# Elements from which two threads are faster than one; a chunk has half as many.
_CHEAP, _COSTLY = 65536, 16384
_CHEAP_LOOPS = """
    add subtract multiply divide negative absolute square sqrt reciprocal maximum minimum fmax fmin
    greater greater_equal less less_equal equal not_equal logical_and logical_or logical_not
    logical_xor sign floor ceil rint trunc isnan isinf isfinite signbit copysign
"""
_COSTLY_LOOPS = """
    exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh
    arcsinh arccosh arctanh power hypot cbrt logaddexp floor_divide remainder fmod
"""


def allowed_cores() -> int:
    """How many cores this process may use: its affinity, and the quota of its container."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        cores = os.cpu_count() or 1
    return max(1, math.ceil(min(cores, _quota())))


def _quota() -> float:
    """The cores that the container is granted; infinity where nobody limits it."""
    for path in ("/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us"):
        try:
            with open(path) as file:
                quota, *period = file.read().split()
            if not period:
                with open("/sys/fs/cgroup/cpu/cpu.cfs_period_us") as file:
                    period = [file.read()]
            return float(quota) / float(period[0]) if float(quota) > 0 else math.inf
        except (OSError, ValueError, ZeroDivisionError):  # no such file, or "max"
            continue
    return math.inf


def first_number() -> int:
    """The number of threads to begin with: what the environment says, else the allowed cores."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        said = os.environ.get(name, "").split(",")[0].strip()
        if said.isdigit() and int(said) > 0:
            return int(said)
    return allowed_cores()


def start(count: int) -> None:
    """Let NumPy's loops use `count` threads from now on."""
    if native is None:
        return
    native.set_threads(count)
    for names, least in ((_CHEAP_LOOPS, _CHEAP), (_COSTLY_LOOPS, _COSTLY)):
        for name in names.split():
            native.thread_loops(getattr(np, name), least)
    native.thread_loops(np.matmul, _CHEAP)
