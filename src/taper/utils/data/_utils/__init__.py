"""The parts of `DataLoader`: collating, fetching, workers and the line to them."""

from __future__ import annotations

from taper.utils.data._utils import collate, errors, fetch, transport, worker
from taper.utils.data._utils.errors import ExceptionWrapper
from taper.utils.data._utils.worker import MP_STATUS_CHECK_INTERVAL

__all__ = [
    "ExceptionWrapper",
    "MP_STATUS_CHECK_INTERVAL",
    "collate",
    "errors",
    "fetch",
    "transport",
    "worker",
]
