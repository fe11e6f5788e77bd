"""`taper.utils.benchmark`: time statements, and print the times as tables."""

from taper.utils.benchmark.compare import Colorize, Compare
from taper.utils.benchmark.measurement import (
    Measurement,
    TaskSpec,
    ordered_unique,
    select_unit,
    trim_sigfig,
    unit_to_english,
)
from taper.utils.benchmark.timer import Language, Timer, set_torch_threads, timer

__all__ = [
    "Colorize",
    "Compare",
    "Language",
    "Measurement",
    "TaskSpec",
    "Timer",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]
