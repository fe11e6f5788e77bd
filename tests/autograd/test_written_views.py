"""V4 to V17: what becomes of views, and of what was saved of them, after writes."""

from __future__ import annotations

import pytest

from autograd_probe import error, names, values

LEAF_VIEW = (
    "RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place "
    "operation."
)


def test_v4_a_result_saved_by_a_write_through_a_view_has_its_place_in_the_graph(torch):
    """It has one, so that a pass over both orders runs every node once."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    base = x * 1
    part = base[:2]
    part.mul_(0.1)
    part.exp_()
    (grad,) = torch.autograd.grad((base * base).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(grad.sum(), x, retain_graph=True)
    expected = [0.04 * 2.718281828 ** (0.2 * each) for each in (1.0, 2.0)] + [2.0]
    assert values(second) == pytest.approx(expected, rel=1e-5)
    (grad.sum() + part.sum()).backward()
    first = [0.1 * 2.718281828 ** (0.1 * each) for each in (1.0, 2.0)] + [0.0]
    both = [a + b for a, b in zip(expected, first, strict=True)]
    assert values(x.grad) == pytest.approx(both, rel=1e-5)


def test_e5_a_write_through_a_view_can_be_differentiated_once(torch):
    x = torch.ones(3, requires_grad=True)
    base = x * 1
    base[0] = 5.0
    base.sum().backward()
    assert error(lambda: base.sum().backward()).startswith(
        "RuntimeError: Trying to backward through the graph a second time"
    )


def test_v9_a_view_that_is_itself_a_leaf(torch):
    view = torch.ones(2)[:1].requires_grad_()
    assert error(lambda: view.add_(1)) == LEAF_VIEW
    assert error(lambda: view[:].add_(1)) == LEAF_VIEW


def test_v13_a_part_of_a_view_of_inference_mode(torch):
    base = torch.ones(2, 2, requires_grad=True) * 1
    with torch.inference_mode():
        view = base.view(4)
    assert "created in inference mode" in error(lambda: view.split(2)[0].mul_(2))


def test_v15_a_view_operator_in_place_without_recording_leaves_the_view_to_regenerate(torch):
    base = torch.ones(2, 3, requires_grad=True) * 1
    view = base[:1]
    with torch.no_grad():
        view.squeeze_(0)
    assert view.grad_fn.name() == "AsStridedBackward0"
    assert names(view.grad_fn) == ["MulBackward0"]


def test_v15_a_retained_gradient_stays_that_of_the_old_view(torch):
    x = torch.ones(2, 3, requires_grad=True)
    y = x * 1
    y.retain_grad()
    z = y * 5
    y.t_()
    (y.sum() + z.sum()).backward()
    assert y.retains_grad
    assert values(y.grad) == [[6.0] * 3] * 2


def test_v17_views_of_a_detached_base_keep_a_history_that_leads_nowhere(torch):
    x = torch.ones(2, requires_grad=True)
    base = x * 1
    view = base[:1]
    base.detach_()
    base.add_(1)
    assert view.requires_grad and not base.requires_grad
    assert view.grad_fn.name() == "AsStridedBackward0"
    assert names(view.grad_fn) == ["None"]
    assert error(lambda: view.add_(1)) == LEAF_VIEW
    view.sum().backward()
    assert x.grad is None


def test_h4_a_detached_tensor_says_that_it_retained_its_gradient(torch):
    y = torch.ones(2, requires_grad=True) * 1
    y.retain_grad()
    y.detach_()
    assert y.retains_grad


def chain(node):
    found = []
    while node is not None and node.next_functions:
        found.append(node.name().removeprefix("torch::autograd::"))
        node = node.next_functions[0][0]
    return found


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda torch, b: b.real, ["AsStrided", "ViewAsReal"]),
        (lambda torch, b: torch.view_as_real(b.t()), ["ViewAsReal", "AsStrided"]),
        (lambda torch, b: b[0].real[None], ["AsStrided", "AsStrided", "ViewAsReal", "AsStrided"]),
        (lambda torch, b: b.view(4)[1:].real, ["AsStrided", "ViewAsReal", "AsStrided"]),
        (lambda torch, b: b.conj(), ["Conj"]),
        (lambda torch, b: b.conj()[0], ["AsStrided", "Conj"]),
        (lambda torch, b: b.mH, ["Conj", "AsStrided"]),
        (lambda torch, b: b.conj().imag, ["AsStrided", "NegView", "ViewAsReal", "Conj", "Conj"]),
    ],
)
def test_x4_views_with_another_meaning_are_made_again_step_by_step(torch, make, expected):
    z = torch.tensor([[1 + 2j, 3 - 1j], [2j, 1.0]], requires_grad=True)
    base = z * 1
    view = make(torch, base)
    before = values(view)
    base.mul_(2)
    assert chain(view.grad_fn)[:-2] == [f"{each}Backward0" for each in expected]
    other = make(torch, z * 1)
    other.mul_(3)
    assert chain(other.grad_fn)[:-2] == [f"{each}Backward0" for each in expected]
    assert values(view / 2) == before


@pytest.mark.parametrize("part", [lambda x: x[0], lambda x: x.unbind()[0], lambda x: x.split(1)[0]])
@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_found_e14_retain_grad_of_a_view_written_where_nothing_is_recorded(torch, part, mode):
    for base in (torch.ones(2, 2, requires_grad=True), torch.ones(2, 2, requires_grad=True) * 2):
        with getattr(torch, mode)():
            view = part(base)
            view.mul_(3)
        view.retain_grad()
        assert not view.retains_grad
        with pytest.raises(RuntimeError, match="and its base or another view of its base has been"):
            view * 2


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_found_e14_retain_grad_of_a_view_whose_base_got_a_history_keeps_nothing(torch):
    base, factor = torch.ones(2), torch.tensor([1.0, 2.0], requires_grad=True)
    view = base[:1]
    base.mul_(factor)
    view.retain_grad()
    assert not view.retains_grad and not view.is_leaf
    (view * 2).sum().backward()
    assert view.grad is None and factor.grad.tolist() == [2, 0]


def test_found_v4_a_view_gets_its_history_anew_once_for_each_write(torch):
    w = torch.tensor(2.0, requires_grad=True)
    base = torch.ones(3)
    view = base[1:]
    base.mul_(w)
    with torch.no_grad():
        assert view.requires_grad
        node = view.grad_fn
        assert not torch.is_grad_enabled()
    assert view.grad_fn is node
    base.mul_(w)
    assert view.grad_fn is not node


def test_found_v7_a_write_through_a_view_of_a_base_that_begins_inside_its_memory(torch):
    w = torch.tensor(2.0, requires_grad=True)
    base = torch.arange(6.0)[2:].detach()
    view = base[1:2]
    view.mul_(w)
    (base * torch.tensor([1.0, 10.0, 100.0, 1000.0])).sum().backward()
    assert values(w.grad) == 30.0
    assert values(base) == [2.0, 6.0, 4.0, 5.0]


def test_found_v7_the_node_of_a_written_base_has_its_place_in_the_order(torch):
    w = torch.ones(2, requires_grad=True)
    a = w * 1
    a[0:1].mul_(2)
    b = w * 3
    assert b.grad_fn._sequence_nr() > a.grad_fn._sequence_nr()
    ran = []
    a.grad_fn.register_hook(lambda *grads: ran.append("a"))
    b.grad_fn.register_hook(lambda *grads: ran.append("b"))
    (a + b).sum().backward()
    assert ran == ["b", "a"]


def test_found_v7_a_written_base_is_freed_with_the_graph(torch):
    w = torch.tensor(2.0, requires_grad=True)
    x = torch.ones(3, requires_grad=True) * 1
    x[1:].mul_(w)
    x.sum().backward()
    assert "second time" in error(x.sum().backward)


def test_found_v4_a_written_view_is_made_anew_step_by_step_if_told_so(torch):
    with torch.autograd._force_original_view_tracking(True):
        w = torch.tensor(2.0, requires_grad=True)
        base = torch.ones(2, 3)
        view = base.t()[1:]
        base.mul_(w)
        assert view.grad_fn.name() == "SliceBackward0"
        view.sum().backward()
    assert values(w.grad) == 4.0


def test_found_v10_a_view_of_a_view_made_without_grad_mode_may_not_be_written(torch):
    x = torch.ones(3, requires_grad=True) * 1
    with torch.no_grad():
        v = x[1:]
    u = v[1:]
    assert "no_grad" in error(lambda: u.mul_(2))


# --- writes of float32, which take a short way where nothing is recorded ----------------------

WRITES = {
    "mul_": lambda x, w: x.mul_(w),
    "add_": lambda x, w: x.add_(w, alpha=2),
    "addcmul_": lambda x, w: x.addcmul_(w, w),
    "addcdiv_": lambda x, w: x.addcdiv_(w.detach(), w),
    "lerp_": lambda x, w: x.lerp_(w, 0.25),
    "pow_": lambda x, w: x.pow_(w),
    "exp_": lambda x, w: x.mul_(w).exp_(),
}
GRADIENTS = {
    "mul_": 2.0,
    "add_": 2.0,
    "addcmul_": 6.0,
    "addcdiv_": -1 / 3,
    "lerp_": 0.25,
    "pow_": 5.545177,
    "exp_": 806.85759,
}


@pytest.mark.parametrize("name", WRITES)
def test_found_v1_a_write_with_what_requires_grad_is_recorded(torch, name):
    x = torch.full((2,), 2.0)
    w = torch.tensor([3.0, 3.0], requires_grad=True)
    assert WRITES[name](x, w) is x
    assert x.requires_grad
    x.sum().backward()
    assert values(w.grad) == pytest.approx([GRADIENTS[name]] * 2, rel=1e-6)


@pytest.mark.parametrize("name", WRITES)
def test_found_v1_a_leaf_that_requires_grad_is_not_written(torch, name):
    x = torch.full((2,), 2.0, requires_grad=True)
    text = (
        "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation."
    )
    assert error(lambda: WRITES[name](x, torch.ones(2))) == text
    assert (values(x), x._version) == ([2.0, 2.0], 0)
    with torch.no_grad():
        WRITES[name](x, torch.ones(2))
    assert x.requires_grad
    assert x._version == (2 if name == "exp_" else 1)


@pytest.mark.parametrize("name", WRITES)
def test_found_i4_an_inference_tensor_is_not_written_outside(torch, name):
    with torch.inference_mode():
        x = torch.full((2,), 2.0)
    assert "Inplace update to inference tensor outside InferenceMode" in error(
        lambda: WRITES[name](x, torch.ones(2))
    )


@pytest.mark.parametrize("name", [name for name in WRITES if name != "exp_"])
def test_found_v20_a_tensor_that_is_written_and_read_elsewhere_is_refused(torch, name):
    whole = torch.arange(1.0, 5.0)
    assert "some elements of the input tensor and the written-to tensor refer to a single" in error(
        lambda: WRITES[name](whole[1:], whole[:-1])
    )
    assert "more than one element of the written-to tensor refers to a single" in error(
        lambda: WRITES[name](torch.ones(1).expand(3), torch.ones(3))
    )
    assert values(whole) == [1.0, 2.0, 3.0, 4.0]
