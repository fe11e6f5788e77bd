"""Claims D1 to D5 of the notes: saved tensors."""

from __future__ import annotations

import gc
import os
import threading
import weakref

import pytest

import taper


def test_d1_only_what_backward_needs_is_saved():
    x = taper.ones(3, requires_grad=True)
    y = taper.ones(3, requires_grad=True)
    packed = []

    def pack(tensor):
        packed.append(tensor)
        return tensor

    with taper.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        total = x + y
        assert packed == []
        square = total**2
    assert len(packed) == 1 and packed[0] is total
    assert not [name for name in dir(total.grad_fn) if name in ("_saved_self", "_saved_other")]
    assert square.grad_fn._saved_exponent == 2


def test_d2_saved_attributes_and_their_identity():
    x = taper.randn(5, requires_grad=True)
    y = x.pow(2)
    assert x is y.grad_fn._saved_self
    z = x.exp()
    saved = z.grad_fn._saved_result
    assert saved is not z and z.equal(saved) and saved.data_ptr() == z.data_ptr()
    product = x * z
    assert product.grad_fn._saved_self is x and product.grad_fn._saved_other is z
    gc.collect()
    gc.disable()
    try:
        alive = weakref.ref(z)
        del z, saved, product
        assert alive() is None
    finally:
        gc.enable()


def test_d3_hooks_on_one_saved_tensor():
    w = taper.tensor([3.0, 4.0], requires_grad=True)
    z = w.pow(2)
    calls = []

    def unpack(values):
        calls.append(values)
        return taper.tensor(values)

    z.grad_fn._raw_saved_self.register_hooks(lambda tensor: tensor.tolist(), unpack)
    z.sum().backward(retain_graph=True)
    z.sum().backward()
    assert w.grad.tolist() == [12.0, 16.0]
    assert calls == [[3.0, 4.0], [3.0, 4.0]]
    with pytest.raises(RuntimeError, match="after it has been freed"):
        z.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)


def test_d4_hooks_for_a_block_the_innermost_applies(tmp_path):
    x = taper.tensor([2.0], requires_grad=True)
    names = []

    def hooks(name):
        return taper.autograd.graph.saved_tensors_hooks(
            lambda tensor: names.append(name) or tensor, lambda tensor: tensor
        )

    with hooks("outer"):
        with hooks("inner"):
            y = x * x
        y = y * y
    assert names == ["inner", "inner", "outer", "outer"]
    y.backward()
    assert x.grad.item() == 32.0

    class TemporaryFile:
        def __init__(self, tensor):
            self.name = str(tmp_path / f"{len(os.listdir(tmp_path))}.bin")
            with open(self.name, "wb") as file:
                file.write(tensor.numpy(force=True).tobytes())

        def __del__(self):
            os.remove(self.name)

    def load(file):
        with open(file.name, "rb") as opened:
            return taper.frombuffer(bytearray(opened.read()), dtype=taper.float32)

    with taper.autograd.graph.saved_tensors_hooks(TemporaryFile, load):
        y = x * x
    assert len(os.listdir(tmp_path)) == 2
    x.grad = None
    y.backward(retain_graph=True)
    assert x.grad.tolist() == [4.0]
    del y
    assert os.listdir(tmp_path) == []

    with taper.autograd.graph.save_on_cpu():
        y = x * x
    x.grad = None
    y.backward()
    assert x.grad.item() == 4.0


def test_d5_hooks_belong_to_a_thread():
    x = taper.ones(1, requires_grad=True)
    packed = []

    def forward(inside):
        def pack(tensor):
            packed.append(threading.get_ident())
            return tensor

        if inside:
            with taper.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                return x.exp()
        return x.exp()

    def run(inside):
        worker = threading.Thread(target=forward, args=(inside,))
        with taper.autograd.graph.saved_tensors_hooks(lambda t: packed.append(0) or t, lambda t: t):
            worker.start()
            worker.join()

    run(inside=False)
    assert packed == []
    run(inside=True)
    assert len(packed) == 1 and packed[0] != threading.get_ident()
