"""Transforms: what must hold without torchvision.  Numbers come from torchvision 0.28."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import taper
from taper.vision import transforms
from taper.vision.transforms import InterpolationMode, functional


def bytes_of(*shape: int, seed: int = 0) -> taper.Tensor:
    return taper.from_numpy(np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8))


def picture(width: int = 9, height: int = 7, mode: str = "RGB") -> Image.Image:
    array = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(array).convert(mode)


# --- conversions -----------------------------------------------------------------------------


def test_picture_to_tensor_and_back():
    img = picture()
    tensor = transforms.ToTensor()(img)
    assert tensor.shape == (3, 7, 9)
    assert tensor.dtype is taper.float32
    assert float(tensor.max()) <= 1.0
    assert np.array_equal(np.array(transforms.ToPILImage()(tensor.mul(255).round().div(255))), img)


@pytest.mark.parametrize("mode", ["1", "L", "RGB", "RGBA", "I", "F", "CMYK"])
def test_picture_to_tensor_keeps_values(mode):
    img = picture(mode=mode)
    tensor = functional.pil_to_tensor(img)
    array = np.array(img)
    assert np.array_equal(tensor.permute(1, 2, 0).numpy().reshape(array.shape), array)


def test_pil_to_tensor_does_not_share_memory_with_the_picture():
    img = picture()
    before = np.array(img)
    functional.pil_to_tensor(img).zero_()
    assert np.array_equal(np.array(img), before)


def test_array_of_floats_is_not_scaled():
    array = np.full((2, 3), 7.0)
    tensor = functional.to_tensor(array)
    assert tensor.dtype is taper.float64
    assert tensor.tolist() == [[[7.0] * 3] * 2]


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (taper.float32, [0.0, 0.2, 1.0]),
        (taper.int16, [0, 51 * 128, 255 * 128]),
        (taper.uint8, [0, 51, 255]),
    ],
)
def test_convert_image_dtype(dtype, expected):
    converted = functional.convert_image_dtype(
        taper.tensor([[0, 51, 255]], dtype=taper.uint8), dtype
    )
    assert converted.dtype is dtype
    assert converted[0].tolist() == pytest.approx(expected)


def test_unsafe_conversion_is_refused():
    with pytest.raises(RuntimeError, match="from torch.float32 to torch.int32 cannot be performed"):
        functional.convert_image_dtype(taper.rand(3, 2, 2), taper.int32)


@pytest.mark.parametrize("value", [3, [1, 2], np.zeros((1, 2, 3, 4)), taper.zeros(3, 2, 2)])
def test_to_tensor_refuses(value):
    with pytest.raises((TypeError, ValueError), match=r"pic should be (PIL Image|2/3 dimensional)"):
        functional.to_tensor(value)


# --- values ----------------------------------------------------------------------------------


def test_normalize_is_recorded_and_may_be_in_place():
    x = taper.ones(3, 2, 2, requires_grad=True)
    functional.normalize(x, [0.5] * 3, [0.25] * 3).sum().backward()
    assert x.grad.unique().tolist() == [4.0]
    y = taper.ones(1, 2, 2)
    assert functional.normalize(y, [0.5], [0.25], inplace=True) is y
    assert y.unique().tolist() == [2.0]


def test_resize_of_one_number_keeps_the_aspect_ratio():
    assert functional.resize(taper.zeros(3, 20, 30), 10).shape == (3, 10, 15)
    assert functional.resize(picture(30, 20), 10).size == (15, 10)
    assert functional.resize(taper.zeros(3, 20, 30), 10, max_size=12).shape == (3, 8, 12)


def test_resize_to_the_same_size_gives_the_same_object():
    x, img = taper.zeros(3, 4, 5), picture(5, 4)
    assert functional.resize(x, (4, 5)) is x
    assert functional.resize(img, (4, 5)) is img


def test_antialias_is_used_for_tensors():
    columns = taper.tensor([0.0, 1.0]).repeat(50)[None, None, :].expand(1, 4, 100)
    smooth = functional.resize(columns, (4, 10))
    rough = functional.resize(columns, (4, 10), antialias=False)
    assert smooth.std() < 0.05
    assert not taper.allclose(smooth, rough)


def test_rotate_by_right_angles_moves_pixels_exactly():
    x = bytes_of(3, 6, 6)
    assert taper.equal(functional.rotate(x, 90), x.rot90(1, (-2, -1)))
    assert taper.equal(functional.rotate(x, 180), x.flip(-1, -2))


def test_fill_is_the_colour_outside():
    turned = functional.rotate(taper.zeros(3, 9, 9), 45, fill=[0.25, 0.5, 0.75])
    assert turned[:, 0, 0].tolist() == [0.25, 0.5, 0.75]
    img = functional.rotate(Image.new("RGB", (9, 9)), 45, fill=(1, 2, 3))
    assert img.getpixel((0, 0)) == (1, 2, 3)


def test_affine_by_whole_pixels_is_a_shift():
    x = bytes_of(1, 4, 5)
    moved = functional.affine(x, 0, [2, 1], 1.0, [0.0, 0.0])
    assert taper.equal(moved[:, 1:, 2:], x[:, :-1, :-2])
    assert moved[:, 0].sum() == 0


def test_colours_of_bytes():
    x = taper.tensor([[[10]], [[100]], [[200]]], dtype=taper.uint8)
    assert functional.adjust_brightness(x, 2).flatten().tolist() == [20, 200, 255]
    assert functional.rgb_to_grayscale(x).flatten().tolist() == [84]
    assert functional.adjust_hue(x, 0.5).flatten().tolist() == [200, 110, 10]
    assert functional.invert(x).flatten().tolist() == [245, 155, 55]
    assert functional.posterize(x, 2).flatten().tolist() == [0, 64, 192]
    assert functional.solarize(x, 100).flatten().tolist() == [10, 155, 55]


def test_erase_leaves_the_picture_unless_in_place():
    x = taper.zeros(1, 3, 3)
    assert functional.erase(x, 0, 0, 2, 2, taper.tensor(1.0)).sum() == 4
    assert x.sum() == 0
    assert functional.erase(x, 0, 0, 2, 2, taper.tensor(1.0), inplace=True) is x
    assert x.sum() == 4


def test_a_failed_call_draws_no_number():
    taper.manual_seed(3)
    with pytest.raises(ValueError, match="Required crop size"):
        transforms.RandomCrop(30)(taper.zeros(3, 4, 4))
    after = taper.rand(1)
    taper.manual_seed(3)
    assert taper.equal(after, taper.rand(1))


# --- chance: numbers of torchvision 0.28 for the same seed -----------------------------------


def seeded(function):
    taper.manual_seed(0)
    random.seed(0)
    return function()


def test_random_crop_of_a_seed():
    crop = transforms.RandomCrop
    assert seeded(lambda: crop.get_params(bytes_of(3, 40, 50), (20, 30))) == (11, 3, 20, 30)


def test_random_resized_crop_of_a_seed():
    draw = transforms.RandomResizedCrop.get_params
    assert seeded(lambda: draw(bytes_of(3, 40, 50), (0.08, 1.0), (3 / 4, 4 / 3))) == (1, 0, 30, 35)


def test_random_affine_of_a_seed():
    angle, shift, scale, shear = seeded(
        lambda: transforms.RandomAffine.get_params(
            [-10.0, 10.0], [0.1, 0.2], [0.5, 1.0], [1.0, 2.0], [40, 50]
        )
    )
    assert angle == pytest.approx(-0.07486820220947266)
    assert shift == (2, -8)
    assert scale == pytest.approx(0.5660152435302734)
    assert shear == pytest.approx((1.3074228763580322, 0.0))


def test_colour_jitter_of_a_seed():
    order, *factors = seeded(
        lambda: transforms.ColorJitter.get_params([0.0, 1], [0.0, 1], [0.0, 1], [0.0, 0.1])
    )
    assert order.tolist() == [0, 1, 3, 2]
    assert factors == pytest.approx(
        [0.13203048706054688, 0.30742281675338745, 0.6340786814689636, 0.04900934174656868]
    )


def test_choice_and_order_come_from_random():
    steps = [transforms.Lambda(lambda x, nr=nr: [*x, nr]) for nr in range(5)]
    assert seeded(lambda: transforms.RandomOrder(steps)([])) == [2, 1, 0, 4, 3]
    assert seeded(lambda: [transforms.RandomChoice(steps)([])[0] for _ in range(4)]) == [4, 3, 2, 1]


@pytest.mark.parametrize(
    "transform",
    [
        transforms.AutoAugment(),
        transforms.RandAugment(),
        transforms.TrivialAugmentWide(),
        transforms.AugMix(),
        transforms.RandomPerspective(p=1.0),
        transforms.ElasticTransform(10.0, 2.0),
        transforms.ColorJitter(0.4, 0.4, 0.4, 0.1),
        transforms.GaussianBlur(5),
        transforms.RandomAffine(20, (0.1, 0.1), (0.8, 1.2), 5, InterpolationMode.BILINEAR),
    ],
    ids=lambda transform: type(transform).__name__,
)
def test_pictures_and_tensors_keep_kind_and_size(transform):
    img, tensor = picture(30, 20), bytes_of(3, 20, 30)
    for _ in range(3):
        assert transform(img).size == img.size
        changed = transform(tensor)
        assert changed.shape == tensor.shape
        assert changed.dtype is taper.uint8


def test_compose_prints_its_parts_and_runs_them():
    composed = transforms.Compose([transforms.CenterCrop(4), transforms.ToTensor()])
    assert repr(composed) == "Compose(\n    CenterCrop(size=(4, 4))\n    ToTensor()\n)"
    assert composed(picture()).shape == (3, 4, 4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: transforms.Resize((1, 2, 3)), "it should have 1 or 2 values"),
        (lambda: transforms.Pad(1, padding_mode="x"), "Padding mode should be either constant"),
        (lambda: transforms.ColorJitter(hue=0.6), "hue values should be between"),
        (lambda: transforms.RandomRotation(-1), "it must be positive"),
        (lambda: transforms.GaussianBlur(2), "odd and positive"),
        (lambda: transforms.RandomErasing(p=2), "probability should be between 0 and 1"),
        (lambda: transforms.AutoAugment("x"), "policy x is not recognized"),
    ],
)
def test_wrong_arguments_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# --- without Pillow --------------------------------------------------------------------------


def run(program: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, which finds the same package."""
    environment = {**os.environ, "PYTHONPATH": str(Path(taper.__file__).parent.parent)}
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )


def test_tensors_need_no_pillow_and_pictures_say_what_to_install():
    program = """
import sys
sys.modules["PIL"] = sys.modules["PIL.Image"] = None
import taper
from taper.vision import transforms
x = taper.rand(3, 16, 16)
chain = [transforms.Resize(8), transforms.RandomHorizontalFlip(), transforms.ColorJitter(0.4)]
print(tuple(transforms.Compose(chain)(x).shape))
for call in (lambda: transforms.ToPILImage()(x), lambda: transforms.functional.hflip("x")):
    try:
        call()
    except Exception as error:
        print(type(error).__name__, error)
"""
    result = run(program)
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0] == "(3, 8, 8)"
    assert lines[1].startswith(
        "ModuleNotFoundError pictures need Pillow: pip install tapergrad[vision]"
    )
    assert lines[2] == "TypeError img should be PIL Image. Got <class 'str'>"


def test_importing_transforms_does_not_import_pillow():
    program = "import sys, taper.vision.transforms; print('PIL' in sys.modules)"
    assert run(program).stdout.strip() == "False"
