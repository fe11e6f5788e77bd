"""X4: `conj()` is a view that shows memory conjugated: reading, writing, gradients."""

from __future__ import annotations

import copy
import io
import pickle

import pytest


def matrix(torch):
    return torch.tensor([[1 + 2j, 3 - 1j], [0j, 2j]])


def test_x4_a_conjugate_shares_memory_and_version(torch):
    c = matrix(torch)
    y = c.conj()
    assert y.is_conj() and not c.is_conj()
    assert y._is_view() and y._base is c
    assert y.data_ptr() == c.data_ptr() and y.stride() == c.stride()
    c[0, 0] = 9.0
    assert y.tolist() == [[9, 3 + 1j], [0, -2j]]
    assert y._version == c._version == 1


def test_x4_writing_a_conjugate_writes_what_it_is_the_conjugate_of(torch):
    c = matrix(torch)
    y = c.conj()
    y[1, 1] = 1 + 1j
    assert c[1, 1].item() == 1 - 1j
    y.mul_(1j)
    assert c.tolist() == [[2 - 1j, -1 - 3j], [0, -1 - 1j]]
    part = y[0]
    assert part.is_conj()
    part.zero_()
    assert c.tolist() == [[0, 0], [0, -1 - 1j]]
    y.copy_(torch.tensor(3j))
    assert c[0, 0].item() == -3j
    torch.mul(matrix(torch), 2, out=y)
    assert c.tolist() == [[2 - 4j, 6 + 2j], [0, -4j]]


def test_x4_the_conjugate_of_a_conjugate_is_the_memory(torch):
    c = matrix(torch)
    twice = c.conj().conj()
    assert not twice.is_conj() and twice._base is c
    twice[0, 0] = 7j
    assert c[0, 0].item() == 7j


def test_x4_what_keeps_a_conjugation_and_what_does_it(torch):
    c = matrix(torch)
    y = c.conj()
    kept = [y.t(), y.view(4), y[0], y.detach(), y.data, y.contiguous(), c.mH, c.H, c.adjoint()]
    assert [each.is_conj() for each in kept] == [True] * len(kept)
    assert all(each.is_conj() for each in (*y.unbind(0), *y.split(1)))
    done = [y + 1, y.clone(), y.resolve_conj(), y.mH, torch.zeros_like(y), torch.conj_physical(c)]
    assert [each.is_conj() for each in done] == [False] * len(done)
    assert c.resolve_conj() is c
    assert not torch.ones(2).conj().is_conj()
    assert y.real.tolist() == [[1, 3], [0, 0]] and y.imag.tolist() == [[-2, 1], [0, -2]]


def test_x4_a_detached_conjugate_still_shares(torch):
    c = matrix(torch)
    y = c.conj()
    y.detach().add_(1j)
    assert c[0, 0].item() == 1 + 1j
    assert y._version == c._version == 1


def test_x4_what_a_conjugate_refuses(torch):
    y = matrix(torch).conj()
    with pytest.raises(RuntimeError, match="Tensor that has conjugate bit set"):
        y.numpy()
    with pytest.raises(RuntimeError, match="view_as_real doesn't work on unresolved conjugated"):
        torch.view_as_real(y)
    assert y.resolve_conj().numpy().tolist() == y.tolist()


def test_x4_copies_of_a_conjugate_have_its_values(torch):
    y = matrix(torch).conj()
    assert copy.deepcopy(y).tolist() == y.tolist()
    again = pickle.loads(pickle.dumps(y))
    assert again.tolist() == y.tolist() and again.is_conj()
    again = pickle.loads(pickle.dumps(y[1].imag))
    assert again.tolist() == [0, -2] and again.is_neg()
    assert str(y[0]) == "tensor([1.-2.j, 3.+1.j])"


def test_x4_gradients_through_a_conjugate(torch):
    z = torch.tensor([1 + 2j, 3.0], requires_grad=True)
    w = z.conj()
    assert type(w.grad_fn).__name__ == "ConjBackward0"
    (w * w).real.sum().backward()
    assert z.grad.tolist() == [2 - 4j, 6]


