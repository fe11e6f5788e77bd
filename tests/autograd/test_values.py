"""B: values of gradients, from broadcasting to ties.  X: complex.  Z: Python's protocols."""

from __future__ import annotations

import copy
import pickle

import pytest

from autograd_probe import error, values, warned


def leaf(torch, data, dtype=None):
    return torch.tensor(data, dtype=dtype, requires_grad=True)


def test_b1_broadcasting_is_undone_by_sums(torch):
    matrix = torch.ones(2, 3, requires_grad=True)
    row = torch.ones(3, requires_grad=True)
    column = torch.ones(2, 1, requires_grad=True)
    single = torch.ones(1, 1, requires_grad=True)
    (matrix * row + column * single).sum().backward()
    assert values(row.grad) == [2.0, 2.0, 2.0]
    assert values(column.grad) == [[3.0], [3.0]]
    assert values(single.grad) == [[6.0]]


def test_b2_each_gradient_has_the_dtype_of_its_input(torch):
    half = torch.ones(2, dtype=torch.float16, requires_grad=True)
    wide = torch.ones(2, dtype=torch.float64, requires_grad=True)
    (half * wide).sum().backward()
    assert half.grad.dtype is torch.float16
    assert wide.grad.dtype is torch.float64
    x = torch.ones(2, requires_grad=True)
    (x.double() * 2).to(torch.bfloat16).float().sum().backward()
    assert x.grad.dtype is torch.float32
    assert values(x.grad) == [2.0, 2.0]
    y = torch.ones(2, requires_grad=True)
    y.type_as(wide).sum().backward()
    assert y.grad.dtype is torch.float32


def test_b3_an_expanded_gradient_works(torch):
    x = leaf(torch, [[1.0, 2.0], [3.0, 4.0]])
    given = torch.ones(1).expand(2, 2)
    (x * x).backward(given)
    assert values(x.grad) == [[2.0, 4.0], [6.0, 8.0]]
    x.grad.add_(1)
    assert values(given) == [[1.0, 1.0], [1.0, 1.0]]
    y = torch.ones(2, 2, requires_grad=True)
    (y + 0).backward(given)
    y.grad.add_(1)
    assert values(y.grad) == [[2.0, 2.0], [2.0, 2.0]]


INDICES = {
    "int": lambda torch: 1,
    "tuple": lambda torch: (1, 0),
    "slice": lambda torch: slice(None, None, 2),
    "ellipsis": lambda torch: (Ellipsis, 1),
    "none": lambda torch: (None, 0),
    "tensor": lambda torch: torch.tensor([0, 0, 1]),
    "mask": lambda torch: torch.tensor([True, False, True]),
    "list": lambda torch: [0, 2],
    "nested list": lambda torch: ([0, 2], [1, 1]),
    "mixed": lambda torch: (slice(1, None), torch.tensor([1, 1])),
    "two tensors": lambda torch: (torch.tensor([0, 0]), torch.tensor([1, 1])),
}
COUNTS = {
    "int": [[0, 0], [1, 1], [0, 0]],
    "tuple": [[0, 0], [1, 0], [0, 0]],
    "slice": [[1, 1], [0, 0], [1, 1]],
    "ellipsis": [[0, 1], [0, 1], [0, 1]],
    "none": [[1, 1], [0, 0], [0, 0]],
    "tensor": [[2, 2], [1, 1], [0, 0]],
    "mask": [[1, 1], [0, 0], [1, 1]],
    "list": [[1, 1], [0, 0], [1, 1]],
    "nested list": [[0, 1], [0, 0], [0, 1]],
    "mixed": [[0, 0], [0, 2], [0, 2]],
    "two tensors": [[0, 2], [0, 0], [0, 0]],
}


@pytest.mark.parametrize("name", INDICES)
def test_b4_indexing_sends_gradients_back_and_duplicates_add_up(torch, name):
    x = torch.ones(3, 2, requires_grad=True)
    x[INDICES[name](torch)].sum().backward()
    assert values(x.grad) == COUNTS[name]


