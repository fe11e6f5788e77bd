"""L: leaves, `requires_grad`, `.grad`, `detach`, `.data`."""

from __future__ import annotations

import pytest

from autograd_probe import error, values, warned

NOT_A_LEAF = "RuntimeError: you can only change requires_grad flags of leaf variables."
USE_DETACH = (
    " If you want to use a computed variable in a subgraph that doesn't require differentiation "
    "use var_no_grad = var.detach()."
)
DTYPE = (
    "RuntimeError: attempting to assign a gradient with dtype '{}' to a tensor with grad_dtype "
    "'{}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You "
    "can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. "
    "Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break "
    "downstream systems that assume they match."
)


def leaf(torch, *shape):
    return torch.ones(*(shape or (2,)), requires_grad=True)


def test_l1_only_floating_and_complex_tensors_require_grad(torch):
    whole = torch.ones(2, dtype=torch.int64)
    assert error(lambda: torch.ones(2, dtype=torch.int64, requires_grad=True)) == (
        "RuntimeError: Only Tensors of floating point and complex dtype can require gradients"
    )
    assert error(lambda: setattr(whole, "requires_grad", True)) == (
        "RuntimeError: only Tensors of floating point and complex dtype can require gradients"
    )
    assert error(whole.requires_grad_) == (
        "RuntimeError: only Tensors of floating point dtype can require gradients"
    )
    whole.requires_grad = False
    whole.requires_grad_(False)
    for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.complex64):
        assert torch.ones(2, dtype=dtype, requires_grad=True).requires_grad


def test_l1_the_flag_must_be_a_bool(torch):
    x = torch.ones(2)
    assert error(lambda: setattr(x, "requires_grad", 1)) == (
        "RuntimeError: requires_grad must be a bool"
    )
    assert error(lambda: x.requires_grad_(1)) == (
        "TypeError: requires_grad_(): argument 'requires_grad' (position 1) must be bool, not int"
    )


def test_l2_results_keep_their_flag(torch):
    y = leaf(torch) * 2
    assert y.requires_grad_() is y
    assert error(lambda: setattr(y, "requires_grad", True)) == NOT_A_LEAF
    assert error(lambda: setattr(y, "requires_grad", False)) == NOT_A_LEAF + USE_DETACH
    assert error(lambda: y.requires_grad_(False)) == NOT_A_LEAF + USE_DETACH


def test_l3_factories_take_the_flag(torch):
    x = leaf(torch)
    assert torch.ones(2).requires_grad_().requires_grad
    assert not torch.zeros_like(x).requires_grad
    assert torch.zeros_like(x, requires_grad=True).requires_grad
    assert x.new_zeros(2, requires_grad=True).requires_grad
    assert torch.tensor([1.0], requires_grad=True).requires_grad


def test_l4_reading_the_gradient_of_a_result_warns(torch):
    y = leaf(torch) * 2
    found = []
    (text,) = warned(lambda: found.append(y.grad))
    assert found == [None]
    assert text.startswith(
        "UserWarning: The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. "
        "Its .grad attribute won't be populated during autograd.backward(). If you indeed want the "
        ".grad field to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf "
        "Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf "
        "Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information."
    )
    y.retain_grad()
    assert warned(lambda: y.grad) == []
    assert warned(lambda: torch.ones(2).grad) == []


def test_l5_an_assigned_gradient_must_fit(torch):
    x = leaf(torch)

    def assign(value):
        return error(lambda: setattr(x, "grad", value))

    assert assign(5) == (
        "TypeError: assigned grad expected to be a Tensor or None but got grad of type int"
    )
    assert assign(x) == "RuntimeError: can't assign Variable as its own grad"
    assert assign(torch.ones(3)) == (
        "RuntimeError: attempting to assign a gradient of size '[3]' to a tensor of size '[2]'. "
        "Please ensure that the gradient and the tensor are the same size"
    )
    assert assign(torch.ones(2, dtype=torch.float64)) == DTYPE.format("double", "Float")
    assert assign(torch.ones(2, dtype=torch.int64)) == DTYPE.format("long int", "Float")
    assert assign(torch.ones(2, dtype=torch.bfloat16)) == DTYPE.format("c10::BFloat16", "Float")
    assert x.grad is None


def test_l5_gradients_can_be_assigned_and_deleted(torch):
    x = leaf(torch)
    given = torch.ones(2)
    x.grad = given
    assert x.grad is given
    x.sum().backward()
    assert values(given) == [2.0, 2.0]
    del x.grad
    assert x.grad is None
    plain = torch.ones(2)
    plain.grad = given
    assert plain.grad is given
    plain.grad = None
    assert plain.grad is None


