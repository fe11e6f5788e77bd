"""E17, E25: gradients in another layout than their leaf; tensors that get other data."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from autograd_probe import error, names, values, warned

LAYOUT = (
    "UserWarning: grad and param do not obey the gradient layout contract. This is not an error, "
    "but may impair performance."
)


@contextmanager
def always(torch):
    """Show warnings each time, even those that are usually shown once, during the block."""
    torch.set_warn_always(True)
    try:
        yield
    finally:
        torch.set_warn_always(False)


def heard(torch, call):
    with always(torch):
        return warned(call)


def leaf_of(array):
    return array.detach().requires_grad_()


LAYOUTS = {
    "rows": lambda torch: torch.ones(3, 4),
    "columns": lambda torch: torch.ones(4, 3).t(),
    "gaps": lambda torch: torch.ones(3, 8)[:, ::2],
}


@pytest.mark.parametrize("new", LAYOUTS)
@pytest.mark.parametrize(
    ("leaf", "old", "told"),
    [
        ("rows", "rows", False),
        ("rows", "columns", True),
        ("rows", "gaps", True),
        ("columns", "columns", False),
        ("columns", "rows", True),
        ("gaps", "rows", False),
        ("gaps", "columns", True),
        ("gaps", "gaps", True),
    ],
)
def test_e17_adding_to_a_gradient_in_another_layout_warns(torch, leaf, old, told, new):
    x = leaf_of(LAYOUTS[leaf](torch))
    x.grad = LAYOUTS[old](torch)
    before, strides = x.grad, x.grad.stride()
    given = LAYOUTS[new](torch)
    assert heard(torch, lambda: x.backward(given)) == [LAYOUT] * told
    assert x.grad is before and x.grad.stride() == strides
    x.grad = LAYOUTS[old](torch)
    with torch.autograd.enforce_grad_layout_policy(False):
        assert heard(torch, lambda: x.backward(given)) == []


def test_e17_a_dimension_of_length_one_has_no_layout(torch):
    x = torch.ones(3, 1, requires_grad=True)
    x.grad = torch.ones(1, 3).t()
    assert heard(torch, lambda: x.backward(torch.ones(3, 1))) == []


def test_e17_the_warning_tells_sizes_and_strides(torch):
    x = torch.ones(3, 4, requires_grad=True)
    x.grad = torch.ones(4, 3).t()
    expected = r"strides\(\) = \[1, 3\]\nparam.sizes\(\) = \[3, 4\], strides\(\) = \[4, 1\]"
    with always(torch), pytest.warns(UserWarning, match=expected):
        (x * 2).sum().backward()


def test_e17_a_sum_that_is_recorded_keeps_the_layout_of_the_old_gradient(torch):
    x = torch.ones(3, 4, requires_grad=True)
    x.grad = torch.ones(4, 3).t()
    first, *rest = heard(torch, lambda: x.backward(torch.ones(3, 4), create_graph=True))
    assert rest == [LAYOUT] and "create_graph=True" in first
    assert x.grad.stride() == (1, 3)
    assert values(x.grad) == [[2.0] * 4] * 3


def test_e17_a_copy_has_the_layout_of_the_leaf_also_without_the_policy(torch):
    x = leaf_of(torch.ones(4, 3).t())
    with torch.autograd.enforce_grad_layout_policy(False):
        x.backward(torch.ones(3, 4))  # somebody holds it: it is copied
    assert x.grad.stride() == (1, 3)


# --- E25: results ------------------------------------------------------------------------------


def test_e25_set_cuts_a_result_from_its_graph_but_not_an_edge(torch):
    x = torch.ones(2, requires_grad=True)
    y = x.clone()
    before = torch.autograd.graph.get_gradient_edge(y)
    z = (y * 3).sum()
    y.set_(torch.zeros(3))
    assert values(torch.autograd.grad(z, before, retain_graph=True)[0]) == [3.0, 3.0]
    assert "appears to not have been used" in error(lambda: torch.autograd.grad(z, y))
    assert (y.requires_grad, y.is_leaf, y._version) == (True, False, 1)


def test_e25_set_has_no_derivative(torch):
    x = torch.ones(2, requires_grad=True)
    for source in (torch.zeros(2), torch.zeros(3).untyped_storage(), None):
        y = x.clone()
        assert (y.set_() if source is None else y.set_(source)) is y
        node = y.grad_fn
        assert node.name() == "torch::autograd::NotImplemented"
        assert type(node).__name__ == "NotImplemented"
        assert names(node)[0] == "CloneBackward0"
        assert error(lambda y=y: (y * 2).sum().backward()) == (
            "RuntimeError: derivative for set_ is not implemented"
        )
    plain = torch.ones(2)
    plain.set_(x * 2)
    assert plain.requires_grad and plain.grad_fn.name() == "torch::autograd::NotImplemented"


def test_e25_set_obeys_the_rules_of_writing(torch):
    assert error(lambda: torch.ones(2, requires_grad=True).set_(torch.ones(3))) == (
        "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation."
    )
    assert error(lambda: torch.ones(2).set_(3)).startswith(
        "TypeError: set_() received an invalid combination of arguments - got (int), but expected"
    )


# --- E25: leaves -------------------------------------------------------------------------------


def new_data(x, data):
    x.data = data


def new_storage(torch):
    def change(x, data):
        with torch.no_grad():
            x.set_(data)

    return change


def test_e25_an_old_graph_ends_in_the_leaf_as_it_was(torch):
    for change in (new_data, new_storage(torch)):
        x = torch.ones(2, requires_grad=True)
        y = (x * 2).sum()
        change(x, torch.ones(3))
        y.backward()
        assert values(x.grad) == [2.0, 2.0]
        del y
        x.grad = None
        (x * 5).sum().backward()
        assert values(x.grad) == [5.0, 5.0, 5.0]


def test_e25_an_old_graph_gives_gradients_in_the_old_dtype(torch):
    x = torch.ones(2, requires_grad=True)
    y = (x * 2).sum()
    x.data = torch.ones(2, dtype=torch.float64)
    y.backward()
    assert x.grad.dtype is torch.float32
    (x * 3).sum().backward()
    assert (values(x.grad), x.grad.dtype) == ([5.0, 5.0], torch.float32)


def test_e25_grad_finds_a_leaf_by_its_accumulator(torch):
    x = torch.ones(2, requires_grad=True)
    y = (x * 2).sum()
    x.data = torch.ones(3)  # keeps it
    assert values(torch.autograd.grad(y, x, retain_graph=True)[0]) == [2.0, 2.0]
    x.data = torch.ones(3, dtype=torch.float64)  # another
    assert "appears to not have been used" in error(lambda: torch.autograd.grad(y, x))


def test_e25_another_dtype_or_storage_means_another_accumulator(torch):
    def accumulator(y):
        return y.grad_fn.next_functions[0][0]

    for change, data in (
        (new_data, torch.ones(2, dtype=torch.float64)),
        (new_storage(torch), torch.ones(2)),
    ):
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        change(x, data)
        z = x * 2
        assert accumulator(y) is not accumulator(z)
        assert accumulator(y) is accumulator(y)
        assert list(accumulator(y)._input_metadata[0].shape) == [2]
        assert accumulator(z)._input_metadata[0].dtype is data.dtype
        assert accumulator(y).variable is x


def test_e25_a_saved_leaf_of_another_shape_does_not_fit(torch):
    x = torch.ones(2, requires_grad=True)
    w = torch.ones(2, requires_grad=True)
    y = (x * w).sum()
    x.data = torch.ones(3)
    assert error(y.backward) == (
        "RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at "
        "non-singleton dimension 0"
    )


def test_e25_a_leaf_turned_in_place_takes_gradients_of_older_graphs(torch):
    x = torch.ones(2, 3, requires_grad=True)
    y = (x * 2).sum()
    with torch.no_grad():
        x.unsqueeze_(0)
    y.backward()
    assert values(x.grad.view(6)) == [2.0] * 6
    z = torch.ones(2, 3, requires_grad=True)
    y = (z * 2).sum()
    z.detach_().t_()
    y.backward()
    assert z.grad is None


def test_l11_hooks_outlive_new_data(torch):
    seen = []
    x = torch.nn.Parameter(torch.ones(2))
    x.register_hook(lambda grad: seen.append(tuple(grad.shape)))
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(values(leaf.grad)))
    with torch.no_grad():
        x.set_(torch.ones(3))
    (x * 2).sum().backward()
    assert seen == [(3,), [2.0, 2.0, 2.0]]
