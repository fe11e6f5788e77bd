"""E5, beyond PyTorch: the error of a second pass names what ties it to the first."""

from __future__ import annotations

import pytest

from autograd_probe import function

pytestmark = pytest.mark.taper_only


def lines_of(call) -> list[str]:
    """Return the lines of the error of a second pass, without PyTorch's own."""
    with pytest.raises(RuntimeError) as caught:
        call()
    first, *rest = str(caught.value).split("\n")
    assert first.startswith("Trying to backward through the graph a second time")
    assert first.endswith("if you need to access saved tensors after calling backward.")
    return rest


def test_e5_the_second_backward_names_the_recording_line_and_the_first_backward(torch):
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    y.backward()  # the first pass
    recorded, freed, tie = lines_of(y.backward)
    assert recorded.startswith("MulBackward0 was recorded at ")
    assert recorded.endswith(": y = x * x")
    assert freed.startswith("Its saved values were freed by the backward pass at ")
    assert freed.endswith(": y.backward()  # the first pass")
    assert tie.startswith("This pass goes through it again, and was recorded before that one")


def test_e5_a_part_computed_before_the_loop_is_named(torch):
    w = torch.ones(3, requires_grad=True)
    hidden = w.exp() * 2  # before the loop

    def train():
        for step in range(2):
            loss = (hidden * step).sum()
            loss.backward()

    recorded, freed, shared, user, advice = lines_of(train)
    assert recorded.endswith(": hidden = w.exp() * 2  # before the loop")
    assert freed.endswith(": loss.backward()")
    assert shared.startswith(
        "The two passes share the result of MulBackward0 (torch.float32 [3]), recorded before the "
        "earlier one at "
    )
    assert shared.endswith(": hidden = w.exp() * 2  # before the loop")
    assert user.startswith("and used since by MulBackward0 at ")
    assert user.endswith(": loss = (hidden * step).sum()")
    assert advice == "Record it anew for each pass, or detach() it where the second one begins."


def test_e5_what_is_shared_may_lie_before_what_was_freed(torch):
    w = torch.ones(3, requires_grad=True)
    base = (w * w) + 1  # shared
    (base + 1).sum().backward()
    other = base + 2
    recorded, _, shared, user, _ = lines_of((other.sum() * 3).backward)
    assert recorded.startswith("MulBackward0 was recorded")
    assert shared.startswith("The two passes share the result of AddBackward0")
    assert shared.endswith(": base = (w * w) + 1  # shared")
    assert user.endswith(": other = base + 2")


def test_e5_a_hidden_state_that_is_carried_on_is_named(torch):
    w = torch.ones(3, requires_grad=True)
    state = torch.zeros(3)

    def unroll():
        nonlocal state
        for _ in range(2):
            state = torch.tanh(state * w)
            state.sum().backward()

    _, _, shared, user, _ = lines_of(unroll)
    assert shared.startswith("The two passes share the result of TanhBackward0")
    assert user.startswith("and used since by MulBackward0 at ")


def test_e5_two_losses_of_one_graph(torch):
    w = torch.ones(3, requires_grad=True)
    shared = w * w
    first, second = shared.sum(), shared.mean()
    first.backward()
    assert lines_of(second.backward)[2].startswith("This pass goes through it again")


def test_e5_custom_functions_and_writes_through_views(torch):
    w = torch.ones(3, requires_grad=True)

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    y = function(torch, forward, lambda ctx, grad: grad * ctx.saved_tensors[0]).apply(w)
    y.sum().backward()
    assert "share the result of FBackward" in lines_of((y + 1).sum().backward)[2]
    base = w * 1
    base[:2].mul_(w[:2])
    base.sum().backward()
    assert (
        "share the result of torch::autograd::CopySlices" in lines_of((base + 1).sum().backward)[2]
    )


def test_e5_reading_a_freed_value_outside_of_a_pass_has_no_tie(torch):
    w = torch.ones(3, requires_grad=True)
    y = w * w
    y.sum().backward()
    assert len(lines_of(lambda: y.grad_fn._saved_self)) == 2


def test_a_recorded_pass_frees_what_was_saved_only_if_it_is_told_to(torch):
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = (x * x).sum()
    for _ in range(2):
        (grad,) = torch.autograd.grad(y, x, create_graph=True)
        assert grad.tolist() == [4, 6]
    torch.autograd.grad(y, x, create_graph=True, retain_graph=False)
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        torch.autograd.grad(y, x, create_graph=True)


@pytest.mark.filterwarnings("ignore:Using backward\\(\\) with create_graph=True")
def test_a_recorded_pass_to_all_leaves_frees_what_was_saved_only_if_it_is_told_to(torch):
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = (x * x).sum()
    for _ in range(2):
        y.backward(create_graph=True)
    assert x.grad.tolist() == [8, 12]
    x.grad = None
    y.backward(create_graph=True, retain_graph=False)
    x.grad = None
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward(create_graph=True)
