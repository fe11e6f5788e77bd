"""Programs captured as graphs of operators: there are none."""

from __future__ import annotations

from taper.absent.answers import refused_function
from taper.absent.compilers import nothing

__all__ = ["get_proxy_mode", "make_fx"]

get_proxy_mode = nothing
make_fx = refused_function(
    "make_fx", __name__, "make_fx: programs are not captured as graphs: use taper.capture"
)
