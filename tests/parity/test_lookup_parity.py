"""Bags of embeddings, one-hot vectors, distances of pairs and drawn categories against PyTorch."""

from __future__ import annotations

import pytest
import torch as pytorch

from both_packages import assert_same

NUMBERS = [0, 1, 2, 2, 5]


def bag(torch, make, offsets=(0, 2), numbers=NUMBERS, rows=6, width=3, grad=True, **options):
    weight = make(rows, width, grad=grad)
    return torch.nn.functional.embedding_bag(
        make.data(numbers), weight, None if offsets is None else make.data(list(offsets)), **options
    )


def plain_bag(torch, make, *options, offsets=(0, 2, 2)):
    return torch.embedding_bag(make(6, 3), make.data(NUMBERS), make.data(list(offsets)), *options)


BAGS = {
    **{
        f"{mode}{name}": lambda t, m, mode=mode, options=options: bag(t, m, mode=mode, **options)
        for mode in ("sum", "mean", "max")
        for name, options in {
            "": {},
            ", padding": {"padding_idx": 2},
            ", negative padding": {"padding_idx": -1},
            ", empty bags": {"offsets": (0, 0, 2, 5, 5)},
            ", empty bags and padding": {"offsets": (0, 0, 2, 4), "padding_idx": 2},
            ", last offset": {"offsets": (0, 2, 5), "include_last_offset": True},
            ", last offset early": {"offsets": (0, 2, 4), "include_last_offset": True},
            ", rows": {"offsets": None, "numbers": [[0, 1], [2, 2]]},
            ", by frequency": {"scale_grad_by_freq": True},
            ", padding by frequency": {"scale_grad_by_freq": True, "padding_idx": 1},
            ", bounded": {"grad": False, "max_norm": 0.5},
            ", bounded, other norm": {"grad": False, "max_norm": 0.5, "norm_type": 1.0},
            ", sparse": {"sparse": True, "grad": False},
            ", nothing": {"numbers": [[]], "offsets": None, "grad": False},
        }.items()
        if not (name == ", nothing" and mode != "sum")
    },
    "weighted": lambda t, m: bag(t, m, mode="sum", per_sample_weights=m(5)),
    "weighted rows": lambda t, m: bag(
        t, m, None, [[0, 1], [2, 3]], mode="sum", per_sample_weights=m(2, 2)
    ),
    "weighted, padding": lambda t, m: bag(t, m, mode="sum", per_sample_weights=m(5), padding_idx=2),
    "weights without gradient": lambda t, m: bag(
        t, m, mode="sum", per_sample_weights=m(5, grad=False)
    ),
    "only weights": lambda t, m: bag(t, m, mode="sum", per_sample_weights=m(5), grad=False),
    "plain sum": lambda t, m: plain_bag(t, m),
    "plain mean": lambda t, m: plain_bag(t, m, False, 1),
    "plain maximum": lambda t, m: plain_bag(t, m, False, 2, False, None, False, 2),
    "plain last": lambda t, m: plain_bag(t, m, False, 1, False, None, True, 2),
    "arguments swapped": lambda t, m: t.nn.functional.embedding_bag(
        m(6, 3), m.data(NUMBERS), m.data([0, 2])
    ),
    # errors
    "rows and offsets": lambda t, m: bag(t, m, (0,), [[0, 1]]),
    "no offsets": lambda t, m: bag(t, m, None),
    "3 dimensions": lambda t, m: bag(t, m, None, [[[0]]]),
    "offsets of 2 dimensions": lambda t, m: bag(t, m, [[0]]),
    "mode": lambda t, m: bag(t, m, mode="x"),
    "weighted mean": lambda t, m: bag(t, m, mode="mean", per_sample_weights=m(5)),
    "weights shape": lambda t, m: bag(t, m, mode="sum", per_sample_weights=m(4)),
    "weights dtype": lambda t, m: bag(t, m, mode="sum", per_sample_weights=m(5, dtype="float32")),
    "sparse maximum": lambda t, m: bag(t, m, mode="max", sparse=True),
    "floating numbers": lambda t, m: bag(t, m, numbers=[0.0, 1.0]),
    "number too large": lambda t, m: bag(t, m, (0,), [0, 6]),
    "negative number": lambda t, m: bag(t, m, (0,), [0, -1]),
    "first offset": lambda t, m: bag(t, m, (1, 2)),
    "last offset too large": lambda t, m: bag(t, m, (0, 6)),
    "floating offsets": lambda t, m: bag(t, m, (0.0, 1.0)),
    "padding too large": lambda t, m: bag(t, m, padding_idx=6),
    "padding too small": lambda t, m: bag(t, m, padding_idx=-7),
    "weight of 1 dimension": lambda t, m: t.nn.functional.embedding_bag(
        m.data(NUMBERS), m(6), m.data([0])
    ),
    "integer weight": lambda t, m: t.nn.functional.embedding_bag(
        m.data([0]), m.data([[1], [2]], "int32"), m.data([0])
    ),
    "complex weight": lambda t, m: t.nn.functional.embedding_bag(
        m.data([0]), m(2, 2, dtype="complex64"), m.data([0])
    ),
    "no last offset": lambda t, m: t.nn.functional.embedding_bag(
        m.data(NUMBERS), m(6, 2), m.data([], "int64"), include_last_offset=True
    ),
    "plain mode": lambda t, m: plain_bag(t, m, False, 7),
    "plain weight": lambda t, m: t.embedding_bag(m(3), m.data([0]), m.data([0])),
    "plain offsets": lambda t, m: t.embedding_bag(m(3, 2), m.data([0]), m.data([[0]])),
    "plain weights": lambda t, m: plain_bag(t, m, False, 0, False, m(4)),
    "plain weights of 2 dimensions": lambda t, m: plain_bag(t, m, False, 0, False, m(5, 1)),
    "plain weighted mean": lambda t, m: plain_bag(t, m, False, 1, False, m(5)),
    "second derivative": lambda t, m: second(t, m, bag(t, m, mode="sum") ** 2),
    "second derivative of weights": lambda t, m: second(
        t, m, bag(t, m, mode="sum", per_sample_weights=m(5)) ** 2, 1
    ),
    "pdist second derivative": lambda t, m: second(t, m, t.pdist(m(3, 4)) ** 2),
    "forward mode": lambda t, m: tangent(
        t, m(6, 3, grad=False), lambda x: t.embedding_bag(x, m.data([0]), m.data([0]))
    ),
    "pdist forward mode": lambda t, m: tangent(t, m(6, 3, grad=False), t.pdist),
    "binomial forward mode": lambda t, m: tangent(
        t, m(3, grad=False), lambda x: t.binomial(x, m(3, grad=False))
    ),
}


