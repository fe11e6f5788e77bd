"""The profiler on both: names of events, tables of the same events, schedules."""

from __future__ import annotations

import itertools
import random
import warnings

import pytest
import torch
import torch.autograd.profiler_util as torch_util
import torch.profiler

import taper
import taper.autograd.profiler_util as taper_util
from taper.autograd.profiling.names import composite_name, operator_name
from taper.opdef import named_composites, registry
from taper.ops import load_all

BOTH = (taper, torch)
ATEN = {
    name.split("::")[1].split(".")[0]
    for name in torch._C._dispatch_get_all_op_names()
    if name.startswith("aten::")
}

# --- names -----------------------------------------------------------------------------------


def test_operators_are_called_as_pytorch_calls_them():
    """One that fails needs an entry in a table of `profiling.names`."""
    load_all()
    shown = [operator_name(op, "plain") for op in registry.values()]
    shown += [operator_name(op, "inplace") for op in registry.values() if op.inplace]
    ours = [name for name in shown if name.startswith("aten::") and name[6:] not in ATEN]
    assert ours == []


def test_composite_functions_are_called_as_pytorch_calls_them():
    load_all()
    shown = {composite_name(name) for name, _ in named_composites} - {None}
    assert sorted(name for name in shown if name[6:] not in ATEN) == []


# --- programs --------------------------------------------------------------------------------


def creation(torch):
    x = torch.zeros(2, 3)
    torch.ones_like(x)
    torch.full((2,), 1.5)
    torch.arange(5)
    torch.eye(3)
    torch.rand(4)
    torch.empty(2).normal_()
    torch.empty(2).uniform_()


def forward(torch):
    x = torch.ones(4, 3, requires_grad=True)
    w = torch.ones(5, 3, requires_grad=True)
    y = torch.nn.functional.linear(x, w)
    y = torch.relu(y)
    y = y.softmax(1)
    z = y.mean(0)
    z.clamp(0.0, 1.0).pow(2.0)
    (z * 2.0 - 1.0) / 3.0
    torch.cat([z, z])
    torch.stack([z, z])
    y[0], y[:, 1:]
    y.view(-1), y.reshape(5, 4), y.t(), y.transpose(0, 1)
    y.max(), y.max(1), y.argmax(1), y.sum(1), y.norm()
    y.detach().add_(1.0)
    torch.where(y > 0.5, y, y)


def losses(torch):
    functional = torch.nn.functional
    x = torch.ones(4, 3, requires_grad=True)
    functional.cross_entropy(x, torch.zeros(4, dtype=torch.int64))
    functional.layer_norm(x, (3,))
    functional.dropout(x, 0.5)
    functional.log_softmax(x, 1)


def silent(torch):
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        x.exp()
        x.mul_(2.0)
    with torch.inference_mode():
        x.sin()


def observed(torch, program):
    program(torch)  # operators that are compiled on first use
    before = torch.autograd._get_sequence_nr()
    with torch.autograd.profiler.profile(record_shapes=True) as p:
        program(torch)
    return [
        (event.name, event.sequence_nr - before if event.sequence_nr >= 0 else -1)
        for event in p.function_events
        if event.cpu_parent is None
    ]


@pytest.mark.parametrize("program", [creation, forward, losses, silent], ids=lambda p: p.__name__)
def test_outermost_events_and_their_numbers(program):
    assert observed(taper, program) == observed(torch, program)


def backward_events(torch):
    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    optimizer = torch.optim.Adam(layers.parameters())
    x = torch.ones(2, 4)
    with torch.autograd.profiler.profile(record_shapes=True) as p:
        optimizer.zero_grad()
        (layers(x) ** 2).mean().backward()
        optimizer.step()
    shown = [
        event
        for event in p.function_events
        if event.scope == 1 or event.name.startswith(("autograd::", "Optimizer", "aten::linear"))
    ]
    least = min(event.sequence_nr for event in shown if event.sequence_nr >= 0)
    return [
        (
            event.name,
            event.sequence_nr - least if event.sequence_nr >= 0 else -1,
            event.scope,
            event.fwd_thread,
            event.input_shapes,
            event.is_user_annotation,
        )
        for event in shown
    ]


def test_a_training_step():
    assert backward_events(taper) == backward_events(torch)


# --- tables ----------------------------------------------------------------------------------

NAMES = ["aten::mul", "a", "aten::to", "n" * 51, "n" * 52, "n" * 70, "Optimizer.step#SGD.step"]


