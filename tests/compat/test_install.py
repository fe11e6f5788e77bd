"""The proxy can be installed and removed, and is refused where it would come too late."""

from __future__ import annotations

import importlib.metadata
import sys
import types

import pytest

import taper
from taper import compat


def ran(statements):
    """Return the names that statements leave behind."""
    names = {}
    exec(statements, names)
    return names


def state():
    """Return what the proxy may change."""
    import multiprocessing.spawn as spawn

    return (
        list(sys.meta_path),
        {n for n in sys.modules if n.partition(".")[0] in ("torch", "torchvision", "torchviz")},
        taper.__dict__.get("__getattr__"),
        taper.nn.functional.__dict__.get("__getattr__"),
        taper.nn.functional.__spec__,
        taper.nn.functional.__loader__,
        spawn.get_preparation_data,
    )


def test_it_can_be_undone_completely():
    before = state()
    compat.install()
    names = ran("import torch.nn.functional\nfrom torch import nn")
    assert state()[0] != before[0]
    assert state()[-1] != before[-1]
    compat.uninstall()
    assert state() == before
    assert names["nn"] is taper.nn  # what was imported stays
    assert "torch" not in sys.modules


def test_it_is_installed_once():
    compat.install()
    finders = list(sys.meta_path)
    compat.install()
    assert sys.meta_path == finders
    compat.uninstall()
    compat.uninstall()
    assert not compat.is_installed()


def test_block():
    with compat.installed():
        assert compat.is_installed()
        with compat.installed():
            pass
        assert compat.is_installed()
        names = ran("import torch")
    assert not compat.is_installed()
    assert names["torch"] is taper


def test_block_is_left_by_an_error():
    with pytest.raises(KeyError), compat.installed():
        raise KeyError
    assert not compat.is_installed()


def test_it_refuses_a_torch_that_is_there(monkeypatch):
    other = types.ModuleType("torch")
    other.__file__ = "somewhere/torch/__init__.py"
    monkeypatch.setitem(sys.modules, "torch", other)
    before = list(sys.meta_path)
    with pytest.raises(ImportError, match="torch is already imported, from somewhere") as caught:
        compat.install()
    assert caught.value.name == "torch"
    assert sys.meta_path == before
    assert sys.modules["torch"] is other


def test_metadata_is_its_own_again_afterwards():
    def version():
        try:
            return importlib.metadata.version("torchviz")
        except importlib.metadata.PackageNotFoundError:
            return None

    before = version()
    with compat.installed():
        assert version() == "0.0.3"
        assert importlib.metadata.version("TORCH") == "2.13.0"
    assert version() == before


def test_a_module_loaded_under_the_proxy_explains_only_under_it():
    name = "taper.nn.utils.stateless"
    sys.modules.pop(name, None)
    with compat.installed():
        stateless = ran("import torch.nn.utils.stateless as stateless")["stateless"]
        assert "__getattr__" in vars(stateless)
        assert type(stateless.__loader__).__name__ == "SourceFileLoader"
    assert "__getattr__" not in vars(stateless)
