"""lightning: hyperparameters, data module, SWA, gradient accumulation schedule, rate finder, bf16, TensorBoard logger, load_from_checkpoint, predict."""

import logging
import os
import tempfile

import lightning as L
import torch
from lightning.pytorch import callbacks as C
from lightning.pytorch.loggers import TensorBoardLogger

for n in ("lightning.pytorch", "lightning.fabric"):
    logging.getLogger(n).setLevel(logging.ERROR)


class Data(L.LightningDataModule):
    def __init__(self, n=40):
        super().__init__()
        self.save_hyperparameters()

    def setup(self, stage):
        g = torch.Generator().manual_seed(0)
        x = torch.randn(self.hparams.n, 5, generator=g)
        y = (x[:, :2].sum(1) > 0).long()
        self.d = torch.utils.data.TensorDataset(x, y)

    def train_dataloader(self):
        return torch.utils.data.DataLoader(self.d, batch_size=8, shuffle=True)

    def val_dataloader(self):
        return torch.utils.data.DataLoader(self.d, batch_size=20)

    predict_dataloader = val_dataloader


class Net(L.LightningModule):
    def __init__(self, width=8, lr=1e-2, act="relu"):
        super().__init__()
        self.save_hyperparameters()
        self.example_input_array = torch.zeros(1, 5)
        self.net = torch.nn.Sequential(
            torch.nn.Linear(5, width),
            getattr(torch.nn, {"relu": "ReLU", "silu": "SiLU"}[act])(),
            torch.nn.Linear(width, 2),
        )
        self.seen = []

    def forward(self, x):
        return self.net(x)

    def training_step(self, b, i):
        loss = torch.nn.functional.cross_entropy(self(b[0]), b[1])
        self.log("loss", loss, on_step=True, on_epoch=True, prog_bar=True)
        self.seen.append(loss.item())
        return loss

    def validation_step(self, b, i):
        self.log_dict(
            {
                "val": torch.nn.functional.cross_entropy(self(b[0]), b[1]),
                "acc": (self(b[0]).argmax(1) == b[1]).float().mean(),
            }
        )

    def predict_step(self, b, i):
        return self(b[0]).softmax(1)

    def configure_optimizers(self):
        o = torch.optim.AdamW(self.parameters(), self.hparams.lr)
        return {
            "optimizer": o,
            "lr_scheduler": {
                "scheduler": torch.optim.lr_scheduler.ReduceLROnPlateau(o, patience=0),
                "monitor": "val",
            },
        }

    def on_before_optimizer_step(self, o):
        self.log_dict(L.pytorch.utilities.grad_norm(self, 2))


with tempfile.TemporaryDirectory() as d:
    L.seed_everything(7, verbose=False)
    m, data = Net(act="silu"), Data()
    cb = [
        C.StochasticWeightAveraging(5e-3, swa_epoch_start=2, annealing_epochs=1),
        C.GradientAccumulationScheduler({0: 1, 2: 2}),
        C.ModelCheckpoint(d, "{epoch}-{val:.3f}", monitor="val", save_top_k=2, save_last=True),
        C.LearningRateMonitor(),
        C.EarlyStopping("val", patience=10),
    ]
    t = L.Trainer(
        max_epochs=4,
        accelerator="cpu",
        callbacks=cb,
        logger=TensorBoardLogger(d, name="tb"),
        enable_progress_bar=False,
        enable_model_summary=False,
        gradient_clip_val=0.5,
        log_every_n_steps=2,
        num_sanity_val_steps=1,
    )
    t.fit(m, datamodule=data)
    print(m.seen)
    print({k: v.item() for k, v in sorted(t.callback_metrics.items())})
    print(
        sorted(f for f in os.listdir(d) if f.endswith("ckpt")),
        t.checkpoint_callback.best_model_score.item(),
    )
    again = Net.load_from_checkpoint(t.checkpoint_callback.best_model_path, width=8)
    print(again.hparams.act, again.hparams["lr"])
    p = L.Trainer(
        accelerator="cpu", logger=False, enable_progress_bar=False, enable_checkpointing=False
    ).predict(again, datamodule=data)
    print(torch.cat(p)[:4].tolist())
    print(
        L.Trainer(
            accelerator="cpu", logger=False, enable_progress_bar=False, enable_checkpointing=False
        ).validate(again, datamodule=data, verbose=False)
    )
    t = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        precision="bf16-mixed",
        enable_progress_bar=False,
        enable_checkpointing=False,
        enable_model_summary=False,
        limit_train_batches=3,
    )
    m = Net()
    t.fit(m, datamodule=data)
    print([round(v, 2) for v in m.seen])
    f = L.pytorch.tuner.Tuner(
        L.Trainer(
            accelerator="cpu",
            logger=False,
            enable_progress_bar=False,
            max_epochs=1,
            default_root_dir=d,
            enable_checkpointing=False,
            enable_model_summary=False,
        )
    ).lr_find(Net(), datamodule=data, num_training=12, update_attr=False)
    print(len(f.results["lr"]), f.results["loss"][:6])
    print(str(L.pytorch.utilities.model_summary.ModelSummary(Net(), max_depth=2)).count("Linear"))
    t = L.Trainer(
        fast_dev_run=2,
        accelerator="cpu",
        enable_progress_bar=False,
        enable_model_summary=False,
        detect_anomaly=True,
        profiler="simple",
    )
    m = Net()
    t.fit(m, datamodule=data)
    print(m.seen)
