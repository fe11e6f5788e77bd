"""`taper.utils.tensorboard`: the files, read back with an independent decoder."""

from __future__ import annotations

import io
import json
import re
import struct
import sys
import types
import wave
from pathlib import Path

import numpy as np
import pytest

import taper as torch
from event_files import (
    doubles,
    events,
    fields,
    picture,
    plugin,
    scalars,
    singles,
    values,
)
from taper import nn
from taper.utils.tensorboard import SummaryWriter


@pytest.fixture
def writer(tmp_path):
    with SummaryWriter(tmp_path) as made:
        yield made


def written(writer):
    writer.close()
    return [value for _, _, value in values(writer.log_dir)]


def only(writer):
    (value,) = written(writer)
    return value


# --- numbers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        2.5,
        np.float16(2.5),
        np.array([[2.5]]),
        torch.tensor(2.5),
        torch.tensor([2.5], requires_grad=True),
        torch.tensor(2.5, dtype=torch.bfloat16),
        torch.tensor(2.5, dtype=torch.float16),
    ],
)
def test_scalars_of_all_kinds(writer, value):
    writer.add_scalar("a", value, torch.tensor(3))
    writer.close()
    assert scalars(writer.log_dir) == {"a": [(3, 2.5)]}


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        ([1.0], NotImplementedError, "Got <class 'list'>, but numpy array or torch tensor"),
        (None, NotImplementedError, "Got <class 'NoneType'>, but numpy array or torch tensor"),
        ("s", ValueError, "could not convert string to float: 's'"),
        (torch.ones(2), AssertionError, "Was given size: 2 and 1 dimensions."),
        (1j, TypeError, "not 'complex'"),
    ],
)
def test_what_is_no_scalar_is_refused(writer, value, kind, text):
    with pytest.raises(kind, match=re.escape(text)):
        writer.add_scalar("a", value)
    assert written(writer) == []


def test_steps_and_times(writer):
    writer.add_scalar("a", 1, -1, walltime=5.0)
    with pytest.raises(ValueError, match="Value out of range"):
        writer.add_scalar("a", 1, 2**70)
    with pytest.raises(TypeError, match="must be real number, not str"):
        writer.add_scalar("a", 1, 1, walltime="now")
    writer.close()
    (event,) = events(writer.log_dir)
    assert event[2] == [2**64 - 1]
    assert struct.unpack("<d", event[1][0]) == (5.0,)


def test_too_large_for_a_single_is_infinite(writer):
    writer.add_scalar("a", 1e300)
    writer.close()
    assert scalars(writer.log_dir)["a"] == [(0, np.inf)]


def test_new_style_scalars_are_tensors(writer):
    writer.add_scalar("a", 0.1, new_style=True, double_precision=True)
    value = only(writer)
    assert plugin(value) == ("scalars", None)
    tensor = fields(value[8][0])
    assert tensor[1] == [2]
    assert doubles(tensor[6][0]) == [0.1]


def test_scalars_of_one_diagram_get_folders(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for step in range(2):
            writer.add_scalars("loss/all", {"train": step, "test": step + 0.5}, step)
        with pytest.raises(NotImplementedError):
            writer.add_scalars("other", {"a": 1, "b": [1]})
    assert scalars(tmp_path / "loss_all_train") == {"loss/all": [(0, 0.0), (1, 1.0)]}
    assert scalars(tmp_path / "loss_all_test") == {"loss/all": [(0, 0.5), (1, 1.5)]}
    assert not (tmp_path / "other_a").exists()


def test_histogram_has_one_empty_bucket_in_front(writer):
    writer.add_histogram("a", np.array([1.0, 1.5, 2.5]), 1, bins=[0, 1, 2, 3, 4])
    histogram = fields(only(writer)[5][0])
    assert [doubles(histogram[field][0])[0] for field in range(1, 6)] == [1, 2.5, 3, 5, 9.5]
    assert doubles(histogram[6][0]) == [1, 2, 3]
    assert doubles(histogram[7][0]) == [0, 2, 1]


def test_histogram_of_at_most_so_many_bins(writer):
    writer.add_histogram("a", np.arange(100.0), bins=50, max_bins=8)
    histogram = fields(only(writer)[5][0])
    assert doubles(histogram[7][0]) == [0, *[12] * 8, 4]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int64, torch.bool])
