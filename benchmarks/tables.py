"""Which tables there are: their names, and what makes their workloads."""

from __future__ import annotations

from models import model_workloads
from operator_workloads import operator_workloads
from workloads import all_workloads

TABLES = {"steps": all_workloads, "models": model_workloads, "operators": operator_workloads}
