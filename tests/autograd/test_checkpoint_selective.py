"""P12: selective checkpointing, and the names of operators that it uses."""

from __future__ import annotations

import copy
import functools
import weakref

import pytest

from autograd_probe import error, no_collector, values
from checkpoint_probe import first_then, leaf, plain_grad

NONDETERMINISTIC = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend "
    "on global state that changed between forward and backward."
)
EXTRA_TIME = (
    "RuntimeError: Trying to backward an extra time. You are only allowed to backward once on any "
    "region computed under selective activation checkpoint."
)
MUTATED = "RuntimeError: Tensor cached during selective activation checkpoint has been mutated"


def selective(torch, run, policy, *args, **options):
    make = torch.utils.checkpoint.create_selective_checkpoint_contexts
    contexts = functools.partial(make, policy, **options)
    return torch.utils.checkpoint.checkpoint(run, *args, use_reentrant=False, context_fn=contexts)


def chain(x):
    return (x * 3).sin().exp().cos()


def noting(policy):
    """Return a policy of the names of operators, and the list of what it was asked."""
    asked = []

    def decide(ctx, op, *args, **kwargs):
        asked.append(str(op))
        return policy(ctx, op)

    return decide, asked


def test_p12_gradients_are_those_of_the_plain_run(torch):
    aten = torch.ops.aten
    policies = torch.utils.checkpoint.CheckpointPolicy
    lists = [[], [aten.sin.default], [aten.exp.default, aten.cos.default]]
    functions = [lambda ctx, op, *args, policy=policy, **kwargs: policy for policy in policies]
    functions += [lambda ctx, op, *args, flag=flag, **kwargs: flag for flag in (True, False)]
    for policy in lists + functions:
        x = leaf(torch)
        selective(torch, chain, policy, x).sum().backward()
        assert values(x.grad) == plain_grad(torch, chain)


def test_p12_names_of_policies(torch):
    policy = torch.utils.checkpoint.CheckpointPolicy
    assert {each.name: each.value for each in policy} == {
        "MUST_SAVE": 0,
        "PREFER_SAVE": 1,
        "MUST_RECOMPUTE": 2,
        "PREFER_RECOMPUTE": 3,
        "MUST_CPU_OFFLOAD": 4,
        "PREFER_CPU_OFFLOAD": 5,
    }


def test_p12_the_policy_is_asked_once_for_each_operator_in_forward_only(torch):
    policy, asked = noting(lambda ctx, op: False)

    x = torch.ones(2, 2, requires_grad=True)
    selective(torch, lambda x: (x * 3).t() @ x.exp(), policy, x).sum().backward()
    names = ["mul.Tensor", "t.default", "exp.default", "mm.default"]
    assert asked == [f"aten.{name}" for name in names]


def test_p12_what_a_policy_is_given(torch):
    seen = {}

    def policy(ctx, op, *args, **kwargs):
        assert isinstance(ctx, torch.utils.checkpoint.SelectiveCheckpointContext)
        seen[op] = ctx.is_recompute, ctx.op_output, args, kwargs, ctx.op_output.requires_grad
        return False

    def run(x):
        y = x.add(2, alpha=3).clamp(min=0)
        return torch.cat([y, y]).sum(dim=0).view(1, 1).clone().mul_(2)

    x = leaf(torch)
    selective(torch, run, policy, x).sum().backward()
    aten = torch.ops.aten
    assert not any(each[0] for each in seen.values())
    assert values(seen[aten.add.Tensor][1]) == [6.5, 7.5]
    assert not seen[aten.add.Tensor][4]
    assert seen[aten.add.Tensor][2][0] is x
    assert seen[aten.add.Tensor][2][1:] == (2,)
    assert seen[aten.add.Tensor][3] == {"alpha": 3}
    assert seen[aten.clamp.default][2][1:] == (0,)
    assert len(seen[aten.cat.default][2][0]) == 2
    assert list(seen[aten.sum.dim_IntList][2][1]) == [0]
    assert seen[aten.mul_.Tensor][4]
    assert set(seen) == {
        aten.add.Tensor,
        aten.clamp.default,
        aten.cat.default,
        aten.sum.dim_IntList,
        aten.view.default,
        aten.clone.default,
        aten.mul_.Tensor,
    }


