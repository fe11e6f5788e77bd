"""A hard limit for every test here: a loader that hangs must fail a test, not the whole run."""

import signal
import threading
from pathlib import Path

import pytest

LIMIT = 120  # seconds; a busy machine may take a tenth of it


@pytest.fixture(autouse=True)
def hard_limit():
    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number, frame):
        raise TimeoutError(f"the test took more than {LIMIT} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def pytest_collection_modifyitems(items):
    """Adapt tests of workers to machines with few processors, and to newer Pythons."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.filterwarnings("ignore:This DataLoader will create"))
            item.add_marker(pytest.mark.filterwarnings("ignore:This process .* is multi-threaded"))
