"""`taper.func` against PyTorch: values and structures of all compositions of transforms.

Every scalar function goes through every composition of transforms, every vector function through
those of Jacobians; then modules and custom functions.
"""

from __future__ import annotations

from collections import OrderedDict, namedtuple

import numpy as np
import pytest
import torch as real_torch

import taper
from parity.func_probe import X, batch, check, tensors

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script")

Pair = namedtuple("Pair", "a b")


# --- every function through every composition ------------------------------------------------

SCALAR = {
    "cubes": lambda torch, x: (x**3).sum(),
    "tanh": lambda torch, x: x.tanh().sum(),
    "quotient": lambda torch, x: (x / (1 + x * x)).sum(),
    "exp of product": lambda torch, x: (x * x.flip(0)).exp().mean(),
    "norm": lambda torch, x: (x + 1).norm(),
    "softmax": lambda torch, x: (x.softmax(0) * torch.arange(3.0)).sum(),
    "log_softmax": lambda torch, x: x.log_softmax(-1)[1],
    "matrix": lambda torch, x: (torch.outer(x, x) @ x).sum().sin(),
    "views": lambda torch, x: (x[1:] * x[:-1]).sum() * x[0],
    "in place": lambda torch, x: x.clone().mul_(x).add_(1).log().sum(),
    "slices written": lambda torch, x: written(x).prod(),
    "zeros filled": lambda torch, x: filled(torch, x).cos().sum(),
    "cumulated": lambda torch, x: x.cumsum(0).prod(),
    "sorted": lambda torch, x: (x.sort().values * torch.arange(3.0)).sum(),
    "max": lambda torch, x: x.max() * x.min(),
    "chosen": lambda torch, x: torch.where(x > 1, x * x, -x).sum(),
    "clamped": lambda torch, x: x.clamp(0.2, 1.5).pow(2).sum(),
    "constant": lambda torch, x: torch.tensor(2.0),
    "detached": lambda torch, x: (x.detach() * x).sum(),
    "silent": lambda torch, x: silent(torch, x),
    "gathered": lambda torch, x: x[torch.tensor([0, 2, 0])].prod(),
    "stacked": lambda torch, x: torch.stack([x, x.sin()]).prod(0).sum(),
    "joined": lambda torch, x: torch.cat([x, x * 2]).square().mean(),
    "branch on a constant": lambda torch, x: x.sum() if torch.ones(1) > 0 else -x.sum(),
    "layer norm": lambda torch, x: torch.nn.functional.layer_norm(x, (3,)).exp().sum(),
    "einsum": lambda torch, x: torch.einsum("i,j,i->", x, x, x),
    "sigmoid": lambda torch, x: (x.sigmoid() - 0.3).abs().sum(),
    "gelu": lambda torch, x: torch.nn.functional.gelu(x).sum(),
    "variance": lambda torch, x: x.var() * x.std(),
    "logsumexp": lambda torch, x: x.logsumexp(0),
}


def written(x):
    y = x.clone()
    y[0] = x[1] * 2
    y[1:].mul_(x[0])
    return y


def filled(torch, x):
    y = torch.zeros(3)
    y[:2] = x[1:]
    y[2] = x[0] ** 2
    return y


def silent(torch, x):
    with torch.no_grad():
        factor = x * x
    return (factor * x).sum()


def twice(F, f):
    return F.grad(lambda x: F.grad(f)(x).sum())


def thrice(F, f):
    return F.grad(lambda x: twice(F, f)(x).sum())


