"""Custom functions under `vmap`: by their own rule, or by one made of their parts.

A user's rule is `vmap(info, in_dims, *args)`, which gets whole batches.  A generated rule runs
`forward`, `backward` and `jvp` on batched tensors, inside a custom function of batches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from taper.arrays.strides import wrap_dim
from taper.autograd.custom_forward import no_setup_context
from taper.autograd.function import Function
from taper.func.batching import BatchedTensor, batched, is_batched, spread
from taper.func.levels import NO_CONTEXT
from taper.tensor import Tensor
from taper.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_map, tree_unflatten

_SEE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """What the `vmap` rule of a custom function gets as its first argument."""

    batch_size: int
    randomness: str


def apply_batched(
    level: Any, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], apply_below: Any
) -> Any:
    """Run `cls.apply` inside the `vmap` of `level`."""
    if cls.setup_context is no_setup_context:
        raise RuntimeError(NO_CONTEXT)
    overridden = cls.vmap is not Function.vmap
    if cls.generate_vmap_rule and overridden:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and "
            "an overridden vmap staticmethod. Please set generate_vmap_rule=False or delete the "
            f"overridden vmap staticmethod to avoid ambiguity. {_SEE}"
        )
    if not cls.generate_vmap_rule and not overridden:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please "
            "override and implement the vmap staticmethod or set generate_vmap_rule=True. "
            f"{_SEE}"
        )
    leaves, spec = tree_flatten(args)
    if not any(is_batched(each, level) for each in leaves):
        return apply_below(cls, args, kwargs)
    wholes = [each._whole if is_batched(each, level) else each for each in leaves]
    dims = [0 if is_batched(each, level) else None for each in leaves]
    whole_args, in_dims = tree_unflatten(wholes, spec), tree_unflatten(dims, spec)
    with level.hidden():
        if cls.generate_vmap_rule:
            found, out_dims = _generated(level, cls, in_dims, whole_args, kwargs)
        else:
            info = VmapInfo(level.size, level.randomness)
            found, out_dims = _checked(cls.vmap(info, in_dims, *whole_args, **kwargs))
    return _as_examples(level, found, out_dims)


def _checked(found: Any) -> tuple[Any, Any]:
    if not (isinstance(found, tuple) and len(found) == 2):
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with "
            f"pytree structure compatible with the output. Got a {_shown(type(found))} instead"
        )
    return found


def _shown(kind: type) -> str:
    return "<class 'torch.Tensor'>" if issubclass(kind, Tensor) else repr(kind)


def _as_examples(level: Any, output: Any, out_dims: Any) -> Any:
    leaves, spec = tree_flatten(output)
    dims = _broadcast_to_and_flatten(out_dims, spec)
    if dims is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) "
            f"tuple. Expected out_dims={out_dims} to be compatible with the structure of `output`. "
            f"out_dims has structure {tree_flatten(out_dims)[1]} but output has structure {spec}. "
            f"{_SEE}"
        )
    found = []
    for each, dim in zip(leaves, dims, strict=True):
        if dim is not None and isinstance(each, Tensor):
            each = batched(each.movedim(wrap_dim(dim, each.dim()), 0), level)
        found.append(each)
    return tree_unflatten(found, spec)


# --- the generated rule ----------------------------------------------------------------------


def _generated(
    level: Any, cls: Any, in_dims: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any]:
    parts = _Parts(cls, level, in_dims, kwargs)
    names = ("forward", "setup_context", "backward", "jvp")
    members: dict[str, Any] = {name: staticmethod(getattr(parts, name)) for name in names}
    function: Any = type(cls.__name__, (Function,), {**members, "generate_vmap_rule": True})
    found = function.apply(*args)
    return found, parts.out_dims


class _Parts:
    """The methods of a custom function of whole batches: those of `cls` run on examples.

    Each runs in a level like `outer`, since it may run after that one is closed.
    """

    def __init__(self, cls: Any, outer: Any, in_dims: Any, kwargs: dict[str, Any]) -> None:
        self.cls = cls
        self.in_dims = in_dims
        self.kwargs = kwargs
        self.fresh_level = lambda: type(outer)(outer.size, outer.randomness)
        self.out_dims: Any = None  # of the outputs, once `forward` has run

    def forward(self, *args: Any) -> Any:
        level = self.fresh_level()
        with level:
            output = self.cls.forward(*_entered(level, args, self.in_dims), **self.kwargs)
        self.out_dims = tree_map(lambda each: 0 if is_batched(each, level) else None, output)
        return tree_map(_whole, output)

    def setup_context(self, ctx: Any, inputs: Any, output: Any) -> None:
        level = self.fresh_level()
        with level:
            given = _entered(level, inputs, self.in_dims)
            self.cls.setup_context(
                _Context(ctx, level), given, _entered(level, output, self.out_dims)
            )

    def backward(self, ctx: Any, *grads: Any) -> Any:
        level = self.fresh_level()
        dims = tree_flatten(self.out_dims)[0]
        function = self.cls.vjp if self.cls.backward is Function.backward else self.cls.backward
        with level:
            found = function(_Context(ctx, level), *_entered(level, list(grads), dims))
        return _each(found, self.in_dims, lambda each, dim: _gradient(level, each, dim))

    def jvp(self, ctx: Any, *tangents: Any) -> Any:
        level = self.fresh_level()
        with level:
            given = _entered(level, list(tangents), list(self.in_dims))
            found = self.cls.jvp(_Context(ctx, level), *given)
        dims = tree_flatten(self.out_dims)[0]
        return _each(
            found, dims, lambda each, dim: _whole(each) if dim is None else _of_all(level, each)
        )


def _entered(level: Any, values: Any, dims: Any) -> Any:
    """Return whole batches as examples, where the dimension is not None."""
    return tree_map(
        lambda each, dim: each if each is None or dim is None else batched(each, level),
        values,
        dims,
    )


def _each(found: Any, dims: Any, convert: Callable[[Any, Any], Any]) -> Any:
    """Return what a method returned, one value or several, converted one by one."""
    several = isinstance(found, tuple)
    pairs = zip(found if several else (found,), dims, strict=False)
    results = [None if each is None else convert(each, dim) for each, dim in pairs]
    return tuple(results) if several else results[0]


class _Context:
    """The context that the user's methods see: the node's, with examples instead of batches."""

    def __init__(self, node: Any, level: Any) -> None:
        self.__dict__.update(_node=node, _level=level)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._node, name, value)

    def _saved(self, tensors: tuple[Any, ...]) -> list[Any]:
        self._node._batched_saved = [_is_example(each) for each in tensors]
        return [_whole(each) for each in tensors]

    def save_for_backward(self, *tensors: Any) -> None:
        """Save the whole batches, and which of the tensors are batched."""
        self._node.save_for_backward(*self._saved(tensors))

    def save_for_forward(self, *tensors: Any) -> None:
        """Save likewise for `jvp`."""
        self._node.save_for_forward(*self._saved(tensors))

    def mark_dirty(self, *tensors: Any) -> None:
        """Mark the batches."""
        self._node.mark_dirty(*map(_whole, tensors))

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Mark the batches."""
        self._node.mark_non_differentiable(*map(_whole, tensors))

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was saved, as examples."""
        pairs = zip(self._node.saved_tensors, self._node._batched_saved, strict=True)
        return tuple(batched(each, self._level) if flag else each for each, flag in pairs)


def _is_example(value: Any) -> bool:
    return isinstance(value, BatchedTensor)


def _whole(value: Any) -> Any:
    return value._whole if _is_example(value) else value


def _of_all(level: Any, value: Any) -> Any:
    return value._whole if is_batched(value, level) else spread(value, level.size)


def _gradient(level: Any, found: Any, dim: int | None) -> Any:
    """Return an argument's gradient; for one that all examples share, the sum over them."""
    if dim is None:
        return found._whole.sum(0) if is_batched(found, level) else found
    return _of_all(level, found)
