"""`vmap`: a function of examples on a batch."""

from __future__ import annotations

import pytest

from autograd_probe import error, values


def rows(torch):
    return torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def test_the_function_runs_once_and_sees_one_example(torch):
    seen = []

    def f(x):
        seen.append((tuple(x.shape), x.dim(), x.numel(), len(x), x.dtype, x.size(0)))
        return x.sum()

    assert values(torch.vmap(f)(rows(torch))) == [6.0, 15.0]
    assert seen == [((3,), 1, 3, 3, torch.float32, 3)]


def test_in_dims_and_out_dims(torch):
    x = rows(torch)
    assert values(torch.vmap(lambda x: x * 2, in_dims=1)(x)) == [
        [2.0, 8.0],
        [4.0, 10.0],
        [6.0, 12.0],
    ]
    assert values(torch.vmap(lambda x: x * 2, out_dims=-1)(x)) == [
        [2.0, 8.0],
        [4.0, 10.0],
        [6.0, 12.0],
    ]
    found = torch.vmap(
        lambda tree, y: (tree["a"] + y, {"first": y}),
        in_dims=({"a": -2}, None),
        out_dims=(1, {"first": None}),
    )({"a": x}, torch.ones(3))
    assert values(found[0]) == [[2.0, 5.0], [3.0, 6.0], [4.0, 7.0]]
    assert values(found[1]["first"]) == [1.0, 1.0, 1.0]


def test_keywords_are_shared(torch):
    found = torch.vmap(lambda x, y=None: x @ y)(rows(torch), y=torch.ones(3))
    assert values(found) == [6.0, 15.0]


def test_results_that_depend_on_no_example_are_repeated(torch):
    found = torch.vmap(lambda x: torch.tensor([7.0, 8.0]))(rows(torch))
    assert values(found) == [[7.0, 8.0], [7.0, 8.0]]


def test_the_identity_returns_the_tensor_itself(torch):
    x = rows(torch)
    assert torch.vmap(lambda x: x)(x) is x


def test_an_empty_batch(torch):
    x = torch.ones(0, 3)
    assert torch.vmap(lambda x: x.sin().sum())(x).shape == (0,)
    assert torch.vmap(lambda x: torch.outer(x, x) @ x)(x).shape == (0, 3)


@pytest.mark.taper_only
def test_an_empty_batch_without_a_rule(torch):
    assert torch.vmap(lambda x: x.histc(4))(torch.ones(0, 3)).shape == (0, 4)