COMPOSITIONS = {
    "grad": lambda T, F, f: F.grad(f)(tensors(T)[0]),
    "grad_and_value": lambda T, F, f: F.grad_and_value(f)(tensors(T)[0]),
    "grad grad": lambda T, F, f: twice(F, f)(tensors(T)[0]),
    "grad grad grad": lambda T, F, f: thrice(F, f)(tensors(T)[0]),
    "jvp": lambda T, F, f: F.jvp(f, (tensors(T)[0],), (tensors(T)[1],)),
    "jvp of grad": lambda T, F, f: F.jvp(F.grad(f), (tensors(T)[0],), (tensors(T)[1],)),
    "grad of jvp": lambda T, F, f: F.grad(lambda x: F.jvp(f, (x,), (tensors(T)[1],))[1])(
        tensors(T)[0]
    ),
    "jvp of jvp": lambda T, F, f: F.jvp(
        lambda x: F.jvp(f, (x,), (tensors(T)[1],))[1], (tensors(T)[0],), (tensors(T)[1],)
    ),
    "vjp": lambda T, F, f: F.vjp(f, tensors(T)[0])[1](T.tensor(2.0)),
    "vjp in grad": lambda T, F, f: F.grad(lambda x: F.vjp(f, x)[1](T.tensor(2.0))[0].sum())(
        tensors(T)[0]
    ),
    "hessian": lambda T, F, f: F.hessian(f)(tensors(T)[0]),
    "jacrev of jacrev": lambda T, F, f: F.jacrev(F.jacrev(f))(tensors(T)[0]),
    "jacfwd of jacfwd": lambda T, F, f: F.jacfwd(F.jacfwd(f))(tensors(T)[0]),
    "jacrev of jacfwd": lambda T, F, f: F.jacrev(F.jacfwd(f))(tensors(T)[0]),
    "jacfwd of jacrev of jacrev": lambda T, F, f: F.jacfwd(F.jacrev(F.jacrev(f)))(tensors(T)[0]),
    "vmap": lambda T, F, f: F.vmap(f)(batch(T)),
    "vmap of columns": lambda T, F, f: F.vmap(f, in_dims=1)(batch(T).t().contiguous()),
    "vmap of grad": lambda T, F, f: F.vmap(F.grad(f))(batch(T)),
    "grad of vmap": lambda T, F, f: F.grad(lambda x: F.vmap(f)(x).sum())(batch(T)),
    "vmap of hessian": lambda T, F, f: F.vmap(F.hessian(f))(batch(T)),
    "vmap of vmap of grad": lambda T, F, f: F.vmap(F.vmap(F.grad(f)))(
        T.stack([batch(T), batch(T) * 0.5])
    ),
    "vmap of jvp": lambda T, F, f: F.vmap(lambda x, v: F.jvp(f, (x,), (v,)))(
        batch(T), batch(T).flip(0)
    ),
    "vmap of jvp along many": lambda T, F, f: F.vmap(lambda v: F.jvp(f, (tensors(T)[0],), (v,))[1])(
        batch(T)
    ),
    "jvp of vmap": lambda T, F, f: F.jvp(F.vmap(f), (batch(T),), (batch(T).flip(1),)),
    "jacrev of vmap of grad": lambda T, F, f: F.jacrev(F.vmap(F.grad(f)))(batch(T)[:2]),
    "vmap in chunks": lambda T, F, f: F.vmap(F.grad(f), chunk_size=3)(batch(T)),
    "outer gradient": lambda T, F, f: outer_gradient(T, F, f),
    "linearized": lambda T, F, f: F.linearize(f, tensors(T)[0])[1](tensors(T)[1]),
}


def outer_gradient(torch, F, f):
    """Return a result of a transform that is itself part of an ordinary graph."""
    x = torch.tensor(X, requires_grad=True)
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    inner = F.grad(lambda y: f(y * w))(x)
    (inner.square().sum() + inner.sum()).backward()
    return inner, x.grad, w.grad


FORWARD_INSIDE = ("grad of jvp", "jvp of jvp", "jacfwd of jacfwd", "jacrev of jacfwd")
NOT_COMPARED = {
    "a jvp inside another is computed backwards, and does not see into no_grad": [
        ("silent", "jvp of jvp"),
        ("silent", "jacfwd of jacfwd"),
    ],
    "there is no graph": [("constant", "outer gradient")],
    "PyTorch's second derivative is wrong: it differs from finite differences": [
        ("layer norm", each) for each in (*FORWARD_INSIDE, "jacfwd of jacrev of jacrev")
    ],
    "PyTorch's result is a tensor that cannot be read": [
        ("detached", "grad of jvp"),
        ("detached", "jacrev of jacfwd"),
    ],
    "PyTorch traces the function, and loses writes and branches": [
        ("slices written", "linearized"),
        ("zeros filled", "linearized"),
        ("branch on a constant", "linearized"),
    ],
}
REASONS = {pair: reason for reason, pairs in NOT_COMPARED.items() for pair in pairs}


