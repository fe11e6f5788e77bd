"""Functions that make, read or draw arrays themselves, under `vmap`: they are seen as one call.

Each rule gets the level, the function as the levels around this one see it, and its arguments.  A
rule returns None to let the function run on the batched tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from taper.func import randomness
from taper.func.batching import batched, is_batched, spread
from taper.func.rules import joined
from taper.utils._pytree import tree_flatten, tree_map, tree_unflatten

Run = Callable[..., Any]


def call_batched(
    level: Any, label: str, run: Run, args: tuple[Any, ...], kwargs: Any, involved: bool
) -> Any:
    """Run such a function in `level`; `involved` says whether an argument is batched by it.

    None means that the function may run on the batched tensors.
    """
    rule = RANDOM.get(label)
    if rule is None:
        if not involved:
            return run(*args, **kwargs)
        rule = RULES.get(label, one_by_one)
    return rule(level, run, args, kwargs)


def one_by_one(level: Any, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the function for each example."""
    leaves, spec = tree_flatten((args, kwargs))
    columns = [
        each._whole.unbind(0) if is_batched(each, level) else (each,) * level.size
        for each in leaves
    ]
    results = []
    for row in zip(*columns, strict=True):
        given, named = tree_unflatten(row, spec)
        results.append(run(*given, **named))
    if not results:
        return _of_nothing(level, run, args, kwargs)
    return joined(level, results)


def _of_nothing(level: Any, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    def stand_in(value: Any) -> Any:
        if not is_batched(value, level):
            return value
        return value._whole.new_zeros(value._array.shape)

    given, named = tree_map(stand_in, (args, kwargs))
    result = run(*given, **named)
    return tree_map(lambda each: batched(spread(each, 1)[:0], level), result)


def made_like(level: Any, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make memory of its own for each example: `zeros_like`, `new_zeros` and their kin."""
    source, *rest = args
    if not is_batched(source, level):
        return None
    made = run(source._whole.new_empty_strided(source.shape, source.stride()), *rest, **kwargs)
    return batched(spread(made, level.size).clone(), level)


def detached(level: Any, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Detach the whole batch."""
    return batched(run(args[0]._whole), level)


def repeated(level: Any, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Repeat one example after the other if each has its own numbers: `repeat_interleave`."""
    repeats = kwargs.get("repeats", args[1] if len(args) > 1 else args[0])
    if is_batched(repeats, level):
        return one_by_one(level, run, args, kwargs)
    return None


def batch_norm(level: Any, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Refuse running statistics that all examples share: they cannot follow each of them."""
    source, mean, variance, weight, bias, training, *rest = args
    running = [each for each in (mean, variance) if each is not None]
    if not training or not running:
        return None
    if is_batched(source, level) and not all(is_batched(each, level) for each in running):
        raise RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, "
            "which will be updated in place, were not batched.\nIf you are using a module and do "
            "not need eval mode, please set `track_running_stats` to be False.If you are using a "
            "prebuilt module and do not need eval mode, please see the functorch website for "
            "resources on how to patch your module to work with vmap"
        )
    columns = [
        [each._whole.select(0, nr) if is_batched(each, level) else each for nr in range(level.size)]
        for each in (source, mean, variance, weight, bias)
    ]
    rows = zip(*columns, strict=True)
    return joined(level, [run(*row, training, *rest) for row in rows])


def on_wholes(level: Any, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Run a check that is the same for a stack of examples."""
    run(*(each._whole if is_batched(each, level) else each for each in args), **kwargs)
    return True


def refusing(text: str) -> Any:
    """Return the rule of a function that has no meaning for examples."""

    def rule(level: Any, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NoReturn:
        raise RuntimeError(text)

    return rule


_MADE_LIKE = (
    "zeros_like ones_like empty_like full_like new_zeros new_ones new_empty new_full "
    "new_empty_strided"
)
_FILLS = "normal_ uniform_ random_ bernoulli_ exponential_ geometric_ cauchy_ log_normal_"

RULES: dict[str, Any] = {
    **dict.fromkeys(_MADE_LIKE.split(), made_like),
    "detach": detached,
    "repeat_interleave": repeated,
    "batch_norm": batch_norm,
    "check_info": on_wholes,
    "equal": refusing(
        "Batching rule not implemented for aten::equal. We could not generate a fallback."
    ),
    "allclose": refusing(
        "vmap over torch.allclose isn't supported yet. Please file an issue at "
        "https://github.com/pytorch/pytorch/issues if you need this feature."
    ),
}

# These take part even if no argument is batched.
RANDOM: dict[str, Any] = {
    **dict.fromkeys(_FILLS.split(), randomness.filled),
    **dict.fromkeys(("rand_like", "randn_like", "randint_like"), randomness.like),
    **dict.fromkeys(("rand", "randn", "randint"), randomness.sized),
    **dict.fromkeys(("dropout", "feature_dropout", "alpha_dropout"), randomness.dropped),
    "normal": randomness.normal,
    "randperm": randomness.permutation,
    "rrelu": randomness.rrelu,
}
