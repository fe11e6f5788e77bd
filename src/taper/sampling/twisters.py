"""The Mersenne twister (MT19937), natively or NumPy's: a stream of 32-bit outputs from a seed.

Owns where the 624 words and the place among them lie in memory. Knows NumPy arrays and the native
module; must not know PyTorch's states, nor what is made of the outputs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.arrays.native import native

WORDS = 624

_DISTRIBUTIONS = "words uniform trials integers permutation normal pairs".split()
_DRAWS: dict[str, Any] = {name: getattr(native, f"draw_{name}", None) for name in _DISTRIBUTIONS}


class NativeTwister:
    """Words in an array that native code draws from (`native/draws.c`)."""

    __slots__ = ("_array",)

    def __init__(self) -> None:
        # After the words: the place of the next one, and whether somebody draws at the moment.
        self._array = np.zeros(WORDS + 2, np.uint32)

    def seed(self, seed: int) -> None:
        """Begin the stream of the low 32 bits of `seed`, as the reference implementation does."""
        native.seed_twister(self._array, seed)

    def outputs(self, count: int, bits: int) -> np.ndarray:
        """Return the next numbers of 32 or 64 bits, as uint64."""
        values = np.empty(count, np.uint64)
        native.draw_words(self._array, values, bits)
        return values

    def fill(self, distribution: str, out: np.ndarray, parameters: tuple[Any, ...]) -> Any:
        """Fill `out` by the native draw of that name; False, with nothing drawn, if it does not."""
        return _DRAWS[distribution](self._array, out, *parameters)

    def get(self) -> tuple[np.ndarray, int]:
        """Return the words and the place of the next one."""
        array = np.array(self._array)
        return array[:WORDS], int(array[WORDS])

    def set(self, words: np.ndarray, place: int) -> None:
        """Continue from there."""
        native.set_twister(self._array, words, place)


class NumPyTwister:
    """NumPy's MT19937 behind the same methods."""

    __slots__ = ("_engine",)

    def __init__(self) -> None:
        self._engine: Any = np.random.MT19937(0)

    def seed(self, seed: int) -> None:
        """Begin the stream of the low 32 bits of `seed`, as the reference implementation does."""
        self._engine._legacy_seeding(seed & 0xFFFFFFFF)

    def outputs(self, count: int, bits: int) -> np.ndarray:
        """Return the next numbers of 32 or 64 bits, as uint64.

        NumPy has a fast call for this type only. A number of 64 bits is two outputs, the high word
        first.
        """
        if bits == 32:
            values: np.ndarray = self._engine.random_raw(count)
            return values
        words = self._engine.random_raw(2 * count)
        high: np.ndarray = words[0::2] << np.uint64(32)
        high |= words[1::2]
        return high

    def fill(self, distribution: str, out: np.ndarray, parameters: tuple[Any, ...]) -> Any:
        """Refuse: nothing is drawn natively."""
        return False

    def get(self) -> tuple[np.ndarray, int]:
        """Return the words and the place of the next one."""
        state = self._engine.state["state"]
        return state["key"], int(state["pos"])

    def set(self, words: np.ndarray, place: int) -> None:
        """Continue from there."""
        state = {"key": words, "pos": place}
        self._engine.state = {"bit_generator": "MT19937", "state": state}


Twister = NativeTwister | NumPyTwister


def new_twister() -> Twister:
    """Return the native one if there is a native module."""
    return NumPyTwister() if native is None else NativeTwister()
