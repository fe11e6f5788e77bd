"""Where the graph is cut: detach and the three grad modes. Claims B6 E1 E2 E3 E5."""

import contextlib
import warnings

import torch

x = torch.tensor([2.0], requires_grad=True)
y = x.pow(2)
z = y.detach()
w = z * 3
try:
    w.backward()
except RuntimeError as error:
    print("behind detach():", str(error).splitlines()[0])
y.backward()
print("through y:", x.grad)


def works(action):
    try:
        action()
    except RuntimeError:
        return False
    return True


def try_mode(mode):
    """What a mode records, whether it skips tracking, and what its tensors are good for."""
    with mode:
        made = x * 2
        factory = torch.ones(1, requires_grad=True)
    return (
        made.requires_grad,
        made.is_inference(),
        works(lambda: (x * made).backward()),
        works(lambda: made.add_(1)),
        factory.requires_grad,
    )


modes = {
    "default": contextlib.nullcontext(),
    "no_grad": torch.no_grad(),
    "inference_mode": torch.inference_mode(),
}
table = {name: try_mode(mode) for name, mode in modes.items()}
print(f"{'mode':15} recorded  untracked  used later  written later  factory")
for name, (recorded, untracked, later, written, factory) in table.items():
    print(f"{name:15} {recorded!s:9} {untracked!s:10} {later!s:11} {written!s:14} {factory}")


@torch.no_grad()
def quiet():
    with torch.enable_grad():
        inside = (x * 2).requires_grad
    with torch.set_grad_enabled(False):
        return inside, (x * 2).requires_grad


print("nested:", quiet())
with torch.inference_mode():
    fast = x * 2
print("a clone is an ordinary tensor:", (x * fast.clone()).requires_grad)
print("Variable is Tensor:", isinstance(x, torch.autograd.Variable))
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    print("volatile:", x.volatile, "and a warning:", str(seen[0].message).split(" (")[0])
