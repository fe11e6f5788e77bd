"""torchmetrics: detection, panoptic quality, calibration, audio, FID by an own network, bootstrap, running, minmax, multitask wrappers, aggregation, functional text."""

import torch
import torchmetrics as tm
import torchmetrics.functional as F
from torchmetrics.detection import (
    CompleteIntersectionOverUnion,
    GeneralizedIntersectionOverUnion,
    IntersectionOverUnion,
    PanopticQuality,
)
from torchmetrics.image import (
    ErrorRelativeGlobalDimensionlessSynthesis,
    PeakSignalNoiseRatioWithBlockedEffect,
    RelativeAverageSpectralError,
    SpectralAngleMapper,
    TotalVariation,
    UniversalImageQualityIndex,
    VisualInformationFidelity,
)
from torchmetrics.image.fid import FrechetInceptionDistance
from torchmetrics.wrappers import (
    BootStrapper,
    ClasswiseWrapper,
    MinMaxMetric,
    MultitaskWrapper,
    Running,
)

torch.manual_seed(0)
pred = [
    dict(
        boxes=torch.tensor([[10.0, 10, 30, 30], [5, 5, 12, 14]]),
        scores=torch.tensor([0.9, 0.4]),
        labels=torch.tensor([0, 1]),
    )
]
gt = [dict(boxes=torch.tensor([[12.0, 9, 31, 29], [4, 4, 12, 13]]), labels=torch.tensor([0, 1]))]
for M in (IntersectionOverUnion, GeneralizedIntersectionOverUnion, CompleteIntersectionOverUnion):
    m = M(class_metrics=True)
    m.update(pred, gt)
    print({k: v.item() for k, v in m.compute().items()})
pq = PanopticQuality(things={0, 1}, stuffs={6, 7}, allow_unknown_preds_category=True)
a = torch.randint(0, 2, (1, 6, 6, 2)) * torch.tensor([6, 1])
print(pq(a, a.flip(1)).item())
p, t = torch.rand(40, 4).softmax(1), torch.randint(0, 4, (40,))
for name in (
    "calibration_error",
    "cohen_kappa",
    "confusion_matrix",
    "exact_match",
    "hinge_loss",
    "jaccard_index",
    "matthews_corrcoef",
    "specificity",
    "average_precision",
    "auroc",
    "stat_scores",
):
    f = getattr(F.classification, "multiclass_" + name)
    if name == "exact_match":
        print(name, f(torch.randint(0, 3, (4, 5)), torch.randint(0, 3, (4, 5)), 3).item())
        continue
    print(name, f(p, t, num_classes=4).tolist())
prc = tm.classification.MulticlassPrecisionRecallCurve(4, thresholds=5)
prc.update(p, t)
print([e.sum().item() for e in prc.compute()])
roc = tm.classification.BinaryROC()
roc.update(p[:, 0], (t == 0).long())
print([e.sum().item() for e in roc.compute()])
print(
    [
        e.item()
        for e in tm.classification.BinaryRecallAtFixedPrecision(0.3)(p[:, 0], (t == 0).long())
    ]
)
s, n = torch.randn(2, 400), torch.randn(2, 400) * 0.3
for f in (
    F.audio.scale_invariant_signal_distortion_ratio,
    F.audio.signal_noise_ratio,
    F.audio.scale_invariant_signal_noise_ratio,
    F.audio.signal_distortion_ratio,
):
    print(f.__name__, f(s + n, s).tolist())
print(
    [
        e.tolist()
        for e in F.audio.permutation_invariant_training(
            torch.stack([s + n, s], 1),
            torch.stack([s, s + n], 1),
            F.audio.scale_invariant_signal_distortion_ratio,
        )
    ]
)
x, y = torch.rand(2, 3, 48, 48), torch.rand(2, 3, 48, 48)
for M in (
    UniversalImageQualityIndex,
    SpectralAngleMapper,
    ErrorRelativeGlobalDimensionlessSynthesis,
    RelativeAverageSpectralError,
    VisualInformationFidelity,
):
    print(M.__name__, M()(x, y).item())
print(
    TotalVariation()(x).item(),
    PeakSignalNoiseRatioWithBlockedEffect(data_range=1.0)(x[:, :1], y[:, :1]).item(),
)


class Feat(torch.nn.Module):
    num_features = 6

    def forward(self, i):
        return torch.stack(
            [
                i.double().mean((1, 2, 3)),
                i.double().std((1, 2, 3)),
                *i.double().mean((2, 3)).unbind(1),
                i.double().amax((1, 2, 3)),
            ],
            1,
        )


try:
    f = FrechetInceptionDistance(feature=Feat(), normalize=True, input_img_size=(3, 48, 48))
    f.set_dtype(torch.float64)
    im = torch.rand(12, 3, 48, 48)
    f.update(im, real=True)
    f.update(im * 0.8 + 0.1, real=False)
    print("fid", f.compute().item())
except ModuleNotFoundError:
    print("fid needs fidelity")
torch.manual_seed(1)
b = BootStrapper(tm.MeanSquaredError(), num_bootstraps=5, quantile=torch.tensor([0.1, 0.9]))
b.update(p[:, 0], p[:, 1])
print({k: v.tolist() for k, v in b.compute().items()})
mm = MinMaxMetric(tm.MeanAbsoluteError())
[mm(p[:k, 0], p[:k, 1]) for k in (3, 9, 20)]
print({k: v.item() for k, v in mm.compute().items()})
r = Running(tm.SumMetric(), 3)
print([r(torch.tensor(float(i))).item() for i in range(6)], r.compute().item())
c = ClasswiseWrapper(tm.classification.MulticlassAccuracy(4, average=None))
print({k: v.item() for k, v in c(p, t).items()})
mt = MultitaskWrapper({"a": tm.MeanSquaredError(), "b": tm.PearsonCorrCoef()})
mt.update({"a": p[:, 0], "b": p[:, 1]}, {"a": p[:, 2], "b": p[:, 3]})
print({k: v.item() for k, v in mt.compute().items()})
print(
    F.text.bleu_score(["the cat is on the mat"], [["there is a cat on the mat"]]).item(),
    F.text.chrf_score(["abc def"], [["abc dxf"]]).item(),
    F.text.edit_distance(["rain"], ["shine"]).item(),
    F.text.perplexity(torch.rand(1, 5, 6).log_softmax(-1), torch.randint(0, 6, (1, 5))).item(),
    F.text.translation_edit_rate(["a b c"], [["a c b"]]).item(),
    F.text.extended_edit_distance(["this is"], ["this was"]).item(),
)
m = tm.MetricCollection(
    {
        "k": tm.KendallRankCorrCoef(),
        "s": tm.SpearmanCorrCoef(),
        "r": tm.R2Score(),
        "e": tm.ExplainedVariance(),
        "c": tm.ConcordanceCorrCoef(),
        "t": tm.TweedieDevianceScore(1.5),
        "kl": tm.MinkowskiDistance(3),
    }
)
m.update(p[:, 0], p[:, 1])
print({k: v.item() for k, v in m.compute().items()})
sd = tm.MeanMetric()
sd.persistent(True)
sd.update([1.0, 2, 6])
z = tm.MeanMetric()
z.persistent(True)
z.load_state_dict(sd.state_dict())
print(z.compute().item(), (sd + 1).compute().item())
