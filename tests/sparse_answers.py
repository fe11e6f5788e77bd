"""What PyTorch answers to expressions with sparse tensors: how they are evaluated and shown.

`sparse/answers.txt` holds an expression and the answer a line, written with PyTorch 2.13.
`tests/sparse/` asks taper; `tests/parity/test_sparse_parity.py` asks PyTorch if they are right.
"""

from __future__ import annotations

import re
from pathlib import Path

_FILE = Path(__file__).with_name("sparse") / "answers.txt"


def answers() -> list[tuple[str, str]]:
    """Return the expressions with their answers."""
    lines = _FILE.read_text().splitlines()
    return [tuple(line.split(" -> ", 1)) for line in lines if line]  # type: ignore[misc]


def _numbers(value):
    if isinstance(value, list):
        return "[" + ", ".join(map(_numbers, value)) + "]"
    return f"{value:.4g}" if isinstance(value, float) else repr(value)


def shown(torch, value) -> str:
    """Return layout, indices, elements, dtype and node of a tensor; the text of anything else."""
    if isinstance(value, tuple | list) and not isinstance(value, torch.Size):
        return "(" + ", ".join(shown(torch, each) for each in value) + ")"
    if not isinstance(value, torch.Tensor):
        return repr(value)
    node = "" if value.grad_fn is None else " " + value.grad_fn.name().rpartition("::")[2]
    dtype = str(value.dtype)[6:]
    if value.layout is torch.strided:
        return f"D{_numbers(value.tolist())} {dtype}{node}"
    if value.layout is torch.sparse_coo:
        parts = [value._indices(), value._values()]
        flag = f" c={value.is_coalesced()}"
    else:
        by_rows = value.layout in (torch.sparse_csr, torch.sparse_bsr)
        names = ("crow_indices", "col_indices") if by_rows else ("ccol_indices", "row_indices")
        parts = [*[getattr(value, name)() for name in names], value.values()]
        flag = f" {str(parts[0].dtype)[6:]}"
    texts = " ".join(_numbers(each.tolist()) for each in parts)
    return f"{str(value.layout)[13:]}{list(value.shape)} {texts} {dtype}{flag}{node}"


def answer(torch, expression: str) -> str:
    """Evaluate an expression with a library; an error gives its class and text."""
    try:
        return shown(torch, eval(expression, names(torch)))
    except Exception as error:
        text = re.sub(r"This could be because.*", "...", str(error).replace("\n", " "))
        kind = type(error).__name__
        return f"{kind}: {text[:250].rstrip()}"


def names(torch) -> dict:
    """Return what expressions may use."""
    nn, tensor = torch.nn, torch.tensor

    def mk(grad=False, dtype=torch.float32):
        where = tensor([[0, 1, 1, 0], [2, 0, 2, 2]])
        values = tensor([3.0, 4.0, -5.0, 0.5], dtype=dtype)
        return torch.sparse_coo_tensor(where, values, (2, 3)).requires_grad_(grad)

    def other():
        return torch.sparse_coo_tensor([[0, 1], [0, 2]], [10.0, 20.0], (2, 3))

    def grads(function):
        leaves = [mk(True), weights().requires_grad_(), dense().requires_grad_()]
        leaves.append(other().requires_grad_())
        result = function(*leaves)
        if result.layout is torch.strided:
            result = (result * torch.arange(1.0, result.numel() + 1).reshape(result.shape)).sum()
        else:
            result = torch.sparse.sum(result)
        result.backward()
        return [each.grad for each in leaves if each.grad is not None]

    def table(**options):
        torch.manual_seed(0)
        return nn.Embedding(5, 2, sparse=True, **options)

    def looked_up(loss, **options):
        layer = table(**options)
        loss(layer).backward()
        return layer.weight.grad

    def bagged(indices, offsets, **options):
        torch.manual_seed(0)
        layer = nn.EmbeddingBag(5, 2, sparse=True, **options)
        layer(indices, offsets).mul(tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
        return layer.weight.grad

    def trained(name, **options):
        layer = table()
        optimizer = getattr(torch.optim, name)(list(layer.parameters()), **options)
        for _ in range(3):
            optimizer.zero_grad()
            layer(tensor([1, 2, 1, 4])).pow(2).sum().backward()
            optimizer.step()
        return layer.weight.detach()

    def dense():
        return torch.arange(6.0).reshape(2, 3)

    def weights():
        return torch.arange(6.0).reshape(3, 2)

    return {
        "torch": torch,
        "F": nn.functional,
        "T": tensor,
        "S": torch.sparse_coo_tensor,
        "C": torch.sparse_csr_tensor,
        "mk": mk,
        "B": other,
        "D": dense,
        "W": weights,
        "R": lambda: mk().coalesce().to_sparse_csr(),
        "grads": grads,
        "looked_up": looked_up,
        "bagged": bagged,
        "trained": trained,
    }
