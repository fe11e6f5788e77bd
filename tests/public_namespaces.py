"""The packages that programs address by name, and what is public in them."""

from __future__ import annotations

from types import ModuleType

# The packages whose public functions and classes show how they are used.  Those that only answer
# for absent devices, compilers and networks (`cuda`, `jit`, `distributed` ...) do not.
SHOWN = """
taper taper.amp taper.autograd taper.autograd.forward_ad taper.autograd.functional
taper.autograd.graph taper.autograd.profiler taper.distributions taper.distributions.constraints
taper.distributions.kl taper.distributions.transforms taper.fft taper.files taper.func
taper.functional taper.futures taper.hub taper.library taper.linalg taper.multiprocessing taper.nn
taper.nn.attention taper.nn.functional taper.nn.init taper.nn.parameter taper.nn.utils
taper.nn.utils.parametrizations taper.nn.utils.parametrize taper.nn.utils.prune taper.nn.utils.rnn
taper.nn.utils.stateless taper.onnx taper.optim taper.optim.lr_scheduler taper.optim.swa_utils
taper.overrides taper.profiler taper.random taper.serialization taper.signal.windows taper.special
taper.testing taper.utils.checkpoint taper.utils.data taper.utils.dlpack
taper.utils.tensorboard taper.vision taper.vision.datasets taper.vision.io taper.vision.models
taper.vision.ops taper.vision.transforms taper.vision.transforms.functional
taper.vision.transforms.v2 taper.vision.transforms.v2.functional taper.vision.utils taper.viz
""".split()

# The other packages that programs address by name: they divide work over processes, answer for
# absent devices and compilers, or serve other libraries.
ANSWERING = """
taper.accelerator taper.autograd.function taper.backends taper.compat taper.compiler taper.cpu
taper.cuda taper.distributed taper.distributed.checkpoint taper.distributed.checkpoint.state_dict
taper.distributed.device_mesh taper.distributed.fsdp taper.distributed.optim
taper.distributed.tensor taper.fx taper.fx.experimental.proxy_tensor taper.jit taper.masked
taper.mps taper.mtia taper.nn.parallel taper.quasirandom taper.return_types taper.signal
taper.sparse taper.storage taper.types taper.utils taper.utils.benchmark taper.utils.flop_counter
taper.utils.hooks taper.version taper.xpu
""".split()


def public_names(module: ModuleType) -> list[str]:
    """Return what `from module import *` brings."""
    names = getattr(module, "__all__", None) or dir(module)
    return [name for name in names if not name.startswith("_")]
