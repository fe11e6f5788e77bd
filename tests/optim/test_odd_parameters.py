"""Steps on parameters that share memory with their gradient, or show their memory conjugated."""

from __future__ import annotations

import pytest

import taper

OVERLAP = "some elements of the input tensor and the written-to tensor refer to a single memory"


def overlapping(length=4):
    """Return a parameter whose gradient lies one element before it."""
    memory = taper.arange(1.0, length + 2)
    param = memory[1:].detach().requires_grad_()
    param.grad = memory[:-1]
    return param


@pytest.mark.parametrize("name", ["SGD", "NAdam", "Adagrad", "ASGD", "RMSprop"])
@pytest.mark.parametrize("length", [4, 70_000])
def test_found_c8_a_rule_that_writes_with_the_gradient_refuses_an_overlap(name, length):
    param = overlapping(length)
    with pytest.raises(RuntimeError, match=OVERLAP):
        getattr(taper.optim, name)([param], lr=0.1).step()
    assert param[:4].tolist() == [2.0, 3.0, 4.0, 5.0]


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("SGD", {"momentum": 0.9}, [1.9, 2.8, 3.7, 4.6]),
        ("SGD", {"weight_decay": 0.1}, [1.88, 2.77, 3.66, 4.55]),
        ("SGD", {"maximize": True}, [2.1, 3.2, 4.3, 5.4]),
        ("Adam", {}, [1.9, 2.9, 3.9, 4.9]),
        ("RAdam", {}, [1.9, 2.8, 3.7, 4.6]),
        ("Rprop", {}, [1.9, 2.9, 3.9, 4.9]),
    ],
)
def test_found_c8_other_rules_read_the_gradient_before_they_write(name, options, expected):
    param = overlapping()
    getattr(taper.optim, name)([param], lr=0.1, **options).step()
    assert param.tolist() == pytest.approx(expected, rel=1e-6)


def test_found_c8_a_large_parameter_reads_its_whole_gradient_first():
    param = overlapping(70_000)
    alone = param.detach().clone().requires_grad_()
    alone.grad = param.grad.clone()
    for each in (param, alone):
        taper.optim.SGD([each], lr=0.1, momentum=0.9).step()
    assert taper.equal(param, alone)


def test_found_c8_a_parameter_with_several_elements_in_one_place_is_refused():
    for name in ("SGD", "Adam", "Adafactor"):
        param = taper.zeros(1).expand(3).detach().requires_grad_()
        param.grad = taper.ones(3)
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            getattr(taper.optim, name)([param], lr=0.1).step()


def conjugate():
    memory = taper.tensor([[1 + 2j, 2j]])
    param = memory.conj().detach().requires_grad_()
    param.grad = taper.ones_like(param)
    return memory, param


@pytest.mark.parametrize(("name", "expected"), [("SGD", 0.999), ("Adadelta", 0.99683774)])
def test_found_c1_a_step_writes_what_a_conjugate_parameter_shows(name, expected):
    memory, param = conjugate()
    getattr(taper.optim, name)([param]).step()
    assert param[0, 0].item() == pytest.approx(expected - 2j)
    assert memory[0, 0].item() == pytest.approx(expected + 2j)
    assert param._version == 1


@pytest.mark.parametrize("name", ["Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "ASGD"])
def test_found_c1_rules_that_need_pairs_refuse_a_conjugate_parameter(name):
    _, param = conjugate()
    with pytest.raises(RuntimeError, match="view_as_real doesn't work on unresolved conjugated"):
        getattr(taper.optim, name)([param]).step()
    assert param.tolist() == [[1 - 2j, -2j]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SGD", -2.001),
        ("Adam", -2.001),
        ("Rprop", -2.01),
        ("Adafactor", -2.02),
        ("Muon", -2.0002844),
    ],
)
def test_found_c1_a_step_writes_what_a_negative_parameter_shows(name, expected):
    memory = taper.tensor([[1 + 2j, 2j]])
    param = memory.conj().imag.detach().requires_grad_()
    param.grad = taper.ones_like(param)
    getattr(taper.optim, name)([param]).step()
    assert param[0, 0].item() == pytest.approx(expected)
    assert memory[0, 0].item() == pytest.approx(1 - expected * 1j)
