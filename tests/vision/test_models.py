"""Names and shapes of parameters, forward and backward of the models; freezing; inner layers.

Numbers of parameters and names are facts about torchvision 0.28, recorded from it.
"""

from __future__ import annotations

import hashlib

import pytest

import taper
from taper import nn
from taper.vision import models
from taper.vision.models._utils import IntermediateLayerGetter
from taper.vision.models.feature_extraction import create_feature_extractor, get_graph_node_names

# Number of parameters, of entries in the state, and a hash of the lines "name shape".
FACTS = {
    "resnet18": (11689512, 122, "84fb10d9c690"),
    "resnet34": (21797672, 218, "28f9096d5130"),
    "resnet50": (25557032, 320, "d7e4f8bb0a53"),
    "resnet101": (44549160, 626, "02c0f34f4842"),
    "resnet152": (60192808, 932, "685c66205bc8"),
    "resnext50_32x4d": (25028904, 320, "e3bad165c034"),
    "resnext101_32x8d": (88791336, 626, "da7dd7525807"),
    "resnext101_64x4d": (83455272, 626, "90caac80ae24"),
    "wide_resnet50_2": (68883240, 320, "41203d1d536c"),
    "wide_resnet101_2": (126886696, 626, "4f088c0a152b"),
    "vgg11": (132863336, 22, "cb3dc23f2a13"),
    "vgg11_bn": (132868840, 62, "8b6717e727c0"),
    "vgg13": (133047848, 26, "67c1dc8b57fd"),
    "vgg13_bn": (133053736, 76, "f6b0597d18a7"),
    "vgg16": (138357544, 32, "35c4623e0cd4"),
    "vgg16_bn": (138365992, 97, "347371586a8e"),
    "vgg19": (143667240, 38, "4723255af8f6"),
    "vgg19_bn": (143678248, 118, "fc3ff6fab2b5"),
    "alexnet": (61100840, 16, "9c198ebdae18"),
    "mobilenet_v2": (3504872, 314, "37bbbce8932f"),
    "mobilenet_v3_large": (5483032, 312, "efe98e40831b"),
    "mobilenet_v3_small": (2542856, 244, "5f0efaf3ff4a"),
    "squeezenet1_0": (1248424, 52, "4654d26ad581"),
    "squeezenet1_1": (1235496, 52, "1d365589393f"),
    "densenet121": (7978856, 727, "aa0fd9923b00"),
    "densenet161": (28681000, 967, "82d337d48f91"),
    "densenet169": (14149480, 1015, "e2d0f02d9c0c"),
    "densenet201": (20013928, 1207, "0d234ad7e9a3"),
    "googlenet": (13004888, 364, "7f541ca29410"),
    "inception_v3": (27161264, 580, "aab0ac2cbaf8"),
    "mnasnet0_5": (2218512, 314, "1ed44e7f7de2"),
    "mnasnet0_75": (3170208, 314, "93d711f59686"),
    "mnasnet1_0": (4383312, 314, "c26097f381d5"),
    "mnasnet1_3": (6282256, 314, "9ce90280583f"),
    "shufflenet_v2_x0_5": (1366792, 338, "f0a5936e646f"),
    "shufflenet_v2_x1_0": (2278604, 338, "81b349bc1cbb"),
    "shufflenet_v2_x1_5": (3503624, 338, "506b4de341bf"),
    "shufflenet_v2_x2_0": (7393996, 338, "0c033bd0cd72"),
    "efficientnet_b0": (5288548, 360, "a04d0792ee39"),
    "efficientnet_b1": (7794184, 508, "9aaba0741e04"),
    "efficientnet_b2": (9109994, 508, "a6d3677e95ef"),
    "efficientnet_b3": (12233232, 574, "495111442d67"),
    "efficientnet_b4": (19341616, 706, "2974b9d3c055"),
    "efficientnet_b5": (30389784, 854, "281af15aa414"),
    "efficientnet_b6": (43040704, 986, "c32e05b40510"),
    "efficientnet_b7": (66347960, 1200, "3d2a7737a3d8"),
    "efficientnet_v2_s": (21458488, 782, "1d905bff391f"),
    "efficientnet_v2_m": (54139356, 1120, "5049b2b40578"),
    "efficientnet_v2_l": (118515272, 1548, "d77db9d94fce"),
    "regnet_y_400mf": (4344144, 384, "f09a9d430ba9"),
    "regnet_y_800mf": (6432512, 340, "f231872c0596"),
    "regnet_y_1_6gf": (11202430, 626, "ed96623b1aea"),
    "regnet_y_3_2gf": (19436338, 494, "c9e6bcc15425"),
    "regnet_y_8gf": (39381472, 406, "5397113dc7c9"),
    "regnet_y_16gf": (83590140, 428, "75477b95f83a"),
    "regnet_y_32gf": (145046770, 472, "650dda4954e5"),
    "regnet_y_128gf": (644812894, 626, "b5f662e242f7"),
    "regnet_x_400mf": (5495976, 428, "a620146711ee"),
    "regnet_x_800mf": (7259656, 320, "586dc3c8f1ac"),
    "regnet_x_1_6gf": (9190136, 356, "c1a260a7b00a"),
    "regnet_x_3_2gf": (15296552, 482, "f892a07a8de4"),
    "regnet_x_8gf": (39572648, 446, "fccf9ea872d4"),
    "regnet_x_16gf": (54278536, 428, "be447a28aff9"),
    "regnet_x_32gf": (107811560, 446, "7ae1b5bc1949"),
    "convnext_tiny": (28589128, 182, "2bc10f3450aa"),
    "convnext_small": (50223688, 344, "92e28edd02cc"),
    "convnext_base": (88591464, 344, "7a4c459fd822"),
    "convnext_large": (197767336, 344, "081e7faa1aa9"),
    "vit_b_16": (86567656, 152, "b124b34d9346"),
    "vit_b_32": (88224232, 152, "f8bc3a1f2fd0"),
    "vit_l_16": (304326632, 296, "0fd5127fe79b"),
    "vit_l_32": (306535400, 296, "8b7397ee7b87"),
    "vit_h_14": (632045800, 392, "05e3d14dfbc1"),
    "swin_t": (28288354, 185, "02c436acbe27"),
    "swin_s": (49606258, 353, "ecfabc2afa4f"),
    "swin_b": (87768224, 353, "3c5548aec7f1"),
    "swin_v2_t": (28351570, 233, "b7908d299896"),
    "swin_v2_s": (49737442, 449, "1c34e5166d50"),
    "swin_v2_b": (87930848, 449, "383b35e9ac47"),
    "maxvit_t": (30919624, 582, "814b3269f09e"),
    "fcn_resnet50": (35322218, 334, "1092973e1eb9"),
    "fcn_resnet101": (54314346, 640, "25617490219d"),
    "deeplabv3_resnet50": (42004074, 370, "92bcc20e8ff0"),
    "deeplabv3_resnet101": (60996202, 676, "cfa9819a8c87"),
    "deeplabv3_mobilenet_v3_large": (11029328, 360, "671c2b1ee018"),
    "lraspp_mobilenet_v3_large": (3221538, 319, "7f11e0bc3616"),
    "r3d_18": (33371472, 122, "6fd88b43e8ed"),
    "mc3_18": (11695440, 122, "30a270481907"),
    "r2plus1d_18": (31505325, 224, "e0958f8347e5"),
}
# Initial weights of inceptions take long; weights of a backbone would be read from a file.
OPTIONS = {
    **{name: {"init_weights": False} for name in ("googlenet", "inception_v3")},
    **{
        name: {"weights_backbone": None, "aux_loss": True}
        for name in FACTS
        if name.startswith(("fcn_", "deeplabv3_"))
    },
    "lraspp_mobilenet_v3_large": {"weights_backbone": None},
}
DRAWS = ("kaiming_uniform_", "kaiming_normal_", "uniform_", "normal_", "trunc_normal_")


