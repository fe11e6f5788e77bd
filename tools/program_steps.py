"""The steps of random programs: lines of Python, drawn to fit the tensors that a program has.

A line of `program_steps.txt` has holes.  For tensors: `{a}` any, `{x}` a floating or complex one,
`{r}` a floating, `{c}` a complex one, `{k}` one of integers, `{w}` one that may be written, `{b}`
one that broadcasts with the last one named.  `{dim}` is a dim of that, `{new}` a new name, `{same}`
that name again, `{size}` a shape, `{count}` a small number; the file defines other holes.  What
PyTorch leaves undefined is left out: uninitialised memory, and strides that overlap.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from both_libraries import flag

PRELUDE = """
import copy, io, math, pickle
nn, F, optim, fwAD = torch.nn, torch.nn.functional, torch.optim, torch.autograd.forward_ad
log = []

def seen(value):
    log.append(value.detach().clone() if isinstance(value, torch.Tensor) else value)

def first(value):
    return value if isinstance(value, torch.Tensor) else first(value[0])

def second(value, leaf):
    grad, = torch.autograd.grad(value.square().sum().abs(), leaf, create_graph=True)
    again = torch.autograd.grad(grad.abs().sum(), leaf, allow_unused=True)
    # Which operators a second derivative is made of, and so its node, follows from the formula.
    return value, grad.detach().contiguous(), again

def saved(value):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file)

def trained(model, opt, steps):
    for _ in range(steps):
        opt.zero_grad()
        model(torch.randn(5, 3)).square().mean().backward()
        opt.step()

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.save_for_backward(x)
        return x * factor
    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor + 0 * ctx.saved_tensors[0], None

class Pair(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_non_differentiable(flag := x.real > 0)
        return x * 2, flag
    @staticmethod
    def backward(ctx, grad, ignored):
        return grad * 2

class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x.mul_(2))
        return x
    @staticmethod
    def backward(ctx, grad):
        return grad * 2

class Sum(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x + 2 * y
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.shapes = [each.shape for each in inputs]
    @staticmethod
    def backward(ctx, grad):
        seen(ctx.needs_input_grad)
        return grad.sum_to_size(ctx.shapes[0]), 2 * grad.sum_to_size(ctx.shapes[1])
    @staticmethod
    def jvp(ctx, x, y):
        return x + 2 * y

class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x / 2, x * 1
    @staticmethod
    def backward(ctx, one, other):
        seen((one is None, other is None))
        return other if one is None else one / 2

class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0].conj()

class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x
    @staticmethod
    def backward(ctx, grad):
        return grad.clone()

class Bent(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.reshape(-1)
    @staticmethod
    def backward(ctx, grad):
        return grad

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)
        self.last = nn.Sequential(nn.Tanh(), nn.Linear(4, 2, bias=False))
    def forward(self, x):
        return self.last(self.norm(self.first(x)))
"""


def read_sections() -> tuple[dict[str, tuple[int, list[str]]], dict[str, list[str]]]:
    """Return the groups of steps with their weights, and the holes with their possible texts."""
    steps: dict[str, tuple[int, list[str]]] = {}
    holes: dict[str, list[str]] = {}
    current: list[str] = []
    for line in Path(__file__).with_suffix(".txt").read_text().splitlines():
        if match := re.fullmatch(r"\[(step|hole) (\w+) ?(\d*)\]", line):
            current = []
            if match[1] == "step":
                steps[match[2]] = (int(match[3]), current)
            else:
                holes[match[2]] = current
        elif line and not line.startswith("#"):
            current.append(line)
    return steps, holes


GROUPS, HOLES = read_sections()
# Groups whose lines are not run under another mode.
ALONE = (
    "create module backward loss net train part part_of forward out cast default slope half tuned"
).split()


def names_of(namespace: dict[str, Any], test: Any) -> list[str]:
    return [name for name in namespace if re.fullmatch(r"t\d+", name) and test(namespace[name])]


class Steps:
    """Draws lines that fit the tensors of a program, which it looks at in PyTorch's run."""

    def __init__(self, draw: random.Random, namespace: dict[str, Any], only: str) -> None:
        self.draw, self.space = draw, namespace
        self.groups = {each: GROUPS[each] for each in only.split(",") if each} or GROUPS
        self.last: Any = None
        self.count = 0

    def line(self) -> str:
        weights = [weight for weight, _ in self.groups.values()]
        group = self.draw.choices(list(self.groups), weights)[0] if self.count > 2 else "create"
        text = self.filled(self.draw.choice(GROUPS[group][1]))
        if group not in ALONE and not text.startswith("with") and self.draw.random() < 0.12:
            text = f"with {self.filled('{mode}')}: {text}"
        return text

    def filled(self, template: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda match: self.hole(match[1]), template)

    def hole(self, name: str) -> str:
        draw = self.draw
        if name in HOLES:
            return self.filled(draw.choice(HOLES[name]))
        if name == "new":
            self.count += 1
            return f"t{self.count}"
        if name == "same":
            return f"t{self.count}"
        if name == "dim":
            dims = self.last.dim() if self.last is not None else 0
            return str(draw.randrange(-dims, dims) if dims else 0)
        if name == "size":
            count = draw.choice((0, 1, 1, 2, 2, 2, 3, 4))
            sizes = tuple(draw.choice((1, 2, 2, 3, 3, 4)) for _ in range(count))
            return str((*sizes, 0) if draw.random() < 0.03 else sizes)
        if name == "count":
            return str(draw.randint(1, 6))
        return self.tensor(name)

    def tensor(self, kind: str) -> str:
        """Return the name of a tensor of a kind, of any kind if there is none."""
        tests: dict[str, Callable[[Any], bool]] = {
            "a": lambda each: True,
            "x": lambda each: each.is_floating_point() or each.is_complex(),
            "r": lambda each: each.is_floating_point(),
            "c": lambda each: each.is_complex(),
            "k": lambda each: not each.is_floating_point() and not each.is_complex(),
            "w": lambda each: (
                flag(each, "is_leaf") is not True or flag(each, "requires_grad") is not True
            ),
            "b": self.broadcasts,
        }
        tensors = names_of(self.space, lambda each: hasattr(each, "stride"))
        fitting = [name for name in tensors if tests[kind](self.space[name])]
        name = self.draw.choice((fitting or tensors or ["t1"])[-6:])
        self.last = self.last if kind == "b" else self.space.get(name)
        return name

    def broadcasts(self, other: Any) -> bool:
        last = () if self.last is None else self.last.shape
        sizes = zip(reversed(other.shape), reversed(last), strict=False)
        return all(a == b or 1 in (a, b) for a, b in sizes)
