"""What a program notes on one package, to compare with what it notes on the other.

A program is a function `program(torch, log)` of a package and a `Log`.
"""

from __future__ import annotations

import warnings
from typing import Any

import taper
from both_packages import assert_same_tensor


def graph_text(node):
    """Return the names of the nodes behind a tensor, and what they saved, without its values."""
    if node is None:
        return "None"
    saved = []
    for name in sorted(dir(node)):
        if name.startswith("_saved_"):
            value = getattr(node, name)
            saved.append(f"{name}={tuple(value.shape) if hasattr(value, 'grad_fn') else value}")
    below = ", ".join(graph_text(each) for each, _ in node.next_functions)
    return f"{type(node).__name__}[{' '.join(saved)}]({below})"


class Log:
    """What one run of a program noted."""

    def __init__(self, torch):
        self.torch = torch
        self.entries = []

    def __call__(self, *values):
        for value in values:
            if isinstance(value, self.torch.Tensor):
                self.entries.append(value.detach().clone())
                self.entries.append(f"{value.requires_grad} {graph_text(value.grad_fn)}")
            else:
                self.entries.append(self._text(value))

    def _text(self, value):
        return (repr(value) if not isinstance(value, str) else value).replace("taper", "torch")

    def call(self, function, *args, **kwargs):
        """Note result or error, and the warnings, of a call."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                self(function(*args, **kwargs))
            except Exception as error:
                self(f"{type(error).__name__}: {error}")
        self([(each.category.__name__, str(each.message)) for each in caught])

    def module(self, module):
        """Note what a module consists of, and its tensors."""
        self(module, [name for name, _ in module.named_parameters()], module.state_dict()._metadata)
        for name, value in module.state_dict().items():
            self(name, value)
        tables = (module._forward_pre_hooks, module._state_dict_hooks)
        self([[type(hook).__name__ for hook in each.values()] for each in tables])


def compare(real_torch: Any, program: Any, factor: float = 10.0) -> None:
    """Assert that the program notes on taper what it notes on PyTorch, which is passed in."""
    logs = []
    for package in (taper, real_torch):
        package.manual_seed(0)
        log = Log(package)
        program(package, log)
        logs.append(log.entries)
    ours, theirs = logs
    assert len(ours) == len(theirs)
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if isinstance(other, real_torch.Tensor):
            assert_same_tensor(one, other, f"entry {number}", factor)
        else:
            assert one == other, number