@pytest.mark.parametrize("name", [name for name in INDICES if name not in ("none",)])
def test_b5_assigning_by_index_stops_the_gradient_of_what_was_there(torch, name):
    x = torch.ones(3, 2, requires_grad=True)
    y = x * 1
    value = leaf(torch, 5.0)
    y[INDICES[name](torch)] = value
    y.sum().backward()
    assert values(x.grad) == [[float(not each) for each in row] for row in COUNTS[name]]
    assert value.grad.item() > 0


def test_b6_ties_share_the_gradient_or_the_first_takes_it(torch):
    x = leaf(torch, [1.0, 3.0, 3.0])
    x.max().backward()
    assert values(x.grad) == [0.0, 0.5, 0.5]
    x.grad = None
    x.amax(0).backward()
    assert values(x.grad) == [0.0, 0.5, 0.5]
    x.grad = None
    x.max(0).values.backward()
    assert values(x.grad) == [0.0, 1.0, 0.0]
    a, b = leaf(torch, 2.0), leaf(torch, 2.0)
    torch.maximum(a, b).backward()
    assert (values(a.grad), values(b.grad)) == (0.5, 0.5)


def test_b7_conventions_at_zero(torch):
    x = leaf(torch, [0.0, 0.0])
    (x**0).sum().backward()
    assert values(x.grad) == [0.0, 0.0]
    x.grad = None
    x.norm().backward()
    assert values(x.grad) == [0.0, 0.0]
    y, z = leaf(torch, 0.0), leaf(torch, 0.0)
    torch.atan2(y, z).backward()
    assert (values(y.grad), values(z.grad)) == (0.0, 0.0)
    same = leaf(torch, [2.0, 2.0])
    same.std().backward()
    assert values(same.grad) == [0.0, 0.0]


def test_b8_where_sends_gradients_to_the_chosen_side(torch):
    x, y = torch.ones(2, 2, requires_grad=True), torch.ones(2, requires_grad=True)
    torch.where(torch.tensor([True, False]), x, y).sum().backward()
    assert values(x.grad) == [[1.0, 0.0], [1.0, 0.0]]
    assert values(y.grad) == [0.0, 2.0]
    x.grad = None
    torch.where(x > 0, x, 0.0).sum().backward()
    assert values(x.grad) == [[1.0, 1.0], [1.0, 1.0]]


def test_b9_operations_with_several_outputs_use_the_gradients_they_get(torch):
    x = leaf(torch, [1.0, 2.0, 6.0])
    _, mean = torch.var_mean(x)
    mean.backward()
    assert values(x.grad) == pytest.approx([1 / 3] * 3)
    y = torch.ones(4, requires_grad=True)
    y.chunk(2)[1].sum().backward()
    assert values(y.grad) == [0.0, 0.0, 1.0, 1.0]


def test_b11_shapes_that_are_easily_wrong(torch):
    x = torch.ones(2, 3, requires_grad=True)
    x.trace().backward()
    assert values(x.grad) == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    x.grad = None
    x.diagonal().sum().backward()
    assert values(x.grad) == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    x.grad = None
    vector = torch.ones(1, requires_grad=True)
    torch.mv(x, vector.expand(3)).sum().backward()
    assert values(vector.grad) == [6.0]
    x.grad = None
    x.repeat(2, 2).sum().backward()
    assert values(x.grad) == [[4.0, 4.0, 4.0], [4.0, 4.0, 4.0]]
    single = leaf(torch, 3.0)
    single.gather(0, torch.tensor(0)).backward()
    assert values(single.grad) == 1.0


def test_b12_the_backward_of_relu_is_a_node_itself(torch):
    x = leaf(torch, [-1.0, 2.0])
    given = torch.ones(2, requires_grad=True)
    (grad,) = torch.autograd.grad(x.relu(), x, given, create_graph=True)
    assert grad.grad_fn.name() == "ThresholdBackwardBackward0"
    assert values(torch.autograd.grad(grad.sum(), given)[0]) == [0.0, 1.0]


