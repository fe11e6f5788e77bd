"""`taper new`: a small training project, which runs with taper and with PyTorch.

Owns: which templates there are and which files a project has.  The files' texts lie beside this
one; those that begin with a template's name belong to it, the others to every project.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

TEMPLATES = {
    "mlp": "points on three spirals, told apart by a small network",
    "cnn": "small pictures of shapes, told apart by convolutions",
    "gpt": "a text, continued letter by letter by a transformer",
}

FILES = {
    "README.md": "readme.txt",
    "pyproject.toml": "pyproject.txt",
    ".gitignore": "gitignore.txt",
    "config.toml": "{template}_config.txt",
    "data.py": "{template}_data.txt",
    "model.py": "{template}_model.txt",
    "train.py": "train.txt",
    "test_train.py": "test_train.txt",
}

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


def main(argv: Sequence[str]) -> int:
    """Write the project; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="taper new",
        description="Write a small training project: a script, its configuration, data, a model "
        "and a test. It says `import torch` and runs at once, with taper and with PyTorch.",
        epilog="templates: " + "; ".join(f"{name}: {text}" for name, text in TEMPLATES.items()),
    )
    parser.add_argument("name", metavar="NAME", help="the new folder; its last part is the name")
    parser.add_argument("--template", choices=TEMPLATES, default="mlp", help="default: mlp")
    options = parser.parse_args(argv)
    folder = Path(options.name)
    name = Path(os.path.abspath(folder)).name
    if not _NAME.fullmatch(name):
        parser.error(f"{name!r} is no name: letters and digits, between them also - _ .")
    try:
        write_project(folder, name, options.template)
    except FileExistsError:
        parser.error(f"{options.name} exists, and nothing is overwritten: choose another name")
    except OSError as error:
        parser.error(f"cannot write {options.name}: {error.strerror}")
    print(f"{options.name}: {TEMPLATES[options.template]}\n\nNext:")
    print(f"  cd {shlex.quote(options.name)}")
    print("  taper run train.py           # train with taper; `python train.py` uses PyTorch")
    print("  taper run -m pytest          # its tests (pip install pytest)")
    print("  taper run train.py --help    # steps, seed, checkpoints; the rest is in config.toml")
    return 0


def write_project(folder: Path, name: str, template: str) -> None:
    """Write the files of a project into a folder that does not exist yet.

    Args:
        folder: where it goes; the folders above it are made, too.
        name: what the project is called.
        template: one of `TEMPLATES`.
    """
    texts = Path(__file__).parent
    contents = {
        file: (texts / source.format(template=template)).read_text(encoding="utf-8")
        for file, source in FILES.items()
    }
    folder.mkdir(parents=True)
    for file, text in contents.items():
        text = text.replace("PROJECT_NAME", name).replace("PROJECT_SUBJECT", TEMPLATES[template])
        (folder / file).write_text(text, encoding="utf-8")
