"""taper: PyTorch's autograd and training loop as an independent library.

This is the public API, one explicit list: `import taper as torch` runs the same program.
"""

from __future__ import annotations

import importlib
from math import e, inf, nan, pi
from typing import Any as _Any

from taper import autograd, ops, pickling, random, return_types, version
from taper.arrays.memory import empty_cache, memory_stats
from taper.autograd import overrides as _overrides
from taper.autograd import tracebacks as _tracebacks
from taper.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
from taper.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from taper.autograd.node import Node as _Node
from taper.device import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    device,
    get_default_device,
    jagged,
    layout,
    legacy_contiguous_format,
    memory_format,
    preserve_format,
    set_default_device,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from taper.dlpack import from_dlpack, to_dlpack
from taper.dtypes import DTYPES as _DTYPES
from taper.dtypes import dtype, finfo, get_default_dtype, iinfo, set_default_dtype
from taper.errors import AcceleratorError, OutOfMemoryError
from taper.opdef import composites as _composites
from taper.opdef import registry as _registry
from taper.opdef.guards import guarded as _guarded
from taper.ops import on_demand as _on_demand
from taper.ops.creation.data import from_numpy
from taper.ops.creation.legacy import TENSOR_TYPES as _TENSOR_TYPES
from taper.ops.creation.legacy import set_default_tensor_type
from taper.ops.creation.ranges import range
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
from taper.storage import LEGACY as _STORAGE_TYPES
from taper.storage import StorageBase, TypedStorage, UntypedStorage
from taper.tensor import Tensor
from taper.torch_version import TorchVersion as _TorchVersion
from taper.userwarning import is_warn_always_enabled, set_warn_always

__version__ = _TorchVersion(version.__version__)  # PyTorch's; taper's own is `version.taper`
newaxis = None

# Packages that are imported on first use, so that importing taper stays short.
_ON_DEMAND = frozenset(
    {"_C", "amp", "distributions", "fft", "files", "func", "linalg", "nn", "optim", "profiler"}
    | {"_guards", "_utils", "serialization", "special", "testing", "utils", "viz"}
    | {"accelerator", "cpu", "distributed", "fx", "jit", "library", "multiprocessing", "signal"}
    | {"ao", "masked", "quantization", "sparse"}
    | {"__config__", "_dynamo", "_inductor", "backends", "compiler", "cuda", "hub", "mps", "mtia"}
    | {"compat", "functional", "onnx", "futures", "overrides", "types", "vision", "xpu"}
    | {"_functorch", "_higher_order_ops", "_tensor", "_tensor_str", "quasirandom"}
)
_FROM_ON_DEMAND = {"compile": "compiler", "load": "serialization", "save": "serialization"}
_FROM_ON_DEMAND |= {
    "PyTorchFileReader": "files.records",
    "Future": "futures",
    "ScriptFunction": "jit",
    "ScriptModule": "jit",
}
_FROM_ON_DEMAND |= dict.fromkeys(("cond", "while_loop"), "_higher_order_ops")
_FROM_ON_DEMAND |= {"explain": "viz.explaining", "vmap": "func"}
_FROM_ON_DEMAND |= dict.fromkeys(("CaptureError", "Captured", "capture"), "program.capturing")
_TOP_LEVEL = """
DisableTorchFunction DisableTorchFunctionSubclass _assert _assert_async _shape_as_tensor
get_device_module has_lapack has_mkl has_openmp has_spectral set_anomaly_enabled
Event ScriptObject Stream TensorType _check _check_index _check_is_size _check_not_implemented
_check_tensor_all _check_tensor_all_with _check_type _check_value _check_with
_cast_Long _convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo _segment_reduce
_softmax_backward_data
"""
_FROM_ON_DEMAND |= dict.fromkeys(_TOP_LEVEL.split(), "top_level")
_SYMBOLS = """
SymBool SymFloat SymInt sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum
"""
_FROM_ON_DEMAND |= dict.fromkeys(_SYMBOLS.split(), "absent.symbols")
# Old questions about the build, which warn when they are asked and are in no list.
_DEPRECATED = ("has_cuda", "has_cudnn", "has_mkldnn", "has_mps")
_AUTOCAST = """
autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache get_autocast_cpu_dtype
get_autocast_dtype get_autocast_gpu_dtype get_autocast_ipu_dtype get_autocast_xla_dtype
is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled is_autocast_ipu_enabled
is_autocast_xla_enabled set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled
set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype set_autocast_ipu_dtype
set_autocast_ipu_enabled set_autocast_xla_dtype set_autocast_xla_enabled
"""
_FROM_ON_DEMAND |= dict.fromkeys(_AUTOCAST.split(), "amp.state")
_FROM_ON_DEMAND |= dict.fromkeys(("GradScaler", "autocast"), "amp")
_FROM_ON_DEMAND |= dict.fromkeys(
    ("_amp_foreach_non_finite_check_and_unscale_", "_amp_update_scale_"), "amp.grad_scaler"
)


