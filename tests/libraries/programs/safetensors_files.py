"""safetensors: save and load tensors and models, slices, shared memory, metadata."""

import os
import tempfile

import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model

torch.manual_seed(0)
tensors = {
    "a": torch.randn(3, 4), "b": torch.arange(6, dtype=torch.int32), "c": torch.ones(2, dtype=torch.bfloat16),
    "d": torch.randn(2).half(), "e": torch.tensor([True, False]), "f": torch.randn(2, 2).double(), "g": torch.zeros(0, 3),
}  # fmt: skip
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "x.safetensors")
    save_file(tensors, path, metadata={"made": "here"})
    for name, value in sorted(load_file(path).items()):
        print(
            name,
            value.dtype,
            *value.shape,
            value.double().sum().item(),
            torch.equal(value, tensors[name]),
        )
    with safe_open(path, framework="pt") as file:
        part = file.get_slice("a")
        print(
            file.metadata(),
            sorted(file.keys()),
            part.get_shape(),
            part[1:, :2].sum().item(),
            part[:, 1].tolist(),
        )
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 3))
    model[1].weight = torch.nn.Parameter(model[1].weight.detach())
    save_model(model, path)
    other = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 3))
    print(
        load_model(other, path),
        other(torch.ones(1, 3)).tolist() == model(torch.ones(1, 3)).tolist(),
    )
    print(os.path.getsize(path))
    try:
        shared = torch.ones(4)
        save_file({"x": shared, "y": shared[:2]}, path)
    except RuntimeError as error:
        print(str(error).split("{")[0])
print({k: v.tolist() for k, v in load(save({"z": torch.arange(3.0)})).items()})
