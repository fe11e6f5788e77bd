"""The text of tensors, literally as PyTorch prints them."""

from math import inf, nan

import ml_dtypes
import numpy as np
import pytest

import taper
from taper import dtypes
from taper.printing import (
    format_scalar,
    get_printoptions,
    options,
    printoptions,
    set_printoptions,
    tensor_repr,
)


@pytest.fixture(autouse=True)
def default_options():
    yield
    set_printoptions(profile="default")


@pytest.mark.parametrize(
    ("values", "name", "text"),
    [
        ([1.0, 2.5], "float32", "tensor([1.0000, 2.5000])"),
        ([1.0, 2.0], "float32", "tensor([1., 2.])"),
        (3.0, "float32", "tensor(3.)"),
        (0.1, "float64", "tensor(0.1000, dtype=torch.float64)"),
        ([0.5, -0.5], "bfloat16", "tensor([ 0.5000, -0.5000], dtype=torch.bfloat16)"),
        ([0.1, 1000.0], "float16", "tensor([9.9976e-02, 1.0000e+03], dtype=torch.float16)"),
        ([True, False], "bool", "tensor([ True, False])"),
        ([1, -20, 300], "int64", "tensor([  1, -20, 300])"),
        ([1, -20], "int8", "tensor([  1, -20], dtype=torch.int8)"),
        ([0.0, nan, inf], "float32", "tensor([0., nan, inf])"),
        ([1.5, nan, -inf], "float32", "tensor([1.5000,    nan,   -inf])"),
        ([1e-05, 1.0], "float32", "tensor([1.0000e-05, 1.0000e+00])"),
        ([1.0, 100000.0], "float32", "tensor([1.0000e+00, 1.0000e+05])"),
        ([123456789.0], "float32", "tensor([1.2346e+08])"),
        ([-0.0, 0.0], "float32", "tensor([-0., 0.])"),
        ([1e-300, 2.0], "float64", "tensor([1.0000e-300,  2.0000e+00], dtype=torch.float64)"),
        ([1 + 2j, -0.5 - 1j], "complex64", "tensor([ 1.0000+2.j, -0.5000-1.j])"),
        ([1.5 + 0j], "complex128", "tensor([1.5000+0.j], dtype=torch.complex128)"),
        (1j, "complex64", "tensor(0.+1.j)"),
        ([[1, 2], [3, 4]], "int64", "tensor([[1, 2],\n        [3, 4]])"),
        (
            [[[1.0], [2.0]], [[3.0], [4.0]]],
            "float32",
            "tensor([[[1.],\n         [2.]],\n\n        [[3.],\n         [4.]]])",
        ),
        ([], "float32", "tensor([])"),
        ([], "int64", "tensor([], dtype=torch.int64)"),
        ([[], []], "float32", "tensor([], size=(2, 0))"),
        ([[], []], "complex64", "tensor([], size=(2, 0), dtype=torch.complex64)"),
    ],
)
def test_text(values, name, text):
    assert tensor_repr(np.array(values, dtypes.DTYPES[name].numpy)) == text


def test_long_rows_are_wrapped():
    assert tensor_repr(np.arange(20, dtype=np.float32) / 4) == (
        "tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000, 1.2500, 1.5000, 1.7500, 2.0000,\n"
        "        2.2500, 2.5000, 2.7500, 3.0000, 3.2500, 3.5000, 3.7500, 4.0000, 4.2500,\n"
        "        4.5000, 4.7500])"
    )


def test_large_tensors_are_summarised():
    assert tensor_repr(np.arange(5000)) == ("tensor([   0,    1,    2,  ..., 4997, 4998, 4999])")
    assert tensor_repr(np.arange(1200).reshape(30, 40)) == (
        "tensor([[   0,    1,    2,  ...,   37,   38,   39],\n"
        "        [  40,   41,   42,  ...,   77,   78,   79],\n"
        "        [  80,   81,   82,  ...,  117,  118,  119],\n"
        "        ...,\n"
        "        [1080, 1081, 1082,  ..., 1117, 1118, 1119],\n"
        "        [1120, 1121, 1122,  ..., 1157, 1158, 1159],\n"
        "        [1160, 1161, 1162,  ..., 1197, 1198, 1199]])"
    )


def test_summary_of_three_dimensions():
    set_printoptions(edgeitems=1, threshold=3)
    assert tensor_repr(np.arange(27).reshape(3, 3, 3)) == (
        "tensor([[[ 0,  ...,  2],\n"
        "         ...,\n"
        "         [ 6,  ...,  8]],\n"
        "\n"
        "        ...,\n"
        "\n"
        "        [[18,  ..., 20],\n"
        "         ...,\n"
        "         [24,  ..., 26]]])"
    )


