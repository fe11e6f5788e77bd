"""`taper.profiler`, and what the profiler must not do to the rest of the library."""

from __future__ import annotations

import gzip
import importlib
import json
import os
import subprocess
import sys
import threading
import warnings

import pytest

import taper
from taper import opdef
from taper.autograd import detours
from taper.autograd.profiler import profile as autograd_profile
from taper.autograd.profiling.names import operator_name
from taper.profiler import (
    ExecutionTraceObserver,
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)


@pytest.fixture(autouse=True)
def nothing_is_left_on():
    yield
    assert not taper.autograd._profiler_enabled()
    assert taper.autograd.state.local.state.interceptors == ()
    assert detours.functions_on_a_detour("profiler") == []


def names(events):
    return [event.name for event in events]


def printed(program):
    """Return what a program prints in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


# --- schedules -------------------------------------------------------------------------------


def actions(count, **plan):
    action = schedule(**plan)
    return "".join(action(step).name[0] + action(step).name[-1] + " " for step in range(count))


def test_a_schedule_is_cycles_of_steps():
    assert actions(9, wait=1, warmup=1, active=2) == "NE WP RD RE NE WP RD RE NE "
    assert actions(6, wait=1, warmup=1, active=2, repeat=1) == "NE WP RD RE NE NE "
    assert actions(6, wait=1, warmup=1, active=1, skip_first=2) == "NE NE NE WP RE NE "
    assert actions(6, wait=2, warmup=1, active=1, skip_first_wait=1) == "WP RE NE NE WP RE "


def test_a_schedule_without_warmup_warns():
    with pytest.warns(UserWarning, match="won't be using warmup"):
        assert actions(3, wait=0, warmup=0, active=1) == "RE RE RE "


def test_a_wrong_schedule_is_refused():
    with pytest.raises(AssertionError, match=r"Got wait=-1 \(need >= 0\)"):
        schedule(wait=-1, warmup=1, active=1)
    with pytest.raises(AssertionError, match=r"active=0 \(need > 0\)"):
        schedule(wait=0, warmup=1, active=0)
    with pytest.raises(AssertionError, match="Step must be non-negative. Got -1"):
        schedule(wait=0, warmup=1, active=1)(-1)


def cycles(count, plan, **options):
    """Return what `on_trace_ready` saw: the step, and the events of the cycle."""
    seen = []

    def ready(profiler):
        seen.append((profiler.step_num, names(profiler.events())))

    with profile(schedule=plan, on_trace_ready=ready, **options) as profiler:
        for _ in range(count):
            taper.ones(2).exp()
            profiler.step()
    return seen


STEP = ["ProfilerStep*", "aten::ones", "aten::exp"]


def test_each_cycle_is_recorded_by_itself():
    plan = schedule(wait=1, warmup=1, active=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the note that events are cleared comes once in a process
        assert cycles(8, plan) == [(4, STEP * 2), (8, STEP * 2)]


def test_a_cycle_that_is_cut_short_is_still_reported():
    assert cycles(3, schedule(wait=1, warmup=1, active=2)) == [(3, [*STEP, "ProfilerStep*"])]
    assert cycles(1, schedule(wait=1, warmup=1, active=2)) == []


def test_cycles_can_be_kept():
    plan = schedule(wait=0, warmup=1, active=1)
    assert cycles(4, plan, acc_events=True) == [(2, STEP), (4, STEP * 2)]


def test_without_a_schedule_all_is_one_cycle():
    assert cycles(2, None) == [(2, STEP[1:] * 2)]


def test_steps_have_their_numbers_in_a_trace(tmp_path):
    path = tmp_path / "trace.json"
    plan = schedule(wait=0, warmup=1, active=2, repeat=1)
    with profile(schedule=plan) as profiler:
        for _ in range(3):
            profiler.step()
    profiler.export_chrome_trace(str(path))
    shown = [each["name"] for each in json.loads(path.read_text())["traceEvents"]]
    assert [each for each in shown if "Step" in each] == ["ProfilerStep#1", "ProfilerStep#2"]


@pytest.mark.parametrize(
    ("before", "after"), [("WARMUP", "NONE"), ("RECORD", "NONE"), ("RECORD", "WARMUP")]
)
def test_a_schedule_that_drops_what_it_records_warns(before, after):
    plan = [ProfilerAction[before], ProfilerAction[after]]
    text = f"Incorrect schedule: {before} followed by {after}"
    with pytest.warns(UserWarning, match=text), profile(schedule=plan.__getitem__) as profiler:
        profiler.step()


# --- activities ------------------------------------------------------------------------------


def test_the_cpu_is_what_can_be_profiled():
    assert supported_activities() == {ProfilerActivity.CPU}
    assert repr(ProfilerActivity.CPU) == "<ProfilerActivity.CPU: 0>"
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        taper.ones(2)
    assert names(profiler.events()) == ["aten::ones"]


def test_a_device_that_is_not_there_is_left_out():
    both = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with pytest.warns(UserWarning, match="CUDA is not available, disabling CUDA profiling"):
        with profile(activities=both) as profiler:
            taper.ones(2)
    assert names(profiler.events()) == ["aten::ones"]


@pytest.mark.parametrize("activities", [[], ["cpu"]])
def test_there_must_be_an_activity(activities):
    with pytest.raises(AssertionError, match="No valid profiler activities found"):
        profile(activities=activities)


def test_a_device_alone_is_refused():
    with pytest.warns(UserWarning), pytest.raises(AssertionError, match="No activities specified"):
        profile(activities=[ProfilerActivity.CUDA]).start()


@pytest.mark.parametrize(
    ("method", "purpose"),
    [
        ("events", "accessing events"),
        ("key_averages", "getting key averages"),
        ("stop", "stopping trace"),
    ],
)
def test_it_must_be_started(method, purpose):
    with pytest.raises(AssertionError, match=f"Profiler must be initialized before {purpose}"):
        getattr(profile(), method)()


def test_what_there_is_not_says_what_to_use_instead():
    with pytest.raises(NotImplementedError, match="export_chrome_trace"):
        ExecutionTraceObserver()
    with pytest.raises(NotImplementedError, match="export_chrome_trace"):
        profile(execution_trace_observer=object())
    with pytest.raises(NotImplementedError, match="profile_memory=True"):
        profile().export_memory_timeline("x")
    with pytest.raises(NotImplementedError, match="with_stack=True"):
        autograd_profile(experimental_config=object())


# --- what is recorded ------------------------------------------------------------------------


def test_options_reach_the_events():
    x = taper.ones(4, 4)
    with profile(record_shapes=True, profile_memory=True, with_flops=True) as profiler:
        x @ x
    event = next(each for each in profiler.events() if each.name == "aten::mm")
    assert (event.input_shapes, event.flops, event.cpu_memory_usage) == ([[4, 4], [4, 4]], 128, 64)
    (sums,) = [
        each for each in profiler.key_averages(group_by_input_shape=True) if each.key == "aten::mm"
    ]
    assert (sums.count, sums.input_shapes) == (1, [[4, 4], [4, 4]])


def test_recording_can_pause():
    x = taper.ones(2)
    with profile() as profiler:
        x.exp()
        profiler.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
        assert not taper.autograd._profiler_enabled()
        x.sin()
        profiler.toggle_collection_dynamic(True, [ProfilerActivity.CPU])
        x.cos()
        profiler.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
    assert names(profiler.events()) == ["aten::exp", "aten::cos"]


def test_profilers_nest_and_each_sees_all():
    x = taper.ones(2)
    with autograd_profile() as outside:
        x.exp()
        with autograd_profile(record_shapes=True) as inside, record_function("block"):
            x.sin()
        x.cos()
    assert names(outside.function_events) == ["aten::exp", "block", "aten::sin", "aten::cos"]
    assert names(inside.function_events) == ["block", "aten::sin"]
    assert inside.function_events[1].input_shapes == [[2]]
    assert [each.input_shapes for each in outside.function_events] == [[], [], [], []]


def test_threads_profile_independently():
    found = {}
    together = threading.Barrier(2)

    def work(name):
        x = taper.ones(3, requires_grad=True)
        with autograd_profile() as p:
            together.wait()
            for _ in range(20):
                getattr(x, name)().sum().backward()
            together.wait()
        found[name] = p.function_events

    threads = [threading.Thread(target=work, args=(name,)) for name in ("exp", "sin")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, other in (("exp", "sin"), ("sin", "exp")):
        seen = names(found[name])
        assert seen.count(f"aten::{name}") == 20
        assert f"aten::{other}" not in seen
    assert found["exp"][0].thread != found["sin"][0].thread


def test_a_profiler_is_stopped_where_it_was_started():
    failures = []

    def leave(p):
        try:
            p.__exit__(None, None, None)
        except RuntimeError as error:
            failures.append(str(error))

    with autograd_profile() as p:
        thread = threading.Thread(target=leave, args=(p,))
        thread.start()
        thread.join()
        taper.ones(2)
    assert failures == ["A profiler must be stopped on the thread on which it was started."]
    assert names(p.function_events) == ["aten::ones"]


def test_a_pass_on_helper_threads_is_recorded():
    depth = taper.autograd.engine.LEVELS_ON_A_THREAD + 3

    class Deep(taper.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.left = int(x.item())
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            if ctx.left:
                with taper.enable_grad():
                    x = taper.tensor(float(ctx.left - 1), requires_grad=True)
                    Deep.apply(x).backward()
            return grad

    x = taper.tensor(float(depth), requires_grad=True)
    with autograd_profile() as p:
        Deep.apply(x).backward()
    assert names(p.function_events).count("DeepBackward") == depth + 1
    assert names(p.function_events).count("Deep") == depth + 1


def test_families_that_are_loaded_meanwhile_show():
    program = """
