"""The generator and the distributions on arrays, against numbers obtained from PyTorch 2.13.

Single precision and integers must agree bit by bit everywhere.  Double precision uses the C
library's logarithms, sines and cosines, which may differ in the last bit between systems.
"""

import copy
import os
import pickle
import subprocess
import sys
import zlib

import ml_dtypes
import numpy as np
import pytest

from taper.sampling import continuous, discrete, generator, integers
from taper.sampling.generator import Generator

HALF, SINGLE, DOUBLE = np.dtype("float16"), np.dtype("float32"), np.dtype("float64")
BFLOAT16, LONG = np.dtype(ml_dtypes.bfloat16), np.dtype("int64")


@pytest.fixture
def source():
    return Generator().manual_seed(0)


def close(values, expected):
    np.testing.assert_allclose(values, expected, rtol=4e-16, strict=False)


def equal(values, expected):
    assert values.tolist() == expected


# Generator.


def test_a_new_generator_has_the_seed_of_pytorch():
    assert Generator().initial_seed() == 67280421310721
    assert zlib.crc32(Generator().get_state()) == 3499555337


@pytest.mark.parametrize(
    ("seed", "first"),
    [(5, 0.8302518725395203), (2**32 + 5, 0.8302518725395203), (-1, 0.9937993884086609)],
)
def test_the_low_32_bits_of_the_seed_choose_the_stream(seed, first):
    source = Generator().manual_seed(seed)
    assert source.initial_seed() == seed % 2**64
    assert continuous.uniform((1,), SINGLE, generator=source)[0] == first


@pytest.mark.parametrize(
    ("seed", "error", "text"),
    [
        (2**64, ValueError, "Overflow when unpacking long long"),
        (-(2**63) - 1, ValueError, "Overflow when unpacking long long"),
        (1.0, RuntimeError, "manual_seed expected a long, but got float"),
        (True, RuntimeError, "manual_seed expected a long, but got bool"),
        (np.int64(1), TypeError, "an integer is required"),
    ],
)
def test_a_refused_seed_leaves_the_generator_as_it_was(source, seed, error, text):
    before = source.get_state()
    with pytest.raises(error, match=f"^{text}$"):
        source.manual_seed(seed)
    np.testing.assert_array_equal(source.get_state(), before)


def test_default_generator_is_seeded_by_the_functions():
    state = generator.default_generator.get_state()
    try:
        assert generator.manual_seed("12") is generator.default_generator
        assert generator.initial_seed() == 12
        drawn = continuous.uniform((2,), SINGLE)
        equal(
            continuous.uniform((2,), SINGLE, generator=Generator().manual_seed(12)), drawn.tolist()
        )
        assert generator.seed() == generator.initial_seed() != 12
    finally:
        generator.default_generator.set_state(state)


def test_every_process_starts_with_another_default_seed():
    program = "from taper.sampling.generator import initial_seed; print(initial_seed())"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    seeds = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for _ in range(2)
    }
    assert len(seeds) == 2


def test_outputs_are_handed_out_in_order_in_any_portions_i1(source):
    whole = source.clone_state().random32(3000)
    portions = [source.random32(size) for size in (0, 1, 2, 620, 1, 623, 624, 0, 1129)]
    np.testing.assert_array_equal(np.concatenate(portions), whole)


def test_a_number_of_64_bits_is_two_outputs_high_word_first(source):
    high, low = source.clone_state().random32(2).tolist()
    equal(source.random64(1), [high << 32 | low])


def test_state_has_the_bytes_of_pytorch_i2():
    source = Generator().manual_seed(5)
    continuous.uniform((3,), SINGLE, generator=source)
    assert zlib.crc32(source.get_state()) == 393163637
    continuous.uniform((621,), SINGLE, generator=source)
    assert zlib.crc32(source.get_state()) == 1222304675


@pytest.mark.parametrize(
    "copied",
    [
        lambda source: Generator().set_state(source.get_state()),
        Generator.clone_state,
        copy.copy,
        copy.deepcopy,
        lambda source: pickle.loads(pickle.dumps(source)),
    ],
)
def test_copies_go_on_alike_and_independently(source, copied):
    continuous.normal((3,), SINGLE, generator=source)
    other = copied(source)
    expected = continuous.normal((5,), SINGLE, generator=source).tolist()
    equal(continuous.normal((5,), SINGLE, generator=other), expected)
    assert other.initial_seed() == 0
    np.testing.assert_array_equal(other.get_state(), source.get_state())


