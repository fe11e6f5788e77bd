"""Mixed precision on both: the tests of `tests/amp` on PyTorch, all operators, training.

Operators are the rows of `opcases`, each in a block of autocast: dtypes, values, graphs and
gradients, for float32, float64, the dtype of the block and a mixture.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch as real_torch
import torch.cpu.amp
import torch.cuda.amp

import taper
from op_templates import CASES, Call, as_numpy, case_id, outputs_of, samples_of

FOLDER = Path(__file__).parents[1] / "amp"

# PyTorch's forward mode compiles its decompositions with something that it has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script")


# --- the tests of `tests/amp` ----------------------------------------------------------------


@pytest.fixture
def torch():
    return real_torch


def _load(path: Path):
    name = f"amp_on_pytorch_{path.stem}"
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module


for _path in sorted(FOLDER.glob("test_*.py")):
    for _name, _value in vars(_load(_path)).items():
        _marks = {mark.name for mark in getattr(_value, "pytestmark", [])}
        if _name.startswith("test_") and "taper_only" not in _marks:
            globals()[f"{_path.stem}__{_name}"] = _value


# --- the lists -------------------------------------------------------------------------------

# What taper does not have, or has under no name of its own.
_NOT_HERE = {
    "_addmm_activation",
    "_convolution",
    "_grid_sampler_2d_cpu_fallback",
    "_lu_with_info",
    "_native_multi_head_attention",
    "fake_quantize_per_tensor_affine",
}
# Names of the functions behind PyTorch's operators.
_FUNCTIONS = {
    "adaptive_max_pool3d": "adaptive_max_pool3d",
    "cross_entropy_loss": "cross_entropy",
    "nll_loss": "nll_loss_forward",
    "nll_loss2d": "nll_loss2d_forward",
    "stft": "uncentred_stft",
    "multilabel_margin_loss": "multilabel_margin_loss_forward",
    "fractional_max_pool2d": "fractional_by_samples",
    "fractional_max_pool3d": "fractional_by_samples",
}


def test_every_operator_of_pytorchs_lists_is_on_one():
    casts = importlib.import_module("taper.amp.casts")
    known = {
        name.split("::")[1].split(".")[0]
        for name in real_torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCPU")
        if name.startswith("aten::")  # torchvision may have added its own
    }
    functions = [*casts.LOWER_PRECISION, *casts.SINGLE, *casts.WIDEST]
    ours = {each.__name__ for each in functions}
    ours |= {each.__qualname__ for each in functions}
    ours |= {name.removeprefix("numbered_") for name in ours}
    ours |= {name.removeprefix("plain_") for name in ours}
    ours |= {name.removesuffix("_reduced") for name in ours}
    missing = {name for name in known - _NOT_HERE if _FUNCTIONS.get(name, name) not in ours}
    assert missing == set()


# --- operators -------------------------------------------------------------------------------

# Where the two differ for another reason than autocast, or in what PyTorch's kernels call inside.
_DIFFERENT = {
    "fft.fftshift": "kernels of PyTorch that join tensors refuse the other half precision",
    "fft.ifftshift": "likewise",
    "roll": "likewise",
    "matrix_exp": "likewise, and in half precision it gives nan",
    "linalg.matrix_exp": "likewise",
    "linalg.pinv": "has gradients here; in PyTorch their dtypes clash",
    "nn.functional.bilinear": "is computed in bfloat16 inside, with a result in float32",
    "lstm": "oneDNN has no float16 on most machines",
    "topk": "chooses others of equal elements",
    "unique": "counts nan differently in bfloat16",
    "special.i1": "has a gradient in bfloat16",
    "special.i1e": "has a gradient in bfloat16",
}
# Mixtures of dtypes that both refuse, with different words.
_REFUSED_OTHERWISE = {
    "binomial",
    "embedding_bag",
    "linalg.solve_triangular",
    "native_batch_norm",
    "native_group_norm",
    "native_layer_norm",
    "nn.functional.batch_norm",
    "nn.functional.embedding_bag",
    "nn.functional.group_norm",
    "nn.functional.instance_norm",
    "nn.functional.layer_norm",
}
_BOUNDS = {"bfloat16": 3e-2, "float16": 4e-3}


class AutocastCall(Call):
    """A sample as a call inside a block; in a mixture every second tensor is low."""

    def __init__(self, package, case, sample, dtype, lower, mixed):
        self.low = getattr(package, lower) if mixed else None
        self.count = 0
        super().__init__(package, case, sample, dtype, case.differentiable)
        self.lower = getattr(package, lower)

    def _array(self, value):
        tensor = super()._array(value)
        if self.low is None or not tensor.is_floating_point():
            return tensor
        self.count += 1
        if self.count % 2:
            return tensor
        if tensor.requires_grad:
            self.leaves.pop()
        tensor = tensor.detach().to(self.low)
        if self.requires_grad:
            self.leaves.append(tensor.requires_grad_())
        return tensor

    def attempt(self):
        self.package.manual_seed(17)
        with warnings.catch_warnings(), self.package.autocast("cpu", self.lower):
            warnings.simplefilter("ignore")
            try:
                return outputs_of(self()), None
            except Exception as error:
                return [], error


def essence(error):
    return None if error is None else (type(error).__name__, str(error).split("\n")[0])


def assert_close(found, expected, bound, what):
    assert str(found.dtype) == str(expected.dtype), what
    assert tuple(found.shape) == tuple(expected.shape), what
    array = as_numpy(expected)
    finite = np.abs(array[np.isfinite(array)])
    scale = max(1.0, float(finite.max(initial=0)))
    np.testing.assert_allclose(
        as_numpy(found), array, rtol=bound, atol=bound * scale, equal_nan=True, err_msg=what
    )


def assert_same_names(ours, theirs, what):
    """Assert the same nodes in the same places: the casts stand where PyTorch's stand."""
    pairs, seen = [(ours, theirs)], set()
    while pairs:
        one, other = pairs.pop()
        if one is None or other is None:
            assert one is other, what
        elif other not in seen:
            seen.add(other)
            assert one.name() == other.name(), what
            below = [[each for each, _ in node.next_functions] for node in (one, other)]
            pairs.extend(zip(*below, strict=True))


