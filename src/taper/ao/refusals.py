"""How the modules of `taper.ao` answer for names that PyTorch has there: refused when used."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from taper.absent.answers import refused_class, refused_function
from taper.compat.aliases import public_name


@functools.cache
def names() -> frozenset[str]:
    """Return the names of PyTorch's quantization."""
    return frozenset((Path(__file__).parent / "names.txt").read_text().split())


def refusing(module: dict[str, Any]) -> Callable[[str], Any]:
    """Make the `__getattr__` of a module, given its `globals()`.

    >>> from taper.ao import quantization
    >>> issubclass(quantization.MinMaxObserver, object)
    True
    """
    own = module["__name__"]

    def answer(name: str) -> Any:
        if name not in names():
            raise AttributeError(f"module {own!r} has no attribute {name!r}")
        make = refused_class if name[0].isupper() else refused_function
        sentence = (
            f"{public_name(own)}.{name} is not provided, as every tensor holds plain numbers: use "
            "float16 or bfloat16 tensors"
        )
        return module.setdefault(name, make(name, own, sentence))

    return answer
