"""Which tables there are: their names, and what makes their workloads."""

from __future__ import annotations

from models import model_workloads
from operator_workloads import operator_workloads
from peer_workloads import PEER_TABLES
from scaling import scaling_workloads
from workloads import all_workloads

TABLES = {
    "models": model_workloads,
    "overhead": all_workloads,
    "operators": operator_workloads,
    "scaling": scaling_workloads,
    **PEER_TABLES,
}
