"""`taper._dynamo.utils`: what a compiler has counted: nothing."""

from __future__ import annotations

from collections import Counter, defaultdict

counters: defaultdict[str, Counter[str]] = defaultdict(Counter)
