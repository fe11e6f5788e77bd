"""Modules, the same constructor and the same seed on taper and on PyTorch."""

from __future__ import annotations

import copy
import inspect
import pickle
import types
import warnings

import numpy as np
import pytest
import torch

import taper
from taper import nn

HERE = types.SimpleNamespace(
    **{name: getattr(taper, name) for name in dir(taper) if not name.startswith("__")} | {"nn": nn}
)


def tensor(library, values, requires_grad=False):
    return library.tensor(np.asarray(values), requires_grad=requires_grad)


def floats(*shape):
    """Return values apart from each other and from the corners of activations."""
    random = np.random.default_rng(sum(shape) + 7 * len(shape))
    return (random.normal(size=shape) * 2).astype(np.float32)


def positive(*shape):
    return np.abs(floats(*shape)) * 0.2 + 0.1


def numbers(high, *shape):
    return np.random.default_rng(0).integers(0, high, size=shape)


def signs(*shape):
    return np.where(floats(*shape) > 0, 1.0, -1.0).astype(np.float32)


def array(value):
    return np.asarray(value.detach().tolist())


def assert_close(ours, theirs, rtol=1e-5, atol=1e-6):
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype) == str(theirs.dtype)
    np.testing.assert_allclose(array(ours), array(theirs), rtol=rtol, atol=atol)


# --------------------------------------------------------------------- the modules and their inputs

