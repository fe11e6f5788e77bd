"""Programs that try to trick the guards of `capture`: each ends as eager mode does.

Long because: each trick is a program of its own.
"""

from __future__ import annotations

import collections
import random
from typing import Any

import numpy as np
import pytest

import taper
from capture_tricks import Trick, data, shown
from taper import nn
from taper.nn import functional as F

TRICKS: dict[str, Trick] = {}
scale = 2.0
settings = {"power": 2}


class Config:
    """Options in the form of an object."""

    def __init__(self) -> None:
        self.rate = 0.5
        self.names = ["a"]


config = Config()


def trick(function: Trick) -> Trick:
    """Make a function of `capture` or `eager` a case: it returns what both must agree in."""
    TRICKS[function.__name__] = function
    return function


@pytest.fixture(autouse=True)
def _fresh() -> None:
    global scale, settings, config
    scale, settings, config = 2.0, {"power": 2}, Config()
    taper.manual_seed(0)
    random.seed(0)
    np.random.seed(0)


@trick
def a_global_number_changes(wrap: Any) -> list[Any]:
    global scale
    step = wrap(lambda x: x * scale)
    found = []
    for number in range(6):
        scale = 2.0 if number < 4 else 5.0
        found.append(step(data(number)))
    return found


@trick
def a_number_in_a_dictionary_changes(wrap: Any) -> list[Any]:
    step = wrap(lambda x: x ** settings["power"])
    found = []
    for number in range(6):
        settings["power"] = 2 if number < 4 else 3
        found.append(step(data(number)))
    return found


@trick
def an_attribute_of_an_object_changes(wrap: Any) -> list[Any]:
    step = wrap(lambda x: x * config.rate + len(config.names))
    found = []
    for number in range(8):
        config.rate = 0.5 if number < 4 else 0.25
        if number == 6:
            config.names.append("b")
        found.append(step(data(number)))
    return found


@trick
def a_closure_changes(wrap: Any) -> list[Any]:
    factor = 1.0

    def step(x: Any) -> Any:
        return x * factor

    captured = wrap(step)
    found = []
    for number in range(6):
        factor = 1.0 if number < 4 else -1.0
        found.append(captured(data(number)))
    return found


@trick
def a_global_tensor_is_replaced(wrap: Any) -> list[Any]:
    place = {"bias": taper.ones(3)}
    step = wrap(lambda x: x + place["bias"])
    found = []
    for number in range(6):
        if number == 4:
            place["bias"] = taper.full((3,), 7.0)
        found.append(step(data(number)))
    return found


@trick
def a_tensor_changes_its_values(wrap: Any) -> list[Any]:
    bias = taper.ones(3)
    step = wrap(lambda x: x + bias)
    found = []
    for number in range(6):
        bias.fill_(number)
        found.append(step(data(number)))
    return found


@trick
def data_of_a_parameter_is_replaced(wrap: Any) -> list[Any]:
    layer = nn.Linear(3, 2)
    step = wrap(lambda x: layer(x))
    found = []
    for number in range(6):
        if number == 4:
            layer.weight.data = taper.ones(2, 3)
        found.append(step(data(number, 2, 3)))
    return found


@trick
def a_state_dict_is_loaded(wrap: Any) -> list[Any]:
    layer, other = nn.Linear(3, 2), nn.Linear(3, 2)
    step = wrap(lambda x: layer(x))
    found = []
    for number in range(6):
        if number == 3:
            layer.load_state_dict(other.state_dict())
        found.append(step(data(number, 2, 3)))
    return found


@trick
def training_mode_changes(wrap: Any) -> list[Any]:
    net = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.BatchNorm1d(4))
    step = wrap(lambda x: net(x))
    found = []
    for number in range(9):
        net.train(number % 3 != 2)
        found.append(step(data(number, 5, 3)))
    return [*found, net[2].running_mean, net[2].num_batches_tracked]


@trick
def a_layer_is_replaced(wrap: Any) -> list[Any]:
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    step = wrap(lambda x: net(x))
    found = []
    for number in range(6):
        if number == 4:
            net[1] = nn.Tanh()
        found.append(step(data(number, 2, 3)))
    return found


@trick
def a_layer_is_frozen(wrap: Any) -> list[Any]:
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))

    def step(x: Any) -> Any:
        net.zero_grad()
        net(x).sum().backward()
        return [None if each.grad is None else each.grad.clone() for each in net.parameters()]

    captured = wrap(step)
    found = []
    for number in range(6):
        if number == 4:
            net[0].requires_grad_(False)
        found.append(captured(data(number, 2, 3)))
    return found


