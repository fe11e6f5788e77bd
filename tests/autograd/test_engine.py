"""E1 to E11: calling `backward` and `grad`, and what they refuse."""

from __future__ import annotations

import threading

import pytest

from autograd_probe import error, values, warned

SECOND_TIME = (
    "RuntimeError: Trying to backward through the graph a second time (or directly access saved "
    "tensors after they have already been freed). Saved intermediate values of the graph are "
    "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
    "backward through the graph a second time or if you need to access saved tensors after "
    "calling backward."
)
UNUSED = (
    "RuntimeError: The differentiated Tensor at index {} appears to not have been used in the "
    "graph. Set allow_unused=True if this is the desired behavior."
)


def test_e1_backward_without_a_gradient_needs_one_real_element(torch):
    x = torch.ones(2, requires_grad=True)
    z = torch.tensor(1 + 1j, requires_grad=True)
    assert error((x * 2).backward) == (
        "RuntimeError: grad can be implicitly created only for scalar outputs"
    )
    assert error((z * 2).backward) == (
        "RuntimeError: grad can be implicitly created only for real scalar outputs but got "
        "torch.complex64"
    )
    (x * 2).sum().view(1, 1, 1).backward()
    assert values(x.grad) == [2.0, 2.0]


def test_e2_a_root_must_require_grad_and_nothing_runs_if_one_does_not(torch):
    x = torch.tensor(2.0, requires_grad=True)
    text = "RuntimeError: element {} of tensors does not require grad and does not have a grad_fn"
    assert error(torch.ones(()).backward) == text.format(0)
    assert error(torch.ones(2).backward) == text.format(0)
    assert error(lambda: torch.autograd.backward([x * 2, torch.ones(())])) == text.format(1)
    assert x.grad is None


def test_e3_gradients_are_checked_against_the_roots(torch):
    x = torch.tensor(2.0, requires_grad=True)
    z = torch.tensor(1 + 1j, requires_grad=True)
    backward = torch.autograd.backward
    assert error(lambda: backward([x * 2, x * 3], [None])) == (
        "RuntimeError: got 2 tensors and 1 gradients"
    )
    assert error(lambda: (x * 2).backward(torch.ones(1))) == (
        "RuntimeError: Mismatch in shape: grad_output[0] has a shape of torch.Size([1]) and "
        "output[0] has a shape of torch.Size([])."
    )
    assert error(lambda: (z * 2).backward(torch.ones(()))) == (
        "RuntimeError: For complex Tensors, both grad_output and output are required to have the "
        "same dtype. Mismatch in dtype: grad_output[0] has a dtype of torch.float32 and output[0] "
        "has a dtype of torch.complex64."
    )
    assert error(lambda: backward(x * 2, (1.0,))) == (
        "TypeError: gradients can be either Tensors or None, but got float"
    )
    assert x.grad is None


def test_e3_gradients_may_be_surplus_of_another_dtype_or_in_a_sequence(torch):
    x = torch.tensor(2.0, requires_grad=True)
    torch.autograd.backward([x * 2], [None, None])
    (x * 2).backward(torch.tensor(3))
    (x * 2).backward(torch.tensor(1.5, dtype=torch.float64))
    (x * 2).backward([torch.tensor(1.0)])
    assert values(x.grad) == 13.0
    assert x.grad.dtype is torch.float32


def test_e3_roots_must_be_tensors(torch):
    backward = torch.autograd.backward
    assert error(lambda: backward([5])) == "AssertionError: Expected output to be a torch.Tensor"
    assert error(lambda: backward(5)) == "TypeError: 'int' object is not iterable"


