"""The native module with arguments and slots that nobody should give: an error, never a crash."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from taper.arrays.native import native

TENSOR_SLOTS = (
    "_array",
    "_counter",
    "_grad_fn",
    "_autograd_meta",
    "_output_nr",
    "_requires_grad",
    "_view",
)

# Calls of every function with all kinds of values, some of them broken.
RANDOM_CALLS = """
import random, sys
import numpy as np
import taper
from taper.autograd import engine
from taper.autograd.accumulate import AccumulateGrad, lock
from taper.autograd.meta import UNSET, AutogradMeta, nobody
from taper.autograd.node import Node
from taper.autograd import provenance
from taper.autograd.state import State
from taper.arrays.native import native

rng = random.Random(int(sys.argv[1]))
TENSOR_SLOTS = {slots}
META_SLOTS = [name for name in AutogradMeta.__slots__ if name != "__weakref__"]

def broken(made, names):
    for name in rng.sample(list(names), rng.randrange(3)):
        try:
            if rng.random() < 0.6:
                delattr(made, name)
            else:
                setattr(made, name, rng.choice([None, 5, "x", (), [1], made, np.ones(2), True]))
        except (AttributeError, RuntimeError, TypeError, ValueError):
            pass
    return made

def tensor():
    made = taper.tensor(rng.choice([1 + 2j, [1.0, 2.0], [[1.0]], 3]))
    if rng.random() < 0.3:
        made = made.conj()
    if made.dtype.is_floating_point or made.dtype.is_complex:
        made.requires_grad_(rng.random() < 0.7)
    if rng.random() < 0.3:
        made = made * 2
    if rng.random() < 0.3:
        made._autograd_meta = broken(AutogradMeta(), META_SLOTS)
    return broken(made, TENSOR_SLOTS)

def node():
    made = (taper.ones(2, requires_grad=True) * 3).grad_fn
    if rng.random() < 0.3:
        made._edges = tuple(rng.choice([None, tensor(), made, 5]) for _ in range(rng.randrange(4)))
    return broken(made, Node.__slots__)

def array():
    dtype = rng.choice(["f4", "f8", "i8", "?", "c8", "f2", "O", "U3", ">f4"])
    shape = rng.choice([(), (1,), (4,), (2, 3), (0, 2), (3, 4)])
    made = np.ones(shape, dtype)
    kind = rng.randrange(6)
    if kind == 0:
        made.flags.writeable = False
    if kind == 1:
        made = made.T
    if kind == 2 and made.ndim:
        made = made[::-1]
    if kind == 3:
        made = made.view(np.matrix) if made.ndim == 2 else made
    if kind == 4 and dtype == "i8":
        made = made * rng.choice([-1, 2**62, 5])
    return made

def state():
    return broken(State(), ["sequence", "user_code", "mode"])

def task():
    nodes = [rng.choice([node, node, tensor])() for _ in range(rng.randrange(1, 4))]
    for _ in range(rng.randrange(3)):  # longer ways, some of them round in a circle
        made = node()
        made._edges = tuple(rng.choice([*nodes, None, made]) for _ in range(3))
        made._edge_nrs = rng.choice([(0, 0, 0), (-1, 0, 1), (0, 0), ("x", 0, 0), 5])
        nodes.append(made)
    made = engine.GraphTask(rng.random() < 0.5, rng.random() < 0.2, True)
    made.roots = [
        (each, rng.choice([0] * 12 + [1, -1, "x"]), rng.choice([array(), np.ones(2, "f4"), None]))
        for each in nodes
    ]
    made.look_around(State())
    made.plain_leaves = rng.random() < 0.7
    made.needed = rng.choice([None] * 7 + [set(nodes[1:]), 5])
    if rng.random() < 0.3:
        made.watched = True
        made.evaluate = lambda node, grads, task: rng.choice([None, (), grads, 5, [grads] * 5])
    return made

class Truth:
    def __bool__(self):
        raise ValueError("no truth")

class Slots:
    __slots__ = ("_array", "grad", "_edges", "sequence")

SIMPLE = [None, True, False, -1, 0, 1, 4, 2**40, 2**70, 1.5, "x", b"", b"\\0" * 5, bytes(range(10)),
          Truth(), Slots, Slots(), int, Node, State, AutogradMeta, taper.Tensor, {{}}, print, lock]
MAKERS = [tensor, node, array, array, state, lambda: rng.choice(SIMPLE), lambda: sys._getframe(),
          lambda: [argument() for _ in range(rng.randrange(3))],
          lambda: tuple(argument() for _ in range(rng.randrange(5))),
          lambda: bytes(rng.randrange(14) for _ in range(rng.randrange(16)))]

def argument():
    return rng.choice(MAKERS)()

def likely(name):
    if name == "record":
        pairs = [rng.choice([tensor(), None]), rng.choice([True, False, Truth(), 1])]
        return [node(), array(), state(), sys._getframe(), None, *(pairs * rng.randrange(3))]
    if name == "run_pass":
        return [task(), state(), engine.fit, engine.evaluate_leaf, engine.run_late_hooks]
    if name == "run_rule":
        program = bytes(rng.randrange(12 if not place % 5 else 6) for place in range(20))
        columns = tuple([np.ones(size, "f4") for size in (3, 2000)] for _ in range(2))
        return [program, columns, tuple(np.ones((), "f4") for _ in range(rng.randrange(4))), 2]
    if name in ("pick_rows", "put_rows"):
        targets = np.array([rng.choice([0, 1, 2, 3, -1, 2**60]) for _ in range(3)])
        matrix = np.ones((3, 3), "f4")
        value = np.ones((), "f4")
        if name == "pick_rows":
            return [matrix, targets]
        return [3, rng.randrange(-2, 4), targets, value]
    return [argument() for _ in range(rng.randrange(5))]

