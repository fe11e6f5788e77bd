"""The reference of `nn` and `optim`: docstrings say what users look up there.

Every argument is described, a module says its shapes, a layer how its parameters start, an
optimizer or a schedule its formula, and everything has an example.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import re
from typing import Any

import pytest

from public_namespaces import public_names
from taper import nn, optim
from taper.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

NAMESPACES = """
taper.nn taper.nn.attention taper.nn.init taper.nn.parameter taper.nn.utils
taper.nn.utils.parametrizations taper.nn.utils.parametrize taper.nn.utils.prune taper.nn.utils.rnn
taper.nn.utils.stateless taper.optim taper.optim.lr_scheduler taper.optim.swa_utils
""".split()


def public(namespace: str) -> dict[str, Any]:
    module = importlib.import_module(namespace)
    found = {name: getattr(module, name) for name in public_names(module)}
    return {
        name: value
        for name, value in found.items()
        if inspect.isroutine(value) or inspect.isclass(value)
        if value.__module__.startswith(("taper.nn", "taper.optim"))
        if not (inspect.isclass(value) and issubclass(value, enum.Enum))  # read, not called
    }


ENTRIES = {
    f"{namespace}.{name}": value
    for namespace in NAMESPACES
    for name, value in public(namespace).items()
}
every_entry = pytest.mark.parametrize("name", list(ENTRIES))

# What a constructor with `*args` takes.
HIDDEN_ARGUMENTS = {
    nn.RNN: "input_size hidden_size num_layers nonlinearity bias batch_first dropout bidirectional"
    " device dtype",
    nn.GRU: "input_size hidden_size num_layers bias batch_first dropout bidirectional device dtype",
    nn.LSTM: "input_size hidden_size num_layers bias batch_first dropout bidirectional proj_size"
    " device dtype",
}

NO_SHAPE = {
    "ModuleDict": "has no forward",
    "ModuleList": "has no forward",
    "ParameterDict": "has no forward",
    "ParameterList": "has no forward",
    "Container": "has no forward",
    "Module": "is for subclasses to define",
    "RNNBase": "is a base without forward",
    "RNNCellBase": "is a base without forward",
    "Sequential": "has the shapes of its modules",
    "DataParallel": "has the shapes of its module",
    "AveragedModel": "has the shapes of its module",
    "ParametrizationList": "has the shapes of its modules",
}


def sections(doc: str) -> dict[str, str]:
    """The text under each heading; what comes before the first one is under ""."""
    found: dict[str, list[str]] = {"": []}
    heading = ""
    for line in inspect.cleandoc(doc).splitlines():
        started = re.match(r"([A-Z][A-Za-z ]+):(?: (.*))?$", line)
        if started and started[1] in HEADINGS:
            heading = started[1]
            found[heading] = [started[2] or ""]
        else:
            found[heading].append(line)
    return {heading: "\n".join(lines) for heading, lines in found.items()}


HEADINGS = {
    "Args",
    "Shape",
    "Initialisation",
    "Attributes",
    "Returns",
    "Raises",
    "Differs from PyTorch",
    "Example",
}


def documented(text: str) -> set[str]:
    """The names that an `Args` section begins its entries with."""
    entries = re.findall(r"^    ([\w*]+(?:, [\w*]+)*): \S", text, re.MULTILINE)
    return {name.lstrip("*") for entry in entries for name in entry.split(", ")}


def arguments(value: Any) -> set[str]:
    if value in HIDDEN_ARGUMENTS:
        return set(HIDDEN_ARGUMENTS[value].split())
    passed_on = inspect.isclass(value) and value.__init__ is nn.Module.__init__
    if passed_on or (inspect.isclass(value) and value.__init__ is object.__init__ is value.__new__):
        return set()
    names = set(inspect.signature(value).parameters)
    return {name for name in names if not name.startswith("_")}


def is_module(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, nn.Module)


def test_there_is_something_to_look_up():
    kinds = ("nn.Linear", "nn.init.zeros_", "optim.Adam", "optim.lr_scheduler.StepLR")
    assert {f"taper.{kind}" for kind in kinds} <= set(ENTRIES)
    assert len(ENTRIES) > 270


@every_entry
def test_every_argument_is_described(name):
    value = ENTRIES[name]
    described = documented(sections(value.__doc__).get("Args", ""))
    assert sorted(arguments(value) - described) == []


@every_entry
def test_described_arguments_exist(name):
    value = ENTRIES[name]
    described = documented(sections(value.__doc__).get("Args", ""))
    assert sorted(described - arguments(value)) == []


@every_entry
def test_reference_to_another_entry_leads_somewhere(name):
    """'as for `Conv2d`' is enough where `Conv2d` describes the arguments that are meant."""
    value = ENTRIES[name]
    text = sections(value.__doc__).get("Args", "")
    for names, other in re.findall(r"^    ([\w, ]+): as for `(\w+)`", text, re.MULTILINE):
        namespace = name.rpartition(".")[0]
        there = documented(sections(ENTRIES[f"{namespace}.{other}"].__doc__)["Args"])
        assert set(names.split(", ")) <= there


@every_entry
def test_example_is_the_last_section(name):
    found = sections(ENTRIES[name].__doc__)
    assert list(found)[-1] == "Example"
    assert ">>>" in found["Example"]
    assert not any(">>>" in text for heading, text in found.items() if heading != "Example")


@every_entry
def test_entry_is_read_in_half_a_minute(name):
    assert len(inspect.cleandoc(ENTRIES[name].__doc__).splitlines()) <= 40


@pytest.mark.parametrize("name", [name for name in ENTRIES if is_module(ENTRIES[name])])
def test_module_says_its_shapes(name):
    has_shape = "Shape" in sections(ENTRIES[name].__doc__)
    assert has_shape is (ENTRIES[name].__name__ not in NO_SHAPE)


def owns_parameters(value: Any) -> bool:
    """Whether a layer makes parameters, or its modules do, which it can draw anew."""
    resets = ("reset_parameters", "_reset_parameters")
    return is_module(value) and any(hasattr(value, each) for each in resets)


@pytest.mark.parametrize("name", [name for name in ENTRIES if owns_parameters(ENTRIES[name])])
def test_layer_says_how_its_parameters_start(name):
    assert sections(ENTRIES[name].__doc__).get("Initialisation", "").strip()


def has_formula(value: Any) -> bool:
    """Whether an indented line with an equation stands before the arguments."""
    return bool(re.search(r"^    .*[=←]", sections(value.__doc__)[""], re.MULTILINE))


def changes_by_formula(value: Any) -> bool:
    kinds = (optim.Optimizer, LRScheduler, ReduceLROnPlateau)
    return inspect.isclass(value) and issubclass(value, kinds) and value not in kinds[:2]


@pytest.mark.parametrize("name", [name for name in ENTRIES if changes_by_formula(ENTRIES[name])])
def test_optimizer_or_schedule_gives_its_formula(name):
    assert has_formula(ENTRIES[name])


LOSSES = [name for name in ENTRIES if re.fullmatch(r"taper\.nn\.\w+Loss(2d)?", name)]
ACTIVATIONS = [name for name, value in ENTRIES.items() if "activation" in value.__module__]


@pytest.mark.parametrize("name", LOSSES + ACTIVATIONS)
def test_loss_or_activation_gives_its_formula(name):
    assert has_formula(ENTRIES[name])


def test_sections_are_told_apart():
    text = "Do.\n\n    y = x\n\nArgs:\n    a, b: two: of them.\n\nShape: (N)."
    assert sections(text) == {
        "": "Do.\n\n    y = x\n",
        "Args": "\n    a, b: two: of them.\n",
        "Shape": "(N).",
    }
    assert documented(sections(text)["Args"]) == {"a", "b"}
