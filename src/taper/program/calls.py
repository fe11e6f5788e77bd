"""Calls: the functions that an instruction runs, and which functions the recording must see.

Owns: how an operator, a maker of tensors, a write and a draw are repeated on arrays; and the
functions beside the operators of the table, sorted by what a recording does with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taper.amp.grad_scaler import GradScaler
from taper.arrays.foreign import device_of, place_of
from taper.arrays.strides import empty_with
from taper.autograd.accumulate import _accumulate
from taper.autograd.meta import INFERENCE_COUNTER, AutogradMeta
from taper.autograd.views import version_counter
from taper.device import CPU
from taper.nn.modules.module import Module
from taper.nn.utils import clip_grad
from taper.opdef import Op, methods, named_composites
from taper.opdef.writes import check_destination, compute
from taper.ops.activation import leaky
from taper.ops.attention import scaled
from taper.ops.creation import copy
from taper.ops.index import getitem
from taper.ops.norm import batch
from taper.ops.random import dropout
from taper.optim.lr_scheduler.base import LRScheduler
from taper.optim.swa_utils import AveragedModel
from taper.program.form import Place
from taper.sampling import discrete
from taper.sampling.generator import Generator
from taper.tensor import Tensor, wrap

# Operators whose result has a shape that depends on data, or that give Python something to see.
BY_DATA = frozenset(
    "nonzero masked_select unique_consecutive_slices unique_dim bincount _unique2 "
    "_pack_padded_sequence _packed_rows".split()
)

# Functions that give Python numbers out of tensors, or show their memory.
READERS = (
    "item tolist numpy is_nonzero equal allclose __bool__ __float__ __int__ __index__ __complex__ "
    "__array__ __contains__ __repr__ __format__ __str__ data_ptr storage untyped_storage "
    "repeat_interleave __dlpack__ bincount nonzero_static requires_grad_ retain_grad "
    "register_post_accumulate_grad_hook set_ resize_ resize_as_ swap_tensors "
    "share_memory_ map_ map2_ apply_ detach_"
).split()

# Functions that make tensors of their arguments alone, and with random numbers.
MAKERS = (
    "zeros ones empty full arange range linspace logspace eye tensor as_tensor scalar_tensor "
    "zeros_like ones_like empty_like full_like new_zeros new_ones new_empty new_full new_tensor "
    "empty_strided new_empty_strided tril_indices triu_indices hann_window hamming_window "
    "blackman_window bartlett_window kaiser_window one_hot"
).split()
DRAWERS = (
    "rand randn randint randperm rand_like randn_like randint_like normal multinomial poisson"
).split()
WRITERS = (
    "normal_ uniform_ random_ bernoulli_ exponential_ geometric_ cauchy_ log_normal_"
).split()


# Methods that let somebody see a gradient during a backward pass.
HOOKERS = ("register_hook",)

# Methods that let a tensor look at its memory in another way.
TURNERS = "transpose_ swapaxes_ swapdims_ t_ squeeze_ unsqueeze_".split()


_COUNTS = np.dtype(np.int64)


def unwrapped(result: Any) -> Any:
    """The arrays of what an operator returned."""
    if isinstance(result, Tensor):
        return result._array
    return tuple([each._array for each in result])


def tensors(structure: Any) -> Any:
    """Arguments with plain tensors in the place of arrays."""
    if isinstance(structure, np.ndarray):
        return wrap(structure)
    if structure.__class__ is tuple or structure.__class__ is list:
        return structure.__class__([tensors(each) for each in structure])
    if structure.__class__ is dict:
        return {name: tensors(each) for name, each in structure.items()}
    return structure


def operator_call(op: Op) -> Callable[..., Any]:
    """The operator as a function of arrays; grad mode is off where it runs."""

    def run(*arguments: Any) -> Any:
        return unwrapped(op.call(op.function, tensors(arguments)))

    return run


def only_result(run: Callable[..., Any]) -> Callable[..., Any]:
    """A function that returns one array in a list, as `unbind` may, without the list."""
    return lambda *arguments: run(*arguments)[0]


def write_call(op: Op, owner: Tensor | None, place: Place) -> Callable[..., Any]:
    """The operator in place; the writes of `owner`, which outlives the program, are counted."""

    def run(target: np.ndarray, *arguments: Any) -> np.ndarray:
        if not (op.name == "add" and _counted(target, *arguments)):
            result = compute(op, tensors((target, *arguments)))
            check_destination(target, result, op.inplace_name)
            np.copyto(target, result, casting="unsafe")
        if owner is not None:
            count_write(owner, place)
        return target

    run.owner = owner  # type: ignore[attr-defined]
    return run


def _counted(target: np.ndarray, other: Any, alpha: Any = 1) -> bool:
    """Add one to a count, as a BatchNorm does: 37 to 5 us of a ResNet's step, whose convolutions
    leave none of the operator's code in the cache."""
    is_count = other.__class__ is int and alpha == 1 and target.dtype == _COUNTS
    if is_count:
        np.add(target, other, out=target)
    return is_count


def count_write(tensor: Tensor, place: Place) -> None:
    """Count a write of the user's line `place`."""
    counter: Any = version_counter(tensor)
    if counter is not INFERENCE_COUNTER:
        counter.value += 1
        counter.code, counter.offset = place


