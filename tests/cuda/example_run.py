"""Run a script of `examples/` with all its tensors on one device: `example_run.py DEVICE SCRIPT`

DEVICE is "cpu", "cuda" or "fake".  Random numbers, those of dropout included, come from the CPU's
generator on every device, so that the losses of two devices can be compared.
"""

from __future__ import annotations

import os
import runpy
import sys
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))


def use(name: str) -> None:
    """Take a GPU, or a fake one, into use; random numbers come from the CPU's generator."""
    import numpy as np

    import taper
    from taper.gpu import array, random, state

    def drawn(kind: int) -> Any:
        def handler(run: Any, out: Any, *args: Any, **options: Any) -> Any:
            if out.__class__ is not array.CudaArray:
                return run(out, *args, **options)
            out[...] = run(np.empty(out.shape, out.dtype), *map(array.to_host, args), **options)
            return out

        return handler

    random._drawn, random._dropped = drawn, drawn(0)
    runtime = None
    if name == "fake":
        sys.path.insert(0, HERE)
        from fake import Runtime

        runtime = Runtime()
    state.start(runtime)
    random.dropout = lambda *args: NotImplemented
    taper.set_default_device("cuda")


def main() -> None:
    """Run the script as `taper run` does."""
    name, script, *arguments = sys.argv[1:]
    import taper.compat

    if name != "cpu":
        use(name)
    taper.compat.install()
    sys.argv = [script, *arguments]
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
