"""Sobol's sequences: direction numbers, steps and scrambling, on arrays.

A coordinate has 30 numbers v_1 ... v_30.  The point with number n + 1 is the one with number n
combined, by exclusive or, with the v of the lowest zero bit of n (Antonov and Saleev).  The v come
from a primitive polynomial of degree s over two elements, by the recurrence

    m_i = 2 c_1 m_{i-1} ^ 4 c_2 m_{i-2} ^ ... ^ 2^s m_{i-s} ^ m_{i-s},   v_i = m_i 2^(30-i)

whose first s numbers are free; those of Joe and Kuo (2008) keep pairs of coordinates apart.
Polynomials are computed here, in their order.
"""

from __future__ import annotations

import base64
import functools

import numpy as np

from taper.sampling.sobol_numbers import INITIAL

BITS = 30
MOST = 21201  # coordinates that PyTorch has
KNOWN = 1111  # coordinates whose first numbers are here: all polynomials of degree 13 and less
_HIGHEST_DEGREE = 13


def _times_x(value: int, polynomial: int, degree: int) -> int:
    value <<= 1
    return value ^ polynomial if value >> degree else value


def _power_of_x(exponent: int, polynomial: int, degree: int) -> int:
    """Return x^exponent modulo a polynomial, all as bits."""
    result = 1
    for bit in bin(exponent)[2:]:
        square = 0
        for place in range(degree - 1, -1, -1):  # result * result
            square = _times_x(square, polynomial, degree)
            if result >> place & 1:
                square ^= result
        result = _times_x(square, polynomial, degree) if bit == "1" else square
    return result


def _prime_factors(number: int) -> list[int]:
    found, factor = [], 2
    while factor * factor <= number:
        if number % factor == 0:
            found.append(factor)
            while number % factor == 0:
                number //= factor
        factor += 1
    return found + [number] * (number > 1)


@functools.cache
def primitive_polynomials(degree: int) -> list[int]:
    """Return the primitive polynomials of a degree, as bits: x^3 + x + 1 is 11."""
    order = (1 << degree) - 1
    if degree == 1:
        return [3]
    parts = [order // factor for factor in _prime_factors(order)]
    return [
        each
        for each in range((1 << degree) + 1, 2 << degree, 2)
        if _power_of_x(order, each, degree) == 1
        and all(_power_of_x(part, each, degree) != 1 for part in parts)
    ]


@functools.cache
def _first_numbers() -> list[list[int]]:
    """Return the first numbers of coordinates from the second one on."""
    bits = int.from_bytes(base64.b85decode("".join(INITIAL.split())), "little")
    rows = []
    for degree in range(1, _HIGHEST_DEGREE + 1):
        for _ in primitive_polynomials(degree):
            row = []
            for length in range(degree):  # the number below 2^(length + 1) is odd
                row.append((bits & ((1 << length) - 1)) << 1 | 1)
                bits >>= length
            rows.append(row)
    return rows


def direction_numbers(dimension: int) -> np.ndarray:
    """Return the numbers v of the first coordinates: an array of shape (dimension, 30)."""
    rows = [[1 << (BITS - 1 - place) for place in range(BITS)]]
    degree, polynomials = 1, list(primitive_polynomials(1))
    first = _first_numbers() if dimension > 1 else []
    for number in range(dimension - 1):
        while not polynomials:
            degree += 1
            polynomials = list(primitive_polynomials(degree))
        rows.append(_continued(first[number], polynomials.pop(0), degree))
    return np.array(rows[:dimension], dtype=np.int64)


def _continued(first: list[int], polynomial: int, degree: int) -> list[int]:
    numbers = list(first)
    for place in range(degree, BITS):
        new = numbers[place - degree] ^ numbers[place - degree] << degree
        for step in range(1, degree):
            if polynomial >> (degree - step) & 1:
                new ^= numbers[place - step] << step
        numbers.append(new)
    return [number << (BITS - 1 - place) for place, number in enumerate(numbers)]


def _lowest_zero(number: int) -> int:
    return (~number & (number + 1)).bit_length() - 1


def advance(point: np.ndarray, directions: np.ndarray, start: int, count: int) -> np.ndarray:
    """Move `point` by `count` steps in place; return the points on the way, one in each row."""
    places = [_lowest_zero(start + number) for number in range(count)]
    steps = directions[:, places].T if count else np.zeros((0, len(point)), np.int64)
    passed = np.bitwise_xor.accumulate(np.concatenate([point[None], steps]), axis=0)[1:]
    if count:
        point[:] = passed[-1]
    return passed


def scrambled(directions: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """Return direction numbers times random lower triangular matrices of bits.

    Args:
        directions: the numbers, of shape (dimension, 30).
        matrices: bits of shape (dimension, 30, 30); the diagonals are taken as ones.
    """
    weights = 1 << np.arange(BITS - 1, -1, -1, dtype=np.int64)
    bits = (directions[:, :, None] >> np.arange(BITS - 1, -1, -1)) & 1  # highest first
    lower = np.tril(matrices, -1) | np.eye(BITS, dtype=np.int64)
    mixed = np.einsum("dpk,djk->djp", lower, bits) & 1
    return mixed @ weights
