"""RAFT: names and shapes of its state, flows and gradients, from torchvision."""

from __future__ import annotations

import hashlib

import pytest

import taper
from taper.vision import models
from taper.vision.models import optical_flow

# Parameters, entries of the state, the start of the SHA-256 of their names and shapes; the sums of
# the first and the third flow, and the sum of the norms of the gradients of their mean.
EXPECTED = {
    "raft_small": (990162, 106, "6c33f98fcce1", -8698.2246, -18012.4629, 249.7243),
    "raft_large": (5257536, 169, "13db9bb0af9f", -3742.9685, -5477.6616, 114.5775),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_flows_and_gradients_are_torchvisions(name):
    taper.manual_seed(0)
    model = models.get_model(name, weights=None)
    state = model.state_dict()
    lines = "\n".join(f"{key} {tuple(value.shape)}" for key, value in state.items())
    count = sum(each.numel() for each in model.parameters())
    facts = (count, len(state), hashlib.sha256(lines.encode()).hexdigest()[:12])
    assert facts == EXPECTED[name][:3]
    taper.manual_seed(1)
    first, second = taper.rand(1, 3, 128, 128), taper.rand(1, 3, 128, 128)
    flows = model(first, second, num_flow_updates=3)
    sum(flow.abs().mean() * 0.8**nr for nr, flow in enumerate(flows)).backward()
    norms = sum(each.grad.norm().item() for each in model.parameters() if each.grad is not None)
    found = (flows[0].sum().item(), flows[2].sum().item(), norms)
    assert found == pytest.approx(EXPECTED[name][3:], rel=2e-5)


def test_pictures_are_checked():
    model = optical_flow.raft_small()
    picture = taper.zeros(1, 3, 64, 64)
    with pytest.raises(ValueError, match="should be at least 16"):
        model(picture, picture)
    with pytest.raises(ValueError, match="divisible by 8, instead got 64"):
        model(picture[..., :63], picture[..., :63])
    with pytest.raises(ValueError, match="same shape"):
        model(picture, picture[..., :32])
    assert optical_flow.Raft_Large_Weights.DEFAULT.name == "C_T_SKHT_V2"