def __getattr__(name: str) -> _Any:
    # late: all of these are loaded when they are first used, so that `import taper` is short
    if name in _ON_DEMAND:
        return importlib.import_module(f"taper.{name}")  # late: see above
    if name in _FROM_ON_DEMAND:
        # late: see above
        return getattr(importlib.import_module(f"taper.{_FROM_ON_DEMAND[name]}"), name)
    if name.startswith("_foreach_"):
        # late: see above
        return getattr(importlib.import_module("taper.foreach"), name)
    if name in _on_demand.FUNCTIONS:
        _on_demand.load(name)
        _publish()
        return globals()[name]
    if name == "__all__":  # `from taper import *`
        return [each for each in __dir__() if each[0] != "_" and each not in _NOT_STARRED]
    if name in _DEPRECATED:
        # late: see above
        return getattr(importlib.import_module("taper.top_level"), name)
    reason = None if name[:2] == "__" else _why_not(name)
    raise AttributeError(f"module 'taper' has no attribute {name!r}{reason or ''}")


# Modules are imported by their names; `torch.torch` is what some libraries say.
_NOT_STARRED = {"annotations", "importlib", "torch", *_ON_DEMAND}


def _why_not(name: str) -> str | None:
    if (name in _registry and _registry[name].public) or name in _composites:
        return ". The operator table has it, and ops/provided.py does not: run `make docs`"
    # late: read when a name is missing
    sentence = importlib.import_module("taper.compat.left_out").sentence(f"torch.{name}")
    return sentence and f". {sentence}"


def __dir__() -> list[str]:
    # late: only a name of it shall load it
    of_lists = importlib.import_module("taper.foreach").__all__
    return sorted({*globals(), *_ON_DEMAND, *_FROM_ON_DEMAND, *_on_demand.FUNCTIONS, *of_lists})


def _loaded_functions() -> dict[str, _Any]:
    """Return the public functions of the loaded families of the operator table."""
    public = {name: entry.function for name, entry in _registry.items() if entry.public}
    return public | _composites


_published: set[str] = set()


def _publish() -> None:
    """Publish the functions of families that have been loaded since; composites behind guards."""
    for name, function in _loaded_functions().items():
        if name not in _published:
            _published.add(name)
            guard = name in _composites
            globals()[name] = _guarded(name, function, "taper") if guard else function
            if guard and __name__ != "taper":  # `compat` gives this module another name
                globals()[name].__module__ = __name__


# float32, long, ...; FloatTensor, LongStorage, ...: names that hide builtins or are legion
globals().update(_DTYPES, **_TENSOR_TYPES, **_STORAGE_TYPES)
Storage = _STORAGE_TYPES["FloatStorage"]
_publish()


def _in_notebooks(function: str) -> _Any:
    def _repr_html_(self: _Any) -> _Any:
        # late: only notebooks ask
        return getattr(importlib.import_module("taper.viz.notebook_values"), function)(self)

    return _repr_html_


def _ask_classes() -> None:
    # late: programs without subclasses of Tensor do without
    importlib.import_module("taper.overrides.overridable").lay()


def _let_classes_dispatch() -> None:
    # late: as above
    importlib.import_module("taper.ops.dispatching").let_classes_dispatch()


_overrides.begin.append(_ask_classes)
_overrides.begin_dispatch.append(_let_classes_dispatch)

# Here, since the classes may not know the room of pictures.
Tensor._repr_html_ = _in_notebooks("tensor_html")  # type: ignore[attr-defined]
_Node._repr_html_ = _in_notebooks("node_html")  # type: ignore[attr-defined]

_tracebacks.install()
torch = autograd.torch = importlib.import_module(__name__)  # PyTorch has both (§Z6)
