"""What autocast casts: operators, the graph, gradients, weights that are cast once."""

from __future__ import annotations

import pytest


def names(node):
    """Return the graph below a node as nested lists of names."""
    if node is None:
        return None
    below = [names(each) for each, _ in node.next_functions]
    name = node.name().removeprefix("torch::autograd::")
    return [name, *below] if below else name


LEAF = ["ToCopyBackward0", "AccumulateGrad"]


def leaves(torch, *shapes):
    torch.manual_seed(0)
    return [torch.randn(shape, requires_grad=True) for shape in shapes]


# --- the graph -------------------------------------------------------------------------------


def test_a_layer_is_cast_as_a_whole(torch):
    x, weight, bias = leaves(torch, (2, 3), (4, 3), (4,))
    with torch.autocast("cpu"):
        y = torch.nn.functional.linear(x, weight, bias)
    assert names(y.grad_fn) == ["AddmmBackward0", LEAF, LEAF, ["TBackward0", LEAF]]
    cast_bias, cast_x, (turned, _) = (
        y.grad_fn.next_functions[0][0],
        y.grad_fn.next_functions[1][0],
        y.grad_fn.next_functions[2],
    )
    cast_weight = turned.next_functions[0][0]
    order = [each._sequence_nr() for each in (cast_bias, cast_weight, cast_x, turned, y.grad_fn)]
    assert order == sorted(order)  # the last argument is cast first


def test_keywords_are_cast_as_arguments(torch):
    x, weight, bias = leaves(torch, (1, 2, 5), (3, 2, 3), (3,))
    with torch.autocast("cpu"):
        y = torch.nn.functional.conv1d(x, bias=bias, weight=weight)
    assert names(y.grad_fn) == ["ConvolutionBackward0", LEAF, LEAF, LEAF]
    order = [each._sequence_nr() for each, _ in y.grad_fn.next_functions]
    assert order == sorted(order, reverse=True)


def test_attention_and_losses(torch):
    q, k, v = leaves(torch, (1, 1, 2, 4), (1, 1, 2, 4), (1, 1, 2, 4))
    with torch.autocast("cpu"):
        attended = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        logits = attended.flatten(0, 2)
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor([1, 2]))
    assert (attended.dtype, loss.dtype) == (torch.bfloat16, torch.float32)
    assert names(loss.grad_fn) == [
        "NllLossBackward0",
        [
            "LogSoftmaxBackward0",
            [
                "ToCopyBackward0",
                ["ViewBackward0", ["ScaledDotProductFlashAttentionForCpuBackward0"] + [LEAF] * 3],
            ],
        ],
    ]


def test_what_is_called_inside_is_cast_where_the_function_is_not(torch):
    x, y = leaves(torch, (2, 3), (3, 2))
    with torch.autocast("cpu"):
        found = torch.einsum("ij,jk->ik", x, y)
        power = torch.linalg.matrix_power(x @ y, 2)
    assert found.dtype is power.dtype is torch.bfloat16
    assert found.grad_fn.name() != "ToCopyBackward0"


# --- dtypes ----------------------------------------------------------------------------------


def test_float64_and_integers_are_left_alone(torch):
    single, double = torch.ones(2, 2), torch.ones(2, 2, dtype=torch.float64)
    whole, pair = torch.ones(2, 2, dtype=torch.int64), torch.ones(2, 2, dtype=torch.complex64)
    with torch.autocast("cpu"):
        assert double.mm(double).dtype is torch.float64
        assert whole.mm(whole).dtype is torch.int64
        assert pair.mm(pair).dtype is torch.complex64
        with pytest.raises(RuntimeError, match="same dtype, but got: double != c10::BFloat16"):
            double.mm(single)
        with pytest.raises(RuntimeError, match="expected scalar type Double but found BFloat16"):
            torch.nn.functional.conv1d(double[None], single[:, :, None])


