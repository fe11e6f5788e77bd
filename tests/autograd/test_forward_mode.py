"""D1 to D5, D7, D8, D11, D12: the interface of forward mode.

Views, writes, layout and lifetime are in `test_forward_views`, custom functions in
`test_function_jvp`.
"""

from __future__ import annotations

import importlib

import pytest

from autograd_probe import error, values


def forward_ad(torch):
    return importlib.import_module(f"{torch.__name__}.autograd.forward_ad")


def test_d1_there_is_one_level(torch):
    module = forward_ad(torch)
    assert module._current_level == -1
    with module.dual_level() as level:
        assert (level, module._current_level) == (0, 0)
        assert error(module.enter_dual_level) == (
            "RuntimeError: Nested forward mode AD is not supported at the moment"
        )
        assert error(lambda: module.exit_dual_level(level=3)) == (
            "RuntimeError: Trying to exit a forward AD level that was not the last one that was "
            "created. This is not supported."
        )
    assert module._current_level == -1
    assert error(module.exit_dual_level) == "RuntimeError: Dual level must be a positive number."


def test_d1_a_level_is_a_decorator_too_and_closes_on_errors(torch):
    module = forward_ad(torch)

    @module.dual_level()
    def inside():
        return module._current_level

    assert inside() == 0
    assert error(lambda: module.dual_level()(lambda: {}["missing"])()) == "KeyError: 'missing'"
    assert module._current_level == -1
    level = module.enter_dual_level()
    module.exit_dual_level(level=level)
    assert module._current_level == -1


def test_d1_tangents_vanish_with_the_level(torch):
    module = forward_ad(torch)
    x = torch.tensor([1.0, 2.0])
    with module.dual_level():
        dual = module.make_dual(x, torch.ones(2))
        assert values(module.unpack_dual(dual * dual).tangent) == [2.0, 4.0]
    assert module.unpack_dual(dual).tangent is None
    assert repr(dual) == "tensor([1., 2.])"


def test_d2_a_dual_shares_memory_and_carries_the_tangent_itself(torch):
    module = forward_ad(torch)
    x, v = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    with module.dual_level():
        dual = module.make_dual(x, v)
        assert dual.data_ptr() == x.data_ptr()
        assert dual._is_view()
        primal, tangent = module.unpack_dual(dual)
        assert tangent is v
        assert primal is not x
        assert module.unpack_dual(primal).tangent is None
        assert repr(dual) == "tensor([1., 2.], tangent=tensor([3., 4.]))"
        turned = module.make_dual(torch.ones(3, 2).t(), torch.ones(2, 3))
        assert module.unpack_dual(turned).tangent.stride() == (1, 2)


def test_d2_what_make_dual_refuses(torch):
    module = forward_ad(torch)
    x, v, whole = torch.ones(2), torch.ones(2), torch.ones(2, dtype=torch.int64)
    make = module.make_dual
    assert error(lambda: make(x, v)) == (
        "RuntimeError: Trying to create a dual Tensor for forward AD but no level exists, make "
        "sure to enter_dual_level() first."
    )
    with module.dual_level():
        dual = make(x, v)
        assert error(lambda: make(x, torch.ones(3))) == (
            "RuntimeError: Trying to set a forward gradient that has a different size than that of "
            "the original Tensor, this is not supported. Tensor is of size [2] while the given "
            "forward gradient is of size [3]."
        )
        assert error(lambda: make(whole, v)) == (
            "ValueError: Expected primal to be floating point or complex, but got: torch.int64"
        )
        assert error(lambda: make(x, whole)) == (
            "ValueError: Expected tangent to be floating point or complex, but got: torch.int64"
        )
        assert error(lambda: make(dual, v)) == (
            "RuntimeError: Making a dual Tensor based on a Tensor that already has a forward "
            "gradient at the same level 0 is not supported."
        )
        assert error(lambda: make(v, dual)) == (
            "RuntimeError: Setting a forward grad that itself has a forward gradient at the same "
            "level0 is not supported."
        )
        assert error(lambda: make(x, v, level=1)) == (
            "RuntimeError: Invalid level given to _make_dual"
        )


def test_d3_unpacking_a_plain_tensor_gives_no_tangent(torch):
    module = forward_ad(torch)
    x = torch.ones(2)
    assert module.unpack_dual(x) == (x, None)
    with module.dual_level():
        found = module.unpack_dual(x)
        assert found.tangent is None
        assert found._fields == ("primal", "tangent")
        assert error(lambda: module.unpack_dual(5)) == (
            "TypeError: _unpack_dual(): argument 'dual' (position 1) must be Tensor, not int"
        )


