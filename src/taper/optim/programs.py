"""Update rules written down as programs, which the native module runs over arrays in one pass.

A rule (see `update`) is called once with an `ops` that notes what it is asked to compute, instead
of computing it.  What comes out depends on which coefficients are in use and on nothing else, so
it serves all later steps.  The results equal those of NumPy, to the bit.

Owns: the notation, and which rule has which program.  A rule that does more than call
the functions of `ops` has none, and runs with NumPy.

After its first call a rule that has a program does not run any more, so a breakpoint in it is dead;
with `taper.optim.programs.live_rules = True` it runs at every step, with the same results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from taper.arrays.native import native
from taper.optim.update import Part

# The operations, numbered as in native/rules.c.
_OPERATIONS = (
    "add",
    "subtract",
    "multiply",
    "divide",
    "negative",
    "sqrt",
    "absolute",
    "maximum",
    "minimum",
    "greater",
    "less",
    "where",
)
_SPARES = 3

# Whether rules run themselves where the native module would run their programs.
live_rules = False


class Program(NamedTuple):
    """A rule for `native.run_rule`."""

    instructions: bytes
    constants: Callable[[Any], tuple[Any, ...]]  # of the coefficients of a step
    temporaries: int


@dataclass(frozen=True)
class _Register:
    """Stand for an array in a rule that is written down; has no operators of its own."""

    kind: str  # "column", "constant" or "temporary"
    number: int


class _Notes:
    """Write down what a rule asks for: the `ops` of a rule."""

    def __init__(self, paths: dict[int, str], dtype: np.dtype) -> None:
        self.paths = paths  # of the coefficients, by identity
        self.dtype = dtype
        self.constants: list[str | np.ndarray] = []
        self.temporaries = _SPARES
        self.lines: list[tuple[int, list[_Register]]] = []

    def operand(self, value: Any) -> _Register:
        """Return the register of something that is computed with."""
        if isinstance(value, _Register):
            return value
        constant: str | np.ndarray
        if isinstance(value, float):
            constant = np.array(value, self.dtype)
        else:
            constant = self.paths[id(value)]
            if constant in [each for each in self.constants if isinstance(each, str)]:
                return _Register("constant", self.constants.index(constant))
        self.constants.append(constant)
        return _Register("constant", len(self.constants) - 1)

    def note(self, name: str, operands: tuple[Any, ...], target: _Register | None) -> _Register:
        if target is None:
            target = _Register("temporary", self.temporaries)
            self.temporaries += 1
        values = [self.operand(each) for each in operands]
        self.lines.append((_OPERATIONS.index(name), [target, *values]))
        return target

    def written(self, columns: int) -> bytes:
        """Return the program; registers are numbered: columns, constants, temporaries."""
        first = {"column": 0, "constant": columns, "temporary": columns + len(self.constants)}
        code = bytearray()
        for operation, registers in self.lines:
            numbers = [first[each.kind] + each.number for each in registers]
            code += bytes([operation, *numbers, *[0] * (4 - len(numbers))])
        return bytes(code)


def _operation(name: str) -> Any:
    if name == "where":
        return lambda self, condition, left, right: self.note(name, (condition, left, right), None)
    if name in ("negative", "sqrt", "absolute"):
        return lambda self, value, out=None: self.note(name, (value,), out)
    return lambda self, left, right, out=None: self.note(name, (left, right), out)


for _name in _OPERATIONS:
    setattr(_Notes, _name, _operation(_name))


# By rule, number of columns, and what the coefficients are like.
_programs: dict[Any, Program | None] = {}


def run_natively(
    rule: Callable[..., Any], numbers: Any, columns: tuple[list[np.ndarray], ...]
) -> bool:
    """Update arrays (parameters, gradients, states...) in place; False if nothing was done.

    Each column has one array of each parameter. Arrays that are not contiguous, or in half
    precision, are left to NumPy; so are all where there is no native module.
    """
    is_here = not columns[0] or type(columns[0][0]) is np.ndarray
    if is_here and native is None:
        return False
    program = program_of(rule, numbers, len(columns))
    if program is None:
        return False
    code, constants, temporaries = program
    if not is_here:
        return on_device(code, columns, constants(numbers))
    done: bool = native.run_rule(code, columns, constants(numbers), temporaries)
    return done


def on_device(code: bytes, columns: tuple[list[Any], ...], constants: tuple[Any, ...]) -> bool:
    """Run a program on arrays that are elsewhere; False if they cannot be."""
    if columns[0][0].device.type != "cuda":
        return False
    from taper.gpu import rules  # late: for programs with a GPU

    return rules.run(code, columns, constants)


def program_of(rule: Callable[..., Any], numbers: Any, columns: int) -> Program | None:
    """Return the program of a rule for coefficients like these; None if NumPy has to run it."""
    if live_rules:
        return None
    # What a rule may ask of a coefficient: whether it is there, whether it is true.  A function for
    # it would cost 0.6 us of a step of 25.
    kinds = [
        value
        if value is None or (kind := value.__class__) is bool
        else (value.mostly_new if kind is Part else kind)
        for value in vars(numbers).values()
    ]
    key = rule, columns, numbers.dtype.char, *kinds
    if key not in _programs:
        _programs[key] = _write(rule, numbers, columns)
    return _programs[key]


def _write(rule: Callable[..., Any], numbers: Any, columns: int) -> Program | None:
    paths: dict[int, str] = {}
    for name, value in vars(numbers).items():
        if isinstance(value, np.ndarray):
            paths[id(value)] = name
        elif isinstance(value, Part):
            paths[id(value.weight)] = f"{name}.weight"
    notes = _Notes(paths, numbers.dtype)
    spare = tuple(_Register("temporary", index) for index in range(_SPARES))
    arrays = [_Register("column", index) for index in range(columns)]
    try:
        rule(notes, numbers, spare, *arrays)
    except (AttributeError, KeyError, TypeError):
        return None
    return Program(notes.written(columns), _getter(notes.constants), notes.temporaries)


def _getter(constants: list[str | np.ndarray]) -> Callable[[Any], tuple[Any, ...]]:
    """Make a function that takes the constants out of the coefficients of a step."""
    if len(constants) > 1 and all(isinstance(each, str) for each in constants):
        return attrgetter(*constants)  # type: ignore[arg-type]
    return lambda numbers: tuple(
        [attrgetter(each)(numbers) if isinstance(each, str) else each for each in constants]
    )
