"""`taper.testing`: what passes, what fails, and in which words.  Texts are PyTorch's."""

from __future__ import annotations

import collections
import math

import numpy as np
import pytest

import taper
from taper.testing import assert_allclose, assert_close, make_tensor

T = taper.tensor
NAN, INF = math.nan, math.inf


def failure(actual, expected, error=AssertionError, check=assert_close, **options):
    """Return the text with which a comparison fails."""
    with pytest.raises(error) as caught:
        check(actual, expected, **options)
    return str(caught.value)


# --- assert_close: tensors -------------------------------------------------------------------


def test_text_of_tensors_that_differ():
    assert failure(T([1.0, 2, 3, 4]), T([1.0, 2, 3, 5])) == (
        "Tensor-likes are not close!\n\n"
        "Mismatched elements: 1 / 4 (25.0%)\n"
        "Greatest absolute difference: 1.0 at index (3,) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.20000000298023224 at index (3,) (up to 1.3e-06 allowed)"
    )


def test_greatest_differences_need_not_be_in_one_place():
    text = failure(taper.zeros(2, 3), T([[0, 0, 0], [0, 1.0, 3]]))
    assert "Greatest absolute difference: 3.0 at index (1, 2)" in text
    assert "Greatest relative difference: 1.0 at index (1, 1)" in text


def test_exact_comparison_names_no_tolerance():
    assert failure(T([1.0, 0.0]), T([0.0, 0.0]), rtol=0, atol=0) == (
        "Tensor-likes are not equal!\n\n"
        "Mismatched elements: 1 / 2 (50.0%)\n"
        "Greatest absolute difference: 1.0 at index (0,)\n"
        "Greatest relative difference: inf at index (0,)"
    )


def test_zero_dimensional_tensors_are_scalars():
    assert failure(T(1.0), T(2.0)) == (
        "Scalars are not close!\n\n"
        "Expected 2.0 but got 1.0.\n"
        "Absolute difference: 1.0 (up to 1e-05 allowed)\n"
        "Relative difference: 0.5 (up to 1.3e-06 allowed)"
    )


@pytest.mark.parametrize(
    ("dtype", "rtol", "atol"),
    [
        ("float16", 1e-3, 1e-5),
        ("bfloat16", 1.6e-2, 1e-5),
        ("float32", 1.3e-6, 1e-5),
        ("float64", 1e-7, 1e-7),
        ("complex64", 1.3e-6, 1e-5),
        ("complex128", 1e-7, 1e-7),
    ],
)
def test_tolerances_of_dtypes(dtype, rtol, atol):
    dtype = getattr(taper, dtype)
    text = failure(taper.ones(2).to(dtype), taper.zeros(2).to(dtype))
    assert f"(up to {atol} allowed)" in text
    assert f"(up to {rtol} allowed)" in text


@pytest.mark.parametrize("dtype", "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64".split())
def test_whole_numbers_are_compared_exactly(dtype):
    dtype = getattr(taper, dtype)
    assert_close(taper.ones(2).to(dtype), taper.ones(2).to(dtype))
    assert failure(taper.ones(2).to(dtype), taper.zeros(2).to(dtype)) == (
        "Tensor-likes are not equal!\n\n"
        "Mismatched elements: 2 / 2 (100.0%)\n"
        "Greatest absolute difference: 1 at index (0,)\n"
        "Greatest relative difference: inf at index (0,)"
    )


def test_differences_of_small_integers_do_not_wrap():
    text = failure(T([127], dtype=taper.int8), T([-128], dtype=taper.int8))
    assert "Greatest absolute difference: 255 at index (0,)" in text


def test_nan():
    assert_close(T([1.0, NAN]), T([1.0, NAN]), equal_nan=True)
    text = failure(T([3.0, NAN]), T([1.0, NAN]))
    assert "Mismatched elements: 2 / 2" in text
    assert "Greatest absolute difference: nan at index (1,)" in text
    assert_close(T([complex(1, NAN)]), T([complex(2, NAN)]), equal_nan=True)


