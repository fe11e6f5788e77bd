"""Runs a program on PyTorch, with a torchvision whose compiled operators may not fit it.

Of those, `nms` is there all the same.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from parity import detection_oracle, torchvision_oracle

if __name__ == "__main__":
    detection_oracle.use_nms(torchvision_oracle.load())
    del sys.argv[0], sys.path[0]
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
