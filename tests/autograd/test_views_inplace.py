"""Writes through views: the histories they leave, and their gradients of first and second order.

The meaning of a write through a view is stated a second time without views: applying the same views
to the numbers 0, 1, 2, ... finds the elements that the view shows, and the write is done on the
flattened tensor out of place.  Values and gradients of both programs must agree.
"""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

CALM = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def tree(node):
    """Return the names of a graph, nested; leaves are None or AccumulateGrad."""
    if node is None:
        return None
    following = [tree(each) for each, _ in node.next_functions]
    return (node.name().split("::")[-1], *following)


# --- which history a write leaves ------------------------------------------------------------

X = ("MulBackward0", ("AccumulateGrad",), None)
W = ("AccumulateGrad",)
WIDE_W = ("ExpandBackward0", ("ViewBackward0", W))

HISTORIES = [
    ("y[0] = w", ("CopySlices", X, W)),
    ("y[0] = 5", ("CopySlices", X, None)),
    ("y[0] = s", ("CopySlices", X, W)),
    ("y[...] = w", ("CopyBackwards", X, WIDE_W)),
    ("y[:] = w", ("CopyBackwards", X, WIDE_W)),
    ("y[0:5] = w", ("CopyBackwards", X, WIDE_W)),
    ("y[:] = 5", ("FillBackward3", X, None)),
    ("y[:] = s", ("FillBackward3", X, W)),
    ("y[0, 0] = s", ("CopySlices", X, W)),
    ("y[None] = w", ("CopySlices", X, WIDE_W)),
    ("y[True] = w", ("CopySlices", X, WIDE_W)),
    ("y[i] = w", ("IndexPutBackward0", X, W)),
    ("y[i] = 5.0", ("IndexPutBackward0", X, None)),
    ("y[m] = s", ("IndexPutBackward0", X, W)),
    ("y[:, [0, 1]] = 1", ("IndexPutBackward0", X, None)),
    ("y[0, i] = w", ("CopySlices", X, W)),
    ("y[0][1] = s", ("CopySlices", X, W)),
    ("y[False] = 1", X),
    ("y.zero_()", ("ZeroBackward0", X)),
    ("y.fill_(2)", ("FillBackward2", X)),
    ("y.copy_(w)", ("CopyBackwards", X, W)),
    ("y.t().copy_(y.detach().t())", ("CopySlices", X, None)),
    ("y.masked_fill_(m, 0)", ("MaskedFillBackward0", X)),
    ("y.t_()", ("TBackward1", X)),
    ("y.unsqueeze_(0)", ("UnsqueezeBackward1", X)),
    ("y.as_strided_((2,), (1,))", ("AsStridedBackward1", X)),
    ("y[0:2].t_()", X),
]


def start(torch):
    x = torch.arange(6.0).reshape(2, 3).clone().requires_grad_()
    return {
        "x": x,
        "y": x * 1,
        "w": torch.tensor([1.0, 2.0, 3.0], requires_grad=True),
        "s": torch.tensor(2.0, requires_grad=True),
        "i": torch.tensor([0, 1, 1]),
        "m": torch.tensor([[True, False, True], [False, True, True]]),
        "torch": torch,
    }


@pytest.mark.parametrize(("statement", "expected"), HISTORIES, ids=[each[0] for each in HISTORIES])
def test_a_write_leaves_the_history_that_pytorch_leaves(torch, statement, expected):
    names = start(torch)
    exec(statement, names)
    assert tree(names["y"].grad_fn) == expected


def test_a_view_that_was_written_is_a_strided_view_of_the_new_base(torch):
    names = start(torch)
    y, w = names["y"], names["w"]
    view = y[0]
    view.mul_(w)
    assert tree(view.grad_fn) == ("AsStridedBackward0", ("CopySlices", X, W))
    assert view.grad_fn._saved_size == (3,)
    assert view.grad_fn._saved_stride == (1,)
    assert view.grad_fn._saved_storage_offset == 0
    assert view._base is y


@pytest.mark.parametrize(
    "statement",
    [
        "y[0] = torch.ones(4)",
        "y[0] = 'a'",
        "y[5] = 1",
        "y[0, 0, 0] = 1",
        "y[i] = torch.ones(4)",
        "y[i] = w.double()",
        "y[m[:, :2]] = 1",
        "y[::-1] = 1",
        "y[1:].copy_(torch.ones(2, 2, 3))",
        "y.index_put_((i,), torch.ones(2))",
        "y[:1].expand(2, 3).copy_(w)",
    ],
)
def test_a_write_that_fails_changes_nothing(torch, statement):
    fail_and_compare(torch, statement)