def test_histograms_of_all_dtypes(writer, dtype):
    writer.add_histogram("a", torch.ones(2, 3, dtype=dtype))
    histogram = fields(only(writer)[5][0])
    assert doubles(histogram[3][0]) == [6]
    assert sum(doubles(histogram[7][0])) == 6


def test_histograms_that_cannot_be(writer):
    with pytest.raises(ValueError, match="The input has no element."):
        writer.add_histogram("a", np.ones(0))
    with pytest.raises(ValueError, match="The histogram is empty"):
        writer.add_histogram("a", np.ones(3), bins=[20, 30])
    with pytest.raises(ValueError, match=r"len\(bucket_limits\) != len\(bucket_counts\)"):
        writer.add_histogram_raw("a", 0, 1, 2, 3, 4, [1, 2], [1])
    assert written(writer) == []


def test_raw_histogram(writer):
    writer.add_histogram_raw("a", 0.0, 1.0, 3, 2.0, 4.0, [0.5, 1.0], torch.tensor([1, 2]))
    histogram = fields(only(writer)[5][0])
    assert doubles(histogram[6][0]) == [0.5, 1.0]
    assert doubles(histogram[7][0]) == [1, 2]


def test_precision_and_recall(writer):
    labels, predictions = np.array([0, 1, 1, 0]), np.array([0.1, 0.6, 0.4, 0.8])
    writer.add_pr_curve("a", labels, predictions, num_thresholds=3)
    value = only(writer)
    assert plugin(value) == ("pr_curves", {2: [3]})
    rows = np.reshape(singles(fields(value[8][0])[5][0]), (6, 3))
    # Thresholds 0, 1/2 and 1: above them are all four, 0.6 and 0.8, and none.
    expected = [[2, 1, 0], [2, 1, 0], [0, 1, 2], [0, 1, 2], [0.5, 0.5, 0], [1, 0.5, 0]]
    assert rows.tolist() == expected


@pytest.mark.parametrize(
    ("dtype", "number", "field"),
    [
        (torch.float32, 1, 5),
        (torch.float64, 2, 6),
        (torch.int64, 9, 10),
        (torch.bool, 10, 11),
        (torch.complex64, 8, 9),
        (torch.uint8, 4, 16),
    ],
)
def test_tensors(writer, dtype, number, field):
    writer.add_tensor("a", torch.tensor([[1, 0]]).to(dtype))
    value = only(writer)
    tensor = fields(value[8][0])
    assert plugin(value) == ("tensor", None)
    assert tensor[1] == [number]
    assert tensor[2] == [b"\x12\x02\x08\x01\x12\x02\x08\x02"]
    assert set(tensor) == {1, 2, field}


@pytest.mark.parametrize(("dtype", "bits"), [(torch.float16, 0x3C00), (torch.bfloat16, 0x3F80)])
def test_half_precision_keeps_its_bits(writer, dtype, bits):
    writer.add_tensor("a", torch.ones(1, dtype=dtype))
    data = fields(only(writer)[8][0])[13][0]
    assert fields(b"\x08" + data) == {1: [bits]}


def test_tensors_of_other_dtypes_are_refused(writer):
    with pytest.raises(ValueError, match="a has unsupported tensor dtype torch.uint16"):
        writer.add_tensor("a", torch.ones(2, dtype=torch.uint16))
    with pytest.raises(AttributeError, match="numel"):
        writer.add_tensor("a", [1.0])


# --- pictures and sound ----------------------------------------------------------------------


def image_of(value):
    image = fields(value[4][0])
    return image[1][0], image[2][0], image[3][0], picture(image[4][0])


