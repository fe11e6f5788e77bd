"""Q: what the profiler records.

PyTorch shows the parts of an operator as well (`aten::empty` in `aten::mul`), so most tests look at
the outermost events, or at those with certain names.
"""

from __future__ import annotations

import threading

import pytest

from autograd_probe import error, function, warned


def outer(events):
    """Return the names of the events that are in no other."""
    return [event.name for event in events if event.cpu_parent is None]


def parent(event):
    return None if event.cpu_parent is None else event.cpu_parent.name


def first(events, name):
    return next(event for event in events if event.name == name)


# --- Q1: profile -----------------------------------------------------------------------------


def test_q1_events_are_named_and_in_start_order(torch):
    profiler = torch.autograd.profiler
    x = torch.ones(3, 4)
    with profiler.profile() as p:
        y = x.mul(x)
        y.add(x).sum()
        torch.tanh(y).mul_(x)
        y.sum(0)
    assert outer(p.function_events) == [
        "aten::mul",
        "aten::add",
        "aten::sum",
        "aten::tanh",
        "aten::mul_",
        "aten::sum",
    ]
    starts = [event.time_range.start for event in p.function_events]
    assert starts == sorted(starts)


def test_q1_parts_come_after_their_parent(torch):
    profiler = torch.autograd.profiler
    x, w, b = torch.ones(2, 3), torch.ones(4, 3), torch.ones(4)
    with profiler.profile() as p:
        torch.nn.functional.linear(x, w, b)
        x @ w.t()
    names = [event.name for event in p.function_events]
    assert outer(p.function_events) == ["aten::linear", "aten::t", "aten::matmul"]
    assert names.index("aten::linear") < names.index("aten::addmm") < names.index("aten::matmul")
    assert parent(first(p.function_events, "aten::addmm")) == "aten::linear"
    assert parent(first(p.function_events, "aten::mm")) == "aten::matmul"
    linear = first(p.function_events, "aten::linear")
    assert "aten::addmm" in [child.name for child in linear.cpu_children]
    assert linear.self_cpu_time_total < linear.cpu_time_total


def test_q1_creation_and_conversion_show(torch):
    profiler = torch.autograd.profiler
    with profiler.profile() as p:
        x = torch.zeros(2)
        x.to(torch.float64)
        torch.randn(3)
        x.reshape(2, 1)
        torch.zeros_like(x).fill_(3.0)
    assert outer(p.function_events) == [
        "aten::zeros",
        "aten::to",
        "aten::randn",
        "aten::reshape",
        "aten::zeros_like",
        "aten::fill_",
    ]


def test_q1_questions_about_a_tensor_do_not_show(torch):
    profiler = torch.autograd.profiler
    x = torch.ones(2)
    with profiler.profile() as p:
        x.numel(), x.is_floating_point(), x.is_contiguous(), x.size(), x.dim()
    assert p.function_events == []


def test_q1_one_can_ask_whether_it_is_on(torch):
    profiler = torch.autograd.profiler
    assert not torch.autograd._profiler_enabled()
    with profiler.profile():
        assert torch.autograd._profiler_enabled()
    assert not torch.autograd._profiler_enabled()


def test_q1_it_is_off_after_an_error(torch):
    profiler = torch.autograd.profiler
    with pytest.raises(KeyError), profiler.profile() as p:
        torch.ones(2).exp()
        raise KeyError
    assert not torch.autograd._profiler_enabled()
    assert outer(p.function_events) == ["aten::ones", "aten::exp"]


def test_q1_a_failed_operator_shows(torch):
    profiler = torch.autograd.profiler
    x, y = torch.ones(2, 3), torch.ones(2, 3)
    with profiler.profile() as p, pytest.raises(RuntimeError):
        x @ y
    assert outer(p.function_events) == ["aten::matmul"]


def test_q1_a_disabled_profiler_is_none(torch):
    profiler = torch.autograd.profiler
    with profiler.profile(enabled=False) as p:
        assert not torch.autograd._profiler_enabled()
    assert p is None


