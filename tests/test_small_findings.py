"""Small differences from PyTorch 2.13 that an outside comparison found."""

from __future__ import annotations

import warnings

import pytest

import taper
from taper.nn import functional as F


def test_0d_logsigmoid_holds_an_array_that_can_be_written():
    y = F.logsigmoid(taper.tensor(1.0))
    y.data.mul_(2)
    assert y.item() == pytest.approx(-0.6265233755111694)


def test_the_adjoint_of_0d_is_its_conjugate_with_a_warning():
    with pytest.warns(UserWarning, match=r"adjoint\(\) is deprecated on 0-D tensors"):
        assert taper.tensor(1 + 2j).adjoint().item() == 1 - 2j


def test_unflatten_of_0d_and_expand_to_fewer_dims_say_what_pytorch_says():
    with pytest.raises(RuntimeError, match="unflatten got an unexpected error:\nDimension spec"):
        taper.tensor(1.0).unflatten(0, (-1, 1))
    with pytest.raises(RuntimeError, match=r"^expand\(CPUBoolType\{\[2, 3\]\}, size=\[1\]\)"):
        taper.ones(2, 3, dtype=taper.bool).expand(1)
    with pytest.raises(RuntimeError, match=r"^expand\(torch.HalfTensor\{\[2, 3\]\}, size=\[1\]\)"):
        taper.ones(2, 3, dtype=taper.half).expand(1)


def test_isin_takes_out():
    out = taper.zeros(2, dtype=taper.bool)
    assert taper.isin(taper.tensor([1, 2]), 1, out=out) is out
    assert out.tolist() == [True, False]
    with pytest.raises(RuntimeError, match="to have dtype bool, but got float instead"):
        taper.isin(taper.tensor([1, 2]), 1, out=taper.zeros(2))


def test_scatter_reduce_takes_out():
    index, out = taper.tensor([0]), taper.zeros(2)
    assert taper.scatter_reduce(taper.ones(2), 0, index, taper.ones(1), "sum", out=out) is out
    assert out.tolist() == [2, 1]
    with pytest.raises(RuntimeError, match="to have dtype float, but got double instead"):
        taper.scatter_reduce(taper.ones(2), 0, index, taper.ones(1), "sum", out=out.double())


def test_copies_of_parts_take_out_and_return_nothing():
    x, outs = taper.tensor([[1.0, 2.0], [3.0, 4.0]]), (taper.zeros(2), taper.zeros(0))
    assert taper.unbind_copy(x, out=outs) is None
    assert [each.tolist() for each in outs] == [[1, 2], [3, 4]]
    outs = [taper.zeros(1, 2), taper.zeros(1, 2, dtype=taper.int64)]
    assert taper.split_copy(x, 1, out=outs) is None
    assert [each.tolist() for each in outs] == [[[1, 2]], [[3, 4]]]
    assert taper.split_with_sizes_copy(x, [1, 1], out=(outs[0], taper.zeros(1, 2))) is None
    with pytest.raises(
        RuntimeError, match="unbind_copy_int_out expected an out= argument of size 2"
    ):
        taper.unbind_copy(x, out=(taper.zeros(2),))
    with pytest.raises(TypeError, match=r"argument 'out' must be tuple of Tensors, not Tensor"):
        taper.unbind_copy(x, out=taper.zeros(2))
    with pytest.raises(RuntimeError, match="to have dtype float, but got int instead"):
        taper.unbind_copy(x, out=(taper.zeros(2), taper.zeros(2, dtype=taper.int32)))


def test_neg_view_is_a_method_too():
    x = taper.ones(2)
    x._neg_view().fill_(3)
    assert x.tolist() == [-3, -3]


@pytest.mark.parametrize(
    ("dtype", "text"),
    [
        (taper.complex64, "torch.sign is not intended to support complex numbers"),
        (taper.bfloat16, "\"geqrf_cpu\" not implemented for 'BFloat16'"),
    ],
)
def test_orthogonal_refuses_what_its_parts_refuse(dtype, text):
    with pytest.raises(NotImplementedError, match=text):
        taper.nn.init.orthogonal_(taper.zeros(2, 2, dtype=dtype))


