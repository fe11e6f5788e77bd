"""Pictures 4, 7, 8, 10 and 12 of the tour: matrices, tables and curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from canvas import TIMES, Canvas, number
from runs import Run, shown


def gradients_add_up(run: Run) -> Canvas:
    """Picture 4: the gradient after each of three calls."""
    canvas = Canvas(
        "Gradients add up",
        "The gradient of a 4 by 5 identity after the first call, after a second one, which adds, "
        "and after zeroing and a third one.",
    )
    canvas.head(22, "inp.grad after each backward()")
    panels = [
        ("first call", run.first, "0 + new"),
        ("second call", run.second, "first + new"),
        ("zero_(), third call", run.third, "0 + new"),
    ]
    most = run.second.max().item()
    for place, (title, matrix, remark) in enumerate(panels):
        x = 12 + 156 * place
        canvas.text(x, 46, title, "soft")
        for row, numbers in enumerate(matrix.tolist()):
            for column, value in enumerate(numbers):
                cell = canvas.rect(x + 28 * column, 56 + 28 * row, 28, 28, "wash")
                canvas.parts.append(
                    f'<rect x="{number(cell.x)}" y="{number(cell.y)}" width="28" height="28" '
                    f'rx="4" style="fill:var(--leaf-line);fill-opacity:{value / most * 0.6:.2f}"/>'
                )
                canvas.text(cell.middle[0], cell.middle[1] + 4, shown(value), "code", "middle")
        canvas.text(x + 70, 188, remark, "code grad", "middle")
    canvas.arrow((153, 112), (167, 112), "flow")
    canvas.arrow((309, 112), (323, 112), "flow")
    canvas.text(12, 214, "new = 2 · (inp + 1): 4 on the diagonal, 2 beside it", "code soft")
    return canvas


def grad_modes(run: Run) -> Canvas:
    """Picture 7: the cut that detach makes, and the table of grad modes."""
    canvas = Canvas(
        "Where the graph is cut",
        "detach gives a tensor without history: backward from behind it is refused. A table shows "
        "what is recorded in each grad mode and what its tensors are good for.",
    )
    canvas.head(22, "detach() cuts: the same numbers, no edge back")
    chain = [("x = 2", "leaf"), ("y = 4", "node"), ("z = 4", "off"), ("w = 12", "off")]
    steps = [".pow(2)", ".detach()", "* 3"]
    boxes = []
    for place, (text, kind) in enumerate(chain):
        boxes.append(canvas.box(52 + 124 * place, 62, [text], kind, width=68, dashed=place > 1))
    for place, step in enumerate(steps):
        start, end = boxes[place].right, boxes[place + 1].left
        canvas.arrow(start, end)
        canvas.text((start[0] + end[0]) / 2, 54, step, "code soft", "middle")
    middle = (boxes[1].right[0] + boxes[2].left[0]) / 2
    canvas.line((middle - 5, 84), (middle + 5, 64), "cut")
    canvas.line((middle - 5, 64), (middle + 5, 84), "cut")
    canvas.arrow((boxes[1].x + 4, 100), (boxes[0].right[0] - 4, 100), "flow")
    canvas.text(112, 118, "y.backward(): 4", "code grad", "middle")
    canvas.text(362, 118, "w.backward(): refused", "code bad", "middle")
    canvas.head(156, "Three grad modes")
    rows = []
    for mode, (recorded, untracked, later, written, factory) in run.table.items():
        marks = (recorded, untracked, later, written, factory)
        rows.append([mode, *("✓" if mark else TIMES for mark in marks)])
    columns = [
        ("", 20),
        ("recorded\nin the graph", 160),
        ("no tracking\nat all", 235),
        ("usable in\ngrad mode", 305),
        ("writable\nlater", 372),
        ("factory with\nrequires_grad", 433),
    ]
    end = canvas.table(196, columns, rows, marks={"✓": "good bold", TIMES: "bad"}, row_height=24)
    canvas.text(20, end + 18, "eval() is no row of this table: it changes what Dropout and", "soft")
    canvas.text(20, end + 35, "BatchNorm compute, and records as before.", "soft")
    return canvas


class Plot:
    """A small coordinate system inside a picture."""

    def __init__(
        self,
        canvas: Canvas,
        corner: tuple[float, float],
        size: tuple[float, float],
        across: tuple[float, float],
        up: tuple[float, float],
    ) -> None:
        self.canvas, self.corner, self.size, self.across, self.up = canvas, corner, size, across, up

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the place of a point."""
        (left, right), (low, high) = self.across, self.up
        return (
            self.corner[0] + self.size[0] * (x - left) / (right - left),
            self.corner[1] + self.size[1] * (high - y) / (high - low),
        )

    def axes(self) -> None:
        self.canvas.line(self.at(self.across[0], 0), self.at(self.across[1], 0), "thin")
        self.canvas.line(self.at(0, self.up[0]), self.at(0, self.up[1]), "thin")

    def curve(
        self, function: Callable[[float], float], start: float, stop: float, kind: str = "curve"
    ) -> None:
        """Draw a function between two places."""
        places = [start + (stop - start) * step / 48 for step in range(49)]
        points = [self.at(x, function(x)) for x in places]
        path = "L".join(f"{number(x)} {number(y)}" for x, y in points)
        self.canvas.path(f"M{path}", kind)

    def slope(self, x: float, y: float, slope: float, reach: float, kind: str) -> None:
        """Draw a line through a point."""
        (x1, y1), (x2, y2) = self.at(x - 1, y - slope), self.at(x + 1, y + slope)
        angle = math.atan2(y2 - y1, x2 - x1)
        px, py = self.at(x, y)
        dx, dy = reach * math.cos(angle), reach * math.sin(angle)
        self.canvas.line((px - dx, py - dy), (px + dx, py + dy), kind)


