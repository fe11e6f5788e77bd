"""Mistakes that a type checker must find: one in each line that names a kind of error.

`tests/test_stubs.py` runs the checker over it; nobody runs the program.
"""

from __future__ import annotations

import taper
from taper import Tensor, nn

x = taper.ones(2, 2)

taper.mul("a", 2)  # arg-type
taper.mul(x)  # call-arg
taper.relu([1.0, 2.0])  # arg-type
taper.add(x, 1, alpha="2")  # arg-type
taper.exp(x, dim=0)  # call-arg
taper.cat(x)  # arg-type
taper.zeros("2")  # arg-type
taper.zeros(2, dtype="float32")  # arg-type
taper.softmax(x, dim=None)  # arg-type
taper.no_such_function(x)  # attr-defined

x.sume()  # attr-defined
x.transpose(0)  # call-arg
x.unsqueeze("0")  # arg-type
x.requires_grad = "yes"  # assignment
x.shape = taper.Size((4,))  # misc
x + "a"  # operator
"a" - x  # operator
lower = x < None  # operator
x.grad.sum()  # union-attr

length: int = x.sum()  # assignment
one: Tensor = taper.split(x, 1)  # assignment
module: str = taper.tensor  # assignment
layer = nn.Linear("3", 4)  # arg-type