def test_q1_it_cannot_be_entered_twice(torch):
    profiler = torch.autograd.profiler
    p = profiler.profile()
    with p:
        assert error(p.__enter__) == "RuntimeError: Profiler context manager is not reentrant"
    assert error(p.__enter__) == "RuntimeError: Profiler context manager is not reentrant"


def test_q1_before_the_end_nothing_is_known(torch):
    profiler = torch.autograd.profiler
    with profiler.profile() as p:
        torch.ones(2)
        assert repr(p) == "<unfinished torch.autograd.profile>"
        assert p.function_events == []
        assert p.table() == ""
        assert list(p.key_averages()) == []
        assert p.self_cpu_time_total == 0
    assert repr(p) == repr(p.function_events) != "[]"


def test_q1_the_cpu_must_be_profiled(torch):
    profiler = torch.autograd.profiler
    assert error(lambda: profiler.profile(use_cpu=False)) == (
        "AssertionError: Device-only events supported only with Kineto (use_kineto=True)"
    )
    assert error(lambda: profiler.profile(use_cpu=False, use_kineto=True)) == (
        "AssertionError: No activities specified for the profiler"
    )


def test_q1_devices_that_are_not_there_are_left_out(torch):
    profiler = torch.autograd.profiler
    if torch.cuda.is_available():
        pytest.skip("there is a device")
    assert warned(lambda: profiler.profile(use_device="cuda")) == [
        "UserWarning: CUDA is not available, disabling CUDA profiling"
    ]
    assert warned(lambda: profiler.profile(use_device="toaster")) == [
        "UserWarning: The toaster is not a valid device option."
    ]
    assert len(warned(lambda: profiler.profile(use_cuda=True))) == 2


def test_q1_unknown_options_are_refused(torch):
    profiler = torch.autograd.profiler
    with pytest.raises(TypeError, match="unexpected keyword argument 'shapes'"):
        profiler.profile(shapes=True)


def test_q1_shapes_of_inputs(torch):
    profiler = torch.autograd.profiler
    x, w, b = torch.ones(2, 3), torch.ones(4, 3), torch.ones(4)
    with profiler.profile(record_shapes=True) as p:
        torch.nn.functional.linear(x, w, b)
        x * 2.0
        x.add(x, alpha=2)
        x.relu()
        torch.matmul(x, w.t())
        torch.nn.functional.linear(input=x, bias=b, weight=w)
    shapes = [e.input_shapes for e in p.function_events if e.cpu_parent is None]
    assert shapes == [
        [[2, 3], [4, 3], [4]],
        [[2, 3], []],
        [[2, 3], [2, 3], []],
        [[2, 3]],
        [[4, 3]],
        [[2, 3], [3, 4]],
        [[2, 3], [4, 3], [4]],
    ]
    with profiler.profile() as p:
        x * 2.0
    assert p.function_events[0].input_shapes == []


def test_q1_operations_are_counted(torch):
    profiler = torch.autograd.profiler
    ones = torch.ones
    a, b, stack, other = ones(2, 3), ones(3, 4), ones(5, 2, 3), ones(5, 3, 4)
    with profiler.profile(with_flops=True) as p:
        torch.mm(a, b)
        torch.addmm(ones(4), a, b)
        torch.bmm(stack, other)
        torch.baddbmm(ones(5, 2, 4), stack, other)
        stack * a
        a + 1.0
        a - 1.0
        a.exp()
    counted = {e.name: e.flops for e in p.function_events if e.flops}
    assert counted == {
        "aten::mm": 48,
        "aten::addmm": 48,
        "aten::bmm": 240,
        "aten::baddbmm": 240,
        "aten::mul": 30,
        "aten::add": 6,
    }
    assert "Total FLOPs" in p.table()


