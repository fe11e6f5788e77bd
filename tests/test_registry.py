"""The operator table as a whole: complete, consistent, and described by fresh documents."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import taper
from op_templates import CASES
from taper.opdef import (
    LINEAR,
    MULTILINEAR,
    POINTWISE,
    DeclarationError,
    Formula,
    compiler,
    composites,
    docs,
    op,
    registry,
)
from taper.ops import load_all, on_demand

ROOT = Path(__file__).parents[1]
load_all()
DIFFERENTIABLE = [entry for entry in registry.values() if entry.differentiable]


def by_name(entry):
    return entry.name


def row_names():
    return {case.name.removeprefix("Tensor.").removeprefix("nn.functional.") for case in CASES}


def test_every_public_function_has_a_row():
    public = {entry.name for entry in registry.values() if entry.public} | set(composites)
    # Functions of sparse tensors alone have their answers in tests/sparse.
    public -= {name for name, each in composites.items() if "ops.sparse" in each.__module__}
    missing = sorted(public - row_names())
    assert missing == [], "add a row for each to tests/opcases/, as CONTRIBUTING.md shows"


def test_rows_are_unique():
    names = [case.name for case in CASES]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_the_public_functions_are_the_table():
    table = {entry.name: entry.function for entry in registry.values() if entry.public}
    table |= composites
    for name, function in table.items():
        public = getattr(taper, name)  # a composite has a guard, see `taper.opdef.guards`
        assert function in (public, getattr(public, "__wrapped__", None))
    assert set(table) <= set(dir(taper))


# PyTorch refuses their tangents, too, before it looks at dtypes or shapes.
WITHOUT_TANGENT = ("cholesky", "igamma", "igammac", "special_zeta")


@pytest.mark.parametrize("entry", DIFFERENTIABLE, ids=by_name)
def test_differentiable_operators_have_a_forward_rule(entry):
    known = entry.tangent in (LINEAR, MULTILINEAR, POINTWISE) or callable(entry.tangent)
    known = known or entry.left_to_fallback or entry.label in WITHOUT_TANGENT
    assert known, f"say tangent=... in @op, or write the rule of {entry.name} with @tangent_of"


@pytest.mark.parametrize("entry", DIFFERENTIABLE, ids=by_name)
def test_formulas_have_no_hidden_inputs(entry):
    """A formula that closes over a value escapes the table: nothing would save the value."""
    for formula in entry.formulas:
        assert formula.function.__closure__ is None
        assert formula.function.__name__ != "<lambda>"
        globals_ = formula.function.__globals__
        for name in formula.function.__code__.co_names:
            value = globals_.get(name)
            assert not isinstance(value, np.ndarray | taper.Tensor), name


@pytest.mark.parametrize("entry", list(registry.values()), ids=by_name)
def test_every_operator_compiles_and_is_described(entry):
    text = compiler.wrapper_source(entry)
    compile(text, entry.name, "exec")
    assert entry.doc, "an operator says in one sentence what it is"
    assert inspect.signature(entry.function).parameters


def test_a_formula_that_names_nonsense_is_refused_at_import():
    entry = registry["mul"]

    def wrong(grad, nonsense):
        return grad * nonsense

    with pytest.raises(DeclarationError, match="mul: the formula wrong names 'nonsense'"):
        Formula(entry, wrong, ("self",))
    with pytest.raises(DeclarationError, match="is for unknown 'third'"):
        Formula(entry, lambda grad: grad, ("third",))


def test_an_operator_cannot_be_declared_twice():
    with pytest.raises(DeclarationError, match="mul is declared twice"):

        @op()
        def mul(self):
            return self


def test_the_names_on_demand_are_fresh():
    """In a process of its own, since here families are loaded that `import taper` does not load."""
    command = [sys.executable, str(ROOT / "tools" / "operator_names.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (ROOT / "src/taper/ops/provided.py").read_text() == done.stdout, "run `make docs`"


def test_the_derivatives_page_is_fresh():
    page = (ROOT / "docs" / "derivatives.md").read_text()
    assert page == docs.derivatives_page(), "run `make docs`"


def test_generated_code_is_shown_on_request(capsys):
    assert docs.main(["mul"]) == 0
    printed = capsys.readouterr().out
    assert "def mul(input, other" in printed and "def apply_mul(node, grads, place=None)" in printed


def test_families_on_demand_bring_their_names():
    """In a fresh process: an unloaded family is there as soon as it is named."""
    program = """
import taper
from taper.ops import on_demand

for name, family in on_demand.FAMILY_OF.items():
    assert hasattr(taper.Tensor, name) or name in on_demand.FUNCTIONS, name
    assert name not in on_demand.FUNCTIONS or callable(getattr(taper, name)), name
print(len(on_demand.FAMILY_OF))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(on_demand.FAMILY_OF) > 100


def test_a_method_of_a_family_on_demand_loads_it():
    program = """
import sys, taper
assert "taper.ops.activation.softmax" not in sys.modules
print(taper.zeros(1, 2).softmax(1).tolist(), taper.logsumexp is taper.logsumexp)
assert "taper.ops.activation.softmax" in sys.modules
assert "softmax" in dir(taper) and taper.softmax(taper.zeros(2), 0).sum() == 1
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[[0.5, 0.5]] True\n", done.stderr


def test_a_method_of_a_family_on_demand_shows_its_help():
    program = """
import inspect, taper
print(inspect.signature(taper.Tensor.sin), inspect.getdoc(taper.Tensor.sin).splitlines()[0])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "(input, *, out=None) Take the sine of every element.\n", done.stderr
