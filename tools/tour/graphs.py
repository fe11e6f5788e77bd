"""Pictures 1, 2, 3, 5, 6 and 9 to 11 of the tour: graphs and what happens along them."""

from __future__ import annotations

from canvas import TIMES, WIDTH, Canvas
from flow import draw_graph
from runs import Pass, Run, shown, snapshot

from taper.viz import Edge


def one_multiplication(run: Run) -> Canvas:
    """Picture 1: what is computed on the left, what is recorded on the right."""
    done = run.passes[0]
    node, (first, second) = done.graph.nodes[0], done.graph.leaves
    canvas = Canvas(
        "The forward pass computes and builds the graph",
        "x1 times x2 gives v; the node MulBackward0 of v has an edge to the AccumulateGrad of each "
        "leaf, against the way of the computation.",
    )
    canvas.head(22, "what you compute")
    canvas.head(22, "what is recorded", 214)
    a = canvas.box(46, 44, [done.values[first.id]], "leaf")
    b = canvas.box(136, 44, [done.values[second.id]], "leaf")
    v = canvas.box(91, 196, [done.values[node.id]], "output")
    canvas.circle(91, 132, 13, "wash")
    canvas.text(91, 137, TIMES, "bold", "middle")
    canvas.arrow(a.bottom, (83, 121))
    canvas.arrow(b.bottom, (99, 121))
    canvas.arrow((91, 145), v.top)

    mul = canvas.box(342, 180, [node.name, f"saved: {_saved(run)}"], "node", soft=[1])
    for x, leaf, step in ((275, first, 0), (409, second, 1)):
        box = canvas.box(x, 44, ["AccumulateGrad", f".variable is {leaf.name}"], "node", soft=[1])
        start = (mul.top[0] + (-30, 30)[step], mul.y)
        canvas.arrow(start, (box.bottom[0] + (10, -10)[step], box.bottom[1]))
        sent = done.steps[0].outputs[step]
        other = (second, first)[step]
        text = f"1 · {other.name} = {sent}"
        canvas.text((254, 431)[step], 140, text, "code grad", "middle")
    canvas.path(f"M{v.right[0]} {v.right[1]}L{mul.x - 7} {v.right[1]}", "dots")
    canvas.tip((mul.x, v.right[1]), 0)
    canvas.text(172, v.right[1] - 6, "v.grad_fn", "code soft", "middle")
    canvas.text(342, 244, "v.backward() starts here with 1", "grad", "middle")
    canvas.text(91, 244, "6 = 2 · 3", "soft", "middle")
    canvas.arrow((342, 232), mul.bottom, "flow")
    canvas.text(342, 116, "next_", "code soft", "middle")
    canvas.text(342, 131, "functions", "code soft", "middle")
    return canvas


def _saved(run: Run) -> str:
    numbers = (run.x1, run.x2)
    return ", ".join(f"{n}={shown(t)}" for n, t in zip(("self", "other"), numbers, strict=True))


YES, NO, NONE = "✓", "\u2013", "None"


def leaves(run: Run) -> Canvas:
    """Picture 2: the flags of the tensors of one pass, and what three of them keep."""
    canvas = Canvas(
        "Leaves, and what a tensor keeps for autograd",
        "A table of six tensors with their flags, and the fields of AutogradMeta for plain data, a "
        "parameter and a view.",
    )
    canvas.head(22, "Who is a leaf, who gets a gradient")
    tensors = {
        "data": run.data,
        "frozen.weight": run.frozen.weight,
        "hidden": run.hidden,
        "weight": run.weight,
        "output": run.output,
        "loss": run.loss,
    }
    rows = []
    for name, tensor in tensors.items():
        may_have = tensor.is_leaf or tensor.retains_grad
        rows.append(
            [
                name,
                YES if tensor.requires_grad else NO,
                YES if tensor.is_leaf else NO,
                tensor.grad_fn.name() if tensor.grad_fn else NONE,
                YES if may_have and tensor.grad is not None else NONE,
            ]
        )
    columns = [("", 20), ("requires_grad", 178), ("is_leaf", 258), ("grad_fn", 342), (".grad", 436)]
    marks = {YES: "good bold", NO: "soft", NONE: "soft"}
    end = canvas.table(56, columns, rows, marks=marks)
    canvas.text(20, end + 16, "output kept its gradient: retain_grad()", "soft small")
    canvas.text(20, end + 31, "the frozen layer left no node: hidden is a leaf", "soft small")
    _metadata(canvas, run, end + 66)
    return canvas


