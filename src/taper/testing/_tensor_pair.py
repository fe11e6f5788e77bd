"""Two tensors of a comparison: their attributes, then their elements."""

from __future__ import annotations

import math
from typing import Any

from taper import dtypes
from taper.autograd.grad_mode import no_grad
from taper.device import strided
from taper.ops.elementwise.compare import isclose
from taper.tensor import Tensor
from taper.testing._messages import Path, attribute_mismatch, scalar_mismatch, tensor_mismatch
from taper.testing._tolerances import Options, tolerances

WIDE = (dtypes.uint16, dtypes.uint32, dtypes.uint64)


class TensorLikePair:
    """Two tensors with the tolerances of their dtypes."""

    def __init__(self, path: Path, actual: Tensor, expected: Tensor, options: Options) -> None:
        self.path, self.options = path, options
        self.actual, self.expected = actual, expected
        self.rtol, self.atol = tolerances(options, (actual.dtype, expected.dtype), path)

    def problem(self) -> str | None:
        """Return what is wrong, or None.  There is one device: nothing to check."""
        actual, expected, options = self.actual, self.expected, self.options
        if actual.shape != expected.shape:
            return attribute_mismatch("shape", actual.shape, expected.shape)
        if actual.layout is not strided or expected.layout is not strided:
            return self._sparse_problem(actual, expected)
        if options.check_stride and actual.stride() != expected.stride():
            return attribute_mismatch("stride()", actual.stride(), expected.stride())
        if options.check_dtype and actual.dtype is not expected.dtype:
            return attribute_mismatch("dtype", actual.dtype, expected.dtype)
        with no_grad():
            return self._difference(*_common_dtype(actual, expected))

    def _sparse_problem(self, actual: Any, expected: Any) -> str | None:
        """Compare sparse tensors by their indices and elements; with a dense one as dense ones."""
        options = self.options
        if actual.layout is not expected.layout:
            if options.check_layout:
                return attribute_mismatch("layout", actual.layout, expected.layout)
            return self._between(actual.to_dense(), expected.to_dense())
        if options.check_dtype and actual.dtype is not expected.dtype:
            return attribute_mismatch("dtype", actual.dtype, expected.dtype)
        kind = str(actual.layout).rpartition("_")[2].upper()
        if actual._nnz() != expected._nnz():
            return (
                f"The number of specified values in sparse {kind} tensors does not match: "
                f"{actual._nnz()} != {expected._nnz()}"
            )
        with no_grad():
            parts = zip(*[_sparse_parts(each.detach()) for each in (actual, expected)], strict=True)
            for (name, one), (_, two) in parts:
                found = self._difference(*_common_dtype(one, two))
                if found is not None:
                    return found.replace("Tensor-likes", f"Sparse {kind} {name}")
        return None

    def _between(self, actual: Tensor, expected: Tensor) -> str | None:
        pair = TensorLikePair(self.path, actual, expected, self.options)
        return pair.problem()

    def _difference(self, of_actual: Any, of_expected: Any) -> str | None:
        actual, expected = _in_int64(of_actual), _in_int64(of_expected)
        matches = isclose(
            actual, expected, rtol=self.rtol, atol=self.atol, equal_nan=self.options.equal_nan
        )
        if matches.all():
            return None
        if not actual.shape:
            return scalar_mismatch(of_actual.item(), of_expected.item(), self.rtol, self.atol)
        absolute = (actual - expected).abs()
        relative = absolute / expected.abs()
        return tensor_mismatch(
            int((~matches).sum()),
            math.prod(actual.shape),
            _greatest(absolute.masked_fill(matches, 0)),
            _greatest(relative.masked_fill(matches, 0)),
            self.rtol,
            self.atol,
        )

    def __repr__(self) -> str:
        return self.options.shown(
            self,
            "actual expected rtol atol",
            "equal_nan check_device check_dtype check_layout check_stride",
            self.path,
        )


def _sparse_parts(x: Any) -> list[tuple[str, Tensor]]:
    """Return the indices and the elements of a sparse tensor."""
    if x.is_sparse:
        return [("indices", x._indices()), ("values", x._values())]
    names = ("crow_indices", "col_indices")
    if str(x.layout).endswith("c"):
        names = ("ccol_indices", "row_indices")
    return [*[(name, getattr(x, name)()) for name in names], ("values", x.values())]


def _common_dtype(actual: Tensor, expected: Tensor) -> tuple[Any, Any]:
    """Return both in one dtype; int64 stands in for wide unsigned ones in promotion."""
    if actual.dtype is expected.dtype:
        return actual.detach(), expected.detach()
    kinds = (dtypes.int64 if each.dtype in WIDE else each.dtype for each in (actual, expected))
    common = dtypes.promote_types(*kinds)
    return actual.detach().to(common), expected.detach().to(common)


def _in_int64(values: Any) -> Any:
    """Return whole numbers in the dtype in which their differences are taken."""
    return values if values.is_floating_point() or values.is_complex() else values.to(dtypes.int64)


def _greatest(values: Any) -> tuple[Any, tuple[int, ...]]:
    """Return the greatest element, a NaN before all, and the index of the first such."""
    found, position = values.flatten().max(0)
    place, index = int(position), []
    for size in reversed(values.shape):
        place, rest = divmod(place, size)
        index.append(rest)
    return found.item(), tuple(reversed(index))