def test_what_is_joined_has_the_widest_dtype(torch):
    low, single = torch.ones(2, 2, dtype=torch.bfloat16), torch.ones(2, 2)
    half, double = single.half(), single.double()
    index = torch.tensor([0, 1])
    with torch.autocast("cpu"):
        for join in (
            lambda *given: torch.cat(given),
            lambda *given: torch.stack(given),
            lambda *given: torch.hstack(given),
            lambda a, b: torch.index_copy(a, 0, index, b),
        ):
            assert join(low, low).dtype is torch.bfloat16
            assert join(low, single).dtype is join(single, low).dtype is torch.float32
            assert join(single, half).dtype is torch.float32
            assert join(double, double).dtype is torch.float64
            with pytest.raises(RuntimeError, match="Unexpected floating ScalarType in at::autoca"):
                join(half, low)
        assert torch.cat([double, single]).dtype is torch.float64
        assert torch.cat([single.int(), low]).dtype is torch.bfloat16


def test_in_place_and_out_are_left_alone(torch):
    x, low = torch.ones(2, 2), torch.ones(2, 2, dtype=torch.bfloat16)
    with torch.autocast("cpu"):
        assert x.clone().addmm_(x, x).dtype is torch.float32
        assert x[None].clone().baddbmm_(x[None], x[None]).dtype is torch.float32
        assert torch.mm(x, x, out=torch.empty(0)).dtype is torch.float32
        assert torch.matmul(x, x, out=torch.empty(0)).dtype is torch.float32
        assert torch.prod(low, 0, out=torch.empty(0, dtype=torch.bfloat16)).dtype is torch.bfloat16
        with pytest.raises(RuntimeError, match="self and mat2 must have the same dtype, but got"):
            low.clone().addmm_(x, x)
        with pytest.raises(RuntimeError, match="but got: float != c10::BFloat16"):
            torch.mm(x, low, out=torch.empty(0))
        assert x.mm(x).dtype is torch.bfloat16


def test_layers_of_a_network(torch):
    functional = torch.nn.functional
    low, single = torch.ones(2, 4, dtype=torch.bfloat16), torch.ones(4)
    with torch.autocast("cpu"):
        assert functional.layer_norm(low, (4,), single, single).dtype is torch.bfloat16
        assert functional.group_norm(low[..., None], 2, single, single).dtype is torch.bfloat16
        assert functional.batch_norm(low, single, single, single, single).dtype is torch.bfloat16
        assert functional.dropout(low).dtype is torch.bfloat16
        assert functional.softmax(low, 1).dtype is torch.bfloat16
        assert functional.embedding(torch.tensor([0]), single[:, None]).dtype is torch.float32
        assert (low + single).dtype is torch.float32
        assert low.sum().dtype is torch.bfloat16


@pytest.mark.parametrize(
    ("kind", "single", "low"),
    [("LSTM", "bfloat16", "bfloat16"), ("GRU", "float32", "bfloat16"), ("RNN", *["bfloat16"] * 2)],
)
def test_recurrent_networks(torch, kind, single, low):
    module = getattr(torch.nn, kind)(2, 3, batch_first=True)
    x = torch.ones(1, 4, 2)
    with torch.autocast("cpu"):
        assert module(x)[0].dtype is getattr(torch, single)
        assert module(x.bfloat16())[0].dtype is getattr(torch, low)
        module(x)[0].sum().backward()
    assert module.weight_ih_l0.grad.dtype is torch.float32


def test_attention_modules(torch):
    x = torch.ones(1, 2, 4)
    with torch.autocast("cpu"):
        assert torch.nn.MultiheadAttention(4, 2)(x, x, x)[0].dtype is torch.bfloat16
        layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
        assert layer(x).dtype is layer.eval()(x).dtype is torch.float32


# --- gradients -------------------------------------------------------------------------------


def test_gradients_have_the_dtype_of_their_leaves(torch):
    x, weight = leaves(torch, (2, 3), (3, 2))
    with torch.autocast("cpu"):
        y = x.mm(weight)
    y.sum().backward()
    assert (y.dtype, x.grad.dtype, weight.grad.dtype) == (torch.bfloat16, *[torch.float32] * 2)
    low = weight.detach().bfloat16()
    assert torch.equal(x.grad, low.sum(1).expand(2, 3).float())


