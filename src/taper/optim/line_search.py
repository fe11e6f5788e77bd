"""A line search for the strong Wolfe conditions: enough descent, and a slope that is flat enough.

Knows a function of the step only. The search goes further until a step is good or a bracket holds
one; then it narrows the bracket. New steps are the minimum of the cubic through two points.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

DESCENT = 1e-4  # of the fall that the first slope promises
FLATNESS = 0.9  # of the first slope


class Point(NamedTuple):
    """A step, with the value, the gradient and the slope there."""

    step: Any
    value: float
    grad: Any
    slope: Any


def cubic_minimum(one: Point, other: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Return the minimum, within bounds, of the cubic with the values and slopes of two points."""
    left, right = (one, other) if one.step <= other.step else (other, one)
    least, most = (left.step, right.step) if bounds is None else bounds
    first = one.slope + other.slope - 3 * (one.value - other.value) / (one.step - other.step)
    square = first**2 - one.slope * other.slope
    if square < 0:
        return (least + most) / 2.0
    root = square**0.5
    part = (right.slope + root - first) / (right.slope - left.slope + 2 * root)
    return min(max(right.step - (right.step - left.step) * part, least), most)


class StrongWolfe:
    """Search from a point with step 0; `evaluate(step)` gives the Point at a step."""

    def __init__(
        self,
        evaluate: Callable[[Any], Point],
        start: Point,
        largest: Any,
        tolerance: float = 1e-9,
        *,
        most_rounds: int,
    ) -> None:
        self.evaluate = evaluate
        self.start = start
        self.largest = largest  # of the elements of the direction
        self.tolerance = tolerance
        self.most_rounds = most_rounds
        self.descent, self.flatness = DESCENT, FLATNESS
        self.rounds = 0

    def run(self, step: Any) -> tuple[Point, int]:
        """Return the point found, and the number of evaluations; `step` is tried first."""
        before, point = self.start, self.evaluate(step)
        bracket: tuple[Point, Point] | None = None
        while self.rounds < self.most_rounds:
            if self._too_high(point) or (self.rounds > 1 and point.value >= before.value):
                bracket = (before, point)
            elif self._flat(point):
                return point, self.rounds + 1
            elif point.slope >= 0:
                bracket = (before, point)
            if bracket is not None:
                return self._narrow(*bracket), self.rounds + 1
            bounds = (point.step + 0.01 * (point.step - before.step), point.step * 10)
            before, point = point, self.evaluate(cubic_minimum(before, point, bounds))
            self.rounds += 1
        return self._narrow(self.start, point), self.rounds + 1

    def _too_high(self, point: Point) -> bool:
        start = self.start
        return bool(point.value > start.value + self.descent * point.step * start.slope)

    def _flat(self, point: Point) -> bool:
        return bool(abs(point.slope) <= -self.flatness * self.start.slope)

    def _narrow(self, one: Point, other: Point) -> Point:
        """Return the best point of a bracket that is made smaller until a step is good."""
        low, high = (one, other) if one.value <= other.value else (other, one)
        stuck = False
        while self.rounds < self.most_rounds:
            if abs(one.step - other.step) * self.largest < self.tolerance:
                break
            step, stuck = self._inside(one, other, cubic_minimum(one, other), stuck)
            point = self.evaluate(step)
            self.rounds += 1
            if self._too_high(point) or point.value >= low.value:
                one, other = (point, other) if high is one else (one, point)
            else:
                if self._flat(point):
                    return point
                replaced = high
                if point.slope * (high.step - low.step) >= 0:
                    one, other = (low, other) if high is one else (one, low)
                    replaced = low
                one, other = (point, other) if replaced is one else (one, point)
            low, high = (one, other) if one.value <= other.value else (other, one)
        return low

    @staticmethod
    def _inside(one: Point, other: Point, step: Any, stuck: bool) -> tuple[Any, bool]:
        """Keep a step off the ends if it came near one twice; say whether it is near one now."""
        least, most = min(one.step, other.step), max(one.step, other.step)
        margin = 0.1 * (most - least)
        if min(most - step, step - least) >= margin:
            return step, False
        if stuck or step >= most or step <= least:
            near_most = abs(step - most) < abs(step - least)
            return (most - margin if near_most else least + margin), False
        return step, True
