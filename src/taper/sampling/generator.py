"""PyTorch's source of random bits on the CPU: the generator and the process-wide default one.

Owns seeds, the normal number kept for later and the layout of a saved state; the bits come from
``twisters``. Knows NumPy arrays; must not know Tensor nor distributions (those stand beside it).

I1  The 32-bit outputs are handed out one after the other: whatever is drawn, and in whatever
    portions, the next call continues exactly where the last one stopped.
I2  A saved state has PyTorch's bytes, so that each library restores what the other saved.
"""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np

from taper.device import CPU, device
from taper.sampling.twisters import WORDS, Twister, new_twister

DEFAULT_SEED = 67280421310721
"""What a new generator is seeded with; the default generator starts from the system's entropy."""

_STATE = np.dtype(
    [
        ("seed", "<u8"),
        ("left", "<i4"),
        ("seeded", "<i4"),
        ("next", "<u8"),
        ("words", "<u8", WORDS),
        ("normal_x", "<f8"),
        ("normal_y", "<f8"),
        ("normal_rho", "<f8"),
        ("normal_is_valid", "<i4"),
        ("unused", "<i4"),
        ("float_normal", "<f4"),
        ("float_normal_is_valid", "u1"),
        ("padding", "u1", 3),
    ]
)


class Generator:
    """A stream of random numbers with a seed of its own, number for number PyTorch's.

    States are NumPy arrays of bytes here; the modules above turn them into Tensors.

    >>> from taper.sampling.generator import Generator
    >>> Generator().manual_seed(5).initial_seed()
    5
    """

    __slots__ = ("_changes", "_engine", "_float_normal", "_fresh", "_seed", "next_normal")

    next_normal: float | None
    """The second normal of a pair whose first one alone was needed."""

    def __init__(self, device: Any = None) -> None:
        _check_device(device)
        self._engine: Twister | None = None
        self._changes = 0
        self._start(DEFAULT_SEED)

    @property
    def _twister(self) -> Twister:
        """Return the twister, made at the first draw: importing numpy.random takes 15 ms."""
        if self._engine is None:
            self._engine = new_twister()
            self._engine.seed(self._seed)
        return self._engine

    @property
    def stamp(self) -> tuple[Any, ...]:
        """Return a value that changes whenever the state does; reading the state takes 4 us."""
        return self._changes, self.next_normal

    def _start(self, seed: int) -> None:
        self._changes += 1
        self._seed = seed
        if self._engine is not None:
            self._engine.seed(seed)
        # PyTorch's saved state tells "seeded, nothing drawn" from "all words used"; a twister
        # does not.
        self._fresh = True
        self.next_normal = None
        # PyTorch saves and restores this field, but nothing on the CPU reads it.
        self._float_normal: float | None = None

    @property
    def device(self) -> device:
        """Where the numbers are made: always the CPU.

        >>> from taper.sampling.generator import Generator
        >>> Generator().device
        device(type='cpu')
        """
        return CPU

    def manual_seed(self, seed: int) -> Self:
        """Begin the stream of `seed`, which may be any 64-bit integer, and return the generator.

        Only the low 32 bits choose the stream; a negative seed is taken modulo ``2**64``.

        >>> from taper.sampling.generator import Generator
        >>> Generator().manual_seed(-1).initial_seed() == 2**64 - 1
        True
        """
        if not isinstance(seed, int) or isinstance(seed, bool):
            if isinstance(seed, np.integer):
                raise TypeError("an integer is required")
            kind = type(seed)
            prefix = "numpy." if kind.__module__ == "numpy" else ""
            raise RuntimeError(f"manual_seed expected a long, but got {prefix}{kind.__name__}")
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self._start(seed % 2**64)
        return self

    def seed(self) -> int:
        """Begin the stream of a seed taken from the system's entropy, and return that seed.

        >>> from taper.sampling.generator import Generator
        >>> generator = Generator()
        >>> generator.seed() == generator.initial_seed()
        True
        """
        self._start(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """Return the seed the stream began with.

        >>> from taper.sampling.generator import Generator
        >>> Generator().initial_seed()
        67280421310721
        """
        return self._seed

    def get_state(self) -> np.ndarray:
        """Return the whole state as 5056 bytes in PyTorch's layout.

        >>> from taper.sampling.generator import Generator
        >>> Generator().get_state().shape
        (5056,)
        """
        words, place = self._twister.get()
        packed = np.zeros(1, _STATE)
        packed["seed"] = self._seed
        packed["seeded"] = 1
        packed["left"] = WORDS + 1 - place
        packed["next"] = 0 if self._fresh else place
        packed["words"] = words
        if self.next_normal is not None:
            packed["normal_y"], packed["normal_is_valid"] = self.next_normal, 1
        if self._float_normal is not None:
            packed["float_normal"], packed["float_normal_is_valid"] = self._float_normal, 1
        return packed.view(np.uint8)

    def set_state(self, new_state: np.ndarray) -> Generator:
        """Go back to a state that `get_state` of either library gave.

        >>> from taper.sampling.generator import Generator
        >>> first, second = Generator().manual_seed(1), Generator()
        >>> second.set_state(first.get_state()).initial_seed()
        1
        """
        if not isinstance(new_state, np.ndarray):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if new_state.size != _STATE.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {_STATE.itemsize} but found the input "
                f"RNG state size to be {new_state.size}"
            )
        packed = np.ascontiguousarray(new_state).reshape(-1).view(_STATE)[0]
        left, following = int(packed["left"]), int(packed["next"])
        if not packed["seeded"] or not 0 < left <= WORDS or following > WORDS:
            raise RuntimeError("Invalid mt19937 state")
        self._changes += 1
        place = WORDS if left == 1 else following
        self._twister.set(packed["words"].astype(np.uint32), place)
        self._seed = int(packed["seed"])
        self._fresh = left == 1 and following == 0
        self.next_normal = float(packed["normal_y"]) if packed["normal_is_valid"] else None
        has_float = packed["float_normal_is_valid"]
        self._float_normal = float(packed["float_normal"]) if has_float else None
        return self

    def clone_state(self) -> Generator:
        """Return a new, independent generator that continues from the same state.

        >>> from taper.sampling.generator import Generator
        >>> Generator().manual_seed(3).clone_state().initial_seed()
        3
        """
        return Generator().set_state(self.get_state())

    def get_offset(self) -> int:
        """Refused: only generators of accelerators count an offset."""
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset: int) -> Generator:
        """Refused: only generators of accelerators count an offset."""
        raise RuntimeError("CPU Generator does not use offset")

    def fill(self, distribution: str, out: np.ndarray, *parameters: Any) -> Any:
        """Fill `out` by the native draw of that name; False, with nothing drawn, if it does not."""
        if out.size:
            self._fresh = False
            self._changes += 1
        twister = self._engine or self._twister
        return twister.fill(distribution, out, parameters)

    def _will_draw(self, count: int) -> None:
        if count:
            self._fresh = False
            self._changes += 1

    def random32(self, count: int) -> np.ndarray:
        """Return the next `count` outputs of 32 bits, each in an element of uint64."""
        self._will_draw(count)
        return self._twister.outputs(count, 32)

    def random64(self, count: int) -> np.ndarray:
        """Return the next `count` numbers of 64 bits: two outputs each, the high word first."""
        self._will_draw(count)
        return self._twister.outputs(count, 64)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (CPU,), (self._seed, None, self.get_state())

    def __setstate__(self, state: tuple[int, None, np.ndarray]) -> None:
        self.set_state(state[2])

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {id(self):#x}>"


_OTHER_DEVICES = {
    "cuda": "Cannot get CUDA generator without ATen_cuda library.",
    "xpu": "Cannot get XPU generator without ATen_xpu library.",
    "mps": "Cannot execute getNewGenerator() without MPS backend.",
    "mtia": "Cannot execute getNewGenerator() without MTIA backend.",
    "meta": "META device type not an accelerator.",
}


def _check_device(given: Any) -> None:
    if given is None or given is CPU:
        return
    if not isinstance(given, (device, str)) and type(given) is not int:
        raise TypeError(
            "Generator(): argument 'device' (position 1) must be torch.device, "
            f"not {type(given).__name__}"
        )
    kind = device(given).type
    if kind != "cpu":
        raise RuntimeError(_OTHER_DEVICES.get(kind, "Backend doesn`t support getNewGenerator()"))


default_generator = Generator()
"""The generator of every random function that gets none."""

default_generator.seed()


def manual_seed(seed: Any) -> Generator:
    """Start the default random number generator afresh, so that draws can be repeated.

    The same seed gives the numbers that PyTorch draws on the CPU.

    Args:
        seed: an integer from -2⁶³ to 2⁶⁴ - 1, or what `int` turns into one.

    Returns: the default Generator.

    Example:
        >>> import taper
        >>> generator = taper.manual_seed(7)
        >>> taper.initial_seed()
        7
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seed the default generator from the system's entropy, and return the seed.

    >>> from taper.sampling.generator import initial_seed, seed
    >>> seed() == initial_seed()
    True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """Return the seed of the default generator.

    >>> from taper.sampling.generator import initial_seed, manual_seed
    >>> generator = manual_seed(0)
    >>> initial_seed()
    0
    """
    return default_generator.initial_seed()
