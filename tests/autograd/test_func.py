"""Transforms of functions: `grad`, `vjp`, `jvp`, Jacobians, and modules as functions."""

from __future__ import annotations

import weakref

import pytest

from autograd_probe import error, no_collector, values


def test_grad_of_several_arguments_and_trees(torch):
    def f(a, b):
        return (a["u"] * b[0] ** 2).sum()

    a, b = {"u": torch.tensor([1.0, 2.0])}, (torch.tensor([3.0, 4.0]),)
    both = torch.func.grad(f, argnums=(1, 0))(a, b)
    assert values(both[0][0]) == [6.0, 16.0]
    assert values(both[1]["u"]) == [9.0, 16.0]
    assert values(torch.func.grad(f, argnums=-1)(a, b)[0]) == [6.0, 16.0]


def test_grad_and_value_with_aux(torch):
    function = torch.func.grad_and_value(lambda x: (x.sum(), {"twice": x * 2}), has_aux=True)
    grad, (value, aux) = function(torch.tensor([1.0, 2.0]))
    assert (values(grad), values(value), values(aux["twice"])) == ([1.0, 1.0], 3.0, [2.0, 4.0])
    assert not aux["twice"].requires_grad


def test_transforms_nest(torch):
    def nested(f, depth):
        return f if depth == 0 else torch.func.grad(lambda x: nested(f, depth - 1)(x))

    x = torch.tensor(2.0, dtype=torch.float64)
    assert [nested(lambda x: x**4, depth)(x).item() for depth in range(6)] == [
        16.0,
        32.0,
        48.0,
        48.0,
        24.0,
        0.0,
    ]


def test_perturbations_are_not_confused(torch):
    # d/dx (x * d/dy (x + y)) is 1, in all four ways to compute it.
    def by_grad(f):
        return torch.func.grad(f)

    def by_jvp(f):
        return lambda x: torch.func.jvp(f, (x,), (torch.ones(()),))[1]

    one = torch.ones(())
    for outer in (by_grad, by_jvp):
        for inner in (by_grad, by_jvp):
            found = outer(lambda x, inner=inner: x * inner(lambda y: x + y)(one))(one)
            assert found.item() == 1.0