def test_q1_memory_of_results_is_counted(torch):
    profiler = torch.autograd.profiler
    x = torch.ones(8, 8, dtype=torch.float64)
    with profiler.profile(profile_memory=True) as p:
        with profiler.record_function("block"):
            kept = [x @ x, x.exp()]
        x.t(), x.detach()
        x.mul_(2.0)
    size = kept[0].numel() * 8
    events = p.function_events
    assert first(events, "aten::exp").cpu_memory_usage == size
    assert first(events, "aten::exp").self_cpu_memory_usage == size
    assert first(events, "aten::mm").cpu_memory_usage == size
    assert first(events, "aten::matmul").cpu_memory_usage == size
    assert first(events, "aten::matmul").self_cpu_memory_usage == 0
    assert first(events, "block").cpu_memory_usage == 2 * size
    for name in ("aten::t", "aten::detach"):
        assert first(events, name).cpu_memory_usage == 0
    assert first(events, "aten::mul_").cpu_memory_usage == 0
    assert "Self CPU Mem" in p.table()


def test_q1_only_its_own_thread_is_seen(torch):
    profiler = torch.autograd.profiler
    x = torch.ones(2)
    with profiler.profile() as p:
        x.exp()
        thread = threading.Thread(target=lambda: (x.sin(), x @ x, torch.ones(3)))
        thread.start()
        thread.join()
        x.cos()
    assert outer(p.function_events) == ["aten::exp", "aten::cos"]


def test_q1_profiling_changes_no_result(torch):
    profiler = torch.autograd.profiler

    def program():
        torch.manual_seed(1)
        x = torch.randn(3, 4, requires_grad=True)
        w = torch.randn(4, 4, requires_grad=True)
        y = torch.nn.functional.linear(x, w).tanh()
        (y * y[0]).sum().backward()
        return x.grad.tolist(), w.grad.tolist()

    plain = program()
    with profiler.profile(record_shapes=True, profile_memory=True):
        profiled = program()
    assert plain == profiled == program()


# --- Q2: record_function ---------------------------------------------------------------------


def test_q2_a_block_has_what_happens_in_it(torch):
    profiler = torch.autograd.profiler
    x = torch.ones(2)
    with profiler.profile() as p:
        with profiler.record_function("outer"):
            x.exp()
            with profiler.record_function("inner", "some text"):
                x.sin()
        x.cos()
    names = ["outer", "aten::exp", "inner", "aten::sin", "aten::cos"]
    found = [event for event in p.function_events if event.name in names]
    assert [event.name for event in found] == names
    assert [parent(event) for event in found] == [None, "outer", "outer", "inner", None]
    assert [event.is_user_annotation for event in found] == [True, False, True, False, False]


def test_q2_a_function_is_a_block(torch):
    profiler = torch.autograd.profiler

    @profiler.record_function("work")
    def work(x):
        """Says what it does."""
        return x.exp()

    with profiler.profile() as p:
        result = [work(torch.ones(1)), work(torch.zeros(1))]
    assert [each.item() for each in result] == pytest.approx([2.7182818, 1.0])
    assert (work.__name__, work.__doc__) == ("work", "Says what it does.")
    events = [event for event in p.function_events if event.name == "aten::exp"]
    assert [parent(event) for event in events] == ["work", "work"]
    assert {each.key: each.count for each in p.key_averages()}["work"] == 2


def test_q2_leaving_in_the_wrong_order_is_harmless(torch):
    profiler = torch.autograd.profiler
    x = torch.ones(2)
    with profiler.profile() as p:
        one, other = profiler.record_function("one"), profiler.record_function("other")
        one.__enter__()
        other.__enter__()
        x.exp()
        one.__exit__(None, None, None)
        x.sin()
        other.__exit__(None, None, None)
    assert [parent(event) for event in p.function_events if event.name[:2] != "at"] == [None, None]
    assert parent(first(p.function_events, "aten::sin")) == "other"
    assert "other" in p.table()


