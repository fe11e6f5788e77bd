"""Schedulers: they change the learning rates of an optimizer's groups from epoch to epoch."""

from taper.optim.lr_scheduler.base import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from taper.optim.lr_scheduler.base import LRScheduler
from taper.optim.lr_scheduler.base import _LRScheduler as _LRScheduler
from taper.optim.lr_scheduler.combined import ChainedScheduler, SequentialLR
from taper.optim.lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from taper.optim.lr_scheduler.cycles import CyclicLR, OneCycleLR
from taper.optim.lr_scheduler.factors import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from taper.optim.lr_scheduler.plateau import ReduceLROnPlateau

__all__ = [
    "LambdaLR",
    "MultiplicativeLR",
    "StepLR",
    "MultiStepLR",
    "ConstantLR",
    "LinearLR",
    "ExponentialLR",
    "SequentialLR",
    "CosineAnnealingLR",
    "ChainedScheduler",
    "ReduceLROnPlateau",
    "CyclicLR",
    "CosineAnnealingWarmRestarts",
    "OneCycleLR",
    "PolynomialLR",
    "LRScheduler",
]
