"""X4: the imaginary part of a conjugate is a negative view: reading, writing, gradients."""

from __future__ import annotations

import pytest


def vector(torch):
    return torch.tensor([1 + 2j, 3 - 4j])


def test_x4_the_imaginary_part_of_a_conjugate_is_a_negative_view(torch):
    z = vector(torch)
    part = z.conj().imag
    assert part.is_neg() and not part.is_conj()
    assert part.tolist() == [-2, 4]
    assert part._base is z and part.data_ptr() == z.imag.data_ptr() and part.stride() == (2,)
    z[0] = 5j
    assert part.tolist() == [-5, 4]
    assert not z.imag.is_neg() and not z.conj().real.is_neg()


def test_x4_writing_a_negative_view_writes_what_it_is_the_negative_of(torch):
    z = vector(torch)
    z.conj().imag[0] = 9
    assert z.tolist() == [1 - 9j, 3 - 4j]
    z.conj().imag.zero_()
    assert z.imag.tolist() == [0, 0]
    x = torch.ones(3)
    negative = torch._neg_view(x)
    negative.mul_(2)
    assert x.tolist() == [2, 2, 2]
    negative.copy_(torch.tensor([1.0, 2.0, 3.0]))
    assert x.tolist() == [-1, -2, -3] and negative._version == x._version == 2
    torch.add(x, 1, out=negative)
    assert x.tolist() == [0, 1, 2]


def test_x4_what_keeps_a_negation_and_what_does_it(torch):
    part = vector(torch).conj().imag
    kept = [part.view(1, 2), part[0], part.t(), part.detach(), part.data, part.expand(3, 2)]
    kept += [part.unsqueeze(0), part.chunk(2)[0], part.to(torch.float32)]
    assert [each.is_neg() for each in kept] == [True] * len(kept)
    done = [part + 0, part.clone(), part.resolve_neg(), -part, part.contiguous(), part.double()]
    assert [each.is_neg() for each in done] == [False] * len(done)
    assert done[2].tolist() == [-2, 4]
    x = torch.ones(2)
    assert x.resolve_neg() is x and part.resolve_conj() is part


def test_x4_two_changes_make_one_or_none(torch):
    z = vector(torch)
    assert not torch._neg_view(torch._neg_view(z)).is_neg()
    both = torch._neg_view(z).conj()
    assert both.is_neg() and both.is_conj()
    assert both.tolist() == [-1 + 2j, -3 - 4j]
    assert not both.imag.is_neg() and both.imag.tolist() == [2, -4]
    assert both.real.is_neg() and both.real.tolist() == [-1, -3]
    both.zero_()
    assert z.tolist() == [0, 0]


def test_x4_gradients_pass_a_negative_view(torch):
    z = vector(torch).requires_grad_()
    part = z.conj().imag
    assert part.grad_fn.name() == "SelectBackward0"
    assert part.grad_fn.next_functions[0][0].name() == "NegViewBackward0"
    assert torch.autograd.grad(part.sum(), z)[0].tolist() == [-1j, -1j]
    x = torch.ones(2, requires_grad=True)
    y = x * 1
    torch._neg_view(y).mul_(3)
    assert y.grad_fn.name() == "torch::autograd::CopySlices"
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [3, 3]


def test_x4_numpy_wants_the_negation_done(torch):
    part = vector(torch).conj().imag
    with pytest.raises(RuntimeError, match="negative bit set. Use tensor.resolve_neg"):
        part.numpy()
    assert part.numpy(force=True).tolist() == [-2, 4]
