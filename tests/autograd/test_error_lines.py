"""Errors that name the user's line: why something does not require grad, and what made a view.

PyTorch's own text stays first and intact; the tests look for the line that follows it.
"""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.taper_only

FIRST = "element 0 of tensors does not require grad and does not have a grad_fn"


def reason(loss) -> str:
    with pytest.raises(RuntimeError) as caught:
        loss.backward()
    first, _, rest = str(caught.value).partition("\n")
    assert first == FIRST
    assert "\n" not in rest
    return rest


def test_e2_the_no_grad_block_is_named(torch):
    w = torch.ones(2, requires_grad=True)
    with torch.no_grad():  # block of this test
        hidden = w * 2
    text = reason(((hidden + 1).view(2, 1) * 3).sum())
    assert "no_grad block" in text
    assert text.endswith("with torch.no_grad():  # block of this test")
    assert "test_error_lines.py" in text and "test_e2_the_no_grad_block_is_named" in text


def test_e2_a_decorated_function_is_named_where_it_is_called(torch):
    w = torch.ones(2, requires_grad=True)

    @torch.no_grad()
    def model(x):
        return x * w

    output = model(torch.ones(2))  # the call
    assert reason(torch.nn.functional.mse_loss(output, torch.zeros(2))).endswith("# the call")


def test_e2_nested_blocks_name_the_inner_one_and_restore(torch):
    w = torch.ones(2, requires_grad=True)
    with torch.no_grad():  # outer
        with torch.inference_mode():  # inner
            inner = w * 2
        outer = w * 2
    assert reason(outer.sum()).endswith("# outer")
    assert reason(inner.sum()).endswith("# inner")
    plain = torch.ones(2) * 2
    assert "Nothing that it was computed from requires grad" in reason(plain.sum())


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        (lambda x: x.detach(), "detach()"),
        (lambda x: x.data, "reading .data"),
        (lambda x: x.argmax(), "argmax(), whose result has no gradient"),
        (lambda x: x > 0, "gt(), whose result has no gradient"),
        (lambda x: x.long(), "to(), whose result has no gradient"),
    ],
)
def test_e2_the_operation_that_ends_the_history_is_named(torch, cut, words):
    w = torch.ones(2, requires_grad=True)
    loss = (cut(w * 2) * 1.0).sum()
    text = reason(loss)
    assert f"Its history ends at {words}" in text
    assert "test_error_lines.py" in text


def test_e2_set_grad_enabled_is_named_and_forgotten(torch):
    w = torch.ones(2, requires_grad=True)
    with torch.set_grad_enabled(False):  # here
        y = w * 2
    assert reason(y.sum()).endswith("# here")
    assert (w * 2).requires_grad is True
    assert y.requires_grad is False


def test_e2_constants_are_called_so(torch):
    assert "made of constants" in reason(torch.ones(2).sum())
    assert "torch.int64, which has no gradients" in reason(torch.ones(2, dtype=torch.int64).sum())


def test_e8_an_input_says_why_it_has_no_gradient(torch):
    w = torch.ones(2, requires_grad=True)
    x = w.detach()  # cut
    with pytest.raises(RuntimeError) as caught:
        torch.autograd.grad((w * 2).sum(), x)
    text = str(caught.value)
    assert text.startswith("One of the differentiated Tensors does not require grad\n")
    assert text.endswith("# cut")


def test_v9_the_refusal_names_the_line_that_made_the_view(torch):
    w = torch.ones(2, requires_grad=True)
    view = w[:1]  # the view
    with pytest.raises(RuntimeError) as caught:
        view.mul_(2)
    text = str(caught.value)
    assert text.startswith(
        "a view of a leaf Variable that requires grad is being used in an in-place operation."
    )
    assert text.endswith("view = w[:1]  # the view")


def test_s7_the_lines_that_saved_and_overwrote_are_named(torch):
    w = torch.ones(2, requires_grad=True)
    y = w * 2
    z = y.pow(2)  # saved
    y.add_(1)  # overwritten
    with pytest.raises(RuntimeError) as caught:
        z.sum().backward()
    lines = str(caught.value).split("\n")
    assert lines[0].startswith("one of the variables needed for gradient computation")
    assert any(line.endswith("# saved") for line in lines[1:])
    assert any(line.endswith("# overwritten") for line in lines[1:])


def test_e5_the_pass_that_freed_the_graph_is_named(torch):
    w = torch.ones(2, requires_grad=True)
    shared = w.exp()  # shared
    shared.sum().backward()  # first
    with pytest.raises(RuntimeError) as caught:
        (shared * 2).sum().backward()
    text = str(caught.value)
    assert text.startswith("Trying to backward through the graph a second time")
    assert "# first" in text and "# shared" in text


def test_l4_the_warning_names_the_line_that_computed_the_tensor(torch):
    w = torch.ones(2, requires_grad=True)
    y = w * 2  # no leaf
    with pytest.warns(UserWarning) as caught:
        assert y.grad is None
    first, rest = str(caught[0].message).split("\n")
    assert first.endswith("pull/30531 for more information.")
    assert rest.startswith("It was computed by MulBackward0 at ")
    assert rest.endswith("y = w * 2  # no leaf")


def test_e2_a_backward_pass_is_named_as_what_records_nothing(torch):
    w = torch.ones(2, requires_grad=True)
    texts = []

    def hook(grad):
        texts.append(reason((w * 2).sum()))

    y = w * 3
    y.register_hook(hook)
    y.sum().backward()
    assert texts == [
        "Its history ends at a backward pass, which records only with create_graph=True"
    ]
    assert (w * 2).requires_grad and "constants" in reason(torch.ones(1).sum())
