"""Names that few programs use: futures, switches of quantization, what is left out on purpose."""

from __future__ import annotations

import inspect
import threading

import pytest

import taper
from taper.compat import left_out
from taper.futures import Future, collect_all, wait_all
from taper.utils import cpp_extension

# --- futures ---------------------------------------------------------------------------------


def test_a_future_is_done_once():
    future = Future()
    assert not future.done()
    with pytest.raises(RuntimeError, match="not done"):
        future.value()
    future.set_result(3)
    assert (future.done(), future.wait(), future.value()) == (True, 3, 3)
    with pytest.raises(RuntimeError, match="Attempting to mark a completed Future as complete"):
        future.set_result(4)


def test_wait_waits_for_another_thread():
    future = Future()
    threading.Timer(0.05, future.set_result, ("late",)).start()
    assert future.wait() == "late"


def test_then_makes_a_chain():
    first = Future()
    last = first.then(lambda future: future.wait() + 1).then(lambda future: future.wait() * 2)
    assert not last.done()
    first.set_result(2)
    assert last.wait() == 6
    assert first.then(lambda future: future.value()).wait() == 2  # done already


def test_errors_are_raised_by_whoever_waits():
    future = Future()
    after = future.then(lambda future: future.wait())
    future.set_exception(ValueError("wrong"))
    for ask in (future.wait, future.value):
        with pytest.raises(ValueError, match="wrong"):
            ask()
    with pytest.raises(RuntimeError, match="when running the callback: ValueError: wrong"):
        after.wait()
    with pytest.raises(AssertionError, match="no is of type <class 'str'>, not an Exception."):
        Future().set_exception("no")


def test_callbacks_run_in_order_and_their_errors_are_printed(capfd):
    seen, future = [], Future()
    future.add_done_callback(lambda future: seen.append(future.value()))
    future.add_done_callback(lambda future: 1 / 0)
    future.add_done_callback(lambda future: seen.append("last"))
    future.set_result("first")
    assert seen == ["first", "last"]
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_all_futures_together():
    futures = [Future(), Future()]
    together = collect_all(futures)
    futures[1].set_result(2)
    assert not together.done()
    futures[0].set_result(1)
    assert together.wait() == futures
    assert wait_all(futures) == [1, 2]
    assert collect_all([]).wait() == []
    futures.append(Future())
    futures[2].set_exception(ValueError("wrong"))
    with pytest.raises(ValueError, match="wrong"):
        wait_all(futures)


# --- what is left out ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["export", "nested"])
def test_a_module_that_is_left_out_says_why(name):
    assert not hasattr(taper, name)
    with pytest.raises(AttributeError) as caught:
        getattr(taper, name)
    assert str(caught.value).startswith(f"module 'taper' has no attribute '{name}'. taper leaves")
    assert left_out.MODULES[f"torch.{name}"][1] in str(caught.value)


def test_names_of_quantization_are_there_and_refused_when_used():
    quantization = taper.ao.quantization
    net = quantization.QuantWrapper(taper.nn.Linear(2, 3))
    assert net(taper.ones(1, 2)).shape == (1, 3)
    assert list(net.state_dict()) == ["module.weight", "module.bias"]
    assert repr(quantization.QuantStub()) == "QuantStub()"
    observer = quantization.observer.MinMaxObserver
    assert not isinstance(net, observer)
    assert quantization.QConfig(activation=observer, weight=observer).weight is observer
    calls = (observer, quantization.quantize_dynamic, quantization.get_default_qconfig)
    calls += (
        taper.ao.nn.quantized.Linear,
        taper.ao.nn.intrinsic.ConvBn2d,
        taper.quantization.prepare,
    )
    for call in calls:
        with pytest.raises(NotImplementedError, match="is not provided, as every tensor holds"):
            call()
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        quantization.nothing
    functional = taper.ao.nn.quantized.FloatFunctional()
    x = taper.tensor([1.0, -2.0])
    assert functional.add_relu(x, x).tolist() == [2.0, 0.0]
    assert functional.cat([x, x]).shape == (4,) and functional.mul_scalar(x, 2.0)[0] == 2
    with pytest.raises(RuntimeError, match="not intended to use the 'forward'"):
        functional(x)


def test_other_names_are_just_not_there():
    with pytest.raises(AttributeError, match=r"^module 'taper' has no attribute 'nothing'$"):
        taper.nothing


@pytest.mark.parametrize("name", ["CppExtension", "CUDAExtension", "load", "load_inline"])
def test_extensions_are_refused_when_they_are_used(name):
    with pytest.raises(NotImplementedError, match=rf"cpp_extension\.{name} is not provided"):
        getattr(cpp_extension, name)("name", sources=[])


def test_build_extension_with_options_is_refused():
    with pytest.raises(NotImplementedError, match="operators are Python"):
        cpp_extension.BuildExtension.with_options(use_ninja=False)


# --- questions and switches ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["has_cuda", "has_cudnn", "has_mps"])
def test_old_questions_warn(name):
    with pytest.warns(UserWarning, match=f"'{name}' is deprecated, please use 'torch.backends"):
        assert getattr(taper, name) is False
    assert name not in dir(taper)


def test_quantized_engine_is_a_switch():
    quantized = taper.backends.quantized
    assert quantized.engine == "x86"
    with pytest.raises(RuntimeError, match="nothing is not a valid value for quantized engine"):
        quantized.engine = "nothing"
    quantized.engine = "qnnpack"
    try:
        assert quantized.engine == "qnnpack"
    finally:
        quantized.engine = "x86"


def test_the_modules_that_autograd_lists_are_pytorch_s():
    """PyTorch 2.13 has these: what else is loaded there is the library's own."""
    listed = [getattr(taper.autograd, name) for name in taper.autograd.__all__]
    modules = {each.__name__.rpartition(".")[2] for each in listed if inspect.ismodule(each)}
    expected = "anomaly_mode forward_ad function functional grad_mode graph profiler profiler_util"
    assert modules == set(expected.split())
