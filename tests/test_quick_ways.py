"""The quick ways of public functions: each gives what the function behind it gives, or declines."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import taper
from taper.arrays.native import native
from taper.autograd.state import local
from taper.opdef import composites, methods, quick_ways

pytestmark = pytest.mark.skipif(native is None, reason="the native module is not built")

SIZES = [(3,), (2, 3), ((2, 3),), ([2, 3],), (taper.Size([2, 3]),), (0,), ((),), (2, 0, 3), ()]
ODD_SIZES = [
    (-1,),
    (2.0,),
    (True, 2),
    ((2, True),),
    ("a",),
    (2**62, 2**62),
    (np.int64(3),),
    (None,),
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"dtype": taper.float64},
    {"dtype": taper.int64},
    {"dtype": taper.bool},
    {"dtype": taper.bfloat16},
    {"dtype": taper.complex64},
    {"dtype": float},
    {"requires_grad": True},
    {"dtype": taper.int32, "requires_grad": True},
    {"requires_grad": 1},
    {"layout": taper.strided, "device": "cpu", "pin_memory": False},
    {"device": "meta"},
    {"pin_memory": True},
]
DIMS: list[Any] = [0, 1, -1, 2, -3, 5, 0.5, True, None, np.int64(0)]


def tensors() -> list[taper.Tensor]:
    """Make tensors of many layouts, anew for each call: some are views, some have a history."""
    taper.manual_seed(0)
    plain = taper.randn(4, 6)
    leaf = taper.randn(4, 6, requires_grad=True)
    with taper.no_grad():
        cut = leaf * 2
    with taper.inference_mode():
        inferred = plain * 2
    return [
        plain,
        plain.t(),
        plain[1:, ::2],
        plain.view(2, 2, 6),
        plain.reshape(1, 4, 1, 6),
        taper.arange(24).reshape(4, 6),
        taper.zeros(0, 3),
        taper.tensor(2.0),
        taper.randn(6),
        leaf,
        leaf * 2,
        (leaf * 2).view(24),
        cut,
        inferred,
        taper.nn.Parameter(plain.clone()),
        (taper.randn(2, 3) + 1j).conj(),
        taper.randn(4, 6, dtype=taper.float64),
        taper.randn(4, 6) > 0,
        plain.bfloat16(),
    ]


Calls = Iterator[tuple[str, Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]]]


def random_calls() -> Calls:
    """Give functions that draw, few numbers and many."""
    generator = taper.Generator()
    options = [*OPTIONS, {"generator": generator}, {"generator": 3}, {"generator": None}]
    for name in ("rand", "randn"):
        for sizes in [*SIZES, *ODD_SIZES, (4, 5), ((40,),)]:
            yield name, lambda sizes=sizes: (sizes, {})
        for each in options:
            yield name, lambda each=each: ((4, 5), each)
    for name in ("rand_like", "randn_like"):
        for nr in range(len(tensors())):
            yield name, lambda nr=nr: ((tensors()[nr],), {})
        for each in [*options, {"memory_format": taper.contiguous_format}]:
            yield name, lambda each=each: ((taper.zeros(4, 5),), each)
    for given in (
        *(
            (5, (4, 5)),
            (2, 9, (4, 5)),
            (2, 9, [20]),
            (-3, 4, taper.Size([20])),
            (0, 10),
            (5, 5, (3,)),
        ),
        *(
            (9, 2, (3,)),
            (0, 2**40, (20,)),
            (2**62, 2**62 + 3, (4,)),
            (2.0, (3,)),
            (True, (3,)),
            ((3,),),
        ),
        *((0, 5, 3), (0, 5, ()), (0, 5, (0, 2)), (0, 2**70, (2,)), (0, 5, (2.0,)), ()),
    ):
        yield "randint", lambda given=given: (given, {})
    yield "randint", lambda: ((5,), {"size": (20,)})
    yield "randint", lambda: ((), {"low": 2, "high": 5, "size": (20,)})
    for each in options:
        yield "randint", lambda each=each: ((2, 9, (4, 5)), each)
    for given in (
        *((0.0, 1.0, (20,)), (2.0, 0.5, [4, 5]), (0, 1, (20,)), (0.0, -1.0, (20,)), (0.0, 1.0, 20)),
        *((0.0, float("nan"), (20,)), (0.0, 0.0, (3,)), (0.0, 1.0), (taper.zeros(20), 1.0), ()),
    ):
        yield "normal", lambda given=given: (given, {})
    for each in options:
        yield "normal", lambda each=each: ((0.0, 1.0, (4, 5)), each)


def calls() -> Calls:
    """Give functions, and what makes arguments for them."""
    for name in ("zeros", "ones", "empty"):
        for sizes in SIZES + ODD_SIZES:
            yield name, lambda sizes=sizes: (sizes, {})
        for options in OPTIONS:
            yield name, lambda options=options: ((2, 3), options)
    for value in (0, 1, 2.5, -0.0, 300, 1e300, True, 1j, float("nan"), -1, "a", 2**70):
        for options in OPTIONS:
            yield "full", lambda value=value, options=options: (((2, 3), value), options)
            yield (
                "full_like",
                lambda value=value, options=options: ((taper.zeros(2), value), options),
            )
    for size in (3, [2], (2, -1), (), ((2, 3),), (2.0,)):
        yield "full", lambda size=size: ((size, 1.5), {})
    yield from random_calls()
    count = len(tensors())
    for name in ("max", "min", "all"):
        for nr in range(count):
            for given in ((), (0,), (1, True), (None,)):
                yield name, lambda nr=nr, given=given: ((tensors()[nr], *given), {})
            yield name, lambda nr=nr: ((tensors()[nr],), {"keepdim": True})
    for name in ("zeros_like", "ones_like", "empty_like"):
        for nr in range(count):
            yield name, lambda nr=nr: ((tensors()[nr],), {})
            yield name, lambda nr=nr: ((tensors()[nr],), {"memory_format": taper.contiguous_format})
        for options in OPTIONS:
            yield name, lambda options=options: ((taper.zeros(2, 3),), options)
    for given in ((3,), (2, 4), (0,), (-1,), (2.0,), (True,), (2, None), (3, 2.0)):
        yield "eye", lambda given=given: (given, {})
    for options in OPTIONS:
        yield "eye", lambda options=options: ((3, 2), options)
        yield "arange", lambda options=options: ((5,), options)
        yield "linspace", lambda options=options: ((0.0, 1.0, 5), options)
    for given in (
        *(
            (5,),
            (0,),
            (-3,),
            (2, 7),
            (7, 2),
            (7, 2, -2),
            (1, 8, 3),
            (1, 8, 0),
            (2.5,),
            (1, 2, 0.25),
        ),
        *((2**40,), (0, None, 2), (None,), (3, None, 1), (True,), (2**31, 2**31 + 5), ("a",)),
    ):
        yield "arange", lambda given=given: (given, {})
    for given in (
        *((0, 1, 7), (0.0, 1.0, 1), (1.0, 0.0, 6), (-3, 1e9, 1001), (0, 1, 0), (0, 1, -1)),
        *((1e300, 0, 3), (float("inf"), 0, 3), (0.1, 0.7, 100_003), (1j, 2, 3), (0, 1, 2.0)),
    ):
        yield "linspace", lambda given=given: (given, {})
    for nr in range(count):
        for sizes in (
            (24,),
            (-1,),
            (2, 12),
            ((4, 6),),
            ((4, -1),),
            (taper.Size([24]),),
            (5, 5),
            (),
        ):
            yield "reshape", lambda nr=nr, sizes=sizes: ((tensors()[nr], *sizes), {})
            yield ".view", lambda nr=nr, sizes=sizes: ((tensors()[nr], *sizes), {})
        for sizes in ((-1, -1), (0,), (24, 1, 1), (2.0, 12), (-2, 12), ([4, 6],), (True, 24)):
            yield "reshape", lambda nr=nr, sizes=sizes: ((tensors()[nr], *sizes), {})
        for given in ((), (0, -1), (1,), (0, 0), (1, 0)):
            yield "flatten", lambda nr=nr, given=given: ((tensors()[nr], *given), {})
        for order in ((1, 0), ((1, 0),), (-1, 0), (0, 0), (0, 1, 2), (0,), (2, 0), ()):
            yield "permute", lambda nr=nr, order=order: ((tensors()[nr], *order), {})
        for dim in DIMS:
            yield "squeeze", lambda nr=nr, dim=dim: ((tensors()[nr], dim), {})
            yield "unbind", lambda nr=nr, dim=dim: ((tensors()[nr], dim), {})
            yield "unsqueeze", lambda nr=nr, dim=dim: ((tensors()[nr], dim), {})
            yield "select", lambda nr=nr, dim=dim: ((tensors()[nr], dim, -1), {})
            yield "select", lambda nr=nr, dim=dim: ((tensors()[nr], 0, dim), {})
            yield "narrow", lambda nr=nr, dim=dim: ((tensors()[nr], dim, 1, 2), {})
            yield "narrow", lambda nr=nr, dim=dim: ((tensors()[nr], 0, dim, 1), {})
            yield "narrow", lambda nr=nr, dim=dim: ((tensors()[nr], 0, 0, dim), {})
            yield "split", lambda nr=nr, dim=dim: ((tensors()[nr], 2, dim), {})
            yield "chunk", lambda nr=nr, dim=dim: ((tensors()[nr], dim), {})
            yield "cat", lambda nr=nr, dim=dim: (([tensors()[nr]] * 2, dim), {})
            yield "stack", lambda nr=nr, dim=dim: (([tensors()[nr]] * 2, dim), {})
            yield "flip", lambda nr=nr, dim=dim: ((tensors()[nr], dim), {})
            yield "roll", lambda nr=nr, dim=dim: ((tensors()[nr], -2, dim), {})
            yield "diag", lambda nr=nr, dim=dim: ((tensors()[nr], dim), {})
        yield "squeeze", lambda nr=nr: ((tensors()[nr],), {})
        for other in (0, 9, 13, 15, 17):
            yield "div", lambda nr=nr, other=other: ((tensors()[nr], tensors()[other]), {})
        for options in (
            {},
            {"rounding_mode": "floor"},
            {"rounding_mode": None},
            {"rounding_mode": 2},
        ):
            yield "div", lambda nr=nr, options=options: ((tensors()[nr], 0.5), options)
        yield "flip", lambda nr=nr: ((tensors()[nr], (0, 1)), {})
        yield "roll", lambda nr=nr: ((tensors()[nr], 5), {})
        yield "detach", lambda nr=nr: ((tensors()[nr],), {})
        yield "as_tensor", lambda nr=nr: ((tensors()[nr],), {})
        yield "outer", lambda nr=nr: ((tensors()[nr], tensors()[8]), {})
        yield "outer", lambda nr=nr: ((tensors()[8], tensors()[nr]), {})
        yield "diag", lambda nr=nr: ((tensors()[nr],), {})
        for other in range(count):
            yield "cat", lambda nr=nr, other=other: (((tensors()[nr], tensors()[other]),), {})
            yield "stack", lambda nr=nr, other=other: (((tensors()[nr], tensors()[other]), -1), {})
        for value in (0, 1.5, True, 300, 1j, 1e300):
            yield (
                "masked_fill",
                lambda nr=nr, value=value: (
                    (tensors()[nr], tensors()[nr].real.detach() > 0, value),
                    {},
                ),
            )


def public(name: str) -> Any:
    return getattr(taper.Tensor, name[1:]) if name[0] == "." else getattr(taper, name)


def described(value: Any, is_memory: bool = True) -> Any:
    """Say all that can be seen of a result."""
    if isinstance(value, tuple):
        return [described(each, is_memory) for each in value]
    if not isinstance(value, taper.Tensor):
        return value
    view = value._view
    return (
        value.detach().resolve_conj().tolist() if is_memory and value.is_cpu else None,
        type(value).__name__,
        value.dtype,
        value.shape,
        value.stride(),
        value.storage_offset(),
        value.requires_grad,
        value.is_leaf,
        value.is_inference(),
        None if value.is_inference() else value._version,
        value.is_conj(),
        None if value.grad_fn is None else value.grad_fn.name(),
        view and (described(view.base), view.creation, view.version, view.code, len(view.replay)),
        value._array.flags.writeable,
        type(value._requires_grad).__name__,
    )


def outcome(name: str, function: Any, arguments: Any) -> Any:
    args, kwargs = arguments()
    for generator in (taper.default_generator, kwargs.get("generator")):
        if isinstance(generator, taper.Generator):
            generator.manual_seed(0)
    try:
        with np.errstate(all="ignore"):
            result = function(*args, **kwargs)
    except Exception as error:
        return type(error), str(error), taper.default_generator.get_state().tolist()
    assert all(each is not result for each in args) or name in ("as_tensor", "flatten")
    drawn = taper.default_generator.get_state().tolist() if "ra" in name else None
    return described(result, "empty" not in name), drawn


def slowly(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a public function whose quick way, and whose kernel's, has been taken away."""
    function = public(name)
    inner = function.__wrapped__ if function.__name__ in RAW else function
    for module in MODULES:
        monkeypatch.setattr(module, "native", None)
    return inner


