"""lightning: BackboneFinetuning, several loaders combined, metric collections, on_save hooks, EMA weights, resume."""

import logging
import tempfile

import lightning as L
import torch
import torchmetrics as tm
from lightning.pytorch.callbacks import (
    BackboneFinetuning,
    Callback,
    EMAWeightAveraging,
    ModelCheckpoint,
)
from lightning.pytorch.utilities import CombinedLoader

for n in ("lightning.pytorch", "lightning.fabric"):
    logging.getLogger(n).setLevel(logging.ERROR)


def loader(seed, n=24):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 4, generator=g)
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, (x.sum(1) > 0).long()), 6)


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.backbone = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU()
        )
        self.head = torch.nn.Linear(8, 2)
        self.m = tm.MetricCollection(
            [
                tm.classification.MulticlassAccuracy(2),
                tm.classification.MulticlassF1Score(2),
                tm.classification.MulticlassAUROC(2),
            ],
            prefix="train/",
        )
        self.v = self.m.clone(prefix="val/")

    def step(self, b):
        o = self.head(self.backbone(b[0]))
        return torch.nn.functional.cross_entropy(o, b[1]), o

    def training_step(self, b, i):
        (l1, o), (l2, _) = self.step(b["a"]), self.step(b["b"])
        self.m.update(o.softmax(1), b["a"][1])
        self.log("cost", l1 + 0.5 * l2, prog_bar=True)
        return l1 + 0.5 * l2

    def on_train_epoch_end(self):
        self.log_dict(self.m.compute())
        self.m.reset()

    def validation_step(self, b, i, dataloader_idx=0):
        cost, o = self.step(b)
        self.v.update(o.softmax(1), b[1])
        self.log("vl", cost)

    def on_validation_epoch_end(self):
        self.log_dict(self.v.compute())
        self.v.reset()

    def configure_optimizers(self):
        return torch.optim.SGD(
            filter(lambda p: p.requires_grad, self.parameters()), 0.1, momentum=0.9
        )

    def on_save_checkpoint(self, c):
        c["mine"] = torch.arange(3)

    def on_load_checkpoint(self, c):
        print("loaded", c["mine"].tolist())


class Watch(Callback):
    def on_train_epoch_end(self, t, m):
        print(
            t.current_epoch,
            {k: v.item() for k, v in sorted(t.callback_metrics.items())},
            len(t.optimizers[0].param_groups),
            [p.requires_grad for p in m.parameters()].count(True),
        )


def trainer(d, n, *cb):
    return L.Trainer(
        max_epochs=n,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[*cb, Watch()],
        default_root_dir=d,
        enable_checkpointing=any(isinstance(c, ModelCheckpoint) for c in cb),
    )


with tempfile.TemporaryDirectory() as d:
    L.seed_everything(1, verbose=False)
    m = Net()
    ck = ModelCheckpoint(d, every_n_train_steps=4, save_top_k=-1)
    t = trainer(
        d, 4, BackboneFinetuning(2, lambda e: 1.2, backbone_initial_ratio_lr=0.1, verbose=False), ck
    )
    t.fit(
        m,
        CombinedLoader({"a": loader(0), "b": loader(1, 12)}, "max_size_cycle"),
        [loader(2), loader(3)],
    )
    L.seed_everything(1, verbose=False)
    m = Net()
    ck = ModelCheckpoint(d + "/e", save_last=True)
    t = trainer(d, 2, EMAWeightAveraging(decay=0.7), ck)
    t.fit(m, CombinedLoader({"a": loader(0), "b": loader(1, 12)}, "min_size"), loader(2))
    print(m.head.weight.sum().item())
    m = Net()
    t = trainer(d, 3, ModelCheckpoint(d + "/f"))
    t.fit(
        m,
        CombinedLoader({"a": loader(0), "b": loader(1, 12)}, "min_size"),
        loader(2),
        ckpt_path=ck.last_model_path,
        weights_only=False,
    )
    print(m.head.weight.sum().item(), t.global_step)
