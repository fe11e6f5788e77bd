"""Weights by name, from files in the folder of the hub; models by name."""

from __future__ import annotations

import re

import pytest

import taper
from taper.vision import models
from taper.vision.models import ResNet18_Weights, ResNet50_Weights, SqueezeNet1_1_Weights


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """Make an empty folder of the hub; return where checkpoints belong."""
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    folder = tmp_path / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    return folder


def stored(hub, weights, model):
    """Return a file of a model's state under the name of weights."""
    taper.save(model.state_dict(), hub / weights.url.rpartition("/")[2])
    return model.state_dict()


def test_weights_are_read_from_the_folder_of_the_hub(hub):
    state = stored(hub, SqueezeNet1_1_Weights.DEFAULT, models.squeezenet1_1())
    for wanted in (SqueezeNet1_1_Weights.DEFAULT, "DEFAULT", "IMAGENET1K_V1"):
        model = models.squeezenet1_1(weights=wanted, progress=False)
        assert all(taper.equal(value, state[key]) for key, value in model.state_dict().items())


def test_missing_file_says_what_belongs_where(hub):
    expected = (
        f"resnet18-f37072fd.pth is not in {hub}, and taper does not download: fetch "
        "https://download.pytorch.org/models/resnet18-f37072fd.pth and put it there"
    )
    with pytest.raises(FileNotFoundError, match=re.escape(expected)):
        models.resnet18(weights="DEFAULT")


DEPRECATED = (
    "Arguments other than a weight enum or `None` for 'weights' are deprecated since 0.13 and may "
    "be removed in the future. The current behavior is equivalent to passing `weights="
)
MORE = (
    "SqueezeNet1_1_Weights.IMAGENET1K_V1`. You can also use "
    "`weights=SqueezeNet1_1_Weights.DEFAULT` to get the most up-to-date weights."
)


def warnings_of(*args, **kwargs):
    with pytest.warns(UserWarning) as caught:
        models.squeezenet1_1(*args, **kwargs)
    assert all(each.filename == __file__ for each in caught)
    return [str(each.message) for each in caught]


def test_the_old_ways_to_ask_for_weights_work_and_warn(hub):
    stored(hub, SqueezeNet1_1_Weights.DEFAULT, models.squeezenet1_1())
    pretrained = (
        "The parameter 'pretrained' is deprecated since 0.13 and may be removed in the future, "
        "please use 'weights' instead."
    )
    positional = (
        "Using {} as positional parameter(s) is deprecated since 0.13 and may be removed in the "
        "future. Please use keyword parameter(s) instead."
    )
    assert warnings_of(pretrained=True) == [pretrained, DEPRECATED + MORE]
    assert warnings_of(pretrained=False) == [pretrained, DEPRECATED + "None`."]
    assert warnings_of(True) == [positional.format("'weights'"), DEPRECATED + MORE]
    assert warnings_of(None, False) == [positional.format("'weights' and 'progress'")]


def test_weights_decide_the_number_of_classes(hub):
    message = "The parameter 'num_classes' expected value 1000 but got 10 instead."
    with pytest.raises(ValueError, match=message):
        models.resnet18(weights="DEFAULT", num_classes=10)
    with pytest.raises(ValueError, match="'image_size' expected value 224 but got 64 instead."):
        models.vit_b_16(weights="DEFAULT", image_size=64)


def test_wrong_weights_are_refused():
    message = "expected ResNet18_Weights but received ResNet50_Weights."
    with pytest.raises(TypeError, match=message):
        models.resnet18(weights=ResNet50_Weights.DEFAULT)
    with pytest.raises(KeyError, match="bogus"):
        models.resnet18(weights="bogus")


def test_members_of_weights():
    assert ResNet50_Weights.DEFAULT is ResNet50_Weights.IMAGENET1K_V2
    assert repr(ResNet50_Weights.DEFAULT) == "ResNet50_Weights.IMAGENET1K_V2"
    assert ResNet18_Weights.DEFAULT.meta["num_params"] == 11689512
    assert ResNet18_Weights.DEFAULT.meta["_metrics"]["ImageNet-1K"]["acc@1"] == 69.758
    with pytest.raises(NotImplementedError, match="names of ImageNet's classes"):
        ResNet18_Weights.DEFAULT.meta["categories"]
    with pytest.raises(KeyError, match="bogus"):
        ResNet18_Weights.DEFAULT.meta["bogus"]


def test_preparation_of_pictures():
    prepare = ResNet50_Weights.DEFAULT.transforms()
    assert repr(prepare).splitlines() == [
        "ImageClassification(",
        "    crop_size=[224]",
        "    resize_size=[232]",
        "    mean=[0.485, 0.456, 0.406]",
        "    std=[0.229, 0.224, 0.225]",
        "    interpolation=InterpolationMode.BILINEAR",
        ")",
    ]
    result = prepare(taper.full((3, 240, 250), 255, dtype=taper.uint8))
    assert result.shape == (3, 224, 224)
    assert result[0, 7, 9].item() == pytest.approx((1 - 0.485) / 0.229)


def test_old_names_in_the_files_of_densenet(hub):
    model = models.densenet121()
    state = {
        re.sub(r"(denselayer\d+\.(?:norm|conv))([12])\.", r"\1.\2.", key): value
        for key, value in model.state_dict().items()
    }
    assert "features.denseblock1.denselayer1.norm.1.weight" in state
    taper.save(state, hub / "densenet121-a639ec97.pth")
    loaded = models.densenet121(weights="DEFAULT").state_dict()
    assert all(taper.equal(value, loaded[key]) for key, value in model.state_dict().items())


def test_helpers_of_googlenet_with_weights(hub):
    stored(hub, models.GoogLeNet_Weights.DEFAULT, models.googlenet(init_weights=False))
    model = models.googlenet(weights="DEFAULT")
    assert model.aux1 is None and not model.aux_logits and model.transform_input
    with pytest.warns(UserWarning, match="auxiliary heads in the pretrained googlenet model"):
        assert models.googlenet(weights="DEFAULT", aux_logits=True).aux1 is not None
    with pytest.raises(ValueError, match="'aux_logits' expected value True but got False"):
        models.googlenet(weights="DEFAULT", aux_logits=False)


def test_models_and_weights_by_name():
    assert type(models.get_model("SqueezeNet1_1", num_classes=3)) is models.SqueezeNet
    with pytest.raises(ValueError, match="Unknown model bogus"):
        models.get_model("bogus")
    assert models.get_model_weights(models.resnet50) is ResNet50_Weights
    with pytest.raises(ValueError, match="The method is missing the 'weights' argument."):
        models.get_model_weights(print)
    assert models.get_weight("ResNet50_Weights.IMAGENET1K_V2") is ResNet50_Weights.DEFAULT
    with pytest.raises(ValueError, match="Invalid weight name provided: 'ResNet50_Weights'."):
        models.get_weight("ResNet50_Weights")
    with pytest.raises(ValueError, match="weight enum 'Bogus' for the specific method couldn't"):
        models.get_weight("Bogus.X")


def test_lists_of_models():
    assert models.list_models(include=["vit*", "squeeze*"], exclude="*_1?") == [
        "squeezenet1_0",
        "squeezenet1_1",
        "vit_b_32",
        "vit_l_32",
    ]
    packages = (
        models,
        models.detection,
        models.optical_flow,
        models.segmentation,
        models.video,
    )
    by_package = [name for each in packages for name in models.list_models(module=each)]
    assert sorted(by_package) == models.list_models()
    assert models.list_models(module=models.resnet) == []  # as torchvision: by package
