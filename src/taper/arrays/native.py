"""The native module, where it could be built (D7): an accelerator, never a requirement.

`native` is the compiled module, or None.  Each of its functions has a twin in Python that gives the
same results; with `TAPER_NATIVE=0` in the environment the twins run.  Imports nothing of taper.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

native: Any = None

if os.environ.get("TAPER_NATIVE") != "0":
    try:
        native = importlib.import_module("taper._native")
    except ImportError:  # not built, or built for another Python
        pass
