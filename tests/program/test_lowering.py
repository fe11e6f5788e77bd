"""Lowered programs: eager mode's values, fused, on planned memory, on any number of threads."""

import gc
import random

import numpy as np
import pytest

import taper
from taper.arrays.native import native
from taper.program.lowering import build

needs_native = pytest.mark.skipif(native is None, reason="there is no native module")

UNARY = ("tanh", "sigmoid", "exp", "relu", "abs", "neg", "sin", "square", "sqrt_of", "log_of")
BINARY = ("add", "sub", "mul", "div_of", "maximum", "minimum", "where")
SHAPES = ((3, 4), (4,), (3, 1), (1, 4), (), (2, 3, 4))


def unary(name, x):
    if name == "sqrt_of":
        return taper.sqrt(x * x + 1.0)
    if name == "log_of":
        return taper.log(x * x + 0.5)
    return getattr(taper, name)(x)


def binary(name, x, y):
    if name == "div_of":
        return x / (y * y + 1.0)
    if name == "where":
        return taper.where(x > y, x, y * 2.0)
    return getattr(taper, name)(x, y)


def broadcast(x, y):
    """Whether two tensors can be added."""
    pairs = zip(reversed(x.shape), reversed(y.shape), strict=False)
    return all(one == other or 1 in (one, other) for one, other in pairs)


def random_function(seed):
    """Return a function of tensors made of random operations, and the shapes that it takes."""
    chance = random.Random(seed)
    shapes = [chance.choice(SHAPES) for _ in range(3)]
    plan = []
    for _ in range(chance.randint(3, 14)):
        kind = chance.choice("ubbrtp")
        plan.append((kind, chance.random(), chance.random(), chance.random()))

    def run(*tensors):
        pool = list(tensors)
        for kind, first, second, third in plan:
            x = pool[int(first * len(pool))]
            partners = [each for each in pool if broadcast(x, each)]
            y = partners[int(second * len(partners))]
            if kind == "u":
                pool.append(unary(UNARY[int(third * len(UNARY))], x))
            elif kind == "b":
                pool.append(binary(BINARY[int(third * len(BINARY))], x, y))
            elif kind == "r" and x.dim():
                dim = int(third * x.dim())
                pool.append(x.sum(dim, keepdim=second < 0.5) if first < 0.5 else x.mean(dim))
            elif kind == "t" and x.dim() > 1:
                pool.append(x.transpose(0, 1) * 1.5)
            elif kind == "p" and x.dim() == 2 and y.dim() == 2 and x.shape == y.shape:
                pool.append(x @ y.t())
        return pool[-1], pool[-2].sum()

    return run, shapes


def close(found, expected):
    rough = 2e-5 if expected.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(found, expected, rtol=rough, atol=rough, equal_nan=True)


def replayed(function, *tensors, **options):
    """Return what the third call gives, which is replayed."""
    captured = taper.capture(function, **options)
    for _ in range(3):
        result = captured(*tensors)
    assert all(entry.refusal is None for entry in captured._entries), captured.explain()
    return captured, result


def runner_of(captured):
    return captured._entries[-1].runner


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(60))
def test_random_expressions_have_eager_values(seed, dtype):
    run, shapes = random_function(seed)
    taper.manual_seed(seed)
    tensors = [taper.randn(shape, dtype=getattr(taper, dtype)) for shape in shapes]
    expected = run(*tensors)
    _captured, found = replayed(run, *tensors)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape and one.stride() == other.stride()
        close(one.numpy(), other.numpy())
    _exact, same = replayed(run, *tensors, exact=True)
    for one, other in zip(same, expected, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


@pytest.mark.parametrize("seed", range(20))
def test_gradients_of_random_expressions(seed):
    run, shapes = random_function(seed)
    taper.manual_seed(seed)
    leaves = [taper.randn(shape, requires_grad=True) for shape in shapes]

    def step():
        for each in leaves:
            each.grad = None
        first, second = run(*leaves)
        (first.sum() + second).backward()

    step()
    expected = [None if each.grad is None else each.grad.numpy().copy() for each in leaves]
    replayed(step)
    for leaf, wanted in zip(leaves, expected, strict=True):
        assert (leaf.grad is None) == (wanted is None)
        if wanted is not None:
            np.testing.assert_allclose(leaf.grad.numpy(), wanted, rtol=1e-4, atol=1e-5)


def test_strided_and_empty_operands():
    base = taper.randn(6, 8)

    def function(x, y, z):
        return x * y + 1.0, (z * 2.0).sum(), taper.exp(x).sum(0)

    tensors = base[::2, ::2], base.t()[:4, 1:4].t(), taper.empty(0, 3)
    _, found = replayed(function, *tensors)
    for one, other in zip(found, function(*tensors), strict=True):
        assert one.stride() == other.stride()
        close(one.numpy(), other.numpy())


@pytest.mark.parametrize("turn", [lambda x: x.transpose(0, 1), lambda x: x.permute(0, 3, 1, 2)])
def test_large_operands_that_lie_otherwise(turn):
    taper.manual_seed(1)
    x = turn(taper.randn(6, 20, 30, 8))
    bias = taper.randn(x.shape[1], 1, 1)

    def function(x):
        y = taper.relu(x * 2.0 + bias) - x
        return y, y.sum(1), y.amax((0, 2)), (y + taper.ones_like(y).contiguous()).sum()

    _, found = replayed(function, x)
    for one, other in zip(found, function(x), strict=True):
        assert one.stride() == other.stride()
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-4)


