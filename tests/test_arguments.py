"""Arguments under all the names that PyTorch takes, and writes into expanded tensors."""

from __future__ import annotations

from operator import attrgetter

import pytest

import taper as torch

VECTOR = torch.tensor([3.0, 1.0, 2.0, 0.0])
MATRIX = torch.tensor([[3.0, 1.0], [2.0, 4.0]])


@pytest.mark.parametrize(
    "name",
    "sum mean prod amax amin logsumexp all any softmax log_softmax argmax sort median std var max "
    "min nansum nanmean nanmedian std_mean var_mean aminmax mode count_nonzero cumsum cumprod "
    "cummax logcumsumexp diff unsqueeze unbind linalg.norm linalg.vector_norm trapezoid fft.fft "
    "hash_tensor gradient squeeze_copy unbind_copy fft.fftshift norm_except_dim".split(),
)
def test_axis_is_dim(name):
    function = attrgetter(name)(torch)
    by_name, by_axis = function(MATRIX, dim=0), function(MATRIX, axis=0)
    if isinstance(by_name, tuple):
        by_name, by_axis = by_name[0], by_axis[0]
    assert torch.equal(by_name, by_axis)


@pytest.mark.parametrize(
    "call",
    [
        lambda **dim: torch.topk(MATRIX, 1, **dim)[0],
        lambda **dim: MATRIX.kthvalue(1, **dim)[0],
        lambda **dim: MATRIX.quantile(0.5, **dim),
        lambda **dim: MATRIX.nanquantile(0.5, **dim),
        lambda **dim: torch.chunk(MATRIX, 2, **dim)[1],
        lambda **dim: MATRIX.tensor_split(2, **dim)[1],
        lambda **dim: torch.stack([MATRIX, MATRIX + 1], **dim),
        lambda **dim: MATRIX.repeat_interleave(2, **dim),
        lambda **dim: torch.index_select(MATRIX, index=torch.tensor([1]), **dim),
        lambda **dim: MATRIX.gather(index=torch.tensor([[1], [0]]), **dim),
        lambda **dim: torch.take_along_dim(MATRIX, torch.tensor([[1], [0]]), **dim),
        lambda **dim: MATRIX.renorm(2, maxnorm=1.0, **dim),
        lambda **dim: MATRIX.select(index=1, **dim),
        lambda **dim: torch.narrow(MATRIX, start=1, length=1, **dim),
        lambda **dim: torch.split_with_sizes(MATRIX, [1, 1], **dim)[1],
        lambda **dim: torch.index_fill(MATRIX, index=torch.tensor([0]), value=5.0, **dim),
        lambda **dim: MATRIX.scatter(index=torch.tensor([[1], [0]]), src=MATRIX, **dim),
        lambda **dim: torch.nn.functional.cosine_similarity(MATRIX, MATRIX + 1, **dim),
        lambda **dim: MATRIX.clone().cumsum_(**dim),
        lambda **dim: MATRIX.clone().renorm_(2, maxnorm=1.0, **dim),
        lambda **dim: MATRIX.clone().index_add_(
            index=torch.tensor([1]), source=torch.ones(2, 1), **dim
        ),
        lambda **dim: MATRIX.clone().unsqueeze_(**dim),
    ],
)
def test_axis_is_dim_among_other_arguments(call):
    assert torch.equal(call(axis=1), call(dim=1))


def test_axis_is_dim_with_out_and_history():
    written = torch.empty(2, 2)
    torch.cumsum(MATRIX, axis=1, out=written)
    assert written.tolist() == [[3.0, 4.0], [2.0, 6.0]]
    leaf = MATRIX.clone().requires_grad_()
    leaf.cumsum(axis=1)[:, 1].sum().backward()
    assert leaf.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize(
    "name",
    "sum mean prod amax amin logsumexp all any max min argmax argmin std var median nansum nanmean "
    "nanmedian std_mean aminmax mode linalg.norm linalg.vector_norm".split(),
)
def test_keepdims_is_keepdim(name):
    result = attrgetter(name)(torch)(MATRIX, dim=0, keepdims=True)
    assert (result[0] if isinstance(result, tuple) else result).shape == (1, 2)


def test_arguments_that_are_missing_beside_the_dimension():
    with pytest.raises(
        TypeError, match=r'gather\(\) missing 2 required .* argument: "dim", "index"'
    ):
        MATRIX.gather()
    with pytest.raises(TypeError, match=r'gather\(\) missing 1 required .* arguments: "index"'):
        MATRIX.gather(axis=1)
    with pytest.raises(TypeError, match=r'select\(\) missing 1 required .* arguments: "index"'):
        MATRIX.select(axis=1)
    with pytest.raises(TypeError, match=r'select\(\) missing 1 required .* arguments: "dim"'):
        MATRIX.select(index=1)
    with pytest.raises(TypeError, match=r'cumsum_\(\) missing 1 required .* arguments: "dim"'):
        MATRIX.clone().cumsum_()