def test_nesting(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    table = torch.vmap(torch.vmap(torch.dot, in_dims=(None, 0)), in_dims=(0, None))
    assert values(table(x, x)) == [[5.0, 11.0], [11.0, 25.0]]
    deep = torch.vmap(torch.vmap(torch.vmap(lambda x: x.sum() * 2)))
    assert deep(torch.ones(2, 3, 4, 5)).shape == (2, 3, 4)


def test_gradients_of_each_example(torch):
    x = rows(torch)
    w = torch.tensor([1.0, 2.0, 3.0])
    found = torch.vmap(torch.func.grad(lambda w, x: ((w * x) ** 2).sum()), in_dims=(None, 0))(w, x)
    assert values(found) == [[2.0, 16.0, 54.0], [32.0, 100.0, 216.0]]


def test_gradients_of_each_example_of_a_captured_batch(torch):
    w = torch.tensor([1.0, 2.0, 3.0])
    found = torch.vmap(lambda x: torch.func.grad(lambda w: ((w * x) ** 2).sum())(w))(rows(torch))
    assert values(found) == [[2.0, 16.0, 54.0], [32.0, 100.0, 216.0]]


def test_gradients_flow_through(torch):
    x = rows(torch).requires_grad_()
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    torch.vmap(lambda x: (x * w).sum() ** 2)(x).sum().backward()
    assert values(x.grad) == [[28.0, 56.0, 84.0], [64.0, 128.0, 192.0]]
    assert values(w.grad) == [284.0, 376.0, 468.0]


def test_writes_inside(torch):
    def f(x):
        y = x.clone()
        y[0] = x[1] * 10
        y[1:].mul_(2)
        y += 1
        return y

    assert values(torch.vmap(f)(rows(torch))) == [[21.0, 5.0, 7.0], [51.0, 11.0, 13.0]]


def test_writes_to_the_argument_are_seen_outside(torch):
    x = rows(torch)
    torch.vmap(lambda x: x.mul_(2))(x)
    assert values(x) == [[2.0, 4.0, 6.0], [8.0, 10.0, 12.0]]


def test_new_tensors_like_an_example_are_batched(torch):
    def f(x):
        y = torch.zeros_like(x)
        z = x.new_ones(2)
        y.add_(x)
        z[0] = x[0]
        return y.sum() + z.sum()

    assert values(torch.vmap(f)(rows(torch))) == [8.0, 20.0]


def test_other_new_tensors_cannot_hold_examples(torch):
    text = (
        "RuntimeError: vmap: inplace arithmetic(self, *extra_args) is not possible because there "
        "exists a Tensor `other` in extra_args that has more elements than `self`."
    )
    assert error(lambda: torch.vmap(lambda x: torch.zeros(3).mul_(x))(rows(torch))).startswith(text)
    assert error(
        lambda: torch.vmap(lambda x: torch.zeros(3).__setitem__(0, x[0]))(rows(torch))
    ).startswith(text)


def test_a_jacobian_may_fill_a_new_tensor(torch):
    def f(x):
        y = torch.zeros(2, 2)
        y[0, 0] = x[0] * x[1]
        y[1] = x**2
        return y

    x = torch.tensor([2.0, 3.0])
    for jacobian in (torch.func.jacrev, torch.func.jacfwd):
        assert values(jacobian(f)(x)) == [[[3.0, 2.0], [0.0, 0.0]], [[4.0, 0.0], [0.0, 6.0]]]
    assert values(torch.func.hessian(lambda x: f(x).sum())(x)) == [[2.0, 1.0], [1.0, 2.0]]


def test_values_cannot_be_read(torch):
    x = rows(torch)
    assert error(lambda: torch.vmap(lambda x: x.sum().item())(x)).startswith(
        "RuntimeError: vmap: It looks like you're calling .item() on a Tensor."
    )
    assert error(lambda: torch.vmap(lambda x: x if x.sum() > 0 else -x)(x)).startswith(
        "RuntimeError: vmap: It looks like you're attempting to use a Tensor in some "
        "data-dependent control flow."
    )
    assert error(lambda: torch.vmap(lambda x: x.tolist())(x)) == (
        "RuntimeError: Cannot access data pointer of Tensor that doesn't have storage"
    )
    assert error(lambda: torch.vmap(lambda x: x[x > 2])(x)).startswith(
        "RuntimeError: vmap: We do not support batching operators that can support dynamic shape."
    )


def test_an_example_that_escapes_is_useless(torch):
    kept = []
    torch.vmap(lambda x: (kept.append(x), x)[1])(rows(torch))
    assert error(lambda: kept[0] * 2).startswith(
        "RuntimeError: Either your tensor may have escaped from inside a function being vmapped"
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"in_dims": None},
            "vmap(named, in_dims=None, ...)(<inputs>): expected `in_dims` to be int or a "
            "(potentially nested) tuple matching the structure of inputs, got: "
            "<class 'NoneType'>.",
        ),
        (
            {"in_dims": 2},
            "vmap(named, in_dims=2, ...)(<inputs>): Got in_dim=2 for some input, but that input is "
            "a Tensor of dimensionality 2 so expected in_dim to satisfy -2 <= in_dim < 2.",
        ),
        (
            {"in_dims": (0.5,)},
            "vmap(named, in_dims=(0.5,), ...)(<inputs>): Got in_dim=0.5 for an input but in_dim "
            "must be either an integer dimension or None.",
        ),
        ({"in_dims": (None,)}, "vmap: Expected at least one Tensor to vmap over"),
        (
            {"out_dims": "a"},
            "vmap(named, ..., out_dims=a): `out_dims` must be an int, None or a python collection "
            "of ints representing where in the outputs the vmapped dimension should appear.",
        ),
        (
            {"out_dims": None},
            "vmap(named, ...): `named` can not return a BatchedTensor when out_dim is None",
        ),
        (
            {"out_dims": (0, 0)},
            "vmap(named, ..., out_dims=(0, 0))(<inputs>): out_dims is not compatible with the "
            "structure of `outputs`. out_dims has structure TreeSpec(tuple, None, [*,",
        ),
    ],
)
def test_dimensions_are_checked(torch, arguments, text):
    def named(x):
        return x

    assert error(lambda: torch.vmap(named, **arguments)(rows(torch))) == f"ValueError: {text}"