@needs_native
def test_one_thread_and_two_give_the_same_bits():
    x = taper.randn(300, 1111)

    def function(x):
        y = taper.tanh(x * 2.0) + x
        return y, y.sum(), y.sum(0), y.sum(1), y.amax(1)

    before = taper.get_num_threads()
    try:
        found = []
        for threads in (1, 2):
            taper.set_num_threads(threads)
            _captured, result = replayed(function, x)
            found.append([each.numpy().copy() for each in result])
    finally:
        taper.set_num_threads(before)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(found[0], function(x), strict=True):
        close(one, other.numpy())


@needs_native
def test_element_wise_operations_become_one_step():
    x = taper.randn(50, requires_grad=True)

    def step():
        x.grad = None
        (taper.relu(taper.tanh(x) * 3.0 - 0.5) * x).sum().backward()

    captured, _ = replayed(step)
    runner = runner_of(captured)
    assert runner.reason == ""
    assert len([each for each in runner.fusion.order if each.kind == "group"]) == 1
    rows = runner.describe()
    assert [row["call"] for row in rows if row["instruction"].kind in ("op", "formula")] == [""] * (
        len([row for row in rows if row["instruction"].kind in ("op", "formula")])
    )


def test_results_are_not_written_by_the_next_replay():
    captured = taper.capture(lambda x: taper.exp(x) + 1.0)
    kept = [captured(taper.full((4,), float(n))).clone() for n in range(3)]
    held = [captured(taper.full((4,), float(n))) for n in range(6)]
    for n, each in enumerate(held):
        close(each.numpy(), np.exp(np.full(4, n, np.float32)) + 1)
    assert len(kept) == 3


def test_gradients_that_somebody_holds_are_not_written():
    x = taper.ones(3, requires_grad=True)
    factor = taper.ones(3)

    def step():
        x.grad = None
        (x * factor).sum().backward()

    captured = taper.capture(step)
    held = []
    for n in range(6):
        factor.fill_(float(n))
        captured()
        held.append(x.grad)
    assert [each.tolist() for each in held] == [[float(n)] * 3 for n in range(6)]


def test_gradients_that_are_returned_or_read():
    x, y = taper.ones(3, requires_grad=True), taper.ones(3, requires_grad=True)

    def step(factor):
        x.grad = y.grad = None
        ((x + y) * factor).sum().backward()
        x.grad.mul_(2.0)
        return x.grad, y.grad * 3.0

    captured = taper.capture(step)
    for n in range(6):
        first, second = captured(taper.full((3,), float(n)))
        assert first.tolist() == x.grad.tolist() == [2.0 * n] * 3
        assert second.tolist() == [3.0 * n] * 3
        assert y.grad.tolist() == [1.0 * n] * 3


def test_gradients_accumulate_over_replays():
    x = taper.ones(3, requires_grad=True)
    captured = taper.capture(lambda: (x * 2.0).sum().backward())
    for _ in range(5):
        captured()
    assert x.grad.tolist() == [10.0] * 3


def test_writes_are_seen_by_what_follows():
    buffer = taper.zeros(4)

    def function(x):
        before = buffer * 2.0
        buffer.add_(x)
        after = buffer * 2.0
        buffer.mul_(0.5)
        return before, after, buffer + 0.0

    plain = taper.zeros(4).numpy()
    captured = taper.capture(function)
    x = taper.arange(4.0)
    for _ in range(5):
        before, after, last = captured(x)
        close(before.numpy(), plain * 2)
        plain = plain + x.numpy()
        close(after.numpy(), plain * 2)
        plain = plain * np.float32(0.5)
        close(last.numpy(), plain)
        close(buffer.numpy(), plain)


