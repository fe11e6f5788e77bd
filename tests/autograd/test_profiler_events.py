"""Q: what can be asked of a profile: events, sums, tables, files."""

from __future__ import annotations

import json

import pytest

from autograd_probe import error

# --- Q4: sums, tables, files -----------------------------------------------------------------


def small_program(torch):
    """Return a small program, profiled with shapes."""
    profiler = torch.autograd.profiler
    x, y = torch.ones(3, 4), torch.ones(2, 2)
    with profiler.profile(record_shapes=True) as p:
        with profiler.record_function("work"):
            x.exp(), y.exp(), x.exp()
        x @ x.t()
    return p


def test_q4_sums_by_name(torch):
    profiled = small_program(torch)
    sums = {each.key: each for each in profiled.key_averages()}
    assert sums["aten::exp"].count == 3
    assert sums["work"].count == 1
    single = [e.cpu_time_total for e in profiled.function_events if e.name == "aten::exp"]
    assert sums["aten::exp"].cpu_time_total == pytest.approx(sum(single))
    assert sums["aten::exp"].cpu_time == pytest.approx(sum(single) / 3)
    assert sums["work"].self_cpu_time_total < sums["work"].cpu_time_total


def test_q4_sums_by_shape(torch):
    profiled = small_program(torch)
    sums = profiled.key_averages(group_by_input_shape=True)
    exp = [(each.input_shapes, each.count) for each in sums if each.key == "aten::exp"]
    assert exp == [([[3, 4]], 2), ([[2, 2]], 1)]


def test_q4_the_sum_of_all(torch):
    profiled = small_program(torch)
    total = profiled.total_average()
    assert total.key == "Total"
    assert total.count == len(profiled.function_events)
    assert total.self_cpu_time_total == pytest.approx(profiled.self_cpu_time_total)
    outermost = [e.cpu_time_total for e in profiled.function_events if e.cpu_parent is None]
    assert profiled.self_cpu_time_total == pytest.approx(sum(outermost))


def test_q4_a_profile_prints_as_its_table(torch):
    profiled = small_program(torch)
    assert str(profiled) == profiled.table() == str(profiled.function_events)
    lines = profiled.table().split("\n")
    titles = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]
    assert lines[1].split("  ")[-2].strip() == "Input Shapes"
    assert [each for each in titles if each not in lines[1]] == []
    assert lines[0] == lines[2] == lines[-3]
    assert set(lines[0]) == {"-", " "}
    assert lines[-2].startswith("Self CPU time total: ")
    assert lines[-1] == ""


def rows(table):
    return [line.split()[0] for line in table.split("\n")[3:-3]]


def test_q4_rows_are_sorted_and_limited(torch):
    profiled = small_program(torch)
    sums = profiled.key_averages()
    assert len(rows(sums.table(row_limit=2))) == 2
    assert len(rows(sums.table(row_limit=-1))) == len(sums)
    by_count = rows(sums.table(sort_by="count"))
    assert by_count[0] == "aten::exp"
    times = {each.key: each.cpu_time_total for each in sums}
    shown = [times[name] for name in rows(sums.table(sort_by="cpu_time_total"))]
    assert shown == sorted(shown, reverse=True)
    assert "no attribute 'beauty'" in error(lambda: sums.table(sort_by="beauty"))
    assert rows(sums.table(sort_by="cuda_time_total")) == rows(sums.table())


def test_q4_a_table_has_a_header(torch):
    profiled = small_program(torch)
    lines = profiled.table(header="A TITLE").split("\n")
    assert lines[0] == "=" * (len(lines[2]) - 2)
    assert lines[1] == "A TITLE"


def test_q4_outermost_events_only(torch):
    profiled = small_program(torch)
    table = profiled.table(top_level_events_only=True)
    lines = table.split("\n")
    assert lines[1] == "This report only display top-level ops statistics"
    assert rows("\n".join(lines[2:])) == ["work", "aten::t", "aten::matmul"]


