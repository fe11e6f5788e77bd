"""Damaged and hostile files by the thousand: each must load or be refused, soon and in bounds.

    python tests/files/fuzz.py --count 100000 [--seed 1] [--keep folder]

Runs in a process of its own: memory is limited to a little more than it has at the start, and a
file that takes longer than ten seconds ends it.  A crash, a hang, an undocumented kind of error or
too much memory is a failure; `--keep` stores the file that caused it.
"""

from __future__ import annotations

import argparse
import collections
import io
import itertools
import os
import pickletools
import random
import resource
import signal
import struct
import tempfile
import time
import warnings
import zipfile
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np

import taper
from taper import files, nn, optim, serialization
from taper.files.zip_writer import ZipWriter

REFUSALS: dict[str, tuple[type[Exception], ...]] = {
    "pt": (UnpicklingError, RuntimeError, ValueError, EOFError),
    "safetensors": (files.SafetensorError, RuntimeError),
    "npz": (RuntimeError, ValueError, TypeError),
}
SPARE_BYTES = 1 << 29
SECONDS = 10
NUMBERS = [0, 1, 2, 3, 4, 7, 8, 63, 64, 127, 128, 255, 256, 0x7FFF, 0xFFFF, 1 << 31, (1 << 32) - 1]
NUMBERS += [(1 << 63) - 1, 1 << 63, (1 << 64) - 1]
NAMES = [
    b"collections\nOrderedDict\n",
    b"collections\nCounter\n",
    b"__builtin__\nset\n",
    b"__builtin__\nbytearray\n",
    b"__builtin__\ncomplex\n",
    b"_codecs\nencode\n",
    b"torch\nSize\n",
    b"torch\ndevice\n",
    b"torch\nFloatStorage\n",
    b"torch\nBoolStorage\n",
    b"torch.storage\nUntypedStorage\n",
    b"torch\nfloat32\n",
    b"torch\nbool\n",
    b"torch._utils\n_rebuild_tensor_v2\n",
    b"torch._utils\n_rebuild_tensor_v3\n",
    b"torch._utils\n_rebuild_parameter\n",
    b"torch._tensor\n_rebuild_from_type_v2\n",
    b"torch.serialization\n_get_layout\n",
    b"numpy\ndtype\n",
    b"numpy\nndarray\n",
    b"numpy._core.multiarray\n_reconstruct\n",
    b"numpy._core.multiarray\nscalar\n",
    b"os\nsystem\n",
]


# --- honest files to begin with --------------------------------------------------------------


def values() -> list[Any]:
    base = taper.arange(24.0).reshape(4, 6)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    adam = optim.Adam(model.parameters())
    model(taper.ones(2, 3)).sum().backward()
    adam.step()
    noted = taper.ones(2)
    noted.note = "x"
    return [
        [base, base[1:3, ::2], base.t(), {1, 2}, b"bytes", 1 + 2j, taper.Size([2]), taper.float16],
        {"model": model.state_dict(), "optimizer": adam.state_dict()},
        {"flags": taper.tensor([True, False]), "wide": taper.tensor([1, 2], dtype=taper.uint32)},
        [nn.Parameter(taper.ones(2)), noted, taper.tensor([1 + 2j]).conj(), taper.zeros(0)],
        [np.arange(3.0), np.float32(2), np.array(["a", "b"]), collections.Counter("abb")],
    ]


def corpus() -> list[tuple[str, bytes]]:
    """Return (format, content) of honest files."""
    found = []
    for value in values():
        for is_new in (True, False):
            file = io.BytesIO()
            taper.save(value, file, _use_new_zipfile_serialization=is_new)
            found.append(("pt", file.getvalue()))
    tensors = {"a": taper.arange(6.0).reshape(2, 3), "b": taper.tensor([True, False])}
    tensors["c"] = taper.ones(2, dtype=taper.bfloat16)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        files.save_safetensors(tensors, path, {"format": "pt"})
        found.append(("safetensors", path.read_bytes()))
        del tensors["c"]
        files.save_npz(tensors, path)
        found.append(("npz", path.read_bytes()))
        with open(path, "wb") as packed:
            np.savez_compressed(packed, a=np.zeros((30, 30)), b=np.asfortranarray(np.eye(3)))
        found.append(("npz", path.read_bytes()))
    return found


