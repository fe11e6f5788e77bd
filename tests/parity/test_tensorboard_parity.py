"""Files of events: TensorBoard reads from taper's what it reads from PyTorch's."""

from __future__ import annotations

import io
import struct
import warnings

import numpy as np
import pytest

pytest.importorskip("tensorboard", reason="the reader of the files is an extra")
warnings.simplefilter("ignore")  # of the imports below; pytest sets its own for each test

import torch  # noqa: E402
from google.protobuf import text_format  # noqa: E402
from PIL import Image  # noqa: E402
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: E402
from tensorboard.compat.proto.config_pb2 import RunMetadata  # noqa: E402
from tensorboard.compat.proto.event_pb2 import Event  # noqa: E402
from tensorboard.compat.proto.graph_pb2 import GraphDef  # noqa: E402
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData  # noqa: E402
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig  # noqa: E402
from torch.utils import tensorboard as theirs  # noqa: E402

import taper  # noqa: E402
from taper.utils import tensorboard as ours  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")

EVERYTHING = dict.fromkeys(("scalars", "histograms", "images", "audio", "tensors"), 0)
PACKAGES = {"taper": (taper, ours), "torch": (torch, theirs)}


def read(path):
    data, place, found = path.read_bytes(), 0, []
    while place < len(data):
        (size,) = struct.unpack_from("<Q", data, place)
        found.append(Event.FromString(data[place + 12 : place + 12 + size]))
        place += size + 16
    return found


def events_of(folder):
    """Return {subfolder: events}, without times, and pictures as their pixels."""
    found = {}
    for path in sorted(folder.rglob("events.out.tfevents.*")):
        events = found.setdefault(str(path.parent.relative_to(folder)), [])
        for event in read(path):
            event.wall_time = 0
            event.ClearField("source_metadata")
            pixels = []
            for value in event.summary.value:
                if value.HasField("image"):
                    image = Image.open(io.BytesIO(value.image.encoded_image_string))
                    pixels.append((image.mode, np.array(image).tolist()))
                    value.image.encoded_image_string = b""
                if value.metadata.plugin_data.plugin_name == "hparams":
                    # The order of a map is undefined: the text form sorts it.
                    content = HParamsPluginData.FromString(value.metadata.plugin_data.content)
                    pixels.append(text_format.MessageToString(content))
                    value.metadata.plugin_data.content = b""
            events.append((text_format.MessageToString(event), pixels))
    return found


def run(program, tmp_path, **options):
    """Return what both packages write for a program of (package, writer)."""
    for name, (package, tensorboard) in PACKAGES.items():
        with tensorboard.SummaryWriter(tmp_path / name, **options) as writer:
            program(package, writer)
    return events_of(tmp_path / "taper"), events_of(tmp_path / "torch")


def numbers(seed=0):
    return np.random.default_rng(seed)


# --- the same events -------------------------------------------------------------------------


def all_scalars(package, writer):
    writer.add_scalar("a b/c", 1.5, 3)
    writer.add_scalar("tensor", package.tensor(2.5), package.tensor(4), new_style=True)
    writer.add_scalar("double", np.float16(2.1), -1, new_style=True, double_precision=True)
    writer.add_scalar("half", package.tensor(2.1, dtype=package.bfloat16), 1.9)
    writer.add_scalar("inf", float("inf"))
    writer.add_scalar("large", 1e300)
    writer.add_scalar(None, np.array([[3.5]]), "7")
    writer.add_scalars("main/x", {"p": 1.0, "q r": package.tensor(2.0), "s/t": 3}, 7)


def all_histograms(package, writer):
    r = numbers()
    for number in range(5):
        writer.add_histogram("normal", r.normal(size=(10, 10)) * 10.0**number, number)
    names = ("fd", "auto", "doane", "scott", "stone", "rice", "sturges", "sqrt")
    for bins in (*names, 7, [0, 1, 2, 40.0], np.array([-1.0, 0.5])):
        writer.add_histogram(f"bins {bins}", np.arange(100.0), bins=bins)
    for count in (1, 3, 7, 10, 49, 50, 200):
        writer.add_histogram("most", r.normal(size=100), count, bins=50, max_bins=count)
        writer.add_histogram("most default", r.normal(size=100), count, max_bins=count)
    for dtype in ("bool", "int64", "float16", "bfloat16", "float64"):
        writer.add_histogram(dtype, package.arange(4).to(getattr(package, dtype)))
    for values in ([0.0], [float("nan"), 1.0], [float("inf"), 1.0], [1e30, 2], [-1e-13]):
        writer.add_histogram("special", np.array(values))
    writer.add_histogram("scalar", 3.0)
    writer.add_histogram_raw("raw", 0.0, 1, 3, 2.0, 4.0, [0.5, 1.0], package.tensor([1, 2]), 1)
    writer.add_histogram_raw("none", 0, 1, 2, 3, 4, [], [])