@pytest.mark.parametrize("axes", ["CHW", "HWC", "WCH", "chw"])
def test_pictures_in_any_layout(writer, axes):
    pixels = np.random.default_rng(0).integers(0, 256, (4, 5, 3), np.uint8)
    order = ["HWC".index(each) for each in axes.upper()]
    writer.add_image("a", pixels.transpose(order), dataformats=axes)
    height, width, channels, found = image_of(only(writer))
    assert (height, width, channels) == (4, 5, 3)
    assert np.array_equal(found, pixels)


def test_numbers_are_stretched_and_cut(writer):
    writer.add_image("a", torch.tensor([[-1.0, 0.5, 2.0]]), dataformats="HW")
    assert image_of(only(writer))[3].tolist() == [[[0] * 3, [127] * 3, [255] * 3]]


def test_pictures_with_transparency(writer):
    pixels = np.arange(2 * 2 * 4, dtype=np.uint8).reshape(2, 2, 4)
    writer.add_image("a", pixels, dataformats="HWC")
    assert np.array_equal(image_of(only(writer))[3], pixels)


def test_grid_of_pictures(writer):
    pixels = np.arange(10, dtype=np.uint8)[:, None, None, None].repeat(2, 2).repeat(3, 3)
    writer.add_images("a", pixels)
    found = image_of(only(writer))[3]
    assert found.shape == (4, 24, 3)
    assert found[0, ::3, 0].tolist() == list(range(8))
    assert found[2, ::3, 0].tolist() == [8, 9, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("shape", "axes", "kind", "text"),
    [
        ((8, 9), "CHW", AssertionError, "tensor shape: (8, 9), input_format: CHW"),
        ((3, 8, 9), "CHH", AssertionError, "You can not use the same dimension shorthand twice."),
        ((5, 8, 9), "CHW", TypeError, "Cannot handle this data type: (1, 1, 5), |u1"),
        ((3, 0, 9), "CHW", ValueError, "cannot write empty image"),
        ((2, 2, 4, 5), "NCHW", AssertionError, "Input should be a 4D numpy array with 3 channels"),
    ],
)
def test_pictures_that_cannot_be(writer, shape, axes, kind, text):
    with pytest.raises(kind, match=re.escape(text)):
        writer.add_image("a", np.zeros(shape), dataformats=axes)
    assert written(writer) == []


def test_boxes_are_red(writer):
    writer.add_image_with_boxes("a", np.zeros((3, 8, 9)), np.array([[1, 2, 5, 6]]))
    found = image_of(only(writer))[3]
    assert found[..., 1:].max() == 0
    assert (found[..., 0] > 0).astype(int).tolist() == [
        [0, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 1, 1, 1, 1, 1, 0, 0, 0],
        [0, 1, 1, 1, 1, 1, 0, 0, 0],
        [0, 1, 1, 0, 1, 1, 0, 0, 0],
        [0, 1, 1, 0, 1, 1, 0, 0, 0],
        [0, 1, 1, 0, 1, 1, 0, 0, 0],
        [0, 1, 1, 1, 1, 1, 0, 0, 0],
        [0, 1, 1, 1, 1, 1, 0, 0, 0],
    ]


def test_boxes_in_another_size(writer):
    writer.add_image_with_boxes("a", np.full((3, 8, 9), 0.2), torch.ones(0, 4), rescale=2)
    height, width, _, found = image_of(only(writer))
    assert (height, width) == (8, 9)  # as PyTorch: the size it had
    assert found.shape == (16, 18, 3)
    assert set(found.ravel().tolist()) == {51}