# --- damage ----------------------------------------------------------------------------------


def damaged(rng: random.Random, content: bytes) -> bytes:
    """Return bytes changed, cut, repeated or replaced by numbers that matter."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        place = rng.randrange(len(data) + 1)
        length = rng.choice((1, 2, 4, 8, 30, 100))
        kind = rng.randrange(7)
        if kind == 0 and data:
            data[place % len(data)] ^= 1 << rng.randrange(8)
        elif kind == 1 and data:
            data[place % len(data)] = rng.randrange(256)
        elif kind == 2:
            del data[place : place + length]
        elif kind == 3:
            data[place:place] = data[place : place + length] * rng.choice((1, 2, 50))
        elif kind == 4:
            form = rng.choice("BHIQ")
            number = rng.choice(NUMBERS) & ((1 << 8 * struct.calcsize(form)) - 1)
            packed = struct.pack("<" + form, number)
            data[place : place + len(packed)] = packed
        elif kind == 5:
            other = rng.randrange(len(data) + 1)
            data[place : place + length] = data[other : other + length]
        else:
            data[place:] = b"" if rng.random() < 0.5 else data[place:] + rng.randbytes(length)
    return bytes(data)


def tokens(pickle: bytes) -> list[bytes]:
    """Return the opcodes of a pickle, each with its argument."""
    places = [place for _, _, place in pickletools.genops(pickle)] + [len(pickle)]
    return [pickle[a:b] for a, b in itertools.pairwise(places)]


def token(rng: random.Random) -> bytes:
    """Return a random opcode, mostly one that is understood."""
    number = rng.choice(NUMBERS)
    simple = b"()]}NRQabestu.\x81\x85\x86\x87\x88\x89\x8f"
    kind = rng.randrange(12)
    if kind < 5:
        return bytes([rng.choice(simple)])
    if kind == 5:
        return b"c" + rng.choice(NAMES)
    if kind == 6:
        return rng.choice((b"h", b"q")) + bytes([rng.randrange(40)])
    if kind == 7:
        return b"K" + bytes([rng.choice((0, 1, 2, 3, 4, 255))])
    if kind == 8:
        return b"\x8a\x09" + (number & ((1 << 72) - 1)).to_bytes(9, "little")
    if kind == 9:
        text = rng.choice((b"storage", b"0", b"cpu", b"cuda:0", b"latin1", b"conj", b"", b"f4"))
        return b"X" + struct.pack("<I", len(text)) + text
    if kind == 10:
        return b"J" + struct.pack("<I", number & 0xFFFFFFFF)
    return bytes([rng.randrange(256)])


def rewritten(rng: random.Random, pickle: bytes) -> bytes:
    """Return a pickle whose program was changed opcode by opcode."""
    program = tokens(pickle)
    for _ in range(rng.choice((1, 1, 2, 4, 10))):
        place = rng.randrange(len(program) + 1)
        kind = rng.randrange(4)
        if kind == 0:
            program[place : place + 1] = [token(rng)]
        elif kind == 1:
            program.insert(place, token(rng))
        elif kind == 2:
            del program[place : place + rng.choice((1, 1, 2, 5))]
        else:
            other = rng.randrange(len(program) + 1)
            program[place:place] = program[other : other + rng.choice((1, 3, 10))] * rng.choice(
                (1, 1, 100)
            )
    return b"".join(program)


def repacked(rng: random.Random, content: bytes) -> bytes:
    """Return an archive with right checksums and a changed pickle, or changed records."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        records = [(name, archive.read(name)) for name in archive.namelist()]
    file = io.BytesIO()
    writer = ZipWriter(file.write)
    for name, data in records:
        is_pickle = name.endswith("data.pkl")
        if is_pickle and rng.random() < 0.8:
            data = rewritten(rng, data) if rng.random() < 0.8 else damaged(rng, data)
        elif not is_pickle and rng.random() < 0.1:
            data = damaged(rng, data)
        if rng.random() < 0.98:
            writer.add(name, data)
    writer.finish()
    return file.getvalue()


