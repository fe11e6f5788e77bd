"""`torch._higher_order_ops`: control flow as functions of functions, done as it is met.

PyTorch captures the functions it is given; here they are called, so each result has the nodes of
the operators that made it.
"""

from taper._higher_order_ops.associative_scan import associative_scan
from taper._higher_order_ops.cond import cond
from taper._higher_order_ops.map import map
from taper._higher_order_ops.scan import scan
from taper._higher_order_ops.while_loop import while_loop

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]
