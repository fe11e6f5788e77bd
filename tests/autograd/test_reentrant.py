"""R: passes inside passes, threads, callbacks."""

from __future__ import annotations

import threading

import pytest

from autograd_probe import error, function, values


def nested(torch, depth):
    """Return a function whose backward differentiates itself `depth` times more."""

    class Nested(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, level):
            ctx.level = level
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            if ctx.level < depth:
                with torch.enable_grad():
                    inner = x.detach().requires_grad_()
                    Nested.apply(inner, ctx.level + 1).sum().backward()
            return grad * 2, None

    return Nested


def test_r1_the_inner_pass_finishes_first_and_modes_are_restored(torch):
    seen = []
    w = torch.tensor(3.0, requires_grad=True)

    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            with torch.enable_grad():
                inner = w * w
                inner.register_hook(lambda grad: seen.append("inner"))
                inner.backward()
            seen.append(torch.is_grad_enabled())
            return grad * 2

    x = torch.tensor(1.0, requires_grad=True)
    x.register_hook(lambda grad: seen.append("outer"))
    Inner.apply(x).backward()
    assert seen == ["inner", False, "outer"]
    assert (values(w.grad), values(x.grad)) == (6.0, 2.0)


def test_r1_a_pass_may_run_in_a_hook(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    found = []

    def hook(grad):
        with torch.enable_grad():
            z = x * x * x
        found.append(values(torch.autograd.grad(z, x)[0]))

    y.register_hook(hook)
    y.backward()
    assert found == [12.0]
    assert values(x.grad) == 4.0


@pytest.mark.parametrize("depth", [10, 500])
def test_r2_deep_nesting_works_again_and_again(torch, depth):
    for _ in range(2):
        x = torch.ones(1, requires_grad=True)
        nested(torch, depth).apply(x, 0).sum().backward()
        assert values(x.grad) == [2.0]


def test_r2_two_thousand_levels(torch):
    x = torch.ones(1, requires_grad=True)
    nested(torch, 2000).apply(x, 0).sum().backward()
    assert values(x.grad) == [2.0]


def test_r3_an_exception_in_the_inner_pass_reaches_the_outer_caller(torch):
    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            if ctx.depth == 0:
                raise KeyError("deep inside")
            with torch.enable_grad():
                x = torch.ones(1, requires_grad=True)
                Broken.apply(x, ctx.depth - 1).sum().backward()
            return grad, None

    x = torch.ones(1, requires_grad=True)
    for depth in (1, 50):
        assert error(lambda depth=depth: Broken.apply(x, depth).sum().backward()) == (
            "KeyError: 'deep inside'"
        )
    (x * 2).sum().backward()
    assert values(x.grad) == [2.0]


def test_r4_callbacks_run_at_the_end_of_the_pass(torch):
    engine = torch.autograd.Variable._execution_engine
    seen = []
    x = torch.ones(2, requires_grad=True)

    def last():
        seen.append("last")

    def callback():
        seen.append("callback")
        engine.queue_callback(last)

    def hook(grad):
        seen.append("hook")
        engine.queue_callback(callback)

    y = x * 2
    y.register_hook(hook)
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append("accumulated"))
    y.sum().backward()
    assert seen == ["hook", "accumulated", "callback", "last"]
    assert error(lambda: engine.queue_callback(last)) == (
        "RuntimeError: Final callbacks can only be installed during backward pass."
    )


def test_r4_callbacks_of_a_nested_pass_belong_to_it(torch):
    engine = torch.autograd.Variable._execution_engine
    seen = []
    x = torch.ones(2, requires_grad=True)
    w = torch.ones(2, requires_grad=True)

    def inner(grad):
        engine.queue_callback(lambda: seen.append("inner done"))

    def outer(grad):
        engine.queue_callback(lambda: seen.append("outer done"))
        with torch.enable_grad():
            y = w * 2
            y.register_hook(inner)
            y.sum().backward()
        seen.append("hook done")

    z = x * 2
    z.register_hook(outer)
    z.sum().backward()
    assert seen == ["inner done", "hook done", "outer done"]


def test_r5_a_leaf_hook_may_run_a_pass_that_writes_the_same_leaf(torch):
    x = torch.ones(2, requires_grad=True)
    entered = []

    def hook(grad):
        if not entered:
            entered.append(1)
            with torch.enable_grad():
                y = (x * 5).sum()
            y.backward()

    x.register_hook(hook)
    (x * 2).sum().backward()
    assert values(x.grad) == [7.0, 7.0]


def in_threads(count, work):
    failures = []

    def run(index):
        try:
            work(index)
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


def test_r6_passes_on_many_threads_that_share_a_leaf_add_up(torch):
    x = torch.ones(100, requires_grad=True)

    def work(index):
        for _ in range(20):
            (x * 2).sum().backward()

    assert in_threads(8, work) == []
    assert values(x.grad) == [320.0] * 100