F53 = floats(5, 3)
MODULES = [
    # linear, shape, lookup
    ("nn.Identity(3, anything=4)", [F53]),
    ("nn.Linear(3, 4)", [F53]),
    ("nn.Linear(3, 4)", [floats(3)]),
    ("nn.Linear(3, 4)", [floats(2, 5, 3)]),
    ("nn.Linear(3, 4, bias=False)", [F53]),
    ("nn.Linear(3, 17, dtype=torch.float64)", [F53.astype(np.float64)]),
    ("nn.Linear(70, 50)", [floats(5, 70)]),
    ("nn.Bilinear(3, 4, 2)", [F53, floats(5, 4)]),
    ("nn.Bilinear(3, 4, 2, bias=False)", [F53, floats(5, 4)]),
    ("nn.Flatten()", [floats(2, 3, 4)]),
    ("nn.Flatten(0, 1)", [floats(2, 3, 4)]),
    ("nn.Unflatten(1, (2, 3))", [floats(2, 6)]),
    ("nn.Embedding(6, 3)", [numbers(6, 2, 4)]),
    ("nn.Embedding(6, 3, padding_idx=1)", [numbers(6, 2, 4)]),
    ("nn.Embedding(6, 3, padding_idx=-1, scale_grad_by_freq=True)", [numbers(6, 2, 4)]),
    ("nn.Embedding(6, 3, max_norm=1.0, norm_type=1.0)", [numbers(6, 2, 4)]),
    ("nn.Embedding.from_pretrained(torch.ones(3, 2))", [numbers(3, 2, 4)]),
    # activations
    ("nn.CELU()", [F53]),
    ("nn.CELU(0.5)", [F53]),
    ("nn.ELU()", [F53]),
    ("nn.ELU(0.5)", [F53]),
    ("nn.GELU()", [F53]),
    ("nn.GELU('tanh')", [F53]),
    ("nn.GLU()", [floats(5, 4)]),
    ("nn.GLU(dim=0)", [floats(4, 5)]),
    ("nn.Hardshrink()", [F53]),
    ("nn.Hardshrink(0.2)", [F53]),
    ("nn.Hardsigmoid()", [F53]),
    ("nn.Hardswish()", [F53]),
    ("nn.Hardtanh()", [F53]),
    ("nn.Hardtanh(-2.0, 0.5)", [F53]),
    ("nn.LeakyReLU()", [F53]),
    ("nn.LeakyReLU(0.2)", [F53]),
    ("nn.LogSigmoid()", [F53]),
    ("nn.LogSoftmax(dim=1)", [F53]),
    ("nn.Mish()", [F53]),
    ("nn.PReLU()", [F53]),
    ("nn.PReLU(3, init=0.1)", [F53]),
    ("nn.ReLU()", [F53]),
    ("nn.ReLU6()", [F53 * 4]),
    ("nn.RReLU()", [F53]),
    ("nn.RReLU(0.1, 0.2)", [F53]),
    ("nn.SELU()", [F53]),
    ("nn.SiLU()", [F53]),
    ("nn.Sigmoid()", [F53]),
    ("nn.Softmax(dim=0)", [F53]),
    ("nn.Softmax2d()", [floats(2, 3, 2, 2)]),
    ("nn.Softmin(dim=1)", [F53]),
    ("nn.Softplus()", [F53]),
    ("nn.Softplus(2.0, 1.0)", [F53]),
    ("nn.Softshrink()", [F53]),
    ("nn.Softsign()", [F53]),
    ("nn.Tanh()", [F53]),
    ("nn.Tanhshrink()", [F53]),
    ("nn.Threshold(0.1, 20.0)", [F53]),
    # dropout
    ("nn.Dropout()", [floats(20, 30)]),
    ("nn.Dropout(0.1)", [floats(7, 3)]),
    ("nn.Dropout(0.0)", [F53]),
    ("nn.Dropout1d(0.4)", [floats(5, 4, 3)]),
    ("nn.Dropout2d(0.4)", [floats(5, 4, 3, 2)]),
    ("nn.Dropout3d(0.4)", [floats(3, 4, 3, 2, 2)]),
    ("nn.AlphaDropout(0.3)", [floats(6, 5)]),
    ("nn.FeatureAlphaDropout(0.3)", [floats(6, 5, 2)]),
    # normalisation
    ("nn.BatchNorm1d(3)", [F53]),
    ("nn.BatchNorm1d(3)", [floats(5, 3, 4)]),
    ("nn.BatchNorm1d(3, affine=False)", [F53]),
    ("nn.BatchNorm1d(3, bias=False)", [F53]),
    ("nn.BatchNorm1d(3, track_running_stats=False)", [F53]),
    ("nn.BatchNorm1d(3, momentum=None, eps=1e-3)", [F53]),
    ("nn.BatchNorm2d(3)", [floats(4, 3, 2, 5)]),
    ("nn.BatchNorm2d(3, momentum=0.7)", [floats(4, 3, 2, 5)]),
    ("nn.BatchNorm3d(3)", [floats(2, 3, 2, 2, 2)]),
    ("nn.InstanceNorm1d(3)", [floats(2, 3, 4)]),
    ("nn.InstanceNorm1d(3)", [floats(3, 4)]),
    ("nn.InstanceNorm1d(3, affine=True, track_running_stats=True)", [floats(2, 3, 4)]),
    ("nn.InstanceNorm2d(3, affine=True, bias=False)", [floats(2, 3, 4, 2)]),
    ("nn.InstanceNorm3d(3)", [floats(2, 3, 2, 2, 2)]),
    ("nn.LayerNorm(3)", [F53]),
    ("nn.LayerNorm([4, 3])", [floats(2, 4, 3)]),
    ("nn.LayerNorm(3, elementwise_affine=False)", [F53]),
    ("nn.LayerNorm(3, bias=False, eps=1e-2)", [F53]),
    ("nn.GroupNorm(2, 4)", [floats(3, 4, 5)]),
    ("nn.GroupNorm(2, 4, affine=False)", [floats(3, 4, 5)]),
    ("nn.GroupNorm(2, 4, bias=False)", [floats(3, 4, 3)]),
    ("nn.RMSNorm(3)", [F53]),
    ("nn.RMSNorm([4, 3], eps=1e-3)", [floats(2, 4, 3)]),
    ("nn.RMSNorm(3, elementwise_affine=False)", [F53]),
    # distances
    ("nn.CosineSimilarity()", [F53, floats(5, 3)[::-1].copy()]),
    ("nn.CosineSimilarity(dim=0, eps=1e-3)", [F53, floats(5, 3)[::-1].copy()]),
    ("nn.PairwiseDistance()", [F53, floats(5, 3)[::-1].copy()]),
    ("nn.PairwiseDistance(1.0, keepdim=True)", [F53, floats(5, 3)[::-1].copy()]),
    # containers
    ("nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))", [F53]),
    ("nn.Sequential()", [F53]),
    ("nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.3), nn.Sequential(nn.BatchNorm1d(3)))", [F53]),
]