@pytest.mark.parametrize(
    ("state", "error", "text"),
    [
        (np.zeros(5056, np.uint8), RuntimeError, "Invalid mt19937 state"),
        (np.zeros(5056), TypeError, "RNG state must be a torch.ByteTensor"),
        (3, TypeError, "expected a torch.ByteTensor, but got int"),
        (
            np.zeros(10, np.uint8),
            RuntimeError,
            "Expected a CPUGeneratorImplState of size 5056 but found the input RNG state size to "
            "be 10",
        ),
    ],
)
def test_refused_states(source, state, error, text):
    before = source.get_state()
    with pytest.raises(error, match=f"^{text}$"):
        source.set_state(state)
    np.testing.assert_array_equal(source.get_state(), before)


def test_only_the_cpu_has_a_generator():
    assert str(Generator(device="cpu").device) == "cpu"
    with pytest.raises(RuntimeError, match="Cannot get CUDA generator without ATen_cuda library."):
        Generator("cuda")
    with pytest.raises(RuntimeError, match="CPU Generator does not use offset"):
        Generator().get_offset()
    with pytest.raises(RuntimeError, match="CPU Generator does not use offset"):
        Generator().set_offset(1)


def test_seeding_drops_the_normal_that_was_kept(source):
    first = continuous.normal((1,), DOUBLE, generator=source)
    assert source.next_normal is not None
    source.manual_seed(0)
    assert source.next_normal is None
    equal(continuous.normal((1,), DOUBLE, generator=source), first.tolist())


# Continuous distributions.


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (SINGLE, [0.49625658988952637, 0.7682217955589294, 0.08847743272781372]),
        (DOUBLE, [0.9700530018065531, 0.707819864399788, 0.45938294312745087]),
        (HALF, [0.496337890625, 0.76806640625, 0.0885009765625]),
        (BFLOAT16, [0.49609375, 0.76953125, 0.08837890625]),
    ],
)
def test_uniform(source, dtype, expected):
    values = continuous.uniform((3,), dtype, generator=source)
    assert values.dtype == dtype
    equal(values.astype(float), expected)


def test_uniform_between_bounds_is_rounded_once(source):
    values = continuous.uniform((10000,), SINGLE, -0.0371, 0.0371, source)
    assert zlib.crc32(values) == 1038489545
    source.manual_seed(0)
    expected = [0.39475926756858826, 0.7755105495452881, -0.17613159120082855]
    equal(continuous.uniform((3,), SINGLE, -0.3, 1.1, source), expected)


@pytest.mark.parametrize("dtype", [HALF, BFLOAT16, SINGLE])
def test_uniform_never_reaches_the_upper_bound(source, dtype):
    narrow = (1.0, 1.0 + 4.0 * float(ml_dtypes.finfo(dtype).eps))
    values = continuous.uniform((20000,), dtype, *narrow, source).astype(float)
    assert narrow[0] == values.min() and values.max() < narrow[1]


def test_long_streams_of_single_precision(source):
    assert zlib.crc32(continuous.uniform((10000,), SINGLE, generator=source)) == 767719927
    source.manual_seed(0)
    assert zlib.crc32(continuous.normal((10007,), SINGLE, generator=source)) == 448381501


def test_few_normals_come_in_pairs_across_calls(source):
    first = [1.5409960746765137, -0.293428897857666, -2.1787893772125244]
    equal(continuous.normal((3,), SINGLE, generator=source), first)
    assert source.next_normal is not None
    second = [0.5684312582015991, -1.0845223665237427]
    equal(continuous.normal((2,), SINGLE, generator=source), second)


def test_seventeen_normals_redraw_the_last_sixteen(source):
    single = continuous.normal((17,), SINGLE, generator=source)
    equal(single[[0, 1, 16]], [-1.1258398294448853, -1.6959311962127686, 0.9318265914916992])
    half = continuous.normal((17,), HALF, generator=source.manual_seed(0))
    equal(half[[0, 1, 16]], [-1.1259765625, -1.3525390625, -0.84375])
    double = continuous.normal((17,), DOUBLE, generator=source.manual_seed(0))
    expected = [-2.310411800234176, 0.23871805816817063, 0.6748575435940039]
    close(double[[0, 8, 16]], expected)


def test_blocks_of_normals_leave_the_kept_one_alone(source):
    continuous.normal((1,), DOUBLE, generator=source)
    kept = source.next_normal
    continuous.normal((16,), DOUBLE, generator=source)
    assert source.next_normal == kept is not None