def test_figures(writer, monkeypatch):
    """Without Matplotlib: the modules imitate the parts of it that are used."""
    closed = []

    class Canvas:
        def __init__(self, figure):
            self.figure = figure

        def draw(self):
            self.figure.drawn = True

        def buffer_rgba(self):
            assert self.figure.drawn
            return np.full((2, 3, 4), self.figure.shade, np.uint8)

    names = ("matplotlib", "matplotlib.backends", "matplotlib.backends.backend_agg")
    for name in (*names, "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["matplotlib.backends.backend_agg"].FigureCanvasAgg = Canvas
    sys.modules["matplotlib"].pyplot = sys.modules["matplotlib.pyplot"]
    sys.modules["matplotlib.pyplot"].close = closed.append
    figures = [types.SimpleNamespace(shade=shade) for shade in (1, 2)]
    writer.add_figure("one", figures[0], close=False)
    assert closed == []
    writer.add_figure("two", figures)
    assert closed == figures
    one, two = written(writer)
    assert image_of(one)[3].tolist() == [[[1] * 3] * 3] * 2
    assert image_of(two)[3].tolist() == [[[1] * 3] * 3 + [[2] * 3] * 3] * 2


def test_sound(writer, capsys):
    writer.add_audio("a", torch.tensor([[-1.5, 0.0, 0.5, 1.0]]), sample_rate=8000)
    assert capsys.readouterr().out == "warning: audio amplitude out of range, auto clipped.\n"
    sound = fields(only(writer)[6][0])
    assert (singles(sound[1][0]), sound[2], sound[3]) == ([8000], [1], [4])
    with wave.open(io.BytesIO(sound[4][0])) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (8000, 1, 2)
        assert struct.unpack("<4h", file.readframes(4)) == (-32767, 0, 16383, 32767)
    with pytest.raises(AssertionError, match="input tensor should be 1 dimensional."):
        writer.add_audio("a", torch.zeros(2, 8))


def test_what_is_not_there_says_what_to_use(writer):
    with pytest.raises(NotImplementedError, match="use add_images"):
        writer.add_video("a", np.zeros((1, 2, 3, 4, 5)))
    with pytest.raises(NotImplementedError, match="use add_graph"):
        writer.add_onnx_graph("file")


# --- texts and settings ----------------------------------------------------------------------


def test_text(writer):
    writer.add_text("a", "**bold** é", 2)
    writer.close()
    ((step, tag, value),) = values(writer.log_dir)
    assert (step, tag, plugin(value)) == (2, "a/text_summary", ("text", None))
    assert fields(value[8][0])[8][0].decode() == "**bold** é"


def test_hyperparameters(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams(
            {"lr": 0.5, "name": "x", "deep": True, "none": None, "scale": torch.tensor(2.0)},
            {"loss": 3.0},
            {"lr": [0.5, 1.0]},
            run_name="run",
            global_step=4,
        )
    found = values(tmp_path / "run")
    assert [tag for _, tag, _ in found] == [
        "_hparams_/experiment",
        "_hparams_/session_start_info",
        "_hparams_/session_end_info",
        "loss",
    ]
    experiment = fields(plugin(found[0][2])[1][2][0])
    infos = [fields(each) for each in experiment[4]]
    assert [(each[1], each[4]) for each in infos] == [
        ([b"lr"], [3]),
        ([b"name"], [1]),
        ([b"deep"], [3]),
        ([b"scale"], [3]),
    ]
    domain = [doubles(fields(each)[2][0]) for each in fields(infos[0][5][0])[1]]
    assert domain == [[0.5], [1.0]]
    start = [fields(each) for each in fields(plugin(found[1][2])[1][3][0])[1]]
    settings = {each[1][0]: fields(each[2][0]) for each in start}
    assert settings[b"name"] == {3: [b"x"]}
    assert [doubles(settings[name][2][0])[0] for name in (b"lr", b"deep", b"scale")] == [0.5, 1, 2]
    assert scalars(tmp_path / "run") == {"loss": [(4, 3.0)]}


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        (([], {}), TypeError, "hparam_dict and metric_dict should be dictionary."),
        (({"a": [1]}, {}), ValueError, "value should be one of int, float, str, bool, or torch"),
        (({"a": 1}, {"m": "s"}), ValueError, "could not convert string to float: 's'"),
        (({"a": 1}, {}, {"a": [1, "x"]}), TypeError, "should be a list of same type as"),
        (({"a": 1}, {}, [1]), TypeError, "should be a dictionary, nothing logged."),
    ],
)
def test_hyperparameters_that_cannot_be_leave_no_folder(writer, arguments, kind, text):
    with pytest.raises(kind, match=re.escape(text)):
        writer.add_hparams(*arguments, run_name="run")
    assert not (Path(writer.log_dir) / "run").exists()


