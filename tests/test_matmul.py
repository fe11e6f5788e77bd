"""Products of matrices: nodes, layout of gradients, copies that are not made, in-place texts."""

from __future__ import annotations

import gc
import sys

import pytest

import taper
from taper.nn.functional import linear


def ones(*shape, grad=True):
    return taper.ones(*shape, requires_grad=grad)


def nodes(tensor):
    """Return the names of the nodes below a tensor, nested as the graph is."""

    def name(node):
        if node is None:
            return "None"
        inner = ", ".join(name(each) for each, _ in node.next_functions)
        short = type(node).__name__.replace("Backward0", "").replace("AccumulateGrad", "leaf")
        return f"{short}({inner})" if inner else short

    return name(tensor.grad_fn)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ((3,), (3,), "Dot(leaf, leaf)"),
        ((2, 3), (3,), "Mv(leaf, leaf)"),
        ((2, 3), (3, 4), "Mm(leaf, leaf)"),
        ((3,), (3, 4), "SqueezeBackward4(Mm(Unsqueeze(leaf), leaf))"),
        ((5, 2, 3), (3, 4), "UnsafeView(Mm(View(leaf), leaf))"),
        ((5, 2, 3), (3,), "UnsafeView(Mv(View(leaf), leaf))"),
        ((5, 2, 3), (5, 3, 4), "UnsafeView(Bmm(View(Expand(leaf)), View(Expand(leaf))))"),
        ((5, 2, 3), (1, 3, 4), "UnsafeView(Mm(View(leaf), SqueezeBackward1(leaf)))"),
    ],
)
def test_matmul_records_the_nodes_of_pytorch(left, right, expected):
    assert nodes(taper.matmul(ones(*left), ones(*right))) == expected


def test_a_stack_on_the_right_is_folded_only_if_the_matrix_needs_a_gradient():
    folded = taper.matmul(ones(2, 3), ones(5, 3, 4))
    assert nodes(folded).startswith("Clone(Transpose(UnsafeView(Mm(")
    stacked = taper.matmul(ones(2, 3, grad=False), ones(5, 3, 4))
    assert nodes(stacked) == "UnsafeView(Bmm(None, View(Expand(leaf))))"
    assert folded.stride() == stacked.stride() == (8, 4, 1)


@pytest.mark.parametrize(
    ("shape", "bias", "expected"),
    [
        ((2, 3), True, "Addmm(leaf, leaf, T(leaf))"),
        ((2, 3), False, "Mm(leaf, T(leaf))"),
        ((5, 2, 3), True, "View(Addmm(leaf, View(leaf), T(leaf)))"),
        ((5, 2, 3), False, "UnsafeView(Mm(View(leaf), T(leaf)))"),
        ((3,), True, "View(Addmm(leaf, View(leaf), T(leaf)))"),
    ],
)
def test_linear_records_the_nodes_of_pytorch(shape, bias, expected):
    assert nodes(linear(ones(*shape), ones(4, 3), ones(4) if bias else None)) == expected


def test_the_gradient_of_a_transposed_weight_becomes_grad_without_a_copy():
    weight = ones(4, 3)
    result = linear(taper.ones(2, 3), weight)
    node = result.grad_fn
    found = []
    # Only the address: holding the gradient itself would make the copy necessary.
    node.next_functions[1][0].register_hook(
        lambda inputs, outputs: found.append(inputs[0].data_ptr())
    )
    result.sum().backward()
    assert weight.grad.stride() == (3, 1)
    assert [weight.grad.data_ptr()] == found


def test_gradients_have_the_layout_of_their_matrix():
    by_rows, by_columns = ones(2, 3), taper.ones(4, 3).t().requires_grad_()
    taper.mm(by_rows, by_columns).sum().backward()
    assert by_rows.grad.stride() == (3, 1)
    assert by_columns.grad.stride() == by_columns.stride() == (1, 3)