def test_results_are_part_of_the_graph_outside(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    inner = torch.func.grad(lambda y: (y**2 * w).sum())(x)
    assert inner.requires_grad
    inner.sum().backward()
    assert values(x.grad) == [6.0, 8.0]
    assert values(w.grad) == [2.0, 4.0]


def test_results_without_a_graph_outside_require_nothing(torch):
    x = torch.tensor([1.0, 2.0])
    value, pull = torch.func.vjp(torch.sin, x)
    results = [
        value,
        *pull(torch.ones(2)),
        torch.func.grad(lambda x: (x**2).sum())(x),
        *torch.func.jvp(torch.sin, (x,), (x,)),
        torch.func.hessian(lambda x: (x**3).sum())(x),
    ]
    assert [each.requires_grad for each in results] == [False] * 6
    assert [each.grad_fn for each in results] == [None] * 6


def test_no_grad_outside_is_ignored_and_inside_is_not(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.no_grad():
        outside = torch.func.grad(lambda x: (x**2).sum())(x)
    assert values(outside) == [2.0, 4.0]
    assert not outside.requires_grad

    def inside(x):
        with torch.no_grad():
            factor = x * 1
        return (factor * x).sum()

    assert values(torch.func.grad(inside)(x.detach())) == [1.0, 2.0]
    assert values(torch.func.jvp(inside, (x.detach(),), (torch.ones(2),))[1]) == 6.0


def test_arguments_that_are_no_part_of_the_result_get_zeros(torch):
    x, y = torch.ones(2), torch.ones(3)
    assert [values(each) for each in torch.func.grad(lambda x, y: x.sum(), (0, 1))(x, y)] == [
        [1.0, 1.0],
        [0.0, 0.0, 0.0],
    ]
    assert values(torch.func.jvp(lambda x: torch.ones(1), (x,), (x,))[1]) == [0.0]
    assert values(torch.func.jacrev(lambda x: torch.ones(1))(x)) == [[0.0, 0.0]]


def test_what_is_returned_as_it_is_comes_back_as_itself(torch):
    x = torch.ones(2)
    value, pull = torch.func.vjp(lambda x: x, x)
    assert value is x
    assert values(pull(torch.tensor([2.0, 3.0]))[0]) == [2.0, 3.0]
    _, aux = torch.func.grad(lambda x: (x.sum(), x), has_aux=True)(x)
    assert aux is x


def test_arguments_cannot_be_written(torch):
    leaf = (
        "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation."
    )
    x = torch.ones(2)
    assert error(lambda: torch.func.grad(lambda x: x.mul_(2).sum())(x)) == leaf
    assert error(lambda: torch.func.vjp(lambda x: x.mul_(2), x)) == leaf
    assert values(x) == [1.0, 1.0]


def test_captured_tensors_cannot_be_written(torch):
    w = torch.ones(2)
    text = (
        "RuntimeError: During a grad (vjp, jvp, grad, etc) transform, the function provided "
        "attempted to call in-place operation (aten::mul_.Tensor) that would mutate a captured "
        "Tensor."
    )
    assert error(lambda: torch.func.grad(lambda x: (w.mul_(2) * x).sum())(w)).startswith(text)
    assert error(lambda: torch.func.jvp(lambda x: w.mul_(2) * x, (w,), (w,))).startswith(text)
    assert values(w) == [1.0, 1.0]


@pytest.mark.parametrize(
    "make",
    [
        lambda torch, x: torch.zeros(2),
        lambda torch, x: torch.tensor([0.0, 0.0]),
        lambda torch, x: torch.empty(2).zero_(),
        lambda torch, x: torch.arange(2.0) * 0,
        lambda torch, x: torch.zeros_like(x),
        lambda torch, x: x.new_zeros(2),
        lambda torch, x: x.detach() * 0,
        lambda torch, x: x * 0,
        lambda torch, x: torch.eye(2)[0] * 0,
        lambda torch, x: torch.ones(2, dtype=torch.int64).to(torch.float32).sub_(1),
    ],
)
def test_tensors_made_inside_can_be_written(torch, make):
    def f(x):
        y = make(torch, x)
        y[0] = x[1]
        y[1:].add_(x[:1] * 3)
        return y.sum()

    x = torch.tensor([1.0, 2.0])
    assert values(torch.func.grad(f)(x)) == [3.0, 1.0]
    assert values(torch.func.jvp(f, (x,), (x,))[1]) == 5.0


def test_jvp_writes_to_the_argument_itself(torch):
    x = torch.ones(2)
    value, slope = torch.func.jvp(lambda x: x.mul_(2), (x,), (torch.tensor([1.0, 5.0]),))
    assert (values(value), values(slope), values(x)) == ([2.0, 2.0], [2.0, 10.0], [2.0, 2.0])


def test_hooks_inside_change_the_gradient(torch):
    def f(x):
        y = x * 2
        y.register_hook(lambda grad: grad * 10)
        return y.sum()

    assert values(torch.func.grad(f)(torch.ones(2))) == [20.0, 20.0]


def test_what_is_refused_inside(torch):
    x = torch.ones(2)
    start = "RuntimeError: You are attempting to call Tensor."
    assert error(
        lambda: torch.func.grad(lambda x: torch.ones(2).requires_grad_().sum())(x)
    ).startswith(start + "requires_grad_()")
    assert error(lambda: torch.func.grad(lambda x: (x * 2).retain_grad())(x)).startswith(
        start + "retain_grad()"
    )
    assert error(lambda: torch.func.grad(lambda x: x.sum().backward())(x)).startswith(
        "RuntimeError: backward() called inside a functorch transform."
    )


def test_saved_tensor_hooks_are_refused(torch):
    text = (
        "RuntimeError: torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor "
        "hooks. Please open an issue with your use case."
    )
    hooks = torch.autograd.graph.saved_tensors_hooks

    def inside(x):
        with hooks(lambda x: x, lambda x: x):
            return (x**2).sum()

    x = torch.ones(2)
    assert error(lambda: torch.func.grad(inside)(x)) == text
    with hooks(lambda x: x, lambda x: x):
        assert error(lambda: torch.func.grad(lambda x: (x**2).sum())(x)) == text
        assert values(torch.func.jvp(lambda x: x**2, (x,), (x,))[1]) == [2.0, 2.0]


def test_a_failed_call_leaves_nothing_open(torch):
    x = torch.ones(2)
    for transform in (
        torch.func.grad,
        torch.func.jacrev,
        torch.func.jacfwd,
        torch.func.hessian,
        torch.vmap,
    ):
        assert error(lambda f=transform: f(lambda x: x.no_such_name)(x)).startswith("Attribute")
    y = torch.ones(2).requires_grad_()
    (y * 2).sum().backward()
    assert values(y.grad) == [2.0, 2.0]
    assert repr(x * 2) == "tensor([2., 2.])"


def test_vjp_can_be_called_often(torch):
    value, pull = torch.func.vjp(lambda x: (x**2, x.sum()), torch.tensor([1.0, 2.0]))
    assert [values(each) for each in value] == [[1.0, 4.0], 3.0]
    for factor in (1.0, 2.0):
        cotangent = (torch.full((2,), factor), torch.tensor(factor))
        assert values(pull(cotangent)[0]) == [3.0 * factor, 5.0 * factor]


def test_jacobians_of_trees(torch):
    def f(x, y):
        return {"product": x[:, None] * y, "sum": x.sum()}

    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0, 5.0])
    for jacobian in (torch.func.jacrev, torch.func.jacfwd):
        found = jacobian(f, argnums=(0, 1))(x, y)
        assert found["product"][0].shape == (2, 3, 2)
        assert found["product"][1].shape == (2, 3, 3)
        assert values(found["product"][0][1, 2]) == [0.0, 5.0]
        assert [values(each) for each in found["sum"]] == [[1.0, 1.0], [0.0, 0.0, 0.0]]