@trick
def the_learning_rate_is_scheduled(wrap: Any) -> list[Any]:
    layer = nn.Linear(3, 1)
    optimizer = taper.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
    scheduler = taper.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = layer(x).square().mean()
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss

    captured = wrap(step)
    found = []
    for number in range(6):
        if number == 4:
            optimizer.param_groups[0]["lr"] = 0.01
        found.append(captured(data(number, 2, 3)))
    return [*found, *layer.parameters(), optimizer.param_groups[0]["lr"]]


@trick
def gradients_accumulate_over_calls(wrap: Any) -> list[Any]:
    layer = nn.Linear(3, 1)

    def step(x: Any) -> Any:
        loss = layer(x).sum()
        loss.backward()
        return loss

    captured = wrap(step)
    found = []
    for number in range(7):
        found.append(captured(data(number, 2, 3)))
        if number == 4:
            layer.zero_grad()
    return [*found, layer.weight.grad, layer.weight.grad._version]


@trick
def an_old_gradient_is_kept(wrap: Any) -> list[Any]:
    layer = nn.Linear(3, 1)

    def step(x: Any) -> Any:
        layer.zero_grad()
        layer(x).sum().backward()

    captured = wrap(step)
    kept = []
    for number in range(6):
        captured(data(number, 2, 3))
        kept.append(layer.weight.grad)
    return kept


@trick
def old_results_are_kept(wrap: Any) -> list[Any]:
    step = wrap(lambda x: (x * 2, x.sum()))
    return [step(data(number)) for number in range(6)]


@trick
def a_result_is_written(wrap: Any) -> list[Any]:
    step = wrap(lambda x: x * 2)
    found = []
    for number in range(6):
        result = step(data(number))
        result.add_(number)
        found.append(result)
    return found


@trick
def a_branch_depends_on_data(wrap: Any) -> list[Any]:
    step = wrap(lambda x: x * 2 if x.sum() > 10 else x - 1)
    return [step(data(number)) for number in range(6)]


@trick
def a_number_is_read_and_used(wrap: Any) -> list[Any]:
    step = wrap(lambda x: x / x.max().item())
    return [step(data(number + 1)) for number in range(6)]


@trick
def a_number_is_read_and_returned(wrap: Any) -> list[Any]:
    step = wrap(lambda x: (x.sum().item(), x.argmax().item()))
    return [step(data(number)) for number in range(6)]


@trick
def a_number_is_read_and_formatted(wrap: Any) -> list[Any]:
    step = wrap(lambda x: f"{x.sum().item():.2f}")
    return [step(data(number)) for number in range(6)]


@trick
def a_number_is_read_and_looked_at(wrap: Any) -> list[Any]:
    import math

    step = wrap(lambda x: math.sqrt(x.sum().item()))
    return [step(data(number)) for number in range(6)]


@trick
def a_number_is_read_and_formatted_in_the_old_way(wrap: Any) -> list[Any]:
    step = wrap(lambda x: "%.2f" % x.sum().item())  # noqa: UP031
    return [step(data(number)) for number in range(6)]


@trick
def an_attribute_of_a_class_changes(wrap: Any) -> list[Any]:
    class Options:
        rate = 0.5

    step = wrap(lambda x: x * Options.rate)
    found = []
    for number in range(6):
        Options.rate = 0.5 if number < 4 else 0.25
        found.append(step(data(number)))
    return found


@trick
def an_attribute_in_a_slot_changes(wrap: Any) -> list[Any]:
    class Options:
        __slots__ = ("rate",)

    options = Options()
    step = wrap(lambda x: x * options.rate)
    found = []
    for number in range(6):
        options.rate = 0.5 if number < 4 else 0.25
        found.append(step(data(number)))
    return found


@trick
def other_code_runs_each_time(wrap: Any) -> list[Any]:
    place = {"scale": 1.0}

    def step(x: Any) -> Any:
        return eval("lambda x: x * place['scale']", {"place": place})(x)

    captured = wrap(step)
    found = []
    for number in range(8):
        place["scale"] = float(number)
        found.append(captured(data(number)))
    return found


@trick
def arguments_are_nested(wrap: Any) -> list[Any]:
    Pair = collections.namedtuple("Pair", "left right")
    step = wrap(lambda pair, *, more: {"sum": pair.left + more["x"][0], "other": [pair.right, 3]})
    return [
        step(Pair(data(number), data(1)), more={"x": [data(number), None]}) for number in range(6)
    ]