def test_a_backward_pass_inside_the_block_is_cast(torch):
    x, weight = leaves(torch, (4, 4), (4, 4))
    start = torch.randn(4, 4)

    def gradient(enabled):
        y = x.mm(weight)
        with torch.autocast("cpu", enabled=enabled):
            return torch.autograd.grad(y, x, start)[0]

    low = start.bfloat16().mm(weight.detach().bfloat16().t()).float()
    assert gradient(True).dtype is torch.float32
    assert torch.equal(gradient(True), low)
    assert not torch.equal(gradient(False), low)


def test_backward_and_accumulation_inside_the_block(torch):
    x, weight = leaves(torch, (2, 3), (3, 2))
    seen = []
    with torch.autocast("cpu"):
        y = x.mm(weight)
        y.register_hook(lambda grad: seen.append((grad.dtype, torch.is_autocast_enabled("cpu"))))
        y.float().sum().backward()
        y = x.mm(weight)
        y.float().pow(2).sum().backward()
    assert seen == [(torch.bfloat16, True)]
    assert weight.grad.dtype is torch.float32


def test_the_second_derivative(torch):
    (x,) = leaves(torch, (3, 3))
    with torch.autocast("cpu"):
        y = x.mm(x).float().pow(2).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert first.dtype is second.dtype is torch.float32
    assert second.isfinite().all()


# --- weights are cast once -------------------------------------------------------------------


def cast_of(torch, x, weight):
    """Return the node that cast the weight of a product, as a number that stands for it."""
    return x.mm(weight).grad_fn.next_functions[1][0]


def test_a_weight_is_cast_once(torch):
    x, weight = torch.ones(2, 3), leaves(torch, (3, 2))[0]
    with torch.autocast("cpu"):
        first = cast_of(torch, x, weight)
        assert cast_of(torch, x, weight) is first
        with torch.autocast("cpu"):
            assert cast_of(torch, x, weight) is first
        with torch.autocast("cpu", cache_enabled=False):
            assert cast_of(torch, x, weight) is not first
        with torch.autocast("cpu", enabled=False):
            pass
        assert cast_of(torch, x, weight) is first
        torch.clear_autocast_cache()
        assert cast_of(torch, x, weight) is not first
    with torch.autocast("cpu", cache_enabled=False):
        assert cast_of(torch, x, weight) is not cast_of(torch, x, weight)


def test_only_leaves_of_float32_that_require_grad_are_kept(torch):
    x, weight = torch.ones(3, 3), leaves(torch, (3, 3))[0]
    with torch.autocast("cpu"):
        for other in (weight * 1, weight.t(), weight.half(), weight.detach()):
            other = other if other.requires_grad else (other * 1).requires_grad_()
            if other.is_leaf:
                continue
            assert cast_of(torch, x, other) is not cast_of(torch, x, other)
        viewed = torch.ones(9).view(3, 3).requires_grad_()
        assert cast_of(torch, x, viewed) is not cast_of(torch, x, viewed)
        half = torch.ones(3, 3, dtype=torch.float16, requires_grad=True)
        assert cast_of(torch, x, half) is not cast_of(torch, x, half)
        parameter = torch.nn.Parameter(torch.ones(3, 3))
        assert cast_of(torch, x, parameter) is cast_of(torch, x, parameter)


def test_a_kept_weight_has_a_history_although_it_was_cast_in_no_grad(torch):
    x, weight = torch.ones(2, 3), leaves(torch, (3, 2))[0]
    with torch.autocast("cpu"):
        with torch.no_grad():
            assert not x.mm(weight).requires_grad
        assert names(x.mm(weight).grad_fn) == ["MmBackward0", None, LEAF]


@pytest.mark.parametrize("first", ["no_grad", "enable_grad", "inference_mode"])
@pytest.mark.parametrize("second", ["no_grad", "enable_grad", "inference_mode"])
def test_which_modes_share_a_kept_weight(torch, first, second):
    x, weight = torch.ones(2, 3), leaves(torch, (3, 2))[0]
    with torch.autocast("cpu"):
        with getattr(torch, first)():
            before = x.mm(weight).tolist()
        weight.data.add_(1)  # unseen by the version
        with getattr(torch, second)():
            after = x.mm(weight).tolist()
    assert (before == after) is ("inference_mode" not in (first, second))


