"""Claims A1 to A9 of the notes: building the graph."""

from __future__ import annotations

import pytest

import taper
from taper.autograd.accumulate import AccumulateGrad
from taper.viz import make_dot


@pytest.fixture
def product():
    x1 = taper.tensor(2.0, requires_grad=True)
    x2 = taper.tensor(3.0, requires_grad=True)
    return x1, x2, x1 * x2


def test_a1_forward_computes_and_records_against_the_flow(product):
    x1, x2, v = product
    assert v.item() == 6.0
    w = v + 1
    assert w.grad_fn.next_functions[0][0] is v.grad_fn
    assert {node.variable for node, _ in v.grad_fn.next_functions} == {x1, x2}


def test_a2_one_input_that_requires_grad_makes_a_mul_node(product):
    x1, _, v = product
    assert v.grad_fn.name() == "MulBackward0"
    assert type(v.grad_fn).__name__ == "MulBackward0"
    half = x1 * taper.tensor(3.0)
    assert half.grad_fn.name() == "MulBackward0" and half.requires_grad
    neither = taper.tensor(2.0) * taper.tensor(3.0)
    assert neither.grad_fn is None and not neither.requires_grad


def test_a3_edges_lead_to_grad_fn_or_accumulator_or_nowhere(product):
    x1, x2, v = product
    constant = taper.tensor(5.0)
    w = v * constant
    assert w.grad_fn.next_functions == ((v.grad_fn, 0), (None, 0))
    nodes = [node for node, _ in v.grad_fn.next_functions]
    assert all(isinstance(node, AccumulateGrad) for node in nodes)
    parts = taper.stack([x1, x2]).unbind()
    assert (parts[1] * 1).grad_fn.next_functions[0] == (parts[1].grad_fn, 1)


def test_a4_one_accumulator_per_leaf_while_a_graph_refers_to_it(product):
    x1, _, v = product
    again = x1 + 1
    assert v.grad_fn.next_functions[0][0] is again.grad_fn.next_functions[0][0]
    assert v.grad_fn.next_functions[0][0].variable is x1
    assert v.grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"


def test_a5_history_is_node_and_output_number(product):
    _, _, v = product
    assert v.grad_fn is not None and v.output_nr == 0 and not v.is_leaf
    a, b = taper.ones(2, requires_grad=True).unbind()
    assert (a.output_nr, b.output_nr) == (0, 1)
    assert a.grad_fn is b.grad_fn


def test_a6_a_node_is_callable_named_and_has_edges_metadata_and_hooks(product):
    _, _, v = product
    node = v.grad_fn
    grads = node(taper.tensor(1.0))
    assert [grad.item() for grad in grads] == [3.0, 2.0]
    node.metadata["mine"] = 1
    assert node.metadata == {"mine": 1}
    seen = []
    node.register_hook(lambda inputs, outputs: seen.append(outputs[0].item()))
    v.backward()
    assert seen == [1.0]
    x = taper.ones(2, requires_grad=True)
    names = [y.grad_fn.name() for y in (x + 1, x.sigmoid(), x.sum(), -x, x.exp())]
    assert names == [
        "AddBackward0",
        "SigmoidBackward0",
        "SumBackward0",
        "NegBackward0",
        "ExpBackward0",
    ]


def test_a7_autograd_metadata_is_made_only_when_needed():
    plain = taper.ones(2)
    assert plain._autograd_meta is None and plain._counter is None and plain._view is None
    leaf = taper.ones(2, requires_grad=True)
    assert leaf.grad is None and leaf.grad_fn is None and not leaf.retains_grad
    view = leaf[0]
    assert view._is_view() and view._base is leaf and view._version == leaf._version == 0
    (leaf * 2).sum().backward()
    assert leaf._autograd_meta is not None and leaf.grad.tolist() == [2.0, 2.0]


def test_a8_the_graph_is_rebuilt_at_every_forward():
    x = taper.tensor(2.0, requires_grad=True)

    def power(times):
        y = x
        for _ in range(times):
            y = y * x
        return y

    for times in (1, 3, 2):
        x.grad = None
        power(times).backward()
        assert x.grad.item() == (times + 1) * 2.0**times
    sizes = [(taper.ones(n) * x).sum().grad_fn.next_functions[0][0] for n in (1, 4)]
    assert sizes[0] is not sizes[1]


def test_a9_make_dot_draws_the_graph_with_saved_tensors_and_attributes(product, tmp_path):
    x1, x2, v = product
    text = make_dot(v, params={"x1": x1, "x2": x2}).source
    for word in ("MulBackward0", "AccumulateGrad", "x1", "x2"):
        assert word in text
    saved = make_dot(v, params={"x1": x1}, show_attrs=True, show_saved=True).source
    assert "[saved tensor]" in saved
    path = make_dot(v).render(str(tmp_path / "graph"), format="svg")
    with open(path, encoding="utf-8") as file:
        assert "<svg" in file.read(200)