@pytest.fixture
def without_draws(monkeypatch):
    """Leave weights as uninitialised memory, which is free until it is touched."""
    for name in (*DRAWS, "xavier_uniform_"):
        monkeypatch.setattr(nn.init, name, lambda tensor, *args, **kwargs: tensor)


@pytest.mark.parametrize("name", FACTS)
def test_names_and_shapes_of_the_state_are_torchvisions(name, without_draws):
    model = models.get_model(name, **OPTIONS.get(name, {}))
    state = model.state_dict()
    lines = "\n".join(f"{key} {tuple(value.shape)}" for key, value in state.items())
    count = sum(each.numel() for each in model.parameters())
    assert (count, len(state), hashlib.sha256(lines.encode()).hexdigest()[:12]) == FACTS[name]


def test_a_star_brings_every_model():
    names: dict[str, object] = {}
    exec("from taper.vision.models import *", names)
    assert set(models.list_models(models)) <= set(names)
    assert callable(names["alexnet"]) and callable(names["googlenet"])  # modules have these names
    assert not {"Any", "annotations", "on_first_use"} & set(names)


def test_every_model_has_recorded_facts():
    detectors = set(models.list_models(models.detection))  # see test_detection.py
    assert set(models.list_models()) - {"lenet5"} - detectors == set(FACTS)


