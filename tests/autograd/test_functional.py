"""T: `autograd.functional`, Jacobians, Hessians and their products with vectors."""

from __future__ import annotations

import pytest

from autograd_probe import error, function, values

OUTPUT = (
    "RuntimeError: Output {} of the user-provided function does not require gradients. The outputs "
    "must be computed in a differentiable manner from the input when running in strict mode."
)
NOT_STRICT = "This is not allowed in strict mode"
CONSTANT_JACOBIAN = (
    "RuntimeError: While computing the hessian, found that the jacobian of the user-provided "
    f"function with respect to input {{}} is independent of the input. {NOT_STRICT}. You should "
    "ensure that your function is twice differentiable and that the jacobian depends on the inputs "
    "(this would be violated by a linear function for example)."
)
PRODUCTS = ("vjp", "jvp", "vhp", "hvp")
ALL = ("jacobian", "hessian", *PRODUCTS)


def cubes(x):
    return x**3


def sum_of_cubes(x):
    return (x**3).sum()


def call(torch, name, func, inputs, v=None, **options):
    """Call any of the six in the same way; those without a vector ignore it."""
    chosen = getattr(torch.autograd.functional, name)
    if name in PRODUCTS:
        return chosen(func, inputs, v, **options)
    return chosen(func, inputs, **options)


# --- values and shapes -----------------------------------------------------------------------


def test_t1_jacobians_have_the_shape_of_the_output_and_then_of_the_input(torch):
    jacobian = torch.autograd.functional.jacobian
    x, y = torch.arange(6.0).view(2, 3), torch.tensor([1.0, 2.0])
    found = jacobian(lambda a: (a * a).sum(1), x)
    assert values(found) == [[[0, 2, 4], [0, 0, 0]], [[0, 0, 0], [6, 8, 10]]]
    assert jacobian(lambda a: a * 2, x).shape == (2, 3, 2, 3)
    assert values(jacobian(lambda a: a.sum(), y)) == [1, 1]
    assert values(jacobian(lambda a: a * 3, torch.tensor(2.0))) == 3


def test_t1_several_inputs_and_outputs_nest_by_output_then_input(torch):
    jacobian = torch.autograd.functional.jacobian
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    found = jacobian(lambda a, b: (a * b, b.sum()), (x, y))
    assert [[values(each) for each in row] for row in found] == [
        [[[3, 0], [0, 4]], [[1, 0], [0, 2]]],
        [[0, 0], [1, 1]],
    ]
    (alone,) = jacobian(cubes, (x,))
    assert values(alone) == [[3, 0], [0, 12]]
    ((nested,),) = jacobian(lambda a: (a**3,), (x,))
    assert values(nested) == [[3, 0], [0, 12]]


def test_t1_hessians_nest_by_input(torch):
    hessian = torch.autograd.functional.hessian
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0])
    assert values(hessian(sum_of_cubes, x)) == [[6, 0], [0, 12]]
    assert values(hessian(lambda a: sum_of_cubes(a).view(1, 1), x)) == [[6, 0], [0, 12]]
    found = hessian(lambda a, b: (a * a * b).sum(), (x, y))
    assert [[values(each) for each in row] for row in found] == [
        [[[6, 0], [0, 6]], [[2], [4]]],
        [[[2, 4]], [[0]]],
    ]


def test_t1_products_come_with_the_value(torch):
    functional = torch.autograd.functional
    x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0])

    def turned(a):
        return torch.stack([a[0] * a[1], a[1]])

    out, product = functional.vjp(turned, x, v)
    assert (values(out), values(product)) == ([2, 2], [2, 11])
    out, product = functional.jvp(turned, x, v)
    assert (values(out), values(product)) == ([2, 2], [12, 10])
    for name in ("vhp", "hvp"):
        value, product = getattr(functional, name)(sum_of_cubes, x, v)
        assert (values(value), values(product)) == (9, [6, 120])
    outs, product = functional.vjp(lambda a, b: (a * b, a), (x, x), (v, v))
    assert [values(each) for each in outs] == [[1, 4], [1, 2]]
    assert [values(each) for each in product] == [[2, 30], [1, 20]]


