"""`taper.viz.graph`: the recorded graph as data."""

import json

import pytest

import taper
from taper import nn, viz
from taper.autograd import Function

pytestmark = pytest.mark.taper_only


class Doubled(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 2 * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


def multiplication() -> viz.Graph:
    a = taper.tensor(2.0, requires_grad=True)
    b = taper.tensor(3.0, requires_grad=True)
    loss = a * b
    return viz.graph(loss)


def test_nodes_edges_leaves_and_names() -> None:
    graph = multiplication()
    node = graph.nodes[0]
    assert (node.id, node.name, node.operator, node.sequence) == (0, "MulBackward0", "mul", 0)
    assert node.line is not None and node.line.text == "loss = a * b"
    assert node.line.function == "multiplication"
    assert [leaf.name for leaf in graph.leaves] == ["a", "b"]
    assert [leaf.id for leaf in graph.leaves] == [1, 2]
    assert [(e.source, e.target, e.input) for e in graph.edges] == [(1, 0, 0), (2, 0, 1)]
    assert [(each.name, each.source) for each in graph.outputs] == [("loss", 0)]
    assert graph[0] is node and graph[2] is graph.leaves[1]
    with pytest.raises(KeyError):
        graph[3]


def test_equal_programs_give_equal_graphs_and_equal_json() -> None:
    first, second = multiplication(), multiplication()
    assert first == second
    assert first.json() == second.json()
    assert json.loads(first.json()) == first.to_json()


def test_formulas_as_text_and_as_mathematics() -> None:
    derivative = multiplication().nodes[0].derivatives[0]
    assert derivative.wrt == ("self",)
    assert derivative.text == "grad * conj(other)"
    assert derivative.mathematics.startswith("<math")
    assert "<mo>·</mo><mi>other</mi>" in derivative.mathematics  # a real number is its conjugate


def test_shared_memory_counts_once_and_that_of_leaves_not_at_all() -> None:
    w = taper.ones(1000, requires_grad=True)
    hidden = w * 2
    graph = viz.graph((hidden * hidden[:500].repeat(2)).sum() + (hidden * w).sum())
    memory = [each for each in graph.storages if each.leaf is None]
    assert sorted(each.bytes for each in memory) == [4000, 4000]  # hidden, the repeated half
    assert graph.saved_bytes == 8000
    kept = {each.kind for node in graph for each in node.saved}
    assert kept == {"input", "leaf"}
    holders = next(each.holders for each in memory if len(each.holders) > 1)
    assert [graph.nodes[each].name for each in holders] == ["MulBackward0", "MulBackward0"]


def test_reading_disturbs_nothing() -> None:
    x = taper.ones(3, requires_grad=True)
    y = x.exp()
    loss = y.sum()
    y.add_(1)  # backward will refuse, but looking is no use
    graph = viz.graph(loss)
    assert graph.nodes[0].name == "ExpBackward0"
    assert graph.nodes[0].saved[0].kind == "output"


def test_freed_graph_says_so() -> None:
    x = taper.ones(3, requires_grad=True)
    loss = x.exp().sum()
    loss.backward()
    graph = viz.graph(loss)
    assert [node.freed for node in graph] == [True, False]  # a sum keeps nothing
    assert graph.saved_bytes == 0


def test_no_graph_is_a_sentence() -> None:
    x = taper.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"the tensor has no graph.*\n.*detach"):
        viz.graph(x.detach())
    with pytest.raises(TypeError, match="expected a tensor or several, got int"):
        viz.graph(3)
    with pytest.raises(TypeError, match="expected a tensor or several, got str"):
        viz.graph("loss")
    assert len(viz.graph(x)) == 0
    assert viz.graph(x).leaves[0].name == "x"


def test_other_kinds_of_nodes() -> None:
    x = taper.ones(3, requires_grad=True)
    y = Doubled.apply(x) * 1
    y[:2].mul_(2)
    graph = viz.graph([y, taper._foreach_exp([x, x])[1]])
    names = [node.name for node in graph]
    assert names[:3] == ["DoubledBackward", "MulBackward0", "CopySlices"]
    assert graph.nodes[0].saved[0].name == "saved_tensors[0]"
    assert graph.nodes[0].derivatives == ()
    assert graph.outputs[1].output == 1


def test_packed_values_are_named_as_such() -> None:
    x = taper.ones(3, requires_grad=True)
    with taper.autograd.graph.saved_tensors_hooks(lambda t: "on disk", lambda _: x):
        loss = x.exp()
    saved = viz.graph(loss).nodes[0].saved[0]
    assert (saved.kind, saved.bytes, saved.storage) == ("packed", 0, None)


def test_settings_are_as_the_user_wrote_them() -> None:
    scores = taper.zeros(2, 3, requires_grad=True)
    loss = nn.functional.cross_entropy(scores, taper.tensor([0, 1]))
    settings = dict(viz.graph(loss).nodes[-1].settings)
    assert settings["ignore_index"] == "-100"


def test_second_derivatives() -> None:
    x = taper.tensor(2.0, requires_grad=True)
    (slope,) = taper.autograd.grad(x * x * x, x, create_graph=True)
    graph = viz.graph(slope)
    assert len(graph) > 3
    ids = {node.id for node in graph}
    assert all(edge.target in ids for edge in graph.edges)


def test_a_long_chain_does_not_recurse() -> None:
    x = taper.tensor(1.0, requires_grad=True)
    for _ in range(20_000):
        x = x * 1.0
    assert len(viz.graph(x)) == 20_000


def test_every_formula_of_the_table_becomes_mathematics() -> None:
    from xml.etree import ElementTree

    from taper.opdef import registry
    from taper.ops import load_all
    from taper.viz.formulas import derivatives_of

    class Real:
        _dtype = None

    load_all()
    for op in registry.values():
        for derivative in derivatives_of(op, Real):
            assert derivative.text, op.name
            root = ElementTree.fromstring(derivative.mathematics)
            for element in root.iter():
                if element.tag in ("mfrac", "msup", "msub", "mover"):
                    assert len(element) == 2, (op.name, derivative.mathematics)
