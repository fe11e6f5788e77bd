"""`taper.onnx.export`: the structure of the file, read back by a small decoder, and errors."""

import io
import os
import struct

import numpy as np
import pytest

import taper as torch
from taper import nn
from taper.onnx.errors import OnnxExporterWarning, UnsupportedOperatorError

# ---------------------------------------------------------------------------------- a decoder


def fields(data):
    """Yield (number, value) for each field of a protocol buffer; a value is an int or bytes."""
    place, found = 0, []

    def number():
        nonlocal place
        value = shift = 0
        while True:
            byte = data[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while place < len(data):
        key = number()
        kind = key & 7
        if kind == 0:
            found.append((key >> 3, number()))
            continue
        length = number() if kind == 2 else {1: 8, 5: 4}[kind]
        found.append((key >> 3, data[place : place + length]))
        place += length
    return found


def every(data, number):
    return [value for key, value in fields(data) if key == number]


def the(data, number):
    (value,) = every(data, number)
    return value


def attributes(node):
    """Return the integers, floats, texts and lists of integers of a node."""
    found = {}
    for each in every(node, 5):
        name, kind = the(each, 1).decode(), the(each, 20)
        value = {1: 2, 2: 3, 3: 4, 7: 8}[kind]
        values = every(each, value)
        if kind == 1:
            values = [struct.unpack("<f", one)[0] for one in values]
        found[name] = values if kind == 7 else values[0]
    return found


class Port:
    def __init__(self, data):
        self.name = the(data, 1).decode()
        tensor = the(the(data, 2), 1)
        self.kind = the(tensor, 1)
        dims = [fields(each) for each in every(the(tensor, 2), 1)]
        self.shape = [v.decode() if key == 2 else v for ((key, v),) in dims]


class Model:
    def __init__(self, data):
        self.version, self.producer = the(data, 1), the(data, 2).decode()
        self.opset = the(the(data, 8), 2)
        graph = the(data, 7)
        self.nodes = every(graph, 1)
        self.kinds = [the(each, 4).decode() for each in self.nodes]
        self.inputs = [Port(each) for each in every(graph, 11)]
        self.outputs = [Port(each) for each in every(graph, 12)]
        self.arrays = {the(each, 8).decode(): each for each in every(graph, 5)}

    def reads(self, nr):
        return [each.decode() for each in every(self.nodes[nr], 1)]


def exported(model, args, **settings):
    file = io.BytesIO()
    torch.onnx.export(model, args, file, **settings)
    return Model(file.getvalue())


# ------------------------------------------------------------------------------- what is written


def test_a_small_model():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    found = exported(model, torch.ones(2, 3), input_names=["x"], output_names=["y"])
    assert (found.version, found.producer, found.opset) == (8, "taper", 18)
    assert found.kinds == ["Gemm", "Relu"]
    assert found.reads(0) == ["x", "0.weight", "0.bias"]
    assert attributes(found.nodes[0]) == {"alpha": 1.0, "beta": 1.0, "transB": 1}
    assert [(each.name, each.kind, each.shape) for each in found.inputs] == [("x", 1, [2, 3])]
    assert [(each.name, each.kind, each.shape) for each in found.outputs] == [("y", 1, [2, 4])]
    assert list(found.arrays) == ["0.weight", "0.bias"]
    weight = found.arrays["0.weight"]
    assert the(weight, 9) == model[0].weight.detach().numpy().tobytes()
    assert (the(weight, 2), the(weight, 1)) == (1, b"\x04\x03")


def test_nodes_have_the_scopes_of_modules():
    model = nn.Sequential(nn.Sequential(nn.Tanh()), nn.Tanh())
    names = [the(each, 3).decode() for each in exported(model, torch.ones(2)).nodes]
    assert names == ["/0/0/Tanh", "/1/Tanh"]


def test_tied_parameters_are_written_once_and_unused_ones_not():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.head = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
            self.head.weight = self.embedding.weight
            self.unused = nn.Linear(2, 2)

        def forward(self, numbers):
            return self.head(self.embedding(numbers))

    found = exported(Tied(), torch.tensor([1, 2]))
    assert list(found.arrays) == ["embedding.weight"]
    assert found.inputs[0].kind == 7


def test_parameters_as_inputs():
    model, x = nn.Linear(3, 2), torch.ones(1, 3)
    both = exported(model, x, keep_initializers_as_inputs=True)
    assert [each.name for each in both.inputs] == ["input", "weight", "bias"]
    assert list(both.arrays) == ["weight", "bias"]
    bare = exported(model, x, export_params=False)
    assert [each.name for each in bare.inputs] == ["input", "weight", "bias"]
    assert bare.arrays == {}


def test_calculations_on_constants_are_done_once():
    found = exported(lambda x: x + torch.arange(3).float().mul(2).sum(), torch.ones(3))
    assert found.kinds == ["Add"]
    (constant,) = found.arrays.values()
    assert np.frombuffer(the(constant, 9), np.float32).tolist() == [6.0]


def test_arguments_by_keyword_and_in_containers():
    def function(x, pair, *, scale):
        return {"sum": x + pair[0] * scale, "other": [pair[1]]}

    x = torch.ones(2)
    found = exported(function, (x, [x.clone(), x.clone()]), kwargs={"scale": torch.ones(1)})
    assert [each.name for each in found.inputs] == ["x", "pair_0", "pair_1", "scale"]
    assert [each.name for each in found.outputs] == ["output_0", "output_1"]
    last = exported(lambda x, y: x - y, (x, {"y": torch.zeros(2)}))
    assert [each.name for each in last.inputs] == ["x", "y"]


def test_a_program_without_a_file_is_returned():
    program = torch.onnx.export(nn.ReLU(), (torch.ones(2),))
    file = io.BytesIO()
    program.save(file)
    assert Model(file.getvalue()).kinds == ["Relu"]


# ------------------------------------------------------------------------------ dynamic sizes


@pytest.mark.parametrize(
    "settings",
    [
        {"dynamic_axes": {"input": {0: "batch"}, "output": {0: "batch"}}},
        {"dynamic_shapes": {"input": {0: "batch"}}},
        {"dynamic_shapes": ({0: "batch"},)},
    ],
)
def test_names_of_sizes(settings):
    found = exported(nn.Flatten(), torch.ones(2, 3, 4), **settings)
    assert found.inputs[0].shape == ["batch", 3, 4]
    assert found.outputs[0].shape == ["batch", 12]


def test_sizes_without_names():
    found = exported(nn.ReLU(), torch.ones(1, 3), dynamic_axes={"input": [0, 1]})
    assert found.inputs[0].shape == ["input_dynamic_axes_1", "input_dynamic_axes_2"]


def test_a_size_that_is_no_multiple_is_refused():
    def function(x):
        return x.expand(x.size(0) ** 2, x.size(0), 3)

    with pytest.raises(torch.onnx.OnnxExporterError, match="dynamic_axes.*test_export.py:"):
        exported(function, torch.ones(2, 3), dynamic_axes={"x": [0]})


def test_an_if_on_a_size_is_refused():
    def function(x):
        return x.exp() if x.size(0) > 2 else x.sin()

    with pytest.raises(torch.onnx.OnnxExporterError, match="other operators.*test_export.py"):
        exported(function, torch.ones(2), dynamic_axes={"x": [0]})
    assert exported(function, torch.ones(2)).kinds == ["Sin"]


def test_a_model_that_needs_its_size_is_refused():
    with pytest.raises(torch.onnx.OnnxExporterError, match="does not run with other sizes"):
        exported(nn.Linear(3, 2), torch.ones(1, 3), dynamic_axes={"input": [1]})


def test_wrong_axes():
    with pytest.raises(ValueError, match="axis 5, but it has 2"):
        exported(nn.ReLU(), torch.ones(1, 3), dynamic_axes={"input": {5: "n"}})


# ------------------------------------------------------------------------------- what is refused


def test_an_operator_without_nodes():
    with pytest.raises(UnsupportedOperatorError, match="'cumprod'.*test_export.py:.*x.cumprod"):
        exported(lambda x: x.cumprod(0), torch.ones(2))


def test_values_read_by_python_are_refused():
    def scaled(x):
        return x * x.sum(1)[0].item()

    def looked_up(x):
        return x + torch.tensor(x.tolist())

    for function in (scaled, looked_up):
        with pytest.raises(torch.onnx.OnnxExporterError, match="depends on the input"):
            exported(function, torch.tensor([[1.0, 2.0], [3.0, 5.0]]))


def test_random_numbers_are_refused():
    with pytest.raises(torch.onnx.OnnxExporterError):
        exported(lambda x: x + torch.randn(2), torch.ones(2))


def test_an_output_that_is_no_tensor():
    with pytest.raises(torch.onnx.OnnxExporterError, match="must return tensors.*float"):
        exported(lambda x: (x, 1.0), torch.ones(2))


def test_indices_of_a_pooling_are_refused_only_where_they_are_used():
    x = torch.ones(1, 2, 4, 4)
    assert exported(nn.MaxPool2d(2), x).kinds == ["MaxPool"]
    with pytest.raises(torch.onnx.OnnxExporterError, match="max_pool2d_with_indices"):
        exported(nn.MaxPool2d(2, return_indices=True), x)


def test_opsets():
    assert exported(nn.ReLU(), torch.ones(2), opset_version=20).opset == 20
    with pytest.warns(OnnxExporterWarning, match="opset_version=13"):
        assert exported(nn.ReLU(), torch.ones(2), opset_version=13).opset == 18
    for wrong in (3, 99):
        with pytest.raises(RuntimeError, match=f"Unsupported onnx_opset_version: {wrong}"):
            exported(nn.ReLU(), torch.ones(2), opset_version=wrong)


def test_too_many_names():
    with pytest.raises(RuntimeError, match="number of output names provided .2. exceeded"):
        exported(nn.ReLU(), torch.ones(2), output_names=["a", "b"])
    with pytest.raises(RuntimeError, match="number of input names provided .2. exceeded"):
        exported(nn.ReLU(), torch.ones(2), input_names=["a", "b"])


def test_custom_operators():
    with pytest.raises(NotImplementedError, match="custom_opsets"):
        exported(nn.ReLU(), torch.ones(2), custom_opsets={"mine": 1})


# ------------------------------------------------------------------------- what stays as it was


def test_the_model_is_exported_in_eval_mode_and_stays_as_it_was():
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(), nn.BatchNorm1d(3))
    model[1].eval()
    x = torch.ones(2, 3, requires_grad=True)
    state, torch_state = model[2].running_mean.clone(), torch.get_rng_state()
    assert exported(model, x).kinds == ["Gemm", "BatchNormalization"]
    assert [each.training for each in model] == [True, False, True]
    assert torch.equal(model[2].running_mean, state)
    assert torch.equal(torch.get_rng_state(), torch_state)
    assert not model._forward_hooks and not model._forward_pre_hooks
    with pytest.raises(torch.onnx.OnnxExporterError, match="eval mode"):
        exported(model[2], x, training=torch.onnx.TrainingMode.PRESERVE)


