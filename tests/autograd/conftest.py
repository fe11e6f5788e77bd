"""Tests take the library as the fixture `torch`, as users write `import taper as torch`.

The parity suite runs the same tests with PyTorch instead, so every expectation is PyTorch's.  A
test marked `taper_only` is about something that PyTorch does not have.
"""

from __future__ import annotations

import pytest

import taper
import taper.nn  # makes it an attribute of the package


@pytest.fixture
def torch():
    return taper