def test_saved_attributes_tell_sizes_and_strides_in_elements():
    node = taper.addmm(ones(4), ones(2, 3), ones(4, 3).t(), alpha=2).grad_fn
    assert node._saved_mat1_sym_sizes == (2, 3)
    assert node._saved_mat1_sym_strides == (3, 1)
    assert node._saved_mat2_sym_sizes == (3, 4)
    assert node._saved_mat2_sym_strides == (1, 3)
    assert (node._saved_alpha, node._saved_beta) == (2, 1)
    node = taper.addbmm(ones(2), ones(5, 2, 3), ones(5, 3, 4)[:, :, :2]).grad_fn
    assert node._saved_batch1_sym_argsize_0 == 5
    assert not hasattr(node, "_saved_batch1_sym_sizes")


def test_only_what_a_gradient_needs_is_saved():
    node = taper.mm(ones(2, 3), ones(3, 4, grad=False)).grad_fn
    assert node._saved_self is None
    assert node._saved_mat2 is not None


def test_a_dropped_product_is_freed_without_the_garbage_collector():
    gc.collect()
    weight = ones(3, 3)
    before = sys.getrefcount(weight)
    result = linear(taper.ones(2, 3), weight)
    del result
    assert sys.getrefcount(weight) == before
    assert gc.collect() == 0


@pytest.mark.parametrize("name", ["addmm_", "addmv_", "baddbmm_"])
def test_in_place_products_refuse_a_target_of_another_shape(name):
    factors = {
        "addmm_": (taper.ones(2, 3), taper.ones(3, 2)),
        "addmv_": (taper.ones(2, 3), taper.ones(3)),
    }
    stacks = (taper.ones(4, 2, 3), taper.ones(4, 3, 2))
    target = taper.ones(1)
    with pytest.raises(RuntimeError, match="Bad in-place call: input tensor size \\[1\\]"):
        getattr(target, name)(*factors.get(name, stacks))
    assert target._version == 0


def test_addr_in_place_names_the_sizes():
    with pytest.raises(RuntimeError, match="2D tensor expected, got 1D tensor for input"):
        taper.ones(3).addr_(taper.ones(2), taper.ones(3))
    with pytest.raises(RuntimeError, match=r"size mismatch, input: \[3, 3\], v1: \[2\], v2: \[3\]"):
        taper.ones(3, 3).addr_(taper.ones(2), taper.ones(3))


def test_out_of_another_dtype_is_refused():
    with pytest.raises(RuntimeError, match="to have dtype float, but got double instead"):
        taper.mm(taper.ones(2, 2), taper.ones(2, 2), out=taper.empty(2, 2, dtype=taper.float64))


def test_beta_of_zero_does_not_read_what_is_added():
    added = taper.full((2, 2), float("nan"))
    result = taper.addmm(added, taper.ones(2, 3), taper.ones(3, 2), beta=0)
    assert result.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_integers_drop_the_fraction_of_a_factor():
    ones_ = [taper.ones(shape, dtype=taper.int64) for shape in ((2, 2), (2, 3), (3, 2))]
    assert taper.addmm(*ones_, alpha=1.5).tolist() == [[4, 4], [4, 4]]


def test_products_of_other_types_are_left_to_them():
    with pytest.raises(TypeError, match="unsupported operand type"):
        taper.ones(3) @ 2
    with pytest.raises(TypeError, match="unsupported operand type"):
        2 @ taper.ones(3)


def test_found_d6_one_matrix_times_a_stack_is_no_view_unless_the_matrix_needs_a_gradient():
    matrix, stack = taper.ones(3, 1), taper.ones(3, 1, 1)
    product = matrix @ stack
    assert product._base is None and not product._is_view()
    assert product.stride() == (3, 1, 1)
    recorded = matrix @ taper.ones(3, 1, 3).requires_grad_()
    assert recorded.grad_fn.name() == "UnsafeViewBackward0"
    assert recorded.grad_fn.next_functions[0][0].name() == "BmmBackward0"
    folded = matrix.requires_grad_() @ stack
    assert folded.grad_fn.name() == "TransposeBackward0" and folded.stride() == (3, 1, 3)