def test_hessian_of_several_arguments(torch):
    x, y = torch.tensor(2.0), torch.tensor(3.0)
    found = torch.func.hessian(lambda x, y: x**2 * y, argnums=(0, 1))(x, y)
    assert [[values(each) for each in row] for row in found] == [[6.0, 4.0], [4.0, 0.0]]


@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node")
def test_linearize(torch):
    value, push = torch.func.linearize(lambda x: x**2, torch.tensor([1.0, 3.0]))
    assert values(value) == [1.0, 9.0]
    assert values(push(torch.tensor([1.0, 1.0]))) == [2.0, 6.0]
    assert values(torch.vmap(push)(torch.eye(2))) == [[2.0, 0.0], [0.0, 6.0]]


def test_functionalize_computes_the_same(torch):
    def f(x):
        y = x.clone()
        y[0].add_(1)
        return y * 2

    assert values(torch.func.functionalize(f)(torch.ones(2))) == [4.0, 2.0]
    assert error(lambda: torch.func.functionalize(f, remove="x")(torch.ones(2))).startswith(
        "RuntimeError: functionalize(f, remove='mutations'): received invalid argument for "
        "remove=x."
    )


def test_debug_unwrap(torch):
    seen = []

    def f(x):
        seen.append(torch.func.debug_unwrap(x))
        return x.sum()

    torch.vmap(torch.func.grad(f))(torch.ones(2, 3))
    assert (seen[0].shape, type(seen[0]), seen[0].requires_grad) == ((2, 3), torch.Tensor, False)
    x = torch.ones(2)
    assert torch.func.debug_unwrap(x) is x


@pytest.mark.taper_only
def test_nothing_is_left_for_the_collector(torch):
    kept = []

    def f(x):
        y = x.exp()
        kept.append(weakref.ref(y))
        return (y * x).sum()

    x = torch.ones(3)
    with no_collector():
        torch.func.grad(f)(x)
        torch.func.grad(lambda x: torch.func.grad(f)(x).sum())(x)
        pull = torch.func.vjp(f, x)[1]
        pull(torch.ones(()))
        assert [each() is None for each in kept] == [True, True, False]
        del pull
        torch.vmap(torch.func.grad(f))(torch.ones(2, 3))
        torch.func.jvp(f, (x,), (x,))
        assert [each() for each in kept] == [None] * 5


