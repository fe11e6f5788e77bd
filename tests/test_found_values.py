"""What outside testing found, each by its id: values, gradients, dtypes and errors of operators.

The numbers are PyTorch 2.13's.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import taper
from taper import nn, tensor
from taper.nn import functional as F

INF, NAN = math.inf, math.nan


def bfloat16(values):
    return tensor(values, dtype=taper.bfloat16)


def close(found, expected, **tolerance):
    np.testing.assert_allclose(found.detach().numpy(), expected, **{"rtol": 1e-5, **tolerance})


def test_found_w2_the_gradient_of_a_complex_exponent_of_a_negative_base():
    exponent = tensor([1 + 1j], requires_grad=True)
    power = taper.pow(tensor([-1.0]), exponent)
    power.real.sum().backward()
    close(power, [-0.04321391507983208 + 0j], atol=1e-7)
    close(exponent.grad, [0.13576051592826843j], atol=1e-7)


def test_found_w3_complex_logcumsumexp():
    x = tensor([1 + 3j, 2 - 1j, 0.5 + 3j], requires_grad=True)
    result = x.logcumsumexp(0)
    close(result, [1 + 3j, 1.7879903316 - 1.3513458967j, 1.7247600555 - 1.6298158169j])
    result.real.sum().backward()
    expected = [0.7994003296 + 0.9082292914j, 2.2248344421 - 1.2010561228j]
    close(x.grad, [*expected, -0.0242346898 + 0.2928270698j], rtol=1e-4)
    nothing = tensor([complex(-INF, 0), 1 + 1j, complex(-INF, 2)]).logcumsumexp(0)
    assert nothing.tolist() == [complex(-INF, 0), 1 + 1j, 1 + 1j]


def test_found_w6_a_repeated_label_counts_each_time():
    x = tensor([[0.1, 0.2, 0.4, 0.8]], requires_grad=True)
    loss = F.multilabel_margin_loss(x, tensor([[3, 3, 0, -1]]))
    loss.backward()
    close(loss, 1.1)
    assert x.grad.tolist() == [[-0.5, 0.75, 0.75, -1.0]]


@pytest.mark.parametrize(
    ("name", "source"), [("scatter_reduce", "src"), ("index_reduce", "source")]
)
def test_found_w7_two_zeros_in_a_product_cannot_be_differentiated_again(name, source):
    x = tensor([1.0, 2.0], requires_grad=True)
    factors = tensor([0.0, 0.0, 3.0], requires_grad=True)
    product = getattr(x, name)(0, tensor([0, 0, 1]), factors, "prod")
    (grad,) = taper.autograd.grad(product.sum(), factors, create_graph=True)
    text = rf"{name}\(\): Double backward is unsupported for {source} when >1 zeros in {source}"
    with pytest.raises(RuntimeError, match=text):
        grad.sum().backward()


def test_found_w12_integer_logspace_truncates_its_ends_first():
    assert taper.logspace(0.9, 3.9, 4, dtype=taper.int64).tolist() == [1, 10, 100, 1000]
    assert taper.logspace(1.5, -2.5, 3, base=2, dtype=taper.int32).tolist() == [2, 0, 0]


def test_found_w13_nextafter_has_a_gradient_and_keeps_0d():
    x = tensor([1.0, 2.0], requires_grad=True)
    result = taper.nextafter(x, tensor([2.0, 0.0]))
    assert result.grad_fn.name() == "NextafterBackward0"
    result.sum().backward()
    assert x.grad.tolist() == [1, 1]
    for dtype, value in ((taper.bfloat16, 1.0078125), (taper.half, 1.0009765625)):
        following = taper.nextafter(tensor(1.0, dtype=dtype), tensor(2.0, dtype=dtype))
        assert following.shape == () and following.item() == value


def test_found_w14_half_quotients_and_histograms_round_as_pytorch():
    quotient = tensor([0.9995] * 64, dtype=taper.half).div(
        tensor([0.3333] * 64, dtype=taper.half), rounding_mode="trunc"
    )
    assert quotient.tolist() == [3] * 64
    one = taper.div(tensor(0.9995).half(), tensor(0.3333).half(), rounding_mode="trunc")
    assert one.item() == 2
    assert taper.histc(tensor([0.1, 0.2, 0.3, 0.6, 0.7, 1.0]), 5, 0, 1).tolist() == [1, 2, 0, 2, 1]


def test_found_w17_nothing_has_no_density_and_nan_a_nan_gradient():
    assert taper.histogram(taper.zeros(0), 3, range=(0.0, 1.0), density=True).hist.isnan().all()
    hist = taper.histogramdd(taper.zeros(0, 2), [2, 1], range=[0.0, 1.0, 0.0, 1.0], density=True)
    assert hist.hist.shape == (2, 1) and hist.hist.isnan().all()
    for function in (taper.softmax, taper.log_softmax):
        x = tensor(NAN, requires_grad=True)
        function(x, 0).backward()
        assert x.grad.isnan()


@pytest.mark.parametrize(
    "name",
    "chebyshev_polynomial_t chebyshev_polynomial_u hermite_polynomial_h "
    "hermite_polynomial_he legendre_polynomial_p laguerre_polynomial_l".split(),
)
def test_found_w18_polynomials_of_0d_keep_the_dtype(name):
    assert getattr(taper.special, name)(tensor(0.5), 3).dtype is taper.float32


def test_found_w20_bfloat16_with_nan_is_ordered():
    x = bfloat16([3.0, NAN, 1.0, 2.0])
    assert str(x.sort().values.tolist()) == "[1.0, 2.0, 3.0, nan]"
    assert str(x.sort(descending=True).values.tolist()) == "[nan, 3.0, 2.0, 1.0]"
    assert x.argsort().tolist() == [2, 3, 0, 1]
    assert str(bfloat16([3.0, NAN, 1.0, NAN]).unique().tolist()) == "[1.0, 3.0, nan, nan]"
    assert x.kthvalue(2).values.item() == 2 and math.isnan(x.kthvalue(4).values.item())
    assert str(x.topk(2).values.tolist()) == "[nan, 3.0]"


@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
def test_found_w21_ranges_are_written_into_a_view():
    whole = [[0, 1, 2, 3], [0, 4, 5, 6]]
    for function, arguments, expected in (
        (taper.linspace, (1, 6, 6), whole),
        (taper.arange, (1, 7), whole),
        (taper.range, (1, 6), whole),
        (
            lambda *ends, out: taper.logspace(*ends, base=2, out=out),
            (0, 5, 6),
            [[0, 1, 2, 4], [0, 8, 16, 32]],
        ),
    ):
        x = taper.zeros(2, 4)
        function(*arguments, out=x[:, 1:])
        assert x.tolist() == expected


def test_found_w22_the_sum_of_all_is_of_the_dtype_asked_for():
    x = tensor([300.7, 1.2])
    for dtype, expected in ((taper.uint8, 45), (taper.int32, 301), (taper.bool, True)):
        total = x.sum(dtype=dtype)
        assert total.dtype is dtype and total.item() == expected


def test_found_w23_samples_of_a_wide_beta_are_neither_0_nor_1():
    taper.manual_seed(0)
    sample = taper.distributions.Beta(0.01, 0.01).sample((20000,))
    assert sample.dtype is taper.float32
    assert 0 < sample.min().item() and sample.max().item() < 1


def test_found_w25_rows_are_bags_also_with_a_last_offset():
    weight = tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]])
    bag = nn.EmbeddingBag(4, 2, mode="sum", include_last_offset=True, _weight=weight)
    assert bag(tensor([[0, 1], [2, 3], [1, 1]])).tolist() == [[2, 4], [10, 12], [4, 6]]


def test_found_w28_layer_norm_over_millions_of_values_is_exact():
    taper.manual_seed(0)
    x = taper.rand(3000, 3000)
    exact = x.double()
    exact = (exact - exact.mean()) / (exact.var(unbiased=False) + 1e-5).sqrt()
    assert (F.layer_norm(x, (3000, 3000)) - exact).abs().max().item() < 1e-6


def test_found_e8_take_along_dim_takes_negative_indices():
    x = tensor([[1.0, 2.0, 3.0]])
    assert taper.take_along_dim(x, tensor([[-1, -3]]), 1).tolist() == [[3, 1]]


def test_found_e11_complex_matrices_of_low_rank():
    taper.manual_seed(0)
    a = taper.randn(4, 3, dtype=taper.complex128)
    left, values, right = taper.svd_lowrank(a, 3)
    assert taper.allclose((left * values) @ right.mH, a)
    left, values, right = taper.pca_lowrank(a, 2)
    assert left.shape == (4, 2)
    assert values.dtype is taper.float64 and right.dtype is taper.complex128


def test_found_e13_what_empty_and_0d_tensors_may():
    assert F.pixel_shuffle(taper.zeros(0, 4, 2, 2), 2).shape == (0, 1, 4, 4)
    assert F.pixel_shuffle(taper.zeros(1, 4, 0, 2), 2).shape == (1, 1, 0, 4)
    assert F.pixel_unshuffle(taper.zeros(0, 1, 4, 4), 2).shape == (0, 1, 4, 4)
    assert tensor(2.0).index_reduce(0, tensor(0), tensor(3.0), "prod").item() == 6
    assert taper.zeros(3).gather(0, taper.zeros(0)).shape == (0,)
    assert taper.linalg.vander(tensor(2.0), N=3).tolist() == [[1, 2, 4]]


def test_found_e13_integers_in_tensordot_with_dims_of_length_1():
    ones = taper.ones(2, 3, dtype=taper.int32), taper.ones(1, 4, dtype=taper.int32)
    assert taper.tensordot(*ones, dims=([1], [0])).tolist() == [[3] * 4] * 2


@pytest.mark.filterwarnings("ignore:torch.lu is deprecated")  # said once in a process
def test_found_e13_lu_gives_its_infos():
    factors, pivots, infos = taper.lu(tensor([[4.0, 3.0], [6.0, 3.0]]), get_infos=True)
    close(factors, [[6, 3], [2 / 3, 1]])
    assert pivots.tolist() == [2, 2] and infos.tolist() == 0


def test_found_e14_old_empty_tensors_are_joined_along_any_dim():
    assert taper.cat([taper.zeros(0), taper.ones(1, 1, 2)], dim=2).tolist() == [[[1, 1]]]
    assert taper.cat([taper.zeros(0), taper.zeros(0)], dim=2).tolist() == []


def test_found_e14_there_is_no_threshold_of_complex_numbers():
    text = "\"threshold_cpu\" not implemented for 'ComplexFloat'"
    with pytest.raises(NotImplementedError, match=text):
        F.threshold(tensor([1 + 1j, 0j]), 0.5, 2.0)


def test_found_d9_what_the_mask_of_convolution_backward_leaves_out_is_none():
    x, weight, grad = taper.ones(1, 1, 3, 3), taper.ones(1, 1, 2, 2), taper.ones(1, 1, 2, 2)
    settings = ([1], [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    backward = taper.ops.aten.convolution_backward
    for mask in ([True, False, False], [False, True, False], [False, False, True]):
        found = backward(grad, x, weight, *settings, mask)
        assert [each is not None for each in found] == mask
    found = backward.default(grad, x, weight, *settings, output_mask=[False, True, True])
    assert found[0] is None
    assert found[1].tolist() == [[[[4, 4], [4, 4]]]] and found[2].tolist() == [4]


def test_found_d10_names_of_nodes_of_conj_physical_and_polygamma():
    c, x = tensor([1 + 2j], requires_grad=True), tensor([1.5], requires_grad=True)
    made = taper.conj_physical(c), taper.polygamma(2, x), (c * 1).conj_physical_()
    names = [each.grad_fn.name() for each in (*made, (x * 1).polygamma_(1))]
    assert names == [
        "ConjPhysicalBackward0",
        "PolygammaBackward0",
        "ConjPhysicalBackward1",
        "PolygammaBackward1",
    ]


# --- found beside the list -------------------------------------------------------------------


@pytest.mark.parametrize("function", [taper.scatter_reduce, taper.index_reduce])
@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_where_nan_is_the_extremum_all_gradients_are_nan(function, reduce):
    x = tensor([1.0, NAN, 2.0], requires_grad=True)
    source = tensor([NAN, 2.0, NAN, 3.0], requires_grad=True)
    function(x, 0, tensor([0, 1, 2, 2]), source, reduce).sum().backward()
    assert x.grad.isnan().all() and source.grad.isnan().all()


def test_the_largest_difference_passes_over_nan():
    first, second = tensor([[NAN, 1.0], [0.0, 5.0]]), tensor([[1.0, NAN], [2.0, 2.0]])
    assert taper.cdist(first, second, p=INF).tolist() == [[0, 1], [1, 3]]
    assert taper.cdist(tensor([[INF, 1.0]]), tensor([[INF, 2.0]]), p=INF).tolist() == [[1]]


@pytest.mark.parametrize(
    ("boundaries", "left", "right"),
    [
        ([1.0, 2.0, NAN], [0, 0, 1, 3, 3, 3, 0], [0, 1, 3, 3, 3, 3, 0]),
        ([NAN, 1.0, 2.0], [1, 1, 2, 3, 3, 3, 1], [1, 2, 3, 3, 3, 3, 1]),
        ([1.0, NAN, 3.0], [2, 2, 2, 3, 3, 3, 2], [2, 2, 2, 3, 3, 3, 2]),
        ([NAN, NAN], [2] * 7, [2] * 7),
        ([1.0, NAN, NAN, 4.0, 5.0], [3, 3, 3, 4, 5, 5, 3], [3, 3, 3, 5, 5, 5, 3]),
    ],
)
def test_a_search_goes_past_the_nan_it_meets(boundaries, left, right):
    values = tensor([0.0, 1.0, 2.0, 5.0, NAN, INF, -INF])
    for boundary in (tensor(boundaries), bfloat16(boundaries).float()):
        assert taper.searchsorted(boundary, values).tolist() == left
        assert taper.searchsorted(boundary, values, right=True).tolist() == right
        rows = taper.stack([boundary, boundary])
        assert taper.searchsorted(rows, taper.stack([values, values])).tolist() == [left, left]


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (taper.add, (taper.ones(5), 1), [[0, 2, 2, 2], [2, 2, 0, 0]]),
        (taper.mm, (taper.ones(3, 1), taper.ones(1, 2)), [[0, 1, 1, 1], [1, 1, 1, 0]]),
        (taper.sum, (taper.ones(3, 4), 0), [[0, 3, 3, 3], [3, 0, 0, 0]]),
        (taper.cat, ([taper.ones(3), taper.ones(2)],), [[0, 1, 1, 1], [1, 1, 0, 0]]),
    ],
)
def test_an_output_of_another_shape_is_resized_within_its_storage(function, arguments, expected):
    x = taper.zeros(2, 4)
    out = x[:, 1:]
    with pytest.warns(UserWarning, match=r"resized since it had shape \[2, 3\]"):
        function(*arguments, out=out)
    assert x.tolist() == expected
    assert out.storage_offset() == 1 and out._base is x and x._version == 1


@pytest.mark.parametrize("shape", [(1, 1), (5,), (3, 1)])
def test_found_e12_addbmm_in_place_takes_a_broadcastable_self(shape):
    found = taper.ones(shape).addbmm_(taper.ones(2, 3, 4), taper.ones(2, 4, 5))
    assert found.shape == (3, 5) and found.eq(9).all()


def test_found_w30_small_numbers_and_bounds():
    assert F.hardshrink(bfloat16([0.3, -0.3, 0.31]), 0.3).tolist() == [0.0, 0.0, 0.310546875]
    found = taper.log1p(tensor([1e-30 + 2e-30j, 1e-5 + 1e-3j]))
    close(found, [1e-30 + 2e-30j, 1.0499939889996313e-05 + 0.0009999896865338087j], rtol=1e-6)


def test_found_w30_nan_differs_from_itself():
    close(F.pdist(tensor([[1.0, NAN], [1.0, 2.0], [3.0, NAN]]), p=0), [NAN, NAN, NAN])
    rows, counts = tensor([[1.0, NAN], [1.0, NAN], [0.0, 1.0]]).unique(dim=0, return_counts=True)
    close(rows, [[0.0, 1.0], [1.0, NAN], [1.0, NAN]])
    assert counts.tolist() == [1, 1, 1]


def test_found_w30_a_tensor_of_a_storage_reads_its_bytes_as_words():
    words = tensor(tensor([1.0, 2.0]).untyped_storage())
    assert words.tolist() == [0x400000003F800000] and words.dtype is taper.int64


def test_found_w30_deterministic_algorithms_fill_new_memory():
    taper.use_deterministic_algorithms(True)
    try:
        assert taper.empty(3).isnan().all() and taper.ones(2).new_empty(2).isnan().all()
        assert taper.empty(2, dtype=taper.int32).tolist() == [2**31 - 1] * 2
        close(taper.zeros(1).resize_(3), [0.0, NAN, NAN])
    finally:
        taper.use_deterministic_algorithms(False)


def test_found_w30_weights_in_channels_last_3d_are_drawn_in_the_order_of_memory():
    layer = nn.Conv3d(2, 3, 2).to(memory_format=taper.channels_last_3d)
    taper.manual_seed(0)
    layer.reset_parameters()
    assert layer.weight.stride() == (16, 1, 8, 4, 2)
    close(layer.weight.flatten()[:4], [-0.0018717051, 0.1341108978, -0.2057612836, -0.1839847565])
