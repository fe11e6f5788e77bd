"""Every notebook runs from its first cell to its last; what it showed goes to build/notebooks."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

with warnings.catch_warnings():  # of packages that are only used here
    warnings.simplefilter("ignore")
    import nbclient
    import nbformat

pytestmark = [pytest.mark.taper_only, pytest.mark.filterwarnings("ignore")]

ROOT = Path(__file__).resolve().parents[3]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
RUN = ROOT / "build" / "notebooks"


def test_there_are_ten_and_they_are_stored_without_outputs():
    assert len(NOTEBOOKS) >= 10
    for path in NOTEBOOKS:
        cells = nbformat.read(path, as_version=4).cells
        assert cells[0].source.startswith("# "), path.name
        assert all(not each.outputs for each in cells if each.cell_type == "code"), path.name


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    notebook = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": tmp_path}}
    nbclient.NotebookClient(notebook, timeout=120, resources=where).execute()
    RUN.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, RUN / path.name)
