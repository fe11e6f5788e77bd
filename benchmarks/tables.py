"""Which tables there are: their names, and what makes their workloads."""

from __future__ import annotations

from captured_workloads import captured_workloads, uncaptured_workloads
from models import model_workloads
from operator_workloads import operator_workloads
from peer_workloads import PEER_TABLES
from scaling import scaling_workloads
from workloads import all_workloads

TABLES = {
    "models": model_workloads,
    "captured": captured_workloads,
    "uncaptured": uncaptured_workloads,
    "overhead": all_workloads,
    "operators": operator_workloads,
    "scaling": scaling_workloads,
    **PEER_TABLES,
}

# With which other table of its own a library is compared, too: what a capture gains.
OWN = {"captured": "uncaptured"}
