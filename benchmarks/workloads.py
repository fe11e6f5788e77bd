"""What is timed, written once: every workload gets the library as the argument `torch`.

A workload is a Python statement and the names it uses; `prepare` runs untimed before each execution
(to build the graph that a timed backward pass consumes).  `bar` is the largest ratio taper/torch
that counts as a pass, None if the number is only shown.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Workload:
    """One row of the table: `make(torch)` returns the names that `statement` uses."""

    name: str
    make: Callable[[Any], dict[str, Any]]
    statement: str
    prepare: str = ""
    bar: float | None = None
    limit: float | None = None  # seconds; for what only taper has, so that there is no ratio
    recorded: bool = True  # False: runs in no-grad mode
    quick: bool = True  # part of a --quick run
    threads: int | None = None  # None: as many as the library takes

    def build(self, torch: Any) -> Callable[[int], float]:
        """Return a function that runs the statement n times and returns the seconds of one run."""
        names = {**self.make(torch), "torch": torch}
        exec(self._source(), names)
        measure = names["measure"]

        def run(repetitions: int) -> float:
            # Only where it differs from the default: the peers have no such modes.
            with contextlib.ExitStack() as stack:
                if not self.recorded:
                    stack.enter_context(torch.no_grad())
                if self.threads is not None:
                    stack.callback(torch.set_num_threads, torch.get_num_threads())
                    torch.set_num_threads(self.threads)
                return measure(repetitions)

        return run

    def _source(self) -> str:
        # The statement is in the loop itself: calling a function would add 50 ns to each run.
        # Likewise the clock is read inside the loop only if something must stay untimed.
        if self.prepare:
            return f"""
from time import perf_counter

def measure(repetitions):
    elapsed = 0.0
    for _ in range(repetitions):
        {self.prepare}
        start = perf_counter()
        {self.statement}
        elapsed += perf_counter() - start
    return elapsed / repetitions
"""
        return f"""
from time import perf_counter

def measure(repetitions):
    start = perf_counter()
    for _ in range(repetitions):
        {self.statement}
    return (perf_counter() - start) / repetitions
"""


def small_matrices(torch: Any) -> dict[str, Any]:
    """Return two 5x5 matrices that require gradients: nothing but overhead."""
    torch.manual_seed(0)
    return {
        "a": torch.randn(5, 5, requires_grad=True),
        "b": torch.randn(5, 5, requires_grad=True),
    }


def multiplication_chain(torch: Any) -> dict[str, Any]:
    names = small_matrices(torch)
    a, b = names["a"], names["b"]

    def chain() -> Any:
        a.grad = b.grad = None
        y = a
        for _ in range(20):
            y = y * b
        return y

    return {**names, "chain": chain, "ones": torch.ones(5, 5)}


def gradient_penalty(torch: Any) -> dict[str, Any]:
    """Return a small network and the square of its gradient by the input, differentiated again."""
    torch.manual_seed(0)
    layers = torch.nn.Linear(32, 64), torch.nn.Tanh(), torch.nn.Linear(64, 10)
    model = torch.nn.Sequential(*layers)
    x = torch.randn(32, 32, requires_grad=True)

    def loss() -> Any:
        return model(x).square().mean()

    def step() -> None:
        (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        slope.square().mean().backward()

    return {"loss": loss, "weights": list(model.parameters()), "step": step}


def variance_fit(torch: Any) -> dict[str, Any]:
    """Return the notes' example: fit a 5x5 weight by the variance of sigmoid(w @ x + b) - label."""
    torch.manual_seed(0)
    x = torch.ones(5)
    w = torch.randn(5, 5, requires_grad=True)
    b = torch.randn_like(x)
    label = torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0])
    optimizer = torch.optim.SGD([w], lr=0.2)

    def step() -> None:
        output = torch.sigmoid(torch.matmul(w, x) + b)
        loss = (output - label).var()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return {"step": step}


def perceptron(widths: tuple[int, ...], batch: int) -> Callable[[Any], dict[str, Any]]:
    """Return a multi-layer perceptron trained by cross-entropy and Adam."""

    def make(torch: Any) -> dict[str, Any]:
        torch.manual_seed(0)
        layers: list[Any] = []
        for inputs, outputs in itertools.pairwise(widths):
            layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
        model = torch.nn.Sequential(*layers[:-1])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        x = torch.randn(batch, widths[0])
        target = torch.randint(0, widths[-1], (batch,))

        def step() -> None:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), target)
            loss.backward()
            optimizer.step()

        return {"step": step}

    return make


