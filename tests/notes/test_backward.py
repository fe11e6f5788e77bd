"""Claims C1 to C8 of the notes: backward, and the demos with PyTorch's numbers."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import taper

EXAMPLES = Path(__file__).parents[2] / "examples" / "notes"


def test_c1_backward_starts_at_the_root_and_follows_the_chain_rule():
    x = taper.tensor(3.0, requires_grad=True)
    order = []
    y = x * x
    z = y.exp()
    for name, node in (("exp", z.grad_fn), ("mul", y.grad_fn)):
        node.register_prehook(lambda grads, name=name: order.append(name))
    z.backward()
    assert order == ["exp", "mul"]
    assert x.grad.item() == pytest.approx(6 * z.item(), rel=1e-6)


def test_c2_implicit_gradient_only_for_scalars():
    y = taper.ones(3, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar"):
        y.backward()
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        y.backward(taper.ones(2))
    y.backward(taper.tensor([1.0, 10.0, 100.0]))


def test_c3_paths_add_up_calls_accumulate_and_zeroing_resets():
    x = taper.tensor(2.0, requires_grad=True)
    (x * 3 + x * 4).backward()
    assert x.grad.item() == 7.0
    (x * x).backward()
    assert x.grad.item() == 11.0
    x.grad.zero_()
    (x * 5).backward()
    assert x.grad.item() == 5.0
    x.grad = None
    (x * 5).backward()
    assert x.grad.item() == 5.0
    optimizer = taper.optim.SGD([x], lr=0.1)
    optimizer.zero_grad()
    assert x.grad is None


def test_c4_buffers_are_freed_unless_retained():
    x = taper.tensor(2.0, requires_grad=True)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 8.0
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()
    assert x.grad.item() == 8.0


def test_c5_create_graph_gives_differentiable_gradients_of_any_order():
    x = taper.tensor(2.0, requires_grad=True)
    value = x**5
    expected = [80.0, 160.0, 240.0, 240.0, 120.0]
    for wanted in expected:
        (value,) = taper.autograd.grad(value, x, create_graph=True)
        assert value.item() == wanted


def test_c6_complex_gradients_are_conjugate_wirtinger():
    z = taper.tensor(3.0 + 4.0j, requires_grad=True)
    (z * z.conj()).real.backward()
    assert z.grad.item() == 6.0 + 8.0j
    z.grad = None
    z.abs().backward()
    assert z.grad.item() == pytest.approx(0.6 + 0.8j)


def test_c7_hooks_see_and_replace_gradients_and_can_be_removed():
    x = taper.tensor(2.0, requires_grad=True)
    seen = []
    y = x * 3
    handle = y.register_hook(lambda grad: seen.append(grad.item()) or grad * 10)
    y.backward(retain_graph=True)
    assert seen == [1.0] and x.grad.item() == 30.0
    handle.remove()
    y.backward()
    assert seen == [1.0] and x.grad.item() == 33.0


# What PyTorch 2.13 prints for the same demos.
DEMOS = {
    "autograd_demo.py": "loss tensor(-3.1066, grad_fn=<SumBackward0>)",
    "grad_accumulates.py": "[0.2661, 0.1179, 0.0027]",
    "vector_backward.py": "tensor([[8., 4., 4., 4., 4.],",
    "solve_equation.py": "tensor(0.1293, grad_fn=<VarBackward0>)",
    "train_two_layers.py": "step  99  loss 0.002954",
    "no_grad_block.py": "x grad:  tensor([-1.7388,  0.6116, -1.8909,  1.3276, -1.2935])",
}


@pytest.mark.parametrize("name", sorted(DEMOS))
def test_c8_the_demos_give_pytorch_s_numbers(name, capsys):
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert DEMOS[name] in capsys.readouterr().out


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_every_example_of_the_notes_runs(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.count("\n") >= 2
