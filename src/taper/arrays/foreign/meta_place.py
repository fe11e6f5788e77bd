"""What answers for `device="meta"`: makes meta arrays, refuses to read them, helps kernels.

Must not know Tensor.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from taper.arrays.foreign import Place, is_foreign, meta_functions, meta_ufuncs, no_kernel
from taper.arrays.foreign.meta import MetaArray, forgotten, fresh, stand_in
from taper.device import device
from taper.sampling import generator as generators


class MetaPlace(Place):
    """Makes and refuses for `device="meta"`."""

    __slots__ = ()

    has_elements = False

    def empty(self, shape: Any, strides: Any, dtype: np.dtype[Any], where: device) -> MetaArray:
        return MetaArray(shape, [each * dtype.itemsize for each in strides], dtype)

    def filled(self, shape: Any, number: Any, dtype: np.dtype[Any], where: device) -> MetaArray:
        return fresh(shape, dtype)

    def from_ndarray(self, array: np.ndarray, where: device) -> MetaArray:
        return MetaArray(array.shape, array.strides, array.dtype)

    def to_ndarray(self, array: Any) -> np.ndarray:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")

    def on_storage(
        self, storage: Any, dtype: np.dtype[Any], offset: int, shape: Any, strides: Any
    ) -> MetaArray:
        steps = [each * dtype.itemsize for each in strides]
        return MetaArray(shape, steps, dtype, storage, offset * dtype.itemsize)

    def refuse_mixture(self, arrays: list[Any]) -> None:
        kinds = [is_foreign(each) for each in arrays if is_foreign(each) or each.ndim]
        if any(kinds) and not all(kinds):
            one, other = ("meta", "cpu") if kinds[0] else ("cpu", "meta")
            raise RuntimeError(f"Tensor on device {other} is not on the expected device {one}!")

    def drawn(self, function: Any, out: Any, *arguments: Any) -> Any:
        return out

    def rescued(self, op: Any, arguments: Sequence[Any], error: Exception) -> Any:
        """Run a kernel that failed, as one that asks for values does, on memory of that form.

        What it computes there is forgotten; what else it may refuse, it refuses again.
        """
        if op.name == "_to_device" or (op.name == "copy" and not is_foreign(arguments[0])):
            raise error
        masked = op.name in ("index", "index_put") and _has_mask(arguments[1])
        if op.name in REFUSED or (op.name == "index" and masked):
            raise NotImplementedError(refusal(op)) from None
        if op.name == "index_put" and masked:  # how many elements are chosen nobody knows
            return arguments[0].copy()
        if op.view:
            return arguments[0].seen(lambda ghost: op.call(op.forward, [ghost, *arguments[1:]]))
        given = [stand_in(each, op.name in NEED_ONES) for each in arguments]
        with unmoved(given):
            return forgotten(op.call(op.forward, given))

    def rescued_gradient(self, shape: Any, dtype: Any, error: Exception) -> MetaArray:
        return fresh(shape, np.float32 if dtype is None else dtype)


@contextlib.contextmanager
def unmoved(arguments: Sequence[Any]) -> Iterator[None]:
    """Leave the generators of random numbers as they were."""
    sources = [each for each in arguments if isinstance(each, generators.Generator)]
    sources.append(generators.default_generator)
    states = [each.get_state() for each in sources]
    try:
        yield
    finally:
        for each, state in zip(sources, states, strict=True):
            each.set_state(state)


def _has_mask(indices: Any) -> bool:
    return any(is_foreign(each) and each.dtype.kind == "b" for each in indices)


# Operators that PyTorch does not have on the meta device, and its names for some of them.
REFUSED = frozenset(
    """
    _dirichlet_grad _histogramdd_bin_edges _histogramdd_from_bin_cts _standard_gamma_grad _unique2
    _histogramdd_from_bin_tensors bincount binomial_each histogram_bin_ct histogram_bins_tensor
    linalg_lstsq masked_select nonzero sample_dirichlet_each unique_consecutive_slices unique_dim
    """.split()
)
_NAMES = {
    "_histogramdd_from_bin_cts": "_histogramdd_bin_edges",
    "binomial_each": "binomial",
    "histogram_bin_ct": "histogram.bin_ct",
    "histogram_bins_tensor": "histogram.bins_tensor",
    "linalg_lstsq": "linalg_lstsq.out",
    "sample_dirichlet_each": "_sample_dirichlet",
    "unique_consecutive_slices": "unique_consecutive",
}
# Kernels that take zeros neither for pivots nor for probabilities.
NEED_ONES = frozenset("linalg_ldl_solve linalg_lu_solve lu_unpack_all multinomial_rows".split())


def refusal(op: Any) -> str:
    """Return PyTorch's words for an operator whose shape depends on the elements."""
    if op.name in ("nonzero", "index"):
        return (
            "The register_meta function for torch.nonzero() raises unimplemented by default, as a "
            "correct data-independent implementation does not exist. This implementation returns a "
            "fake value, assuming all elements of the tensor are non-zero. To enable this "
            "registration, please set "
            "'torch.fx.experimental._config.meta_nonzero_assume_all_nonzero' to True."
        )
    return no_kernel(_NAMES.get(op.name, op.name))


def _apply_ufunc(self: MetaArray, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    return meta_ufuncs.apply(ufunc, method, inputs, options)


def _apply_function(self: MetaArray, function: Any, kinds: Any, args: Any, kwargs: Any) -> Any:
    return meta_functions.apply(function, args, kwargs)


# The rules know the class, which does without them until it is computed with.
MetaArray.__array_ufunc__ = _apply_ufunc
MetaArray.__array_function__ = _apply_function
PLACE = MetaArray.place = MetaPlace()
