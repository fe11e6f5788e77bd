"""`taper.utils`: its modules load on first use; hooks and DLPack under PyTorch's names."""

from __future__ import annotations

import subprocess
import sys

import pytest

import taper
from taper.autograd.handles import RemovableHandle


def test_modules_load_on_first_use():
    program = (
        "import sys, taper\n"
        "assert 'taper.utils' not in sys.modules\n"
        "taper.utils\n"
        "assert 'taper.utils.checkpoint' not in sys.modules\n"
        "print(taper.utils.checkpoint.checkpoint.__name__)\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (found.stdout, found.stderr) == ("checkpoint\n", "")


def test_unknown_names():
    with pytest.raises(AttributeError, match="module 'taper.utils' has no attribute 'nothing'"):
        taper.utils.nothing
    assert {"checkpoint", "dlpack", "hooks"} <= set(dir(taper.utils))


def test_handles_are_those_of_tensors():
    x = taper.ones(1, requires_grad=True)
    handle = x.register_hook(lambda grad: grad * 2)
    assert isinstance(handle, taper.utils.hooks.RemovableHandle)
    assert taper.utils.hooks.RemovableHandle is RemovableHandle


def test_hooks_that_are_not_saved():
    x = taper.ones(1, requires_grad=True)

    def hook(grad):
        return grad

    x.register_hook(hook)
    with pytest.warns(UserWarning, match="will not be serialized"):
        taper.utils.hooks.warn_if_has_hooks(x)
    assert taper.utils.hooks.unserializable_hook(hook) is hook
    taper.utils.hooks.warn_if_has_hooks(x)


def test_backward_hooks_of_one_call():
    seen = []
    hook = taper.utils.hooks.BackwardHook(
        "module",
        [lambda module, inward, outward: seen.append((module, inward, outward))],
        [lambda module, outward: (outward[0] * 2,)],
    )
    x = taper.ones(2, requires_grad=True)
    (y, text) = hook.setup_input_hook((x, "text"))
    hook.setup_output_hook(y * 3).sum().backward()
    assert text == "text"
    ((module, inward, outward),) = seen
    assert module == "module"
    assert [each if each is None else each.tolist() for each in inward] == [[6.0, 6.0], None]
    assert [each.tolist() for each in outward] == [[2.0, 2.0]]


def test_dlpack():
    x = taper.arange(3)
    y = taper.utils.dlpack.from_dlpack(taper.utils.dlpack.to_dlpack(x))
    assert y.data_ptr() == x.data_ptr()
    assert taper.utils.dlpack.DLDeviceType.kDLCPU == 1
