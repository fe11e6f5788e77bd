"""Python's operators on tensors: nodes, foreign operands, in-place, and errors."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import taper

x = taper.tensor([1.0, 2.0])
i = taper.tensor([1, 2])
b = taper.tensor([True, False])


def leaf():
    return taper.tensor([1.0, 2.0], requires_grad=True)


@pytest.mark.parametrize(
    ("expression", "node"),
    [
        (lambda t: t + 1, "AddBackward0"),
        (lambda t: 1 + t, "AddBackward0"),
        (lambda t: t - 1, "SubBackward0"),
        (lambda t: 1 - t, "RsubBackward1"),
        (lambda t: t.__rsub__(t), "RsubBackward0"),
        (lambda t: 2 * t, "MulBackward0"),
        (lambda t: t / 2, "DivBackward0"),
        (lambda t: 1 / t, "MulBackward0"),
        (lambda t: t**2, "PowBackward0"),
        (lambda t: t**t, "PowBackward1"),
        (lambda t: 2**t, "PowBackward2"),
        (lambda t: t % 2, "RemainderBackward0"),
        (lambda t: t % t, "RemainderBackward1"),
        (lambda t: -t, "NegBackward0"),
        (abs, "AbsBackward0"),
        (lambda t: t // 2, "NotImplemented"),
        (lambda t: 2 % t, "NotImplemented"),
    ],
)
def test_nodes(expression, node):
    assert type(expression(leaf()).grad_fn).__name__ == node


def test_results():
    assert (7 // taper.tensor([2, -2])).tolist() == [3, -4]
    assert (7 % taper.tensor([2, -3])).tolist() == [1, -2]
    assert (i << 2).tolist() == [4, 8]
    assert (1 << i).tolist() == [2, 4]
    assert (i >> 1).tolist() == [0, 1]
    assert (i & 2 | 4 ^ i).tolist() == [5, 6]
    assert (~i).tolist() == [-2, -3]
    assert (~b).tolist() == [False, True]
    assert (b ^ True).tolist() == [False, True]
    assert +x is x
    assert (x == 1).tolist() == [True, False]
    assert (1 < x).tolist() == [False, True]


@pytest.mark.parametrize("number", [np.float64(2), np.float32(2), np.int64(2)])
def test_numpy_scalars_are_numbers(number):
    for found in (x * number, number * x, x + number - 1 + 1 - number + x):
        assert found.dtype == taper.float32
    assert (number - x).tolist() == [1.0, 0.0]
    assert (number**x).tolist() == [2.0, 4.0]
    assert (number < x).tolist() == [False, False]
    assert (number / x).tolist() == [2.0, 1.0]


def test_numpy_bool_is_a_floating_point_number():
    assert (i * np.bool_(True)).dtype == taper.float32


def test_numpy_arrays_take_part_from_the_right():
    assert (x == np.array([1.0, 3.0])).tolist() == [True, False]
    with pytest.raises(TypeError):
        np.array([1.0, 2.0]) * x


FOREIGN = [
    ("+", operator.add),
    ("-", operator.sub),
    ("/", operator.truediv),
    ("//", operator.floordiv),
    ("%", operator.mod),
    ("** or pow()", operator.pow),
    ("&", operator.and_),
    ("|", operator.or_),
    ("^", operator.xor),
    ("<<", operator.lshift),
    (">>", operator.rshift),
    ("+=", operator.iadd),
    ("-=", operator.isub),
    ("/=", operator.itruediv),
    ("//=", operator.ifloordiv),
    ("%=", operator.imod),
    ("**=", operator.ipow),
    ("&=", operator.iand),
    ("<<=", operator.ilshift),
]


@pytest.mark.parametrize(("sign", "function"), FOREIGN, ids=lambda value: str(value))
def test_foreign_operands_are_refused_in_pythons_words(sign, function):
    text = f"unsupported operand type(s) for {sign}: 'Tensor' and 'str'"
    with pytest.raises(TypeError) as caught:
        function(taper.tensor([1, 2]), "a")
    assert str(caught.value) == text
    assert (x == "a") is False
    assert (x != None) is True  # noqa: E711
    with pytest.raises(TypeError, match="'<' not supported between instances of 'Tensor' and"):
        operator.lt(x, "a")
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for divmod"):
        divmod(x, 2)


def test_in_place_operators_return_the_tensor_itself():
    target = taper.tensor([7.0, 9.0])
    alias = target
    target += 1
    target -= taper.tensor([2.0, 2.0])
    target *= 2
    target /= 4
    target //= 1
    target **= 2
    target %= 5
    assert alias is target
    assert target.tolist() == [4.0, 1.0]
    assert target._version == 7
    bits = taper.tensor([6, 5])
    other = bits
    bits &= 3
    bits |= 8
    bits ^= 1
    bits <<= 1
    bits >>= 2
    assert other is bits
    assert bits.tolist() == [5, 4]


def test_in_place_cannot_raise_the_category():
    for change in (operator.itruediv, operator.iadd):
        target = taper.tensor([1, 2])
        with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired"):
            change(target, 1.5)
        assert target.tolist() == [1, 2]
        assert target._version == 0


def test_invert_and_signs_refuse():
    with pytest.raises(TypeError, match="~ \\(operator.invert\\) is only implemented on integer"):
        ~x
    with pytest.raises(RuntimeError, match="Negation, the `-` operator, on a bool tensor"):
        -b
    with pytest.raises(RuntimeError, match="The `\\+` operator, on a bool tensor"):
        +b
    with pytest.raises(RuntimeError, match="with two bool tensors is not supported"):
        b - b
    with pytest.raises(RuntimeError, match="with a bool tensor is not supported"):
        x - True


def test_backward_through_floor_division_is_refused():
    with pytest.raises(RuntimeError, match="derivative for aten::floor_divide is not implemented"):
        (leaf() // 2).sum().backward()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda t: t.add_(1), [2.0, 3.0]),
        (lambda t: t.add_(taper.tensor([1.0, 1.0]), alpha=0.5), [1.5, 2.5]),
        (lambda t: t.mul_(3.0), [3.0, 6.0]),
        (lambda t: t.sqrt_().square_().round_(), [1.0, 2.0]),
        (lambda t: t.clamp_(max=1.5), [1.0, 1.5]),
        (lambda t: t.eq_(1), [1.0, 0.0]),
    ],
)
def test_writes_without_history_count_and_keep_the_memory(change, expected):
    target = leaf()
    pointer = target.data_ptr()
    with taper.no_grad():
        result = change(target)
    assert result is target and target.requires_grad
    assert target.tolist() == expected
    assert target.data_ptr() == pointer
    assert target._version >= 1


def test_a_failed_write_changes_nothing():
    target = taper.ones(2)
    with pytest.raises(RuntimeError, match="output with shape \\[2\\] doesn't match"):
        target.add_(taper.ones(3, 2))
    expanded = taper.ones(1).expand(3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        expanded.mul_(2)
    assert target.tolist() == [1.0, 1.0] and target._version == 0
