"""pytorch_optimizer: every optimizer that needs no more than parameters, six steps each; schedules, losses."""

import warnings

import torch
from pytorch_optimizer import SAM, Lookahead, get_supported_optimizers, load_optimizer

warnings.filterwarnings("ignore")


def problem():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)
    ), torch.randn(12, 6)


names = [
    "adabelief", "adabound", "adamp", "adan", "adamod", "adamax", "adahessian", "adai", "adapnm", "apollo", "avagrad",
    "came", "dadaptadam", "diffgrad", "fromage", "gravity", "lamb", "lars", "lion", "madgrad", "msvag", "muon", "nero",
    "novograd", "pid", "pnm", "prodigy", "qhadam", "radam", "ranger", "ranger21", "rotograd", "sgdp", "shampoo", "soap",
    "sm3", "scalableshampoo", "sophiah", "srmm", "swats", "tiger", "yogi", "adafactor", "adalite", "grams", "mars",
    "schedulefreeadamw", "stableadamw", "kron", "adopt", "ademamix", "laprop", "adams", "galore", "amos", "aida", "accsgd",
]  # fmt: skip
known = set(get_supported_optimizers())
for name in names:
    if name not in known:
        continue
    model, x = problem()
    options = {"lr": 1e-2}
    if name == "ranger21":
        options["num_iterations"] = 6
    try:
        optimizer = load_optimizer(name)(model.parameters(), **options)
        if hasattr(optimizer, "train"):
            optimizer.train()
        for _ in range(6):
            loss = (model(x) - 1).square().mean()
            optimizer.zero_grad()
            loss.backward(create_graph=name in ("adahessian", "sophiah"))
            optimizer.step()
        print(name, loss.item())
    except Exception as error:  # noqa: BLE001 - the same on PyTorch
        print(name, type(error).__name__)
model, x = problem()
optimizer = SAM(model.parameters(), torch.optim.SGD, lr=0.1)
for _ in range(4):
    loss = model(x).square().mean()
    loss.backward()
    optimizer.first_step(zero_grad=True)
    model(x).square().mean().backward()
    optimizer.second_step(zero_grad=True)
    print("sam", loss.item())
model, x = problem()
optimizer = Lookahead(load_optimizer("adamp")(model.parameters(), lr=0.01), k=2)
for _ in range(4):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("lookahead", loss.item())
