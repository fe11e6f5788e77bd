"""Operators over lists: one node for all results, gradients of both orders, errors."""

from __future__ import annotations

import pytest

import taper as torch
from both_packages import Maker
from foreach_programs import BINARY, UNARY, between, binary, unary

LISTS = [name for name in dir(torch) if name.startswith("_foreach_")]


def leaves():
    return [
        torch.tensor([0.4, 0.25], dtype=torch.float64, requires_grad=True),
        torch.tensor([[0.75]], dtype=torch.float64, requires_grad=True),
    ]


def checked(function, *lists):
    """Run gradcheck and gradgradcheck of a function of lists."""
    sizes = [len(each) for each in lists]

    def flat(*tensors):
        rest, given = list(tensors), []
        for size in sizes:
            given.append(rest[:size])
            rest = rest[size:]
        return tuple(function(*given))

    tensors = [each for part in lists for each in part]
    check = torch.autograd.gradcheck(flat, tensors)
    return check and torch.autograd.gradgradcheck(flat, tensors)


def test_there_are_all_of_them():
    assert len(LISTS) == 91


@pytest.mark.parametrize("name", UNARY)
def test_a_function_of_one_list_is_the_operator_of_each(name):
    make = Maker(torch)
    tensors = between(make)
    for one, each in zip(getattr(torch, f"_foreach_{name}")(tensors), tensors, strict=True):
        assert torch.equal(one, getattr(each, name)())
    assert checked(getattr(torch, f"_foreach_{name}"), leaves())


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("other", ["2.0", "[0.5, 2.0]", "other"])
def test_in_place_and_not_give_the_same(name, other):
    plain = binary(name, other)(torch, Maker(torch))
    written = binary(name, other, True)(torch, Maker(torch))
    for one, each in zip(plain, written, strict=True):
        assert torch.equal(one, each)
    assert plain[0].grad_fn is plain[1].grad_fn  # one node for the list, one each in place
    assert written[0].grad_fn is not written[1].grad_fn


def test_gradients_of_both_orders():
    assert checked(torch._foreach_mul, leaves(), leaves())
    assert checked(torch._foreach_div, leaves(), leaves())
    assert checked(torch._foreach_pow, leaves(), leaves())
    assert checked(lambda a: torch._foreach_pow(2.0, a), leaves())
    assert checked(torch._foreach_norm, leaves())
    assert checked(lambda a, b, c: torch._foreach_addcmul(a, b, c, [1.0, 2.0]), *[leaves()] * 3)
    assert checked(torch._foreach_lerp, leaves(), leaves(), leaves())


def test_a_scalar_that_all_share_gets_the_sum():
    scalar = torch.tensor(2.0, requires_grad=True)
    first, second = torch._foreach_mul([torch.ones(2), torch.ones(3)], scalar)
    assert torch.autograd.grad(first.sum() + 3 * second.sum(), scalar)[0] == 11


def test_an_output_that_nobody_uses_costs_nothing():
    x, y = leaves()
    found = torch.autograd.grad(torch._foreach_exp([x, y])[1].sum(), [x, y], allow_unused=True)
    assert found[0] is None
    assert torch.equal(found[1], y.exp())


def test_the_node_is_freed_and_versions_are_checked():
    results = torch._foreach_exp(leaves())
    results[0].sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        results[0].sum().backward()
    results = torch._foreach_exp(leaves())
    results[0].add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        results[0].sum().backward()


def test_saved_values_are_tuples():
    x, y = leaves()
    node = torch._foreach_norm([x, y])[0].grad_fn
    assert node._saved_self == (x, y)
    assert node._saved_ord == 2
    assert node._saved_result[1].grad_fn is node


def test_what_has_no_derivative_says_so():
    with pytest.raises(RuntimeError, match="derivative for aten::_foreach_powsum is not"):
        torch._foreach_powsum(leaves())[0].backward()


def test_nothing_is_recorded_in_no_grad_mode():
    with torch.no_grad():
        assert unary("exp")(torch, Maker(torch))[0].grad_fn is None


def test_tangents_follow_each_tensor():
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(torch.ones(2), torch.full((2,), 3.0))
        first, second = torch._foreach_mul([dual, torch.ones(2)], 2)
        tangent = torch.autograd.forward_ad.unpack_dual(first).tangent
        assert tangent.tolist() == [6, 6]
        assert torch.autograd.forward_ad.unpack_dual(second).tangent is None