def test_e4_several_roots_add_up(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    a = x * 2
    b = a * 3
    torch.autograd.backward([a, b], [torch.ones(2), torch.ones(2)])
    assert values(x.grad) == [8.0, 8.0]
    x.grad = None
    c = x * 5
    torch.autograd.backward([c, c], [torch.ones(2), torch.ones(2)])
    assert values(x.grad) == [10.0, 10.0]


def test_e5_saved_values_are_freed_unless_the_graph_is_retained(torch):
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert values(x.grad) == 12.0
    assert error(y.backward) == SECOND_TIME
    assert values(x.grad) == 12.0


def test_e5_a_graph_that_saved_nothing_runs_again(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x + 1).clone().sum()
    y.backward()
    y.backward()
    assert values(x.grad) == [2.0, 2.0]


def test_e5_create_graph_retains_the_graph(torch):
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    torch.autograd.grad(y, x, create_graph=True)
    assert values(torch.autograd.grad(y, x)[0]) == 6.0
    z = x * x
    torch.autograd.grad(z, x, create_graph=True, retain_graph=False)
    assert error(z.backward) == SECOND_TIME


def test_e6_create_graph_makes_the_gradient_differentiable(torch):
    x = torch.tensor(3.0, requires_grad=True)
    (grad,) = torch.autograd.grad(x * x * x, x, create_graph=True)
    assert grad.requires_grad
    (second,) = torch.autograd.grad(grad, x)
    assert values(second) == 18.0


def test_e6_backward_with_create_graph_warns(torch):
    x = torch.tensor(3.0, requires_grad=True)
    torch.set_warn_always(True)
    try:
        found = warned(lambda: (x * x).backward(create_graph=True))
    finally:
        torch.set_warn_always(False)
    assert len(found) == 1
    assert found[0].startswith(
        "UserWarning: Using backward() with create_graph=True will create a reference cycle "
        "between the parameter and its gradient which can cause a memory leak. We recommend using "
        "autograd.grad when creating the graph to avoid this. If you have to use this function, "
        "make sure to reset the .grad fields of your parameters to None after use to break the "
        "cycle and avoid the leak."
    )
    assert x.grad.requires_grad


def test_e7_grad_returns_gradients_and_touches_none(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    z = (y * y).sum()
    found = torch.autograd.grad(z, [x, y, x])
    assert isinstance(found, tuple)
    assert [values(each) for each in found] == [[18.0, 36.0], [6.0, 12.0], [18.0, 36.0]]
    assert x.grad is None


def test_e7_an_input_that_is_an_output_gets_the_given_gradient_itself(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 1
    given = torch.ones(2)
    assert torch.autograd.grad(x, x, given)[0] is given
    assert torch.autograd.grad(y, [y, x], given)[0] is given


def test_e7_inputs_may_be_a_dict(torch):
    x = torch.tensor(2.0, requires_grad=True)
    found = torch.autograd.grad(x * x, {"weight": x})
    assert values(found["weight"]) == 4.0
    (x * x).backward(inputs={"weight": x})
    assert values(x.grad) == 4.0


def test_e8_an_unused_input_is_an_error_unless_allowed(torch):
    x = torch.tensor(2.0, requires_grad=True)
    other = torch.ones(2, requires_grad=True)
    grad = torch.autograd.grad
    assert error(lambda: grad(x * 2, other)) == UNUSED.format(0)
    assert error(lambda: grad(x * 2, [x, other])) == UNUSED.format(1)
    assert grad(x * 2, other, allow_unused=True) == (None,)
    (zeros,) = grad(x * 2, other, materialize_grads=True)
    assert values(zeros) == [0.0, 0.0]
    assert not zeros.requires_grad
    assert error(lambda: grad(x * 2, other, allow_unused=False, materialize_grads=True)) == (
        "ValueError: Expected allow_unused to be True or not passed when materialize_grads=True, "
        "but got: allow_unused=False."
    )


def test_e8_inputs_must_require_grad_and_be_tensors(torch):
    x = torch.tensor(2.0, requires_grad=True)
    grad = torch.autograd.grad
    assert error(lambda: grad(x * 2, torch.ones(2))) == (
        "RuntimeError: One of the differentiated Tensors does not require grad"
    )
    assert error(lambda: grad(x * 2, [x, 5])) == (
        "RuntimeError: all inputs have to be Tensors or GradientEdges, but got int"
    )
    assert error(lambda: grad(x * 2, [])) == (
        "RuntimeError: `inputs` argument to `grad()` cannot be empty."
    )
    assert error(lambda: grad([], [x])) == UNUSED.format(0)


def test_e9_backward_can_be_limited_to_inputs(torch):
    x = torch.tensor(2.0, requires_grad=True)
    w = torch.tensor(3.0, requires_grad=True)
    y = x * w
    z = y * 2
    z.backward(inputs=[x, y])
    assert (values(x.grad), values(y.grad), w.grad) == (6.0, 2.0, None)
    assert y.retains_grad
    (x * 2).backward(inputs=w)
    assert w.grad is None
    assert values(x.grad) == 6.0


def test_e9_backward_refuses_inputs_that_cannot_get_a_gradient(torch):
    x = torch.tensor(2.0, requires_grad=True)
    assert error(lambda: (x * 2).backward(inputs=[])) == (
        "RuntimeError: `inputs` argument to `backward()` cannot be empty."
    )
    assert error(lambda: (x * 2).backward(inputs=[x, torch.ones(())])) == (
        "RuntimeError: can't retain_grad on Tensor that has requires_grad=False"
    )
    assert x.grad is None


def test_e9_only_nodes_on_a_path_to_an_input_run(torch):
    ran = []

    class Note(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, name):
            ctx.name = name
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            ran.append(ctx.name)
            return grad * 2, None

    x = torch.ones(2, requires_grad=True)
    w = torch.ones(2, requires_grad=True)
    (Note.apply(x, "x") + Note.apply(w, "w")).sum().backward(inputs=[w])
    assert ran == ["w"]
    assert values(w.grad) == [2.0, 2.0]


def test_e10_only_inputs_is_deprecated(torch):
    x = torch.tensor(2.0, requires_grad=True)
    assert warned(lambda: torch.autograd.grad(x * 2, x, only_inputs=False)) == [
        "FutureWarning: only_inputs argument is deprecated and is ignored now (defaults to True). "
        "To accumulate gradient for other parts of the graph, please use torch.autograd.backward."
    ]


def test_e10_a_batch_of_gradients_gives_a_batch_of_results(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    rows = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    (batched,) = torch.autograd.grad(x * x, x, rows, is_grads_batched=True)
    assert values(batched) == [[2.0, 0.0], [0.0, 4.0], [2.0, 4.0]]
    assert error(
        lambda: torch.autograd.grad(x * x, x, torch.ones(3, 3), is_grads_batched=True)
    ).startswith(
        "RuntimeError: If `is_grads_batched=True`, we interpret the first dimension of each "
        "grad_output as the batch dimension. The sizes of the remaining dimensions are expected to "
        "match the shape of corresponding output, but a mismatch was detected: grad_output[0] has "
    )


def test_e10_a_batch_of_gradients_is_checked(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y, z = x * x, x * 3

    def batched(outputs, grads):
        return error(
            lambda: torch.autograd.grad(outputs, x, grads, is_grads_batched=True, retain_graph=True)
        )

    scalar = (
        "ValueError: vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but that "
        "input is a Tensor of dimensionality 0 so expected in_dim to satisfy 0 <= in_dim < 0."
    )
    assert batched(y.sum(), None) == scalar
    assert batched([y, z.sum()], [torch.ones(3, 2), None]) == scalar
    assert batched([y, z], [torch.ones(3, 2), torch.ones(4, 2)]) == (
        "ValueError: vmap: Expected all tensors to have the same size in the mapped dimension, got "
        "sizes [3, 4] for the mapped dimension"
    )
    assert batched(y, torch.ones(())).startswith("IndexError: invalid index of a 0-dim tensor.")
    assert batched(y, torch.ones(0, 2)) == (
        "IndexError: index 0 is out of bounds for dimension 0 with size 0"
    )
    edge = torch.autograd.graph.get_gradient_edge(y)
    assert batched(edge, torch.ones(3, 4)) == (
        "RuntimeError: Batched grads are not supported with GradientEdge"
    )
    assert batched(edge, torch.ones(3, 2)) == "no error"


def test_e10_a_batch_of_gradients_can_be_differentiated_again(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (batched,) = torch.autograd.grad(
        x**3, x, torch.eye(2), is_grads_batched=True, create_graph=True
    )
    assert values(torch.autograd.grad(batched.sum(), x)[0]) == [6.0, 12.0]


def test_e11_backward_runs_in_no_grad_and_on_other_threads(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y, z = x * x, x * 3
    with torch.no_grad():
        y.backward()
    assert values(x.grad) == 4.0
    thread = threading.Thread(target=z.backward)
    thread.start()
    thread.join()
    assert values(x.grad) == 7.0


def test_e3_the_old_name_of_grad_tensors_still_works(torch):
    x = torch.tensor(2.0, requires_grad=True)
    assert warned(lambda: torch.autograd.backward(x * 2, grad_variables=torch.tensor(3.0))) == [
        "FutureWarning: `grad_variables` is deprecated. Use `grad_tensors` instead."
    ]
    assert values(x.grad) == 6.0


def test_found_e9_zeros_for_unused_inputs_are_leaves_of_the_new_graph(torch):
    x = torch.ones(2, requires_grad=True)
    unused = torch.ones(4, 2).t().requires_grad_()
    for create_graph in (True, False):
        _, zeros = torch.autograd.grad(
            (x * x).sum(), [x, unused], create_graph=create_graph, materialize_grads=True
        )
        assert zeros.requires_grad is create_graph and zeros.is_leaf
        assert zeros.stride() == (1, 2) and not zeros.any()


def test_found_w16_a_maximum_that_is_none_has_no_gradient(torch):
    for function in (torch.max, torch.min, torch.median):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = function(x)
        y.data.fill_(9.0)
        y.backward()
        assert values(x.grad) == [0.0, 0.0]


def test_found_w16_only_the_maximum_gets_a_gradient_that_is_not_finite(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (found,) = torch.autograd.grad(x.max(), x, torch.tensor(float("inf")), create_graph=True)
    assert values(found) == [0.0, float("inf")]
    (x.max() * float("inf")).backward()
    assert values(x.grad) == [0.0, float("inf")]


NOTHING_SAVED = {
    "linear": lambda torch, x, w, b: torch.nn.functional.linear(x, w, b),
    "addmm": lambda torch, x, w, b: torch.addmm(b, x, w),
    "addmv": lambda torch, x, w, b: torch.addmv(b, x, b.detach()),
    "addcmul": lambda torch, x, w, b: torch.addcmul(b, x, w),
    "fmod": lambda torch, x, w, b: torch.fmod(b, x),
    "remainder": lambda torch, x, w, b: torch.remainder(b, x),
    "index_add": lambda torch, x, w, b: b.index_add(0, torch.tensor([0, 1]), x[0]),
    "scatter_add": lambda torch, x, w, b: b.scatter_add(0, torch.tensor([0, 1]), x[0]),
}


@pytest.mark.parametrize("name", NOTHING_SAVED)
def test_found_e2_what_has_saved_nothing_may_run_again(torch, name):
    x, w = torch.full((2, 2), 2.0), torch.full((2, 2), 3.0)
    b = torch.ones(2, requires_grad=True)
    y = NOTHING_SAVED[name](torch, x, w, b)
    total = y.sum()
    total.backward()
    once = b.grad.clone()
    total.backward()
    assert b.grad.tolist() == (once * 2).tolist()
    x.requires_grad_()
    total = NOTHING_SAVED[name](torch, x * 1, w, b).sum()
    total.backward()
    if name not in ("index_add", "scatter_add", "fmod", "remainder"):
        assert error(total.backward).startswith("RuntimeError: Trying to backward through")


def test_found_d5_the_backward_of_a_square_saves_what_that_of_a_power_saves(torch):
    x = torch.tensor([3.0], requires_grad=True)
    y = x.square()
    packed = []
    hooks = torch.autograd.graph.saved_tensors_hooks
    with hooks(lambda each: (packed.append(1), each)[1], lambda each: each):
        (found,) = torch.autograd.grad(y, x, create_graph=True)
    assert len(packed) == 2 and found.grad_fn.next_functions[1][0].name() == "MulBackward1"


@pytest.mark.parametrize("shape", [(), (1,), (1, 3)])
def test_found_d7_the_product_of_one_number_has_a_constant_gradient(torch, shape):
    x = torch.zeros(shape, requires_grad=True)
    for y in (x.prod(0), x.cumprod(0)):
        (found,) = torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)
        assert not found.requires_grad and found.tolist() == torch.ones(shape).tolist()
    matrix = torch.tensor([[2.0]], requires_grad=True)
    (found,) = torch.autograd.grad(torch.det(matrix), matrix, create_graph=True)
    assert not found.requires_grad and found.tolist() == [[1.0]]


def test_an_attribute_error_of_the_users_code_is_not_taken_for_a_freed_graph(torch):
    class Missing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad.no_such_thing

    y = Missing.apply(torch.ones(2, requires_grad=True)).sum()
    with pytest.raises(AttributeError, match="no_such_thing"):
        y.backward()
    x = torch.ones(2, requires_grad=True)
    y = x * x
    y.register_hook(lambda grad: grad.no_such_thing)
    with pytest.raises(AttributeError, match="no_such_thing"):
        y.sum().backward()


def test_found_e11_the_mode_after_a_pass_is_that_before_it(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y, z = x * x, x * x
    with torch.no_grad():
        y.backward()
        assert not torch.is_grad_enabled()
        torch.autograd.grad(z, x)
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("number", [0, 1])
def test_found_e4_one_of_several_outputs_is_a_root(torch, number):
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    torch.std_mean(x, correction=0)[number].backward()
    assert values(x.grad) == [[-0.5, 0.5], [0.5, 0.5]][number]
    rows = torch.zeros(2, 2, requires_grad=True)
    rows.unbind()[number].backward(torch.tensor([3.0, 4.0]))
    assert values(rows.grad[number]) == [3.0, 4.0]
    assert values(rows.grad[1 - number]) == [0.0, 0.0]


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("create_graph", [False, True])
def test_found_e3_a_root_gets_the_gradient_in_its_own_dtype(torch, create_graph):
    seen = []
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: seen.append((grad.dtype, grad.requires_grad)))
    given = torch.ones(2, dtype=torch.float64)
    torch.autograd.backward(y, given, create_graph=create_graph)
    assert seen == [(torch.float32, False)]


def test_found_e2_the_first_root_without_a_graph_is_named(torch):
    x = torch.ones(2, requires_grad=True)
    constant = torch.ones(2)
    text = "RuntimeError: element {} of tensors does not require grad and does not have a grad_fn"
    run = torch.autograd.backward
    given = torch.ones(2)
    assert error(lambda: run([x * 1, constant, constant], [given] * 3)) == text.format(1)
    assert error(lambda: run([constant, constant], [given] * 2)) == text.format(0)
    assert x.grad is None


@pytest.mark.taper_only  # PyTorch stumbles over the comparison of both gradients
def test_found_e2_what_is_wrong_with_a_gradient_is_said_first(torch):
    x = torch.ones(2, requires_grad=True)
    given = [torch.ones(2), torch.ones(3)]
    assert error(lambda: torch.autograd.backward([torch.ones(2), x * 1], given)) == (
        "RuntimeError: Mismatch in shape: grad_output[1] has a shape of torch.Size([3]) and "
        "output[1] has a shape of torch.Size([2])."
    )


def test_found_e10_a_batch_may_have_one_gradient(torch):
    x = torch.ones(2, requires_grad=True)
    (found,) = torch.autograd.grad(x * 3, x, torch.ones(1, 2), is_grads_batched=True)
    assert values(found) == [[3.0, 3.0]]
