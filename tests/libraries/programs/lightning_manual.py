"""lightning: a GAN with manual optimization, Fabric, a tuner, torchmetrics inside, profiling and hooks."""

import logging
import tempfile

import lightning as L
import torch
import torchmetrics
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
logging.getLogger("lightning.fabric").setLevel(logging.ERROR)
L.seed_everything(4, verbose=False)


class GAN(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.g = torch.nn.Sequential(
            torch.nn.Linear(4, 16), torch.nn.LeakyReLU(0.2), torch.nn.Linear(16, 2)
        )
        self.d = torch.nn.Sequential(
            torch.nn.Linear(2, 16), torch.nn.LeakyReLU(0.2), torch.nn.Linear(16, 1)
        )
        self.hist = []

    def training_step(self, b, i):
        (x,) = b
        og, od = self.optimizers()
        z = torch.randn(len(x), 4)
        ld = (
            torch.nn.functional.softplus(-self.d(x)).mean()
            + torch.nn.functional.softplus(self.d(self.g(z).detach())).mean()
        )
        od.zero_grad()
        self.manual_backward(ld)
        od.step()
        lg = torch.nn.functional.softplus(-self.d(self.g(z))).mean()
        og.zero_grad()
        self.manual_backward(lg)
        og.step()
        self.hist.append((ld.item(), lg.item()))

    def on_train_epoch_end(self):
        s = self.lr_schedulers()
        [x.step() for x in s]

    def configure_optimizers(self):
        a, b = (
            torch.optim.Adam(self.g.parameters(), 1e-3, betas=(0.5, 0.9)),
            torch.optim.Adam(self.d.parameters(), 1e-3, betas=(0.5, 0.9)),
        )
        return [a, b], [
            torch.optim.lr_scheduler.ExponentialLR(a, 0.9),
            torch.optim.lr_scheduler.StepLR(b, 1),
        ]


m = GAN()
t = L.Trainer(
    max_epochs=2,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
t.fit(m, DataLoader(TensorDataset(torch.randn(48, 2)), 8))
print(m.hist, t.optimizers[0].param_groups[0]["lr"])
f = L.Fabric(accelerator="cpu", devices=1)
f.launch()
f.seed_everything(2, verbose=False)
net = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.GELU(), torch.nn.Linear(8, 3))
opt = torch.optim.AdamW(net.parameters(), 1e-2)
net, opt = f.setup(net, opt)
dl = f.setup_dataloaders(
    DataLoader(TensorDataset(torch.randn(30, 5), torch.randint(0, 3, (30,))), 10, shuffle=True)
)
acc = torchmetrics.Accuracy("multiclass", num_classes=3)
for e in range(2):
    for x, y in dl:
        with f.autocast():
            o = net(x)
            loss = torch.nn.functional.cross_entropy(o, y)
        f.backward(loss)
        f.clip_gradients(net, opt, max_norm=1.0)
        opt.step()
        opt.zero_grad()
        acc(o, y)
        print(loss.item())
    print(acc.compute().item())
    acc.reset()
with tempfile.TemporaryDirectory() as d:
    f.save(d + "/x.ckpt", {"net": net, "opt": opt, "e": 3})
    s = {"net": net, "opt": opt, "e": 0}
    f.load(d + "/x.ckpt", s)
    print(s["e"])
