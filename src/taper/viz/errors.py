"""What an error of taper means, in plain words, and where in the user's program it happened."""

from __future__ import annotations

import re
from typing import Any

from taper.autograd.provenance import describe, is_internal

# What the text of an error has, what the error means, and what helps.
_MEANINGS = (
    (
        "modified by an inplace operation",
        "A backward pass needs a tensor as it was when an operation saved it, but the tensor has "
        "been written since.",
        "Write into a copy (`x = x + 1`, not `x += 1`; `relu`, not `relu_` or `inplace=True`), or "
        "`clone()` the tensor before the write.",
    ),
    (
        "backward through the graph a second time",
        "A backward pass frees what its graph has saved; this pass goes through it again.",
        "Compute the shared part anew in each step, `detach()` what comes from the step before "
        "(hidden states!), or let the first pass keep it with `retain_graph=True`.",
    ),
    (
        "does not require grad",
        "There is no history to go back through: no gradient can flow.",
        "Look for `no_grad`, `detach()`, `.item()`, `.numpy()` or integer tensors on the way, and "
        "whether the parameters have `requires_grad=True`. Setting `requires_grad` on the loss "
        "silences the error and trains nothing.",
    ),
    (
        "implicitly created only for scalar outputs",
        "`backward()` starts from one number; this tensor has several.",
        "Reduce it first (`loss.mean()` or `.sum()`), or pass the gradient to start from.",
    ),
    (
        "returned nan values",
        "A gradient became NaN (not a number): 0/0, inf - inf, the root of 0, the log of 0.",
        "Keep away from the singular point (`clamp(min=1e-8)`, add a small number under the root), "
        "or lower the learning rate.",
    ),
    (
        r"made (nan|infinite) values",
        "An operation made NaN or infinity out of ordinary numbers.",
        "Look at the ranges below the message; bound the input of the operation.",
    ),
    (
        "leaf Variable that requires grad",
        "A parameter may not be written by a recorded operation: its history would be lost.",
        "Write under `with torch.no_grad():`, as optimizers do, or make a new tensor.",
    ),
    (
        r"shapes cannot be multiplied|must match the size of tensor|expected input\[|"
        r"size mismatch|shape '.*' is invalid|same number of elements|Expected input batch_size",
        "Two shapes do not fit each other.",
        "Print the shapes just before that line. For layers: the number of features or "
        "channels of the input must be what the layer was made for.",
    ),
    (
        "same dtype|to have the same dtype|expected scalar type|Found dtype",
        "Tensors of different dtypes meet in an operation that does not convert.",
        "Convert one of them: `x.float()`, `x.long()`, `x.to(other.dtype)`.",
    ),
    (
        "appears to not have been used in the graph",
        "The result was not computed from one of the tensors whose gradient was asked for.",
        "Pass `allow_unused=True`, or look where the tensor should have been used: "
        "`explain(loss, tensor)`.",
    ),
)


def words_for(error: BaseException) -> str:
    """Return what an error means, where it happened, and what helps."""
    text = str(error)
    first, _, rest = text.partition("\n")
    lines = [f"{type(error).__name__}: {first}"]
    meaning = next((each for each in _MEANINGS if re.search(each[0], first)), None)
    if meaning is not None:
        lines += ["", meaning[1]]
    lines += [each.strip() for each in rest.splitlines() if each.strip()]
    lines += list(getattr(error, "__notes__", ()))
    place = _last_line(error.__traceback__)
    if place:
        lines.append(f"It was raised at {place}")
    if meaning is not None:
        lines += ["", f"What helps: {meaning[2]}"]
    elif not place:
        lines.append("It has no traceback: it was not raised.")
    return "\n".join(lines)


def _last_line(trace: Any) -> str:
    """Return the innermost line of the user's."""
    found = None
    while trace is not None:
        if not is_internal(trace.tb_frame.f_code.co_filename):
            found = trace.tb_frame.f_code, trace.tb_lasti
        trace = trace.tb_next
    return "" if found is None else describe(found)