def test_q4_a_trace_is_a_file_of_json(torch, tmp_path):
    profiler = torch.autograd.profiler
    x = torch.ones(2, requires_grad=True)
    with profiler.profile(record_shapes=True) as p:
        with profiler.record_function("work"):
            y = x * 2.0
        y.sum().backward()
    path = tmp_path / "trace.json"
    p.export_chrome_trace(str(path))
    trace = json.loads(path.read_text())
    shown = [each for each in trace["traceEvents"] if each["ph"] == "X"]
    events = {each["name"]: each for each in reversed(shown)}  # the first of each name
    product = events["aten::mul"]
    assert events["work"]["cat"] == "user_annotation"
    assert product["cat"] == "cpu_op"
    assert product["dur"] > 0
    assert events["work"]["ts"] <= product["ts"]
    assert product["ts"] + product["dur"] <= events["work"]["ts"] + events["work"]["dur"] + 0.01
    assert product["args"]["Input Dims"] == [[2], []]
    assert {type(product["pid"]), type(product["tid"])} == {int}
    number = product["args"]["Sequence number"]
    assert events["MulBackward0"]["args"]["Sequence number"] == number
    arrows = [each["ph"] for each in trace["traceEvents"] if each.get("cat") == "fwdbwd"]
    assert sorted(arrows) == ["f", "f", "s", "s"]


def test_q4_a_list_of_events_is_a_file_of_json_as_well(torch, tmp_path):
    profiled = small_program(torch)
    path = tmp_path / "events.json"
    profiled.function_events.export_chrome_trace(str(path))
    names = [each["name"] for each in json.loads(path.read_text()) if each["ph"] == "X"]
    assert names[:2] == ["work", "aten::exp"]


def test_q4_stacks_need_stacks(torch, tmp_path):
    profiled = small_program(torch)
    assert error(lambda: profiled.export_stacks(str(tmp_path / "stacks"))) == (
        "AssertionError: export_stacks() requires with_stack=True"
    )


# --- Q5: events ------------------------------------------------------------------------------


def made(util, *events, **options):
    """Return a list of events, each given as (name, thread, start, end, further arguments)."""
    made = [
        util.FunctionEvent(nr, *each[:4], overload_name="", **(each[4] if len(each) > 4 else {}))
        for nr, each in enumerate(events)
    ]
    return util.EventList(made, **options)


def tree(events):
    """Return the id of each event with those of the events inside it."""
    return {event.id: [child.id for child in event.cpu_children] for event in events}


def test_q5_an_event_is_an_interval_with_a_name(torch):
    util = torch.autograd.profiler_util
    event = util.FunctionEvent(3, "work", thread=1, start_us=10, end_us=25)
    assert (event.id, event.name, event.key, event.thread) == (3, "work", "work", 1)
    assert event.cpu_time_total == event.self_cpu_time_total == event.cpu_time == 15
    assert (event.cpu_time_str, event.cpu_time_total_str) == ("15.000us", "15.000us")
    assert (event.count, event.sequence_nr, event.fwd_thread) == (1, -1, None)
    assert (event.device_time, event.device_time_total) == (0, 0)
    assert repr(event) == (
        "<FunctionEvent id=3 name=work overload_name=None device_type=DeviceType.CPU node_id=-1 "
        "cpu_time=15.000us start_us=10 end_us=25 cpu_children=[] None_time=0.000us name=work "
        "thread=1 input_shapes=None cpu_memory_usage=0 None_memory_usage=0 is_async=False "
        "is_remote=False seq_nr=-1 is_legacy=False>"
    )


def test_q5_what_is_inside_is_not_its_own(torch):
    util = torch.autograd.profiler_util
    event = util.FunctionEvent(0, "work", 1, 0, 20, cpu_memory_usage=100)
    event.append_cpu_child(util.FunctionEvent(1, "part", 1, 5, 9, cpu_memory_usage=30))
    assert (event.self_cpu_time_total, event.self_cpu_memory_usage) == (16, 70)
    assert error(lambda: event.append_cpu_child(3)) == (
        "AssertionError: Expected child to be a FunctionEvent"
    )
    asynchronous = util.FunctionEvent(2, "later", 1, 0, 5, is_async=True)
    assert (asynchronous.cpu_time_total, asynchronous.self_cpu_time_total) == (5, 0)


