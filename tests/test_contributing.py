"""CONTRIBUTING.md, walked: a new operator is two edits, and a forgotten step says what to do.

The walk happens in a copy of the package and of the rows: `rsqrt` as the page has it under another
name, a reduction with dimensions, and a view.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import op_case

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
KERNEL, SHORT_ROW, LONG_ROW = BLOCKS

# The file of the package, and what a newcomer writes at its end.
OPERATORS = {
    "elementwise/unary.py": KERNEL.replace("rsqrt", "rsqrt2"),
    "reduction/sums.py": '''
@op(out=True)
def sum_of_squares(self: Array, dim: Any = None, keepdim: bool = False) -> Array:
    """The sum of squares along dimensions."""
    return sum_array(self * self, axes_of(dims_of(dim, "sum_of_squares"), self.ndim), keepdim, None)


@derivative(sum_of_squares, wrt="self")
def sum_of_squares_self(grad, self, dim, keepdim):
    return unreduced(grad, self.shape, dims_of(dim, "sum_of_squares"), keepdim) * 2.0 * self


@tangent_of(sum_of_squares)
def sum_of_squares_tangent(self, self_t, dim, keepdim):
    return sum(2.0 * self * self_t, dim, keepdim)
''',
    "shape/parts.py": '''
@op(view=True, tangent=LINEAR)
def every_other(self: Array, dim: int = 0) -> Array:
    """Every second element along a dimension; shares the memory."""
    return self[(*[slice(None)] * wrap_dim(dim, self.ndim), slice(None, None, 2))]


@derivative(every_other, wrt="self")
def every_other_self(grad, self_shape, dim):
    axis = wrap_dim(dim, len(self_shape))
    return slice_backward(grad, self_shape, axis, 0, self_shape[axis], 2)
''',
}
ROWS = {
    "unary.py": SHORT_ROW.replace("rsqrt", "rsqrt2"),
    "reduce.py": """OpCase(
    "sum_of_squares",
    samples=lambda rng: [sample(rng.random((3, 4)), 1), sample(rng.random((3, 4)), (0, 1), True)],
    reference=lambda x, dim, keepdim=False: np.sum(x * x, axis=dim, keepdims=keepdim),
    out=True,
    errors=(Raises(IndexError, "Dimension out of range", sample(np.ones(2), 5)),),
),""",
    "shape.py": """OpCase(
    "every_other",
    samples=lambda rng: [sample(rng.random((3, 4)), 1), sample(rng.random((3, 4)))],
    reference=lambda x, dim=0: x[:, ::2] if dim else x[::2],
),""",
}
LATER = '''
@op(tangent=LINEAR)
def found_later(self: Array) -> Array:
    """Twice the elements."""
    return self * 2


@derivative(found_later, wrt="self")
def found_later_self(grad):
    return grad * 2
'''

FOLLOWS = """
import taper

x = taper.tensor([4.0, 16.0], requires_grad=True)
y = taper.rsqrt2(x)
assert y.tolist() == x.rsqrt2().tolist() == [0.5, 0.25]
assert type(y.grad_fn).__name__ == "Rsqrt2Backward0"
assert y.grad_fn._saved_result.tolist() == [0.5, 0.25]
y.sum().backward()
assert x.grad.tolist() == [-0.0625, -0.0078125]
z = taper.tensor([4.0])
assert z.rsqrt2_() is z and taper.rsqrt2_(z) is z and z._version == 2
out = taper.empty(1)
assert taper.rsqrt2(taper.tensor([4.0]), out=out) is out and out.tolist() == [0.5]
assert taper.rsqrt2(taper.tensor([4])).dtype is taper.float32

x = taper.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = x.sum_of_squares(dim=-1)
assert y.tolist() == [5.0, 25.0] and taper.sum_of_squares(x, (0, 1), keepdim=True).shape == (1, 1)
y.sum().backward()
assert x.grad.tolist() == [[2.0, 4.0], [6.0, 8.0]]
assert type(y.grad_fn).__name__ == "SumOfSquaresBackward0"

x = taper.ones(3)
x.every_other().mul_(2)
assert x.tolist() == [2.0, 1.0, 2.0] and x.every_other()._base is x and x._version == 1

from taper.opdef import docs

