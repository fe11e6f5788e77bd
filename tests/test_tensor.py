"""Making tensors, the class itself, its legacy constructors, storages and settings."""

from __future__ import annotations

import gc
import multiprocessing
import warnings

import numpy as np
import pytest

import taper
from taper.userwarning import warn_once


def given_warnings(function):
    """Return the texts of the warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function()
    return [str(each.message) for each in caught]


# --- from data -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (1, taper.int64),
        (1.5, taper.float32),
        (True, taper.bool),
        (1j, taper.complex64),
        ([], taper.float32),
        ([True, 2], taper.int64),
        ([1, 2.5], taper.float32),
        ([np.float64(1)], taper.float64),
        ([np.float16(3), 2], taper.float16),
        (np.float64(3), taper.float64),
        (np.array([1, 2], np.int8), taper.int8),
        (range(3), taper.int64),
        (bytearray(b"ab"), taper.int64),
    ],
)
def test_dtype_follows_from_the_data(data, dtype):
    assert taper.tensor(data).dtype is dtype


def test_default_dtype_is_what_floats_become():
    taper.set_default_dtype(taper.float64)
    try:
        assert taper.tensor(1.0).dtype is taper.float64
        assert taper.tensor(1j).dtype is taper.complex128
        assert taper.zeros(1).dtype is taper.float64
        assert taper.Tensor([1]).dtype is taper.float64
        assert taper.full((1,), 1.0).dtype is taper.float64
    finally:
        taper.set_default_dtype(taper.float32)


def test_tensor_copies_its_data():
    array = np.zeros(2)
    tensor = taper.tensor(array)
    array[0] = 1
    assert tensor.tolist() == [0, 0]


def test_tensor_of_a_tensor_copies_and_warns():
    source = taper.ones(2, requires_grad=True)
    texts = given_warnings(lambda: taper.tensor(source))
    assert len(texts) == 1 and texts[0].startswith("To copy construct from a tensor")
    with pytest.warns(UserWarning, match="sourceTensor.detach"):
        copied = taper.tensor(source)
    assert not copied.requires_grad
    assert copied.data_ptr() != source.data_ptr()


def test_elements_wrap_around_in_unsigned_dtypes_only_as_pytorch_lets_them():
    assert taper.tensor([-1], dtype=taper.uint8).item() == 255
    with pytest.raises(RuntimeError, match="cannot be converted to type uint8 without overflow"):
        taper.tensor([256], dtype=taper.uint8)
    with pytest.raises(RuntimeError, match="cannot be converted to type int8 without overflow"):
        taper.tensor([1, 200], dtype=taper.int8)


def test_half_precision_is_rounded_from_single():
    # 1 + 2**-11 + 2**-40 lies above the tie in double, and on it in single precision.
    assert taper.tensor([1 + 2**-11 + 2**-40], dtype=taper.float16).item() == 1.0


def test_as_tensor_shares_where_it_can():
    tensor = taper.ones(2, requires_grad=True)
    assert taper.as_tensor(tensor) is tensor
    array = np.zeros(2)
    shared = taper.as_tensor(array)
    array[0] = 7
    assert shared[0].item() == 7
    assert taper.as_tensor(array, dtype=taper.float32).data_ptr() != shared.data_ptr()


def test_asarray_keeps_history_unless_told_otherwise():
    tensor = taper.ones(2, requires_grad=True) * 2
    assert taper.asarray(tensor, requires_grad=True) is tensor
    assert not taper.asarray(tensor, requires_grad=False).requires_grad
    assert taper.asarray(tensor, requires_grad=True, copy=True).grad_fn is not None


# --- options ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda **options: taper.zeros(2, **options),
        lambda **options: taper.ones(2, **options),
        lambda **options: taper.empty(2, **options),
        lambda **options: taper.full((2,), 1.0, **options),
        lambda **options: taper.arange(3.0, **options),
        lambda **options: taper.linspace(0, 1, 3, **options),
        lambda **options: taper.eye(2, **options),
        lambda **options: taper.tensor([1.0], **options),
        lambda **options: taper.zeros_like(taper.ones(2), **options),
        lambda **options: taper.ones(2).new_ones(2, **options),
        lambda **options: taper.hann_window(3, **options),
    ],
)
def test_every_factory_takes_dtype_device_and_requires_grad(make):
    made = make(dtype=taper.float64, device="cpu", requires_grad=True)
    assert made.dtype is taper.float64 and made.requires_grad and made.is_leaf
    assert not make().requires_grad
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        make(device="cuda")
    with taper.inference_mode():
        assert make().is_inference()
        assert make(requires_grad=True).requires_grad


def test_default_device_is_asked():
    with taper.device("cuda"), pytest.raises(AssertionError, match="CUDA"):
        taper.zeros(2)
    assert taper.zeros(2).is_cpu


def test_out_is_written_and_keeps_its_memory():
    out = taper.ones(2, 3)
    pointer = out.data_ptr()
    assert taper.zeros(2, 3, out=out) is out
    assert out.tolist() == [[0, 0, 0], [0, 0, 0]]
    assert out.data_ptr() == pointer and out._version == 1


def test_out_of_another_size_becomes_the_result():
    out = taper.ones(3)
    taper.zeros(2, 2, out=out)
    assert out.shape == (2, 2)
    with pytest.warns(UserWarning, match="The out tensor will be resized"):
        taper.arange(3, out=out)
    assert out.tolist() == [0, 1, 2]


def test_out_is_refused_before_anything_changes():
    out = taper.ones(2, dtype=taper.int32)
    with pytest.raises(RuntimeError, match=r"dtype Float does not match dtype of out parameter"):
        taper.zeros(2, out=out, dtype=taper.float32)
    leaf = taper.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        taper.zeros(2, out=leaf)
    assert out.tolist() == leaf.tolist() == [1, 1]


def test_like_keeps_the_order_of_dimensions():
    assert taper.zeros_like(taper.ones(2, 3).t()).stride() == (1, 3)
    contiguous = taper.zeros_like(taper.ones(2, 3).t(), memory_format=taper.contiguous_format)
    assert contiguous.stride() == (2, 1)
    last = taper.empty(2, 3, 4, 5, memory_format=taper.channels_last)
    assert last.stride() == (60, 1, 15, 3)
    assert taper.ones_like(last).stride() == (60, 1, 15, 3)
    assert taper.zeros_like(taper.ones(2, 1).expand(2, 3)).stride() == (3, 1)


def test_a_huge_tensor_is_an_error_of_pytorchs_kind():
    with pytest.raises(RuntimeError, match="can't allocate memory: you tried to allocate"):
        taper.empty(2**50)
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
        taper.empty(2**62, 2**62)


# --- ranges ----------------------------------------------------------------------------------


def test_arange_counts_from_the_start():
    assert taper.arange(0, 1, 0.1).tolist() == pytest.approx([each / 10 for each in range(10)])
    assert taper.arange(5, 0, -2).tolist() == [5, 3, 1]
    # In double precision 2**53 + 3 is 2**53 + 4.
    assert len(taper.arange(2**53, 2**53 + 3, dtype=taper.float64)) == 4


def test_linspace_counts_from_both_ends():
    third = 0.6666666269302368  # one minus two rounded sixths
    assert taper.linspace(0, 1, 7)[4].item() == third


def test_range_is_deprecated_and_includes_its_end():
    with pytest.warns(UserWarning, match="torch.range is deprecated"):
        assert taper.range(0, 3).tolist() == [0.0, 1.0, 2.0, 3.0]


def test_vander_can_be_differentiated():
    x = taper.tensor([0.0, 2.0, 3.0], dtype=taper.float64, requires_grad=True)
    taper.vander(x).sum().backward()  # of x**2 + x + 1
    assert x.grad.tolist() == [1.0, 5.0, 7.0]
    assert taper.autograd.gradcheck(taper.vander, (x.detach()[1:].requires_grad_(),))


@pytest.mark.parametrize("name", ["hann", "hamming", "bartlett", "blackman", "kaiser"])
def test_symmetric_windows_are_numpys(name):
    numpy_name = "hanning" if name == "hann" else name
    arguments = (7, 12.0) if name == "kaiser" else (7,)
    expected = getattr(np, numpy_name)(*arguments)
    window = getattr(taper, f"{name}_window")(7, periodic=False, dtype=taper.float64)
    np.testing.assert_allclose(window.numpy(), expected, atol=1e-12)


# --- the class -------------------------------------------------------------------------------


def test_legacy_constructor_tells_sizes_from_data():
    assert taper.Tensor([1, 2]).tolist() == [1.0, 2.0]
    assert taper.Tensor((2, 3)).tolist() == [2.0, 3.0]
    assert taper.Tensor(2, 3).shape == (2, 3)
    assert taper.Tensor(taper.Size([2, 3])).shape == (2, 3)
    assert taper.Tensor().shape == (0,)
    assert taper.Tensor(np.array([1, 2])).dtype is taper.float32
    with pytest.raises(TypeError, match=r"new\(\): data must be a sequence \(got float\)"):
        taper.Tensor(3.5)


def test_legacy_constructor_shares_a_tensors_memory_and_history():
    leaf = taper.ones(2, requires_grad=True)
    made = taper.Tensor(leaf)
    assert made.data_ptr() == leaf.data_ptr()
    assert made.grad_fn.name() == "AliasBackward0"


def test_typed_classes_make_and_recognise_tensors():
    assert taper.LongTensor([1.5, 2]).tolist() == [1, 2]
    assert isinstance(taper.ones(2), taper.FloatTensor)
    assert not isinstance(taper.ones(2), taper.LongTensor)
    assert not isinstance(taper.ones(2), taper.cuda.FloatTensor)
    assert repr(taper.FloatTensor) == "<class 'torch.FloatTensor'>"
    assert taper.FloatTensor.dtype is taper.float32
    assert taper.ones(2).type(taper.IntTensor).dtype is taper.int32
    with pytest.raises(TypeError, match="is not an acceptable base type"):
        type("Mine", (taper.FloatTensor,), {})


def test_subclasses_are_made_and_shown():
    class Marked(taper.Tensor):
        pass

    assert repr(Marked([1, 2])) == "Marked([1., 2.])"
    leaf = taper.ones(2, requires_grad=True)
    seen = leaf.as_subclass(Marked)
    assert type(seen) is Marked and seen.grad_fn is not None
    made = taper.Tensor._make_subclass(Marked, taper.ones(2), True)
    assert type(made) is Marked and made.is_leaf and made.requires_grad


def test_every_name_in_dir_can_be_read():
    tensor = taper.ones(2, 2)
    names = dir(tensor)
    assert "shape" in names and "__cuda_array_interface__" not in names
    for name in names:
        if name != "imag":
            getattr(tensor, name)


def test_a_no_grad_view_that_was_written_prints_an_invalid_history():
    base = taper.ones(2, requires_grad=True) * 1
    with taper.no_grad():
        view = base[:]
        view.mul_(2)
    assert repr(view) == "tensor([2., 2.], grad_fn=<Invalid>)"


def test_tensors_are_told_apart_by_identity_in_dicts():
    first, second = taper.ones(1), taper.ones(1)
    assert {first: "a", second: "b"}[first] == "a"


# --- storages --------------------------------------------------------------------------------


def test_views_share_a_storage():
    base = taper.zeros(4)
    view = base[2:]
    assert view.untyped_storage() == base.untyped_storage()
    assert view.untyped_storage().nbytes() == 16
    assert view.storage_offset() == 2
    base.untyped_storage().fill_(0xFF)
    assert view.isnan().all()


def test_a_storage_begins_where_the_numpy_view_begins():
    whole = np.arange(6.0)
    tensor = taper.from_numpy(whole[2::2])
    assert tensor.storage_offset() == 0
    assert tensor.untyped_storage().nbytes() == 24
    assert tensor.as_strided((3,), (1,)).tolist() == [2.0, 3.0, 4.0]


def test_typed_storages_read_write_and_convert():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensor = taper.ones(3)
        storage = tensor.storage()
    storage[1] = 5
    assert tensor.tolist() == [1, 5, 1]
    assert storage.long().tolist() == [1, 5, 1]
    assert isinstance(storage, taper.FloatStorage)
    assert not isinstance(storage, taper.LongStorage)
    assert taper.FloatStorage([1, 2]).tolist() == [1.0, 2.0]
    with pytest.raises(IndexError, match="out of range for storage of size 3"):
        storage[3]


def test_storages_of_tensors_cannot_be_resized():
    storage = taper.UntypedStorage(4)
    assert storage.resize_(8).nbytes() == 8
    with pytest.raises(NotImplementedError, match="use resize_"):
        taper.ones(2).untyped_storage().resize_(0)


def _double(tensor):
    tensor.mul_(2)


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="memory is shared by forking"
)
def test_shared_memory_is_seen_by_a_forked_process():
    tensor = taper.arange(3).share_memory_()
    assert tensor.is_shared()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's threads make Python 3.12 warn about forking
        process = multiprocessing.get_context("fork").Process(target=_double, args=(tensor,))
        process.start()
    process.join()
    assert tensor.tolist() == [0, 2, 4]


def test_memory_lives_as_long_as_an_array_on_it():
    array = taper.full((100_000,), 3.0).numpy()
    gc.collect()
    for _ in range(5):
        np.zeros(100_000, np.float32)
    assert array.sum() == 300_000


# --- settings --------------------------------------------------------------------------------


def test_warnings_given_once_can_be_given_always():
    text = "a warning of this test alone"
    assert given_warnings(lambda: warn_once(text)) == [text]
    assert given_warnings(lambda: warn_once(text)) == []
    taper.set_warn_always(True)
    try:
        assert given_warnings(lambda: warn_once(text)) == [text]
    finally:
        taper.set_warn_always(False)


def test_threads_are_counted_and_checked():
    before = taper.get_num_threads()
    taper.set_num_threads(1)
    assert taper.get_num_threads() == 1
    taper.set_num_threads(before)
    with pytest.raises(RuntimeError, match="set_num_threads expects a positive integer"):
        taper.set_num_threads(0)
    with pytest.raises(RuntimeError, match="set_num_threads expects an int, but got str"):
        taper.set_num_threads("a")


def test_there_is_no_accelerator_and_switches_keep_their_values():
    assert not taper.cuda.is_available() and taper.cuda.device_count() == 0
    assert taper.cuda.manual_seed_all(0) is None and taper.cuda.empty_cache() is None
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        taper.cuda.current_device()
    assert not taper.backends.mps.is_available()
    assert taper.accelerator.current_accelerator() is None
    with taper.backends.cudnn.flags(deterministic=True):
        assert taper.backends.cudnn.deterministic
    assert not taper.backends.cudnn.deterministic


def test_deterministic_algorithms_are_remembered():
    taper.set_deterministic_debug_mode("warn")
    assert taper.are_deterministic_algorithms_enabled()
    assert taper.get_deterministic_debug_mode() == 1
    taper.use_deterministic_algorithms(False)
    assert taper.get_deterministic_debug_mode() == 0