@pytest.mark.parametrize(
    ("actual", "expected", "options", "text"),
    [
        (taper.ones(2), taper.ones(1), {}, "'shape' do not match: torch.Size([2]) != torch.Size"),
        (T([1.0]), T([1]), {}, "'dtype' do not match: torch.float32 != torch.int64."),
        (
            taper.ones(2, 3),
            taper.ones(3, 2).t(),
            {"check_stride": True},
            "'stride()' do not match: (3, 1) != (1, 2).",
        ),
    ],
)
def test_attributes(actual, expected, options, text):
    found = failure(actual, expected, **options)
    assert found.startswith("The values for attribute '")
    assert text in found


def test_dtypes_are_promoted_when_they_are_not_checked():
    assert_close(T([1.0, 2.0]), T([1, 2]), check_dtype=False)
    assert_close(T([1], dtype=taper.uint64), T([1], dtype=taper.int32), check_dtype=False)
    text = failure(
        T([1.0]).half(), T([1.1]).bfloat16(), check_dtype=False
    )  # the wider tolerance of the two
    assert "(up to 0.016 allowed)" in text
    assert "Expected 2.0 but got 0.0." in failure(T(False), T(2.0), check_dtype=False)


def test_gradients_and_strides_do_not_matter():
    parameter = taper.nn.Parameter(taper.ones(2, 3))
    assert_close(parameter, taper.ones(3, 2).t())
    assert_close(taper.ones(0), taper.ones(0))


def test_subclasses():
    parameter = taper.nn.Parameter(taper.ones(2))
    assert_close(parameter, taper.ones(2))
    text = failure(parameter, taper.ones(2), TypeError, allow_subclasses=False)
    assert text.startswith("No comparison pair was able to handle inputs of type <class ")


def test_one_tolerance_alone():
    pattern = "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
    assert failure(T(1.0), T(1.0), ValueError, rtol=1.0) == pattern + "atol."
    assert failure([1.0], [1.0], ValueError, atol=1.0) == (
        pattern + "rtol.\n\nThe failure occurred for item [0]"
    )


# --- assert_close: other values --------------------------------------------------------------


def test_numbers():
    assert_close(1.0, 1.0 + 1e-9)
    assert_close(np.float32(1), np.float64(1))
    assert_close(1, 1.0, check_dtype=False)
    assert_close(NAN, NAN, equal_nan=True)
    assert_close(complex(INF, 0), complex(INF, 0))
    assert failure(1, 1.0) == "The (d)types do not match: <class 'int'> != <class 'float'>."
    assert failure(1, 2) == (
        "Scalars are not equal!\n\nExpected 2 but got 1.\n"
        "Absolute difference: 1\nRelative difference: 0.5"
    )
    assert "Relative difference: nan (up to 1e-07 allowed)" in failure(1.0, INF)
    assert "Relative difference: inf (up to 1e-07 allowed)" in failure(1.0, 0.0)


def test_truth_values_and_none():
    assert_close(True, np.bool_(True))
    assert_close(None, None)
    assert failure(True, False) == "Booleans mismatch: True is not False"
    assert failure(None, 1) == "None mismatch: None is not 1"


def test_a_truth_value_is_no_number():
    text = failure([True], [1], RuntimeError)
    assert text.startswith("Originating a NumberPair() at item [0] with\n\nbool(): True\n\nand")


def test_arrays():
    assert_close(np.ones(2), np.ones(2))
    assert "(up to 1e-07 allowed)" in failure(np.ones(2), np.zeros(2))
    pattern = "No comparison pair was able to handle inputs of type <class "
    assert failure(np.ones(2), taper.ones(2), TypeError).startswith(pattern)
    assert failure(np.array([None]), np.array([None]), TypeError).startswith(pattern)