@pytest.mark.parametrize("lazy", ["conj", "_neg_view"])
def test_a_part_of_a_lazy_view_is_reshaped_by_copying(lazy):
    x = taper.tensor([[1 + 1j, 2, 3], [4, 5, 6]], requires_grad=True)
    part = getattr(x, lazy)()[:, :2]
    expected = [1 - 1j, 2, 4, 5] if lazy == "conj" else [-1 - 1j, -2, -4, -5]
    for flat in (part.reshape(-1), part.flatten()):
        assert flat.tolist() == expected
        assert type(flat.grad_fn).__name__ == "UnsafeViewBackward0"
        assert not flat.is_conj() and not flat.is_neg()


def test_a_matrix_times_a_stack_of_transposes_is_a_batched_product():
    stack = taper.ones(5, 4, 3, requires_grad=True)
    assert type((taper.ones(2, 3) @ stack.mT).grad_fn).__name__ == "UnsafeViewBackward0"
    with pytest.raises(RuntimeError, match=r"of batch2 tensor to be: \[3, 1\] but got: \[3, 2\]"):
        taper.ones(1, 1) @ taper.ones(3, 1, 2).mT


def test_addmm_looks_at_dtypes_first_and_embedding_names_young_dtypes():
    with pytest.raises(RuntimeError, match="mat1 and mat2 must have the same dtype, but got Doub"):
        taper.addmm(taper.ones(2, 3), taper.ones(2).double(), taper.ones(2))
    with pytest.raises(RuntimeError, match="Long, Int; but got CPUBoolType instead"):
        F.embedding(taper.zeros(2, dtype=taper.bool), taper.ones(3, 2))
    with pytest.raises(RuntimeError, match="Float, Double; but got CPUBoolType instead"):
        F.embedding_bag(taper.zeros(2, 2, dtype=taper.int64), taper.ones(3, 2, dtype=taper.bool))


X, ONCE = taper.arange(6.0).view(2, 3), taper.zeros(1, 3, dtype=taper.int64)
WITH_OUT = {
    "gelu": (lambda out: F.gelu(X, out=out), "Found dtype Double but expected Float"),
    "logsigmoid": (lambda out: F.logsigmoid(X, out=out), "expected scalar type Float but found Do"),
    "linear": (lambda out: F.linear(X, taper.ones(3, 3), out=out), "dtype float, but got double"),
    "avg_pool2d": (lambda out: F.avg_pool2d(X[None], 1, out=out), "dtype float, but got double"),
    "avg_pool3d": (lambda out: F.avg_pool3d(X[None, None], 1, out=out), "dtype float, but got d"),
    "scatter": (lambda out: taper.scatter(X, 0, ONCE, 9.0, out=out), "dtype float, but got double"),
    "scatter_add": (lambda out: taper.scatter_add(X, 0, ONCE, X, out=out), "float, but got double"),
    "slice_scatter": (
        lambda out: taper.slice_scatter(X, taper.zeros(1, 3), 0, 0, 1, out=out),
        "dtype float, but got double",
    ),
}


@pytest.mark.parametrize("name", WITH_OUT)
def test_functions_take_out_of_their_own_dtype(name):
    call, text = WITH_OUT[name]
    out = taper.zeros(0)
    assert call(out) is out
    assert out.tolist() == call(None).tolist()
    with pytest.raises(RuntimeError, match=text):
        call(taper.zeros(2, 3, dtype=taper.float64))


def test_copy_takes_no_more_dimensions_than_there_are():
    with pytest.raises(
        RuntimeError, match=r"shape \[3\] doesn't match the broadcast shape \[1, 3\]"
    ):
        taper.zeros(3).copy_(taper.ones(1, 3))
    x = taper.zeros(3)
    x[:] = taper.ones(1, 3)
    assert x.tolist() == [1, 1, 1]


def test_conj_physical_of_a_real_tensor_in_place_is_a_write():
    x = taper.ones(2, requires_grad=True)
    y = x * 1
    assert y.conj_physical_()._version == 1
    assert type(y.grad_fn).__name__ == "ConjPhysicalBackward1"
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used"):
        x.conj_physical_()
    out = taper.zeros(2, dtype=taper.bool)
    assert taper.conj_physical(taper.tensor([True, False]), out=out).tolist() == [True, False]


@pytest.mark.parametrize(
    "make",
    [
        lambda: F.one_hot(taper.tensor([1])),
        lambda: taper.isin(taper.tensor([1]), 1),
        lambda: taper.isclose(taper.ones(1), taper.ones(1)),
        lambda: taper.tril_indices(2, 2),
    ],
    ids=["one_hot", "isin", "isclose", "tril_indices"],
)
def test_what_is_made_in_inference_mode_is_an_inference_tensor(make):
    with taper.inference_mode():
        assert make().is_inference()


