"""What programs ask about devices, backends and compilers: the answers of PyTorch on the CPU."""

from __future__ import annotations

import importlib.util
import inspect
import pkgutil
import re
import types
import warnings

import pytest
import torch

import taper
from taper.compat import aliases, left_out
from taper.torch_version import TorchVersion

QUESTIONS = """
torch.cuda.is_available()
torch.cuda.device_count()
torch.cuda.is_initialized()
torch.cuda.is_bf16_supported()
torch.cuda.is_bf16_supported(False)
torch.cuda.is_tf32_supported()
torch.cuda.get_arch_list()
torch.cuda.get_gencode_flags()
torch.cuda.empty_cache()
torch.cuda.manual_seed(1)
torch.cuda.manual_seed_all(1)
torch.cuda.seed()
torch.cuda.seed_all()
torch.cuda.synchronize()
torch.cuda.current_device()
torch.cuda.set_device(0)
torch.cuda.set_device(-1)
torch.cuda.set_device("cpu")
torch.cuda.set_device("cuda:0")
torch.cuda.get_device_name(0)
torch.cuda.get_device_capability()
torch.cuda.get_device_properties("cuda")
torch.cuda.memory_allocated()
torch.cuda.max_memory_allocated()
torch.cuda.memory_reserved()
torch.cuda.max_memory_reserved()
torch.cuda.memory_cached()
torch.cuda.max_memory_cached()
torch.cuda.memory_stats()
torch.cuda.memory_stats_as_nested_dict()
torch.cuda.memory_summary()
torch.cuda.memory_snapshot()
torch.cuda.reset_peak_memory_stats()
torch.cuda.reset_max_memory_allocated()
torch.cuda.reset_max_memory_cached()
torch.cuda.reset_accumulated_memory_stats()
torch.cuda.mem_get_info()
torch.cuda.set_per_process_memory_fraction(0.5)
torch.cuda.get_allocator_backend()
torch.cuda.list_gpu_processes()
torch.cuda.get_rng_state()
torch.cuda.get_rng_state_all()
torch.cuda.set_rng_state(torch.get_rng_state())
torch.cuda.set_rng_state_all([torch.get_rng_state()])
torch.cuda.initial_seed()
torch.cuda.init()
torch.cuda.ipc_collect()
torch.cuda.can_device_access_peer(0, 1)
torch.cuda.current_stream()
torch.cuda.default_stream()
torch.cuda.set_stream(None)
torch.cuda.get_sync_debug_mode()
torch.cuda.set_sync_debug_mode("warn")
torch.cuda.current_blas_handle()
torch.cuda.utilization()
torch.cuda.temperature()
torch.cuda.is_current_stream_capturing()
torch.cuda.graph_pool_handle()
torch.cuda.CUDAGraph()
torch.cuda.Stream()
torch.cuda.Event(enable_timing=True)
torch.cuda.device(0).__enter__()
torch.cuda.device(-1).__enter__()
torch.cuda.device("cuda:1").idx
torch.cuda.device_of(torch.ones(1)).idx
torch.cuda.stream(None).__enter__()
torch.cuda.FloatTensor(3)
isinstance(torch.ones(1), torch.cuda.FloatTensor)
torch.cuda.has_half
torch.cuda.has_magma
torch.cuda.default_generators
torch.cuda._is_in_bad_fork()
torch.cuda._lazy_init()
torch.cuda.OutOfMemoryError is torch.OutOfMemoryError
torch.OutOfMemoryError.__mro__[1:]
torch.AcceleratorError.__mro__[1:]
torch.cuda.nvtx.range_push("x")
torch.cuda.nvtx.range("x").__enter__()
torch.cuda.nccl.is_available([])
torch.cuda.nccl.version()
torch.cuda.profiler.start()
torch.cuda.memory.empty_cache()
torch.cuda.random.manual_seed(1)
torch.cuda.streams.Stream is torch.cuda.Stream
torch.ones(2).cuda()
torch.ones(2).cuda(0)
torch.ones(2).cuda("cuda:1")
torch.ones(2).cuda("cpu")
torch.ones(2).to("cuda")
torch.ones(2, device="cuda")
torch.zeros(2, device=0)
torch.tensor([1.], device="cuda")
torch.nn.Linear(2, 2).cuda()
torch.nn.Linear(2, 2).to("cuda")
torch.nn.Linear(2, 2, device="cuda")
torch.ones(2).pin_memory()
torch.accelerator.is_available()
torch.accelerator.device_count()
torch.accelerator.current_accelerator()
torch.accelerator.current_accelerator(check_available=True)
torch.accelerator.current_device_index()
torch.accelerator.current_device_idx()
torch.accelerator.set_device_index(0)
torch.accelerator.set_device_idx(0)
torch.accelerator.current_stream()
torch.accelerator.synchronize()
torch.accelerator.empty_cache()
torch.accelerator.memory_allocated()
torch.accelerator.memory_stats()
torch.accelerator.reset_peak_memory_stats()
torch.accelerator.device_index(0).__enter__()
torch.accelerator.device_index(None).__enter__()
torch.mps.is_available()
torch.mps.device_count()
torch.mps.manual_seed(1)
torch.mps.seed()
torch.mps.empty_cache()
torch.mps.synchronize()
torch.mps.current_allocated_memory()
torch.mps.driver_allocated_memory()
torch.mps.recommended_max_memory()
torch.mps.set_per_process_memory_fraction(0.5)
torch.mps.set_per_process_memory_fraction("x")
torch.mps.get_rng_state()
torch.xpu.is_available()
torch.xpu.device_count()
torch.xpu.is_initialized()
torch.xpu.is_bf16_supported()
torch.xpu.manual_seed_all(1)
torch.xpu.seed()
torch.xpu.empty_cache()
torch.xpu.synchronize()
torch.xpu.current_device()
torch.xpu.get_device_name()
torch.xpu.memory_allocated()
torch.xpu.memory_stats()
torch.xpu.get_rng_state_all()
torch.xpu.get_rng_state()
torch.xpu.reset_peak_memory_stats()
torch.xpu.Stream()
torch.xpu.Event()
torch.mtia.is_available()
torch.mtia.device_count()
torch.mtia.empty_cache()
torch.cpu.is_available()
torch.cpu.device_count()
torch.cpu.current_device()
torch.cpu.synchronize()
torch.backends.cudnn.enabled
torch.backends.cudnn.benchmark
torch.backends.cudnn.benchmark_limit
torch.backends.cudnn.deterministic
torch.backends.cudnn.allow_tf32
torch.backends.cudnn.fp32_precision
torch.backends.cudnn.conv.fp32_precision
torch.backends.cudnn.rnn.fp32_precision
torch.backends.cudnn.is_available()
torch.backends.cudnn.version()
torch.backends.cudnn.is_acceptable(torch.ones(1))
torch.backends.cudnn.set_flags()
torch.backends.cuda.is_built()
torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction
torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction
torch.backends.cuda.matmul.allow_fp16_accumulation
torch.backends.cuda.matmul.nonsense
setattr(torch.backends.cuda.matmul, "nonsense", 1)
setattr(torch.backends.cuda.matmul, "allow_tf32", 1)
setattr(torch.backends.cuda.matmul, "fp32_precision", "zzz")
setattr(torch.backends.cuda.matmul, "fp32_precision", "bf16")
setattr(torch.backends.cuda.matmul, "allow_fp16_reduced_precision_reduction", "x")
setattr(torch.backends.cudnn, "benchmark", "x")
setattr(torch.backends.cudnn, "enabled", 3)
setattr(torch.backends.cudnn, "deterministic", None)
setattr(torch.backends.cudnn, "allow_tf32", 1)
setattr(torch.backends.mkldnn, "enabled", 1)
setattr(torch.backends.mkldnn, "deterministic", 1)
torch.backends.cuda.flash_sdp_enabled()
torch.backends.cuda.mem_efficient_sdp_enabled()
torch.backends.cuda.math_sdp_enabled()
torch.backends.cuda.cudnn_sdp_enabled()
torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed()
torch.backends.cuda.is_flash_attention_available()
type(torch.backends.cuda.sdp_kernel(enable_flash=False)).__name__
torch.backends.mps.is_available()
torch.backends.mps.is_built()
torch.backends.mps.is_macos13_or_newer()
torch.backends.mps.is_macos_or_newer(14, 0)
torch.backends.mkl.VERBOSE_ON
torch.backends.mkl.verbose(torch.backends.mkl.VERBOSE_OFF).__enter__()
torch.backends.mkldnn.enabled
torch.backends.mkldnn.deterministic
torch.backends.mkldnn.allow_tf32
torch.backends.mkldnn.matmul.fp32_precision
torch.backends.mkldnn.is_acl_available()
torch.backends.opt_einsum.get_opt_einsum()
torch.backends.cusparselt.is_available()
torch.backends.cusparselt.version()
torch.backends.kleidiai.is_available()
torch.backends.miopen.immediate
torch.backends.fp32_precision
torch.backends.flags_frozen()
torch.version.cuda
torch.version.hip
torch.version.xpu
torch.version.rocm
torch.version.debug
type(torch.version.git_version)
torch.set_float32_matmul_precision("lowest")
torch.set_float32_matmul_precision(3)
torch.set_num_threads(0)
torch.set_num_threads("2")
torch.set_num_threads(True)
torch.set_num_interop_threads(0)
torch.set_num_interop_threads("2")
torch.use_deterministic_algorithms(1)
torch.use_deterministic_algorithms(True, warn_only=1)
torch.set_deterministic_debug_mode("nope")
torch.set_deterministic_debug_mode(7)
torch.get_default_device()
torch.set_default_device("nonsense")
torch.set_default_device(0)
torch.utils.deterministic.fill_uninitialized_memory
torch.compiler.is_compiling()
torch.compiler.is_dynamo_compiling()
torch.compiler.is_exporting()
torch.compiler.list_backends()
torch.compiler.list_backends(exclude_tags=None)
torch.compiler.reset()
torch.compiler.get_default_backend()
torch.compiler.allow_in_graph(len) is len
torch._dynamo.is_compiling()
torch._dynamo.reset()
torch._dynamo.list_backends()
torch._dynamo.config.suppress_errors
torch._dynamo.config.cache_size_limit
torch._dynamo.mark_dynamic(torch.ones(2), 0)
torch._dynamo.graph_break()
torch._dynamo.utils.counters.__class__
torch._inductor.config.max_autotune
torch._inductor.config.triton.cudagraphs
torch.compile(abs, mode="x")
torch.compile(abs, backend="nope")
torch.compile(abs, mode="default", options={"a": 1})
torch.compile(abs, dynamic="x")
torch.compile(3)
torch.compile("x")
torch.compile(abs, disable=True) is abs
torch.jit.is_scripting()
torch.jit.is_tracing()
torch.jit.annotate(int, 3)
torch.jit.Final
torch.distributed.is_initialized()
torch.distributed.is_nccl_available()
torch.distributed.is_mpi_available()
torch.distributed.is_torchelastic_launched()
torch.distributed.get_rank()
torch.distributed.get_world_size()
torch.distributed.barrier()
torch.distributed.all_reduce(torch.ones(1))
torch.distributed.destroy_process_group()
torch.types.Number
torch.functional.einsum("i->", torch.ones(2))
""".strip().splitlines()


