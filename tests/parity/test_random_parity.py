"""Random numbers against PyTorch: the same streams for the same seeds, whatever is drawn.

Each case draws the same from both libraries and compares the numbers bit by bit and the generators'
states byte by byte, so that later numbers agree as well.
"""

import itertools
import math
import pickle
import random
import warnings

import ml_dtypes
import numpy as np
import pytest
import torch

from taper import dtypes
from taper.sampling import continuous, discrete, generator, integers
from taper.sampling.generator import Generator

FLOATS = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
SIGNED = ["uint8", "int8", "int16", "int32", "int64"]
ALL = [found.name for found in dtypes.COMPUTED]
SIZES = [0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 40, 624, 1000, 5003]
SEEDS = [0, 1, 42, 2**31, 2**32 - 1, 2**32 + 7, -1]


def bits(values):
    """Return a number for each bit pattern, so that nan equals nan and -0.0 differs from 0.0."""
    if isinstance(values, torch.Tensor):
        if values.dtype is torch.bfloat16:
            return values.view(torch.int16).numpy().view(np.uint16)
        values = values.numpy()
    if values.dtype == bool:
        return values
    if values.dtype.kind == "c":
        return np.stack([bits(values.real.copy()), bits(values.imag.copy())])
    return values.view(f"u{values.dtype.itemsize}")


class Pair:
    """The same generator in both libraries."""

    def __init__(self, seed):
        self.ours = Generator().manual_seed(seed)
        self.theirs = torch.Generator().manual_seed(seed)

    def check(self, ours, theirs, label):
        assert ours.shape == tuple(theirs.shape), label
        assert str(dtypes.FROM_NUMPY[ours.dtype]) == str(theirs.dtype), label
        np.testing.assert_array_equal(bits(ours), bits(theirs), err_msg=str(label))
        self.check_state(label)

    def check_state(self, label):
        np.testing.assert_array_equal(
            self.ours.get_state(), self.theirs.get_state().numpy(), err_msg=str(label)
        )

    def fill(self, name, dtype, shape, *arguments):
        """Draw with the method `name` of a Tensor and with our function of the same name."""
        module = next(m for m in (continuous, integers, discrete) if hasattr(m, name))
        ours = getattr(module, name)(
            np.empty(shape, dtypes.DTYPES[dtype].numpy), *arguments, generator=self.ours
        )
        theirs = torch.empty(shape, dtype=getattr(torch, dtype))
        getattr(theirs, name)(*arguments, generator=self.theirs)
        self.check(ours, theirs, (name, dtype, shape, arguments))


def numpy_of(tensor):
    """Return the tensor's elements as an array with the same strides."""
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


FILLS = {
    "uniform_": (
        FLOATS + COMPLEX,
        [(), (-0.25, 0.75), (-0.0371, 0.0371), (3.0, 3.0), (-7.3, 11.1)],
    ),
    "normal_": (FLOATS + COMPLEX, [(), (0.3, 0.7), (-100.0, 1e-3), (0.0, 0.0)]),
    "exponential_": (FLOATS, [(), (0.3,), (1e-5,), (math.inf,)]),
    "cauchy_": (FLOATS, [(), (0.3, 1.7)]),
    "log_normal_": (FLOATS, [(), (0.1, 0.9), (0.0, 300.0)]),
    "geometric_": (FLOATS + SIGNED, [(0.1,), (0.9999,), (1e-5,), (1e-12,), (1e-20,)]),
    "bernoulli_": (["bool", *FLOATS, *SIGNED], [(), (0.0,), (1.0,), (0.123,)]),
    "random_": (["bool", *FLOATS, *SIGNED], [()]),
}


@pytest.mark.parametrize("name", FILLS)
def test_fills(name):
    kinds, settings = FILLS[name]
    for dtype, arguments in itertools.product(kinds, settings):
        pair = Pair(SEEDS[len(dtype) % len(SEEDS)])
        for size in SIZES:
            pair.fill(name, dtype, (size,), *arguments)


