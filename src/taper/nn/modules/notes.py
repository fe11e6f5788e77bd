"""The note on an error of the library that says in which module the error happened.

Owns: the path such as `blocks.4.norm`, which grows while the error passes the calls from the inside
outwards.  Calls that succeed pay nothing.
"""

from __future__ import annotations

from typing import Any

from taper.autograd.provenance import is_internal

# What operators raise.  Others are the user's, or mean something to the library.
_KINDS = frozenset({RuntimeError, ValueError, TypeError, IndexError, NotImplementedError})
_START = "In module "


def note_module(error: Any, module: Any) -> None:
    """Say on an error that was raised inside taper, and leaves a call of `module`, where it was."""
    if error.__class__ not in _KINDS:
        return
    passed = getattr(error, "_passed", None)  # the module that it left last, and the path below
    if passed is None:
        if _is_ours(error):
            vars(error)["_passed"] = module, (), len(getattr(error, "__notes__", ()))
            error.add_note(_START + type(module).__name__)
        return
    inner, path, place = passed
    within = next((name for name, each in module.named_modules() if each is inner), None)
    if within:
        path = (within, *path)
        name = error.__notes__[place].rpartition(" ")[2]
        error.__notes__[place] = f"{_START}{'.'.join(path)} {name}"
        vars(error)["_passed"] = module, path, place
    elif inner is not module:
        vars(error)["_passed"] = None, path, place  # no part of its caller: the path ends here


def _is_ours(error: Any) -> bool:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is None or is_internal(trace.tb_frame.f_code.co_filename)
