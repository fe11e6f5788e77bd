"""H: hooks on tensors, leaves and nodes, retained gradients, and their order."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from autograd_probe import error, values


def test_h1_a_hook_sees_and_may_replace_the_gradient(torch):
    x = torch.ones(2, requires_grad=True)
    seen = []
    y = x * 2
    y.register_hook(lambda grad: seen.append(values(grad)))
    y.register_hook(lambda grad: grad * 10)
    y.register_hook(lambda grad: seen.append(values(grad)))
    y.sum().backward()
    assert seen == [[1.0, 1.0], [10.0, 10.0]]
    assert values(x.grad) == [20.0, 20.0]


def test_h1_a_hook_may_be_any_callable(torch):
    class Triple:
        def __call__(self, grad):
            return grad * 3

    x = torch.ones(2, requires_grad=True)
    x.register_hook(Triple())
    x.sum().backward()
    assert values(x.grad) == [3.0, 3.0]


def test_h1_a_hook_needs_a_tensor_that_requires_grad(torch):
    assert error(lambda: torch.ones(2).register_hook(print)) == (
        "RuntimeError: cannot register a hook on a tensor that doesn't require gradient"
    )


def test_h1_a_replacement_must_fit(torch):
    x = torch.ones(2, requires_grad=True)

    def run(result):
        def replace(grad):
            return result

        y = x * 2
        y.register_hook(replace)
        return error(lambda: y.sum().backward())

    assert run(5) == "TypeError: expected Variable, but hook returned 'int'"
    assert run(torch.ones(3)) == "RuntimeError: hook 'replace' has changed the size of value"
    assert run(torch.ones(2, dtype=torch.float64)) == (
        "RuntimeError: hook 'replace' has changed the type of value (was torch.FloatTensor got "
        "torch.DoubleTensor)"
    )
    assert run(torch.ones(2, dtype=torch.complex64)) == (
        "RuntimeError: hook 'replace' has changed the type of value (was torch.FloatTensor got "
        "CPUComplexFloatType)"
    )
    assert x.grad is None


def test_h2_a_handle_removes_its_hook(torch):
    x = torch.ones(2, requires_grad=True)
    seen = []
    handle = x.register_hook(seen.append)
    other = x.register_hook(lambda grad: None)
    assert other.id > handle.id
    handle.remove()
    handle.remove()
    x.sum().backward()
    assert seen == []
    with x.register_hook(seen.append):
        x.sum().backward()
    x.sum().backward()
    assert len(seen) == 1


def test_h2_removing_during_a_pass_takes_effect_in_the_next(torch):
    x = torch.ones(2, requires_grad=True)
    seen = []
    handles = []

    def first(grad):
        seen.append("first")
        handles[0].remove()

    x.register_hook(first)
    handles.append(x.register_hook(lambda grad: seen.append("second")))
    x.sum().backward()
    assert seen == ["first", "second"]
    x.sum().backward()
    assert seen == ["first", "second", "first"]


def test_h2_registering_during_a_pass_takes_effect_in_the_next(torch):
    x = torch.ones(2, requires_grad=True)
    seen = []

    def first(grad):
        seen.append("first")
        if len(seen) == 1:
            x.register_hook(lambda grad: seen.append("second"))

    x.register_hook(first)
    x.sum().backward()
    assert seen == ["first"]
    x.sum().backward()
    assert seen == ["first", "first", "second"]


def test_h3_a_hook_fires_with_none_when_its_gradient_is_undefined(torch):
    x = torch.ones(2, 3, requires_grad=True)
    first, second = x.unbind()
    seen = []
    first.register_hook(seen.append)
    second.sum().backward()
    assert seen == [None]


def test_h4_retain_grad_fills_the_gradient_of_a_result(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    y.register_hook(lambda grad: grad * 3)
    y.sum().backward(retain_graph=True)
    assert values(y.grad) == [3.0, 3.0]
    first = y.grad
    y.sum().backward()
    assert values(y.grad) == [6.0, 6.0]
    assert values(first) == [3.0, 3.0]


def test_h4_retain_grad_on_leaves_and_plain_tensors(torch):
    x = torch.ones(2, requires_grad=True)
    x.retain_grad()
    assert not x.retains_grad
    assert error(torch.ones(2).retain_grad) == (
        "RuntimeError: can't retain_grad on Tensor that has requires_grad=False"
    )


@pytest.mark.filterwarnings("ignore:Using backward")
def test_h4_a_retained_gradient_is_differentiable_under_create_graph(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    y.retain_grad()
    (y * y).backward(create_graph=True)
    assert y.grad.grad_fn.name() == "CloneBackward0"
    assert values(torch.autograd.grad(y.grad, x)[0]) == 6.0


def test_h5_post_accumulate_hooks_run_after_the_gradient_is_there(torch):
    x = torch.ones(2, requires_grad=True)
    seen = []

    def step(leaf):
        seen.append(values(leaf.grad))
        with torch.no_grad():
            leaf -= leaf.grad
        leaf.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * 3).sum().backward()
    assert seen == [[3.0, 3.0]]
    assert values(x) == [-2.0, -2.0]
    assert x.grad is None
    handle.remove()
    (x * 3).sum().backward()
    assert len(seen) == 1


def test_h5_post_accumulate_hooks_are_for_leaves_and_return_nothing(torch):
    x = torch.ones(2, requires_grad=True)
    assert error(lambda: (x * 2).register_post_accumulate_grad_hook(print)) == (
        "RuntimeError: post accumulate grad hooks cannot be registered on non-leaf tensors"
    )
    assert error(lambda: torch.ones(2).register_post_accumulate_grad_hook(print)) == (
        "RuntimeError: cannot register a hook on a tensor that doesn't require gradient"
    )
    with x.register_post_accumulate_grad_hook(lambda leaf: torch.ones(2)):
        assert error(lambda: x.sum().backward()) == (
            "RuntimeError: Tensor post accumulate grad hooks should return None."
        )
    with x.register_post_accumulate_grad_hook(lambda leaf: 5):
        assert error(lambda: x.sum().backward()) == (
            "TypeError: expected Variable, but hook returned 'int'"
        )
    with x.register_post_accumulate_grad_hook(lambda leaf: leaf):
        x.sum().backward()
    assert values(x.grad) == [3.0, 3.0]


def test_h5_a_post_accumulate_hook_fires_under_create_graph(torch):
    x = torch.tensor([2.0], requires_grad=True)
    seen = []
    x.register_post_accumulate_grad_hook(
        lambda leaf: seen.append((leaf.grad.item(), leaf.grad.requires_grad))
    )
    for _ in range(2):
        (x * x).sum().backward(create_graph=True)
    assert seen == [(4.0, True), (8.0, True)]


def test_h5_a_post_accumulate_hook_fires_for_an_undefined_gradient(torch):
    class Stop(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return None

    x = torch.ones(2, requires_grad=True)
    seen = []
    x.register_hook(seen.append)
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad))
    Stop.apply(x).sum().backward()
    assert seen == [None, None]


def test_h6_node_hooks_see_and_replace_gradients(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    seen = []

    def before(grad_outputs):
        seen.append([values(each) for each in grad_outputs])
        return (grad_outputs[0] * 10,)

    def after(grad_inputs, grad_outputs):
        seen.append([values(each) for each in (*grad_inputs, *grad_outputs)])
        return grad_inputs[0] + 1, None

    y.grad_fn.register_prehook(before)
    y.grad_fn.register_hook(after)
    y.sum().backward()
    assert seen == [[[1.0, 1.0]], [[20.0, 20.0], None, [10.0, 10.0]]]
    assert values(x.grad) == [21.0, 21.0]


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (5, "TypeError: expected tuple, but hook returned 'int'"),
        ([1], "TypeError: expected tuple, but hook returned 'list'"),
        (
            (1, 2),
            "RuntimeError: hook 'before' has returned an incorrect number of values (got 2, but "
            "expected 1)",
        ),
        ((1,), "TypeError: expected Variable, but hook returned 'int'"),
    ],
)
def test_h6_a_prehook_must_return_a_fitting_tuple(torch, result, text):
    def before(grad_outputs):
        return result

    y = torch.ones(2, requires_grad=True) * 2
    y.grad_fn.register_prehook(before)
    assert error(lambda: y.sum().backward()) == text


def test_h6_a_hook_cannot_replace_a_missing_gradient(torch):
    y = torch.ones(2, requires_grad=True) * 2
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: (None, torch.ones(2)))
    assert error(lambda: y.sum().backward()) == (
        "RuntimeError: can't replace a None gradient with a non-None value"
    )


def test_h6_a_post_hook_sees_gradients_that_fit_the_inputs(torch):
    x = torch.ones(3, requires_grad=True)
    y = torch.ones(2, 3) * x
    shapes = []
    y.grad_fn.register_hook(lambda grad_inputs, _: shapes.append(list(grad_inputs[1].shape)))
    y.sum().backward()
    assert shapes == [[3]]


def test_h7_the_order_at_one_node(torch):
    seen = []
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    node = y.grad_fn
    leaf_node = node.next_functions[0][0]
    node.register_hook(lambda inputs, outputs: seen.append("post"))
    node.register_prehook(lambda outputs: seen.append("pre"))
    y.retain_grad()
    y.register_hook(lambda grad: seen.append("tensor"))
    leaf_node.register_hook(lambda inputs, outputs: seen.append(("leaf post", inputs)))
    leaf_node.register_prehook(lambda outputs: seen.append("leaf pre"))
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append("accumulated"))
    x.register_hook(lambda grad: seen.append("leaf tensor"))
    y.sum().backward()
    assert seen == [
        "tensor",
        "pre",
        "post",
        "leaf tensor",
        "leaf pre",
        "accumulated",
        ("leaf post", ()),
    ]


def test_h8_grad_runs_tensor_hooks_but_not_node_hooks_of_captured_tensors(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    seen = []
    y.register_hook(lambda grad: seen.append("tensor"))
    y.grad_fn.register_prehook(lambda grads: seen.append("pre"))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append("post"))
    z = (y * 3).sum()
    torch.autograd.grad(z, y, retain_graph=True)
    assert seen == ["tensor"]
    torch.autograd.grad(z, [y, x], retain_graph=True)
    assert seen == ["tensor", "tensor", "pre", "post"]
    z.backward(inputs=[x])
    assert seen[4:] == ["tensor", "pre", "post"]


def test_h8_a_captured_gradient_does_not_show_node_pre_hooks(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 100,))
    found = torch.autograd.grad((y * 3).sum(), [y, x])
    assert [values(each) for each in found] == [[3.0, 3.0], [600.0, 600.0]]


def test_h8_tensors_off_the_needed_paths_fire_nothing(torch):
    x = torch.ones(2, requires_grad=True)
    w = torch.ones(2, requires_grad=True)
    seen = []
    w.register_hook(seen.append)
    torch.autograd.grad((x * w).sum(), x)
    assert seen == []


def test_h9_hooks_stay_at_the_old_node_and_retain_grad_moves(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    seen = []
    y.register_hook(lambda grad: seen.append(("old", values(grad))))
    y.retain_grad()
    y.mul_(3)
    y.register_hook(lambda grad: seen.append(("new", values(grad))))
    (y * 5).sum().backward()
    assert seen == [("new", [5.0, 5.0]), ("old", [15.0, 15.0])]
    assert values(y.grad) == [5.0, 5.0]
    assert y.retains_grad


def test_h9_writing_a_view_moves_the_retained_gradient_of_its_base(torch):
    x = torch.ones(2, 2, requires_grad=True)
    base = x * 2
    seen = []
    base.register_hook(lambda grad: seen.append(values(grad)))
    base.retain_grad()
    view = base.select(0, 0)
    view.register_hook(lambda grad: seen.append("never"))
    view.retain_grad()
    view.mul_(3)
    (base * 5).sum().backward()
    assert seen == [[[15.0, 15.0], [5.0, 5.0]]]
    assert values(base.grad) == [[5.0, 5.0], [5.0, 5.0]]


def test_h9_a_view_keeps_retaining_after_a_write(torch):
    x = torch.ones(2, 2, requires_grad=True)
    for write in (lambda base, view: base.mul_(3), lambda base, view: view.mul_(3)):
        base = x * 2
        view = base.select(0, 0)
        seen = []
        view.retain_grad()
        view.register_hook(seen.append)
        write(base, view)
        (view * 2).sum().backward()
        assert seen == []
        assert values(view.grad) == [2.0, 2.0]


def test_h10_a_post_hook_registered_while_the_node_runs_fires(torch):
    x = torch.ones(2, requires_grad=True)
    seen = []

    def unpack(tensor):
        y.grad_fn.register_hook(lambda inputs, outputs: seen.append((len(inputs), outputs)))
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.detach(), unpack):
        y = x.exp()
    y.sum().backward()
    assert seen == [(1, ())]


def test_h11_a_multi_grad_hook_waits_for_all_that_will_come(torch):
    register = torch.autograd.graph.register_multi_grad_hook
    x, y, z = (torch.ones(2, requires_grad=True) for _ in range(3))
    seen = []
    handle = register((x, y, z), lambda grads: seen.append([values(each) for each in grads]))
    (x * 2 + y * 3).sum().backward()
    assert seen == [[[2.0, 2.0], [3.0, 3.0], None]]
    (x * 2 + y * 3).sum().backward(inputs=[x])
    assert seen[1] == [[2.0, 2.0], None, None]
    (torch.ones(2, requires_grad=True) * 2).sum().backward()
    assert len(seen) == 2
    handle.remove()
    x.sum().backward()
    assert len(seen) == 2


def test_h11_a_multi_grad_hook_may_take_the_first(torch):
    register = torch.autograd.graph.register_multi_grad_hook
    x, y = (torch.ones(2, requires_grad=True) for _ in range(2))
    seen = []
    handle = register((x, y), lambda grad: seen.append(values(grad)), mode="any")
    for _ in range(2):
        (x * 2 + y * 3).sum().backward()
    assert seen == [[3.0, 3.0], [3.0, 3.0]]
    handle.remove()
    x.sum().backward()
    assert len(seen) == 2


def test_h11_a_multi_grad_hook_checks_its_arguments(torch):
    register = torch.autograd.graph.register_multi_grad_hook
    x = torch.ones(2, requires_grad=True)
    assert error(lambda: register((x,), print, mode="some")) == (
        "ValueError: Expects mode to be one of ('all', 'any') but got some"
    )
    assert error(lambda: register((x, torch.ones(2)), print)) == (
        "AssertionError: Expected gradient function to be set"
    )


def test_h11_a_failed_pass_does_not_disturb_the_next(torch):
    register = torch.autograd.graph.register_multi_grad_hook
    x, y = (torch.ones(2, requires_grad=True) for _ in range(2))
    seen = []
    register((x, y), lambda grads: seen.append(len(grads)))
    failing = x * 2
    failing.register_hook(lambda grad: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        (failing + y).sum().backward()
    assert seen == []
    (x + y).sum().backward()
    assert seen == [2]


def test_h13_backward_hooks_are_a_dict_that_may_be_set(torch):
    x = torch.ones(2, requires_grad=True)
    assert x._backward_hooks is None
    seen = []
    handle = x.register_hook(seen.append)
    assert list(x._backward_hooks) == [handle.id]
    assert error(lambda: delattr(x, "_backward_hooks")) == (
        "RuntimeError: Deletion of _backwards_hooks not allowed!"
    )
    x._backward_hooks = None
    x.sum().backward()
    assert seen == []


def test_h14_hooks_die_with_the_graph(torch):
    import weakref

    class Hook:
        def __call__(self, grad):
            return None

    hook = Hook()
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(hook)
    alive = weakref.ref(hook)
    del hook
    assert alive() is not None
    del y
    assert alive() is None


def test_h11_passes_on_several_threads_do_not_disturb_each_other(torch):
    register = torch.autograd.graph.register_multi_grad_hook
    x = torch.ones(2, requires_grad=True)
    started, finish = threading.Event(), threading.Event()
    seen = []
    slow = x * 2
    register((x,), lambda grad: seen.append(values(grad)), mode="any")

    def wait(grad):
        started.set()
        finish.wait(10)

    slow.register_hook(wait)
    thread = threading.Thread(target=lambda: slow.sum().backward())
    thread.start()
    started.wait(10)
    (x * 5).sum().backward()
    finish.set()
    thread.join()
    assert seen == [[5.0, 5.0], [2.0, 2.0]]


def test_h12_full_backward_hooks_of_a_module_fire_once_and_leave_no_cycle(torch):
    module = torch.nn.Linear(2, 1)
    calls = []
    module.register_full_backward_pre_hook(lambda module, grads: calls.append("before"))
    module.register_full_backward_hook(
        lambda module, inputs, outputs: calls.append((inputs[0].shape, outputs[0].shape))
    )
    x = torch.ones(3, 2, requires_grad=True)
    y = module(x)
    assert type(y.grad_fn).__name__ == "BackwardHookFunctionBackward"
    (grad,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert calls == ["before", (x.shape, y.shape)]
    (grad * x).sum().backward()
    assert len(calls) == 2
    gone = weakref.ref(y)
    gc.collect()
    gc.disable()
    try:
        del y, grad
        assert gone() is None
    finally:
        gc.enable()


def test_found_w5_what_is_asked_for_on_the_way_is_the_gradient_before_its_hooks(torch):
    leaf = torch.ones(2, requires_grad=True)
    first = leaf * 1
    first.register_hook(lambda grad: grad * 2)
    second = first * 3
    second.register_hook(lambda grad: grad * 5)
    found = torch.autograd.grad(second.sum(), [leaf, first, second], retain_graph=True)
    assert list(map(values, found)) == [[30.0, 30.0], [15.0, 15.0], [1.0, 1.0]]
    found = torch.autograd.grad(second.sum(), [first], retain_graph=True)
    assert values(found[0]) == [30.0, 30.0]  # the pass ends there
    first.retain_grad()
    found = torch.autograd.grad(second.sum(), [leaf, first])
    assert values(found[1]) == [15.0, 15.0] and values(first.grad) == [30.0, 30.0]


def test_found_d1_hooks_of_nodes_see_differentiable_outputs_only(torch):
    x = torch.tensor([3.0, 1.0], requires_grad=True)
    for result in (x.sort(), x.max(0), x.cummax(0), x.topk(1)):
        seen = []
        result[0].grad_fn.register_prehook(lambda grads, seen=seen: seen.append(len(grads)))
        result[0].grad_fn.register_prehook(lambda grads: (grads[0] * 2,))
        result[0].grad_fn.register_hook(
            lambda inputs, outputs, seen=seen: seen.append((len(inputs), len(outputs)))
        )
        result[0].sum().backward()
        assert seen == [1, (1, 1)]
    assert values(x.grad) == [10.0, 2.0]


def test_found_d2_hooks_of_a_list_see_the_gradients_of_all_its_tensors(torch):
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    for result in (torch.cat([x, y]), torch.stack([y, x]), torch.block_diag(y, x)):
        seen = []
        result.grad_fn.register_hook(
            lambda inputs, outputs, seen=seen: seen.append([each is None for each in inputs])
        )
        result.sum().backward()
        assert seen == [[False, False]]
