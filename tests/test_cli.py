"""The `taper` command: commands, exit codes, interrupts."""

import json
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from taper import version
from taper.commands import bench, cli


@pytest.fixture
def demo(monkeypatch):
    """Replace the demo; the test says what its `main` does."""

    def replace(main):
        module = types.ModuleType("taper.commands.demo")
        module.main = main
        monkeypatch.setitem(sys.modules, "taper.commands.demo", module)

    return replace


def exit_code(argv):
    with pytest.raises(SystemExit) as stopped:
        cli.main(argv)
    return stopped.value.code


def test_help_names_every_command(capsys):
    assert exit_code(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"  {command} " in text for command in cli.COMMANDS)
    assert "exit codes" in text


@pytest.mark.parametrize("command", ["run", "graph", "step", "demo", "bench", "info"])
def test_every_command_explains_itself(command, capsys):
    assert exit_code([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: taper {command} ")
    assert len(text.splitlines()) >= 5


def test_the_bare_command_lists_the_commands(capsys):
    assert cli.main([]) == 0
    assert all(f"  {command} " in capsys.readouterr().out for command in list(cli.COMMANDS)[:1])


def test_version(capsys):
    assert exit_code(["--version"]) == 0
    assert capsys.readouterr().out == f"taper {version.taper}\n"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["nonsense"], "taper: error: unknown command 'nonsense'"),
        (["--nonsense"], "taper: error: "),
        (["info", "--nonsense"], "taper info: error: "),
        (["bench", "--seconds", "0"], "taper bench: error: --seconds must be above 0"),
        (["demo", "--epochs", "0"], "taper demo: error: "),
        (["run"], "taper run: error: name a SCRIPT or -m MODULE"),
        (["run", "--nonsense", "x.py"], "taper run: error: "),
        (["run", "no-such-file.py"], "taper run: error: can't open file"),
        (["graph", "--saved"], "taper graph: error: name a SCRIPT or -m MODULE"),
        (["graph", "no-such-file.py"], "taper graph: error: can't open file"),
        (["graph", "--output", "x.png", __file__], "must end in .svg (a picture) or .html"),
        (["graph", "--output", "no/such/x.svg", __file__], "there is no folder"),
        (["graph", "--output", "/", __file__], "cannot write"),
        (["graph", "--html", "--output", "x.svg", __file__], "--html writes a page"),
    ],
)
def test_wrong_command_line_exits_with_2_and_says_why(argv, said, capsys):
    assert exit_code(argv) == 2
    assert said in capsys.readouterr().err


def test_info_tells_the_versions(capsys):
    assert cli.main(["info"]) == 0
    facts = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert facts["Python"].startswith(f"{sys.version_info.major}.{sys.version_info.minor}.")
    assert facts["NumPy"].startswith(np.__version__)
    assert facts["taper"].startswith(version.taper)
    assert facts["follows"] == f"PyTorch {version.__version__}"
    assert {"platform", "ml_dtypes", "threads", "kernels", "extras", "PyTorch"} < set(facts)


@pytest.mark.parametrize("code", [0, 1])
def test_demo_gets_the_rest_of_the_line_and_gives_the_exit_code(demo, code):
    seen = []

    def main(argv):
        seen.append(argv)
        return code

    demo(main)
    assert cli.main(["demo", "--help", "--speed", "3"]) == code
    assert seen == [["--help", "--speed", "3"]]


def test_interrupt_is_one_line_and_exit_code_130(demo, capsys):
    def main(argv):
        raise KeyboardInterrupt

    demo(main)
    assert cli.main(["demo"]) == 130
    assert capsys.readouterr().err == "\ninterrupted\n"


def test_reader_that_goes_away_is_no_failure():
    program = (
        "import sys, types\n"
        "demo = types.ModuleType('taper.commands.demo')\n"
        "demo.main = lambda argv: [print(i) for i in range(100_000)] and 0\n"
        "from taper.commands import cli\n"
        "sys.modules['taper.commands.demo'] = demo\n"
        "sys.exit(cli.main(['demo']))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "0\n"
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 0


# --- python -m taper -----------------------------------------------------------------------------


def taper(folder, *line, **options):
    source = Path(__file__).parents[1] / "src"
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "taper", *line]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, **options
    )


def test_the_package_can_be_run(tmp_path):
    assert taper(tmp_path, "--version").stdout == f"taper {version.taper}\n"


# --- bench ---------------------------------------------------------------------------------------


