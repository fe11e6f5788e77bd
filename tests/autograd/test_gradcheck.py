"""K: `gradcheck` and `gradgradcheck`, which are themselves checked with wrong derivatives."""

from __future__ import annotations

import pytest

from autograd_probe import error, values, warned

FIRST = "Jacobian mismatch for output {} with respect to input {},"


def inputs(torch):
    x = torch.tensor([0.5, 1.5], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([2.0, 3.0], dtype=torch.float64, requires_grad=True)
    return x, y


def function(torch, forward, backward, **members):
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    body.update({name: staticmethod(each) for name, each in members.items()})
    return type("F", (torch.autograd.Function,), body).apply


def wrong(torch):
    return function(torch, lambda ctx, x: x * 2, lambda ctx, grad: grad * 3)


def test_k1_right_gradients_pass(torch):
    x, y = inputs(torch)
    check = torch.autograd.gradcheck
    assert check(torch.sin, (x,)) is True
    assert check(torch.sin, x)
    assert check(torch.sin, [x])
    assert check(lambda a, b: (a * b, a + 1), (x, y))
    assert check(lambda a, number: a * number, (x, 3))
    assert check(lambda a, b: a * 2, (x, y))
    assert check(lambda a: (), (x,))
    assert values(x) == [0.5, 1.5]


def test_k1_wrong_gradients_raise_or_return_false(torch):
    x, _ = inputs(torch)
    from_module = __import__(
        torch.__name__ + ".autograd.gradcheck", fromlist=["GradcheckError"]
    ).GradcheckError
    assert issubclass(from_module, RuntimeError)
    with pytest.raises(from_module) as caught:
        torch.autograd.gradcheck(wrong(torch), (x,))
    assert str(caught.value) == (
        f"{FIRST.format(0, 0)}\n"
        "numerical:tensor([[2.0000, 0.0000],\n        [0.0000, 2.0000]], dtype=torch.float64)\n"
        "analytical:tensor([[3., 0.],\n        [0., 3.]], dtype=torch.float64)\n"
    )
    assert torch.autograd.gradcheck(wrong(torch), (x,), raise_exception=False) is False


def test_k1_gradgradcheck_finds_a_lost_second_derivative(torch):
    x, _ = inputs(torch)
    check = torch.autograd.gradgradcheck
    assert check(lambda a: a**3, (x,))
    assert check(lambda a: a * 2, (x,))
    assert check(lambda a: a**3, (x,), torch.ones(2, dtype=torch.float64, requires_grad=True))
    assert check(lambda a: a**3, (x,), torch.ones(2, dtype=torch.float64))

    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a**3

    def backward(ctx, grad):
        return grad * 3 * ctx.saved_tensors[0].detach() ** 2

    assert error(lambda: check(function(torch, forward, backward), (x,))) == (
        f"GradcheckError: {FIRST.format(0, 0)}"
    )


def test_k2_inputs_must_require_grad(torch):
    plain = torch.ones(2, dtype=torch.float64)
    text = (
        "ValueError: gradcheck expects at least one input tensor to require gradient, but none of "
        "them have requires_grad=True."
    )
    assert error(lambda: torch.autograd.gradcheck(torch.sin, (plain,))) == text
    assert (
        error(lambda: torch.autograd.gradcheck(torch.sin, (plain,), raise_exception=False)) == text
    )


def test_k2_inputs_should_be_double_and_must_not_overlap(torch):
    x = torch.ones(2, requires_grad=True)
    assert warned(
        lambda: torch.autograd.gradcheck(lambda a: a * 2, (x,), raise_exception=False)
    ) == [
        "UserWarning: Input #0 requires gradient and is not a double precision floating point or "
        "complex. This check will likely fail if all the inputs are not of double precision "
        "floating point or complex. "
    ]
    wide = torch.ones(1, dtype=torch.float64).expand(3).requires_grad_()
    assert error(lambda: torch.autograd.gradcheck(lambda a: a * 2, (wide,))) == (
        "RuntimeError: The 0th input has a dimension with stride 0. gradcheck only supports inputs "
        "that are non-overlapping to be able to compute the numerical gradients correctly. You "
        "should call .contiguous on the input before passing it to gradcheck."
    )


def test_k3_the_mismatch_names_output_and_input(torch):
    x, y = inputs(torch)
    second_wrong = function(
        torch, lambda ctx, a, b: a * 2 + b, lambda ctx, grad: (grad * 2, grad * 3)
    )
    assert error(lambda: torch.autograd.gradcheck(second_wrong, (x, y))) == (
        f"GradcheckError: {FIRST.format(0, 1)}"
    )
    assert (
        error(lambda: torch.autograd.gradcheck(lambda a: (a, wrong(torch)(a)), (x,)))
        == f"GradcheckError: {FIRST.format(1, 0)}"
    )


def test_k3_complex_outputs_are_checked_by_part(torch):
    z = torch.tensor([1 + 2j, 2 - 1j], dtype=torch.complex128, requires_grad=True)
    check = torch.autograd.gradcheck
    assert check(torch.sin, (z,))
    assert check(lambda a: a.abs(), (z,))
    assert check(lambda a: (a * a, a.real), (z,))
    not_conjugated = function(torch, lambda ctx, a: a * 2j, lambda ctx, grad: grad * 2j)
    assert error(lambda: check(not_conjugated, (z,))) == (
        f"GradcheckError: While considering the imaginary part of complex outputs only, "
        f"{FIRST.format(0, 0)}"
    )


def test_k4_fast_mode_projects_and_explains(torch):
    x, y = inputs(torch)
    check = torch.autograd.gradcheck
    assert check(lambda a, b: (a * b, a.exp()), (x, y), fast_mode=True)
    z = torch.tensor([1 + 2j, 2 - 1j], dtype=torch.complex128, requires_grad=True)
    assert check(torch.sin, (z,), fast_mode=True)
    with pytest.raises(RuntimeError) as caught:
        check(wrong(torch), (x,), fast_mode=True)
    text = str(caught.value)
    assert text.startswith(FIRST.format(0, 0))
    assert (
        "\nNumerical:\n tensor([[2.0000, 0.0000],\n        [0.0000, 2.0000]], dtype=torch.float64)"
        "\nAnalytical:\ntensor([[3., 0.],\n        [0., 3.]], dtype=torch.float64)\n\n"
        "The max per-element difference (slow mode) is: 1.0" in text
    )


def test_k4_the_vectors_of_fast_mode_are_always_the_same(torch):
    """They come from a generator with its first seed, so a failure shows the same numbers."""
    x, _ = inputs(torch)
    with pytest.raises(RuntimeError) as caught:
        torch.autograd.gradcheck(wrong(torch), (x,), fast_mode=True)
    _, numerical, analytical, *_ = str(caught.value).splitlines()
    assert float(numerical.removeprefix("numerical:")) == pytest.approx(1.8447186, abs=1e-6)
    assert float(analytical.removeprefix("analytical:")) == pytest.approx(2.7670779, abs=1e-6)
    z = torch.tensor([1 + 2j, 2 - 1j], dtype=torch.complex128, requires_grad=True)
    leans = function(torch, lambda ctx, a: a.abs(), lambda ctx, grad: grad * (1 + 1j))
    with pytest.raises(RuntimeError) as caught:
        torch.autograd.gradcheck(leans, (z,), fast_mode=True)
    _, numerical, analytical, *_ = str(caught.value).splitlines()
    assert complex(numerical.removeprefix("numerical:")) == pytest.approx(
        0.5430696 + 0.3217453j, abs=1e-6
    )
    assert complex(analytical.removeprefix("analytical:")) == pytest.approx(
        0.7337830 + 0.9392801j, abs=1e-6
    )


def test_k5_outputs_must_keep_their_shape_and_dtype(torch):
    x, _ = inputs(torch)

    def grows(a):
        return a * 2 if a[0] <= 0.5 else torch.cat([a, a])

    def narrows(a):
        return a * 2 if a[0] <= 0.5 else a.float() * 2

    check = torch.autograd.gradcheck
    expected = "AssertionError: Expected `func` to return outputs with the same"
    shapes = "but got: shapes torch.Size([2]) and torch.Size([4])."
    assert error(lambda: check(grows, (x,))) == (
        f"{expected} shape when inputs are perturbed on index (0,) by 1e-06, {shapes}"
    )
    assert error(lambda: check(grows, (x,), fast_mode=True, raise_exception=False)) == (
        f"{expected} shape when inputs are perturbed by 1e-06, {shapes}"
    )
    assert error(lambda: check(narrows, (x,))) == (
        f"{expected} dtype when inputs are perturbed on index (0,) by 1e-06, but got: dtypes "
        "torch.float64 and torch.float32."
    )
    assert values(x) == [0.5, 1.5]


def test_k6_a_cut_graph_is_found_by_the_differences(torch):
    x, _ = inputs(torch)
    assert error(lambda: torch.autograd.gradcheck(lambda a: a.detach() * 2, (x,))) == (
        "GradcheckError: Numerical gradient for function expected to be zero"
    )
    assert error(
        lambda: torch.autograd.gradcheck(lambda a: a.detach() * 2, (x,), fast_mode=True)
    ) == ("GradcheckError: Numerical gradient for function expected to be zero")
    assert torch.autograd.gradcheck(lambda a: torch.ones(2, dtype=torch.float64), (x,))
    assert torch.autograd.gradcheck(lambda a: (a * 2).long(), (x,))


def test_k7_a_backward_that_changes_is_found(torch):
    x, _ = inputs(torch)
    calls = []

    def backward(ctx, grad):
        calls.append(1)
        return grad * 2 + len(calls) * 1e-7

    drifting = function(torch, lambda ctx, a: a * 2, backward)
    assert error(lambda: torch.autograd.gradcheck(drifting, (x,))) == (
        "GradcheckError: Backward is not reentrant, i.e., running backward with same input and "
        "grad_output multiple times gives different values, although analytical gradient matches "
        "numerical gradient.The tolerance for nondeterminism was 0.0."
    )


def test_k7_a_tolerance_allows_change(torch):
    x, _ = inputs(torch)
    calls = []

    def backward(ctx, grad):
        calls.append(1)
        return grad * (2 + len(calls) * 1e-7)

    drifting = function(torch, lambda ctx, a: a * 2, backward)
    for fast_mode in (False, True):
        assert torch.autograd.gradcheck(drifting, (x,), nondet_tol=1e-3, fast_mode=fast_mode)
        assert not torch.autograd.gradcheck(
            drifting, (x,), fast_mode=fast_mode, raise_exception=False
        )


def test_k8_gradients_that_are_not_numbers_never_agree(torch):
    x, _ = inputs(torch)
    assert error(lambda: torch.autograd.gradcheck(lambda a: a * float("nan"), (x,))) == (
        f"GradcheckError: {FIRST.format(0, 0)}"
    )


def test_k8_gradients_of_mixed_dtypes_have_that_of_their_input(torch):
    x, _ = inputs(torch)
    assert torch.autograd.gradcheck(
        lambda a: (a.float(), a), (x,), eps=1e-3, atol=1e-2, check_grad_dtypes=True
    )


def test_k8_backward_must_be_multiplied_by_grad_output(torch):
    x, _ = inputs(torch)
    offset = function(
        torch,
        lambda ctx, a: a * 2,
        lambda ctx, grad: grad * 2 if grad.abs().sum() > 0 else grad * 2 + 1,
    )
    assert error(lambda: torch.autograd.gradcheck(offset, (x,))) == (
        "GradcheckError: backward not multiplied by grad_output"
    )


@pytest.mark.filterwarnings("ignore:Backwards compatibility")
def test_k9_backward_must_cope_with_undefined_gradients(torch):
    x, _ = inputs(torch)

    def forward(ctx, a):
        ctx.set_materialize_grads(False)
        return a * 2

    def refuses(ctx, grad):
        if grad is None:
            raise RuntimeError("no gradient")
        return grad * 2

    def invents(ctx, grad):
        return torch.ones(2, dtype=torch.float64) if grad is None else grad * 2

    check = torch.autograd.gradcheck
    assert error(lambda: check(function(torch, forward, refuses), (x,))) == (
        "GradcheckError: Expected backward function to handle undefined output grads. Please look "
        'at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
    )
    assert error(lambda: check(function(torch, forward, invents), (x,))).startswith(
        "GradcheckError: Expected all input grads to be undefined or zero when all output grads "
        "are undefined or zero."
    )
    assert check(function(torch, forward, refuses), (x,), check_undefined_grad=False)


def test_k9_a_failure_warns(torch):
    x, _ = inputs(torch)

    def forward(ctx, a):
        ctx.set_materialize_grads(False)
        return a * 2

    def refuses(ctx, grad):
        if grad is None:
            raise RuntimeError("no gradient")
        return grad * 2

    (text,) = warned(
        lambda: torch.autograd.gradcheck(
            function(torch, forward, refuses), (x,), raise_exception=False
        )
    )
    assert text.startswith(
        "UserWarning: Backwards compatibility: New undefined gradient support checking feature"
    )


def test_k12_errors_of_the_function_itself_propagate(torch):
    x, _ = inputs(torch)

    def fails(a):
        raise KeyError("mine")

    assert error(lambda: torch.autograd.gradcheck(fails, (x,), raise_exception=False)) == (
        "KeyError: 'mine'"
    )


def test_k13_gradgradcheck_options(torch):
    x, _ = inputs(torch)
    check = torch.autograd.gradgradcheck
    assert check(torch.sin, (x,), gen_non_contig_grad_outputs=True, fast_mode=True)
    assert check(torch.sin, (x,), check_fwd_over_rev=True)
    assert error(
        lambda: check(torch.sin, (x,), check_fwd_over_rev=False, check_rev_over_rev=False)
    ) == (
        "AssertionError: Expected at least one of check_fwd_over_rev or check_rev_over_rev to be "
        "True"
    )


def test_k13_random_grad_outputs(torch):
    x, _ = inputs(torch)
    seen = []

    def backward(ctx, grad):
        seen.append((values(grad), grad.stride(), grad.requires_grad))
        return grad * 2

    double = function(torch, lambda ctx, a: a * 2, backward)
    for noncontiguous in (False, True):
        torch.manual_seed(0)
        assert torch.autograd.gradgradcheck(double, (x,), gen_non_contig_grad_outputs=noncontiguous)
        (found, stride, requires_grad), *_ = seen
        expected = [0.415640, 0.841495] if noncontiguous else [0.940106, 0.415640]
        assert found == pytest.approx(expected, abs=1e-6)
        assert (stride, requires_grad) == ((2 if noncontiguous else 1,), True)
        seen.clear()


def test_k13_what_goes_together(torch):
    x, _ = inputs(torch)
    check = torch.autograd.gradgradcheck
    forward = {"check_fwd_over_rev": True, "check_rev_over_rev": False}
    assert check(torch.exp, (x,), **forward, check_undefined_grad=False)
    assert check(torch.exp, (x,), **forward, check_undefined_grad=False, fast_mode=True)
    for name in ("check_undefined_grad", "check_batched_grad"):
        options = {"check_undefined_grad": False, name: True}
        assert error(lambda options=options: check(torch.exp, (x,), **forward, **options)) == (
            f"AssertionError: Setting {name}=True requires check_rev_over_rev to be True"
        )
    assert check(torch.sin, (x,), check_batched_grad=True)
    assert check(torch.sin, (x,), check_undefined_grad=False, masked=True, nondet_tol=1e-3)


def test_k13_forward_over_reverse_knows_saved_outputs(torch):
    x, _ = inputs(torch)
    z = torch.tensor([1 + 2j, 2 - 1j], dtype=torch.complex128, requires_grad=True)
    check = torch.autograd.gradgradcheck
    for func in (torch.exp, torch.tanh, lambda a: a.clone().exp_(), lambda a: a.exp().sqrt()):
        assert check(func, (x,), check_fwd_over_rev=True)
    assert check(lambda a: a.exp() * a.sin(), (z,), check_fwd_over_rev=True, fast_mode=True)


def test_k14_old_helpers_choose_their_inputs(torch):
    module = __import__(torch.__name__ + ".autograd.gradcheck", fromlist=["gradcheck"])
    x, y = inputs(torch)

    def product(pair):
        return pair[0] * pair[1]

    with pytest.warns(FutureWarning):
        both = module.get_numerical_jacobian(product, (x, y))
        (one,) = module.get_numerical_jacobian(product, (x, y), target=y)
        assert error(lambda: module.get_numerical_jacobian(lambda pair: pair[0] * 1j, (x, y))) == (
            "ValueError: Expected output to be non-complex. get_numerical_jacobian no longer "
            "supports functions that return complex outputs."
        )
    assert values(both[0])[0] == pytest.approx([2.0, 0.0])
    assert values(both[1])[0] == pytest.approx([0.5, 0.0])
    assert values(one) == values(both[1])


def test_k14_old_helpers_warn(torch):
    module = __import__(
        torch.__name__ + ".autograd.gradcheck", fromlist=["get_analytical_jacobian"]
    )
    x, _ = inputs(torch)
    found = []
    (text,) = warned(lambda: found.append(module.get_analytical_jacobian((x,), torch.sin(x))))
    assert text.startswith(
        "FutureWarning: `get_analytical_jacobian` was part of PyTorch's private API and not meant "
        "to be exposed."
    )
    ((jacobian,), *right) = found[0]
    assert right == [True, True, True]
    assert values(jacobian)[0] == pytest.approx([0.87758, 0.0], rel=1e-4)
    with pytest.warns(FutureWarning):
        assert error(lambda: module.get_numerical_jacobian(torch.sin, (x,), grad_out=2.0)) == (
            "ValueError: Expected grad_out to be 1.0. get_numerical_jacobian no longer supports "
            "values of grad_out != 1.0."
        )
