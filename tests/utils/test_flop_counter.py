"""`utils.flop_counter`: matrix products and convolutions, forward and backward, by module."""

from __future__ import annotations

import pytest

import taper
from taper import nn
from taper.nn import functional as F
from taper.utils.flop_counter import FlopCounterMode, flop_registry, register_flop_formula


def made(*shape):
    return taper.ones(*shape, requires_grad=True)


def counted(program):
    with FlopCounterMode(display=False) as counter:
        program()
    return {str(each): count for each, count in counter.get_flop_counts()["Global"].items()}


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (lambda: (made(3, 4) @ made(4, 5)).sum().backward(), {"aten.mm": 360}),
        (lambda: (made(3, 4) @ taper.ones(4, 5)).sum().backward(), {"aten.mm": 240}),
        (
            lambda: F.linear(made(2, 3, 4), made(5, 4), made(5)).sum().backward(),
            {"aten.addmm": 240, "aten.mm": 480},
        ),
        (lambda: taper.bmm(made(2, 3, 4), made(2, 4, 5)).sum().backward(), {"aten.bmm": 720}),
        (lambda: taper.baddbmm(made(2, 3, 5), made(2, 3, 4), made(2, 4, 5)), {"aten.baddbmm": 240}),
        (
            lambda: (
                F.conv2d(made(2, 4, 8, 8), made(6, 2, 3, 3), groups=2, stride=2).sum().backward()
            ),
            {"aten.convolution": 3888, "aten.convolution_backward": 11664},
        ),
        (
            lambda: (
                F.conv_transpose2d(made(2, 3, 8, 8), made(3, 6, 3, 3), stride=2).sum().backward()
            ),
            {"aten.convolution": 41472, "aten.convolution_backward": 82944},
        ),
        (
            lambda: F.conv2d(taper.ones(2, 3, 8, 8), made(6, 3, 3, 3)).sum().backward(),
            {"aten.convolution": 23328, "aten.convolution_backward": 23328},
        ),
    ],
)
def test_counts_are_those_of_pytorch(program, expected):
    assert counted(program) == expected


def test_a_recorded_backward_pass_is_counted_once():
    def program():
        x = made(2, 3)
        taper.autograd.grad((x @ taper.ones(3, 3)).pow(2).sum(), x, create_graph=True)

    assert counted(program) == {"aten.mm": 72}


def test_a_backward_pass_after_the_block_is_not_counted():
    with FlopCounterMode(display=False) as counter:
        loss = (made(3, 4) @ made(4, 5)).sum()
    loss.backward()
    assert counter.get_total_flops() == 120


def test_counts_belong_to_modules_and_are_printed(capsys):
    net = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 2)))
    with FlopCounterMode() as counter:
        net(taper.ones(2, 4)).sum().backward()
    counts = {name: sum(each.values()) for name, each in counter.get_flop_counts().items()}
    assert counts == {
        "Global": 224,
        "Sequential": 224,
        "Sequential.0": 128,
        "Sequential.1": 96,
        "Sequential.1.0": 96,
    }
    assert capsys.readouterr().out.split("\n")[:5] == [
        "Module             FLOP    % Total",
        "--------------  -------  ---------",
        "Sequential      224.000    100.00%",
        " - aten.addmm    96.000     42.86%",
        " - aten.mm      128.000     57.14%",
    ]
    assert "Sequential.1.0" in counter.get_table(3) and "Global" in counter.get_table(0)


def test_formulas_of_the_user():
    with FlopCounterMode(
        display=False, custom_mapping={taper.ops.aten.sin: lambda shape, **_: 10 * shape.numel()}
    ) as counter:
        taper.ones(3).sin()
    assert counter.get_total_flops() == 30
    with pytest.raises(RuntimeError, match="duplicate registrations for aten.mm"):
        register_flop_formula(taper.ops.aten.mm)(lambda *shapes, out_shape: 0)
    assert taper.ops.aten.sin not in flop_registry
