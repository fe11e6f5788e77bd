"""Meta tensors: what can be done with tensors that have no elements, and what is refused.

Texts and forms are PyTorch's.
"""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import taper
from taper import nn
from taper.arrays.native import native
from taper.nn import functional as F

NO_DATA = "^Cannot copy out of meta tensor; no data!$"
NO_ITEM = r"^Tensor.item\(\) cannot be called on meta tensors$"


def meta(*shape: int, **options: Any) -> taper.Tensor:
    return taper.empty(shape, device="meta", **options)


def test_repr():
    assert repr(meta(2, 3)) == "tensor(..., device='meta', size=(2, 3))"
    whole = meta(2, dtype=taper.int64)
    assert repr(whole) == "tensor(..., device='meta', size=(2,), dtype=torch.int64)"
    leaf = meta(2, requires_grad=True)
    assert repr(leaf * 2) == "tensor(..., device='meta', size=(2,), grad_fn=<MulBackward0>)"
    assert repr(nn.Parameter(meta(1))).endswith("size=(1,), requires_grad=True)")
    assert f"{meta()}" == "tensor(..., device='meta', size=())"
    storage = meta(2, 3)[1].untyped_storage()
    assert repr(storage) == "...\n[torch.storage.UntypedStorage(device=meta) of size 24]"


@pytest.mark.parametrize(
    ("make", "shape", "dtype"),
    [
        (lambda: taper.ones(2, 3, device="meta"), (2, 3), taper.float32),
        (lambda: taper.randn(2, device="meta"), (2,), taper.float32),
        (lambda: taper.randint(5, (2,), device="meta"), (2,), taper.int64),
        (lambda: taper.randperm(5, device="meta"), (5,), taper.int64),
        (lambda: taper.full((2,), 1, device="meta"), (2,), taper.int64),
        (lambda: taper.arange(5, device="meta"), (5,), taper.int64),
        (lambda: taper.linspace(0, 1, 5, device="meta"), (5,), taper.float32),
        (lambda: taper.eye(3, device="meta"), (3, 3), taper.float32),
        (lambda: taper.tril_indices(3, 3, device="meta"), (2, 6), taper.int64),
        (lambda: taper.hann_window(5, device="meta"), (5,), taper.float32),
        (lambda: taper.fft.fftfreq(5, device="meta"), (5,), taper.float32),
        (lambda: taper.normal(0.0, 1.0, (2,), device="meta"), (2,), taper.float32),
        (lambda: taper.tensor([1, 2], device="meta"), (2,), taper.int64),
        (lambda: taper.as_tensor(np.ones(3), device="meta"), (3,), taper.float64),
        (lambda: taper.ones(2).to("meta", taper.float16), (2,), taper.float16),
        (lambda: taper.zeros_like(taper.ones(2), device="meta"), (2,), taper.float32),
        (lambda: meta(2).new_ones(3), (3,), taper.float32),
    ],
)
def test_factories(make: Any, shape: tuple[int, ...], dtype: Any):
    made = make()
    assert (made.device.type, tuple(made.shape), made.dtype) == ("meta", shape, dtype)


def test_what_it_is():
    x = taper.empty_strided((2, 3), (1, 2), device="meta")
    assert (x.is_meta, x.is_cpu, x.get_device(), x.data_ptr()) == (True, False, -1, 0)
    assert (x.stride(), x.t().is_contiguous(), x[1].storage_offset()) == ((1, 2), True, 1)
    assert x[1].untyped_storage() == x.untyped_storage() != meta(2, 3).untyped_storage()
    assert x.type() == "torch.meta.FloatTensor"
    assert x.add_(1)._version == 1


