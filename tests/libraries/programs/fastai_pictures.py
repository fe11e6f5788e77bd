"""fastai: pictures by DataBlock with augmentation, mixup, a dynamic UNet, text by AWD-LSTM, collaborative filtering, rate finder, interpretation, discriminative rates, callbacks."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from fastai.collab import *
from fastai.text.all import AWD_LSTM, awd_lstm_lm_config, get_language_model
from fastai.vision.all import *
from PIL import Image

set_seed(0, True)


def quiet(learner):
    learner.remove_cb(ProgressCallback)
    return learner


with tempfile.TemporaryDirectory() as d:
    d = Path(d)
    rng = np.random.default_rng(0)
    for k in range(2):
        (d / f"k{k}").mkdir()
        for i in range(8):
            Image.fromarray((rng.random((24, 24, 3)) * 100 + 80 * k).astype("uint8")).save(
                d / f"k{k}" / f"{i}.png"
            )
    db = DataBlock(
        (ImageBlock, CategoryBlock),
        get_items=get_image_files,
        get_y=parent_label,
        splitter=RandomSplitter(0.25, seed=1),
        item_tfms=Resize(20),
        batch_tfms=[
            *aug_transforms(size=16, max_rotate=5.0, max_warp=0.1, p_lighting=0.5),
            Normalize.from_stats(*imagenet_stats),
        ],
    )
    set_seed(1)
    dls = db.dataloaders(d, bs=4, num_workers=0)
    print(dls.vocab, len(dls.train), len(dls.valid))
    b = dls.one_batch()
    print(b[0].shape, type(b[0]).__name__, b[0].mean().item(), b[1].tolist())
    net = nn.Sequential(
        ConvLayer(3, 8, stride=2),
        ResBlock(1, 8, 16, stride=2),
        nn.AdaptiveAvgPool2d(1),
        Flatten(),
        nn.Linear(16, 2),
    )
    cost = Learner(
        dls,
        net,
        loss_func=LabelSmoothingCrossEntropyFlat(),
        metrics=[accuracy, F1Score()],
        cbs=[MixUp(0.4), SaveModelCallback(fname="b"), GradientClip(0.5)],
        path=d,
        opt_func=ranger,
        splitter=lambda m: [params(m[:2]), params(m[2:])],
    )
    quiet(cost)
    with cost.no_logging():
        cost.fit_flat_cos(2, slice(1e-4, 1e-3))
    for v in cost.recorder.values:
        print(list(v))
    p, t = cost.get_preds()
    print(p.tolist(), t.tolist(), accuracy(p, t).item())
    tta = cost.tta(n=2)
    print(tta[0].shape)
    it = ClassificationInterpretation.from_learner(cost)
    print(it.confusion_matrix().tolist())
    print(cost.validate())
    with cost.no_logging():
        r = cost.lr_find(num_it=6, show_plot=False)
        print(len(cost.recorder.lrs))
    cost.save("s", with_opt=True)
    cost.load("s")
    print(sum(q.sum() for q in cost.model.parameters()).item())
    set_seed(2)
    u = DynamicUnet(
        nn.Sequential(ConvLayer(3, 4, stride=2), ConvLayer(4, 8, stride=2)), 2, (16, 16)
    )
    print(u(torch.rand(1, 3, 16, 16)).shape, sum(q.numel() for q in u.parameters()))
set_seed(3)
lm = get_language_model(
    AWD_LSTM, 30, {**awd_lstm_lm_config, "emb_sz": 12, "n_hid": 16, "n_layers": 2}, drop_mult=0.5
)
o = torch.optim.Adam(lm.parameters(), 1e-2)
ids = torch.randint(0, 30, (4, 9))
for _ in range(3):
    out = lm(ids)
    cost = F.cross_entropy(out[0].flatten(0, 1), ids.roll(-1, 1).flatten())
    cost.backward()
    o.step()
    o.zero_grad()
    print(cost.item())
lm.eval()
lm.reset()
print(lm(ids)[0].sum().item())
df = pd.DataFrame(
    dict(
        user=[f"u{i % 5}" for i in range(30)],
        item=[f"i{(i * 7) % 6}" for i in range(30)],
        rating=[(i * 3) % 5 + 1.0 for i in range(30)],
    )
)
set_seed(4)
dl = CollabDataLoaders.from_df(df, bs=8, seed=1, num_workers=0)
set_seed(5)
for kw in (dict(n_factors=4), dict(use_nn=True, layers=[8])):
    cost = quiet(collab_learner(dl, y_range=(0, 5.5), **kw))
    with cost.no_logging():
        cost.fit_one_cycle(2, 5e-3, wd=0.1)
    print([list(v) for v in cost.recorder.values], cost.get_preds()[0].flatten()[:3].tolist())