@pytest.mark.parametrize("composition", COMPOSITIONS)
@pytest.mark.parametrize("function", SCALAR)
def test_compositions(function, composition):
    if (function, composition) in REASONS:
        pytest.skip(REASONS[function, composition])

    def program(torch):
        return COMPOSITIONS[composition](torch, torch.func, lambda x: SCALAR[function](torch, x))

    check(program)


# --- vectors ---------------------------------------------------------------------------------

VECTOR = {
    "sin": lambda torch, x: x.sin(),
    "outer": lambda torch, x: torch.outer(x, x),
    "several": lambda torch, x: {"a": x.sum(), "b": (x[:2], x.exp())},
    "pair": lambda torch, x: Pair(x * 2, x.prod()),
    "list": lambda torch, x: [x, x.flip(0)],
    "max": lambda torch, x: torch.max(x, 0).values,
    "matrix": lambda torch, x: x.expand(2, 3) * torch.arange(6.0).view(2, 3),
}
JACOBIANS = {
    "jacrev": lambda T, F, f: F.jacrev(f)(tensors(T)[0]),
    "jacrev in chunks": lambda T, F, f: F.jacrev(f, chunk_size=2)(tensors(T)[0]),
    "jacfwd": lambda T, F, f: F.jacfwd(f)(tensors(T)[0]),
    "vmap of jacrev": lambda T, F, f: F.vmap(F.jacrev(f))(batch(T)),
    "vmap of jacfwd": lambda T, F, f: F.vmap(F.jacfwd(f))(batch(T)),
    "hessian": lambda T, F, f: F.hessian(f)(tensors(T)[0]),
    "vmap": lambda T, F, f: F.vmap(f)(batch(T)),
    "vmap, out 1": lambda T, F, f: F.vmap(f, out_dims=-1)(batch(T)),
    "jvp": lambda T, F, f: F.jvp(f, (tensors(T)[0],), (tensors(T)[1],)),
    "vjp": lambda T, F, f: F.vjp(f, tensors(T)[0])[0],
    "linearize": lambda T, F, f: F.linearize(f, tensors(T)[0])[1](tensors(T)[1]),
}


@pytest.mark.parametrize("jacobian", JACOBIANS)
@pytest.mark.parametrize("function", VECTOR)
def test_jacobians(function, jacobian):
    check(lambda T: JACOBIANS[jacobian](T, T.func, lambda x: VECTOR[function](T, x)))


@pytest.mark.parametrize("argnums", [0, 1, -1, (0,), (0, 1), (1, 0), (-1, 0)], ids=repr)
@pytest.mark.parametrize("transform", ["grad", "grad_and_value", "jacrev", "jacfwd", "hessian"])
def test_argnums(transform, argnums):
    if transform in ("jacfwd", "hessian") and np.min(argnums) < 0:
        pytest.skip("PyTorch's results are wrong there")

    def program(torch):
        x, v = tensors(torch)
        function = getattr(torch.func, transform)(
            lambda a, b: (a["u"] * b.exp() + a["w"][0]).sum(), argnums
        )
        return function({"u": x, "w": [v]}, v)

    check(program)


# --- structures ------------------------------------------------------------------------------

STRUCTURES = {
    "dict": lambda x: {"a": x, "b": x * 2},
    "ordered": lambda x: OrderedDict(b=x, a=x * 2),
    "nested": lambda x: [x, (x * 2, {"c": x * 3})],
    "pair": lambda x: Pair(x, [x * 2]),
    "empty": lambda x: (),
}


@pytest.mark.parametrize("kind", STRUCTURES)
def test_structures(kind):
    make = STRUCTURES[kind]
    check(lambda T: T.vmap(make)(batch(T)))
    if kind != "empty":
        check(lambda T: T.vmap(lambda tree: tree)(make(batch(T))))
        check(lambda T: T.func.jvp(make, (tensors(T)[0],), (tensors(T)[1],)))
        check(lambda T: T.func.vjp(make, tensors(T)[0])[1](make(tensors(T)[1])))
        check(lambda T: T.func.jacfwd(make)(tensors(T)[0]))
        check(lambda T: T.func.grad(lambda x: (x.sum(), make(x)), has_aux=True)(tensors(T)[0]))


