"""D6, D9, D10: duals and views, writes in place, layout and lifetime of tangents."""

from __future__ import annotations

import importlib
import weakref

from autograd_probe import error, no_collector, values


def in_a_level(test):
    """Return a test that gets the library and its forward mode, with a level open."""

    def run(torch):
        module = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
        with module.dual_level():
            test(torch, module)

    run.__name__ = test.__name__
    return run


def tangent(fw, tensor):
    return fw.unpack_dual(tensor).tangent


def seen(fw, *tensors):
    """Return the tangents of several tensors as numbers."""
    return [values(tangent(fw, each)) for each in tensors]


def dual_of_three(torch, fw):
    return fw.make_dual(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([10.0, 20.0, 30.0]))


@in_a_level
def test_d6_a_write_changes_the_tangent_in_place(torch, fw):
    dual = dual_of_three(torch, fw)
    before = tangent(fw, dual)
    dual.mul_(2)
    assert tangent(fw, dual) is before
    assert values(before) == [20.0, 40.0, 60.0]
    dual.mul_(dual.clone())
    assert tangent(fw, dual) is before
    assert values(before) == [80.0, 320.0, 720.0]
    dual.fill_(5)
    assert seen(fw, dual) == [[0.0, 0.0, 0.0]]


@in_a_level
def test_d6_views_of_a_dual_share_its_tangent(torch, fw):
    dual = dual_of_three(torch, fw)
    part, column = dual[:2], dual.view(3, 1)
    part.mul_(10)
    assert seen(fw, dual, part) == [[100.0, 200.0, 30.0], [100.0, 200.0]]
    assert values(tangent(fw, column)) == [[100.0], [200.0], [30.0]]
    dual.mul_(2)
    assert seen(fw, part) == [[200.0, 400.0]]
    assert tangent(fw, part)._base is tangent(fw, dual)
    assert tangent(fw, column)._base is tangent(fw, dual)


@in_a_level
def test_d6_a_plain_base_becomes_dual_through_a_view_and_the_other_way_round(torch, fw):
    dual = dual_of_three(torch, fw)
    base = torch.zeros(4)
    first, second = base[:3], base[2:]
    assert seen(fw, base, first, second) == [None, None, None]
    first.copy_(dual)
    assert seen(fw, base, first, second) == [[10, 20, 30, 0], [10, 20, 30], [30, 0]]
    assert tangent(fw, first)._base is tangent(fw, base)
    assert tangent(fw, second)._base is tangent(fw, base)
    second[1] = dual[0]
    assert seen(fw, base) == [[10, 20, 30, 10]]
    other = torch.zeros(3)
    view = other.view(3, 1)
    other.add_(dual)
    assert seen(fw, view) == [[[10], [20], [30]]]


@in_a_level
def test_d6_views_of_complex_tensors_stay_in_step(torch, fw):
    whole = torch.tensor([1 + 2j, 3 + 4j])
    dual = fw.make_dual(whole, torch.tensor([5 + 6j, 7 + 8j]))
    parts = torch.view_as_real(dual)
    dual.real.mul_(10)
    assert seen(fw, dual, parts) == [[50 + 6j, 70 + 8j], [[50, 6], [70, 8]]]


@in_a_level
def test_d6_writes_do_not_leak_to_the_primal(torch, fw):
    x = torch.tensor([1.0, 2.0])
    dual = fw.make_dual(x, torch.tensor([3.0, 4.0]))
    dual.mul_(dual.clone())
    assert values(x) == [1.0, 4.0]
    assert seen(fw, x, dual) == [None, [6.0, 16.0]]
    primal = fw.unpack_dual(dual).primal
    part = primal[:1]
    primal.mul_(dual)
    assert seen(fw, primal, part) == [[6.0, 64.0], [6.0]]
    assert seen(fw, x, dual) == [None, [6.0, 16.0]]
    part.zero_()
    assert seen(fw, primal, dual) == [[0.0, 64.0], [6.0, 16.0]]


@in_a_level
def test_d6_writes_do_not_leak_through_detach(torch, fw):
    dual = dual_of_three(torch, fw)
    plain = dual.detach()
    plain.mul_(2)
    assert seen(fw, plain, dual) == [None, [10, 20, 30]]
    plain.mul_(dual)
    assert seen(fw, plain, dual) == [[20, 80, 180], [10, 20, 30]]


@in_a_level
def test_d6_a_tensor_has_its_own_tangent_beside_those_of_its_duals(torch, fw):
    x = torch.tensor([1.0, 2.0])
    one = fw.make_dual(x, torch.tensor([3.0, 4.0]))
    two = fw.make_dual(x, torch.tensor([5.0, 6.0]))
    x[:1].copy_(fw.make_dual(torch.tensor([7.0]), torch.tensor([8.0])))
    assert seen(fw, x, one, two) == [[8.0, 0.0], [3.0, 4.0], [5.0, 6.0]]


@in_a_level
def test_d6_tangents_of_views_keep_their_history(torch, fw):
    slope = torch.tensor([3.0, 4.0], requires_grad=True)
    base = torch.zeros(3)
    view = base[1:]
    view.copy_(fw.make_dual(torch.ones(2), slope))
    (grad,) = torch.autograd.grad(tangent(fw, base).sum(), slope)
    assert values(grad) == [1.0, 1.0]
    assert tangent(fw, view).requires_grad


