"""torchmetrics: detection-free, image, audio-like, text, clustering, retrieval, nominal measures and wrappers."""

import torch
import torchmetrics as tm
from torchmetrics import (
    aggregation as A,
)
from torchmetrics import (
    classification as C,
)
from torchmetrics import (
    clustering as K,
)
from torchmetrics import (
    image as I,
)
from torchmetrics import (
    nominal as N,
)
from torchmetrics import (
    regression as R,
)
from torchmetrics import (
    retrieval as V,
)
from torchmetrics import (
    text as T,
)
from torchmetrics import (
    wrappers as W,
)

g = torch.Generator().manual_seed(0)
p, y = torch.rand(40, 4, generator=g).softmax(1), torch.randint(0, 4, (40,), generator=g)
for m in (
    C.MulticlassAUROC(4),
    C.MulticlassAveragePrecision(4),
    C.MulticlassCalibrationError(4),
    C.MulticlassCohenKappa(4),
    C.MulticlassMatthewsCorrCoef(4),
    C.MulticlassJaccardIndex(4),
    C.MulticlassHingeLoss(4),
    C.MulticlassSpecificity(4),
    C.MulticlassFBetaScore(2.0, 4),
    C.MulticlassExactMatch(4),
):
    try:
        print(type(m).__name__, m(p, y).item())
    except Exception as e:
        print(type(m).__name__, type(e).__name__)
b, t = torch.rand(30, generator=g), torch.randint(0, 2, (30,), generator=g)
for m in (
    C.BinaryAUROC(thresholds=None),
    C.BinaryROC(thresholds=5),
    C.BinaryPrecisionRecallCurve(thresholds=6),
    C.BinaryConfusionMatrix(),
    C.BinaryStatScores(),
    C.BinaryRecallAtFixedPrecision(0.5),
    C.BinaryFairness(2) if False else C.BinaryF1Score(),
):
    o = m(b, t)
    print(type(m).__name__, [x.tolist() for x in o] if isinstance(o, tuple) else o.tolist())
x, z = torch.randn(30, generator=g), torch.randn(30, generator=g)
for m in (
    R.SpearmanCorrCoef(),
    R.KendallRankCorrCoef(),
    R.ConcordanceCorrCoef(),
    R.ExplainedVariance(),
    R.TweedieDevianceScore(0.0),
    R.CosineSimilarity(),
    R.LogCoshError(),
    R.MinkowskiDistance(3),
    R.R2Score(),
    R.RelativeSquaredError(),
    R.SymmetricMeanAbsolutePercentageError(),
):
    a, c = (x[None], z[None]) if isinstance(m, R.CosineSimilarity) else (x, z)
    print(type(m).__name__, m(a, c).item())
u, v = torch.rand(2, 3, 24, 24, generator=g), torch.rand(2, 3, 24, 24, generator=g)
for m in (
    I.PeakSignalNoiseRatio(1.0),
    I.StructuralSimilarityIndexMeasure(data_range=1.0),
    I.UniversalImageQualityIndex(),
    I.SpectralAngleMapper(),
    I.ErrorRelativeGlobalDimensionlessSynthesis(),
    I.TotalVariation(),
    I.RelativeAverageSpectralError(),
    I.RootMeanSquaredErrorUsingSlidingWindow(),
    I.VisualInformationFidelity() if False else I.SpatialCorrelationCoefficient(),
):
    print(type(m).__name__, (m(u) if isinstance(m, I.TotalVariation) else m(u, v)).item())
print(
    T.BLEUScore()(["the cat is on the mat"], [["there is a cat on the mat"]]).item(),
    T.CharErrorRate()(["abc"], ["abd"]).item(),
    T.WordErrorRate()(["a b c"], ["a b d"]).item(),
    T.Perplexity()(
        torch.randn(2, 5, 7, generator=g), torch.randint(0, 7, (2, 5), generator=g)
    ).item(),
    T.CHRFScore()(["a cat"], [["the cat"]]).item(),
    T.EditDistance()(["rain"], ["shine"]).item(),
)
idx = torch.tensor([0, 0, 0, 1, 1, 1])
print(
    V.RetrievalMAP()(b[:6], t[:6], indexes=idx).item(),
    V.RetrievalNormalizedDCG()(b[:6], t[:6], indexes=idx).item(),
    V.RetrievalMRR()(b[:6], t[:6], indexes=idx).item(),
)
print(
    K.NormalizedMutualInfoScore()(y, y.flip(0)).item(),
    K.AdjustedRandScore()(y, y.roll(1)).item(),
    K.DaviesBouldinScore()(p, y).item(),
    N.CramersV(4)(y, y.roll(3)).item(),
    N.TheilsU(4)(y, y.roll(3)).item(),
)
print(
    {k: v.tolist() for k, v in W.BootStrapper(R.MeanSquaredError(), num_bootstraps=4)(x, z).items()}
    if False
    else 0,
    W.MinMaxMetric(C.BinaryAccuracy())(b, t),
    W.ClasswiseWrapper(C.MulticlassAccuracy(4, average=None))(p, y),
    A.RunningMean(3)(torch.tensor(2.0)),
    W.MultioutputWrapper(R.MeanAbsoluteError(), 2)(torch.ones(3, 2), torch.zeros(3, 2)).tolist(),
)
col = tm.MetricCollection(
    {"a": C.MulticlassAccuracy(4), "f": C.MulticlassF1Score(4), "c": C.MulticlassConfusionMatrix(4)}
)
[col.update(p[i : i + 10], y[i : i + 10]) for i in range(0, 40, 10)]
print({k: v.tolist() for k, v in col.compute().items()}, len(col.compute_groups))
