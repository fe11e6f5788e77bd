"""Outputs of nodes inside a model, by their names.

The model is traced into a graph (`taper.fx`), which is cut after the last node that is asked for.
A node is a module or a call of a function, named by the module that makes it: `layer1.0.add`.
"""

from __future__ import annotations

import copy
import re
import warnings
from collections import OrderedDict
from typing import Any

from taper import fx, nn
from taper.fx.graph_module import _copy_attr
from taper.vision import ops

__all__ = ["create_feature_extractor", "get_graph_node_names"]


# The modules of vision.ops are steps, as torchvision has them.
_LEAVES = tuple(
    each
    for each in (getattr(ops, name) for name in dir(ops))
    if isinstance(each, type) and issubclass(each, nn.Module)
)


class LeafModuleAwareTracer(fx.Tracer):
    """A tracer that takes further classes of modules as one step.

    Args:
        leaf_modules: the classes.
        options: what `fx.Tracer` takes.
    """

    def __init__(self, leaf_modules: Any = (), **options: Any) -> None:
        super().__init__(**options)
        self.leaf_modules = tuple(leaf_modules)

    def is_leaf_module(self, m: nn.Module, module_qualname: str) -> bool:
        return isinstance(m, self.leaf_modules) or super().is_leaf_module(m, module_qualname)


class NodePathTracer(LeafModuleAwareTracer):
    """A tracer that names nodes by the modules that make them."""

    current_module_qualname = ""

    def __init__(self, leaf_modules: Any = (), **options: Any) -> None:
        super().__init__(leaf_modules, **options)
        self.node_to_qualname: OrderedDict[fx.Node, str] = OrderedDict()

    def call_module(self, m: nn.Module, forward: Any, args: Any, kwargs: Any) -> Any:
        before = self.current_module_qualname
        try:
            path = self.path_of_module(m)
            self.current_module_qualname = path
            if not self.is_leaf_module(m, path):
                return forward(*args, **kwargs)
            return self.create_proxy("call_module", path, args, kwargs)
        finally:
            self.current_module_qualname = before

    def create_proxy(self, kind: str, target: Any, *args: Any, **kwargs: Any) -> Any:
        proxy = super().create_proxy(kind, target, *args, **kwargs)
        name = self._get_node_qualname(self.current_module_qualname, proxy.node)
        self.node_to_qualname[proxy.node] = name
        return proxy

    def _get_node_qualname(self, module_qualname: str, node: fx.Node) -> str:
        """Return the path of a node: `layer1.relu`, and `layer1.relu_1` for the second one."""
        name = module_qualname
        if node.op != "call_module":
            name = f"{name}.{node}" if name else str(node)
        name = re.sub(r"(.+)_\d+$", r"\1", name)
        for other in reversed(self.node_to_qualname.values()):
            numbered = re.fullmatch(rf"{re.escape(name)}(?:_(\d+))?", other)
            if numbered is not None:
                return f"{name}_{int(numbered[1] or 0) + 1}"
        return name


class DualGraphModule(fx.GraphModule):
    """A module with a graph for training and another one for evaluation.

    Args:
        root: the module that was traced.
        train_graph: the graph of training.
        eval_graph: the graph of evaluation.
        class_name: the name of its class in texts.
    """

    def __init__(
        self,
        root: nn.Module,
        train_graph: fx.Graph,
        eval_graph: fx.Graph,
        class_name: str = "GraphModule",
    ) -> None:
        super(fx.GraphModule, self).__init__()
        self.__class__.__name__ = class_name
        self.train_graph = train_graph
        self.eval_graph = eval_graph
        for node in (*train_graph.nodes, *eval_graph.nodes):
            if node.op in ("get_attr", "call_module"):
                _copy_attr(root, self, str(node.target))
        self.train()
        self.graph = train_graph
        if train_graph._tracer_cls != eval_graph._tracer_cls:
            raise TypeError("The two graphs must be made by tracers of the same class")
        self._tracer_cls = None
        self._tracer_extras = {}
        self.meta = {}
        self._replace_hooks = []
        self._create_node_hooks = []
        self._erase_node_hooks = []

    def train(self, mode: bool = True) -> Any:
        """Choose the graph of training, or with False that of evaluation."""
        if mode and not self.training:
            self.graph = self.train_graph
        elif not mode and self.training:
            self.graph = self.eval_graph
        return super().train(mode=mode)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = DualGraphModule(
            _CopiedParts(self, memo),
            copy.deepcopy(self.train_graph),
            copy.deepcopy(self.eval_graph),
            type(self).__name__,
        )
        return made.train(self.training)