def test_q2_a_block_may_outlive_the_profiler_or_begin_before_it(torch):
    profiler = torch.autograd.profiler
    early, late = profiler.record_function("early"), profiler.record_function("late")
    early.__enter__()
    with profiler.profile() as p:
        early.__exit__(None, None, None)
        late.__enter__()
    late.__exit__(None, None, None)
    assert [event.name for event in p.function_events] == ["late"]
    assert p.function_events[0].cpu_time_total > 0


def test_q2_an_error_ends_the_block(torch):
    profiler = torch.autograd.profiler
    with profiler.profile() as p:
        with pytest.raises(KeyError), profiler.record_function("failing"):
            raise KeyError
        torch.ones(2)
    assert outer(p.function_events) == ["failing", "aten::ones"]


def test_q2_a_block_must_be_entered_first(torch):
    profiler = torch.autograd.profiler
    leave = profiler.record_function("never").__exit__
    assert error(lambda: leave(None, None, None)) == "AssertionError: Expected record to be set"
    assert error(profiler.record_function(5).__enter__).startswith(
        "RuntimeError: profiler::_record_function_enter_new() Expected a value of type 'str' for "
        "argument 'name' but instead found type 'int'."
    )


@pytest.mark.taper_only
def test_q2_a_function_that_calls_itself_nests(torch):
    profiler = torch.autograd.profiler

    @profiler.record_function("down")
    def down(n):
        return down(n - 1) + torch.ones(1) if n else torch.ones(1)

    with profiler.profile() as p:
        down(2)
    assert len([event for event in p.function_events if event.name == "down"]) == 3
    assert parent([event for event in p.function_events if event.name == "down"][2]) == "down"


# --- Q3: backward ----------------------------------------------------------------------------

EVALUATE = "autograd::engine::evaluate_function: "


def test_q3_nodes_show_with_the_number_of_their_operator(torch):
    profiler = torch.autograd.profiler
    x = torch.ones(3, 4, requires_grad=True)
    w = torch.ones(4, 4, requires_grad=True)
    with profiler.profile(record_shapes=True) as p:
        y = (x * 2.0) @ w
        z = y.sum()
        z.backward()
    nodes = [z.grad_fn, y.grad_fn, y.grad_fn.next_functions[0][0]]
    for node, name in zip(nodes, ("SumBackward0", "MmBackward0", "MulBackward0"), strict=True):
        outside, inside = first(p.function_events, EVALUATE + name), first(p.function_events, name)
        assert inside.cpu_parent is outside
        assert outside.sequence_nr == inside.sequence_nr == node._sequence_nr()
        assert outside.fwd_thread == inside.fwd_thread == inside.thread
        assert (outside.scope, inside.scope) == (0, 1)
        assert outside.input_shapes == []
    assert first(p.function_events, "MmBackward0").input_shapes == [[3, 4]]
    operators = {"aten::mul": 2, "aten::mm": 1, "aten::sum": 0}
    for name, place in operators.items():
        event = first(p.function_events, name)
        assert event.sequence_nr == nodes[place]._sequence_nr()
        assert event.fwd_thread == 0


def test_q3_nodes_show_in_the_order_they_run(torch):
    profiler = torch.autograd.profiler
    x = torch.ones(2, requires_grad=True)
    with profiler.profile() as p:
        (x.exp() * x.sin()).sum().backward()
    nodes = [event.name for event in p.function_events if event.scope == 1]
    assert nodes[:4] == ["SumBackward0", "MulBackward0", "SinBackward0", "ExpBackward0"]


def test_q3_accumulation_belongs_to_no_operator(torch):
    profiler = torch.autograd.profiler
    x = torch.ones(2, requires_grad=True)
    with profiler.profile() as p:
        (x * 3.0).sum().backward()
    name = "torch::autograd::AccumulateGrad"
    outside, inside = first(p.function_events, EVALUATE + name), first(p.function_events, name)
    assert inside.cpu_parent is outside
    assert {outside.sequence_nr, inside.sequence_nr} == {-1}
    assert {outside.fwd_thread, inside.fwd_thread} == {0}


