"""PyTorch's own samples of wrong calls: the same type and first line of the error (M1, M4, M5)."""

from __future__ import annotations

import types
from typing import Any

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

import taper

# That import forbids setting flags of backends, which other tests do.
torch.backends.flags_frozen.__globals__["__allow_nonbracketed_mutation_flag"] = True

# Not compared: methods that Python finds on C types only, and names that are left out.
_REFLECTED = ("__r", "jiterator", "_chunk_cat")
# Texts that differ: PyTorch lists overloads, or reports a check of its own C++ code.
_OTHER_WORDS = {"linspace", "logspace", "narrow_copy"}


# PyTorch enlarges the output within its storage, and then it overlaps.
_RESIZED = ("gather", 7)


def samples() -> list[tuple[Any, int, Any]]:
    return [
        (op, number, wrong)
        for op in op_db
        if op.error_inputs_func is not None and not op.name.startswith(_REFLECTED)
        for number, wrong in enumerate(op.error_inputs("cpu"))
        if (op.name, number) != _RESIZED
    ]


def as_taper(value: Any, known: dict[Any, Any]) -> Any:
    """The same value for taper; tensors that share memory share it again."""
    if isinstance(value, torch.Tensor) and id(value) in known:
        return known[id(value)]
    if isinstance(value, torch.Tensor):
        if value.device.type != "cpu" or value.layout is not torch.strided or value.dim() > 64:
            pytest.skip("a device, a layout or more dimensions than there are here")
        storage = value.untyped_storage()
        key = (storage.data_ptr() or id(value), value.dtype)
        if key not in known:
            count = storage.nbytes() // value.element_size()
            flat = torch.as_strided(value.detach(), (count,), (1,), 0)
            known[key] = taper.tensor(flat.tolist(), dtype=as_taper(value.dtype, known)), value
        made = known[key][0].as_strided(tuple(value.shape), value.stride(), value.storage_offset())
        known[id(value)] = made.detach().requires_grad_() if value.requires_grad else made
        return known[id(value)]
    if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
        return getattr(taper, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return taper.device(str(value))
    if isinstance(value, list | tuple):
        return type(value)([as_taper(each, known) for each in value])
    if isinstance(value, dict):
        return {name: as_taper(each, known) for name, each in value.items()}
    return value


def function_of(op: Any) -> Any:
    """Return the function of taper that an entry means; one written for the tests is kept."""
    found = op.op
    if isinstance(found, types.FunctionType) and found.__module__.startswith("torch.testing"):
        names = {**found.__globals__, "torch": taper, "F": taper.nn.functional}
        return types.FunctionType(
            found.__code__, names, found.__name__, found.__defaults__, found.__closure__
        )
    place: Any = taper
    for part in op.name.split("."):
        if not hasattr(place, part):
            return getattr(taper.Tensor, found.__name__)
        place = getattr(place, part)
    return place


def outcome(function: Any, args: Any, kwargs: Any) -> tuple[str, str]:
    try:
        function(*args, **kwargs)
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0]
    return "nothing", ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "op, number, wrong", [pytest.param(*each, id=f"{each[0].name}-{each[1]}") for each in samples()]
)
def test_found_m1_m4_m5_wrong_calls_are_refused_as_by_pytorch(op, number, wrong):
    sample = wrong.sample_input
    args, kwargs = (sample.input, *sample.args), sample.kwargs
    known: dict[Any, Any] = {}
    mine = as_taper(args, known), as_taper(kwargs, known)
    kind, text = outcome(op.op, args, kwargs)
    found_kind, found_text = outcome(function_of(op), *mine)
    if op.name == "narrow_copy":  # PyTorch checks it with a text meant for its own errors
        kind, found_kind = "Error", "Error" if found_kind != "nothing" else found_kind
    assert found_kind == kind
    if op.name not in _OTHER_WORDS:
        assert found_text == text
