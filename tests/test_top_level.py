"""Functions at the top level that the rows of `opcases` cannot show."""

from __future__ import annotations

import subprocess
import sys

import pytest

import taper


def made(*shape):
    return taper.arange(1.0, 1 + taper.Size(shape).numel(), dtype=taper.float64).reshape(shape)


# --- as_strided_scatter ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tensor", "size", "stride", "offset"),
    [
        (lambda x: x, (2, 2), (4, 1), None),
        (lambda x: x, (2, 2), (4, 1), 5),
        (lambda x: x.t(), (2, 2), (4, 1), 1),
        (lambda x: x[1:], (2,), (3,), None),
        (lambda x: x[1:], (2,), (3,), 2),  # partly before its destination
        (lambda x: x[0, :1].expand(3), (2,), (2,), None),
    ],
)
def test_gradients_of_as_strided_scatter(tensor, size, stride, offset):
    def program(x, src):
        return taper.as_strided_scatter(tensor(x), src, size, stride, offset)

    inputs = made(3, 4).requires_grad_(), made(*size).requires_grad_()
    assert taper.autograd.gradcheck(program, inputs, check_forward_ad=True)
    assert taper.autograd.gradgradcheck(program, inputs)


def test_as_strided_scatter_keeps_the_strides():
    x = made(3, 4).t()
    result = taper.as_strided_scatter(x, taper.zeros(2), (2,), (1,))
    assert result.stride() == (1, 4)
    assert x[0, 0] == 1
    assert result[:2, 0].tolist() == [0, 0]
    repeated = taper.ones(1).expand(3).as_strided_scatter(taper.full((1,), 5.0), (1,), (1,))
    assert repeated.tolist() == [5, 1, 1]


def test_node_of_as_strided_scatter():
    node = taper.as_strided_scatter(
        made(3, 4).requires_grad_(), taper.ones(2), (2,), (1,), 3
    ).grad_fn
    assert node.name() == "AsStridedScatterBackward0"
    assert (node._saved_size, node._saved_stride, node._saved_storage_offset) == ((2,), (1,), 3)


def test_as_strided_scatter_has_no_batches():
    with pytest.raises(RuntimeError, match="aten::as_strided_scatter requires special handling"):
        taper.vmap(lambda x: x.as_strided_scatter(taper.zeros(2), (2,), (1,)))(made(3, 4))


# --- empty_permuted --------------------------------------------------------------------------


def test_empty_permuted():
    assert taper.empty_permuted((2, 3, 4), (0, 2, 1)).stride() == (12, 1, 3)
    x = taper.empty_permuted([2, 3], [1, 0], dtype=taper.float64, requires_grad=True)
    assert (x.stride(), x.dtype, x.requires_grad) == ((1, 2), taper.float64, True)
    assert taper.empty_permuted((), ()).shape == ()


@pytest.mark.parametrize(
    ("size", "layout", "text"),
    [
        ((2, 3), (0,), "i.e. len(size) = 2 is not equal to len(physical_layout) = 1"),
        ((2, 3), (0, 0), "Duplicate dim not allowed"),
        ((2, 3), (0, 2), "expected to be between 0 and 1, but got 2 at index 1"),
        ((2, 3), (0, -1), "expected to be between 0 and 1, but got -1 at index 1"),
        ((2, -3), (0, 1), "Trying to create tensor with negative dimension -3: [2, -3]"),
    ],
)
def test_empty_permuted_refuses(size, layout, text):
    with pytest.raises(RuntimeError) as caught:
        taper.empty_permuted(size, layout)
    assert text in str(caught.value)


# --- in place, losses ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sin_", "round_", "relu_", "erf_"])
def test_an_in_place_function_can_be_the_first_that_is_used(name):
    program = f"import taper; x = taper.ones(2); x.{name}(); print(taper.{name}(x) is x)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_detach_cuts_the_history():
    x = taper.ones(2, requires_grad=True) * 2
    assert taper.detach_(x) is x
    assert x.grad_fn is None


def test_addmv_writes_into_its_first_argument():
    x = taper.ones(2)
    assert taper.addmv_(x, taper.ones(2, 3), taper.ones(3), beta=2) is x
    assert x.tolist() == [5, 5]


def test_errors_name_the_function():
    with pytest.raises(TypeError, match=r"^kl_div\(\) missing 2 required positional arguments"):
        taper.kl_div()


def test_mean_of_kl_div_by_number_does_not_warn():
    assert taper.kl_div(taper.zeros(2), taper.ones(2), 1).item() == 0  # warnings are errors