def all_pictures(package, writer):
    r = numbers()
    for axes, shape in {"CHW": (3, 4, 5), "HWC": (4, 5, 3), "HW": (4, 5), "WCH": (5, 1, 4)}.items():
        writer.add_image(axes, r.random(shape), 1, dataformats=axes)
        writer.add_image(axes, r.integers(0, 256, shape, np.uint8), dataformats=axes)
    for channels in (1, 2, 4):
        writer.add_image("channels", package.tensor(r.random((channels, 4, 5))))
    for dtype in ("bool", "int64", "bfloat16", "float16"):
        writer.add_image(dtype, package.ones(3, 2, 2).to(getattr(package, dtype)))
    writer.add_image("over", np.linspace(-1, 2, 12).reshape(3, 2, 2))
    for number in (1, 3, 8, 9, 17):
        writer.add_images("many", package.tensor(r.random((number, 3, 4, 5))), number)
    writer.add_images("grey", r.random((3, 1, 4, 5)))
    writer.add_images("last", r.random((3, 4, 5, 1)), dataformats="NHWC")


def all_boxes(package, writer):
    r = numbers()
    picture = r.random((3, 20, 24)).astype(np.float32)
    for step in range(60):
        boxes = np.trunc(r.normal(10, 12, (2, 4))) if step % 2 else r.normal(10, 12, (2, 4))
        if step % 7 == 0:
            boxes[:, 2] = boxes[:, 0]
        if step % 5 == 0:
            boxes[:, 3] = boxes[:, 1]
        writer.add_image_with_boxes("a", picture, package.tensor(boxes), step)
    box = np.array([[3, 4, 15, 16], [0, 0, 5, 5]])
    for rescale in (0.3, 0.5, 1, 1.7, 2):
        writer.add_image_with_boxes("size", picture, box, rescale=rescale)
    writer.add_image_with_boxes("HW", picture[0], box, dataformats="HW")
    writer.add_image_with_boxes("label", picture, box[:1], labels="cat")
    writer.add_image_with_boxes("labels", picture, box, labels=["dog", None])
    writer.add_image_with_boxes("too few", picture, box, labels=["dog"])


def all_sounds(package, writer):
    r = numbers()
    writer.add_audio("a", package.tensor(r.uniform(-1.5, 1.5, (1, 50))), 1, sample_rate=8000)
    writer.add_audio("b", r.uniform(-1, 1, (50, 1)).astype(np.float32))
    writer.add_audio("c", package.full((8,), 0.5))


def all_curves(package, writer):
    r = numbers()
    for thresholds in (1, 2, 5, 127, 500):
        labels, predictions = r.integers(0, 2, 40), r.random(40)
        writer.add_pr_curve("a", labels, predictions, 1, num_thresholds=thresholds)
        writer.add_pr_curve("weights", labels, predictions, weights=r.random(40))
    writer.add_pr_curve("out", np.array([0, 1, 1]), np.array([0.2, 1.3, -0.1]), weights=2.0)
    writer.add_pr_curve("2", package.ones(2, 2), package.rand(2, 2) * 0 + 0.5)
    writer.add_pr_curve_raw("raw", [3, 2], [1, 0], [0, 1], [0, 1], [0.75, 1.0], [1.0, 0.66], 1, 2)


def all_texts_and_tensors(package, writer):
    writer.add_text("a", "hello é", 2)
    for name in ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"):
        writer.add_tensor(name, (package.arange(6).reshape(2, 3) - 3).to(getattr(package, name)), 1)
    writer.add_tensor("complex", package.tensor([1 + 2j, -3j]))
    writer.add_tensor("double complex", package.tensor([1 + 2j], dtype=package.complex128))
    writer.add_tensor("none", package.zeros(0, 2))
    writer.add_tensor("number", package.tensor(3.0, requires_grad=True))


