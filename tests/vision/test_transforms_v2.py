"""The second interface of transforms: how it finds pictures in a sample."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import taper
from taper.vision.transforms import v2


def picture() -> Image.Image:
    return Image.fromarray(np.arange(63, dtype=np.uint8).reshape(7, 9))


def test_the_first_tensor_is_the_picture():
    image, label, name = v2.Resize(4)(taper.zeros(3, 8, 8), taper.zeros(5, 5), "cat")
    assert image.shape == (3, 4, 4)
    assert label.shape == (5, 5)
    assert name == "cat"


def test_pictures_come_before_tensors():
    sample = {"label": taper.zeros(8, 8), "image": picture(), "more": [picture()]}
    resized = v2.Resize(5)(sample)
    assert resized["label"].shape == (8, 8)
    assert resized["image"].size == resized["more"][0].size == (6, 5)
    assert list(resized) == ["label", "image", "more"]


def test_all_pictures_of_a_sample_get_the_same_numbers():
    taper.manual_seed(0)
    first, second = v2.RandomCrop(3)((picture(), picture()))
    assert np.array_equal(np.array(first), np.array(second))


def test_the_usual_chain():
    chain = v2.Compose(
        [
            v2.ToImage(),
            v2.RandomHorizontalFlip(p=1.0),
            v2.ToDtype(taper.float32, scale=True),
            v2.Normalize(mean=[0.5], std=[0.5]),
        ]
    )
    image, label = chain(picture(), 3)
    expected = (np.array(picture())[:, ::-1].astype(np.float32) / 255 - 0.5) / 0.5
    assert np.allclose(image[0].numpy(), expected)
    assert label == 3
    assert repr(chain).splitlines()[1] == "      ToImage()"


def test_to_tensor_warns():
    with pytest.warns(UserWarning, match="`ToTensor\\(\\)` is deprecated"):
        transform = v2.ToTensor()
    assert transform(picture()).shape == (1, 7, 9)


def test_mixing_keeps_the_sum_of_labels():
    taper.manual_seed(0)
    for mix in (v2.MixUp(num_classes=4), v2.CutMix(num_classes=4)):
        images, labels = mix(taper.rand(6, 3, 8, 8), taper.tensor([0, 1, 2, 3, 0, 1]))
        assert images.shape == (6, 3, 8, 8)
        assert taper.allclose(labels.sum(1), taper.ones(6))
        assert (labels > 0).sum() > 6


def test_cut_mix_takes_pixels_of_the_picture_before():
    taper.manual_seed(1)
    batch = taper.arange(3.0).view(3, 1, 1, 1).expand(3, 1, 8, 8)
    images, labels = v2.CutMix(num_classes=3)(batch, taper.arange(3))
    share = (images[1] == 0).float().mean()
    assert 0 < float(share) < 1
    assert labels[1].tolist() == pytest.approx([float(share), 1 - float(share), 0.0])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: v2.Resize(None), ValueError, "max_size must be an integer when size is None"),
        (lambda: v2.RandomHorizontalFlip(2), ValueError, "`p` should be a floating point value"),
        (lambda: v2.Normalize([0], [1])(picture()), TypeError, "does not support PIL images"),
        (lambda: v2.Compose([]), ValueError, "Pass at least one transform"),
        (lambda: v2.Nothing, AttributeError, "no attribute 'Nothing'"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