def test_q3_operators_that_record_nothing_have_no_number(torch):
    profiler = torch.autograd.profiler
    x = torch.ones(2, requires_grad=True)
    with profiler.profile() as p:
        with torch.no_grad():
            x.exp()
        torch.zeros(2)
        torch.zeros_like(x)
    numbers = [e.sequence_nr for e in p.function_events if e.cpu_parent is None]
    assert numbers == [-1, -1, -1]


def test_q3_numbers_go_on_with_the_nodes(torch):
    profiler = torch.autograd.profiler
    x = torch.ones(2, requires_grad=True)
    start = torch.autograd._get_sequence_nr()
    with profiler.profile() as p:
        x.exp().exp()
        x.detach()
        x.argmax()
        torch.stack([x, x])
        x.sin()
    numbers = [e.sequence_nr - start for e in p.function_events if e.cpu_parent is None]
    assert numbers == [0, 1, 2, 2, 2, 3]


def test_q3_custom_functions_show(torch):
    profiler = torch.autograd.profiler
    double = function(torch, lambda ctx, x: x * 2.0, lambda ctx, grad: grad * 2.0)
    x = torch.ones(2, requires_grad=True)
    with profiler.profile(record_shapes=True) as p:
        y = double.apply(x)
        y.sum().backward()
    forward, backward = first(p.function_events, "F"), first(p.function_events, "FBackward")
    assert forward.sequence_nr == backward.sequence_nr == y.grad_fn._sequence_nr()
    assert forward.input_shapes == backward.input_shapes == [[2]]
    assert parent(backward) == EVALUATE + "FBackward"
    inside = [event for event in p.function_events if event.name == "aten::mul"]
    assert [parent(event) for event in inside] == ["F", "FBackward"]


def test_q3_hooks_are_outside_the_node(torch):
    profiler = torch.autograd.profiler
    x = torch.ones(2, requires_grad=True)
    y = x * 2.0
    y.register_hook(lambda grad: grad.sin())
    with profiler.profile() as p:
        y.sum().backward()
    assert parent(first(p.function_events, "aten::sin")) == EVALUATE + "MulBackward0"


def test_q3_a_recorded_pass_shows_its_operators(torch):
    profiler = torch.autograd.profiler
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    with profiler.profile() as p:
        torch.autograd.grad(y, x, create_graph=True)
    inside = [e for e in p.function_events if e.name == "aten::mul" and parent(e) == "MulBackward0"]
    assert len(inside) == 2
    assert all(event.sequence_nr >= 0 for event in inside)


def test_q3_a_node_that_is_only_asked_for_its_gradient_does_not_run(torch):
    profiler = torch.autograd.profiler
    x = torch.ones(2, requires_grad=True)
    y = (x * 2.0).sum()
    with profiler.profile() as p:
        torch.autograd.grad(y, x)
    names = [event.name for event in p.function_events]
    assert EVALUATE + "torch::autograd::AccumulateGrad" in names
    assert "torch::autograd::AccumulateGrad" not in names


def test_q3_steps_of_optimizers_show(torch):
    profiler = torch.autograd.profiler
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    with profiler.profile() as p:
        optimizer.zero_grad()
        (w * w).sum().backward()
        optimizer.step()
    names = [name for name in outer(p.function_events) if name.startswith("Optimizer")]
    assert names == ["Optimizer.zero_grad#SGD.zero_grad", "Optimizer.step#SGD.step"]
    assert w.tolist() == pytest.approx([0.8, 0.8])


# --- Q6: tracers of others -------------------------------------------------------------------


@pytest.mark.taper_only
def test_q6_tracers_of_others_are_not_fed(torch):
    profiler = torch.autograd.profiler
    for tracer in (profiler.emit_nvtx, profiler.emit_itt):
        with tracer(enabled=False):
            pass
        assert error(tracer().__enter__).startswith("NotImplementedError: taper does not feed")
    assert error(lambda: profiler.load_nvprof("x")).startswith("NotImplementedError")