def without_a_derivative(run: Run) -> Canvas:
    """Picture 8: one small plot for each rule."""
    canvas = Canvas(
        "Six rules for points without a derivative",
        "Six small plots: a differentiable point, a convex and a concave kink, an infinite slope, "
        "an undefined point, and a function that is no mathematical function.",
    )
    slopes = {(what, at): run.slope(function, at) for _, what, function, at in run.CASES}
    titles = [
        "1 differentiable",
        "2 convex: subgradient",
        "3 concave: supergradient",
        "4 defined: by continuity",
        "5 undefined: arbitrary",
        "6 not deterministic",
    ]
    texts = [
        f"x² at 3: {shown(slopes['x * x', 3.0])}",
        f"|x| at 0: {shown(slopes['abs(x)', 0.0])}",
        f"-|x| at 0: {shown(abs(slopes['-abs(x)', 0.0]))}",
        f"√x at 0: {shown(slopes['sqrt(x)', 0.0])}",
        f"√x at -1: {shown(slopes['sqrt(x)', -1.0])}   log x: {shown(slopes['log(x)', -1.0])}",
        "no node, no edge",
    ]
    for place, (title, text) in enumerate(zip(titles, texts, strict=True)):
        x, y = 12 + 234 * (place % 2), 8 + 178 * (place // 2)
        canvas.rect(x, y, 222, 168, "wash")
        canvas.text(x + 10, y + 20, title, "bold")
        canvas.text(x + 10, y + 158, text, "code grad")
        _RULES[place](canvas, (x + 12, y + 30), (198, 108))
    return canvas


def _differentiable(canvas: Canvas, corner, size) -> None:
    plot = Plot(canvas, corner, size, (-1, 4.6), (-2, 16))
    plot.axes()
    plot.curve(lambda x: x * x, -1, 4)
    plot.slope(3, 9, 6, 44, "flow")
    canvas.circle(*plot.at(3, 9), 4, "grad")


def _kink(canvas: Canvas, corner, size, sign: int) -> None:
    up = (-0.7, 2) if sign > 0 else (-2, 0.7)
    plot = Plot(canvas, corner, size, (-2.4, 2.4), up)
    plot.axes()
    for slope in (-0.75, -0.5, -0.25, 0.25, 0.5, 0.75):
        plot.slope(0, 0, slope, 46, "dots")
    plot.curve(lambda x: sign * abs(x), -1.9, 1.9)
    plot.slope(0, 0, 0, 60, "flow")
    canvas.circle(*plot.at(0, 0), 4, "grad")


def _root(canvas: Canvas, corner, size) -> None:
    plot = Plot(canvas, corner, size, (-1, 4), (-0.6, 2.2))
    plot.axes()
    plot.curve(lambda x: math.sqrt(x), 0, 0.2)
    plot.curve(lambda x: math.sqrt(x), 0.2, 4)
    top, bottom = plot.at(0, 1.5), plot.at(0, 0)
    canvas.arrow(bottom, top, "flow")
    canvas.circle(*bottom, 4, "grad")


def _undefined(canvas: Canvas, corner, size) -> None:
    plot = Plot(canvas, corner, size, (-2.5, 4), (-2.4, 2))
    plot.axes()
    plot.curve(lambda x: math.log(x), 0.09, 4)
    x, y = plot.at(-1, 0)
    canvas.line((x, y - 40), (x, y + 50), "dots")
    canvas.text(x, y - 44, "?", "bad bold", "middle")
    canvas.circle(x, y, 4, "grad")
    canvas.text(plot.at(1.6, 0)[0], plot.at(0, 1.4)[1], "log x", "code soft", "middle")


def _random(canvas: Canvas, corner, size) -> None:
    x, y = corner[0] + size[0] / 2, corner[1]
    p = canvas.box(x, y + 2, ["p, requires_grad"], "leaf")
    drawn = canvas.box(x, y + 76, ["multinomial(p, 2)"], "off", dashed=True)
    canvas.line(p.bottom, drawn.top, "dots")
    middle = (p.bottom[1] + drawn.top[1]) / 2
    canvas.line((x - 6, middle - 6), (x + 6, middle + 6), "cut")
    canvas.line((x - 6, middle + 6), (x + 6, middle - 6), "cut")


_RULES: Sequence[Callable[..., None]] = (
    _differentiable,
    lambda *place: _kink(*place, 1),
    lambda *place: _kink(*place, -1),
    _root,
    _undefined,
    _random,
)


def complex_gradients(run: Run) -> Canvas:
    """Picture 10: the gradient of |z|² points away from the origin, and a step goes back."""
    canvas = Canvas(
        "Complex gradients",
        "In the complex plane, circles of equal |z| squared; at 3+4i the gradient 6+8i points "
        "straight outwards, and steps against it lead to the origin.",
    )
    canvas.head(22, "The gradient points where a real loss grows fastest")
    plot = Plot(canvas, (20, 36), (440, 330), (-2, 10), (-1, 8))
    for radius in (1, 3, 5, 7):
        _arc(canvas, plot, radius)
        x, y = plot.at(0, radius)
        canvas.text(x - 5, y - 3, str(radius**2), "soft small", "end")
    plot.axes()
    canvas.text(*plot.at(9.6, -0.55), "Re", "soft")
    canvas.text(*plot.at(0.15, 7.6), "Im", "soft")
    z = run.point
    of_square = run.gradient(lambda z: (z * z.conj()).real, z)
    of_real_part = run.gradient(lambda z: (z * z).real, z)
    scale = 0.45
    for gradient, text, kind, dx, dy in (
        (of_square, f"|z|²: {of_square:.0f}", "flow", 8, 4),
        (of_real_part, f"Re z²: {of_real_part:.0f} = conj(2z)", "line", 8, 6),
    ):
        tip = z + scale * gradient
        canvas.arrow(plot.at(z.real, z.imag), plot.at(tip.real, tip.imag), kind)
        x, y = plot.at(tip.real, tip.imag)
        canvas.text(x + dx, y + dy, text, "code grad" if kind == "flow" else "code soft")
    for before, after in pairwise(run.path):
        canvas.line(plot.at(before.real, before.imag), plot.at(after.real, after.imag), "curve")
    for each in run.path:
        canvas.circle(*plot.at(each.real, each.imag), 4, "leaf-line")
    x, y = plot.at(z.real, z.imag)
    canvas.text(x - 10, y - 2, "z = 3+4i", "code", "end")
    x, y = plot.at(run.path[1].real, run.path[1].imag)
    canvas.text(x - 10, y, "z - 0.2 · grad", "code", "end")
    canvas.text(20, 388, "circles: equal |z|²; arrows: 0.45 of their length", "soft small")
    return canvas


def _arc(canvas: Canvas, plot: Plot, radius: float) -> None:
    """Draw the part of a circle around the origin that lies in the plot."""
    parts: list[list[str]] = [[]]
    for step in range(-30, 181, 2):
        angle = math.radians(step)
        x, y = radius * math.cos(angle), radius * math.sin(angle)
        if plot.across[0] <= x <= plot.across[1] and plot.up[0] <= y <= plot.up[1]:
            px, py = plot.at(x, y)
            parts[-1].append(f"{number(px)} {number(py)}")
        elif parts[-1]:
            parts.append([])
    for part in parts:
        if len(part) > 1:
            canvas.path("M" + "L".join(part), "thin")


def training_loop(run: Run) -> Canvas:
    """Picture 12: model and optimizer hold the same tensors; the loop and its losses."""
    canvas = Canvas(
        "The training loop",
        "The names of the model and the param_groups of the optimizer lead to the same tensors, "
        "which step() writes in place; below, the losses of 100 steps.",
    )
    canvas.head(22, "One tensor, two holders")
    canvas.text(20, 46, "model.named_parameters()", "soft small")
    canvas.text(240, 46, "memory", "soft small", "middle")
    canvas.text(460, 46, 'param_groups[0]["params"]', "soft small", "end")
    for place, (name, parameter) in enumerate(run.model.named_parameters()):
        y = 58 + 32 * place
        is_trained = parameter.requires_grad
        canvas.text(20, y + 16, name, "code")
        shape = TIMES.join(map(str, parameter.shape))
        memory = canvas.box(240, y, [shape], "leaf" if is_trained else "off", width=84)
        held = run.held[place]
        canvas.text(372, y + 16, f"[{place}]", "code", "middle")
        kept = "momentum" if held in run.optimizer.state else "frozen"
        canvas.text(460, y + 16, kept, "code " + ("grad" if is_trained else "soft"), "end")
        canvas.arrow((100, y + 12), memory.left)
        if held is parameter:
            canvas.arrow((354, y + 12), memory.right)
    _loop(canvas, 216)
    _losses(canvas, run.losses, 318)
    return canvas


def _loop(canvas: Canvas, y: float) -> None:
    canvas.head(y, "One turn")
    boxes = []
    steps = [
        ("loss = ...", "new graph"),
        ("zero_grad()", ".grad = None"),
        ("backward()", ".grad += ..."),
        ("step()", "p -= ..."),
    ]
    for place, lines in enumerate(steps):
        boxes.append(canvas.box(64 + 118 * place, y + 14, lines, "node", width=100, soft=[1]))
    for before, after in pairwise(boxes):
        canvas.arrow(before.right, after.left)
    (x1, bottom), (x2, _) = boxes[-1].bottom, boxes[0].bottom
    canvas.path(
        f"M{number(x1)} {number(bottom)}V{number(bottom + 12)}H{number(x2)}V{number(bottom + 7)}",
        "line",
    )
    canvas.tip((x2, bottom), -math.pi / 2)


def _losses(canvas: Canvas, losses: Sequence[float], y: float) -> None:
    canvas.head(y, "loss, on a logarithmic scale")
    least = math.floor(math.log10(min(losses)))
    plot = Plot(canvas, (64, y + 14), (396, 120), (0, len(losses) - 1), (least, 0))
    for power in range(least, 1):
        canvas.line(plot.at(0, power), plot.at(len(losses) - 1, power), "thin")
        canvas.text(56, plot.at(0, power)[1] + 4, f"{10.0**power:g}", "small soft", "end")
    points = [plot.at(step, math.log10(loss)) for step, loss in enumerate(losses)]
    canvas.path("M" + "L".join(f"{number(x)} {number(y)}" for x, y in points), "curve")
    for step in (0, 25, 50, 75, 99):
        canvas.text(plot.at(step, 0)[0], y + 150, str(step), "small soft", "middle")
    canvas.text(262, y + 166, "step", "small soft", "middle")
