"""What a process of the launcher runs first, and then the program, with taper as torch."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

from taper.commands.program import start

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def end_with_launcher() -> None:
    """Let the system end this process when its launcher ends, however that happens."""
    launcher = os.environ.get("TAPER_LAUNCHER", "")
    if not launcher.isdigit() or not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != int(launcher):
        sys.exit(f"the launcher {launcher} has ended")


def main(line: list[str]) -> int:
    """Run `-m MODULE ARGS` or `SCRIPT ARGS`; return the exit code."""
    end_with_launcher()
    if line[0] == "-m":
        return start(line[1:], [])
    return start(None, line)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
