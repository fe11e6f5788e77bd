"""What the autograd tests share: reading an error or warnings as one line of text."""

from __future__ import annotations

import gc
import warnings
from contextlib import contextmanager


def error(call) -> str:
    """Return `RuntimeError: first line of the text` of what `call()` raises."""
    try:
        call()
    except Exception as found:
        text = str(found).split("\n")[0]
        return f"{type(found).__name__}: {text}"
    return "no error"


def warned(call) -> list[str]:
    """Return `UserWarning: first line` of every warning of `call()`."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [f"{each.category.__name__}: {str(each.message).splitlines()[0]}" for each in found]


def names(node) -> list[str]:
    """Return the names of the nodes that a node points to, "None" for missing ones."""
    return ["None" if each is None else each.name() for each, _ in node.next_functions]


def values(tensor):
    """Return a tensor as nested lists, None as None."""
    return None if tensor is None else tensor.detach().tolist()


@contextmanager
def no_collector():
    """Let only reference counting free memory, during the block."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def function(torch, forward, backward=lambda ctx, *grads: grads[0], **members):
    """Return a custom Function called F made of the given functions."""
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    body.update({name: staticmethod(each) for name, each in members.items()})
    return type("F", (torch.autograd.Function,), body)