def test_q5_sums_add_up_and_adding_itself_doubles(torch):
    util = torch.autograd.profiler_util
    total = util.FunctionEventAvg()
    assert (total.key, total.count, total.cpu_time) == (None, 0, 0)
    total.add(util.FunctionEvent(0, "work", 1, 0, 10, flops=4, cpu_memory_usage=8))
    total += util.FunctionEvent(1, "work", 1, 20, 50, flops=6)
    assert (total.key, total.count, total.cpu_time_total, total.cpu_time) == ("work", 2, 40, 20)
    assert (total.flops, total.cpu_memory_usage) == (10, 8)
    total.add(total)
    assert (total.count, total.cpu_time_total, total.cpu_time, total.flops) == (4, 80, 20, 20)
    assert repr(total) == (
        "<FunctionEventAvg key=work self_cpu_time=80.000us cpu_time=20.000us  "
        "self_cuda_time=0.000us cuda_time=0.000us input_shapes=None cpu_memory_usage=16 "
        "cuda_memory_usage=0>"
    )


def test_q5_only_the_same_can_be_added(torch):
    util = torch.autograd.profiler_util
    total = util.FunctionEventAvg().add(util.FunctionEvent(0, "work", 1, 0, 10))
    assert error(lambda: total.add(util.FunctionEvent(1, "play", 1, 0, 10))) == (
        "AssertionError: Expected keys to match, but got play vs work"
    )
    assert error(lambda: total.add(5)) == (
        "AssertionError: Expected other to be a FunctionEvent or FunctionEventAvg"
    )


def test_q5_events_nest_by_their_times(torch):
    util = torch.autograd.profiler_util
    events = made(
        util,
        ("a", 0, 0, 100),
        ("b", 0, 10, 50),
        ("c", 0, 20, 30),
        ("d", 0, 50, 60),
        ("other thread", 1, 20, 30),
        ("overlaps", 0, 90, 120),
        ("in that", 0, 100, 110),
    )
    events._populate_cpu_children()
    assert tree(events) == {0: [1, 3], 1: [2], 2: [], 3: [], 4: [], 5: [6], 6: []}
    assert events[2].cpu_parent is events[1]
    assert events[4].cpu_parent is None


def test_q5_equal_times_nest_in_their_order(torch):
    util = torch.autograd.profiler_util
    events = made(util, ("a", 0, 0, 9), ("b", 0, 0, 9), ("c", 0, 0, 0))
    events._populate_cpu_children()
    assert tree(events) == {0: [1], 1: [2], 2: []}


def test_q5_asynchronous_events_do_not_nest(torch):
    util = torch.autograd.profiler_util
    events = made(util, ("a", 0, 0, 9, {"is_async": True}), ("b", 0, 1, 5))
    events._build_tree()
    assert tree(events) == {0: [], 1: []}


def test_q5_an_event_in_one_of_the_same_name_is_the_same(torch):
    util = torch.autograd.profiler_util
    events = made(util, ("a", 0, 0, 100), ("a", 0, 10, 90), ("a", 0, 20, 80), ("b", 0, 30, 40))
    events._build_tree()
    assert tree(events) == {0: [3], 3: []}
    assert events[1].cpu_parent is events[0]
    two = made(util, ("a", 0, 0, 100), ("a", 0, 10, 20), ("a", 0, 30, 40))
    two._build_tree()
    assert tree(two) == {0: [1, 2], 1: [], 2: []}


def test_q5_a_node_has_the_stack_of_its_operator(torch):
    util = torch.autograd.profiler_util
    events = made(
        util,
        ("aten::mul", 0, 0, 10, {"sequence_nr": 3, "stack": ["a line"], "fwd_thread": 0}),
        ("MulBackward0", 0, 20, 30, {"sequence_nr": 3, "fwd_thread": 0, "scope": 1, "stack": []}),
        ("aten::mul", 0, 22, 25, {"stack": []}),
    )
    events._build_tree()
    assert [event.stack for event in events] == [["a line"]] * 3