def test_seeds():
    for seed in SEEDS:
        pair = Pair(seed)
        pair.check_state(seed)
        pair.fill("uniform_", "float32", (700,))
        pair.fill("normal_", "float32", (5, 7))


def test_large_single_precision_normals():
    pair = Pair(11)
    for arguments in [(), (0.5, 2.5)]:
        pair.fill("normal_", "float32", (1_000_003,), *arguments)


@pytest.mark.parametrize("attempt", range(6))
def test_interleaved_draws(attempt):
    chosen = random.Random(attempt)
    pair = Pair(attempt)
    for _ in range(60):
        name = chosen.choice(list(FILLS))
        kinds, settings = FILLS[name]
        shape = tuple(chosen.randrange(1, 9) for _ in range(chosen.randrange(4)))
        pair.fill(name, chosen.choice(kinds), shape, *chosen.choice(settings))
        if chosen.random() < 0.1:
            pair.ours.manual_seed(attempt)
            pair.theirs.manual_seed(attempt)


RANGES = [
    (0, 1),
    (0, 2),
    (3, 100),
    (-5, 7),
    (-128, 127),
    (0, 255),
    (0, 2**28 - 1),
    (0, 2**28),
    (-(2**31), 2**31),
    (0, 2**32),
    (5, 2**40),
    (-(2**62), 2**62),
    (-(2**63), 2**63 - 1),
    (0, 2**63 - 1),
    (0, 2**24 + 1),
    (0, 2**24 + 2),
    (-(2**24) - 3, 2**24 + 5),
    (-300, 300),
    (-12345, 12345),
    (-(2**60) + 1, 2**60 - 1),
    (1000001, 1000021),
    (-1000021, -1000001),
    (-(2**62) - 12345, -(2**61) - 999),
    (5, 3),
    (-(2**63), None),
    (-(2**63) + 1, None),
    (1, None),
    (127, None),
    (128, None),
    (255, None),
    (256, None),
    (2048, None),
    (2**24, None),
    (2**40, None),
]


