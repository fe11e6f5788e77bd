"""`grad`, `grad_and_value`, `vjp`, `jvp`: derivatives of functions of trees of tensors.

They compose, with each other and with `vmap`, to any depth.  A result can be differentiated from
outside if an argument, or a tensor that the function has captured, requires a gradient.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ParamSpec

import numpy as np

from taper.autograd.backward import GradientEdge
from taper.autograd.backward import grad as autograd_grad
from taper.autograd.forward_ad import make_dual, unpack_dual
from taper.autograd.state import DUAL, INFERENCE, NO_GRAD, local
from taper.autograd.views import alias
from taper.func.batching import (
    BatchedTensor,
    bare,
    innermost,
    levels_of,
    lifted,
    lowered,
    rewrap,
)
from taper.func.levels import (
    GradLevel,
    JvpLevel,
    depends_on_outside,
    made_by_differentiation,
    open_vmaps,
    released,
)
from taper.ops.shape.ones import alias as view_of_all
from taper.random import get_rng_state, set_rng_state
from taper.tensor import Tensor, wrap
from taper.utils._pytree import (
    tree_flatten,
    tree_map,
    tree_unflatten,
    treespec_pprint,
)

Argnums = int | tuple[int, ...]
_P = ParamSpec("_P")


# --- arguments -------------------------------------------------------------------------------


def _checked_argnum(argnum: Any, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def chosen_positions(argnums: Any, count: int) -> tuple[int, ...]:
    """Return the positions that `argnums` names, counted from the front and checked."""
    if isinstance(argnums, int):
        return (_checked_argnum(argnums, count),)
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    positions = tuple(_checked_argnum(each, count) for each in argnums)
    if not positions:
        raise RuntimeError("argnums must be non-empty")
    if len(set(positions)) < len(positions):
        raise RuntimeError(f"argnums elements must be unique, got {positions}")
    return positions


def arranged(argnums: Argnums, found: Sequence[Any]) -> Any:
    """Return what was found for the chosen arguments: a tuple if `argnums` is, else one."""
    return found[0] if isinstance(argnums, int) else tuple(found)


def _enter_all(level: GradLevel, args: tuple[Any, ...], positions: tuple[int, ...]) -> list[Any]:
    return [
        tree_map(lambda each, wanted=nr in positions: level.enter(each, wanted), arg)
        for nr, arg in enumerate(args)
    ]


def _by_argument(
    given: Sequence[Any], positions: tuple[int, ...], found: Sequence[Any]
) -> list[Any]:
    """Return what was found for the leaves of the chosen arguments, in the order of entering."""
    order = sorted(positions)
    spec = tree_flatten([given[nr] for nr in order])[1]
    trees = dict(zip(order, tree_unflatten(found, spec), strict=True))
    return [trees[nr] for nr in positions]


def _split_aux(output: Any, function: str) -> tuple[Any, Any]:
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(
            f"{function}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    return output


# --- grad ------------------------------------------------------------------------------------


def grad(func: Callable[_P, Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[_P, Any]:
    """Return the function that computes the gradient of `func`, which returns a scalar.

    Args:
        func: a function of trees of tensors that returns a tensor of one element.
        argnums: the position of the argument to differentiate by, or a tuple of positions.
        has_aux: `func` returns (value, aux); the result is then (gradient, aux).

    Returns: a function of the same arguments; its result is the gradient with the structure of the
    chosen argument, or a tuple of gradients if `argnums` is a tuple.

    >>> import taper
    >>> taper.func.grad(taper.sin)(taper.tensor(0.0))
    tensor(1.)
    >>> taper.func.grad(lambda x, y: x * y ** 2, argnums=(0, 1))(taper.tensor(2.), taper.tensor(3.))
    (tensor(9.), tensor(12.))
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return wrapper