def maker_call(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes a tensor, as a function of arrays."""

    def run(args: Any, kwargs: Any) -> np.ndarray:
        made: np.ndarray = function(*tensors(args), **tensors(kwargs))._array
        return made

    return run


def writer_call(
    function: Callable[..., Any], owner: Tensor | None, place: Place
) -> Callable[..., Any]:
    """A function that fills its first argument, as a function of arrays."""

    def run(args: Any, kwargs: Any) -> np.ndarray:
        target: np.ndarray = args[0]
        function(*tensors(args), **tensors(kwargs))
        if owner is not None:
            count_write(owner, place)
        return target

    run.owner = owner  # type: ignore[attr-defined]
    return run


def draw_call(
    function: Callable[..., Any], like: np.ndarray, rest: tuple[Any, ...], kwargs: dict[str, Any]
) -> Callable[[], np.ndarray]:
    """A function that fills a fresh array with random numbers."""
    shape, dtype, where = like.shape, like.dtype, device_of(like)
    strides = tuple([each // like.itemsize for each in like.strides])

    def run() -> np.ndarray:
        if where is CPU:
            fresh = empty_with(shape, strides, dtype)
        else:
            fresh = place_of(where).empty(shape, strides, dtype, where)
        drawn: np.ndarray = function(fresh, *rest, **kwargs)
        return drawn

    return run


def follow_call(*arguments: Any) -> tuple[np.ndarray, np.ndarray]:
    """The running statistics of a BatchNorm, which are the first two arguments."""
    running_mean, running_var, mean, variance, momentum, array = arguments
    batch.follow(wrap(running_mean), wrap(running_var), wrap(mean), wrap(variance), momentum, array)
    return running_mean, running_var


def leaf_call(leaf: Any) -> Callable[[np.ndarray], np.ndarray | None]:
    """The arrival of a gradient at a leaf; returns the array of its `.grad`."""

    def run(grad: np.ndarray) -> np.ndarray | None:
        meta = leaf._autograd_meta
        if meta is None:
            meta = leaf._autograd_meta = AutogradMeta()
        _accumulate(leaf, meta, [grad])
        return None if meta.grad is None else meta.grad._array

    return run


def set_grad(setter: Callable[..., Any], tensor: Tensor, grad: np.ndarray) -> np.ndarray:
    """Let an array be the gradient of a tensor."""
    setter(tensor, wrap(grad))
    return grad


Special = dict[Any, tuple[str, str]]  # (way, name) by function


def special_functions() -> Special:
    """The functions beside the table that a recording must see: (way, name) by function.

    The ways are "read", "turn", "make", "draw" (makes a tensor with random numbers), "write",
    "fill" (an array, with random numbers), "follow", "hook", "look" (at a gradient), "grad" (sets
    one) and "effect" (is called again as it was).
    """
    return _named() | _inside_the_library() | _of_tensors_and_generators() | _of_training()


def _named() -> Special:
    found: Special = {}
    named = dict(named_composites)
    for way, names in (
        ("read", READERS),
        ("make", MAKERS),
        ("draw", DRAWERS),
        ("write", WRITERS),
        ("turn", TURNERS),
        ("hook", HOOKERS),
    ):
        for name in names:
            for function in (named.get(name), methods.get(name), getattr(Tensor, name, None)):
                if hasattr(function, "__code__") and not hasattr(function, "op"):
                    found[function] = (way, name)
    return found


def _inside_the_library() -> Special:
    return {
        discrete.dropout_mask_: ("fill", "dropout_mask_"),
        discrete.bernoulli_: ("fill", "bernoulli_"),
        batch.follow: ("follow", "batch_norm"),
        getitem._number_tensor: ("make", "number"),
        copy.zeros_of: ("make", "zeros"),
        scaled.triangle: ("make", "triangle"),
        dropout.alpha_factor: ("make", "alpha_factor"),
        dropout.alpha_shift: ("make", "alpha_shift"),
        leaky.draw_slopes: ("draw", "rrelu"),
    }


def _of_tensors_and_generators() -> Special:
    gradient: Any = Tensor.__dict__["grad"]
    found: Special = {gradient.fget: ("look", "grad"), gradient.fset: ("grad", "grad")}
    for name in ("data", "requires_grad", "grad_dtype"):
        found[Tensor.__dict__[name].fset] = ("read", name)
    for kind in _subclasses(Generator):
        for name in ("manual_seed", "seed", "initial_seed", "get_state", "set_state"):
            if name in kind.__dict__:
                found[kind.__dict__[name]] = ("read", f"Generator.{name}")
    return found


def _of_training() -> Special:
    found: Special = {}
    for name in ("clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_"):
        found[getattr(clip_grad, name)] = ("effect", name)
    for function in (Module.zero_grad, AveragedModel.update_parameters):
        found[function] = ("effect", function.__qualname__)
    for name in ("unscale_", "step", "update"):
        found[getattr(GradScaler, name)] = ("effect", f"GradScaler.{name}")
    for scheduler in _subclasses(LRScheduler):
        step = scheduler.__dict__.get("step")
        if hasattr(step, "__code__"):
            found[step] = ("effect", "scheduler.step")
        if "get_last_lr" in scheduler.__dict__:
            found[scheduler.__dict__["get_last_lr"]] = ("read", "get_last_lr")
    return found


def _subclasses(kind: Any) -> list[Any]:
    found = [kind]
    for each in found:
        found.extend(each.__subclasses__())
    return found