def test_layout_of_scalars(writer):
    writer.add_custom_scalars_multilinechart(["x", "y"], "c", "t")
    writer.add_custom_scalars_marginchart(["v", "l", "u"], "c", "t")
    with pytest.raises(AssertionError, match="Expected 3 tags, got 1."):
        writer.add_custom_scalars_marginchart(["v"])
    lines, margin = (fields(fields(value[8][0])[8][0])[2][0] for value in written(writer))
    assert fields(lines)[1] == [b"c"]
    chart = fields(fields(lines)[2][0])
    assert (chart[1], fields(chart[2][0])) == ([b"t"], {1: [b"x", b"y"]})
    chart = fields(fields(margin)[2][0])
    assert fields(fields(chart[3][0])[1][0]) == {1: [b"v"], 2: [b"l"], 3: [b"u"]}


def test_mesh(writer):
    corners, faces = torch.ones(1, 4, 3), torch.tensor([[[0, 1, 2]]])
    writer.add_mesh("a", corners, faces=faces, config_dict={"x": 1})
    with pytest.raises(ValueError, match=r"BxNx3, but got torch.Size\(\[2, 3\]\)"):
        writer.add_mesh("a", torch.ones(2, 3))
    vertex, face = written(writer)
    assert vertex[1] == [b"a_VERTEX"] and face[1] == [b"a_FACE"]
    name, content = plugin(face)
    assert name == "mesh"
    assert (content[2], content[3], content[7]) == ([b"a"], [2], [6])
    assert json.loads(content[5][0]) == {"x": 1}
    assert singles(fields(face[8][0])[5][0]) == [0, 1, 2]


# --- points ----------------------------------------------------------------------------------


def test_embedding(tmp_path, capsys):
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(
            torch.tensor([[1.0, 0.5], [2.0, 3.0]]),
            [["a", 1], ["b", 2]],
            torch.ones(2, 3, 4, 4),
            global_step=2,
            tag="a/b",
            metadata_header=["name", "number"],
        )
        writer.add_embedding(np.ones((1, 2)))
        assert capsys.readouterr().out == ""
        writer.add_embedding(np.ones((1, 2)))
        assert "Embedding dir exists" in capsys.readouterr().out
    folder = tmp_path / "00002" / "a%2fb"
    assert (folder / "tensors.tsv").read_text() == "1.0\t0.5\n2.0\t3.0\n"
    assert (folder / "metadata.tsv").read_text() == "name\tnumber\na\t1\nb\t2\n"
    sheet = picture((folder / "sprite.png").read_bytes())
    assert sheet.shape == (8, 8, 3)
    assert (sheet[:4].min(), sheet[4:].max()) == (255, 0)
    configuration = (tmp_path / "projector_config.pbtxt").read_text()
    assert configuration.startswith(
        'embeddings {\n  tensor_name: "a/b:00002"\n  metadata_path: "00002/a%2fb/metadata.tsv"\n'
        '  sprite {\n    image_path: "00002/a%2fb/sprite.png"\n    single_image_dim: 4\n'
    )
    assert configuration.count("embeddings {") == 3
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((torch.ones(3),), "mat should be 2D"),
        ((torch.ones(3, 2), ["a"]), "#labels should equal with #data points"),
        ((torch.ones(3, 2), None, torch.ones(2, 3, 4, 4)), "#images should equal with #data"),
    ],
)
def test_embeddings_that_cannot_be_leave_no_folder(writer, arguments, text):
    with pytest.raises(AssertionError, match=text):
        writer.add_embedding(*arguments)
    assert not (Path(writer.log_dir) / "00000").exists()