def test_a_kept_weight_has_the_dtype_of_the_first_block(torch):
    x, weight = torch.ones(2, 3), leaves(torch, (3, 2))[0]
    with torch.autocast("cpu"):
        x.mm(weight)
        with torch.autocast("cpu", torch.float16):
            assert weight.t().mm(weight.t().t()).dtype is torch.float16
            assert torch.nn.functional.linear(weight, weight).dtype is torch.bfloat16


def test_gradients_through_a_kept_weight(torch):
    x, weight = torch.ones(2, 3), leaves(torch, (3, 2))[0]
    with torch.autocast("cpu"):
        y = x.mm(weight) + x.mm(weight)
    y.sum().backward()
    assert torch.equal(weight.grad, torch.full((3, 2), 4.0))


# --- transforms of functions -----------------------------------------------------------------


def test_transforms(torch):
    x, weight = torch.ones(3, 3), leaves(torch, (3, 3))[0]
    with torch.autocast("cpu"):
        gradient = torch.func.grad(lambda w: x.mm(w).sum())(weight)
        assert (gradient.dtype, gradient.requires_grad) == (torch.float32, False)
        primal, tangent = torch.func.jvp(lambda w: x.mm(w), (x,), (x,))
        assert primal.dtype is tangent.dtype is torch.bfloat16
        assert torch.func.jacrev(lambda w: x.mm(w))(x).dtype is torch.float32
        each = torch.func.vmap(torch.func.grad(lambda w, row: (row @ w).sum()), in_dims=(None, 0))
        assert each(weight, x).dtype is torch.float32


@pytest.mark.parametrize(
    ("name", "single", "low"),
    [
        ("mm", "bfloat16", "bfloat16"),
        ("linear", "bfloat16", "bfloat16"),
        ("conv1d", "float32", "bfloat16"),
        ("cat", "float32", "bfloat16"),
        ("mse_loss", "float32", "float32"),
        ("cross_entropy", "float32", "bfloat16"),
        ("prod", "float32", "float32"),
        ("trace", "float32", "bfloat16"),
    ],
)
def test_batches(torch, name, single, low):
    functional = torch.nn.functional
    target = torch.tensor([[0, 1, 2]]).expand(2, 3)
    run = {
        "mm": lambda x: torch.func.vmap(torch.mm)(x, x),
        "linear": lambda x: torch.func.vmap(functional.linear, in_dims=(0, None))(x, x[0]),
        "conv1d": lambda x: torch.func.vmap(functional.conv1d, in_dims=(0, None))(
            x[:, None], x[0][:, :, None]
        ),
        "cat": lambda x: torch.func.vmap(lambda a: torch.cat([a, a]))(x),
        "mse_loss": lambda x: torch.func.vmap(functional.mse_loss)(x, x),
        "cross_entropy": lambda x: torch.func.vmap(functional.cross_entropy)(x, target),
        "prod": lambda x: torch.func.vmap(torch.prod)(x),
        "trace": lambda x: torch.func.vmap(torch.trace)(x),
    }[name]
    x = torch.ones(2, 3, 3)
    with torch.autocast("cpu"):
        assert run(x).dtype is getattr(torch, single)
        assert run(x.bfloat16()).dtype is getattr(torch, low)


def test_forward_mode(torch):
    x = torch.ones(2, 2)
    with torch.autograd.forward_ad.dual_level(), torch.autocast("cpu"):
        dual = torch.autograd.forward_ad.make_dual(x, x)
        found = torch.autograd.forward_ad.unpack_dual(dual.mm(x))
    assert found.primal.dtype is found.tangent.dtype is torch.bfloat16


def test_autocast_is_off_where_saved_tensors_are_packed(torch):
    x, weight = leaves(torch, (2, 3), (3, 2))
    seen = []

    def pack(tensor):
        seen.append(torch.is_autocast_enabled("cpu"))
        with torch.autocast("cpu"):
            seen.append(torch.ones(1, 1).mm(torch.ones(1, 1)).dtype)
        return tensor

    with torch.autocast("cpu"):
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            x.mm(weight)
        assert x.mm(weight).dtype is torch.bfloat16
    assert seen == [False, torch.bfloat16] * 2
