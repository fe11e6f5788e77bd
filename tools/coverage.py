"""Writes `docs/coverage.md`: which public names of PyTorch taper has, and which it lacks.

Reads `tools/api_names.txt`, which `tools/oracle_names.py` took from PyTorch; PyTorch itself is not
needed.  taper has a name if it can be read and is callable where PyTorch's is.

    python tools/coverage.py > docs/coverage.md
"""

from __future__ import annotations

import importlib
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

NAMES = Path(__file__).with_name("api_names.txt")

# What taper lacks on purpose: the subject, and the names that belong to it, as patterns of the name
# with its area.  The first that fits counts.
REFUSED = {
    "sparse: copies of indices, old names of products": r"""
        .*sparse.*  .*\.(smm|dsmm|hsmm|hspmm|saddmm|spmm|sspaddmm|coalesce|dense_dim|to_dense)
        .*\.((ccol_|col_|crow_|row_)?indices|values)(_copy)?
        """,
    "quantized: every tensor holds plain numbers": r"""
        .*quant.*  .*qparams.*  .*fbgemm.*  .*\.q_.*  .*\.qu?int.*  .*\.QU?Int.*  .*\.qscheme
        .*\.per_(channel|tensor)_.*  .*\.int_repr
        """,
    "small numbers: integers below 8 bits, floats below 16, complex numbers below 64": r"""
        .*\.float[48]_.*  .*\.u?int[1-7]  .*\.bits?(\d.*)?  .*\.complex32  .*\.chalf
        .*\.scaled(_grouped)?_mm  .*\.(Scaling|Swizzle)Type
        """,
    "nested: every tensor is rectangular": r".*\.to_padded_tensor",
    "other devices and their libraries: there is the CPU": r"""
        .*\.(cudnn|miopen|mkldnn)_.*  .*\.(ipu|xpu|mtia|to_mkldnn|is_vulkan_available)  .*stream.*
        torch\.(Stream|Event|AcceleratorError|OutOfMemoryError)  .*cudagraph.*  .*nvprof.*
        .*autocast_(gpu|ipu|xla)_.*
        torch\.batch_norm_(backward_(elemt|reduce)|elemt|gather_.*|stats|update_stats)
        """,
    "symbolic shapes: programs run as they are written": r"""
        torch\.(sym_.*|Sym.*)
        """,
    "TorchScript and PyTorch's C++ parts: programs are Python": r"""
        torch\.(\w*Type|Script.*|LiteScriptModule|ConcreteModule.*|StaticModule|CompilationUnit)
        torch\.(Graph|GraphExecutorState|Block|Node|Value|Use|Code|CallStack|AliasDb|Argument)
        torch\.((Complete)?ArgumentSpec|ErrorReport|ExecutionPlan|FunctionSchema|Gradient|Tag)
        torch\.(IODescriptor|JITException|TracingState|FileCheck|OperatorInfo|Capsule|FatalError)
        torch\.(BufferDict|ModuleDict|ParameterDict|DeepCopyMemoTable|PyTorchFile.*|Future)
        torch\.((Des|S)erializationStorageContext|.*Benchmark.*|\w*Logger(Base)?|fork|wait)
        torch\.(AggregationType|AVG|SUM|DispatchKey(Set)?|ExcludeDispatchKeyGuard|Type)
        torch\.(import_ir_.*|parse_(ir|schema)|.*type_comment|unify_type_list|classproperty)
        torch\.(USE_.*|PRIVATE_OPS|compiled_with_cxx11_abi|get_file_path|init_num_threads)
        torch\.(prepare_multiprocessing_environment|thread_safe_generator)
        """,
    "data pipes: PyTorch has moved them to a package of their own": r"""
        torch\.utils\.data\.(.*[dD]ata[pP]ipe.*|DataChunk|non_deterministic)
        torch\.utils\.data\.(argument|runtime)_validation.*
        """,
    "removed: PyTorch keeps the name only to say so": r"""
        .*\.(eig|symeig|solve|lstsq|matrix_rank|reinforce)
        """,
}