def all_layouts(package, writer):
    charts = {"a": ["Multiline", ["x", "y"]], "b": ["Margin", ["v", "l", "u"]], "c": ["?", ["z"]]}
    writer.add_custom_scalars({"T": charts, "U": {}})
    writer.add_custom_scalars_multilinechart(["q", "r"])
    writer.add_custom_scalars_marginchart(["q", "r", "s"], "category", "title")


def all_meshes(package, writer):
    points = package.arange(12.0).reshape(1, 4, 3)
    faces = package.tensor([[[0, 1, 2], [1, 2, 3]]])
    writer.add_mesh("all", points, points.int(), faces, {"a": 1, "B": [2]}, 1)
    writer.add_mesh("points", points)
    writer.add_mesh("faces", points.tolist(), faces=faces)
    writer.add_mesh("colours", points.numpy(), colors=points)


def all_hyperparameters(package, writer):
    settings = {"lr": 0.1, "n": 3, "s": "x", "b": True, "t": package.tensor([2.0]), "none": None}
    writer.add_hparams(settings, {"acc": 1.0, "loss": package.tensor(2.0)}, run_name="one")
    domains = {"lr": [0.1, 0.2], "s": ["x", "y"], "b": [True, False]}
    writer.add_hparams(settings, {"acc": 1.0}, domains, run_name="two", global_step=4)


