"""What each operator records, for every choice of inputs that require grad, as on PyTorch.

E2: whether a second backward pass is possible.  D1, D2: which gradients the hooks of its nodes see.
D5: how many tensors it saves.
"""

from __future__ import annotations

import pytest
import torch

import taper
from op_templates import CASES, Call, case_id, outputs_of, samples_of

# Operators that are one node here and many in PyTorch, or record numbers as tensors.
APART = frozenset(
    "lstm gru rnn_tanh rnn_relu gradient istft mul div multiply divide".split(),
)
RECORDED = [case for case in CASES if case.differentiable and case.name not in APART]


def nodes_of(outputs):
    found, waiting = [], [each.grad_fn for each in outputs if each.grad_fn is not None]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.append(node)
            waiting.extend(each for each, _ in node.next_functions if each is not None)
    return found


def recorded(package, case, sample, dtype, chosen):
    """Return what is saved, what hooks see in a pass, and how a second pass ends."""
    call = Call(package, case, sample, dtype, True)
    for place, leaf in enumerate(call.leaves):
        leaf.requires_grad_(bool(chosen >> place & 1))
    saved, seen = [], []
    package.manual_seed(17)
    hooks = package.autograd.graph.saved_tensors_hooks
    with hooks(lambda each: (saved.append(tuple(each.shape)), each)[1], lambda each: each):
        outputs = [each for each in outputs_of(call()) if each.requires_grad]
    if not outputs:
        return None
    for node in nodes_of(outputs):
        name = node.name()
        node.register_prehook(lambda grads, name=name: seen.append((name, defined(grads))))
        node.register_hook(
            lambda *grads, name=name: seen.append((name, *[defined(each) for each in grads]))
        )
    grads = [package.ones_like(each) for each in outputs]
    package.autograd.backward(outputs, grads)
    first = sorted(seen)
    try:
        package.autograd.backward(outputs, grads)
    except RuntimeError as error:
        return sorted(saved), first, str(error)[:40]
    return sorted(saved), first, "again"


def defined(grads):
    return "".join("." if each is None else "x" for each in grads)


def choices(count):
    """Return all subsets of a few inputs; for many inputs all of them, and each alone."""
    return range(1, 2**count) if count < 4 else [2**count - 1, *(1 << nr for nr in range(count))]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", RECORDED, ids=case_id)
def test_found_e2_d1_d2_d5_the_same_is_saved_seen_by_hooks_and_possible_twice(case):
    dtype = "float64" if "float64" in case.dtypes else case.dtypes[0]
    for number, sample in enumerate(samples_of(case)):
        for chosen in choices(len(Call(taper, case, sample, dtype, True).leaves)):
            ours, theirs = (
                recorded(package, case, sample, dtype, chosen) for package in (taper, torch)
            )
            assert ours == theirs, f"{case.name} sample {number}, inputs {chosen:b}"