def _metadata(canvas: Canvas, run: Run, y: float) -> None:
    canvas.head(y, "AutogradMeta: made when somebody needs it")
    fields = {
        "grad": lambda t: "tensor" if t.is_leaf and t.grad is not None else NONE,
        "grad_fn": lambda t: t.grad_fn.name() if t.grad_fn else NONE,
        "grad_accumulator": lambda t: "AccumulateGrad" if t.is_leaf and t.requires_grad else NONE,
        "requires_grad": lambda t: YES if t.requires_grad else NO,
        "retains_grad": lambda t: YES if t.retains_grad else NO,
        "is_view": lambda t: YES if t._is_view() else NO,
        "base": lambda t: "again" if t._base is run.again else NONE,
        "version": lambda t: str(t._version),
        "output_nr": lambda t: str(t.output_nr),
    }
    shown_tensors = (run.data, run.weight, run.row)
    rows = [[name, *(read(t) for t in shown_tensors)] for name, read in fields.items()]
    columns = [("", 20), ("data", 190), ("weight", 288), ("row = again[0]", 404)]
    marks = {YES: "good bold", NO: "soft", NONE: "soft"}
    canvas.table(y + 30, columns, rows, marks=marks, row_height=20)


def backward_in_order(run: Run) -> Canvas:
    """Picture 3: a diamond with its gradients, and the counts of what is still missing."""
    done = run.passes[0]
    graph = done.graph
    canvas = Canvas(
        "Backward in order",
        "A graph in which the node of a waits for three gradients; the table counts down how many "
        "each node still waits for, and shows who runs when.",
    )
    canvas.head(22, "Gradients go against the arrows")
    order = {step.node: step.order for step in done.steps}
    missing = dict.fromkeys(order, 0)
    missing[graph.outputs[0].source] = 1
    for edge in graph.edges:
        missing[edge.source] += 1

    def lines(id: int) -> list[str]:
        name = "AccumulateGrad" if id >= len(graph.nodes) else graph.nodes[id].name
        return [done.values[id], name]

    def label(edge: Edge) -> str:
        return str(done.step_of(edge.target).outputs[edge.input])

    panel = draw_graph(canvas, 46, graph, lines, label=label)
    for id, box in panel.boxes.items():
        canvas.badge(box.x + box.width, box.y, str(order[id] + 1))
    root = panel.boxes[graph.outputs[0].source]
    canvas.arrow((root.bottom[0], root.bottom[1] + 24), root.bottom, "flow")
    canvas.text(root.bottom[0] + 8, root.bottom[1] + 22, "1", "code grad")
    _countdown(canvas, done, missing, panel.bottom + 64)
    return canvas


def _countdown(canvas: Canvas, done: Pass, missing: dict[int, int], y: float) -> None:
    """Draw a row for each step: how many gradients every node still waits for."""
    canvas.head(y, "A node runs when nothing is missing")
    names = {id: done.values[id].split(" =")[0] for id in missing}
    order = [step.node for step in done.steps]
    columns = [("", 20.0), *((names[id], 212 + 72.0 * k) for k, id in enumerate(order))]
    missing = {id: missing[id] for id in order}
    rows = [["missing at the start", *(str(missing[id]) for id in order)]]
    missing[order[0]] -= 1
    rows.append(["1 arrives at the root", *(_left(missing[id]) for id in order)])
    finished: set[int] = set()
    for step in done.steps[:-1]:
        finished.add(step.node)
        for edge in done.graph.edges:
            if edge.target == step.node:
                missing[edge.source] -= 1
        counts = ["" if id in finished else _left(missing[id]) for id in order]
        rows.append([f"{step.order + 1} ran: {names[step.node]}", *counts])
    canvas.table(y + 26, columns, rows, marks={"0 → runs": "grad bold"})


def _left(count: int) -> str:
    return str(count) if count else "0 → runs"


def saved_tensors(run: Run) -> Canvas:
    """Picture 5: what each node keeps, and how the bytes go down during backward."""
    done = run.passes[0]
    graph = done.graph
    canvas = Canvas(
        "Saved tensors and their memory",
        "The sum saves nothing, pow its input, exp its result; each gives its memory back as soon "
        "as it has run.",
    )
    canvas.head(22, "A node keeps only what its formula names")

    def lines(id: int) -> list[str]:
        if id >= len(graph.nodes):
            return [graph.leaves[id - len(graph.nodes)].name]
        node = graph.nodes[id]
        return [done.values[id], node.name]

    panel = draw_graph(canvas, 42, graph, lines, width=280)
    for node in graph.nodes:
        box = panel.boxes[node.id]
        x, y = 288, box.middle[1]
        canvas.text(x, y - 15, f"grad · {FORMULAS[node.name]}", "code grad")
        if not node.saved:
            canvas.text(x, y + 4, "saves no tensor", "soft")
        for saved in node.saved:
            kept = canvas.rect(x, y - 10, 168, 20, "saved")
            text = f"{saved.name}: {saved.bytes:,} bytes"
            canvas.text(x + 8, y + 4, text, "code")
            canvas.line(kept.left, box.right, "dots")
    _held(canvas, done, panel.bottom + 40)
    return canvas


