"""LazyModuleMixin: modules that learn the shapes of their parameters from the first input.

Owns when that happens: before the first call, or when a state is loaded.  What the shapes are is
each module's own business (`initialize_parameters`).
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from taper.autograd.grad_mode import no_grad
from taper.nn.parameter import is_lazy

if TYPE_CHECKING:
    from taper.nn.modules.module import Module as _Base
else:
    _Base = object  # PyTorch's has no base either: a module class stands after it


class LazyModuleMixin(_Base):
    """Let a module learn the shapes of its parameters from its first input.

    Stands before a module class in the list of bases. Before the first call,
    `initialize_parameters` gets the arguments of that call. Once all parameters have a shape, the
    module becomes a `cls_to_become`, unless that is None.

    Args:
        args, kwargs: the arguments of the module class.

    Example:
        >>> import taper
        >>> model = taper.nn.LazyLinear(3)
        >>> model
        LazyLinear(in_features=0, out_features=3, bias=True)
        >>> model(taper.ones(5, 2)).shape
        torch.Size([5, 3])
        >>> model
        Linear(in_features=2, out_features=3, bias=True)
    """

    cls_to_become: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give all parameters and buffers their shapes and first values; subclasses define how.

        The arguments are those of `forward`.
        """
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self) -> bool:
        """Tell whether a parameter or buffer of this module alone has no shape yet.

        >>> import taper
        >>> taper.nn.LazyLinear(3).has_uninitialized_params()
        True
        """
        own = itertools.chain(self._parameters.values(), self._buffers.values())
        return any(is_lazy(each) for each in own)

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        """Initialise the parameters; runs as a hook before the first call."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        for name in ("_initialize_hook", "_load_hook"):
            getattr(module, name).remove()
            delattr(module, name)
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _lazy_load_hook(self, state_dict: Any, prefix: str, *others: Any) -> None:
        """Take the shapes of the tensors in a state; runs as a hook before the state is loaded."""
        own = itertools.chain(self._parameters.items(), self._buffers.items())
        for name, param in own:
            value = state_dict.get(prefix + name)
            if value is not None and is_lazy(param) and not is_lazy(value):
                with no_grad():
                    param.materialize(value.shape)  # type: ignore[union-attr]

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Save what has no shape as it is, so that the state can be loaded again."""
        for name, value in self._own_state():
            whole = keep_vars or is_lazy(value)
            destination[prefix + name] = value if whole else value.detach()

    def _replicate_for_data_parallel(self) -> Any:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy "
            "forward pass to correctly initialize the modules"
        )
