"""The layout: no overlaps, lines beside the boxes, few crossings, in reasonable time."""

from __future__ import annotations

import random
import time
from itertools import combinations, pairwise

import pytest

from taper.viz import mesh
from taper.viz.layout import Layout, place

Size = tuple[float, float]
Edge = tuple[int, int]


def sides(layout: Layout, sizes: list[Size], box: int) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom of a box."""
    (x, y), (width, height) = layout.centres[box], sizes[box]
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def overlap(one: tuple[float, ...], other: tuple[float, ...], gap: float = 0.0) -> bool:
    return (
        one[0] < other[2] + gap
        and other[0] < one[2] + gap
        and one[1] < other[3] + gap
        and other[1] < one[3] + gap
    )


def assert_legible(layout: Layout, sizes: list[Size], edges: list[Edge]) -> None:
    boxes = [sides(layout, sizes, box) for box in range(len(sizes))]
    assert not any(overlap(one, other, gap=10) for one, other in combinations(boxes, 2))
    for left, top, right, bottom in boxes:
        assert -0.1 <= left
        assert right <= layout.width + 0.1
        assert -0.1 <= top
        assert bottom <= layout.height + 0.1
    for (_, head), route in zip(edges, layout.routes, strict=True):
        for (x, y), (next_x, next_y) in pairwise(route):
            piece = (min(x, next_x), min(y, next_y), max(x, next_x), max(y, next_y))
            assert not any(overlap(piece, box, gap=-0.2) for box in boxes)
        left, top, right, bottom = boxes[head]
        assert left <= route[-1][0] <= right
        assert min(abs(route[-1][1] - top), abs(route[-1][1] - bottom)) < 0.2


def random_graph(seed: int, count: int, reach: int) -> tuple[list[Size], list[Edge]]:
    numbers = random.Random(seed)
    sizes = [(numbers.uniform(20, 200), numbers.uniform(15, 120)) for _ in range(count)]
    edges = [
        (numbers.randrange(max(0, head - reach), head), head)
        for head in range(1, count)
        for _ in range(numbers.randrange(3))
    ]
    return sizes, edges


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_are_legible(seed: int) -> None:
    sizes, edges = random_graph(seed, 60, (3, 10, 60)[seed % 3])
    layout = place(sizes, edges)
    assert_legible(layout, sizes, edges)
    for tail, head in edges:
        assert layout.centres[tail][1] < layout.centres[head][1]


def test_horizontal_is_the_same_with_axes_exchanged() -> None:
    sizes, edges = random_graph(3, 30, 10)
    flipped = [(height, width) for width, height in sizes]
    layout, reference = place(sizes, edges, horizontal=True), place(flipped, edges)
    assert layout.centres == [(y, x) for x, y in reference.centres]
    assert layout.routes == [[(y, x) for x, y in route] for route in reference.routes]
    assert (layout.width, layout.height) == (reference.height, reference.width)
    assert layout.horizontal
    assert not reference.horizontal


def test_nothing_and_single_boxes() -> None:
    assert place([], []) == Layout([], [], 0.0, 0.0, False)
    assert place([(30, 10)], []) == Layout([(15.0, 5.0)], [], 30.0, 10.0, False)


def test_cycles_and_loops_are_drawn_too() -> None:
    sizes: list[Size] = [(40, 20)] * 3
    edges = [(0, 1), (1, 2), (2, 0), (1, 1)]
    layout = place(sizes, edges)
    assert layout.routes.pop() == []
    assert_legible(layout, sizes, edges[:3])
    assert layout.routes[2][0][1] > layout.routes[2][-1][1]  # upwards, against the others


def test_crossings_are_removed() -> None:
    # Two stars and a row of boxes whose partners stand in the opposite order.
    count = 8
    edges = [(index, 2 * count - 1 - index) for index in range(count)]
    layout = place([(30, 20)] * (2 * count), edges)
    upper = [layout.centres[tail][0] for tail, _ in edges]
    lower = [layout.centres[head][0] for _, head in edges]
    assert sorted(range(count), key=upper.__getitem__) == sorted(
        range(count), key=lower.__getitem__
    )


def crossings(layout: Layout) -> int:
    """Return pairs of lines between the same two ranks that cross."""
    pieces: dict[Edge, set[Size]] = {}
    for route in layout.routes:
        for (x, y), (next_x, next_y) in pairwise(route):
            pieces.setdefault((y, next_y), set()).add((x, next_x))
    return sum(
        (one[0] - other[0]) * (one[1] - other[1]) < 0
        for between in pieces.values()
        for one, other in combinations(between, 2)
    )


@pytest.mark.parametrize("seed", range(4))
def test_planar_grid_has_no_crossing(seed: int) -> None:
    side, numbers = 6, random.Random(seed)
    names = list(range(side * side))
    numbers.shuffle(names)
    edges = [
        (names[row * side + column], names[(row + 1) * side + column + step])
        for row in range(side - 1)
        for column in range(side)
        for step in (0, 1)
        if column + step < side
    ]
    numbers.shuffle(edges)
    assert crossings(place([(30, 20)] * side**2, edges)) == 0


def test_few_crossings_where_some_must_be() -> None:
    total = 0
    for seed in range(8):
        numbers = random.Random(seed)
        edges = [
            (8 * row + numbers.randrange(8), 8 * (row + 1) + numbers.randrange(8))
            for row in range(7)
            for _ in range(12)
        ]
        total += crossings(place([(30, 20)] * 64, edges))
    assert total < 310  # 962 in the first order, 333 without the exchange of neighbours


def test_binary_tree_has_no_crossing_and_parents_between_children() -> None:
    count = 63
    edges = [(child, (child - 1) // 2) for child in range(1, count)]
    numbers = random.Random(1)
    numbers.shuffle(edges)
    layout = place([(50, 20)] * count, edges)
    for parent in range(count // 2):
        first, second = (layout.centres[2 * parent + side][0] for side in (1, 2))
        middle = layout.centres[parent][0]
        assert min(first, second) < middle < max(first, second)
        assert middle == pytest.approx((first + second) / 2, abs=0.2)


def test_operands_keep_their_order() -> None:
    layout = place([(40, 20)] * 6, [(index, 5) for index in range(5)])
    xs = [x for x, _ in layout.centres[:5]]
    assert xs == sorted(xs)


def test_boxes_sit_next_to_what_uses_them() -> None:
    # 0 -> 1 -> ... -> 9 is the spine; 10 joins at its end, 11 and then 12 hang below its start;
    # 13 has two inputs near the start and a use at the end.
    spine = list(pairwise(range(10)))
    layout = place([(40, 20)] * 14, [*spine, (10, 9), (0, 11), (11, 12), (0, 13), (1, 13), (13, 9)])
    ys = [y for _, y in layout.centres]
    assert ys[10] == ys[8]
    assert ys[11] == ys[1]
    assert ys[12] == ys[2]
    assert ys[13] == ys[2]


def test_long_edges_are_vertical_beside_the_boxes() -> None:
    edges = [*pairwise(range(12)), (0, 11)]
    layout = place([(30 + 17 * (index % 5), 20) for index in range(12)], edges)
    assert len({x for x, _ in layout.routes[-1]}) <= 3


def test_chain_is_straight_and_fast() -> None:
    start = time.perf_counter()
    count = 2_000
    edges = list(pairwise(range(count)))
    layout = place([(100.0 - index % 7, 20) for index in range(count)], edges)
    assert time.perf_counter() - start < 5
    assert len({x for x, _ in layout.centres}) == 1
    assert all(len(route) == 2 for route in layout.routes)


def test_thousands_of_boxes_with_long_edges_in_seconds() -> None:
    sizes, edges = random_graph(5, 3_000, 40)
    start = time.perf_counter()
    layout = place(sizes, edges)
    assert time.perf_counter() - start < 20
    rows: dict[float, list[int]] = {}
    for box, (_, y) in enumerate(layout.centres):
        rows.setdefault(y, []).append(box)
    for row in rows.values():
        row.sort(key=lambda box: layout.centres[box][0])
        for left, right in pairwise(row):
            assert sides(layout, sizes, left)[2] < sides(layout, sizes, right)[0]


def test_edges_from_one_box_share_their_way() -> None:
    # A weight used at each of 400 steps: one line beside the chain, not 400.
    count = 400
    edges = [*pairwise(range(count)), *((count, step) for step in range(1, count))]
    sizes: list[Size] = [(80, 20)] * (count + 1)
    layout = place(sizes, edges)
    assert sum(len(route) for route in layout.routes) < 10 * count
    assert_legible(place(sizes[:41], edges[:39]), sizes[:41], edges[:39])


def test_groups_do_not_share_a_line() -> None:
    edges = [(0, 1), (1, 2), (2, 3), (0, 3), (0, 3)]
    shared, apart = (place([(40, 20)] * 4, edges, groups) for groups in ("aaaaa", "aaaab"))
    assert shared.routes[3][0] != shared.routes[4][0]
    assert shared.routes[4][0][1] > 20  # starts on the line of the other, below box 0
    assert apart.routes[3][0][1] == apart.routes[4][0][1] == 20


def test_parallel_edges_are_told_apart() -> None:
    layout = place([(60, 20), (60, 20)], [(0, 1), (0, 1)])
    assert abs(layout.routes[0][0][0] - layout.routes[1][0][0]) > 5
    assert abs(layout.routes[0][-1][0] - layout.routes[1][-1][0]) > 5


def test_too_many_waypoints_leave_long_edges_direct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mesh, "_MAX_WAYPOINTS", 5)
    edges = [*pairwise(range(20)), (0, 19), (3, 6)]
    sizes: list[Size] = [(40, 20)] * 20
    layout = place(sizes, edges)
    assert len(layout.routes[-2]) == 2
    assert len(layout.routes[-1]) > 2
    boxes = [sides(layout, sizes, box) for box in range(20)]
    assert not any(overlap(one, other) for one, other in combinations(boxes, 2))
