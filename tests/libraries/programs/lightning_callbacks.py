"""lightning: two optimizers by hand, a data module, callbacks (checkpoint, early stopping, rate monitor), CSV logger, resume."""

import logging
import tempfile

import lightning as L
import torch
from lightning.pytorch.callbacks import (
    Callback,
    EarlyStopping,
    LearningRateMonitor,
    ModelCheckpoint,
    StochasticWeightAveraging,
)
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(1, verbose=False)


class DM(L.LightningDataModule):
    def setup(self, stage):
        g = torch.Generator().manual_seed(0)
        x = torch.randn(96, 6, generator=g)
        self.d = TensorDataset(x, (x[:, :2].sum(1, keepdim=True) > 0).float())

    def train_dataloader(self):
        return DataLoader(self.d, 16, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.d, 32)


class Net(L.LightningModule):
    def __init__(self, hidden=8, lr=1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(6, hidden), torch.nn.Tanh(), torch.nn.Linear(hidden, 1)
        )

    def training_step(self, b, i):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(self.net(b[0]), b[1])
        self.log("train", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, b, i):
        o = self.net(b[0])
        self.log_dict(
            {
                "val": torch.nn.functional.binary_cross_entropy_with_logits(o, b[1]),
                "acc": ((o > 0) == b[1].bool()).float().mean(),
            }
        )

    def predict_step(self, b, i):
        return self.net(b[0]).sigmoid()

    def configure_optimizers(self):
        o = torch.optim.RAdam(self.parameters(), lr=self.hparams.lr)
        return {
            "optimizer": o,
            "lr_scheduler": {
                "scheduler": torch.optim.lr_scheduler.ReduceLROnPlateau(o, patience=0),
                "monitor": "val",
            },
        }


class Show(Callback):
    def on_validation_epoch_end(self, t, m):
        print(t.current_epoch, {k: float(v) for k, v in sorted(t.callback_metrics.items())})


with tempfile.TemporaryDirectory() as d:
    kw = dict(
        accelerator="cpu",
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        default_root_dir=d,
    )
    ck = ModelCheckpoint(d, monitor="val", save_top_k=2, save_last=True)
    t = L.Trainer(
        max_epochs=3,
        callbacks=[ck, Show(), EarlyStopping("val", patience=2), LearningRateMonitor()],
        logger=CSVLogger(d),
        gradient_clip_val=0.5,
        accumulate_grad_batches=2,
        **kw,
    )
    m = Net()
    t.fit(m, DM())
    print(ck.best_model_score.item())
    t2 = L.Trainer(max_epochs=5, callbacks=[Show()], logger=False, **kw)
    m2 = Net()
    t2.fit(m2, DM(), ckpt_path=ck.last_model_path)
    b = Net.load_from_checkpoint(ck.best_model_path)
    print(
        b.hparams.hidden,
        torch.cat(t2.predict(b, DataLoader(TensorDataset(torch.ones(3, 6)), 2))).tolist(),
    )
    m3 = Net()
    L.Trainer(
        max_epochs=4,
        callbacks=[StochasticWeightAveraging(1e-2, swa_epoch_start=2)],
        logger=False,
        enable_checkpointing=False,
        **kw,
    ).fit(m3, DM())
    print(sum(p.sum().item() for p in m3.parameters()))