@pytest.mark.parametrize(
    "make",
    [
        lambda p: taper.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
        lambda p: taper.optim.SGD(p, lr=0.1, weight_decay=0.01),
        lambda p: taper.optim.Adam(p, lr=0.01, amsgrad=True),
        lambda p: taper.optim.AdamW(p, lr=0.01),
        lambda p: taper.optim.RAdam(p, lr=0.01),
        lambda p: taper.optim.RMSprop(p, lr=0.01, momentum=0.5),
        lambda p: taper.optim.Adagrad(p, lr=0.01),
    ],
)
def test_optimizers_and_schedulers_in_a_program(make):
    def training(capture):
        taper.manual_seed(0)
        model = taper.nn.Sequential(taper.nn.Linear(5, 7), taper.nn.Tanh(), taper.nn.Linear(7, 2))
        optimizer = make(model.parameters())
        scheduler = taper.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
        x, y = taper.randn(6, 5), taper.randn(6, 2)

        def step():
            optimizer.zero_grad()
            ((model(x) - y) ** 2).mean().backward()
            optimizer.step()

        run = taper.capture(step) if capture else step
        for _ in range(8):
            run()
            scheduler.step()
        state = [value for each in optimizer.state.values() for value in each.values()]
        return [*model.parameters(), *state]

    for one, other in zip(training(True), training(False), strict=True):
        np.testing.assert_allclose(
            one.detach().numpy(), other.detach().numpy(), rtol=2e-4, atol=1e-6
        )
        assert one._version == other._version


def test_an_option_that_changes_between_replays_is_used():
    weight = taper.nn.Parameter(taper.ones(3))
    optimizer = taper.optim.SGD([weight], lr=1.0)

    def step():
        optimizer.zero_grad()
        weight.sum().backward()
        optimizer.step()

    captured = taper.capture(step)
    for _ in range(3):
        captured()
    optimizer.param_groups[0]["lr"] = 0.25
    captured()
    assert weight.tolist() == [-2.25] * 3


def test_without_the_native_module_a_program_runs_in_python(monkeypatch):
    monkeypatch.setattr("taper.program.lowering.native", None)
    captured, found = replayed(lambda x: taper.tanh(x) * 2.0, taper.ones(3))
    assert runner_of(captured).reason == "there is no native module"
    close(found.numpy(), np.tanh(np.ones(3, np.float32)) * 2)


@needs_native
def test_other_shapes_than_planned_run_in_python():
    captured, _ = replayed(lambda x: x * 2.0, taper.ones(3))
    runner = runner_of(captured)
    found = runner.run([np.ones(5, np.float32)])
    assert found[0].tolist() == [2.0] * 5


@needs_native
def test_a_program_lets_go_of_its_arrays():
    captured, found = replayed(lambda x: taper.softmax(x, 0) + 1.0, taper.ones(3))
    again = build(captured._entries[-1].program)
    again.run([np.ones(3, np.float32)])
    del again, captured, found
    gc.collect()


@needs_native
@pytest.mark.parametrize("change", range(12))
def test_numbers_that_are_not_sound_are_refused(change):
    captured, _ = replayed(
        lambda x, y: (x @ y).sum(0) * 2.0, taper.ones(30, 40), taper.ones(40, 20)
    )
    runner = runner_of(captured)
    slots = [each.described() for each in runner.plan.slots]
    steps = list(runner.plan.steps)
    chance = random.Random(change)
    arena = np.empty(max(runner.plan.arena, 1), np.uint8)
    for _ in range(40):
        bad = _changed(steps, chance)
        try:
            program = native.make_program(arena, slots, bad, runner.plan.results, 2)
        except (ValueError, TypeError, OverflowError, SystemError):
            continue
        native.run_program(program, [np.ones((30, 40), np.float32), np.ones((40, 20), np.float32)])


def _changed(structure, chance):
    """Return a copy of nested tuples and lists in which one number is another."""
    if isinstance(structure, int) and not isinstance(structure, bool):
        return chance.choice([-1, 0, 7, structure + 1, structure * 1000, 1 << 40])
    if isinstance(structure, tuple | list) and structure:
        nr = chance.randrange(len(structure))
        return type(structure)(
            [_changed(each, chance) if at == nr else each for at, each in enumerate(structure)]
        )
    return structure


def test_a_block_that_is_reduced_is_kept_for_the_reduction():
    weight = taper.randn(4, 3, requires_grad=True)

    def step(x):
        weight.grad = None
        y = x @ weight
        v = taper.nn.functional.softplus(y).mean(1, keepdim=True).clone()
        (0.5 * (taper.log(v) + (y - taper.zeros(6, 3)) ** 2 / v)).mean().backward()

    x = taper.randn(6, 4)
    step(x)
    expected = weight.grad.numpy().copy()
    replayed(step, x)
    np.testing.assert_allclose(weight.grad.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_memory_that_a_failed_expression_has_read_is_read_again():
    net = taper.nn.RNN(8, 8, batch_first=True)

    def step(x):
        net.zero_grad()
        for factor in (1.0, 2.0):
            net(x * factor)[0].mean().backward()

    x = taper.randn(6, 4, 8)
    step(x)
    expected = [each.grad.numpy().copy() for each in net.parameters()]
    replayed(step, x)
    for each, wanted in zip(net.parameters(), expected, strict=True):
        close(each.grad.numpy(), wanted)
