"""Log each node that runs to the logger `torch.autograd.graph` (§E29), if its level asks for it.

A program that logs has imported `logging`; for all others a pass looks up one name.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

_SHORT = {"float": "f", "bfloat": "bf", "complex": "c", "int": "i", "uint": "u"}

_logger: Any = None


def active_logger() -> Any:
    """Return the logger if it takes DEBUG records now, else None."""
    logging = sys.modules.get("logging")
    if logging is None:
        return None
    global _logger
    if _logger is None:
        package = logging.getLogger("torch")
        if package.level == logging.NOTSET:
            # As in PyTorch: the level of the root logger has no effect here.
            package.setLevel(logging.WARNING)
        _logger = logging.getLogger("torch.autograd.graph")
    return _logger if _logger.isEnabledFor(logging.DEBUG) else None


def log_node(logger: Any, node: Any, grads: Sequence[Any]) -> None:
    """Log which node runs, and the dtypes and shapes of its gradients."""
    logger.debug(
        "Executing: %s with grad_outputs: [%s]", node, ",".join(_described(each) for each in grads)
    )


def _described(grad: Any) -> str:
    """Return text such as `f32[2, 3]`."""
    if grad is None:
        return "None"
    name = str(grad.dtype).removeprefix("torch.")
    letters = name.rstrip("0123456789")
    return f"{_SHORT.get(letters, letters)}{name.removeprefix(letters)}{list(grad.shape)}"
