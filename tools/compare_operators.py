"""Runs PyTorch's own operator samples on taper and on PyTorch, and says what differs.

    .venv-oracle/bin/python tools/compare_operators.py --count 20 --only linalg

For each operator of PyTorch's table and each dtype: the function, its method, in-place and `out=`
forms, first and second gradients, aliases, the calls PyTorch expects to fail, and dtypes that the
operator refuses.  "ours / theirs" is the order in every line of the report.
"""

from __future__ import annotations

import argparse
import collections
import sys
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch
from both_libraries import (
    Difference,
    NoTwinError,
    at_path,
    is_tensor,
    mirror,
    no_farther,
    outcome_differences,
    rebound,
    tensors_in,
)
from operator_runs import Run, Sample, on_clone, twin_of_method, twin_of_operator
from torch.testing._internal.common_methods_invocations import UnaryUfuncInfo, op_db
from torch.testing._internal.opinfo.core import BinaryUfuncInfo

import taper

DTYPES = (
    torch.float32,
    torch.float64,
    torch.complex64,
    torch.bfloat16,
    torch.int64,
    torch.bool,
)
# Their values are whatever was in memory.
UNDEFINED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty"}
UNDEFINED |= {"new_empty_strided", "resize_", "resize_as_"}
# Their vectors are defined up to a sign or a phase: PyTorch's samples know which functions of them
# are defined.
UP_TO_PHASE = {"linalg.eig", "linalg.eigh", "linalg.svd", "svd", "pca_lowrank", "svd_lowrank"}
# The order of equal elements is undefined, and so are indices and gradients that depend on it.
TIES = {"topk", "kthvalue", "mode", "sort", "argsort", "msort", "median", "nanmedian"}
# Listed in CHANGELOG.md under "Differs from PyTorch": operator, form and kind that may differ.
LISTED = {
    ("", "", "layout of empty"): "NumPy gives views of tensors without elements no strides",
    ("as_strided_scatter", "gradient", "value"): "PyTorch's gradient of `input` is wrong",
    ("as_strided_scatter", "method gradient", "value"): "likewise",
    ("special.bessel", "", "value"): "PyTorch's are off by up to 1e-7",
    ("special.airy_ai", "", "value"): "PyTorch's are off by up to 3e-5",
    ("acosh", "in-place", ""): "PyTorch has no gradient of the in-place form",
    ("asinh", "in-place", ""): "likewise",
    ("atanh", "in-place", ""): "likewise",
    ("fft.ihfft", "out=", ""): "PyTorch leaves `out` unwritten",
    ("narrow_copy", "out= strided", "value"): "PyTorch ignores the strides of `out`",
    ("nn.functional.avg_pool3d", "out= strided", "value"): "likewise",
}
# Both libraries lose digits in these, but not the same ones.
LOSE_DIGITS = ("linalg", "special", "fft", "svd_lowrank", "pca_lowrank", "nn.functional.ctc_loss")
# How many samples of a refused dtype are run: they all refuse alike.
REFUSED_SAMPLES = 3


def listed(key: tuple[str, str, str], name: str, form: str, kind: str) -> bool:
    pairs = zip(key, (name, form, kind), strict=True)
    return all(given.startswith(start) for start, given in pairs)