def _CopiedParts(module: nn.Module, memo: dict[int, Any]) -> nn.Module:
    """Return a module with copies of the parts of another one."""
    made = nn.Module()
    for table in ("_parameters", "_buffers", "_modules"):
        made.__dict__[table] = copy.deepcopy(module.__dict__[table], memo)
    return made


def _traced(
    model: nn.Module, tracer_kwargs: Any, concrete_args: Any
) -> tuple[NodePathTracer, fx.Graph]:
    options = dict(tracer_kwargs or {})
    options["leaf_modules"] = (*_LEAVES, *options.get("leaf_modules", ()))
    tracer = NodePathTracer(**options)
    return tracer, tracer.trace(model, concrete_args=concrete_args)


def get_graph_node_names(
    model: nn.Module,
    tracer_kwargs: dict[str, Any] | None = None,
    suppress_diff_warning: bool = False,
    concrete_args: dict[str, Any] | None = None,
) -> tuple[list[str], list[str]]:
    """Return the names of all nodes of a model, in training and in evaluation.

    Args:
        model: the model.
        tracer_kwargs: options of the tracer: `leaf_modules`, `autowrap_functions`, others.
        suppress_diff_warning: say nothing if the two lists differ.
        concrete_args: values for arguments that shall not be traced.

    >>> from taper.vision.models import resnet18
    >>> from taper.vision.models.feature_extraction import get_graph_node_names
    >>> get_graph_node_names(resnet18())[1][:6]
    ['x', 'conv1', 'bn1', 'relu', 'maxpool', 'layer1.0.conv1']
    """
    was_training = model.training
    train, _ = _traced(model.train(), tracer_kwargs, concrete_args)
    evaluation, _ = _traced(model.eval(), tracer_kwargs, concrete_args)
    model.train(was_training)
    names = [list(each.node_to_qualname.values()) for each in (train, evaluation)]
    if names[0] != names[1] and not suppress_diff_warning:
        _warn_of_difference(names[0], names[1])
    return names[0], names[1]


def _warn_of_difference(train: list[str], evaluation: list[str]) -> None:
    if _is_part(train, evaluation):
        text = (
            "NOTE: The nodes obtained by tracing the model in eval mode are a subsequence of those "
            "obtained in train mode. "
        )
    elif _is_part(evaluation, train):
        text = (
            "NOTE: The nodes obtained by tracing the model in train mode are a subsequence of "
            "those obtained in eval mode. "
        )
    else:
        text = "The nodes obtained by tracing the model in train mode are different to those "
        text += "obtained in eval mode. "
    warnings.warn(
        text + "When choosing nodes for feature extraction, you may need to specify output nodes "
        "for train and eval mode separately.",
        stacklevel=3,
    )


def _is_part(whole: list[str], part: list[str]) -> bool:
    remaining = iter(whole)
    return all(each in remaining for each in part)