def test_what_the_forward_writes_is_undone():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(2))

        def forward(self, x):
            self.count += 1
            return x.mul_(self.count)

    model, x = Counter(), torch.full((2,), 3.0)
    found = exported(model, x)
    assert model.count.tolist() == [0, 0] and x.tolist() == [3, 3]
    assert np.frombuffer(the(found.arrays["count"], 9), np.float32).tolist() == [0, 0]
    assert found.kinds == ["Add", "Mul"]


def test_a_failed_export_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.onnx"
    torch.onnx.export(nn.ReLU(), (torch.ones(2),), path)
    before = path.read_bytes()
    with pytest.raises(UnsupportedOperatorError):
        torch.onnx.export(lambda x: x.cumprod(0), (torch.ones(2),), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.onnx"]


def test_is_in_onnx_export():
    seen = []

    def function(x):
        seen.append(torch.onnx.is_in_onnx_export())
        return x.exp()

    exported(function, torch.ones(2))
    assert set(seen) == {True}
    assert not torch.onnx.is_in_onnx_export()


# ------------------------------------------------------------------------- writes and views


def test_a_write_gives_a_new_value():
    def function(x):
        y = x.exp()
        z = y.view(-1)
        y.add_(1)
        return z, x.detach()

    found = exported(function, torch.ones(2, 2))
    assert found.kinds == ["Exp", "Add", "Reshape", "Identity"]
    assert found.reads(1)[0] == "/Exp_output_0"


def test_a_write_into_a_view_changes_what_it_belongs_to():
    def function(x):
        y = x.exp()
        y[0].fill_(2)
        return y

    found = exported(function, torch.ones(2, 2))
    assert "ScatterND" in found.kinds
