"""What `library.opcheck` tests: whether an operator of a user keeps what it declares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from taper.tensor import Tensor
from taper.utils._pytree import tree_leaves, tree_map

__all__ = ["OpCheckError", "run"]

TESTS = (
    "test_schema",
    "test_autograd_registration",
    "test_faketensor",
    "test_aot_dispatch_dynamic",
)
_ALIAS = (
    "The output of this custom operator (1) must not also be an input to this custom operator and "
    "(2) may not alias any inputs to this custom operator or other returns. The most common way to "
    "trigger this error is if we have y = custom_op(x) and y and x are the same Tensor. Please "
    "instead return a clone of the offending output tensor(s) (e.g. return x.clone()) or refactor "
    "the custom operator to not return y."
)


class OpCheckError(Exception):
    """What `opcheck` raises."""


def run(
    op: Any,
    fakes: dict[str, Callable[..., Any]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    test_utils: str | Sequence[str] = TESTS,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Run the tests named; return "SUCCESS" or the error of each."""
    results: dict[str, Any] = {}
    for name in (test_utils,) if isinstance(test_utils, str) else test_utils:
        if name not in TESTS:
            raise ValueError(f"opcheck: {name!r} is no test; there are {', '.join(TESTS)}")
        try:
            if name in ("test_schema", "test_aot_dispatch_dynamic"):
                _check_schema(op, args, kwargs)
            if name in ("test_faketensor", "test_aot_dispatch_dynamic"):
                _check_fake(op, fakes.get(op._qualname), args, kwargs)
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error}") from error
            results[name] = error
    return results


def _copied(tree: Any) -> Any:
    def copied(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        return leaf.detach().clone().requires_grad_(leaf.requires_grad)

    return tree_map(copied, tree)


def _tensors(tree: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


def _check_schema(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Nothing is written that is not declared, and results share no memory with arguments."""
    given = op._signature.bind(*_copied(args), **_copied(kwargs)).arguments
    before = {name: [each._version for each in _tensors(value)] for name, value in given.items()}
    results = _tensors(op(**given))
    for name, value in given.items():
        declared = op._mutates == "unknown" or name in op._mutates
        if not declared and [each._version for each in _tensors(value)] != before[name]:
            raise RuntimeError(f"Argument {name} is not defined as mutable but was mutated")
    taken = {each.untyped_storage().data_ptr() for each in _tensors(given) if each.numel()}
    if any(each.untyped_storage().data_ptr() in taken for each in results if each.numel()):
        raise RuntimeError(f"{op._name}: {_ALIAS}")


def _check_fake(
    op: Any, fake: Callable[..., Any] | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """The form of the results on meta tensors is that of the true ones."""
    if fake is None and op._whole is None:
        raise RuntimeError(
            f"There was no fake impl registered for {op!r}. This is necessary for "
            "torch.compile/export/fx tracing to work. Please use "
            f"`{op._name}.register_fake` to add an fake impl."
        )
    true = _tensors(op(*_copied(args), **_copied(kwargs)))

    def emptied(leaf: Any) -> Any:
        return leaf.detach().to("meta") if isinstance(leaf, Tensor) else leaf

    shown = _tensors(op(*tree_map(emptied, args), **tree_map(emptied, kwargs)))
    forms = [[(each.shape, each.dtype, each.stride()) for each in some] for some in (true, shown)]
    if forms[0] != forms[1]:
        raise AssertionError(f"the results are {forms[0]}, those on meta tensors {forms[1]}")
