"""`viz.summary`: numbers of torchinfo on PyTorch, every option, and that nothing is changed."""

from __future__ import annotations

import random

import numpy as np
import pytest

import taper
from taper import nn, viz
from taper.vision import models

pytestmark = pytest.mark.taper_only

COLUMNS = ("output_size", "num_params", "mult_adds")


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, 5)
        self.conv2 = nn.Conv2d(10, 20, 5, groups=2)
        self.drop = nn.Dropout2d()
        self.fc = nn.Linear(320, 10)
        self.relu = nn.ReLU()
        self.conv1.requires_grad_(False)

    def forward(self, x):
        x = self.relu(nn.functional.max_pool2d(self.conv1(x), 2))
        x = self.relu(nn.functional.max_pool2d(self.drop(self.conv2(x)), 2))
        return self.fc(x.flatten(1))


class Again(nn.Module):
    """Calls a layer three times, has it under two names, and holds parameters that nothing uses."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = self.a
        self.p = nn.Parameter(taper.ones(3))
        self.unused = nn.Linear(2, 2)

    def forward(self, x, y=None):
        for _ in range(3):
            x = self.a(x)
        if y is not None:
            x = x + y
        return {"o": x, "l": [x, x]}


def found(model: nn.Module, *args, **options) -> viz.ModuleSummary:
    return viz.summary(model, *args, verbose=0, **options)


# From torchinfo 1.8.0 on PyTorch 2.13; its bytes of the input are 64 more, those of the object.
@pytest.mark.parametrize(
    ("model", "size", "params", "trainable", "mult_adds", "input_bytes", "output_bytes"),
    [
        (perceptron, (5, 4), 67, 67, 335, 80, 440),
        (Convolutions, (2, 1, 28, 28), 5_990, 5_730, 628_500, 6_272, 112_800),
        (models.resnet18, (1, 3, 64, 64), 11_689_512, 11_689_512, 148_568_424, 49_152, 3_252_032),
        (lambda: nn.LSTM(10, 20, 2, batch_first=True), (4, 7, 10), 5_920, 5_920, 165_760, 1_120, 0),
    ],
)
def test_totals_are_those_of_torchinfo(
    model, size, params, trainable, mult_adds, input_bytes, output_bytes
) -> None:
    table = found(model(), size, col_names=COLUMNS)
    assert (table.total_params, table.trainable_params) == (params, trainable)
    assert table.total_mult_adds == mult_adds
    assert table.total_input == input_bytes
    if output_bytes:  # of an LSTM torchinfo counts the first result only
        assert table.total_output_bytes == output_bytes
    assert table.total_param_bytes == 4 * params


def test_rows_as_torchinfo_prints_them() -> None:
    columns = ("input_size", "output_size", "num_params", "kernel_size", "mult_adds", "trainable")
    table = found(Convolutions(), (2, 1, 28, 28), col_names=columns, row_settings=("var_names",))
    rows = [line.split("  ") for line in str(table).splitlines()[3:10]]
    assert [[cell.strip() for cell in row if cell.strip()] for row in rows[:4]] == [
        ["Convolutions (Convolutions)", "[2, 1, 28, 28]", "[2, 10]", *["--"] * 3, "Partial"],
        [
            "├─Conv2d (conv1)",
            "[2, 1, 28, 28]",
            "[2, 10, 24, 24]",
            "(260)",
            "[5, 5]",
            "299,520",
            "False",
        ],
        ["├─ReLU (relu)", "[2, 10, 12, 12]", "[2, 10, 12, 12]", *["--"] * 4],
        [
            "├─Conv2d (conv2)",
            "[2, 10, 12, 12]",
            "[2, 20, 8, 8]",
            "2,520",
            "[5, 5]",
            "322,560",
            "True",
        ],
    ]


def test_a_layer_that_is_called_again_is_recursive() -> None:
    text = str(found(Again(), (5, 4), col_names=COLUMNS))
    assert "Again                                    [5, 4]        9            --" in text
    assert "├─Linear: 1-1                            [5, 4]        20           100" in text
    assert text.count("(recursive)  100") == 2
    assert "Total params: 29\n" in text


def test_without_input_there_are_only_parameters() -> None:
    lines = str(found(Again())).splitlines()
    assert [line.split() for line in lines[1:7]] == [
        ["Layer", "(type:depth-idx)", "Param", "#"],
        [lines[0]],
        ["Again", "3"],
        ["├─Linear:", "1-1", "20"],
        ["├─Linear:", "1-2", "(recursive)"],
        ["├─Linear:", "1-3", "6"],
    ]
    assert "mult-adds" not in "\n".join(lines)


def test_containers_that_are_not_called_stand_above_their_parts() -> None:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 2), nn.Linear(16, 5))
    table = found(model, (2, 7, 16), depth=5)
    names = [(each.class_name, each.depth, each.depth_index) for each in table.layers[:5]]
    assert names == [
        ("Sequential", 0, 1),
        ("TransformerEncoder", 1, 1),
        ("ModuleList", 2, 1),
        ("TransformerEncoderLayer", 3, 1),
        ("MultiheadAttention", 4, 1),
    ]
    assert table.total_params == 4_533  # torchinfo's
    linear = next(each for each in table.layers if each.class_name == "Linear")
    assert linear.mult_adds == 544 * 2 * 7  # at each position; torchinfo counts 544 * 2
    attention = table.layers[4]
    products = 2 * 7 * (16 * 48 + 48 + 16 * 16 + 16) + 2 * 2 * 7 * 7 * 16
    assert attention.mult_adds == products
    container = table.layers[2]
    assert container.mult_adds == 2 * table.layers[3].mult_adds
    shallow = str(found(model, (2, 7, 16), depth=2, col_names=("num_params", "mult_adds")))
    line = next(line for line in shallow.splitlines() if "ModuleList" in line)
    assert line.split()[-2:] == ["4,448", f"{container.mult_adds:,}"]


def test_tied_parameters_are_counted_once() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(10, 4)
            self.out = nn.Linear(4, 10, bias=False)
            self.out.weight = self.words.weight

        def forward(self, x):
            return self.out(self.words(x))

    table = found(Tied(), taper.zeros(3, 5, dtype=taper.int64))
    assert table.total_params == 40
    assert [each.num_params for each in table.layers] == [40, 40, 40]
    assert [each.mult_adds for each in table.layers] == [600, 0, 600]


def test_inputs_of_every_kind() -> None:
    x = taper.ones(2, 4)
    for given in ([x, x], (x, x), {"x": x, "y": x}):
        assert found(Again(), given).input_size == [(2, 4), (2, 4)]
        assert found(Again(), input_data=given).input_size == [(2, 4), (2, 4)]
    assert found(Again(), [(5, 4), (5, 4)]).input_size == [(5, 4), (5, 4)]
    assert found(Again(), x, y=x).layers[0].output_size == (2, 4)
    assert found(Again(), x=x).layers[0].output_size == (2, 4)
    assert found(perceptron(), (4,), batch_dim=0).layers[0].output_size == (1, 3)
    words = nn.Embedding(7, 2)
    assert found(words, (3,), dtypes=[taper.int64], device="cpu").layers[0].output_size == (3, 2)
    assert found(perceptron(), taper.Size([5, 4])).total_mult_adds == 335


def test_what_is_printed(capsys) -> None:
    table = viz.summary(perceptron(), (5, 4), col_names=COLUMNS)
    printed = capsys.readouterr().out
    assert printed == f"{table}\n"
    assert "Total mult-adds: 335" in printed
    assert "Params size (bytes): 268" in printed
    viz.summary(perceptron(), (5, 4), col_names=COLUMNS, verbose=2, row_settings=("ascii_only",))
    printed = capsys.readouterr().out
    assert "+ Linear" in printed
    assert "    + weight" in printed
    assert "└─32" in printed
    assert found(perceptron(), (5, 4)) is not None
    assert capsys.readouterr().out == ""


def test_times_and_saved_bytes() -> None:
    table = found(perceptron(), taper.ones(50, 4))
    first = table.layers[1]
    assert 0 < first.forward_time < table.forward_time
    assert 0 < first.backward_time < table.backward_time
    assert table.saved_bytes == 50 * 4 * 4 + 50 * 8 * 4  # the input, and what tanh returns
    assert found(perceptron(), (5, 4), col_names=COLUMNS).forward_time is None
    frozen = perceptron().requires_grad_(False)
    assert found(frozen, (5, 4)).backward_time is None


class Sloppy(nn.Module):
    """Does in its forward what a forward should not do."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout()
        self.out = nn.Linear(4, 2)
        self.calls = 0

    def forward(self, x, fail=False):
        self.calls += 1
        self.kept = self.norm(x)
        random.random()
        np.random.rand()
        if fail:
            raise KeyError("no such thing")
        return self.out(self.drop(self.kept))


