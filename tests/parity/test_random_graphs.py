"""Random programs with hooks, modes, custom functions, checkpoints and writes, on both libraries.

Each step of a program is drawn from a seed that both runs share.  After each step the tests compare
the tensor it was about (values, flags, node, version), the gradients of the leaves, and what hooks
saw; an error is compared by its text.  What PyTorch leaves undefined or half done is left out:
writes to leaves that fail after they have written, writes to inference tensors, overlapping views.
"""

from __future__ import annotations

import math
import random
import warnings
from contextlib import nullcontext

import pytest
import torch as real_torch

import taper
import taper.utils.checkpoint

BLOCKS, PROGRAMS = 20, 40


def custom_functions(torch, events):
    """Return functions: plain, with two outputs, in place, saving its output, identity."""

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            ctx.save_for_backward(x)
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            events.append("scale")
            return grad * ctx.factor + 0 * ctx.saved_tensors[0], None

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y, x + y

        @staticmethod
        def backward(ctx, first, second):
            x, y = ctx.saved_tensors
            return first * y + second, first * x + second

    class Triple(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x.mul_(3))
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    class Tanh(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = (x * 0.3).tanh()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, grad):
            (result,) = ctx.saved_tensors
            return grad * (1 - result * result) * 0.3

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            events.append("same")
            return grad * 2

    return Scale, Two, Triple, Tanh, Same


def matrix(tensor):
    """Return a tensor of any shape as one of shape (2, 3)."""
    if tensor.shape == (2, 3):
        return tensor
    return tensor.reshape(2, 3) if tensor.numel() == 6 else tensor.reshape(-1)[:1].expand(2, 3)


VIEWS = [
    lambda a: a[0],
    lambda a: a.t(),
    lambda a: a.reshape(-1),
    lambda a: a[:, 1:],
    lambda a: a.diagonal(),
    lambda a: a.unbind()[1],
    lambda a: a.split(1, 1)[1],
    lambda a: a[:1].expand(4, 3),
    lambda a: a[:1].squeeze(0),
    lambda a: a.unsqueeze(1),
    lambda a: a.as_strided((2, 2), (1, 2)),
    lambda a: a if a.is_inference() else a.detach(),
    lambda a: a.view_as(a),
    lambda a: a[..., 0],
    lambda a: a.chunk(2)[0],
    lambda a: a.movedim(0, 1),
    lambda a: a if a.is_inference() else a.data,
]
PAIRS = [
    lambda torch, two, a, b: a + b,
    lambda torch, two, a, b: a * b,
    lambda torch, two, a, b: (a @ b.t()) @ b,
    lambda torch, two, a, b: two.apply(a, b)[0],
    lambda torch, two, a, b: two.apply(a, b)[1],
    lambda torch, two, a, b: torch.where(a > 0.2, a, b),
    lambda torch, two, a, b: torch.stack([a, b])[1],
]


def results_of(torch, functions):
    scale, _, _, tanh, same = functions
    checkpoint = torch.utils.checkpoint.checkpoint
    return [
        lambda a: (a * 0.1).exp(),
        lambda a: a.sigmoid(),
        lambda a: a.relu(),
        lambda a: a if a.is_inference() else a.clone(),
        lambda a: a.sum(0, keepdim=True) + a * 0,
        lambda a: a - a.mean(),
        lambda a: a * a,
        lambda a: a[torch.tensor([1, 0, 1])][:2],
        lambda a: a.masked_fill(a > 0.3, 0.1),
        lambda a: torch.cat([a, a])[:2],
        lambda a: scale.apply(a, 2.5),
        tanh.apply,
        same.apply,
        lambda a: checkpoint(lambda b: (b * b).tanh() * b, a, use_reentrant=False),
        lambda a: checkpoint(lambda b: (b * b).tanh() * b, a, use_reentrant=True),
        lambda a: a.double().mul(1.5).float(),
        lambda a: a.max(1, keepdim=True)[0] + a * 0,
    ]


def writes_of(torch, functions, pick):
    triple = functions[2]
    return [
        lambda a: a.mul_(1.5),
        lambda a: a.add_(0.25),
        lambda a: a.zero_(),
        lambda a: a.tanh_(),
        lambda a: a.copy_(matrix(pick()).clone().reshape(-1)[:1]),
        lambda a: a.__setitem__(0, matrix(pick())[1, 1].clone()),
        lambda a: a.add_(matrix(pick()).clone().sum()),
        lambda a: None if a.is_leaf or a._is_view() else triple.apply(a),
        lambda a: a.mul_(0.1).exp_(),
        lambda a: a.relu_(),
        lambda a: a.index_put_((torch.tensor([0]),), torch.tensor(0.3)),
        lambda a: torch.autograd.graph.increment_version(a),
    ]


