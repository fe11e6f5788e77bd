"""Blocks of autocast: where it is on, what can be asked and set, what is refused."""

from __future__ import annotations

import threading
import warnings

import pytest


def outcome(action):
    """Return what it gives or raises, and the warnings as category and first line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = action()
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
    texts = [str(each.message).split(" (Triggered")[0] for each in caught]
    return found, [(each.category, text) for each, text in zip(caught, texts, strict=True)]


def product(torch):
    """Return the dtype of a product, which shows whether autocast is on."""
    return torch.ones(2, 2).mm(torch.ones(2, 2)).dtype


# --- on and off ------------------------------------------------------------------------------


def test_a_block_computes_products_in_bfloat16_unless_said(torch):
    with torch.autocast("cpu"):
        assert product(torch) is torch.bfloat16
    with torch.autocast(device_type="cpu", dtype=torch.float16):
        assert product(torch) is torch.float16
    with torch.amp.autocast("cpu", torch.bfloat16, enabled=False):
        assert product(torch) is torch.float32
    assert product(torch) is torch.float32


def test_names_are_one(torch):
    assert torch.autocast is torch.amp.autocast
    assert torch.GradScaler is torch.amp.GradScaler
    assert torch.amp.autocast_mode.autocast is torch.autocast
    assert torch.amp.grad_scaler.GradScaler is torch.GradScaler
    assert issubclass(torch.cpu.amp.autocast, torch.autocast)
    assert issubclass(torch.cuda.amp.autocast_mode.autocast, torch.autocast)


def test_blocks_in_blocks(torch):
    found = []
    with torch.autocast("cpu"):
        with torch.autocast("cpu", torch.float16):
            found.append(product(torch))
            with torch.autocast("cpu", enabled=False):
                found.append(product(torch))
            found.append(product(torch))
        found.append(product(torch))
    assert found == [torch.float16, torch.float32, torch.float16, torch.bfloat16]


def test_an_exception_restores(torch):
    with pytest.raises(ZeroDivisionError), torch.autocast("cpu", torch.float16, True, False):
        assert not torch.is_autocast_cache_enabled()
        raise ZeroDivisionError
    assert product(torch) is torch.float32
    assert torch.get_autocast_dtype("cpu") is torch.bfloat16
    assert torch.is_autocast_cache_enabled()


def test_a_block_may_be_entered_again(torch):
    block = torch.autocast("cpu")
    for _ in range(2):
        with block as entered:
            assert entered is block
            assert product(torch) is torch.bfloat16
        assert product(torch) is torch.float32


@pytest.mark.taper_only
def test_a_block_may_be_entered_inside_itself(torch):
    block = torch.autocast("cpu")
    with block, block:
        assert product(torch) is torch.bfloat16
    assert product(torch) is torch.float32

    @torch.autocast("cpu")
    def countdown(number):
        return [product(torch)] + (countdown(number - 1) if number else [])

    assert countdown(2) == [torch.bfloat16] * 3
    assert product(torch) is torch.float32


def test_functions_and_methods(torch):
    @torch.autocast("cpu", dtype=torch.float16)
    def function(left, right=None):
        """Multiply."""
        return left.mm(left if right is None else right).dtype

    class Model(torch.nn.Module):
        @torch.autocast("cpu")
        def forward(self, x):
            return x.mm(x)

    assert function(torch.ones(1, 1), right=torch.ones(1, 1)) is torch.float16
    assert (function.__name__, function.__doc__) == ("function", "Multiply.")
    assert Model()(torch.ones(1, 1)).dtype is torch.bfloat16
    assert product(torch) is torch.float32
    found, _ = outcome(lambda: torch.autocast("cpu")(1))
    assert found.startswith("TypeError: autocast()(func) requires a callable, but got int. Did you")


def test_each_thread_has_its_own(torch):
    found = {}

    def work():
        found["before"] = product(torch)
        with torch.autocast("cpu", torch.float16):
            entered.set()
            left.wait()
            found["in its own"] = product(torch)

    entered, left = threading.Event(), threading.Event()
    thread = threading.Thread(target=work)
    with torch.autocast("cpu"):
        thread.start()
        entered.wait()
        found["outer"] = product(torch)
    found["after"] = product(torch)
    left.set()
    thread.join()
    assert found == {
        "before": torch.float32,
        "outer": torch.bfloat16,
        "after": torch.float32,
        "in its own": torch.float16,
    }


# --- asking and setting ----------------------------------------------------------------------


def test_what_is_asked(torch):
    def state():
        return (
            torch.is_autocast_enabled("cpu"),
            torch.is_autocast_enabled(),
            torch.get_autocast_dtype("cpu"),
            torch.get_autocast_dtype("cuda"),
            torch.is_autocast_cache_enabled(),
        )

    usual = (False, False, torch.bfloat16, torch.float16, True)
    assert state() == usual
    with torch.autocast("cpu", torch.float16, cache_enabled=False):
        assert state() == (True, False, torch.float16, torch.float16, False)
        with torch.autocast("cpu", enabled=False):
            assert state() == (False, False, torch.float16, torch.float16, False)
    assert state() == usual


def test_what_is_set(torch):
    torch.set_autocast_enabled("cpu", True)
    try:
        assert torch.is_autocast_enabled("cpu")
        assert product(torch) is torch.bfloat16
        torch.set_autocast_dtype("cpu", torch.float16)
        assert product(torch) is torch.float16
    finally:
        torch.set_autocast_enabled(device_type="cpu", enabled=False)
        torch.set_autocast_dtype("cpu", torch.bfloat16)
    assert product(torch) is torch.float32
    torch.set_autocast_enabled(True)
    assert (torch.is_autocast_enabled(), torch.is_autocast_enabled("cpu")) == (True, False)
    assert product(torch) is torch.float32
    torch.set_autocast_enabled("cuda", False)
    assert not torch.is_autocast_enabled("cuda:0")
    assert torch.autocast_increment_nesting() == 1
    assert torch.autocast_increment_nesting() == 2
    assert (torch.autocast_decrement_nesting(), torch.autocast_decrement_nesting()) == (1, 0)
    torch.set_autocast_cache_enabled(False)
    assert not torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(True)
    assert torch.clear_autocast_cache() is None


def test_types_of_devices(torch):
    types = ("cpu", "cuda", "xpu", "mps", "hpu", "ipu", "xla", "mtia", "maia", "meta")
    assert [torch.amp.is_autocast_available(each) for each in types] == [True] * 9 + [False]
    dtypes = [str(torch.get_autocast_dtype(each))[6:] for each in types[:9]]
    assert dtypes == ["bfloat16"] + ["float16"] * 3 + ["bfloat16", "float16"] + [
        "bfloat16",
        "float16",
        "bfloat16",
    ]
    with torch.autocast("xpu"):
        assert (torch.is_autocast_enabled("xpu"), torch.is_autocast_enabled("cpu")) == (True, False)
        assert product(torch) is torch.float32
    assert not torch.is_autocast_enabled("xpu")
    with torch.autocast("cpu:0"):
        assert product(torch) is torch.bfloat16


UNKNOWN = (
    "RuntimeError: Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, "
    "fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, privateuseone device type at start of "
    "device string: foo"
)


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (lambda t: t.autocast("foo"), UNKNOWN),
        (lambda t: t.autocast("foo", t.bfloat16), UNKNOWN),
        (lambda t: t.is_autocast_enabled("foo"), UNKNOWN),
        (lambda t: t.amp.is_autocast_available("foo"), UNKNOWN),
        (lambda t: t.autocast("meta"), "RuntimeError: unsupported scalarType"),
        (
            lambda t: t.autocast("meta", t.bfloat16),
            "RuntimeError: User specified an unsupported autocast device_type 'meta'",
        ),
        (
            lambda t: t.is_autocast_enabled("meta"),
            "RuntimeError: unknown device type for autocast in "
            "get_autocast_dispatch_key_from_device_type",
        ),
        (
            lambda t: t.autocast(1),
            "ValueError: Expected `device_type` of type `str`, got: `<class 'int'>`",
        ),
        (
            lambda t: t.is_autocast_enabled(1),
            "TypeError: is_autocast_enabled(): argument 'device_type' (position 1) must be str, "
            "not int",
        ),
        (
            lambda t: t.amp.is_autocast_available(t.device("cpu")),
            "TypeError: _is_autocast_available(): argument 'device_type' (position 1) must be str, "
            "not torch.device",
        ),
        (
            lambda t: t.set_autocast_enabled("cpu", 1),
            "TypeError: set_autocast_enabled(): argument 'enabled' (position 2) must be bool, not "
            "int",
        ),
        (
            lambda t: t.set_autocast_enabled("cpu"),
            "TypeError: set_autocast_enabled(): argument 'enabled' (position 1) must be bool, not "
            "str",
        ),
        (
            lambda t: t.set_autocast_enabled(),
            "TypeError: set_autocast_enabled() received an invalid combination of arguments - got "
            "(), but expected one of:\n * (str device_type, bool enabled)\n * (bool enabled)\n",
        ),
        (
            lambda t: t.set_autocast_dtype("cpu", 1),
            "TypeError: set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, "
            "not int",
        ),
        (
            lambda t: t.set_autocast_cache_enabled(1),
            "TypeError: enabled must be a bool (got int)",
        ),
        (
            lambda t: t.autocast("cpu", enabled=None).__enter__(),
            "TypeError: set_autocast_enabled(): argument 'enabled' (position 2) must be bool, not "
            "NoneType",
        ),
        (
            lambda t: t.autocast("cpu", "float16", enabled=False).__enter__(),
            "TypeError: set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, "
            "not str",
        ),
        (
            lambda t: t.amp.custom_fwd(device_type=1),
            "ValueError: Expected `device_type` of type `str`, got: `<class 'int'>`",
        ),
        (
            lambda t: t.amp.custom_bwd(),
            "TypeError: custom_bwd() missing 1 required keyword-only argument: 'device_type'",
        ),
    ],
)
def test_what_is_refused(torch, action, expected):
    assert outcome(lambda: action(torch)) == (expected, [])
    assert not torch.is_autocast_enabled("cpu")
    assert torch.get_autocast_dtype("cpu") is torch.bfloat16


# --- warnings --------------------------------------------------------------------------------

NO_CUDA = "CUDA is not available or torch_xla is imported. Disabling autocast."


def test_cuda_is_disabled_with_a_warning(torch):
    found, warned = outcome(lambda: torch.autocast("cuda"))
    assert warned == [(UserWarning, NO_CUDA)]
    with found:
        assert not torch.is_autocast_enabled("cuda")
        assert product(torch) is torch.float32
    assert outcome(lambda: torch.autocast("cuda", enabled=False))[1] == []


@pytest.mark.parametrize("name", ["float32", "float64", "int8", "complex64"])
def test_other_dtypes_are_disabled_with_a_warning(torch, name):
    found, warned = outcome(lambda: torch.autocast("cpu", getattr(torch, name)))
    assert warned == [
        (
            UserWarning,
            "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
            "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
        )
    ]
    with found:
        assert product(torch) is torch.float32


def test_older_names_warn(torch):
    def warned(action):
        return [(kind.__name__, text) for kind, text in outcome(action)[1]]

    for kind in ("autocast", "GradScaler"):
        assert warned(lambda kind=kind: getattr(torch.cpu.amp, kind)()) == [
            (
                "FutureWarning",
                f"`torch.cpu.amp.{kind}(args...)` is deprecated. Please use "
                f"`torch.amp.{kind}('cpu', args...)` instead.",
            )
        ]
        assert warned(lambda kind=kind: getattr(torch.cuda.amp, kind)(enabled=False)) == [
            (
                "FutureWarning",
                f"`torch.cuda.amp.{kind}(args...)` is deprecated. Please use "
                f"`torch.amp.{kind}('cuda', args...)` instead.",
            )
        ]
    assert warned(lambda: torch.cuda.amp.autocast())[1] == ("UserWarning", NO_CUDA)
    assert warned(lambda: torch.cuda.amp.GradScaler())[1] == (
        "UserWarning",
        "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
    )
    for name in ("custom_fwd", "custom_bwd"):
        assert warned(lambda name=name: getattr(torch.cuda.amp, name)(print)) == [
            (
                "FutureWarning",
                f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use "
                f"`torch.amp.{name}(args..., device_type='cuda')` instead.",
            )
        ]
    assert torch.cuda.amp.amp_definitely_not_available()


def test_older_names_work(torch):
    with pytest.warns(FutureWarning), torch.cpu.amp.autocast(dtype=torch.float16):
        assert product(torch) is torch.float16
    with pytest.warns(FutureWarning), torch.cpu.amp.autocast(enabled=False):
        assert product(torch) is torch.float32


@pytest.mark.parametrize(
    ("call", "instead", "expected"),
    [
        ("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')", False),
        ("is_autocast_ipu_enabled()", "is_autocast_enabled('ipu')", False),
        ("is_autocast_xla_enabled()", "is_autocast_enabled('xla')", False),
        ("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')", "bfloat16"),
        ("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')", "float16"),
        ("get_autocast_xla_dtype()", "get_autocast_dtype('xla')", "bfloat16"),
        ("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)", None),
        ("set_autocast_xla_enabled(enabled)", "set_autocast_enabled('xla', enabled)", None),
        ("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)", None),
        ("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)", None),
    ],
)
def test_functions_for_one_device_warn(torch, call, instead, expected):
    name, argument = call[:-1].split("(")
    dtype = torch.bfloat16 if "cpu" in name else torch.float16
    values = {"": (), "enabled": (False,), "dtype": (dtype,)}[argument]
    found, warned = outcome(lambda: getattr(torch, name)(*values))
    assert found == (getattr(torch, expected) if isinstance(expected, str) else expected)
    assert warned == [
        (DeprecationWarning, f"torch.{call} is deprecated. Please use torch.{instead} instead.")
    ]


# --- other code pays nothing -----------------------------------------------------------------


@pytest.mark.taper_only
def test_functions_have_their_own_code_outside_of_blocks(torch):
    linear = torch.nn.functional.linear
    functions = [torch.mm, linear.__wrapped__, torch.cat, torch.linalg.svd]
    torch.ones(1, 1).mm(torch.ones(1, 1))
    before = [each.__code__ for each in functions]
    with torch.autocast("cpu"):
        assert not any(each.__code__ in before for each in functions[:2])
        assert torch.add.__code__.co_name == "add"
    assert [each.__code__ for each in functions] == before


@pytest.mark.taper_only
def test_the_profiler_may_start_and_end_anywhere(torch):
    def names(profile):
        return [each.name for each in profile.events()]

    x = torch.ones(2, 2)
    with torch.autocast("cpu"), torch.profiler.profile() as inside:
        assert torch.nn.functional.linear(x, x).dtype is torch.bfloat16
    assert names(inside)[0] == "aten::linear" and "aten::_to_copy" in names(inside)
    with torch.profiler.profile() as around:
        with torch.autocast("cpu"):
            assert torch.nn.functional.linear(x, x).dtype is torch.bfloat16
        assert torch.nn.functional.linear(x, x).dtype is torch.float32
    assert names(around).count("aten::linear") == 2
    block = torch.autocast("cpu")
    profile = torch.profiler.profile()
    block.__enter__()
    profile.__enter__()
    block.__exit__()
    assert torch.nn.functional.linear(x, x).dtype is torch.float32
    profile.__exit__(None, None, None)
    assert names(profile)[0] == "aten::linear"
