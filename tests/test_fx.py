"""`taper.fx`: traced programs compute what the program computes, and can be copied and pickled."""

import copy
import pickle
import threading

import pytest

import fx_programs
import taper
from taper import fx, nn
from taper.autograd import detours
from taper.fx.experimental import optimization

MODELS = fx_programs.models(taper)


def test_code_is_pytorchs():
    assert fx.symbolic_trace(MODELS["Small"]).code == (
        "\n\n\ndef forward(self, x):\n"
        "    param = self.param\n"
        "    add = x + param;  x = param = None\n"
        "    buf = self.buf\n"
        "    add_1 = add + buf;  add = buf = None\n"
        "    linear = self.linear(add_1);  add_1 = None\n"
        "    clamp = linear.clamp(min = 0.0, max = 1.0);  linear = None\n"
        "    return clamp\n    "
    )


def test_a_traced_module_computes_the_same():
    model, x = MODELS["Small"], taper.randn(3, 4)
    traced = fx.symbolic_trace(model)
    assert taper.equal(traced(x), model(x))
    own, other = (taper.autograd.grad(each(x).sum(), model.param)[0] for each in (traced, model))
    assert taper.equal(own, other)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies(copied):
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    other = copied(traced)
    x = taper.ones(1, 2)
    assert other.code == traced.code
    assert taper.equal(other(x), traced(x))
    assert other.get_parameter("0.weight") is not traced.get_parameter("0.weight")


def test_functions_look_for_proxies_only_while_there_are_some():
    fx.symbolic_trace(lambda x: taper.relu(x))
    assert taper.relu not in detours.functions_on_a_detour("overrides")
    proxy = fx.Proxy(fx.Graph().placeholder("x"))
    assert taper.relu in detours.functions_on_a_detour("overrides")
    assert taper.equal(taper.relu(taper.tensor([-1.0])), taper.zeros(1))
    del proxy
    assert taper.relu not in detours.functions_on_a_detour("overrides")


def test_a_function_called_first_without_a_proxy_is_still_seen():
    one = taper.ones(1)
    programs = (
        lambda x: (taper.hypot(one, one), taper.hypot(x, x))[1],
        lambda x: (nn.functional.hardswish(one), nn.functional.hardswish(x))[1],
        lambda x: (taper.atleast_1d(one), taper.atleast_1d(x))[1],
    )
    for program in programs:
        nodes = list(fx.symbolic_trace(program).graph.nodes)
        assert [node.op for node in nodes] == ["placeholder", "call_function", "output"]


def test_other_threads_compute_while_one_traces():
    results = []

    def slow(x):
        thread = threading.Thread(
            target=lambda: results.append(taper.relu(taper.tensor([-1.0, 1.0])))
        )
        thread.start()
        thread.join()
        return taper.relu(x)

    fx.symbolic_trace(slow)
    assert results[0].tolist() == [0.0, 1.0]


def helper(x):
    return x + 1


fx.wrap("helper")


def test_wrapped_functions_stay_calls():
    traced = fx.symbolic_trace(lambda x: helper(x) * 2)
    assert 'test_fx_helper")\n' in traced.code
    assert traced(1) == 4


def test_a_failed_trace_restores_everything():
    call = nn.Module.__call__
    with pytest.raises(fx.proxy.TraceError):
        fx.symbolic_trace(lambda x: bool(x))
    assert nn.Module.__call__ is call
    assert not fx._symbolic_trace.is_fx_tracing()


def test_interpreter_forgets_values_and_names_the_node():
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2)))
    with pytest.raises(RuntimeError, match=r"While executing %_0 : \[num_users=1\] = call_module"):
        fx.Interpreter(traced).run(taper.ones(1, 3))


def test_to_folder(tmp_path):
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2)))
    traced.to_folder(tmp_path / "written", "Net")
    assert "class Net(torch.nn.Module):" in (tmp_path / "written" / "module.py").read_text()
    assert taper.load(tmp_path / "written" / "state_dict.pt")["0.weight"].shape == (2, 2)


@pytest.mark.parametrize("number", range(8))
def test_edits_run(number):
    assert "return" in fx_programs.graph_edits(taper)[number]()


@pytest.mark.parametrize("number", range(15))
def test_mistakes_raise(number):
    with pytest.raises((RuntimeError, TypeError, ValueError, AssertionError, NotImplementedError)):
        fx_programs.mistakes(taper)[number]()


def test_fused_convolutions_compute_the_same():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout()).eval()
    model[1].running_mean.fill_(0.5)
    image = taper.linspace(-1, 1, 75).reshape(1, 3, 5, 5)
    fused = optimization.fuse(model)
    assert [name for name, _ in fused.named_children()] == ["0", "2", "3"]
    taper.testing.assert_close(fused(image), model(image))
    assert len(list(optimization.remove_dropout(model).children())) == 3
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        optimization.fuse(model.train())


def test_a_patcher_restores_what_a_library_exchanges():
    call = nn.Module.__call__
    assert fx._symbolic_trace._orig_module_call is call
    with fx._symbolic_trace._Patcher() as patcher:
        patcher.patch_method(nn.Module, "__call__", lambda self: "ours", deduplicate=False)
        patcher.patch_method(nn.Module, "__call__", lambda self: "other")
        assert nn.ReLU()() == "ours"
    assert nn.Module.__call__ is call
