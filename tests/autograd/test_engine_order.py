"""E12 to E29: the order of a pass, sums of gradients, accumulation, edges."""

from __future__ import annotations

import traceback
import warnings

import pytest

from autograd_probe import error, function, values


def noting(torch, ran):
    class Note(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, name):
            ctx.name = name
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            ran.append(ctx.name)
            return grad * 1, None

    return Note


def test_e12_the_node_recorded_last_runs_first(torch):
    ran = []
    note = noting(torch, ran)
    x = torch.ones(2, requires_grad=True)
    a = note.apply(x, "a")
    b = note.apply(x, "b")
    c = note.apply(a, "c")
    (b + c).sum().backward()
    assert ran == ["c", "b", "a"]


@pytest.mark.parametrize("order", ["abc", "acb", "bac", "bca", "cab", "cba"])
def test_found_e12_of_three_ready_nodes_the_one_recorded_last_runs_first(torch, order):
    ran = []
    note = noting(torch, ran)
    x = torch.ones(2, requires_grad=True)
    made = {name: note.apply(x, name) for name in "abc"}
    torch.cat([made[name] for name in order]).sum().backward()
    assert ran == ["c", "b", "a"]


@pytest.mark.parametrize("order", ["abcd", "dcba", "bdac", "cadb"])
def test_found_e12_of_several_roots_the_one_recorded_last_runs_first(torch, order):
    ran = []
    note = noting(torch, ran)
    x = torch.ones(2, requires_grad=True)
    made = {"a": note.apply(x, "a"), "b": note.apply(x, "b")}
    made["c"] = note.apply(made["a"], "c")
    made["d"] = note.apply(x, "d")
    torch.autograd.backward([made[name] for name in order], [torch.ones(2)] * 4)
    assert ran == ["d", "c", "b", "a"]
    assert x.grad.tolist() == [4.0, 4.0]


def test_found_e12_nodes_wait_while_accumulators_with_hooks_run(torch):
    ran = []
    note = noting(torch, ran)
    x, v, w = (torch.ones(2, requires_grad=True) for _ in range(3))
    for name, leaf in (("v", v), ("w", w)):
        leaf.register_post_accumulate_grad_hook(lambda leaf, name=name: ran.append(name))
    a, b, c = (note.apply(x, name) for name in "abc")
    torch.cat([b * v, a, c * w]).sum().backward()
    assert ran == ["w", "v", "c", "b", "a"]


def test_e12_a_set_sequence_number_changes_the_choice_between_ready_nodes(torch):
    ran = []
    note = noting(torch, ran)
    x = torch.ones(2, requires_grad=True)
    a = note.apply(x, "a")
    b = note.apply(x, "b")
    c = a + b
    a.grad_fn._set_sequence_nr(c.grad_fn._sequence_nr() + 5)
    c.sum().backward()
    assert ran == ["a", "b"]
    a.grad_fn._set_sequence_nr(2**64 - 1)
    assert error(lambda: a.grad_fn._set_sequence_nr(2**64)) == (
        "OverflowError: int too big to convert"
    )
    assert a.grad_fn._sequence_nr() == 2**64 - 1


def test_e12_an_accumulator_runs_as_soon_as_it_is_ready(torch):
    ran = []
    note = noting(torch, ran)
    x = torch.ones(2, requires_grad=True)
    w = torch.ones(2, requires_grad=True)
    w.register_post_accumulate_grad_hook(lambda leaf: ran.append("w"))
    x.register_post_accumulate_grad_hook(lambda leaf: ran.append("x"))
    y = note.apply(note.apply(x, "first"), "second")
    (y * w).sum().backward()
    assert ran == ["w", "second", "first", "x"]


def test_e12_leaves_that_are_ready_together_run_in_the_order_of_the_edges(torch):
    order = []
    leaves = [torch.ones(1, requires_grad=True) for _ in range(3)]
    for number, leaf in enumerate(leaves):
        leaf.register_hook(lambda grad, number=number: order.append(number))
    (leaves[0] * leaves[1]).backward()
    torch.addcmul(*leaves).backward()
    assert order == [0, 1, 0, 1, 2]


