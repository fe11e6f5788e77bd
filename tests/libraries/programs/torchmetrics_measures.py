"""torchmetrics: classification, regression, image and text measures, collections, state, tracking."""

import torch
import torchmetrics as tm
from torchmetrics import classification as c
from torchmetrics import functional as f
from torchmetrics import image, regression, retrieval, text

torch.manual_seed(0)
scores = torch.rand(50, 4).softmax(1)
labels = torch.randint(0, 4, (50,))
binary = torch.rand(50)
truth = torch.randint(0, 2, (50,))
several = tm.MetricCollection({
    "accuracy": c.MulticlassAccuracy(4), "f1": c.MulticlassF1Score(4, average="macro"),
    "precision": c.MulticlassPrecision(4), "recall": c.MulticlassRecall(4, average="weighted"),
    "auroc": c.MulticlassAUROC(4), "ap": c.MulticlassAveragePrecision(4), "kappa": c.MulticlassCohenKappa(4),
    "mcc": c.MulticlassMatthewsCorrCoef(4), "jaccard": c.MulticlassJaccardIndex(4),
    "calibration": c.MulticlassCalibrationError(4),
})  # fmt: skip
for i in range(0, 50, 10):
    several.update(scores[i : i + 10], labels[i : i + 10])
for name, value in sorted(several.compute().items()):
    print(name, value.item())
print(*c.MulticlassConfusionMatrix(4)(scores, labels).flatten().tolist())
for kind in (
    c.BinaryAccuracy,
    c.BinaryAUROC,
    c.BinaryF1Score,
    c.BinarySpecificity,
    c.BinaryHingeLoss,
    c.BinaryAveragePrecision,
):
    print(kind.__name__, kind()(binary, truth).item())
for part in c.BinaryROC()(binary, truth):
    print("roc", *part[:8].tolist())
for part in c.BinaryPrecisionRecallCurve(thresholds=5)(binary, truth):
    print("curve", *part.tolist())
a, b = torch.randn(40), torch.randn(40)
for kind in (
    regression.MeanSquaredError, regression.MeanAbsoluteError, regression.R2Score, regression.PearsonCorrCoef,
    regression.SpearmanCorrCoef, regression.ExplainedVariance, regression.ConcordanceCorrCoef,
    regression.KendallRankCorrCoef, regression.LogCoshError,
):  # fmt: skip
    measure = kind()
    measure.update(a[:20], b[:20])
    measure.update(a[20:], b[20:])
    print(kind.__name__, measure.compute().item())
first, second = torch.rand(2, 3, 32, 32), torch.rand(2, 3, 32, 32)
print("ssim", image.StructuralSimilarityIndexMeasure(data_range=1.0)(first, second).item())
print("psnr", image.PeakSignalNoiseRatio(data_range=1.0)(first, second).item())
print(
    "tv",
    image.TotalVariation()(first).item(),
    image.UniversalImageQualityIndex()(first, second).item(),
)
print("bleu", text.BLEUScore()(["the cat sat on the mat"], [["a cat sat on the mat"]]).item())
print(
    "wer",
    text.WordErrorRate()(["hello duck"], ["hello world"]).item(),
    text.Perplexity()(scores[None], labels[None]).item(),
)
indexes = torch.arange(50) // 10
for kind in (retrieval.RetrievalMAP, retrieval.RetrievalMRR, retrieval.RetrievalNormalizedDCG):
    print(kind.__name__, kind()(binary, truth, indexes=indexes).item())
mean = tm.MeanMetric()
mean.persistent(True)
mean.update(torch.tensor([1.0, 2.0, 6.0]), weight=torch.tensor([1.0, 1.0, 2.0]))
again = tm.MeanMetric()
again.persistent(True)
again.load_state_dict(mean.state_dict())
print(
    again.compute().item(), f.pairwise_cosine_similarity(scores[:2], scores[2:4]).flatten().tolist()
)
tracker = tm.MetricTracker(c.MulticlassAccuracy(4), maximize=True)
for _ in range(3):
    tracker.increment()
    tracker.update(torch.rand(50, 4), labels)
print(*tracker.compute_all().tolist(), tracker.best_metric())
boot = tm.BootStrapper(
    regression.MeanSquaredError(), num_bootstraps=5, sampling_strategy="multinomial"
)
boot.update(a, b)
print({k: round(v.item(), 5) for k, v in boot.compute().items()})
print((mean + 1).compute().item(), tm.aggregation.CatMetric()(a[:2]).tolist())
