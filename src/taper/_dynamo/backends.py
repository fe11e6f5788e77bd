"""The names of PyTorch's compiler backends: a program may name them, but none of them runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taper._dynamo.exc import InvalidBackend

_USUAL = ("cudagraphs", "inductor", "openxla", "tvm")
_DEBUG = """
    aot_eager aot_eager_decomp_partition aot_eager_decomp_partition_crossref
    aot_eager_decomp_partition_with_mode aot_eager_default_partitioner aot_ts
    dynamo_accuracy_minifier_backend dynamo_minifier_backend eager eager_debug eager_noexcept
    invoke_subgraph non_leaf_compile_error_TESTING_ONLY openxla_eval pre_dispatch_eager
    relu_accuracy_error_TESTING_ONLY relu_compile_error_TESTING_ONLY
    relu_runtime_error_TESTING_ONLY ts
"""


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    """Return the names that `taper.compile` takes for `backend`; all run programs unchanged.

    >>> import taper
    >>> taper.compiler.list_backends()
    ['cudagraphs', 'inductor', 'openxla', 'tvm']
    """
    hidden = () if exclude_tags else _DEBUG.split()
    return sorted([*_USUAL, *hidden])


def looked_up(backend: Any) -> Any:
    """Return the backend itself, if there is one of that name."""
    if isinstance(backend, str) and backend not in list_backends(None):
        raise InvalidBackend(backend)
    return backend