def some_events(rng: random.Random, stacks: bool) -> list[tuple]:
    """Return arguments for events; stacks and counts of operations never together.

    PyTorch shows these two under each other's title.
    """
    made = []
    names = rng.sample(NAMES, rng.randrange(1, 5))
    for nr in range(rng.randrange(1, 14)):
        start = rng.randrange(0, 60) * rng.choice([1, 1.5, 1000])
        end = start + rng.randrange(0, 80) * rng.choice([1, 0.25, 30000])
        further = {
            "overload_name": rng.choice(["", "", "Tensor"]),
            "input_shapes": rng.choice([[], [[3, 4], []], [[1]] * rng.randrange(1, 30)]),
            "stack": [],
            "cpu_memory_usage": rng.randrange(-4000, 10**7),
            "flops": 0 if stacks else rng.choice([0, 5, 1234, 10**7]),
            "sequence_nr": rng.randrange(-1, 3),
            "is_async": rng.random() < 0.1,
            "is_user_annotation": rng.random() < 0.1,
        }
        if stacks:
            lines = ["x.py(1): f", "y" * rng.randrange(1, 90)]
            further["stack"] = [rng.choice(lines) for _ in range(rng.randrange(0, 3))]
        made.append(((nr, rng.choice(names), rng.randrange(0, 2), start, end), further))
    return made


def shown(util, arguments, options):
    """Return all that can be seen of a list of events."""
    events = util.EventList([util.FunctionEvent(*a, **k) for a, k in arguments], **options)
    events._build_tree()
    sums = events.key_averages()
    return [
        [(each.id, [child.id for child in each.cpu_children], each.stack) for each in events],
        repr(list(events)),
        repr(list(sums)),
        repr(events.total_average()),
        events.self_cpu_time_total,
        str(events),
        events.table(sort_by="self_cpu_time_total", row_limit=3, header="TITLE"),
        events.table(None, 4, 20, 30, 12, None, True),
        sums.table(sort_by="cuda_time_total", time_unit="ms"),
        events.key_averages(True).table(sort_by="cpu_memory_usage", top_level_events_only=True),
        events.key_averages(False, 1, True).table(time_unit="s"),
    ]


@pytest.mark.parametrize("seed", range(60))
def test_tables_of_the_same_events(seed):
    rng = random.Random(seed)
    arguments = some_events(rng, stacks=seed % 3 == 0)
    options = {"profile_memory": rng.random() < 0.5, "with_flops": rng.random() < 0.5}
    assert shown(taper_util, arguments, options) == shown(torch_util, arguments, options)


def test_stacks_of_the_same_events(tmp_path):
    lines = ["x.py(1): f g", "y;z.py(2): <module>"]
    arguments = [((0, "a", 1, 0, 100), {"stack": lines}), ((1, "b", 1, 10, 50.7), {"stack": []})]
    written = []
    for util in (taper_util, torch_util):
        events = util.EventList([util.FunctionEvent(*a, **k) for a, k in arguments])
        events._build_tree()
        events.export_stacks(str(tmp_path / "stacks"), "self_cpu_time_total")
        written.append((tmp_path / "stacks").read_text())
    assert written[0] == written[1] != ""


def test_numbers_with_units():
    numbers = [0, 0.5, 999.9994, 999.9999, 1000, 1e6, -5, 1023, 1024, -1025, 2**30, 5e12]
    for name in ("_format_time", "_format_memory"):
        one, other = getattr(taper_util, name), getattr(torch_util, name)
        assert [one(each) for each in numbers] == [other(each) for each in numbers]


# --- schedules -------------------------------------------------------------------------------

PLANS = [
    dict(
        zip(("wait", "warmup", "active", "repeat", "skip_first", "skip_first_wait"), p, strict=True)
    )
    for p in itertools.product((0, 2), (1, 2), (1, 3), (0, 2), (0, 3), (0, 1))
]


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_schedules(plan):
    one, other = (library.profiler.schedule(**plan) for library in BOTH)
    assert [one(step).name for step in range(20)] == [other(step).name for step in range(20)]


def cycles(library, plan, count):
    """Return what is called when a cycle ends, and what is left at the end."""
    seen = []

    def short(profiler):
        wanted = ("aten::exp", "ProfilerStep*")
        return [event.name for event in profiler.events() if event.name in wanted]

    def ready(profiler):
        seen.append((profiler.step_num, profiler.current_action.name, short(profiler)))

    with library.profiler.profile(schedule=plan, on_trace_ready=ready) as profiler:
        for _ in range(count):
            library.ones(2).exp()
            profiler.step()
    return seen, profiler.step_num, profiler.current_action.name


@pytest.mark.parametrize("count", range(1, 9))
def test_cycles(count):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the note that events are cleared comes once in a process
        found = [
            [cycles(library, library.profiler.schedule(**plan), count) for library in BOTH]
            for plan in (
                {"wait": 1, "warmup": 1, "active": 2},
                {"wait": 0, "warmup": 1, "active": 1, "repeat": 2},
            )
        ]
        found.append([cycles(library, None, count) for library in BOTH])
    for one, other in found:
        assert one == other
