"""tensordict: nested tables, stacking, modules, memory maps, tensorclass."""

import tempfile

import torch
from tensordict import LazyStackedTensorDict, TensorDict, tensorclass
from tensordict.nn import (
    NormalParamExtractor,
    ProbabilisticTensorDictModule,
    TensorDictModule,
    TensorDictSequential,
)

torch.manual_seed(0)
table = TensorDict(
    {"a": torch.randn(3, 4), "b": {"c": torch.arange(6).reshape(3, 2)}}, batch_size=[3]
)
print(table)
print(table.shape, *table.keys(True, True), table["b", "c"].sum().item())
print(table[1:]["a"].sum().item(), table.reshape(1, 3).batch_size, table.unsqueeze(0)["a"].shape)
stacked = torch.stack([table, table.clone().apply_(lambda t: t * 2)], 0)
print(stacked["a"].sum().item(), torch.cat([table, table], 0).batch_size)
table["d"] = torch.ones(3)
table.set(("b", "e"), torch.zeros(3, 1))
flat = table.flatten_keys(".")
print(sorted(flat.keys()), flat.unflatten_keys(".")["b", "e"].shape)
print(
    (table.exclude("d") * 2)["a"].sum().item(),
    table.select("d").sum().item()
    if hasattr(table.select("d").sum(), "item")
    else table.select("d").sum()["d"].item(),
)
first = TensorDictModule(torch.nn.Linear(4, 8), in_keys=["a"], out_keys=["hidden"])
second = TensorDictModule(lambda h: h.relu().sum(-1), in_keys=["hidden"], out_keys=["out"])
chain = TensorDictSequential(first, second)
optimizer = torch.optim.SGD(chain.parameters(), 0.1)
for _ in range(3):
    loss = chain(table)["out"].square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("loss", loss.item())
parameters = TensorDict.from_module(chain)
print(sorted(map(str, parameters.keys(True, True))))
with parameters.data.apply(torch.zeros_like).to_module(chain):
    print(chain(table.detach())["out"].sum().item())
actor = TensorDictSequential(
    TensorDictModule(
        torch.nn.Sequential(torch.nn.Linear(4, 4), NormalParamExtractor()),
        in_keys=["a"],
        out_keys=["loc", "scale"],
    ),
    ProbabilisticTensorDictModule(
        in_keys=["loc", "scale"],
        out_keys=["action"],
        distribution_class=torch.distributions.Normal,
        default_interaction_type="random",
    ),
)
torch.manual_seed(1)
print(*actor(table.detach().clone())["action"].flatten().tolist())
with tempfile.TemporaryDirectory() as folder:
    mapped = table.detach().memmap(folder)
    print(TensorDict.load_memmap(folder)["a"].sum().item(), mapped.is_memmap())
    torch.save(table.detach(), f"{folder}/t.pt")
    print(torch.load(f"{folder}/t.pt", weights_only=False)["a"].sum().item())


@tensorclass
class Point:
    x: torch.Tensor
    y: torch.Tensor


points = Point(x=torch.arange(3.0), y=torch.ones(3), batch_size=[3])
print(
    points[1].x.item(), torch.stack([points, points]).batch_size, (points.x + points.y).sum().item()
)
lazy = LazyStackedTensorDict(
    TensorDict({"a": torch.ones(2)}, []), TensorDict({"a": torch.zeros(2)}, []), stack_dim=0
)
print(lazy["a"].sum().item(), lazy.batch_size)
