"""Every row of `opcases` with operands in random layouts: results lie as PyTorch's (E1, W31)."""

from __future__ import annotations

import warnings
import zlib

import numpy as np
import pytest
import torch

import taper
from op_templates import CASES, Call, case_id, outputs_of, samples_of
from taper.arrays.strides import extent

# PyTorch's norms have the strides of `g`, even if those are 0; its ctc_loss reads targets and
# lengths with strides as if they had none, and crashes.
EXCEPT = ("_weight_norm_interface", "ctc_loss", "nn.functional.ctc_loss")


def random_strides(rng, shape):
    """Return random strides (permuted, gaps, expanded, a memory format), and an offset."""
    ndim = len(shape)
    kind = rng.choice(["permuted", "gaps", "expanded", "last", "last", "reversed", "rows", "ones"])
    order = list(range(ndim))[::-1]  # innermost first
    if kind in ("permuted", "gaps", "expanded", "ones"):
        order = [int(dim) for dim in rng.permutation(ndim)]
    elif kind == "reversed":
        order.reverse()
    elif kind == "last" and ndim > 2:
        order = [1, *range(ndim - 1, 1, -1), 0]
    strides, step = [0] * ndim, 1
    for dim in order:
        step *= int(rng.integers(1, 4)) if kind == "gaps" else 1
        strides[dim] = step
        step *= max(shape[dim], 1)
    if kind == "expanded" and ndim:
        strides[int(rng.integers(ndim))] = 0
    if kind == "ones":
        for dim, length in enumerate(shape):
            strides[dim] = int(rng.integers(1, 50)) if length == 1 else strides[dim]
    return tuple(strides), int(rng.integers(3)) if kind == "gaps" else 0


def strided_tensor(package, rng, shape, dtype):
    """Return ones in a random layout."""
    strides, offset = random_strides(rng, shape)
    memory = package.ones(1 + offset + extent(shape, strides), dtype=getattr(package, dtype))
    return memory.as_strided(shape, strides, offset)


class StridedCall(Call):
    """A call whose tensors have random layouts, the same for the same seed."""

    def __init__(self, *args, seed, **kwargs):
        self.rng = np.random.default_rng(seed)
        self.layouts = []
        super().__init__(*args, **kwargs)

    def _tensor(self, array):
        values = self.package.from_numpy(np.array(array))
        shape = tuple(values.shape)
        strides, offset = random_strides(self.rng, shape)
        self.layouts.append((shape, strides))
        reach = extent(shape, strides)
        tensor = self.package.zeros(1 + offset + reach, dtype=values.dtype)
        tensor = tensor.as_strided(shape, strides, offset)
        if 0 in strides:  # copy_ refuses them
            for place in np.ndindex(*shape):
                tensor[place] = values[place]
        elif array.size:
            tensor.copy_(values)
        self.tensors.append(tensor)
        return tensor


def layout_of(package, tensor):
    """Return what of a layout matters: steps over more than one element, and the memory formats."""
    steps = [step for step, length in zip(tensor.stride(), tensor.shape, strict=True) if length > 1]
    formats = [package.contiguous_format]
    formats += [package.channels_last] if tensor.dim() == 4 else []
    formats += [package.channels_last_3d] if tensor.dim() == 5 else []
    return steps, [tensor.is_contiguous(memory_format=each) for each in formats]


def assert_same_layouts(ours, theirs, what):
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if other is None or one is None or other.layout != torch.strided or not other.numel():
            continue
        found, expected = layout_of(taper, one), layout_of(torch, other)
        assert found == expected, f"{what}, {number}: {found} against {expected}"


def backward(package, outputs):
    roots = [each for each in outputs if each.requires_grad]
    starts = [package.ones(tuple(each.shape), dtype=each.dtype) for each in roots]
    if roots:
        package.autograd.backward(roots, starts)


def results(call, package):
    """Return the outputs of a call; None if it fails, which other tests compare."""
    package.manual_seed(3)
    try:
        return outputs_of(call())
    except Exception:
        return None


@pytest.mark.parametrize("case", [c for c in CASES if c.name not in EXCEPT], ids=case_id)
def test_found_e1_layouts_of_results_and_leaf_gradients(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, sample in enumerate(samples_of(case)):
            seed = zlib.crc32(f"{case.name} {number}".encode())
            given = {"dtype": "float32", "requires_grad": case.differentiable, "seed": seed}
            ours = StridedCall(taper, case, sample, **given)
            theirs = StridedCall(torch, case, sample, **given)
            found, expected = results(ours, taper), results(theirs, torch)
            if found is None or expected is None:
                continue
            what = f"{case.name} sample {number} of {theirs.layouts}"
            assert_same_layouts(found, expected, what)
            try:
                backward(torch, expected)
            except RuntimeError:
                continue  # PyTorch's backward requires contiguous tensors here
            backward(taper, found)
            grads = [[each.grad for each in call.leaves] for call in (ours, theirs)]
            assert_same_layouts(*grads, f"gradients of {what}")


PROGRAMS = {
    "add": lambda p, a, b, c: a + b,
    "div": lambda p, a, b, c: a / b,
    "rsub": lambda p, a, b, c: p.rsub(a, b),
    "gt": lambda p, a, b, c: a > b,
    "where": lambda p, a, b, c: p.where(a > 0, b, c),
    "addcmul": lambda p, a, b, c: p.addcmul(a, b, c),
    "pow": lambda p, a, b, c: a**b,
    "number": lambda p, a, b, c: a * 2,
    "exp": lambda p, a, b, c: a.exp(),
    "index": lambda p, a, b, c: a[p.tensor([[0, 0], [0, 0]]).t()],
    "index two": lambda p, a, b, c: a[p.tensor([0, 0]), :, p.tensor([0, 0])],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_found_e1_operands_that_are_broadcast_and_of_several_dtypes(name):
    """The first operand that has an order decides, as in PyTorch's iterator over tensors."""
    for seed in range(150):
        operands = []
        for package in (taper, torch):
            rng = np.random.default_rng(seed)
            shape = [int(length) for length in rng.integers(2, 5, rng.integers(3, 6))]
            operands.append([])
            for _ in range(3):
                own = [1 if rng.random() < 0.15 else length for length in shape]
                own = own[int(rng.integers(3)) :] if operands[-1] else shape
                dtype = str(rng.choice(["float32", "float32", "float64", "int64"]))
                operands[-1].append(strided_tensor(package, rng, own, dtype))
        found, expected = (
            PROGRAMS[name](package, *given)
            for package, given in zip((taper, torch), operands, strict=True)
        )
        what = f"{name} of {[(tuple(each.shape), each.stride()) for each in operands[1]]}"
        assert_same_layouts([found], [expected], what)