@pytest.mark.taper_only
@pytest.mark.parametrize("statement", ["y[torch.tensor([0, 5])] = 1", "y.masked_scatter_(m, w)"])
def test_a_write_that_fails_half_way_in_pytorch_changes_nothing_here(torch, statement):
    fail_and_compare(torch, statement)


def fail_and_compare(torch, statement):
    names = start(torch)
    y = names["y"]
    before, version, node = y.detach().clone(), y._version, y.grad_fn
    with pytest.raises((RuntimeError, IndexError, TypeError, ValueError)):
        exec(statement, names)
    assert torch.equal(y, before)
    assert y._version == version
    assert y.grad_fn is node


# --- what the gradients are ------------------------------------------------------------------


def apply_step(tensor, step):
    kind, a, b = step
    if tensor.dim() == 0:
        return tensor.unsqueeze(0)
    dim = a % tensor.dim()
    length = tensor.shape[dim]
    if kind == "select" and length:
        return tensor.select(dim, b % length)
    if kind == "narrow" and length:
        return tensor.narrow(dim, b % length, length - b % length)
    if kind == "step":
        return tensor[(slice(None),) * dim + (slice(b % 2, None, 2),)]
    if kind == "transpose":
        return tensor.transpose(dim, b % tensor.dim())
    if kind == "unsqueeze":
        return tensor.unsqueeze(dim)
    if kind == "diagonal" and tensor.dim() > 1:
        return tensor.diagonal(0, 0, 1)
    if kind == "flatten" and tensor.is_contiguous():
        return tensor.view(-1)
    return tensor


STEPS = st.tuples(
    st.sampled_from(["select", "narrow", "step", "transpose", "unsqueeze", "diagonal", "flatten"]),
    st.integers(0, 3),
    st.integers(0, 3),
)
CHAINS = st.lists(STEPS, min_size=1, max_size=4)


def through(tensor, chain):
    for step in chain:
        tensor = apply_step(tensor, step)
    return tensor


def in_place(view, how, weight):
    if how == "mul_":
        view.mul_(weight)
    elif how == "add_":
        view.add_(weight * weight)
    elif how == "copy_":
        view.copy_(weight.expand(view.shape))
    elif how == "sin_":
        view.sin_()
    else:
        view.zero_()


def out_of_place(values, how, weight):
    if how == "mul_":
        return values * weight
    if how == "add_":
        return values + weight * weight
    if how == "copy_":
        return weight.expand(values.shape)
    return values.sin() if how == "sin_" else values * 0.0


WRITES = st.sampled_from(["mul_", "add_", "copy_", "sin_", "zero_"])


def written(torch, shape, writes, functional):
    """Run a program of writes through views; return its result, leaves and views at the end."""
    size = math.prod(shape)
    x = (torch.arange(float(size), dtype=torch.float64) * 0.3 + 0.5).reshape(shape)
    x.requires_grad_()
    weight = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    numbers = torch.arange(size).reshape(shape)
    base = x * 1.5
    flat = base.reshape(-1)
    shown = []
    for chain, how in writes:
        places = through(numbers, chain).reshape(-1)
        if functional:
            flat = flat.index_put((places,), out_of_place(flat[places], how, weight))
        else:
            view = through(base, chain)
            in_place(view, how, weight)
            shown.append((view, places))
    return (flat.reshape(shape) if functional else base), (x, weight), shown


@given(
    shape=st.sampled_from([(4,), (2, 3), (3, 3), (2, 3, 2)]),
    writes=st.lists(st.tuples(CHAINS, WRITES), min_size=1, max_size=3),
)
@CALM
def test_writes_through_views_equal_writes_out_of_place(torch, shape, writes):
    found, leaves, shown = written(torch, shape, writes, functional=False)
    expected, others, _ = written(torch, shape, writes, functional=True)
    assert torch.allclose(found, expected)
    for view, places in shown:
        assert torch.equal(view.reshape(-1), expected.reshape(-1)[places])

    def gradients(result, of, **options):
        scale = torch.arange(1.0, result.numel() + 1, dtype=torch.float64).reshape(result.shape)
        return torch.autograd.grad((result * result * scale).sum(), of, **options)

    options = {"allow_unused": True, "create_graph": True}
    firsts = [gradients(found, leaves, **options), gradients(expected, others, **options)]
    compare(torch, *firsts)
    seconds = []
    for grads, of in zip(firsts, (leaves, others), strict=True):
        used = [each for each in grads if each is not None and each.requires_grad]
        total = sum((each * each).sum() for each in used) if used else None
        nothing = (None, None)
        seconds.append(torch.autograd.grad(total, of, allow_unused=True) if used else nothing)
    compare(torch, *seconds)


