"""What `make wheels` wrote, as people get it: installed in empty environments without a compiler.

`make test-packages` runs these; they need the package index and minutes, so `make test` does not.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
WHEELS = sorted(DIST.glob("*.whl"))
(SDIST,) = DIST.glob("*.tar.gz")  # `make wheels` makes it
OURS = "cp{}{}".format(*sys.version_info)


def the_wheel(tag: str) -> Path:
    (found,) = [each for each in WHEELS if f"-{tag}-" in each.name]
    return found


class Environment:
    """An empty virtual environment, from which no compiler can be found."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        self.run("pip", "install", "numpy>=2", "ml_dtypes>=0.5")

    def run(self, program: str, *line: str | Path) -> str:
        """Run a program of the environment; return what it printed."""
        said = {"PATH": f"{self.folder / 'bin'}", "CC": "/bin/false", "CXX": "/bin/false"}
        kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        done = subprocess.run(
            [self.folder / "bin" / program, *line],
            cwd=self.folder,
            env={**kept, **said, "HOME": os.environ["HOME"], "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=500,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def files(self) -> set[str]:
        """Return all files but what Python itself wrote beside modules of others."""
        return {str(each.relative_to(self.folder)) for each in self.folder.rglob("*taper*")}


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    return Environment(tmp_path_factory.mktemp("empty") / "environment")


@pytest.mark.parametrize(
    ("package", "kernels"),
    [
        pytest.param(the_wheel(OURS), "NumPy, and native ones", id="wheel"),
        pytest.param(the_wheel("py3"), "NumPy\n", id="pure"),
        pytest.param(SDIST, "NumPy\n", id="sdist"),
    ],
)
def test_install_demo_and_uninstall_without_a_compiler(package, kernels, environment):
    before = environment.files()
    environment.run("pip", "install", package)
    assert re.search(rf"^kernels +{kernels}", environment.run("taper", "info"), re.MULTILINE)
    assert environment.run("pip", "check") == "No broken requirements found.\n"
    said = environment.run("taper", "demo", "--epochs", "2", "--output", "picture.svg")
    assert "dv/dx1 = x2 = 3" in said and "epoch  2" in said
    environment.run("pip", "uninstall", "--yes", "tapergrad")
    assert environment.files() == before


@pytest.mark.parametrize("wheel", WHEELS, ids=lambda each: each.name)
def test_a_wheel_is_small_and_lists_its_files(wheel):
    assert wheel.stat().st_size < 6_000_000
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (record,) = [name for name in names if name.endswith(".dist-info/RECORD")]
        rows = list(csv.reader(io.StringIO(archive.read(record).decode())))
        assert sorted(row[0] for row in rows) == sorted(names)
        for name, digest, size in rows[:-1]:
            data = archive.read(name)
            there = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert (digest, size) == (f"sha256={there}", str(len(data))), name
    assert not [name for name in names if not name.startswith(("taper/", "tapergrad-"))]


@pytest.mark.parametrize("wheel", WHEELS, ids=lambda each: each.name)
def test_the_tag_of_a_wheel_is_what_auditwheel_finds(wheel):
    with zipfile.ZipFile(wheel) as archive:
        native = [name for name in archive.namelist() if name.endswith(".so")]
        if "-none-any" in wheel.name:
            assert native == []
            return
        (module,) = native
        data = archive.read(module)
    for folder in (str(ROOT), str(Path.home()), tempfile.gettempdir() + "/"):
        assert folder.encode() not in data, "the module names a place of the machine that built it"
    tool = Path(sys.executable).parent / "auditwheel"
    said = subprocess.run([tool, "show", wheel], capture_output=True, text=True, check=True)
    said = " ".join(said.stdout.split())
    (tag,) = re.findall(r'consistent with the following platform tag: "([^"]+)"', said)
    assert tag == "manylinux_2_17_x86_64" and tag in wheel.name


@pytest.mark.parametrize("wheel", WHEELS, ids=lambda each: each.name)
def test_the_bill_of_materials_is_valid_and_complete(wheel):
    validation = pytest.importorskip("cyclonedx.validation.json", reason="extra: packages")
    schema = pytest.importorskip("cyclonedx.schema", reason="extra: packages")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if "/sboms/" in name]
        text = archive.read(name).decode()
    checker = validation.JsonStrictValidator(schema.SchemaVersion.V1_6)
    assert checker.validate_str(text) is None
    bill = json.loads(text)
    assert bill["metadata"]["component"]["name"] == "tapergrad"
    parts = {each["name"] for each in bill["components"]}
    assert {each for each in parts if not each.endswith(".so")} == {"numpy", "ml_dtypes"}
    assert len(parts) == (2 if "-none-any" in wheel.name else 3)


def test_the_source_archive_is_the_repository():
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a checkout")
    with tarfile.open(SDIST) as archive:
        there = {name.partition("/")[2] for name in archive.getnames()}
    assert set(listed.stdout.splitlines()) - there == set()
