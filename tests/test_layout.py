"""How results are laid out in memory: PyTorch 2.13's strides for the same expressions (E1, W31)."""

from __future__ import annotations

import numpy as np
import pytest

import taper
from taper.arrays import layouts
from taper.arrays.native import native
from taper.opdef import registry

needs_native = pytest.mark.skipif(native is None, reason="the native module is not built")

STRIDES = [
    ("E1", "torch.ones(2, 3, 4).transpose(1, 2).softmax(-1)", (12, 3, 1)),
    ("E1", "torch.ones(2, 3, 4).transpose(1, 2).log_softmax(0)", (12, 3, 1)),
    ("E1", "torch.ones(2, 3, 4).permute(2, 1, 0).mean(1)", (2, 1)),
    ("E1", "torch.ones(2, 3, 4).permute(2, 1, 0).sum(1, keepdim=True)", (2, 2, 1)),
    ("E1", "torch.ones(2, 3, 4).permute(2, 1, 0).max(1).values", (2, 1)),
    ("E1", "torch.ones(2, 3, 4).permute(2, 1, 0).amax(0)", (2, 1)),
    ("E1", "torch.ones(2, 3, 4).permute(2, 1, 0).std(2)", (3, 1)),
    ("E1", "torch.ones(2, 3).t().cumsum(0)", (2, 1)),
    ("E1", "torch.ones(2, 3).t().cummax(1).indices", (2, 1)),
    ("E1", "torch.ones(2, 3).t().logcumsumexp(0)", (2, 1)),
    ("E1", "torch.ones(2, 3).t().sort(0).values", (1, 3)),
    ("E1", "torch.ones(2, 3).t().argsort(1)", (1, 3)),
    ("E1", "torch.ones(2, 3).t().erf()", (1, 3)),
    ("E1", "F.gelu(torch.ones(2, 3).t())", (1, 3)),
    ("E1", "torch.special.ndtri(torch.ones(2, 3).t())", (1, 3)),
    ("E1", "torch.digamma(torch.ones(3).expand(2, 3).t())", (2, 1)),
    ("E1", "torch.ones(2, 3).t().renorm(2, 0, 1.0)", (2, 1)),
    ("E1", "F.logsigmoid(torch.ones(2, 3).t())", (2, 1)),
    ("E1", "torch.pow(2, torch.ones(2, 3).t())", (2, 1)),
    ("E1", "torch.ones(2, 3, 4).permute(2, 0, 1)[:, [1, 0]]", (1, 4, 8)),
    ("E1", "torch.ones(2, 3).t().index_fill(0, torch.tensor([1]), 2.0)", (1, 3)),
    ("E1", "torch.ones(2, 3).t() + torch.ones(3, 2)", (1, 3)),
    ("E1", "torch.ones(3, 2) + torch.ones(2, 3).t()", (2, 1)),
    ("E1", "torch.rsub(torch.ones(2, 3).t(), torch.ones(3, 2))", (2, 1)),
    ("E1", "torch.ones(2, 3).t() * torch.ones(2)", (1, 3)),
    ("E1", "torch.ones(2).expand(3, 2) * torch.ones(2, 3).t()", (1, 3)),
    ("E1", "torch.ones(4, 6).t()[::2] / torch.ones(3, 4)", (1, 3)),
    (
        "E1",
        "torch.ones(2, 3, 4).permute(1, 2, 0) - torch.ones(3, 2, 4).permute(0, 2, 1)",
        (4, 1, 12),
    ),
    ("E1", "torch.where(torch.ones(2, 3).t() > 0, torch.ones(3, 2), torch.ones(3, 2))", (1, 3)),
    ("E1", "torch.addcmul(torch.ones(2, 3).t(), torch.ones(3, 2), torch.ones(3, 2))", (1, 3)),
    ("E1", "torch.ones(2, 3, dtype=torch.int64).t() + torch.ones(3, 2)", (1, 3)),
    ("E1", 'F.mse_loss(torch.ones(2, 3).t(), torch.ones(3, 2), reduction="none")', (1, 3)),
    ("E1", "torch.select_scatter(torch.ones(4, 6)[1:, ::2], torch.zeros(3), 0, 1)", (6, 2)),
    ("W31", "F.group_norm(last, 1)", (64, 1, 16, 4)),
    ("W31", "last + torch.ones(2, 4, 4, 4)", (64, 1, 16, 4)),
    ("W31", "torch.ones(2, 4, 4, 4) + last", (64, 16, 4, 1)),
    ("W31", "last * 2", (64, 1, 16, 4)),
    ("W31", "last[..., ::3].roll(1, 3)", (32, 1, 8, 4)),
    ("W31", "last[..., ::3].roll(1, 2)", (32, 8, 2, 1)),
    ("W31", "F.conv2d(last[:, :, ::2], torch.ones(3, 4, 1, 2))", (18, 1, 9, 3)),
    ("W31", "F.conv2d(torch.ones(2, 4, 4, 4), last[:, :, :2, :2])", (18, 1, 6, 2)),
    ("W31", "F.conv_transpose2d(last[:, :, ::2], torch.ones(4, 3, 2, 2))", (45, 1, 15, 3)),
    ("W31", "F.conv1d(torch.ones(2, 5, 3).transpose(1, 2), torch.ones(4, 3, 2))", (16, 4, 1)),
    ("W31", "F.conv3d(last3d[..., ::2], torch.ones(2, 3, 1, 2, 2))", (12, 1, 6, 2, 2)),
    ("W31", "F.max_pool2d(last[:, :, ::2], 1)", (32, 1, 16, 4)),
    ("W31", "F.avg_pool2d(last[..., ::2], 2)", (8, 1, 4, 4)),
    ("W31", "F.adaptive_avg_pool2d(last[..., ::2], 1)", (4, 1, 4, 4)),
    ("W31", "F.adaptive_avg_pool3d(last3d, 1)", (3, 1, 3, 3, 3)),
    ("W31", "F.max_pool3d(last3d[..., ::2], 1)", (48, 1, 24, 6, 3)),
    ("W31", "F.interpolate(last[:, :, ::2], scale_factor=2)", (128, 1, 32, 4)),
    ("W31", 'F.interpolate(last[:, :, ::2], scale_factor=2, mode="bilinear")', (128, 1, 32, 4)),
    ("W31", "F.pad(last[:, :, ::2], (1, 1))", (48, 1, 24, 4)),
    ("W31", "F.pixel_shuffle(last[:, :, ::2], 2)", (32, 1, 8, 1)),
    ("W31", "F.batch_norm(last[:, :, ::2], torch.zeros(4), torch.ones(4))", (32, 1, 16, 4)),
    ("W31", "F.rms_norm(last[:, :, ::2], (4,))", (32, 1, 16, 4)),
    ("W31", "torch.stack([last, last])", (128, 64, 1, 16, 4)),
    ("W31", "torch.stack([last, last], 1)", (128, 4, 1, 32, 8)),
    ("W31", "torch.cat([last[:, :, ::2], last[:, :, ::2]])", (32, 1, 16, 4)),
    ("W31", "torch.cat([last, torch.ones(2, 4, 4, 4)])", (64, 16, 4, 1)),
    ("W31", "last.softmax(1)", (64, 16, 4, 1)),
    ("W31", "last.sum((2, 3), keepdim=True)", (4, 1, 1, 1)),
]