def compare(torch, found, expected):
    """Check that gradients are equal; one that does not exist is zero."""
    for one, other in zip(found, expected, strict=True):
        if one is None or other is None:
            for each in (one, other):
                assert each is None or not each.detach().any()
        else:
            assert torch.allclose(one, other, rtol=1e-9, atol=1e-9)


@given(chain=CHAINS, before=CHAINS)
@CALM
def test_a_view_follows_what_is_written_through_others(torch, chain, before):
    """A view taken before a write equals one taken after it, gradient included."""
    x = torch.arange(1.0, 7.0, dtype=torch.float64).reshape(2, 3).requires_grad_()
    base = x * 2.0
    early = through(base, before)
    through(base, chain).mul_(3.0)
    late = through(base, before)
    assert torch.equal(early, late)
    assert early.requires_grad and early.grad_fn is not None
    found, expected = (
        torch.autograd.grad(each.sum(), x, retain_graph=True)[0] for each in (early, late)
    )
    assert torch.equal(found, expected)


def test_a_value_that_requires_grad_reaches_all_views_of_a_plain_base(torch):
    base = torch.zeros(2, 3)
    sibling, other = base[1], base[0]
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    base[1].copy_(w)
    assert base.requires_grad and sibling.requires_grad and other.requires_grad
    (sibling * sibling).sum().backward()
    assert w.grad.tolist() == [2.0, 4.0, 6.0]


def test_a_written_view_saved_for_backward_is_noticed(torch):
    x = torch.ones(2, 3, requires_grad=True)
    y = x * 1
    view = y[0]
    product = view * view
    y[1] = 0.0
    with pytest.raises(RuntimeError, match=r"output 0 of AsStrided.* is at version 1; expected"):
        product.sum().backward()


def test_view_operators_in_place_keep_the_view_a_view(torch):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    y = x * 1
    view = y[0:2]
    view.t_()
    assert view._base is y and tuple(view.shape) == (3, 2)
    view.mul_(torch.tensor([1.0, 10.0]))
    assert y.detach().tolist() == [[0.0, 1.0, 2.0], [30.0, 40.0, 50.0]]
    y.sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0, 1.0], [10.0, 10.0, 10.0]]


W8 = "invalid gradient at index 0 - got {} but expected shape compatible with {}"


def test_found_w8_a_gradient_must_fit_what_the_node_knows(torch):
    leaf = torch.tensor([[1.0], [2.0]], requires_grad=True)
    turned = leaf * leaf
    with torch.no_grad():
        turned.transpose_(0, 1)
    with pytest.raises(RuntimeError, match=re.escape(W8.format("[1, 2]", "[2, 1]"))):
        turned.backward(torch.ones(1, 2))
    with pytest.raises(RuntimeError, match=re.escape(W8.format("[1, 2]", "[2, 1]"))):
        torch.autograd.grad(turned, leaf, torch.ones(1, 2), create_graph=True)
    lower = torch.tensor([3.0], requires_grad=True) * 2
    with torch.no_grad():
        lower.squeeze_()
    with pytest.raises(RuntimeError, match=re.escape(W8.format("[]", "[1]"))):
        lower.backward()
    assert leaf.grad is None


def test_found_w8_a_gradient_is_summed_over_what_was_put_in_front(torch):
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    higher = leaf * leaf
    with torch.no_grad():
        higher.unsqueeze_(0)
    higher.backward(torch.ones(1, 2))
    assert leaf.grad.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("step", [2, 4, 8])
def test_a_strided_view_is_negated_in_place(torch, dtype, step):
    base = torch.arange(1, 33, dtype=getattr(torch, dtype))
    with torch.no_grad():
        base[::step].neg_()
    assert base.tolist() == [-n if (n - 1) % step == 0 else n for n in range(1, 33)]