# --- complex ---------------------------------------------------------------------------------


def test_x1_the_gradient_points_where_the_loss_grows(torch):
    z = leaf(torch, [3 + 4j])
    (z.abs() ** 2).sum().backward()
    assert values(z.grad) == pytest.approx([6 + 8j])
    z.grad = None
    (z * (2 + 1j)).real.sum().backward()
    assert values(z.grad) == [2 - 1j]
    z.grad = None
    (z * (2 + 1j)).imag.sum().backward()
    assert values(z.grad) == [1 + 2j]


def test_x2_a_real_input_gets_the_real_part(torch):
    x = leaf(torch, [1.0, 2.0])
    z = leaf(torch, [1 + 1j, 2 - 1j])
    (x * z).real.sum().backward()
    assert values(x.grad) == [1.0, 2.0]
    assert x.grad.dtype is torch.float32
    x.grad = None
    torch.cat([x, z]).imag.sum().backward()
    assert values(x.grad) == [0.0, 0.0]
    x.grad = None
    x.to(torch.complex64).real.sum().backward()
    assert values(x.grad) == [1.0, 1.0]


def test_x3_a_complex_loss_is_refused(torch):
    z = leaf(torch, 1 + 1j)
    assert error((z * z).backward) == (
        "RuntimeError: grad can be implicitly created only for real scalar outputs but got "
        "torch.complex64"
    )


def test_x4_real_and_imaginary_parts_are_views(torch):
    z = leaf(torch, [1 + 2j, 3 + 4j])
    w = z * 1
    w.real.mul_(10)
    assert values(w) == [10 + 2j, 30 + 4j]
    w.abs().square().sum().backward()
    assert values(z.grad) == pytest.approx([200 + 4j, 600 + 8j])
    assert error(lambda: torch.ones(2).imag) == (
        "RuntimeError: imag is not implemented for tensors with non-complex dtypes."
    )


def test_x4_parts_of_a_complex_tensor_as_real_views(torch):
    z = leaf(torch, [1 + 2j, 3 + 4j])
    w = z * 1
    torch.view_as_real(w)[0].mul_(5)
    assert values(w) == [5 + 10j, 3 + 4j]
    w.real.sum().backward()
    assert values(z.grad) == [5 + 0j, 1 + 0j]


# --- Python's protocols ----------------------------------------------------------------------


def test_z1_repr_shows_the_place_in_the_graph(torch):
    x = leaf(torch, [1.0])
    assert repr(x) == "tensor([1.], requires_grad=True)"
    assert repr(x.clone()) == "tensor([1.], grad_fn=<CloneBackward0>)"
    assert repr(x.double()) == "tensor([1.], dtype=torch.float64, grad_fn=<ToCopyBackward0>)"
    assert repr(torch.nn.Parameter(torch.ones(1))) == (
        "Parameter containing:\ntensor([1.], requires_grad=True)"
    )


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_z2_pickle_keeps_values_and_flag_and_drops_the_graph(torch, protocol):
    x = leaf(torch, [1.0, 2.0])
    x.grad = torch.ones(2)
    copied = pickle.loads(pickle.dumps(x, protocol))
    assert values(copied) == [1.0, 2.0]
    assert copied.requires_grad
    assert copied.grad is None
    result = pickle.loads(pickle.dumps(x * 2, protocol))
    assert result.is_leaf
    assert result.requires_grad
    parameter = pickle.loads(pickle.dumps(torch.nn.Parameter(torch.ones(1)), protocol))
    assert type(parameter) is torch.nn.Parameter


def test_z2_hooks_are_not_pickled(torch):
    x = leaf(torch, [1.0])
    x.register_hook(lambda grad: None)
    (text,) = warned(lambda: pickle.dumps(x))
    assert text.startswith("UserWarning: backward hook <function ")
    assert "on tensor will not be serialized." in text