def test_p12_what_is_saved_is_not_computed_again(torch):
    """A random operator shows it: with `preserve_rng_state=False` it would draw anew."""
    drawn = []

    def run(x):
        y = torch.bernoulli(x * 0 + 0.5)
        drawn.append(y.detach().clone())
        return (x * y).sin().sum()

    x = torch.ones(50, requires_grad=True)
    make = torch.utils.checkpoint.create_selective_checkpoint_contexts
    for policy, same in (([torch.ops.aten.bernoulli.default], True), ([], False)):
        drawn.clear()
        torch.utils.checkpoint.checkpoint(
            run,
            x,
            use_reentrant=False,
            preserve_rng_state=False,
            context_fn=functools.partial(make, policy),
        ).backward()
        assert torch.equal(drawn[0], drawn[1]) == same


@pytest.mark.parametrize("name", ["max.dim", "sort.default", "native_layer_norm.default"])
def test_p12_operators_with_several_outputs_can_be_saved(torch, name):
    def run(x):
        y = x.sin()
        best = y.max(dim=0)[0] + y.sort(dim=0)[0].sum() * 2
        return (torch.nn.functional.layer_norm(y, (2,)) * best).exp()

    def policy(ctx, op, *args, **kwargs):
        return str(op) == f"aten.{name}"

    x = leaf(torch)
    selective(torch, run, policy, x).sum().backward()
    assert values(x.grad) == pytest.approx(plain_grad(torch, run), rel=1e-5)


def test_p12_everything_saved_in_a_small_network(torch):
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2), torch.nn.Softmax(-1)
    )
    x = torch.ones(5, 3, requires_grad=True)

    def grads(y):
        (y[:, 0] ** 2).sum().backward()
        found = [values(each.grad) for each in (x, *model.parameters())]
        for each in (x, *model.parameters()):
            each.grad = None
        return found

    expected = grads(model(x))
    assert grads(selective(torch, model, lambda *args, **kwargs: True, x)) == expected
    matrix = [torch.ops.aten.addmm.default]
    assert grads(selective(torch, model, matrix, x)) == expected


def test_p12_a_second_backward_is_refused_where_something_was_saved(torch):
    aten = torch.ops.aten
    y = selective(torch, chain, [aten.sin.default], leaf(torch)).sum()
    y.backward(retain_graph=True)
    assert error(y.backward) == EXTRA_TIME
    for policy in ([], [aten.cos.default]):  # the last operator is not reached again
        y = selective(torch, chain, policy, leaf(torch)).sum()
        y.backward(retain_graph=True)
        y.backward()


def test_p12_what_was_saved_must_not_be_written(torch):
    aten = torch.ops.aten

    def run(x):
        y = x.sin()
        z = y.cos()
        y.add_(1)
        return z.exp()

    assert error(selective(torch, run, [aten.sin.default], leaf(torch)).sum().backward) == MUTATED
    allowed = selective(
        torch, run, [aten.sin.default], leaf(torch), allow_cache_entry_mutation=True
    )
    assert error(allowed.sum().backward) == "no error"


def test_p12_a_written_output_counts_as_written(torch):
    def run(x):
        y = x.sin()
        y.mul_(2)
        return y.exp().cos()

    y = selective(torch, run, [torch.ops.aten.mul_.Tensor], leaf(torch))
    assert error(y.sum().backward) == MUTATED


def test_p12_other_operators_in_the_recomputation(torch):
    aten = torch.ops.aten
    run = first_then(lambda x: x.cos().cos(), lambda x: x.sin().cos())
    assert error(selective(torch, run, [aten.sin.default], leaf(torch)).sum().backward) == (
        "RuntimeError: aten.sin.default encountered during backward but not found in storage. "
        + NONDETERMINISTIC
    )
    run = first_then(lambda x: x.sin().cos().exp(), lambda x: x.sin().sin().cos())
    assert error(selective(torch, run, [aten.sin.default], leaf(torch)).sum().backward) == (
        "RuntimeError: aten.sin.default invocation index 1 encountered during backward but not "
        "found in storage. " + NONDETERMINISTIC
    )


def test_p12_bad_policies(torch):
    make = torch.utils.checkpoint.create_selective_checkpoint_contexts
    packet = error(lambda: make([torch.ops.aten.mm]))
    assert packet.startswith(
        "ValueError: Expected op in `op_list` to be an OpOverload but got: aten.mm of type <class"
    )
    assert packet.endswith(
        "Please update the OpOverloadPacket to a specific OpOverload.For example, if you have "
        "`torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
    )
    assert error(lambda: make([torch.sin])).startswith(
        "ValueError: Expected op in `op_list` to be an OpOverload but got: <"
    )
    for given in ((torch.ops.aten.mm.default,), None, "mm"):
        assert error(lambda given=given: make(given)) == (
            "TypeError: policy_fn_or_list must be either a function or a list of ops."
        )


