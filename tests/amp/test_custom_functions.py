"""Custom functions with `custom_fwd` and `custom_bwd`."""

from __future__ import annotations

import pytest


def function_of(torch, seen, device_type="cpu", cast_inputs=None):
    class Double(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type=device_type, cast_inputs=cast_inputs)
        def forward(ctx, x, others, text):
            enabled = torch.is_autocast_enabled("cpu")
            seen.append((x.dtype, [each.dtype for each in others], text, enabled))
            return x * 2

        @staticmethod
        @torch.amp.custom_bwd(device_type=device_type)
        def backward(ctx, grad):
            enabled = torch.is_autocast_enabled("cpu")
            seen.append((grad.dtype, enabled, torch.get_autocast_dtype("cpu")))
            return grad * 2, None, None

    return Double


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("backward", [True, False])
def test_backward_runs_as_forward_did(torch, forward, backward):
    seen = []
    x = torch.ones(2, requires_grad=True)
    with torch.autocast("cpu", torch.float16, enabled=forward):
        y = function_of(torch, seen).apply(x, [x.double(), x.half()], "text")
    with torch.autocast("cpu", enabled=backward):
        y.sum().backward()
    assert seen == [
        (torch.float32, [torch.float64, torch.float16], "text", forward),
        (torch.float32, forward, torch.float16),
    ]


@pytest.mark.parametrize("enabled", [True, False])
def test_inputs_are_cast_inside_a_block(torch, enabled):
    seen = []
    x = torch.ones(2, requires_grad=True)
    with torch.autocast("cpu", enabled=enabled):
        y = function_of(torch, seen, cast_inputs=torch.float16).apply(x, [x.double(), x], "text")
    y.sum().backward()
    arrived = torch.float16 if enabled else torch.float32
    assert seen == [
        (arrived, [torch.float64, arrived], "text", False),
        (arrived, False, torch.bfloat16),
    ]
    assert (y.dtype, x.grad.dtype) == (arrived, torch.float32)
    assert y.grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"


def test_another_device_type_leaves_the_cpu_alone(torch):
    seen = []
    x = torch.ones(2, requires_grad=True)
    with torch.autocast("cpu"):
        y = function_of(torch, seen, "cuda", torch.float16).apply(x, [x], "text")
    y.sum().backward()
    assert seen == [
        (torch.float32, [torch.float32], "text", True),
        (torch.float32, False, torch.bfloat16),
    ]


def test_what_is_cast(torch):
    class Context:
        pass

    def show(ctx, *args, **kwargs):
        return args, kwargs

    cast = torch.amp.custom_fwd(show, device_type="cpu", cast_inputs=torch.float16)
    one = torch.ones(1)
    with torch.autocast("cpu"):
        (found, whole, text), kwargs = cast(
            Context(), [one, (one, one.double())], one.long(), "s", named={"key": one}
        )
    assert found[0].dtype is found[1][0].dtype is torch.float16
    assert found[1][1].dtype is torch.float64
    assert type(found) is list and type(found[1]) is tuple
    assert (whole.dtype, text) == (torch.int64, "s")
    assert kwargs["named"]["key"].dtype is torch.float16
    assert cast.__name__ == "show"


def test_backward_needs_the_other_decorator(torch):
    class Context:
        pass

    with pytest.raises(AttributeError, match="'_fwd_used_autocast'"):
        torch.amp.custom_bwd(lambda ctx: None, device_type="cpu")(Context())


def test_older_decorators(torch):
    with pytest.warns(FutureWarning):
        decorated = torch.cuda.amp.custom_fwd(cast_inputs=torch.float16)(lambda ctx, x: x.dtype)
    with pytest.warns(FutureWarning):
        back = torch.cuda.amp.custom_bwd(lambda ctx, x: x.dtype)

    class Context:
        pass

    context = Context()
    with torch.autocast("cpu"):
        assert decorated(context, torch.ones(1)) is torch.float32
        assert back(context, torch.ones(1)) is torch.float32
    assert context._fwd_used_autocast is False