def test_t1_inputs_of_no_influence_give_zeros(torch):
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0])
    vector = (torch.ones(2), torch.ones(1))
    found = torch.autograd.functional.jacobian(lambda a, b: a * 2, (x, y))
    assert [values(each) for each in found] == [[[2, 0], [0, 2]], [[0], [0]]]
    for name in ("vhp", "hvp"):
        _, products = call(torch, name, lambda a, b: sum_of_cubes(a), (x, y), vector)
        assert [values(each) for each in products] == [[6, 12], [0]]
    _, product = torch.autograd.functional.jvp(lambda a: torch.ones(3), x, torch.ones(2))
    assert values(product) == [0, 0, 0]


# --- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_t2_inputs_and_outputs_are_tensors_or_tuples_of_them(torch, name):
    x, v = torch.tensor([1.0]), torch.tensor([1.0])
    inputs = f"TypeError: The inputs given to {name} must be either a Tensor or a tuple of Tensors "
    assert error(lambda: call(torch, name, sum_of_cubes, [x], v)) == (
        f"{inputs}but the given inputs has type <class 'list'>."
    )
    assert error(lambda: call(torch, name, sum_of_cubes, (x, 5), v)) == (
        f"{inputs}but the value at index 1 has type <class 'int'>."
    )
    outputs = (
        f"TypeError: The outputs of the user-provided function given to {name} must be either a "
        "Tensor or a tuple of Tensors "
    )
    assert error(lambda: call(torch, name, lambda a: [a], x, v)) == (
        f"{outputs}but the given outputs of the user-provided function has type <class 'list'>."
    )
    assert error(lambda: call(torch, name, lambda a: (a.sum(), 5), x, v)) == (
        f"{outputs}but the value at index 1 has type <class 'int'>."
    )


def test_t2_the_vector_may_be_missing_for_one_element_only(torch):
    functional = torch.autograd.functional
    x = torch.tensor([1.0, 2.0])
    assert error(lambda: functional.vjp(cubes, x)) == (
        "RuntimeError: The vector v can only be None if the user-provided function returns a "
        "single Tensor with a single element."
    )
    for name in ("jvp", "vhp", "hvp"):
        assert error(lambda name=name: call(torch, name, sum_of_cubes, x)) == (
            "RuntimeError: The vector v can only be None if the input to the user-provided "
            "function is a single Tensor with a single element."
        )
        assert values(call(torch, name, sum_of_cubes, x[1:])[1]) in (12, [12])
    assert values(functional.vjp(sum_of_cubes, x)[1]) == [3, 12]


@pytest.mark.parametrize("name", PRODUCTS)
def test_t2_the_vector_has_the_sizes_of_what_it_multiplies(torch, name):
    x = torch.tensor([1.0, 2.0])
    func = cubes if name in ("vjp", "jvp") else sum_of_cubes
    assert error(lambda: call(torch, name, func, x, torch.ones(3))) == (
        "RuntimeError: v has invalid size: should be torch.Size([2]) but got torch.Size([3])."
    )
    assert error(lambda: call(torch, name, func, x, (torch.ones(2), torch.ones(2)))) == (
        "RuntimeError: The given v should contain a single Tensor."
    )
    assert error(lambda: call(torch, name, func, x, [torch.ones(2)])) == (
        f"TypeError: The v given to {name} must be either a Tensor or a tuple of Tensors but the "
        "given v has type <class 'list'>."
    )
    pairs = (lambda a, b: (a, b)) if name == "vjp" else (lambda a, b: (a * b).sum())
    assert error(lambda: call(torch, name, pairs, (x, x), torch.ones(2))) == (
        "RuntimeError: v is a tuple of invalid length: should be 2 but got 1."
    )
    assert error(lambda: call(torch, name, pairs, (x, x), (torch.ones(2), torch.ones(3)))) == (
        "RuntimeError: Entry 1 in v has invalid size: should be torch.Size([2]) but got "
        "torch.Size([3])."
    )


