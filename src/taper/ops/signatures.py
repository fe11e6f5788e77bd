"""Signatures that are written as PyTorch's schemas: "name(Tensor(a!) x, int n=1) -> Tensor"."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

__all__ = ["signature_of_schema"]

_SCHEMA = re.compile(r"\s*([\w.:]+)\s*\((.*)\)\s*->\s*(.*)", re.DOTALL)


def signature_of_schema(schema: str) -> tuple[str, inspect.Signature, tuple[str, ...]]:
    """Return the name, the signature and which arguments are written.

    >>> name, signature, written = signature_of_schema("add(Tensor(a!) x, *, int n=1) -> ()")
    >>> print(name, signature, written)
    add (x: 'Tensor(a!)', *, n: 'int' = 1) ('x',)
    """
    match = _SCHEMA.fullmatch(schema)
    if match is None:
        raise RuntimeError(f"a schema reads 'name(Tensor x) -> Tensor', but this one is {schema!r}")
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters, written = [], []
    for part in _parts(match[2]):
        if part == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        declared, _, default = part.partition("=")
        annotation, name = declared.rsplit(maxsplit=1)
        value = ast.literal_eval(default.strip()) if default else inspect.Parameter.empty
        parameters.append(inspect.Parameter(name, kind, default=value, annotation=annotation))
        if "!" in annotation:
            written.append(name)
    return match[1], inspect.Signature(parameters), tuple(written)


def _parts(text: str) -> list[str]:
    """Cut a list of parameters at the commas that are in no brackets."""
    return [part.strip() for part in re.split(r",(?![^\[(]*[\])])", text) if part.strip()]