def test_d3_each_unpacking_makes_a_view_without_tangent(torch):
    module = forward_ad(torch)
    x, v = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0])
    with module.dual_level():
        result = module.make_dual(x, v) * 1
        one, two = module.unpack_dual(result), module.unpack_dual(result)
        assert one.primal is not two.primal
        assert one.tangent is two.tangent
        assert one.primal._is_view()
        assert one.primal.grad_fn.name() == "torch::autograd::Identity"
        assert repr(one.primal) == "tensor([1., 2.], grad_fn=<Identity>)"
        assert values(torch.autograd.grad(one.primal.sum(), x)[0]) == [1.0, 1.0]
        assert module.unpack_dual(result, level=-1) == (result, None)
        assert error(lambda: module.unpack_dual(result, level=1)) == (
            "RuntimeError: Invalid level given to _fw_primal"
        )


def test_d4_a_missing_tangent_counts_as_zero_and_integers_have_none(torch):
    module = forward_ad(torch)
    with module.dual_level():
        dual = module.make_dual(torch.tensor([2.0, 3.0]), torch.tensor([1.0, 10.0]))
        plain = torch.tensor([5.0, 7.0])
        assert values(module.unpack_dual(dual * plain).tangent) == [5.0, 70.0]
        assert values(module.unpack_dual(plain - dual).tangent) == [-1.0, -10.0]
        assert values(module.unpack_dual(torch.cat([plain, dual])).tangent) == [0, 0, 1, 10]
        assert values(module.unpack_dual(dual.floor()).tangent) == [0.0, 0.0]
        for result in (dual > 2, dual.long(), dual.argmax(), plain * 2):
            assert module.unpack_dual(result).tangent is None
        value, index = dual.max(0)
        assert values(module.unpack_dual(value).tangent) == 10.0
        assert module.unpack_dual(index).tangent is None


def test_d5_tangents_flow_without_grad_mode_and_stop_at_detach(torch):
    module = forward_ad(torch)
    with module.dual_level():
        dual = module.make_dual(torch.tensor([2.0]), torch.tensor([1.0]))
        with torch.no_grad():
            assert values(module.unpack_dual(dual * 3).tangent) == [3.0]
        assert module.unpack_dual(dual.detach()).tangent is None
        x = torch.tensor([2.0], requires_grad=True)
        mixed = module.unpack_dual(module.make_dual(x, torch.tensor([1.0])) ** 3).tangent
        assert values(torch.autograd.grad(mixed.sum(), x)[0]) == [12.0]


def test_d5_backward_carries_tangents(torch):
    """Forward over reverse: the tangent of a gradient is a product with the Hessian."""
    module = forward_ad(torch)
    x, v = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0])
    programs = {
        "pow": (lambda a: (a**3).sum(), [18.0, 48.0]),
        "saved output": (lambda a: (a.square().sqrt() * a).sum(), [6.0, 8.0]),
        "in place": (lambda a: a.clone().mul_(a).sum(), [6.0, 8.0]),
        "saved output in place": (lambda a: (a * a).sqrt_().mul(a).sum(), [6.0, 8.0]),
        "through a view": (lambda a: (a * 1).view(2, 1).pow_(3).sum(), [18.0, 48.0]),
    }
    with module.dual_level():
        for name, (func, expected) in programs.items():
            for create_graph in (False, True):
                (grad,) = torch.autograd.grad(
                    func(module.make_dual(x, v)), x, create_graph=create_graph
                )
                assert grad.requires_grad is create_graph, name
                found = values(module.unpack_dual(grad).tangent)
                assert found == pytest.approx(expected, rel=1e-5), name
        (module.make_dual(x, v) ** 3).sum().backward()
        assert values(x.grad) == [3.0, 12.0]
        assert module.unpack_dual(x.grad).tangent is None


def test_d5_gradients_of_tangents_have_no_tangent_themselves(torch):
    module = forward_ad(torch)
    x = torch.tensor([1.0, 2.0])
    v = torch.tensor([3.0, 4.0], requires_grad=True)
    with module.dual_level():
        dual = module.make_dual(x, v)
        tangent = module.unpack_dual(dual * dual).tangent
        (grad,) = torch.autograd.grad(tangent.sum(), v)
        assert values(grad) == [2.0, 4.0]
        assert module.unpack_dual(grad).tangent is None


def test_d5_detach_in_place_drops_the_tangent(torch):
    module = forward_ad(torch)
    with module.dual_level():
        dual = module.make_dual(torch.tensor([2.0]), torch.tensor([1.0]))
        result = dual * 3
        assert result.detach_() is result
        assert module.unpack_dual(result).tangent is None
        assert module.unpack_dual(dual.data).tangent is None