@pytest.mark.parametrize(
    ("actual", "expected"), [("a", "a"), ({1}, {1}), (1.0, "a"), (T(1.0), 1.0), ({0: 1.0}, [1.0])]
)
def test_what_cannot_be_compared(actual, expected):
    assert failure(actual, expected, TypeError).startswith("No comparison pair was able to handle")


def test_sequences():
    assert_close((1.0, [T(2.0)]), [1.0, (T(2.0),)])
    assert_close(collections.deque([1.0]), [1.0])
    assert failure([1.0], [1.0, 2.0]) == "The length of the sequences mismatch: 1 != 2"
    assert failure([1.0, 2.0], [3.0, 4.0]).endswith("\n\nThe failure occurred for item [0]")
    text = failure({"a": [1.0, (2.0,)]}, {"a": [1.0, (3.0,)]})
    assert text.endswith("\n\nThe failure occurred for item ['a'][1][0]")


def test_mappings():
    assert_close(collections.OrderedDict(b=1.0, a=2.0), {"a": 2.0, "b": 1.0})
    assert failure({"a": 1.0, "c": 2}, {"b": 1.0, "c": 2, "d": 3}) == (
        "The keys of the mappings do not match:\n"
        "Missing keys in the actual mapping: ['b', 'd']\n"
        "Additional keys in the actual mapping: ['a']"
    )
    assert failure({"b": 1.0, "a": 1.0}, {"a": 2.0, "b": 2.0}).endswith("item ['a']")
    assert failure({"b": 1.0, 1: 1.0}, {1: 2.0, "b": 2.0}).endswith("item ['b']")


def test_structure_is_looked_at_before_values():
    text = failure([[T(1.0)], "a"], [[T(2.0)], "a"], TypeError)
    assert text.endswith("\n\nThe failure occurred for item [1]")


def test_message():
    assert failure(T(1.0), T(2.0), msg="hello") == "hello"
    assert failure([1.0], [2.0], msg=lambda text: f"<{text}>").endswith("item [0]>")
    assert failure([1.0], [1.0, 2.0], msg="hello").startswith("The length")


def test_an_error_of_the_comparison_itself():
    with pytest.raises(RuntimeError) as caught:
        assert_close([T(1.0)], [T(1.0)], rtol=-1, atol=0)
    assert str(caught.value).startswith(
        "Comparing\n\nTensorLikePair(\n    id=(0,),\n    actual=tensor(1.),\n"
        "    expected=tensor(1.),\n    rtol=-1,\n    atol=0,\n    equal_nan=False,\n"
    )
    assert "rtol must be greater than or equal to zero" in str(caught.value.__cause__)


# --- assert_allclose -------------------------------------------------------------------------


def test_allclose_is_deprecated():
    with pytest.warns(FutureWarning, match="assert_allclose\\(\\)` is deprecated since 1.12"):
        assert_allclose(T([1.0, NAN]), [1.0, NAN])


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(
    ("dtype", "bounds"),
    [("float16", "0.001 0.001"), ("float32", "0.0001 1e-05"), ("float64", "1e-05 1e-08")],
)
def test_tolerances_of_allclose(dtype, bounds):
    rtol, atol = bounds.split()
    text = failure(T([1.0], dtype=getattr(taper, dtype)), [2.0], check=assert_allclose)
    assert f"at index (0,) (up to {atol} allowed)\n" in text
    assert text.endswith(f"at index (0,) (up to {rtol} allowed)")


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_allclose_does_not_look_at_dtypes():
    assert_allclose(T([1, 2]), T([1.0, 2.0]))
    assert_allclose(T([1]), [1.5])  # in the dtype of the first
    assert failure(T([1.0]), T([2.0]), check=assert_allclose, msg="hello") == "hello"


