"""What the tests of checkpointing share."""

from __future__ import annotations

from autograd_probe import values


def leaf(torch, *numbers):
    return torch.tensor(numbers or (0.5, 1.5), requires_grad=True)


class Counted:
    """A function that counts how often it begins and ends."""

    def __init__(self, function):
        self.function = function
        self.begun = self.ended = 0

    def __call__(self, *args, **kwargs):
        self.begun += 1
        result = self.function(*args, **kwargs)
        self.ended += 1
        return result


def first_then(first, then):
    """Return a function that is another one from the second call on."""
    calls = []

    def run(*args):
        calls.append(args)
        return (first if len(calls) == 1 else then)(*args)

    return run


def sin_cos(x):
    return x.sin().cos()


def plain_grad(torch, run, *numbers):
    x = leaf(torch, *numbers)
    run(x).sum().backward()
    return values(x.grad)
