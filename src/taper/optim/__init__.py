"""Optimizers, learning-rate schedulers, and averages of models."""

from taper.optim import lr_scheduler, swa_utils
from taper.optim import optimizer as optimizer
from taper.optim._adafactor import Adafactor
from taper.optim._muon import Muon
from taper.optim._stateless import swap_in_optimizer_params_and_state
from taper.optim.adadelta import Adadelta
from taper.optim.adagrad import Adagrad
from taper.optim.adam import Adam
from taper.optim.adamax import Adamax
from taper.optim.adamw import AdamW
from taper.optim.asgd import ASGD
from taper.optim.lbfgs import LBFGS
from taper.optim.nadam import NAdam
from taper.optim.optimizer import Optimizer
from taper.optim.radam import RAdam
from taper.optim.rmsprop import RMSprop
from taper.optim.rprop import Rprop
from taper.optim.sgd import SGD
from taper.optim.sparse_adam import SparseAdam

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
    "swap_in_optimizer_params_and_state",
]