def test_x4_gradients_after_writing_the_conjugate(torch):
    z = torch.tensor([1 + 2j, 3.0], requires_grad=True)
    base = z.clone()
    w = base.conj()
    w.mul_(2j)
    assert type(base.grad_fn).__name__ == "CopySlices"
    assert base.tolist() == [4 - 2j, -6j]
    base.abs().sum().backward()
    assert z.grad[0].item() == pytest.approx(0.8944272 + 1.7888544j)
    assert z.grad[1].item() == pytest.approx(2)


def test_x4_gradients_after_writing_the_base(torch):
    z = torch.tensor([1 + 2j, 3.0], requires_grad=True)
    base = z.clone()
    w = base.conj()
    base.mul_(2j)
    (w * (1 + 1j)).real.sum().backward()
    assert z.grad.tolist() == [2 - 2j, 2 - 2j]


def test_x4_gradients_after_writing_part_of_a_conjugate(torch):
    z = torch.tensor([1 + 2j, 3.0], requires_grad=True)
    base = z.clone()
    base.conj()[:1].add_(3j)
    (base * base).real.sum().backward()
    assert z.grad.tolist() == [2 + 2j, 6]


def test_x4_products_with_conjugates(torch):
    c = matrix(torch)
    assert (c.mH @ c).tolist() == [[5, 1 - 7j], [1 + 7j, 14]]
    assert torch.dot(c[0].conj(), c[1]).item() == torch.vdot(c[0], c[1]).item()


# --- leaves ------------------------------------------------------------------------------------


def a_conjugate_leaf(torch, way):
    number = torch.tensor([1 + 2j])
    if way == "detached":
        return number.conj().detach().requires_grad_()
    if way == "a view":
        return number.conj().requires_grad_()
    if way == "parameter":
        return torch.nn.Parameter(number.conj())
    file = io.BytesIO()
    torch.save(number.conj(), file)
    file.seek(0)
    return torch.load(file).requires_grad_()


@pytest.mark.parametrize("way", ["detached", "a view", "parameter", "loaded"])
def test_found_c1_a_conjugate_may_be_a_leaf(torch, way):
    leaf = a_conjugate_leaf(torch, way)
    for times in (1, 2):
        (leaf * leaf).abs().sum().backward()
        assert leaf.grad.tolist() == [times * (2 - 4j)]
    assert leaf.is_leaf and leaf.is_conj() and not leaf.grad.is_conj()
    assert torch.autograd.grad((leaf * leaf).abs().sum(), leaf)[0].tolist() == [2 - 4j]


def test_found_c1_a_conjugate_number_may_be_a_leaf(torch):
    leaf = torch.tensor(1 + 2j).conj().detach().requires_grad_()
    (leaf * leaf).abs().backward()
    assert leaf.grad.item() == 2 - 4j


def test_found_c1_a_negative_may_be_a_leaf(torch):
    leaf = torch.tensor([1 + 2j]).conj().imag.requires_grad_()
    (leaf * leaf).sum().backward()
    assert leaf.is_neg() and leaf.is_leaf
    assert leaf.grad.tolist() == [-4.0]


