"""E27 to E29, G17: what a program can ask about the pass that is running, and its log."""

from __future__ import annotations

import logging
import re
from contextlib import contextmanager

from autograd_probe import error, function

MANY_THREADS = (
    "RuntimeError: get_current_graph_task_execution_order expects the current backward to be "
    "executed with multithreading disabled, e.g. by running:"
)


def ask_in(tensor, question):
    """Ask in the pass that reaches `tensor`; the returned list gets the answers."""
    answers = []
    tensor.register_hook(lambda grad: answers.append(question()))
    return answers


def test_e27_each_pass_has_a_number(torch):
    number = torch._C._current_graph_task_id
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    answers = ask_in(y, number)
    y.sum().backward(retain_graph=True)
    torch.autograd.grad(y.sum(), x)
    assert answers[1] == answers[0] + 1
    assert number() == -1


def test_e27_a_pass_inside_a_pass_has_its_own_number(torch):
    number = torch._C._current_graph_task_id
    seen = []

    def nest(grad):
        seen.append(number())
        with torch.enable_grad():
            inner = torch.ones(1, requires_grad=True).exp()
            inner.register_hook(lambda grad: seen.append(number()))
            inner.backward()
        seen.append(number())

    y = torch.ones(2, requires_grad=True) * 2
    y.register_hook(nest)
    y.sum().backward()
    assert [each - seen[0] for each in seen] == [0, 1, 0]


def test_e27_will_execute_knows_the_nodes_of_the_pass(torch):
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    a, b = x * 2, w * 3
    c, unused = a + b, a * 5
    nodes = [each.grad_fn for each in (a, b, c, unused)]
    nodes.append(torch.autograd.graph.get_gradient_edge(w).node)
    ask = torch._C._will_engine_execute_node
    answers = ask_in(c, lambda: [ask(node) for node in nodes])
    c.sum().backward(retain_graph=True)
    torch.autograd.grad(c.sum(), a, retain_graph=True)
    c.sum().backward(inputs=[w])
    assert answers == [
        [True, True, True, False, True],
        [True, False, True, False, False],
        [False, True, True, False, True],
    ]


def test_e27_will_execute_refuses_what_it_cannot_answer(torch):
    ask = torch._C._will_engine_execute_node
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    leaf = torch.autograd.graph.get_gradient_edge(x).node
    assert error(lambda: ask(y.grad_fn)) == (
        "RuntimeError: _get_should_execute_nodes should only be called during the backward pass"
    )
    assert error(lambda: ask(y)) == (
        "RuntimeError: _will_engine_execute_node expects an grad_fn, but got Tensor"
    )
    answers = ask_in(y, lambda: error(lambda: ask(leaf)))
    torch.autograd.grad(y.sum(), x)
    assert answers == [
        "RuntimeError: A leaf node was passed to _will_engine_execute_node but we are currently "
        "running autograd.grad(). This is currently not supported."
    ]


def test_e27_the_order_of_execution_is_known_in_advance(torch):
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    a, b = x * 2, w.exp()
    last = (a + b).sum()
    predict = torch._C._current_graph_task_execution_order
    answers = ask_in(last, lambda: [node.name() for node in predict()])
    with torch.autograd.set_multithreading_enabled(False):
        last.backward(retain_graph=True)
        torch.autograd.grad(last, [a], retain_graph=True)
        last.backward(inputs=[w])
    leaf = "torch::autograd::AccumulateGrad"
    assert answers == [
        ["SumBackward0", "AddBackward0", "ExpBackward0", leaf, "MulBackward0", leaf],
        ["SumBackward0", "AddBackward0", "MulBackward0"],
        ["SumBackward0", "AddBackward0", "ExpBackward0", leaf],
    ]


def test_e27_the_order_is_told_only_inside_a_pass_on_one_thread(torch):
    predict = torch._C._current_graph_task_execution_order
    assert error(predict) == (
        "RuntimeError: _current_graph_task_execution_order should only be called during the "
        "backward pass"
    )
    y = torch.ones(2, requires_grad=True).sum()
    answers = ask_in(y, lambda: error(predict))
    y.backward()
    assert answers == [MANY_THREADS]


