"""Programs with sparse tensors: training, files, copies, hooks, loaders.  Numbers are PyTorch's."""

from __future__ import annotations

import copy
import io
import pickle

import pytest

import taper
from sparse_programs import attention_losses, convolution_losses, rows_losses
from taper.utils.data import DataLoader

LOSSES = {
    convolution_losses: [1.08439, 1.04438, 1.02601, 1.00245, 0.97198],
    attention_losses: [1.98032, 1.84752, 1.75694, 1.70251, 1.66354],
    rows_losses: [0.91603, 0.70953, 0.60896, 0.53898, 0.47861],
}


@pytest.mark.parametrize("program", LOSSES)
def test_program_trains_as_in_pytorch(program):
    assert program(taper) == pytest.approx(LOSSES[program], abs=1e-4)


def unordered():
    return taper.sparse_coo_tensor([[1, 0, 1], [0, 2, 0]], [1.0, 2.0, 3.0], (2, 3))


def same(one, two):
    assert one.layout is two.layout and one.shape == two.shape and one.dtype is two.dtype
    assert taper.equal(one.to_dense(), two.to_dense())


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
@pytest.mark.parametrize("way", ["save", "pickle", "deepcopy"])
def test_copy_has_the_same_elements(layout, way):
    x = (
        unordered()
        if layout == "coo"
        else unordered().to_sparse(layout=getattr(taper, f"sparse_{layout}"))
    )
    if way == "save":
        file = io.BytesIO()
        taper.save({"x": x}, file)
        file.seek(0)
        again = taper.load(file)["x"]
    elif way == "pickle":
        again = pickle.loads(pickle.dumps(x))
    else:
        again = copy.deepcopy(x)
    same(again, x)
    assert again._nnz() == x._nnz()


def test_file_whose_indices_do_not_fit_is_refused():
    wrong = taper.sparse_coo_tensor([[7]], [1.0], (2,), check_invariants=False)
    file = io.BytesIO()
    taper.save(wrong, file)
    file.seek(0)
    with pytest.raises(RuntimeError, match="size is inconsistent with indices"):
        taper.load(file)


def test_gradient_accumulates_and_hook_sees_it():
    table = taper.nn.Embedding(5, 2, sparse=True)
    seen = []
    table.weight.register_hook(lambda grad: seen.append(grad.layout))
    table(taper.tensor([1, 2])).sum().backward()
    table(taper.tensor([2, 0])).sum().backward()
    assert seen == [taper.sparse_coo] * 2
    grad = table.weight.grad
    assert grad.is_sparse
    assert grad.to_dense().tolist() == [[1, 1], [1, 1], [2, 2], [0, 0], [0, 0]]
    (table.weight * 2).sum().backward()
    assert table.weight.grad.layout is taper.strided
    assert table.weight.grad[2].tolist() == [4, 4]


def test_two_leaves_do_not_share_a_gradient():
    one, two = unordered().requires_grad_(), unordered().requires_grad_()
    taper.sparse.sum(one + two).backward()
    one.grad._values().mul_(2)
    assert two.grad._values().tolist() == [1.0, 1.0]


def test_zero_grad_keeps_the_tensor_without_elements():
    table = taper.nn.Embedding(5, 2, sparse=True)
    table(taper.tensor([1])).sum().backward()
    grad = table.weight.grad
    taper.optim.SGD(table.parameters(), lr=0.1).zero_grad(set_to_none=False)
    assert table.weight.grad is grad
    assert grad._nnz() == 0


def test_second_derivative_through_a_sparse_gradient():
    weight = taper.tensor([[1.0], [2.0]], requires_grad=True)
    loss = taper.nn.functional.embedding(taper.tensor([1, 1]), weight, sparse=True).pow(2).sum()
    (grad,) = taper.autograd.grad(loss, weight, create_graph=True)
    assert grad.grad_fn.name() == "SparseCooTensorWithDimsAndTensorsBackward0"
    grad.to_dense().sum().backward()
    assert weight.grad.to_dense().tolist() == [[0.0], [4.0]]