def test_in_dims_and_out_dims_of_trees():
    def program(torch):
        x = batch(torch)
        return torch.vmap(
            lambda tree, y: {"s": tree["a"] * y, "t": (tree["b"][0], y)},
            in_dims=({"a": 0, "b": [None]}, 1),
            out_dims={"s": 1, "t": (None, -1)},
        )({"a": x, "b": [torch.ones(3)]}, x.t())

    check(program)


# --- modules ---------------------------------------------------------------------------------


def net(torch):
    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.LayerNorm(4), torch.nn.Linear(4, 2)
    )


def test_gradients_of_each_sample():
    def program(torch):
        model = net(torch)
        weights = {name: value.detach() for name, value in model.named_parameters()}
        targets = torch.tensor([0, 1, 1, 0])

        def loss(weights, x, target):
            output = torch.func.functional_call(model, weights, (x.unsqueeze(0),))
            return torch.nn.functional.cross_entropy(output, target.unsqueeze(0))

        return torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(
            weights, batch(torch), targets
        )

    check(program)


def test_an_ensemble():
    def program(torch):
        models = [net(torch) for _ in range(3)]
        with torch.no_grad():
            for nr, each in enumerate(models):
                each[0].weight.mul_(nr + 1)
        parameters, buffers = torch.func.stack_module_state(models)

        def call(parameters, buffers, x):
            return torch.func.functional_call(models[0], (parameters, buffers), (x,))

        output = torch.vmap(call, in_dims=(0, 0, None))(parameters, buffers, batch(torch))
        output.sum().backward()
        return output, {name: each.grad for name, each in parameters.items()}

    check(program)


def test_a_convolutional_net_for_each_sample():
    def program(torch):
        torch.manual_seed(2)
        model = torch.nn.Sequential(
            torch.nn.Conv2d(1, 2, 3),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
            torch.nn.Flatten(),
            torch.nn.Linear(2, 2),
        )
        weights = {name: value.detach() for name, value in model.named_parameters()}
        images = torch.randn(3, 1, 4, 4)

        def loss(weights, image):
            return torch.func.functional_call(model, weights, (image.unsqueeze(0),)).sum()

        return torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(weights, images)

    check(program)


# --- custom functions ------------------------------------------------------------------------


def custom(torch, **members):
    def forward(x, factor):
        return x.pow(2) * factor, x.sum()

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    def backward(ctx, grad, other):
        x, factor = ctx.saved_tensors
        return 2 * x * factor * grad + other, (x.pow(2) * grad).sum()

    def jvp(ctx, x_t, factor_t):
        x, factor = ctx.saved_tensors
        return 2 * x * factor * x_t + x.pow(2) * factor_t, x_t.sum()

    body = {
        "forward": staticmethod(forward),
        "setup_context": staticmethod(setup_context),
        "backward": staticmethod(backward),
        "jvp": staticmethod(jvp),
        **members,
    }
    return type("Scaled", (torch.autograd.Function,), body)


CUSTOM = {
    "forward": lambda T, F, f: f(tensors(T)[0]),
    "grad": lambda T, F, f: F.grad(f)(tensors(T)[0]),
    "grad grad": lambda T, F, f: twice(F, f)(tensors(T)[0]),
    "jvp": lambda T, F, f: F.jvp(f, (tensors(T)[0],), (tensors(T)[1],)),
    "vmap": lambda T, F, f: F.vmap(f)(batch(T)),
    "vmap vmap": lambda T, F, f: F.vmap(F.vmap(f))(T.stack([batch(T), -batch(T)])),
    "vmap of grad": lambda T, F, f: F.vmap(F.grad(f))(batch(T)),
    "grad of vmap": lambda T, F, f: F.grad(lambda x: F.vmap(f)(x).sum())(batch(T)),
    "vmap of jvp": lambda T, F, f: F.vmap(lambda x, v: F.jvp(f, (x,), (v,)))(
        batch(T), batch(T).flip(0)
    ),
    "jacrev": lambda T, F, f: F.jacrev(f)(tensors(T)[0]),
    "jacfwd": lambda T, F, f: F.jacfwd(f)(tensors(T)[0]),
    "hessian": lambda T, F, f: F.hessian(f)(tensors(T)[0]),
}