@pytest.mark.parametrize("name", FACTS)
def test_weights_know_the_number_of_parameters(name):
    counts = {each.meta["num_params"] for each in models.get_model_weights(name)}
    # The files of GoogLeNet are counted without its helpers; those for larger pictures differ.
    if name == "googlenet":
        assert counts == {6624904}
    else:
        assert FACTS[name][0] in counts


SMALL = {
    "resnet18": ({}, 32),
    "mobilenet_v2": ({"width_mult": 0.25}, 32),
    "mobilenet_v3_small": ({"width_mult": 0.5}, 32),
    "squeezenet1_1": ({}, 32),
    "densenet121": ({"memory_efficient": True}, 32),
    "googlenet": ({"init_weights": False, "aux_logits": False}, 32),
    "efficientnet_b0": ({}, 32),
    "shufflenet_v2_x0_5": ({}, 64),
    "mnasnet0_5": ({}, 64),
    "convnext_tiny": ({}, 32),
    "efficientnet_v2_s": ({}, 32),
    "regnet_y_400mf": ({}, 32),
    "swin_t": ({}, 64),
}


@pytest.mark.parametrize("name", SMALL)
def test_gradients_reach_all_parameters(name):
    taper.manual_seed(0)
    options, size = SMALL[name]
    model = models.get_model(name, num_classes=5, **options)
    result = model(taper.randn(2, 3, size, size))
    assert result.shape == (2, 5)
    nn.functional.cross_entropy(result, taper.tensor([1, 3])).backward()
    assert [key for key, each in model.named_parameters() if each.grad is None] == []
    assert all(bool(each.grad.isfinite().all()) for each in model.parameters())


@pytest.mark.parametrize(("name", "width"), [("vgg11_bn", 25088), ("alexnet", 9216)])
def test_convolutions_of_vgg_and_alexnet_run_forward_and_backward(name, width, without_draws):
    model = models.get_model(name)
    assert model.classifier[-1].out_features == 1000
    model.classifier = nn.Linear(width, 4)  # the linear layers are most of the weights
    with taper.no_grad():
        for each in model.parameters():
            each.fill_(1e-3)
    result = model.eval()(taper.ones(1, 3, 64, 64))
    result.sum().backward()
    assert result.shape == (1, 4)
    assert all(each.grad is not None for each in model.parameters())


def test_vision_transformer_sees_patches_of_one_size():
    taper.manual_seed(0)
    model = models.VisionTransformer(16, 8, 2, 2, 8, 16, num_classes=3, representation_size=5)
    assert model.seq_length == 5
    nn.init.normal_(model.heads.head.weight)
    result = model(taper.randn(2, 3, 16, 16))
    assert result.shape == (2, 3)
    result.sum().backward()
    assert all(each.grad is not None for each in model.parameters())
    with pytest.raises(AssertionError, match="Wrong image width! Expected 16 but got 24!"):
        model(taper.zeros(1, 3, 16, 24))
    with pytest.raises(AssertionError, match="Input shape indivisible by patch size!"):
        models.vit_b_16(image_size=20)


def test_vision_transformer_reads_states_with_the_old_names_of_layers():
    model = models.VisionTransformer(16, 8, 1, 2, 8, 16)
    state = model.state_dict()
    before = "encoder.layers.encoder_layer_0.mlp."
    renamed = {
        key.replace(f"{before}0.", f"{before}linear_1.").replace(
            f"{before}3.", f"{before}linear_2."
        ): value
        for key, value in state.items()
    }
    assert sorted(renamed) != sorted(state)
    assert str(models.VisionTransformer(16, 8, 1, 2, 8, 16).load_state_dict(renamed)) == (
        "<All keys matched successfully>"
    )


def test_googlenet_returns_its_helpers_while_training():
    model = models.googlenet(num_classes=3, init_weights=False)
    result = model(taper.zeros(2, 3, 64, 64))
    assert result._fields == ("logits", "aux_logits2", "aux_logits1")
    assert [tuple(each.shape) for each in result] == [(2, 3)] * 3
    assert model.eval()(taper.zeros(2, 3, 64, 64)).shape == (2, 3)


def test_googlenet_warns_that_its_initial_weights_will_change(without_draws):
    with pytest.warns(FutureWarning, match="set init_weights=True"):
        models.googlenet()


def test_inception_returns_its_helper_while_training(without_draws):
    with pytest.warns(FutureWarning, match="initialization of inception_v3 will be changed"):
        model = models.inception_v3(num_classes=3, transform_input=True)
    with taper.no_grad():
        for each in model.parameters():
            each.fill_(1e-3)
    assert model.eval()(taper.zeros(1, 3, 75, 75)).shape == (1, 3)
    with pytest.raises(ValueError, match="length of inception_blocks should be 7 instead of 1"):
        models.Inception3(init_weights=False, inception_blocks=[nn.Identity])