REDUCTIONS = ("mean", "sum", "none")
LOGITS, CLASSES = floats(5, 4), numbers(4, 5)
LOSSES = [
    ("nn.L1Loss({})", [F53, floats(3, 5).T.copy()]),
    ("nn.MSELoss({})", [F53, floats(3, 5).T.copy()]),
    ("nn.SmoothL1Loss({}, beta=0.7)", [F53, floats(3, 5).T.copy()]),
    ("nn.HuberLoss({}, delta=0.7)", [F53, floats(3, 5).T.copy()]),
    ("nn.NLLLoss({})", [LOGITS, CLASSES]),
    (
        "nn.NLLLoss({}, weight=torch.tensor([1.0, 2.0, 0.5, 3.0]), ignore_index=1)",
        [LOGITS, CLASSES],
    ),
    ("nn.NLLLoss({})", [floats(2, 4, 3, 2), numbers(4, 2, 3, 2)]),
    ("nn.CrossEntropyLoss({})", [LOGITS, CLASSES]),
    ("nn.CrossEntropyLoss({}, label_smoothing=0.1)", [LOGITS, CLASSES]),
    ("nn.CrossEntropyLoss({}, weight=torch.tensor([1.0, 2.0, 0.5, 3.0]))", [LOGITS, CLASSES]),
    ("nn.CrossEntropyLoss({})", [LOGITS, positive(5, 4)]),
    ("nn.PoissonNLLLoss({})", [F53, positive(5, 3)]),
    (
        "nn.PoissonNLLLoss({}, log_input=False, full=True)",
        [positive(5, 3), positive(3, 5).T.copy()],
    ),
    ("nn.GaussianNLLLoss({})", [F53, floats(3, 5).T.copy(), positive(5, 3)]),
    ("nn.GaussianNLLLoss({}, full=True)", [F53, floats(3, 5).T.copy(), positive(5, 3)]),
    ("nn.KLDivLoss({})", [F53, positive(5, 3)]),
    ("nn.KLDivLoss({}, log_target=True)", [F53, floats(3, 5).T.copy()]),
    ("nn.BCELoss({})", [1 / (1 + np.exp(-F53)), positive(5, 3).clip(0, 1)]),
    (
        "nn.BCELoss({}, weight=torch.tensor([1.0, 2.0, 3.0]))",
        [1 / (1 + np.exp(-F53)), positive(5, 3)],
    ),
    ("nn.BCEWithLogitsLoss({})", [F53, positive(5, 3)]),
    ("nn.BCEWithLogitsLoss({}, pos_weight=torch.tensor([1.0, 2.0, 3.0]))", [F53, positive(5, 3)]),
    ("nn.HingeEmbeddingLoss({}, margin=0.5)", [F53, signs(5, 3)]),
    ("nn.MultiLabelMarginLoss({})", [LOGITS, np.array([[1, 3, -1, 0]] * 5)]),
    ("nn.SoftMarginLoss({})", [F53, signs(5, 3)]),
    ("nn.MultiLabelSoftMarginLoss({})", [F53, (signs(5, 3) + 1) / 2]),
    ("nn.CosineEmbeddingLoss({}, margin=0.1)", [F53, floats(3, 5).T.copy(), signs(5)]),
    ("nn.MarginRankingLoss({}, margin=0.1)", [floats(5), floats(6)[1:], signs(5)]),
    ("nn.MultiMarginLoss({})", [LOGITS, CLASSES]),
    ("nn.MultiMarginLoss({}, p=2, margin=0.5)", [LOGITS, CLASSES]),
    ("nn.TripletMarginLoss({})", [F53, floats(3, 5).T.copy(), F53[::-1].copy()]),
    ("nn.TripletMarginLoss({}, p=1.0, swap=True)", [F53, floats(3, 5).T.copy(), F53[::-1].copy()]),
    ("nn.TripletMarginWithDistanceLoss({})", [F53, floats(3, 5).T.copy(), F53[::-1].copy()]),
]
WORDS, SPOKEN = np.array([[1, 2, 2], [3, 1, 0]]), (np.array([6, 5]), np.array([3, 2]))
LOSSES += [
    ("nn.CTCLoss({})", [floats(6, 2, 4), WORDS, *SPOKEN]),
    ("nn.CTCLoss({}, blank=1)", [floats(6, 2, 4), np.array([[0, 2, 2], [3, 0, 0]]), *SPOKEN]),
    ("nn.CTCLoss({}, zero_infinity=True)", [floats(3, 2, 4), WORDS, np.array([3, 3]), SPOKEN[1]]),
]
CASES = [
    *MODULES,
    *[
        (text.format(f"reduction={reduction!r}"), inputs)
        for text, inputs in LOSSES
        for reduction in REDUCTIONS
    ],
]