page = docs.derivatives_page()
assert all(f"### {name}\\n" in page for name in ("rsqrt2", "sum_of_squares", "every_other"))
"""

TESTED = """
import op_templates
import test_gradients
import test_ops
import test_registry

test_registry.test_every_public_function_has_a_row()
rows = {case.name: case for case in op_templates.CASES}
assert rows["rsqrt2_"].name == rows["rsqrt2"].inplace
tests = {**vars(test_ops), **vars(test_gradients)}
wanted = dict.fromkeys(("rsqrt2", "sum_of_squares", "every_other"), 0)
for name, test in tests.items():
    for mark in getattr(test, "pytestmark", ()) if name.startswith("test_") else ():
        if mark.name == "parametrize" and mark.args[0] == "case":
            for case in mark.args[1]:
                if case.name in wanted:
                    wanted[case.name] += 1
                    test(case)
assert min(wanted.values()) >= 7, wanted
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the package and of its rows, with the first edit done."""
    root = tmp_path_factory.mktemp("walk")
    without_caches = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", root / "src", ignore=without_caches)
    (root / "tests").mkdir()
    shutil.copytree(ROOT / "tests/opcases", root / "tests/opcases", ignore=without_caches)
    for name in ("op_case", "op_templates", "test_ops", "test_gradients", "test_registry"):
        shutil.copy(ROOT / f"tests/{name}.py", root / "tests")
    for name, text in OPERATORS.items():
        add(root / "src/taper/ops" / name, text)
    return root


def add(path: Path, text: str) -> None:
    path.write_text(f"{path.read_text(encoding='utf-8')}\n\n{text}", encoding="utf-8")


def run(tree: Path, program: str) -> str:
    """The error of a program in a process that finds the copy; nothing if all is well."""
    paths = os.pathsep.join([str(tree / "src"), str(tree / "tests")])
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return done.stderr


def test_the_page_shows_the_code_that_is_there():
    module = ast.parse((ROOT / "src/taper/ops/elementwise/unary.py").read_text(encoding="utf-8"))
    real = {each.name: ast.dump(each) for each in module.body if isinstance(each, ast.FunctionDef)}
    shown = {each.name: ast.dump(each) for each in ast.parse(KERNEL).body}
    assert shown == {name: real[name] for name in ("rsqrt", "rsqrt_self")}
    assert SHORT_ROW.strip() in (ROOT / "tests/opcases/unary.py").read_text(encoding="utf-8")
    row = eval(LONG_ROW, {**vars(op_case), "np": np})
    assert (row.name, row.inplace, row.out, len(row.errors)) == ("rsqrt", "rsqrt_", True, 1)


def test_all_follows_from_the_entry_in_the_table(tree):
    assert run(tree, FOLLOWS) == ""


@pytest.mark.slow
def test_a_row_makes_the_tests_and_a_forgotten_row_is_named(tree):
    asked = "import test_registry\ntest_registry.test_every_public_function_has_a_row()"
    forgotten = run(tree, asked)
    assert "add a row for each to tests/opcases/, as CONTRIBUTING.md shows" in forgotten
    for name, row in ROWS.items():
        add(tree / "tests/opcases" / name, f"CASES += [\n{row}\n]\n")
    assert run(tree, TESTED) == ""


def test_a_forgotten_make_docs_is_named(tree):
    add(tree / "src/taper/ops/elementwise/blend.py", LATER)
    said = run(tree, "import taper\ntaper.ops.load_all()\ntaper.found_later(taper.ones(1))")
    assert "ops/provided.py does not: run `make docs`" in said


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("def rsqrt2_self(grad, nonsense)", "rsqrt2: the formula rsqrt2_self names 'nonsense'"),
        ("def rsqrt2_self(grad, self_nonsense)", "names 'self_nonsense'"),
    ],
)
def test_a_wrong_word_in_a_formula_is_named(tree, wrong, said):
    path = tree / "src/taper/ops/elementwise/unary.py"
    right = path.read_text(encoding="utf-8")
    try:
        path.write_text(right.replace("def rsqrt2_self(grad, result)", wrong), encoding="utf-8")
        assert said in run(tree, "import taper")
    finally:
        path.write_text(right, encoding="utf-8")