def outcome(question: str, library: types.ModuleType) -> tuple[str, list[str]]:
    """Return the answer or the error, and the warnings, in the words of PyTorch."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            answer = repr(eval(question, {"torch": library}))
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
    # PyTorch names the place in its sources.
    said = [f"{each.category.__name__}: {each.message}" for each in given]
    said = [re.sub(r" \(Triggered internally at .*", "", each) for each in said]
    imports = "is deprecated. Please switch to"  # what PyTorch's own modules cause when they load
    return answer.replace("taper", "torch"), [each for each in said if imports not in each]


@pytest.mark.parametrize("question", QUESTIONS)
def test_question(question):
    if torch.version.cuda is not None and "get_arch_list" in question:
        pytest.skip("this PyTorch was built for CUDA too, and knows architectures")
    assert outcome(question, taper) == outcome(question, torch)


PROGRAMS = {
    "functions that ask": """
class Loud:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return cls.__name__, func.__name__, [each.__name__ for each in types], len(args), kwargs
class Louder(Loud): pass
class Silent:
    @classmethod
    def __torch_function__(cls, *args): return NotImplemented
class Own(torch.Tensor): pass
o = torch.overrides
def f(*values, **options): return o.handle_torch_function(f, values, *values, **options)
log(f(Loud(), 3), f(Loud(), Louder(), a=1), f(Silent(), Loud()))
own, parameter = torch.ones(1).as_subclass(Own), torch.nn.Parameter(torch.ones(1))
log([o.has_torch_function((each,)) for each in (Loud(), 3, torch.ones(1), parameter, own)])
log([o.is_tensor_like(each) for each in (Loud(), 3, torch.ones(1), parameter, own)])
for bad in (lambda: f(Silent()), lambda: o.has_torch_function(Loud())):
    try:
        bad()
    except TypeError as error:
        log(str(error))
