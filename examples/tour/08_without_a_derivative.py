"""Six rules for points without a derivative, in their order. Claims G1 G2."""

import torch


def slope(function, at):
    x = torch.tensor(at, dtype=torch.float64, requires_grad=True)
    function(x).backward()
    return x.grad.item()


# (rule, what, function, point)
CASES = [
    (1, "x * x", lambda x: x * x, 3.0),
    (2, "relu(x)", torch.relu, 0.0),
    (2, "abs(x)", torch.abs, 0.0),
    (3, "-abs(x)", lambda x: -torch.abs(x), 0.0),
    (4, "sqrt(x)", torch.sqrt, 0.0),
    (5, "sqrt(x)", torch.sqrt, -1.0),
    (5, "log(x)", torch.log, -1.0),
]
if __name__ == "__main__":
    for rule, what, function, at in CASES:
        print(f"rule {rule}: the slope of {what:8} at {at:4} is {slope(function, at)}")

    tied = torch.tensor([1.0, 1.0, 0.0], requires_grad=True)
    tied.amax().backward()
    print("rule 2: equal maxima share the gradient:", tied.grad.tolist())

    p = torch.tensor([0.2, 0.3, 0.5], requires_grad=True)
    torch.manual_seed(0)
    for what, result in {
        "multinomial": torch.multinomial(p, 2),
        "argmax": p.argmax(),
        "p > 0.25": p > 0.25,
        "to(int64)": p.to(torch.int64),
    }.items():
        print(f"rule 6: {what:11} requires grad: {result.requires_grad}")
    values, indices = p.max(0)
    print("max gives values with a gradient, indices without:", end=" ")
    print(values.requires_grad, indices.requires_grad)