def tell_again():
    native.know_tensor(taper.Tensor)
    native.know_nodes(Node, State)
    native.know_leaves(AutogradMeta, AccumulateGrad, nobody, UNSET, lock)
    native.know_frames(provenance.internal, lambda frame: frame)

# The address of a driver's function cannot be checked.
names = [name for name in dir(native) if not name.startswith("_") and name != "know_launch"]
assert len(names) >= 16
for _ in range(600):
    for name in names:
        arguments = [argument() for _ in range(rng.randrange(6))]
        if rng.random() < 0.6:
            arguments = likely(name)
        try:
            getattr(native, name)(*arguments)
        except Exception as error:
            assert not isinstance(error, SystemError), (name, error)
        if name.startswith("know_"):
            tell_again()
x = taper.ones(2, requires_grad=True)
(x * x).sum().backward()
assert x.grad.tolist() == [2.0, 2.0]
"""

# Leaves and results without one of their slots, in every use that involves C.
DELETED_SLOTS = """
import taper

def use(slot, kind, way):
    leaf = taper.tensor([1.0, 2.0], requires_grad=True)
    part = leaf * 2
    tensor = leaf if kind == "leaf" else part
    delattr(tensor, slot)
    if way == 0:
        (tensor * 3).sum().backward()
    if way == 1:
        part.sum().backward()
    if way == 2:
        taper.autograd.grad(part.sum(), tensor)
    if way == 3:
        (tensor + part + tensor.exp()).sum().backward()
    if way == 4:
        taper.optim.SGD([tensor], 0.1).step()

for slot in {slots}:
    for kind in ("leaf", "result"):
        for way in range(5):
            try:
                use(slot, kind, way)
            except Exception as error:
                print(slot, kind, type(error).__name__, error)
"""


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, which may crash."""
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


needs_native = pytest.mark.skipif(native is None, reason="the native module is not built, or off")


@needs_native
@pytest.mark.parametrize("seed", ["1", "2"])
def test_found_c1_no_argument_crashes_a_native_function(seed):
    ran = run(RANDOM_CALLS.format(slots=TENSOR_SLOTS), seed)
    assert ran.returncode == 0, ran.stderr[-3000:]


def test_found_c1_a_tensor_without_a_slot_is_an_error():
    ran = run(DELETED_SLOTS.format(slots=TENSOR_SLOTS))
    assert ran.returncode == 0, ran.stderr[-3000:]
    for slot in ("_array", "_grad_fn", "_autograd_meta", "_requires_grad"):
        lines = [line for line in ran.stdout.splitlines() if line.startswith(f"{slot} leaf")]
        missing = f"Tensor' object has no attribute '{slot}'"  # CPython 3.13 names the module too
        assert any("AttributeError" in line and missing in line for line in lines)


# The operations of `native/rules.c`, in its order, with NumPy's function for each.
OPERATIONS = [
    np.add,
    np.subtract,
    np.multiply,
    np.divide,
    np.negative,
    np.sqrt,
    np.absolute,
    np.maximum,
    np.minimum,
    np.greater,
    np.less,
    np.where,
]


@needs_native
@pytest.mark.parametrize("number", range(len(OPERATIONS)), ids=lambda nr: OPERATIONS[nr].__name__)
def test_found_c8_an_operation_on_constants_alone_reads_no_further(number):
    operation = OPERATIONS[number]
    constants = tuple(np.array(value, np.float32) for value in (3.0, 2.0, 5.0))
    count = 3 if operation is np.where else operation.nin
    target = np.zeros(3000, np.float32)
    program = bytes([number, 0, 1, 2, 3])  # register 0 is the target
    assert native.run_rule(program, ([target],), constants, 0)
    expected = operation(*constants[:count]).astype(np.float32)
    assert (target == expected).all()


WRITER = """
import sys, time
import numpy as np
targets = np.memmap(sys.argv[1], np.int64, "r+")
end = time.monotonic() + 3
while time.monotonic() < end:
    for _ in range(100):
        targets[-1] = 2**45
        targets[-1] = 0
"""

READER = """
import sys, time
import numpy as np
from taper.arrays.native import native
targets = np.memmap(sys.argv[1], np.int64, "r+").view(np.ndarray)
matrix, value = np.ones((targets.size, 2), np.float32), np.ones((), np.float32)
end = time.monotonic() + 1.5
while time.monotonic() < end:
    for _ in range(100):
        picked = native.pick_rows(matrix, targets)
        assert picked is None or picked.sum() == targets.size
        put = native.put_rows(targets.size, 2, targets, value)
        assert put is None or put.sum() == targets.size
"""


@needs_native
def test_found_c8_targets_that_another_process_writes_stay_inside_their_rows(tmp_path):
    file = tmp_path / "targets"
    np.zeros(64, np.int64).tofile(file)
    with subprocess.Popen([sys.executable, "-c", WRITER, str(file)]) as writer:
        ran = run(READER, str(file))
        writer.kill()
    assert ran.returncode == 0, ran.stderr[-3000:]