class Comparison:
    """One operator on both libraries, and the differences found."""

    def __init__(self, op: Any, count: int, seed: int) -> None:
        self.op, self.count, self.seed = op, count, seed
        self.name = f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name
        self.ours = twin_of_operator(op)
        self.found: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
        self.calls = 0
        self.options = {
            "values": op.name not in UNDEFINED,
            "own_scale": isinstance(op, UnaryUfuncInfo | BinaryUfuncInfo),
            "factor": 10.0 if op.name.startswith(LOSE_DIGITS) else 1.0,
        }

    def note(self, form: str, where: str, found: Iterator[Difference]) -> None:
        for kind, text in found:
            if any(listed(key, self.op.name, form, kind) for key in LISTED):
                continue
            line = f"{where}: {text}"
            if line not in self.found.get(("", kind), ()):  # a form repeats what the call has shown
                self.found[form, kind].append(line)

    def run(self) -> None:
        theirs = self.op.op
        for dtype in DTYPES:
            name = str(dtype).removeprefix("torch.")
            if dtype not in self.op.supported_dtypes("cpu"):
                self.refused(name, dtype)
                continue
            grad = dtype in self.op.supported_backward_dtypes("cpu") and self.op.supports_autograd
            for number, sample in enumerate(self.samples(self.count, dtype, grad)):
                where = f"{name} #{number} {shown(sample)}"
                self.compare("", where, theirs, self.ours, sample)
                self.other_forms(where, sample, number)
        if self.op.error_inputs_func is not None:
            for number, each in enumerate(islice(self.op.error_inputs("cpu"), 2 * self.count)):
                sample = each.sample_input
                where = f"error #{number} {shown(sample)}"
                self.compare("", where, theirs, self.ours, sample)

    def samples(self, count: int, dtype: torch.dtype, grad: bool = False) -> list[Any]:
        """Return the first samples of a dtype, drawn before a run sets the seed again."""
        torch.manual_seed(self.seed)
        found = self.op.sample_inputs("cpu", dtype, requires_grad=grad, set_seed=False)
        return list(islice(found, count))

    def refused(self, name: str, dtype: torch.dtype) -> None:
        source = next((each for each in DTYPES if each in self.op.supported_dtypes("cpu")), None)
        if source is None:
            return
        for number, sample in enumerate(self.samples(REFUSED_SAMPLES, source)):

            def cast(value: Any) -> Any:
                return value.to(dtype) if is_tensor(value) and value.dtype == source else value

            other = sample.transform(cast)
            where = f"{name} #{number} {shown(other)}"
            self.compare("", where, self.op.op, self.ours, other)

    def other_forms(self, where: str, sample: Any, number: int) -> None:
        op = self.op
        if op.method_variant is not None and number < 2:
            method = twin_of_method(op.method_variant)
            self.compare("method", where, op.method_variant, method, sample)
        for alias in op.aliases if number < 2 else ():
            ours = at_path(taper, alias.name)
            if ours is not None and alias.op is not None:
                self.compare(alias.name, where, alias.op, ours, sample)
        if op.inplace_variant is not None and is_tensor(sample.input):
            ours = twin_of_method(op.inplace_variant)
            if ours is None:
                self.note("in-place", where, iter([("missing", str(op.inplace_variant))]))
            else:
                form = (on_clone(op.inplace_variant), on_clone(ours))
                self.compare("in-place", where, *form, sample)
        if op.supports_out and number < 6:
            self.with_out(where, sample)

    def with_out(self, where: str, sample: Any) -> None:
        """Run `out=` with a tensor of the right size, of other strides, and an empty one."""
        plain = sample.transform(lambda each: each.detach() if is_tensor(each) else each)
        given = Sample(plain.input, plain.args, plain.kwargs)
        expected = Run(torch, self.op.op, given, None).levels[0].result
        outputs = tensors_in(expected)
        if not outputs or len(outputs) != (1 if is_tensor(expected) else len(expected)):
            return
        makers = {
            "out=": lambda each: torch.zeros_like(each),
            "out= strided": lambda each: torch.zeros(*each.shape, 2, dtype=each.dtype)[..., 1],
            "out= empty": lambda each: torch.zeros(0, dtype=each.dtype),
        }
        for form, make in makers.items():
            out = tuple(make(each) for each in outputs)
            out = out[0] if is_tensor(expected) else out
            self.compare(form, where, self.op.op, self.ours, plain, out=out)

    def compare(
        self, form: str, where: str, theirs: Any, ours: Any, sample: Any, **more: Any
    ) -> None:
        """Run a form of the operator on both, with gradients where the result has them."""
        self.calls += 1
        first = Sample(sample.input, sample.args, {**sample.kwargs, **more})
        process = sample.output_process_fn_grad if self.op.name in UP_TO_PHASE else None
        try:
            twin = Sample(*mirror((first.input, first.args, first.kwargs)))
        except NoTwinError:
            return
        wanted = Run(torch, theirs, first, process)
        got = Run(taper, ours, twin, process and rebound(process))
        kinds = ("value", "dtype", "shape", "raises", "accepts", "error", "type")
        exact = None
        for level, name in enumerate(("", "gradient", "second gradient")):
            found = list(
                outcome_differences(got.levels[level], wanted.levels[level], **self.options)
            )
            if any(kind == "value" for kind, _ in found):
                exact = exact or Run(torch, theirs, first.precise(), process)
                if self.excused(level, got, wanted, exact):
                    found = [each for each in found if each[0] != "value"]
            if self.op.name in TIES:
                found = [each for each in found if each[0] != "value"]
            if level:
                found = [each for each in found if each[0] in kinds]
            self.note(f"{form} {name}".strip(), where, iter(found))
            if any(each[0] in kinds for each in found) or not got.follow(wanted, level):
                break

    def excused(self, level: int, got: Run, wanted: Run, exact: Run) -> bool:
        """Return whether PyTorch's rounding makes the difference: its float64 is nearer to us."""
        try:
            for each in range(level):
                exact.follow(exact, each)
            results = [each.levels[level].result for each in (got, wanted, exact)]
            return no_farther(*results, self.options["factor"])
        except (IndexError, ValueError, TypeError):
            return False