def test_r6_grad_on_shared_inputs_does_not_interfere(torch):
    x = torch.ones(10, requires_grad=True)
    found = {}

    def work(index):
        for _ in range(20):
            found[index] = values(torch.autograd.grad((x * index).sum(), x)[0])

    assert in_threads(4, work) == []
    assert found == {index: [float(index)] * 10 for index in range(4)}
    assert x.grad is None


def test_r7_threads_that_share_a_retained_graph_all_succeed(torch):
    x = torch.ones(10, requires_grad=True)
    shared = (x * x).exp()

    def work(index):
        shared.sum().backward(retain_graph=True)

    assert in_threads(6, work) == []
    assert values(x.grad)[0] == pytest.approx(6 * 2 * 2.718282, rel=1e-5)


def test_r7_of_threads_that_share_a_graph_one_succeeds_and_the_others_are_told(torch):
    x = torch.ones(10, requires_grad=True)
    shared = x * x
    for _ in range(50):
        shared = shared * x
    failures = in_threads(6, lambda index: shared.sum().backward())
    assert len(failures) <= 5
    for failure in failures:
        assert isinstance(failure, RuntimeError)
        assert str(failure).startswith("Trying to backward through the graph a second time")


def test_r8_backward_runs_on_the_calling_thread(torch):
    seen = []
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: seen.append(threading.current_thread()))
    y.sum().backward()
    assert seen == [threading.current_thread()]


def test_r8_modes_are_per_thread_and_anomaly_mode_is_not(torch):
    seen = []

    def look():
        seen.append(
            (
                torch.is_grad_enabled(),
                torch.is_inference_mode_enabled(),
                torch.autograd.is_multithreading_enabled(),
                torch.is_anomaly_enabled(),
            )
        )

    with (
        torch.inference_mode(),
        torch.autograd.set_multithreading_enabled(False),
        torch.autograd.set_detect_anomaly(True),
    ):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        look()
    look()
    assert seen == [
        (True, False, True, True),
        (False, True, False, True),
        (True, False, True, False),
    ]


def test_r8_saved_tensor_hooks_are_per_thread(torch):
    packed = []
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: packed.append(1), lambda t: t):
        thread = threading.Thread(target=lambda: x * x)
        thread.start()
        thread.join()
        assert packed == []
        x * x
    assert packed == [1, 1]


def test_r9_multithreading_is_a_switch(torch):
    enabled = torch.autograd.is_multithreading_enabled
    assert enabled()
    with torch.autograd.set_multithreading_enabled(False):
        assert not enabled()
    assert enabled()
    torch.autograd.set_multithreading_enabled(False)
    assert not enabled()
    torch.autograd.set_multithreading_enabled(True)
    assert enabled()


def test_r9_the_switch_takes_a_bool(torch):
    assert error(lambda: torch.autograd.set_multithreading_enabled("no")) == (
        "TypeError: set_multithreading_enabled(): argument 'enabled' (position 1) must be bool, "
        "not str"
    )
    assert torch.autograd.is_multithreading_enabled()


def test_r11_data_parallel_without_devices_is_the_module(torch):
    nn = torch.nn
    threads = []

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(2))

        def forward(self, x, factor=1):
            threads.append(threading.get_ident())
            return x * self.weight * factor

    model = nn.DataParallel(Layer())
    model(torch.ones(3, 2), factor=2).sum().backward()
    assert threads == [threading.get_ident()]
    assert values(model.module.weight.grad) == [6.0, 6.0]
    assert list(model.state_dict()) == ["module.weight"]
    assert model.device_ids == []
    assert repr(model) == "DataParallel(\n  (module): Layer()\n)"
    assert error(lambda: nn.parallel.data_parallel(model.module, torch.ones(3, 2))) == (
        "RuntimeError: device type could not be determined"
    )


def test_r10_threads_read_the_same_gradient(torch):
    x = torch.ones(2, requires_grad=True)
    x.sum().backward()
    seen = []
    assert in_threads(4, lambda index: seen.append(x.grad)) == []
    assert all(each is x.grad for each in seen)


def test_found_r2_a_deep_inner_pass_returns_what_it_was_asked_for(torch):
    class Down(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, level):
            ctx.level = level
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            if ctx.level == 45:
                return grad * 2, None
            with torch.enable_grad():
                leaf = torch.ones(1, requires_grad=True)
                inner = Down.apply(leaf, ctx.level + 1)
            return torch.autograd.grad(inner, leaf, grad)[0], None

    x = torch.ones(1, requires_grad=True)
    Down.apply(x, 0).backward(torch.ones(1))
    assert values(x.grad) == [2.0]


def test_found_r4_no_node_runs_while_callbacks_do(torch):
    seen = []
    engine = torch.autograd.Variable._execution_engine

    def backward(ctx, grad):
        engine.queue_callback(lambda: seen.append(torch._C._current_autograd_node()))
        return grad

    x = torch.ones(1, requires_grad=True)
    function(torch, lambda ctx, x: x * 1, backward).apply(x).backward(torch.ones(1))
    assert seen == [None]
