"""Kullback-Leibler divergences: `kl_divergence`, and `register_kl` for your own classes."""

from __future__ import annotations

from taper.distributions import kl_mixed, kl_normal_vectors, kl_same
from taper.distributions.kl_registry import (
    _KL_MEMOIZE,
    _KL_REGISTRY,
    _dispatch_kl,
    _Match,
    kl_divergence,
    register_kl,
)

__all__ = ["kl_divergence", "register_kl"]

# The imported modules register their pairs; this file only has to name them.
_PAIRS = (kl_same, kl_normal_vectors, kl_mixed)
_FOR_PROGRAMS = (_KL_MEMOIZE, _KL_REGISTRY, _Match, _dispatch_kl)
