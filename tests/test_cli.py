"""The `taper` command: commands, exit codes, interrupts."""

import subprocess
import sys
import types

import numpy as np
import pytest

from taper import cli


@pytest.fixture
def demo(monkeypatch):
    """Put a demo in the place of the real one; the test says what its `main` does."""

    def replace(main):
        module = types.ModuleType("taper.demo")
        module.main = main
        monkeypatch.setitem(sys.modules, "taper.demo", module)

    return replace


def exit_code(argv):
    with pytest.raises(SystemExit) as stopped:
        cli.main(argv)
    return stopped.value.code


def test_help_names_every_command(capsys):
    assert exit_code(["--help"]) == 0
    text = capsys.readouterr().out
    assert "demo" in text and "info" in text and "exit codes" in text


@pytest.mark.parametrize("argv", [[], ["nonsense"], ["info", "--nonsense"], ["--nonsense"]])
def test_wrong_command_line_exits_with_2_and_says_why(argv, capsys):
    assert exit_code(argv) == 2
    assert "taper: error: " in capsys.readouterr().err


def test_info_tells_the_versions(capsys):
    assert cli.main(["info"]) == 0
    facts = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert facts["Python"].startswith(f"{sys.version_info.major}.{sys.version_info.minor}.")
    assert facts["NumPy"].startswith(np.__version__)
    assert set(facts) == {"taper", "Python", "platform", "NumPy", "ml_dtypes", "extras"}


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
        "demo = types.ModuleType('taper.demo')\n"
        "demo.main = lambda argv: [print(i) for i in range(100_000)] and 0\n"
        "from taper import cli\n"
        "sys.modules['taper.demo'] = demo\n"
        "sys.exit(cli.main(['demo']))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "0\n"
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 0