# --- make_tensor -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("float32", [-0.06738138198852539, 4.8279924392700195, -7.407406330108643]),
        ("float16", [-0.0673828125, 4.828125, -7.40625]),
        ("float64", [8.460954032517957, 3.740757559196184, -0.731107023705884]),
        ("int64", [6, -5, -9]),
        ("uint8", [4, 9, 3]),
        ("bool", [False, True, True]),
    ],
)
def test_numbers_are_those_of_pytorch(dtype, values):
    taper.manual_seed(0)
    made = make_tensor(3, dtype=getattr(taper, dtype), device="cpu")
    assert made.tolist() == pytest.approx(values, rel=1e-15)


@pytest.mark.parametrize("dtype", ["float16", "float64", "complex64", "int8", "uint8", "int64"])
def test_bounds(dtype):
    made = make_tensor(1000, dtype=getattr(taper, dtype), device="cpu", low=2, high=5)
    parts = taper.view_as_real(made) if made.is_complex() else made
    assert parts.min() >= 2
    assert parts.max() < 5


@pytest.mark.parametrize(
    ("dtype", "low", "high", "text"),
    [
        ("float32", 20, None, "`low` must be less than `high`, but got 20 >= 9"),
        ("int64", 20, None, "`low` must be less than `high`, but got 20 >= 10"),
        ("int64", 1, 1, "`low` must be less than `high`, but got 1 >= 1"),
        ("float32", NAN, None, "`low` and `high` cannot be NaN, but got low=nan and high=9"),
        (
            "int8",
            128,
            INF,
            "The value interval specified by `low` and `high` is [128, inf), but torch.int8 only "
            "supports [-128, 128)",
        ),
    ],
)
def test_bounds_that_are_refused(dtype, low, high, text):
    with pytest.raises(ValueError) as caught:
        make_tensor(2, dtype=getattr(taper, dtype), device="cpu", low=low, high=high)
    assert str(caught.value) == text


def test_bounds_are_cut_to_the_dtype():
    made = make_tensor(100, dtype=taper.float16, device="cpu", low=-INF, high=INF)
    assert made.isfinite().all()
    assert made.abs().max() > 10000


def test_equal_bounds():
    with pytest.warns(FutureWarning, match="Passing `low==high`"):
        made = make_tensor(2, dtype=taper.complex64, device="cpu", low=1, high=1)
    assert made.tolist() == [1 + 1j, 1 + 1j]


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_exclude_zero():
    made = make_tensor(2, dtype=taper.float32, device="cpu", low=0, high=0, exclude_zero=True)
    assert made.tolist() == [taper.finfo(taper.float32).tiny] * 2
    made = make_tensor(50, dtype=taper.int8, device="cpu", low=0, high=2, exclude_zero=True)
    assert made.eq(1).all()


def test_layout():
    made = make_tensor(2, 3, dtype=taper.float32, device="cpu", noncontiguous=True)
    assert (made.stride(), made.storage_offset()) == ((6, 2), 1)
    single = make_tensor(1, dtype=taper.float32, device="cpu", noncontiguous=True)
    assert single.is_contiguous()
    made = make_tensor(
        (1, 2, 2, 2), dtype=taper.float32, device="cpu", memory_format=taper.channels_last
    )
    assert made.stride() == (8, 1, 4, 2)


def test_requires_grad():
    made = make_tensor(
        2, dtype=taper.complex64, device="cpu", requires_grad=True, noncontiguous=True
    )
    assert made.requires_grad
    assert made.is_leaf
    with pytest.raises(ValueError, match="not supported for boolean and integral dtypes, but got"):
        make_tensor(2, dtype=taper.int64, device="cpu", requires_grad=True)


def test_arguments_that_are_refused():
    with pytest.raises(ValueError, match="`noncontiguous` and `memory_format` are mutually excl"):
        make_tensor(
            2,
            dtype=taper.float32,
            device="cpu",
            noncontiguous=True,
            memory_format=taper.contiguous_format,
        )
    with pytest.raises(TypeError, match="The requested dtype '<class 'float'>' is not supported"):
        make_tensor(2, dtype=float, device="cpu")
