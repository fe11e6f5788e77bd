"""Small packages and names: signal, multiprocessing, library, fx, cpu, mapped files, switches."""

from __future__ import annotations

import collections
import os
import signal

import numpy as np
import pytest

import taper as torch
from taper.autograd.profiler import EnforceUnique, KinetoStepTracker, MemRecordsAcc
from taper.nn.modules.utils import _pair, consume_prefix_in_state_dict_if_present
from taper.ops.signatures import signature_of_schema
from taper.optim.adam import adam
from taper.optim.sgd import sgd

# --- signal ----------------------------------------------------------------------------------


def test_periodic_windows_are_symmetric_ones_without_the_last_point():
    for name in torch.signal.windows.__all__:
        if name == "cosine":  # its points lie between those of the symmetric one
            continue
        window = getattr(torch.signal.windows, name)
        options = {"a": [0.5, 0.3, 0.2]} if name == "general_cosine" else {}
        periodic = window(7, sym=False, dtype=torch.float64, **options)
        symmetric = window(8, dtype=torch.float64, **options)[:-1]
        np.testing.assert_allclose(periodic.numpy(), symmetric.numpy(), atol=1e-12)


def test_hann_is_the_one_of_numpy():
    found = torch.signal.windows.hann(9, dtype=torch.float64).numpy()
    np.testing.assert_allclose(found, np.hanning(9), atol=1e-12)


# --- optimizers as functions -----------------------------------------------------------------


def test_adam_over_lists_is_the_optimizer():
    weight = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
    optimizer = torch.optim.Adam([weight], lr=0.1, amsgrad=True, weight_decay=0.1)
    param = weight.detach().clone()
    means = [[torch.zeros(2)] for _ in range(3)]
    steps = [torch.tensor(0.0)]
    for _ in range(3):
        weight.grad = torch.tensor([0.5, 1.5])
        optimizer.step()
        adam(
            *([param], [weight.grad], *means, steps),
            amsgrad=True,
            beta1=0.9,
            beta2=0.999,
            lr=0.1,
            weight_decay=0.1,
            eps=1e-8,
            maximize=False,
        )
    assert torch.equal(param, weight)
    assert steps[0] == 3
    assert param._version == weight._version == 3


OPTIONS = {
    "weight_decay": 0.0,
    "momentum": 0.0,
    "lr": 0.5,
    "dampening": 0.0,
    "nesterov": False,
    "maximize": False,
}


def test_a_leaf_that_requires_grad_is_refused_in_grad_mode():
    leaf = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        sgd([leaf], [torch.ones(2)], [None], **OPTIONS)
    with torch.no_grad():
        sgd([leaf], [torch.ones(2)], [None], **OPTIONS)
    assert leaf.tolist() == [0.5, 0.5]


def test_a_step_over_results_is_recorded():
    leaf = torch.ones(2, requires_grad=True)
    param = leaf * 3
    grad = torch.ones(2, requires_grad=True)
    sgd([param], [grad], [None], **OPTIONS)
    to_leaf, to_grad = torch.autograd.grad(param.sum(), [leaf, grad])
    assert to_leaf.tolist() == [3, 3]
    assert to_grad.tolist() == [-0.5, -0.5]


def test_numbers_of_steps_must_be_tensors():
    with pytest.raises(RuntimeError, match="list of singleton tensors"):
        adam(
            *([], [], [], [], [], [1]),
            amsgrad=False,
            beta1=0.9,
            beta2=0.9,
            lr=0.1,
            weight_decay=0,
            eps=1e-8,
            maximize=False,
        )


# --- multiprocessing -------------------------------------------------------------------------


def add_number(nr, tensor):
    tensor[nr] += nr + 1


def fail(nr):
    if nr == 1:
        raise ValueError("no luck")


def leave(nr):
    os._exit(3)


def die(nr):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.skipif(os.name != "posix", reason="fork is POSIX")
def test_processes_share_a_tensor():
    tensor = torch.zeros(3).share_memory_()
    start = torch.multiprocessing.start_processes
    assert start(add_number, (tensor,), nprocs=3, start_method="fork") is None
    assert tensor.tolist() == [1, 2, 3]


