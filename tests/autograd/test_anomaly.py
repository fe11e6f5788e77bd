"""N: anomaly mode."""

from __future__ import annotations

import warnings

import pytest

from autograd_probe import error, warned

ENABLED = (
    "UserWarning: Anomaly Detection has been enabled. This mode will increase the runtime and "
    "should only be enabled for debugging."
)


def with_backward(torch, backward, name="Bad"):
    body = {
        "forward": staticmethod(lambda ctx, x: x * 1),
        "backward": staticmethod(backward),
    }
    return type(name, (torch.autograd.Function,), body)


def nan(torch):
    return with_backward(torch, lambda ctx, grad: grad * float("nan"), "Nan")


def broken(torch):
    def backward(ctx, grad):
        raise KeyError("broken")

    return with_backward(torch, backward, "Broken")


def full_warnings(call):
    """Whole warning texts and what was raised."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        raised = error(call)
    return [str(each.message) for each in found], raised


def test_n1_the_mode_is_a_block_and_a_function(torch):
    assert not torch.is_anomaly_enabled()
    assert torch.is_anomaly_check_nan_enabled()
    with pytest.warns(UserWarning), torch.autograd.detect_anomaly(check_nan=False):
        assert torch.is_anomaly_enabled()
        assert not torch.is_anomaly_check_nan_enabled()
        with torch.autograd.set_detect_anomaly(False):
            assert not torch.is_anomaly_enabled()
        assert torch.is_anomaly_enabled()
    assert not torch.is_anomaly_enabled()
    assert torch.is_anomaly_check_nan_enabled()
    torch.autograd.set_detect_anomaly(True)
    assert torch.is_anomaly_enabled()
    torch.autograd.set_detect_anomaly(False)
    assert not torch.is_anomaly_enabled()


def test_n1_detect_anomaly_warns_when_it_is_made(torch):
    assert warned(torch.autograd.detect_anomaly) == [ENABLED]
    assert not torch.is_anomaly_enabled()
    assert error(lambda: torch.autograd.set_detect_anomaly(1)) == (
        "TypeError: set_anomaly_enabled(): argument 'enabled' (position 1) must be bool, not int"
    )


def test_n2_a_nan_in_a_gradient_is_an_error(torch):
    x = torch.zeros(2, requires_grad=True)
    bad = nan(torch)

    def run():
        with torch.autograd.set_detect_anomaly(True):
            bad.apply(x).sum().backward()

    _, raised = full_warnings(run)
    assert raised == "RuntimeError: Function 'NanBackward' returned nan values in its 0th output."
    y = torch.tensor([0.0], requires_grad=True)
    plain = torch.tensor([float("nan")])
    with torch.autograd.set_detect_anomaly(True):
        _, raised = full_warnings(lambda: (plain * y).sum().backward())
    assert raised == "RuntimeError: Function 'MulBackward0' returned nan values in its 1th output."


def test_n2_without_the_mode_a_nan_passes(torch):
    x = torch.zeros(2, requires_grad=True)
    nan(torch).apply(x).sum().backward()
    assert x.grad.isnan().all()


def test_n3_an_error_names_the_forward_line(torch):
    x = torch.zeros(2, requires_grad=True)
    bad = broken(torch)

    def run():
        with torch.autograd.set_detect_anomaly(True):
            y = bad.apply(x)
            y.sum().backward()

    (text,), raised = full_warnings(run)
    assert raised == "KeyError: 'broken'"
    assert text.startswith(
        "Error detected in BrokenBackward. Traceback of forward call that caused the error:\n"
    )
    assert "y = bad.apply(x)" in text
    assert "test_anomaly.py" in text


def test_n3_a_built_in_node_is_named_too(torch):
    x = torch.zeros(2, requires_grad=True)

    def run():
        with torch.autograd.set_detect_anomaly(True):
            y = x.exp()
            y.mul_(2)
            y.sum().backward()

    (text,), raised = full_warnings(run)
    assert raised.startswith("RuntimeError: one of the variables needed for gradient computation")
    assert text.startswith(
        "Error detected in ExpBackward0. Traceback of forward call that caused the error:\n"
    )
    assert "y = x.exp()" in text


def test_n3_without_the_mode_in_forward_there_is_no_stack(torch):
    x = torch.zeros(2, requires_grad=True)
    y = broken(torch).apply(x).sum()

    def run():
        with torch.autograd.set_detect_anomaly(True):
            y.backward()

    (text,), raised = full_warnings(run)
    assert raised == "KeyError: 'broken'"
    assert text.startswith(
        "Error detected in BrokenBackward. No forward pass information available. Enable detect "
        "anomaly during forward pass for more information."
    )


@pytest.mark.taper_only
def test_n3_without_the_mode_in_forward_the_line_is_known_all_the_same(torch):
    x = torch.zeros(2, requires_grad=True)
    y = broken(torch).apply(x)  # the forward
    with torch.autograd.set_detect_anomaly(True):
        (text,), _ = full_warnings(lambda: y.sum().backward())
    assert text.endswith(": y = broken(torch).apply(x)  # the forward")


def test_n4_nodes_recorded_in_a_backward_name_their_parents(torch):
    bad = broken(torch)
    outer = with_backward(torch, lambda ctx, grad: bad.apply(grad * ctx.factor), "Outer")
    x = torch.ones(2, requires_grad=True)

    def run():
        with torch.autograd.set_detect_anomaly(True):
            y = outer.apply(x)
            y.grad_fn.factor = torch.ones(2, requires_grad=True)
            (grad,) = torch.autograd.grad(y.sum(), x, create_graph=True)
            grad.sum().backward()

    texts, raised = full_warnings(run)
    assert raised == "KeyError: 'broken'"
    assert len(texts) == 2
    assert texts[0].startswith("Error detected in BrokenBackward.")
    assert texts[1].startswith(
        "\n\nPrevious calculation was induced by OuterBackward. Traceback of forward call that "
        "induced the previous calculation:\n"
    )
    assert "y = outer.apply(x)" in texts[1]


def test_n5_if_warnings_are_errors_the_original_error_wins(torch, capfd):
    x = torch.zeros(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KeyError):
            broken(torch).apply(x).sum().backward()
    assert "Error detected in BrokenBackward." in capfd.readouterr().err


def test_n6_nan_checking_can_be_left_out(torch):
    x = torch.zeros(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        nan(torch).apply(x).sum().backward()
    assert x.grad.isnan().all()


def test_n7_the_bookkeeping_is_in_the_metadata(torch):
    x = torch.zeros(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = x * 2
    assert list(y.grad_fn.metadata) == ["traceback_"]
    assert (x * 2).grad_fn.metadata == {}
