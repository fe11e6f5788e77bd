"""A program under `taper run` behaves as under `python`."""

from __future__ import annotations

import pytest

FACTS = """
import sys
print(__name__, __file__, __spec__, __package__, __cached__, type(__loader__).__name__)
print(sys.argv, sys.path[0], sorted(globals()), type(__builtins__).__name__, __doc__)
print(sys.modules["__main__"].sys is sys)
"""


@pytest.mark.parametrize("place", ["program.py", "folder/program.py"])
def test_a_script_sees_what_python_shows_it(program, place):
    program.write(place, FACTS)
    ours = program.taper("run", place, "-x", "--", "--help", "-m", "y z")
    theirs = program.python(place, "-x", "--", "--help", "-m", "y z")
    assert ours.returncode == 0, ours.stderr
    assert ours.stdout == theirs.stdout
    assert f"['{place}', '-x', '--', '--help', '-m', 'y z']" in ours.stdout


def test_a_linked_script_finds_its_neighbours(program):
    program.write("real/neighbour.py", "value = 3\n")
    program.write("real/program.py", "import neighbour\nprint(neighbour.value, __file__)\n")
    (program.folder / "link.py").symlink_to(program.folder / "real" / "program.py")
    assert program.taper("run", "link.py").stdout == program.python("link.py").stdout
    assert program.taper("run", "link.py").stdout.startswith("3 ")


@pytest.mark.parametrize("name", ["program", "package", "package.inside"])
def test_a_module_sees_what_python_shows_it(program, name):
    facts = FACTS.replace("__spec__", "__spec__.name")
    program.write("program.py", facts)
    program.write("package/__init__.py", "")
    program.write("package/__main__.py", facts)
    program.write("package/inside.py", facts)
    ours = program.taper("run", "-m", name, "-m", "--help")
    assert ours.returncode == 0, ours.stderr
    assert ours.stdout == program.python("-m", name, "-m", "--help").stdout


def test_a_folder_with_a_main(program):
    program.write("folder/__main__.py", FACTS.replace("__spec__", "__spec__.name"))
    ours = program.taper("run", "folder", "1")
    assert ours.returncode == 0, ours.stderr
    assert ours.stdout == program.python("folder", "1").stdout


@pytest.mark.parametrize(
    ("ending", "code", "said"),
    [
        ("", 0, ""),
        ("sys.exit(7)", 7, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit('sorry')", 1, "sorry\n"),
        ("raise SystemExit(True)", 1, ""),
        ("import os; os._exit(9)", 9, ""),
    ],
)
def test_exit_codes(program, ending, code, said):
    done = program.run(f"import sys, torch\nif __name__ == '__main__':\n    pass\n{ending}\n")
    assert (done.returncode, done.stderr) == (code, said)


TRACEBACKS = {
    "error": "import torch\ndef f():\n    raise ValueError('no')\nf()\n",
    "of a library": "import json\njson.loads('[')\n",
    "chained": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e\n",
    "syntax": "x = (\n",
    "syntax in an import": "import broken\n",
    "missing module": "import no_such_module\n",
    "interrupt": "import signal\nsignal.raise_signal(signal.SIGINT)\n",
    "own hook": "import sys\nsys.excepthook = lambda *e: print(e[:2], file=sys.stderr)\n1 / 0\n",
}


@pytest.mark.parametrize("kind", TRACEBACKS)
def test_tracebacks_are_those_of_python(program, kind):
    program.write("broken.py", "def (:\n")
    text = TRACEBACKS[kind]
    ours = program.run(text)
    # Python itself does not know torch here: its line adds nothing to the traceback.
    program.write("program.py", text.replace("import torch", "pass"))
    theirs = program.python("program.py")
    assert ours.stderr == theirs.stderr
    assert "taper" not in ours.stderr
    assert ours.returncode == (130 if kind == "interrupt" else 1)


def test_a_script_that_is_not_there(program):
    done = program.taper("run", "nothing.py")
    assert done.returncode == 2
    assert "can't open file" in done.stderr and "nothing.py" in done.stderr
    assert program.taper("run", "-m", "no_such_module").returncode == 1


def test_classes_of_the_program_can_be_pickled(program):
    assert program.output(
        """
        import copy, pickle, torch
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(2, 2)
        net = pickle.loads(pickle.dumps(Net()))
        print(type(net) is Net, Net.__module__)
        print(type(copy.deepcopy(net)) is Net)
        """
    ) == ["True __main__", "True"]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_children_get_the_proxy(program, method):
    lines = program.output(
        """
        import multiprocessing, sys
        import torch
        from torch import nn

        class Message:
            def __init__(self, value):
                self.value = value

        def child(queue, start):
            import torch.nn.functional as F
            queue.put(Message((torch.__spec__.name, float(F.relu(torch.tensor(start)).item()))))

        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[1])
            queue = context.Queue()
            process = context.Process(target=child, args=(queue, -1.0))
            process.start()
            print(queue.get().value)
            process.join()
            print(process.exitcode)
        """,
        method,
    )
    assert lines == ["('taper', 0.0)", "0"]


def test_fallbacks_of_programs(program):
    assert program.output(
        """
        import torch
        try:
            from torch.no_such_module import something
        except ImportError:
            something = 1
        try:
            from torch import no_such_name
        except ImportError:
            no_such_name = 2
        try:
            import torch._six
        except ModuleNotFoundError as error:
            print(error.name)
        print(something, no_such_name, hasattr(torch, "no_such_name"))
        print(getattr(torch, "no_such_name", "default"))
        """
    ) == ["torch._six", "1 2 False", "default"]