@pytest.mark.skipif(os.name != "posix", reason="fork is POSIX")
def test_what_a_process_raises_is_raised_here():
    mp = torch.multiprocessing
    with pytest.raises(mp.ProcessRaisedException, match="ValueError: no luck") as caught:
        mp.start_processes(fail, nprocs=2, start_method="fork")
    assert caught.value.error_index == 1
    with pytest.raises(mp.ProcessExitedException, match="exit code 3"):
        mp.start_processes(leave, start_method="fork")
    with pytest.raises(mp.ProcessExitedException, match="signal SIGKILL") as caught:
        mp.start_processes(die, start_method="fork")
    assert caught.value.signal_name == "SIGKILL"


def test_it_is_pythons_multiprocessing():
    mp = torch.multiprocessing
    assert mp.get_start_method() in mp.get_all_start_methods()
    assert mp.current_process().name
    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() == "file_system"
    mp.set_sharing_strategy(before)
    with pytest.raises(AssertionError, match="invalid sharing strategy 'foo'"):
        mp.set_sharing_strategy("foo")


# --- library, fx -----------------------------------------------------------------------------


def test_a_custom_operator_runs_and_has_the_derivative_it_was_given():
    @torch.library.custom_op("mine::triple", mutates_args=())
    def triple(x: torch.Tensor, k: float = 3.0) -> torch.Tensor:
        return x * k

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="through mine.triple.default but no autograd formula"):
        triple(x).sum().backward()

    def setup(ctx, inputs, output):
        ctx.k = inputs[1]

    triple.register_autograd(lambda ctx, grad: (grad * ctx.k, None), setup_context=setup)
    assert torch.autograd.grad(triple(x).sum(), x)[0].tolist() == [3, 3]
    assert triple(x).grad_fn.name() == "GeneratedBackwardFor_mine_triple_defaultBackward"
    assert torch.ops.mine.triple is triple

    @triple.register_kernel("cpu")
    def other(x, k=3.0):
        return x - k

    assert triple(torch.ones(1)).item() == -2


def test_a_custom_operator_may_write_its_argument():
    @torch.library.custom_op("mine::add_one", mutates_args={"x"})
    def add_one(x: torch.Tensor) -> None:
        x.add_(1)

    x = torch.zeros(2)
    assert add_one(x) is None
    assert x.tolist() == [1, 1]


def test_operators_of_pytorch_cannot_be_replaced():
    with pytest.raises(NotImplementedError, match="a TorchDispatchMode sees them"):
        torch.library.Library("aten", "IMPL")
    with pytest.raises(ValueError, match="Unsupported library kind"):
        torch.library.Library("mine", "NONE")


def test_a_library_declares_by_schemas_and_takes_functions():
    with torch.library._scoped_library("mine2", "DEF") as library:
        assert library.define("scaled(Tensor x, float k=2.0, *, int? n=None) -> Tensor") == "scaled"
        with pytest.raises(RuntimeError, match="already"):
            library.define("scaled(Tensor x) -> Tensor")
        x = torch.ones(2, requires_grad=True)
        with pytest.raises(NotImplementedError, match="Could not run 'mine2::scaled'"):
            torch.ops.mine2.scaled(x)
        library.impl("scaled", lambda x, k=2.0, n=None: x * k + (n or 0))
        torch.ops.mine2.scaled(x, 3.0, n=1).sum().backward()
        assert x.grad.tolist() == [3, 3] and torch.ops.mine2.scaled.default(x).tolist() == [2, 2]
    assert not hasattr(torch.ops.mine2, "scaled")


def test_an_operator_of_define_has_a_derivative_and_a_form_on_meta():
    torch.library.define("mine::sine", "(Tensor x) -> Tensor")
    torch.library.impl("mine::sine", "cpu")(lambda x: torch.from_numpy(np.sin(x.numpy())))
    torch.library.impl("mine::sine", ("cuda",), len)
    torch.library.register_fake("mine::sine")(lambda x: torch.empty_like(x))
    save = lambda ctx, inputs, output: ctx.save_for_backward(*inputs)  # noqa: E731
    backward = lambda ctx, grad: grad * ctx.saved_tensors[0].cos()  # noqa: E731
    torch.library.register_autograd("mine::sine", backward, setup_context=save)
    x = torch.ones(1, requires_grad=True)
    torch.ops.mine.sine(x).backward()
    assert x.grad.item() == pytest.approx(0.5403, abs=1e-4)
    assert torch.ops.mine.sine(torch.ones(3, device="meta")).is_meta
    checked = torch.library.opcheck(torch.ops.mine.sine.default, (x,))
    assert list(checked.values()) == ["SUCCESS"] * 4