def test_l6_grad_dtype_says_in_which_dtype_gradients_accumulate(torch):
    x = leaf(torch)
    assert x.grad_dtype is torch.float32
    recorded = x * 2
    x.grad_dtype = torch.float64
    recorded.sum().backward()
    (x * 2).sum().backward()
    assert x.grad.dtype is torch.float64
    assert values(x.grad) == [4.0, 4.0]
    assert error(lambda: setattr(x, "grad", torch.ones(2))) == DTYPE.format("float", "Double")
    assert error(lambda: setattr(x, "grad_dtype", torch.float16)) == (
        "RuntimeError: Cannot set grad_dtype to 'Half' because there is already a gradient with "
        "dtype 'double'. Please clear the gradient (.grad = None) before changing grad_dtype, or "
        "ensure the new grad_dtype matches the existing gradient's dtype."
    )


def test_l6_without_grad_dtype_gradients_stay_as_they_arrive(torch):
    class Widen(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return grad.double()

    x = leaf(torch)
    x.grad_dtype = None
    assert x.grad_dtype is None
    Widen.apply(x).sum().backward()
    assert x.grad.dtype is torch.float64
    (x * 2).sum().backward()
    assert values(x.grad) == [3.0, 3.0]
    assert x.grad.dtype is torch.float64


def test_l6_grad_dtype_is_for_leaves(torch):
    x = leaf(torch)
    y = x * 2
    y.retain_grad()
    assert error(lambda: y.grad_dtype) == (
        "RuntimeError: grad_dtype can only be accessed on leaf tensors."
    )
    assert error(lambda: setattr(y, "grad_dtype", torch.float64)) == (
        "RuntimeError: grad_dtype can only be set on leaf tensors."
    )
    assert error(lambda: setattr(x, "grad_dtype", "double")) == (
        "RuntimeError: grad_dtype must be a torch.dtype or None, but got str"
    )


def test_l7_detach_shares_memory_and_version(torch):
    x = leaf(torch)
    y = x * 2
    z = y * y
    alias = y.detach()
    assert not alias.requires_grad
    assert alias.is_leaf
    assert alias.data_ptr() == y.data_ptr()
    alias.add_(1)
    assert y._version == 1
    assert "modified by an inplace operation" in error(lambda: z.sum().backward())


def test_l7_detach_in_place_makes_a_leaf(torch):
    x = leaf(torch)
    y = x * 2
    assert y.detach_() is y
    assert (y.requires_grad, y.is_leaf, y.grad_fn) == (False, True, None)
    assert x.detach_() is x
    assert not x.requires_grad


def test_l8_data_is_unseen_by_autograd(torch):
    x = leaf(torch)
    y = x * 2
    z = y * y
    y.data.add_(1)
    assert y._version == 0
    assert not y.data.requires_grad
    z.sum().backward()
    assert values(x.grad) == [12.0, 12.0]


def test_l8_data_can_be_replaced(torch):
    x = leaf(torch)
    y = x * x
    x.data = torch.full((2,), 5.0)
    y.sum().backward()
    assert values(x.grad) == [10.0, 10.0]
    plain = torch.ones(2)
    view = plain.view(2, 1)
    plain.add_(1)
    source = torch.zeros(3, dtype=torch.int64)
    plain.data = source
    assert plain.dtype is torch.int64
    assert list(plain.shape) == [3]
    assert list(view.shape) == [2, 1]
    assert plain._version == 1
    plain.add_(1)
    assert values(source) == [1, 1, 1]
    assert (plain._version, view._version, source._version) == (2, 2, 0)


def test_l8_data_of_another_shape_changes_the_next_graph(torch):
    x = leaf(torch)
    (x * 3).sum()
    x.data = torch.ones(3)
    (x * 2).sum().backward()
    assert values(x.grad) == [2.0, 2.0, 2.0]
    x.grad = torch.ones(3)
    x.data = torch.ones(2)
    assert error(lambda: (x * 2).sum().backward()) == (
        "RuntimeError: The size of tensor a (3) must match the size of tensor b (2) at "
        "non-singleton dimension 0"
    )


def test_l8_what_data_refuses(torch):
    x = leaf(torch)
    assert error(lambda: setattr(x, "data", torch.ones(2, dtype=torch.int64))) == (
        "RuntimeError: data set to a tensor that requires gradients must be floating point or "
        "complex dtype"
    )
    assert error(lambda: setattr(x, "data", None)) == (
        "TypeError: Variable data has to be a tensor, but got NoneType"
    )
    assert error(lambda: delattr(x, "data")) == (
        "RuntimeError: Deleting tensor data is not allowed. Delete tensor instead!"
    )
    assert error(lambda: delattr(x, "requires_grad")) == (
        "RuntimeError: requires_grad must be a bool"
    )
    assert error(lambda: setattr(x, "grad_fn", None)).startswith("AttributeError: ")


def test_l9_numpy_is_for_tensors_without_gradients(torch):
    x = leaf(torch)
    text = (
        "RuntimeError: Can't call numpy() on Tensor that requires grad. Use "
        "tensor.detach().numpy() instead."
    )
    assert error(x.numpy) == text
    assert error((x * 2).numpy) == text
    assert x.detach().numpy().tolist() == [1.0, 1.0]
    with torch.no_grad():
        assert x.numpy().tolist() == [1.0, 1.0]


def test_l10_whole_results_never_require_grad(torch):
    x = leaf(torch, 2, 3)
    for result in (x > 0, x == x, x.argmax(), x.to(torch.int64)):
        assert not result.requires_grad
    highest = x.max(0)
    assert highest.values.requires_grad
    assert not highest.indices.requires_grad
    ordered = x.sort()
    assert ordered.values.requires_grad
    assert not ordered.indices.requires_grad


def test_l11_a_parameter_can_be_set_to_another_size(torch):
    parameter = torch.nn.Parameter(torch.ones(2))
    with torch.no_grad():
        parameter.set_(torch.ones(5))
    (parameter * 2).sum().backward()
    assert values(parameter.grad) == [2.0] * 5
    assert error(lambda: parameter.set_(torch.ones(3))) == (
        "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation."
    )


@pytest.mark.parametrize(
    ("convert", "text"),
    [
        (
            lambda torch: int(torch.tensor(float("nan"))),
            "ValueError: cannot convert float NaN to integer",
        ),
        (
            lambda torch: int(torch.tensor(float("inf"))),
            "OverflowError: cannot convert float infinity to integer",
        ),
        (
            lambda torch: float(torch.ones(2)),
            "ValueError: only one element tensors can be converted to Python scalars",
        ),
        (
            lambda torch: torch.ones(2).item(),
            "RuntimeError: a Tensor with 2 elements cannot be converted to Scalar",
        ),
        (
            lambda torch: bool(torch.ones(2)),
            "RuntimeError: Boolean value of Tensor with more than one value is ambiguous",
        ),
    ],
)
def test_l12_conversions_to_python_numbers_fail_as_pythons(torch, convert, text):
    assert error(lambda: convert(torch)) == text


def test_l12_float_of_a_tensor_that_requires_grad_warns(torch):
    x = torch.tensor(1.5, requires_grad=True)
    assert x.item() == 1.5
    torch.set_warn_always(True)
    try:
        assert warned(lambda: float(x)) == [
            "UserWarning: Converting a tensor with requires_grad=True to a scalar may lead to "
            "unexpected behavior."
        ]
    finally:
        torch.set_warn_always(False)


def test_l2_a_leaf_that_stops_to_require_grad_gets_none_from_older_graphs(torch):
    x = leaf(torch)
    y = x * 2
    x.requires_grad_(False)
    y.sum().backward()
    assert x.grad is None
    z = leaf(torch)
    w = z * 2
    z.detach_()
    w.sum().backward()
    assert z.grad is None


def test_found_e3_a_leaf_that_is_one_no_more_takes_gradients_of_any_breadth(torch):
    x = torch.ones(3, 2, requires_grad=True)
    b = torch.ones(2, requires_grad=True)
    y = (x + b).sum() + (b * b).sum()
    b.requires_grad_(False)
    y.backward()
    assert b.grad is None and values(x.grad) == [[1.0, 1.0]] * 3


def test_found_e3_a_leaf_that_is_one_no_more_may_have_changed_its_shape(torch):
    b = torch.ones(2, 3, requires_grad=True)
    y = (b * 3).sum() + (b * 2).sum() + b.sum()
    b.detach_().t_()
    y.backward()
    assert b.grad is None


@pytest.mark.filterwarnings("ignore:Using backward")
def test_found_l2_under_create_graph_a_leaf_that_stops_to_require_grad_gets_none(torch):
    x = torch.tensor(2.0, requires_grad=True)
    w = torch.tensor(3.0, requires_grad=True)
    y = x * w
    x.requires_grad_(False)
    torch.autograd.backward(y, create_graph=True)
    assert x.grad is None
    assert values(w.grad) == 2.0


def test_found_l6_gradients_of_two_paths_are_added_in_the_grad_dtype(torch):
    x = torch.ones(2, requires_grad=True)
    x.grad_dtype = torch.float64
    (x * 2 + x * 3).sum().backward()
    assert (x.grad.dtype, values(x.grad)) == (torch.float64, [5.0, 5.0])


def test_found_l2_leaves_that_claim_to_be_equal_have_gradients_of_their_own(torch):
    class Named(torch.Tensor):
        def __eq__(self, other):
            return True

        def __hash__(self):
            return 7

    a, b = (torch.tensor([v]).as_subclass(Named).requires_grad_() for v in (2.0, 3.0))
    y = torch.Tensor.mul(a, b)
    y.sum().backward()
    assert (values(a.grad), values(b.grad)) == ([3.0], [2.0])
