"""Interceptors see each operator call of their thread, in order, and may answer it themselves."""

from __future__ import annotations

import threading

import pytest

import taper
from taper.autograd.interception import intercepting, pop, push


def test_calls_are_seen_with_their_names_and_kinds():
    seen = []

    def watch(call, run):
        seen.append((call.name, call.kind))
        return run()

    x = taper.ones(2, requires_grad=True)
    with intercepting(watch):
        y = (x * 2).exp()
        z = y.detach()
        z.add_(1)
        taper.mul(z, z, out=taper.empty(2))
    assert [name for name in seen if name[0] in ("mul", "exp", "add_")] == [
        ("mul", "plain"),
        ("exp", "plain"),
        ("add_", "inplace"),
        ("mul", "out"),
    ]
    assert y.grad_fn.name() == "ExpBackward0"
    assert z.tolist() == pytest.approx([8.389056, 8.389056])


def test_an_interceptor_is_off_while_it_runs_and_those_below_are_on():
    order = []

    def below(call, run):
        order.append(("below", call.name))
        return run()

    def above(call, run):
        order.append(("above", call.name))
        taper.ones(1).neg()
        return run()

    with intercepting(below), intercepting(above):
        taper.zeros(2).sin()
    sines = [each for each in order if each[1] in ("sin", "neg")]
    assert sines == [("above", "sin"), ("below", "neg"), ("below", "sin")]


def test_an_answer_replaces_the_call():
    with intercepting(lambda call, run: "mine" if call.name == "cos" else run()):
        assert taper.ones(2).cos() == "mine"
    assert taper.zeros(1).cos().item() == 1.0


def test_an_error_leaves_the_stack_as_it_was():
    def refuse(call, run):
        raise KeyError(call.name)

    with intercepting(refuse):
        with pytest.raises(KeyError, match="sin"):
            taper.ones(2).sin()
        with pytest.raises(KeyError, match="cos"):
            taper.ones(2).cos()
    assert taper.zeros(1).cos().item() == 1.0


def test_other_threads_are_not_seen():
    seen = []

    def watch(call, run):
        seen.append(call.name)
        return run()

    push(watch)
    try:
        thread = threading.Thread(target=lambda: taper.ones(2).tan())
        thread.start()
        thread.join()
    finally:
        pop(watch)
    assert "tan" not in seen


def test_a_recorded_backward_is_seen():
    seen = []

    def watch(call, run):
        seen.append(call.name)
        return run()

    x = taper.ones(2, requires_grad=True)
    y = x.sin().sum()
    with intercepting(watch):
        taper.autograd.grad(y, x, create_graph=True)
    assert "cos" in seen
