"""G: which nodes an operation records, what they are called and where they point."""

from __future__ import annotations

import weakref

import pytest

from autograd_probe import error, names, values


def doubled(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Double


def test_g1_a_node_is_made_only_where_a_gradient_can_flow(torch):
    x = torch.ones(2, requires_grad=True)
    plain = torch.ones(2)
    assert (x * 2).requires_grad
    assert not (x * 2).is_leaf
    for result in (plain * 2, x > 0):
        assert not result.requires_grad
        assert result.grad_fn is None
        assert result.is_leaf
    with torch.no_grad():
        silent = x * 2
    assert (silent.requires_grad, silent.grad_fn, silent.is_leaf) == (False, None, True)


def test_g2_grad_fn_is_one_hashable_object(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    assert y.grad_fn is y.grad_fn
    assert y.grad_fn == y.grad_fn
    assert y.grad_fn != (x * 2).grad_fn
    assert {y.grad_fn: 1}[y.grad_fn] == 1
    assert x.grad_fn is None


def test_g3_nodes_are_named_after_the_operation(torch):
    x = torch.ones(2, 2, requires_grad=True)
    assert type((x + x).grad_fn).__name__ == "AddBackward0"
    assert (x + x).grad_fn.name() == "AddBackward0"
    assert x.sum().grad_fn.name() == "SumBackward0"
    assert x.sum(0).grad_fn.name() == "SumBackward1"
    written = torch.zeros(2, 2)
    written.copy_(x)
    assert written.grad_fn.name() == "torch::autograd::CopyBackwards"
    assert type(written.grad_fn).__name__ == "CopyBackwards"
    part = torch.zeros(2, 2)
    part.select(0, 0).mul_(x.select(0, 0))
    assert part.grad_fn.name() == "torch::autograd::CopySlices"
    assert type(part.grad_fn).__name__ == "CopySlices"
    leaf_node = x.exp().grad_fn.next_functions[0][0]
    assert type(leaf_node).__name__ == "AccumulateGrad"
    assert leaf_node.name() == "torch::autograd::AccumulateGrad"


def test_g4_a_custom_function_names_its_node(torch):
    double = doubled(torch)
    y = double.apply(torch.ones(2, requires_grad=True))
    assert y.grad_fn.name() == "DoubleBackward"
    assert type(y.grad_fn).__name__ == "DoubleBackward"
    assert y.grad_fn.__class__ is double._backward_cls


def test_g5_nodes_print_their_name_and_address(torch):
    x = torch.ones(1, requires_grad=True)
    node = (x + 1).grad_fn
    assert str(node) == f"<AddBackward0 object at {hex(id(node))}>"
    assert repr(x + 1) == "tensor([2.], grad_fn=<AddBackward0>)"


def test_g6_next_functions_has_an_entry_per_tensor_argument(torch):
    x = torch.ones(2, requires_grad=True)
    plain = torch.ones(2)
    assert names((x + plain).grad_fn) == ["torch::autograd::AccumulateGrad", "None"]
    assert names((plain * x).grad_fn) == ["None", "torch::autograd::AccumulateGrad"]
    assert (x + 5).grad_fn.next_functions[1] == (None, 0)
    assert names(x.exp().grad_fn) == ["torch::autograd::AccumulateGrad"]


def test_g6_a_custom_function_has_entries_for_tensors_only(torch):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, factor, x, other):
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            return None, grad, None

    x = torch.ones(2, requires_grad=True)
    y = Scale.apply(3.0, x, torch.ones(2))
    assert names(y.grad_fn) == ["torch::autograd::AccumulateGrad", "None"]


def test_g6_an_edge_carries_the_output_number(torch):
    x = torch.ones(3, 2, requires_grad=True)
    last = x.unbind()[2]
    node, output_nr = (last * 2).grad_fn.next_functions[0]
    assert node is last.grad_fn
    assert output_nr == 2


def test_g7_a_leaf_has_one_accumulator_while_anybody_holds_it(torch):
    x = torch.ones(2, requires_grad=True)
    y, z = x * 2, x + 1
    node = y.grad_fn.next_functions[0][0]
    assert z.grad_fn.next_functions[0][0] is node
    assert node.variable is x
    assert node.next_functions == ()


def test_g7_the_accumulator_is_made_again_after_the_graph_is_gone(torch):
    x = torch.ones(2, requires_grad=True)
    seen = []
    y = x * 2
    y.grad_fn.next_functions[0][0].register_prehook(lambda grads: seen.append(1))
    del y
    (x * 2).sum().backward()
    assert seen == []
    assert values(x.grad) == [2.0, 2.0]


def test_g8_output_nr_says_which_output_a_tensor_is(torch):
    x = torch.ones(3, 2, requires_grad=True)
    assert x.output_nr == 0
    assert (x * 2).output_nr == 0
    assert [each.output_nr for each in x.unbind()] == [0, 1, 2]


def test_g9_input_metadata_describes_the_outputs_of_the_forward(torch):
    x = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    (record,) = (x * 2).grad_fn._input_metadata
    assert list(record.shape) == [2, 3]
    assert record.dtype is torch.float64
    assert record.device == torch.device("cpu")
    assert record.is_nested_tensor is False
    assert [list(each.shape) for each in x.unbind()[0].grad_fn._input_metadata] == [[3], [3]]
    accumulator = (x * 2).grad_fn.next_functions[0][0]
    assert [list(each.shape) for each in accumulator._input_metadata] == [[2, 3]]
    assert [list(each.shape) for each in doubled(torch).apply(x).grad_fn._input_metadata] == [
        [2, 3]
    ]


def test_g10_calling_a_node_runs_its_backward(torch):
    x = torch.ones(2, requires_grad=True)
    y = torch.full((2,), 3.0, requires_grad=True)
    left, right = (x * y).grad_fn(torch.full((2,), 2.0))
    assert (values(left), values(right)) == ([6.0, 6.0], [2.0, 2.0])
    assert left.grad_fn.name() == "MulBackward0"
    with torch.no_grad():
        assert (x * y).grad_fn is None
    assert values(x.sum().grad_fn(torch.ones(()))) == [1.0, 1.0]
    assert (x * y).grad_fn(None) == (None, None)
    assert values((x + 5).grad_fn(torch.ones(2))[0]) == [1.0, 1.0]
    assert (x + 5).grad_fn(torch.ones(2))[1] is None


def test_g10_calling_a_node_checks_its_arguments(torch):
    node = torch.ones(2, requires_grad=True).exp().grad_fn
    one = torch.ones(2)
    assert error(lambda: node(one, one)) == "TypeError: expected 1 arguments, got 2 instead"
    assert error(lambda: node()) == "TypeError: expected 1 arguments, got 0 instead"
    assert error(lambda: node(1)) == "TypeError: argument 0 is not a Variable"


def test_g10_calling_an_accumulator_accumulates(torch):
    x = torch.ones(2, requires_grad=True)
    accumulator = x.exp().grad_fn.next_functions[0][0]
    assert accumulator(torch.full((2,), 5.0)) == ()
    assert values(x.grad) == [5.0, 5.0]


def test_g10_a_custom_node_is_applied_not_called(torch):
    node = doubled(torch).apply(torch.ones(2, requires_grad=True)).grad_fn
    assert values(node.apply(torch.ones(2))) == [2.0, 2.0]
    text = "TypeError: 'DoubleBackward' object is not callable"
    assert error(lambda: node(torch.ones(2))) == text


def test_g11_sequence_numbers_grow_with_recording(torch):
    x = torch.ones(2, requires_grad=True)
    first, second = x * 2, x * 3
    assert first.grad_fn._sequence_nr() < second.grad_fn._sequence_nr()
    assert second.grad_fn._sequence_nr() < torch.autograd._get_sequence_nr()
    assert first.grad_fn.next_functions[0][0]._sequence_nr() == 2**64 - 1
    first.grad_fn._set_sequence_nr(12345)
    assert first.grad_fn._sequence_nr() == 12345


def test_g12_metadata_is_a_dict_of_the_node(torch):
    y = torch.ones(2, requires_grad=True) * 2
    node = y.grad_fn
    node.metadata["note"] = "kept"
    z = y + 1
    del y, node
    assert z.grad_fn.next_functions[0][0].metadata == {"note": "kept"}


def test_g13_node_is_a_virtual_base_class(torch):
    Node = torch.autograd.graph.Node
    double = doubled(torch)
    x = torch.ones(2, requires_grad=True)
    built_in, custom = (x * 2).grad_fn, double.apply(x).grad_fn
    for node in (built_in, custom, built_in.next_functions[0][0]):
        assert isinstance(node, Node)
        assert issubclass(type(node), Node)
        assert Node not in type(node).mro()
    assert issubclass(torch.autograd.function.BackwardCFunction, Node)
    for other in (None, 1, Node):
        assert not isinstance(other, Node)
    assert not issubclass(int, Node)
    assert error(Node).startswith("TypeError: Can't instantiate abstract class Node with")


def test_g13_the_context_is_a_node(torch):
    seen = []

    class Look(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(ctx)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            seen.append(ctx)
            return grad

    y = Look.apply(torch.ones(2, requires_grad=True))
    y.sum().backward()
    assert all(isinstance(each, torch.autograd.graph.Node) for each in seen)
    assert seen[0] is seen[1] is y.grad_fn


def test_g14_nodes_have_the_attributes_that_tools_read(torch):
    x = torch.ones(2, requires_grad=True)
    for node in ((x * x).grad_fn, doubled(torch).apply(x).grad_fn):
        assert node.requires_grad
        for name in ("name", "metadata", "next_functions", "register_hook", "register_prehook"):
            assert hasattr(node, name)
        assert hasattr(node, "_register_hook_dict")
    node = (x * x).grad_fn
    assert node._saved_self is x
    assert node._raw_saved_self.unpack() is x
    assert error(lambda: setattr(node, "next_functions", ())).startswith("AttributeError")
    assert error(lambda: setattr(node, "note", 1)).startswith(
        "AttributeError: 'MulBackward0' object has no attribute 'note'"
    )


def test_g14_custom_nodes_can_be_weakly_referenced_and_built_in_ones_not(torch):
    x = torch.ones(2, requires_grad=True)
    y = doubled(torch).apply(x)
    assert weakref.ref(y.grad_fn)() is y.grad_fn
    assert error(lambda: weakref.ref((x * 2).grad_fn)) == (
        "TypeError: cannot create weak reference to 'MulBackward0' object"
    )


@pytest.mark.parametrize("same", [lambda x: x.contiguous(), lambda x: x.to(x.dtype)])
def test_g16_a_conversion_that_changes_nothing_returns_the_same_tensor(torch, same):
    x = torch.ones(2, 2, requires_grad=True)
    assert same(x) is x


def test_g16_float_of_a_float_tensor_is_the_same_tensor(torch):
    x = torch.ones(2, 2, requires_grad=True)
    assert x.float() is x


def probes(torch):
    """Return where the nodes without arithmetic are."""
    return torch._C._functions if hasattr(torch, "_C") else torch.autograd.probes


def test_g15_a_delayed_error_is_the_identity_until_backward(torch):
    x = torch.ones(2, requires_grad=True)
    y = probes(torch).DelayedError("not yet", 1)(x)
    assert values(y) == [1.0, 1.0]
    assert type(y.grad_fn).__name__ == "Error"
    assert y.grad_fn.name() == "torch::autograd::Error"
    assert error(lambda: y.sum().backward()) == "RuntimeError: not yet"


def test_g15_undefined_grad_loses_the_gradient(torch):
    x = torch.ones(2, requires_grad=True)
    y = probes(torch).UndefinedGrad()(x)
    assert type(y.grad_fn).__name__ == "UndefinedGradBackward"
    y.sum().backward()
    assert x.grad is None


def test_g7_the_accumulator_is_one_however_late_it_is_asked_for(torch):
    x = torch.ones(2, requires_grad=True)
    y, z = x * 2, x * 3
    calls = []
    node = y.grad_fn.next_functions[0][0]
    node.register_hook(lambda inputs, outputs: calls.append(outputs[0].tolist()))
    del node
    (y + z + x).sum().backward()
    assert calls == [[6.0, 6.0]]
    assert x.grad.tolist() == [6.0, 6.0]


def test_g7_the_accumulator_may_be_asked_for_while_the_pass_runs(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = y * x
    found = []
    z.grad_fn.register_prehook(
        lambda grads: found.extend([z.grad_fn.next_functions[1][0], y.grad_fn.next_functions[0][0]])
    )
    z.sum().backward()
    assert found[0] is found[1] and found[0].variable is x
    assert x.grad.tolist() == [4.0, 4.0]
