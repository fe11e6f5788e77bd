"""What every test begins with."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def functions_are_on_no_detour():
    """Let no test see that another has had tensors of a class that wants to be asked."""
    module = sys.modules.get("taper.overrides.overridable")
    if module is not None and module._state["laid"]:
        module.overrides.instances.clear()
        module.overrides.others.clear()
        module._end()
