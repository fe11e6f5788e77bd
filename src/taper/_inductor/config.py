"""`taper._inductor.config`: switches that keep what is assigned and change nothing."""

from __future__ import annotations

from types import SimpleNamespace

compile_threads: int = 1
conv_1x1_as_mm: bool = False
coordinate_descent_tuning: bool = False
cpp_wrapper: bool = False
debug: bool = False
epilogue_fusion: bool = True
fallback_random: bool = False
force_fuse_int_mm_with_mul: bool = False
freezing: bool = False
fx_graph_cache: bool = True
max_autotune: bool = False
max_autotune_gemm: bool = False
shape_padding: bool = True
use_mixed_mm: bool = True

cpp = SimpleNamespace(threads=-1)
triton = SimpleNamespace(cudagraphs=False, cudagraph_trees=True, unique_kernel_names=True)