def shown(sample: Any) -> str:
    def one(value: Any) -> str:
        if is_tensor(value):
            return f"{tuple(value.shape)}"
        if isinstance(value, list | tuple):
            return f"[{', '.join(map(one, value))}]"
        return repr(value)[:40]

    named = [f"{key}={one(value)}" for key, value in sample.kwargs.items()]
    return f"({', '.join([one(sample.input), *map(one, sample.args), *named])})"


def report(comparisons: list[Comparison], missing: list[str], every: bool) -> None:
    kinds: collections.Counter[tuple[str, str]] = collections.Counter()
    for each in comparisons:
        kinds.update(set(each.found))
        for (form, kind), texts in each.found.items():
            print(
                f"{each.name} | {form or 'call'} | {kind} | {len(texts)}x | {min(texts, key=len)}"
            )
            for text in texts[1:] if every else ():
                print(f"    {text}")
    print("\noperators  form         kind")
    for (form, kind), number in kinds.most_common():
        print(f"{number:9}  {form or 'call':12} {kind}")
    same = sum(not each.found for each in comparisons)
    print(f"\nnot offered by taper: {len(missing)}: {' '.join(missing)}")
    calls = sum(each.calls for each in comparisons)
    share = 100 * same / max(1, len(comparisons))
    print(
        f"{same} of {len(comparisons)} operators agree in everything ({share:.1f} %), {calls} calls"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="seed of the samples")
    parser.add_argument("--count", type=int, default=20, help="samples for each dtype")
    parser.add_argument(
        "--only", default="", help="operators whose name contains this; = for equal"
    )
    parser.add_argument("--part", default="0/1", help="every n-th operator, as 0/2 and 1/2")
    parser.add_argument("--every", action="store_true", help="print every difference")
    options = parser.parse_args()
    torch.set_warn_always(True)
    taper.set_warn_always(True)
    part, parts = map(int, options.part.split("/"))
    chosen = [each for each in op_db if wanted(options.only, each)][part::parts]
    comparisons, missing, begun = [], [], time.monotonic()
    for number, op in enumerate(chosen):
        comparison = Comparison(op, options.count, options.seed)
        if comparison.ours is None:
            missing.append(comparison.name)
            continue
        print(f"{number}/{len(chosen)} {comparison.name}", file=sys.stderr, flush=True)
        comparison.run()
        comparisons.append(comparison)
    report(comparisons, missing, options.every)
    print(f"{time.monotonic() - begun:.0f} s")
    return int(any(each.found for each in comparisons))


def wanted(only: str, op: Any) -> bool:
    return op.name == only[1:] if only.startswith("=") else only in op.name


if __name__ == "__main__":
    sys.exit(main())