def test_q5_sums_need_the_tree(torch):
    util = torch.autograd.profiler_util
    events = made(util, ("a", 0, 0, 100))
    assert error(events.key_averages) == (
        "AssertionError: Expected tree to be built before calling key_averages"
    )
    assert events.self_cpu_time_total == 100


def test_q5_an_empty_list_is_an_empty_table(torch):
    util = torch.autograd.profiler_util
    assert str(util.EventList()) == ""
    assert repr(util.EventList()) == "[]"
    assert util.EventList().total_average().count == 0


def test_q5_a_small_table(torch):
    util = torch.autograd.profiler_util
    events = made(
        util,
        ("work", 0, 0, 1500, {"input_shapes": [[2, 3]], "flops": 2500, "cpu_memory_usage": 2048}),
        ("part", 0, 500, 1000, {"input_shapes": [], "flops": 0}),
        profile_memory=True,
        with_flops=True,
    )
    events._build_tree()
    table = [line.split() for line in events.table().split("\n")]
    assert table[3] == "work 66.67% 1.000ms 100.00% 1.500ms 1.500ms".split() + (
        "2.00 KB 2.00 KB 1 [[2, 3]] 2.500".split()
    )
    assert table[4] == "part 33.33% 500.000us 33.33% 500.000us 500.000us".split() + (
        "0 B 0 B 1 [] --".split()
    )
    assert table[1][-2:] == ["Total", "KFLOPs"]


def test_q5_long_names_are_shortened(torch):
    util = torch.autograd.profiler_util
    events = made(util, ("n" * 60, 0, 0, 10))
    events._build_tree()
    assert rows(events.table()) == ["n" * 52 + "..."]
    assert rows(events.table(max_name_column_width=10)) == ["n" * 7 + "..."]


def test_q5_times_and_sizes_have_units(torch):
    util = torch.autograd.profiler_util
    times = (0, 0.5, 999.9, 1000, 1234.5, 1e6, 2.5e6)
    assert [util._format_time(each) for each in times] == [
        "0.000us",
        "0.500us",
        "999.900us",
        "1.000ms",
        "1.234ms",
        "1.000s",
        "2.500s",
    ]
    sizes = (0, 1023, 1024, 1536, -2048, 2**20, 3 * 2**30)
    assert [util._format_memory(each) for each in sizes] == [
        "0 B",
        "1023 B",
        "1.00 KB",
        "1.50 KB",
        "-2.00 KB",
        "1.00 MB",
        "3.00 GB",
    ]
    assert [util._format_time_share(*each) for each in ((1, 3), (0, 0))] == ["33.33%", "NaN"]


def test_q5_stacks_are_lines_of_words(torch, tmp_path):
    util = torch.autograd.profiler_util
    events = made(
        util,
        ("a", 0, 0, 100, {"stack": ["x.py(1): inner", "y.py(2): <module>"]}),
        ("b", 0, 200, 200.5, {"stack": ["short"]}),
        ("c", 0, 300, 302, {"stack": []}),
    )
    events._build_tree()
    path = tmp_path / "stacks"
    events.export_stacks(str(path), "self_cpu_time_total")
    assert path.read_text() == "y.py(2):_<module>;x.py(1):_inner 100\n"
    assert error(lambda: events.export_stacks(str(path), "beauty")) == (
        "ValueError: metric should be one of: ['self_cpu_time_total', 'self_cuda_time_total', "
        "'self_xpu_time_total', 'self_privateuse1_time_total']"
    )


def test_q5_small_things(torch):
    util = torch.autograd.profiler_util
    assert util.Interval(3, 10).elapsed_us() == 7
    assert util.Kernel("k", 0, 5)._fields == ("name", "device", "duration")
    assert util.StringTable()["aten::mul"] == "aten::mul"