FORMULAS = {
    "AddBackward0": "1",
    "PowBackward0": "2 · self",
    "ExpBackward0": "result",
    "SumBackward0": "1",
}


def _held(canvas: Canvas, done: Pass, y: float) -> None:
    canvas.head(y, "Bytes that the graph holds")
    storages = [each for each in done.graph.storages if each.leaf is None]
    total = sum(each.bytes for each in storages)
    rows = [("after the forward pass", total)]
    ran: set[int] = set()
    for step in done.steps:
        if step.node < len(done.graph.nodes):
            ran.add(step.node)
            held = sum(each.bytes for each in storages if not set(each.holders) <= ran)
            rows.append((f"{step.name} ran", held))
    for place, (text, held) in enumerate(rows):
        top = y + 14 + 24 * place
        canvas.text(20, top + 13, text, "code")
        if held:
            canvas.rect(216, top, 180 * held / total, 17, "saved")
        canvas.text(224 + 180 * held / total, top + 13, f"{held:,}", "code soft")


def in_place(run: Run) -> Canvas:
    """Picture 6: versions, and the history of views before and after a write."""
    canvas = Canvas(
        "In-place writes: versions and views",
        "A saved tensor remembers its version and is refused after a write; a write through a view "
        "gives the base a CopySlices node and the views new histories.",
    )
    canvas.head(22, "The version says whether a saved value is still there")
    steps = [
        ("t = leaf * 1", "version 0", ""),
        ("y = t * t", "version 0", "saves t at version 0"),
        ("t.add_(1)", f"version {run.t._version}", "the write counts"),
        ("y.sum().backward()", f"version {run.t._version}", "expected 0: refused"),
    ]
    for place, (code, version, remark) in enumerate(steps):
        y = 38 + 34 * place
        canvas.text(20, y + 16, code, "code")
        kind = "saved" if place >= 2 else "leaf"
        canvas.box(236, y, [version], kind)
        if place:
            canvas.line((236, y - 10), (236, y), "line")
        canvas.text(290, y + 16, remark, "bad bold" if place == 3 else "soft")
    _views(canvas, run, 206)
    return canvas


def _views(canvas: Canvas, run: Run, y: float) -> None:
    canvas.head(y, "first.mul_(10) rewrites the history of base and second")
    values = run.base.tolist()
    for cell, value in enumerate(values):
        written = cell < 2
        box = canvas.rect(166 + 40 * cell, y + 34, 40, 28, "saved" if written else "node")
        canvas.text(box.middle[0], y + 52, shown(value), "code", "middle")
    for text, start, stop, at in (("first", 0, 2, y + 26), ("second", 1, 4, y + 74)):
        x1, x2 = 170 + 40 * start, 162 + 40 * stop
        canvas.line((x1, at), (x2, at), "flow" if text == "first" else "line")
        where = (x1 - 6, at + 4, "end") if text == "first" else (x2 + 6, at + 4, "start")
        canvas.text(*where[:2], text, "code", where[2])
    canvas.text(154, y + 52, "base", "code", "end")
    canvas.text(12, y + 110, "before", "soft")
    canvas.text(12, y + 150, "after", "soft")
    for place, name in enumerate(("base", "first", "second")):
        x = (118, 246, 400)[place]
        canvas.box(x, y + 92, [run.before[place]], "node")
        short = run.after[place].rpartition("::")[2]
        canvas.box(x, y + 132, [short], "saved" if place == 0 else "node")
        canvas.text(x, y + 172, f"{name}.grad_fn", "code soft", "middle")
    canvas.head(y + 206, "The new graph of base.sum() + second.sum()")
    done = next(each for each in run.passes if any(n.name == "CopySlices" for n in each.graph))

    def lines(id: int) -> list[str]:
        graph = done.graph
        if id >= len(graph.nodes):
            return ["leaf"]
        return [graph.nodes[id].name]

    def label(edge: Edge) -> str:
        found = done.step_of(edge.target).outputs[edge.input]
        return shown(found.values) if found is not None else ""

    draw_graph(canvas, y + 222, done.graph, lines, label=label)