import taper, taper.autograd.profiler as profiler
x = taper.ones(2, 2)
with profiler.profile() as p:
    taper.nn.functional.softmax(x, 0)
    taper.block_diag(x, x)
print([event.name for event in p.function_events if event.cpu_parent is None])
"""
    shown = printed(program)
    assert "aten::softmax" in shown
    assert "aten::block_diag" in shown


# --- stacks ----------------------------------------------------------------------------------


def made_here(x):
    return x.exp()


def test_stacks_are_the_users_lines(tmp_path):
    x = taper.ones(2, requires_grad=True)
    with profile(with_stack=True) as profiler:
        y = made_here(x)
        y.sum().backward()
    events = {event.name: event for event in reversed(profiler.events())}
    line = made_here.__code__.co_firstlineno + 1
    assert events["aten::exp"].stack[0] == f"{__file__}({line}): made_here"
    caller = test_stacks_are_the_users_lines.__name__
    assert events["aten::exp"].stack[1].endswith(f": {caller}")
    assert events["ExpBackward0"].stack == events["aten::exp"].stack
    assert not any(taper.__path__[0] in line for each in profiler.events() for line in each.stack)
    (group,) = [
        each for each in profiler.key_averages(group_by_stack_n=1) if each.key == "aten::exp"
    ]
    assert group.stack == events["aten::exp"].stack[:1]
    assert "Source Location" in profiler.key_averages(group_by_stack_n=1).table()


def test_a_node_from_before_the_profile_has_the_line_that_made_it():
    y = made_here(taper.ones(2, requires_grad=True))
    with profile(with_stack=True) as profiler:
        y.sum().backward()
    line = made_here.__code__.co_firstlineno + 1
    node = next(event for event in profiler.events() if event.name == "ExpBackward0")
    assert node.stack == [f"{__file__}({line}): made_here"]


def test_stacks_are_saved(tmp_path):
    x = taper.ones(300, 300)
    with profile(with_stack=True) as profiler:
        for _ in range(3):
            x @ x
    path = tmp_path / "stacks.txt"
    profiler.export_stacks(str(path))
    frames, _, value = path.read_text().splitlines()[0].rpartition(" ")
    assert int(value) > 0
    assert frames.split(";")[-1].endswith("test_stacks_are_saved")


# --- files -----------------------------------------------------------------------------------


def test_a_trace_carries_metadata(tmp_path):
    path = tmp_path / "trace.json.gz"
    with profile(custom_trace_id_callback=lambda: "my name") as profiler:
        taper.ones(2)
        profiler.add_metadata("text", "a text")
        profiler.add_metadata_json("json", '{"a": [1, 2]}')
    assert profiler.get_trace_id() == "my name"
    profiler.export_chrome_trace(str(path))
    trace = json.loads(gzip.decompress(path.read_bytes()))
    assert (trace["trace_id"], trace["text"], trace["json"]) == ("my name", "a text", {"a": [1, 2]})


def test_a_failed_export_leaves_the_old_file(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text("old")
    with profile() as profiler:
        taper.ones(2)
    with pytest.raises(FileNotFoundError):
        profiler.export_chrome_trace(str(tmp_path / "no" / "trace.json"))
    profiler.add_metadata("bad", {1, 2})
    with pytest.raises(TypeError, match="not JSON serializable"):
        profiler.export_chrome_trace(str(path))
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["trace.json"]


@pytest.mark.parametrize("use_gzip", [False, True])
def test_traces_for_tensorboard(tmp_path, use_gzip):
    folder = tmp_path / "new" / "runs"
    with profile(on_trace_ready=tensorboard_trace_handler(str(folder), "me", use_gzip)):
        taper.ones(2)
    (name,) = [each.name for each in folder.iterdir()]
    assert name.startswith("me.")
    assert name.endswith(".pt.trace.json.gz" if use_gzip else ".pt.trace.json")


def test_a_folder_that_cannot_be_made_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    handler = tensorboard_trace_handler(str(tmp_path / "file" / "runs"))
    with pytest.raises(RuntimeError, match="Can't create directory: .*runs"):
        handler(None)


# --- what it must not do ---------------------------------------------------------------------


def test_functions_are_as_before():
    functions = [taper.sum, taper.dropout, opdef.composites["zeros"], taper.nn.functional.linear]
    before = [(each.__code__, each.__defaults__, each.__kwdefaults__) for each in functions]
    with autograd_profile():
        assert [each.__code__ for each in functions] != [code for code, _, _ in before]
    after = [(each.__code__, each.__defaults__, each.__kwdefaults__) for each in functions]
    assert before == after


def test_errors_are_as_before():
    def message():
        with pytest.raises(TypeError) as found:
            taper.zeros(2, shape=3)
        return str(found.value)

    plain = message()
    with autograd_profile():
        assert message() == plain


def test_the_users_line_is_as_before():
    def recorded():
        y = taper.nn.functional.linear(taper.ones(2, 2), taper.ones(2, 2, requires_grad=True))
        node = y.grad_fn
        return node._code, node._offset

    plain = recorded()
    with autograd_profile():
        assert recorded() == plain


def test_the_profiler_loads_on_first_use():
    program = (
        "import sys, taper, taper.nn, taper.optim; "
        "print([each for each in sys.modules if 'profiler' in each])"
    )
    assert printed(program) == "[]"
    assert taper.profiler is importlib.import_module("taper.profiler")


def test_names_of_in_place_operators():
    shown = {name: operator_name(opdef.registry[name], "inplace") for name in ("mul", "div_true")}
    assert shown == {"mul": "aten::mul_", "div_true": "aten::div_"}
