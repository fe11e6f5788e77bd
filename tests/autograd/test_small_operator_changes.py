"""What a small wrong change of the generated code of operators would break, and nothing else saw.

`tools/mutate.py` found these, as those of `test_small_changes.py`.
"""

from __future__ import annotations

import pytest

from autograd_probe import error, values

SECOND = "RuntimeError: Trying to backward through the graph a second time"
OVERLAP = (
    "RuntimeError: unsupported operation: some elements of the input tensor and the written-to"
)

# In-place functions of float32 with another tensor, which is differentiated: the gradient for a
# target of ones and another tensor of twos.
WRITES = [
    ("add_", (), [1.0, 1.0]),
    ("mul_", (), [1.0, 1.0]),
    ("lerp_", (0.5,), [0.5, 0.5]),
    ("atan2_", (), [-0.2, -0.2]),
    ("copysign_", (), [0.0, 0.0]),
]


@pytest.mark.parametrize(("name", "more", "expected"), WRITES, ids=[each[0] for each in WRITES])
def test_a_write_is_recorded_if_the_other_tensor_requires_grad(torch, name, more, expected):
    other = torch.full((2,), 2.0, requires_grad=True)
    target = torch.ones(2)
    getattr(target, name)(other, *more)
    assert target.requires_grad
    target.sum().backward()
    assert values(other.grad) == pytest.approx(expected)


def test_a_write_is_recorded_if_any_other_tensor_requires_grad(torch):
    weight = torch.full((2,), 2.0, requires_grad=True)
    for position in range(2):
        others = [torch.full((2,), 3.0), torch.full((2,), 3.0)]
        others[position] = weight
        target = torch.ones(2).addcmul_(*others)
        assert target.requires_grad
        target.sum().backward()
    assert values(weight.grad) == [6.0, 6.0]


@pytest.mark.parametrize("recording", [True, False])
@pytest.mark.parametrize("name", ["add_", "mul_", "atan2_", "copysign_"])
def test_a_write_refuses_what_overlaps_its_target(torch, name, recording):
    memory = torch.arange(1.0, 6.0)
    with torch.set_grad_enabled(recording):
        assert error(lambda: getattr(memory[1:], name)(memory[:-1])).startswith(OVERLAP)
    assert values(memory) == [1.0, 2.0, 3.0, 4.0, 5.0]
    getattr(memory, name)(memory)  # the same elements: allowed


@pytest.mark.parametrize("name", ["add_", "mul_", "atan2_", "copysign_"])
def test_a_write_in_another_dtype_gives_the_dtype_of_the_target(torch, name):
    target = torch.ones(2)
    getattr(target, name)(torch.full((2,), 2.0, dtype=torch.float64))
    assert target.dtype == torch.float32
    if name in ("add_", "mul_"):
        assert values(target) == [3.0 if name == "add_" else 2.0] * 2


@pytest.mark.parametrize("recording", [True, False])
def test_a_write_through_the_imaginary_part_of_a_conjugate_is_negated(torch, recording):
    memory = torch.full((2,), 1 + 2j)
    part = memory.conj().imag
    with torch.set_grad_enabled(recording):
        part.add_(1)
    assert values(part) == [-1.0, -1.0] and values(memory) == [1 + 1j, 1 + 1j]
    with torch.set_grad_enabled(recording):
        part.add_(torch.ones(2))
    assert values(part) == [0.0, 0.0] and values(memory) == [1 + 0j, 1 + 0j]


def test_a_write_refuses_repeated_memory(torch):
    for write in (lambda x: x.add_(1), lambda x: x.atan2_(torch.ones(3)), lambda x: x.relu_()):
        assert error(lambda write=write: write(torch.ones(1).expand(3))).startswith(
            "RuntimeError: unsupported operation: more than one element of the written-to tensor"
        )


def test_a_write_refuses_inference_tensors(torch):
    with torch.inference_mode():
        x = torch.ones(2)
    for write in (lambda: x.add_(1), lambda: x.atan2_(torch.ones(2)), lambda: x.relu_()):
        assert error(write).startswith("RuntimeError: Inplace update to inference tensor outside")


def test_several_views_of_an_inference_tensor_have_no_history(torch):
    with torch.inference_mode():
        x = torch.ones(2, 2, requires_grad=True)
    parts = x.unbind()
    assert all(part.is_inference() and part.grad_fn is None for part in parts)


# One of two outputs alone: its gradient for the matrix below.
MATRIX = [[2.0, 1.0], [1.0, 3.0]]
OUTPUTS = [
    ("var_mean", 0, [[0.16666667, -0.5], [-0.5, 0.8333333]]),
    ("var_mean", 1, [[0.25, 0.25], [0.25, 0.25]]),
    ("aminmax", 0, [[0.0, 0.5], [0.5, 0.0]]),
    ("aminmax", 1, [[0.0, 0.0], [0.0, 1.0]]),
    ("linalg.slogdet", 1, [[0.6, -0.2], [-0.2, 0.4]]),
    ("linalg.eigh", 0, [[1.0, 0.0], [0.0, 1.0]]),
    ("frexp", 0, [[0.25, 0.5], [0.5, 0.25]]),
]


@pytest.mark.parametrize(("name", "nr", "expected"), OUTPUTS)
def test_one_of_two_outputs_is_differentiated_alone(torch, name, nr, expected):
    function = torch
    for part in name.split("."):
        function = getattr(function, part)
    x = torch.tensor(MATRIX, requires_grad=True)
    function(x)[nr].sum().backward()
    for row, wanted in zip(values(x.grad), expected, strict=True):
        assert row == pytest.approx(wanted, abs=1e-6)


def test_a_pass_for_one_input_frees_what_was_saved_for_both(torch):
    x, weight = (torch.full((2,), 2.0, requires_grad=True) for _ in range(2))
    y = (x * weight).sum()
    torch.autograd.grad(y, x)
    assert error(lambda: torch.autograd.grad(y, x)).startswith(SECOND)
    y = (x * weight).exp().sum()
    torch.autograd.grad(y, weight, create_graph=True, retain_graph=False)
    assert error(lambda: torch.autograd.grad(y, x)).startswith(SECOND)


def test_hooks_see_only_the_gradients_that_are_wanted(torch):
    seen = []
    x = torch.full((1, 2, 3), 2.0, requires_grad=True)
    weight = torch.ones(2)
    y = torch.nn.functional.instance_norm(x, weight=weight, bias=torch.zeros(2))
    node = y.grad_fn
    while node is not None and "BatchNorm" not in node.name():
        node = node.next_functions[0][0]
    node.register_hook(lambda inputs, _: seen.extend(each is None for each in inputs))
    y.sum().backward()
    assert seen == [False, True, True]


def test_operators_without_a_complex_derivative_refuse_to_be_recorded(torch):
    x = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    assert error(lambda: torch.nn.functional.silu(x)) == (
        "RuntimeError: silu does not support automatic differentiation for outputs with complex "
        "dtype."
    )
    assert torch.nn.functional.silu(x.detach()).dtype == torch.complex64
