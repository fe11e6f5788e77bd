"""Every operator under `vmap`: the rules compute what a loop over the examples computes.

The rows of the operator tests are the calls.  A call becomes a batch by rolling the elements of its
tensors; then the values, the gradients through `vmap`, the pull-back of a batch of cotangents and
the derivatives along a batch of tangents are compared with the loop.
"""

from __future__ import annotations

import numpy as np
import pytest

import taper
import taper.func
from op_templates import CASES, Call, case_id, samples_of
from taper.func import jvp, vjp, vmap
from taper.utils._pytree import tree_flatten, tree_unflatten

BATCH = 3
ENOUGH = 4  # calls of a row whose derivatives are compared

# Results of another shape for each example, other memory for the tensor itself, or only Python
# numbers; and strides that count from the start of the storage.
WITHOUT_BATCHES = frozenset(
    "nonzero argwhere unique unique_consecutive masked_select Tensor.set_ Tensor.resize_ "
    "resize_as_ as_strided as_strided_ as_strided_copy as_strided_scatter rrelu "
    "nn.functional.rrelu rrelu_ full linspace".split()
)
ROWS = [case for case in CASES if not case.random and case.name not in WITHOUT_BATCHES]


class Batch:
    """A call of a row with a batch in place of some of its tensors."""

    def __init__(self, case, sample, floating_only):
        self.call = Call(taper, case, sample)
        self.leaves, self.spec = tree_flatten((self.call.args, self.call.kwargs))
        kinds = "fc" if floating_only else "fciu"  # the number of True in a mask is a shape
        self.places = [
            nr
            for nr, each in enumerate(self.leaves)
            if isinstance(each, taper.Tensor) and each._array.dtype.kind in kinds
        ]
        self.examples = [
            [
                np.roll(self.leaves[nr]._array.reshape(-1), k).reshape(self.leaves[nr].shape)
                for nr in self.places
            ]
            for k in range(BATCH)
        ]

    def function(self, *tensors):
        leaves = list(self.leaves)
        for nr, each in zip(self.places, tensors, strict=True):
            leaves[nr] = each
        args, kwargs = tree_unflatten(leaves, self.spec)
        return self.call.function(*args, **kwargs)

    def example(self, nr):
        return [taper.from_numpy(each.copy()) for each in self.examples[nr]]

    def whole(self):
        return [taper.from_numpy(np.stack(each)) for each in zip(*self.examples, strict=True)]

    def loop(self):
        """Return the results for the examples one by one; None if there is nothing to compare."""
        if not self.places:
            return None
        try:
            results = [tree_flatten(self.function(*self.example(nr)))[0] for nr in range(BATCH)]
        except Exception:
            return None  # the rolled elements do not fit
        if not results[0] or not all(isinstance(each, taper.Tensor) for each in results[0]):
            return None
        shapes = {tuple(tuple(each.shape) for each in row) for row in results}
        return results if len(shapes) == 1 else None


def joined(rows):
    return [taper.stack(list(each)) for each in zip(*rows, strict=True)]


def check(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        exact = one._array.dtype.kind in "iub"
        tolerance = {"rtol": 0, "atol": 0} if exact else {"rtol": 1e-5, "atol": 1e-7}
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), **tolerance)


@pytest.mark.parametrize("case", ROWS, ids=case_id)
def test_values(case):
    for sample in samples_of(case):
        for floating_only in (True, False):
            batch = Batch(case, sample, floating_only)
            expected = batch.loop()
            if expected is not None:
                check(tree_flatten(vmap(batch.function)(*batch.whole()))[0], joined(expected))


DIFFERENTIABLE = [each for each in ROWS if each.differentiable and not each.name.endswith("_")]


def gradients(outputs, leaves):
    total = 0
    for nr, each in enumerate(outputs):
        if each.is_floating_point() or each.is_complex():
            weights = np.random.default_rng(nr).random(tuple(each.shape))
            total = total + (each * taper.from_numpy(weights)).sum()
    if not isinstance(total, taper.Tensor) or not total.requires_grad:
        return []
    total = total.real if total.is_complex() else total
    return taper.autograd.grad(total, leaves, materialize_grads=True)


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=case_id)
def test_gradients_flow_through(case):
    for sample in samples_of(case)[:ENOUGH]:
        batch = Batch(case, sample, True)
        if batch.loop() is None:
            continue
        try:
            leaves = [each.requires_grad_() for each in batch.whole()]
            rows = [
                tree_flatten(batch.function(*(each[nr] for each in leaves)))[0]
                for nr in range(BATCH)
            ]
        except RuntimeError:
            continue  # not differentiable with respect to all of them
        found = tree_flatten(vmap(batch.function)(*leaves))[0]
        check(gradients(found, leaves), gradients(joined(rows), leaves))


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=case_id)
def test_batches_of_cotangents_and_tangents(case):
    for sample in samples_of(case)[:ENOUGH]:
        batch = Batch(case, sample, True)
        if batch.loop() is None:
            continue
        point = batch.example(0)
        try:
            output, pull = vjp(batch.function, *point)
        except RuntimeError:
            continue
        outputs, spec = tree_flatten(output)
        generator = np.random.default_rng(0)

        def vectors(tensors, generator=generator):
            return [taper.from_numpy(generator.random((BATCH, *each.shape))) for each in tensors]

        if all(each.is_floating_point() for each in outputs):
            cotangents = [
                each.to(like.dtype) for each, like in zip(vectors(outputs), outputs, strict=True)
            ]
            rows = [
                pull(tree_unflatten([each[nr] for each in cotangents], spec)) for nr in range(BATCH)
            ]
            check(vmap(pull)(tree_unflatten(cotangents, spec)), joined(rows))
        if case.forward_ad and all(each.is_floating_point() for each in point):
            tangents = vectors(point)

            def push(*given, batch=batch, point=point):
                return jvp(batch.function, tuple(point), given)[1]

            rows = [tree_flatten(push(*(each[nr] for each in tangents)))[0] for nr in range(BATCH)]
            check(tree_flatten(vmap(push)(*tangents))[0], joined(rows))
