"""What PyTorch refuses is refused with its type and words: numbers, arrays, sizes (M4 to M7)."""

import numpy as np
import pytest

import taper
from taper.nn import functional as F

# The first lines of what PyTorch 2.13 says.
COMBINATION = "received an invalid combination of arguments - got "
REFUSED = [
    # M4
    ("taper.bitwise_and(2, 3)", TypeError, f"bitwise_and() {COMBINATION}(int, int)"),
    ("taper.bitwise_left_shift(2, 3)", TypeError, f"bitwise_left_shift() {COMBINATION}(int, int)"),
    ("taper.remainder(2, 3)", TypeError, f"remainder() {COMBINATION}(int, int)"),
    ("taper.max(2, i)", TypeError, f"max() {COMBINATION}(int, Tensor)"),
    (
        "x.long().masked_fill(x > 1, taper.tensor(1j))",
        RuntimeError,
        "value cannot be converted to type int64_t without overflow",
    ),
    ("x.narrow(0, i, 1)", RuntimeError, "start must be an 0-dim integral Tensor."),
    (
        "x.narrow(0, taper.tensor(True), 1)",
        RuntimeError,
        "start must be an 0-dim integral Tensor.",
    ),
    ("F.embedding(i, taper.tensor(1.0))", RuntimeError, "'weight' must be 2-D"),
    (
        "taper.fft.fftn(taper.tensor(1.0), dim=(0,))",
        IndexError,
        "Dimension specified as 0 but tensor has no dimensions",
    ),
    ("taper.hsplit(x, 'abc')", TypeError, f"hsplit() {COMBINATION}(Tensor, str)"),
    # M5
    ("taper.relu_(5)", TypeError, "relu_(): argument 'input' (position 1) must be Tensor, not int"),
    ("F.elu_(5)", TypeError, "elu_(): argument 'input' (position 1) must be Tensor, not int"),
    ("F.threshold_(5, 1, 1)", TypeError, "threshold_(): argument 'input' (position 1) must be Te"),
    ("taper.atleast_1d(5)", TypeError, f"atleast_1d() {COMBINATION}(int)"),
    (
        "taper.atleast_3d(x, 5)",
        TypeError,
        "expected Tensor as element 1 in argument 0, but got int",
    ),
    ("taper.kron(x, 3)", TypeError, "kron(): argument 'other' (position 2) must be Tensor, not in"),
    (
        "F.prelu(x, None)",
        TypeError,
        "prelu(): argument 'weight' (position 2) must be Tensor, not N",
    ),
    ("F.kl_div(x, 3)", TypeError, "kl_div(): argument 'target' (position 2) must be Tensor, not i"),
    ("x.masked_fill_(3, 1.0)", TypeError, f"masked_fill_() {COMBINATION}(int, float)"),
    ("x.float(3)", TypeError, "float() takes 0 positional arguments but 1 was given"),
    ("F.group_norm(x, -1)", RuntimeError, "Expected num groups to be greater than 0, got -1"),
    ("taper.isin('a', x)", TypeError, f"isin() {COMBINATION}(str, Tensor)"),
    (
        "x.swapaxes(2**62, 0)",
        IndexError,
        "Dimension out of range (expected to be in range of [-2, 1], but got 4611686018427387904)",
    ),
    (
        "taper.log_softmax(x, True)",
        TypeError,
        "log_softmax(): argument 'dim' (position 2) must be int",
    ),
    (
        "taper.argmax(x, True)",
        TypeError,
        "argmax(): argument 'dim' (position 2) must be int, not b",
    ),
    ("x.nan_to_num('a')", TypeError, "nan_to_num(): argument 'nan' (position 2) must be float"),
    ("x.bfloat16().nan_to_num('a')", TypeError, "nan_to_num(): argument 'nan' (position 2) must"),
    # M6
    ("taper.tensor_split(x, 2**31)", RuntimeError, "std::bad_alloc"),
    (
        "F.adaptive_avg_pool2d(taper.ones(1, 1, 4, 4), 2**31)",
        RuntimeError,
        "Storage size calculation overflowed with sizes=[1, 1, 2147483648, 2147483648]",
    ),
    (
        "F.interpolate(taper.ones(1, 1, 4), size=2**40)",
        RuntimeError,
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
        "you tried to allocate 4398046511104 bytes.",
    ),
    (
        "F.pad(x, (2**50, 0))",
        RuntimeError,
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
        "you tried to allocate 9007199254741008 bytes.",
    ),
    (
        "F.one_hot(i, 2**61)",
        RuntimeError,
        "Storage size calculation overflowed with sizes=[1, 2305843009213693952]",
    ),
    ("taper.vander(x[0], 2**61)", RuntimeError, "Storage size calculation overflowed"),
    (
        "taper.empty_strided((2**40,), (2**40,))",
        RuntimeError,
        "Storage size calculation overflowed with sizes=[1099511627776] and "
        "strides=[1099511627776]",
    ),
    ("F.one_hot(i, 2**50)", RuntimeError, "[enforce fail at alloc_cpu.cpp:127] err == 0."),
    ("taper.randperm(2**50)", RuntimeError, "[enforce fail at alloc_cpu.cpp:127] err == 0."),
    ("taper.linspace(0, 1, 2**50)", RuntimeError, "[enforce fail at alloc_cpu.cpp:127] err == 0."),
    ("taper.arange(1e30)", RuntimeError, "invalid size, possible overflow?"),
    ("taper.zeros(2).resize_(2**50)", RuntimeError, "[enforce fail at alloc_cpu.cpp:127] err == 0"),
    # E16
    ("model.to(taper.float64, taper.float64)", TypeError, f"to() {COMBINATION}(torch.dtype, torch"),
    ("model.to('cpu', 'cpu')", TypeError, f"to() {COMBINATION}(str, str)"),
    ("taper.tensor(loop)", TypeError, "new(): self-referential lists are incompatible"),
]