g = o.wrap_torch_function(lambda x: (x,))(lambda x: x)
log(g(3), g(Loud()))
""",
    "precision by its function": """
torch.set_float32_matmul_precision("high")
log(torch.get_float32_matmul_precision(), torch.backends.cuda.matmul.allow_tf32)
log(torch.backends.cuda.matmul.fp32_precision)
torch.set_float32_matmul_precision("medium")
log(torch.get_float32_matmul_precision(), torch.backends.cuda.matmul.allow_tf32)
torch.set_float32_matmul_precision("highest")
log(torch.backends.cuda.matmul.allow_tf32, torch.backends.cuda.matmul.fp32_precision)
""",
    "precision by its switch": """
torch.backends.cuda.matmul.allow_tf32 = True
log(torch.get_float32_matmul_precision(), torch.backends.cuda.matmul.fp32_precision)
torch.backends.cuda.matmul.allow_tf32 = False
log(torch.get_float32_matmul_precision(), torch.backends.cuda.matmul.fp32_precision)
""",
    "switches of cudnn": """
cudnn = torch.backends.cudnn
cudnn.benchmark, cudnn.deterministic = True, True
log(cudnn.benchmark, cudnn.deterministic)
with cudnn.flags(enabled=False, deterministic=False):
    log(cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32)
