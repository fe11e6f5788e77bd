"""No public function fails from inside, whatever its arguments are (M5)."""

import resource

import pytest

from random_arguments import calls, is_from_inside

CALLS = 12_000


@pytest.fixture(autouse=True)
def little_memory():
    """Refuse to allocate more than a few GB, instead of swapping."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def test_found_m5_no_public_function_fails_from_inside():
    found = {}
    for name, args, _, error in calls(seed=5, count=CALLS):
        if error is not None and is_from_inside(error):
            found.setdefault(name, f"{type(error).__name__}: {error} for {args!r:.200}")
    assert not found