def outcome(function):
    """Return the bits of the result, or the error, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = bits(function()).tolist()
        except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
            result = type(error).__name__, str(error)
    texts = [str(warning.message).partition(" (Triggered internally")[0] for warning in caught]
    return result, texts


@pytest.mark.parametrize("dtype", ALL)
def test_random_between_bounds(dtype):
    for (low, high), size in itertools.product(RANGES, [0, 5]):
        pair = Pair(low % 97)
        ours = outcome(
            lambda low=low, high=high, size=size, pair=pair: integers.random_(
                np.empty(size, dtypes.DTYPES[dtype].numpy), low, high, pair.ours
            )
        )
        theirs = outcome(
            lambda low=low, high=high, size=size, pair=pair: torch.empty(
                size, dtype=getattr(torch, dtype)
            ).random_(low, high, generator=pair.theirs)
        )
        assert ours == theirs, (low, high, size)
        pair.check_state((low, high, size))


@pytest.mark.parametrize("dtype", FLOATS + SIGNED)
def test_randperm(dtype):
    for n in [0, 1, 2, 3, 10, 128, 129, 256, 257, 2049, 2050, 32769]:
        pair = Pair(n)
        ours = outcome(
            lambda n=n, pair=pair: integers.randperm(n, dtypes.DTYPES[dtype].numpy, pair.ours)
        )
        theirs = outcome(
            lambda n=n, pair=pair: torch.randperm(
                n, dtype=getattr(torch, dtype), generator=pair.theirs
            )
        )
        assert ours == theirs, n
        if not isinstance(theirs[0], tuple):
            pair.check_state(n)


LAYOUTS = {
    "transposed": lambda make: make(6, 5).t(),
    "small transposed": lambda make: make(3, 4).t(),
    "every second": lambda make: make(6, 10)[:, ::2],
    "transposed every second": lambda make: make(6, 10)[:, ::2].t(),
    "permuted": lambda make: make(2, 3, 5).permute(2, 0, 1),
    "channels last": lambda make: make(2, 3, 4, 5).to(memory_format=torch.channels_last),
    "ones among them": lambda make: make(4, 1, 6).transpose(0, 2),
    "scalar": lambda make: make(()),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FILLS)
def test_layouts(name, layout):
    kinds, settings = FILLS[name]
    for dtype in kinds:
        pair = Pair(5)
        theirs = LAYOUTS[layout](
            lambda *shape, d=dtype: torch.zeros(*shape, dtype=getattr(torch, d))
        )
        ours = numpy_of(theirs.clone())
        assert ours.strides == numpy_of(theirs).strides or layout.endswith("every second")
        ours = np.lib.stride_tricks.as_strided(
            np.zeros(400, ours.dtype), theirs.shape, numpy_of(theirs).strides
        )
        module = next(m for m in (continuous, integers, discrete) if hasattr(m, name))
        getattr(module, name)(ours, *settings[-1], generator=pair.ours)
        getattr(theirs, name)(*settings[-1], generator=pair.theirs)
        pair.check(ours.copy(), theirs.contiguous(), (name, dtype, layout))


def test_bernoulli_of_an_array():
    for dtype, size in itertools.product(FLOATS, [1, 16, 1000]):
        pair = Pair(size)
        p = torch.rand(size).to(getattr(torch, dtype))
        for target in ["bool", "int64", "uint8", *FLOATS]:
            theirs = torch.empty(size, dtype=getattr(torch, target))
            theirs.bernoulli_(p, generator=pair.theirs)
            ours = np.empty(size, dtypes.DTYPES[target].numpy)
            pair.check(discrete.bernoulli_(ours, numpy_of(p), pair.ours), theirs, (dtype, target))


def test_bernoulli_of_an_array_follows_the_strides_of_the_result():
    pair = Pair(2)
    p, theirs = torch.rand(7), torch.empty(7, 5).t()
    theirs.bernoulli_(p, generator=pair.theirs)
    ours = discrete.bernoulli_(np.empty((7, 5), np.float32).T, p.numpy(), pair.ours)
    pair.check(ours.copy(), theirs.contiguous(), "transposed")


@pytest.mark.parametrize("dtype", FLOATS)
def test_dropout(dtype):
    for p, shape in itertools.product([0.0, 0.1, 0.3, 0.5, 0.9, 1.0], [(0,), (7,), (40, 50)]):
        torch.manual_seed(9)
        theirs = torch.nn.functional.dropout(torch.ones(shape, dtype=getattr(torch, dtype)), p)
        source = Generator().manual_seed(9)
        ours = discrete.dropout_mask_(np.empty(shape, dtypes.DTYPES[dtype].numpy), p, source)
        np.testing.assert_array_equal(bits(ours), bits(theirs), err_msg=f"{p} {shape}")
        np.testing.assert_array_equal(source.get_state(), torch.get_rng_state().numpy())


@pytest.mark.parametrize("dtype", FLOATS)
def test_poisson(dtype):
    for low, high in [(0.0, 0.0), (0.0, 3.0), (0.0, 20.0), (10.0, 200.0), (1000.0, 30000.0)]:
        pair = Pair(4)
        rates = (torch.rand(50, 40, dtype=torch.float64) * (high - low) + low).to(
            getattr(torch, dtype)
        )
        theirs = torch.poisson(rates, generator=pair.theirs)
        pair.check(discrete.poisson(numpy_of(rates), pair.ours), theirs, (low, high))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(5,), (7, 30), (3, 1000)])
def test_multinomial(dtype, shape):
    weights = torch.rand(shape).to(getattr(torch, dtype))
    weights[..., 2] = 0.0
    for count, replacement in [(1, False), (1, True), (2, True), (50, True), (5000, True)]:
        pair = Pair(count)
        theirs = torch.multinomial(weights, count, replacement, generator=pair.theirs)
        ours = discrete.multinomial(numpy_of(weights), count, replacement, pair.ours)
        pair.check(ours, theirs, (count, replacement))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_multinomial_without_replacement(dtype):
    weights = torch.rand(40, 60, dtype=getattr(torch, dtype))
    for count, given in itertools.product([2, 5, 60], [weights, weights[:, ::2], weights.t()]):
        if count > given.shape[1]:
            continue
        pair = Pair(count)
        theirs = torch.multinomial(given, count, generator=pair.theirs)
        pair.check(discrete.multinomial(given.numpy(), count, False, pair.ours), theirs, count)


@pytest.mark.parametrize("shape", [(5,), (4, 25)])
def test_normal_with_arrays(shape):
    kinds = [*FLOATS, "complex64", None]
    for first, second in itertools.product(kinds, [*FLOATS, None]):
        if first is None and second is None:
            continue
        pair = Pair(8)
        mean = 0.3 if first is None else torch.rand(shape).to(getattr(torch, first))
        std = 0.7 if second is None else torch.rand(shape).to(getattr(torch, second))
        theirs = torch.normal(mean, std, generator=pair.theirs)
        ours = continuous.normal_from(
            *(numpy_of(v) if isinstance(v, torch.Tensor) else v for v in (mean, std)), pair.ours
        )
        pair.check(ours, theirs, (first, second))
    pair = Pair(8)
    theirs = torch.normal(torch.zeros(3, 1), torch.ones(20), generator=pair.theirs)
    ours = continuous.normal_from(np.zeros((3, 1), np.float32), np.ones(20, np.float32), pair.ours)
    pair.check(ours, theirs, "broadcast")


NAN, INF = math.nan, math.inf
BAD = {
    "uniform_": [(1, 0), (0, INF), (-3e38, 3e38), (NAN, 1), (0, NAN), (0, 1e300), (0.5, 1e5)],
    "normal_": [(0.0, -1.0), (0.0, NAN), (NAN, 1.0), (0.0, INF), (0.0, 1e39)],
    "exponential_": [(0.0,), (-1.5,), (NAN,), (1e300,), ()],
    "cauchy_": [(0.0, 0.0), (0.0, -1.0), (0.0, NAN), ()],
    "log_normal_": [(0.0, 0.0), (0.0, NAN), ()],
    "geometric_": [(0.0,), (1.0,), (NAN,), (-0.1,), (0.5,)],
    "bernoulli_": [(-0.1,), (1.1,), (NAN,), (0.5,)],
    "random_": [(), (5, 5), (0, 2**63), (-(2**63) - 1, 0)],
}


@pytest.mark.parametrize("name", BAD)
def test_errors_of_fills(name):
    module = next(m for m in (continuous, integers, discrete) if hasattr(m, name))
    for dtype, size, arguments in itertools.product(ALL, [0, 4, 20], BAD[name]):
        pair = Pair(1)
        ours = outcome(
            lambda dtype=dtype, size=size, arguments=arguments, pair=pair: getattr(module, name)(
                np.empty(size, dtypes.DTYPES[dtype].numpy), *arguments, generator=pair.ours
            )
        )
        theirs = outcome(
            lambda dtype=dtype, size=size, arguments=arguments, pair=pair: getattr(
                torch.empty(size, dtype=getattr(torch, dtype)), name
            )(*arguments, generator=pair.theirs)
        )
        assert ours == theirs, (dtype, size, arguments)
        pair.check_state((dtype, size, arguments))


def test_errors_of_bernoulli_of_an_array():
    for p in [[0.1, 1.5], [-0.1, 0.5], [NAN, 0.5]]:
        theirs = outcome(lambda p=p: torch.empty(2).bernoulli_(torch.tensor(p)))
        ours = outcome(
            lambda p=p: discrete.bernoulli_(np.empty(2, np.float32), np.array(p, np.float32))
        )
        assert ours == theirs
    for target, kind in itertools.product(ALL, ["int64", "bool", "complex64", "float32"]):
        theirs = outcome(
            lambda target=target, kind=kind: torch.empty(
                2, dtype=getattr(torch, target)
            ).bernoulli_(torch.ones(2, dtype=getattr(torch, kind)))
        )
        ours = outcome(
            lambda target=target, kind=kind: discrete.bernoulli_(
                np.empty(2, dtypes.DTYPES[target].numpy), np.ones(2, dtypes.DTYPES[kind].numpy)
            )
        )
        assert ours == theirs, (target, kind)


def test_errors_of_multinomial():
    one = [1.0, 2.0, 3.0]
    cases = [
        (row, count, replacement)
        for row in (
            [1.0, -1.0],
            [1.0, NAN],
            [1.0, INF],
            [INF, -1.0],
            [-1.0, INF],
            [0.0, 0.0],
            [[1.0, 1.0], [0.0, 0.0]],
            [[0.0, 0.0], [1.0, -1.0]],
            [[1.0, 1.0], [2.0, -1.0]],
        )
        for count, replacement in [(1, False), (1, True), (2, True)]
    ]
    cases += [
        (one, 0, False),
        (one, -1, True),
        (one, 4, False),
        ([[[1.0]]], 1, False),
        (1.0, 1, False),
    ]
    cases += [([], 1, False), ([], 2, True), ([[], []], 1, True)]
    for (values, count, replacement), kind in itertools.product(cases, ["float32", "float64"]):
        theirs = torch.tensor(values, dtype=getattr(torch, kind))
        expected = outcome(lambda t=theirs, c=count, r=replacement: torch.multinomial(t, c, r))
        found = outcome(
            lambda t=theirs, c=count, r=replacement: discrete.multinomial(t.numpy(), c, r)
        )
        assert found == expected, (values, count, replacement)
    for kind in ["int64", "bool", "complex64", "uint16"]:
        theirs = torch.ones(3, dtype=getattr(torch, kind))
        expected = outcome(lambda t=theirs: torch.multinomial(t, 1))
        assert outcome(lambda t=theirs: discrete.multinomial(t.numpy(), 1)) == expected


def test_errors_of_poisson_normal_randperm_and_dropout():
    for values in [[1.0, -1.0], [NAN], [1]]:
        theirs = outcome(lambda v=values: torch.poisson(torch.tensor(v)))
        ours = outcome(lambda v=values: discrete.poisson(torch.tensor(v).numpy()))
        assert ours == theirs
    ones = torch.ones(3)
    for mean, std in [
        (ones, -ones),
        (ones, -1.5),
        (0.0, -ones),
        (0.0, ones * NAN),
        (0.0, ones + 0j),
        (ones.long(), 1.0),
        (0.0, ones.long()),
        (ones.long(), ones),
    ]:
        theirs = outcome(lambda m=mean, s=std: torch.normal(m, s))
        ours = outcome(
            lambda m=mean, s=std: continuous.normal_from(
                *(v.numpy() if isinstance(v, torch.Tensor) else v for v in (m, s))
            )
        )
        assert ours == theirs
    for kind in ["bool", "uint16", "complex64", "int64"]:
        theirs = outcome(lambda k=kind: torch.randperm(-1, dtype=getattr(torch, k)))
        assert outcome(lambda k=kind: integers.randperm(-1, dtypes.DTYPES[k].numpy)) == theirs
    for kind in ["int64", "bool", "uint16", "complex64"]:
        theirs = outcome(
            lambda k=kind: torch.dropout(torch.ones(3, dtype=getattr(torch, k)), 0.5, True)
        )
        ours = outcome(
            lambda k=kind: discrete.dropout_mask_(np.ones(3, dtypes.DTYPES[k].numpy), 0.5)
        )
        assert ours == theirs
    theirs = outcome(lambda: torch.dropout(ones, 1.5, True))
    assert outcome(lambda: discrete.dropout_mask_(ones.numpy(), 1.5)) == theirs


# The generator itself.


def test_a_state_goes_from_either_library_to_the_other():
    for drawn in range(0, 1300, 13):
        pair = Pair(drawn)
        pair.fill("uniform_", "float32", (drawn,))
        pair.fill("normal_", "float64", (drawn % 3,))
        copy = Generator().set_state(pair.theirs.get_state().numpy())
        back = torch.Generator().set_state(torch.from_numpy(pair.ours.get_state()))
        follow = Pair(0)
        follow.ours, follow.theirs = copy, back
        follow.fill("normal_", "float32", (3,))
        follow.fill("random_", "int64", (30,), 0, 1000)


def test_a_state_keeps_all_fields():
    state = torch.Generator().manual_seed(6).get_state()
    for position, value in [(5048, 0.5), (5024, 0.25)]:
        changed = state.clone()
        width = 4 if position == 5048 else 8
        field = np.array([value], f"f{width}").view(np.uint8)
        changed[position : position + width] = torch.from_numpy(field)
        changed[5052 if position == 5048 else 5040] = 1
        theirs = torch.Generator().set_state(changed).get_state().numpy()
        np.testing.assert_array_equal(Generator().set_state(changed.numpy()).get_state(), theirs)


BUILTIN_SEEDS = [0, -1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 1.5, True]
BUILTIN_SEEDS += ["a", "12", None, 3 + 0j, [1]]


@pytest.mark.parametrize(
    "seed",
    [*BUILTIN_SEEDS, np.int64(3), np.bool_(True), np.float64(2.0)],
)
def test_accepted_seeds(seed):
    def result(call):
        try:
            return call().initial_seed()
        except (RuntimeError, TypeError, ValueError) as error:
            return type(error), str(error)

    ours, theirs = Generator(), torch.Generator()
    assert result(lambda: ours.manual_seed(seed)) == result(lambda: theirs.manual_seed(seed))
    assert result(lambda: generator.manual_seed(seed)) == result(lambda: torch.manual_seed(seed))


@pytest.mark.parametrize(
    "state",
    [np.zeros(5056, np.uint8), np.ones(5056, np.uint8), np.zeros(10, np.uint8), np.zeros(5056), 3],
)
def test_refused_states(state):
    theirs = torch.from_numpy(state) if isinstance(state, np.ndarray) else state
    ours = Generator().manual_seed(1)
    before = ours.get_state()
    with pytest.raises((RuntimeError, TypeError)) as expected:
        torch.Generator().set_state(theirs)
    with pytest.raises(expected.type) as found:
        ours.set_state(state)
    assert str(found.value) == str(expected.value)
    np.testing.assert_array_equal(ours.get_state(), before)


@pytest.mark.parametrize("device", ["cuda", "meta", "mps", "xpu", "hpu", "mtia", "foo", 1.5, 3])
def test_refused_devices(device):
    with pytest.raises((RuntimeError, TypeError)) as expected:
        torch.Generator(device)
    with pytest.raises(expected.type) as found:
        Generator(device)
    assert str(expected.value).startswith(str(found.value))


def test_new_default_and_pickled_generators():
    assert Generator().initial_seed() == torch.Generator().initial_seed()
    np.testing.assert_array_equal(Generator().get_state(), torch.Generator().get_state().numpy())
    assert repr(Generator("cpu:0").device) == repr(torch.Generator("cpu:0").device)
    pair = Pair(3)
    pair.fill("normal_", "float32", (3,))
    pair.ours = pickle.loads(pickle.dumps(pair.ours))
    pair.theirs = pickle.loads(pickle.dumps(pair.theirs))
    pair.fill("normal_", "float32", (3,))
    pair.ours, pair.theirs = pair.ours.clone_state(), pair.theirs.clone_state()
    pair.fill("normal_", "float32", (3,))
    for name in ["get_offset"]:
        with pytest.raises(RuntimeError) as expected:
            getattr(pair.theirs, name)()
        with pytest.raises(RuntimeError, match=f"^{expected.value}$"):
            getattr(pair.ours, name)()
