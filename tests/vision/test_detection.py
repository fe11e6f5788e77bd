"""Detectors: names and shapes of their states, losses, gradients and answers, from torchvision."""

from __future__ import annotations

import hashlib
import warnings

import pytest

import taper
from detector_probe import KINDS, run
from taper import nn, vision
from taper.vision import models
from taper.vision.models import detection
from vision.test_models import DRAWS

# Parameters, entries of the state, and the start of the SHA-256 of their names and shapes.
FACTS = {
    "fasterrcnn_mobilenet_v3_large_320_fpn": (19410754, 330, "87f499bc85fe"),
    "fasterrcnn_mobilenet_v3_large_fpn": (19410754, 330, "87f499bc85fe"),
    "fasterrcnn_resnet50_fpn": (41808406, 348, "8f7536d48a1d"),
    "fasterrcnn_resnet50_fpn_v2": (43712278, 404, "b47231bd591a"),
    "fcos_resnet50_fpn": (32322720, 372, "f7ec1597a6f9"),
    "keypointrcnn_resnet50_fpn": (59190378, 366, "93ac5e392cba"),
    "maskrcnn_resnet50_fpn": (44454513, 360, "88e5922657eb"),
    "maskrcnn_resnet50_fpn_v2": (46359409, 432, "c29ed1ced30b"),
    "retinanet_resnet50_fpn": (34068119, 354, "e699b328198b"),
    "retinanet_resnet50_fpn_v2": (38198935, 362, "0632fef83167"),
    "ssd300_vgg16": (35641826, 71, "e7e8fcbb5828"),
    "ssdlite320_mobilenet_v3_large": (3440060, 476, "0b6fa103f2d7"),
}
# What torchvision 0.28 gives for the programs of `detector_probe`, with a slow `nms`.
EXPECTED: dict[str, dict[str, list[float]]] = {
    "faster": {
        "loss_box_reg": [0.019388],
        "loss_classifier": [1.372462],
        "loss_objectness": [0.693258],
        "loss_rpn_box_reg": [0.010743],
        "gradients": [3.828243, 0.064389, 0.006733],
        "boxes 0": [100.0, 9093.151323],
        "labels 0": [100.0, 300.0],
        "scores 0": [100.0, 26.394481],
        "boxes 1": [100.0, 8036.051095],
        "labels 1": [100.0, 300.0],
        "scores 1": [100.0, 26.363473],
    },
    "mask": {
        "loss_box_reg": [0.025238],
        "loss_classifier": [1.381868],
        "loss_mask": [0.713974],
        "loss_objectness": [0.693609],
        "loss_rpn_box_reg": [0.007395],
        "gradients": [3.809946, 0.083123, 0.051465],
        "boxes 0": [100.0, 8676.649373],
        "labels 0": [100.0, 299.0],
        "masks 0": [100.0, 4613.019294],
        "scores 0": [100.0, 26.031149],
        "boxes 1": [100.0, 8176.974528],
        "labels 1": [100.0, 294.0],
        "masks 1": [100.0, 4115.808222],
        "scores 1": [100.0, 25.896743],
    },
    "keypoint": {
        "loss_box_reg": [0.013639],
        "loss_classifier": [1.376792],
        "loss_keypoint": [6.408843],
        "loss_objectness": [0.693333],
        "loss_rpn_box_reg": [0.024944],
        "gradients": [4.544802, 0.281632, 0.0],
        "boxes 0": [100.0, 8747.140611],
        "keypoints 0": [100.0, 22415.890219],
        "keypoints_scores 0": [100.0, 179.518624],
        "labels 0": [100.0, 189.0],
        "scores 0": [100.0, 25.557561],
        "boxes 1": [100.0, 7708.117023],
        "keypoints 1": [100.0, 19574.33055],
        "keypoints_scores 1": [100.0, 181.626511],
        "labels 1": [100.0, 183.0],
        "scores 1": [100.0, 25.547006],
    },
    "retina": {
        "bbox_regression": [0.689825],
        "classification": [1.128884],
        "gradients": [0.854248, 8.3e-05, 0.600925],
        "boxes 0": [300.0, 28574.136505],
        "labels 0": [300.0, 530.0],
        "scores 0": [300.0, 3.000034],
        "boxes 1": [300.0, 25121.265284],
        "labels 1": [300.0, 532.0],
        "scores 1": [300.0, 3.000031],
    },
    "fcos": {
        "bbox_ctrness": [0.70011],
        "bbox_regression": [0.998854],
        "classification": [1.124948],
        "gradients": [8.225573, 0.166441, 0.003689],
        "boxes 0": [100.0, 9128.753861],
        "labels 0": [100.0, 197.0],
        "scores 0": [100.0, 7.793304],
        "boxes 1": [100.0, 8128.376471],
        "labels 1": [100.0, 181.0],
        "scores 1": [100.0, 7.851427],
    },
    "ssd": {
        "bbox_regression": [3.997997],
        "classification": [9.532875],
        "gradients": [19.891405, 5.942717, 0.0],
        "boxes 0": [200.0, 18034.518158],
        "labels 0": [200.0, 376.0],
        "scores 0": [200.0, 89.54221],
        "boxes 1": [200.0, 16198.060186],
        "labels 1": [200.0, 352.0],
        "scores 1": [200.0, 89.967713],
    },
}