@pytest.mark.parametrize("fail", [False, True])
def test_the_model_and_the_world_are_left_as_they_were(fail) -> None:
    model = Sloppy()
    model.drop.eval()
    seen: list[str] = []
    model.out.register_forward_hook(lambda *_: seen.append("hook"))
    model.out.weight.grad = taper.full((2, 4), 7.0)
    grad, mean = model.out.weight.grad, model.norm.running_mean
    version = mean._version
    state = {name: each.clone() for name, each in model.state_dict().items()}
    attributes = [{**each.__dict__} for each in model.modules()]
    hooks = dict(model.out._forward_hooks)
    numbers = taper.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
    if fail:
        with pytest.raises(RuntimeError, match="no such thing"):
            viz.summary(model, (3, 4), mode="train", verbose=0, fail=True)
    else:
        viz.summary(model, (3, 4), mode="train", verbose=0)
    assert attributes == [each.__dict__ for each in model.modules()]
    assert (model.calls, hasattr(model, "kept"), model.drop.training) == (0, False, False)
    assert model.out.weight.grad is grad
    assert grad.tolist() == [[7.0] * 4] * 2
    assert model.out.bias.grad is None
    assert model.norm.running_mean is mean
    assert mean._version == version
    assert all(taper.equal(state[name], each) for name, each in model.state_dict().items())
    assert dict(model.out._forward_hooks) == hooks
    assert "forward" not in vars(model)
    assert taper.equal(taper.get_rng_state(), numbers[0])
    assert random.getstate() == numbers[1]
    assert np.random.get_state()[1].tolist() == numbers[2]
    assert (not seen) == fail  # the hook itself belongs to the call


