"""Forks while other threads hold locks, and Ctrl-C while blocks are entered and left."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import taper
import taper.nn
from taper.amp import state as amp_state
from taper.autograd import detours
from taper.autograd.state import local

PACKAGE = os.path.dirname(taper.__file__)

# --- C6: a fork, while another thread is in the middle of something -----------------------------

FORK = """
import os, signal, sys, threading
import taper
import taper.profiler
from taper.amp import state as amp
from taper.autograd import accumulate, detours
from taper.autograd.profiling import recorder as profiler_recorder
import taper.autograd.graph

leaf = taper.ones(2, requires_grad=True)
fired = []
handle = taper.autograd.graph.register_multi_grad_hook((leaf,), fired.append)
hook_lock = next(iter(leaf._autograd_meta.hooks.values())).__closure__
locks = {
    "accumulate": accumulate.lock,
    "detours": detours._lock,
    "autocast": amp._lock,
    "profiler": profiler_recorder._lock,
    "hooks": next(c.cell_contents for c in hook_lock if hasattr(c.cell_contents, "acquire")),
}
held, done = threading.Event(), threading.Event()

def hold():
    with locks[sys.argv[1]]:
        held.set()
        done.wait()

thread = threading.Thread(target=hold)
thread.start()
held.wait()
child = os.fork()
if not child:
    signal.alarm(20)
    with taper.autocast("cpu"):
        taper.ones(1, 2) @ taper.ones(2, 1)
    with taper.autograd.profiler.profile():
        (leaf * leaf).sum().backward()
    (leaf * leaf).sum().backward()
    os._exit(0 if leaf.grad.tolist() == [4.0, 4.0] and len(fired) == 2 else 1)
done.set()
thread.join()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("lock", ["accumulate", "detours", "autocast", "profiler", "hooks"])
def test_found_c6_a_lock_that_a_thread_of_the_parent_holds_is_free_in_the_child(lock):
    command = [sys.executable, "-W", "ignore", "-c", FORK, lock]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr


# --- C9: Ctrl-C ---------------------------------------------------------------------------------


class Interrupt:
    """Raises KeyboardInterrupt at the n-th place of the package where Python checks for signals.

    That is where a function begins, and where a call of a function in C has ended.
    """

    def __init__(self, number):
        self.left = number
        self.where = None

    def __enter__(self):
        sys.setprofile(self.look)
        return self

    def __exit__(self, kind, *_):
        sys.setprofile(None)
        return kind is KeyboardInterrupt

    def look(self, frame, event, argument):
        inside = frame.f_code.co_filename.startswith(PACKAGE)
        if inside and event in ("call", "c_return"):
            self.left -= 1
            if self.left < 0:
                sys.setprofile(None)
                self.where = event, frame.f_code.co_name
                raise KeyboardInterrupt


def modes():
    settings = local.state.autocast_settings
    return (
        local.state.mode,
        local.state.saved_hooks,
        local.state.interceptors,
        local.state.recorder,
        local.state.autocast,
        [each.__name__ for each in detours.functions_on_a_detour("autocast")],
        settings and (settings.nesting, len(settings.cache), settings.entered),
        settings and (settings.cache_enabled, settings.dtypes["cpu"]),
        list(amp_state._active),
    )


def places(block):
    """Return numbers of interruptions: all of a short block; of a long one both ends and some."""
    with Interrupt(10**9) as interrupt, block():
        pass
    total = 10**9 - interrupt.left
    return sorted(
        {*range(min(100, total)), *range(max(total - 100, 0), total)}
        | {*range(0, total, max(total // 50, 1))}
    )


def left_on(block):
    """Return where an interruption left something as the block had set it."""
    with block():
        pass
    before = modes()
    found = []
    for number in places(block):
        with Interrupt(number) as interrupt, block():
            pass
        if modes() != before:
            found.append(interrupt.where)
            local.state.mode, local.state.saved_hooks, local.state.interceptors = before[:3]
            local.state.autocast_settings = None
            taper.set_autocast_enabled("cpu", False)
            with block():
                pass
            before = modes()
    return found


BLOCKS = {
    "autocast": lambda: taper.autocast("cpu"),
    "no_grad": taper.no_grad,
    "enable_grad": taper.enable_grad,
    "inference_mode": taper.inference_mode,
    "saved_tensors_hooks": lambda: taper.autograd.graph.saved_tensors_hooks(abs, abs),
    "profile": lambda: taper.autograd.profiler.profile(),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_found_c9_an_interrupted_block_leaves_no_mode_on(name):
    # Nothing can be done about an interrupt just before `__exit__` begins.
    assert set(left_on(BLOCKS[name])) <= {("call", "__exit__")}
