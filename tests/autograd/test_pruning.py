"""E9, E22, V7: a pass for some inputs computes what leads to them and nothing else."""

from __future__ import annotations

from autograd_probe import error, function, values


def gradients_seen(node):
    """Return what the post-hook of a node sees, a list of lists with one entry for each run."""
    seen = []
    node.register_hook(lambda inputs, outputs: seen.append([values(each) for each in inputs]))
    return seen


def test_e22_a_node_computes_only_the_gradients_that_are_needed(torch):
    x = torch.tensor([1.0], requires_grad=True)
    w = torch.tensor([2.0], requires_grad=True)
    y = x * w
    seen = gradients_seen(y.grad_fn)
    torch.autograd.grad(y.sum(), x, retain_graph=True)
    torch.autograd.grad(y.sum(), w, retain_graph=True)
    torch.autograd.grad(y.sum(), w, create_graph=True)
    y.sum().backward(inputs=[w], retain_graph=True)
    y.sum().backward()
    assert seen == [
        [[2.0], None],
        [None, [1.0]],
        [None, [1.0]],
        [None, [1.0]],
        [[2.0], [1.0]],
    ]


def test_e22_a_shared_formula_leaves_out_what_is_not_needed(torch):
    x = torch.arange(6.0).view(2, 3).requires_grad_()
    weight, bias = (torch.ones(3, requires_grad=True) for _ in range(2))
    y = torch.nn.functional.layer_norm(x, (3,), weight, bias)
    seen = gradients_seen(y.grad_fn)
    torch.autograd.grad(y.sum(), bias, retain_graph=True)
    torch.autograd.grad(y.sum(), [x, weight])
    assert [[each is None for each in run] for run in seen] == [
        [True, True, False],
        [False, False, True],
    ]
    assert seen[0][2] == [2.0, 2.0, 2.0]


def test_e22_a_list_of_inputs_is_needed_as_a_whole(torch):
    x, y, z = (torch.ones(1, requires_grad=True) for _ in range(3))
    joined = torch.cat([x, y, z])
    seen = gradients_seen(joined.grad_fn)
    torch.autograd.grad(joined.sum(), [x, z])
    assert seen == [[[1.0], [1.0], [1.0]]]


def test_e22_values_are_those_of_a_whole_pass(torch):
    x = torch.arange(4.0).view(2, 2).requires_grad_()
    w = (torch.arange(4.0).view(2, 2) + 1).requires_grad_()
    b = torch.ones(2, requires_grad=True)

    def loss():
        return (torch.addmm(b, x, w).tanh() * torch.cat([x, w])[1:3] / w).sum()

    whole = torch.autograd.grad(loss(), [x, w, b])
    for position, each in enumerate((x, w, b)):
        (alone,) = torch.autograd.grad(loss(), each)
        (recorded,) = torch.autograd.grad(loss(), each, create_graph=True)
        assert torch.equal(alone, whole[position])
        assert torch.allclose(recorded, whole[position])


def test_e22_a_custom_function_computes_all_and_sees_all_needs(torch):
    needs = []

    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    def backward(ctx, grad):
        needs.append(ctx.needs_input_grad)
        a, b = ctx.saved_tensors
        return grad * b, grad * a

    x = torch.tensor([1.0], requires_grad=True)
    w = torch.tensor([2.0], requires_grad=True)
    y = function(torch, forward, backward).apply(x, w)
    seen = gradients_seen(y.grad_fn)
    assert values(torch.autograd.grad(y.sum(), x)[0]) == [2.0]
    assert needs == [(True, True)]
    assert seen == [[[2.0], [1.0]]]


def test_e22_all_saved_values_are_looked_at(torch):
    a, b = (torch.ones(2, requires_grad=True) for _ in range(2))
    x, w = a * 1, b * 1
    y = x * w
    with torch.no_grad():
        x.add_(1)
    for each in (a, b):
        found = error(lambda each=each: torch.autograd.grad(y.sum(), each, retain_graph=True))
        assert "modified by an inplace operation" in found
    unpacked = []
    hooks = torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: tensor, lambda tensor: unpacked.append(1) or tensor
    )
    with hooks:
        y = a * b
    torch.autograd.grad(y.sum(), a)
    assert len(unpacked) == 2


def test_e22_the_graph_is_freed_as_a_whole(torch):
    x, w = (torch.ones(2, requires_grad=True) for _ in range(2))
    y = x * w
    torch.autograd.grad(y.sum(), x)
    assert "second time" in error(lambda: torch.autograd.grad(y.sum(), w))


def test_e9_the_node_of_a_limiting_input_runs_for_nobody(torch):
    x, w = (torch.ones(2, requires_grad=True) for _ in range(2))
    a = x * w
    seen = gradients_seen(a.grad_fn)
    (a * 2).sum().backward(inputs=[a], retain_graph=True)
    assert values(a.grad) == [2.0, 2.0]
    torch.autograd.grad((a * 2).sum(), a)
    assert seen == [[None, None]]
    assert x.grad is None


def test_v7_a_write_through_a_view_computes_what_is_asked_for(torch):
    x = torch.ones(3, requires_grad=True)
    w = torch.tensor([5.0, 6.0], requires_grad=True)
    base = x * 2
    base[:2].mul_(w)
    seen = gradients_seen(base.grad_fn)
    assert values(torch.autograd.grad(base.sum(), x, retain_graph=True)[0]) == [10.0, 12.0, 2.0]
    assert values(torch.autograd.grad(base.sum(), w, retain_graph=True)[0]) == [2.0, 2.0]
    assert seen == [[[5.0, 6.0, 1.0], None], [None, [2.0, 2.0]]]
