"""Appendices A and B on both: node names along the graph, and what each node has saved."""

from __future__ import annotations

import warnings

import pytest
import torch

import taper
import taper.nn
from node_names import NODE_NAMES, operands

# What PyTorch keeps depends on the kernel that it chose for this processor.
KERNELS_OF_PYTORCH = {"F.scaled_dot_product_attention(b[None],b[None],b[None])"}

# Eigenvectors and singular vectors have the sign that the LAPACK at hand gives them.
OF_ANY_SIGN = {"_saved_eigenvectors", "_saved_U", "_saved_Vh", "_saved_Q", "_saved_R"}


def evaluated(library, expression):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(expression, operands(library))


def names_along(node):
    """Return the names of the nodes, depth first, each node once."""
    seen, stack, found = set(), [node], []
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        found.append(type(node).__name__)
        stack.extend(following for following, _ in reversed(node.next_functions))
    return found


def described(value):
    """Return a saved value in a form that can be compared across the libraries."""
    if isinstance(value, (torch.Tensor, taper.Tensor)):
        return ["tensor", str(value.dtype), list(value.shape), value.detach().flatten().tolist()]
    if isinstance(value, (tuple, list)):
        return [described(each) for each in value]
    return str(value) if isinstance(value, (torch.dtype, taper.dtype)) else value


def saved(node):
    names = sorted(name for name in dir(node) if name.startswith("_saved_"))
    return {name: described(getattr(node, name)) for name in names}


def close(one, other):
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, (float, complex)) and isinstance(other, (int, float, complex)):
        return one == pytest.approx(other, rel=1e-4, abs=1e-5, nan_ok=True)
    return one == other


@pytest.mark.parametrize("expression", NODE_NAMES)
def test_the_graph_has_the_same_nodes(expression):
    result, expected = evaluated(taper, expression), evaluated(torch, expression)
    if expected.grad_fn is None:
        assert result.grad_fn is None
    else:
        assert type(expected.grad_fn).__name__ == NODE_NAMES[expression]
        assert names_along(result.grad_fn) == names_along(expected.grad_fn)


@pytest.mark.parametrize(
    "expression", [each for each in NODE_NAMES if each not in KERNELS_OF_PYTORCH]
)
def test_the_last_node_has_saved_the_same(expression):
    result, expected = evaluated(taper, expression), evaluated(torch, expression)
    if expected.grad_fn is None:
        assert result.grad_fn is None
        return
    found, wanted = saved(result.grad_fn), saved(expected.grad_fn)
    assert sorted(found) == sorted(wanted)
    for name in wanted:
        if name not in OF_ANY_SIGN:
            assert close(found[name], wanted[name]), name
