"""skorch: classifiers and regressors in pipelines, grid search, callbacks, early stopping, checkpoints, probabilistic and history."""

import tempfile

import numpy as np
import torch
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import (
    Checkpoint,
    EarlyStopping,
    EpochScoring,
    GradientNormClipping,
    LRScheduler,
)
from skorch.dataset import ValidSplit

torch.manual_seed(0)
rng = np.random.RandomState(0)
X = rng.randn(120, 6).astype("float32")
y = (X[:, 0] + X[:, 1] ** 2 > 0.7).astype("int64")


class M(torch.nn.Module):
    def __init__(self, h=8, out=2, drop=0.1):
        super().__init__()
        self.s = torch.nn.Sequential(
            torch.nn.Linear(6, h), torch.nn.ReLU(), torch.nn.Dropout(drop), torch.nn.Linear(h, out)
        )

    def forward(self, X):
        return self.s(X)


with tempfile.TemporaryDirectory() as d:
    n = NeuralNetClassifier(
        M,
        criterion=torch.nn.CrossEntropyLoss,
        max_epochs=6,
        lr=0.05,
        optimizer=torch.optim.AdamW,
        batch_size=16,
        verbose=0,
        train_split=ValidSplit(3, stratified=True),
        callbacks=[
            EarlyStopping(patience=3),
            EpochScoring("roc_auc", lower_is_better=False),
            LRScheduler(torch.optim.lr_scheduler.CosineAnnealingLR, T_max=6),
            Checkpoint(dirname=d, monitor="valid_loss_best"),
            GradientNormClipping(1.0),
        ],
    )
    n.fit(X, y)
    print([(r["train_loss"], r["valid_loss"], r["valid_acc"], r["roc_auc"]) for r in n.history])
    print(n.predict_proba(X[:3]).tolist(), n.score(X, y))
    n.save_params(f_params=d + "/p.pt")
    m = NeuralNetClassifier(M, criterion=torch.nn.CrossEntropyLoss).initialize()
    m.load_params(f_params=d + "/p.pt")
    print(np.abs(m.predict_proba(X) - n.predict_proba(X)).max())
torch.manual_seed(1)
g = GridSearchCV(
    make_pipeline(
        StandardScaler(),
        NeuralNetClassifier(
            M,
            criterion=torch.nn.CrossEntropyLoss,
            max_epochs=3,
            lr=0.1,
            verbose=0,
            train_split=False,
            iterator_train__shuffle=True,
        ),
    ),
    {"neuralnetclassifier__module__h": [4, 8], "neuralnetclassifier__lr": [0.05, 0.2]},
    cv=2,
    scoring="neg_log_loss",
)
g.fit(X, y)
print(g.best_params_, g.cv_results_["mean_test_score"].tolist())
torch.manual_seed(2)
r = NeuralNetRegressor(M, module__out=1, max_epochs=5, lr=0.02, verbose=0, optimizer__momentum=0.9)
r.fit(X, X[:, :1] * 2)
print(r.history[:, "train_loss"], r.predict(X[:2]).tolist())
r.partial_fit(X, X[:, :1] * 2)
print(len(r.history))