def create_feature_extractor(
    model: nn.Module,
    return_nodes: list[str] | dict[str, str] | None = None,
    train_return_nodes: list[str] | dict[str, str] | None = None,
    eval_return_nodes: list[str] | dict[str, str] | None = None,
    tracer_kwargs: dict[str, Any] | None = None,
    suppress_diff_warning: bool = False,
    concrete_args: dict[str, Any] | None = None,
) -> fx.GraphModule:
    """Return a model that returns the outputs of nodes inside `model`, as a dictionary.

    Args:
        model: the model.
        return_nodes: the names of nodes, or a dict from them to names in the result; the name of a
            module means its last node.
        train_return_nodes: the same for training alone.
        eval_return_nodes: the same for evaluation alone.
        tracer_kwargs: options of the tracer: `leaf_modules`, `autowrap_functions`, others.
        suppress_diff_warning: say nothing if the nodes of training and evaluation differ.
        concrete_args: values for arguments that shall not be traced.

    >>> import taper
    >>> from taper.vision.models import resnet18
    >>> from taper.vision.models.feature_extraction import create_feature_extractor
    >>> layers = {"layer1": "early", "layer4": "late"}
    >>> body = create_feature_extractor(resnet18().eval(), layers)
    >>> {name: x.shape[1:] for name, x in body(taper.zeros(1, 3, 32, 32)).items()}
    {'early': torch.Size([64, 8, 8]), 'late': torch.Size([512, 1, 1])}
    """
    wanted = _wanted(return_nodes, train_return_nodes, eval_return_nodes)
    was_training = model.training
    tracers: dict[str, NodePathTracer] = {}
    graphs: dict[str, fx.Graph] = {}
    for mode in ("train", "eval"):
        tracers[mode], graph = _traced(model.train(mode == "train"), tracer_kwargs, concrete_args)
        graphs[mode] = _cut(model, tracers[mode], graph, wanted[mode])
    names = [list(tracers[mode].node_to_qualname.values()) for mode in ("train", "eval")]
    if names[0] != names[1] and return_nodes is not None and not suppress_diff_warning:
        _warn_of_difference(names[0], names[1])
    model.train(was_training)
    made: Any = DualGraphModule(model, graphs["train"], graphs["eval"], type(model).__name__)
    return made.train(was_training)


def _wanted(both: Any, train: Any, evaluation: Any) -> dict[str, dict[str, str]]:
    """Return for each mode the names that are asked for, with those in the result."""
    if both is None and (train is None or evaluation is None):
        if train is not None or evaluation is not None:
            raise ValueError(
                "If any of `train_return_nodes` and `eval_return_nodes` are specified, "
                "then both should be specified"
            )
        raise ValueError(
            "Either `return_nodes` or `train_return_nodes` and `eval_return_nodes` together, "
            "should be specified"
        )
    if both is not None and (train is not None or evaluation is not None):
        raise ValueError(
            "If `train_return_nodes` and `eval_return_nodes` are specified, then both should be "
            "specified"
        )
    chosen = {
        "train": train if both is None else both,
        "eval": evaluation if both is None else both,
    }
    return {
        mode: {str(key): str(value) for key, value in names.items()}
        if isinstance(names, dict)
        else {str(each): str(each) for each in names}
        for mode, names in chosen.items()
    }


def _cut(
    model: nn.Module, tracer: NodePathTracer, graph: fx.Graph, wanted: dict[str, str]
) -> fx.Graph:
    """Let a graph return the nodes that are asked for, and nothing else."""
    module = fx.GraphModule(tracer.root, graph, type(model).__name__)
    available = list(tracer.node_to_qualname.values())
    for query in wanted:
        if not any(re.match(rf"^{re.escape(query)}(\.|$)", name) for name in available):
            raise ValueError(
                f"node: '{query}' is not present in model. Hint: use `get_graph_node_names` to "
                "make sure the `return_nodes` you specified are present. It may even be that you "
                "need to specify `train_return_nodes` and `eval_return_nodes` separately."
            )
    old_output = module.graph.output_node()
    found: dict[str, fx.Node] = {}
    waiting = dict(wanted)
    for node in reversed(module.graph.nodes):
        name = tracer.node_to_qualname.get(node)
        if name is None:
            continue
        for query in list(waiting):
            if name == query or name.startswith(f"{query}."):
                found[waiting.pop(query)] = node
                break
    ordered = OrderedDict((alias, found[alias]) for alias in wanted.values())
    with module.graph.inserting_after(next(iter(reversed(module.graph.nodes)))):
        module.graph.output(ordered)
    module.graph.erase_node(old_output)
    module.graph.eliminate_dead_code()
    module.recompile()
    return module.graph