def test_results_are_checked(torch):
    def named(x):
        return x, 3

    assert error(lambda: torch.vmap(named)(rows(torch))) == (
        "ValueError: vmap(named, ...): `named` must only return Tensors, got type <class 'int'>. "
        "Did you mean to set out_dims= to None for output?"
    )
    assert torch.vmap(named, out_dims=(0, None))(rows(torch))[1] == 3


def test_the_sizes_must_agree(torch):
    assert error(lambda: torch.vmap(torch.add)(torch.ones(2), torch.ones(3))) == (
        "ValueError: vmap: Expected all tensors to have the same size in the mapped dimension, got "
        "sizes [2, 3] for the mapped dimension"
    )


def test_chunks(torch):
    seen = []

    def f(x):
        seen.append(1)
        return x * 2, x.sum()

    x = torch.arange(10.0).view(5, 2)
    doubled, sums = torch.vmap(f, chunk_size=2, out_dims=(1, 0))(x)
    assert values(doubled) == values((x * 2).t())
    assert values(sums) == [1.0, 5.0, 9.0, 13.0, 17.0]
    assert len(seen) == 3
    assert error(lambda: torch.vmap(f, chunk_size=0)) == (
        "ValueError: vmap: chunk_size should be None or greater than 0. (got 0)"
    )


def test_randomness(torch):
    def f(x):
        return x + torch.rand(3)

    x = torch.zeros(2, 3)
    assert error(lambda: torch.vmap(f)(x)).startswith(
        "RuntimeError: vmap: called random operation while in randomness error mode."
    )
    torch.manual_seed(0)
    whole = torch.rand(2, 3)
    torch.manual_seed(0)
    assert values(torch.vmap(f, randomness="different")(x)) == values(whole)
    torch.manual_seed(0)
    one = torch.rand(3)
    torch.manual_seed(0)
    assert values(torch.vmap(f, randomness="same")(x)) == [values(one), values(one)]
    assert error(lambda: torch.vmap(f, randomness="often")) == (
        "RuntimeError: Only allowed values for randomness are 'error', 'different', or 'same'. Got "
        "often"
    )


def test_dropout_draws_for_each_example(torch):
    drop = torch.nn.functional.dropout
    x = torch.ones(8, 16)
    torch.manual_seed(1)
    found = torch.vmap(drop, randomness="different")(x)
    assert set(found.flatten().tolist()) == {0.0, 2.0}
    assert len({tuple(row) for row in values(found)}) > 1
    same = torch.vmap(drop, randomness="same")(x)
    assert len({tuple(row) for row in values(same)}) == 1


def test_0d_examples_promote_as_0d(torch):
    x, factor = torch.ones(2, 3), torch.ones(2, dtype=torch.float64)
    assert torch.vmap(torch.mul)(x, factor).dtype == torch.float32
    scalar = torch.tensor(2.0, dtype=torch.float64)
    assert torch.vmap(lambda x: x * scalar)(torch.ones(2)).dtype == torch.float64


def test_requires_grad_belongs_to_the_innermost_transform(torch):
    seen = []

    def f(x):
        seen.append(x.requires_grad)
        return x.sum()

    torch.vmap(f)(torch.ones(2, 3).requires_grad_())
    torch.vmap(torch.func.grad(f))(torch.ones(2, 3))
    torch.func.grad(lambda x: torch.vmap(f)(x).sum())(torch.ones(2, 3))
    assert seen == [False, True, False]


def test_the_name_of_the_function_is_kept(torch):
    def named(x):
        return x

    assert torch.vmap(named).__name__ == "named"
    assert torch.func.grad(named).__name__ == "named"
    assert torch.func.hessian(named).__wrapped__.__name__ == "named"


