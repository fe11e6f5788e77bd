"""The walk over the graph: what becomes a vertex, what an edge."""

from __future__ import annotations

import gc
import weakref

import pytest

from taper.viz.drawing import Drawing
from viz.fakes import FakeNode, FakeTensor, chain, leaf, node


def described(graph: Drawing) -> set[tuple[str, str, str]]:
    """Return edges as (tail, head, kind), vertices by name or shape."""

    def text(index: int) -> str:
        vertex = graph.vertices[index]
        return vertex.name or f"{vertex.kind}{vertex.shape}"

    return {(text(edge.tail), text(edge.head), edge.kind) for edge in graph.edges}


def kinds(graph: Drawing) -> list[str]:
    return sorted(vertex.kind for vertex in graph.vertices)


def test_product_of_two_leaves() -> None:
    x, x_accumulator = leaf(3)
    y, y_accumulator = leaf(3, 1)
    output = FakeTensor(3, 3, grad_fn=node("MulBackward0", x_accumulator, y_accumulator))
    graph = Drawing(output, names={"x": x, "y": y})
    assert kinds(graph) == ["function", "function", "function", "leaf", "leaf", "output"]
    assert described(graph) == {
        ("MulBackward0", "output(3, 3)", "flow"),
        ("AccumulateGrad", "MulBackward0", "flow"),
        ("x", "AccumulateGrad", "flow"),
        ("y", "AccumulateGrad", "flow"),
    }


def test_names_may_come_as_pairs() -> None:
    x, accumulator = leaf(3)
    graph = Drawing(FakeTensor(3, grad_fn=node("NegBackward0", accumulator)), iter([("x", x)]))
    assert graph.vertices[graph.index_of(x)].name == "x"


def test_every_node_once_but_every_edge() -> None:
    _, accumulator = leaf(3)
    shared = node("ExpBackward0", accumulator)
    left, right = node("SinBackward0", shared), node("CosBackward0", shared)
    both = node("MulBackward0", left, right, left, None)
    graph = Drawing(FakeTensor(3, grad_fn=both))
    names = [vertex.name for vertex in graph.vertices]
    assert sorted(names) == [
        *("", ""),
        *("AccumulateGrad", "CosBackward0", "ExpBackward0", "MulBackward0", "SinBackward0"),
    ]
    from_left = [edge for edge in graph.edges if edge.tail == graph.index_of(left)]
    assert [edge.head for edge in from_left] == [graph.index_of(both)] * 2


def test_output_without_history_is_alone() -> None:
    graph = Drawing(FakeTensor(2))
    assert kinds(graph) == ["output"]
    assert graph.edges == []


def test_leaf_that_is_also_an_output_is_a_leaf() -> None:
    x, accumulator = leaf(3)
    graph = Drawing((x, FakeTensor(3, grad_fn=node("NegBackward0", accumulator))))
    assert kinds(graph) == ["function", "function", "leaf", "output"]


def test_an_output_given_twice_is_drawn_once() -> None:
    output = FakeTensor(1, grad_fn=node("NegBackward0"))
    graph = Drawing((output, output))
    assert len(graph.vertices) == 2
    assert len(graph.edges) == 1
    view = FakeTensor(1, base=output)
    assert len(Drawing((view, view)).edges) == 2


def test_saved_inputs_point_to_the_function_and_results_come_from_it() -> None:
    operation = node("FakeBackward0")
    operation._saved_self = FakeTensor(2)
    operation._saved_result = FakeTensor(3, grad_fn=operation)
    output = FakeTensor(1, grad_fn=operation)
    assert described(Drawing(output)) == {("FakeBackward0", "output(1,)", "flow")}
    assert described(Drawing(output, saved=True)) == {
        ("FakeBackward0", "output(1,)", "flow"),
        ("self", "FakeBackward0", "saved"),
        ("FakeBackward0", "result", "saved"),
    }


def test_saved_leaf_stays_the_leaf() -> None:
    x, accumulator = leaf(3)
    output = FakeTensor(3, grad_fn=node("PowBackward0", accumulator, _saved_self=x))
    graph = Drawing(output, {"x": x}, saved=True)
    assert graph.vertices[graph.index_of(x)].kind == "leaf"
    assert ("x", "PowBackward0", "saved") in described(graph)


def test_saved_sequences_with_holes() -> None:
    operation = node("IndexBackward0", _saved_indices=(None, FakeTensor(4), FakeTensor(5)))
    graph = Drawing(FakeTensor(1, grad_fn=operation), saved=True)
    names = {vertex.name for vertex in graph.vertices if vertex.kind == "saved"}
    assert names == {"indices[1]", "indices[2]"}