def test_d7_copies_carry_tangents_and_broadcast(torch):
    module = forward_ad(torch)
    with module.dual_level():
        dual = module.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
        target = torch.zeros(2, 2)
        target.copy_(dual)
        assert values(module.unpack_dual(target).tangent) == [[3.0, 4.0], [3.0, 4.0]]
        same = torch.zeros(2).copy_(dual)
        module.unpack_dual(same).tangent.mul_(10)
        assert values(module.unpack_dual(dual).tangent) == [3.0, 4.0]
        dual.copy_(torch.ones(2))
        assert values(module.unpack_dual(dual).tangent) == [0.0, 0.0]
        whole = torch.zeros(2, dtype=torch.int64)
        assert module.unpack_dual(whole.copy_(same)).tangent is None


def test_d7_out_is_not_for_duals(torch):
    module = forward_ad(torch)
    with module.dual_level():
        dual = module.make_dual(torch.ones(2), torch.ones(2))
        assert error(lambda: torch.add(dual, 1, out=torch.empty(2))) == (
            "NotImplementedError: Trying to use forward AD with add_out that does not support it "
            "because it is an out= function"
        )
        assert error(lambda: torch.add(torch.ones(2), 1, out=dual)).endswith("an out= function")
        assert error(lambda: torch.argmax(dual, out=torch.tensor(0))) == (
            "NotImplementedError: Trying to use forward AD with argmax_out that does not support "
            "it because it is an out= function"
        )


def test_d8_only_duals_print_a_tangent(torch):
    module = forward_ad(torch)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with module.dual_level():
        dual = module.make_dual(x.detach(), torch.tensor([3.0, 4.0]))
        assert repr(dual) == "tensor([1., 2.], tangent=tensor([3., 4.]))"
        assert repr(dual[0]) == "tensor(1., tangent=3.0)"
        recorded = module.make_dual(x, torch.tensor([3.0, 4.0])).exp()
        assert repr(recorded) == (
            "tensor([2.7183, 7.3891], grad_fn=<ExpBackward0>,\n"
            "       tangent=tensor([ 8.1548, 29.5562], grad_fn=<MulBackward0>))"
        )
        assert repr(x.detach()) == "tensor([1., 2.])"
        assert repr(dual.detach()) == "tensor([1., 2.])"


def test_d11_there_are_no_tangents_in_inference_mode(torch):
    module = forward_ad(torch)
    x, v = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    with module.dual_level():
        dual = module.make_dual(x, v)
        with torch.inference_mode():
            assert not module._is_fwd_grad_enabled()
            assert module.unpack_dual(dual).tangent is None
            assert repr(dual * 2) == "tensor([2., 4.])"
            assert module.unpack_dual(module.make_dual(x, v)).tangent is None
            made = torch.ones(2)
            assert not module.make_dual(made, v)._is_view()
        assert values(module.unpack_dual(dual).tangent) == [3.0, 4.0]


def test_d12_the_switch_works_outside_of_levels_and_without_a_block(torch):
    module = forward_ad(torch)
    with module._set_fwd_grad_enabled(False):
        assert not module._is_fwd_grad_enabled()
        with module.dual_level():
            dual = module.make_dual(torch.ones(2), torch.ones(2))
            assert module.unpack_dual(dual).tangent is None
            with module._set_fwd_grad_enabled(True):
                assert module._is_fwd_grad_enabled()
    assert module._is_fwd_grad_enabled()
    module._set_fwd_grad_enabled(False)
    try:
        assert not module._is_fwd_grad_enabled()
    finally:
        module._set_fwd_grad_enabled(True)
    assert module._is_fwd_grad_enabled()


def test_d12_propagation_can_be_switched_off(torch):
    module = forward_ad(torch)
    with module.dual_level():
        dual = module.make_dual(torch.ones(2), torch.ones(2))
        assert module._is_fwd_grad_enabled()
        with module._set_fwd_grad_enabled(False):
            assert not module._is_fwd_grad_enabled()
            assert module.unpack_dual(dual * 2).tangent is None
        assert values(module.unpack_dual(dual * 2).tangent) == [2.0, 2.0]


def test_set_has_no_tangent(torch):
    module = forward_ad(torch)
    with module.dual_level():
        dual = module.make_dual(torch.ones(2), torch.ones(2))
        for call in (lambda: dual.set_(), lambda: torch.ones(2).set_(dual)):
            assert error(call).startswith(
                "NotImplementedError: Trying to use forward AD with set_ that does not support it"
            )
