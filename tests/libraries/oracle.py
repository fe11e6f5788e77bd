"""Runs a program on PyTorch, with a torchvision whose compiled operators may not fit it."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from parity import torchvision_oracle

if __name__ == "__main__":
    torchvision_oracle.load()
    del sys.argv[0], sys.path[0]
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