def test_attributes_are_sorted_and_only_on_request() -> None:
    saved = FakeTensor(1)
    operation = node("SumBackward1", _saved_keepdim=False, _saved_dim=(0,), _saved_self=saved)
    output = FakeTensor(1, grad_fn=operation)
    assert Drawing(output).vertices[1].attributes == ()
    graph = Drawing(output, attributes=True)
    assert graph.vertices[1].attributes == (("dim", (0,)), ("keepdim", False), ("self", saved))
    assert kinds(graph) == ["function", "output"]


def test_attributes_of_nodes_with_slots() -> None:
    class MulBackward0:
        __slots__ = ("_saved_other", "next_functions")

    first, second = MulBackward0(), MulBackward0()
    first.next_functions, first._saved_other = ((second, 0),), 2.0
    second.next_functions, second._saved_other = (), 3.0
    graph = Drawing(FakeTensor(1, grad_fn=first), attributes=True)
    assert graph.vertices[1].attributes == (("other", 2.0),)
    assert graph.vertices[2].attributes == (("other", 3.0),)


def test_tensors_of_custom_functions_are_always_there() -> None:
    x, accumulator = leaf(3)
    other = FakeTensor(7)
    operation = node("MineBackward", accumulator, saved_tensors=(x, None, other), name="not a name")
    graph = Drawing(FakeTensor(3, grad_fn=operation), {"x": x, "other": other})
    assert {("x", "MineBackward", "saved"), ("other", "MineBackward", "saved")} <= described(graph)


def test_tensors_that_can_be_read_only_once_are_not_read() -> None:
    class Function:
        clear_saved_tensors_on_access = True

    class MineBackward(FakeNode):
        _forward_cls = Function

        @property
        def saved_tensors(self) -> tuple[FakeTensor, ...]:
            raise RuntimeError("taken away from the backward pass")

    graph = Drawing(FakeTensor(3, grad_fn=MineBackward()))
    assert kinds(graph) == ["function", "output"]


def test_freed_tensors_raise_their_own_error() -> None:
    class ExpBackward0(FakeNode):
        @property
        def _saved_result(self) -> FakeTensor:
            raise RuntimeError("Trying to backward through the graph a second time")

    output = FakeTensor(3, grad_fn=ExpBackward0())
    assert len(Drawing(output).vertices) == 2
    with pytest.raises(RuntimeError, match="^Trying to backward through the graph a second time$"):
        Drawing(output, saved=True)


def test_view_of_a_result() -> None:
    operation = node("MulBackward0")
    base = FakeTensor(6, grad_fn=operation)
    views = [FakeTensor(n, grad_fn=node("V", operation), base=base) for n in (2, 3)]
    expected = {
        ("MulBackward0", "V", "flow"),
        ("MulBackward0", "base(6,)", "flow"),
        ("base(6,)", "output(2,)", "view"),
        ("base(6,)", "output(3,)", "view"),
        ("V", "output(2,)", "flow"),
        ("V", "output(3,)", "flow"),
    }
    graph = Drawing(tuple(views))
    assert described(graph) == expected
    assert len(graph.edges) == 7  # each view has its own V


def test_view_of_a_leaf_and_view_beside_its_base() -> None:
    x, accumulator = leaf(6)
    graph = Drawing(FakeTensor(2, grad_fn=node("SliceBackward0", accumulator), base=x))
    assert kinds(graph) == ["function", "function", "leaf", "output"]
    assert ("leaf(6,)", "output(2,)", "view") in described(graph)
    base = FakeTensor(6, grad_fn=node("MulBackward0"))
    view = FakeTensor(2, grad_fn=node("SliceBackward0", base.grad_fn), base=base)
    for outputs in ((view, base), (base, view)):
        graph = Drawing(outputs)
        assert kinds(graph) == ["function", "function", "output", "output"]
        assert len(graph.edges) == 4


def test_depth_is_limited_by_memory_only() -> None:
    graph = Drawing(chain(100_000), saved=True, attributes=True)
    assert len(graph.vertices) == 100_003
    assert len(graph.edges) == 100_002


def test_what_is_no_tensor() -> None:
    with pytest.raises(TypeError, match=r"^expected a tensor or a tuple of tensors, got list$"):
        Drawing([FakeTensor(1)])
    with pytest.raises(
        TypeError, match=r"^expected a tensor or a tuple of tensors, got tuple with NoneType$"
    ):
        Drawing((FakeTensor(1), None))
    with pytest.raises(KeyError):
        Drawing(FakeTensor(1)).index_of(FakeTensor(1))


def test_values_live_as_long_as_the_graph() -> None:
    class ExpBackward0(FakeNode):
        @property
        def _saved_result(self) -> FakeTensor:
            return FakeTensor(3)  # a new object at every reading, like saved results

    first = ExpBackward0()
    graph = Drawing(FakeTensor(1, grad_fn=ExpBackward0(first)), saved=True)
    assert kinds(graph).count("saved") == 2
    alive = weakref.ref(first)
    del first
    assert alive() is not None
    del graph
    gc.collect()
    assert alive() is None