# --- graphs ----------------------------------------------------------------------------------


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.rest = nn.Sequential(nn.Dropout(), nn.ReLU(inplace=True))
        self.register_buffer("shift", torch.ones(4))

    def forward(self, x, others):
        largest, _ = self.rest(self.first(x)).max(dim=1)
        return {"y": largest + others[0] + self.shift[0], "n": others[1]}


def nodes_of(writer):
    writer.close()
    graph, metadata = events(writer.log_dir)
    found = {}
    for node in fields(graph[4][0])[1]:
        parts = fields(node)
        attributes = {fields(each)[1][0]: fields(each)[2][0] for each in parts[5]}
        shapes = []
        for shape in fields(fields(attributes.get(b"_output_shapes", b""))[1][0]).get(7, []):
            shapes.append([fields(each)[1][0] for each in fields(shape).get(2, [])])
        inputs = [each.decode() for each in parts.get(3, [])]
        found[parts[1][0].decode()] = (parts[2][0].decode(), inputs, shapes)
    tagged = fields(metadata[8][0])
    assert tagged[1] == [b"step1"]
    assert b"/device:CPU:0" in tagged[2][0]
    return found


def test_graph_of_a_model(writer):
    model = Model().train()
    writer.add_graph(model, (torch.ones(2, 3), [torch.ones(2), torch.ones(5)]))
    found = nodes_of(writer)
    assert found["input/x"] == ("IO Node", [], [[2, 3]])
    assert found["Model/Linear[first]/weight"] == ("prim::GetAttr", [], [[4, 3]])
    product = "Model/Linear[first]/addmm"
    source, *_ = found["Model/Sequential[rest]/ReLU[1]/relu_"][1]
    assert found[product][0] == "aten::addmm" and source == product  # no dropout: evaluation mode
    assert [node for node in found if node.startswith("Model/shift")] == ["Model/shift"]
    (largest,) = (value for name, value in found.items() if name.startswith("Model/max"))
    assert largest[1:] == (["Model/Sequential[rest]/ReLU[1]/relu_"], [[2], [2]])
    assert found["output/output.2"] == ("IO Node", ["input/others.1"], [[5]])
    named = {each.partition(":")[0] for _, inputs, _ in found.values() for each in inputs}
    assert named <= found.keys()
    assert all(each.training for each in model.modules())
    assert not any(each._forward_hooks or each._forward_pre_hooks for each in model.modules())


def test_a_module_that_is_called_twice(writer, capsys):
    layer = nn.ReLU()
    model = nn.Sequential(layer, layer)
    writer.add_graph(model, torch.ones(2), verbose=True)
    assert "Sequential/ReLU[0]/relu_1 = aten::relu(" in capsys.readouterr().out
    found = nodes_of(writer)
    assert found["Sequential/ReLU[0]/relu_1"][1] == ["Sequential/ReLU[0]/relu"]


def test_a_second_output_has_its_number(writer):
    class Second(nn.Module):
        def forward(self, x):
            return x.sort()[1] * 2

    writer.add_graph(Second(), torch.ones(3))
    found = nodes_of(writer)
    assert found["Second/mul"][1] == ["Second/sort:1"]


def test_a_model_that_fails_is_left_as_it_was(writer):
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout()).train()
    model[0].eval()
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        writer.add_graph(model, torch.ones(3, 3))
    assert [each.training for each in model.modules()] == [True, False, True]
    assert not any(each._forward_hooks for each in model.modules())
    with pytest.raises(AttributeError, match="'int' object has no attribute 'training'"):
        writer.add_graph(3, torch.ones(3))
    with pytest.raises(RuntimeError, match="input_to_model"):
        writer.add_graph(model)
    assert written(writer) == []
