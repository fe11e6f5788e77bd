"""`make_fx`: a function as a graph of operators, as they run below autograd.

Owns: the mode that writes operators down while the function runs on real tensors.  So the graph
holds for arguments like those of the trace: branches were taken, sizes are numbers.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from taper import nn
from taper.fx._codegen import _PyTreeCodeGen, _PyTreeInfo
from taper.fx.graph import Graph
from taper.fx.graph_module import GraphModule
from taper.fx.node import Node, map_aggregate
from taper.fx.passes.shape_prop import _extract_tensor_metadata
from taper.ops.identity import OpOverload
from taper.tensor import Tensor
from taper.utils import _pytree as pytree
from taper.utils._python_dispatch import TorchDispatchMode, open_modes

__all__ = ["ProxyTorchDispatchMode", "get_proxy_mode", "make_fx"]


class ProxyTorchDispatchMode(TorchDispatchMode):
    """Writes the operators of a block into a graph.

    Args:
        graph: the graph.
        root: the module that holds tensors which are neither arguments nor results.
        decomposition_table: functions that run in the place of operators.
    """

    def __init__(
        self,
        graph: Graph,
        root: nn.Module,
        decomposition_table: Mapping[OpOverload, Callable[..., Any]] | None = None,
    ) -> None:
        super().__init__()
        self.graph = graph
        self.root = root
        self.decomposition_table = dict(decomposition_table or {})
        self._nodes: dict[Any, Node] = {}
        self._kept: list[Tensor] = []  # tensors that are looked up by address must stay alive

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in self.decomposition_table:
            with self:
                return self.decomposition_table[func](*args, **kwargs)
        result = func(*args, **kwargs)
        if func._opname == "detach":  # the same values, and no history here
            self._remember(result, self.node_of(args[0]))
            return result
        node = self.graph.call_function(func, self.written(args), dict(self.written(kwargs)))
        self.note(result, node)
        return result

    def note(self, result: Any, node: Node) -> None:
        """Remember which node stands for a result; parts of one have nodes of their own."""
        if isinstance(result, Tensor):
            self._remember(result, node)
            node.meta["val"] = result.detach()
            node.meta["tensor_meta"] = _extract_tensor_metadata(result)
        elif isinstance(result, tuple | list):
            for number, each in enumerate(result):
                if isinstance(each, Tensor):
                    self.note(each, self.graph.call_function(operator.getitem, (node, number)))

    def _remember(self, tensor: Tensor, node: Node) -> None:
        self._nodes[id(tensor)] = node
        self._nodes[_memory_of(tensor)] = node
        self._kept.append(tensor)

    def node_of(self, tensor: Tensor) -> Node:
        """Return the node of a tensor; a tensor from outside becomes an attribute of the root."""
        found = self._nodes.get(id(tensor))
        if found is None and tensor.numel():  # transforms of `func` see a value as another tensor
            found = self._nodes.get(_memory_of(tensor))
        if found is None:
            prefix = "_param_constant" if isinstance(tensor, nn.Parameter) else "_tensor_constant"
            number = 0
            while hasattr(self.root, f"{prefix}{number}"):
                number += 1
            setattr(self.root, f"{prefix}{number}", tensor)
            found = self.graph.create_node("get_attr", f"{prefix}{number}")
            self._remember(tensor, found)
        return found

    def written(self, value: Any) -> Any:
        """Return arguments with nodes in the place of tensors."""
        return map_aggregate(
            value, lambda leaf: self.node_of(leaf) if isinstance(leaf, Tensor) else leaf
        )


def _memory_of(tensor: Tensor) -> tuple[Any, ...]:
    """Return where the values of a tensor lie, and how."""
    return (tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype)


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """Return the mode of the innermost `make_fx` that runs, None if there is none.

    >>> from taper.fx.experimental.proxy_tensor import get_proxy_mode
    >>> get_proxy_mode() is None
    True
    """
    found = [each for each in open_modes() if isinstance(each, ProxyTorchDispatchMode)]
    return found[-1] if found else None


@contextlib.contextmanager
def disable_proxy_modes_tracing() -> Iterator[None]:
    """Write nothing down during the block.

    >>> from taper.fx.experimental.proxy_tensor import disable_proxy_modes_tracing
    >>> with disable_proxy_modes_tracing():
    ...     pass
    """
    # late: only traces inside of traces need it
    from taper.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes():
        yield


def make_fx(
    f: Callable[..., Any],
    decomposition_table: Mapping[OpOverload, Callable[..., Any]] | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
) -> Callable[..., GraphModule]:
    """Return a function that runs `f` on some arguments and returns the graph of its operators.

    Args:
        f: the function; its arguments may be nested.
        decomposition_table: functions that run in the place of operators, whose own operators are
            written down.
        tracing_mode: accepted; the function runs on the tensors themselves, and sizes are numbers.
        _allow_non_fake_inputs: accepted.
        pre_dispatch: accepted.
        record_module_stack: accepted.

    Example:
        >>> import taper
        >>> from taper.fx.experimental.proxy_tensor import make_fx
        >>> traced = make_fx(lambda x: taper.relu(x) * 2)(taper.ones(3))
        >>> print(traced.code.strip())
        def forward(self, x_1):
            relu = torch.ops.aten.relu.default(x_1);  x_1 = None
            mul = torch.ops.aten.mul.Tensor(relu, 2);  relu = None
            return mul
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(
            f"tracing_mode must be one of ('real', 'fake', 'symbolic'), got {tracing_mode}"
        )

    @functools.wraps(f)
    def wrapped(*args: Any) -> GraphModule:
        graph, root = Graph(), nn.Module()
        names = _argument_names(f, args)
        mode = ProxyTorchDispatchMode(graph, root, decomposition_table)
        for name, each in zip(_leaf_names(names, args), pytree.tree_leaves(args), strict=True):
            node = graph.create_node("placeholder", name)
            if isinstance(each, Tensor):
                mode.note(each, node)
        with mode:
            result = f(*args)
        leaves, form = pytree.tree_flatten(result)
        written = [mode.written(each) for each in leaves]
        if all(map(pytree.tree_is_leaf, args)):
            graph.output(pytree.tree_unflatten(written, form))
        else:
            outer = pytree.tree_structure(list(args))
            graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(names, outer, form)))
            graph.output(written)
        name = getattr(f, "__name__", type(f).__name__)
        return GraphModule(root, graph, name)

    return wrapped


def _argument_names(f: Callable[..., Any], args: tuple[Any, ...]) -> list[str]:
    """Return the names of the parameters that arguments are for."""
    try:
        code = inspect.unwrap(f).__code__
    except AttributeError:
        return [f"arg{number}" for number in range(len(args))]
    known = code.co_varnames[: code.co_argcount]
    return [known[number] if number < len(known) else f"arg{number}" for number in range(len(args))]


def _leaf_names(names: list[str], args: tuple[Any, ...]) -> list[str]:
    """Return the names of placeholders: a parameter's, with the number of the leaf."""
    return [
        f"{name}_{number}"
        for name, each in zip(names, args, strict=True)
        for number in range(1, len(pytree.tree_leaves(each)) + 1)
    ]
