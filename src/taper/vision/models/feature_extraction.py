"""Outputs of layers inside a model, by their names.

torchvision traces the model into a graph and cuts it.  Here the model runs normally, and hooks
catch what its modules return; so a node is a module, and results of plain functions have no name.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from taper import nn


class FeatureExtractor(nn.Module):
    """A model that returns what modules inside it return, by the names given to them.

    Its children are those of the model, so their parameters have the same names.
    """

    def __init__(self, model: nn.Module, return_nodes: dict[str, str]) -> None:
        super().__init__()
        for name, child in model.named_children():
            self.add_module(name, child)
        self.train(model.training)
        self._model = (model,)  # in a tuple, so that it is no child
        self._return_nodes = return_nodes
        modules = dict(model.named_modules())
        self._sources = {node: _source(node, modules) for node in return_nodes}

    def forward(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        model = self._model[0]
        modules = dict(model.named_modules())
        returned: dict[str, list[Any]] = {name: [] for name, _ in self._sources.values()}
        handles = [
            modules[name].register_forward_hook(_keeper(kept)) for name, kept in returned.items()
        ]
        try:
            model(*args, **kwargs)
        finally:
            for handle in handles:
                handle.remove()
        found = {}
        for node, alias in self._return_nodes.items():
            name, call = self._sources[node]
            if call >= len(returned[name]):
                raise ValueError(
                    f"{node} did not run: {name} was called {len(returned[name])} times"
                )
            found[alias] = returned[name][call]
        return found


def _keeper(kept: list[Any]) -> Any:
    def keep(module: nn.Module, inputs: Any, output: Any) -> None:
        kept.append(output)

    return keep


def _source(node: str, modules: dict[str, nn.Module]) -> tuple[str, int]:
    """Return the module that a node means, and which of its calls: `relu_1` is the second."""
    if node in modules:
        return node, 0
    name, underscore, number = node.rpartition("_")
    if underscore and number.isdigit() and name in modules:
        return name, int(number)
    raise NotImplementedError(
        f"taper finds outputs of modules only, and {node!r} is none: name a module, or put the "
        "function into one"
    )


def create_feature_extractor(
    model: nn.Module, return_nodes: list[str] | dict[str, str] | None = None
) -> FeatureExtractor:
    """Return a model that returns the outputs of modules inside `model`, as a dictionary.

    Args:
        model: the model.
        return_nodes: the names of modules, or a dict from them to names in the result.

    >>> import taper
    >>> from taper.vision.models import resnet18
    >>> from taper.vision.models.feature_extraction import create_feature_extractor
    >>> layers = {"layer1": "early", "layer4": "late"}
    >>> body = create_feature_extractor(resnet18().eval(), layers)
    >>> {name: x.shape[1:] for name, x in body(taper.zeros(1, 3, 32, 32)).items()}
    {'early': torch.Size([64, 8, 8]), 'late': torch.Size([512, 1, 1])}
    """
    if return_nodes is None:
        raise ValueError(
            "Either `return_nodes` or `train_return_nodes` and `eval_return_nodes` together, "
            "should be specified"
        )
    names = (
        return_nodes if isinstance(return_nodes, dict) else {each: each for each in return_nodes}
    )
    return FeatureExtractor(model, {str(node): str(alias) for node, alias in names.items()})


def get_graph_node_names(model: nn.Module, leaves: Iterable[Any] = ()) -> NoReturn:
    """Refuse: taper does not trace models into graphs."""
    raise NotImplementedError(
        "taper does not trace models: the names for create_feature_extractor are those of "
        "model.named_modules()"
    )
