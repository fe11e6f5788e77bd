"""The variance fit in three ways: watching the gradient, a new tensor each step, in place."""

import taper as torch


def start():
    torch.manual_seed(0)
    x = torch.ones(5, requires_grad=True)
    w = torch.randn(5, 5, requires_grad=True)
    b = torch.randn_like(x)
    return x, w, b, torch.Tensor([0, 0, 1, 0, 0])


def watching(steps=5):
    """No update: the gradient is the same every time, if it is cleared."""
    x, w, b, label = start()
    seen = []
    for _ in range(steps):
        if w.grad is not None:
            w.grad.zero_()
        z = torch.matmul(w, x) + b
        output = torch.sigmoid(z)
        output.register_hook(seen.append)
        output.retain_grad()
        loss = (output - label).var()
        loss.backward()
        assert torch.equal(seen[-1], output.grad)
    return loss, w.grad


def replacing(steps=100):
    """`w = w - ...` makes a new, non-leaf tensor each step: it must retain its gradient."""
    x, w, b, label = start()
    for _ in range(steps):
        w.retain_grad()
        z = torch.matmul(w, x) + b
        output = torch.sigmoid(z)
        loss = (output - label).var()
        loss.backward(retain_graph=True)
        w = (w - 0.2 * w.grad).detach().requires_grad_()
    return loss


def in_place(steps=100):
    """The update of an optimizer: in place, under no_grad; the leaf stays the leaf."""
    x, y, b, label = start()
    for step in range(steps):
        if step > 0:
            y.grad.zero_()
        z = torch.matmul(y, x) + b
        output = torch.sigmoid(z)
        loss = (output - label).var()
        loss.backward()
        with torch.no_grad():
            y.sub_(0.2 * y.grad)
    return loss


if __name__ == "__main__":
    print("watching: ", *watching())
    print("replacing:", replacing())
    print("in place: ", in_place())
