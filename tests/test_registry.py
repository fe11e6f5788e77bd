"""The operator table as a whole: complete, consistent, and described by fresh documents."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

import taper
from op_templates import CASES
from taper import opcompile, opdocs
from taper.opdef import (
    LINEAR,
    MULTILINEAR,
    POINTWISE,
    DeclarationError,
    Formula,
    composites,
    op,
    registry,
)

ROOT = Path(__file__).parents[1]
DIFFERENTIABLE = [entry for entry in registry.values() if entry.differentiable]


def by_name(entry):
    return entry.name


def row_names():
    return {case.name.removeprefix("Tensor.").removeprefix("nn.functional.") for case in CASES}


def test_every_public_function_has_a_row():
    public = {entry.name for entry in registry.values() if entry.public} | set(composites)
    assert sorted(public - row_names()) == []


def test_rows_are_unique():
    names = [case.name for case in CASES]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_the_public_list_is_the_table():
    table = {entry.name: entry.function for entry in registry.values() if entry.public}
    table |= composites
    assert taper._FUNCTIONS.split() == sorted(table)
    for name, function in table.items():
        assert getattr(taper, name) is function


@pytest.mark.parametrize("entry", DIFFERENTIABLE, ids=by_name)
def test_differentiable_operators_have_a_forward_rule(entry):
    assert entry.tangent in (LINEAR, MULTILINEAR, POINTWISE) or callable(entry.tangent)


@pytest.mark.parametrize("entry", DIFFERENTIABLE, ids=by_name)
def test_formulas_have_no_hidden_inputs(entry):
    """A formula that closes over a value escapes the table: it would be saved by nobody."""
    for formula in entry.formulas:
        assert formula.function.__closure__ is None
        assert formula.function.__name__ != "<lambda>"
        globals_ = formula.function.__globals__
        for name in formula.function.__code__.co_names:
            value = globals_.get(name)
            assert not isinstance(value, np.ndarray | taper.Tensor), name


@pytest.mark.parametrize("entry", list(registry.values()), ids=by_name)
def test_every_operator_compiles_and_is_described(entry):
    text = opcompile.wrapper_source(entry)
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


def test_the_derivatives_page_is_fresh():
    page = (ROOT / "docs" / "derivatives.md").read_text()
    assert page == opdocs.derivatives_page(), "run `make docs`"


def test_generated_code_is_shown_on_request(capsys):
    assert opdocs.main(["mul"]) == 0
    printed = capsys.readouterr().out
    assert "def mul(input, other" in printed and "def apply_mul(node, grads)" in printed
