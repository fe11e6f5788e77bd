"""`taper.hub` without a network: checkpoints in a folder, models of a local folder."""

from __future__ import annotations

import sys

import pytest

import taper
from taper import hub


@pytest.fixture(autouse=True)
def usual_folder():
    yield
    hub.set_dir(None)


def test_folder_follows_the_environment(monkeypatch):
    for name in ("TORCH_HOME", "TORCH_HUB", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    assert hub.get_dir() == "/home/me/.cache/torch/hub"
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert hub.get_dir() == "/cache/torch/hub"
    monkeypatch.setenv("TORCH_HOME", "~/torch")
    assert hub.get_dir() == "/home/me/torch/hub"
    hub.set_dir("~/mine")
    assert hub.get_dir() == "/home/me/mine"
    monkeypatch.setenv("TORCH_HUB", "/old")
    with pytest.warns(UserWarning, match="TORCH_HUB is deprecated, please use env TORCH_HOME"):
        assert hub.get_dir() == "/home/me/mine"


def test_checkpoint_of_a_url_is_read_from_the_folder(tmp_path):
    hub.set_dir(tmp_path)
    (tmp_path / "checkpoints").mkdir()
    taper.save({"a": taper.ones(2)}, tmp_path / "checkpoints" / "net.pth")
    url = "https://example.org/models/net.pth?version=2"
    assert hub.load_state_dict_from_url(url)["a"].tolist() == [1.0, 1.0]
    other = hub.load_state_dict_from_url("https://example.org/x.pth", file_name="net.pth")
    assert list(other) == ["a"]
    with pytest.raises(FileNotFoundError, match="x.pth is not in .*checkpoints, and taper does"):
        hub.load_state_dict_from_url("https://example.org/x.pth")


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "neighbour.py").write_text("WIDTH = 4\n")
    (tmp_path / "hubconf.py").write_text(
        "dependencies = ['numpy']\n"
        "import taper\n"
        "from neighbour import WIDTH\n"
        "def net(inputs, outputs=WIDTH):\n"
        "    '''A linear net.'''\n"
        "    return taper.nn.Linear(inputs, outputs)\n"
        "def _hidden(): pass\n"
        "number = 3\n"
    )
    yield str(tmp_path)
    sys.modules.pop("neighbour", None)


def test_models_of_a_local_folder(repository):
    path = list(sys.path)
    assert repr(hub.load(repository, "net", 3, source="local")) == (
        "Linear(in_features=3, out_features=4, bias=True)"
    )
    assert hub.load(repository, "net", 3, outputs=5, source="local").out_features == 5
    assert hub.list(repository) == ["net"]
    assert hub.help(repository, "net") == "A linear net."
    assert sys.path == path


def test_what_a_folder_does_not_have(repository, tmp_path):
    with pytest.raises(RuntimeError, match="Cannot find callable number in hubconf"):
        hub.load(repository, "number", source="local")
    with pytest.raises(ValueError, match="model should be a string of function name"):
        hub.load(repository, 3, source="local")
    with pytest.raises(ValueError, match='Unknown source: "web". Allowed values: "github" | '):
        hub.load(repository, "net", source="web")
    (tmp_path / "hubconf.py").write_text("dependencies = ['no_such_a', 'no_such_b']\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_a, no_such_b"):
        hub.load(repository, "net", source="local")


def test_what_needs_the_network_is_refused():
    for call in (
        lambda: hub.load("a/b", "net"),
        lambda: hub.list("a/b"),
        lambda: hub.help("a/b", ""),
    ):
        with pytest.raises(NotImplementedError, match="taper does not download repositories"):
            call()
    with pytest.raises(NotImplementedError, match="fetch https://x.org/a and put it at there"):
        hub.download_url_to_file("https://x.org/a", "there")
