"""Tensors as Python numbers, NumPy arrays, DLPack capsules, copies and pickles."""

from __future__ import annotations

import copy
import gc
import pickle
import warnings
import weakref

import numpy as np
import pytest

import taper
from taper.pickling import unserializable_hook

ALL_DTYPES = (
    "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64 complex64 "
    "complex128"
).split()

# --- Python numbers --------------------------------------------------------------------------


def test_one_element_becomes_a_number():
    assert taper.tensor([[2.5]]).item() == 2.5
    assert float(taper.tensor([3])) == 3.0
    assert int(taper.tensor(-3.5)) == -3
    assert complex(taper.tensor(2.0)) == 2 + 0j
    assert bool(taper.tensor(float("nan")))
    assert [10, 20, 30][taper.tensor([1])] == 20


@pytest.mark.parametrize(
    ("convert", "error", "text"),
    [
        (lambda t: t.item(), RuntimeError, "a Tensor with 2 elements cannot be converted"),
        (float, ValueError, "only one element tensors can be converted to Python scalars"),
        (int, ValueError, "only one element tensors can be converted to Python scalars"),
        (bool, RuntimeError, "Boolean value of Tensor with more than one value is ambiguous"),
        (lambda t: range(5)[t], TypeError, "only integer tensors of a single element"),
    ],
)
def test_several_elements_do_not(convert, error, text):
    with pytest.raises(error, match=text):
        convert(taper.tensor([1.0, 2.0]))


def test_numbers_that_have_no_integer():
    with pytest.raises(ValueError, match="cannot convert float NaN to integer"):
        int(taper.tensor(float("nan")))
    with pytest.raises(OverflowError, match="cannot convert float infinity to integer"):
        int(taper.tensor(float("inf")))
    with pytest.raises(RuntimeError, match="to type double without overflow"):
        float(taper.tensor(1j))


def test_formatting_a_single_number_formats_the_number():
    assert f"{taper.tensor(3.14159):.2f}" == "3.14"
    assert f"{taper.tensor([1.5])}" == "tensor([1.5000])"
    with pytest.raises(TypeError, match="unsupported format string"):
        f"{taper.tensor([1.5]):.2f}"


def test_membership_compares_elements():
    tensor = taper.tensor([1, 2])
    assert 1 in tensor and 3 not in tensor and taper.tensor(2) in tensor
    with pytest.raises(RuntimeError, match="only supports Tensor or scalar"):
        assert "a" in tensor


def test_a_python_function_for_each_element():
    tensor = taper.arange(4).reshape(2, 2)
    assert tensor.apply_(lambda value: value * 10) is tensor
    assert tensor.tolist() == [[0, 10], [20, 30]]
    assert taper.ones(2).map_(taper.tensor([3.0, 4.0]), lambda a, b: a + b).tolist() == [4, 5]
    with pytest.raises(RuntimeError, match=r"Can't call apply_\(\) on Variable that requires"):
        taper.ones(2, requires_grad=True).apply_(abs)
    with pytest.raises(TypeError, match="expected torch.FloatTensor for 'other'"):
        taper.ones(2).map_(taper.tensor([3, 4]), max)


# --- NumPy -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_numpy_shares_memory_both_ways(dtype):
    array = np.zeros((2, 3), dtype)
    tensor = taper.from_numpy(array)
    assert str(tensor.dtype) == f"torch.{dtype}"
    array[0, 1] = 1
    assert tensor[0, 1].item() == 1
    back = tensor.numpy()
    tensor[1, 2] = 1
    assert back[1, 2] == 1 and array[1, 2] == 1


def test_numpy_gives_an_array_of_its_own():
    tensor = taper.arange(6)
    tensor.numpy().flags.writeable = False
    assert tensor.add_(1)[0] == 1


