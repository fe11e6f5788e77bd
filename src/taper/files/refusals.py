"""The errors of checkpoints that are not plain data, and the limits of what is read.

The texts begin as PyTorch's do.  Its advice to load with `weights_only=False` is left out: taper
never executes files.
"""

from __future__ import annotations

from pickle import UnpicklingError

MOST_OPCODES = 50_000_000
MOST_PICKLE_BYTES = 1 << 28
MOST_MARKS = 1_000  # how deep containers may be nested
MOST_TUPLE_DEPTH = 100
MOST_KEY_ITEMS = 1_000

BLOCKED_MODULES = ("sys", "os", "posix", "nt")
_START = "Weights only load failed. "


def failed(problem: str) -> UnpicklingError:
    """Return the error of a pickle that does something it may not do."""
    return UnpicklingError(f"{_START}taper reads data only.\nWeightsUnpickler error: {problem}")


def truncated() -> EOFError:
    """Return the error of a pickle that stops in the middle."""
    return EOFError(f"{_START}Ran out of input: the file is shorter than it says")


def unsupported_global(name: str) -> UnpicklingError:
    """Return the error of a name that is not on the allow-list."""
    module = name.rpartition(".")[0]
    if module.partition(".")[0] in BLOCKED_MODULES:
        return UnpicklingError(
            f"{_START}Trying to load unsupported GLOBAL {name} whose module {module} is blocked."
        )
    shown = name.removeprefix("builtins.")
    return UnpicklingError(
        f"{_START}The file names something that is not plain data, and taper never executes "
        f"files.\n\tWeightsUnpickler error: Unsupported global: GLOBAL {shown} was not an allowed "
        "global by default. Please use "
        f"`torch.serialization.add_safe_globals([{shown}])` or the "
        f"`torch.serialization.safe_globals([{shown}])` context manager to allowlist this global "
        "if you trust this class/function."
    )


def never_executes(name: str) -> NotImplementedError:
    """Return the error of `weights_only=False` for a file that needs it."""
    return NotImplementedError(
        f"taper never executes files, also with weights_only=False, and this one names {name}: "
        f"allow it with taper.serialization.add_safe_globals([{name}]) if you trust it"
    )