def gradients(package, outputs, leaves):
    starts = [package.ones_like(each) for each in outputs]
    try:
        return package.autograd.grad(outputs, leaves, starts, allow_unused=True)
    except Exception as error:
        return [type(error)] * len(leaves)


def compare(case, sample, dtype, lower, mixed, what):
    ours, theirs = (
        AutocastCall(package, case, sample, dtype, lower, mixed) for package in (taper, real_torch)
    )
    (found, error), (expected, refusal) = ours.attempt(), theirs.attempt()
    if mixed and case.name in _REFUSED_OTHERWISE:
        return
    assert essence(error) == essence(refusal), what
    bound = max(_BOUNDS[lower], _BOUNDS["bfloat16"] if dtype == "bfloat16" else 0)
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, bound, what)
        assert one.requires_grad == other.requires_grad, what
        if case.graph:
            assert_same_names(one.grad_fn, other.grad_fn, what)
    pairs = [(a, b) for a, b in zip(found, expected, strict=True) if b.requires_grad]
    if not pairs or not theirs.leaves:
        return
    mine = gradients(taper, [a for a, _ in pairs], ours.leaves)
    others = gradients(real_torch, [b for _, b in pairs], theirs.leaves)
    for one, other in zip(mine, others, strict=True):
        if other is None or isinstance(other, type):
            assert one is other or isinstance(one, type), f"{what}: gradient {one} {other}"
        else:
            assert_close(one, other, bound, f"{what}: gradient")


@pytest.mark.parametrize("case", [c for c in CASES if c.name not in _DIFFERENT], ids=case_id)
def test_operators(case):
    for number, sample in enumerate(samples_of(case)[:8]):
        for dtype, lower, mixed in (
            ("float32", "bfloat16", False),
            ("float32", "bfloat16", True),
            ("bfloat16", "bfloat16", False),
            ("float64", "bfloat16", False),
            ("float32", "float16", False),
            ("float32", "float16", True),
            ("bfloat16", "float16", False),
        ):
            what = f"{case.name} sample {number} {dtype} {'mixed ' * mixed}in {lower}"
            compare(case, sample, dtype, lower, mixed, what)


# --- a backward pass inside the block --------------------------------------------------------

_ROUNDED_INSIDE = {
    "nn.functional.bilinear": "PyTorch's kernel multiplies inside",
    "lstm": "PyTorch's kernel does not ask, the steps here do",
}


