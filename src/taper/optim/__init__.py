"""Optimizers and learning-rate schedulers."""

from taper.optim import lr_scheduler
from taper.optim.adam import Adam, AdamW
from taper.optim.optimizer import Optimizer
from taper.optim.sgd import SGD

__all__ = ["Adam", "AdamW", "Optimizer", "SGD", "lr_scheduler"]