@pytest.mark.parametrize("name", FACTS)
def test_names_and_shapes_of_the_state_are_torchvisions(name, monkeypatch):
    for each in (*DRAWS, "xavier_uniform_"):
        monkeypatch.setattr(nn.init, each, lambda tensor, *args, **kwargs: tensor)
    model = models.get_model(name, weights=None, weights_backbone=None)
    state = model.state_dict()
    lines = "\n".join(f"{key} {tuple(value.shape)}" for key, value in state.items())
    count = sum(each.numel() for each in model.parameters())
    assert (count, len(state), hashlib.sha256(lines.encode()).hexdigest()[:12]) == FACTS[name]


def test_every_detector_has_recorded_facts():
    assert set(models.list_models(detection)) == set(FACTS)
    assert models.get_weight("SSD300_VGG16_Weights.DEFAULT").name == "COCO_V1"


@pytest.mark.parametrize("kind", KINDS)
def test_losses_gradients_and_answers_are_torchvisions(kind):
    found = run(taper, vision, kind)
    assert list(found) == list(EXPECTED[kind])
    for name, numbers in EXPECTED[kind].items():
        assert found[name] == pytest.approx(numbers, rel=1e-5, abs=2e-6), name


def test_arguments_are_checked():
    anchors = detection.anchor_utils.AnchorGenerator()
    with pytest.raises(ValueError, match="attribute out_channels"):
        detection.FasterRCNN(nn.ReLU(), 2)
    body = nn.Conv2d(3, 4, 1)
    body.out_channels = 4
    with pytest.raises(ValueError, match="should not be None when box_predictor is not specified"):
        detection.FasterRCNN(body)
    with pytest.raises(TypeError, match="rpn_anchor_generator should be of type AnchorGenerator"):
        detection.FasterRCNN(body, 2, rpn_anchor_generator=3)
    with pytest.raises(ValueError, match="Trainable backbone layers should be in the range"):
        detection.backbone_utils._validate_trainable_layers(True, 9, 5, 3)
    model = detection.RetinaNet(body, 2, anchor_generator=anchors)
    with pytest.raises(AssertionError, match="targets should not be none when in training mode"):
        model([taper.zeros(3, 4, 4)])
    flat = {"boxes": taper.tensor([[0.0, 0, 0, 2]]), "labels": taper.tensor([1])}
    with pytest.raises(AssertionError, match="positive height and width"):
        model([taper.zeros(3, 4, 4)], [flat])


def test_a_state_from_before_normalisations_is_accepted():
    head = detection.rpn.RPNHead(2, 1)
    state = {key.replace("conv.0.0.", "conv."): each for key, each in head.state_dict().items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        detection.rpn.RPNHead(2, 1).load_state_dict(dict(state))
