"""`taper.compiler.config`: switches that keep what is assigned and change nothing."""

from __future__ import annotations

job_id: str | None = None
pgo_extra_read_key: str | None = None
pgo_extra_write_key: str | None = None
cache_key_tag: str = ""
force_disable_caches: bool = False
dynamic_sources: str = ""
unbacked_sources: str = ""