def test_complex_normal(source):
    values = continuous.normal((2,), np.dtype("complex64"), generator=source)
    expected = [
        1.0896488428115845 - 0.20748557150363922j,
        -1.5406367778778076 + 0.40194159746170044j,
    ]
    equal(values, expected)


def test_arrays_are_filled_in_the_order_of_memory_i1(source):
    uniform = continuous.uniform_(np.empty((2, 3), SINGLE).T, generator=source)
    equal(uniform[:, 0], [0.49625658988952637, 0.7682217955589294, 0.08847743272781372])
    normal = continuous.normal_(np.empty((4, 5), SINGLE).T, generator=source.manual_seed(0))
    equal(normal[0, :2], [1.5409960746765137, -1.3985954523086548])
    scalar = continuous.uniform_(np.empty((), SINGLE), generator=source.manual_seed(0))
    assert scalar.shape == () and scalar == np.float32(0.49625658988952637)


def test_filling_a_slice_leaves_the_rest(source):
    base = np.full((3, 4), 7.0, SINGLE)
    continuous.uniform_(base[:, ::2], generator=source)
    assert (base[:, 1::2] == 7.0).all() and (base[:, ::2] < 1.0).all()


def test_normal_with_arrays(source):
    mean, std = np.array([0.0, 10.0], SINGLE), np.array([1.0, 0.1], SINGLE)
    equal(continuous.normal_from(mean, std, source), [1.5409960746765137, 9.970657348632812])


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (continuous.exponential_, (1.7,), [2.063721286298613, 0.723755743635104]),
        (continuous.cauchy_, (0.3, 1.7), [18.316139855359904, 1.60010434133003]),
        (continuous.log_normal_, (0.1, 0.9), [4.423346327971756, 0.8486690203179698]),
    ],
)
def test_other_continuous_distributions(source, function, arguments, expected):
    close(function(np.empty(2), *arguments, source), expected)


def test_values_beyond_the_dtype_become_infinite_without_a_warning(source):
    assert np.isinf(continuous.exponential_(np.empty(2, SINGLE), 1e-300, source)).all()
    assert np.isinf(continuous.log_normal_(np.empty(40), 0.0, 1e6, source)).any()
    assert np.isinf(continuous.normal_(np.empty(20, SINGLE), 0.0, 1e39, source)).all()


# Integers.


def test_integers_need_64_bits_from_a_range_of_28_on(source):
    equal(integers.randint(0, 10, (8,), LONG, source), [4, 9, 3, 0, 3, 9, 7, 3])
    wide = integers.randint(-(2**62), 2**62, (2,), LONG, source)
    equal(wide, [3203365596207111891, -1920414613809735950])
    equal(integers.randint(0, 2**28, (2,), LONG, source), [204159575, 243580376])


def test_integers_without_bounds(source):
    long = integers.random_(np.empty(3, LONG), generator=source)
    equal(long, [900450186894289455, 3969543146641149120, 1895649597198586619])
    single = integers.random_(np.empty(3, SINGLE), generator=source)
    equal(single, [8222264.0, 15039631.0, 7644061.0])
    equal(integers.random_(np.empty(3, np.uint8), generator=source), [211, 21, 242])
    equal(integers.random_(np.empty(3, bool), generator=source), [False, True, False])


def test_randperm(source):
    equal(integers.randperm(10, LONG, source), [4, 1, 7, 5, 3, 9, 0, 8, 6, 2])
    assert integers.randperm(0, LONG, source).shape == (0,)


def test_the_shuffle_for_huge_permutations(source):
    # PyTorch uses it from 214,748,364 elements on, where it was compared once.
    equal(np.array(integers._shuffle_inside_out(10, source)), [8, 2, 6, 3, 5, 1, 0, 9, 7, 4])


def test_a_range_that_the_dtype_does_not_hold_exactly_warns(source):
    with pytest.warns(
        UserWarning, match=r"^to - 1 is out of bounds \[-\(2\^24\), 2\^24\]\. Due to"
    ):
        integers.random_(np.empty(3, SINGLE), 0, 2**24 + 2, source)


# Discrete distributions.


def test_bernoulli_draws_53_bits_for_a_number_and_24_for_an_array(source):
    number = discrete.bernoulli_(np.empty(10), 0.3, source)
    equal(number, [0, 0, 0, 0, 0, 0, 1, 0, 0, 1])
    array = discrete.bernoulli_(np.empty(10), np.full(10, 0.3, SINGLE), source.manual_seed(0))
    equal(array, [0, 0, 1, 1, 0, 0, 0, 0, 0, 0])


