"""C7: tensors are told apart by identity, whatever a subclass says about `==` and `hash`."""

from __future__ import annotations

import pytest


def refuse(*arguments):
    raise ValueError("nobody may ask")


CLASSES = {
    "hash": {"__hash__": lambda self: 7},
    "eq": {"__eq__": lambda self, other: True},
    "both": {"__hash__": lambda self: 7, "__eq__": lambda self, other: True},
    "refused": {"__hash__": refuse, "__eq__": refuse},
}


of_each_kind = pytest.mark.parametrize("kind", CLASSES)


def make(torch, kind):
    kind = type("Marked", (torch.Tensor,), CLASSES[kind])
    return [
        torch.tensor(values).as_subclass(kind).requires_grad_()
        for values in ([1.0, 2.0], [3.0, 4.0])
    ]


def product(a, b):
    return (a * b * b).sum()


def gradients(leaves):
    return [each.grad.tolist() for each in leaves]


@of_each_kind
def test_found_c7_each_leaf_gets_its_own_gradient(torch, kind):
    leaves = make(torch, kind)
    loss = product(*leaves)
    loss.backward(retain_graph=True)
    assert gradients(leaves) == [[9.0, 16.0], [6.0, 16.0]]
    loss.backward()
    assert gradients(leaves) == [[18.0, 32.0], [12.0, 32.0]]
    found = torch.autograd.grad(product(*leaves), leaves)
    assert [each.tolist() for each in found] == [[9.0, 16.0], [6.0, 16.0]]


@of_each_kind
def test_found_c7_a_pass_on_tensors_tells_them_apart(torch, kind):
    leaves = make(torch, kind)
    one, other = torch.autograd.grad(product(*leaves), leaves, create_graph=True)
    (one * other).sum().backward()
    assert gradients(leaves) == [[54.0, 128.0], [54.0, 192.0]]


@of_each_kind
def test_found_c7_hooks_run_at_their_own_leaf(torch, kind):
    leaves = make(torch, kind)
    seen = []
    for name, leaf in zip("ab", leaves, strict=True):
        leaf.register_hook(lambda grad, name=name: seen.append((name, grad.tolist())))
        leaf.register_post_accumulate_grad_hook(lambda leaf, name=name: seen.append(name))
    product(*leaves).backward()
    assert seen == [("a", [9.0, 16.0]), "a", ("b", [6.0, 16.0]), "b"]


@of_each_kind
def test_found_c7_results_that_keep_their_gradient(torch, kind):
    a, b = make(torch, kind)
    one, other = a * b, a + b
    one.retain_grad()
    other.retain_grad()
    (one * other).sum().backward()
    assert [one.grad.tolist(), other.grad.tolist()] == [[4.0, 6.0], [3.0, 8.0]]


@of_each_kind
def test_found_c7_views_that_are_written(torch, kind):
    a, b = leaves = make(torch, kind)
    c = a * 1
    c[:1].mul_(2)
    (c * b).sum().backward()
    assert gradients(leaves) == [[6.0, 4.0], [2.0, 2.0]]


@of_each_kind
def test_found_c7_the_nodes_that_a_pass_runs(torch, kind):
    a, b = make(torch, kind)
    y = a * 2
    elsewhere = (b * 1).grad_fn.next_functions[0][0]
    found = []
    ask = torch._C._will_engine_execute_node
    here = y.grad_fn.next_functions[0][0]
    y.register_hook(lambda grad: found.append((ask(elsewhere), ask(here), ask(y.grad_fn))))
    y.sum().backward()
    assert found == [(False, True, True)]


@of_each_kind
def test_found_c7_autocast_keeps_a_copy_of_each_weight(torch, kind):
    leaves = make(torch, kind)
    a, b = (each.detach().reshape(2, 1).as_subclass(type(leaves[0])) for each in leaves)
    a.requires_grad_()
    b.requires_grad_()
    ones = torch.ones(1, 2)
    with torch.autocast("cpu", torch.bfloat16):
        assert [(ones @ each).item() for each in (a, b)] == [3.0, 7.0]


def test_found_c7_an_optimizer_updates_each_parameter(torch):
    kind = type("Marked", (torch.Tensor,), CLASSES["both"])
    for length in (2, 10_000):
        a, b = (
            torch.full((length,), value).as_subclass(kind).requires_grad_() for value in (0.0, 1.0)
        )
        optimizer = torch.optim.SGD([a], lr=0.1)
        # If they counted as equal they would be refused.
        optimizer.param_groups[0]["params"].append(b)
        for _ in range(3):
            optimizer.zero_grad()
            (a * 2 + b).sum().backward()
            optimizer.step()
        assert [a[0].item(), b[0].item()] == pytest.approx([-0.6, 0.7])
