"""What notebooks show of tensors, modules, nodes and optimizers."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
import time
from html.parser import HTMLParser

import pytest

import taper
from taper import nn, optim
from taper.vision import models
from viz.test_history import pixels

pytestmark = pytest.mark.taper_only


class Checked(HTMLParser):
    """Collects the text; elements must be closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.tags: set[str] = set()
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes) -> None:
        self.tags.add(tag)
        if tag not in ("img", "br", "path"):
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        if tag != "path":
            assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def shown(value) -> Checked:
    return Checked(value._repr_html_())


# --- tensors -----------------------------------------------------------------------------------


def test_a_tensor_shows_shape_dtype_history_and_values() -> None:
    view = shown(taper.tensor([[1.0, -2.0], [3.0, 4.0]], requires_grad=True))
    assert view.text.startswith(
        "Tensor 2 x 2 · float32 · 16 bytes · leaf that requires grad min -2"
    )
    assert "min -2, mean 1.5, max 4" in view.text
    assert "tensor([[ 1., -2.], [ 3., 4.]])" in view.text
    assert "img" in view.tags
    x = taper.ones(3, requires_grad=True)
    assert "made by MulBackward0" in shown(x * 2).text
    (x * 2).sum().backward()
    assert "has a gradient" in shown(x).text
    assert shown(nn.Parameter(taper.ones(2))).text.startswith("Parameter 2")
    assert (
        shown(taper.tensor(3.5)).text == "Tensor scalar · float32 · 4 bytes values tensor(3.5000)"
    )


@pytest.mark.parametrize(
    "tensor",
    [
        taper.tensor([[True, False], [False, True]]),
        taper.arange(12).reshape(3, 4),
        taper.ones(3, 4).bfloat16(),
        taper.ones(3, 4).half(),
        taper.ones(3, 4, dtype=taper.complex64) * 1j,
        taper.full((3, 3), float("nan")),
        taper.full((5,), float("inf")),
        taper.ones(0, 3),
        taper.ones(2, 1, 3, 1, 4),
        taper.arange(12.0).reshape(3, 4).t()[:, 1:2],
        taper.ones(1, 1),
        -taper.arange(6.0).reshape(2, 3),
        taper.ones(4, 1).expand(4, 1000),
        taper.ones(2).as_subclass(type("Own", (taper.Tensor,), {})),
    ],
)
def test_every_kind_of_tensor(tensor) -> None:
    assert str(tensor.dtype).removeprefix("torch.") in shown(tensor).text


def test_gaps_are_counted() -> None:
    assert (
        "1 NaN, 2 infinite"
        in shown(taper.tensor([float("nan"), float("inf"), -float("inf"), 1])).text
    )


def test_a_vector_is_a_line_and_a_matrix_a_heat_map() -> None:
    assert "svg" in shown(taper.arange(100.0)).tags
    html = taper.tensor([[0.0, 1.0], [-1.0, float("nan")]])._repr_html_()
    data = base64.b64decode(re.search(r"base64,([^\"]+)", html).group(1))
    assert pixels(data).tolist() == [
        [[250, 250, 250], [178, 24, 43]],
        [[33, 102, 172], [128, 128, 128]],
    ]
    assert "heat map of [0, 0, :, :]" in shown(taper.ones(2, 3, 4, 5)).text


def test_of_a_huge_tensor_only_a_sample_is_read() -> None:
    zeros = taper.zeros(1, 1).expand(30_000, 30_000)  # reading all would take seconds
    start = time.process_time()
    view = shown(zeros)
    assert time.process_time() - start < 0.5
    assert "of a sample of" in view.text
    assert len(zeros._repr_html_()) < 30_000


def test_looking_changes_nothing() -> None:
    x = taper.ones(3, 3, requires_grad=True)
    y = x * 2
    before = y._version, y.grad_fn, taper.get_rng_state()
    y._repr_html_()
    y.grad_fn._repr_html_()
    assert (y._version, y.grad_fn) == before[:2]
    assert taper.equal(taper.get_rng_state(), before[2])
    y.sum().backward()


# --- modules -----------------------------------------------------------------------------------


def test_a_module_is_a_tree_with_counts() -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 2)))
    model[0].requires_grad_(False)
    view = shown(model)
    assert view.text == (
        "Sequential · 23 parameters, 15 frozen "
        "0 Linear in_features=4, out_features=3, bias=True · 15 parameters, frozen "
        "1 Sequential · 8 parameters 0 ReLU "
        "1 Linear in_features=3, out_features=2, bias=True · 8 parameters "
        "in training mode, 92 bytes"
    )
    assert model._repr_html_().count("<details") == 2
    assert model._repr_html_().count("<details open") == 1