def test_strides_of_arrays_are_kept():
    array = np.arange(6).reshape(2, 3).T
    tensor = taper.from_numpy(array)
    assert tensor.stride() == (1, 3)
    assert tensor.numpy().strides == array.strides
    with pytest.raises(ValueError, match="At least one stride in the given numpy array is neg"):
        taper.from_numpy(np.arange(6)[::-1])
    with pytest.raises(ValueError, match="strides not a multiple of the element byte size"):
        taper.from_numpy(np.zeros(4, [("a", "i1"), ("b", "f4")])["b"])


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        ([1, 2], TypeError, r"expected np.ndarray \(got list\)"),
        (np.array(["a"]), TypeError, "can't convert np.ndarray of type numpy.str_"),
        (np.zeros(2, ">f4"), ValueError, "byte order different from the native"),
    ],
)
def test_arrays_that_are_no_tensors(value, error, text):
    with pytest.raises(error, match=text):
        taper.from_numpy(value)


def test_a_read_only_array_makes_a_read_only_tensor():
    array = np.arange(3.0)
    array.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # given once in a process
        tensor = taper.from_numpy(array)
    with pytest.raises(ValueError, match="read-only"):
        tensor.add_(1)
    assert array[0] == 0


def test_numpy_of_a_recorded_tensor_must_be_forced():
    tensor = taper.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        tensor.numpy()
    assert tensor.numpy(force=True).tolist() == [1, 1]
    with taper.no_grad():
        assert tensor.numpy().tolist() == [1, 1]
    with pytest.raises(TypeError, match="Got unsupported ScalarType BFloat16"):
        taper.ones(2, dtype=taper.bfloat16).numpy()


def test_numpy_functions_take_and_return_tensors():
    result = np.sin(taper.zeros(2))
    assert isinstance(result, taper.Tensor) and result.tolist() == [0, 0]
    assert np.asarray(taper.ones(2), dtype=np.int64).dtype == np.int64
    assert np.array([taper.tensor(1.0), taper.tensor(2.0)]).tolist() == [1, 2]
    tensor = taper.ones(2)
    copied = np.array(tensor)
    copied[0] = 5
    assert tensor.tolist() == [1, 1]
    assert (np.float64(2) * taper.ones(2)).dtype is taper.float32


def test_a_buffer_is_shared():
    buffer = bytearray(4)
    tensor = taper.frombuffer(buffer, dtype=taper.int16)
    tensor[1] = 258
    assert buffer == bytearray([0, 0, 2, 1])


# --- DLPack ----------------------------------------------------------------------------------


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("dtype", [*ALL_DTYPES, "bfloat16"])
def test_dlpack_round_trip_shares_memory(dtype, versioned):
    tensor = taper.zeros(2, 3, dtype=getattr(taper, dtype)).t()
    capsule = tensor.__dlpack__(max_version=(1, 0) if versioned else None)
    again = taper.from_dlpack(capsule)
    assert again.dtype is tensor.dtype and again.stride() == tensor.stride()
    again[1, 1] = 1
    assert tensor[1, 1].item() == 1


def test_numpy_and_dlpack():
    array = np.arange(6)[1::2]
    tensor = taper.from_dlpack(array)
    array[0] = 9
    assert tensor.tolist() == [9, 3, 5]
    assert tensor.untyped_storage().nbytes() == 40
    given = np.from_dlpack(tensor)
    tensor[1] = 7
    assert given.tolist() == [9, 7, 5]


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.1.0",
    reason="NumPy's own arrays take copy= from 2.1 on",
)
def test_dlpack_copies_when_told():
    array = np.arange(3)
    copied = taper.from_dlpack(array, copy=True)
    shared = taper.from_dlpack(array, copy=False)
    array[0] = 9
    assert copied[0].item() == 0 and shared[0].item() == 9


def test_a_capsule_is_used_once():
    capsule = taper.ones(2).__dlpack__()
    assert "used" not in repr(capsule)
    taper.from_dlpack(capsule)
    assert "used_dltensor" in repr(capsule)
    with pytest.raises(RuntimeError, match="can be consumed only once"):
        taper.from_dlpack(capsule)


def test_what_dlpack_refuses():
    with pytest.raises(BufferError, match="Can't export tensors that require gradient"):
        taper.ones(2, requires_grad=True).__dlpack__()
    with pytest.raises(AssertionError, match="stream should be None on cpu"):
        taper.ones(2).__dlpack__(stream=1)
    with pytest.raises(ValueError, match="cannot move .* from cpu to cuda:0 without copying"):
        taper.ones(2).__dlpack__(dl_device=(2, 0), copy=False)
    with pytest.raises(RuntimeError, match="received an invalid capsule"):
        taper.from_dlpack(3)
    with pytest.raises(BufferError, match="negative strides"):
        taper.from_dlpack(np.arange(3)[::-1])


