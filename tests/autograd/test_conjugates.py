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
    assert pickle.loads(pickle.dumps(y)).tolist() == y.tolist()
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
def test_c1_a_conjugate_may_be_a_leaf(torch, way):
    leaf = a_conjugate_leaf(torch, way)
    for times in (1, 2):
        (leaf * leaf).abs().sum().backward()
        assert leaf.grad.tolist() == [times * (2 - 4j)]
    assert leaf.is_leaf and leaf.is_conj() and not leaf.grad.is_conj()
    assert torch.autograd.grad((leaf * leaf).abs().sum(), leaf)[0].tolist() == [2 - 4j]


def test_c1_a_conjugate_number_may_be_a_leaf(torch):
    leaf = torch.tensor(1 + 2j).conj().detach().requires_grad_()
    (leaf * leaf).abs().backward()
    assert leaf.grad.item() == 2 - 4j


def test_c1_a_negative_may_be_a_leaf(torch):
    leaf = torch.tensor([1 + 2j]).conj().imag.requires_grad_()
    (leaf * leaf).sum().backward()
    assert leaf.is_neg() and leaf.is_leaf
    assert leaf.grad.tolist() == [-4.0]