def test_e27_whether_the_graph_is_kept(torch):
    kept = torch._C._autograd._get_current_graph_task_keep_graph
    x = torch.ones(2, requires_grad=True)
    answers = []
    for options in ({}, {"retain_graph": True}, {"create_graph": True}):
        y = x * 2
        y.register_hook(lambda grad: answers.append(kept()))
        torch.autograd.grad(y.sum(), x, **options)
    assert answers == [False, True, True]
    assert kept() is True


def test_g17_the_current_node_is_the_one_that_runs(torch):
    current = torch._C._current_autograd_node
    seen = []

    def backward(ctx, grad):
        seen.append(current() is ctx)
        with torch.enable_grad():
            torch.ones(1, requires_grad=True).exp().backward()
        seen.append(current() is ctx)
        return grad

    x = torch.ones(2, requires_grad=True)
    y = function(torch, lambda ctx, x: x * 2, backward).apply(x)
    y.register_hook(lambda grad: seen.append(current() is y.grad_fn))
    x.register_hook(lambda grad: seen.append(current().name()))
    y.sum().backward()
    assert seen == [True, True, True, "torch::autograd::AccumulateGrad"]
    assert current() is None


def test_g17_no_node_runs_in_a_final_callback(torch):
    seen = []
    engine = torch.autograd.Variable._execution_engine
    y = torch.ones(2, requires_grad=True) * 2

    def look():
        seen.append((torch._C._current_autograd_node(), torch._C._current_graph_task_id() >= 0))

    y.register_hook(lambda grad: engine.queue_callback(look))
    y.sum().backward()
    assert seen == [(None, True)]


def test_e28_calculate_shape_gives_the_shapes_that_must_agree(torch):
    shapes = torch.autograd._calculate_shape
    y = torch.ones(2, 3, requires_grad=True) * 2
    edge = torch.autograd.graph.get_gradient_edge(y)
    assert shapes(y, torch.ones(2, 3), False) == (torch.Size([2, 3]), torch.Size([2, 3]))
    assert shapes(y, torch.ones(5, 2, 4), True) == (torch.Size([2, 3]), torch.Size([2, 4]))
    assert shapes(edge, torch.ones(3), False) == (torch.Size([2, 3]), torch.Size([3]))
    assert error(lambda: shapes(edge, torch.ones(5, 2, 3), True)) == (
        "RuntimeError: Batched grads are not supported with GradientEdge"
    )


# --- the log ---------------------------------------------------------------------------------


class Records(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        text = re.sub(" at 0x[0-9a-f]+", "", record.getMessage())
        self.lines.append(f"{record.levelname} {text}")


@contextmanager
def debugging():
    """Set the logger of autograd graphs to DEBUG in the block; return its records."""
    logger = logging.getLogger("torch.autograd.graph")
    records, level, propagate = Records(), logger.level, logger.propagate
    logger.addHandler(records)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        yield records.lines
    finally:
        logger.removeHandler(records)
        logger.setLevel(level)
        logger.propagate = propagate


def test_e29_every_node_that_runs_is_logged(torch):
    x = torch.ones(2, 3, requires_grad=True)
    y = function(torch, lambda ctx, x: x * 2).apply(x.unbind()[1])
    with debugging() as log:
        y.sum().backward()
    assert log == [
        "DEBUG Executing: <SumBackward0 object> with grad_outputs: [f32[]]",
        "DEBUG Executing: <torch.autograd.function.FBackward object> with grad_outputs: [f32[3]]",
        "DEBUG Executing: <UnbindBackward0 object> with grad_outputs: [None,f32[3]]",
        "DEBUG Executing: <AccumulateGrad object> with grad_outputs: [f32[2, 3]]",
    ]


def test_e29_a_captured_leaf_is_not_logged_and_dtypes_are_short(torch):
    x = torch.ones(2, dtype=torch.bfloat16, requires_grad=True)
    y = x.to(torch.complex128).abs().sum()
    with debugging() as log:
        torch.autograd.grad(y, x)
    assert log == [
        "DEBUG Executing: <SumBackward0 object> with grad_outputs: [f64[]]",
        "DEBUG Executing: <AbsBackward0 object> with grad_outputs: [f64[2]]",
        "DEBUG Executing: <ToCopyBackward0 object> with grad_outputs: [c128[2]]",
    ]


def test_e29_nothing_is_logged_at_the_level_of_the_root_logger(torch, caplog):
    caplog.set_level(logging.DEBUG)
    torch.ones(2, requires_grad=True).sum().backward()
    assert [each for each in caplog.records if each.name == "torch.autograd.graph"] == []