def grad_and_value(
    func: Callable[_P, Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[_P, tuple[Any, Any]]:
    """Return the function that computes both the gradient and the value of `func`.

    Args:
        func: a function of trees of tensors that returns a tensor of one element.
        argnums: the position of the argument to differentiate by, or a tuple of positions.
        has_aux: `func` returns (value, aux); the result is then (gradient, (value, aux)).

    Returns: a function of the same arguments that returns (gradient, value).

    >>> import taper
    >>> taper.func.grad_and_value(lambda x: (x * x).sum())(taper.tensor([1.0, 2.0]))
    (tensor([2., 4.]), tensor(5.))
    """

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        def run(level: GradLevel) -> tuple[list[Any], Any]:
            positions = chosen_positions(argnums, len(args))
            given = _enter_all(level, args, positions)
            named = tree_map(lambda each: level.enter(each, False), kwargs)
            output, aux = func(*given, **named), None
            if has_aux:
                output, aux = _split_aux(output, "grad_and_value(f)(*args)")
            _check_scalar(output)
            return [output], (given, positions, aux)

        level, (output,), (given, positions, aux) = recorded(run, (args, kwargs))
        found = pull_back(level, [output], [_one(output)])
        gradients = arranged(argnums, _by_argument(given, positions, found))
        value = level.leave(output)
        if has_aux:
            return gradients, (value, tree_map(level.leave, aux))
        return gradients, value

    return wrapper


def wraps(func: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Do the work of `functools.wraps`, even for callables without a name."""
    return functools.wraps(func) if hasattr(func, "__name__") else functools.wraps(func, ())


def _check_scalar(output: Any) -> None:
    if not isinstance(output, Tensor):
        raise RuntimeError(
            f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}"
        )
    if output.dim() != 0:
        raise RuntimeError(
            "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor "
            f"with {output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )


def _one(output: Tensor) -> Tensor:
    if output.is_complex() and innermost(output).requires_grad:
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {output.dtype}"
        )
    return wrap(np.ones((), output._array.dtype))


# --- running the graph of a level ------------------------------------------------------------


def recorded(
    run: Callable[[GradLevel], tuple[list[Any], Any]], arguments: Any
) -> tuple[GradLevel, list[Any], Any]:
    """Run a function in a level of reverse mode; return the level, the outputs and the rest.

    A differentiated tensor gets a place in each batch that some argument has.  If an output turns
    out to have another batch, from a tensor that the function has captured, the function runs again
    with it.
    """
    known = {level for each in _tensors_in(arguments) for level in levels_of(each)}
    while True:
        state = get_rng_state() if open_vmaps() else None
        level = GradLevel([each for each in open_vmaps() if each in known])
        with level:
            outputs, rest = run(level)
        found = {
            each
            for output in _tensors_in(outputs)
            if innermost(output).requires_grad
            for each in levels_of(output)
        }
        if found <= set(level.vmaps):
            return level, outputs, rest
        known |= found
        if state is not None:
            set_rng_state(state)


def _tensors_in(tree: Any) -> list[Tensor]:
    return [each for each in tree_flatten(tree)[0] if isinstance(each, Tensor)]


def pull_back(
    level: GradLevel, outputs: Sequence[Any], cotangents: Sequence[Any], retain: bool = True
) -> list[Tensor]:
    """Return the gradients of what has entered a level, zeros where there are none.

    The graph of a level is one of whole batches, those of `level.vmaps`.  A cotangent may have
    batches of its own; the formulas then run on batched gradients.
    """
    roots = [bare(each, level.vmaps) for each in outputs]
    given = [lifted(each, level.vmaps) for each in cotangents]
    used = [nr for nr, each in enumerate(roots) if each.requires_grad]
    found: Sequence[Any] = [None] * len(level.gateways)
    if used and level.gateways:
        grads = [given[nr] for nr in used]
        chosen = [roots[nr] for nr in used]
        with _outside_inference():
            found = autograd_grad(
                chosen,
                [GradientEdge(each, 0) for each in level.gateways],
                grads,
                retain_graph=retain,
                create_graph=_must_record(chosen, grads),
                allow_unused=True,
            )
    results = []
    for gateway, each in zip(level.gateways, found, strict=True):
        if each is None:
            each = wrap(np.zeros(gateway._shape, gateway._dtype))
        results.append(level.leave(lowered(each, level.vmaps)))
    return results


@contextlib.contextmanager
def _outside_inference() -> Iterator[None]:
    """A block whose results are ordinary tensors, since in PyTorch a level is open around it."""
    state = local.state
    mode = state.mode
    state.mode &= ~INFERENCE
    try:
        yield
    finally:
        state.mode = mode


def _must_record(outputs: Sequence[Tensor], grads: Sequence[Tensor]) -> bool:
    """Return whether the pass must run on Tensors: it is batched or may be differentiated."""
    if local.state.mode & DUAL or any(isinstance(each, BatchedTensor) for each in grads):
        return True
    if local.state.mode & NO_GRAD:
        return False
    return any(each.requires_grad for each in grads) or any(map(depends_on_outside, outputs))


# --- vjp -------------------------------------------------------------------------------------


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return the value of `func`, and a function that pulls cotangents back to its arguments.

    Args:
        func: a function of trees of tensors.
        primals: the arguments of `func`, all of which are differentiated by.
        has_aux: `func` returns (value, aux), and the result gets `aux` as third element.

    Returns: the value, and a function that takes cotangents of the value's structure and returns a
    tuple with the product of cotangents and Jacobian for each of `primals`.

    >>> import taper
    >>> value, pull = taper.func.vjp(lambda x: x ** 2, taper.tensor([1.0, 2.0]))
    >>> pull(taper.tensor([1.0, 10.0]))
    (tensor([ 2., 40.]),)
    """
    return vjp_of(func, primals, None, has_aux)


def vjp_of(
    func: Callable[..., Any], primals: tuple[Any, ...], argnums: Any = None, has_aux: bool = False
) -> Any:
    """Do the work of `vjp` by some of the arguments; None means all, as one tuple."""

    def run(level: GradLevel) -> tuple[list[Any], Any]:
        everything = tuple(range(len(primals)))
        positions = everything if argnums is None else chosen_positions(argnums, len(primals))
        given = _enter_all(level, primals, positions)
        output, aux = func(*given), None
        if has_aux:
            output, aux = _split_aux(output, "vjp(f, *primals)")
        outputs, spec = tree_flatten(output)
        _check_outputs(outputs, "vjp(f, *primals)")
        return outputs, (given, positions, spec, aux)

    level, outputs, (given, positions, spec, aux) = recorded(run, primals)
    roots = [bare(each, level.vmaps) for each in outputs]

    def wrapper(
        cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None
    ) -> Any:
        leaves, found_spec = tree_flatten(cotangents)
        if found_spec != spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {treespec_pprint(found_spec)}, primal "
                f"output: {treespec_pprint(spec)}"
            )
        level.outer_mode = local.state.mode
        for each in leaves:
            if not (each is None or isinstance(each, Tensor)):
                raise TypeError(
                    f"gradients can be either Tensors or None, but got {type(each).__name__}"
                )
        reached = [rewrap(each, level.vmaps) for each in roots]
        found = pull_back(level, reached, leaves, retain_graph)
        trees = _by_argument(given, positions, found)
        return tuple(trees) if argnums is None else arranged(argnums, trees)

    value = tree_unflatten([level.leave(each) for each in outputs], spec)
    if has_aux:
        return value, wrapper, tree_map(level.leave, aux)
    return value, wrapper


def _check_outputs(outputs: list[Any], function: str) -> None:
    if not outputs or all(each is None for each in outputs):
        raise RuntimeError(
            f"{function}: Expected f to be a function that has non-empty output (got output = "
            f"{outputs})"
        )
    for each in outputs:
        if not isinstance(each, Tensor):
            raise RuntimeError(
                f"{function}: expected f(*primals) to return only tensors, got unsupported "
                f"type {type(each)}"
            )


# --- jvp -------------------------------------------------------------------------------------


def jvp(
    func: Callable[..., Any],
    primals: Any,
    tangents: Any,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> Any:
    """Return the value of `func(*primals)` and its derivative along `tangents`, by forward mode.

    Inside another `jvp`, which already uses forward mode, two backward passes compute it.

    Args:
        func: a function of trees of tensors.
        primals: a tuple with the arguments of `func`.
        tangents: the direction, of the structure of `primals`.
        strict: raise if an output does not depend on the primals, instead of giving zeros.
        has_aux: `func` returns (value, aux), and the result gets `aux` as third element.

    Returns: the value, and its derivative, of the same structure.

    >>> import taper
    >>> x = taper.tensor([1.0, 2.0])
    >>> taper.func.jvp(lambda x: x ** 2, (x,), (taper.ones(2),))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    flat_primals, flat_tangents, spec = _checked_pairs(primals, tangents)
    by_passes = local.state.dual_level >= 0
    compute = _jvp_by_passes if by_passes else _jvp_by_duals
    found = compute(func, flat_primals, flat_tangents, spec, has_aux)
    values, slopes, out_spec, aux = found
    for nr, (value, slope) in enumerate(zip(values, slopes, strict=True)):
        if slope is None:
            if strict:
                raise RuntimeError(
                    "jvp(f, primals, tangents, strict=True): The output of f is independent of the "
                    "inputs. This is not allowed with strict=True."
                )
            slopes[nr] = value.new_zeros(value.shape)
    result = tree_unflatten(values, out_spec), tree_unflatten(slopes, out_spec)
    return (*result, aux) if has_aux else result


def _checked_pairs(primals: Any, tangents: Any) -> tuple[list[Any], list[Any], Any]:
    name = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{name}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    (flat_primals, spec), (flat_tangents, other) = tree_flatten(primals), tree_flatten(tangents)
    if spec != other:
        raise RuntimeError(
            f"{name}: Expected primals and tangents to have the same python structure. For "
            "example, if primals is a tuple of 3 tensors, tangents also must be. Got primals with "
            f"structure {spec} and tangents with structure {other}"
        )
    for what, leaves in (("primals", flat_primals), ("tangents", flat_tangents)):
        if not leaves:
            raise RuntimeError(f"{name}: Expected {what} to contain at least one Tensor.")
        for each in leaves:
            if not isinstance(each, Tensor):
                raise RuntimeError(
                    f"{name}: Expected {what} to only contain Tensors, got {type(each)}"
                )
    return flat_primals, flat_tangents, spec


def _jvp_by_duals(
    func: Any, primals: list[Tensor], tangents: list[Tensor], spec: Any, has_aux: bool
) -> tuple[list[Any], list[Any], Any, Any]:
    """Compute `jvp` by duals; a tensor shared by all examples stays so, with a tangent for each."""
    level = JvpLevel()
    with level:
        batches = {each for slope in tangents for each in levels_of(slope)}
        vmaps = [each for each in open_vmaps() if each in batches]
        duals = []
        for primal, slope in zip(primals, tangents, strict=True):
            own = levels_of(primal)
            every = sorted({*own, *vmaps}, key=lambda each: each.number)
            if len(levels_of(slope)) < len(every):
                slope = rewrap(bare(slope, every).contiguous(), every)
            with level.hidden():
                dual = make_dual(innermost(primal), lifted(slope, own))
            inside = rewrap(dual, own)
            inside.__dict__["_made_in"] = level.number
            duals.append(inside)
        output = func(*tree_unflatten(duals, spec))
        aux = None
        if has_aux:
            output, aux = _split_aux(output, "jvp(f, primals, tangents)")
        outputs, out_spec = tree_flatten(output)
        _check_outputs(outputs, "jvp(f, primals, tangents)")
        slopes: list[Any] = []
        for each in outputs:
            found = unpack_dual(innermost(each)).tangent
            slopes.append(None if found is None else lowered(found, levels_of(each)))
    mode = level.outer_mode
    # An output that carried a tangent comes back as a view, as the primal of a dual does.
    views = [
        each if slope is None else view_of_all(each)
        for each, slope in zip(outputs, slopes, strict=True)
    ]
    values = [released(each, mode) for each in views]
    slopes = [None if each is None else released(each, mode) for each in slopes]
    return values, slopes, out_spec, tree_map(level.leave, aux) if has_aux else None


def _jvp_by_passes(
    func: Any, primals: list[Tensor], tangents: list[Tensor], spec: Any, has_aux: bool
) -> tuple[list[Any], list[Any], Any, Any]:
    """Compute J v as the derivative by u of the pull-back u -> J* u, along v."""
    for what, group in (("primal", primals), ("tangent", tangents)):
        for each in group:
            if not (each.is_floating_point() or each.is_complex()):
                raise ValueError(
                    f"Expected {what} to be floating point or complex, but got: {each.dtype}"
                )

    def run(level: GradLevel) -> tuple[list[Any], Any]:
        given = [level.enter(each, True) for each in primals]
        output, aux = func(*tree_unflatten(given, spec)), None
        if has_aux:
            output, aux = _split_aux(output, "jvp(f, primals, tangents)")
        outputs, out_spec = tree_flatten(output)
        _check_outputs(outputs, "jvp(f, primals, tangents)")
        return outputs, (out_spec, aux)

    dummy = GradLevel()
    with dummy:
        level, outputs, (out_spec, aux) = recorded(run, primals)
        roots = [bare(each, level.vmaps) for each in outputs]
        directions = [lifted(each, level.vmaps) for each in tangents]
        pushed = _pushed(level, dummy, roots, directions)
    level.outer_mode = dummy.outer_mode
    values = [level.leave(each) for each in outputs]
    slopes = [None if each is None else level.leave(lowered(each, level.vmaps)) for each in pushed]
    return values, slopes, out_spec, tree_map(level.leave, aux) if has_aux else None


def _pushed(
    level: GradLevel, dummy: GradLevel, roots: list[Tensor], directions: list[Tensor]
) -> list[Any]:
    """Return the derivatives of the roots along the directions, None where there is none."""
    slopes: list[Any] = [None] * len(roots)
    used = [nr for nr, each in enumerate(roots) if each.requires_grad]
    if not used:
        return slopes
    pulled = autograd_grad(
        [roots[nr] for nr in used],
        [GradientEdge(each, 0) for each in level.gateways],
        [dummy.enter_zeros(roots[nr]) for nr in used],
        create_graph=True,
        allow_unused=True,
    )
    pairs = [
        (each, direction)
        for each, direction in zip(pulled, directions, strict=True)
        if each is not None and each.requires_grad
    ]
    if not pairs:
        return slopes
    found = autograd_grad(
        [each for each, _ in pairs],
        [GradientEdge(each, 0) for each in dummy.gateways],
        [direction for _, direction in pairs],
        create_graph=True,
        allow_unused=True,
    )
    for nr, each in zip(used, found, strict=True):
        slopes[nr] = each
    return slopes


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """Return the ordinary tensor behind one that transforms have wrapped, for inspection.

    Args:
        tensor: a tensor inside a transform.
        recurse: unwrap all levels, not only the innermost.

    >>> import taper
    >>> def show(x):
    ...     print(taper.func.debug_unwrap(x))
    ...     return x
    >>> found = taper.func.vmap(show)(taper.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(
            "is_functorch_wrapped_tensor(): incompatible function arguments. The following "
            "argument types are supported:\n    1. (arg0: torch.Tensor) -> bool\n\nInvoked with: "
            f"{tensor!r}"
        )
    if not local.state.transforms:
        return tensor
    tracking = made_by_differentiation(tensor)
    if tracking:
        tensor = rewrap(alias(innermost(tensor)), levels_of(tensor))
    if isinstance(tensor, BatchedTensor) and (recurse or not tracking):
        return innermost(tensor) if recurse else tensor._whole
    return tensor
