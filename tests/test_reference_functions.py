"""The reference of functions: what `help` shows of `nn.functional` and of what is used most.

Each text describes every parameter, says the shape or what is returned, and shows an example.
"""

from __future__ import annotations

import doctest
import functools
import inspect
import re
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import taper
from taper.nn import functional
from taper.opdef import composites, registry
from taper.ops import load_all

load_all()

# The functions and Tensor methods that programs use most, the most used first.
MOST_USED = """
manual_seed to randn backward tensor item save view cat size zeros sum ones float load transpose
rand detach from_numpy cpu randint unsqueeze arange clone mean stack reshape exp contiguous
empty squeeze ones_like numpy zeros_like copy_ dim max fill_ add argmax mm add_ numel full
flatten expand where pow log requires_grad_ randperm eq randn_like mul_ rand_like zero_ cos
permute full_like split long t mul abs eye min sin matmul type sqrt tolist empty_like norm
sigmoid double is_grad_enabled masked_fill half log_softmax register_hook as_tensor repeat div
softmax tanh bool relu int allclose is_contiguous normal_ bmm uniform_ neg gather data_ptr
is_tensor chunk clamp retain_grad sub stride clamp_ view_as einsum narrow div_ linspace isnan
all multinomial cuda tril std topk sub_ triu select rsqrt new_zeros outer expand_as log1p
scatter_ diag cumsum type_as index_select any normal sort bernoulli detach_ maximum var unbind
random_ minimum argsort logsumexp pin_memory nonzero masked_fill_ prod square flip mv
scatter_add_ le new_tensor
""".split()

NOUNS_FOLLOW = "A All An As At Each Half How One The What Where Whether Which".split()

# Longer texts are not read in half a minute.
MOST_LINES = 45


def shown() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in MOST_USED:
        for owner in (taper, taper.Tensor):
            value = getattr(owner, name, None)
            if isinstance(value, types.FunctionType):
                yield f"{owner.__name__}.{name}", value
    for name in functional.__all__:
        yield f"functional.{name}", getattr(functional, name)


SHOWN = dict(shown())
every_function = pytest.mark.parametrize("name", list(SHOWN))


def text_of(name: str) -> str:
    return inspect.getdoc(SHOWN[name]) or ""


def reference_of(name: str) -> str:
    """The text, or that of the function of which this one is the in-place version."""
    text = text_of(name)
    twin = re.match(r"In-place version of `(\w+)`", text)
    return inspect.getdoc(getattr(taper, twin[1])) or "" if twin else text


def parameters(name: str) -> set[str]:
    found = list(inspect.signature(SHOWN[name]).parameters)
    if name.startswith("Tensor.") and found[:1] in (["self"], ["input"]):
        del found[0]
    return set(found)


def described(text: str) -> set[str]:
    """The names in front of the colons of the section `Args`."""
    block = re.search(r"^Args:\n((?: .*\n)+)", text + "\n", re.MULTILINE)
    lines = re.findall(r"^    ([\w, ]+): ", block[1] if block else "", re.MULTILINE)
    return {each for line in lines for each in line.split(", ")}


def begins_with_a_verb(text: str) -> bool:
    """Whether the first word is a word, and none of those that noun phrases begin with."""
    if text.startswith("In-place version of `"):
        return True
    first = re.match(r"[A-Z][a-z]+\b", text)
    return first is not None and first[0] not in NOUNS_FOLLOW


@functools.cache
def examples_of(text: str) -> doctest.DocTest:
    return doctest.DocTestParser().get_doctest(text, {}, "example", None, None)


def test_the_list_is_there():
    assert len(MOST_USED) == len(set(MOST_USED)) == 150
    missing = [name for name in MOST_USED if not any(key.endswith(f".{name}") for key in SHOWN)]
    assert missing == []


@every_function
def test_every_parameter_is_described_and_nothing_else(name):
    words = described(reference_of(name))
    assert parameters(name) - words == set()
    assert words - parameters(name) - {"input", "self", "out"} == set()


def test_in_place_functions_show_no_out():
    shown = [inspect.signature(taper.Tensor.add_), inspect.signature(taper.exp_)]
    assert [str(each) for each in shown] == ["(input, other, *, alpha=1)", "(input)"]


@every_function
def test_shape_or_result_is_said(name):
    assert re.search(r"^(Shape|Returns): \S", reference_of(name), re.MULTILINE)


@every_function
def test_the_text_begins_with_a_verb_and_is_short(name):
    text = text_of(name)
    assert begins_with_a_verb(text)
    assert len(text.splitlines()) <= MOST_LINES


def test_all_operators_begin_with_a_verb():
    docs = {entry.name: entry.doc for entry in registry.values() if entry.public}
    docs |= {name: inspect.getdoc(function) or "" for name, function in composites.items()}
    assert sorted(name for name, text in docs.items() if not begins_with_a_verb(text)) == []


@every_function
def test_the_example_is_there_and_true(name):
    text = reference_of(name)
    assert ">>> " in text.partition("\nExample:\n")[2]
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    output: list[str] = []
    runner.run(examples_of(text), out=output.append, clear_globs=False)
    assert output == []
