"""The state of random numbers as users see it: generators, seeds, saved states as tensors.

`taper.random` is PyTorch's namespace of the same name.  The functions that draw are in
`ops.random`; the bits come from `sampling.generator`, which knows no Tensor.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from taper.device import device
from taper.device import device as Device
from taper.gpu.state import device_count, start
from taper.sampling import generator as generators
from taper.sampling.generator import initial_seed, seed
from taper.tensor import Tensor, wrap

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]

if TYPE_CHECKING:  # this one returns `default_generator`, of the class below

    def manual_seed(seed: int) -> Generator:
        """Begin the stream of `seed` in the default generator, and return the generator."""
        ...

else:
    from taper.sampling.generator import manual_seed


class Generator(generators.Generator):
    """A stream of random numbers with a seed of its own, number for number PyTorch's.

    >>> import taper
    >>> generator = taper.Generator().manual_seed(0)
    >>> taper.rand(2, generator=generator)
    tensor([0.4963, 0.7682])
    """

    __slots__ = ("__weakref__",)

    def __new__(cls, device: Any = None) -> Generator:
        """Make a generator of the CPU or, where there is one, of a GPU."""
        if device is not None and device_count() and Device(device).type == "cuda":
            cls = _CudaGenerator
        return object.__new__(cls)

    def get_state(self) -> Tensor:  # type: ignore[override]
        """Return the whole state as a tensor of 5056 bytes; PyTorch restores it, too.

        >>> import taper
        >>> taper.Generator().get_state().shape
        torch.Size([5056])
        """
        return wrap(super().get_state())

    def set_state(self, new_state: Tensor) -> Generator:  # type: ignore[override]
        """Go back to a state that `get_state` returned.

        >>> import taper
        >>> generator = taper.Generator()
        >>> state = generator.get_state()
        >>> first = taper.rand(2, generator=generator)
        >>> taper.equal(taper.rand(2, generator=generator.set_state(state)), first)
        True
        """
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        super().set_state(new_state._array)
        return self

    def clone_state(self) -> Generator:
        """Return a new, independent generator that continues from the same state.

        >>> import taper
        >>> taper.Generator().manual_seed(3).clone_state().initial_seed()
        3
        """
        return Generator().set_state(self.get_state())

    def __setstate__(self, state: tuple[int, None, Tensor]) -> None:  # type: ignore[override]
        self.set_state(state[2])


class _CudaGenerator(Generator):
    """A stream of random numbers of a GPU: a seed, and how many numbers are used up."""

    __slots__ = ("_philox",)

    def __init__(self, device: Any = None) -> None:
        start()
        from taper.gpu.random import Generator as Philox  # late: for programs with a GPU

        self._philox = Philox()

    @property
    def device(self) -> Device:
        """Where the numbers are drawn."""
        return Device("cuda", 0)

    def manual_seed(self, seed: int) -> Self:
        """Begin the stream of a seed."""
        self._philox.manual_seed(int(seed))
        return self

    def seed(self) -> int:
        """Begin a stream that nobody can foresee, and return its seed."""
        return self._philox.seed()

    def initial_seed(self) -> int:
        """Return the seed."""
        return self._philox.initial_seed()

    def get_state(self) -> Tensor:  # type: ignore[override]
        """Return seed and place as a tensor of 16 bytes on the CPU."""
        return wrap(np.frombuffer(self._philox.state(), np.uint8).copy())

    def set_state(self, new_state: Tensor) -> Generator:  # type: ignore[override]
        """Go back to a state that `get_state` returned."""
        self._philox.set_state(new_state._array.tobytes())
        return self

    def clone_state(self) -> Generator:
        """Return a new, independent generator that continues from the same state."""
        return Generator("cuda").set_state(self.get_state())

    def take(self, count: int) -> tuple[int, int]:
        """Return seed and place for a kernel whose threads use `count` numbers each."""
        return self._philox.take(count)


default_generator: Generator = Generator()
"""The generator of every random function that gets none."""

default_generator.seed()
generators.default_generator = default_generator


def get_rng_state() -> Tensor:
    """Return the state of the default generator.

    >>> import taper
    >>> taper.get_rng_state().dtype
    torch.uint8
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Put the default generator back into a state that `get_rng_state` returned.

    >>> import taper
    >>> state = taper.get_rng_state()
    >>> first = taper.rand(3)
    >>> taper.set_rng_state(state)
    >>> taper.equal(taper.rand(3), first)
    True
    """
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Sequence[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:
    """Let the default generator continue after the block as if it had drawn nothing there.

    >>> import taper
    >>> generator = taper.manual_seed(0)
    >>> with taper.random.fork_rng():
    ...     inside = taper.rand(1)
    >>> taper.equal(taper.rand(1), inside)
    True
    """
    device(device_type)  # raises unless it is a device
    if devices:
        raise NotImplementedError(
            "generators of other devices than the CPU are not provided: leave out `devices`"
        )
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
