"""The autograd records that hang on a tensor: version counter, view record, AutogradMeta.

All are made only when needed: an ordinary result of an operation has none of them.
Imports nothing of taper.
"""

from __future__ import annotations

from types import CodeType
from typing import Any

from taper.autograd.handles import HookDict

# `Tensor._requires_grad` of a view: the answer depends on its base, so ask `views.requires_grad`.
ASK = 2


class VersionCounter:
    """A count of the writes to a piece of memory; a tensor, its views and `detach()` share it.

    The counter also remembers the user's line of the last write, for the error that names it (D6).
    """

    __slots__ = ("code", "offset", "value")

    def __init__(self) -> None:
        self.value = 0
        self.code: CodeType | None = None
        self.offset = 0


class DetachedVersion(int):
    """A version read after `detach_()`: it equals no version that was read before."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DetachedVersion) and int(self) == int(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = int.__hash__


class SharedCounter(VersionCounter):
    """A counter that stands for another one."""

    __slots__ = ("shared",)

    def __init__(self, shared: VersionCounter) -> None:
        self.shared = shared

    @property
    def value(self) -> int:
        return self.shared.value

    @value.setter
    def value(self, value: int) -> None:
        self.shared.value = int(value)

    @property
    def code(self) -> CodeType | None:
        return self.shared.code

    @code.setter
    def code(self, code: CodeType | None) -> None:
        self.shared.code = code

    @property
    def offset(self) -> int:
        return self.shared.offset

    @offset.setter
    def offset(self, offset: int) -> None:
        self.shared.offset = offset


class DetachedCounter(SharedCounter):
    """The counter of a result after `detach_()`, which still counts for views and aliases.

    A node that saved the tensor before compares versions, and so notices that the tensor has lost
    its history (§S9); other nodes pay nothing for that.
    """

    __slots__ = ()

    @property
    def value(self) -> int:
        return DetachedVersion(self.shared.value)

    @value.setter
    def value(self, value: int) -> None:
        self.shared.value = int(value)


INFERENCE_SAVED = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
    "inference mode in computation tracked by autograd. To work around this, you can make a clone "
    "to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
    "`torch.inference_mode()`."
)


class InferenceCounter:
    """Stands for the counter of an inference tensor, which has no version."""

    __slots__ = ()

    @property
    def value(self) -> int:
        # Only a node that saves the tensor asks for its version here.
        raise RuntimeError(INFERENCE_SAVED)


INFERENCE_COUNTER = InferenceCounter()


class AliasCounter(VersionCounter):
    """The counter of `.data` and `detach()` of an inference tensor, taken outside inference mode.

    The result is an inference tensor that counts its own writes; views of it do not.
    """

    __slots__ = ()


def is_inference(counter: Any) -> bool:
    """Return whether a tensor with this counter was made in inference mode."""
    return counter is INFERENCE_COUNTER or counter.__class__ is AliasCounter


class Creation:
    """How a view came to be; it decides whether the view may be written in place (V9 to V14)."""

    PLAIN = "plain"
    MULTIPLE = "multiple"
    NO_GRAD = "no_grad"
    INFERENCE = "inference"
    FUNCTION = "function"


class ViewRecord:
    """What a view knows: the root it looks at, how it was made, and when its history was valid.

    `version` is the counter's value for which the view's `_grad_fn` holds.  If the memory was
    written through another tensor since, the history is regenerated on next use (§V6).
    """

    __slots__ = ("base", "code", "creation", "offset", "replay", "requires_grad", "version")

    def __init__(
        self,
        base: Any,
        creation: str,
        version: int,
        replay: Any,
        code: CodeType | None,
        offset: int,
    ) -> None:
        self.base = base
        self.creation = creation
        self.version = version
        self.replay = replay
        self.requires_grad = False  # the flag of a view that is itself a leaf
        self.code = code
        self.offset = offset


UNSET: Any = object()  # AutogradMeta.grad_dtype: the dtype of the tensor


class FormerData:
    """What a leaf was before it got other data, for the graphs recorded until then (§E25).

    `until` is a sequence number: nodes below it saw the leaf as described here.  `accumulator` is
    the weak reference to the AccumulateGrad of those graphs, None if the leaf has kept its own.
    """

    __slots__ = ("accumulator", "dtype", "shape", "until")

    def __init__(self, shape: tuple[int, ...], dtype: Any, until: int, accumulator: Any) -> None:
        self.shape = shape
        self.dtype = dtype
        self.until = until
        self.accumulator = accumulator


def nobody() -> None:
    """Stand for the weak reference of a leaf that has no AccumulateGrad."""


class AutogradMeta:
    """What few tensors have: a gradient, an accumulator, hooks, a tangent."""

    __slots__ = (
        "__weakref__",
        "accumulator",
        "former",
        "grad",
        "grad_dtype",
        "hooks",
        "odd_layout",
        "post_accumulate_hooks",
        "retains_grad",
        "tangent",
        "tangent_generation",
    )

    def __init__(self) -> None:
        self.grad: Any = None
        self.accumulator: Any = nobody  # weak reference to AccumulateGrad (I7)
        self.hooks: HookDict | None = None
        self.post_accumulate_hooks: HookDict | None = None
        self.retains_grad = False
        self.tangent: Any = None
        self.tangent_generation = 0
        self.grad_dtype: Any = UNSET
        self.former: list[FormerData] | None = None
        # Whether the gradient may lie in memory in another order than the leaf (§E17).
        self.odd_layout = False