def test_shared_lazy_and_empty_modules() -> None:
    model = nn.Module()
    model.a = nn.Sequential(nn.Linear(2, 2))
    model.b = model.a
    model.register_module("none", None)
    view = shown(model)
    assert "6 parameters" in view.text
    assert "b Sequential (see above)" in view.text
    assert "LazyLinear" in shown(nn.Sequential(nn.LazyLinear(3)).eval()).text
    assert shown(nn.Module()).text == "Module in training mode, 0 bytes"


def test_large_models_stay_small() -> None:
    assert len(models.resnet18(num_classes=10)._repr_html_()) < 20_000
    assert "and 601 more" in shown(nn.Sequential(*(nn.ReLU() for _ in range(1000)))).text


# --- nodes and optimizers ----------------------------------------------------------------------


def test_a_node_shows_formula_line_shapes_and_what_it_keeps() -> None:
    x = taper.ones(2, 3, requires_grad=True)
    y = x.exp()
    view = shown(y.grad_fn)
    assert view.text.startswith("ExpBackward0")
    assert "math" in view.tags
    assert "y = x.exp()" in view.text
    assert "took leaf float32 (2, 3) made float32 (2, 3)" in view.text
    assert "saved for backward result output float32 (2, 3)" in view.text
    y.sum().backward()
    assert "freed by a backward pass" in shown(y.grad_fn).text
    assert shown(y.sum().grad_fn.next_functions[0][0]).text
    model = nn.Sequential(nn.Linear(3, 2))
    assert "0 Linear" in shown(model(x).grad_fn).text
    leaf = model(x).grad_fn.next_functions[0][0]
    assert shown(leaf).text.startswith("AccumulateGrad")


class Double(taper.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def test_nodes_that_are_not_of_the_table() -> None:
    x = taper.ones(3, requires_grad=True)
    assert "saved_tensors[0]" in shown(Double.apply(x).grad_fn).text
    y = x * 1
    y[0] = 5
    assert "CopySlices" in shown(y.grad_fn).text
    assert "StackBackward0" in shown(taper.stack([x, x]).grad_fn).text


def test_an_optimizer_shows_groups_and_state() -> None:
    a, b = (nn.Parameter(taper.ones(2, 3)) for _ in range(2))
    adam = optim.Adam([{"params": [a]}, {"params": [b], "lr": 1e-5}], lr=0.1)
    view = shown(adam)
    assert view.text.startswith(
        "Adam group 0 group 1 tensors 1 1 parameters 6 6 lr 0.1 1e-05 betas"
    )
    assert "no state yet" in view.text
    a.grad = taper.ones(2, 3)
    adam.step()
    assert "state: 52 bytes" in shown(adam).text
    assert "exp_avg 1 24 bytes" in shown(adam).text
    many = optim.SGD([{"params": [nn.Parameter(taper.ones(1))]} for _ in range(20)], lr=1)
    assert "and 12 more groups" in shown(many).text
    assert "group 0" in shown(optim.SGD(nn.Linear(2, 2).named_parameters(), lr=0.1)).text


# --- all of them -------------------------------------------------------------------------------


def test_strings_of_the_program_are_escaped() -> None:
    class Own(nn.Module):
        def extra_repr(self) -> str:
            return "<img src=x onerror=alert(1)>"

    Own.__name__ = "<b>Own"
    model = nn.Sequential()
    model.add_module("<script>alert(1)</script>", Own())
    view = shown(model)
    assert {"script", "img", "b>own"}.isdisjoint(view.tags)
    assert "<script>alert(1)</script>" in view.text
    optimizer = optim.SGD([nn.Parameter(taper.ones(1))], lr=0.1)
    optimizer.param_groups[0]["<i>"] = "<i>"
    assert "i" not in shown(optimizer).tags


def test_plain_text_is_as_before() -> None:
    x = taper.ones(2, requires_grad=True)
    assert repr(x) == "tensor([1., 1.], requires_grad=True)"
    assert repr(nn.Linear(2, 1)) == "Linear(in_features=2, out_features=1, bias=True)"
    assert re.fullmatch(r"<MulBackward0 object at 0x[0-9a-f]+>", repr((x * 2).grad_fn))


def test_importing_taper_imports_no_pictures() -> None:
    program = (
        "import sys, taper, taper.nn, taper.optim\n"
        "print([name for name in sys.modules if 'taper.viz' in name])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
