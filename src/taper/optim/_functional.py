"""The optimizers as functions of lists, collected; each lives beside its class."""

from taper.optim.adadelta import adadelta
from taper.optim.adagrad import adagrad
from taper.optim.adam import adam
from taper.optim.adamax import adamax
from taper.optim.adamw import adamw
from taper.optim.asgd import asgd
from taper.optim.nadam import nadam
from taper.optim.radam import radam
from taper.optim.rmsprop import rmsprop
from taper.optim.rprop import rprop
from taper.optim.sgd import sgd

__all__ = [
    "adadelta",
    "adagrad",
    "adam",
    "adamax",
    "adamw",
    "asgd",
    "nadam",
    "radam",
    "rmsprop",
    "rprop",
    "sgd",
]
