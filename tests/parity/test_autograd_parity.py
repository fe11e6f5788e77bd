"""Autograd on both: the tests of `tests/autograd` on PyTorch, and programs compared step by step.

The first part makes sure that the tests expect of taper what PyTorch does.  The second runs the
same small programs with both libraries and compares everything visible: values, gradients, node
names, warnings, and errors by type and first line.
"""

from __future__ import annotations

import importlib.util
import random
import sys
import warnings
from pathlib import Path

import pytest
import torch as real_torch

import taper

FOLDER = Path(__file__).parents[1] / "autograd"

# PyTorch's forward mode compiles its decompositions with something that it has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script")


@pytest.fixture
def torch():
    return real_torch


def _load(path: Path):
    name = f"autograd_on_pytorch_{path.stem}"
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module


def _marks(value):
    found = getattr(value, "pytestmark", [])
    return {mark.name for mark in (found if isinstance(found, list) else [found])}


for _path in sorted(FOLDER.glob("test_*.py")):
    _module = _load(_path)
    for _name, _value in vars(_module).items():
        marks = _marks(_module) | _marks(_value)
        if _name.startswith("test_") and "taper_only" not in marks:
            globals()[f"{_path.stem}__{_name}"] = _value


# --- programs --------------------------------------------------------------------------------


def seen(value):
    """Return what can be seen of a value, in the same form for both libraries."""
    if isinstance(value, (real_torch.Tensor, taper.Tensor)):
        try:
            node = value.grad_fn
        except RuntimeError:
            node = None
        return {
            "values": value.detach().flatten().tolist(),
            "shape": list(value.shape),
            "dtype": str(value.dtype),
            "requires_grad": value.requires_grad,
            "node": node and [type(node).__name__, *chain(node)],
        }
    if isinstance(value, (list, tuple)):
        return [seen(each) for each in value]
    return value


def chain(node, depth=3):
    """Return the names of the nodes behind one, some levels deep."""
    if depth == 0 or node is None:
        return []
    found = []
    for following, nr in node.next_functions:
        found.append((following and following.name(), nr))
        found.extend(chain(following, depth - 1))
    return found


def observed(program, torch):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = seen(program(torch))
        except Exception as error:
            text = str(error).split("\n")[0]
            result = f"{type(error).__name__}: {text}"
    return result, [f"{each.category.__name__}: {first_words(each.message)}" for each in caught]


def first_words(warning):
    """Return what PyTorch says, without the place in its code; taper adds the user's line below."""
    return str(warning).split("\n")[0].split(" (Triggered")[0]


def difference(one, other, path="result"):
    """Return where two observations differ, and how; empty if they do not, up to rounding."""
    if isinstance(one, dict) and isinstance(other, dict):
        one, other = sorted(one.items()), sorted(other.items())
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        if len(one) != len(other):
            return f"{path}: {one} and {other}"
        found = [
            difference(*pair, f"{path}[{nr}]")
            for nr, pair in enumerate(zip(one, other, strict=True))
        ]
        return next(filter(None, found), "")
    numbers = isinstance(one, (float, complex)) and isinstance(other, (float, complex))
    if one == other or (numbers and one == pytest.approx(other, rel=1e-4, abs=1e-5, nan_ok=True)):
        return ""
    return f"{path}: {one} and {other}"


def two_layers(torch):
    """Return a step of a small network."""
    w1 = torch.arange(12.0).view(3, 4).div(10).requires_grad_()
    w2 = torch.arange(8.0).view(4, 2).sub(3).div(7).requires_grad_()
    x = torch.tensor([[1.0, -1.0, 2.0], [0.5, 0.0, -2.0]])
    loss = ((x @ w1).relu() @ w2).pow(2).mean()
    loss.backward()
    return loss, w1.grad, w2.grad


