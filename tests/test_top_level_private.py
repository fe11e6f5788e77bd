"""Private names at the top that libraries reach for; numbers are PyTorch's."""

from __future__ import annotations

import taper


def test_rows_as_coordinates_and_compressed():
    rows = taper.tensor([0, 0, 2, 3])
    starts = taper._convert_indices_from_coo_to_csr(rows, 5)
    assert starts.tolist() == [0, 2, 2, 3, 4, 4]
    assert starts.dtype == taper.int64
    assert taper._convert_indices_from_coo_to_csr(rows, 5, out_int32=True).dtype == taper.int32
    starts, columns = taper.tensor([0, 2, 2, 3]), taper.tensor([1, 0, 2])
    back = taper._convert_indices_from_csr_to_coo(starts, columns)
    assert back.tolist() == [[0, 0, 2], [1, 0, 2]]
    turned = taper._convert_indices_from_csr_to_coo(starts, columns, transpose=True)
    assert turned.tolist() == [[1, 0, 2], [0, 0, 2]]


def test_the_gradient_of_softmax_from_its_result():
    result = taper.tensor([[1.0, 2.0], [0.5, 3.0]]).softmax(-1)
    grad = taper.tensor([[1.0, 0.0], [2.0, 1.0]])
    found = taper._softmax_backward_data(grad, result, -1, taper.float32)
    expected = taper.tensor([[0.1966, -0.1966], [0.0701, -0.0701]])
    taper.testing.assert_close(found, expected, atol=5e-5, rtol=0)


def test_old_and_other_names():
    assert taper._cast_Long(taper.tensor([1.7])).tolist() == [1]
    lengths = taper.tensor([2, 4])
    assert taper._segment_reduce(taper.arange(6.0), "sum", lengths=lengths).tolist() == [1, 14]
    assert taper._tensor.Tensor is taper.Tensor
    assert taper._tensor_str._str(taper.ones(2)) == "tensor([1., 1.])"
    assert taper.cond(True, taper.neg, taper.exp, (taper.ones(1),)).item() == -1
    assert taper.while_loop(lambda i: i < 3, lambda i: (i + 1,), (0,)) == (3,)
