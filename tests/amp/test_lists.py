"""Each operator of the lists: the dtype of its result inside a block."""

from __future__ import annotations

import pytest

# Each takes the package and a maker of tensors `make(*shape)` in the dtype under test.
PRODUCTS = {
    "addbmm": lambda t, make: t.addbmm(make(2, 2), make(3, 2, 2), make(3, 2, 2)),
    "addmm": lambda t, make: t.addmm(make(2), make(2, 2), make(2, 2)),
    "baddbmm": lambda t, make: t.baddbmm(make(2, 2), make(3, 2, 2), make(3, 2, 2)),
    "bmm": lambda t, make: t.bmm(make(3, 2, 2), make(3, 2, 2)),
    "conv1d": lambda t, make: t.nn.functional.conv1d(make(1, 2, 5), make(3, 2, 3), make(3)),
    "conv2d": lambda t, make: t.nn.functional.conv2d(make(1, 2, 5, 5), make(3, 2, 3, 3)),
    "conv3d": lambda t, make: t.nn.functional.conv3d(make(1, 2, 3, 3, 3), make(3, 2, 3, 3, 3)),
    "conv_same": lambda t, make: t.nn.functional.conv1d(make(2, 5), make(3, 2, 3), padding="same"),
    "conv_tbc": lambda t, make: t.conv_tbc(make(5, 1, 2), make(3, 2, 3), make(3)),
    "conv_transpose1d": lambda t, make: t.conv_transpose1d(make(1, 2, 5), make(2, 3, 3)),
    "conv_transpose2d": lambda t, make: t.conv_transpose2d(make(1, 2, 5, 5), make(2, 3, 3, 3)),
    "conv_transpose3d": lambda t, make: t.conv_transpose3d(
        make(1, 2, 3, 3, 3), make(2, 3, 1, 1, 1)
    ),
    "einsum": lambda t, make: t.einsum("ij,jk->ik", make(2, 3), make(3, 2)),
    "linalg.multi_dot": lambda t, make: t.linalg.multi_dot([make(2, 2), make(2, 2), make(2, 2)]),
    "linalg.vecdot": lambda t, make: t.linalg.vecdot(make(3), make(3)),
    "linear": lambda t, make: t.nn.functional.linear(make(2, 3), make(4, 3), make(4)),
    "matmul": lambda t, make: t.matmul(make(3), make(3)),
    "mm": lambda t, make: t.mm(make(2, 2), make(2, 2)),
    "prelu": lambda t, make: t.nn.functional.prelu(make(2, 2), make(1)),
    "scaled_dot_product_attention": lambda t, make: t.nn.functional.scaled_dot_product_attention(
        make(1, 2, 4), make(1, 2, 4), make(1, 2, 4), make(2, 2)
    ),
    "tensordot": lambda t, make: t.tensordot(make(2, 3), make(3, 2), 1),
    "__matmul__": lambda t, make: make(2, 2) @ make(2, 2),
    "affine_grid": lambda t, make: t.nn.functional.affine_grid(make(1, 2, 3), (1, 1, 2, 2), False),
}


def positive(t, make):
    return t.eye(3, dtype=make(1).dtype) + 0.1


