"""Collating: what becomes of each kind of sample; results and texts are PyTorch's."""

import collections
import types

import numpy as np
import pytest

import taper
from taper.utils.data import default_collate, default_convert
from taper.utils.data._utils.collate import collate, default_collate_fn_map

Point = collections.namedtuple("Point", "x y")
REFUSED = "^default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "


@pytest.mark.parametrize(
    "batch, dtype",
    [
        ([1, 2], "int64"),
        ([1.0, 2.0], "float64"),
        ([1, 2.5], "float32"),
        ([True, False], "bool"),
        ([np.float32(1), np.float32(2)], "float32"),
        ([np.int16(1), np.int16(2)], "int16"),
        ([np.bool_(True), np.bool_(False)], "bool"),
        ([np.array(1.5), np.array(2.5)], "float64"),
        ([np.ones((2, 2), np.float32), np.zeros((2, 2), np.float32)], "float32"),
        ([np.uint16(3)], "uint16"),
    ],
)
def test_numbers_and_arrays_become_tensors(batch, dtype):
    made = default_collate(batch)
    assert str(made.dtype) == f"torch.{dtype}"
    assert made.tolist() == [
        each if isinstance(each, int | float) else each.tolist() for each in batch
    ]


def test_tensors_are_stacked():
    rows = taper.arange(6.0).reshape(3, 2)
    assert default_collate(list(rows)).tolist() == rows.tolist()
    mixed = default_collate([rows, rows.double()])
    assert mixed.dtype is taper.float64 and mixed.shape == (2, 3, 2)
    columns = default_collate([rows.t(), rows.t()])
    assert columns.is_contiguous() and columns[1].tolist() == rows.t().tolist()
    assert default_collate([taper.ones(0, 3)] * 2).shape == (2, 0, 3)
    bfloat16 = default_collate([taper.ones(2, dtype=taper.bfloat16)] * 2)
    assert bfloat16.dtype is taper.bfloat16 and bfloat16.shape == (2, 2)


def test_history_is_kept():
    leaf = taper.ones(2, requires_grad=True)
    made = default_collate([leaf, taper.zeros(2)])
    assert type(made.grad_fn).__name__ == "StackBackward0"
    view = default_collate([leaf[0], leaf[1]])
    view.sum().backward()
    assert leaf.grad.tolist() == [1, 1]


def test_different_sizes_are_refused():
    with pytest.raises(RuntimeError, match=r"equal size, but got \[2\] at entry 0 and \[3\] at en"):
        default_collate([taper.ones(2), taper.ones(3)])
    for batch in ([(1,), (2, 3)], [[1], [2, 3]]):
        with pytest.raises(RuntimeError, match="^each element in list of batch should be of equal"):
            default_collate(batch)


def test_texts_stay():
    assert default_collate(["a", "b"]) == ["a", "b"]
    assert default_collate([b"a", b"b"]) == [b"a", b"b"]
    assert default_collate([np.str_("a")]) == [np.str_("a")]


def test_containers_keep_their_class():
    made = default_collate([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}])
    assert made["a"].tolist() == [1, 2] and made["b"] == ["x", "y"]
    point = default_collate([Point(1, 2), Point(3, 4)])
    assert type(point) is Point and point.y.tolist() == [2, 4]
    for kind in (tuple, list):
        made = default_collate([kind([1, "x"]), kind([2, "y"])])
        assert type(made) is list and made[0].tolist() == [1, 2] and made[1] == ("x", "y")
    ordered = default_collate([collections.OrderedDict(a=1), collections.OrderedDict(a=2)])
    assert type(ordered) is collections.OrderedDict
    default = default_collate([collections.defaultdict(list, a=1)] * 2)
    assert default.default_factory is list and default["a"].tolist() == [1, 1]
    proxy = default_collate([types.MappingProxyType({"a": 1})] * 2)
    assert type(proxy) is types.MappingProxyType and proxy["a"].tolist() == [1, 1]
    queue = default_collate([collections.deque([1, 2])] * 2)
    assert type(queue) is collections.deque and queue[1].tolist() == [2, 2]
    assert [each.tolist() for each in default_collate([range(2), range(2)])] == [[0, 0], [1, 1]]


def test_nested_containers():
    sample = {"a": [(taper.ones(2), 1.5)], "b": Point("x", {"c": np.int8(3)})}
    made = default_collate([sample, sample])
    assert made["a"][0][0].shape == (2, 2)
    assert made["a"][0][1].dtype is taper.float64
    assert made["b"].x == ("x", "x")
    assert made["b"].y["c"].tolist() == [3, 3]


@pytest.mark.parametrize(
    "sample, found",
    [
        (None, "<class 'NoneType'>"),
        ({1}, "<class 'set'>"),
        (1j, "<class 'complex'>"),
        (np.array(["a"]), "<U1"),
        (np.array([None]), "object"),
        (np.datetime64("2020-01-01"), "<class 'numpy.datetime64'>"),
    ],
)
def test_what_cannot_be_collated(sample, found):
    with pytest.raises(TypeError, match=f"{REFUSED}found {found}$"):
        default_collate([sample, sample])


def test_missing_keys_and_empty_batches():
    with pytest.raises(KeyError, match="a"):
        default_collate([{"a": 1}, {"b": 2}])
    with pytest.raises(IndexError):
        default_collate([])


def test_own_functions():
    class Mine:
        pass

    def join(batch, *, collate_fn_map=None):
        return len(batch)

    functions = {**default_collate_fn_map, Mine: join}
    made = collate([(Mine(), 1), (Mine(), 2)], collate_fn_map=functions)
    assert made[0] == 2 and made[1].tolist() == [1, 2]
    with pytest.raises(TypeError, match=REFUSED):
        collate([1, 2])


def test_convert():
    assert default_convert(np.ones(2)).tolist() == [1, 1]
    assert default_convert(np.float32(2)).dtype is taper.float32
    made = default_convert({"a": (np.ones(1), "x"), "b": Point(np.int8(1), None)})
    assert made["a"][0].tolist() == [1] and made["a"][1] == "x"
    assert type(made["a"]) is list and type(made["b"]) is Point
    assert made["b"].x.dtype is taper.int8 and made["b"].y is None
    for same in (3, True, "a", b"a", None, np.str_("a"), {1}):
        assert default_convert(same) is same
    texts = np.array(["a"])
    assert default_convert(texts) is texts
