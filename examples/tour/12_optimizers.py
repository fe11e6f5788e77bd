"""What `step()` does: three steps on x ** 2 from 1 with each optimizer. Claim I2."""

import torch


def three_steps(make):
    x = torch.ones(1, requires_grad=True)
    unused = torch.ones(1, requires_grad=True)
    optimizer = make([x, unused])
    seen = []
    for _ in range(3):
        optimizer.zero_grad()
        (x * x).backward()
        optimizer.step()
        seen.append(x.item())
    return *seen, unused.item()


SGD_OPTIONS = [
    {},
    {"momentum": 0.9},
    {"momentum": 0.9, "dampening": 0.5},
    {"momentum": 0.9, "nesterov": True},
    {"weight_decay": 0.1},
    {"maximize": True},
]
print("SGD, lr 0.1                         step 1   step 2   step 3  (no gradient)")
for options in SGD_OPTIONS:
    steps = three_steps(lambda params, options=options: torch.optim.SGD(params, lr=0.1, **options))
    text = " ".join(f"{name}={value}" for name, value in options.items())
    print(f"{text:33}", *(f"{each:8.4f}" for each in steps))

print("others, lr 0.05")
for name in (
    "Adam",
    "AdamW",
    "RMSprop",
    "Adagrad",
    "Adadelta",
    "Adamax",
    "NAdam",
    "RAdam",
    "Rprop",
):
    steps = three_steps(lambda params, name=name: getattr(torch.optim, name)(params, lr=0.05))
    print(f"{name:33}", *(f"{each:8.4f}" for each in steps))