SINGLES = {
    "adaptive_avg_pool3d": lambda t, make: t.nn.functional.adaptive_avg_pool3d(make(1, 4, 4, 4), 2),
    "adaptive_max_pool3d": lambda t, make: t.nn.functional.adaptive_max_pool3d(make(1, 4, 4, 4), 2),
    "avg_pool3d": lambda t, make: t.nn.functional.avg_pool3d(make(1, 4, 4, 4), 2),
    "binary_cross_entropy": lambda t, make: t.nn.functional.binary_cross_entropy(
        make(2).sigmoid(), make(2).sigmoid()
    ),
    "binary_cross_entropy_with_logits": lambda t, make: t.binary_cross_entropy_with_logits(
        make(2), make(2)
    ),
    "cdist": lambda t, make: t.cdist(make(2, 3), make(2, 3)),
    "cholesky": lambda t, make: t.linalg.cholesky(positive(t, make)),
    "cholesky_inverse": lambda t, make: t.cholesky_inverse(positive(t, make)),
    "cholesky_solve": lambda t, make: t.cholesky_solve(make(3, 1), positive(t, make)),
    "cosine_embedding_loss": lambda t, make: t.nn.functional.cosine_embedding_loss(
        make(2, 3), make(2, 3), t.ones(2)
    ),
    "cross_entropy": lambda t, make: t.nn.functional.cross_entropy(make(2, 3), t.tensor([0, 1])),
    "ctc_loss": lambda t, make: t.nn.functional.ctc_loss(
        make(4, 1, 3).log_softmax(2), t.tensor([[1, 2]]), (4,), (2,)
    ),
    "fft.fft": lambda t, make: t.fft.fft(make(4)).real,
    "fft.irfft": lambda t, make: t.fft.irfft(make(4)),
    "fft.rfftn": lambda t, make: t.fft.rfftn(make(4, 4)).real,
    "fractional_max_pool2d": lambda t, make: t.nn.functional.fractional_max_pool2d(
        make(1, 4, 4), 2, output_size=2
    ),
    "geqrf": lambda t, make: t.geqrf(make(3, 2))[0],
    "grid_sample": lambda t, make: t.nn.functional.grid_sample(
        make(1, 1, 3, 3), make(1, 2, 2, 2), align_corners=False
    ),
    "hinge_embedding_loss": lambda t, make: t.nn.functional.hinge_embedding_loss(
        make(2), t.ones(2)
    ),
    "huber_loss": lambda t, make: t.nn.functional.huber_loss(make(2), make(2)),
    "inverse": lambda t, make: positive(t, make).inverse(),
    "kl_div": lambda t, make: t.nn.functional.kl_div(make(2), make(2), reduction="batchmean"),
    "l1_loss": lambda t, make: t.nn.functional.l1_loss(make(2), make(2)),
    "linalg.cond": lambda t, make: t.linalg.cond(positive(t, make)),
    "linalg.eigh": lambda t, make: t.linalg.eigh(positive(t, make))[0],
    "linalg.eigvals": lambda t, make: t.linalg.eigvals(positive(t, make)).real,
    "linalg.inv": lambda t, make: t.linalg.inv(positive(t, make)),
    "linalg.lstsq": lambda t, make: t.linalg.lstsq(make(3, 2), make(3, 1))[0],
    "linalg.qr": lambda t, make: t.linalg.qr(make(3, 2))[0],
    "linalg.solve": lambda t, make: t.linalg.solve(positive(t, make), make(3, 1)),
    "linalg.svd": lambda t, make: t.linalg.svd(make(3, 2))[1],
    "linalg.svdvals": lambda t, make: t.linalg.svdvals(make(3, 2)),
    "linalg.tensorinv": lambda t, make: t.linalg.tensorinv(positive(t, make)[:, :, None], ind=1),
    "margin_ranking_loss": lambda t, make: t.nn.functional.margin_ranking_loss(
        make(2), make(2), t.ones(2)
    ),
    "max_pool3d": lambda t, make: t.nn.functional.max_pool3d(make(1, 4, 4, 4), 2),
    "max_unpool2d": lambda t, make: t.nn.functional.max_unpool2d(
        make(1, 1, 1), t.tensor([[[0]]]), 2
    ),
    "mse_loss": lambda t, make: t.nn.functional.mse_loss(make(2), make(2)),
    "multi_margin_loss": lambda t, make: t.nn.functional.multi_margin_loss(
        make(2, 3), t.tensor([0, 1])
    ),
    "multilabel_margin_loss": lambda t, make: t.nn.functional.multilabel_margin_loss(
        make(1, 2), t.tensor([[0, -1]])
    ),
    "nanquantile": lambda t, make: t.nanquantile(make(3), 0.5),
    "nll_loss": lambda t, make: t.nn.functional.nll_loss(make(2, 3), t.tensor([0, 1])),
    "nll_loss of images": lambda t, make: t.nn.functional.nll_loss(
        make(1, 3, 2, 2), t.zeros(1, 2, 2).long()
    ),
    "pad reflect": lambda t, make: t.nn.functional.pad(make(1, 3), (1, 1), "reflect"),
    "pad replicate": lambda t, make: t.nn.functional.pad(make(1, 3, 3), (1, 1, 1, 1), "replicate"),
    "poisson_nll_loss": lambda t, make: t.nn.functional.poisson_nll_loss(make(2), make(2)),
    "polar": lambda t, make: t.polar(make(2), make(2)).real,
    "prod": lambda t, make: make(3).prod(),
    "prod of a dimension": lambda t, make: make(3, 3).prod(1),
    "quantile": lambda t, make: t.quantile(make(3), 0.5),
    "smooth_l1_loss": lambda t, make: t.nn.functional.smooth_l1_loss(make(2), make(2)),
    "soft_margin_loss": lambda t, make: t.nn.functional.soft_margin_loss(make(2), t.ones(2)),
    "stft": lambda t, make: (
        t.stft(make(8), 4, window=t.ones(4, dtype=make(1).dtype), return_complex=True).real
    ),
    "svd": lambda t, make: t.svd(make(3, 2))[1],
    "trace": lambda t, make: make(3, 3).trace(),
    "triangular_solve": lambda t, make: t.triangular_solve(make(3, 1), positive(t, make))[0],
    "triplet_margin_loss": lambda t, make: t.nn.functional.triplet_margin_loss(
        make(2, 3), make(2, 3), make(2, 3)
    ),
    "view_as_complex": lambda t, make: t.view_as_complex(make(3, 2)).real,
}

