"""`taper._dynamo.config`: switches that keep what is assigned and change nothing."""

from __future__ import annotations

from typing import Any

accumulated_cache_size_limit: int = 256
accumulated_recompile_limit: int = 256
allow_rnn: bool = False
assume_static_by_default: bool = True
automatic_dynamic_shapes: bool = True
cache_size_limit: int = 8
capture_dynamic_output_shape_ops: bool = False
capture_func_transforms: bool = True
capture_scalar_outputs: bool = False
compiled_autograd: bool = False
disable: bool = False
dynamic_shapes: bool = True
force_parameter_static_shapes: bool = True
guard_nn_modules: bool = True
inline_inbuilt_nn_modules: bool = True
optimize_ddp: Any = True
recompile_limit: int = 8
specialize_int: bool = False
suppress_errors: bool = False
verbose: bool = False