def second_order(torch):
    x = torch.tensor([0.5, 1.5], dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad((x.sin() * x.exp()).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    (third,) = torch.autograd.grad(second.sum(), x)
    return first, second, third


def gradient_penalty(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    w = torch.tensor([[0.5, -1.0], [2.0, 1.0]], requires_grad=True)
    out = (x @ w).tanh().sum()
    (grad,) = torch.autograd.grad(out, x, create_graph=True)
    ((grad**2).sum() + out).backward()
    return x.grad, w.grad


def writes_through_views(torch):
    x = torch.arange(6.0).view(2, 3).requires_grad_()
    base = x * 2
    row, column = base[0], base[:, 1]
    row.mul_(3)
    column.add_(row[1].clone())
    base[1, 2] = x[0, 0] * 5
    base.sum().backward()
    return base, row, column, x.grad


def shared_views_after_a_write(torch):
    x = torch.ones(2, 2, requires_grad=True)
    base = torch.zeros(2, 2)
    views = [base.view(4), base.t(), base[0], base[1:].squeeze(0)]
    base[0].copy_(x[1])
    return [base, *views]


def in_place_on_a_leaf_view(torch):
    x = torch.ones(4, requires_grad=True)
    x[:2].mul_(2)


def accumulation(torch):
    x = torch.ones(2, 2, requires_grad=True)
    for factor in (1.0, 2.0, 3.0):
        (x.t() * factor).sum().backward()
    return x.grad


def hook_edits(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: grad + 1)
    y.retain_grad()
    z = (y * y).sum()
    z.backward()
    return x.grad, y.grad


def retained_and_freed(torch):
    x = torch.ones(3, requires_grad=True)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    y.backward()


def non_leaf_grad(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.sum().backward()
    return y.grad


def mixed_dtypes(torch):
    a = torch.ones(2, dtype=torch.float16, requires_grad=True)
    b = torch.ones(2, dtype=torch.float64, requires_grad=True)
    c = torch.ones(2, dtype=torch.bfloat16, requires_grad=True)
    (a * b + c).sum().backward()
    return a.grad, b.grad, c.grad


def custom_inside_a_graph(torch):
    class Clip(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, limit):
            ctx.save_for_backward(x)
            ctx.limit = limit
            return x.clamp(-limit, limit)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * (x.abs() <= ctx.limit), None

    x = torch.tensor([-2.0, 0.5, 3.0], requires_grad=True)
    y = Clip.apply(x * 2, 3.0)
    (y * y).sum().backward()
    return y, x.grad


def complex_numbers(torch):
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    w = torch.tensor([0.5, 2.0], requires_grad=True)
    out = (z * w).exp().abs().sum() + (z.real * w).sum()
    out.backward()
    return torch.view_as_real(z.grad), w.grad


def empty_tensors(torch):
    x = torch.ones(0, 3, requires_grad=True)
    y = torch.ones(3, requires_grad=True)
    ((x * y).sum(0) + y).sum().backward()
    return x.grad, y.grad


def data_and_detach(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 3
    y.data.add_(1)
    z = y * y.detach()
    z.sum().backward()
    return y, x.grad


PROGRAMS = [
    two_layers,
    second_order,
    gradient_penalty,
    writes_through_views,
    shared_views_after_a_write,
    in_place_on_a_leaf_view,
    accumulation,
    hook_edits,
    retained_and_freed,
    non_leaf_grad,
    mixed_dtypes,
    custom_inside_a_graph,
    complex_numbers,
    empty_tensors,
    data_and_detach,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_programs_show_the_same(program):
    assert difference(observed(program, taper), observed(program, real_torch)) == ""


# --- random programs -------------------------------------------------------------------------

UNARY = {
    "exp": lambda a: (a * 0.1).exp(),
    "tanh": lambda a: a.tanh(),
    "clone": lambda a: a.clone(),
    "detach": lambda a: a.detach(),
    "t": lambda a: a.t(),
    "row": lambda a: a[0].unsqueeze(0).expand(3, 3),
    "flat": lambda a: a.reshape(9).view(3, 3),
    "diagonal": lambda a: a.diagonal().unsqueeze(1).expand(3, 3),
    "slices": lambda a: a[:, :1].expand(3, 3),
    "unbind": lambda a: a.unbind()[1].view(1, 3).expand(3, 3),
    "split": lambda a: a.split(1, 1)[2].expand(3, 3),
}
BINARY = {
    # Contiguous, because the layout of a result of two layouts is another subject.
    "add": lambda a, b: a.contiguous() + b.contiguous(),
    "mul": lambda a, b: a.contiguous() * b.contiguous(),
    "sub": lambda a, b: a.contiguous().sub(b.contiguous(), alpha=2),
    "mm": lambda a, b: a @ b,
}
WRITES = {
    # Clones, because otherwise PyTorch's result depends on the order of reading and writing.
    "add_": lambda a, b: a.add_(b.clone()),
    "mul_": lambda a, b: a.mul_(b.clone()),
    "copy_": lambda a, b: a.copy_(b),
    "transposed copy": lambda a, b: a.copy_(a.t()),
    "zero_": lambda a, b: a.zero_(),
    "tanh_": lambda a, b: a.tanh_(),
    "row write": lambda a, b: a[1].mul_(b[0].clone()),
    "column write": lambda a, b: a[:, 0].copy_(b[:, 1].clone()),
    "setitem": lambda a, b: a.__setitem__(2, b[0].clone()),
    "view write": lambda a, b: a.view(9)[:4].add_(1),
    "transposed write": lambda a, b: a.t()[0].mul_(2),
    "diagonal write": lambda a, b: a.diagonal().mul_(3),
}


def random_program(seed):
    """Return a program of views, writes and arithmetic on 3x3 tensors, with all its results."""
    plan = random.Random(seed)
    steps = []
    for _ in range(plan.randint(4, 10)):
        kind = plan.choice([UNARY, UNARY, BINARY, WRITES, WRITES])
        steps.append((kind, plan.choice(sorted(kind)), plan.random(), plan.random()))
    silent = plan.choice([-1, -1, plan.randint(0, 5)])

    def program(torch):
        x = torch.arange(9.0).view(3, 3).div(10).requires_grad_()
        tensors = [x * 1, torch.ones(3, 3), x]
        report = []
        for number, (kind, name, first, second) in enumerate(steps):
            a = tensors[int(first * len(tensors))]
            b = tensors[int(second * len(tensors))]
            try:
                # PyTorch takes a view whose history is out of date for a leaf.
                a.grad_fn
                with torch.set_grad_enabled(number != silent):
                    result = kind[name](a, b) if kind is not UNARY else kind[name](a)
            except RuntimeError as error:
                report.append(f"{name}: {str(error).splitlines()[0]}")
                continue
            if kind is not WRITES:
                tensors.append(result)
            report.append([name, seen(tensors[-1]), seen(a), a._version])
        total = sum(each.sum() for each in tensors)
        try:
            total.backward()
        except RuntimeError as error:
            # PyTorch names another node as the writer of a view.
            report.append(str(error).splitlines()[0].split(", which is")[0])
        return [*report, x.grad]

    return program


@pytest.mark.parametrize("block", range(20))
def test_random_programs_show_the_same(block):
    for seed in range(block * 25, block * 25 + 25):
        program = random_program(seed)
        found = difference(observed(program, taper), observed(program, real_torch), f"{seed}")
        assert found == ""