# What is on no list, with the dtype of its argument.
PLAIN = {
    "adaptive_avg_pool2d": lambda t, make: t.nn.functional.adaptive_avg_pool2d(make(1, 4, 4), 2),
    "avg_pool2d": lambda t, make: t.nn.functional.avg_pool2d(make(1, 4, 4), 2),
    "addr": lambda t, make: t.addr(make(2, 2), make(2), make(2)),
    "cosine_similarity": lambda t, make: t.nn.functional.cosine_similarity(make(2, 3), make(2, 3)),
    "dot": lambda t, make: t.dot(make(2), make(2)),
    "exp": lambda t, make: make(2).exp(),
    "gelu": lambda t, make: t.nn.functional.gelu(make(2)),
    "layer_norm": lambda t, make: t.nn.functional.layer_norm(make(2, 3), (3,)),
    "log_softmax": lambda t, make: make(2, 3).log_softmax(1),
    "max_pool2d": lambda t, make: t.nn.functional.max_pool2d(make(1, 4, 4), 2),
    "max_pool3d with indices": lambda t, make: t.nn.functional.max_pool3d(
        make(1, 4, 4, 4), 2, return_indices=True
    )[0],
    "mean": lambda t, make: make(2).mean(),
    "mv": lambda t, make: t.mv(make(2, 2), make(2)),
    "norm": lambda t, make: t.linalg.norm(make(2)),
    "outer": lambda t, make: t.outer(make(2), make(2)),
    "pad constant": lambda t, make: t.nn.functional.pad(make(1, 3), (1, 1)),
    "pow": lambda t, make: make(2) ** 2,
    "sum": lambda t, make: make(2).sum(),
    "var": lambda t, make: make(2).var(),
}


def maker(torch, dtype):
    torch.manual_seed(3)
    return lambda *shape: torch.rand(*shape).to(dtype)


@pytest.mark.filterwarnings("ignore:torch.triangular_solve is deprecated")
@pytest.mark.parametrize("lower", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", [*PRODUCTS, *SINGLES, *PLAIN])
def test_dtypes(torch, name, lower):
    run = {**PRODUCTS, **SINGLES, **PLAIN}[name]
    found = []
    for given in ("float32", lower, "float64"):
        make = maker(torch, getattr(torch, given))
        with torch.autocast("cpu", getattr(torch, lower)):
            found.append(str(run(torch, make).dtype)[6:])
    expected = {
        name in PRODUCTS: [lower, lower, "float64"],
        name in SINGLES: ["float32", "float32", "float64"],
        name in PLAIN: ["float32", lower, "float64"],
    }[True]
    assert found == expected


@pytest.mark.parametrize("name", list(PRODUCTS))
def test_products_are_those_of_rounded_numbers(torch, name):
    torch_dtypes = torch.float32, torch.bfloat16
    with torch.autocast("cpu"):
        found = PRODUCTS[name](torch, maker(torch, torch_dtypes[0])).float()
    expected = PRODUCTS[name](torch, maker(torch, torch_dtypes[1])).float()
    assert torch.allclose(found, expected, rtol=1e-2, atol=1e-2)