@pytest.mark.parametrize(
    ("id", "expression", "strides"), STRIDES, ids=lambda value: str(value)[:60]
)
def test_strides_are_those_of_pytorch(id, expression, strides):
    last = taper.ones(2, 4, 4, 4).to(memory_format=taper.channels_last)
    last3d = taper.ones(2, 3, 2, 4, 4).to(memory_format=taper.channels_last_3d)
    names = {"torch": taper, "F": taper.nn.functional, "last": last, "last3d": last3d}
    assert eval(expression, names).stride() == strides


def test_found_e1_rows_of_a_transposed_softmax_and_mean_can_be_viewed():
    assert taper.ones(2, 3, 4).transpose(1, 2).softmax(-1).view(2, 12).shape == (2, 12)
    assert taper.ones(2, 3, 4).permute(2, 1, 0).mean(1).view(-1).shape == (8,)


def test_found_e1_gradient_of_an_empty_leaf_has_its_strides():
    leaf = taper.empty(0).as_strided((0, 3, 2), (40, 2, 6)).requires_grad_()
    (leaf * 2).sum().backward()
    assert leaf.grad.stride() == (40, 2, 6)


@pytest.mark.parametrize("turned", [False, True])
def test_found_e1_a_retained_gradient_is_row_major(turned):
    result = taper.ones(3, 4, requires_grad=True) * 1
    result = result.t() if turned else result
    result.retain_grad()
    result.backward(taper.ones(result.shape[::-1]).t())
    assert result.grad.stride() == ((3, 1) if turned else (4, 1))


def test_found_e1_a_retained_gradient_of_one_element_has_strides_of_its_own():
    result = taper.ones(1, 1, requires_grad=True) * 1
    result.retain_grad()
    result.sum().backward()
    assert result.grad.stride() == (1, 1)


def test_found_w31_native_group_norm_and_max_pool3d_refuse_formats_they_do_not_know():
    turned = taper.ones(2, 3, 4).transpose(1, 2)
    with pytest.raises(RuntimeError, match=r"Expected X.is_contiguous\(memory_format\) to be true"):
        taper.native_group_norm(turned, None, None, 2, 4, 3, 1, 1e-5)
    volume = taper.ones(2, 4, 4, 4).to(memory_format=taper.channels_last)
    with pytest.raises(RuntimeError, match="Supports only ChannelsLast3d, Contiguous"):
        taper.nn.functional.max_pool3d(volume, 2)


