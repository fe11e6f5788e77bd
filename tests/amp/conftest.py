"""Tests take the library as the fixture `torch`, as users write `import taper as torch`.

`tests/parity/test_amp_parity.py` runs the same tests with PyTorch instead.  A test marked
`taper_only` is about something that PyTorch does not have.
"""

from __future__ import annotations

import pytest

import taper
import taper.cpu.amp
import taper.cuda.amp
import taper.utils.checkpoint


@pytest.fixture
def torch():
    return taper


@pytest.fixture(autouse=True)
def nothing_is_left_on():
    yield
    assert not taper.is_autocast_enabled("cpu")
    assert taper.autograd.detours.functions_on_a_detour("autocast") == []
    assert taper.autograd.state.local.state.autocast_settings.nesting == 0
