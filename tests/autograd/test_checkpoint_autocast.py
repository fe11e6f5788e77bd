"""P5: checkpoints and mixed precision: the recomputation runs as the forward did."""

from __future__ import annotations

import pytest

from autograd_probe import values


def layer(torch, seen):
    """Return a function that notes how it runs."""

    def run(x, weight):
        y = torch.mm(x, weight)
        seen.append((torch.is_autocast_enabled("cpu"), y.dtype, torch.is_autocast_cache_enabled()))
        return y.tanh() @ weight

    return run


def tensors(torch):
    torch.manual_seed(0)
    return torch.randn(3, 3, requires_grad=True), torch.randn(3, 3, requires_grad=True)


def gradients(torch, run, forward, backward, **block):
    x, weight = tensors(torch)
    with torch.autocast("cpu", enabled=forward, **block):
        y = run(x, weight)
    with torch.autocast("cpu", enabled=backward):
        y.float().sum().backward()
    return values(x.grad), values(weight.grad)


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("backward", [True, False])
def test_p5_the_recomputation_is_cast_as_the_forward_was(torch, reentrant, forward, backward):
    seen = []

    def checkpointed(x, weight):
        run = layer(torch, seen)
        return torch.utils.checkpoint.checkpoint(run, x, weight, use_reentrant=reentrant)

    found = gradients(torch, checkpointed, forward, backward, dtype=torch.float16)
    dtype = torch.float16 if forward else torch.float32
    assert seen == [(forward, dtype, True)] * 2
    if not reentrant:  # the reentrant kind computes its gradients in a pass of its own
        assert found == gradients(torch, layer(torch, []), forward, backward, dtype=torch.float16)
    assert not torch.is_autocast_enabled("cpu")


@pytest.mark.parametrize("reentrant", [True, False])
def test_p5_the_recomputation_keeps_weights_as_the_forward_did(torch, reentrant):
    seen = []
    x, weight = tensors(torch)
    with torch.autocast("cpu", cache_enabled=False):
        y = torch.utils.checkpoint.checkpoint(
            layer(torch, seen), x, weight, use_reentrant=reentrant
        )
    y.float().sum().backward()
    assert seen == [(True, torch.bfloat16, False)] * 2
    assert x.grad.dtype is weight.grad.dtype is torch.float32


@pytest.mark.parametrize("reentrant", [True, False])
def test_p5_blocks_inside_the_checkpointed_function(torch, reentrant):
    seen = []

    def run(x, weight):
        with torch.autocast("cpu"):
            y = x.mm(weight)
            with torch.autocast("cpu", enabled=False):
                z = y.float().mm(weight)
                seen.append((y.dtype, z.dtype))
                return z.mm(weight)

    x, weight = tensors(torch)
    torch.utils.checkpoint.checkpoint(run, x, weight, use_reentrant=reentrant).sum().backward()
    assert seen == [(torch.bfloat16, torch.float32)] * 2
    checkpointed = values(x.grad), values(weight.grad)
    x.grad = weight.grad = None
    run(x, weight).sum().backward()
    assert (values(x.grad), values(weight.grad)) == checkpointed


@pytest.mark.parametrize("reentrant", [True, False])
def test_p5_a_network_in_segments(torch, reentrant):
    torch.manual_seed(1)
    layers = torch.nn.Sequential(*[torch.nn.Linear(4, 4) for _ in range(4)])
    x = torch.randn(2, 4, requires_grad=True)

    def trained(run):
        layers.zero_grad()
        with torch.autocast("cpu"):
            y = run()
        y.float().sum().backward()
        return y.dtype, [values(each.grad) for each in layers.parameters()]

    run = torch.utils.checkpoint.checkpoint_sequential
    assert trained(lambda: layers(x)) == trained(lambda: run(layers, 2, x, use_reentrant=reentrant))