def test_checks_of_operators_find_what_is_not_declared():
    @torch.library.custom_op("mine::same", mutates_args=())
    def same(x: torch.Tensor) -> torch.Tensor:
        return x

    @torch.library.custom_op("mine::writes", mutates_args=())
    def writes(x: torch.Tensor) -> torch.Tensor:
        return x.add_(1).clone()

    found = torch.library.opcheck(same, (torch.ones(1),), raise_exception=False)
    assert "must not also be an input" in str(found["test_schema"])
    assert "There was no fake impl registered" in str(found["test_faketensor"])
    assert found["test_autograd_registration"] == "SUCCESS"
    with pytest.raises(Exception, match="not defined as mutable but was mutated"):
        torch.library.opcheck(writes, (torch.ones(1),), test_utils="test_schema")
    same.register_fake(lambda x: x.new_empty(7))
    with pytest.raises(Exception, match="those on meta tensors"):
        torch.library.opcheck(same, (torch.ones(1),), test_utils="test_faketensor")
    with pytest.raises(ValueError, match="is no test"):
        torch.library.opcheck(same, (torch.ones(1),), test_utils="test_nothing")


def test_schemas_are_read():
    name, signature, written = signature_of_schema(
        "f(Tensor(a!) x, int[2] n=[1, 2], str s='a') -> ()"
    )
    assert name == "f" and written == ("x",)
    assert signature.parameters["n"].default == [1, 2] and signature.parameters["s"].default == "a"
    with pytest.raises(RuntimeError, match="a schema reads"):
        signature_of_schema("nothing")


# --- small names -----------------------------------------------------------------------------


def test_a_mapped_file_is_written_if_it_is_shared(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(np.arange(3, dtype=np.float32).tobytes())
    own = torch.from_file(str(path), size=3)
    own.add_(1)
    assert np.fromfile(path, np.float32).tolist() == [0, 1, 2]
    shared = torch.from_file(str(path), shared=True, size=4)
    shared.add_(1)
    assert np.fromfile(path, np.float32).tolist() == [1, 2, 3, 1]
    assert own.tolist() == [1, 2, 3]


def test_device_modules():
    assert torch.get_device_module() is torch.cpu
    assert torch.get_device_module("cuda") is torch.cuda
    with pytest.raises(RuntimeError, match="registered as 'torch.meta'"):
        torch.get_device_module("meta")


def test_anomaly_mode_can_be_switched_at_the_top():
    torch.set_anomaly_enabled(True)
    try:
        assert torch.is_anomaly_enabled()
    finally:
        torch.set_anomaly_enabled(False)
    with pytest.raises(TypeError, match="must be bool, not int"):
        torch.set_anomaly_enabled(1)


def test_classes_are_not_asked_while_functions_are_disabled():
    asked = []

    class Mine(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func)
            return super().__torch_function__(func, types, args, kwargs)

    x = torch.ones(1, requires_grad=True).as_subclass(Mine)
    with torch.DisableTorchFunctionSubclass():
        torch.autograd.backward(x.sum())
    assert asked == []


def test_tools_of_the_profiler():
    unique = EnforceUnique()
    unique.see("a", 1)
    with pytest.raises(RuntimeError, match="duplicate key"):
        unique.see("a", 1)
    before = KinetoStepTracker.current_step()
    assert KinetoStepTracker.increment_step("one") == before + 1
    assert KinetoStepTracker.increment_step("two") == before + 2
    assert KinetoStepTracker.erase_step_count("two")
    assert not KinetoStepTracker.erase_step_count("two")

    class Record:
        def __init__(self, time):
            self.time = time

        def start_ns(self):
            return self.time

    records = MemRecordsAcc([(Record(5), "a"), (Record(1), "b"), (Record(3), "c")])
    assert [name for _, name in records.in_interval(1, 4)] == ["b", "c"]


def test_tools_of_modules():
    assert _pair(3) == (3, 3)
    assert _pair([1, 2]) == (1, 2)
    state = torch.nn.Linear(2, 1).state_dict(prefix="module.")
    consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == ["weight", "bias"]


def test_found_w29_a_prefix_is_taken_off_the_metadata_and_others_stay():
    state = collections.OrderedDict({"module.a.w": 1, "other.w": 2})
    names = ("", "module", "module.a", "module.module.a", "modulex", "other")
    state._metadata = collections.OrderedDict((name, name) for name in names)
    consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == ["other.w", "a.w"]
    assert dict(state._metadata) == {
        "": "module",
        "modulex": "modulex",
        "other": "other",
        "a": "module.a",
        "module.a": "module.module.a",
    }
