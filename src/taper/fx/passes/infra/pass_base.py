"""What a pass is: a call that changes a module and says whether it did."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

from taper.fx.graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """The module that a pass returns, and whether it differs from the one it was given."""

    graph_module: GraphModule
    modified: bool


class PassBase(abc.ABC):
    """A pass: a subclass defines `call`, and may check before and after it.

    >>> import taper
    >>> from taper.fx.passes.infra.pass_base import PassBase, PassResult
    >>> class Clean(PassBase):
    ...     def call(self, module):
    ...         return PassResult(module, module.graph.eliminate_dead_code())
    >>> Clean()(taper.fx.symbolic_trace(lambda x: (x + 1, x)[1])).modified
    True
    """

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Change the module and say whether that changed anything."""

    def requires(self, graph_module: Any) -> None:  # noqa: B027 (a subclass may)
        """Check what the pass needs."""

    def ensures(self, graph_module: Any) -> None:  # noqa: B027 (a subclass may)
        """Check what the pass promises."""
