"""Where PyTorch has the classes that taper has: the module and the name that a pickle says.

Files and `repr(type(x))` of a program that imports `torch` show these.  A test compares them with
PyTorch's own.
"""

from __future__ import annotations

from taper.compat.aliases import public_name

# Modules of taper whose classes PyTorch has elsewhere.
_MODULES = {
    "taper.autograd.saved_hooks": "torch.autograd.graph",
    "taper.autograd.context": "torch.autograd.function",
    "taper.autograd.handles": "torch.utils.hooks",
    "taper.device": "torch",
    "taper.dtypes": "torch",
    "taper.errors": "torch",
    "taper.files.options": "torch.serialization",
    "taper.files.safe_globals": "torch.serialization",
    "taper.functorch.make_functional": "torch._functorch.make_functional",
    "taper.nn.modules.local_response": "torch.nn.modules.normalization",
    "taper.nn.modules.sync_batchnorm": "torch.nn.modules.batchnorm",
    "taper.onnx.errors": "torch.onnx",
    "taper.onnx.modes": "torch._C._onnx",
    "taper.size": "torch",
    "taper.tensor": "torch",
    **{
        f"taper.distributions.transform_{name}": "torch.distributions.transforms"
        for name in ("base", "combinations", "elementwise", "matrices")
    },
    **{
        f"taper.optim.lr_scheduler.{name}": "torch.optim.lr_scheduler"
        for name in ("base", "combined", "cosine", "cycles", "factors", "plateau")
    },
    **{
        f"taper.distributed.{name}": "torch.distributed.distributed_c10d"
        for name in ("groups", "point_to_point", "reduce_ops", "stores", "works")
    },
}

_CLASSES = {
    "taper._LinAlgError": "torch._C._LinAlgError",
    "taper.autograd.backward.GradientEdge": "torch.autograd.graph.GradientEdge",
    "taper.autograd.profiler_util.DeviceType": "torch._C._autograd.DeviceType",
    "taper.autograd.profiling.steps.EnforceUnique": "torch.autograd.profiler.EnforceUnique",
    "taper.autograd.profiling.steps.KinetoStepTracker": "torch.autograd.profiler.KinetoStepTracker",
    "taper.autograd.profiling.steps.MemRecordsAcc": "torch.autograd.profiler_util.MemRecordsAcc",
    "taper.autograd.saved.SavedTensor": "torch._C._autograd.SavedTensor",
    "taper.cuda.CUDAGraph": "torch.cuda.graphs.CUDAGraph",
    "taper.distributed.file_store.FileStore": "torch._C._distributed_c10d.FileStore",
    "taper.distributed.stores.HashStore": "torch._C._distributed_c10d.HashStore",
    "taper.distributed.tcp_store.TCPStore": "torch._C._distributed_c10d.TCPStore",
    "taper.jit.Attribute": "torch.jit._script.Attribute",
    "taper.jit.RecursiveScriptModule": "torch.jit._script.RecursiveScriptModule",
    "taper.jit.ScriptModule": "torch.jit._script.ScriptModule",
    "taper.jit.ScriptWarning": "torch.jit._script.ScriptWarning",
    "taper.jit.TracedModule": "torch.jit._trace.TracedModule",
    "taper.jit.TracerWarning": "torch.jit._trace.TracerWarning",
    "taper.library.CustomOpDef": "torch._library.custom_ops.CustomOpDef",
    "taper.nn.linear_cross_entropy.LinearCrossEntropyOptions": (
        "torch.nn.modules.linear_cross_entropy_options.LinearCrossEntropyOptions"
    ),
    "taper.nn.modules.deprecated.Container": "torch.nn.modules.container.Container",
    "taper.nn.modules.deprecated.NLLLoss2d": "torch.nn.modules.loss.NLLLoss2d",
    "taper.nn.modules.linear_cross_entropy.LinearCrossEntropyLoss": (
        "torch.nn.modules.loss.LinearCrossEntropyLoss"
    ),
    "taper.nn.modules.multihead_attention.MultiheadAttention": (
        "torch.nn.modules.activation.MultiheadAttention"
    ),
    "taper.nn.modules.pixelshuffle.ChannelShuffle": (
        "torch.nn.modules.channelshuffle.ChannelShuffle"
    ),
    "taper.onnx.exporting.ONNXProgram": "torch.onnx.ONNXProgram",
    "taper.optim._adafactor.Adafactor": "torch.optim.Adafactor",
    "taper.optim._muon.Muon": "torch.optim.Muon",
    "taper.profiler.actions.ProfilerAction": "torch.profiler.profiler.ProfilerAction",
    "taper.profiler.actions.ProfilerActivity": "torch._C._profiler.ProfilerActivity",
    "taper.random.Generator": "torch._C.Generator",
    "taper.storage.StorageBase": "torch._C.StorageBase",
    **{
        f"taper.distributed.stores.{name}": f"torch.distributed.{name}"
        for name in ("DistBackendError", "DistError", "DistNetworkError", "DistStoreError")
    },
    "taper.distributed.stores.QueueEmptyError": "torch.distributed.QueueEmptyError",
}


def public_module(module: str, name: str) -> str:
    """Return PyTorch's module for a class of taper's: the module and the name of the class.

    >>> from taper.compat.paths import public_module
    >>> public_module("taper.tensor", "Tensor"), public_module("taper.nn.modules.linear", "Linear")
    ('torch', 'torch.nn.modules.linear')
    """
    special = _CLASSES.get(f"{module}.{name}")
    if special is not None:
        return special.rpartition(".")[0]
    if module in _MODULES:
        return _MODULES[module]
    return public_name(module)
