"""Mistakes that type checkers must find: one in each line that names a kind of error.

`tests/test_stubs.py` runs mypy and pyright over it; nobody runs the program.
"""

from __future__ import annotations

import taper
import taper.nn.functional as F
from taper import Tensor, nn, optim
from taper.utils.data import DataLoader, Dataset

x = taper.ones(2, 2)


class Numbers(Dataset[int]):
    def __getitem__(self, index: int) -> int:
        return index


@taper.no_grad()
def half(tensor: Tensor) -> Tensor:
    return tensor / 2


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

x.max("0")  # call-overload
x.max(0).value  # attr-defined
x.shape[0].real.foo  # attr-defined
taper.where(x > 0, "a", x)  # call-overload
taper.nonzero(x, as_tuple=3)  # call-overload
taper.linalg.svd(x).Q  # attr-defined
taper.autograd.grad("x", x)  # arg-type
taper.autograd.gradd(x, x)  # attr-defined
taper.distributions.Nromal(0.0, 1.0)  # attr-defined
taper.utils.dta  # attr-defined
taper.save(x)  # call-arg
F.relu(3)  # arg-type
x.grad_fn.name()  # union-attr
sizes: int = x.size()  # assignment

nn.Linaer(3, 4)  # attr-defined
nn.Linear(3, 4, dtype="float32")  # arg-type
nn.Conv2d(1, 2, "3")  # arg-type
nn.LSTM(3, "4")  # arg-type
nn.GRU(3, 4, layers=2)  # call-arg
nn.Conv2d(1, 2, 3).bias.zero_()  # union-attr
nn.ModuleList([3])  # list-item
nn.Sequential(taper.relu)  # call-overload
row: nn.Linear = nn.Sequential()[0]  # assignment
optim.SGD(3, lr=0.1)  # arg-type
optim.SGD([x], lr="fast")  # arg-type
done: float = optim.Adam([x]).step()  # assignment
DataLoader(3)  # arg-type
label: str = Numbers()[0]  # assignment
half("a")  # arg-type
