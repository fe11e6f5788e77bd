"""Detectors and the poolings of regions against torchvision's Python part."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import taper
import taper.vision
from detector_probe import KINDS, run
from parity import detection_oracle, torchvision_oracle
from vision.test_detection import EXPECTED

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's own
torchvision = torchvision_oracle.load()
detection_oracle.use_nms(torchvision)


@pytest.fixture(autouse=True)
def eager():
    """Keep torchvision from compiling the pooling of regions, which takes a minute."""
    with torch.compiler.set_stance("force_eager"):
        yield


@pytest.mark.parametrize("kind", KINDS)
def test_recorded_numbers_are_torchvisions(kind):
    found = run(torch, torchvision, kind)
    assert list(found) == list(EXPECTED[kind])
    for name, numbers in EXPECTED[kind].items():
        assert found[name] == pytest.approx(numbers, rel=1e-5, abs=2e-6), name


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("ratio", [-1, 2])
def test_regions_and_their_gradients(aligned, ratio):
    random = np.random.default_rng(0)
    picture = random.standard_normal((2, 3, 11, 13))
    # Inside: beyond the edge, torchvision's Python part differs from its compiled code.
    corner = random.random((7, 2)) * 7 - 0.5
    boxes = np.concatenate([corner, corner + random.random((7, 2)) * 7], axis=1)
    rows = np.concatenate([random.integers(0, 2, (7, 1)), boxes], axis=1)
    results = []
    for package, ops in ((torch, torchvision.ops), (taper, taper.vision.ops)):
        x = package.tensor(picture, requires_grad=True)
        found = ops.roi_align(x, package.tensor(rows), (3, 4), 0.8, ratio, aligned)
        (found * package.arange(float(found.numel())).reshape(found.shape).sin()).sum().backward()
        results.append((found.detach().numpy(), x.grad.numpy()))
    for theirs, ours in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