def test_e13_a_node_reached_on_several_paths_runs_once(torch):
    seen = []
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    y.register_hook(lambda grad: seen.append(values(grad)))
    (y * 2 + y * 5 + y).backward()
    assert seen == [8.0]
    assert values(x.grad) == 24.0


def test_e14_a_gradient_that_somebody_sees_is_not_changed(torch):
    x = torch.ones(2, requires_grad=True)
    given = torch.ones(2)
    torch.autograd.backward([x, x.clone(), x * 1], [given, given, given])
    assert values(given) == [1.0, 1.0]
    assert values(x.grad) == [3.0, 3.0]
    x.grad.add_(1)
    assert values(given) == [1.0, 1.0]


def test_e14_receivers_of_one_gradient_do_not_share_it(torch):
    a = torch.ones(2, requires_grad=True)
    b = torch.ones(2, requires_grad=True)
    seen = []
    a.register_hook(seen.append)
    (a + b).backward(torch.ones(2))
    assert a.grad is not b.grad
    a.grad.mul_(7)
    assert values(b.grad) == [1.0, 1.0]
    (a + b + a).backward(torch.ones(2))
    assert values(seen[0]) == [1.0, 1.0]


def test_e15_an_undefined_gradient_flows_as_none(torch):
    x = torch.ones(2, 3, requires_grad=True)
    rows = x.unbind()
    rows[1].sum().backward()
    assert values(x.grad) == [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]

    class Stop(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return None

    y = torch.ones(2, requires_grad=True)
    seen = []
    z = y * 3
    z.register_hook(seen.append)
    Stop.apply(z).sum().backward()
    assert seen == [None]
    assert y.grad is None
    assert torch.autograd.grad(Stop.apply(y * 3).sum(), y, allow_unused=True) == (None,)


def test_e16_the_first_gradient_never_aliases_what_the_user_gave(torch):
    x = torch.ones(2, requires_grad=True)
    given = torch.ones(2)
    x.clone().backward(given)
    assert x.grad is not given
    assert x.grad.data_ptr() != given.data_ptr()


def test_e16_later_gradients_are_added_in_place(torch):
    x = torch.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    kept, address = x.grad, x.grad.data_ptr()
    (x * 3).sum().backward()
    assert x.grad is kept
    assert x.grad.data_ptr() == address
    assert values(kept) == [5.0, 5.0]


@pytest.mark.filterwarnings("ignore:Using backward")
def test_e16_under_create_graph_gradients_are_added_out_of_place(torch):
    x = torch.tensor(2.0, requires_grad=True)
    run = torch.autograd.backward
    run(x * x, create_graph=True)
    first = x.grad
    assert type(first.grad_fn).__name__ == "CopyBackwards"
    run(x * x, create_graph=True)
    assert x.grad is not first
    assert values(first) == 4.0
    assert values(x.grad) == 8.0
    assert x.grad.grad_fn.name() == "AddBackward0"
    assert values(torch.autograd.grad(x.grad, x)[0]) == 4.0


def test_e17_a_fresh_gradient_has_the_strides_of_a_dense_leaf(torch):
    leaf = torch.ones(3, 2).t().requires_grad_()
    (leaf * 2).sum().backward()
    assert leaf.grad.stride() == (1, 2)
    sparse = torch.ones(2, 4).as_strided((2, 2), (4, 2)).requires_grad_()
    (sparse * 2).sum().backward()
    assert sparse.grad.stride() == (2, 1)


def test_e17_the_layout_policy_can_be_switched_off(torch):
    leaf = torch.ones(3, 2).t().requires_grad_()
    given = torch.ones(2, 3)
    with torch.autograd.enforce_grad_layout_policy(False):
        (leaf * 1).backward(given)
    assert leaf.grad.stride() == (3, 1)
    leaf.grad = None
    (leaf * 1).backward(given)
    assert leaf.grad.stride() == (1, 2)


def test_e18_gradients_are_fitted_to_the_input(torch):
    row = torch.ones(3, requires_grad=True)
    column = torch.ones(2, 1, requires_grad=True)
    scalar = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    (row * column * scalar).sum().backward()
    assert values(row.grad) == [2.0, 2.0, 2.0]
    assert values(column.grad) == [[3.0], [3.0]]
    assert values(scalar.grad) == 6.0
    assert (row.grad.dtype, scalar.grad.dtype) == (torch.float32, torch.float64)


def returning(torch, result):
    class Return(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return result

    return Return


def test_e18_a_gradient_that_does_not_fit_is_an_error(torch):
    x = torch.ones(2, requires_grad=True)
    wrong = returning(torch, torch.ones(3))
    assert error(lambda: wrong.apply(x).sum().backward()) == (
        "RuntimeError: Function ReturnBackward returned an invalid gradient at index 0 - got [3] "
        "but expected shape compatible with [2]"
    )
    complex_grad = returning(torch, torch.ones(2, dtype=torch.complex64))
    assert error(lambda: complex_grad.apply(x).sum().backward()) == (
        "RuntimeError: Expected isFloatingType(grad.scalar_type()) || (input_is_complex == "
        "grad_is_complex) to be true, but got false.  (Could this error message be improved?  If "
        "so, please report an enhancement request to PyTorch.)"
    )
    assert x.grad is None
    wide = returning(torch, torch.ones(4, 2, dtype=torch.float64))
    wide.apply(x).sum().backward()
    assert values(x.grad) == [4.0, 4.0]
    assert x.grad.dtype is torch.float32


def test_e19_tensors_without_elements_work(torch):
    x = torch.ones(4, 0, requires_grad=True)
    (x * 2).sum().backward()
    assert list(x.grad.shape) == [4, 0]
    y = torch.ones(3, 1, requires_grad=True)
    (y * x.detach().t()[:0].sum()).sum().backward()
    assert values(y.grad) == [[0.0], [0.0], [0.0]]


def test_e20_a_deep_graph_runs_and_is_freed(torch):
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(150_000):
        y = y + 1
    y.sum().backward()
    assert values(x.grad) == [1.0]
    del y


def test_e21_an_exception_in_backward_reaches_the_caller(torch):
    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            raise KeyError("from the backward")

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(KeyError, match="from the backward") as caught:
        Broken.apply(x * 1).sum().backward()
    assert 'raise KeyError("from the backward")' in "".join(traceback.format_tb(caught.tb))
    (x * 2).sum().backward()
    assert values(x.grad) == [2.0, 2.0]


def test_e21_an_exception_in_a_hook_stops_the_pass(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2

    def refuse(grad):
        raise ZeroDivisionError("in the hook")

    handle = y.register_hook(refuse)
    assert error(lambda: y.sum().backward()) == "ZeroDivisionError: in the hook"
    assert x.grad is None
    handle.remove()
    y.sum().backward()
    assert values(x.grad) == [2.0, 2.0]


def test_e22_nodes_that_lead_to_no_input_do_not_run(torch):
    ran = []
    note = noting(torch, ran)
    x = torch.ones(2, requires_grad=True)
    w = torch.ones(2, requires_grad=True)
    total = note.apply(note.apply(x, "x"), "x again") * note.apply(w, "w")
    torch.autograd.grad(total.sum(), x)
    assert ran == ["x again", "x"]


def test_e23_grad_runs_the_hooks_of_a_captured_leaf_but_not_its_accumulator(torch):
    x = torch.ones(2, requires_grad=True)
    seen = []
    x.register_hook(lambda grad: seen.append("hook"))
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append("accumulated"))
    y = x * 2
    y.grad_fn.next_functions[0][0].register_prehook(lambda grads: seen.append("pre"))
    torch.autograd.grad(y.sum(), x)
    assert seen == ["hook"]
    assert x.grad is None


def test_e24_gradient_edges_stand_for_tensors(torch):
    edge_of = torch.autograd.graph.get_gradient_edge
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    z = y * y
    leaf, middle, end = edge_of(x), edge_of(y), edge_of(z)
    assert leaf.node is y.grad_fn.next_functions[0][0]
    assert (middle.node, middle.output_nr) == (y.grad_fn, 0)
    found = torch.autograd.grad(end, [leaf, middle, x], retain_graph=True)
    assert [values(each) for each in found] == [36.0, 12.0, 36.0]
    torch.autograd.backward(end)
    assert values(x.grad) == 36.0
    assert error(lambda: edge_of(torch.ones(2))) == (
        "RuntimeError: It is not possible to get the gradient edge for a Tensor that does not "
        "require gradients"
    )
    assert error(lambda: torch.autograd.grad(edge_of(torch.ones(2, requires_grad=True)), x)) == (
        "RuntimeError: grad can be implicitly created only for scalar outputs"
    )


def test_e25_an_edge_stays_where_it_was_taken(torch):
    edge_of = torch.autograd.graph.get_gradient_edge
    x = torch.tensor([2.0], requires_grad=True).clone()
    before = edge_of(x)
    x *= 5
    found = torch.autograd.grad((x * 1).sum(), [before, x])
    assert [values(each) for each in found] == [[5.0], [1.0]]


def test_e26_an_edge_keeps_the_graph_and_cannot_be_materialized(torch):
    edge_of = torch.autograd.graph.get_gradient_edge
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    edge = edge_of(y)
    del y
    assert values(torch.autograd.grad(edge, x)[0]) == 4.0
    other = edge_of(torch.ones(2, requires_grad=True) * 2)
    assert error(lambda: torch.autograd.grad(x * x, [other], materialize_grads=True)) == (
        "RuntimeError: materialize_grads cannot be used when the given input is a GradientEdge"
    )


def test_found_e17_a_gradient_that_several_share_is_copied_with_its_values(torch):
    x, y = (torch.zeros(2, 3).t().requires_grad_() for _ in range(2))
    grad = torch.arange(6.0).reshape(3, 2)
    (x + y).backward(grad)
    for leaf in (x, y):
        assert leaf.grad.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
        assert leaf.grad.stride() == (1, 3)
    x.grad.zero_()
    assert grad.sum().item() == y.grad.sum().item() == 15.0


def test_found_e13_many_gradients_for_each_of_several_outputs_add_up(torch):
    x = torch.zeros(2, 2, requires_grad=True)
    first, second = x.unbind()
    (first * 2 + second * 7 + first * 3 + second * 11 + first * 5 + second * 13).sum().backward()
    assert values(x.grad) == [[10.0, 10.0], [31.0, 31.0]]
    given = torch.ones(2)
    first, second = x.unbind()
    torch.autograd.backward([first, second, first, second, first], [given] * 5)
    assert values(given) == [1.0, 1.0]
    assert values(x.grad) == [[13.0, 13.0], [33.0, 33.0]]


@pytest.mark.filterwarnings("ignore:Using backward")
def test_found_e16_under_create_graph_hooks_see_the_sum(torch):
    x = torch.tensor(2.0, requires_grad=True)
    seen = []
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(values(leaf.grad)))
    torch.autograd.backward(x * x, create_graph=True)
    torch.autograd.backward(x * x, create_graph=True)
    assert seen == [4.0, 8.0]


@pytest.mark.filterwarnings("ignore:Using backward")
def test_found_e17_a_gradient_with_a_graph_has_the_strides_of_a_dense_leaf(torch):
    leaf = torch.ones(3, 2).t().requires_grad_()
    sparse = torch.ones(2, 4).as_strided((2, 2), (4, 2)).requires_grad_()
    for _ in range(2):
        torch.autograd.backward((leaf * leaf).sum() + (sparse * sparse).sum(), create_graph=True)
        assert leaf.grad.stride() == (1, 2)
        assert sparse.grad.stride() == (2, 1)
    assert values(sparse.grad) == [[4.0, 4.0], [4.0, 4.0]]
    assert values(leaf.grad) == [[4.0] * 3] * 2


def test_found_e17_a_sum_with_a_graph_keeps_the_strides_of_the_first_gradient(torch):
    x = torch.ones(2, 3, requires_grad=True)
    x.grad = torch.ones(3, 2).t()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the layout, once in a process, and of create_graph
        torch.autograd.backward((x * x).sum(), create_graph=True)
    assert values(x.grad) == [[3.0] * 3] * 2
    assert x.grad.stride() == (1, 2)


def test_found_e16_adding_to_a_gradient_is_a_write(torch):
    x = torch.ones(2, requires_grad=True)
    w = torch.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad._version == 0
    y = (w * x.grad).sum()
    (x * 3).sum().backward()
    assert x.grad._version == 1
    assert "modified by an inplace operation" in error(y.backward)
    (x * 4).sum().backward()
    assert (x.grad._version, values(x.grad)) == (2, [9.0, 9.0])


def test_found_e16_a_given_gradient_is_added_to_where_it_lies(torch):
    x = torch.ones(2, requires_grad=True)
    x.grad = torch.ones(1).expand(2)
    assert error((x * 2).sum().backward) == (
        "RuntimeError: unsupported operation: more than one element of the written-to tensor "
        "refers to a single memory location. Please clone() the tensor before performing the "
        "operation."
    )
    whole = torch.ones(2, 2)
    x.grad = whole[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the layout, once in a process
        (x * 2).sum().backward()
    assert values(whole) == [[3.0, 1.0], [3.0, 1.0]]
    assert x.grad.stride() == (2,)


def test_found_e12_a_sequence_number_may_be_zero_and_not_below(torch):
    x = torch.ones(2, requires_grad=True) * 2
    x.grad_fn._set_sequence_nr(0)
    assert x.grad_fn._sequence_nr() == 0
    assert error(lambda: x.grad_fn._set_sequence_nr(-1)) == (
        "OverflowError: can't convert negative int to unsigned"
    )


def test_found_e24_a_leaf_and_its_edge_are_one_place_for_gradients(torch):
    x = torch.tensor(2.0, requires_grad=True)
    edge = torch.autograd.graph.get_gradient_edge(x)
    torch.autograd.backward([edge, x * 3, x * x], [torch.tensor(10.0), None, None])
    assert values(x.grad) == 17.0
    seen = []
    edge.node.register_prehook(lambda grads: seen.append(values(grads[0])))
    torch.autograd.backward([edge, x * 3, x * x], [torch.tensor(10.0), None, None])
    assert (values(x.grad), seen) == (34.0, [17.0])
    (found,) = torch.autograd.grad([edge, x * 3], [x], [torch.tensor(1.0), None])
    assert values(found) == 4.0


def test_found_e15_nodes_pass_an_undefined_gradient_on(torch):
    stop = function(torch, lambda ctx, x: x * 1, lambda ctx, grad: None)
    x = torch.ones(2, requires_grad=True)
    w = torch.ones(2, requires_grad=True)
    (stop.apply(x * w) + x).sum().backward()
    assert values(x.grad) == [1.0, 1.0]
    assert w.grad is None


def test_found_e18_dimensions_that_were_broadcast_are_summed_wherever_they_are(torch):
    x = torch.ones(2, 1, 3, 1, requires_grad=True)
    (x * torch.ones(5, 2, 4, 3, 6)).sum().backward()
    assert values(x.grad) == [[[[120.0]] * 3]] * 2
    y = torch.ones(1, 3, requires_grad=True)
    (y * torch.arange(6.0).reshape(2, 3)).sum().backward()
    assert values(y.grad) == [[3.0, 5.0, 7.0]]


def test_found_e18_a_gradient_of_the_right_shape_is_cast_to_the_dtype_of_the_input(torch):
    wide = function(torch, lambda ctx, x: x * 1, lambda ctx, grad: grad.double() * 3)
    x = torch.ones(2, requires_grad=True)
    seen = []
    y = x * 1
    y.register_hook(lambda grad: seen.append(grad.dtype))
    (wide.apply(x) + wide.apply(y)).sum().backward()
    assert (seen, x.grad.dtype, values(x.grad)) == ([torch.float32], torch.float32, [6.0, 6.0])


def test_found_e18_the_gradient_of_a_broadcast_row_can_be_differentiated(torch):
    x = torch.arange(6.0).reshape(3, 2)
    row = torch.ones(2, requires_grad=True)
    (first,) = torch.autograd.grad(((x + row) ** 3).sum(), row, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), row)
    assert values(first) == [105.0, 168.0]
    assert values(second) == [54.0, 72.0]