RAW = {each.__name__ for each in quick_ways} | {"view"}
MODULES = [
    __import__(f"taper.ops.{family}", fromlist=["native"])
    for family in ("shape.ones", "shape.split", "shape.flip", "index.masked", "creation.data")
]


@pytest.mark.parametrize("mode", [taper.enable_grad, taper.no_grad, taper.inference_mode])
@pytest.mark.parametrize("name", sorted({name for name, _ in calls()}))
def test_a_quick_way_gives_what_the_function_gives(
    name: str, mode: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = [arguments for each, arguments in calls() if each == name]
    with mode():
        quick = [outcome(name, public(name), arguments) for arguments in chosen]
        slow_function = slowly(name, monkeypatch)
        slow = [outcome(name, slow_function, arguments) for arguments in chosen]
    for nr, (found, wanted) in enumerate(zip(quick, slow, strict=True)):
        assert repr(found) == repr(wanted), chosen[nr]()


def test_every_quick_way_is_tried_above() -> None:
    tried = {name.lstrip(".") for name, _ in calls()}
    assert {each.__name__ for each in quick_ways} <= tried


def test_a_quick_way_shows_the_users_line_of_a_view() -> None:
    with taper.no_grad():
        view = taper.zeros(2, 3).reshape(6)
    with pytest.raises(
        RuntimeError, match=r"The view was made at .*test_quick_ways.py:\d+ in test"
    ):
        view.add_(taper.ones(6, requires_grad=True))


def test_methods_have_the_quick_way_of_functions() -> None:
    for name, function in composites.items():
        if function in quick_ways and name in methods:
            method, public = getattr(taper.Tensor, name), getattr(taper, name)
            assert inspect.unwrap(method) is inspect.unwrap(public)


@pytest.mark.parametrize("name", ["zeros", "empty", "eye", "arange"])
def test_a_default_device_that_is_absent_is_refused(name: str) -> None:
    with taper.device("mps"), pytest.raises(RuntimeError, match="support for mps devices"):
        public(name)(2)
    assert public(name)(2).device.type == "cpu"
    taper.set_default_device("mps")
    try:
        with pytest.raises(RuntimeError, match="support for mps devices"):
            public(name)(2)
    finally:
        taper.set_default_device(None)
    assert public(name)(2).device.type == "cpu"


def test_memory_is_filled_where_algorithms_must_be_deterministic() -> None:
    taper.use_deterministic_algorithms(True)
    try:
        assert taper.empty(1000).isnan().all()
        assert taper.empty_like(taper.zeros(1000)).isnan().all()
    finally:
        taper.use_deterministic_algorithms(False)


def test_the_default_dtype_is_that_of_the_moment() -> None:
    taper.set_default_dtype(taper.float64)
    try:
        made = [taper.zeros(2), taper.full((2,), 1.5), taper.eye(2), taper.linspace(0, 1, 3)]
        assert {each.dtype for each in made} == {taper.float64}
    finally:
        taper.set_default_dtype(taper.float32)


def test_transforms_see_what_is_made_and_viewed() -> None:
    def joined(x: taper.Tensor) -> taper.Tensor:
        fresh = taper.zeros(3) + x
        return taper.cat((fresh.reshape(3, 1), taper.ones_like(x).unsqueeze(1)), 1).flatten()

    x = taper.arange(6.0).reshape(2, 3)
    wanted = [joined(row).tolist() for row in x]
    assert taper.func.vmap(joined)(x).tolist() == wanted


def test_autocast_sees_cat() -> None:
    halves = taper.ones(2).bfloat16()
    with taper.autocast("cpu", dtype=taper.bfloat16):
        assert taper.cat((halves, taper.ones(2))).dtype is taper.float32


@pytest.mark.parametrize("threads", [1, 2])
def test_large_arrays_are_filled_by_several_threads(threads: int) -> None:
    before = taper.get_num_threads()
    taper.set_num_threads(threads)
    try:
        n = 300_001
        assert (taper.full((n,), 2.5)._array == 2.5).all()
        assert (taper.ones(n, dtype=taper.int16)._array == 1).all()
        line = taper.linspace(-1, 1, n)
        vector = taper.linspace(0, 1, 700)
        left = np.multiply.outer(vector._array, vector._array)
        assert (taper.outer(vector, vector)._array == left).all()
        both = np.concatenate([line._array, line._array])
        assert (taper.cat((line, line))._array == both).all()
        mask = line > 0
        filled = np.where(mask._array, np.float32(7), line._array)
        assert (taper.masked_fill(line, mask, 7)._array == filled).all()
    finally:
        taper.set_num_threads(before)


def test_a_tensor_on_an_array_shares_its_memory_from_the_first_element_on() -> None:
    array = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    for part in (array, array[1:, ::2], array.T, array[0, :0], array[::-1]):
        if min(part.strides, default=0) < 0:
            with pytest.raises(ValueError, match="negative"):
                taper.from_numpy(part)
            continue
        tensor = taper.from_numpy(part)
        assert tensor.storage_offset() == 0
        assert tensor.shape == part.shape
        tensor.fill_(5)
        assert (part == 5).all()
    keeper = taper.from_numpy(np.ones(1000)[5:])
    assert keeper.sum() == 995


@pytest.mark.parametrize(
    "name",
    [
        *("new_view", "new_views", "reshaped", "permuted", "selected", "narrowed", "squeezed"),
        *("know_views", "know_making", "new_filled"),
    ],
)
def test_wrong_arguments_are_refused(name: str) -> None:
    function = getattr(native, name)
    state, tensor = local.state, taper.zeros(2)
    for args in ((), (1,), (state,), (tensor, state), (tensor, 1, 2, 3, 4)):
        with pytest.raises(TypeError):
            function(*args)