# --- custom functions ------------------------------------------------------------------------


def test_a_custom_function_needs_setup_context(torch):
    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    text = (
        "RuntimeError: In order to use an autograd.Function with functorch transforms (vmap, grad, "
        "jvp, jacrev, ...), it must override the setup_context staticmethod."
    )
    x = torch.ones(2)
    assert error(lambda: torch.func.grad(lambda x: Old.apply(x).sum())(x)).startswith(text)
    assert error(lambda: torch.func.jvp(Old.apply, (x,), (x,))).startswith(text)


def test_a_custom_function_in_transforms(torch):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 3 * x**2

        @staticmethod
        def jvp(ctx, tangent):
            (x,) = ctx.saved_tensors
            return tangent * 3 * x**2

    x = torch.tensor([1.0, 2.0])
    once = torch.func.grad(lambda x: Cube.apply(x).sum())
    assert values(once(x)) == [3.0, 12.0]
    assert values(torch.func.grad(lambda x: once(x).sum())(x)) == [6.0, 12.0]
    assert values(torch.func.jvp(Cube.apply, (x,), (torch.ones(2),))[1]) == [3.0, 12.0]
    assert values(torch.func.jacrev(Cube.apply)(x)) == [[3.0, 0.0], [0.0, 12.0]]


# --- modules ---------------------------------------------------------------------------------


class Tied:
    """A module with two names for one weight, and a buffer that it writes."""

    def __new__(cls, torch):
        class Module(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.a = torch.nn.Linear(2, 2, bias=False)
                self.b = torch.nn.Linear(2, 2, bias=False)
                self.b.weight = self.a.weight
                self.register_buffer("count", torch.zeros(()))

            def forward(self, x, scale=1.0):
                self.count = self.count + 1
                return self.b(self.a(x)) * scale

        return Module()


def test_functional_call_replaces_and_restores(torch):
    module = Tied(torch)
    own = module.a.weight
    given = {"a.weight": torch.eye(2) * 3, "count": torch.tensor(5.0)}
    found = torch.func.functional_call(module, given, torch.ones(2), {"scale": 2.0})
    assert values(found) == [18.0, 18.0]
    assert module.a.weight is own
    assert module.b.weight is own
    assert (module.count.item(), given["count"].item()) == (0.0, 6.0)


def test_functional_call_and_tied_weights(torch):
    module = Tied(torch)
    with torch.no_grad():
        module.a.weight.copy_(torch.eye(2))
    call = torch.func.functional_call
    one, three = {"a.weight": torch.eye(2) * 3}, torch.eye(2) * 3
    x = torch.ones(2)
    assert values(call(module, one, x)) == [9.0, 9.0]
    assert values(call(module, one, x, tie_weights=False)) == [3.0, 3.0]
    assert values(call(module, {"a.weight": three, "b.weight": three}, x)) == [9.0, 9.0]
    assert error(lambda: call(module, {"a.weight": three, "b.weight": three * 1}, x)) == (
        "ValueError: functional_call got multiple values for keys ['a.weight', 'b.weight'], which "
        "are tied. Consider using tie_weights=False"
    )


def test_functional_call_checks_names(torch):
    layer, x = torch.nn.Linear(1, 1), torch.ones(1)
    call = torch.func.functional_call
    assert call(layer, {"other": x}, x).shape == (1,)
    with pytest.raises(RuntimeError) as found:
        call(layer, {"other": x}, x, strict=True)
    assert str(found.value) == (
        "Error(s) in reparametrizing for Linear:\n\tUnexpected key(s): 'other'.\n\tMissing key(s): "
        "'bias', 'weight'."
    )
    assert error(lambda: call(layer, {"bias": 3}, x)) == (
        "TypeError: 3 is not an instance of torch.Tensor"
    )
    assert error(lambda: call(layer, ({"bias": x}, {"bias": x}), x)) == (
        "ValueError: ['bias'] appeared in multiple dictionaries; behavior of functional call is "
        "ambiguous"
    )
    with pytest.warns(FutureWarning, match="stateless.functional_call` is deprecated"):
        found = torch.nn.utils.stateless.functional_call(layer, {"bias": x * 0 + 5}, x * 0)
    assert values(found) == [5.0]


def test_found_w24_functional_call_replaces_plain_tensors(torch):
    class Plain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(2))
            self.table = torch.full((2,), 5.0)
            self.count = 3
            self.sub = torch.nn.Linear(1, 1)
            self.sub.extra = torch.ones(1)

        def forward(self, x):
            self.table = self.table + 1
            return x * self.weight + self.table + self.sub.extra

    module, x, call = Plain(), torch.ones(2), torch.func.functional_call
    given = {"table": torch.tensor([7.0, 8.0], requires_grad=True)}
    leaf = given["table"]
    found = call(module, given, x)
    assert values(found) == [10.0, 11.0]
    found.sum().backward()
    assert values(leaf.grad) == [1.0, 1.0]
    assert (values(module.table), values(given["table"])) == ([5.0, 5.0], [8.0, 9.0])
    assert values(call(module, {"sub.extra": torch.tensor([9.0])}, x)) == [16.0, 16.0]
    assert values(module.sub.extra) == [1.0]
    call(module, {"sub.unknown": x}, x)
    assert not hasattr(module.sub, "unknown")
    for name, told in {
        "count": "TypeError: attribute `count`: 3 is not an instance of torch.Tensor",
        "nosub.x": "AttributeError: Plain has no attribute `nosub`",
        "sub.extra.x": (
            "TypeError: submodule `sub.extra`: tensor([1.]) is not an instance of torch.nn.Module"
        ),
        "": "KeyError: 'tensor name can\\'t be empty string \"\"'",
    }.items():
        assert error(lambda name=name: call(module, {"weight": x * 2, name: x}, x)) == told
        assert values(module.weight) == [1.0, 1.0]


