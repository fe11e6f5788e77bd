"""taper: PyTorch's autograd and training loop as an independent library."""

from taper import accelerator, backends, cuda, mps, ops, pickling, random, version, xpu
from taper.autograd import tensor_api
from taper.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
from taper.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from taper.device import *
from taper.dlpack import from_dlpack, to_dlpack
from taper.dtypes import DTYPES, finfo, get_default_dtype, iinfo, set_default_dtype
from taper.opdef import composites, registry
from taper.ops.data import from_numpy
from taper.ops.legacy import TENSOR_TYPES, set_default_tensor_type, tensortype
from taper.ops.ranges import range
from taper.printing import set_printoptions
from taper.random import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from taper.settings import (
    are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode,
    get_float32_matmul_precision,
    get_num_interop_threads,
    get_num_threads,
    is_deterministic_algorithms_warn_only_enabled,
    set_deterministic_debug_mode,
    set_float32_matmul_precision,
    set_flush_denormal,
    set_num_interop_threads,
    set_num_threads,
    use_deterministic_algorithms,
)
from taper.size import Size
from taper.storage import LEGACY as STORAGE_TYPES
from taper.storage import TypedStorage, UntypedStorage
from taper.tensor import Tensor
from taper.userwarning import is_warn_always_enabled, set_warn_always

globals().update(DTYPES)
globals().update(TENSOR_TYPES)
globals().update(STORAGE_TYPES)
globals().update({name: entry.function for name, entry in registry.items() if entry.public})
globals().update(composites)