def made(library, text):
    library.manual_seed(42)
    return eval(text, {"nn": library.nn, "torch": library})


def differentiable(value):
    return np.issubdtype(np.asarray(value).dtype, np.floating)


def run(library, module, inputs, differentiate_all):
    """Return the output, and the gradients of inputs and parameters under a fixed cotangent."""
    given = [
        tensor(library, value, differentiable(value) and (differentiate_all or nr == 0))
        for nr, value in enumerate(inputs)
    ]
    library.manual_seed(3)
    output = module(*given)
    grads = {}
    if output.requires_grad:
        cotangent = np.random.default_rng(5).normal(size=tuple(output.shape))
        output.backward(tensor(library, cotangent).to(output.dtype))
        grads = {f"input {nr}": each.grad for nr, each in enumerate(given)}
        grads |= {name: param.grad for name, param in module.named_parameters()}
    return output, {name: grad for name, grad in grads.items() if grad is not None}


def is_loss(text):
    return "Loss(" in text


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides the total loss")
@pytest.mark.parametrize(("text", "inputs"), CASES, ids=lambda v: v if isinstance(v, str) else "")
def test_module(text, inputs):
    ours, theirs = made(HERE, text), made(torch, text)
    assert repr(ours) == repr(theirs)
    our_state, their_state = ours.state_dict(), theirs.state_dict()
    assert list(our_state) == list(their_state)
    assert our_state._metadata == their_state._metadata
    for name, value in their_state.items():
        assert_close(our_state[name], value, rtol=2e-6, atol=1e-7)
    for _ in range(2):
        for mode in (True, False):
            ours.train(mode)
            theirs.train(mode)
            ours.zero_grad()
            theirs.zero_grad()
            our_output, our_grads = run(HERE, ours, inputs, not is_loss(text))
            their_output, their_grads = run(torch, theirs, inputs, not is_loss(text))
            assert_close(our_output, their_output)
            assert our_grads.keys() == their_grads.keys()
            for name, grad in their_grads.items():
                assert_close(our_grads[name], grad, rtol=2e-5, atol=2e-6)
    for name, value in theirs.state_dict().items():
        assert_close(ours.state_dict()[name], value)


@pytest.mark.parametrize("text", sorted({text for text, _ in MODULES}))
def test_copies_and_pickles(text):
    module = made(HERE, text)
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert repr(twin) == repr(module)
        for name, value in module.state_dict().items():
            assert twin.state_dict()[name].tolist() == value.tolist()
            assert twin.state_dict()[name].data_ptr() != value.data_ptr()


CLASSES_HERE = [
    name for name in nn.modules.__all__ if name != "Module" and inspect.isclass(getattr(nn, name))
]


