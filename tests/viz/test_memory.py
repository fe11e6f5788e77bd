"""The table of saved tensors: its total is what is really held, and rows name module and line."""

from __future__ import annotations

import gc
import json
import tracemalloc

import numpy as np
import pytest

import taper
from taper import nn, viz


def numpy_bytes():
    """Return how much memory NumPy's arrays have, as tracemalloc sees it."""
    gc.collect()
    arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
    return sum(each.size for each in tracemalloc.take_snapshot().filter_traces([arrays]).traces)


def images():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(8 * 7 * 7, 10),
    )


def layers():
    return nn.Sequential(nn.Linear(30, 40), nn.ReLU(), nn.Dropout(0.5), nn.Linear(40, 5))


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (layers, (8, 30)),
        (images, (4, 3, 16, 16)),
        (lambda: nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), (2, 7, 32)),
        (lambda: nn.LSTM(8, 16, 2), (5, 2, 8)),
        (lambda: nn.Sequential(nn.Linear(6, 6), nn.Unflatten(1, (2, 3)), nn.GELU()), (4, 6)),
    ],
    ids=["mlp", "images", "transformer", "lstm", "views"],
)
def test_the_total_is_what_is_really_held(make, shape):
    taper.manual_seed(0)
    model, x = make(), taper.randn(shape)

    def run():
        out = model(x)
        return (out[0] if isinstance(out, tuple) else out).square().mean()

    run()
    tracemalloc.start()
    try:
        before = numpy_bytes()
        loss = run()
        held = numpy_bytes() - before - loss._array.nbytes
        table = viz.saved_tensors(loss, model)
        again = viz.saved_tensors(loss)
        del loss
        left = numpy_bytes() - before
    finally:
        tracemalloc.stop()
    assert held > 0
    assert (table.total, left) == (held, 0)
    assert again.total == table.total


def test_what_the_user_holds_is_shared():
    x = taper.ones(1000, requires_grad=True)
    y = x * 2
    z = y.exp()
    loss = (z * y).sum()
    table = viz.saved_tensors(loss)
    assert (table.total, table.shared) == (0, 8000)
    del y
    assert (viz.saved_tensors(loss).total, viz.saved_tensors(loss).shared) == (4000, 4000)
    part = z[:10]
    del z
    assert viz.saved_tensors(loss).shared == 4000  # a view keeps all of it
    del part
    assert viz.saved_tensors(loss).total == 8000


def test_rows_have_module_and_line():
    model = layers()
    loss = model(taper.ones(8, 30)).square().mean()  # the line
    table = viz.saved_tensors(loss, model)
    assert [row.module for row in table] == [*["1 ReLU", "2 Dropout", "3 Linear", "0 Linear", ""]]
    assert {row.source for row in table} == {
        "loss = model(taper.ones(8, 30)).square().mean()  # the line"
    }
    assert sum(row.bytes for row in table) == table.total
    text = str(table)
    assert text.splitlines()[0].split() == ["bytes", "shared", "tensors", "module", "line"]
    assert text.endswith("kB are held by the graph alone.")
    assert table._repr_html_().startswith("<pre>")
    json.dumps(table.to_json())
    assert repr(table) == f"<SavedTable of 5 rows, {table.total:,} bytes>"


def test_names_of_users_are_escaped():
    model = nn.Sequential()
    model.add_module("<script>", nn.Linear(3, 3))
    shown = viz.saved_tensors(model(taper.ones(2, 3)).exp().sum(), model)._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


def test_graphs_that_keep_nothing():
    x = taper.ones(3, requires_grad=True)
    loss = x.exp().sum()
    loss.backward()
    assert str(viz.saved_tensors(loss)) == (
        "Nothing is kept: a backward pass has freed what was saved."
    )
    assert "no operation of this graph saves a tensor" in str(viz.saved_tensors((x + 1).sum()))
    with pytest.raises(RuntimeError, match="the tensor has no graph: it does not require grad"):
        viz.saved_tensors(taper.ones(3))


def test_a_custom_function_and_a_hook():
    class Twice(taper.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x * 1)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = taper.ones(100, requires_grad=True)
    assert viz.saved_tensors(Twice.apply(x).sum()).total == 400
    with taper.autograd.graph.saved_tensors_hooks(lambda t: t.numpy() * 1, taper.from_numpy):
        loss = x.exp().sum()
    assert viz.saved_tensors(loss).total == 400
