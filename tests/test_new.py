"""`taper new`: the projects that it writes, trained and tested with taper."""

import tomllib

import pytest

from new_projects import new_project, run
from taper.commands import cli
from taper.commands.new import FILES, TEMPLATES


def test_a_project_has_its_files_under_its_name(tmp_path, capsys):
    assert cli.main(["new", str(tmp_path / "a" / "my-net")]) == 0
    said = capsys.readouterr().out
    assert "taper run train.py" in said and f"cd {tmp_path / 'a' / 'my-net'}" in said
    folder = tmp_path / "a" / "my-net"
    assert {each.name for each in folder.iterdir()} == set(FILES)
    assert tomllib.loads((folder / "pyproject.toml").read_text())["project"]["name"] == "my-net"
    assert all("PROJECT_" not in each.read_text() for each in folder.iterdir())


def test_nothing_is_overwritten(tmp_path, capsys):
    (tmp_path / "net").mkdir()
    with pytest.raises(SystemExit) as stopped:
        cli.main(["new", str(tmp_path / "net")])
    assert stopped.value.code == 2
    assert "exists, and nothing is overwritten" in capsys.readouterr().err
    assert list((tmp_path / "net").iterdir()) == []


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_project_trains_saves_and_goes_on(template, tmp_path):
    project = new_project(tmp_path, template)
    first = run(project, "-m", "taper", "run", "train.py", "--steps", "5", "--save", "net.pt")
    assert first.startswith("step    5   loss ") and first.count("\n") == 1
    again = run(project, "-m", "taper", "run", "train.py", "--steps", "6", "--resume", "net.pt")
    assert again.startswith("step    6   loss ")
    assert run(project, "-m", "taper", "run", "train.py", "--steps", "6") == again


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_projects_own_tests_pass(template, tmp_path):
    project = new_project(tmp_path, template)
    said = run(project, "-m", "taper", "run", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert "4 passed" in said


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_code_has_the_layout_of_the_formatter(template, tmp_path):
    project = new_project(tmp_path, template)
    wide = ("--isolated", "--line-length", "100")
    run(project, "-m", "ruff", "format", *wide, "--check", ".")
    run(project, "-m", "ruff", "check", *wide, "--select", "E,F,I,UP,B", ".")
