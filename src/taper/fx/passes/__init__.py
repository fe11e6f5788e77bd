"""Passes over graphs: shapes, splitting, drawing."""

from __future__ import annotations

from taper.fx.passes import graph_drawer, shape_prop, split_module, tools_common

__all__ = ["graph_drawer", "shape_prop", "split_module", "tools_common"]