@pytest.mark.parametrize("name", ["hessian", "vhp", "hvp"])
def test_t3_the_hessian_family_wants_one_element(torch, name):
    x, v = torch.tensor([1.0, 2.0]), torch.ones(2)
    assert error(lambda: call(torch, name, cubes, x, v)) == (
        f"RuntimeError: The Tensor returned by the function given to {name} should contain a "
        "single element"
    )
    single = f"RuntimeError: The function given to {name} should return a single Tensor"
    assert error(lambda: call(torch, name, lambda a: (a.sum(),), x, v)) == single
    assert error(lambda: call(torch, name, lambda a: (a.sum(), a.sum()), x, v)) == single


# --- grad mode and graphs --------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_t4_works_without_grad_mode_and_returns_no_graph(torch, name):
    x, v = torch.tensor([1.0, 2.0], requires_grad=True), torch.ones(2)
    vector = None if name == "vjp" else v
    with torch.no_grad():
        found = call(torch, name, sum_of_cubes, x * 1, vector)
    for each in found if isinstance(found, tuple) else (found,):
        assert not each.requires_grad
    assert x.grad is None


@pytest.mark.parametrize("name", PRODUCTS)
def test_t4_create_graph_makes_results_differentiable_by_inputs_and_vector(torch, name):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    v = torch.tensor([1.0, 3.0], requires_grad=True)
    func = cubes if name in ("vjp", "jvp") else sum_of_cubes
    value, product = call(torch, name, func, x * 1, v, create_graph=True)
    assert value.requires_grad
    by_x, by_v = torch.autograd.grad(product.sum(), (x, v))
    if name in ("vjp", "jvp"):
        assert (values(by_x), values(by_v)) == ([6, 36], [3, 12])
    else:
        assert (values(by_x), values(by_v)) == ([6, 18], [6, 12])