def gradients_inside(package, case, sample, enabled):
    package.manual_seed(17)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call = Call(package, case, sample, "float32", True)
        outputs = [each for each in outputs_of(call()) if each.requires_grad]
        if not outputs:
            return []
        rng = np.random.default_rng(1)
        starts = [
            package.from_numpy(np.array(rng.standard_normal(tuple(each.shape)))).to(each.dtype)
            for each in outputs
        ]
        with package.autocast("cpu", enabled=enabled):
            found = package.autograd.grad(outputs, call.leaves, starts, allow_unused=True)
    return [None if each is None else as_numpy(each) for each in found]


def is_rounded(plain, inside):
    """Return whether a gradient was computed in bfloat16."""
    if plain is None or not plain.size or not np.isfinite(plain).all():
        return None
    return bool(np.abs(inside - plain).max() > 3e-5 * max(1e-3, np.abs(plain).max()))


@pytest.mark.parametrize(
    "case",
    [c for c in CASES if c.differentiable and c.name not in _ROUNDED_INSIDE],
    ids=case_id,
)
def test_gradients_that_are_computed_inside_a_block(case):
    for sample in samples_of(case):
        rounded = []
        for package in (taper, real_torch):
            try:
                pair = [gradients_inside(package, case, sample, each) for each in (False, True)]
            except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
                rounded.append(type(error).__name__)
                continue
            rounded.append([is_rounded(*each) for each in zip(*pair, strict=True)])
        assert rounded[0] == rounded[1], case.name


# --- training --------------------------------------------------------------------------------


def perceptron(package):
    nn = package.nn
    return nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4))


def convolutional(package):
    nn = package.nn
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1),
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(6 * 4 * 4, 4),
    )


def trained(package, model, shape, lower, scaled, steps=20):
    """Return the losses of some steps, the scale at the end, and the dtypes on the way."""
    package.manual_seed(5)
    network = model(package)
    optimizer = package.optim.AdamW(network.parameters(), lr=3e-3)
    scaler = package.amp.GradScaler("cpu", enabled=scaled, init_scale=2.0**15, growth_interval=5)
    inputs, targets = package.randn(16, *shape), package.randint(0, 4, (16,))
    losses, seen = [], set()
    for _ in range(steps):
        with package.autocast("cpu", dtype=getattr(package, lower)):
            logits = network(inputs)
            loss = package.nn.functional.cross_entropy(logits, targets)
        seen.add((str(logits.dtype), str(loss.dtype)))
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        package.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
    seen |= {str(each.dtype) for each in network.parameters()}
    return losses, scaler.get_scale(), seen


@pytest.mark.parametrize(("lower", "scaled"), [("bfloat16", False), ("float16", True)])
@pytest.mark.parametrize(
    ("model", "shape"), [(perceptron, (8,)), (convolutional, (1, 8, 8))], ids=["mlp", "conv"]
)
def test_training(model, shape, lower, scaled):
    ours = trained(taper, model, shape, lower, scaled)
    theirs = trained(real_torch, model, shape, lower, scaled)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=_BOUNDS[lower], atol=_BOUNDS[lower])
    assert ours[1:] == theirs[1:]
    assert ours[0][-1] < 0.7 * ours[0][0]


def as_in_nanogpt(package, dtype):
    """Train in the way of nanoGPT and many others, with names for CUDA that exist without it."""
    kinds = {"float32": "float32", "bfloat16": "bfloat16", "float16": "float16"}
    device_type = "cpu"
    context = package.amp.autocast(device_type=device_type, dtype=getattr(package, kinds[dtype]))
    scaler = package.cuda.amp.GradScaler(enabled=(dtype == "float16"))
    package.manual_seed(1)
    model = perceptron(package)
    optimizer = package.optim.AdamW(model.parameters(), lr=1e-2)
    x, y = package.randn(8, 8), package.randint(0, 4, (8,))
    losses = []
    for _ in range(4):
        with context:
            loss = package.nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_as_in_nanogpt(dtype):
    found, warned = [], []
    for package in (taper, real_torch):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found.append(as_in_nanogpt(package, dtype))
        warned.append([(each.category, str(each.message)) for each in caught])
    np.testing.assert_allclose(*found, rtol=3e-2)
    assert warned[0] == warned[1]
