"""Every test begins, and leaves the process, with nothing allowed beyond plain data."""

import pytest

from taper import serialization


@pytest.fixture(autouse=True)
def _nothing_allowed():
    serialization.clear_safe_globals()
    yield
    serialization.clear_safe_globals()