@pytest.mark.parametrize("composition", CUSTOM)
def test_custom_functions_with_a_generated_rule(composition):
    def program(torch):
        function = custom(torch, generate_vmap_rule=True)
        factor = torch.tensor(3.0)

        def f(x):
            first, second = function.apply(x, factor)
            return first.sum() * second

        return CUSTOM[composition](torch, torch.func, f)

    check(program)


@pytest.mark.parametrize("composition", CUSTOM)
def test_custom_functions_with_a_rule_of_their_own(composition):
    def program(torch):
        def rule(info, in_dims, x, factor):
            whole = x if in_dims[0] == 0 else x.movedim(in_dims[0], 0)
            scale = factor if in_dims[1] is None else factor.view(-1, *(1,) * (whole.dim() - 1))
            return (whole.pow(2) * scale, whole.sum(-1)), (0, 0)

        function = custom(torch, vmap=staticmethod(rule))
        factor = torch.tensor(3.0)

        def f(x):
            first, second = function.apply(x, factor)
            return first.sum() * second

        return CUSTOM[composition](torch, torch.func, f)

    check(program)


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"generate_vmap_rule": True, "vmap": staticmethod(lambda info, in_dims, *args: None)},
        {"vmap": staticmethod(lambda info, in_dims, x, factor: x)},
        {"vmap": staticmethod(lambda info, in_dims, x, factor: (x, (0, 0)))},
        {"setup_context": real_torch.autograd.Function.setup_context},
    ],
    ids=["no rule", "two rules", "one result", "wrong out_dims", "no setup_context"],
)
def test_custom_functions_without_a_rule(members):
    def program(torch):
        given = dict(members)
        if "setup_context" in given:
            given["setup_context"] = staticmethod(torch.autograd.Function.setup_context)
        function = custom(torch, **given)
        return torch.vmap(lambda x: function.apply(x, torch.tensor(3.0))[0])(batch(torch))

    check(program)


# --- printing --------------------------------------------------------------------------------


def test_tensors_print_with_their_levels():
    def program(torch):
        texts = []

        def f(x):
            texts.append(str(x))
            return x.sum()

        torch.func.grad(f)(torch.ones(2))
        torch.vmap(f)(torch.ones(2, 2))
        torch.vmap(torch.func.grad(f))(torch.ones(2, 2))
        torch.func.jvp(f, (torch.ones(2),), (torch.ones(2),))
        return texts

    check(program)


def test_the_public_names_are_pytorchs():
    assert sorted(taper.func.__all__) == sorted(real_torch.func.__all__)
    assert taper.vmap is taper.func.vmap


PATTERNS = [
    ("a b c -> c b a", {}),
    ("a b c -> a (b c)", {}),
    ("a b (c d) -> (a b c) d", {"c": 2}),
    ("... c -> c ...", {}),
    ("a ... -> (a ...)", {}),
    ("(a b) ... -> a b ...", {"a": 2}),
    ("a b c -> a 1 b () c", {}),
    ("a b -> b a", {}),
    ("a b c -> a b", {}),
    ("a a b -> a b", {}),
    ("a b c", {}),
    ("a (b c -> a", {}),
    ("a b) c -> a b c", {}),
    ("a ((b c)) -> a b c", {}),
    ("a b (c d) -> a b c d", {}),
    ("a b (c d) -> a b c d", {"c": 3}),
    ("a b (c d) -> a b c d", {"c": 2, "d": 3}),
    ("a b c -> a b c", {"z": 2}),
    ("a . b -> a b", {}),
    ("... a ... -> a", {}),
    ("_a b c -> _a b c", {}),
    ("1a b c -> b c 1a", {}),
    ("2 b c -> b c", {}),
    ("a (b ...) -> a b ...", {}),
    ("a b c -> ... a b c", {}),
    ("a-b c -> c", {}),
    ("a b (c d) -> a b c d", {"c": "2"}),
]


@pytest.mark.parametrize(("pattern", "lengths"), PATTERNS, ids=[each[0] for each in PATTERNS])
def test_rearrange(pattern, lengths):
    check(lambda T: T.func.rearrange(T.arange(24.0).view(2, 3, 4), pattern, **lengths))