def test_p12_only_without_reentrance(torch):
    make = functools.partial(torch.utils.checkpoint.create_selective_checkpoint_contexts, [])
    call = torch.utils.checkpoint.checkpoint
    assert error(lambda: call(chain, leaf(torch), use_reentrant=True, context_fn=make)) == (
        "ValueError: Passing `context_fn` or `debug` is only supported when use_reentrant=False."
    )


def test_p12_nested_and_in_a_chain(torch):
    aten = torch.ops.aten

    def inner(x):
        return selective(torch, chain, [aten.exp.default], x).sin()

    x = leaf(torch)
    y = x
    for _ in range(3):
        y = selective(torch, inner, [aten.cos.default], y)
    y.sum().backward()

    def expected(x):
        for _ in range(3):
            x = chain(x).sin()
        return x

    assert values(x.grad) == pytest.approx(plain_grad(torch, expected), rel=1e-4)


def test_p12_saved_outputs_die_with_the_graph(torch):
    def make():
        seen = []

        def policy(ctx, op, *args, **kwargs):
            seen.append(weakref.ref(ctx.op_output))
            return True

        y = selective(torch, chain, policy, leaf(torch))
        del y
        return seen

    with no_collector():
        assert [each() for each in make()] == [None] * 4


# --- names of operators ----------------------------------------------------------------------


def test_p12_operators_that_no_policy_is_asked_about(torch):
    ignored = torch.utils.checkpoint.SAC_IGNORED_OPS
    assert torch.ops.aten.detach.default in ignored
    assert "aten.size.default" in {str(each) for each in ignored}
    assert len(ignored) == 15


def test_p12_an_operator_has_a_name_and_overloads(torch):
    mm = torch.ops.aten.mm
    assert str(mm) == "aten.mm"
    assert repr(mm) == "<OpOverloadPacket(op='aten.mm')>"
    assert mm.__name__ == "mm"
    assert {"default", "out"} <= set(mm.overloads())
    overload = torch.ops.aten.mul.Tensor
    assert str(overload) == "aten.mul.Tensor"
    assert repr(overload) == "<OpOverload(op='aten.mul', overload='Tensor')>"
    assert overload.__name__ == "mul.Tensor"
    assert overload.name() == "aten::mul.Tensor"
    assert mm.default.name() == "aten::mm"
    assert overload.namespace == "aten"
    assert overload.overloadpacket is torch.ops.aten.mul
    assert overload is torch.ops.aten.mul.Tensor
    assert overload != torch.ops.aten.mul.Scalar
    assert copy.deepcopy(overload) is overload
    assert {overload: 1}[torch.ops.aten.mul.Tensor] == 1


def test_p12_unknown_names(torch):
    assert error(lambda: torch.ops.aten.no_such_thing) == (
        "AttributeError: '_OpNamespace' 'aten' object has no attribute 'no_such_thing'"
    )
    assert error(lambda: torch.ops.aten.mm.no_such_thing) == (
        "AttributeError: The underlying op of 'aten.mm' has no overload name 'no_such_thing'"
    )


def test_p12_operators_can_be_called(torch):
    aten = torch.ops.aten
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert values(aten.mm.default(x, x)) == [[7.0, 10.0], [15.0, 22.0]]
    assert values(aten.mm(x, x)) == [[7.0, 10.0], [15.0, 22.0]]
    assert values(aten.sum.dim_IntList(x, [0], True)) == [[4.0, 6.0]]
    assert values(aten.sum.default(x)) == 10.0
    assert values(aten.add.Tensor(x, x, alpha=2)) == [[3.0, 6.0], [9.0, 12.0]]
    assert values(aten.pow.Tensor_Scalar(x, 2)) == [[1.0, 4.0], [9.0, 16.0]]
    assert values(aten.eq.Scalar(x, 2)) == [[False, True], [False, False]]
    assert values(aten._softmax.default(x * 0, 1, False)) == [[0.5, 0.5], [0.5, 0.5]]
    assert values(aten.transpose.int(x, 0, 1)) == [[1.0, 3.0], [2.0, 4.0]]
    assert aten.mul_.Tensor(x, 2) is x
    assert values(x) == [[2.0, 4.0], [6.0, 8.0]]