def test_lazy_layers_stay_lazy() -> None:
    model = nn.Sequential(nn.LazyLinear(3), nn.ReLU())
    assert found(model, (2, 5)).total_params == 18
    assert type(model[0]) is nn.LazyLinear
    assert "(lazy)" in str(found(model))


def test_a_failing_forward_names_the_layer() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.Sequential(nn.ReLU(), nn.Linear(7, 3)))
    with pytest.raises(RuntimeError) as caught:
        viz.summary(model, (5, 4))
    assert str(caught.value) == (
        "summary: the forward pass failed in '1.1' (Linear), given [5, 8]: RuntimeError: "
        "mat1 and mat2 shapes cannot be multiplied (5x8 and 7x3)"
    )


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"input_size": (5, 4), "input_data": taper.ones(5, 4)}, RuntimeError, "not both"),
        ({"input_size": (5, 4), "col_names": ("x",)}, ValueError, "no column 'x'"),
        ({"input_size": (5, 4), "row_settings": ("x",)}, ValueError, "no row setting 'x'"),
        ({"input_size": (5, -4)}, ValueError, r"not a size of an input: \(5, -4\)"),
        ({"input_size": (5, 4.0)}, ValueError, r"not a size of an input: \(5, 4.0\)"),
        ({"input_size": ()}, ValueError, r"not a size of an input: \(\)"),
        ({"input_size": [(5, 4)], "dtypes": []}, ValueError, "1 sizes need 1 dtypes"),
        ({"input_size": (5, 4), "verbose": 3}, ValueError, "verbose must be 0, 1 or 2"),
        ({"input_size": (5, 4), "mode": "x"}, ValueError, "mode must be"),
        ({"col_names": ("output_size",)}, ValueError, "needs input_size or input_data"),
    ],
)
def test_wrong_arguments(options, error, text) -> None:
    with pytest.raises(error, match=text):
        viz.summary(perceptron(), **{"verbose": 0, **options})


def test_wrong_models() -> None:
    with pytest.raises(TypeError, match="expected a module, got int"):
        viz.summary(3)


def test_html_escapes_and_json_holds_everything() -> None:
    model = nn.Sequential()
    model.add_module("<b>", nn.Linear(2, 2))
    table = found(model, (1, 2), row_settings=("var_names",))
    assert "&lt;b&gt;" in table._repr_html_()
    assert "<b>" not in table._repr_html_()
    data = table.to_json()
    assert data["layers"][1]["path"] == "<b>"
    assert data["total_params"] == 6