@pytest.mark.parametrize("expression, kind, text", REFUSED, ids=[each[0] for each in REFUSED])
def test_found_m4_to_m6_and_e16_what_is_refused(expression, kind, text):
    loop = [1]
    loop.append(loop)
    names = {
        "x": taper.arange(4.0).view(2, 2),
        "i": taper.tensor([1]),
        "model": taper.nn.Linear(2, 2),
        "loop": loop,
    }
    with pytest.warns() if "kl_div" in expression else _nothing(), pytest.raises(kind) as caught:
        eval(expression, {"taper": taper, "F": F, "np": np, **names})
    assert type(caught.value) is kind and str(caught.value).startswith(text)


class _nothing:
    def __enter__(self):
        return None

    def __exit__(self, *_):
        return None


# --- arrays (M7) -----------------------------------------------------------------------------

NAMES = "exp add mm cat where sum max softmax matmul clamp sort gather flip reshape split"


@pytest.mark.parametrize("name", NAMES.split())
@pytest.mark.parametrize("again", [False, True])
def test_found_m7_arrays_are_no_tensors(name, again):
    array = np.ones((2, 2), np.float32)
    given = {"cat": ([array],), "where": (array > 0, array, array), "split": (array, 1)}
    more = {"gather": (0, array), "softmax": (0,), "flip": ([0],), "reshape": (4,), "clamp": (0, 1)}
    two = name in ("add", "mm", "matmul")
    args = given.get(name, (array, array) if two else (array, *more.get(name, ())))
    for _ in range(1 + again):  # the first call of an operator takes another way
        with pytest.raises(TypeError, match="numpy.ndarray"):
            getattr(taper, name)(*args)


@pytest.mark.parametrize("function", [F.relu, F.gelu, F.silu, F.softplus, F.normalize, F.dropout])
def test_found_m7_arrays_are_no_tensors_in_nn_functional(function):
    with pytest.raises(TypeError, match="must be Tensor, not numpy.ndarray"):
        function(np.ones((2, 2), np.float32))


@pytest.mark.parametrize("name", "add_ xlogy_ pow_ fill_ fmod_ clamp_ eq_ copysign_ pow".split())
def test_found_m7_no_method_takes_an_array(name):
    tensor = taper.full((2,), 3.0)
    with pytest.raises(TypeError, match="numpy.ndarray"):
        getattr(tensor, name)(np.ones(2, np.float32))
    assert tensor.tolist() == [3.0, 3.0]


def test_found_m7_an_array_beside_a_tensor_is_none_either():
    array, tensor = np.ones(2, np.float32), taper.ones(2)
    for function in (taper.add, taper.mul, taper.maximum, taper.dot, F.l1_loss, F.mse_loss):
        for given in ((array, tensor), (tensor, array)):
            with pytest.raises(TypeError):
                function(*given)


# --- what takes long, and what was missing (M6, E15, E16) ------------------------------------


def test_found_m6_polynomials_of_high_degree_take_no_longer():
    x = taper.tensor([-1.5, -1.0, -0.5, 0.3, 1.0, 1.5], dtype=taper.float64)
    nan = float("nan")
    expected = {
        "t": [nan, 1.0, -0.5, -0.546449, 1.0, nan],
        "u": [nan, 1000001.0, -1.0, -0.809828, 1000001.0, nan],
        "v": [nan, 2000001.0, -2.0, 0.068103, 1.0, nan],
        "w": [nan, 1.0, 0.0, -1.687759, 2000001.0, nan],
    }
    for letter, values in expected.items():
        found = getattr(taper.special, f"chebyshev_polynomial_{letter}")(x, 10**6)
        assert np.allclose(found.numpy(), values, atol=1e-6, equal_nan=True)
    found = taper.special.legendre_polynomial_p(x[2:4], 10**5)
    assert np.allclose(found.numpy(), [-0.00191716, -0.00162718], atol=1e-8)
    assert taper.special.hermite_polynomial_h(x, 10**6).isnan().all()
    found = taper.polygamma(10**6, taper.tensor([0.5, 1.0, 100.0]))
    assert found[:2].tolist() == [-np.inf, -np.inf] and bool(found[2].isnan())


def test_found_e15_marks_for_tools_that_do_not_listen():
    with taper.profiler.itt.range("epoch {}", 1):
        assert taper.profiler.itt.mark("here") is None
    assert taper.profiler.itt.is_available() is False
    assert taper.autograd.kineto_available() is True
    assert taper.profiler.kineto_available is taper.autograd.kineto_available


def test_found_e16_numpy_integers_are_sizes():
    assert taper.ones(np.array(3), np.int64(4)).shape == (3, 4)
    assert taper.zeros((np.array(3), np.array(2))).shape == (3, 2)
    assert len(taper.FloatStorage(np.int64(3))) == 3
    assert taper.UntypedStorage(np.int64(3)).size() == 3
    with pytest.raises(TypeError, match="must be tuple of ints, not numpy.ndarray"):
        taper.ones(np.array(3.0))


def test_found_e16_the_class_of_tensors_is_the_default_type():
    assert taper.arange(3).type(taper.Tensor).dtype is taper.float32
    assert taper.ones(2, dtype=taper.float64).type("torch.Tensor").dtype is taper.float32