def test_z3_deepcopy_is_for_leaves(torch):
    x = leaf(torch, [1.0, 2.0])
    x.grad = torch.ones(2)
    x.note = "mine"
    copied = copy.deepcopy(x)
    assert values(copied.grad) == [1.0, 1.0]
    assert copied.grad is not x.grad
    assert copied.note == "mine"
    assert copied.requires_grad
    first, second = copy.deepcopy([x, x.detach()])
    assert first.data_ptr() == second.data_ptr()
    assert error(lambda: copy.deepcopy(x * 2)).startswith(
        "RuntimeError: Only Tensors created explicitly by the user (graph leaves) support the "
        "deepcopy protocol at the moment."
    )
    x.register_hook(lambda grad: None)
    assert copy.deepcopy(x)._backward_hooks is None


def test_z3_the_copy_of_a_parameter_has_no_gradient(torch):
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.grad = torch.ones(2)
    copied = copy.deepcopy(parameter)
    assert type(copied) is torch.nn.Parameter
    assert copied.grad is None


def test_z4_every_attribute_can_be_read(torch):
    x = leaf(torch, [[1.0]])
    assert "shape" in dir(x)
    for name in dir(x):
        if name not in ("imag", "volatile") and not name.startswith("_"):
            getattr(x, name)


def test_z5_variable_is_the_old_name_of_tensor(torch):
    x = torch.autograd.Variable(torch.ones(2), requires_grad=True)
    assert type(x) is torch.Tensor
    assert x.requires_grad
    assert isinstance(torch.ones(1), torch.autograd.Variable)
    found = []
    assert warned(lambda: found.append(x.volatile)) == [
        "UserWarning: volatile was removed (Variable.volatile is always False)"
    ]
    assert found == [False]


def test_z6_the_package_can_be_reached_from_autograd(torch):
    assert torch.autograd.torch is torch


def test_z7_a_class_may_take_backward_and_grad_into_its_own_hands(torch):
    calls = []

    class Wrapper:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            calls.append((func.__name__, len(args), sorted(kwargs)))
            return "mine"

    x = torch.ones(1, requires_grad=True)
    assert torch.autograd.backward([Wrapper()]) == "mine"
    assert torch.autograd.grad(x * 2, Wrapper()) == "mine"
    assert calls[0] == ("backward", 1, ["create_graph", "grad_tensors", "inputs", "retain_graph"])
    assert calls[1][:2] == ("grad", 2)
    assert "materialize_grads" in calls[1][2]


def test_z7_a_subclass_may_call_the_original(torch):
    class Counting(torch.Tensor):
        seen = 0

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            Counting.seen += 1
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2, requires_grad=True)
    y = (x * 2).sum().as_subclass(Counting)
    before = Counting.seen
    torch.autograd.backward(y)
    assert Counting.seen > before
    assert x.grad.tolist() == [2.0, 2.0]


def test_b10_a_missing_derivative_says_so_in_backward(torch):
    x = torch.tensor([0.5], requires_grad=True)
    y = torch.heaviside(x, torch.tensor([1.0]))
    with pytest.raises(RuntimeError, match="derivative for aten::heaviside is not implemented"):
        y.backward()


def test_b13_the_eigenvalues_of_lobpcg_have_gradients(torch):
    torch.manual_seed(0)
    a = torch.rand(9, 9, dtype=torch.float64)
    a = (a @ a.t() + 9 * torch.eye(9, dtype=torch.float64)).requires_grad_()
    values, vectors = torch.lobpcg(a, k=1, niter=200, tol=1e-10)
    values.sum().backward()
    vector = vectors.detach()[:, :1]
    expected = vector @ vector.t()
    assert torch.allclose((a.grad + a.grad.t()) / 2, expected, atol=1e-5)
