"""`taper.fx` beside `torch.fx`: code, graphs, edits and errors of the same programs."""

import pytest
import torch
import torch.fx
from torch.fx.experimental.proxy_tensor import make_fx as their_make_fx

import fx_programs
import taper
import taper.fx
from taper.fx.experimental.proxy_tensor import make_fx as my_make_fx

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


def operator_programs(lib):
    """Return functions for `make_fx`, each with its arguments."""

    def gradient(x):
        y = x.sin()
        return lib.autograd.grad((y * y).sum(), x)[0]

    def views(x):
        y = x.view(-1)[0:2] + lib.zeros(2)
        return y, x.t().contiguous().softmax(-1), x.add_(1), x[:, 1], lib.cat([x, x])

    return [
        (lambda x, y: lib.nn.functional.linear(x, y).relu().sum() * 2, (lib.ones(2, 3),) * 2),
        (gradient, (lib.ones(3, requires_grad=True),)),
        (views, (lib.ones(2, 3),)),
        (
            lambda d, v: d["a"] + d["b"] * v[0],
            ({"a": lib.ones(1), "b": lib.ones(1)}, [lib.ones(1)]),
        ),
    ]


@pytest.mark.parametrize("number", range(4))
def test_make_fx(number):
    mine, my_arguments = operator_programs(taper)[number]
    theirs, their_arguments = operator_programs(torch)[number]
    made = my_make_fx(mine)(*my_arguments)
    assert made.code == their_make_fx(theirs)(*their_arguments).code
