"""`torch.compile` runs programs as they are and looks like PyTorch's."""

from __future__ import annotations

import copy
import pickle

import pytest

import taper as torch
from taper import nn


def test_a_compiled_function_is_a_function():
    def double(x, factor=2):
        """Doubles."""
        return x * factor

    compiled = torch.compile(double)
    assert compiled is not double
    assert (compiled.__name__, compiled.__doc__) == ("double", "Doubles.")
    assert compiled.__wrapped__ is double
    assert compiled._torchdynamo_orig_callable is double
    assert compiled(torch.ones(2), factor=3).tolist() == [3.0, 3.0]
    assert torch.compile(double, disable=True) is double


@pytest.mark.parametrize(
    "options", [{}, {"fullgraph": True, "dynamic": True}, {"backend": "eager"}]
)
def test_as_a_decorator(options):
    @torch.compile(**options)
    def double(x):
        return x * 2

    assert double(torch.ones(1)).item() == 2


def test_a_compiled_module_shows_the_one_inside():
    module = nn.Linear(2, 3)
    compiled = torch.compile(module)
    assert compiled._orig_mod is module
    assert isinstance(compiled, nn.Module) and not isinstance(compiled, nn.Linear)
    assert compiled.weight is module.weight and compiled.out_features == 3
    assert list(compiled.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
    assert [name for name, _ in compiled.named_modules()] == ["", "_orig_mod"]
    x = torch.randn(4, 2)
    assert torch.equal(compiled(x), module(x))


def test_what_is_set_on_it_is_set_inside():
    module = nn.Sequential(nn.Linear(2, 2), nn.Dropout())
    compiled = torch.compile(module)
    compiled.eval()
    assert not module.training and not module[1].training and not compiled.training
    compiled.note = 3
    assert module.note == 3 and "note" not in compiled.__dict__
    del compiled.note
    assert not hasattr(module, "note")
    compiled.extra = nn.Linear(1, 1)
    assert list(dict(module.named_children())) == ["0", "1", "extra"]
    assert list(dict(compiled.named_children())) == ["_orig_mod"]
    assert len(compiled) == 3
    with pytest.raises(AttributeError, match="'Sequential' object has no attribute 'nothing'"):
        compiled.nothing


def test_hooks_of_both_run_the_inner_first():
    module = nn.Linear(1, 1)
    compiled = torch.compile(module)
    seen = []
    compiled.register_forward_hook(lambda *_: seen.append("outer"))
    module.register_forward_hook(lambda *_: seen.append("inner"))
    compiled(torch.ones(1))
    assert seen == ["inner", "outer"]


def test_copies_and_pickles():
    compiled = torch.compile(nn.Linear(1, 1))
    for other in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        assert type(other) is type(compiled)
        assert other._orig_mod is not compiled._orig_mod
        assert torch.equal(other.weight, compiled.weight)


def test_training_through_it():
    compiled = torch.compile(nn.Linear(2, 1))
    optimizer = torch.optim.SGD(compiled.parameters(), lr=0.1)
    before = compiled.weight.detach().clone()
    compiled(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert torch.allclose(compiled.weight, before - 0.1)


def test_instructions_to_a_compiler_change_nothing():
    @torch.compiler.disable
    def one():
        return 1

    @torch.compiler.disable(recursive=False)
    def two():
        return 2

    @torch.compiler.set_stance("force_eager")
    def three():
        return 3

    with torch.compiler.set_stance("default"):
        assert (one(), two(), three()) == (1, 2, 3)
    assert not torch.compiler.is_compiling() and not torch._dynamo.is_compiling()
    torch._dynamo.config.suppress_errors = True
    torch._inductor.config.triton.cudagraphs = True
    torch._dynamo.reset()
    assert nn.Linear(1, 1).compile() is None


def test_scripts_are_python():
    @torch.jit.script
    def double(x):
        return x * 2

    class Net(nn.Module):
        limit: torch.jit.Final[int] = 3

        @torch.jit.export
        def forward(self, x):
            return self.helper(x)

        @torch.jit.ignore
        def helper(self, x):
            return double(x) if not torch.jit.is_scripting() else x

    net = torch.jit.script(Net())
    assert net(torch.ones(1)).item() == 2
    with pytest.raises(NotImplementedError, match="Save the state_dict"):
        torch.jit.save(net, "file")
    with pytest.raises(NotImplementedError, match="Call the function or module itself"):
        torch.jit.trace(net, torch.ones(1))