def test_large_tensors_take_no_memory():
    x = meta(1 << 20, 1 << 20)
    assert (x @ x.t()).shape == (1 << 20, 1 << 20)
    assert F.gelu(x + 1).softmax(-1).sum().shape == ()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: meta().item(), RuntimeError, NO_ITEM),
        (lambda: bool(meta()), RuntimeError, NO_ITEM),
        (lambda: float(meta()), RuntimeError, NO_ITEM),
        (lambda: 1.0 in meta(2), RuntimeError, NO_ITEM),
        (lambda: taper.allclose(meta(2), meta(2)), RuntimeError, NO_ITEM),
        (lambda: meta(2, 3).item(), RuntimeError, "a Tensor with 6 elements cannot be converted"),
        (lambda: meta(2).tolist(), NotImplementedError, NO_DATA),
        (lambda: meta(2).cpu(), NotImplementedError, NO_DATA),
        (lambda: meta(2).to("cpu"), NotImplementedError, NO_DATA),
        (lambda: taper.ones(2).copy_(meta(2)), NotImplementedError, NO_DATA),
        (lambda: meta(2).numpy(), TypeError, "can't convert meta device type tensor to numpy. Use"),
        (lambda: np.asarray(meta(2)), TypeError, "can't convert meta device type tensor to numpy."),
        (lambda: meta(2).__dlpack__(), BufferError, "Cannot pack tensors on meta"),
        (lambda: meta(2).nonzero(), NotImplementedError, r"register_meta function for torch.nonze"),
        (lambda: meta(2)[meta(2) > 0], NotImplementedError, "register_meta function for torch"),
        (lambda: meta(2).unique(), NotImplementedError, "aten::_unique2: attempted to run this op"),
        (lambda: meta(2).masked_select(meta(2) > 0), NotImplementedError, "aten::masked_select: "),
        (lambda: meta(2).share_memory_(), RuntimeError, "_share_fd_: only available on CPU"),
        (lambda: meta(2).pin_memory(), RuntimeError, "cannot pin 'MetaFloatType' only dense CPU"),
        (lambda: taper.add(meta(2), 1, out=taper.ones(2)), RuntimeError, "copy from device meta"),
        (lambda: meta(2).set_(taper.ones(2)), RuntimeError, 'tensor on device "meta" to a storage'),
    ],
)
def test_reading_is_refused(call: Any, error: type[Exception], text: str):
    with pytest.raises(error, match=text):
        call()


def test_devices_do_not_mix():
    x, y = meta(2, 3), taper.ones(2, 3)
    for one, other, text in ((x, y, "cpu is not on the expected device meta"), (y, x, "meta is")):
        with pytest.raises(RuntimeError, match=f"^Tensor on device {text}"):
            one + other
        with pytest.raises(RuntimeError, match=f"^Tensor on device {text}"):
            taper.cat([one, other])
    assert (x + taper.tensor(2.0)).is_meta
    assert (taper.tensor(2.0) * x).is_meta
    assert x[taper.tensor([0, 1])].is_meta


def test_gradients_are_meta_tensors():
    x = meta(2, 3, requires_grad=True)
    ((x * 2).relu() @ meta(3, 4)).pow(2).mean().backward()
    assert (x.grad.is_meta, x.grad.shape, x.grad.stride()) == (True, (2, 3), (3, 1))
    (once,) = taper.autograd.grad((x**3).sum(), x, create_graph=True)
    (twice,) = taper.autograd.grad(once.sum(), x)
    assert twice.is_meta
    with pytest.raises(RuntimeError, match="gradient with device type 'cpu' to a tensor with dev"):
        x.grad = taper.ones(2, 3)
    with pytest.raises(RuntimeError, match="have incompatible tensor type"):
        x.data = taper.ones(2, 3)


def test_no_random_number_is_drawn():
    before = taper.get_rng_state()
    x = meta(4, 4)
    taper.rand(3, device="meta")
    taper.randn_like(x)
    x.normal_().uniform_().bernoulli_(0.5).random_(3)
    for function in (F.dropout, taper.bernoulli, taper.poisson, nn.init.kaiming_uniform_):
        function(x)
    nn.init.trunc_normal_(x)
    nn.init.orthogonal_(x)
    taper.multinomial(x, 2)
    nn.Linear(3, 4, device="meta")
    assert taper.equal(taper.get_rng_state(), before)


