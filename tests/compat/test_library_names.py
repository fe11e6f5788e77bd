"""Names that libraries import from PyTorch: there, and real or refusing with a sentence."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle

import numpy as np
import pytest

import taper
from taper import compat
from taper.compat.paths import public_module

MODULES = """
torch.jit.annotations torch._jit_internal torch._tensor torch._tensor_str torch._vmap_internals
torch.nn.parallel.scatter_gather torch.utils._foreach_utils torch.utils._contextlib
torch.utils._python_dispatch torch._C._functorch torch._functorch.apis torch._functorch.deprecated
torch._functorch.eager_transforms torch._functorch.functional_call torch._functorch.vmap
torch._functorch.make_functional torch._subclasses.fake_tensor functorch
torch.fx.experimental.proxy_tensor torch.fx.experimental.symbolic_shapes
torch.distributed._tensor.experimental torch.distributed._tensor.placement_types
"""
NAMES = """
_C._disabled_torch_function_impl _C._get_tracing_state _C._is_alias_of _C._log_api_usage_once
_C._TensorMeta _C.Graph _C.Value _check Event Future hub.HASH_REGEX jit._get_trace_graph
jit._overload jit._overload_method jit.ScriptModule jit.TracerWarning
nn.modules.module._EXTRA_STATE_KEY_SUFFIX nn.modules.module._global_forward_hooks
ops.aten._pin_memory.default PyTorchFileReader ScriptModule serialization.MAP_LOCATION Stream
TensorType torch SymBool SymFloat SymInt _utils.ExceptionWrapper _utils._rebuild_tensor
_utils.is_compiling _guards.active_fake_mode _functorch.vmap._maybe_remove_batch_dim
hub._get_torch_home nn.modules.module._global_parameter_registration_hooks utils._pytree.Context
utils.data.dataloader._collate_fn_t hub.tqdm _C.PyTorchFileReader library.opcheck
library._scoped_library optim.lbfgs._strong_wolfe nn.functional.grad _functorch.apis.chunk_vmap
"""


@pytest.fixture
def torch():
    with compat.installed():
        yield taper  # what `import torch` gives now


@pytest.mark.parametrize("name", MODULES.split())
def test_modules_are_there(torch, name):
    module = importlib.import_module(name)
    for each in getattr(module, "__all__", ()):
        assert hasattr(module, each)


@pytest.mark.parametrize("name", NAMES.split())
def test_names_are_there(torch, name):
    found = torch
    for part in name.split("."):
        found = getattr(found, part)


def test_paths_of_classes_are_those_of_pytorch_while_the_proxy_is_there(torch):
    assert torch.__name__ == "torch" and torch.torch is torch
    assert repr(type(torch.ones(1))) == "<class 'torch.Tensor'>"
    for cls, path in (
        (torch.nn.MultiheadAttention, "torch.nn.modules.activation.MultiheadAttention"),
        (torch.optim.lr_scheduler.StepLR, "torch.optim.lr_scheduler.StepLR"),
        (
            torch.distributions.transforms.ExpTransform,
            "torch.distributions.transforms.ExpTransform",
        ),
        (torch.nn.Parameter, "torch.nn.parameter.Parameter"),
    ):
        assert f"{cls.__module__}.{cls.__qualname__}" == path
        assert pickle.loads(pickle.dumps(cls)) is cls
    compat.uninstall()
    assert taper.__name__ == "taper" and taper.Tensor.__module__ == "taper.tensor"
    compat.install()


def test_a_user_class_keeps_its_path():
    assert public_module("mine.layers", "Linear") == "mine.layers"
    assert public_module("taperworm", "Linear") == "taperworm"


def test_star_imports(torch):
    names: dict[str, object] = {}
    exec("from torch import *", names)
    assert names["relu"] is taper.relu and names["FloatTensor"] is taper.FloatTensor
    assert names["float32"] is taper.float32 and "nn" not in names and "_C" not in names
    names.clear()
    exec("from torchvision.models import *", names)
    assert names["resnet18"] is taper.vision.models.resnet18
    assert {"ResNet18_Weights", "VisionTransformer", "list_models"} <= names.keys()


def test_what_is_missing_can_be_asked_for_and_says_so_when_used(torch):
    vision = importlib.import_module("torchvision")
    assert hasattr(vision.datasets, "ImageNet")
    assert not isinstance(torch.ones(1), vision.tv_tensors.BoundingBoxes)
    for make in (
        torch._C.Graph,
        torch.jit.ScriptFunction,
        torch.Stream,
    ):
        with pytest.raises(NotImplementedError, match=make.__name__):
            make()
    with pytest.raises(AttributeError):
        vision.datasets.Nothing


# --- small functions, as PyTorch answers -----------------------------------------------------


def test_conditions():
    taper._check(True)
    with pytest.raises(RuntimeError, match="Expected cond to be True, but got False"):
        taper._check(False)
    with pytest.raises(ValueError, match="^hello$"):
        taper._check_value(False, lambda: "hello")
    with pytest.raises(TypeError, match="cond must be a bool, but got <class 'int'>"):
        taper._check(1)
    with pytest.raises(TypeError, match="message must be a callable"):
        taper._check(False, "text")
    with pytest.raises(RuntimeError):
        taper._check_is_size(-1)
    with pytest.raises(RuntimeError):
        taper._check_tensor_all(taper.tensor([True, False]))


def test_arguments_of_to():
    parse = taper._C._nn._parse_to
    cpu = taper.device("cpu")
    assert parse(taper.float32) == (None, taper.float32, False, None)
    assert parse("cpu", taper.float64, True) == (cpu, taper.float64, True, None)
    assert parse(taper.ones(2, dtype=taper.float64)) == (cpu, taper.float64, False, None)
    assert parse(memory_format=taper.channels_last)[3] is taper.channels_last


def test_aliases():
    x = taper.ones(4)
    assert taper._C._is_alias_of(x, x[1:]) and not taper._C._is_alias_of(x, x.clone())


def test_tensors_sorted_by_dtype():
    from taper.utils._foreach_utils import _group_tensors_by_device_and_dtype

    one, two = taper.ones(1), taper.ones(2, dtype=taper.float64)
    found = _group_tensors_by_device_and_dtype([[one, two, one], [None, None, two]], True)
    (single, places), (double, _) = (
        found[taper.device("cpu"), which] for which in (taper.float32, taper.float64)
    )
    assert single == [[one, one], [None, two]] and places == [0, 2]
    assert double == [[two], [None]]


def test_seeds_of_workers():
    from taper.utils.data._utils.worker import _generate_state

    assert _generate_state(12345, 3) == [388367306, 2732186161, 3264781304, 1215154576]


def test_scripted_modules_run_as_python():
    class Double(taper.jit.ScriptModule):
        @taper.jit.script_method
        def forward(self, x):
            return x * 2

    assert Double()(taper.ones(1)).item() == 2 and isinstance(Double(), taper.nn.Module)
    assert not isinstance(taper.nn.Linear(1, 1), taper.jit.ScriptModule)


# --- functorch -------------------------------------------------------------------------------


def test_modules_as_functions():
    from taper import functorch

    model = taper.nn.Sequential(taper.nn.Linear(2, 2), taper.nn.BatchNorm1d(2))
    with pytest.raises(RuntimeError, match="`model` has buffers"):
        functorch.make_functional(model)
    function, parameters, buffers = functorch.make_functional_with_buffers(model)
    x = taper.randn(3, 2)
    expected = model(x)
    assert taper.equal(function(parameters, buffers, x), expected)
    assert (len(parameters), len(buffers)) == (4, 3)
    layers = [taper.nn.Linear(2, 2) for _ in range(3)]
    function, stacked, none = functorch.combine_state_for_ensemble(layers)
    found = functorch.vmap(function, in_dims=(0, 0, None))(stacked, none, x)
    np.testing.assert_allclose(found.detach(), taper.stack([f(x) for f in layers]).detach(), 1e-6)
    frozen = functorch.make_functional(layers[0], disable_autograd_tracking=True)[1]
    assert not any(each.requires_grad for each in frozen)


# --- files -----------------------------------------------------------------------------------


def test_storages_of_files(tmp_path):
    path = str(tmp_path / "bytes")
    shared = taper.UntypedStorage.from_file(path, True, 8)
    shared[0] = 7
    assert (tmp_path / "bytes").read_bytes() == b"\7" + bytes(7) and shared.filename == path
    private = taper.UntypedStorage.from_file(path, False, 4)
    private[1] = 9
    assert (tmp_path / "bytes").read_bytes()[1] == 0 and private.tolist() == [7, 9, 0, 0]
    for arguments, said in (
        ((str(tmp_path / "none"), False, 4), "unable to open file <.*> in read-only mode"),
        ((path, False, 100), "size <8> is smaller than the required mapping size <100>"),
        ((path, False, -1), "unable to mmap -1 bytes"),
    ):
        with pytest.raises(RuntimeError, match=said):
            taper.UntypedStorage.from_file(*arguments)
    with pytest.raises(TypeError, match="argument 1 must be str, not int"):
        taper.UntypedStorage.from_file(3)


def test_the_size_of_a_storage_counts_its_memory():
    assert 1000 <= taper.UntypedStorage(1000).__sizeof__() < 1200
    typed = taper.TypedStorage(250, dtype=taper.float32)
    assert 1000 <= typed.__sizeof__() < 1200


def test_records_of_a_checkpoint(tmp_path):
    path = tmp_path / "model.pt"
    taper.save({"a": taper.arange(3)}, path)
    reader = taper.PyTorchFileReader(str(path))
    assert reader.has_record("data.pkl") and "data/0" in reader.get_all_records()
    assert reader.get_record_size("data/0") == 24
    place = reader.get_record_offset("data/0")
    assert path.read_bytes()[place : place + 24] == reader.get_record("data/0")
    assert reader.get_storage_from_record("data/0", 3, taper.int64).tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="has 24 bytes, not 32"):
        reader.get_storage_from_record("data/0", 4, taper.int64)
    with pytest.raises(RuntimeError, match="failed locating file nothing"):
        reader.get_record("nothing")
    with pytest.raises(RuntimeError, match="open file failed because of errno 2"):
        taper.PyTorchFileReader(str(tmp_path / "none"))


def test_a_module_has_the_signature_of_any_call():
    # captum asks how many arguments the function takes
    assert str(inspect.signature(taper.nn.Linear(1, 1))) == "(*args, **kwargs)"


def test_switches_may_be_set_in_a_block():
    with getattr(taper.backends, "__allow_nonbracketed_mutation")():
        assert not taper.backends.flags_frozen()


def test_symbolic_numbers_are_plain_ones():
    assert not isinstance(3, taper.SymInt)
    assert (taper.sym_int(-3.7), taper.sym_float(3), taper.sym_sqrt(4)) == (-3, 3.0, 2.0)
    assert [type(each) for each in (taper.sym_max(3, 2.0), taper.sym_min(1, 2))] == [float, int]
    assert (taper.sym_not(3), taper.sym_ite(True, 1, 2), taper.sym_sum([1, 2])) == (False, 1, 3)
    with pytest.raises(AssertionError, match="expected SymBool or bool, got <class 'int'>"):
        taper.sym_ite(1, 2, 3)
    with pytest.raises(AssertionError, match="type mismatch: <class 'int'> vs <class 'float'>"):
        taper.sym_ite(True, 2, 3.0)
    with pytest.raises(AssertionError, match="expected .*, got <class 'str'>"):
        taper.sym_max("a", 1)


def test_assert_async_raises_at_once():
    taper._assert_async(taper.tensor([1.0]))
    with pytest.raises(RuntimeError, match="Expected Tensor with single nonzero value"):
        taper._assert_async(taper.tensor(0))
    with pytest.raises(RuntimeError, match="hello"):
        taper._assert_async(taper.tensor(False), "hello")
    assert taper._shape_as_tensor(taper.ones(2, 3)).tolist() == [2, 3]


def test_helpers_of_utils():
    from taper import _utils

    assert _utils._get_available_device_type() is None and _utils._get_all_device_indices() is None
    assert _utils._get_device_module("cpu") is taper.cpu
    with pytest.raises(RuntimeError, match="Device 'foo' does not have a corresponding module"):
        _utils._get_device_module("foo")
    asked = [(3,), ("cuda:1",), (None, True), (taper.device("cpu"), False, True)]
    assert [_utils._get_device_index(*each) for each in asked] == [3, 1, None, -1]
    with pytest.raises(ValueError, match="Expected a non cpu device, but got: cpu"):
        _utils._get_device_index("cpu")
    with pytest.raises(ValueError, match="with a specified index or an integer, but got:cuda"):
        _utils._get_device_index("cuda")
    single, double = taper.ones(3), taper.ones(2, dtype=taper.float64)
    groups = _utils._take_tensors([single, taper.ones(5), double, taper.ones(9)], 20)
    assert [[len(each) for each in group] for group in groups] == [[3], [5], [9], [2]]
    assert _utils._reorder_tensors_as([double, single], [single, double])[0] is single
    assert _utils._import_dotted_name("torch.nn.Linear") is taper.nn.Linear
    assert _utils._element_size(taper.float64) == 8


def test_a_wrapping_optimizer_may_ask_for_hooks_around_its_step():
    assert taper.optim.SGD([taper.ones(1, requires_grad=True)])._patch_step_function() is None


def test_a_subclass_may_call_its_attributes_as_libraries_do():
    # monai's MetaTensor keeps a dict in `_meta`
    class Described(taper.Tensor):
        pass

    described = taper.ones(2).as_subclass(Described)
    described._meta = {"spacing": 2}
    copied = copy.deepcopy(described)
    assert type(copied) is Described and copied._meta == {"spacing": 2}
    described.requires_grad_(True)
    (described * 3).sum().backward()
    assert described.grad.tolist() == [3, 3] and described._meta == {"spacing": 2}


def test_functorch_traces_and_has_its_old_experiments(torch):
    functorch = importlib.import_module("functorch")
    traced = functorch.make_fx(lambda x: x.sin() * 2)(torch.ones(2))
    assert traced(torch.zeros(2)).tolist() == [0.0, 0.0]
    experimental = importlib.import_module("functorch.experimental")
    assert experimental.chunk_vmap(torch.sum)(torch.ones(4, 3)).tolist() == [3.0] * 4