def second(torch, make, result, number=0):
    leaf = make.leaves[number]
    (grad,) = torch.autograd.grad(result.sum(), leaf, create_graph=True)
    return torch.autograd.grad(grad.sum(), leaf)


def tangent(torch, tensor, function):
    with torch.autograd.forward_ad.dual_level():
        return function(torch.autograd.forward_ad.make_dual(tensor, torch.ones_like(tensor)))


@pytest.mark.parametrize("name", BAGS)
def test_bags(name):
    assert_same(pytorch, BAGS[name])


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "weighted", "number too large"])
def test_bags_in_lower_precision(name, dtype):
    assert_same(pytorch, BAGS[name], dtype, factor=2)


@pytest.mark.parametrize("kinds", [("int32", "int32"), ("int64", "int32"), ("int32", "int64")])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_other_integers(mode, kinds):
    def program(torch, make):
        numbers, offsets = make.data(NUMBERS, kinds[0]), make.data([0, 2], kinds[1])
        return torch.nn.functional.embedding_bag(numbers, make(6, 3), offsets, mode=mode)

    assert_same(pytorch, program)


OTHERS = {
    "one hot": lambda t, m: t.nn.functional.one_hot(m.data([0, 2, 1])),
    "one hot of many": lambda t, m: t.nn.functional.one_hot(m.data([[0, 2], [1, 1]]), 4),
    "one hot of one": lambda t, m: t.nn.functional.one_hot(m.data(2)),
    "one hot of none": lambda t, m: t.nn.functional.one_hot(m.data([], "int64"), 3),
    "one hot, none known": lambda t, m: t.nn.functional.one_hot(m.data([], "int64")),
    "one hot, too few": lambda t, m: t.nn.functional.one_hot(m.data([0, 2]), 2),
    "one hot, no classes": lambda t, m: t.nn.functional.one_hot(m.data([0]), 0),
    "one hot, minus two": lambda t, m: t.nn.functional.one_hot(m.data([0]), -2),
    "one hot, negative": lambda t, m: t.nn.functional.one_hot(m.data([0, -2])),
    "one hot of floats": lambda t, m: t.nn.functional.one_hot(m.data([0.0])),
    "one hot of int32": lambda t, m: t.nn.functional.one_hot(m.data([0], "int32")),
    "one hot of a string": lambda t, m: t.nn.functional.one_hot("a"),
    "one hot of a fraction": lambda t, m: t.nn.functional.one_hot(m.data([0]), 2.0),
    "gumbel": lambda t, m: t.nn.functional.gumbel_softmax(m(3, 4)),
    "gumbel hard": lambda t, m: t.nn.functional.gumbel_softmax(m(3, 4), 0.5, hard=True, dim=0),
    "gumbel eps": lambda t, m: t.nn.functional.gumbel_softmax(m(3, 4), eps=1e-5),
    "gumbel of integers": lambda t, m: t.nn.functional.gumbel_softmax(m.data([1, 2])),
    **{
        f"pdist {p}": lambda t, m, p=p: t.nn.functional.pdist(m(4, 3), p)
        for p in (2, 1, 0, 0.5, 1.5, 3, float("inf"))
    },
    "pdist of equal rows": lambda t, m: t.pdist(m(1, 3).expand(3, 3)),
    "pdist of one row": lambda t, m: t.pdist(m(1, 3)),
    "pdist of no row": lambda t, m: t.pdist(m(0, 3, grad=False)),
    "pdist of no column": lambda t, m: t.pdist(m(3, 0)),
    "pdist of columns": lambda t, m: t.pdist(m(3, 4).T),
    "pdist, negative": lambda t, m: t.pdist(m(3, 4), -1),
    "pdist of a vector": lambda t, m: t.pdist(m(3)),
    "pdist of a stack": lambda t, m: t.pdist(m(3, 2, 2)),
    "pdist of integers": lambda t, m: t.pdist(m.data([[1, 2], [3, 4]])),
    "pdist of half": lambda t, m: t.pdist(m(3, 2, dtype="float16")),
    "pdist of complex": lambda t, m: t.pdist(m(3, 2, dtype="complex64")),
    "pdist of a string": lambda t, m: t.pdist("a"),
    "binomial": lambda t, m: t.binomial(
        m.data([[3.0, 20.0, 200.0], [0.0, -1.0, 40.5]]), m.data([[0.3], [0.9]])
    ),
    "binomial limits": lambda t, m: t.binomial(
        m.data([5.0, 5.0, 5.0]), m.data([0.0, 1.5, float("nan")])
    ),
    "binomial of many": lambda t, m: t.binomial(
        m(500, grad=False).abs() * 40, m(500, grad=False).sigmoid()
    ),
    "binomial records": lambda t, m: t.binomial(m(3), m(3)).requires_grad,
    "binomial gradient": lambda t, m: t.binomial(m(3), m(3)).sum().backward(),
    "binomial of integers": lambda t, m: t.binomial(m.data([1]), m.data([0.5])),
    "binomial dtypes": lambda t, m: t.binomial(m.data([1.0]), m.data([0.5], "float64")),
    "binomial shapes": lambda t, m: t.binomial(m(2), m(3)),
    "binomial of half": lambda t, m: t.binomial(m.data([1.0], "float16"), m.data([0.5], "float16")),
    "binomial of a number": lambda t, m: t.binomial(m.data([1.0]), 0.5),
    "binomial generator": lambda t, m: t.binomial(
        m.data([9.0]), m.data([0.5]), generator=t.Generator().manual_seed(3)
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others(name):
    assert_same(pytorch, OTHERS[name])


LAYERS = {
    "plain": ("EmbeddingBag(6, 3)", {}),
    "padding": ("EmbeddingBag(6, 3, padding_idx=-1, mode='sum')", {}),
    "options": ("EmbeddingBag(6, 3, max_norm=2.0, norm_type=3.0, scale_grad_by_freq=True)", {}),
    "last": ("EmbeddingBag(6, 3, mode='max', include_last_offset=True)", {"offsets": [0, 2, 5]}),
    "too large": ("EmbeddingBag(6, 3, padding_idx=6)", {}),
    "other weight": ("EmbeddingBag(6, 3, _weight=torch.ones(2, 2))", {}),
    "pretrained": ("EmbeddingBag.from_pretrained(torch.ones(6, 3))", {}),
    "pretrained, trained": (
        "EmbeddingBag.from_pretrained(torch.ones(6, 3), freeze=False, padding_idx=1)",
        {},
    ),
    "pretrained vector": ("EmbeddingBag.from_pretrained(torch.ones(6))", {}),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    text, options = LAYERS[name]

    def program(torch, make):
        layer = eval(f"torch.nn.{text}", {"torch": torch})
        offsets = make.data(options.get("offsets", [0, 2]))
        if not layer.max_norm:
            make.leaves += [each for each in layer.parameters() if each.requires_grad]
        else:
            layer.weight.requires_grad_(False)
        return layer(make.data(NUMBERS), offsets), layer.weight.requires_grad, layer.padding_idx

    def shown(torch, make):
        return repr(eval(f"torch.nn.{text}", {"torch": torch}))

    assert_same(pytorch, program)
    assert_same(pytorch, shown)