def test_bench_measures_the_installed_library(tmp_path):
    done = taper(
        tmp_path, "bench", "--alone", "--seconds", "0.01", "--only", "classifier", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["classifier, training step"]["taper"]["seconds"] > 0


def test_bench_prints_a_table(tmp_path):
    done = taper(tmp_path, "bench", "--alone", "--seconds", "0.01", "--only", "5x5")
    head, line, row = done.stdout.splitlines()
    assert head.split() == ["workload", "taper", "us"]
    assert set(line) == {"-"}
    assert row.startswith("multiplication 5x5, recorded")
    assert taper(tmp_path, "bench", "--only", "nothing").returncode == 2


def test_bench_tells_what_failed():
    rows = {"a": [{"seconds": 2e-6}, {"seconds": 1e-6}], "b": [{"seconds": 1}, {"error": "E: x"}]}
    lines = bench._table(["taper", "torch"], rows)
    assert lines[2].split() == ["a", "2.0", "1.0", "2.00"]
    assert lines[3].split() == ["b", "1000000.0", "failed", "-"]
    assert lines[4] == "b: E: x"


def test_every_workload_runs():
    library = __import__("taper")
    for make in bench.WORKLOADS.values():
        make(library)()


# --- graph ---------------------------------------------------------------------------------------

TRAINING = """
import sys
import torch
from torch import nn

def main():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    for _ in range(2):
        loss = model(torch.randn(5, 3)).pow(2).mean()
        loss.backward()
    other = (torch.ones(2) * 2).sum()

main()
sys.exit(int(sys.argv[1]))
"""


@pytest.mark.parametrize("code", [0, 3])
def test_graph_draws_what_backward_ran_on(tmp_path, code):
    (tmp_path / "train.py").write_text(TRAINING)
    done = taper(tmp_path, "graph", "train.py", str(code))
    assert done.returncode == code
    assert str(tmp_path / "train.svg") in done.stderr
    picture = (tmp_path / "train.svg").read_text()
    assert picture.startswith("<svg ")
    assert all(text in picture for text in ("MeanBackward0", "TanhBackward0", "0.weight", "2.bias"))
    assert "saved" not in picture


def test_graph_shows_what_is_saved_where_it_is_told(tmp_path):
    (tmp_path / "train.py").write_text(TRAINING)
    done = taper(tmp_path, "graph", "--output", "x.svg", "--saved", "--attrs", "-m", "train", "0")
    assert done.returncode == 0, done.stderr
    assert "exponent" in (tmp_path / "x.svg").read_text()


@pytest.mark.parametrize("line", [["--html"], ["--output", "train.html"]])
def test_graph_as_a_page_has_modules_and_what_was_saved(tmp_path, line):
    (tmp_path / "train.py").write_text(TRAINING)
    done = taper(tmp_path, "graph", *line, "train.py", "0")
    assert done.returncode == 0, done.stderr
    assert "a page of 7 nodes" in done.stderr
    page = (tmp_path / "train.html").read_text()
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert [each["name"] for each in data["leaves"]][:2] == ["0.weight", "0.bias"]
    assert {"path": "1", "class_name": "Tanh"} in data["modules"]
    assert not any(each["freed"] for each in data["nodes"])  # as it was before the pass


def test_graph_without_backward_draws_the_last_recorded_tensor(tmp_path):
    program = "import torch\nx = torch.ones(2, requires_grad=True)\ny = (x * 2).exp()\n"
    (tmp_path / "program.py").write_text(program + "z = torch.ones(2) + 1\n")
    assert taper(tmp_path, "graph", "program.py").returncode == 0
    picture = (tmp_path / "program.svg").read_text()
    assert "ExpBackward0" in picture and "AddBackward0" not in picture
    assert ">x<" in picture


def test_graph_of_grad_with_keywords(tmp_path):
    (tmp_path / "program.py").write_text(
        "import torch\nx = torch.ones((), requires_grad=True)\n"
        "torch.autograd.grad(outputs=x.sin(), inputs=x)\n"
    )
    assert taper(tmp_path, "graph", "program.py").returncode == 0
    assert "SinBackward0" in (tmp_path / "program.svg").read_text()


def test_a_program_without_graph(tmp_path):
    (tmp_path / "program.py").write_text("import torch\nprint(torch.ones(2) + 1)\n")
    done = taper(tmp_path, "graph", "program.py")
    assert done.returncode == 1
    assert done.stderr == "taper graph: the program recorded no graph\n"
    assert not (tmp_path / "program.svg").exists()
