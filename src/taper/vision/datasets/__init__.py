"""Datasets of pictures from local files, in torchvision's folders.  Nothing is downloaded."""

from __future__ import annotations

from typing import Any

from taper.absent.answers import refused_class
from taper.vision.datasets import cifar, fakedata, folder, mnist, utils, vision
from taper.vision.datasets.cifar import CIFAR10, CIFAR100
from taper.vision.datasets.fakedata import FakeData
from taper.vision.datasets.folder import DatasetFolder, ImageFolder
from taper.vision.datasets.mnist import KMNIST, MNIST, FashionMNIST
from taper.vision.datasets.vision import VisionDataset

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "DatasetFolder",
    "FakeData",
    "FashionMNIST",
    "ImageFolder",
    "KMNIST",
    "MNIST",
    "VisionDataset",
    "cifar",
    "fakedata",
    "folder",
    "mnist",
    "utils",
    "vision",
]

_NOT_PROVIDED = frozenset(
    """
    CLEVRClassification CREStereo Caltech101 Caltech256 CarlaStereo CelebA Cityscapes CocoCaptions
    CocoDetection Country211 DTD EMNIST ETH3DStereo EuroSAT FER2013 FGVCAircraft FallingThingsStereo
    Flickr30k Flickr8k Flowers102 FlyingChairs FlyingThings3D Food101 GTSRB HD1K HMDB51 INaturalist
    ImageNet Imagenette InStereo2k Kinetics Kitti Kitti2012Stereo Kitti2015Stereo KittiFlow LFWPairs
    LFWPeople LSUN LSUNClass Middlebury2014Stereo MovingMNIST Omniglot OxfordIIITPet PCAM PhotoTour
    Places365 QMNIST RenderedSST2 SBDataset SBU SEMEION STL10 SUN397 SVHN SceneFlowStereo Sintel
    SintelStereo StanfordCars UCF101 USPS VOCDetection VOCSegmentation WIDERFace
    """.split()
)


def __getattr__(name: str) -> Any:
    if name not in _NOT_PROVIDED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    sentence = (
        f"{__name__}.{name} is not provided: unpack its files, one folder for each class, and read "
        "them with ImageFolder, or with DatasetFolder and a loader of your own"
    )
    return globals().setdefault(name, refused_class(name, __name__, sentence, VisionDataset))
