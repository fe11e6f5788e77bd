"""The named tuples that operators with several results return, as in `torch.return_types`.

>>> import taper
>>> taper.return_types.max((1, 2)).indices
2
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any

all_return_types: list[type] = []


class _ReturnType(tuple[Any, ...]):
    """A tuple whose items have names; `n_fields` and its kin are those of a C struct sequence."""

    __slots__ = ()

    n_fields = 0
    n_sequence_fields = 0
    n_unnamed_fields = 0
    out_type: Any = None  # the class that a call with out= returns

    def __new__(cls, sequence: Iterable[Any], /) -> _ReturnType:
        if not hasattr(sequence, "__iter__"):
            raise TypeError("constructor requires a sequence")
        items = tuple(sequence)
        if len(items) != cls.n_fields:
            raise TypeError(
                f"{cls.__module__}.{cls.__name__}() takes a {cls.n_fields}-sequence "
                f"({len(items)}-sequence given)"
            )
        return tuple.__new__(cls, items)

    def __repr__(self) -> str:
        names: tuple[str, ...] = getattr(type(self), "__match_args__", ())
        items = ",\n".join(f"{name}={value!r}" for name, value in zip(names, self, strict=True))
        return f"torch.return_types.{type(self).__name__}(\n{items})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self),)


def named_tuple(name: str, *fields: str) -> Any:
    """Return the class of results with these `fields`; `name` is its attribute in this module."""
    members: dict[str, Any] = {
        "__slots__": (),
        "__match_args__": fields,
        "__module__": __name__,
        "n_fields": len(fields),
        "n_sequence_fields": len(fields),
    }
    members.update({field: property(itemgetter(nr)) for nr, field in enumerate(fields)})
    made = type(name, (_ReturnType,), members)
    all_return_types.append(made)
    return made


def _register(name: str, *fields: str) -> None:
    made = globals()[name] = named_tuple(name, *fields)
    made.out_type = globals()[f"{name}_out"] = named_tuple(f"{name}_out", *fields)


for _name in ("cummax", "cummin", "kthvalue", "max", "median", "min", "mode", "nanmedian"):
    _register(_name, "values", "indices")
_register("sort", "values", "indices")
_register("topk", "values", "indices")
_register("aminmax", "min", "max")
_register("frexp", "mantissa", "exponent")

# Made on first use: forty classes would take 1 ms of the import of taper.
_ON_FIRST_USE = {
    "_lu_with_info": "LU pivots info",
    "geqrf": "a tau",
    "histogram": "hist bin_edges",
    "histogramdd": "hist bin_edges",
    "linalg_cholesky_ex": "L info",
    "linalg_eig": "eigenvalues eigenvectors",
    "linalg_eigh": "eigenvalues eigenvectors",
    "linalg_inv_ex": "inverse info",
    "linalg_ldl_factor": "LD pivots",
    "linalg_ldl_factor_ex": "LD pivots info",
    "linalg_lstsq": "solution residuals rank singular_values",
    "linalg_lu": "P L U",
    "linalg_lu_factor": "LU pivots",
    "linalg_lu_factor_ex": "LU pivots info",
    "linalg_qr": "Q R",
    "linalg_slogdet": "sign logabsdet",
    "linalg_solve_ex": "result info",
    "linalg_svd": "U S Vh",
    "lu_unpack": "P L U",
    "qr": "Q R",
    "slogdet": "sign logabsdet",
    "svd": "U S V",
    "triangular_solve": "solution cloned_coefficient",
}


def __getattr__(name: str) -> Any:
    base = name.removesuffix("_out")
    if base not in _ON_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _register(base, *_ON_FIRST_USE[base].split())
    return globals()[name]
