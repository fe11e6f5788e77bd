"""The operators that programs need most, each at 10^3 and 10^6 elements, forwards.

The order is that of `tools/api_ranks.txt`; its names that compute nothing (`save`, `no_grad`) are
left out, until there are a hundred.  `x`, `y` are vectors of n numbers, `m`, `k` square matrices of
n numbers, `i` positions in a vector, `b` truth values; `d` is the side of `m`.
"""

from __future__ import annotations

import math
from typing import Any

from workloads import Workload

BAR = 3.0  # times PyTorch's
SIZES = (1_000, 1_000_000)

OPERATORS = """
randn(n) | tensor(values) | cat((x, y)) | zeros(n) | ones(n) | rand(n) | from_numpy(array)
randint(0, 10, (n,)) | arange(n) | sum(x) | stack((x, y)) | exp(x) | empty(n) | ones_like(x)
zeros_like(x) | transpose(m, 0, 1) | max(x) | add(x, y) | mm(m, k) | mean(x) | full((n,), 2.0)
flatten(m) | where(b, x, y) | log(p) | randperm(n) | randn_like(x) | rand_like(x) | cos(x)
full_like(x, 2.0) | pow(p, 2.5) | reshape(x, (n // 10, 10)) | unsqueeze(x, 0) | mul(x, y) | eye(d)
sin(x) | matmul(m, k) | split(x, 100) | squeeze(x) | empty_like(x) | sigmoid(x) | argmax(x)
abs(x) | sqrt(p) | as_tensor(x) | div(x, p) | tanh(x) | relu(x) | allclose(x, x) | detach(x)
eq(x, y) | bmm(s, s) | neg(x) | min(x) | clamp(x, -1.0, 1.0) | clone(x) | sub(x, y)
log_softmax(m, 1) | norm(x) | permute(m, (1, 0)) | gather(x, 0, i) | einsum("ij,jk->ik", m, k)
softmax(m, 1) | chunk(x, 10) | linspace(0.0, 1.0, n) | isnan(x) | masked_fill(x, b, 0.0)
multinomial(p, 5) | tril(m) | topk(x, 5) | triu(m) | rsqrt(p) | outer(v, v) | log1p(p) | diag(v)
std(x) | cumsum(x, 0) | index_select(x, 0, i) | normal(0.0, 1.0, (n,)) | sort(x) | all(b)
bernoulli(q) | maximum(x, y) | select(m, 0, 1) | narrow(x, 0, 1, 100) | unbind(m) | minimum(x, y)
argsort(x) | logsumexp(m, 1) | nonzero(b) | var(x) | square(x) | flip(x, (0,)) | mv(m, v)
le(x, y) | sign(x) | isfinite(x) | ge(x, y) | scatter(x, 0, i, y) | floor(x)
scatter_add(x, 0, i, y) | reciprocal(p) | isclose(x, y) | t(m) | roll(x, 3) | isinf(x) | gt(x, y)
""".replace("\n", " | ")


def operands(size: int) -> Any:
    """Return the names that the statements use, as a function of the library."""

    def make(torch: Any) -> dict[str, Any]:
        torch.manual_seed(0)
        side = math.isqrt(size)
        x, y, q = torch.randn(size), torch.randn(size), torch.rand(size)
        return {
            "n": size,
            "d": side,
            "x": x,
            "y": y,
            "p": q + 0.5,
            "q": q,
            "m": x[: side * side].reshape(side, side),
            "k": y[: side * side].reshape(side, side),
            "s": torch.randn(max(1, size // 1024), 32, 32),
            "v": torch.randn(side),
            "b": x > 0,
            "i": torch.randint(0, size, (size,)),
            "values": x.tolist(),
            "array": x.numpy(),
        }

    return make


def operator_workloads() -> list[Workload]:
    """Return a row for each operator and size; without recording, as in evaluation."""
    calls = [each.strip() for each in OPERATORS.split("|") if each.strip()]
    return [
        Workload(
            f"{call.partition('(')[0]} {size:.0e}".replace("e+0", "e"),
            operands(size),
            f"torch.{call}",
            bar=BAR,
            recorded=False,
            quick=False,
        )
        for call in calls
        for size in SIZES
    ]
