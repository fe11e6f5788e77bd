"""fastai: Learner with one-cycle training, metrics, callbacks, saving, freezing and a tabular learner."""

import tempfile

import numpy as np
import pandas as pd
import torch
from fastai.basics import *
from fastai.callback.all import *
from fastai.tabular.all import (
    Categorify,
    CategoryBlock,
    FillMissing,
    Normalize,
    TabularDataLoaders,
    accuracy,
    tabular_learner,
)

set_seed(0, reproducible=True)
x = torch.randn(96, 4)
y = (x @ torch.randn(4, 3)).argmax(1)
items = [(x[i], y[i]) for i in range(96)]
loaders = DataLoaders.from_dsets(items[:64], items[64:], bs=16, device="cpu")
with tempfile.TemporaryDirectory() as folder:
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    learner = Learner(
        loaders,
        model,
        loss_func=nn.CrossEntropyLoss(),
        metrics=[accuracy],
        path=folder,
        cbs=[GradientClip(1.0)],
    )
    with learner.no_bar(), learner.no_logging():
        learner.fit_one_cycle(3, 0.01)
        print(*[float(v) for row in learner.recorder.values for v in row])
        learner.save("kept")
        learner.fit(1, 0.05)
        print(*learner.validate())
        learner.load("kept")
        print(*learner.validate())
        predictions, targets = learner.get_preds()
        print(*predictions[0].tolist(), targets.sum().item())
        mixed = Learner(
            loaders,
            model,
            loss_func=CrossEntropyLossFlat(),
            opt_func=ranger,
            cbs=[MixUp(), EarlyStoppingCallback(patience=3)],
            path=folder,
        )
        with mixed.no_bar(), mixed.no_logging():
            mixed.fit_flat_cos(1, 0.01)
        print(*[float(v) for row in mixed.recorder.values for v in row])
frame = pd.DataFrame({
    "colour": np.array(["red", "green", "blue"])[np.arange(60) % 3], "size": np.sin(np.arange(60.0)),
    "age": np.cos(np.arange(60.0)), "good": np.where(np.arange(60) % 2, "yes", "no"),
})  # fmt: skip
set_seed(1)
loaders = TabularDataLoaders.from_df(
    frame, procs=[Categorify, FillMissing, Normalize], cat_names=["colour"], cont_names=["size", "age"], y_names="good",
    valid_idx=list(range(40, 60)), bs=8, device="cpu", y_block=CategoryBlock(),
)  # fmt: skip
learner = tabular_learner(loaders, layers=[8, 4], metrics=accuracy)
with learner.no_bar(), learner.no_logging():
    learner.fit_one_cycle(2, 0.01)
print(*[float(v) for row in learner.recorder.values for v in row])