log(cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32)
cudnn.benchmark, cudnn.deterministic = False, False
with torch.backends.mkldnn.flags(enabled=False):
    log(torch.backends.mkldnn.enabled)
log(torch.backends.mkldnn.enabled)
""",
    "deterministic algorithms": """
torch.use_deterministic_algorithms(True, warn_only=True)
log(torch.are_deterministic_algorithms_enabled(), torch.get_deterministic_debug_mode())
log(torch.is_deterministic_algorithms_warn_only_enabled())
torch.use_deterministic_algorithms(False)
log(torch.are_deterministic_algorithms_enabled(), torch.get_deterministic_debug_mode())
""",
    "a compiled function": """
def f(x, y=1):
    "doc"
    return x
g = torch.compile(f)
log(type(g).__name__, g.__name__, g.__doc__, g.__wrapped__ is f, str(inspect.signature(g)))
log(g._torchdynamo_orig_callable is f, g is f, torch.compile(fullgraph=True)(f).__name__)
log(torch.compiler.disable(f).__name__, torch.compiler.disable(f) is f)
""",
    "a compiled module": """
m = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Dropout())
c = torch.compile(m, backend="eager")
log(type(c).__name__, isinstance(c, torch.nn.Sequential), c._orig_mod is m, len(c))
log(list(c.state_dict()), [n for n, _ in c.named_parameters()], [n for n, _ in c.named_modules()])
log(str(c))
c.eval(); log(m.training, m[1].training, c.training)
c.training = True; log(m.training, "training" in c.__dict__)
c.note = 3; log(m.note, "note" in c.__dict__)
del c.note; log(hasattr(m, "note"))
c.new = torch.nn.Linear(1, 1); log(list(dict(m.named_children())), list(dict(c.named_children())))
c.register_buffer("z", torch.ones(1)); log("z" in dict(m.named_buffers()), "z" in c.state_dict())
log(set(dir(m)) <= set(dir(c)), type(torch.compile(c)).__name__, torch.compile(c).__name__)
log(type(torch.compiler.disable(m)).__name__, m.compile())
for bad in (lambda: c.nothing, lambda: c[0], lambda: len(torch.compile(torch.nn.ReLU()))):
    try:
        bad()
    except Exception as error:
        log(type(error).__name__, str(error))