def test_contexts_and_default_device():
    with taper.device("meta"):
        layer = nn.Linear(2, 3)
        assert layer.weight.is_meta and taper.tensor(1.0).is_meta
        assert taper.from_numpy(np.ones(2)).is_cpu
        assert taper.zeros_like(taper.ones(2, device="cpu")).is_cpu
    taper.set_default_device("meta")
    try:
        assert nn.LayerNorm(2).weight.is_meta
    finally:
        taper.set_default_device(None)
    assert taper.ones(1).is_cpu


def test_modules_get_elements():
    layer = nn.Linear(2, 3, device="meta")
    text = r"no data! Please use torch.nn.Module.to_empty\(\) instead of torch.nn.Module.to\(\)"
    with pytest.raises(NotImplementedError, match=text):
        layer.to("cpu")
    state = {"weight": taper.ones(3, 2), "bias": taper.zeros(3)}
    with pytest.warns(UserWarning, match="copying from a non-meta parameter") as seen:
        layer.load_state_dict(state)
    assert len(seen) == 2 and layer.weight.is_meta
    layer.load_state_dict(state, assign=True)
    assert isinstance(layer.weight, nn.Parameter) and layer(taper.ones(1, 2)).tolist() == [
        [2.0] * 3
    ]
    assert nn.Linear(2, 3, device="meta").to_empty(device="cpu").weight.is_cpu
    assert nn.Linear(2, 3).to("meta").bias.is_meta
    with pytest.raises(RuntimeError, match="an exception occurred : .'Cannot copy out of meta"):
        nn.Linear(2, 3).load_state_dict(nn.Linear(2, 3, device="meta").state_dict())


def test_layers_and_optimizers():
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(36, 5),
    ).to("meta")
    target = meta(2, dtype=taper.int64)
    for kind in (taper.optim.SGD, taper.optim.Adam, taper.optim.AdamW, taper.optim.RMSprop):
        optimizer = kind(model.parameters(), 0.1)
        loss = F.cross_entropy(model(meta(2, 3, 8, 8)), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert all(each.grad.is_meta for each in model.parameters())
    with taper.device("meta"):
        block = nn.TransformerEncoderLayer(8, 2, 16)
        assert block(taper.rand(3, 1, 8)).shape == (3, 1, 8)
        assert nn.LSTM(3, 4)(taper.rand(2, 1, 3))[0].shape == (2, 1, 4)


def test_files_and_copies():
    x = taper.empty_strided((2, 3), (1, 2), device="meta")
    for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.clone()):
        assert (made.is_meta, made.shape, made.stride()) == (True, (2, 3), (1, 2))
    file = io.BytesIO()
    taper.save({"real": taper.ones(2, 3).t(), "meta": x}, file)
    file.seek(0)
    loaded = taper.load(file, map_location="meta")
    assert [(each.is_meta, each.stride()) for each in loaded.values()] == [
        (True, (1, 3)),
        (True, (1, 2)),
    ]


@pytest.mark.skipif(native is None, reason="the native module is not built")
def test_native_functions_leave_foreign_arrays_alone():
    program = """
import taper
from taper.arrays.native import native
state = taper.autograd.state.local.state
x = taper.empty(2, 3, device="meta")
tensor = taper.empty(2, 3, device="meta", requires_grad=True)
for name in dir(native):
    function = getattr(native, name)
    if name.startswith(("_", "know_", "keep", "set_", "count_", "meet", "onednn", "module_")):
        continue
    for given in (x._array, x, tensor):
        for count in range(0, 16):
            for front in ((), (state,), ([given],), (1,), (None,)):
                try:
                    function(*front, *[given] * count)
                except Exception:
                    pass
print("alive")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr[-2000:]


def test_integers_are_divided_without_a_look_at_the_divisor():
    x = taper.empty(3, dtype=taper.int64, device="meta")
    found = (x // x, x % x, 7 // x, 7 % x, taper.fmod(x, x), taper.div(x, x, rounding_mode="trunc"))
    assert {(tuple(each.shape), each.dtype, each.is_meta) for each in found} == {
        ((3,), taper.int64, True)
    }