@trick
def a_counter_is_kept(wrap: Any) -> list[Any]:
    count = 0

    def step(x: Any) -> Any:
        nonlocal count
        count += 1
        return x * count

    captured = wrap(step)
    return [*[captured(data(number)) for number in range(6)], count]


@trick
def results_are_collected(wrap: Any) -> list[Any]:
    losses: list[Any] = []

    def step(x: Any) -> Any:
        loss = (x * x).sum()
        losses.append(loss)
        return loss

    captured = wrap(step)
    for number in range(6):
        captured(data(number))
    return losses


@trick
def pythons_random_numbers_are_drawn(wrap: Any) -> list[Any]:
    step = wrap(lambda x: x * random.random())
    return [step(data(number)) for number in range(6)]


@trick
def numpys_random_numbers_are_drawn(wrap: Any) -> list[Any]:
    step = wrap(lambda x: x * np.random.rand())
    return [step(data(number)) for number in range(6)]


@trick
def random_numbers_are_drawn(wrap: Any) -> list[Any]:
    step = wrap(lambda x: F.dropout(x + taper.randn(3), 0.5) * taper.rand(()) + taper.randn_like(x))
    return [*[step(data(number)) for number in range(6)], taper.get_rng_state()]


@trick
def the_generator_is_seeded_in_between(wrap: Any) -> list[Any]:
    step = wrap(lambda x: F.dropout(x, 0.5))
    found = []
    for number in range(6):
        taper.manual_seed(number // 2)
        found.append(step(data(number)))
    return found


@trick
def arguments_change_shape_and_type(wrap: Any) -> list[Any]:
    step = wrap(lambda x: (x * x).sum(0))
    return [
        *[step(data(number, 2 + number % 3, 2)) for number in range(12)],
        *[step(data(number, 2, 2).double()) for number in range(4)],
        *[step(data(number, 2, 3).t()) for number in range(4)],
    ]


@trick
def numbers_among_the_arguments_change(wrap: Any) -> list[Any]:
    step = wrap(lambda x, power, *, flag=True: x**power if flag else x)
    return [step(data(number), 2 + number // 4, flag=number % 2 == 0) for number in range(16)]


@trick
def one_is_not_one_point_zero(wrap: Any) -> list[Any]:
    step = wrap(lambda x, other: x * other)
    numbers = [1, 1, 1, 1.0, 1.0, 1.0, True, True, True]
    return [step(taper.arange(3), number) for number in numbers]


@trick
def grad_mode_changes(wrap: Any) -> list[Any]:
    layer = nn.Linear(3, 1)
    step = wrap(lambda x: layer(x))
    found = []
    for number in range(8):
        with taper.set_grad_enabled(number % 4 != 3):
            found.append(step(data(number, 2, 3)).requires_grad)
    return found


@trick
def the_same_tensor_is_passed_twice(wrap: Any) -> list[Any]:
    step = wrap(lambda x, y: x.mul(2).add(y))
    found = []
    for number in range(8):
        x = data(number)
        found.append(step(x, x if number % 2 else data(number)))
    return found


@trick
def an_argument_is_written(wrap: Any) -> list[Any]:
    def step(x: Any) -> Any:
        x.add_(1)
        return x * 2

    captured = wrap(step)
    found = []
    for number in range(6):
        x = data(number)
        found.append((captured(x), x, x._version))
    return found


@trick
def state_is_kept_in_a_tensor(wrap: Any) -> list[Any]:
    state = taper.zeros(3)

    def step(x: Any) -> Any:
        state.mul_(0.5).add_(x)
        return state * 2

    captured = wrap(step)
    return [*[captured(data(number)) for number in range(6)], state, state._version]


@trick
def state_is_kept_in_an_attribute(wrap: Any) -> list[Any]:
    class Memory(nn.Module):
        hidden: Any = None

        def forward(self, x: Any) -> Any:
            self.hidden = x if self.hidden is None else self.hidden * 0.5 + x
            return self.hidden

    step = wrap(Memory())
    return [step(data(number)) for number in range(6)]


@trick
def a_hook_is_registered(wrap: Any) -> list[Any]:
    weight = taper.ones(3, requires_grad=True)

    def step(x: Any) -> Any:
        weight.grad = None
        (weight * x).sum().backward()
        return weight.grad

    captured = wrap(step)
    found = []
    for number in range(7):
        if number == 4:
            weight.register_hook(lambda grad: grad * 10)
        found.append(captured(data(number)))
    return found


@trick
def a_module_hook_is_registered(wrap: Any) -> list[Any]:
    layer = nn.Linear(3, 1)
    step = wrap(lambda x: layer(x))
    found = []
    for number in range(7):
        if number == 4:
            layer.register_forward_hook(lambda module, args, output: output * 3)
        found.append(step(data(number, 2, 3)))
    return found


@trick
def parameters_are_updated_by_hand(wrap: Any) -> list[Any]:
    weight = taper.ones(3, requires_grad=True)

    def step(x: Any) -> Any:
        loss = (weight * x).square().sum()
        loss.backward()
        with taper.no_grad():
            weight.sub_(weight.grad * 0.001)
            weight.grad.zero_()
        return loss

    captured = wrap(step)
    return [*[captured(data(number)) for number in range(6)], weight, weight._version]


@trick
def arguments_receive_gradients(wrap: Any) -> list[Any]:
    step = wrap(lambda x: (x * x).sum().backward())
    found = []
    for number in range(6):
        x = data(number).requires_grad_()
        step(x)
        found.append(x.grad)
    return found


@trick
def an_iterator_is_consumed(wrap: Any) -> list[Any]:
    batches = iter([data(number) for number in range(8)])

    def step() -> Any:
        for batch in batches:
            return batch * 2
        return None

    captured = wrap(step)
    return [captured() for _ in range(6)]


@trick
def an_array_is_shared(wrap: Any) -> list[Any]:
    memory = np.zeros(3, np.float32)
    step = wrap(lambda x: x + taper.from_numpy(memory))
    found = []
    for number in range(6):
        memory[:] = number
        found.append(step(data(number)))
    return found


@trick
def the_default_dtype_changes(wrap: Any) -> list[Any]:
    step = wrap(lambda x: x + taper.ones(3))
    found = []
    try:
        for number in range(8):
            taper.set_default_dtype(taper.float32 if number < 4 else taper.float64)
            found.append(step(taper.arange(3)))
    finally:
        taper.set_default_dtype(taper.float32)
    return found


@trick
def a_view_is_written(wrap: Any) -> list[Any]:
    def step(x: Any) -> Any:
        y = x * 1
        y[0] = 5.0
        y[1:].mul_(3)
        return y

    captured = wrap(step)
    return [captured(data(number)) for number in range(6)]


@trick
def a_mask_selects(wrap: Any) -> list[Any]:
    step = wrap(lambda x: x[x > 2])
    return [step(data(number)) for number in range(6)]


@trick
def a_list_of_layers_grows(wrap: Any) -> list[Any]:
    layers = nn.ModuleList([nn.Linear(3, 3)])

    def step(x: Any) -> Any:
        for layer in layers:
            x = layer(x)
        return x

    captured = wrap(step)
    found = []
    for number in range(7):
        if number == 4:
            layers.append(nn.Linear(3, 3))
        found.append(captured(data(number, 2, 3)))
    return found


@trick
def an_optimizer_gets_a_group(wrap: Any) -> list[Any]:
    first, second = nn.Linear(3, 1), nn.Linear(3, 1)
    optimizer = taper.optim.Adam(first.parameters(), lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (first(x) * second(x)).sum()
        loss.backward()
        optimizer.step()
        return loss

    captured = wrap(step)
    found = []
    for number in range(7):
        if number == 4:
            optimizer.add_param_group({"params": list(second.parameters())})
        found.append(captured(data(number, 2, 3)))
    return [*found, *first.parameters(), *second.parameters()]


@pytest.mark.parametrize("name", TRICKS)
@pytest.mark.filterwarnings("ignore:8 kinds of calls")
def test_a_trick_ends_as_in_eager_mode(name: str, _fresh: None) -> None:
    expected = shown(TRICKS[name](lambda function: function))
    taper.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    global scale, settings, config
    scale, settings, config = 2.0, {"power": 2}, Config()
    found = shown(TRICKS[name](lambda function: taper.capture(function, exact=True)))
    assert found == expected


@pytest.mark.parametrize(
    "name",
    ["the_learning_rate_is_scheduled", "random_numbers_are_drawn", "a_state_dict_is_loaded",
     "gradients_accumulate_over_calls", "a_number_is_read_and_returned", "a_view_is_written",
     "parameters_are_updated_by_hand", "state_is_kept_in_a_tensor"],
)  # fmt: skip
def test_what_can_be_replayed_is(name: str) -> None:
    made: list[Any] = []

    def wrap(function: Any) -> Any:
        made.append(taper.capture(function, exact=True))
        return made[-1]

    TRICKS[name](wrap)
    assert "replayed" in made[0].explain(), made[0].explain()