def test_t4_create_graph_makes_matrices_differentiable(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    jacobian = torch.autograd.functional.jacobian(cubes, x, create_graph=True)
    assert values(torch.autograd.grad(jacobian.sum(), x)[0]) == [6, 12]
    hessian = torch.autograd.functional.hessian(sum_of_cubes, x, create_graph=True)
    assert values(torch.autograd.grad(hessian.sum(), x)[0]) == [6, 6]


@pytest.mark.parametrize("name", ["jacobian", "vjp", "jvp", "vhp", "hvp"])
def test_t4_the_function_sees_leaves_or_views_of_the_inputs(torch, name):
    x, seen = torch.ones(2, requires_grad=True), []

    def func(a):
        seen.append((a is x, a.requires_grad, a.is_leaf, a._is_view()))
        return (a * a).sum()

    vector = None if name == "vjp" else torch.ones(2)
    call(torch, name, func, x, vector)
    call(torch, name, func, x, vector, create_graph=True)
    assert seen == [(False, True, True, False), (False, True, False, True)]


# --- strict ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_t5_strict_wants_outputs_that_require_grad(torch, name):
    x, v = torch.tensor([1.0, 2.0]), torch.ones(2)
    vector = torch.tensor(1.0) if name == "vjp" else v
    assert error(
        lambda: call(torch, name, lambda a: torch.tensor(1.0), x, vector, strict=True)
    ) == OUTPUT.format(0)
    assert error(
        lambda: call(torch, name, lambda a: (a.sum(), a.detach()), x, vector, strict=True)
    ) == OUTPUT.format(1)


def test_t5_strict_wants_outputs_that_depend_on_each_input(torch):
    x, v = torch.tensor([1.0, 2.0]), torch.ones(2)

    def first_only(a, b):
        return (a**3).sum()

    independent = f"of the user-provided function is independent of input 1. {NOT_STRICT}."
    for name in ("vjp", "jvp", "vhp", "hvp"):
        vector = torch.tensor(1.0) if name == "vjp" else (v, v)
        assert (
            error(
                lambda name=name, vector=vector: call(
                    torch, name, first_only, (x, x), vector, strict=True
                )
            )
            == f"RuntimeError: The output {independent}"
        )
    assert error(lambda: call(torch, "jacobian", first_only, (x, x), strict=True)) == (
        f"RuntimeError: Output 0 {independent}"
    )
    assert error(
        lambda: call(torch, "hessian", first_only, (x, x), strict=True)
    ) == CONSTANT_JACOBIAN.format(1)


def test_t5_strict_wants_gradients_that_can_be_differentiated_again(torch):
    x, v = torch.tensor([1.0, 2.0]), torch.ones(2)
    for name in ("hessian", "vhp", "hvp"):
        assert error(
            lambda name=name: call(torch, name, lambda a: a.sum(), x, v, strict=True)
        ) == CONSTANT_JACOBIAN.format(0)
    constant = f"independent of input 0. {NOT_STRICT} when create_graph=True."
    for name in ("jacobian", "vjp", "jvp"):
        vector = torch.tensor(1.0) if name == "vjp" else v
        assert error(
            lambda name=name, vector=vector: call(
                torch, name, lambda a: a.sum(), x, vector, strict=True, create_graph=True
            )
        ) == (f"RuntimeError: The jacobian of the user-provided function is {constant}")
    for name in ("vhp", "hvp"):
        assert error(
            lambda name=name: call(
                torch, name, lambda a: (a * a).sum(), x, v, strict=True, create_graph=True
            )
        ) == (f"RuntimeError: The hessian of the user-provided function is {constant}")


def test_t5_strict_names_what_hides_behind_an_outer_graph(torch):
    x, v = torch.tensor([1.0, 2.0]), torch.ones(2)
    outer = torch.tensor([2.0, 3.0], requires_grad=True)

    def linear(a):
        return (a * outer).sum()

    assert error(lambda: call(torch, "vhp", linear, x, v, strict=True)) == (
        "RuntimeError: The jacobian of the user-provided function is independent of input 0. "
        f"{NOT_STRICT}."
    )
    assert error(lambda: call(torch, "hvp", linear, x, v, strict=True)) == (
        "RuntimeError: The hessian of the user-provided function is independent of entry 0 in the "
        f"grad_jacobian. {NOT_STRICT} as it prevents from using the double backward trick to "
        "replace forward mode AD."
    )


def test_t5_strict_names_a_backward_that_ignores_its_gradient(torch):
    x, v = torch.tensor([1.0, 2.0]), torch.ones(2)
    ones = function(torch, lambda ctx, a: a * 1, lambda ctx, grad: torch.ones(2))
    assert error(lambda: call(torch, "jvp", ones.apply, x, v, strict=True)) == (
        "RuntimeError: The gradient with respect to input 0 is independent of the inputs of the "
        f"user-provided function. {NOT_STRICT}."
    )
    assert error(lambda: call(torch, "jvp", lambda a: ones.apply(a * a), x, v, strict=True)) == (
        "RuntimeError: The gradient with respect to the input is independent of entry 0 in the "
        "grad_outputs when using the double backward trick to compute forward mode gradients. "
        f"{NOT_STRICT}."
    )


def test_t5_strict_and_vectorize_exclude_each_other(torch):
    x = torch.tensor([1.0, 2.0])
    for name, func in (("jacobian", cubes), ("hessian", sum_of_cubes)):
        assert error(
            lambda name=name, func=func: call(torch, name, func, x, strict=True, vectorize=True)
        ) == (
            "RuntimeError: torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` "
            "are not supported together. Please either set `strict=False` or `vectorize=False`."
        )


# --- vectorize -------------------------------------------------------------------------------


def plain(found):
    """Nested tuples or lists of tensors as numbers."""
    if isinstance(found, (tuple, list)):
        return [plain(each) for each in found]
    return values(found)


def test_t6_vectorize_gives_the_same(torch):
    jacobian, hessian = torch.autograd.functional.jacobian, torch.autograd.functional.hessian
    x, y = torch.arange(4.0).view(2, 2), torch.tensor([1.0, 2.0])

    def several(a, b):
        return (a * a) @ b, b.prod(), torch.ones(2)

    def single(a, b):
        return ((a**3) @ b).sum()

    expected = plain(jacobian(several, (x, y)))
    assert plain(jacobian(several, (x, y), vectorize=True)) == expected
    assert plain(jacobian(several, (x, y), vectorize=True, strategy="forward-mode")) == expected
    expected = plain(hessian(single, (x, y)))
    assert plain(hessian(single, (x, y), vectorize=True)) == expected
    forward = hessian(single, (x, y), vectorize=True, outer_jacobian_strategy="forward-mode")
    assert plain(forward) == expected


def test_t6_forward_mode_calls_the_function_once(torch):
    calls = []

    def func(a):
        calls.append(a.shape)
        return a * a

    torch.autograd.functional.jacobian(func, torch.ones(3), vectorize=True, strategy="forward-mode")
    assert calls == [(3,)]


def test_t6_create_graph_goes_with_reverse_mode(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    found = torch.autograd.functional.jacobian(cubes, x, create_graph=True, vectorize=True)
    assert values(torch.autograd.grad(found.sum(), x)[0]) == [6, 12]


def test_t6_forward_mode_has_the_dtype_of_the_output(torch):
    x = torch.tensor([1.0, 2.0])

    def dtypes(func):
        jacobian = torch.autograd.functional.jacobian
        reverse = jacobian(func, x, vectorize=True)
        forward = jacobian(func, x, vectorize=True, strategy="forward-mode")
        return reverse.dtype, forward.dtype

    assert dtypes(lambda a: a.double()) == (torch.float32, torch.float64)
    assert dtypes(lambda a: a * 1j) == (torch.float32, torch.complex64)


def test_t6_what_does_not_go_together(torch):
    x = torch.tensor([1.0, 2.0])

    def jacobian(**options):
        return error(lambda: torch.autograd.functional.jacobian(cubes, x, **options))

    assert jacobian(strategy="forward-mode") == (
        "NotImplementedError: Computing Jacobian using forward-AD or forward-over-reverse Hessian "
        "isonly implemented for `vectorize=True`."
    )
    assert jacobian(strategy="forward-mode", create_graph=True) == (
        "NotImplementedError: torch.autograd.functional.jacobian: `create_graph=True` and "
        '`strategy="forward-mode"` are not supported together (yet). Please either set '
        '`create_graph=False` or `strategy="reverse-mode"`.'
    )
    assert jacobian(strategy="forward-mode", strict=True) == (
        "RuntimeError: torch.autograd.functional.jacobian: `strict=True` and "
        '`strategy="forward-mode"` are not supported together (yet). Please either set '
        '`strict=False` or `strategy="reverse-mode"`.'
    )
    assert jacobian(strategy="sideways").startswith(
        'AssertionError: Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If '
    )
    assert error(
        lambda: torch.autograd.functional.hessian(
            sum_of_cubes, x, outer_jacobian_strategy="sideways"
        )
    ) == ('AssertionError: Expected strategy to be either "forward-mode" or "reverse-mode".')


# --- bases -----------------------------------------------------------------------------------


def test_t7_the_standard_basis_of_several_tensors(torch):
    construct = torch.autograd.functional._construct_standard_basis_for
    first, second = construct((torch.ones(2), torch.ones(1, dtype=torch.float64)), (2, 1))
    assert values(first) == [[1, 0], [0, 1], [0, 0]]
    assert values(second) == [[0], [0], [1]]
    assert (first.dtype, second.dtype) == (torch.float32, torch.float64)
    assert error(lambda: construct((), ())) == "AssertionError: Expected at least one tensor"
    assert error(lambda: construct((torch.ones(1),), (1, 2))) == (
        "AssertionError: Expected tensors and tensor_numels to have the same length, but got 1 "
        "and 2"
    )
