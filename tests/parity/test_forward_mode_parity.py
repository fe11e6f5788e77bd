"""Random programs of duals, views and writes in place, run on both libraries.

After each step the values and tangents of all tensors are compared, and at the end the gradient
with its own tangent.
"""

from __future__ import annotations

import random

import pytest
import torch as real_torch
import torch.autograd.forward_ad as real_forward_ad

import taper
import taper.autograd.forward_ad as forward_ad

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script")

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
    "alias": lambda a: a.view_as(a),
    "sum": lambda a: a.sum(0, keepdim=True).expand(3, 3),
    "softmax": lambda a: a.softmax(1),
    "sort": lambda a: a.sort(1)[0],
    "max": lambda a: a.max(0)[0].expand(3, 3),
}
BINARY = {
    "add": lambda a, b: a.contiguous() + b.contiguous(),
    "mul": lambda a, b: a.contiguous() * b.contiguous(),
    "mm": lambda a, b: a @ b,
    "div": lambda a, b: a.contiguous() / (b.contiguous() * b.contiguous() + 1),
}
WRITES = {
    # Clones, because otherwise PyTorch's result depends on the order of reading and writing.
    "add_": lambda a, b: a.add_(b.clone()),
    "mul_": lambda a, b: a.mul_(b.clone()),
    "copy_": lambda a, b: a.copy_(b.clone()),
    "zero_": lambda a, b: a.zero_(),
    "tanh_": lambda a, b: a.tanh_(),
    "exp_": lambda a, b: a.mul_(0.1).exp_(),
    "pow_": lambda a, b: a.pow_(2),
    "row write": lambda a, b: a[1].mul_(b[0].clone()),
    "column write": lambda a, b: a[:, 0].copy_(b[:, 1].clone()),
    "setitem": lambda a, b: a.__setitem__(2, b[0].clone()),
    "view write": lambda a, b: a.view(9)[:4].add_(1),
    "transposed write": lambda a, b: a.t()[0].mul_(2),
    "diagonal write": lambda a, b: a.diagonal().mul_(3),
}
DUALS = ("make", "unpack")


def seen(module, tensor):
    tangent = module.unpack_dual(tensor).tangent
    slopes = None if tangent is None else tangent.detach().flatten().tolist()
    layout = tangent is None or (tangent.stride() == tensor.stride(), tangent._is_view())
    return tensor.detach().flatten().tolist(), tensor.requires_grad, slopes, layout


def report(torch, module, seed, requires_grad):
    plan = random.Random(seed)
    found = []
    with module.dual_level():
        x = torch.arange(9.0).view(3, 3).div(10).requires_grad_(requires_grad)
        slope = torch.arange(9.0).view(3, 3).sub(4).div(10)
        dual = module.make_dual(x.clone() if requires_grad else x, slope)
        tensors = [dual, torch.ones(3, 3), dual.clone(), torch.arange(9.0).view(3, 3) * 0.2]
        for _ in range(plan.randint(4, 10)):
            kind = plan.choice([UNARY, UNARY, BINARY, WRITES, WRITES, DUALS])
            name = plan.choice(sorted(kind))
            a, b = (tensors[int(plan.random() * len(tensors))] for _ in range(2))
            try:
                if kind is DUALS:
                    make = name == "make"
                    result = module.make_dual(a, b.detach().clone()) if make else None
                    result = result if make else module.unpack_dual(a).primal
                else:
                    result = kind[name](a) if kind is UNARY else kind[name](a, b)
            except (RuntimeError, NotImplementedError):
                found.append((name, "refused"))
                continue
            if kind is not WRITES:
                tensors.append(result)
            try:
                found.append((name, [seen(module, each) for each in tensors]))
            except RuntimeError:  # a view that cannot be brought up to date (V12)
                return [*found, (name, "invalid")]
        if requires_grad:
            found.append(gradient(torch, module, tensors, x))
    return found


def gradient(torch, module, tensors, x):
    try:
        (grad,) = torch.autograd.grad(sum(each.sum() for each in tensors), x, allow_unused=True)
    except RuntimeError:
        return "refused"
    return None if grad is None else seen(module, grad)


def differ(one, other):
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) != len(other) or any(map(differ, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one != pytest.approx(other, rel=1e-4, abs=1e-5, nan_ok=True)
    return one != other


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("block", range(8))
def test_d6_random_programs_show_the_same_tangents(block, requires_grad):
    for seed in range(block * 25, block * 25 + 25):
        ours = report(taper, forward_ad, seed, requires_grad)
        theirs = report(real_torch, real_forward_ad, seed, requires_grad)
        for step, pair in enumerate(zip(ours, theirs, strict=True)):
            assert not differ(*pair), (seed, [each[0] for each in ours[: step + 1]], pair)