def old_rewritten(rng: random.Random, content: bytes) -> bytes:
    """Return a file of the old format whose main pickle was changed."""
    file = io.BytesIO(content)
    starts = []
    for _ in range(5):
        starts.append(file.tell())
        list(pickletools.genops(file))
    which = rng.choice((0, 1, 2, 3, 3, 3, 3, 4))
    ends = [*starts[1:], file.tell()]
    part = rewritten(rng, content[starts[which] : ends[which]])
    return content[: starts[which]] + part + content[ends[which] :]


def mutated(rng: random.Random, kind: str, content: bytes) -> bytes:
    if kind != "safetensors" and content.startswith(b"PK") and rng.random() < 0.6:
        return repacked(rng, content)
    if kind == "pt" and not content.startswith(b"PK") and rng.random() < 0.6:
        return old_rewritten(rng, content)
    return damaged(rng, content)


# --- running ---------------------------------------------------------------------------------


def load(kind: str, content: bytes, path: Path) -> Any:
    path.write_bytes(content)
    if kind == "safetensors":
        return files.load_safetensors(path)
    if kind == "npz":
        return files.load_npz(path)
    if content.startswith(b"PK") and len(content) % 3 == 0:
        return taper.load(path, map_location="cpu", mmap=True)
    return taper.load(path, map_location="cpu")


def touch(value: Any) -> None:
    """Read all elements of the tensors in a loaded value, and write to them."""
    waiting, seen, budget = [value], set(), 10_000
    while waiting and budget:
        budget -= 1
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, taper.Tensor):
            if each.numel() < 10**6:
                each.detach().clone().zero_()
                repr(each.shape)
        elif isinstance(each, dict):
            waiting.extend(list(each.values())[:1000])
        elif isinstance(each, (list, tuple)):
            waiting.extend(each[:1000])


def limit_memory() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + SPARE_BYTES, resource.RLIM_INFINITY))


def run(count: int, seed: int, keep: Path | None) -> collections.Counter[str]:
    """Load `count` mutated files; return how they ended."""
    seeds, outcomes, slowest = corpus(), collections.Counter[str](), 0.0
    allowed = [np.ndarray, np.dtype, np.empty(0).__reduce__()[0], np.float64(0).__reduce__()[0]]
    serialization.add_safe_globals(allowed)
    for kind, content in seeds:
        with tempfile.TemporaryDirectory() as folder:
            load(kind, content, Path(folder) / "file")
    limit_memory()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        for number in range(count):
            rng = random.Random(f"{seed}/{number}")
            kind, content = rng.choice(seeds)
            content = mutated(rng, kind, content)
            started = time.process_time()
            signal.alarm(SECONDS)
            try:
                touch(load(kind, content, path))
                outcomes["loaded"] += 1
            except REFUSALS[kind] as error:
                if isinstance(error, RecursionError):
                    raise
                outcomes[type(error).__name__] += 1
            except BaseException as error:
                if keep is not None:
                    (keep / f"{seed}-{number}.{kind}").write_bytes(content)
                print(f"file {number} of seed {seed}: {type(error).__name__}: {error}")
                raise
            finally:
                signal.alarm(0)
            slowest = max(slowest, time.process_time() - started)
    print(f"slowest file: {slowest:.3f} s of processor time")
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=None)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    os.environ.setdefault("OMP_NUM_THREADS", "1")

    def too_slow(*_: Any) -> None:
        raise TimeoutError(f"a file took longer than {SECONDS} seconds")

    signal.signal(signal.SIGALRM, too_slow)
    for name, number in run(options.count, options.seed, options.keep).most_common():
        print(f"{number:8d} {name}")


if __name__ == "__main__":
    main()