try:
    c.load_state_dict(m.state_dict())
except RuntimeError as error:
    log(str(error))
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    logs = []
    for library in (taper, torch):
        lines: list[tuple[object, ...]] = []
        names = {"torch": library, "inspect": inspect, "log": lambda *a, to=lines: to.append(a)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(PROGRAMS[name], names)
        logs.append(lines)
    assert logs[0] == logs[1]


VERSIONS = """
2.13.0 2.13 2.13.0+cpu 2.13.0+cu130 2.13.0+1 2.13.0+1.a 2.13.0a0 2.13.0a0+gitabc 2.13.0.dev20260101
2.13.0rc1 2.13.0b2 2.13.0.post1 2.13.0.post1.dev2 2.13.0-1 1!0.1 2.13.0rc1.post2 2.13.0rc1.dev3
v2.13 parrot 3.dev 2.12.9 2.9 10.0 2.13.0.0 2.13.0c1 2.13.0pre 2.13.0.r3
""".split()
OTHERS = [*VERSIONS, "", (2, 13), (2, 13, 0), [2, 14], ("2", "13"), [], (2, "x"), 2, 2.1, None]


@pytest.mark.parametrize("version", VERSIONS)
def test_versions_compare_alike(version):
    ours, theirs = TorchVersion(version), torch.torch_version.TorchVersion(version)

    def compared(one, other, name):
        try:
            return getattr(one, name)(other)
        except Exception as error:
            return type(error)

    different = [
        (name, other)
        for name in ("__lt__", "__le__", "__eq__", "__ge__", "__gt__", "__ne__")
        for other in OTHERS
        if compared(ours, other, name) != compared(theirs, other, name)
    ]
    assert different == []


def test_the_version_is_that_of_the_oracle():
    assert torch.__version__.partition("+")[0] == taper.__version__ == aliases.VERSIONS["torch"]


def test_every_module_of_pytorch_is_there_or_explained():
    """This holds for the public modules that lie in PyTorch's folder and those it makes itself."""
    modules = {
        name
        for name in dir(torch)
        if not name.startswith("_") and isinstance(getattr(torch, name), types.ModuleType)
        if getattr(torch, name).__name__ == f"torch.{name}"
    }
    found = {each.name for each in pkgutil.iter_modules(torch.__path__)}
    modules |= {name for name in found if not name.startswith("_")}
    lacking = {name for name in modules if importlib.util.find_spec(f"taper.{name}") is None}
    lacking = {name for name in lacking if not hasattr(taper, name)}
    assert {f"torch.{name}" for name in lacking} - set(left_out.MODULES) == set()