WAYS = {
    "unsqueeze_": (lambda t: t.unsqueeze_(1), (2, 1, 2)),
    "t_": (lambda t: t.t_(), (2, 2)),
    "transpose_": (lambda t: t.transpose_(0, 1), (2, 2)),
    "swapaxes_": (lambda t: t.swapaxes_(0, 1), (2, 2)),
    "squeeze_": (lambda t: t.squeeze_(), (2, 2)),
    "as_strided_": (lambda t: t.as_strided_((4,), (1,)), (4,)),
    "resize_": (lambda t: t.resize_(4), (4,)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("lazy", ["conj", "_neg_view"])
def test_found_w1_a_conjugate_that_changes_its_shape_in_place_stays_on_its_memory(torch, lazy, way):
    base = torch.tensor([[1 + 2j, 3 + 4j], [5 + 6j, 7 + 8j]])
    view = base.conj() if lazy == "conj" else torch._neg_view(base)
    change, shape = WAYS[way]
    change(view)
    assert tuple(view.shape) == shape and (view.is_conj(), view.is_neg()) == (
        lazy == "conj",
        lazy != "conj",
    )
    view.mul_(2)
    assert base.tolist() == [[2 + 4j, 6 + 8j], [10 + 12j, 14 + 16j]]
    assert (view._version, base._version) == (2, 2)


def test_found_w1_the_imaginary_part_of_a_conjugate_changes_its_shape_in_place(torch):
    leaf = torch.tensor([[1 + 2j, 3 + 4j]]).requires_grad_()
    base = leaf * 1
    view = base.conj().imag
    view.t_()
    assert (view.stride(), view.storage_offset(), view.is_neg()) == ((2, 4), 1, True)
    view.mul_(3)
    assert base.tolist() == [[1 + 6j, 3 + 12j]] and view.tolist() == [[-6], [-12]]
    (base.real**2 + base.imag**2).sum().backward()
    assert leaf.grad.tolist() == [[2 + 36j, 6 + 72j]]


def test_found_w1_strides_of_a_negative_view_count_in_its_storage(torch):
    numbers = torch.tensor([1 + 2j, 3 + 4j])
    negative = numbers.conj().imag
    assert negative.as_strided((2, 2), (2, 1), 0).tolist() == [[-1, -2], [-3, -4]]
    assert negative.untyped_storage().nbytes() == 16  # D9
    assert negative.untyped_storage().data_ptr() == numbers.data_ptr()


def test_found_w1_a_negative_view_is_written_where_nothing_is_recorded(torch):
    base = torch.tensor([1.0, 2.0])
    with torch.no_grad():
        torch._neg_view(base).mul_(3)
    torch._neg_view(base).detach().add_(1)
    assert base.tolist() == [2.0, 5.0]


def test_found_e4_the_tangent_of_a_conjugate_is_a_conjugate_too(torch):
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(matrix(torch).conj(), torch.full((2, 2), 5 + 6j))
        assert forward_ad.unpack_dual(dual.real).tangent.tolist() == [[5.0, 5.0], [5.0, 5.0]]
        assert forward_ad.unpack_dual(dual.imag).tangent.tolist() == [[6.0, 6.0], [6.0, 6.0]]
        assert forward_ad.unpack_dual(dual.conj()).tangent[0, 0].item() == 5 - 6j


def test_found_e5_a_function_may_return_a_conjugate_as_it_is(torch):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    leaf = matrix(torch).requires_grad_()
    for view in (leaf.conj(), torch._neg_view(leaf), leaf.conj().imag):
        result = Same.apply(view)
        assert (result.is_conj(), result.is_neg()) == (view.is_conj(), view.is_neg())
        assert result is not view and result.tolist() == view.tolist()
    result.sum().backward()
    assert leaf.grad.tolist() == [[-2j, -2j], [-2j, -2j]]
    assert Same.apply(matrix(torch).conj())._version == 0


@pytest.mark.parametrize("before", [False, True])
def test_found_e6_a_conjugate_made_in_no_grad_hands_its_gradient_to_nobody(torch, before):
    leaf = matrix(torch).requires_grad_()
    base = leaf * 1 if before else leaf
    for make in (torch.conj, torch._neg_view, lambda each: each.conj().imag):
        with torch.no_grad():
            view = make(base)
        assert view.requires_grad and view.is_leaf
        view.real.sum().backward()
        assert leaf.grad is None and view.grad is None


def test_found_w1_an_expanded_conjugate_is_not_written(torch):
    wide = matrix(torch)[:1].conj().expand(3, 2)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        wide.mul_(2)


# --- C1: a conjugate of a class of its own ---------------------------------------------------


def test_found_c1_a_parameter_on_a_conjugate_is_a_parameter(torch):
    base = torch.tensor([1 + 2j, 3 - 1j])
    for conjugate, text in (
        (base.conj(), "[1.-2.j, 3.+1.j]"),
        (base.conj().imag, "[-2.,  1.]"),
    ):
        parameter = torch.nn.Parameter(conjugate)
        assert isinstance(parameter, torch.nn.Parameter)
        assert parameter.__class__ is torch.nn.Parameter
        assert repr(parameter) == f"Parameter containing:\ntensor({text}, requires_grad=True)"
        assert (parameter.is_conj(), parameter.is_neg()) == (
            conjugate.is_conj(),
            conjugate.is_neg(),
        )
    module = torch.nn.Module()
    module.weight = torch.nn.Parameter(base.conj())
    assert [name for name, _ in module.named_parameters()] == ["weight"]
    assert module.state_dict()["weight"].is_conj()


def test_found_c1_a_parameter_on_a_conjugate_is_trained_where_it_lies(torch):
    base = torch.tensor([1 + 2j, 3 - 1j])
    parameter = torch.nn.Parameter(base.conj())
    optimizer = torch.optim.SGD([parameter], 0.1)
    (parameter.abs() ** 2).sum().backward()
    optimizer.step()
    assert torch.allclose(parameter.grad, torch.tensor([2 - 4j, 6 + 2j]))
    assert torch.allclose(base, torch.tensor([0.8 + 1.6j, 2.4 - 0.8j]))


def test_found_c1_copies_of_a_parameter_on_a_conjugate(torch):
    parameter = torch.nn.Parameter(torch.tensor([1 + 2j]).conj())
    ways = (
        copy.copy,
        copy.deepcopy,
        lambda each: pickle.loads(pickle.dumps(each)),
        through_file(torch),
    )
    for way, conjugated in zip(ways, (True, False, True, True), strict=True):
        made = way(parameter)
        assert made.__class__ is torch.nn.Parameter and made.requires_grad
        assert made.is_conj() is conjugated and made.tolist() == [1 - 2j]


def through_file(torch):
    def way(tensor):
        buffer = io.BytesIO()
        torch.save(tensor, buffer)
        buffer.seek(0)
        return torch.load(buffer)

    return way


def test_found_c1_a_conjugate_may_be_of_a_class_of_the_user(torch):
    class Marked(torch.Tensor):
        pass

    base = torch.tensor([1 + 2j, 3 - 1j])
    for made in (base.conj().as_subclass(Marked), torch.Tensor._make_subclass(Marked, base.conj())):
        assert made.__class__ is Marked and isinstance(made, Marked) and made.is_conj()
        assert repr(made) == "Marked([1.-2.j, 3.+1.j])"
        assert made.data_ptr() == base.data_ptr()
        back = made.as_subclass(torch.Tensor)
        assert back.__class__ is torch.Tensor and back.is_conj()


def test_found_c1_data_may_become_a_conjugate_and_plain_again(torch):
    base = torch.tensor([1 + 2j, 3 - 1j])
    x = torch.tensor([0j, 0j])
    part = x[:1]
    x.data = base.conj()
    assert x.is_conj() and x.data_ptr() == base.data_ptr() and x.tolist() == [1 - 2j, 3 + 1j]
    assert part.tolist() == [0] and x[:1].is_conj()
    x.mul_(2)
    x[0] = 1j
    assert base.tolist() == [-1j, 6 - 2j]
    x.data = base
    assert not x.is_conj() and x.tolist() == [-1j, 6 - 2j] and not x[:1].is_conj()
    real = torch.tensor([0.0, 0.0])
    real.data = base.conj().imag
    assert real.is_neg() and real.mul_(2).tolist() == [2, 4]


def test_found_c1_a_parameter_whose_data_became_a_conjugate(torch):
    parameter = torch.nn.Parameter(torch.tensor([0j, 0j]))
    parameter.data = torch.tensor([1 + 2j, 3 - 1j]).conj()
    assert parameter.is_conj() and repr(parameter).startswith("Parameter containing:\n")
    (parameter * parameter).sum().abs().backward()
    expected = torch.tensor([0.3714 + 4.4567j, 6.3136 + 0.3714j])
    assert torch.allclose(parameter.grad, expected, atol=1e-4)
