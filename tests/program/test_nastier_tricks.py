"""Programs that try harder to trick the guards of `capture`: each ends as eager mode does.

Long because: each trick is a program of its own.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import datetime
import enum
import os
import pickle
import threading
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import taper
from capture_tricks import Trick, data, shown
from taper import nn

TRICKS: dict[str, Trick] = {}
scale = 2.0


def trick(function: Trick) -> Trick:
    """Make a function of `capture` or `eager` a case: it returns what both must agree in."""
    TRICKS[function.__name__] = function
    return function


def helper(x: Any) -> Any:
    return x * 2


def other_helper(x: Any) -> Any:
    return x * 3


def turns(found: list[Any], step: Any, count: int, change: Callable[[int], Any]) -> list[Any]:
    """Call a step often; `change(number)` comes before each call."""
    for number in range(count):
        change(number)
        found.append(step(data(number)))
    return found


# --- functions and classes ---------------------------------------------------------------------


@trick
def a_default_argument_is_replaced(wrap: Any) -> list[Any]:
    def step(x: Any, factor: float = 2.0, *, more: float = 1.0) -> Any:
        return x * factor + more

    captured = wrap(step)

    def change(number: int) -> None:
        if number == 4:
            step.__defaults__ = (5.0,)
        if number == 6:
            step.__kwdefaults__["more"] = 7.0

    return turns([], captured, 8, change)


@trick
def a_default_argument_is_a_list(wrap: Any) -> list[Any]:
    factors = [2.0]

    def step(x: Any, factors: list[float] = factors) -> Any:
        return x * factors[0]

    return turns([], wrap(step), 7, lambda number: factors.__setitem__(0, 2.0 + number // 4))


@trick
def a_global_function_is_replaced(wrap: Any) -> list[Any]:
    global helper
    before = helper
    step = wrap(lambda x: helper(x))
    found = []
    try:
        for number in range(6):
            helper = before if number < 4 else other_helper
            found.append(step(data(number)))
    finally:
        helper = before
    return found


@trick
def a_method_of_a_class_is_replaced(wrap: Any) -> list[Any]:
    class Net(nn.Module):
        def forward(self, x: Any) -> Any:
            return self.inner(x)

        def inner(self, x: Any) -> Any:
            return x * 2

    net = Net()

    def change(number: int) -> None:
        if number == 4:
            Net.inner = lambda self, x: x * 5  # type: ignore[method-assign]

    return turns([], wrap(lambda x: net(x)), 7, change)


@trick
def a_method_of_an_object_is_replaced(wrap: Any) -> list[Any]:
    net = nn.ReLU()

    def change(number: int) -> None:
        if number == 4:
            net.forward = lambda x: x * 5  # type: ignore[method-assign]

    return turns([], wrap(lambda x: net(x)), 7, change)


@trick
def a_method_reads_a_closure(wrap: Any) -> list[Any]:
    factor = 2.0

    class Net(nn.Module):
        def forward(self, x: Any) -> Any:
            return self.scaled(x)

        def scaled(self, x: Any) -> Any:
            return x * factor

    step = wrap(Net())
    found = []
    for number in range(7):
        factor = 2.0 if number < 4 else 3.0
        found.append(step(data(number)))
    return found


@trick
def a_property_reads_a_list(wrap: Any) -> list[Any]:
    values = [1.0]

    class Options:
        @property
        def rate(self) -> float:
            return values[-1]

    options = Options()
    return turns(
        [],
        wrap(lambda x: x * options.rate),
        7,
        lambda number: values.append(3.0) if number == 4 else None,
    )


@trick
def a_function_is_made_by_another(wrap: Any) -> list[Any]:
    place = {"rate": 1.0}

    def maker() -> Any:
        rate = place

        def inner(x: Any) -> Any:
            return x * rate["rate"]

        return inner

    made = maker()
    return turns([], wrap(made), 7, lambda number: place.update(rate=1.0 + number // 4))


@trick
def an_inherited_attribute_changes(wrap: Any) -> list[Any]:
    class Base:
        rate = 1.0

    class Options(Base):
        pass

    options = Options()
    return turns(
        [], wrap(lambda x: x * options.rate), 7, lambda number: setattr(Base, "rate", number // 4)
    )


@trick
def a_frozen_dataclass_is_replaced(wrap: Any) -> list[Any]:
    @dataclasses.dataclass(frozen=True)
    class Options:
        rate: float

    place = [Options(1.0)]
    return turns(
        [],
        wrap(lambda x: x * place[0].rate),
        7,
        lambda number: place.__setitem__(0, Options(1.0 + number // 4)),
    )


@trick
def an_enum_is_chosen(wrap: Any) -> list[Any]:
    class Kind(enum.Enum):
        DOUBLE = 1
        TRIPLE = 2

    place = types.SimpleNamespace(kind=Kind.DOUBLE)
    step = wrap(lambda x: x * 2 if place.kind is Kind.DOUBLE else x * 3)
    return turns([], step, 7, lambda number: setattr(place, "kind", Kind(1 + number // 4)))


# --- containers --------------------------------------------------------------------------------


@trick
def a_set_changes(wrap: Any) -> list[Any]:
    names = {"a"}
    step = wrap(lambda x: x * 2 if "b" in names else x)
    return turns([], step, 7, lambda number: names.add("b") if number == 4 else None)


@trick
def a_deque_changes(wrap: Any) -> list[Any]:
    queue = collections.deque([1.0, 2.0], maxlen=2)
    step = wrap(lambda x: x * sum(queue))
    return turns([], step, 7, lambda number: queue.append(5.0) if number == 4 else None)


@trick
def a_dictionary_changes_its_order(wrap: Any) -> list[Any]:
    rates = {"a": 2.0, "b": 3.0}

    def step(x: Any) -> Any:
        for rate in rates.values():
            x = x * rate + rate
        return x

    def change(number: int) -> None:
        if number == 4:
            rates["a"] = rates.pop("a")

    return turns([], wrap(step), 7, change)


@trick
def a_nested_list_changes(wrap: Any) -> list[Any]:
    layers = {"sizes": [[1.0], [2.0]]}
    step = wrap(lambda x: x * layers["sizes"][1][0])
    return turns([], step, 7, lambda number: layers["sizes"][1].__setitem__(0, number // 4 + 1))


@trick
def an_array_is_read(wrap: Any) -> list[Any]:
    table = np.array([1.0, 2.0])
    step = wrap(lambda x: x * float(table[1]))

    def change(number: int) -> None:
        table[1] = 2.0 + number // 4

    return turns([], step, 7, change)


@trick
def a_number_of_numpys_is_used(wrap: Any) -> list[Any]:
    table = np.array([1.0, 2.0], np.float32)
    step = wrap(lambda x: x * table[1])

    def change(number: int) -> None:
        table[1] = 2.0 + number // 4

    return turns([], step, 7, change)


@trick
def an_argument_list_grows(wrap: Any) -> list[Any]:
    def step(x: Any, log: list[Any], values: dict[str, Any]) -> Any:
        y = x * 2
        log.append(3)
        values["y"] = y
        return y

    captured = wrap(step)
    found = []
    for number in range(6):
        log: list[Any] = []
        values: dict[str, Any] = {"x": 1}
        captured(data(number), log, values)
        found.append([log, values])
    return found


# --- the world outside -------------------------------------------------------------------------


@trick
def the_environment_is_read(wrap: Any) -> list[Any]:
    step = wrap(lambda x: x * float(os.environ.get("TAPER_TEST_SCALE", "1")))
    try:
        return turns(
            [], step, 7, lambda number: os.environ.update(TAPER_TEST_SCALE=str(1 + number // 4))
        )
    finally:
        os.environ.pop("TAPER_TEST_SCALE", None)


@trick
def a_global_is_looked_up_by_its_name(wrap: Any) -> list[Any]:
    global scale
    step = wrap(lambda x: x * globals()["sca" + "le"])
    found = []
    for number in range(7):
        scale = 2.0 + number // 4
        found.append(step(data(number)))
    scale = 2.0
    return found


@trick
def the_clock_is_read(wrap: Any) -> list[Any]:
    captured = wrap(lambda x: (x * 2, datetime.datetime.now().microsecond >= 0))
    found = [captured(data(number)) for number in range(5)]
    moments = wrap(lambda x: (x, datetime.datetime.now()))
    return [found, len({moments(data(0))[1] for _ in range(6)}) > 3]


@trick
def each_thread_has_its_own_value(wrap: Any) -> list[Any]:
    own = threading.local()
    own.rate = 2.0
    step = wrap(lambda x: x * own.rate)
    found = [step(data(number)) for number in range(4)]

    def work() -> None:
        own.rate = 5.0
        found.append(step(data(7)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found


@trick
def it_warns_each_time(wrap: Any) -> list[Any]:
    def step(x: Any) -> Any:
        warnings.warn("careful", UserWarning, stacklevel=1)
        return x * 2

    captured = wrap(step)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = [captured(data(number)) for number in range(5)]
    return [found, len(seen)]


# --- results -----------------------------------------------------------------------------------


@trick
def an_object_with_tensors_is_returned(wrap: Any) -> list[Any]:
    @dataclasses.dataclass
    class Output:
        loss: Any

    step = wrap(lambda x: Output(x.sum()))
    return [step(data(number)).loss for number in range(6)]


@trick
def a_gradient_is_returned(wrap: Any) -> list[Any]:
    weight = taper.ones(3, requires_grad=True)

    def step(x: Any) -> Any:
        weight.grad = None
        (weight * x).sum().backward()
        return weight.grad

    captured = wrap(step)
    found = []
    for number in range(5):
        result = captured(data(number))
        result.add_(1)
        found.append([result, weight.grad, result is weight.grad, weight.grad._version])
    return found


@trick
def the_same_tensor_is_returned_twice(wrap: Any) -> list[Any]:
    def step(x: Any) -> Any:
        y = x * 2
        return y, y, y.view(3, 1)

    captured = wrap(step)
    found = []
    for number in range(5):
        one, other, view = captured(data(number))
        one.add_(1)
        found.append([one, other, view, one is other, view._is_view()])
    return found


@trick
def an_argument_is_returned(wrap: Any) -> list[Any]:
    step = wrap(lambda x, y: (x, y + x, x))
    found = []
    for number in range(5):
        x = data(number)
        result = step(x, data(1))
        found.append([result, result[0] is x, result[2] is x])
    return found


@trick
def a_view_of_a_parameter_is_returned(wrap: Any) -> list[Any]:
    weight = taper.arange(4.0)
    step = wrap(lambda x: (weight[1:], x + weight[0]))
    found = []
    for number in range(5):
        view, _ = result = step(data(number))
        view.add_(1)
        found.append([result, weight.clone()])
    return found


# --- tensors -----------------------------------------------------------------------------------


@trick
def an_attribute_of_a_tensor_changes(wrap: Any) -> list[Any]:
    weight: Any = taper.ones(3)
    weight.rate = 2.0
    step = wrap(lambda x: x * weight.rate)
    return turns([], step, 7, lambda number: setattr(weight, "rate", 2.0 + number // 4))


@trick
def only_the_shape_of_a_tensor_is_read(wrap: Any) -> list[Any]:
    memory = taper.ones(3)

    def change(number: int) -> None:
        if number == 4:
            memory.data = taper.ones(5)

    return turns([], wrap(lambda x: x * memory.shape[0]), 7, change)


@trick
def only_requires_grad_of_a_tensor_is_read(wrap: Any) -> list[Any]:
    flag = taper.ones(1)
    step = wrap(lambda x: x * 2 if flag.requires_grad else x)
    return turns([], step, 7, lambda number: flag.requires_grad_(number >= 4))


@trick
def whether_there_is_a_gradient_is_read(wrap: Any) -> list[Any]:
    weight = taper.ones(3, requires_grad=True)
    step = wrap(lambda x: x if weight.grad is None else x * 2)

    def change(number: int) -> None:
        weight.grad = None if number < 4 or number == 6 else taper.ones(3)

    return turns([], step, 8, change)


@trick
def a_gradient_is_divided_by_hand(wrap: Any) -> list[Any]:
    weight = taper.ones(3, requires_grad=True)

    def step(x: Any) -> Any:
        (weight * x).sum().backward()
        if weight.grad is not None:
            weight.grad.div_(2)
        return weight.grad.sum()

    captured = wrap(step)
    found = []
    for number in range(7):
        found.append(captured(data(number)))
        if number % 3 == 2:
            weight.grad = None
    return [*found, weight.grad]


@trick
def data_is_replaced_inside(wrap: Any) -> list[Any]:
    weight = taper.ones(3)

    def step(x: Any) -> Any:
        weight.data = x * 2
        return weight + 1

    captured = wrap(step)
    return [*[captured(data(number)) for number in range(6)], weight]


@trick
def set_gives_a_parameter_other_memory(wrap: Any) -> list[Any]:
    weight = taper.ones(3)

    def change(number: int) -> None:
        if number == 4:
            weight.set_(taper.full((3,), 5.0))

    return turns([], wrap(lambda x: x * weight), 7, change)


@trick
def a_state_dict_is_assigned(wrap: Any) -> list[Any]:
    layer, other = nn.Linear(3, 2), nn.Linear(3, 2)
    step = wrap(lambda x: layer(x))
    found = []
    for number in range(7):
        if number == 4:
            layer.load_state_dict(copy.deepcopy(other.state_dict()), assign=True)
        found.append(step(data(number, 2, 3)))
    return found


@trick
def a_module_changes_its_dtype(wrap: Any) -> list[Any]:
    layer = nn.Linear(3, 2)
    step = wrap(lambda x: layer(x))
    found = []
    for number in range(8):
        if number == 4:
            layer.double()
        found.append(step(data(number, 2, 3).to(layer.weight.dtype)))
    return found


@trick
def a_layer_is_wrapped(wrap: Any) -> list[Any]:
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    step = wrap(lambda x: net(x))
    found = []
    for number in range(7):
        if number == 3:
            nn.utils.parametrizations.weight_norm(net[0])
        if number == 5:
            nn.utils.parametrize.remove_parametrizations(net[0], "weight")
        found.append(step(data(number, 2, 3)))
    return found


@trick
def arguments_overlap(wrap: Any) -> list[Any]:
    step = wrap(lambda x, y: x * 2 + y)
    found = []
    for number in range(8):
        memory = data(number, 6)
        pairs = [(memory[:3], memory[3:]), (memory[:3], memory[1:4]), (memory[::2], memory[1::2])]
        found.append(step(*pairs[number % 3]))
    return found


@trick
def an_argument_is_memory_of_a_parameter(wrap: Any) -> list[Any]:
    weight = taper.ones(3)

    def step(x: Any) -> Any:
        weight.add_(1)
        return x * 2

    captured = wrap(step)
    found = [captured(data(number)) for number in range(4)]
    return [*found, *[captured(weight.detach()) for _ in range(4)], weight]


@trick
def arguments_are_odd(wrap: Any) -> list[Any]:
    step = wrap(lambda x: (x * 2 + 1, x.sum(), x.flatten()))
    found = []
    for _ in range(3):
        for x in (
            taper.tensor(3.0),
            taper.empty(0, 3),
            taper.ones(2, 3).t(),
            taper.ones(1).expand(4),
            taper.arange(6.0).reshape(2, 3)[:, ::2],
            taper.ones(2, dtype=taper.int64),
            taper.ones(2, dtype=taper.bool).float(),
        ):
            found.append(step(x))
    return found


@trick
def an_argument_has_a_history_or_not(wrap: Any) -> list[Any]:
    step = wrap(lambda x: (x * 2, x.is_leaf))
    found = []
    for number in range(8):
        x = data(number).requires_grad_()
        y, flag = step(x * 1 if number % 2 else x)
        y.sum().backward()
        found.append([x.grad, flag])
    return found


@trick
def an_argument_is_a_parameter_or_not(wrap: Any) -> list[Any]:
    step = wrap(lambda x: x * (2 if isinstance(x, nn.Parameter) else 3))
    found = []
    for number in range(8):
        x = data(number)
        found.append(step(nn.Parameter(x) if number % 2 else x.requires_grad_()))
    return found


@trick
def a_subclass_sees_its_operations(wrap: Any) -> list[Any]:
    seen: list[str] = []

    class Loud(taper.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, kinds: Any, args: Any = (), kwargs: Any = None):
            seen.append(getattr(func, "__name__", str(func)))
            return super().__torch_function__(func, kinds, args, kwargs or {})

    step = wrap(lambda x: (x * 2).sum())
    found = []
    for number in range(5):
        found.append(step(data(number).as_subclass(Loud)).item())
    return [*found, len(seen) > 4]


# --- modes -------------------------------------------------------------------------------------


@trick
def transforms_go_through(wrap: Any) -> list[Any]:
    step = wrap(lambda x: (x * x).sum())
    found: list[Any] = [step(data(number)) for number in range(4)]
    found.append(taper.func.grad(step)(data(1)))
    found.append(taper.func.vmap(step)(data(1, 2, 3)))
    found.append(taper.func.vmap(taper.func.grad(step))(data(1, 2, 3)))
    found.append(taper.func.jvp(step, (data(1),), (taper.ones(3),)))
    found.append(step(data(5)))
    return found


@trick
def inference_mode_comes_and_goes(wrap: Any) -> list[Any]:
    layer = nn.Linear(3, 2)
    step = wrap(lambda x: layer(x))
    found = []
    for number in range(9):
        with taper.inference_mode(number % 3 == 2):
            result = step(data(number, 2, 3))
            found.append([result.tolist(), result.is_inference(), result.requires_grad])
    return found


@trick
def autocast_comes_and_goes(wrap: Any) -> list[Any]:
    layer = nn.Linear(3, 2)
    step = wrap(lambda x: layer(x))
    found = []
    for number in range(12):
        with taper.autocast("cpu", taper.bfloat16, enabled=number % 3 == 2):
            layer(data(0, 2, 3))  # keeps its copy of the weight for this block
            found.append(step(data(number, 2, 3)))
        with taper.no_grad():
            layer.weight.mul_(1.1)
    return found


@trick
def threads_and_determinism_change(wrap: Any) -> list[Any]:
    step = wrap(lambda x: (x @ x.t()).sum(0))
    before = taper.get_num_threads()
    found = []
    try:
        for number in range(8):
            taper.set_num_threads(1 + number % 2)
            taper.use_deterministic_algorithms(number % 3 == 0)
            found.append(step(data(number, 4, 3)))
    finally:
        taper.set_num_threads(before)
        taper.use_deterministic_algorithms(False)
    return found


@trick
def generators_are_given(wrap: Any) -> list[Any]:
    own = taper.Generator().manual_seed(3)
    step = wrap(lambda x: x + taper.randn(3, generator=own))
    common = wrap(lambda x: x + taper.rand(3))
    found = []
    for number in range(7):
        if number == 4:
            own.manual_seed(3)
        found.append(step(data(number)))
        with taper.random.fork_rng():
            taper.manual_seed(number)
            found.append(common(data(number)))
        found.append(common(data(number)))
    return [*found, own.get_state(), taper.get_rng_state()]


@trick
def a_capture_is_inside_another(wrap: Any) -> list[Any]:
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    inner = wrap(net)
    loss = wrap(lambda x: inner(x).square().sum())

    def step(x: Any) -> Any:
        net.zero_grad()
        value = loss(x)
        value.backward()
        return value.detach()

    captured = wrap(step)
    found = [captured(data(number, 2, 3)) for number in range(7)]
    return [*found, *[each.grad for each in net.parameters()]]


@trick
def anomaly_mode_comes_and_goes(wrap: Any) -> list[Any]:
    weight = taper.ones(3, requires_grad=True)

    def step(x: Any) -> Any:
        weight.grad = None
        (weight * x).sum().backward()
        return weight.grad.clone()

    captured = wrap(step)
    found = []
    for number in range(6):
        with taper.autograd.set_detect_anomaly(number % 2 == 1):
            found.append(captured(data(number)))
    return found


# --- hooks and custom functions ----------------------------------------------------------------


@trick
def a_hook_reads_a_closure(wrap: Any) -> list[Any]:
    weight = taper.ones(3, requires_grad=True)
    factor = 2.0
    weight.register_hook(lambda grad: grad * factor)

    def step(x: Any) -> Any:
        weight.grad = None
        (weight * x).sum().backward()
        return weight.grad.clone()

    captured = wrap(step)
    found = []
    for number in range(7):
        factor = 2.0 + number // 4
        found.append(captured(data(number)))
    return found


@trick
def a_hook_keeps_what_it_sees(wrap: Any) -> list[Any]:
    weight = taper.ones(3, requires_grad=True)
    seen: list[Any] = []
    weight.register_hook(lambda grad: seen.append(grad.clone()))

    def step(x: Any) -> Any:
        weight.grad = None
        (weight * x).sum().backward()

    captured = wrap(step)
    for number in range(6):
        captured(data(number))
    return seen


@trick
def a_hook_is_registered_inside(wrap: Any) -> list[Any]:
    weight = taper.ones(3, requires_grad=True)

    def step(x: Any) -> Any:
        weight.grad = None
        hidden = weight * x
        mask = (x > 2).float()
        hidden.register_hook(lambda grad: grad * mask)
        (hidden * hidden).sum().backward()
        return weight.grad.clone()

    captured = wrap(step)
    return [captured(data(number)) for number in range(6)]


@trick
def a_hook_comes_and_goes(wrap: Any) -> list[Any]:
    weight = taper.ones(3, requires_grad=True)

    def step(x: Any) -> Any:
        weight.grad = None
        (weight * x).sum().backward()
        return weight.grad.clone()

    captured = wrap(step)
    found = []
    for number in range(9):
        if number == 3:
            handle = weight.register_hook(lambda grad: grad * 10)
        if number == 6:
            handle.remove()
            weight.register_hook(lambda grad: grad * 100)
        found.append(captured(data(number)))
    return found


@trick
def an_optimizer_steps_in_hooks(wrap: Any) -> list[Any]:
    layer = nn.Linear(3, 1)
    optimizers = {each: taper.optim.SGD([each], lr=0.01) for each in layer.parameters()}

    def update(each: Any) -> None:
        optimizers[each].step()
        optimizers[each].zero_grad()

    for each in layer.parameters():
        each.register_post_accumulate_grad_hook(update)

    def step(x: Any) -> Any:
        loss = layer(x).square().mean()
        loss.backward()
        return loss.detach()

    captured = wrap(step)
    return [*[captured(data(number, 2, 3)) for number in range(6)], *layer.parameters()]


class Doubled(taper.autograd.Function):
    """A function with a backward of its own, and numbers that it keeps."""

    factor = 2.0

    @staticmethod
    def forward(ctx: Any, x: Any, power: int) -> Any:
        ctx.save_for_backward(x)
        ctx.power = power
        return x**power

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * ctx.power * x ** (ctx.power - 1) * Doubled.factor, None


@trick
def a_custom_function_reads_its_class(wrap: Any) -> list[Any]:
    weight = taper.ones(3, requires_grad=True)

    def step(x: Any, power: int) -> Any:
        weight.grad = None
        loss = Doubled.apply(weight * x, power).sum()
        loss.backward()
        return loss.detach(), weight.grad.clone()

    captured = wrap(step)
    found = []
    try:
        for number in range(10):
            Doubled.factor = 2.0 + number // 8
            found.append(captured(data(number), 2 + number // 4 % 2))
    finally:
        Doubled.factor = 2.0
    return found


@trick
def a_custom_function_counts_its_calls(wrap: Any) -> list[Any]:
    counts = [0, 0]

    class Counted(taper.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            counts[0] += 1
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            counts[1] += 1
            return grad * 2

    step = wrap(lambda x: Counted.apply(x).sum())
    found = []
    for number in range(6):
        x = data(number).requires_grad_()
        step(x).backward()
        found.append([x.grad, list(counts)])
    return found


@trick
def gradients_are_asked_for(wrap: Any) -> list[Any]:
    layer = nn.Linear(3, 3)

    def step(x: Any) -> Any:
        hidden = layer(x)
        loss = hidden.tanh().square().sum()
        grads = taper.autograd.grad(loss, [hidden, layer.weight], retain_graph=True)
        (bias,) = taper.autograd.grad(loss, [layer.bias])
        with taper.no_grad():
            layer.weight.sub_(0.1 * grads[1])
            layer.bias.sub_(0.1 * bias)
        return grads[0], bias.norm()

    captured = wrap(step)
    return [*[captured(data(number, 2, 3)) for number in range(6)], *layer.parameters()]


@trick
def a_gradient_penalty_is_taken(wrap: Any) -> list[Any]:
    layer = nn.Linear(3, 1)

    def step(x: Any) -> Any:
        layer.zero_grad()
        x = x.detach().requires_grad_()
        (slope,) = taper.autograd.grad(layer(x).tanh().sum(), x, create_graph=True)
        loss = (slope.norm() - 1) ** 2
        loss.backward()
        return loss.detach()

    captured = wrap(step)
    found = [captured(data(number, 2, 3) / 10) for number in range(6)]
    return [*found, layer.weight.grad]


@trick
def backward_is_for_some_inputs(wrap: Any) -> list[Any]:
    first, second = taper.ones(3, requires_grad=True), taper.ones(3, requires_grad=True)

    def step(x: Any) -> Any:
        first.grad = second.grad = None
        (first * second * x).sum().backward(inputs=[first])
        return first.grad.clone(), second.grad is None

    captured = wrap(step)
    return [captured(data(number)) for number in range(6)]


@trick
def checkpoints_run_forward_again(wrap: Any) -> list[Any]:
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(0.5), nn.Linear(4, 1))

    def step(x: Any) -> Any:
        net.zero_grad()
        loss = taper.utils.checkpoint.checkpoint(net, x, use_reentrant=False).sum()
        loss.backward()
        return loss.detach()

    captured = wrap(step)
    found = [captured(data(number, 2, 3)) for number in range(6)]
    return [*found, *[each.grad for each in net.parameters()], taper.get_rng_state()]


# --- optimizers --------------------------------------------------------------------------------


@trick
def the_learning_rate_is_read_by_hand(wrap: Any) -> list[Any]:
    weight = taper.ones(3, requires_grad=True)
    optimizer = taper.optim.SGD([weight], lr=0.1)
    scheduler = taper.optim.lr_scheduler.StepLR(optimizer, 2)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        (weight * x).sum().backward()
        with taper.no_grad():
            weight.mul_(1 - optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
        return weight * scheduler.get_last_lr()[0]

    captured = wrap(step)
    return [*[captured(data(number)) for number in range(7)], weight]


@trick
def a_closure_is_given_to_step(wrap: Any) -> list[Any]:
    layer = nn.Linear(3, 1)
    optimizer = taper.optim.SGD(layer.parameters(), lr=0.01, momentum=0.5)
    lbfgs = taper.optim.LBFGS(layer.parameters(), lr=0.1, max_iter=2)

    def step(x: Any, which: Any) -> Any:
        def closure() -> Any:
            which.zero_grad()
            loss = layer(x).square().mean()
            loss.backward()
            return loss

        return which.step(closure)

    captured = wrap(step)
    found = [captured(data(number, 2, 3) / 9, optimizer) for number in range(5)]
    found += [captured(data(number, 2, 3) / 9, lbfgs) for number in range(4)]
    return [*[each.item() for each in found], *layer.parameters()]


@trick
def a_plateau_is_watched(wrap: Any) -> list[Any]:
    layer = nn.Linear(3, 1)
    optimizer = taper.optim.SGD(layer.parameters(), lr=0.1)
    scheduler = taper.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = layer(x).square().mean()
        loss.backward()
        optimizer.step()
        scheduler.step(loss.detach())
        return loss.detach()

    captured = wrap(step)
    found = [captured(data(number, 2, 3)) for number in range(7)]
    return [*found, optimizer.param_groups[0]["lr"], *layer.parameters()]


@trick
def a_norm_is_given_to_clip(wrap: Any) -> list[Any]:
    layer = nn.Linear(3, 1)

    def step(x: Any) -> Any:
        layer.zero_grad()
        layer(x).square().mean().backward()
        grads = [each.grad for each in layer.parameters()]
        total = nn.utils.get_total_norm(grads)
        nn.utils.clip_grads_with_norm_(layer.parameters(), 1.0, total)
        return total

    captured = wrap(step)
    found = [captured(data(number, 2, 3)) for number in range(6)]
    return [*found, *[each.grad for each in layer.parameters()]]


@trick
def a_loss_is_scaled(wrap: Any) -> list[Any]:
    layer = nn.Linear(3, 1)
    optimizer = taper.optim.SGD(layer.parameters(), lr=0.1)
    scaler = taper.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = layer(x).square().mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    captured = wrap(step)
    found = []
    for number in range(9):
        x = data(number, 2, 3) / 9
        found.append(captured(x * float("inf") if number == 6 else x))
    return [*map(repr, found), *layer.parameters(), scaler.get_scale()]


# --- copies, threads, processes ----------------------------------------------------------------


@trick
def a_compiled_module_is_copied(wrap: Any) -> list[Any]:
    taper.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    called: Any = net
    if wrap(helper) is not helper:
        called = taper.compile(net)
    found = [called(data(number, 2, 3)).tolist() for number in range(4)]
    other = copy.deepcopy(called)
    with taper.no_grad():
        for each in net.parameters():
            each.mul_(2)
    found += [other(data(number, 2, 3)).tolist() for number in range(4)]
    found += [called(data(number, 2, 3)).tolist() for number in range(4)]
    again = pickle.loads(pickle.dumps(net))
    found += [again(data(number, 2, 3)).tolist() for number in range(4)]
    return [np.round(each, 5).tolist() for each in found]


@trick
def processes_are_forked(wrap: Any) -> list[Any]:
    step = wrap(lambda x: (x * x).sum())
    for number in range(4):
        step(data(number))
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if not child:
        try:
            os.write(writer, str(step(data(9)).item()).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    answer = float(os.read(reader, 100))
    os.close(reader)
    os.close(writer)
    return [answer, step(data(9))]


@trick
def threads_train_at_once(wrap: Any) -> list[Any]:
    layers = [nn.Linear(3, 1) for _ in range(4)]

    def step(layer: Any, x: Any) -> Any:
        layer.zero_grad()
        loss = layer(x).square().mean()
        loss.backward()
        with taper.no_grad():
            for each in layer.parameters():
                each.sub_(0.01 * each.grad)
        return loss.detach()

    captured = wrap(step)
    losses: list[Any] = [[] for _ in layers]

    def work(nr: int) -> None:
        for number in range(12):
            losses[nr].append(captured(layers[nr], data(number, 2, 3) / 9))

    threads = [threading.Thread(target=work, args=(nr,)) for nr in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return [losses, [list(each.parameters()) for each in layers]]


def outcome(name: str, wrap: Callable[[Any], Any]) -> Any:
    taper.manual_seed(0)
    return shown(TRICKS[name](wrap))


@pytest.mark.parametrize("name", TRICKS)
@pytest.mark.filterwarnings("ignore:8 kinds of calls")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_trick_ends_as_in_eager_mode(name: str) -> None:
    expected = outcome(name, lambda function: function)
    found = outcome(name, lambda function: taper.capture(function, exact=True))
    assert found == expected


def flat(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [each for part in value for each in flat(part)]
    if isinstance(value, dict):
        return flat(list(value.items()))
    return [value]


@pytest.mark.parametrize("name", TRICKS)
@pytest.mark.filterwarnings("ignore:8 kinds of calls")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_trick_ends_as_in_eager_mode_but_for_rounding(name: str) -> None:
    expected = flat(outcome(name, lambda function: function))
    found = flat(outcome(name, lambda function: taper.capture(function)))
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        if isinstance(other, float):
            assert one == pytest.approx(other, rel=1e-4, abs=1e-6, nan_ok=True)
        else:
            assert one == other


@pytest.mark.parametrize(
    "name",
    ["a_custom_function_reads_its_class", "a_hook_reads_a_closure", "a_hook_is_registered_inside",
     "an_optimizer_steps_in_hooks", "gradients_are_asked_for", "backward_is_for_some_inputs",
     "a_loss_is_scaled", "a_gradient_is_returned", "a_closure_is_given_to_step",
     "autocast_comes_and_goes", "generators_are_given", "arguments_overlap"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:8 kinds of calls")
def test_what_can_be_replayed_is(name: str) -> None:
    made: list[Any] = []

    def wrap(function: Any) -> Any:
        made.append(taper.capture(function, exact=True))
        return made[-1]

    outcome(name, wrap)
    assert "replayed" in made[0].explain(), made[0].explain()


def prints(x: Any) -> Any:
    print("loss")  # here
    return x


def branches(x: Any) -> Any:
    return x if float(x.sum()) > 3 else -x  # here


def reads(x: Any) -> Any:
    return x * x.max().item()  # here


def goes_to_numpy(x: Any) -> Any:
    return taper.tensor(x.numpy().copy())  # here


def seeds(x: Any) -> Any:
    taper.manual_seed(3)  # here
    return x


class Printing(taper.autograd.Function):
    """A custom Function with an effect of its own."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        print("forward")  # here
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2


def custom(x: Any) -> Any:
    return Printing.apply(x)


def hooked(x: Any) -> Any:
    y = x.requires_grad_() * 2  # here
    y.register_hook(print)
    return y


@pytest.mark.parametrize(
    "function", [prints, branches, reads, goes_to_numpy, seeds, custom, hooked]
)
def test_strict_names_the_line(function: Any) -> None:
    captured = taper.capture(function, strict=True)
    captured(taper.ones(2))
    with pytest.raises(taper.CaptureError, match="# here"):
        captured(taper.ones(2))