def shown(signature):
    """Return the name of a function that is a default, as `relu` of Transformer."""
    parameters = signature.parameters.values()
    return [(p.name, p.kind, getattr(p.default, "__name__", p.default)) for p in parameters]


@pytest.mark.parametrize("name", CLASSES_HERE)
def test_constructor_takes_the_same_arguments(name):
    ours = inspect.signature(getattr(nn, name).__init__)
    theirs = inspect.signature(getattr(torch.nn, name).__init__)
    assert shown(ours) == shown(theirs)


@pytest.mark.parametrize("name", ["Module", *CLASSES_HERE])
def test_methods_have_the_same_names(name):
    """Everything public that PyTorch's class defines itself exists here."""
    unknown = {"T_destination", "ipu", "xpu", "mtia"}
    theirs = {each for each in vars(getattr(torch.nn, name)) if not each.startswith("_")} - unknown
    assert {each for each in theirs if not hasattr(getattr(nn, name), each)} == set()


@pytest.mark.parametrize("name", nn.functional.__all__)
def test_function_takes_the_same_arguments(name):
    """This compares names and order; builtin functions of PyTorch have no signature."""
    try:
        theirs = inspect.signature(getattr(torch.nn.functional, name))
    except ValueError:
        return
    if list(theirs.parameters) == ["args", "kwargs"]:  # `return_indices` chooses one of two
        theirs = inspect.signature(getattr(torch.nn.functional, f"{name}_with_indices"))
    ours = inspect.signature(getattr(nn.functional, name))
    shown = [(p.name, p.default) for p in ours.parameters.values() if p.name != "out"]
    assert shown == [(p.name, p.default) for p in theirs.parameters.values() if p.name != "out"]


# ----------------------------------------------------------------------------------- initial values

FILLS = [
    ("uniform_(t, -0.5, 2.0)", (3, 4)),
    ("uniform_(t)", (40,)),
    ("normal_(t, 1.0, 0.5)", (3, 4)),
    ("normal_(t)", (5, 7)),
    ("trunc_normal_(t)", (6, 5)),
    ("trunc_normal_(t, 0.5, 2.0, -1.0, 3.0)", (6, 5)),
    ("trunc_normal_(t, 0.0, 1.0, 1.5, 2.0)", (6, 5)),
    ("constant_(t, 0.3)", (2, 3)),
    ("ones_(t)", (3,)),
    ("zeros_(t)", (3,)),
    ("eye_(t)", (3, 5)),
    ("dirac_(t)", (4, 3, 3)),
    ("dirac_(t, 2)", (4, 2, 3, 3)),
    ("dirac_(t)", (2, 2, 3, 4, 3)),
    ("xavier_uniform_(t)", (4, 6)),
    ("xavier_uniform_(t, 2.0)", (4, 6, 3)),
    ("xavier_normal_(t, 0.5)", (4, 6)),
    ("kaiming_uniform_(t)", (4, 6)),
    ("kaiming_uniform_(t, 0.3, 'fan_out', 'leaky_relu')", (4, 6, 2, 2)),
    ("kaiming_uniform_(t, mode='fan_out', nonlinearity='relu')", (4, 6)),
    ("kaiming_normal_(t, nonlinearity='selu')", (4, 6)),
    ("orthogonal_(t)", (4, 6)),
    ("orthogonal_(t, 2.0)", (6, 4)),
    ("orthogonal_(t)", (4, 3, 2)),
    ("sparse_(t, 0.4)", (6, 4)),
    ("sparse_(t, 0.1, 2.0)", (10, 3)),
]


