"""Texts of kernels compiled for the processor, as one thread that does everything.

So what is written for NVRTC is run and compared on machines without a GPU.
"""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

_SHIM = r"""
#include <cmath>
#include <cstring>
using namespace std;
#define __global__
#define __device__
#define __forceinline__ inline
#define __restrict__
static struct { unsigned x; } gridDim = {1}, blockDim = {1}, blockIdx = {0}, threadIdx = {0};
static inline float __uint_as_float(unsigned bits) { float y; memcpy(&y, &bits, 4); return y; }
static inline double __longlong_as_double(long long bits) {
    double y; memcpy(&y, &bits, 8); return y; }
static inline float half_value(unsigned short bits) {
    _Float16 y; memcpy(&y, &bits, 2); return (float)y; }
static inline unsigned short half_bits(float x) {
    _Float16 y = (_Float16)x; unsigned short b; memcpy(&b, &y, 2); return b; }
static inline unsigned short bfloat_bits(float x) {
    unsigned b; memcpy(&b, &x, 4);
    if (x != x) return 0x7fc0;
    return (unsigned short)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}
"""
# The instructions of a GPU that the prelude has.
_INSTRUCTIONS = {
    'asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));': "y = half_value(x.bits);",
    'asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"((float)x));': (
        "y.bits = half_bits((float)x);"
    ),
    'asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"((float)x));': (
        "y.bits = bfloat_bits((float)x);"
    ),
}


@functools.cache
def compiled(text: str) -> Any:
    """The kernel `chain` of a text as a function of its bytes; None without a compiler."""
    compiler = shutil.which("g++")
    if compiler is None:
        raise RuntimeError("there is no compiler")
    for theirs, ours in _INSTRUCTIONS.items():
        text = text.replace(theirs, ours)
    size = text.split("char *at[")[1].split("]")[0]
    text += 'extern "C" void run(const char *given) { Given all; '
    text += f"memcpy(&all, given, {size} * 8); chain(all); }}"
    folder = Path(tempfile.mkdtemp(prefix="chains-"))
    (folder / "chain.cpp").write_text(_SHIM + text)
    command = [
        compiler,
        "-O1",
        "-w",
        "-std=c++17",
        "-shared",
        "-fPIC",
        "-o",
        "chain.so",
        "chain.cpp",
    ]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)
    library = ctypes.CDLL(str(folder / "chain.so"))
    shutil.rmtree(folder)

    def run(given: bytes) -> None:
        library.run(given)

    run.library = library  # type: ignore[attr-defined]
    return run