def test_gradcheck_moves_the_elements():
    x = taper.eye(3, dtype=taper.float64).to_sparse().requires_grad_()
    ones = taper.ones(3, 2, dtype=taper.float64)
    assert taper.autograd.gradcheck(lambda a: taper.sparse.mm(a, ones), (x,), masked=True)


def test_loader_refuses_batches_and_passes_single_samples():
    xs = [taper.eye(2).to_sparse()] * 2
    with pytest.raises(RuntimeError, match="Batches of sparse tensors"):
        next(iter(DataLoader(xs, batch_size=2)))
    same(next(iter(DataLoader(xs, batch_size=None))), xs[0])


def test_parameter_and_buffer_may_be_sparse():
    module = taper.nn.Module()
    module.weight = taper.nn.Parameter(taper.eye(2).to_sparse())
    module.register_buffer("graph", taper.eye(2).to_sparse())
    assert [name for name, _ in module.named_parameters()] == ["weight"]
    assert repr(module.weight).startswith("Parameter containing:\ntensor(indices=")
    assert list(module.state_dict()) == ["weight", "graph"]
    assert module.double().graph.dtype is taper.float64


def test_repr_of_a_compressed_tensor():
    assert repr(taper.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], requires_grad=True)) == (
        "tensor(crow_indices=tensor([0, 1, 2]),\n"
        "       col_indices=tensor([0, 1]),\n"
        "       values=tensor([1., 2.]), size=(2, 2), nnz=2, layout=torch.sparse_csr,\n"
        "       requires_grad=True)"
    )


@pytest.mark.parametrize(
    ("layout", "begins", "plain", "values", "error"),
    [
        ("csr", 1, [1], [1.0], "crow_indices must have dimensionality >= 1 but got 0"),
        ("bsc", 1, 1, 1.0, "ccol_indices must have dimensionality >= 1 but got 0"),
        ("csc", [0, 1], 1, [1.0], "ccol_indices and row_indices dimensionalities must be equal"),
        (
            "csr",
            [0, 1],
            [1],
            1.0,
            "values must have .*and block dimensionalities .=0 . 0. but got 0",
        ),
        ("bsr", [0, 1], [0], [[2.0]], "values must have .* dimensionalities .=0 . 2. but got 2"),
    ],
)
def test_shape_that_cannot_be_read_off_is_refused(layout, begins, plain, values, error):
    with pytest.raises(RuntimeError, match=error):
        getattr(taper, f"sparse_{layout}_tensor")(begins, plain, values)


@pytest.mark.parametrize("dense_dim", [-1, 2, 2**62])
def test_dimensions_that_cannot_be_stored_whole_are_refused(dense_dim):
    with pytest.raises(RuntimeError, match=rf"must be in .0,1. range, but {dense_dim} is given"):
        taper.ones(2, 2, 4).to_sparse_csr(dense_dim)
    with pytest.raises(
        RuntimeError, match="coo_to_sparse_csr: conversion from Sparse to SparseCsr"
    ):
        taper.ones(2, 2).to_sparse().to_sparse_csr(dense_dim)


def test_shape_is_read_off_whole_indices():
    with pytest.raises(NotImplementedError, match="estimate_.* not implemented for 'Float'"):
        taper.sparse_csr_tensor([0.0, 1.0], [0.0], [1.0])


def test_operator_without_a_rule_is_refused():
    with pytest.raises(NotImplementedError, match="Could not run 'aten::exp' with arguments from"):
        taper.eye(2).to_sparse().exp()
    with pytest.raises(NotImplementedError, match="SparseCsrCPU"):
        taper.cumsum(taper.eye(2).to_sparse_csr(), 0)


def test_modes_that_watch_operators():
    with pytest.warns(UserWarning, match="Anomaly"), taper.autograd.detect_anomaly():
        x = unordered().requires_grad_()
        taper.sparse.mm(x, taper.ones(3, 1)).sum().backward()
    assert x.grad.is_sparse
    with taper.inference_mode():
        assert (taper.eye(2).to_sparse() @ taper.ones(2, 1)).tolist() == [[1.0], [1.0]]
    with taper.autocast("cpu", dtype=taper.bfloat16):
        assert (taper.eye(2).to_sparse() @ taper.ones(2, 1)).dtype is taper.bfloat16
