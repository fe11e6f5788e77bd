"""`taper.fx` beside `torch.fx`: code, graphs, edits and errors of the same programs."""

import pytest
import torch
import torch.fx

import fx_programs
import taper
import taper.fx

MODELS = fx_programs.models(taper)


@pytest.mark.parametrize("name", MODELS)
def test_code_and_graph(name):
    mine = taper.fx.symbolic_trace(MODELS[name])
    theirs = torch.fx.symbolic_trace(fx_programs.models(torch)[name])
    assert mine.code == theirs.code
    assert str(mine.graph) == str(theirs.graph)
    assert str(mine) == str(theirs)
    assert mine.print_readable(False) == theirs.print_readable(False)
    assert list(mine.state_dict()) == list(theirs.state_dict())


@pytest.mark.parametrize("number", range(8))
def test_edit(number):
    mine = fx_programs.graph_edits(taper)[number]
    theirs = fx_programs.graph_edits(torch)[number]
    assert mine() == theirs()


@pytest.mark.parametrize("number", range(15))
def test_mistake(number):
    with pytest.raises(Exception) as theirs:
        fx_programs.mistakes(torch)[number]()
    with pytest.raises(Exception) as mine:
        fx_programs.mistakes(taper)[number]()
    assert type(mine.value).__name__ == type(theirs.value).__name__
    assert str(mine.value) == str(theirs.value)