def test_lenet_is_small():
    model = models.get_model("lenet5")
    assert sum(each.numel() for each in model.parameters()) == 61706
    assert model(taper.zeros(3, 1, 28, 28)).shape == (3, 10)


def test_residual_networks_refuse_what_they_cannot_be():
    with pytest.raises(ValueError, match="BasicBlock only supports groups=1 and base_width=64"):
        models.resnet18(groups=2)
    with pytest.raises(NotImplementedError, match="Dilation > 1 not supported in BasicBlock"):
        models.resnet18(replace_stride_with_dilation=[False, True, True])
    with pytest.raises(ValueError, match="or a 3-element tuple, got \\[True\\]"):
        models.resnet18(replace_stride_with_dilation=[True])
    with pytest.raises(TypeError, match="unexpected keyword argument 'bogus'"):
        models.resnet18(bogus=1)


def test_zero_init_residual_makes_blocks_that_start_as_the_identity(without_draws):
    model = models.resnet18(zero_init_residual=True)
    assert model.layer1[0].bn2.weight.sum().item() == 0.0
    assert model.layer1[0].bn1.weight.sum().item() == 64.0


# --- freezing, as in the study notes ----------------------------------------------------------


def test_only_the_new_layer_of_a_frozen_network_is_trained():
    taper.manual_seed(0)
    model = models.resnet18()
    for parameter in model.parameters():
        parameter.requires_grad = False
    model.fc = nn.Linear(512, 100)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    optimizer = taper.optim.SGD(model.fc.parameters(), lr=1e-2, momentum=0.9)
    result = model.eval()(taper.randn(2, 3, 32, 32))
    # Nothing before the new layer is recorded.
    assert type(result.grad_fn).__name__ == "AddmmBackward0"
    assert result.grad_fn.next_functions[1][0] is None
    nn.functional.cross_entropy(result, taper.tensor([1, 2])).backward()
    optimizer.step()
    changed = [
        key for key, value in model.state_dict().items() if not taper.equal(value, before[key])
    ]
    assert changed == ["fc.weight", "fc.bias"]
    frozen = [each for name, each in model.named_parameters() if not name.startswith("fc.")]
    assert all(each.grad is None for each in frozen)


# --- layers inside ----------------------------------------------------------------------------


def test_intermediate_layers_are_returned_by_their_new_names():
    body = IntermediateLayerGetter(models.resnet18(), {"layer1": "early", "layer3": "late"})
    result = body(taper.zeros(1, 3, 32, 32))
    assert [(name, tuple(each.shape)) for name, each in result.items()] == [
        ("early", (1, 64, 8, 8)),
        ("late", (1, 256, 2, 2)),
    ]
    assert "layer4" not in dict(body.named_children())
    with pytest.raises(ValueError, match="return_layers are not present in model"):
        IntermediateLayerGetter(models.lenet5(), {"bogus": "x"})


def test_features_are_the_outputs_of_modules():
    model = models.resnet18().eval()
    extractor = create_feature_extractor(model, ["layer2", "layer4.1.relu_1"])
    x = taper.randn(1, 3, 32, 32)
    found = extractor(x)
    assert list(found) == ["layer2", "layer4.1.relu_1"]
    pooled = model.fc(found["layer4.1.relu_1"].mean((2, 3)))
    taper.testing.assert_close(pooled, model(x))
    used = [name for name in model.state_dict() if not name.startswith("fc.")]
    assert list(extractor.state_dict()) == used
    assert not extractor.training


def test_nodes_of_functions_have_names():
    train, evaluation = get_graph_node_names(models.resnet18())
    assert train == evaluation
    assert train[:5] == ["x", "conv1", "bn1", "relu", "maxpool"]
    assert train[-3:] == ["avgpool", "flatten", "fc"]
    assert "layer1.1.add" in train
    found = create_feature_extractor(models.resnet18().eval(), {"flatten": "flat"})
    assert found(taper.zeros(1, 3, 32, 32))["flat"].shape == (1, 512)
    with pytest.raises(ValueError, match="node: 'nope' is not present in model"):
        create_feature_extractor(models.resnet18(), ["nope"])


@pytest.mark.parametrize("task", ["optical_flow", "quantization"])
def test_models_for_other_tasks_say_that_they_are_missing(task):
    with pytest.raises(AttributeError, match=f"no models of {task}: use torchvision"):
        getattr(models, task)
