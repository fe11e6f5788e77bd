"""Training steps on a GPU in one process: taper, taper captured, and PyTorch, in milliseconds.

    python benchmarks/on_cuda.py [NAME ...]

Needs a GPU, CuPy and PyTorch with CUDA.  A name chooses the workloads that contain it.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import time
from collections.abc import Callable
from typing import Any

Step = Callable[[], Any]


def small(torch: Any) -> Step:
    """One layer of 5x5 and a squared error."""
    net = torch.nn.Linear(5, 5).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x, y = torch.ones(5, 5).cuda(), torch.zeros(5, 5).cuda()
    return _training(torch, net, optimizer, x, y, torch.nn.functional.mse_loss)


def perceptron(torch: Any) -> Step:
    """32-64-64-10 with Adam."""
    nn = torch.nn
    net = nn.Sequential(
        nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)
    )
    return _classifier(torch, net.cuda(), torch.ones(32, 32).cuda(), 10)


def perceptron_784(torch: Any) -> Step:
    """784-512-10 with Adam, batches of 128."""
    nn = torch.nn
    net = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))
    return _classifier(torch, net.cuda(), torch.ones(128, 784).cuda(), 10)


def cnn(torch: Any) -> Step:
    """Two convolutions with pooling, batches of 64 pictures of 28x28."""
    nn = torch.nn
    net = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 49, 10),
    )
    return _classifier(torch, net.cuda(), torch.ones(64, 1, 28, 28).cuda(), 10)


def resnet18(torch: Any) -> Step:
    """ResNet-18, batches of 32 pictures of 32x32."""
    name = "torchvision.models" if torch.__name__ == "torch" else "taper.vision.models"
    net = importlib.import_module(name).resnet18(num_classes=10)
    return _classifier(torch, net.cuda(), torch.ones(32, 3, 32, 32).cuda(), 10)


class _Blocks:
    """The parts of a GPT, for either package."""

    @staticmethod
    def model(torch: Any, layers: int, width: int, heads: int, words: int, length: int) -> Any:
        nn, functional = torch.nn, torch.nn.functional

        class Block(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.one, self.two = nn.LayerNorm(width), nn.LayerNorm(width)
                self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
                self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

            def forward(self, x: Any) -> Any:
                batch, time_, _ = x.shape
                q, k, v = self.qkv(self.one(x)).split(width, dim=2)
                q, k, v = [
                    each.view(batch, time_, heads, width // heads).transpose(1, 2)
                    for each in (q, k, v)
                ]
                y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
                x = x + self.out(y.transpose(1, 2).reshape(batch, time_, width))
                return x + self.down(functional.gelu(self.up(self.two(x))))

        class Model(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
                self.blocks = nn.ModuleList([Block() for _ in range(layers)])
                self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
                self.register_buffer("order", torch.arange(length))

            def forward(self, x: Any) -> Any:
                x = self.words(x) + self.places(self.order[: x.shape[1]])
                for block in self.blocks:
                    x = block(x)
                return self.head(self.norm(x)).view(-1, words)

        return Model()


def _language(
    torch: Any,
    batch: int,
    layers: int,
    width: int,
    heads: int,
    words: int,
    length: int,
    half: bool = False,
) -> Step:
    net = _Blocks.model(torch, layers, width, heads, words, length).cuda()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
    x = torch.arange(batch * length).reshape(batch, length).remainder(words).cuda()
    y = x.reshape(-1)

    def step() -> Any:
        optimizer.zero_grad()
        if half:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = torch.nn.functional.cross_entropy(net(x), y)
        else:
            loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def gpt_tiny(torch: Any) -> Step:
    """4 layers of 128, batches of 16 x 64."""
    return _language(torch, 16, 4, 128, 4, 65, 64)


def gpt_medium(torch: Any) -> Step:
    """12 layers of 768, batches of 8 x 512, float32."""
    return _language(torch, 8, 12, 768, 12, 8192, 512)


def gpt_medium_bf16(torch: Any) -> Step:
    """The same in bfloat16 by autocast."""
    return _language(torch, 8, 12, 768, 12, 8192, 512, half=True)


def lstm(torch: Any) -> Step:
    """An LSTM of 64, 32 steps, batches of 32."""
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.head = nn.LSTM(32, 64, batch_first=True), nn.Linear(64, 10)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(x)[0][:, -1])

    return _classifier(torch, Model().cuda(), torch.ones(32, 32, 32).cuda(), 10)


def chain(torch: Any) -> Step:
    """Twelve operations on a million elements, and back."""
    x = torch.ones(1_000_000).cuda().requires_grad_()

    def step() -> Any:
        y = x
        for _ in range(3):
            y = torch.tanh(y * 1.01 + 0.1).exp()
        x.grad = None
        loss = y.mean()
        loss.backward()
        return loss

    return step


def mul(torch: Any) -> Step:
    """One product of two arrays of 8x8, without a gradient: what a call costs."""
    x = torch.ones(8, 8).cuda()
    return lambda: torch.mul(x, x)


def _classifier(torch: Any, net: Any, x: Any, classes: int) -> Step:
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    y = torch.arange(len(x)).remainder(classes).cuda()
    return _training(torch, net, optimizer, x, y, torch.nn.functional.cross_entropy)


def _training(torch: Any, net: Any, optimizer: Any, x: Any, y: Any, loss_of: Any) -> Step:
    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


WORKLOADS = (
    mul,
    small,
    perceptron,
    perceptron_784,
    cnn,
    resnet18,
    gpt_tiny,
    lstm,
    chain,
    gpt_medium,
    gpt_medium_bf16,
)


ROUNDS = 6


def measure(step: Step, wait: Callable[[], Any], seconds: float = 0.1) -> float:
    """Milliseconds of a step in one round."""
    wait()
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < seconds or count < 3:
        step()
        count += 1
    wait()
    return (time.perf_counter() - began) / count * 1e3


def _keep(name: str, text: str) -> None:
    """Write how a captured step runs to the folder that LOOK names, if somebody wants it."""
    folder = os.environ.get("LOOK")
    if folder:
        with open(os.path.join(folder, f"{name}.txt"), "w", encoding="utf-8") as file:
            file.write(text)


def _prepared(make: Any, torch: Any, captures: bool) -> tuple[Step | None, str]:
    """A step that has run some times, and what there is to say about it."""
    try:
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        torch.manual_seed(0)
        step = torch.capture(make(torch)) if captures else make(torch)
        for _ in range(8 if captures else 3):
            loss = step()
        notes = f" loss {float(loss.detach()):.4f}" if loss.numel() == 1 else ""
        notes += f" peak {(torch.cuda.max_memory_allocated() - before) / 2**20:.0f} MB"
        torch.cuda.reset_peak_memory_stats()
        step()
        notes += f", later {(torch.cuda.max_memory_allocated() - before) / 2**20:.0f} MB"
        if captures:
            _keep(make.__name__, step.explain())
            notes += f" ({step.explain().splitlines()[-1][:100]})"
        return step, notes
    except Exception as error:
        return None, f" {type(error).__name__}: {str(error)[:120]}"


def main() -> None:
    """Print a line for each workload.

    The packages take turns, and each one's best round counts: for seconds the same step may take
    the processor twice as long, whichever package it is.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="parts of the names of workloads; all by default")
    chosen = parser.parse_args().names
    ours, theirs = [importlib.import_module(name) for name in ("taper", "torch")]
    for make in WORKLOADS:
        if chosen and not any(each in make.__name__ for each in chosen):
            continue
        ways = [(ours, False), (ours, True), (theirs, False)]
        steps = [_prepared(make, *way) for way in ways]
        times = [float("nan")] * len(ways)
        for _ in range(ROUNDS):
            for nr, (step, _) in enumerate(steps):
                if step is not None:
                    found = measure(step, ways[nr][0].cuda.synchronize)
                    times[nr] = min(found, times[nr])
        notes = "".join([each for _, each in steps])
        del steps, step
        gc.collect()
        for torch in (ours, theirs):
            torch.cuda.empty_cache()
        print(
            f"{make.__name__:16} eager {times[0]:9.3f} captured {times[1]:9.3f} "
            f"PyTorch {times[2]:9.3f} ms  {times[0] / times[2]:6.2f} {times[1] / times[2]:6.2f} "
            f"{notes}",
            flush=True,
        )


if __name__ == "__main__":
    main()