def test_foreign_memory_is_released_with_the_last_view():
    array = np.arange(1000.0)
    kept = weakref.ref(array)
    view = taper.from_dlpack(array)[5:]
    del array
    gc.collect()
    assert kept() is not None and view[0].item() == 5
    del view
    gc.collect()
    assert kept() is None


# --- deepcopy --------------------------------------------------------------------------------


def test_deepcopy_copies_values_gradient_and_attributes():
    leaf = taper.ones(2, requires_grad=True)
    leaf.grad = taper.zeros(2)
    leaf.note = ["a"]
    copied = copy.deepcopy(leaf)
    assert copied.requires_grad and copied.is_leaf
    assert copied.grad.tolist() == [0, 0] and copied.grad is not leaf.grad
    assert copied.note == ["a"] and copied.note is not leaf.note
    copied.data.fill_(5)
    assert leaf.tolist() == [1, 1]


def test_deepcopy_keeps_shared_storage_shared():
    base = taper.ones(2, 3)
    copied, row = copy.deepcopy([base, base[1]])
    row.fill_(5)
    assert copied.tolist() == [[1, 1, 1], [5, 5, 5]]
    assert row.storage_offset() == 3 and not row._is_view()
    assert base.sum().item() == 6
    same, again = copy.deepcopy([base, base])
    assert same is again


def test_deepcopy_is_for_leaves_and_leaves_hooks_behind():
    leaf = taper.ones(2, requires_grad=True)
    leaf.register_hook(lambda grad: grad)
    assert not copy.deepcopy(leaf)._backward_hooks
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(leaf * 2)


def test_copy_shares_memory_and_forgets_history():
    result = taper.ones(2, requires_grad=True) * 2
    copied = copy.copy(result)
    assert copied.data_ptr() == result.data_ptr()
    assert copied.is_leaf and copied.requires_grad


# --- pickle ----------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("dtype", [*ALL_DTYPES, "bfloat16"])
def test_pickle_keeps_values_dtype_and_strides(dtype, protocol):
    tensor = taper.arange(6).reshape(2, 3).to(getattr(taper, dtype)).t()
    back = pickle.loads(pickle.dumps(tensor, protocol))
    assert back.dtype is tensor.dtype and back.stride() == tensor.stride()
    assert back.tolist() == tensor.tolist()


def test_pickle_forgets_history_and_gradient():
    leaf = taper.ones(2, requires_grad=True)
    leaf.grad = taper.ones(2)
    leaf.note = 3
    back = pickle.loads(pickle.dumps(leaf))
    assert back.requires_grad and back.grad is None and back.note == 3
    result = pickle.loads(pickle.dumps(leaf * 2))
    assert result.is_leaf and result.requires_grad


def test_pickle_of_a_view_brings_its_storage():
    row = pickle.loads(pickle.dumps(taper.ones(2, 3)[1]))
    assert row.storage_offset() == 3 and row.untyped_storage().nbytes() == 24
    first, second = pickle.loads(pickle.dumps([taper.zeros(2)] * 2))
    assert first is second


def test_pickle_warns_of_hooks_that_get_lost():
    leaf = taper.ones(2, requires_grad=True)
    leaf.register_hook(print)
    with pytest.warns(UserWarning, match="backward hook <built-in function print> on tensor will"):
        pickle.dumps(leaf)
    other = taper.ones(2, requires_grad=True)
    other.register_hook(unserializable_hook(lambda grad: grad))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pickle.loads(pickle.dumps(other)).requires_grad


def test_classes_and_storages_are_pickled():
    assert pickle.loads(pickle.dumps(taper.FloatTensor)) is taper.FloatTensor
    storage = pickle.loads(pickle.dumps(taper.ones(2).untyped_storage()))
    assert storage.tolist() == [0, 0, 128, 63] * 2
