"""Random functions under `vmap`: one draw for all examples, one draw for each, or an error.

"different" draws the numbers of the whole batch at once, as PyTorch does; "same" draws once, and
all examples share the numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper.autograd.interception import Call
from taper.func.batching import batched, is_batched, spread
from taper.func.rules import aligned, joined, refuse_empty_batch
from taper.random import get_rng_state, set_rng_state
from taper.tensor import Tensor

NOT_ALLOWED = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
    "'different' randomness flags on vmap or perform the randomness operation out of vmap"
)
SAME_OF_BATCHED = (
    "Vmap does not currently support same randomness with a batched tensor input. Please file an "
    "issue with functorch"
)
DIFFERENT_IN_PLACE = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear "
    "like same randomness. If this is necessary for your usage, please file an issue with "
    "functorch."
)

# Operators of the table that draw; their tensors are parameters of distributions.
RANDOM_OPERATORS = frozenset(
    "bernoulli_all bernoulli_each binomial_each normal_mean normal_std normal_both poisson_each "
    "multinomial_rows sample_dirichlet_each standard_gamma_each".split()
)


def draw(level: Any, call: Call, run: Callable[[], Any]) -> Any:
    """Run an operator that draws."""
    _check_allowed(level)
    arguments = call.arguments
    involved = any(is_batched(each, level) for each in arguments)
    if level.randomness == "same":
        if involved:
            raise RuntimeError(SAME_OF_BATCHED)
        return run()
    tensors = [each for each in arguments if isinstance(each, Tensor)]
    ndim = max(each._array.ndim for each in tensors)
    given = [
        batched(spread(each, level.size).contiguous(), level)
        if isinstance(each, Tensor) and not involved
        else each
        for each in arguments
    ]
    if call.op.name != "multinomial_rows" or ndim == 1:
        return batched(call.op.call(call.op.function, aligned(level, given, ndim)), level)
    whole = given[0]._whole
    drawn = call.op.call(call.op.function, [whole.flatten(0, 1), *given[1:]])
    return batched(drawn.unflatten(0, whole._array.shape[:2]), level)


def _check_allowed(level: Any) -> None:
    if level.randomness == "error":
        raise RuntimeError(NOT_ALLOWED)


Run = Callable[..., Any]


def sized(level: Any, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Draw a tensor of some size: `rand(2, 3)`, `randint(5, (2,))`, `normal(0.0, 1.0, (2,))`."""
    _check_allowed(level)
    if level.randomness == "same":
        return run(*args, **kwargs)
    if kwargs.get("size") is not None:
        kwargs = {**kwargs, "size": (level.size, *kwargs["size"])}
    elif args and isinstance(args[-1], tuple | list):
        args = (*args[:-1], (level.size, *args[-1]))
    else:
        args = (level.size, *args)
    return batched(run(*args, **kwargs), level)


def normal(level: Any, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Draw `normal`: numbers come with a size; with tensors it is an operator of the table."""
    if any(isinstance(each, Tensor) for each in (*args, *kwargs.values())):
        return None
    return sized(level, run, args, kwargs)


def permutation(level: Any, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Draw `randperm`: one permutation after the other."""
    _check_allowed(level)
    if level.randomness == "same":
        return run(*args, **kwargs)
    return joined(level, [run(*args, **kwargs) for _ in range(level.size)])


def like(level: Any, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Draw `rand_like` and its kin."""
    _check_allowed(level)
    source, *rest = args
    involved = is_batched(source, level)
    if level.randomness == "same":
        if involved:
            source = source._whole.detach().select(0, 0)  # numbers are drawn as it lies in memory
        return run(source, *rest, **kwargs)
    whole = source._whole if involved else spread(source, level.size).contiguous()
    return batched(run(whole, *rest, **kwargs), level)


def filled(level: Any, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Draw `normal_` and its kin, in place."""
    _check_allowed(level)
    target, *rest = args
    involved = is_batched(target, level)
    if level.randomness == "different" and not involved:
        raise RuntimeError(DIFFERENT_IN_PLACE)
    if not involved:
        return run(target, *rest, **kwargs)
    whole = target._whole
    if level.randomness == "different":
        run(whole, *aligned(level, rest, target._array.ndim), **kwargs)
    else:
        whole.copy_(run(whole.new_empty(target._array.shape), *rest, **kwargs))
    return target


def dropped(level: Any, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Draw `dropout` and its kin: (name, input, p, train, inplace)."""
    name, source, p, train, inplace, *rest = args
    involved = is_batched(source, level)
    if not train or p == 0:
        return source
    _check_allowed(level)
    if level.randomness == "same":
        if not involved:
            return run(*args, **kwargs)
        return _same_for_each(level, run, args, kwargs)
    whole = source._whole if involved else spread(source, level.size)
    features = "feature" in name or rest == [True] or kwargs.get("features")
    if not features:
        found = run(name, whole.contiguous(), p, train, False, *rest, **kwargs)
        return whole_copied(source, whole, found) if inplace and involved else batched(found, level)
    if whole.dim() < 3:
        return run(*args, **kwargs)  # raises
    found = run(name, whole.flatten(0, 1), p, train, False, *rest, **kwargs)
    found = found.unflatten(0, whole._array.shape[:2])
    return whole_copied(source, whole, found) if inplace and involved else batched(found, level)


def whole_copied(source: Tensor, whole: Tensor, found: Tensor) -> Tensor:
    """Write a batch in place, and return what the function sees of it."""
    whole.copy_(found)
    return source


def _same_for_each(level: Any, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return each example with the numbers of the first."""
    name, source, p, train, inplace, *rest = args
    if not level.size:
        refuse_empty_batch([source, p])
        return source if inplace else batched(source._whole.clone(), level)
    state = get_rng_state()
    results = []
    for nr in range(level.size):
        set_rng_state(state)
        example = source._whole.select(0, nr)
        # PyTorch's mask is row-major here, however the example lies.
        result = run(name, example.contiguous(), p, train, False, *rest, **kwargs)
        results.append(whole_copied(example, example, result) if inplace else result)
    return source if inplace else joined(level, results)


def rrelu(level: Any, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Draw the slopes of `rrelu`, for which PyTorch neither batches nor draws for each example."""
    raise RuntimeError("vmap: we do not yet support aten::rrelu. Please file an issue")