# --- custom functions ------------------------------------------------------------------------


def power(torch, **members):
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    body = {
        "forward": staticmethod(lambda x: x**3),
        "setup_context": staticmethod(setup_context),
        "backward": staticmethod(lambda ctx, grad: grad * 3 * ctx.saved_tensors[0] ** 2),
        **members,
    }
    return type("Power", (torch.autograd.Function,), body)


def test_a_custom_function_needs_a_rule(torch):
    text = "RuntimeError: You tried to vmap over Power, but it "
    x = torch.ones(2)
    assert error(lambda: torch.vmap(power(torch).apply)(x)).startswith(
        text + "does not have vmap support."
    )
    both = power(torch, generate_vmap_rule=True, vmap=staticmethod(lambda info, dims, x: (x, 0)))
    assert error(lambda: torch.vmap(both.apply)(x)).startswith(
        text + "has both generate_vmap_rule=True and an overridden vmap staticmethod."
    )


def test_a_custom_function_with_a_generated_rule(torch):
    function = power(torch, generate_vmap_rule=True)
    x = rows(torch)
    assert values(torch.vmap(function.apply)(x)) == values(x**3)
    assert values(torch.vmap(torch.func.grad(lambda x: function.apply(x).sum()))(x)) == values(
        3 * x**2
    )
    leaf = rows(torch).requires_grad_()
    torch.vmap(function.apply)(leaf).sum().backward()
    assert values(leaf.grad) == values(3 * x**2)
    assert values(torch.vmap(torch.vmap(function.apply))(x)) == values(x**3)


def test_a_custom_function_with_its_own_rule(torch):
    seen = []

    def rule(info, in_dims, x):
        seen.append((info.batch_size, info.randomness, in_dims))
        return x**3, in_dims[0]

    function = power(torch, vmap=staticmethod(rule))
    assert values(torch.vmap(function.apply)(rows(torch))) == values(rows(torch) ** 3)
    assert seen == [(2, "error", (0,))]
    wrong = power(torch, vmap=staticmethod(lambda info, in_dims, x: x))
    assert error(lambda: torch.vmap(wrong.apply)(rows(torch))).startswith(
        "RuntimeError: Expected the vmap staticmethod to have two returns, an output and out_dims"
    )


# --- printing --------------------------------------------------------------------------------


def test_examples_print_as_what_they_are(torch):
    texts = []
    torch.vmap(torch.func.grad(lambda x: (texts.append(str(x)), x.sum())[1]))(torch.ones(2, 1))
    assert texts == [
        "GradTrackingTensor(lvl=2, value=\n"
        "    BatchedTensor(lvl=1, bdim=0, value=\n"
        "        tensor([[1.],\n"
        "                [1.]])\n"
        "    )\n"
        ")"
    ]


@pytest.mark.parametrize("create_graph", [False, True])
def test_found_w19_gradients_of_a_graph_from_outside_for_each_example(torch, create_graph):
    x = torch.arange(3.0).requires_grad_()
    seen = []
    squares = x * x
    squares.register_hook(lambda grad: seen.append(tuple(grad.shape)))
    for out, rows in ((x + 1, [1, 1, 1]), (x * 2, [2, 2, 2]), (squares, [0, 2, 4])):
        found = torch.vmap(
            lambda v, out=out: torch.autograd.grad(
                out, x, v, retain_graph=True, create_graph=create_graph
            )[0]
        )(torch.eye(3))
        assert found.tolist() == torch.diag(torch.tensor(rows)).tolist()
    assert seen == [(3,)]