def test_functional_call_restores_after_an_error(torch):
    class Failing(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1))

        def forward(self):
            raise ValueError("no")

    module = Failing()
    own = module.weight
    assert (
        error(lambda: torch.func.functional_call(module, {"weight": torch.zeros(1)}, ()))
        == "ValueError: no"
    )
    assert module.weight is own


def test_stack_module_state(torch):
    models = [torch.nn.BatchNorm1d(2) for _ in range(3)]
    parameters, buffers = torch.func.stack_module_state(models)
    assert {name: tuple(each.shape) for name, each in parameters.items()} == {
        "weight": (3, 2),
        "bias": (3, 2),
    }
    assert list(buffers) == ["running_mean", "running_var", "num_batches_tracked"]
    assert all(each.requires_grad and each.is_leaf for each in parameters.values())
    models[1].weight.requires_grad_(False)
    assert error(lambda: torch.func.stack_module_state(models)) == (
        "RuntimeError: Expected weight from each model to have the same .requires_grad"
    )


def test_batch_norms_without_state(torch):
    net = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Sequential(torch.nn.BatchNorm2d(2)))
    assert torch.func.replace_all_batch_norm_modules_(net) is net
    assert net[0].running_mean is None
    assert net[1][0].num_batches_tracked is None
    assert not net[1][0].track_running_stats
    x = torch.arange(12.0).view(4, 3)
    grad = torch.func.grad(lambda x: (net[0](x) ** 3).sum())(x)
    assert grad.shape == (4, 3)


def test_rearrange(torch):
    x = torch.arange(24.0).view(2, 3, 4)
    found = torch.func.rearrange(x, "a b (c d) -> (a c) d b", d=2)
    assert found.shape == (4, 2, 3)
    assert values(found[1, 1]) == [3.0, 7.0, 11.0]
    assert torch.func.rearrange([x, x], "n ... c -> c (n ...)").shape == (4, 12)
