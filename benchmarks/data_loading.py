"""Samples per second that a `DataLoader` feeds, against PyTorch's, with two workers and without.

Each library has a process of its own; they take turns, pass by pass, and a round starts both
afresh.  A row is one data set with one way of loading.  Rows with workers keep them from pass to
pass (`persistent_workers`), except "new workers", whose passes begin by starting two.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

BAR = 0.9  # of PyTorch's samples per second
WORKERS = 2


class Decoded:
    """Images of 64x64x3 bytes, compressed; a sample is decompressed and made a float tensor."""

    def __init__(self, torch: Any, count: int) -> None:
        self.torch = torch
        rng = np.random.default_rng(0)
        smooth = rng.integers(0, 8, (count, 64, 64, 3), dtype=np.uint8)
        self.images = [zlib.compress(each.tobytes()) for each in smooth]

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Any:
        pixels = np.frombuffer(zlib.decompress(self.images[index]), np.uint8)
        image = pixels.reshape(64, 64, 3).transpose(2, 0, 1).astype(np.float32) / 255
        return self.torch.from_numpy(image), index % 10


class Stored:
    """Tensors that exist already."""

    def __init__(self, samples: list[Any]) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> Any:
        return self.samples[index]


class Rows:
    """Rows of tensors, each taken by an index."""

    def __init__(self, *tensors: Any) -> None:
        self.tensors = tensors

    def __len__(self) -> int:
        return len(self.tensors[0])

    def __getitem__(self, index: int) -> Any:
        return tuple([each[index] for each in self.tensors])


def decoded(torch: Any) -> Any:
    return Decoded(torch, 1024)


def tiny_rows(torch: Any) -> Any:
    return Rows(torch.randn(12_800, 4), torch.arange(12_800))


def tiny_tensors(torch: Any) -> Any:
    return torch.utils.data.TensorDataset(torch.randn(12_800, 4), torch.arange(12_800))


def tiny_stored(torch: Any) -> Any:
    return Stored([(torch.randn(4), torch.tensor(nr % 10)) for nr in range(12_800)])


def big(torch: Any) -> Any:
    return Stored([torch.randn(3, 224, 224) for _ in range(128)] * 2)


# Name, data set, batch size, whether there are workers and whether they stay, the bar.
ROWS: list[tuple[str, Callable[[Any], Any], int, bool, bool, float | None]] = [
    ("decoded 64x64x3, 2 workers", decoded, 64, True, True, BAR),
    ("decoded 64x64x3, in process", decoded, 64, False, False, BAR),
    ("tiny stored tensors, 2 workers", tiny_stored, 64, True, True, BAR),
    ("tiny stored tensors, in process", tiny_stored, 64, False, False, BAR),
    ("tiny TensorDataset, 2 workers", tiny_tensors, 64, True, True, BAR),
    ("tiny TensorDataset, in process", tiny_tensors, 64, False, False, BAR),
    ("tiny rows by index, 2 workers", tiny_rows, 64, True, True, None),
    ("tiny rows by index, in process", tiny_rows, 64, False, False, None),
    ("tiny stored tensors, new workers", tiny_stored, 64, True, False, None),
    ("big 3x224x224, 2 workers", big, 32, True, True, BAR),
    ("big 3x224x224, in process", big, 32, False, False, None),
]


class Feeder:
    """The loaders of one library, made on first use."""

    def __init__(self, library: str) -> None:
        self.torch: Any = importlib.import_module(library)
        self.data: Any = importlib.import_module(f"{library}.utils.data")
        self.ready: dict[int, Any] = {}

    def loader(self, row: int) -> Any:
        if row not in self.ready:
            _, dataset, batch_size, workers, stay, _ = ROWS[row]
            options: dict[str, Any] = {}
            if workers:
                options = {"num_workers": WORKERS, "persistent_workers": stay}
            made = self.data.DataLoader(dataset(self.torch), batch_size, shuffle=True, **options)
            self.ready = {row: made}  # one at a time: idle workers of another would only disturb
            self.one_pass(made)
        return self.ready[row]

    def one_pass(self, loader: Any) -> float:
        """Return the samples per second of a pass; each batch is read, as a training step would."""
        start = time.perf_counter()
        count = 0
        for batch in loader:
            first = batch[0] if isinstance(batch, list) else batch
            count += first.shape[0]
            first.sum()
        return count / (time.perf_counter() - start)

    def serve(self) -> None:
        for line in sys.stdin:
            print(json.dumps(self.one_pass(self.loader(int(line)))), flush=True)


class Process:
    """A process that measures one library on request."""

    def __init__(self, library: str) -> None:
        command = [sys.executable, __file__, "--serve", library]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def measure(self, row: int) -> float:
        if self.process.stdin is None or self.process.stdout is None:
            raise RuntimeError("the process was started without pipes")
        print(row, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the process ended (its message is above)")
        return float(json.loads(line))

    def stop(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait()


def compare(libraries: Sequence[str], rows: list[int], rounds: int, passes: int) -> dict[str, Any]:
    """Return for each row the speeds and their ratio, medians over all neighbouring passes."""
    pairs: dict[int, list[tuple[float, float]]] = {row: [] for row in rows}
    for nr in range(rounds):
        print(f"round {nr + 1} of {rounds}", file=sys.stderr)
        processes = [Process(library) for library in libraries]
        try:
            for row in rows:
                for _ in range(passes):
                    candidate, reference = [each.measure(row) for each in processes]
                    pairs[row].append((candidate, reference))
        finally:
            for process in processes:
                process.stop()
    return {
        ROWS[row][0]: {
            "candidate": statistics.median(a for a, _ in found),
            "reference": statistics.median(b for _, b in found),
            "ratio": statistics.median(a / b for a, b in found),
            "bar": ROWS[row][-1],
        }
        for row, found in pairs.items()
    }


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Samples per second of a DataLoader against PyTorch's (above 1: taper wins).",
        epilog="exit code: 0, or with --check 1 if a bar is missed",
    )
    parser.add_argument("--candidate", default="taper", help="library to judge (default: taper)")
    parser.add_argument("--reference", default="torch", help="what to divide by (default: torch)")
    parser.add_argument("--only", metavar="TEXT", default="", help="rows whose name contains TEXT")
    parser.add_argument("--rounds", type=int, default=3, help="fresh processes (default: 3)")
    parser.add_argument("--passes", type=int, default=5, help="passes a round (default: 5)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    parser.add_argument("--serve", metavar="LIBRARY", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    options = parse(argv)
    if options.serve:
        Feeder(options.serve).serve()
        return 0
    rows = [number for number, row in enumerate(ROWS) if options.only in row[0]]
    libraries = (options.candidate, options.reference)
    found = compare(libraries, rows, options.rounds, options.passes)
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        print(f"{'samples per second':<34}{libraries[0]:>10}{libraries[1]:>10}  ratio")
        for name, row in found.items():
            verdict = ""
            if row["bar"] is not None:
                passed = "pass" if row["ratio"] >= row["bar"] else "FAIL"
                verdict = f"   bar: >= {row['bar']}   {passed}"
            speeds = f"{row['candidate']:>10.0f}{row['reference']:>10.0f}"
            print(f"{name:<34}{speeds}  {row['ratio']:5.2f}{verdict}")
    missed = any(row["bar"] is not None and row["ratio"] < row["bar"] for row in found.values())
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