@pytest.mark.parametrize(("text", "shape"), FILLS, ids=str)
@pytest.mark.parametrize("with_generator", [False, True], ids=["default", "generator"])
def test_init(text, shape, with_generator):
    if with_generator and text.split("(")[0] in ("constant_", "ones_", "zeros_", "eye_", "dirac_"):
        text = text.replace("generator", "")
        with_generator = False
    call = text[:-1] + (", generator=g)" if with_generator else ")")
    results = []
    for library in (HERE, torch):
        library.manual_seed(11)
        filled = library.nn.Parameter(library.empty(shape))
        names = {"t": filled, "g": library.Generator().manual_seed(5)}
        result = eval(call, vars(library.nn.init) | names)
        assert result is filled
        results.append((filled, library.rand(3)))
    assert_close(results[0][0], results[1][0], rtol=1e-5, atol=1e-6)
    assert_close(results[0][1], results[1][1], rtol=0, atol=0)


# ------------------------------------------------------------------------------ errors and warnings


def outcome(library, text):
    names = {"nn": library.nn, "torch": library, "init": library.nn.init, "U": library.nn.utils}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = repr(eval(text, names))
        except Exception as error:
            found = (type(error).__name__, str(error).replace("'taper.", "'torch."))
    return found, [(each.category, str(each.message)) for each in caught]


REFUSED = [
    "nn.Module(1, 2)",
    "nn.Module(x=1)",
    "nn.Module()(1)",
    "nn.Module().nothing",
    "nn.Module().train(3)",
    "nn.Module().load_state_dict(3)",
    "nn.Module().to(torch.int32)",
    "nn.Module().to(torch.complex64)",
    "nn.Module().register_parameter('a.b', None)",
    "nn.Module().register_parameter('', None)",
    "nn.Module().register_parameter(3, None)",
    "nn.Module().register_parameter('train', None)",
    "nn.Module().register_parameter('a', torch.ones(1))",
    "nn.Module().register_buffer('a', 3)",
    "nn.Module().add_module('a', 3)",
    "nn.Module().get_extra_state()",
    "nn.Linear(2, 2).__setattr__('weight', 3)",
    "nn.Linear(2, 2).__setattr__('weight', torch.ones(2, 2))",
    "nn.Linear(2, 2).load_state_dict({'weight': torch.ones(3, 3), 'other': torch.ones(1)})",
    "nn.Linear(2, 2).load_state_dict({'weight': 3}, strict=False)",
    "nn.Linear(2, 2).get_submodule('a')",
    "nn.Linear(2, 2).get_parameter('a')",
    "nn.Linear(2, 2).get_buffer('weight')",
    "nn.Linear(0, 3)",
    "nn.Bilinear(0, 1, 1)",
    "nn.Unflatten(1, 3)",
    "nn.Unflatten(1, (2, 'a'))",
    "nn.Dropout(2)",
    "nn.Dropout(-0.1)",
    "nn.Embedding(3, 2, padding_idx=7)",
    "nn.Embedding(3, 2, _weight=torch.ones(2, 2))",
    "nn.Embedding.from_pretrained(torch.ones(2))",
    "nn.Hardtanh(1, 1)",
    "nn.Hardtanh(min_value=-3, max_value=2)",
    "nn.HuberLoss(delta='a')",
    "nn.MultiMarginLoss(p=3)",
    "nn.MultiMarginLoss(weight=torch.ones(2, 2))",
    "nn.TripletMarginLoss(margin=0)",
    "nn.TripletMarginWithDistanceLoss(margin=0)",
    "nn.MSELoss(size_average=False).reduction",
    "nn.MSELoss(reduce=False).reduction",
    "nn.MSELoss(reduction='x')(torch.ones(1), torch.ones(1))",
    "nn.Softmax()(torch.ones(2, 2))",
    "nn.Softmax2d()(torch.ones(2))",
    "nn.BatchNorm1d(2)(torch.ones(2))",
    "nn.BatchNorm1d(2)(torch.ones(1, 2))",
    "nn.BatchNorm2d(2)(torch.ones(2, 2))",
    "nn.BatchNorm3d(2)(torch.ones(2, 2))",
    "nn.InstanceNorm1d(2)(torch.ones(3, 3))",
    "nn.InstanceNorm1d(2, affine=True)(torch.ones(3, 3))",
    "nn.InstanceNorm2d(2)(torch.ones(3))",
    "nn.InstanceNorm1d(2).load_state_dict({'running_mean': torch.ones(2)})",
    "nn.GroupNorm(3, 4)",
    "nn.Linear(2, 3)(torch.ones(4, 5))",
    "nn.Sequential(3)",
    "nn.Sequential(nn.ReLU())[5]",
    "nn.Sequential(nn.ReLU()) + 3",
    "nn.Sequential(nn.ReLU()) * 0",
    "nn.Sequential(nn.ReLU()) * 1.5",
    "nn.Sequential(nn.ReLU()).insert(9, nn.ReLU())",
    "nn.Sequential(nn.ReLU()).insert(0, 3)",
    "nn.ModuleList([3])",
    "nn.ModuleList([nn.ReLU()])[4]",
    "nn.ModuleList().extend(3)",
    "nn.ModuleList()(1)",
    "nn.ModuleDict({'type': nn.ReLU()})",
    "nn.ModuleDict().update(3)",
    "nn.ModuleDict().update([3])",
    "nn.ModuleDict().update([[1]])",
    "nn.ParameterList().extend(3)",
    "nn.ParameterList().extend(torch.ones(1))",
    "nn.ParameterList()(1)",
    "nn.ParameterList()[0]",
    "nn.ParameterDict()['b']",
    "nn.ParameterDict()[3]",
    "nn.ParameterDict()(1)",
    "nn.ParameterDict().popitem()",
    "nn.ParameterDict().update(3)",
    "nn.Parameter(torch.tensor([1, 2]))",
    "nn.Parameter(3)",
    "init.calculate_gain('leaky_relu', True)",
    "init.calculate_gain('foo')",
    "init.xavier_uniform_(torch.empty(3))",
    "init.kaiming_uniform_(torch.empty(2, 2), mode='x')",
    "init.kaiming_normal_(torch.empty(0, 2))",
    "init.eye_(torch.empty(3))",
    "init.dirac_(torch.empty(2, 2))",
    "init.dirac_(torch.empty(3, 2, 3), groups=2)",
    "init.orthogonal_(torch.empty(3))",
    "init.sparse_(torch.empty(3), 0.1)",
    "init.trunc_normal_(torch.empty(3), mean=10.0).shape",
    "init.constant(torch.empty(3), 2.0)",
    "U.vector_to_parameters([1], [])",
    "U.clip_grad_norm_((p for p in []), 1.0)",
    "U.clip_grad_norm([], 1.0)",
]


