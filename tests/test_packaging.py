"""What is published: the source archive's list of files, the metadata, the extras.

What takes long, the packages themselves, is in tests/packages (`make test-packages`).
"""

import fnmatch
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def lines_of(name):
    return (ROOT / name).read_text(encoding="utf-8").splitlines()


def test_every_file_of_the_repository_is_in_the_source_archive():
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("an unpacked archive, not a checkout")
    rules = [line.split() for line in lines_of("MANIFEST.in")]
    folders = {words[1] for words in rules if words[:1] == ["graft"]}
    patterns = [each for words in rules if words[:1] == ["include"] for each in words[1:]]
    # What every source archive has.
    patterns += ["pyproject.toml", "setup.py", "MANIFEST.in"]
    left_out = [
        name
        for name in listed.stdout.splitlines()
        if name.partition("/")[0] not in folders
        and not any(fnmatch.fnmatchcase(name, each) and "/" not in name for each in patterns)
    ]
    assert left_out == []


def test_every_extra_installs_something():
    extras = PROJECT["optional-dependencies"]
    assert [name for name, needed in extras.items() if not needed] == []
    used = re.findall(r"'\.\[([\w,]+)\]'", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert {each for names in used for each in names.split(",")} <= set(extras)


def test_what_the_package_reads_at_run_time_is_in_the_wheel():
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = options["tool"]["setuptools"]["package-data"]["*"]
    package = ROOT / "src" / "taper"
    built = ("*.py", "*.so", "*.pyc")
    left_out = [
        each.name
        for each in package.rglob("*")
        if each.is_file()
        and not any(fnmatch.fnmatchcase(each.name, pattern) for pattern in (*patterns, *built))
    ]
    assert left_out == []


def test_the_citation_names_this_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    fields = dict(re.findall(r"^([a-z-]+): \"?([^\"\n]+)\"?$", text, re.MULTILINE))
    assert fields["version"] == PROJECT["version"]
    assert fields["license"] == PROJECT["license"]
    assert fields["cff-version"] == "1.2.0"


def test_the_metadata_can_be_published():
    assert PROJECT["license-files"] == ["LICENSE"] and (ROOT / "LICENSE").exists()
    assert (ROOT / PROJECT["readme"]).exists()
    assert PROJECT["urls"] and all(each.startswith("https://") for each in PROJECT["urls"].values())
    versions = {each for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)}
    assert versions == {f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13)}