def test_a_dimension_is_not_given_twice():
    for call in (torch.fft.fft, torch.trapezoid, torch.hash_tensor):
        with pytest.raises(TypeError, match="unexpected keyword argument 'axis'"):
            call(MATRIX, dim=0, axis=1)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp", "cumsum", "unsqueeze"])
def test_a_dimension_that_must_be_given(name):
    with pytest.raises(TypeError, match=f'{name}\\(\\) missing 1 required positional.*"dim"'):
        getattr(torch, name)(VECTOR)


def test_names_of_parts():
    assert [part.tolist() for part in VECTOR.split(split_size=2)] == [[3, 1], [2, 0]]
    assert len(torch.split(VECTOR, split_size_or_sections=[1, 3])) == 2
    assert len(torch.tensor_split(VECTOR, sections=3)) == 3
    assert len(torch.tensor_split(VECTOR, indices=[1])) == 2
    assert len(torch.hsplit(MATRIX, sections=2)) == len(MATRIX.vsplit(indices=(1,))) == 2
    with pytest.raises(TypeError, match="missing 1 required"):
        torch.hsplit(MATRIX)


def test_in_place_functions_call_their_tensor_input():
    for name in ("abs_", "square_", "round_", "selu_", "exp_"):
        assert getattr(torch, name)(input=VECTOR.clone()).shape == (4,)
    assert torch.clamp_(input=VECTOR.clone(), max=1.0).tolist() == [1.0, 1.0, 1.0, 0.0]


def test_view_copy_takes_a_shape_or_a_dtype():
    bits = torch.view_copy(VECTOR, dtype=torch.int32)
    assert torch.equal(bits, torch.view_copy(VECTOR, torch.int32))
    assert bits.tolist() == VECTOR.view(torch.int32).tolist()
    assert torch.view_copy(VECTOR, size=(2, 2)).tolist() == [[3.0, 1.0], [2.0, 0.0]]
    written = torch.empty(0, dtype=torch.int32)
    assert torch.view_copy(VECTOR, torch.int32, out=written) is written
    assert torch.equal(written, bits)
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype int, but got float"):
        torch.view_copy(VECTOR, torch.int32, out=torch.empty(0))
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        torch.view_copy(VECTOR, size=(2, 2), dtype=torch.int32)


def test_other_names():
    assert torch.isin(elements=VECTOR, test_element=1.0).tolist() == [False, True, False, False]
    assert torch.isin(element=1.0, test_elements=VECTOR).item()
    assert torch.empty(2).uniform_(**{"from": 2.0, "to": 2.0}).tolist() == [2, 2]
    assert torch.empty(2).random_(**{"from": 1, "to": 2}).tolist() == [1, 1]
    with pytest.raises(TypeError, match="unexpected keyword argument 'form'"):
        torch.empty(2).uniform_(form=1)
    assert torch.zeros(2).copy_(other=torch.ones(2)).tolist() == [1, 1]


def test_arguments_of_the_wrong_type():
    with pytest.raises(TypeError, match=r"argument 'k' \(position 2\) must be int, not bool"):
        torch.topk(VECTOR, True)
    with pytest.raises(TypeError, match="'memory_format' must be torch.memory_format, not int"):
        VECTOR.clone(memory_format=3)
    with pytest.raises(RuntimeError, match="dim must be a 2-tuple. Got 0 1 2"):
        torch.norm(torch.ones(1, 2, 3), dim=(0, 1, 2))
    with pytest.raises(NotImplementedError, match="clamp is not supported for complex types"):
        torch.clamp_min(VECTOR, 1j)


def expanded():
    return torch.zeros(3).expand(2, 3)


def test_some_writes_into_expanded_tensors_warn():
    first = torch.tensor([0])
    with pytest.warns(UserWarning, match="Use of index_put_ on expanded tensors is deprecated"):
        expanded().index_put_((first,), torch.tensor(1.0))
    with pytest.warns(UserWarning, match="Use of index_put_ on expanded tensors is deprecated"):
        expanded()[first] = 1.0
    with pytest.warns(UserWarning, match="Use of index_fill_ on expanded tensors is deprecated"):
        expanded().index_fill_(0, first, 1.0)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.masked_scatter_(torch.ones(3, dtype=torch.bool), torch.ones(6)),
        lambda x: x.index_add_(0, torch.tensor([0]), torch.ones(1, 3)),
        lambda x: x.index_copy_(0, torch.tensor([0]), torch.ones(1, 3)),
    ],
)
def test_others_are_refused(write):
    x = expanded()
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        write(x)
    assert x.sum() == 0