PROGRAMS = [
    all_scalars,
    all_histograms,
    all_pictures,
    all_boxes,
    all_sounds,
    all_curves,
    all_texts_and_tensors,
    all_layouts,
    all_meshes,
    all_hyperparameters,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_events_are_the_same(program, tmp_path):
    found, expected = run(program, tmp_path, purge_step=2)
    assert found.keys() == expected.keys()
    assert sum(map(len, expected.values())) > 5
    for folder, events in expected.items():
        for event, wanted in zip(found[folder], events, strict=True):
            assert event == wanted


def test_bins_are_the_same(tmp_path):
    writers = [package[1].SummaryWriter(tmp_path) for package in PACKAGES.values()]
    assert writers[0].default_bins == writers[1].default_bins
    for writer in writers:
        writer.close()


def timeless(event):
    return {name: getattr(event, name) for name in dir(event) if is_data(event, name)}


def is_data(event, name):
    return name[0] != "_" and name != "wall_time" and not callable(getattr(event, name))


def test_accumulator_reads_everything(tmp_path):
    """TensorBoard's own reader checks lengths and checksums."""

    def program(package, writer):
        for step in range(3):
            writer.add_scalar("scalar", step / 3, step)
            writer.add_histogram("histogram", np.arange(step + 2.0), step)
            writer.add_image("image", np.full((3, 40, 50), step / 3), step)
            writer.add_audio("audio", np.zeros(3000), step)
            writer.add_text("text", "x" * 2000 * step, step)
        writer.add_graph(package.nn.Linear(2, 2), package.ones(1, 2))

    run(program, tmp_path)
    readers = [EventAccumulator(str(tmp_path / name), EVERYTHING).Reload() for name in PACKAGES]
    tags = [reader.Tags() for reader in readers]
    assert tags[0] == tags[1]
    for kind, read in (
        ("scalars", "Scalars"),
        ("histograms", "Histograms"),
        ("audio", "Audio"),
        ("tensors", "Tensors"),
    ):
        for tag in tags[0][kind]:
            found, expected = ([timeless(each) for each in getattr(r, read)(tag)] for r in readers)
            assert len(expected) == 3
            assert found == expected
    found, expected = (
        [(each.step, each.width, each.height) for each in reader.Images("image")]
        for reader in readers
    )
    assert found == expected == [(step, 50, 40) for step in range(3)]
    assert len(readers[0].Graph().node) > 4


def test_half_precision_tensors_are_read_back(tmp_path):
    """PyTorch writes the bits of float32 there, which no reader can use."""
    values = taper.tensor([1.5, -2.0])
    with ours.SummaryWriter(tmp_path) as writer:
        writer.add_tensor("half", values.half())
        writer.add_tensor("bfloat16", values.bfloat16())
    reader = EventAccumulator(str(tmp_path)).Reload()
    for tag in ("half", "bfloat16"):
        (event,) = reader.Tensors(tag)
        bits = np.array(event.tensor_proto.half_val, np.uint16)
        wide = bits.view(np.float16) if tag == "half" else (bits.astype("<u4") << 16).view("<f4")
        assert wide.tolist() == [1.5, -2.0]


# --- errors ----------------------------------------------------------------------------------

CALLS = [
    *(("add_scalar", ("a", value)) for value in ([1.0], "s", None, 1j, np.ones(2), {}, 10**400)),
    *(("add_scalar", ("a", 1.0, step)) for step in ("x", 2**70, np.ones(2))),
    *(("add_scalar", ("a", 1.0, 1, time)) for time in ("x", [])),
    *(("add_histogram", ("a", value)) for value in ([], np.ones(0), "s", None)),
    *(("add_histogram", ("a", np.arange(9.0), 1, bins)) for bins in ("bad", None, 0, -1, [2, 1])),
    ("add_histogram", ("a", np.arange(9.0), 1, [20, 30, 40])),
    ("add_histogram", ("a", np.arange(9.0), 1, "tensorflow", None, 0)),
    ("add_histogram_raw", ("a", 0, 1, 2, 3, 4, [1, 2], [1])),
    ("add_histogram_raw", ("a", 0, 1, 2, 3, 4, [1, "x"], [1, 2])),
    ("add_histogram_raw", ("a", "x", 1, 2, 3, 4, [1, 2], [1, 2])),
    *(("add_image", ("a", value)) for value in ([[1]], "x", 1.0, None, np.ones((2, 2)))),
    *(("add_image", ("a", np.ones((3, 4, 5)), 1, None, axes)) for axes in ("CHH", "CXW", "HWC")),
    *(("add_image", ("a", np.ones(shape))) for shape in ((5, 2, 2), (3, 0, 2))),
    *(("add_images", ("a", np.ones(shape))) for shape in ((3, 4, 5), (2, 2, 4, 5))),
    ("add_image_with_boxes", ("a", np.ones((3, 8, 8)), np.ones(4))),
    ("add_image_with_boxes", ("a", np.ones((3, 8, 8)), [[1, 1, 5, 5]])),
    *(("add_audio", ("a", value)) for value in (np.zeros((2, 8)), np.zeros(0), None)),
    *(("add_text", ("a", value)) for value in (3, None, b"x", ["x"])),
    *(("add_tensor", ("a", value)) for value in (np.ones(2), [1.0])),
    ("add_hparams", ([], {})),
    ("add_hparams", ({"a": [1]}, {})),
    ("add_hparams", ({"a": np.float32(1)}, {})),
    ("add_hparams", ({"a": 1}, {"m": "s"})),
    ("add_hparams", ({"a": 1}, {}, {"a": [1.5]})),
    ("add_hparams", ({"a": 1}, {}, {"b": [1]})),
    ("add_hparams", ({"a": 1}, {}, [1])),
    *(("add_mesh", ("a", value)) for value in (np.ones((2, 3)), [1])),
    ("add_pr_curve", ("a", [0, 1], [0.1, 0.2])),
    ("add_pr_curve", ("a", np.ones(2), np.ones(3))),
    ("add_pr_curve", ("a", np.ones(2), np.ones(2), 1, 0)),
    ("add_pr_curve_raw", ("a", [1, 2], [1], [1, 2], [1, 2], [1, 2], [1, 2])),
    ("add_custom_scalars", ({"T": {"a": ["Margin", ["x"]]}},)),
    ("add_custom_scalars_marginchart", (["a"],)),
    ("add_embedding", (np.ones(3),)),
    ("add_embedding", (np.ones((3, 2)), ["a"])),
    ("add_embedding", (np.ones((1, 2)), ["a"], np.ones((2, 3, 4, 4)))),
    ("add_embedding", (np.ones((1, 2)), [["a", "b"]], None, 1, "x", ["c"])),
    ("add_graph", (3, 1)),
]


@pytest.mark.parametrize(("method", "arguments"), CALLS)
def test_errors_are_the_same(method, arguments, tmp_path):
    found = []
    for name, (_, tensorboard) in PACKAGES.items():
        with tensorboard.SummaryWriter(tmp_path / name) as writer:
            with pytest.raises(Exception) as caught:
                getattr(writer, method)(*arguments)
            found.append((type(caught.value), str(caught.value)))
    assert found[0] == found[1]


# --- points ----------------------------------------------------------------------------------


def test_projector_files_are_the_same(tmp_path):
    def program(package, writer):
        r = numbers()
        points = package.tensor(r.normal(size=(7, 3)), dtype=package.float32)
        writer.add_embedding(points)
        writer.add_embedding(
            points, [f"é{each}" for each in range(7)], tag="a/b %\\c", global_step=3
        )
        rows = [[each, f"{each}"] for each in range(7)]
        pictures = package.tensor(r.random((7, 3, 4, 5)) * 1.2)
        writer.add_embedding(points.double(), rows, pictures, 4, "p", ["x", "y"])
        for number in range(1, 6):
            grey = package.tensor(r.random((number, 1, 4, 4)))
            writer.add_embedding(np.arange(number * 2).reshape(-1, 2), None, grey, number, "grey")

    run(program, tmp_path)
    names = [
        sorted(
            str(path.relative_to(tmp_path / name))
            for path in (tmp_path / name).rglob("*")
            if path.is_file() and "tfevents" not in path.name
        )
        for name in PACKAGES
    ]
    assert names[0] == names[1]
    for name in names[0]:
        paths = [tmp_path / each / name for each in PACKAGES]
        if name.endswith(".png"):
            found, expected = (np.array(Image.open(path)).tolist() for path in paths)
        elif name.endswith(".pbtxt"):
            found, expected = (
                text_format.Parse(path.read_text(), ProjectorConfig()) for path in paths
            )
            assert len(expected.embeddings) == 8
        else:
            found, expected = (path.read_text() for path in paths)
        assert found == expected


# --- graphs ----------------------------------------------------------------------------------


def model_of(package):
    nn = package.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.LayerNorm(3)
            self.rest = nn.Sequential(nn.ReLU(), nn.GELU(), nn.Sequential(nn.Tanh()))
            self.register_buffer("scale", package.ones(3))

        def forward(self, x, y):
            hidden = self.rest(x * 2 + self.scale)
            return package.softmax(hidden, dim=1), y.view(-1).sum()

    return Model()


def graph(folder):
    (path,) = folder.glob("events.out.tfevents.*")
    events = read(path)
    (encoded,) = (each.graph_def for each in events if each.graph_def)
    (run,) = (each.tagged_run_metadata for each in events if each.tagged_run_metadata.tag)
    return GraphDef.FromString(encoded), (run.tag, RunMetadata.FromString(run.run_metadata))


def shapes(node):
    found = node.attr["_output_shapes"].list.shape
    return [[each.size for each in shape.dim] for shape in found]


def test_operators_scopes_and_shapes_of_a_graph(tmp_path):
    def program(package, writer):
        writer.add_graph(model_of(package), (package.ones(2, 3), package.ones(2, 2)))

    run(program, tmp_path)
    (found, where), (expected, wanted) = (graph(tmp_path / name) for name in PACKAGES)
    assert where == wanted
    assert found.versions == expected.versions

    def operators(each):
        return [
            (node.name.rpartition("/")[0], node.op, shapes(node))
            for node in each.node
            if node.op.startswith("aten::")
        ]

    assert operators(found) == operators(expected)
    assert len(operators(expected)) == 8

    def inputs(each):
        return [(node.name, shapes(node)) for node in each.node if node.name.startswith("input/")]

    assert inputs(found) == inputs(expected)
    for each in (found, expected):
        assert each.node[0].op == "IO Node"


def test_modules_of_a_larger_graph(tmp_path):
    def program(package, writer):
        nn = package.nn
        first = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(inplace=True))
        last = nn.Sequential(nn.Flatten(), nn.Linear(72, 4), nn.Dropout(), nn.Linear(4, 2))
        writer.add_graph(nn.Sequential(first, last), package.ones(2, 1, 8, 8))

    run(program, tmp_path)
    graphs = [graph(tmp_path / name)[0] for name in PACKAGES]
    scopes = [
        {node.name.rpartition("/")[0] for node in each.node if node.op.startswith("aten::")}
        for each in graphs
    ]
    # Without dropout, which an evaluation leaves out: PyTorch shows an operator that does nothing.
    assert scopes[0] == {each for each in scopes[1] if "Dropout" not in each}
    last = [
        [shapes(node) for node in each.node if node.name == "output/output.1"] for each in graphs
    ]
    assert last[0] == last[1] == [[[2, 2]]]
    names = {node.name for node in graphs[0].node}
    assert {name.partition(":")[0] for node in graphs[0].node for name in node.input} <= names