def many_small_parameters(torch: Any) -> dict[str, Any]:
    """Return an optimizer with nothing to compute: 100 parameters of 4x4, gradients at hand."""
    parameters = [torch.nn.Parameter(torch.ones(4, 4)) for _ in range(100)]
    for each in parameters:
        each.grad = torch.ones(4, 4)
    return {"optimizer": torch.optim.Adam(parameters)}


def empty_module(torch: Any) -> dict[str, Any]:
    """Return a module whose forward does nothing: only the call costs."""

    class Same(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x

    return {"module": Same(), "x": torch.ones(2)}


# What every recorded operation does for the record of its line (`opdef.recording`), in Python.
PROVENANCE = """frame = getframe(1)
        code = frame.f_code
        if code is not state.user_code:
            if internal.get(code.co_filename, True):
                raise RuntimeError("the benchmark must look like a user's program")
            state.user_code = code
        node._code = code
        node._offset = frame.f_lasti"""


def provenance(torch: Any) -> dict[str, Any]:
    """Return the record of the user's line, which recorded operations keep; PyTorch has none."""
    record = importlib.import_module(f"{torch.__name__}.autograd.provenance")
    if record.is_internal(__file__):
        raise RuntimeError(f"{__file__} is taken for a part of the library")
    node = importlib.import_module(f"{torch.__name__}.autograd.node").Node()
    state = importlib.import_module(f"{torch.__name__}.autograd.state").local.state
    return {
        "getframe": sys._getframe,
        "internal": record.internal,
        "node": node,
        "state": state,
    }


@dataclass
class Sized:
    """One operation at one size, timed forwards (recorded) and backwards."""

    name: str
    expression: str
    shape: tuple[int, ...]
    operands: int = 1
    label: str = field(init=False)

    def __post_init__(self) -> None:
        self.label = f"{self.name} {'x'.join(map(str, self.shape))}"

    def make(self, torch: Any) -> dict[str, Any]:
        torch.manual_seed(0)
        names = {
            name: torch.randn(*self.shape, requires_grad=True) for name in "ab"[: self.operands]
        }
        gradient = torch.ones_like(eval(self.expression, {"torch": torch}, names))
        return {**names, "gradient": gradient.detach()}

    def workloads(self) -> Iterator[Workload]:
        few = math.prod(self.shape) < 1_000_000
        clear = "; ".join(f"{name}.grad = None" for name in "ab"[: self.operands])
        yield Workload(f"{self.label} forward", self.make, f"y = {self.expression}", quick=few)
        yield Workload(
            f"{self.label} backward",
            self.make,
            "y.backward(gradient)",
            prepare=f"{clear}; y = {self.expression}",
            quick=few,
        )


def all_workloads() -> list[Workload]:
    """Return every row of the table, the ones with a bar first."""
    rows = [
        Workload("mul 5x5, recorded", small_matrices, "y = a * b", bar=0.8),
        Workload(
            "backward of 20 mul 5x5",
            multiplication_chain,
            "y.backward(ones)",
            prepare="y = chain()",
            bar=0.6,
        ),
        Workload(
            "autograd.grad of a perceptron",
            gradient_penalty,
            "torch.autograd.grad(y, weights)",
            prepare="y = loss()",
            bar=0.6,
        ),
        Workload("step: gradient penalty", gradient_penalty, "step()", bar=0.7),
        Workload("Adam, 100 small parameters", many_small_parameters, "optimizer.step()", bar=0.2),
        Workload("a Module call", empty_module, "y = module(x)", limit=1e-6),
        Workload("mul 5x5, no_grad", small_matrices, "y = a * b", recorded=False),
        Workload("add_ 5x5, no_grad", small_matrices, "a.add_(b)", recorded=False),
        Workload("provenance of one operation", provenance, PROVENANCE, limit=0.2e-6),
    ]
    for size in (10, 1000, 1_000_000):
        rows += Sized("add", "a + b", (size,), operands=2).workloads()
        rows += Sized("exp", "torch.exp(a)", (size,)).workloads()
        rows += Sized("sum", "a.sum()", (size,)).workloads()
    for side in (3, 32, 1000):
        rows += Sized("matmul", "a @ b", (side, side), operands=2).workloads()
    return rows
