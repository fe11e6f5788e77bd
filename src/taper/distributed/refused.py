"""Names that programs import and taper does not have: they refuse when they are used."""

from __future__ import annotations

from typing import Any, NoReturn


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
        module[name] = _refused(f"{where}.{name}", name, instead, module["__name__"])
    return names.split()


def _refused(fullname: str, name: str, instead: str, module: str) -> type:
    def refuse_all(*arguments: Any, **named: Any) -> NoReturn:
        raise NotImplementedError(f"{fullname}: taper does not have it; {instead}")

    doc = f"Refused: {instead}."
    return type(name, (), {"__new__": refuse_all, "__doc__": doc, "__module__": module})