# --- layout ----------------------------------------------------------------------------------


def layout(tensor):
    return tensor.stride(), tensor.storage_offset(), tensor.untyped_storage().nbytes()


@in_a_level
def test_d9_a_tangent_of_another_layout_is_copied(torch, fw):
    cases = {
        "strides": (torch.ones(3, 2).t(), torch.arange(6.0).view(2, 3).clone()),
        "offset": (torch.ones(2), torch.arange(4.0)[2:]),
        "longer storage": (torch.ones(2), torch.arange(4.0)[:2]),
        "offset of the primal": (torch.ones(4)[2:], torch.arange(2.0)),
        "longer storage of the primal": (torch.ones(4)[::2], torch.arange(2.0)),
        "expanded": (torch.ones(3), torch.ones(1).expand(3)),
    }
    for name, (primal, given) in cases.items():
        found = tangent(fw, fw.make_dual(primal, given))
        assert found is not given, name
        assert layout(found) == layout(primal), name
        assert values(found) == values(given), name


@in_a_level
def test_d9_a_tangent_of_the_same_layout_is_kept(torch, fw):
    cases = [
        (torch.ones(3, 2).t(), torch.ones(3, 2).t()),
        (torch.ones(4)[2:], torch.arange(4.0)[2:]),
        (torch.ones(1, 3), torch.ones(3, 1).t()),
        (torch.ones(1).expand(3), torch.ones(1).expand(3)),
        (torch.ones(0, 3), torch.ones(3, 0).t()),
        (torch.ones(2), torch.ones(2, dtype=torch.float64)),
    ]
    for primal, given in cases:
        assert tangent(fw, fw.make_dual(primal, given)) is given


@in_a_level
def test_d9_a_lazy_conjugate_has_a_lazy_tangent(torch, fw):
    z, slope = torch.tensor([1 + 2j, 3 - 1j]), torch.tensor([5 + 6j, 7 + 8j])
    dual = fw.make_dual(z.conj(), slope)
    assert tangent(fw, dual).is_conj()
    assert values(tangent(fw, dual)) == [5 + 6j, 7 + 8j]
    assert not tangent(fw, fw.make_dual(z, slope.conj())).is_conj()
    dual = fw.make_dual(z, slope)
    turned = dual.conj()
    assert tangent(fw, turned).is_conj()
    turned.mul_(2j)
    assert seen(fw, dual, turned) == [[12 - 10j, 16 - 14j], [12 + 10j, 16 + 14j]]


@in_a_level
def test_d9_the_copy_is_recorded(torch, fw):
    given = torch.ones(2, 3, requires_grad=True)
    found = tangent(fw, fw.make_dual(torch.ones(3, 2).t(), given))
    assert found.grad_fn.name().endswith("CopyBackwards")
    assert values(torch.autograd.grad(found.sum(), given)[0]) == [[1, 1, 1], [1, 1, 1]]


@in_a_level
def test_d9_an_expanded_primal_wants_a_tangent_like_it(torch, fw):
    assert error(lambda: fw.make_dual(torch.ones(1).expand(3), torch.ones(3))).startswith(
        "RuntimeError: unsupported operation: more than one element of the written-to tensor"
    )


@in_a_level
def test_d9_results_and_their_tangents_lie_alike(torch, fw):
    x = fw.make_dual(torch.ones(2, 3), torch.arange(6.0).view(2, 3).clone())
    results = [x * 2, x.t(), x[:, 1], x.t() * 2, x.sum(0), x.expand(4, 2, 3), x.t().clone()]
    for each in results:
        assert layout(tangent(fw, each)) == layout(each)
    assert tangent(fw, x[0])._base is tangent(fw, x)


# --- lifetime --------------------------------------------------------------------------------


@in_a_level
def test_d10_the_tangent_dies_with_the_dual(torch, fw):
    x = torch.ones(2)
    with no_collector():
        given = torch.ones(2)
        dual = fw.make_dual(x, given)
        alive = weakref.ref(given)
        del given
        assert alive() is not None
        result = dual * dual
        of_result = weakref.ref(tangent(fw, result))
        of_view = weakref.ref(tangent(fw, dual[0]))
        assert of_result() is not None
        assert of_view() is None
        del result
        assert of_result() is None
        itself = weakref.ref(dual)
        del dual
        assert alive() is None
        assert itself() is None


def test_d10_the_level_takes_all_tangents_with_it(torch):
    module = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    x = torch.ones(2, requires_grad=True)
    with no_collector():
        with module.dual_level():
            dual = module.make_dual(x, torch.ones(2))
            view, result = dual[0], dual.exp()
            references = [
                weakref.ref(module.unpack_dual(each).tangent) for each in (dual, view, result)
            ]
            assert all(each() is not None for each in references)
        assert [each() for each in references] == [None, None, None]
        with module.dual_level():
            assert module.unpack_dual(dual).tangent is None
            assert module.unpack_dual(view).tangent is None
            (grad,) = torch.autograd.grad(result.sum(), x)
            assert module.unpack_dual(grad).tangent is None