def test_found_w19_gradients_for_examples_of_examples_and_for_unused_inputs(torch):
    x, unused = torch.arange(3.0).requires_grad_(), torch.ones(3, requires_grad=True)
    out = x * x
    twice = torch.vmap(torch.vmap(lambda v: torch.autograd.grad(out, x, v, retain_graph=True)[0]))
    assert twice(torch.arange(12.0).view(2, 2, 3)).tolist() == [
        [[0, 2, 8], [0, 8, 20]],
        [[0, 14, 32], [0, 20, 44]],
    ]
    both = torch.vmap(lambda v: torch.autograd.grad(out, [x, unused], v, materialize_grads=True))(
        torch.eye(3)
    )
    assert [each.tolist() for each in both] == [
        [[0, 0, 0], [0, 2, 0], [0, 0, 4]],
        [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
    ]


DRAWS = {
    "binomial": (
        lambda torch, n: torch.binomial(torch.full((), 100.0), torch.full((), 0.5)),
        [49.0, 52.0, 45.0],
    ),
    "_standard_gamma": (
        lambda torch, n: torch._standard_gamma(torch.full((), 10.0)),
        [15.2930, 8.7828, 6.6716],
    ),
    "_sample_dirichlet": (
        lambda torch, n: torch._sample_dirichlet(torch.full((2,), 10.0))[0],
        [0.6352, 0.5291, 0.4730],
    ),
}


@pytest.mark.parametrize("name", DRAWS)
def test_found_w26_draws_are_different_the_same_or_refused(torch, name):
    draw, expected = DRAWS[name]
    examples = torch.full((3,), 10.0)
    torch.manual_seed(0)
    found = torch.vmap(lambda n: draw(torch, n), randomness="different")(examples)
    assert found.tolist() == pytest.approx(expected, abs=1e-4)
    torch.manual_seed(0)
    found = torch.vmap(lambda n: draw(torch, n), randomness="same")(examples)
    assert found.tolist() == pytest.approx(expected[:1] * 3, abs=1e-4)
    with pytest.raises(RuntimeError, match="called random operation while in randomness error"):
        torch.vmap(lambda n: draw(torch, n))(examples)


def test_found_w26_the_same_numbers_cannot_be_drawn_for_parameters_that_differ(torch):
    with pytest.raises(RuntimeError, match="does not currently support same randomness with a"):
        torch.vmap(lambda n: torch.binomial(n, torch.full((), 0.5)), randomness="same")(
            torch.full((3,), 10.0)
        )


def test_found_w26_rrelu_draws_for_no_example(torch):
    with pytest.raises(RuntimeError, match="vmap: we do not yet support aten::rrelu"):
        torch.vmap(lambda n: torch.rrelu(-torch.ones(2), 0.1, 0.3, True), randomness="different")(
            torch.ones(3)
        )


# --- gradients of a graph that was recorded outside ------------------------------------------


def outer_programs(torch):
    """Return functions whose graphs are recorded before `vmap` begins."""
    return {
        "view": lambda x: x.view(12)[:5] * 2,
        "transpose": lambda x: x.t(),
        "row": lambda x: x[1],
        "expand": lambda x: x[:, :1].expand(3, 5),
        "gather": lambda x: x.gather(1, torch.tensor([[0, 1], [2, 3], [1, 0]])),
        "mask": lambda x: x[torch.tensor([[True, False, True, True]] * 3)],
        "rows": lambda x: x[[0, 2]],
        "products": lambda x: (x @ x.t()).softmax(1),
        "written": lambda x: (x * 2).index_fill(0, torch.tensor([1]), 0.0).cumsum(0),
    }


@pytest.mark.parametrize(
    "name",
    ["view", "transpose", "row", "expand", "gather", "mask", "rows", "products", "written"],
)
def test_vmap_over_grad_of_an_outer_graph_is_the_loop(torch, name):
    f = outer_programs(torch)[name]
    x = torch.arange(12.0, dtype=torch.float64).reshape(3, 4).sin().requires_grad_()
    y = f(x)
    grads = torch.arange(3.0 * y.numel(), dtype=y.dtype).cos().reshape(3, *y.shape)

    def gradient(v):
        return torch.autograd.grad(y, x, v, retain_graph=True)[0]

    expected = torch.stack([gradient(each) for each in grads])
    torch.testing.assert_close(torch.vmap(gradient)(grads), expected)
    batched = torch.autograd.grad(y, x, grads, retain_graph=True, is_grads_batched=True)[0]
    torch.testing.assert_close(batched, expected)
    jacobian = torch.autograd.functional.jacobian
    torch.testing.assert_close(
        jacobian(f, x.detach(), vectorize=True), jacobian(f, x.detach(), vectorize=False)
    )