def test_dropout_mask(source):
    mask = discrete.dropout_mask_(np.empty(10, SINGLE), 0.2, source)
    equal(mask, [0, 1.25, 1.25, 0, 1.25, 1.25, 1.25, 1.25, 1.25, 1.25])


@pytest.mark.parametrize(("p", "expected"), [(0.0, [1.0, 1.0]), (1.0, [0.0, 0.0])])
def test_a_certain_dropout_draws_nothing(source, p, expected):
    before = source.get_state()
    equal(discrete.dropout_mask_(np.empty(2), p, source), expected)
    np.testing.assert_array_equal(source.get_state(), before)


def test_geometric(source):
    equal(discrete.geometric_(np.empty(5, LONG), 0.1, source), [1, 4, 8, 1, 5])


def test_poisson_consumes_what_it_used(source):
    rates = np.array([0.5, 3.0, 9.0, 11.0, 1000.0], SINGLE)
    equal(discrete.poisson(rates, source), [2.0, 4.0, 9.0, 8.0, 954.0])
    assert continuous.uniform((1,), SINGLE, generator=source)[0] == 0.2782524824142456


def test_multinomial(source):
    weights = np.array([0.1, 0.2, 0.3, 0.4], SINGLE)
    equal(discrete.multinomial(weights, 8, True, source), [3, 3, 2, 3, 3, 3, 1, 2])
    equal(discrete.multinomial(weights, 4, False, source), [3, 1, 2, 0])
    rows = np.array([[0.1, 0.2, 0.3, 0.4], [1.0, 0.0, 0.0, 1.0]], SINGLE)
    equal(discrete.multinomial(rows, 1, False, source), [[3], [0]])


# Errors.

EMPTY = np.empty(0, SINGLE)
INTS = np.zeros(2, LONG)
PROBS = np.array([1.0, -1.0], SINGLE)
REFUSED = [
    (
        continuous.uniform_,
        (EMPTY, 1, 0),
        "uniform_ expects to return a [from, to) range, but found from=1 > to=0",
    ),
    (continuous.uniform_, (EMPTY, 0, 1e39), "to is out of bounds for float"),
    (continuous.uniform_, (INTS,), "\"check_uniform_bounds\" not implemented for 'Long'"),
    (continuous.normal_, (EMPTY, 0, -1.5), "normal expects std >= 0.0, but found std -1.5"),
    (continuous.normal_, (INTS,), "\"normal_kernel_cpu\" not implemented for 'Long'"),
    (continuous.normal_from, (0.0, PROBS), "normal expects all elements of std >= 0.0"),
    (continuous.exponential_, (EMPTY, 0), "exponential_ expects lambda > 0.0, but found lambda=0"),
    (continuous.cauchy_, (EMPTY, 0, 0), "cauchy_ expects sigma > 0.0, but found sigma=0"),
    (continuous.log_normal_, (EMPTY, 0, 0), "log_normal_ expects std > 0.0, but found std=0"),
    (
        integers.random_,
        (INTS, 5, 5),
        "random_ expects 'from' to be less than 'to', but got from=5 >= to=5",
    ),
    (integers.random_, (np.zeros(1, bool), 0, 3), "to - 1 is out of bounds for bool"),
    (integers.randperm, (-1, LONG), "Trying to create tensor with negative dimension -1: [-1]"),
    (integers.randperm, (2050, HALF), "n cannot be greater than 2049 for Half type."),
    (discrete.bernoulli_, (EMPTY, 1.1), "bernoulli_ expects p to be in [0, 1], but got p=1.1"),
    (discrete.geometric_, (EMPTY, 1), "geometric_ expects p to be in (0, 1), but got p=1"),
    (discrete.poisson, (PROBS,), "invalid Poisson rate, expected rate to be non-negative"),
    (
        discrete.multinomial,
        (PROBS, 1),
        "probability tensor contains either `inf`, `nan` or element < 0",
    ),
    (
        discrete.multinomial,
        (PROBS, 3),
        "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
    ),
    (
        discrete.dropout_mask_,
        (EMPTY, 2.0),
        "dropout probability has to be between 0 and 1, but got 2",
    ),
]


@pytest.mark.parametrize(("function", "arguments", "text"), REFUSED)
def test_refused_arguments_draw_nothing_i2(source, function, arguments, text):
    before = source.get_state()
    with pytest.raises((RuntimeError, NotImplementedError)) as found:
        function(*arguments, generator=source)
    assert str(found.value) == text
    np.testing.assert_array_equal(source.get_state(), before)
