"""Two layers trained by hand for 300 steps."""

import taper as torch


def train(steps=300):
    w1 = torch.tensor([[0.1, 0.15], [0.2, 0.25], [0.3, 0.35]], requires_grad=True)
    w2 = torch.tensor([[0.4, 0.45, 0.5], [0.55, 0.6, 0.65]], requires_grad=True)
    b1 = torch.ones(3, 1).float()
    b2 = torch.ones(2, 2).float()
    input1 = torch.tensor([5, 10]).reshape(2, 1).to(torch.float32)
    label = torch.tensor([0.01, 0.99]).reshape(2, 1)
    losses = []
    for i in range(steps):
        w1.retain_grad()
        w2.retain_grad()
        net_h = torch.mm(w1, input1) + b1
        out_h = torch.sigmoid(net_h)
        net_o = torch.matmul(w2, out_h) + b2
        out_o = torch.sigmoid(net_o)
        loss = (out_o - label).var()
        loss.backward()
        rate = 0.5 if i < 100 else 0.02
        w1 = (w1 - rate * w1.grad).detach().requires_grad_()
        w2 = (w2 - rate * w2.grad).detach().requires_grad_()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    losses = train()
    for step in (0, 1, 2, 99, 100, 299):
        print(f"step {step:3d}  loss {losses[step]:.6f}")
