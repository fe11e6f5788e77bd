"""`taper.explain`: sentences about tensors, the way of a gradient, and errors."""

from __future__ import annotations

import time

import pytest

import taper
from taper import nn
from taper.viz import explain


def lines(*what):
    return str(explain(*what)).splitlines()


def test_a_leaf():
    w = nn.Parameter(taper.ones(3))
    text = lines(w)
    assert text[0] == (
        "`w` is a leaf: a float32 Parameter of shape (3,) that no recorded operation made."
    )
    assert text[1] == "It requires grad: its `requires_grad` is set."
    assert text[2].startswith("Its `.grad` is None: no backward pass has reached it")
    (w * 2).sum().backward()
    assert lines(w)[2] == "Its `.grad` has the norm 3.464."
    w.requires_grad_(False)
    assert lines(w)[1].startswith("It requires no grad: its `requires_grad` was set to False")


def test_a_result():
    w = taper.ones(1000, requires_grad=True)
    loss = (w * 2).exp().sum()  # the line
    text = lines(loss)
    assert text[0].startswith("`loss` is a float32 tensor of shape () computed by SumBackward0 at ")
    assert text[0].endswith("loss = (w * 2).exp().sum()  # the line")
    assert text[1] == "It requires grad: it was computed from `w`, which requires grad."
    assert text[2].startswith("Its `.grad` is None: only leaves keep gradients. Call `loss.retain")
    assert text[3] == "Its graph has 3 nodes and 1 leaf. It keeps 4 kB for backward."
    assert "the variable `loss` in test_a_result" in text[4]
    loss.retain_grad()
    assert "since `retain_grad()`" in lines(loss)[2]
    loss.backward()
    assert lines(loss)[2] == "Its `.grad` has the norm 1."
    assert "was freed by the backward pass at " in lines(loss)[3]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda w: w.detach(), "its history ends at detach() at "),
        (lambda w: under_no_grad(w), "its history ends at the no_grad block entered at "),
        (lambda w: w.argmax(), "its history ends at argmax(), whose result has no gradient, at "),
        (lambda w: taper.ones(2, dtype=taper.int64), "torch.int64 has no gradients."),
        (lambda w: taper.ones(2), "nothing asked for it."),
    ],
    ids=["detach", "no_grad", "argmax", "integer", "plain"],
)
def test_why_there_is_no_grad(make, reason):
    w = taper.ones(2, requires_grad=True)
    assert lines(make(w))[1].startswith(f"It requires no grad: {reason}")


def under_no_grad(w):
    with taper.no_grad():
        return w * 2


def test_who_holds_a_graph():
    w = taper.ones(10, requires_grad=True)
    kept = [w.exp() for _ in range(3)]
    text = lines(kept[1])
    assert "item 1 of the list `kept` (of 3)" in text[-1]


def test_what_checkpointing_would_save():
    model = nn.Sequential(
        *[nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh()) for _ in "abcd"]
    )
    loss = model(taper.ones(8, 32)).sum()
    assert lines(loss)[-1].startswith("Checkpointing each of 0 ... 3 (4 blocks) would keep about ")


def test_the_way_of_a_gradient():
    w = taper.tensor([1.0, 2.0], requires_grad=True)
    hidden = w * 3
    loss = hidden.sum()
    text = lines(loss, w)
    assert text[0] == "The gradient of `loss` reaches `w` in 2 steps:"
    assert text[1].split() == ["`loss`", "norm", "1"]
    assert text[2].split()[:5] == ["SumBackward0", "norm", "1.414", "x", "1.414"]
    assert text[3].split()[:8] == [
        *["MulBackward0", "norm", "4.243", "x", "3", "grad", "*", "other"]
    ]
    assert text[-1] == "It arrives in good health."
    assert w.grad is None
    loss.backward()  # the graph was kept
    assert lines((w * 3).sum(), w)[-1] == "It arrives in good health."
    assert lines(loss, loss)[0].startswith("`loss` is reached, but what the graph had saved")


def test_a_tensor_on_the_way_and_several_outputs():
    w = taper.tensor([1.0, 2.0], requires_grad=True)
    hidden = w * 3
    out = hidden * 2
    assert lines(out, hidden)[0] == "The gradient of `out` reaches `hidden` in 1 step:"
    assert "norm 1.414" in lines(out, hidden)[1]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: (x * 0) * 5, "It becomes zero at MulBackward0"),
        (lambda x: x * 1e-6, "It vanishes at MulBackward0"),
        (lambda x: x * 1e6, "It explodes at MulBackward0"),
        (lambda x: x.sub(1).sqrt() * 0, "It becomes NaN at SqrtBackward0"),
        (lambda x: ((x * 0.05) * 0.05) * 0.05, "It vanishes little by little: 0.000125 of what"),
    ],
)
def test_where_a_gradient_is_lost(function, words):
    x = taper.tensor(1.0, requires_grad=True)
    assert lines(function(x), x)[-1].startswith(words)


def test_a_parameter_that_is_not_reached():
    first, second = nn.Linear(2, 2), nn.Linear(2, 1)
    with taper.no_grad():
        hidden = first(taper.ones(3, 2))
    loss = second(hidden).sum()
    text = lines(loss, first.weight)
    assert text[0].startswith("The gradient of `loss` does not reach `weight`: ")
    assert text[2].startswith("- Its history ends at the no_grad block entered at ")
    assert text[3].startswith("  its result was used by AddmmBackward0 in Linear at ")
    assert lines(hidden, first.weight)[0].startswith(
        "No gradient starts: `hidden` requires no grad. Its history ends at "
    )
    assert lines(loss, hidden)[0].startswith("No gradient reaches `hidden`: it requires no grad.")


def test_graphs_of_a_million_nodes_have_a_sentence():
    x = taper.ones(1, requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = y + 1
    start = time.process_time()
    assert lines(y)[-1] == "Its graph has 1,000,000 nodes and 1 leaf: too many to look at each."
    assert lines(y, x) == [
        "`x` is reached, through a graph of 1,000,000 nodes: too many to follow each."
    ]
    assert time.process_time() - start < 60


def raised(call):
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


def test_errors():
    x = taper.ones(2, requires_grad=True)
    y = x.exp()
    y.mul_(2)  # the write
    text = str(explain(raised(lambda: y.sum().backward())))
    assert "has been written since" in text
    assert "and overwritten at " in text
    assert "What helps: Write into a copy" in text
    text = str(explain(raised(lambda: nn.Sequential(nn.Linear(3, 3))(taper.ones(2, 4)))))
    assert "Two shapes do not fit each other.\nIn module 0 Linear\nIt was raised at " in text
    text = str(explain(raised(lambda: taper.ones(2).sum().backward())))
    assert "no gradient can flow" in text
    assert explain(ValueError("own")).text == (
        "ValueError: own\nIt has no traceback: it was not raised."
    )


def test_it_shows_in_notebooks_and_refuses_other_things():
    assert "&lt;lambda&gt;" in explain(ValueError("<lambda>"))._repr_html_()
    one = explain(taper.ones(1))
    assert repr(one) == str(one)
    with pytest.raises(TypeError, match="expected a tensor or an exception, got int"):
        explain(3)
    with pytest.raises(TypeError, match="expected a tensor as second argument, got str"):
        explain(taper.ones(1), "w")
    assert taper.explain is explain
