"""V: views, writing in place, and where it is forbidden."""

from __future__ import annotations

import pytest

from autograd_probe import error, names, values

NO_GRAD_BLOCK = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the no_grad block (if you "
    "don't want the inplace to be tracked) or both outside (if you want the inplace to be tracked)."
)
MULTIPLE = (
    "This view is the output of a function that returns multiple views. Such functions do not "
    "allow the output views to be modified inplace. You should replace the inplace operation by an "
    "out-of-place one."
)
LEAF = "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation."
VIEW_OF_LEAF = (
    "RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place "
    "operation."
)


def leaf(torch, *shape):
    return torch.ones(*shape, requires_grad=True)


VIEWS = {
    "select": lambda x: x.select(0, 1),
    "slice": lambda x: x[1:],
    "index": lambda x: x[0],
    "view": lambda x: x.view(6),
    "reshape": lambda x: x.reshape(6),
    "transpose": lambda x: x.transpose(0, 1),
    "permute": lambda x: x.permute(1, 0),
    "t": lambda x: x.t(),
    "T": lambda x: x.T,
    "expand": lambda x: x.unsqueeze(0).expand(4, 2, 3),
    "narrow": lambda x: x.narrow(1, 0, 2),
    "squeeze": lambda x: x.squeeze(),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "unbind": lambda x: x.unbind()[0],
    "split": lambda x: x.split(1)[0],
    "chunk": lambda x: x.chunk(2)[0],
    "diagonal": lambda x: x.diagonal(),
    "unfold": lambda x: x.unfold(1, 2, 1),
    "as_strided": lambda x: x.as_strided((2,), (3,)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_v1_view_operations_share_memory_and_know_their_root(torch, name):
    base = torch.arange(6.0).view(6).clone().view(2, 3)
    root = base._base
    view = VIEWS[name](base)
    assert view._is_view()
    assert view._base is root
    root.add_(10)
    assert view.flatten()[0].item() >= 10
    assert view._version == 1
    chained = VIEWS["view"](torch.ones(2, 3)).view(3, 2).t()
    assert chained._base is not None
    assert not torch.ones(2, 3)._is_view()


def test_v1_detach_shares_memory_but_is_no_tracked_view(torch):
    base = leaf(torch, 2)
    alias = base.detach()
    assert not alias._is_view()
    assert alias._base is None
    assert alias.data_ptr() == base.data_ptr()
    assert not alias.requires_grad


def test_v2_writing_in_place_returns_the_tensor_and_makes_the_history(torch):
    x = leaf(torch, 2)
    y = x * 2
    assert y.add_(1) is y
    assert y._version == 1
    assert y.grad_fn.name() == "AddBackward0"
    assert names(y.grad_fn)[0] == "MulBackward0"
    before = y
    y *= 3
    assert y is before
    assert y.grad_fn.name() == "MulBackward0"
    y.zero_()
    y.copy_(x)
    y.sum().backward()
    assert values(x.grad) == [1.0, 1.0]


def test_v3_writing_a_value_that_requires_grad_into_a_plain_tensor(torch):
    x = leaf(torch, 2)
    plain = torch.zeros(2)
    plain.add_(x)
    assert plain.requires_grad
    assert not plain.is_leaf
    base = torch.zeros(2, 2)
    other = base.select(0, 1)
    base.select(0, 0).copy_(x)
    assert base.requires_grad
    assert type(base.grad_fn).__name__ == "CopySlices"
    assert other.requires_grad
    (base * 3).sum().backward()
    assert values(x.grad) == [3.0, 3.0]


def test_v4_writing_a_view_rewrites_the_history_of_its_base(torch):
    x = leaf(torch, 2, 2)
    base = x * 1
    view = base.select(0, 0)
    view.mul_(3)
    assert type(base.grad_fn).__name__ == "CopySlices"
    assert names(base.grad_fn)[0] == "MulBackward0"
    assert view.grad_fn.name() == "AsStridedBackward0"
    assert names(view.grad_fn) == ["torch::autograd::CopySlices"]
    base.sum().backward()
    assert values(x.grad) == [[3.0, 3.0], [1.0, 1.0]]


def test_v4_writing_the_base_regenerates_its_views(torch):
    x = leaf(torch, 2, 2)
    base = x * 1
    view = base.select(0, 0)
    part = view[1:]
    base.mul_(3)
    assert view.grad_fn.name() == "AsStridedBackward0"
    (view.sum() + part.sum()).backward()
    assert values(x.grad) == [[3.0, 6.0], [0.0, 0.0]]


def test_v4_views_of_views_siblings_and_transposed_views(torch):
    x = leaf(torch, 3, 3)
    base = x * 1
    column = base.t()[0]
    sibling = base[:2]
    column[1:].mul_(5)
    sibling.add_(sibling.detach().clone())
    (base * base).sum().backward()
    assert values(x.grad) == [[4.0, 4.0, 4.0], [100.0, 4.0, 4.0], [50.0, 2.0, 2.0]]


def test_v4_double_backward_through_a_written_view(torch):
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    base = x * x
    base[:1].mul_(x[:1])
    (grad,) = torch.autograd.grad(base.sum(), x, create_graph=True)
    assert values(grad) == [12.0, 6.0]
    assert values(torch.autograd.grad(grad.sum(), x)[0]) == [12.0, 2.0]


def test_v4_double_backward_through_a_write(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    y.mul_(x)
    (grad,) = torch.autograd.grad(y, x, create_graph=True)
    assert values(torch.autograd.grad(grad, x)[0]) == 12.0


def test_v5_setitem_writes_through_a_view_or_by_index(torch):
    x = leaf(torch, 3, 2)
    value = leaf(torch, 2)
    y = x * 2
    y[0] = value
    assert type(y.grad_fn).__name__ == "CopySlices"
    y[1:] = value * 5
    (y * 3).sum().backward()
    assert values(x.grad) == [[0.0, 0.0]] * 3
    assert values(value.grad) == [33.0, 33.0]
    z = leaf(torch, 3) * 2
    z[torch.tensor([0, 2])] = 7.0
    assert z.grad_fn.name() == "IndexPutBackward0"
    z[torch.tensor([True, False, False])] = 1.0
    assert z.grad_fn.name() == "IndexPutBackward0"
    assert values(z) == [1.0, 2.0, 7.0]


def test_v6_a_view_is_brought_up_to_date_when_it_is_used(torch):
    x = leaf(torch, 2, 2)
    base = torch.zeros(2, 2)
    view = base.select(0, 0)
    assert not view.requires_grad
    base.add_(x)
    with torch.no_grad():
        assert view.requires_grad
        assert view.grad_fn.name() == "AsStridedBackward0"
        assert not view.is_leaf


@pytest.mark.taper_only
def test_v6_a_view_that_was_not_looked_at_may_be_written(torch):
    # PyTorch 2.13 takes it for a leaf unless its `grad_fn` was read before.
    x = leaf(torch, 3)
    base = torch.ones(3)
    view = base[1:]
    base.mul_(x)
    view.mul_(5)
    base.sum().backward()
    assert values(x.grad) == [1.0, 5.0, 5.0]


def test_v7_the_old_node_of_a_written_view_does_not_run(torch):
    ran = []

    class Note(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            ran.append(1)
            return grad

    x = leaf(torch, 2, 2)
    value = leaf(torch, 2)
    base = x * 1
    view = base.select(0, 0)
    view.mul_(Note.apply(value))
    torch.autograd.grad(base.sum(), x, retain_graph=True)
    assert ran == []
    torch.autograd.grad(base.sum(), value)
    assert ran == [1]


def test_v8_the_history_of_a_view_outlives_the_view(torch):
    x = leaf(torch, 2, 2)
    base = x * 1
    view = base.select(0, 0)
    view.mul_(3)
    total = view.sum()
    del view, base
    total.backward()
    assert values(x.grad) == [[3.0, 3.0], [0.0, 0.0]]


def test_v9_a_leaf_that_requires_grad_may_not_be_written(torch):
    x = leaf(torch, 2)
    assert error(lambda: x.add_(1)) == LEAF
    assert error(lambda: x.view(2, 1).add_(1)) == VIEW_OF_LEAF
    assert error(lambda: x[0].add_(1)) == VIEW_OF_LEAF
    assert error(lambda: x.__setitem__(0, 5.0)) == VIEW_OF_LEAF
    assert values(x) == [1.0, 1.0]
    assert x._version == 0
    with torch.no_grad():
        x.add_(1)
        x[0] = 7.0
    assert values(x) == [7.0, 2.0]
    assert x.requires_grad
    y = torch.zeros(2)
    y.add_(1)
    y.requires_grad_()
    assert y.is_leaf


@pytest.mark.taper_only
def test_v9_the_refusal_names_the_line_that_made_the_view(torch):
    x = leaf(torch, 2)
    view = x.view(2, 1)  # the view
    with pytest.raises(RuntimeError) as caught:
        view.add_(1)
    first, made = str(caught.value).split("\n")
    assert f"RuntimeError: {first}" == VIEW_OF_LEAF
    assert made.startswith("The view was made at ")
    assert made.endswith(": view = x.view(2, 1)  # the view")


def test_v10_several_views_at_once_may_not_be_written(torch):
    base = leaf(torch, 2, 2).clone()
    for name, view in (
        ("Unbind", base.unbind()[0]),
        ("Split", base.split(1)[0]),
        ("View", base.unbind()[1].view(2, 1)),
    ):
        assert error(lambda view=view: view.add_(1)) == (
            f"RuntimeError: Output 0 of {name} is a view and is being modified inplace. {MULTIPLE}"
        )
    row = base.unbind()[1]
    base.add_(1)
    assert error(lambda: row.grad_fn) == (
        "RuntimeError: Output 1 of Unbind is a view and its base or another view of its base has "
        f"been modified inplace. {MULTIPLE}"
    )


def test_v10_it_is_allowed_where_no_gradient_is_involved(torch):
    plain = torch.ones(2, 2)
    row = plain.unbind()[0]
    row.add_(1)
    assert values(plain) == [[2.0, 2.0], [1.0, 1.0]]
    value = leaf(torch, 2)
    assert error(lambda: row.add_(value)).startswith("RuntimeError: ")
    assert not plain.requires_grad


def test_v11_a_view_made_in_no_grad_may_not_be_written_with_grad(torch):
    base = leaf(torch, 2, 2).clone()
    with torch.no_grad():
        view = base.view(4)
    assert error(lambda: view.add_(1)) == (
        "RuntimeError: A view was created in no_grad mode and is being modified inplace with grad "
        f"mode enabled. {NO_GRAD_BLOCK}"
    )
    assert error(lambda: view.view(2, 2).add_(1)) == (
        "RuntimeError: Output 0 of View is a view of a view which was created in no_grad mode and "
        f"is being modified inplace with grad mode enabled. {NO_GRAD_BLOCK}"
    )
    base.add_(1)
    assert error(lambda: view.grad_fn) == (
        "RuntimeError: A view was created in no_grad mode and its base or another view of its base "
        f"has been modified inplace with grad mode enabled. {NO_GRAD_BLOCK}"
    )
    assert error(lambda: view.add_(1)) == (
        "RuntimeError: A view was created in no_grad mode and is being modified inplace with grad "
        f"mode enabled. {NO_GRAD_BLOCK}"
    )


def test_v11_without_gradients_views_made_in_no_grad_are_plain(torch):
    with torch.no_grad():
        view = torch.ones(4).view(2, 2)
    view.add_(1)
    assert values(view) == [[2.0, 2.0], [2.0, 2.0]]


def test_v11_several_views_made_in_no_grad_count_as_made_in_no_grad(torch):
    base = leaf(torch, 2, 2).clone()
    with torch.no_grad():
        row = base.unbind()[0]
    assert error(lambda: row.add_(1)) == (
        "RuntimeError: A view was created in no_grad mode and is being modified inplace with grad "
        f"mode enabled. {NO_GRAD_BLOCK}"
    )


def test_v12_repr_of_a_view_without_a_valid_history(torch):
    base = leaf(torch, 2).clone()
    with torch.no_grad():
        view = base.view(2)
        view.zero_()
    assert repr(view) == "tensor([0., 0.], grad_fn=<Invalid>)"


def test_v15_view_operations_in_place(torch):
    x = leaf(torch, 2, 3)
    base = x * 1
    view = base[:1]
    view.t_()
    assert list(view.shape) == [3, 1]
    view.mul_(2)
    assert values(base) == [[2.0, 2.0, 2.0], [1.0, 1.0, 1.0]]
    base.sum().backward()
    assert values(x.grad) == [[2.0, 2.0, 2.0], [1.0, 1.0, 1.0]]
    assert error(lambda: x.t_()) == LEAF
    assert error(lambda: (x * 1).unbind()[0].unsqueeze_(0)).startswith(
        "RuntimeError: Output 0 of Unbind is a view and is being modified inplace. "
    )


def test_v16_what_a_write_may_not_do(torch):
    x = torch.ones(2)
    assert error(lambda: x.expand(3, 2).add_(1)) == (
        "RuntimeError: unsupported operation: more than one element of the written-to tensor "
        "refers to a single memory location. Please clone() the tensor before performing the "
        "operation."
    )
    assert error(lambda: x.add_(torch.ones(3, 2))) == (
        "RuntimeError: output with shape [2] doesn't match the broadcast shape [3, 2]"
    )
    assert error(lambda: torch.ones(2, dtype=torch.int64).add_(1.5)) == (
        "RuntimeError: result type Float can't be cast to the desired output type Long"
    )
    assert values(x) == [1.0, 1.0]
    assert x._version == 0


def test_v17_detach_in_place(torch):
    x = leaf(torch, 2)
    y = x * 2
    view = y.view(2, 1)
    assert error(view.detach_).startswith(
        "RuntimeError: Can't detach views in-place. Use detach() instead. "
    )
    assert y.detach_() is y
    assert y.is_leaf
    assert not y.requires_grad
    assert view.grad_fn.name() == "ViewBackward0"


def test_v18_resize_is_for_tensors_without_gradients(torch):
    x = leaf(torch, 2)
    assert error(lambda: x.resize_(3)) == (
        "RuntimeError: cannot resize variables that require grad"
    )
    y = torch.ones(4)
    y.resize_(4)
    assert y._version == 0
    y.resize_(2, 1)
    assert y._version == 1


def test_v19_copies_between_dtypes_are_differentiable(torch):
    x = leaf(torch, 2)
    wide = torch.zeros(2, dtype=torch.float64)
    wide.copy_(x)
    assert type(wide.grad_fn).__name__ == "CopyBackwards"
    assert names(wide.grad_fn) == ["None", "torch::autograd::AccumulateGrad"]
    (wide * 3).sum().backward()
    assert values(x.grad) == [3.0, 3.0]
    assert x.grad.dtype is torch.float32
    x.grad = None
    number = torch.zeros(2, dtype=torch.complex64)
    number.copy_(x)
    (number * (2 + 5j)).sum().backward(torch.ones((), dtype=torch.complex64))
    assert values(x.grad) == [2.0, 2.0]


def test_v20_out_is_not_for_recording(torch):
    x = leaf(torch, 2)
    out = torch.zeros(2)
    text = (
        "RuntimeError: add(): functions with out=... arguments don't support automatic "
        "differentiation, but one of the arguments requires grad."
    )
    assert error(lambda: torch.add(x, 1, out=out)) == text
    assert error(lambda: torch.add(out, 1, out=x)) == text
    with torch.no_grad():
        torch.add(x, 1, out=out)
    assert values(out) == [2.0, 2.0]
    assert out._version == 1


def test_v2_a_write_saved_as_result_is_checked(torch):
    x = leaf(torch, 2)
    y = (x * 1).exp_()
    y.sum().backward(retain_graph=True)
    y.add_(1)
    assert "which is output 0 of Exp, is at version 2; expected version 1 instead." in error(
        lambda: y.sum().backward()
    )


@pytest.mark.taper_only
def test_v4_a_function_that_returns_none_for_a_written_view_stops_only_that_part(torch):
    # PyTorch 2.13 drops the gradient of the whole base here, even of the unwritten part.
    class Write(torch.autograd.Function):
        @staticmethod
        def forward(ctx, view, value):
            view.mul_(value)
            ctx.mark_dirty(view)
            return view

        @staticmethod
        def backward(ctx, grad):
            return None, grad

    x = leaf(torch, 2, 2)
    value = leaf(torch, 2)
    base = x * 1
    Write.apply(base.select(0, 0), value)
    base.sum().backward()
    assert values(value.grad) == [1.0, 1.0]
    assert values(x.grad) == [[0.0, 0.0], [1.0, 1.0]]


def test_v13_a_view_of_inference_mode_may_not_be_written_outside(torch):
    base = torch.ones(2, requires_grad=True).clone()
    with torch.inference_mode():
        view = base[:1]
    with pytest.raises(RuntimeError, match="A view was created in inference mode and is being"):
        view.add_(1)
    base.add_(1)
    with pytest.raises(RuntimeError, match="created in inference mode and its base or another"):
        view.grad_fn


def test_v14_a_view_made_by_a_custom_function_may_not_be_written(torch):
    class Halves(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:2]

        @staticmethod
        def backward(ctx, grad):
            return torch.cat([grad, torch.zeros(2)])

    y = Halves.apply(torch.ones(4, requires_grad=True).clone())
    with pytest.raises(RuntimeError, match="This view was created inside a custom Function"):
        y.mul_(2)