@pytest.mark.parametrize("text", REFUSED)
def test_errors_and_warnings(text):
    assert outcome(HERE, text) == outcome(torch, text)


# ----------------------------------------------------------------------------------- gradient tools


@pytest.mark.parametrize("order", [1, 2, 3, 0, 2.5, float("inf"), -float("inf")])
@pytest.mark.parametrize("limit", [1.0, 1000.0])
def test_clip_grad_norm(order, limit):
    results = []
    for library in (HERE, torch):
        params = [library.nn.Parameter(library.ones(3)), library.nn.Parameter(library.ones(2, 2))]
        params[0].grad = library.tensor([1.0, -2.0, 3.0])
        params[1].grad = library.tensor([[4.0, 0.0], [-1.0, 2.0]])
        total = library.nn.utils.clip_grad_norm_(params, limit, norm_type=order)
        results.append([total, *[param.grad for param in params]])
    for ours, theirs in zip(*results, strict=True):
        assert_close(ours, theirs)


def test_parameters_as_vector():
    results = []
    for library in (HERE, torch):
        library.manual_seed(0)
        model = library.nn.Sequential(library.nn.Linear(2, 3), library.nn.Linear(3, 1))
        vector = library.nn.utils.parameters_to_vector(model.parameters())
        library.nn.utils.vector_to_parameters(vector * 2, model.parameters())
        results.append([vector, *model.parameters()])
    for ours, theirs in zip(*results, strict=True):
        assert_close(ours, theirs)