def test_checks_come_in_pytorchs_order():
    with pytest.raises(RuntimeError, match="Index to scalar can have only 1 value, got 2 value"):
        taper.index_select(taper.tensor(1.0), 0, taper.tensor([0, 0]))
    with pytest.raises(IndexError, match="their dimensionality must match. Source dimensionality"):
        taper.ones(3).index_copy(0, taper.tensor([0]), taper.ones(1, 1).double())
    with pytest.raises(NotImplementedError, match="\"trace\" not implemented for 'Bool'"):
        taper.tensor(True).trace()


def test_only_parts_that_are_lost_are_warned_about():
    taper.ones(0, dtype=taper.complex64).long()
    taper.ones(2, dtype=taper.complex64).sum(dtype=taper.bool)
    taper.set_warn_always(True)  # else once in a process
    try:
        with pytest.warns(UserWarning, match="input value tensor is non-contiguous, this will"):
            taper.bucketize(taper.ones(2, 3).t(), taper.arange(3.0))
    finally:
        taper.set_warn_always(False)


def test_logical_writes_are_no_part_of_the_graph():
    leaf = taper.ones(2, requires_grad=True)
    assert leaf.logical_not_().tolist() == [0, 0]
    result = leaf * 1
    result.logical_or_(other=taper.tensor([0.0, 1.0]))
    assert (result.tolist(), result._version) == ([0, 1], 1)
    assert type(result.grad_fn).__name__ == "MulBackward0"


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_of_bfloat16_is_bfloat16(reduction):
    scores = taper.ones(2, 3, dtype=taper.bfloat16)
    loss = F.cross_entropy(scores, taper.tensor([0, 1]), reduction=reduction)
    assert loss.dtype == taper.bfloat16


@pytest.mark.parametrize(
    ("dtype", "reduce", "name"),
    [(taper.bool, "mean", "Bool"), (taper.complex64, "amin", "ComplexFloat")],
)
def test_scatter_reduce_refuses_dtypes_without_order_or_mean(dtype, reduce, name):
    x = taper.ones(3, dtype=dtype)
    text = f"\"scatter_gather_tensor_cpu_reduce_{reduce}\" not implemented for '{name}'"
    with pytest.raises(NotImplementedError, match=text):
        x.scatter_reduce(0, taper.tensor([0]), x, reduce)


def test_scatter_with_reduce_and_a_masked_scatter_of_bytes_warn_of_their_end():
    index = taper.zeros(1, dtype=taper.int64)
    taper.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="The reduce argument of torch.scatter with Tensor sr"):
            taper.scatter(X[0], 0, index, taper.ones(1), reduce="add")
        with (
            pytest.warns(UserWarning, match="masked_scatter_ received a mask with dtype torch.uin"),
            pytest.raises(RuntimeError, match="only supports boolean masks"),
        ):
            X.masked_scatter(taper.ones(X.shape, dtype=taper.uint8), X)
    finally:
        taper.set_warn_always(False)


def messages_of(call):
    """Return what a call warns of, each time."""
    always = taper.is_warn_always_enabled()
    taper.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
    finally:
        taper.set_warn_always(always)
    return [str(each.message) for each in caught]


def test_who_warns_is_who_warns_in_pytorch():
    x, out, index = taper.eye(3), taper.zeros(3, 3), taper.tensor([0])
    assert messages_of(lambda: taper.cross(x, x, out=out)) == []
    assert len(messages_of(lambda: taper.cholesky(x, out=out))) == 2
    reduced = messages_of(lambda: x.index_reduce(0, index, x[:1], "prod"))
    assert reduced == ["index_reduce() is in beta and the API may change at any time."]
    number = taper.tensor(1j)
    assert len(messages_of(lambda: taper.linalg.vector_norm(number, 0))) == 1
    assert messages_of(lambda: taper.linalg.vector_norm(number, 0, dim=0)) == []


def test_gather_and_cat_warn_of_the_size_before_they_refuse_the_memory():
    x, index = taper.arange(6.0), taper.tensor([0, 1, 2])

    def call():
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            taper.gather(x, 0, index, out=x)
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            taper.cat((x, x), out=x)
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            taper.take(x, index, out=x)

    found = messages_of(call)
    assert [text.partition(", which")[0][-9:] for text in found] == ["shape [6]", "shape [6]"]
