"""Names that programs import and taper does not have: they refuse when they are used."""

from __future__ import annotations

from typing import Any

from taper.absent.answers import refused_class


def refuse(module: dict[str, Any], names: str, instead: str) -> list[str]:
    """Put names into a module, each of which raises when it is called; return their list.

    Args:
        module: the module's `globals()`.
        names: the names, with blanks between.
        instead: what to do instead, as a sentence.

    >>> from taper.distributed.refused import refuse
    >>> module = {"__name__": "taper.distributed.example"}
    >>> refuse(module, "Engine", "use a group")
    ['Engine']
    >>> module["Engine"]()
    Traceback (most recent call last):
    NotImplementedError: torch.distributed.example.Engine: taper does not have it; use a group
    """
    where = module["__name__"].replace("taper.", "torch.", 1)
    for name in names.split():
        sentence = f"{where}.{name}: taper does not have it; {instead}"
        module[name] = refused_class(name, module["__name__"], sentence)
    return names.split()