class Program:
    """A run of the program of a seed on one of the libraries, and what was seen of it."""

    def __init__(self, torch, seed):
        self.torch = torch
        self.draw = random.Random(seed)
        self.events = []
        functions = custom_functions(torch, self.events)
        self.two = functions[1]
        self.results = results_of(torch, functions)
        self.writes = writes_of(torch, functions, self.pick)
        start = torch.arange(6.0).view(2, 3)
        self.leaves = [(start / 5 + 0.1).requires_grad_(), (start / 7 - 0.4).requires_grad_()]
        self.tensors = [self.leaves[0] * 1, self.leaves[1] + 0.5, torch.ones(2, 3), *self.leaves]
        self.log = []

    def pick(self):
        return self.tensors[int(self.draw.random() * len(self.tensors))]

    def run(self):
        for _ in range(self.draw.randint(4, 12)):
            self.attempt(self.step)
        self.attempt(lambda: sum(matrix(each).sum() for each in self.tensors).backward())
        for each in self.tensors:
            self.log.append(self.attempt(lambda each=each: self.seen(each)))
        return self.log

    def attempt(self, call):
        try:
            found = call()
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            text = str(error).splitlines()[0].split(", which is")[0]
            found = f"{type(error).__name__}: {text}"
        self.log.append((found, [each.grad for each in self.leaves], self.events[-8:]))
        self.log[-1] = plain(self.log[-1])
        return plain(found)

    def step(self):
        hooks = self.torch.autograd.graph.saved_tensors_hooks
        kinds = [nullcontext] * 6 + [
            self.torch.no_grad,
            self.torch.enable_grad,
            self.torch.inference_mode,
            lambda: hooks(self.note("pack"), self.note("unpack")),
        ]
        block = kinds[int(self.draw.random() * len(kinds))]
        kind, which = self.draw.random(), self.draw.random()
        a, b = self.pick(), self.pick()
        a.grad_fn  # PyTorch takes a view whose history is out of date for a leaf.
        with block():
            return self.seen(self.do(kind, which, a, b))

    def note(self, name):
        def hook(tensor):
            self.events.append(name)
            return tensor

        return hook

    def do(self, kind, which, a, b):
        if kind < 0.25:
            self.tensors.append(chosen(VIEWS, which)(matrix(a)))
        elif kind < 0.42:
            self.tensors.append(chosen(self.results, which)(matrix(a)))
        elif kind < 0.54:
            first, second = matrix(a).contiguous(), matrix(b).contiguous()
            self.tensors.append(chosen(PAIRS, which)(self.torch, self.two, first, second))
        elif kind < 0.78:
            if not a.is_inference():
                chosen(self.writes, which)(a)
            return a
        elif kind < 0.86:
            self.watch(which, a)
            return a
        else:
            self.differentiate(which, a, b)
            return a
        return self.tensors[-1]

    def watch(self, which, a):
        number = len(self.log)
        if which < 0.4:
            a.register_hook(lambda grad: self.events.append((number, plain(grad))))
        elif which < 0.55:
            a.register_hook(lambda grad: grad * 2)
        elif which < 0.7 and not a.output_nr:  # or PyTorch fails at the second write to it
            a.retain_grad()
        elif which < 0.85 and a.grad_fn is not None:
            a.grad_fn.register_prehook(lambda grads: self.events.append((number, len(grads))))
        elif a.is_leaf:
            a.register_post_accumulate_grad_hook(lambda leaf: self.events.append(number))

    def differentiate(self, which, a, b):
        loss = (matrix(a) * matrix(a)).sum()
        autograd = self.torch.autograd
        if which < 0.2:
            found = autograd.grad(loss, self.leaves[0], create_graph=True, allow_unused=True)
            loss = loss if found[0] is None else (found[0] * found[0]).sum() + loss
        if which < 0.6:
            loss.backward(retain_graph=which < 0.4)
        elif which < 0.75:
            loss.backward(inputs=[b], retain_graph=True)
        elif which < 0.85:
            autograd.backward([loss, matrix(b).sum()], retain_graph=True)
        else:
            self.events.append(plain(autograd.grad(loss, [self.leaves[1], b], allow_unused=True)))

    def seen(self, tensor):
        node = tensor.grad_fn
        version = None if tensor.is_inference() else tensor._version
        flags = (tensor.requires_grad, tensor.is_leaf, tensor._is_view(), tensor.output_nr)
        return (
            tensor,
            tuple(tensor.shape),
            flags,
            node and node.name(),
            tensor.retains_grad,
            version,
        )


def chosen(among, which):
    return among[int(which * len(among))]


def plain(value):
    """Values that can be compared between the libraries."""
    if isinstance(value, (real_torch.Tensor, taper.Tensor)):
        return value.detach().reshape(-1).tolist()
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


def same(one, other):
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-3, abs_tol=1e-5) or (
            one != one and other != other
        )
    return one == other


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_graphs_behave_the_same(block):
    for seed in range(block * PROGRAMS, block * PROGRAMS + PROGRAMS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours, theirs = Program(taper, seed).run(), Program(real_torch, seed).run()
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert same(one, other), f"program {seed}, step {number}: {one} and {other}"
