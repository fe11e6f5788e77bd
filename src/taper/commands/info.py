"""`taper info`: what a problem report should contain."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import platform
from collections.abc import Sequence

import numpy as np

from taper import settings, version
from taper.arrays.native import native, onednn

EXTRAS = {"files": "safetensors", "vision": "PIL", "onnx": "onnxruntime", "mpi": "mpi4py"}


def main(argv: Sequence[str]) -> int:
    """Print the facts, one a line."""
    parser = argparse.ArgumentParser(
        prog="taper info",
        description="Print the versions and settings that a problem report should contain.",
    )
    parser.parse_args(argv)
    for name, value in facts().items():
        print(f"{name:<12}{value}")
    return 0


def facts() -> dict[str, str]:
    """Return what this installation is made of."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    extras = [name for name, module in EXTRAS.items() if importlib.util.find_spec(module)]
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return {
        "taper": f"{version.taper} in {folder}",
        "follows": f"PyTorch {version.__version__}",
        "Python": f"{platform.python_version()} ({platform.python_implementation()})",
        "platform": f"{platform.platform()}, {os.cpu_count()} cores",
        "NumPy": f"{np.__version__}, BLAS: {blas.get('name')} {blas.get('version')}",
        "ml_dtypes": installed_version("ml_dtypes"),
        "threads": f"{settings.get_num_threads()}",
        "kernels": "NumPy" if native is None else f"NumPy, and native ones ({native.__file__})",
        "oneDNN": onednn.description(),
        "extras": ", ".join(extras) or "none",
        "PyTorch": installed_version("torch"),
    }


def installed_version(distribution: str) -> str:
    """Return the version of an installed package."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"