def test_widths_come_from_what_is_shown():
    array = np.arange(5000)
    array[2500] = 10**12
    assert tensor_repr(array) == "tensor([   0,    1,    2,  ..., 4997, 4998, 4999])"


def test_no_edgeitems_show_the_size():
    set_printoptions(edgeitems=0, threshold=5)
    assert tensor_repr(np.arange(6, dtype=np.int32)) == (
        "tensor([...], size=(6,), dtype=torch.int32)"
    )
    assert tensor_repr(np.arange(3)) == "tensor([0, 1, 2], size=(3,))"


def test_suffixes_of_autograd():
    array = np.array([2.0, 2.0], np.float32)
    assert tensor_repr(array, requires_grad=True) == "tensor([2., 2.], requires_grad=True)"
    assert tensor_repr(array, requires_grad=True, grad_fn_name="MulBackward0") == (
        "tensor([2., 2.], grad_fn=<MulBackward0>)"
    )
    assert tensor_repr(array, requires_grad=True, parameter=True) == (
        "Parameter containing:\ntensor([2., 2.], requires_grad=True)"
    )
    assert tensor_repr(array, tangent="tensor([1., 1.])") == (
        "tensor([2., 2.], tangent=tensor([1., 1.]))"
    )


def test_suffixes_that_do_not_fit_start_a_line():
    array = np.arange(8) / 7 * 2
    assert tensor_repr(array, grad_fn_name="MulBackward0") == (
        "tensor([0.0000, 0.2857, 0.5714, 0.8571, 1.1429, 1.4286, 1.7143, 2.0000],\n"
        "       dtype=torch.float64, grad_fn=<MulBackward0>)"
    )


def test_name_of_a_subclass_moves_the_rows():
    assert tensor_repr(np.array([[1], [2]]), name="T") == "T([[1],\n   [2]])"


def test_default_dtype_is_not_shown():
    array = np.zeros(1)
    dtypes.set_default_dtype(dtypes.float64)
    try:
        assert tensor_repr(array) == "tensor([0.])"
        assert tensor_repr(array.astype(np.float32)) == "tensor([0.], dtype=torch.float32)"
        assert tensor_repr(array.astype(np.complex64)) == "tensor([0.+0.j], dtype=torch.complex64)"
    finally:
        dtypes.set_default_dtype(dtypes.float32)


def test_precision_and_sci_mode():
    array = np.array([1.5, -2.25], np.float32)
    set_printoptions(precision=1, sci_mode=True)
    assert tensor_repr(array) == "tensor([ 1.5e+00, -2.2e+00])"
    set_printoptions(precision=2)  # sci_mode is automatic again
    assert tensor_repr(array) == "tensor([ 1.50, -2.25])"


def test_profiles():
    before = get_printoptions()
    set_printoptions(profile="short")
    assert (options.precision, options.edgeitems, options.threshold) == (2, 2, 1000)
    set_printoptions(profile="full", precision=6)
    assert (options.precision, options.edgeitems, options.threshold) == (6, 3, inf)
    set_printoptions(profile="default")
    assert get_printoptions() == before


def test_printoptions_come_back_after_an_error():
    before = get_printoptions()
    with pytest.raises(KeyError), printoptions(precision=1, linewidth=20):
        assert options.precision == 1
        raise KeyError
    assert get_printoptions() == before


def test_printing_changes_nothing():
    array = np.array([1e-5, nan, 3.0], ml_dtypes.bfloat16)
    copy = array.copy()
    tensor_repr(array)
    assert array.tobytes() == copy.tobytes()


@pytest.mark.parametrize(
    ("value", "name", "spec", "text"),
    [
        (0.1, "float32", "", "0.10000000149011612"),
        (0.1, "bfloat16", "", "0.10009765625"),
        (1.0, "float32", ".2f", "1.00"),
        (3, "int64", "5d", "    3"),
        (True, "bool", "", "True"),
        (1 + 2j, "complex64", "", "(1+2j)"),
    ],
)
def test_format_scalar(value, name, spec, text):
    assert format_scalar(np.array(value, dtypes.DTYPES[name].numpy), spec) == text


def test_a_summary_reads_only_what_it_shows():
    """A strided array is not copied as a whole: this one would need 3.6 TB."""
    huge = np.broadcast_to(np.float32(0), (1_000_000, 1_000_000))
    assert tensor_repr(huge).count("0.") == 36


def test_a_sparse_tensor_breaks_its_last_line_as_pytorch_does():
    values = taper.tensor([4.0, 4.0, 5.0], requires_grad=True)
    shown = repr(taper.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], values, (2, 3)).coalesce())
    last = "       size=(2, 3), nnz=3, layout=torch.sparse_coo, grad_fn=<CoalesceBackward0>)"
    assert shown.splitlines()[-1] == last