def double_backward(run: Run) -> Canvas:
    """Picture 11: every derivative is a graph again."""
    canvas = Canvas(
        "Double backward",
        "With create_graph the backward pass is recorded: the gradient has a graph of its own, "
        "which leads to the same leaf and can be differentiated again.",
    )
    canvas.head(22, "create_graph=True records the backward pass")
    bottom = 0.0
    for name, left, width in (("y", 12, 170), ("first", 232, 236)):
        bottom = max(bottom, _graph_of(canvas, run, name, left, width))
    canvas.text(209, 96, "grad(y, x,", "code grad", "middle")
    canvas.text(209, 111, "create_graph", "code grad", "middle")
    canvas.text(209, 126, "=True)", "code grad", "middle")
    canvas.arrow((164, 140), (256, 140), "flow")
    y = bottom + 40
    canvas.head(y, "and the next one, and the next")
    y += 30
    names = ("y", "first", "second", "third")
    maths = ("x³", "3x²", "6x", "6")
    rows = []
    for name, formula in zip(names, maths, strict=True):
        tensor = run.names[name]
        nodes = len(snapshot(tensor, run.names).graph) if tensor.requires_grad else 0
        rows.append([name, formula, shown(tensor), str(nodes) if nodes else "no graph"])
    columns = [("", 20), ("formula", 160), ("at x = 2", 270), ("nodes in its graph", 394)]
    canvas.table(y, columns, rows)
    return canvas


def _graph_of(canvas: Canvas, run: Run, name: str, left: float, width: float) -> float:
    """Draw the graph of a variable; return where it ends."""
    done = snapshot(run.names[name], run.names)
    graph = done.graph

    def lines(id: int) -> list[str]:
        made_by = "AccumulateGrad" if id >= len(graph.nodes) else graph.nodes[id].name
        return [done.values[id], made_by] if id in done.values else [made_by]

    def kind(id: int) -> str:
        return "output" if id == graph.outputs[0].source else ""

    return draw_graph(canvas, 40, graph, lines, left=left, width=width, kind_of=kind).bottom


def hooks(run: Run) -> Canvas:
    """Picture 9: the way of a gradient past the hooks, and two workers that average."""
    canvas = Canvas(
        "Hooks and where they run",
        "A gradient passes tensor hooks, the node's pre-hooks, the node, its hooks, the leaf's "
        "hooks, and is written to .grad; below, two workers average there.",
    )
    canvas.head(22, "The way of one gradient")
    stations = [
        ("box", "SumBackward0", "node"),
        ("hook", run.calls[0], "may replace the gradient of b"),
        ("hook", run.calls[1], "may replace what the node gets"),
        ("box", "MulBackward0", "node"),
        ("hook", run.calls[2], "may replace what it sends"),
        ("hook", run.calls[3], "may replace the gradient of a"),
        ("box", "AccumulateGrad", "node"),
        ("hook", run.calls[4], "may read and change a.grad"),
    ]
    y, number = 36, 0
    canvas.line((84, 46), (84, 354), "flow")
    for kind, text, remark in stations:
        if kind == "box":
            canvas.box(84, y, [text], "node", width=130)
            y += 38
        else:
            number += 1
            canvas.badge(84, y + 14, str(number))
            words, _, rest = text.partition(", ")
            canvas.text(168, y + 11, words + (f" {rest}" if rest else ""))
            canvas.text(168, y + 27, remark, "soft small")
            y += 40
    canvas.tip((84, y + 6), 1.5708, "flow-tip")
    canvas.box(84, y + 6, ["a.grad"], "leaf", width=130)
    _workers(canvas, y + 66)
    return canvas


def _workers(canvas: Canvas, y: float) -> None:
    canvas.head(y, "Data parallel: hook 5 averages over the workers")
    mean = canvas.box(WIDTH / 2, y + 92, ["mean"], "saved", width=92)
    for x, part in ((92, "x[0:2]"), (388, "x[2:4]")):
        canvas.box(x, y + 16, [f"model({part})", "backward()"], "node", width=140)
        grad = canvas.box(x, y + 92, ["weight.grad"], "leaf", width=110)
        canvas.arrow((x, y + 56), grad.top, "flow")
        inner = grad.right if x < WIDTH / 2 else grad.left
        outer = mean.left if x < WIDTH / 2 else mean.right
        canvas.arrow((inner[0], inner[1] - 5), (outer[0], outer[1] - 5), "flow")
        canvas.arrow((outer[0], outer[1] + 5), (inner[0], inner[1] + 5))
        canvas.badge(x + 70 if x < WIDTH / 2 else x - 70, y + 84, "5")
    canvas.text(WIDTH / 2, y + 136, "every worker steps with the same gradient", "soft", "middle")
