"""Names of `torch.autograd` that begin with an underscore but that programs use."""

from __future__ import annotations

from autograd_probe import error


def test_make_grads_fills_in_ones_for_scalars(torch):
    x = torch.ones(3, requires_grad=True)
    make = torch.autograd._make_grads
    given = torch.ones(3, dtype=torch.float64)
    made = make((x.sum(), x * 2, torch.ones(3)), (None, given, None), False)
    assert made[0].tolist() == 1.0
    assert made[1] is given
    assert made[2] is None  # an output without a graph
    edge = torch.autograd.graph.get_gradient_edge(x.sum())
    assert make((edge,), (None,), False)[0].tolist() == 1.0


def test_make_grads_refuses(torch):
    x = torch.ones(3, requires_grad=True)
    make = torch.autograd._make_grads
    assert error(lambda: make((x * 2,), (None,), False)) == (
        "RuntimeError: grad can be implicitly created only for scalar outputs"
    )
    assert error(lambda: make((x * 2,), (torch.ones(2),), False)) == (
        "RuntimeError: Mismatch in shape: grad_output[0] has a shape of torch.Size([2]) and "
        "output[0] has a shape of torch.Size([3])."
    )
    assert error(lambda: make((x.sum(),), (1.0,), False)) == (
        "TypeError: gradients can be either Tensors or None, but got float"
    )
    assert "grad_output[0] has a dtype of torch.complex64" in error(
        lambda: make((x * 2,), (torch.ones(3) * 1j,), False)
    )
    assert error(lambda: make((None,), (None,), False)) == (
        "AssertionError: Expected output to be a torch.Tensor"
    )


def test_make_grads_of_batches(torch):
    x = torch.ones(3, requires_grad=True)
    rows = torch.ones(2, 3)
    assert torch.autograd._make_grads((x * 2,), (rows,), True)[0] is rows
    assert "a mismatch was detected: grad_output[0] has a shape of torch.Size([])" in error(
        lambda: torch.autograd._make_grads((x * 2,), (torch.ones(2, 4),), True)
    )


def test_tensor_or_tensors_to_tuple(torch):
    to_tuple = torch.autograd._tensor_or_tensors_to_tuple
    x = torch.ones(1)
    assert to_tuple(None, 2) == (None, None)
    assert to_tuple(x, 3) == (x,)
    assert to_tuple([None, x], 5) == (None, x)
    assert error(lambda: to_tuple(5, 1)) == "TypeError: 'int' object is not iterable"


def test_checkpoints_are_valid_in_a_whole_pass_only(torch):
    seen = []

    class Look(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            seen.append(torch.autograd._is_checkpoint_valid())
            return grad

    x = torch.ones(2, requires_grad=True)
    assert torch.autograd._is_checkpoint_valid()
    Look.apply(x).sum().backward()
    torch.autograd.grad(Look.apply(x).sum(), x)
    Look.apply(x).sum().backward(inputs=[x])
    assert seen == [True, False, False]


def test_nested_io_function_is_a_function(torch):
    nested = torch.autograd.NestedIOFunction
    assert issubclass(nested, torch.autograd.Function)
    assert nested is torch.autograd.function.NestedIOFunction
