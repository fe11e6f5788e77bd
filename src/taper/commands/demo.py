"""An embedded example: the story of one multiplication, then a trained classifier.

`taper demo` shows on the terminal how a graph is built, run backward and used by SGD, trains a
small network on generated spirals, and writes the picture of its graph to a file.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterable, Sequence

import taper
from taper import Tensor, nn, optim
from taper.ops.creation.data import tensor
from taper.utils._progress import progress
from taper.viz import make_dot

CLASSES = 3
BATCH = 64


def spirals(count: int, generator: taper.Generator) -> tuple[Tensor, Tensor]:
    """Return points on `CLASSES` spiral arms, with noise, and the arm each belongs to."""
    label = taper.randint(0, CLASSES, (count,), generator=generator)
    radius = taper.rand(count, generator=generator) * 0.9 + 0.1
    noise = taper.randn(count, generator=generator) * 0.12
    angle = radius * 4.5 + label * (2 * math.pi / CLASSES) + noise
    return taper.stack([radius * angle.cos(), radius * angle.sin()], dim=1), label


def story() -> None:
    """Tell the story of one multiplication from forward to update."""
    print("1. One multiplication\n")
    x1 = tensor(2.0, requires_grad=True)
    x2 = tensor(3.0, requires_grad=True)
    v = x1 * x2
    print(f"   forward    v = x1 * x2 = {v.item():g}")
    print(f"   the node   v.grad_fn is {v.grad_fn.name()}: it knows how to go back")
    for node, nr in v.grad_fn.next_functions:
        leaf = "x1" if node.variable is x1 else "x2"
        print(f"   an edge    to {type(node).__name__}, input {nr}, which keeps the leaf {leaf}")
    saved = v.grad_fn._saved_self.item(), v.grad_fn._saved_other.item()
    print(f"   it saved   self = {saved[0]:g}, other = {saved[1]:g}, needed for the gradients")
    v.backward()
    print(f"   backward   dv/dx1 = x2 = {x1.grad.item():g}, dv/dx2 = x1 = {x2.grad.item():g}")
    optim.SGD([x1, x2], lr=0.1).step()
    print(f"   SGD step   x1 = {x1.item():g}, x2 = {x2.item():g}   (x -= 0.1 * x.grad, in place)")
    print(f"   once more  x1 * x2 = {(x1 * x2).item():g}, smaller than before\n")


def accuracy(model: nn.Module, points: Tensor, label: Tensor) -> float:
    """Return the share of points that the model puts on the right arm."""
    model.eval()
    with taper.no_grad():
        right = (model(points).argmax(1) == label).sum().item()
    model.train()
    return float(right) / len(label)


def train(epochs: int, seed: int) -> tuple[nn.Module, Tensor, float]:
    """Train the classifier; return it, the last loss with its graph, and the test accuracy."""
    taper.manual_seed(seed)
    generator = taper.Generator().manual_seed(seed)
    points, label = spirals(1500, generator)
    test_points, test_label = spirals(500, generator)
    model = nn.Sequential(
        nn.Linear(2, 64),
        nn.BatchNorm1d(64),
        nn.ReLU(),
        nn.Linear(64, 64),
        nn.ReLU(),
        nn.Linear(64, CLASSES),
    )
    count = sum(parameter.numel() for parameter in model.parameters())
    print(
        f"2. A classifier for {CLASSES} spirals: {len(points)} points, {count} parameters, Adam\n"
    )
    optimizer = optim.Adam(model.parameters(), lr=0.005)
    loss = taper.zeros(())
    for epoch in range(1, epochs + 1):
        started, total = time.perf_counter(), 0.0
        order = taper.randperm(len(points))
        for start in progress(range(0, len(points), BATCH), f"epoch {epoch:2d}", leave=False):
            chosen = order[start : start + BATCH]
            loss = nn.functional.cross_entropy(model(points[chosen]), label[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(chosen)
        reached = accuracy(model, test_points, test_label)
        seconds = time.perf_counter() - started
        print(
            f"   epoch {epoch:2d}   loss {total / len(points):.4f}   "
            f"test accuracy {reached:6.1%}   {seconds:.2f} s"
        )
    fresh = nn.functional.cross_entropy(model(points[:BATCH]), label[:BATCH])
    return model, fresh, reached


def picture_of_classes(model: nn.Module, rows: int = 17, columns: int = 44) -> Iterable[str]:
    """Yield the plane as the classifier sees it, one letter for each arm."""
    model.eval()
    y = taper.linspace(1.1, -1.1, rows).repeat_interleave(columns)
    x = taper.linspace(-1.1, 1.1, columns).repeat(rows)
    with taper.no_grad():
        found = model(taper.stack([x, y], dim=1)).argmax(1).reshape(rows, columns)
    model.train()
    for line in found.tolist():
        yield "   " + "".join(".o#"[each] for each in line)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="taper demo", description="One multiplication told step by step, then a training run."
    )
    parser.add_argument("--epochs", type=int, default=15, help="passes over the data (default 15)")
    parser.add_argument("--seed", type=int, default=0, help="seed of data and weights (default 0)")
    parser.add_argument(
        "--output", default="taper-graph.svg", help="file for the picture of the graph (an SVG)"
    )
    options = parser.parse_args(argv)
    if options.epochs < 1:
        parser.error("--epochs must be at least 1")
    story()
    model, loss, reached = train(options.epochs, options.seed)
    print("\n3. What it has learned\n")
    for line in picture_of_classes(model):
        print(line)
    print(f"\n   loss {loss.item():.4f}, test accuracy {reached:.1%}\n")
    picture = make_dot(loss, params=dict(model.named_parameters()))
    name = options.output.removesuffix(".svg")
    path = picture.render(name, format="svg", cleanup=True)
    print(f"4. The graph of the last loss is drawn in {path}; open it in a browser.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
