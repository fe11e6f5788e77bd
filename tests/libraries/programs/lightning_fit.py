"""lightning: Trainer.fit with validation, a checkpoint, a resumed run and a test; Fabric."""

import logging
import tempfile
import warnings

import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, TensorDataset, random_split

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Classifier(L.LightningModule):
    def __init__(self, width=16, lr=0.01):
        super().__init__()
        self.save_hyperparameters()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(4, width),
            torch.nn.ReLU(),
            torch.nn.Dropout(0.1),
            torch.nn.Linear(width, 3),
        )
        self.seen = []

    def forward(self, x):
        return self.layers(x)

    def training_step(self, batch, index):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train_loss", loss, on_epoch=True, on_step=True)
        self.seen.append(loss.item())
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        self.log("val_loss", F.cross_entropy(self(x), y), prog_bar=True)

    def test_step(self, batch, index):
        x, y = batch
        self.log("test_accuracy", (self(x).argmax(1) == y).float().mean())

    def predict_step(self, batch, index):
        return self(batch[0])

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.9)
        return [optimizer], [schedule]


class Data(L.LightningDataModule):
    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(5)
        x = torch.randn(96, 4, generator=generator)
        y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
        self.train, self.rest = random_split(TensorDataset(x, y), [64, 32], generator=generator)

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=16, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.rest, batch_size=16)

    test_dataloader = predict_dataloader = val_dataloader


def trainer(folder, epochs, **options):
    best = ModelCheckpoint(folder, monitor="val_loss", save_last=True)
    return L.Trainer(
        max_epochs=epochs, accelerator="cpu", enable_progress_bar=False, enable_model_summary=False,
        logger=CSVLogger(folder), log_every_n_steps=1, default_root_dir=folder,
        callbacks=[best, EarlyStopping("val_loss", patience=9), LearningRateMonitor()], **options,
    )  # fmt: skip


with tempfile.TemporaryDirectory() as folder:
    L.seed_everything(7, verbose=False)
    model = Classifier()
    first = trainer(folder, 2, gradient_clip_val=1.0)
    first.fit(model, Data())
    print("first", *model.seen, first.callback_metrics["val_loss"].item())
    model = Classifier()
    second = trainer(folder, 4, accumulate_grad_batches=2)
    second.fit(model, Data(), ckpt_path=f"{folder}/last.ckpt")
    print("second", second.global_step, *model.seen, second.callback_metrics["val_loss"].item())
    print("test", second.test(model, Data(), verbose=False)[0]["test_accuracy"])
    loaded = Classifier.load_from_checkpoint(f"{folder}/last.ckpt", lr=0.5)
    print(loaded.hparams.lr, loaded.hparams.width)
    print("predict", *second.predict(loaded, Data())[0].flatten().tolist())

L.seed_everything(3, verbose=False)
fabric = L.Fabric(accelerator="cpu", devices=1)
fabric.launch()
model = torch.nn.Linear(3, 2)
model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), 0.1))
loader = fabric.setup_dataloaders(DataLoader(torch.randn(8, 3), batch_size=4))
for batch in loader:
    loss = model(batch).square().mean()
    optimizer.zero_grad()
    fabric.backward(loss)
    fabric.clip_gradients(model, optimizer, max_norm=1.0)
    optimizer.step()
    print("fabric", loss.item())