HEAD = """# Coverage of PyTorch's names

Written by `make docs` (`tools/coverage.py`). The public names of PyTorch 2.13, and whether taper
has them: a name is there if it can be read and is callable where PyTorch's is; that it also does
the same is what the parity suite shows. Left out on purpose are whole subjects, named below; the
rest of what is missing is not built yet. A number is the rank: how much programs need a name,
within its area; 1 is the most needed.
"""


class Name(NamedTuple):
    """A public name of PyTorch."""

    area: str
    name: str
    kind: str
    rank: int | None


def known_names() -> dict[str, list[Name]]:
    """Return the names of each area, in the order of the file."""
    found: dict[str, list[Name]] = {}
    area = ""
    for line in NAMES.read_text().splitlines():
        if line.startswith("["):
            area = line.strip("[]")
            found[area] = []
        elif line and not line.startswith("#"):
            name, kind, *rank = line.split()
            found[area].append(Name(area, name, kind, int(rank[0]) if rank else None))
    return found


def counterpart(area: str) -> Any:
    """Return taper's module for one of PyTorch's, or its class Tensor; None if there is none."""
    path = area.replace("torch", "taper", 1)
    if path == "taper.Tensor":
        return importlib.import_module("taper").Tensor
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{path}.".startswith(f"{error.name}."):
            raise  # the module exists, but does not find what it imports
        return None


def is_there(owner: Any, name: Name) -> bool:
    """Return whether taper has the name, and as the same sort of thing."""
    try:
        value = getattr(owner, name.name)
    except AttributeError:
        return False
    return callable(value) == (name.kind in ("class", "function"))


def missing() -> dict[str, list[Name]]:
    """Return for each area what taper lacks, ranked names first."""
    found = {}
    for area, names in known_names().items():
        owner = counterpart(area)
        lacking = [each for each in names if not is_there(owner, each)]
        found[area] = sorted(lacking, key=lambda each: (each.rank or 10**6, each.name))
    return found


def reason(name: Name) -> str | None:
    """Return the subject that taper leaves out and that the name belongs to."""
    full = f"{name.area}.{name.name}"
    for subject, patterns in REFUSED.items():
        if any(re.fullmatch(pattern, full) for pattern in patterns.split()):
            return subject
    return None


def summary(lacking: dict[str, list[Name]]) -> Iterator[str]:
    """Yield the table of numbers, one row for each area."""
    yield "| area | names | present | missing | of these on purpose |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    total = [0, 0, 0, 0]
    for area, names in known_names().items():
        absent = len(lacking[area])
        refused = sum(reason(each) is not None for each in lacking[area])
        row = [len(names), len(names) - absent, absent, refused]
        total = [before + more for before, more in zip(total, row, strict=True)]
        yield f"| `{area}` | {' | '.join(map(str, row))} |"
    yield f"| all | {' | '.join(map(str, total))} |"


def paragraph(title: str, names: list[Name]) -> Iterator[str]:
    """Yield a list entry with names and their ranks."""
    texts = [f"`{each.name}`" + (f" ({each.rank})" if each.rank else "") for each in names]
    yield textwrap.fill(
        f"- {title}: {', '.join(texts)}", 100, subsequent_indent="  ", break_on_hyphens=False
    )


def section(area: str, names: list[Name]) -> Iterator[str]:
    """Yield what an area lacks, the unexplained first."""
    groups: dict[str | None, list[Name]] = {None: []}
    groups.update({subject: [] for subject in REFUSED})
    for each in names:
        groups[reason(each)].append(each)
    yield f"\n## {area}\n"
    for subject, members in groups.items():
        if members:
            yield from paragraph("not built" if subject is None else subject, members)


def render() -> str:
    """Return the page."""
    lacking = missing()
    lines = [HEAD, *summary(lacking)]
    for area, names in lacking.items():
        if names:
            lines += section(area, names)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(render(), end="")
