"""Random numbers of the device: Philox 4x32-10, counted as PyTorch's CUDA generator counts."""

from __future__ import annotations

import secrets
import struct
import threading
from typing import Any

import numpy as np

from taper.autograd.detours import lead_through
from taper.gpu import state
from taper.gpu.array import CudaArray, empty, to_host
from taper.gpu.graphs import refuse_capture
from taper.gpu.texts import TYPES
from taper.gpu.world import meanings
from taper.sampling import continuous, discrete
from taper.sampling import generator as generators
from taper.sampling.generator import Generator as HostGenerator


class Generator:
    """A seed and how many numbers of each thread have been used."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seed, self._offset = 67280421310721, 0

    def manual_seed(self, seed: int) -> None:
        """Begin anew."""
        self._seed, self._offset = seed & 0xFFFFFFFFFFFFFFFF, 0

    def seed(self) -> int:
        """Begin somewhere."""
        self.manual_seed(secrets.randbits(53))
        return self._seed

    def initial_seed(self) -> int:
        """Return the seed."""
        return self._seed

    def take(self, count: int) -> tuple[int, int]:
        """Return seed and offset for a kernel whose threads use `count` numbers each."""
        with self._lock:
            offset = self._offset
            self._offset += (count + 3) // 4 * 4
        return self._seed, offset

    def start_of(self, numbers: int) -> tuple[int, int, Any]:
        """Return seed, offset and state as kernels take them; a graph reads them at its launch."""
        graph = state.capturing
        if graph is None:
            seed, offset = self.take(numbers)
            return _signed(seed), offset, 0
        draws = next((each for each in graph.before_launch if isinstance(each, Draws)), None)
        if draws is None:
            draws = Draws(self, graph.place((2,), np.dtype(np.int64)))
            graph.before_launch.append(draws)
        if draws.generator is not self:
            refuse_capture("two generators draw")
        return 0, draws.count(numbers), draws.array

    def state(self) -> bytes:
        """Return seed and offset as bytes."""
        return struct.pack("<QQ", self._seed, self._offset)

    def set_state(self, given: bytes) -> None:
        """Go on from a state."""
        if len(given) not in (8, 16):
            raise RuntimeError("RNG state is wrong size")
        self._seed = struct.unpack_from("<Q", given)[0]
        self._offset = struct.unpack_from("<Q", given, 8)[0] if len(given) == 16 else 0


class Draws:
    """The numbers that a graph draws: where they start is written before each launch."""

    def __init__(self, generator: Generator, array: Any) -> None:
        self.generator, self.total, self.array = generator, 0, array

    def count(self, numbers: int) -> int:
        """Return the place of so many numbers among all of the graph."""
        place = self.total
        self.total += (numbers + 3) // 4 * 4
        return place

    def __call__(self) -> None:
        seed, offset = self.generator.take(self.total)
        state.runtime.copy_in(self.array, np.array([_signed(seed), offset], np.int64))


default = Generator()


# --- filling arrays ------------------------------------------------------------------------------

_THREADS = 256
_UNIFORM, _NORMAL, _BELOW = 0, 1, 2


def _grid(count: int, each: int) -> tuple[int, int]:
    """How many blocks draw, and how many numbers a thread uses."""
    found = state.runtime.properties()
    most = found["multiProcessorCount"] * (found["maxThreadsPerMultiProcessor"] // _THREADS)
    blocks = min((count + _THREADS - 1) // _THREADS, most)
    return blocks, ((count - 1) // (_THREADS * blocks * each) + 1) * 4


def draw(out: Any, kind: int, one: float, other: float, generator: Any = None) -> Any:
    """Fill an array with numbers; NotImplemented if its dtype is beyond this."""
    kernels = state.runtime.kernels
    if kernels is None or out.dtype not in TYPES or out.dtype.kind not in "fV":
        return NotImplemented
    if not out.size:
        return out
    if not out.flags.c_contiguous:
        out[...] = draw(empty(out.shape, out.dtype), kind, one, other, generator)
        return out
    wide = out.dtype == np.float64
    each = 2 if wide else 4
    stored, computed = TYPES[out.dtype]
    function = kernels.named("philox", "draw", T=stored, C=computed, WIDE=int(wide), KIND=kind)
    blocks, numbers = _grid(out.size, each)
    start = (generator or default).start_of(numbers)
    args = (out, out.size, np.float64(one), np.float64(other), *start)
    kernels.launch(function, blocks, _THREADS, args)
    return out


def _signed(seed: int) -> int:
    return seed - (1 << 64) if seed >> 63 else seed


def dropout(array: Any, keep: float) -> Any:
    """Drop elements: the rest divided by `keep`, and which are kept; or NotImplemented."""
    kernels = state.runtime.kernels
    if kernels is None or array.dtype not in TYPES or not array.flags.c_contiguous:
        return NotImplemented
    if array.dtype.kind not in "fV" or not array.size or array.dtype == np.float64:
        return NotImplemented
    stored, computed = TYPES[array.dtype]
    out, mask = empty(array.shape, array.dtype), empty(array.shape, np.dtype(bool))
    function = kernels.named("philox", "dropout", T=stored, C=computed, WIDE=0, KIND=0)
    found = state.runtime.properties()
    most = found["multiProcessorCount"] * (found["maxThreadsPerMultiProcessor"] // _THREADS)
    blocks = min((array.size + _THREADS - 1) // _THREADS, most)
    numbers = ((array.size - 1) // (_THREADS * blocks * 4) + 1) * 4
    seed, offset, where = default.start_of(numbers)
    together = 4 if array.size % 4 == 0 else 2 if array.size % 2 == 0 else 1
    args = (out, mask, array, array.size, np.float64(keep), seed, offset, together, where)
    kernels.launch(function, blocks, _THREADS, args)
    return out, mask


# --- the library's draws -------------------------------------------------------------------------


def _drawn(kind: int) -> Any:
    """A handler that draws on the device where an array is there."""

    def handler(run: Any, out: Any, *args: Any, **options: Any) -> Any:
        if out.__class__ is not CudaArray:
            return run(out, *args, **options)
        one, other, generator = _arguments(kind, args, options)
        if isinstance(generator, HostGenerator) and not hasattr(generator, "take"):
            raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
        if isinstance(one, np.ndarray):  # a probability for each element
            found = NotImplemented
        else:
            found = draw(out, kind, one, other, generator)
        if found is NotImplemented:
            refuse_capture("numbers are drawn on the processor")
            given = (to_host(one), other)[: 1 if kind == _BELOW else 2]
            out[...] = run(np.empty(out.shape, out.dtype), *given)
        return out

    return handler


def _arguments(kind: int, args: Any, options: dict[str, Any]) -> tuple[float, float, Any]:
    names = (("low", "high"), ("mean", "std"), ("p",))[kind]
    defaults = ((0.0, 1.0), (0.0, 1.0), (0.5,))[kind]
    given = dict(zip((*names, "generator"), args, strict=False), **options)
    values = [given.get(name, value) for name, value in zip(names, defaults, strict=True)]
    return values[0], values[1] if len(values) > 1 else 0.0, given.get("generator")


def _dropped(run: Any, out: Any, p: float = 0.5, generator: Any = None) -> Any:
    """The factors of dropout; numbers as PyTorch's kernel of dropout draws them."""
    if out.__class__ is not CudaArray or not 0.0 < p < 1.0:
        return run(out, p, generator)
    found = dropout(empty(out.shape, out.dtype, 1), 1.0 - p)
    if found is NotImplemented:
        refuse_capture("numbers are drawn on the processor")
        out[...] = run(np.empty(out.shape, out.dtype), p, generator)
    else:
        out[...] = found[0]
    return out


def start() -> None:
    """Let the library's draws for arrays on the device be made there; take over the seed."""
    default.manual_seed(generators.default_generator.initial_seed())
    routes: dict[Any, Any] = {
        continuous.uniform_: _drawn(_UNIFORM),
        continuous.normal_: _drawn(_NORMAL),
        discrete.bernoulli_: _drawn(_BELOW),
        discrete.dropout_mask_: _dropped,
        generators.manual_seed: _seeded,
    }
    lead_through("devices", routes)
    meanings.update({each: each for each in routes})  # on the device, too, by these routes


def _seeded(run: Any, seed: int) -> Any:
    found = run(seed)
    default.manual_seed(int(seed))
    return found


state.at_start.append(start)
