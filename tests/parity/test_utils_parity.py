"""Tables of times, and counts of operations: the same as PyTorch's."""

from __future__ import annotations

import itertools
import random

import pytest
import torch
import torch.utils.benchmark
import torch.utils.flop_counter

import taper
import taper.utils.benchmark
import taper.utils.flop_counter

PACKAGES = (taper, torch)


def measured(package, times, number=1, **names):
    benchmark = package.utils.benchmark
    spec = benchmark.TaskSpec(names.pop("stmt", "f(x)"), names.pop("setup", "pass"), **names)
    return benchmark.Measurement(number, times, spec)


@pytest.mark.parametrize(
    ("times", "names"),
    [
        ([1e-3], {}),
        ([1e-3] * 2, {"stmt": "a\nb", "setup": "x = 1\ny = 2"}),
        ([1e-3] * 4, {"label": "L", "sub_label": "S", "description": "D", "num_threads": 3}),
        ([1e-3, 2e-3, 9e-3, 1e-3, 1e-3], {"setup": "z", "description": "D"}),
        ([1.0, 1.1, 1.1, 1.2], {"sub_label": "S"}),
    ],
)
def test_measurements_are_printed_alike(times, names):
    mine, theirs = (repr(measured(each, times, 3, **names)).split("\n")[1:] for each in PACKAGES)
    assert mine == theirs


def test_statistics_are_equal():
    chance = random.Random(0)
    for _ in range(200):
        scale, spread = 10 ** chance.uniform(-8, 0), 10 ** chance.uniform(-4, 0)
        count = chance.randint(1, 12)
        times = [scale * (1 + chance.random() * spread) for _ in range(count)]
        mine, theirs = (measured(each, times, 7) for each in PACKAGES)
        assert mine.significant_figures == theirs.significant_figures
        assert mine.has_warnings == theirs.has_warnings
        assert (mine.median, mine.mean, mine.iqr) == pytest.approx(
            (theirs.median, theirs.mean, theirs.iqr), rel=1e-5, abs=1e-12
        )


def table(package, results, trim=False, warn=False, colour=None):
    compare = package.utils.benchmark.Compare([])
    for times, row, column, threads in results:
        names = {"label": "L", "sub_label": row, "description": column, "num_threads": threads}
        compare.extend_results([measured(package, times, **names)])
    if trim:
        compare.trim_significant_figures()
    if warn:
        compare.highlight_warnings()
    if colour is not None:
        compare.colorize(rowwise=colour)
    return str(compare)


CELLS = list(itertools.product(("s1", "s2 long"), ("torch", "mine"), (1, 4)))
TABLES = {
    "plain": [([1e-3 * number] * 3, *cell) for number, cell in enumerate(CELLS, 1)],
    "holes": [([2e-4], "f", "a", 1), ([12.3], "g", "bb", 1)],
    "unsure": [
        ([1e-3, 2e-3, 3e-3, 9e-3, 1e-3], "a", "d", 1),
        ([1e-3] * 5, "b", "d", 1),
        ([1e-3] * 5, "b", "e", 1),
    ],
    "far": [([1e-6 * number**3] * 3, f"r{number}", "d", 1) for number in range(1, 6)],
}


@pytest.mark.parametrize("colour", [None, False, True])
@pytest.mark.parametrize("trim", [False, True])
@pytest.mark.parametrize("name", TABLES)
def test_tables_are_equal(name, trim, colour):
    mine, theirs = (table(each, TABLES[name], trim, True, colour) for each in PACKAGES)
    assert mine == theirs


PROGRAMS = {
    "mm": lambda p, x: (x(3, 4) @ x(4, 5)).sum().backward(),
    "linear": lambda p, x: p.nn.functional.linear(x(2, 3, 4), x(5, 4), x(5)).sum().backward(),
    "bmm": lambda p, x: p.bmm(x(2, 3, 4), x(2, 4, 5)).sum().backward(),
    "baddbmm": lambda p, x: p.baddbmm(x(2, 3, 5), x(2, 3, 4), x(2, 4, 5)).sum().backward(),
    "einsum": lambda p, x: p.einsum("bij,bjk->bik", x(2, 3, 4), x(2, 4, 5)).sum().backward(),
    "dot": lambda p, x: x(4) @ x(4),
    "conv1d": lambda p, x: p.nn.functional.conv1d(x(2, 3, 8), x(6, 3, 3)).sum().backward(),
    "groups": lambda p, x: (
        p.nn.functional.conv2d(x(2, 4, 8, 8), x(6, 2, 3, 3), groups=2, stride=2).sum().backward()
    ),
    "transposed": lambda p, x: (
        p.nn.functional.conv_transpose2d(x(2, 3, 8, 8), x(3, 6, 3, 3), stride=2).sum().backward()
    ),
    "attention": lambda p, x: p.nn.functional.scaled_dot_product_attention(
        x(2, 4, 5, 8), x(2, 4, 6, 8), x(2, 4, 6, 8)
    ),
    "modules": lambda p, x: (
        p.nn.Sequential(p.nn.Linear(4, 3), p.nn.Sequential(p.nn.Linear(3, 2)))(x(2, 4))
        .sum()
        .backward()
    ),
    "multihead": lambda p, x: p.nn.MultiheadAttention(8, 2)(x(5, 2, 8), x(5, 2, 8), x(5, 2, 8)),
    "recorded": lambda p, x: p.autograd.grad(
        (inp := x(2, 3)).mm(p.ones(3, 3)).pow(2).sum(), inp, create_graph=True
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_counts_are_equal(name):
    found = []
    for package in PACKAGES:
        with package.utils.flop_counter.FlopCounterMode(display=False) as counter:
            PROGRAMS[name](package, lambda *shape, p=package: p.ones(*shape, requires_grad=True))
        found.append(
            {
                module: {str(each): count for each, count in counts.items()}
                for module, counts in counter.get_flop_counts().items()
            }
        )
    assert found[0] == found[1] or (name == "dot" and not any(found[0].values()))