@pytest.mark.parametrize("module", [native, None], ids=["native", "twin"])
def test_settled_kernel_asks_its_rule_only_where_something_is_not_row_major(module, monkeypatch):
    if module is None or native is not None:
        monkeypatch.setattr(layouts, "native", module)
    asked = []

    def rule(result, given):
        asked.append(len(given))
        return "laid out"

    kernel = layouts.settled(lambda *args, **kwargs: args[0], rule)
    rows, columns = np.ones((2, 3)), np.ones((3, 2)).T
    assert kernel(rows, 5, other=rows, many=[rows, rows]) is rows and not asked
    assert kernel(columns) == "laid out"
    assert kernel(rows, other=columns) == "laid out"
    assert kernel(rows, [rows, columns]) == "laid out"
    assert kernel((rows, columns)) == "laid out"
    assert asked == [1, 2, 2, 1]
    with pytest.raises(ZeroDivisionError):
        layouts.settled(lambda: 1 / 0, rule)()


UFUNCS = sorted(
    {entry.ufunc for entry in registry.values() if entry.ufunc is not None},
    key=lambda ufunc: ufunc.__name__,
)
SHAPES = [(), (1,), (7,), (3, 5), (0, 3), (2, 1, 4), (5000,)]


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int64])
@np.errstate(all="ignore")
def test_a_ufunc_gives_its_own_bits(ufunc, dtype):
    draw = np.random.default_rng(4)
    quick, writes = layouts.settled(ufunc, layouts.ELEMENTWISE), layouts.writing(ufunc)
    for shape in SHAPES:
        operands = [draw.normal(0, 3, shape).astype(dtype) for _ in range(ufunc.nin)]
        number = draw.normal(0, 3, ()).astype(dtype)
        for given in (operands, [operands[0], number][: ufunc.nin], [number, *operands[1:]]):
            wanted = np.asarray(ufunc(*given))
            found = np.asarray(quick(*given))
            assert found.dtype is wanted.dtype and found.shape == wanted.shape
            assert found.strides == wanted.strides
            assert found.tobytes() == wanted.tobytes()
            target = np.empty_like(wanted)
            assert writes(*given, target) is target
            assert target.tobytes() == wanted.tobytes()
            with pytest.raises(TypeError):
                quick(*given, *given, *given)
            with pytest.raises(ValueError):
                frozen = wanted.copy()
                frozen.flags.writeable = False
                writes(*given, frozen)


@pytest.mark.parametrize("seed", range(60))
def test_a_ufunc_repeats_its_operands(seed):
    draw = np.random.default_rng(seed)
    ufunc = [np.multiply, np.subtract, np.maximum, np.logical_and][seed % 4]
    dtype = [np.float32, np.float64][seed // 4 % 2]
    shape = draw.choice([1, 2, 3, 64, 70, 300], draw.integers(1, 5))
    shapes = [
        tuple(np.where(draw.random(len(shape)) < 0.3, 1, shape).tolist())[draw.integers(2) :]
        for _ in range(2)
    ]
    operands = [draw.normal(size=each).astype(dtype) for each in shapes]
    wanted = np.asarray(ufunc(*operands))
    found = np.asarray(layouts.settled(ufunc, layouts.ELEMENTWISE)(*operands))
    assert found.strides == wanted.strides and found.dtype is wanted.dtype
    assert found.tobytes() == wanted.tobytes()
    target = np.empty_like(wanted)
    layouts.writing(ufunc)(*operands, target)
    assert target.tobytes() == wanted.tobytes()
    if wanted.shape == shapes[0] and wanted.dtype == dtype:
        layouts.writing(ufunc)(*operands, operands[0])
        assert operands[0].tobytes() == wanted.tobytes()


@needs_native
def test_rows_are_shared_out_only_where_shapes_fit():
    draw = np.random.default_rng(0)
    quick = layouts.settled(np.add, layouts.ELEMENTWISE)
    one, other = draw.normal(size=(300, 200)), draw.normal(size=(1, 200))
    before = taper.get_num_threads()
    results = []
    for threads in (1, 2):
        taper.set_num_threads(threads)
        results.append(quick(one, other))
    taper.set_num_threads(before)
    assert results[0].tobytes() == results[1].tobytes() == (one + other).tobytes()
    with pytest.raises(ValueError, match="broadcast"):
        quick(one, other[:, :199])
    assert quick(one[:0], other).shape == (0, 200)
    column = np.broadcast_to(one[:, :1], (300, 200))
    assert quick(one, column).tobytes() == (one + column).tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_ufunc_reads_before_it_writes(dtype):
    add = layouts.writing(np.add)
    for target, source in (
        (slice(None), slice(None)),
        (slice(1, None), slice(None, -1)),
        (slice(None, -1), slice(1, None)),
        (slice(None, None, 2), slice(None, 5)),
        (slice(None, 5), slice(None, None, 2)),
    ):
        values = np.arange(10, dtype=dtype)
        wanted = values[target] + values[source]
        add(values[target], values[source], values[target])
        np.testing.assert_array_equal(values[target], wanted)
    values = np.arange(1, 5, dtype=dtype)
    add(values, values[:1].reshape(()), values)  # the number is a part of what is written
    np.testing.assert_array_equal(values, [2, 3, 4, 5])
    wide = np.ones((3, 4), dtype)
    np.testing.assert_array_equal(add(wide, values, wide), 1 + np.tile(values, (3, 1)))
