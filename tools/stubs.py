"""Writes the stubs: what a type checker and an editor know of `taper`.

The functions and Tensor methods are made by the operator table when the package is imported, so
nobody who only reads the source can see them.  Here they are written down with their types and
documentation: `taper` itself, the methods of Tensor, the modules that only list functions of the
table, and the named tuples that functions return.

    python tools/stubs.py [directory]      # src/taper if none is given
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import MethodType
from typing import Any

from stub_functions import Function, Types, documentation

import taper
from taper import return_types
from taper.opdef import methods as registered
from taper.ops import load_all
from taper.tensor import Tensor

PACKAGE = Path(__file__).parents[1] / "src" / "taper"

HEAD = '''"""{subject}  Written by tools/stubs.py (`make docs`)."""

# Names such as `int`, `float` and `dtype` are functions, dtypes and methods below: types have an
# underscore.

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Self, TypeAlias, overload

{imports}

_Number: TypeAlias = _int | _float | _complex | _np.generic
_Operand: TypeAlias = Tensor | _Number
_Device: TypeAlias = _device | str | _int
_Ints: TypeAlias = _int | Sequence[_int]

'''

# What the text of types may need.
COMMON = """
import numpy as _np
from taper import return_types as _return_types
from taper.device import device as _device
from taper.device import layout as _layout
from taper.device import memory_format as _memory_format
from taper.dtypes import dtype as _dtype
from taper.random import Generator
from taper.size import Size as _Size
from taper.tensor import Tensor
from typing_extensions import TypeIs
"""

HEAD_OF_LIST = '''"""{subject}  Written by tools/stubs.py (`make docs`)."""

{imports}'''

RETURN_TYPES = '''"""The named tuples of results.  Written by tools/stubs.py (`make docs`)."""

from collections.abc import Iterable
from typing import Any, ClassVar, Self

from taper.tensor import Tensor

all_return_types: list[type]

def named_tuple(name: str, *fields: str) -> Any: ...

class _ReturnType:
    n_fields: ClassVar[int]
    n_sequence_fields: ClassVar[int]
    n_unnamed_fields: ClassVar[int]
    out_type: ClassVar[Any]
    def __new__(cls, sequence: Iterable[Any], /) -> Self: ...

'''

# Modules that only list what is defined elsewhere: functions of the table, and names that are
# imported on first use.
LISTS = ("distributions", "fft", "functional", "linalg", "nn.functional", "special", "utils")

OF_EVERY_OBJECT = {"__dir__", "__format__", "__reduce_ex__", "__repr__"}
NEW = "def __new__(cls, *args: Any, device: _Device | None = None) -> Self: ..."

# Fields of named tuples that are not a Tensor.
FIELDS = {("histogramdd", "bin_edges"): "list[Tensor]"}

# Names in the package's namespace that PyTorch does not have, or that are spelled out below.
INTERNAL = {"pickling"}


def tensor_methods(types: Types) -> Iterator[str]:
    """Yield the lines of what the package puts on Tensor after `tensor.py` has made the class."""
    for name in sorted(vars(Tensor)):
        value = vars(Tensor)[name]
        if isinstance(value, property):
            yield from property_lines(types, name, value)
        elif isinstance(value, classmethod | staticmethod | MethodType):
            yield f"{name}: Any" if name != "__new__" else NEW
        elif inspect.isfunction(value) and not is_known(name, value):
            yield from Function(types, name, value, method=True).lines()


def is_known(name: str, method: Any) -> bool:
    """Return whether a checker sees the method elsewhere: in `tensor.py`, or on every object."""
    return method.__module__ == "taper.tensor" or name in OF_EVERY_OBJECT


def property_lines(types: Types, name: str, value: property) -> Iterator[str]:
    getter: Any = value.fget
    if getter.__module__ == "taper.tensor":
        return
    found = types.text(inspect.signature(getter).return_annotation, getter.__globals__)
    if found == "Any" and name in registered:
        found = "Tensor"  # annotated `Any` since it also runs on arrays
    yield "@property"
    yield f"def {name}(self) -> {found}:"
    yield documentation(getter) or "    ..."
    if value.fset is not None:
        yield f"@{name}.setter"
        yield f"def {name}(self, value: {found}) -> None: ..."


def exports() -> Iterator[tuple[str, str]]:
    """Return (module, name) of what `taper/__init__.py` exports beside functions of the table."""
    for module, name, alias in imports_of(taper):
        if alias is None and name not in INTERNAL:
            yield module, name
    for name in sorted(taper._ON_DEMAND):
        yield "taper", name
    for name, module in sorted(taper._FROM_ON_DEMAND.items()):
        yield f"taper.{module}", name


def imports_of(module: Any) -> Iterator[tuple[str, str, str | None]]:
    """Return (module, name, alias) of what a module imports from the package."""
    for node in ast.parse(Path(module.__file__).read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("taper"):
            for each in node.names:
                yield node.module or "", each.name, each.asname


def named_tuples() -> Iterator[str]:
    """Yield the classes of several results."""
    for name in sorted({*vars(return_types), *return_types._ON_FIRST_USE}):
        fields = getattr(getattr(return_types, name), "__match_args__", None)
        if fields is None:
            continue
        kinds = [FIELDS.get((name.removesuffix("_out"), field), "Tensor") for field in fields]
        yield f"class {name}(_ReturnType, tuple[{', '.join(kinds)}]):"
        for field, kind in zip(fields, kinds, strict=True):
            yield f"    @property\n    def {field}(self) -> {kind}: ..."


def functions(types: Types) -> Iterator[str]:
    """Yield the lines of the functions of the table."""
    for name, function in sorted(taper._loaded_functions().items()):
        yield from Function(types, name, function, method=False).lines()


def constants() -> Iterator[str]:
    yield from ("__version__: str", "newaxis: None")
    yield from (f"{name}: _float" for name in ("e", "inf", "nan", "pi"))
    yield from (f"{name}: _dtype" for name in sorted(taper._DTYPES))
    yield from (f"{name}: _tensortype" for name in sorted(taper._TENSOR_TYPES))
    storages = sorted([*taper._STORAGE_TYPES, "Storage"])
    yield from (f"{name}: type[TypedStorage]" for name in storages)


def listed(types: Types, module: Any) -> Iterator[str]:
    """Yield the lines of a module that lists names which are defined elsewhere."""
    inside = [name for name in dir(module) if name[0] != "_" and is_submodule(module, name)]
    types.imports.update(f"from {module.__name__} import {name} as {name}" for name in inside)
    explicit = {alias or name: source for source, name, alias in imports_of(module)}
    for name in getattr(module, "__all__", ()):
        value = getattr(module, name)
        source = getattr(value, "__module__", "")
        of_table = source in ("taper", module.__name__) or source.startswith("taper.ops.")
        if inspect.isfunction(value) and of_table:
            yield from function_or_import(types, name, value)
        elif name not in inside:
            places = [explicit.get(name, source), *(f"{module.__name__}.{each}" for each in inside)]
            home = next(each for each in places if hasattr(sys.modules[each], name))
            types.imports.add(f"from {home} import {name} as {name}")


def function_or_import(types: Types, name: str, value: Any) -> Iterator[str]:
    """The lines of a function, or none and an import if `taper` has the same under that name."""
    apart = Types()
    lines = list(Function(apart, name, value, method=False).lines())
    if lines == of_taper().get(name):
        types.imports.add(f"from taper import {name} as {name}")
    else:
        types.imports |= apart.imports
        yield from lines


@functools.cache
def of_taper() -> dict[str, list[str]]:
    """The lines of each function of `taper` itself."""
    table = taper._loaded_functions().items()
    return {name: list(Function(Types(), name, each, method=False).lines()) for name, each in table}


def is_submodule(package: Any, name: str) -> bool:
    """Return whether the name is a module of the package, perhaps imported only now."""
    value = getattr(package, name)
    return inspect.ismodule(value) and value.__name__ == f"{package.__name__}.{name}"


def render(subject: str, lines: Callable[[Types], Iterator[str]]) -> str:
    """Return the text of a stub."""
    types = Types()
    body = "\n".join(lines(types))
    imports = types.imports | set(COMMON.split("\n")[1:-1] if body else ())
    # In a stub only `import name as name` exports the name.
    kept = [each for each in imports if f"{each} as {each.rpartition(' ')[2]}" not in imports]
    head = HEAD if body else HEAD_OF_LIST
    return head.format(subject=subject, imports="\n".join(sorted(kept))) + body + "\n"


def top_level(types: Types) -> Iterator[str]:
    types.imports.update(f"from {module} import {name} as {name}" for module, name in exports())
    types.imports.add("from taper.ops.creation.legacy import tensortype as _tensortype")
    yield from functions(types)
    yield from constants()


def methods(types: Types) -> Iterator[str]:
    yield "class TensorMethods:"
    yield textwrap.indent("\n".join(tensor_methods(types)), "    ")


def stubs() -> Iterator[tuple[str, str]]:
    """Yield (path in the package, text) of every stub."""
    load_all()
    yield "__init__.pyi", render("The types of taper's public names.", top_level)
    yield "tensor_methods.pyi", render("What operators and autograd attach to Tensor.", methods)
    yield "return_types.pyi", RETURN_TYPES + "\n".join(named_tuples()) + "\n"
    for name in LISTS:
        module = importlib.import_module(f"taper.{name}")
        subject = f"The types of `taper.{name}`."
        path = Path(module.__file__ or "").relative_to(PACKAGE).with_suffix(".pyi")
        yield str(path), render(subject, functools.partial(listed, module=module))


def main(directory: Path) -> None:
    """Write the stubs after all of them are made."""
    for path, text in list(stubs()):
        (directory / path).parent.mkdir(exist_ok=True)
        (directory / path).write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE)
