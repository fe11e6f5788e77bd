"""The graph of a model: its operators as they ran, in the scopes of the modules that called them.

Owns: watching a forward pass, and the message `GraphDef`.  A node is an operator of taper's table
(`aten::addmm` where PyTorch's tracer writes `aten::linear`); its plain arguments are in the node's
`attr`, where PyTorch makes nodes of constants.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from taper.autograd.interception import Call, intercepting
from taper.nn.modules.module import Module
from taper.tensor import Tensor
from taper.utils._protobuf import integer, message, text
from taper.utils._pytree import tree_flatten, tree_leaves

_PRODUCER = 22  # the version of GraphDef that PyTorch's files name
_INPUT_OR_OUTPUT = "IO Node"


class Node(NamedTuple):
    """A node: `inputs` are names, with `:1` for the second output; `shapes` has one per output."""

    name: str
    op: str
    inputs: list[str]
    shapes: list[tuple[int, ...]]
    attributes: str = ""

    def encoded(self) -> bytes:
        """Return the message `NodeDef`."""
        fields = text(1, self.name) + text(2, self.op)
        fields += b"".join(text(3, each) for each in self.inputs)
        fields += _attribute("attr", text(2, self.attributes))
        if self.shapes:
            shapes = b"".join(message(7, _shape(each)) for each in self.shapes)
            fields += _attribute("_output_shapes", message(1, shapes))
        return fields

    def __str__(self) -> str:
        sizes = ", ".join(str(list(each)) for each in self.shapes)
        return f"{self.name} = {self.op}({', '.join(self.inputs)}) {self.attributes} -> {sizes}"


def _attribute(name: str, value: bytes) -> bytes:
    return message(5, text(1, name), message(2, value))


def _shape(sizes: tuple[int, ...]) -> bytes:
    return b"".join(message(2, integer(1, size)) for size in sizes)


class _Watch:
    """An interceptor that makes a node of each operator call."""

    def __init__(self, model: Module) -> None:
        self.nodes: list[Node] = []
        self.scopes: list[str] = []
        self.scope_of: dict[int, str] = {}  # by the id of a module
        self.names: dict[int, str] = {}  # by the id of a tensor; `kept` keeps ids unique
        self.kept: list[Tensor] = []
        self.used: dict[str, int] = {}
        self.attributes: dict[int, tuple[Module, str, str]] = {}
        for path, module in model.named_modules():
            own = [*module._parameters.items(), *module._buffers.items()]
            for name, tensor in own:
                if tensor is not None:
                    full = f"{path}.{name}" if path else name
                    self.attributes.setdefault(id(tensor), (module, name, full))

    def __call__(self, call: Call, run: Callable[[], Any]) -> Any:
        tensors: list[str] = []
        plain: list[str] = []
        for param, value in zip(call.op.params, call.arguments, strict=False):
            found = [each for each in tree_leaves(value) if isinstance(each, Tensor)]
            tensors += map(self.name_of, found)
            if not found:
                plain.append(f"{param.name} : {value}")
        result = run()
        name = self.free(self.within(call.name))
        outputs = [each for each in tree_leaves(result) if isinstance(each, Tensor)]
        shapes = [tuple(each.shape) for each in outputs]
        attributes = "{" + ", ".join(plain) + "}"
        self.nodes.append(Node(name, f"aten::{call.name}", tensors, shapes, attributes))
        for number, each in enumerate(outputs):
            self.give(each, f"{name}:{number}" if number else name)
        return result

    def within(self, name: str) -> str:
        return f"{self.scopes[-1]}/{name}" if self.scopes else name

    def free(self, name: str) -> str:
        """Return a name that no other node has: the second `add` is `add_1`."""
        number = self.used.get(name, 0)
        self.used[name] = number + 1
        return self.free(f"{name}_{number}") if number else name

    def give(self, tensor: Tensor, name: str) -> None:
        self.names[id(tensor)] = name
        self.kept.append(tensor)

    def name_of(self, tensor: Tensor) -> str:
        """Return the node of a tensor; one without a node is a parameter or a constant."""
        if id(tensor) not in self.names:
            op, attributes, name = "prim::Constant", "{}", self.within("constant")
            if id(tensor) in self.attributes:
                module, short, full = self.attributes[id(tensor)]
                op, attributes = "prim::GetAttr", f"{{ name :  {short} }}"
                scope = self.scope_of.get(id(module))
                name = self.within(full) if scope is None else f"{scope}/{short}"
            self.nodes.append(Node(self.free(name), op, [], [tuple(tensor.shape)], attributes))
            self.give(tensor, self.nodes[-1].name)
        return self.names[id(tensor)]

    # --- modules ---

    def enter(self, module: Module, scope: str) -> None:
        self.scopes.append(self.within(scope))
        self.scope_of[id(module)] = self.scopes[-1]

    def leave(self) -> None:
        self.scopes.pop()


@contextlib.contextmanager
def _scopes(model: Module, watch: _Watch) -> Iterator[None]:
    """Let modules tell the watch when they are called, in evaluation mode, during the block."""
    handles = []
    training = [(each, each.training) for each in model.modules()]
    try:
        for path, module in model.named_modules():
            kind = type(module).__name__
            scope = f"{kind}[{path.rpartition('.')[2]}]" if path else kind
            handles.append(
                module.register_forward_pre_hook(
                    lambda module, args, scope=scope: watch.enter(module, scope)
                )
            )
            handles.append(
                module.register_forward_hook(
                    lambda module, args, result: watch.leave(), always_call=True
                )
            )
        model.eval()
        yield
    finally:
        for module, mode in training:
            module.training = mode
        for handle in handles:
            handle.remove()


def graph_of(model: Module, inputs: Any) -> list[Node]:
    """Return the nodes of a forward pass of the model on a tensor or a tuple of them.

    >>> import taper
    >>> for node in graph_of(taper.nn.ReLU(), taper.ones(2)):
    ...     print(node)
    input/input = IO Node()  -> [2]
    ReLU/relu = aten::relu(input/input) {} -> [2]
    output/output.1 = IO Node(ReLU/relu)  -> [2]
    """
    if not hasattr(model, "training"):  # PyTorch's error says that it is no module
        raise AttributeError(f"'{type(model).__name__}' object has no attribute 'training'")
    if inputs is None:
        raise RuntimeError("add_graph needs input_to_model: the graph is that of a forward pass")
    watch = _Watch(model)
    arguments = (inputs,) if isinstance(inputs, Tensor | dict) else tuple(inputs)
    for name, tensor in _named(model, arguments):
        node = Node(watch.free(f"input/{name}"), _INPUT_OR_OUTPUT, [], [tuple(tensor.shape)])
        watch.nodes.append(node)
        watch.give(tensor, node.name)
    with _scopes(model, watch), intercepting(watch):
        result = model(*arguments)
    results = [each for each in tree_flatten(result)[0] if isinstance(each, Tensor)]
    for number, tensor in enumerate(results, 1):
        source, shape = watch.name_of(tensor), tuple(tensor.shape)
        watch.nodes.append(Node(f"output/output.{number}", _INPUT_OR_OUTPUT, [source], [shape]))
    return watch.nodes


def _named(model: Module, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors among the arguments, with the names of the parameters that take them."""
    names = list(inspect.signature(model.forward).parameters)
    for number, argument in enumerate(arguments):
        name = names[number] if number < len(names) else f"argument.{number}"
        leaves = tree_leaves(argument)
        for place, leaf in enumerate(leaves):
            if isinstance(leaf, Tensor):
                yield (name if len(leaves) == 1 else f"{name}.{place}"), leaf


def graph_profile(nodes: list[Node]) -> tuple[bytes, bytes]:
    """Return the messages `GraphDef` and `RunMetadata`: what there is and where it ran."""
    graph = b"".join(message(1, each.encoded()) for each in nodes)
    graph += message(4, integer(1, _PRODUCER))
    device = message(1, text(1, "/device:CPU:0"))
    return graph, message(1, device)
