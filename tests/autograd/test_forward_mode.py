"""D1 to D3, D5, D7: the interface of forward mode."""

from __future__ import annotations

import importlib

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


def test_d7_out_is_not_for_duals(torch):
    module = forward_ad(torch)
    with module.dual_level():
        dual = module.make_dual(torch.ones(2), torch.ones(2))
        assert error(lambda: torch.add(dual, 1, out=torch.empty(2))) == (
            "NotImplementedError: Trying to use forward AD with add_out that does not support it "
            "because it is an out= function"
        )


def test_d12_propagation_can_be_switched_off(torch):
    module = forward_ad(torch)
    with module.dual_level():
        dual = module.make_dual(torch.ones(2), torch.ones(2))
        assert module._is_fwd_grad_enabled()
        with module._set_fwd_grad_enabled(False):
            assert not module._is_fwd_grad_enabled()
            assert module.unpack_dual(dual * 2).tangent is None
        assert values(module.unpack_dual(dual * 2).tangent) == [2.0, 2.0]
