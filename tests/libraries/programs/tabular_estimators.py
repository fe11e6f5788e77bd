"""pytorch-tabnet and skorch: estimators of scikit-learn's kind: fit, predict, search, save, load."""

import contextlib
import tempfile

import numpy as np
import torch
from pytorch_tabnet.pretraining import TabNetPretrainer
from pytorch_tabnet.tab_model import TabNetClassifier, TabNetRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier
from skorch.callbacks import EarlyStopping, EpochScoring, LRScheduler

rng = np.random.default_rng(0)
x = rng.standard_normal((80, 5)).astype(np.float32)
y = (x[:, 0] + x[:, 1] > 0).astype(np.int64)
model = TabNetClassifier(n_d=4, n_a=4, n_steps=2, seed=0, verbose=0, device_name="cpu")
model.fit(x, y, eval_set=[(x, y)], max_epochs=4, batch_size=32, virtual_batch_size=16, patience=10)
print(*[float(v) for v in model.history["loss"]], *model.feature_importances_)
print(*model.predict_proba(x[:2]).flatten())
with tempfile.TemporaryDirectory() as folder:
    again = TabNetClassifier(verbose=0, device_name="cpu")
    with contextlib.redirect_stdout(None):  # it prints the folder
        again.load_model(model.save_model(f"{folder}/model"))
print(*again.predict_proba(x[:2]).flatten(), model.explain(x[:3])[0].sum())
regressor = TabNetRegressor(n_d=4, n_a=4, n_steps=2, seed=1, verbose=0, device_name="cpu")
regressor.fit(x, x[:, :1], max_epochs=3, batch_size=32, virtual_batch_size=16)
print(*regressor.predict(x[:3]).flatten())
pre = TabNetPretrainer(n_d=4, n_a=4, n_steps=2, seed=2, verbose=0, device_name="cpu")
pre.fit(x, max_epochs=2, batch_size=32, virtual_batch_size=16)
print(*[float(v) for v in pre.history["loss"]])


class Net(torch.nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(5, width),
            torch.nn.ReLU(),
            torch.nn.Dropout(0.2),
            torch.nn.Linear(width, 2),
            torch.nn.Softmax(-1),
        )

    def forward(self, x):
        return self.layers(x)


torch.manual_seed(0)
net = NeuralNetClassifier(
    Net,
    max_epochs=4,
    lr=0.1,
    optimizer=torch.optim.Adam,
    verbose=0,
    iterator_train__shuffle=True,
    callbacks=[
        EpochScoring("roc_auc", lower_is_better=False),
        LRScheduler("StepLR", step_size=2),
        EarlyStopping(patience=5),
    ],
)
net.fit(x, y)
print(*net.history[:, "train_loss"], *net.history[:, "valid_loss"], *net.history[:, "roc_auc"])
print(*net.predict_proba(x[:2]).flatten(), net.score(x, y))
with tempfile.TemporaryDirectory() as folder:
    net.save_params(
        f_params=f"{folder}/p.pt", f_optimizer=f"{folder}/o.pt", f_history=f"{folder}/h.json"
    )
    other = NeuralNetClassifier(Net, verbose=0).initialize()
    other.load_params(f_params=f"{folder}/p.pt")
print(*other.predict_proba(x[:2]).flatten())
torch.manual_seed(1)
pipeline = Pipeline(
    [
        ("scale", StandardScaler()),
        ("net", NeuralNetClassifier(Net, max_epochs=2, lr=0.1, verbose=0, train_split=None)),
    ]
)
search = GridSearchCV(
    pipeline, {"net__module__width": [4, 8]}, cv=2, scoring="accuracy", refit=False
)
search.fit(x, y)
print(*search.cv_results_["mean_test_score"])
