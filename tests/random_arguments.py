"""Random arguments for public functions, and what counts as an error from inside (M5).

An error is *from inside* if no line of the library raised it on purpose and its type says that the
library did not check its arguments: AttributeError, KeyError, NameError (UnboundLocalError),
ZeroDivisionError, AssertionError, RecursionError, MemoryError, SystemError, StopIteration; and
IndexError, unless Python or NumPy complains about the user's own index.  On purpose means that the
innermost frame is at a `raise` statement.  TypeError, ValueError and OverflowError are the caller's
fault, whoever raises them; so is everything that the call itself refuses.
"""

from __future__ import annotations

import dis
import random
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import taper

FROM_INSIDE = (
    AttributeError,
    KeyError,
    NameError,
    ZeroDivisionError,
    AssertionError,
    RecursionError,
    MemoryError,
    SystemError,
    StopIteration,
    IndexError,
)

# These change the state of the process, wait for another one, or take code to run.
SKIPPED = frozenset(
    """
    set_default_device set_default_dtype set_default_tensor_type set_flush_denormal seed
    set_num_interop_threads set_num_threads set_printoptions set_rng_state manual_seed load save
    use_deterministic_algorithms set_deterministic_debug_mode set_float32_matmul_precision
    compile from_file share_memory_ register_hook register_post_accumulate_grad_hook apply_ map_
    map2_ set_warn_always set_grad_enabled inference_mode import_ir_module
    autocast_increment_nesting autocast_decrement_nesting
    """.split()
)


def public_functions() -> Iterator[tuple[str, Callable[..., Any], bool]]:
    """Return name, function, and whether it is a method on its first argument, a tensor."""
    places = {
        "": taper,
        "nn.functional.": taper.nn.functional,
        "linalg.": taper.linalg,
        "fft.": taper.fft,
        "special.": taper.special,
    }
    for prefix, place in places.items():
        for name in sorted(dir(place)):
            function = getattr(place, name)
            plain = callable(function) and not isinstance(function, type)
            if plain and name[0] != "_" and name not in SKIPPED and not name.startswith("set_"):
                yield prefix + name, function, False
    for name in sorted(dir(taper.Tensor)):
        if name[0] != "_" and name not in SKIPPED and callable(getattr(taper.Tensor, name)):
            yield f"Tensor.{name}", getattr(taper.Tensor, name), True


def tensor(rng: random.Random) -> taper.Tensor:
    """Return a small tensor of some dtype, shape and layout."""
    shape = rng.choice([(), (0,), (1,), (3,), (2, 3), (3, 3), (0, 2), (2, 3, 4), (1, 2, 4, 4)])
    kind = rng.choice("float32 float32 float64 int64 int64 bool uint8 complex64 bfloat16".split())
    numbers = np.random.default_rng(rng.randrange(1000)).standard_normal(shape) * 3
    made = taper.tensor(numbers).to(getattr(taper, kind))
    if made.dim() > 1 and rng.random() < 0.2:
        made = made.transpose(0, 1)
    if made.is_floating_point() and rng.random() < 0.2:
        made.requires_grad_()
    return made


def argument(rng: random.Random) -> Any:
    """Return a value that some function takes, or none does."""
    if rng.random() < 0.45:
        return tensor(rng)
    makers: list[Callable[[], Any]] = [
        lambda: rng.randrange(-3, 5),
        lambda: rng.randrange(-3, 5),
        lambda: rng.choice([0.5, -1.0, 0.0, 2.5, float("nan"), float("inf")]),
        lambda: rng.choice([True, False, None, None]),
        lambda: rng.choice(["mean", "sum", "none", "a", "", "constant", "ij", "reflect"]),
        lambda: [rng.randrange(-2, 4) for _ in range(rng.randrange(4))],
        lambda: tuple(rng.randrange(0, 3) for _ in range(rng.randrange(1, 3))),
        lambda: [tensor(rng) for _ in range(rng.randrange(3))],
        lambda: (tensor(rng), tensor(rng)),
        lambda: rng.choice([taper.float64, taper.int64, taper.bool, taper.complex64]),
        lambda: rng.choice([2**62, -(2**62), 2**31, 10**30, 1j]),
        lambda: rng.choice([np.ones(3), np.float32(2), np.int64(1), np.array(2)]),
        lambda: rng.choice([{}, {"a": 1}, object(), slice(0, 2), Ellipsis, b"x", [None], ["a"]]),
    ]
    return rng.choice(makers)()


class TooLongError(Exception):
    """A call had to be ended."""


def _end(*_: Any) -> None:
    raise TooLongError


def is_from_inside(error: BaseException) -> bool:
    """Return whether an error is one that the library did not intend, see above."""
    if not isinstance(error, FROM_INSIDE):
        return False
    frames = list(traceback.walk_tb(error.__traceback__))
    frame = frames[-1][0]
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if frame.f_globals.get("__name__") == __name__ or place is None:
        return False
    raising = {"RAISE_VARARGS", "RERAISE"}
    on_purpose = any(
        each.offset == place.tb_lasti and each.opname in raising
        for each in dis.get_instructions(frame.f_code)
    )
    return not on_purpose


def calls(
    seed: int, count: int, seconds: float = 2.0
) -> Iterator[tuple[str, list[Any], dict[str, Any], BaseException | None]]:
    """Yield random calls; each with what it raised, a `TooLongError` if it had to be ended."""
    rng = random.Random(seed)
    functions = list(public_functions())
    signal.signal(signal.SIGALRM, _end)
    for _ in range(count):
        name, function, method = rng.choice(functions)
        args = [argument(rng) for _ in range(rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4]))]
        if method or (args and rng.random() < 0.5):
            args[:1] = [tensor(rng)]
        error: BaseException | None = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            signal.setitimer(signal.ITIMER_REAL, seconds)
            try:
                function(*args)
            except Exception as caught:
                error = caught
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        yield name, args, {}, error
