"""V21, W6, W9: private methods of tensors that tools and tests use."""

from __future__ import annotations

from autograd_probe import error, names, values


def test_v21_a_view_can_be_made_of_another_base(torch):
    view = torch.arange(6.0).view(2, 3).clone()[1:]
    base = torch.ones(2, 3)
    made = view._view_func(base)
    assert values(made) == [[1.0, 1.0, 1.0]]
    assert made._base is base
    through = torch.arange(6.0).clone().view(3, 2).t()[0]
    assert values(through._view_func(torch.arange(6.0) * 2)) == [0.0, 4.0, 8.0]


def test_v21_the_view_of_a_recorded_base_is_recorded(torch):
    view = torch.zeros(2, 3)[1]
    base = torch.ones(2, 3, requires_grad=True) * 2
    made = view._view_func(base)
    assert made.grad_fn.name() == "AsStridedBackward0"
    assert names(made.grad_fn) == ["MulBackward0"]


def test_v21_another_layout_of_the_base_gives_nothing(torch):
    view = torch.zeros(2, 3)[1]
    assert view._view_func(torch.ones(3, 3)) is None
    assert view._view_func(torch.ones(3, 2).t()) is None
    assert values(view._view_func_unsafe(torch.arange(9.0).view(3, 3))) == [3.0, 4.0, 5.0]
    assert torch.zeros(2)._view_func(torch.zeros(2)) is None
    assert torch.zeros(2)._view_func_unsafe(torch.zeros(2)) is None


def test_v21_views_of_another_dtype_and_of_several_outputs(torch):
    numbers = torch.ones(2, dtype=torch.complex64) * 2
    base = torch.ones(2, dtype=torch.complex64)
    assert values(torch.view_as_real(numbers)._view_func(base)) == [[1.0, 0.0], [1.0, 0.0]]
    part = torch.zeros(2, 3).unbind()[1]
    assert values(part._view_func(torch.ones(2, 3))) == [1.0, 1.0, 1.0]


def test_v21_the_base_must_be_a_tensor(torch):
    assert error(lambda: torch.zeros(2)[:1]._view_func(3)) == (
        "TypeError: _view_func(): argument 'new_base' (position 1) must be Tensor, not int"
    )


def test_w6_use_count_counts_graphs_and_views(torch):
    x = torch.ones(2, requires_grad=True)
    other = x
    counts = [x._use_count()]
    y = x + 1
    counts.append(x._use_count())
    z = x * x
    counts.append(x._use_count())
    view = x[0]
    counts.append(x._use_count())
    del y, z, view
    counts.append(other._use_count())
    assert counts == [1, 2, 4, 5, 1]


def test_w9_a_weak_reference_tells_when_the_tensor_is_gone(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * x
    reference = torch._C._WeakTensorRef(x)
    del x
    assert not reference.expired()
    del y
    assert reference.expired()
