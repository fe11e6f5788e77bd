"""Convolutions by oneDNN, an extra: the numbers of the built-in way, and safe beside everything."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import taper
from taper.arrays import convolution as kernels
from taper.arrays.native import native, onednn
from taper.commands.info import facts

needs_onednn = pytest.mark.skipif(
    not onednn.is_available(), reason=f"oneDNN is {onednn.description()}"
)
needs_native = pytest.mark.skipif(native is None, reason="the native module is not built")

# Shape of the input, of the weight (groups, outputs, inputs, *kernel), stride, padding, dilation.
GEOMETRIES = {
    "images in unequal pieces": ((17, 16, 20, 21), (1, 32, 16, 3, 3), (1, 1), (1, 1), (1, 1)),
    "channels in pieces": ((2, 128, 7, 6), (1, 256, 128, 3, 3), (1, 1), (1, 1), (1, 1)),
    "inputs in pieces": ((1, 256, 14, 14), (1, 64, 256, 3, 3), (1, 1), (1, 1), (1, 1)),
    "one image": ((1, 64, 40, 40), (1, 64, 64, 3, 3), (1, 1), (1, 1), (1, 1)),
    "stride, a rest unseen": ((8, 16, 30, 27), (1, 32, 16, 3, 2), (2, 3), (1, 0), (1, 1)),
    "dilation": ((4, 32, 24, 20), (1, 32, 32, 3, 3), (1, 2), (2, 4), (2, 3)),
    "padding beyond the kernel": ((4, 32, 9, 9), (1, 32, 32, 2, 2), (2, 2), (3, 3), (1, 1)),
    "channels that fill no register": ((8, 30, 20, 20), (1, 45, 30, 3, 3), (1, 1), (1, 1), (1, 1)),
    "three inputs": ((8, 3, 40, 40), (1, 32, 3, 5, 5), (2, 2), (2, 2), (1, 1)),
    "depthwise": ((8, 64, 20, 20), (64, 1, 1, 3, 3), (1, 1), (1, 1), (1, 1)),
    "groups": ((8, 32, 20, 20), (2, 32, 16, 3, 3), (1, 1), (1, 1), (1, 1)),
    "single places": ((8, 64, 20, 20), (1, 128, 64, 1, 1), (2, 2), (0, 0), (1, 1)),
    "one dimension": ((16, 32, 100), (1, 48, 32, 5), (2,), (2,), (1,)),
    "volumes": ((3, 16, 10, 9, 11), (1, 32, 16, 3, 3, 3), (1, 2, 1), (1, 1, 0), (1, 1, 1)),
}  # fmt: skip


def arrays_of(name: str) -> tuple:
    """Input, weight, gradient of the output, and settings of a geometry."""
    shape, weight_shape, stride, padding, dilation = GEOMETRIES[name]
    spans = zip(shape[2:], padding, dilation, weight_shape[3:], stride, strict=True)
    places = [(s + 2 * p - d * (k - 1) - 1) // step + 1 for s, p, d, k, step in spans]
    draw = np.random.default_rng(5)
    shapes = (shape, weight_shape, (shape[0], weight_shape[0] * weight_shape[1], *places))
    arrays = [draw.standard_normal(each).astype(np.float32) for each in shapes]
    return (*arrays, (stride, padding, dilation))


def all_three(array, weight, grad, settings) -> list[np.ndarray]:
    biases = [np.arange(n, dtype=grad.dtype) for n in (grad.shape[1], array.shape[1])]
    return [
        kernels.convolve(array, weight, biases[0], *settings, np.empty_like(grad)),
        kernels.spread(grad, weight, biases[1], *settings, np.empty_like(array)),
        kernels.weight_gradient(array, grad, weight.shape, *settings),
    ]


def plans_made() -> int:
    return native.onednn_plans()[2]


def plans_taken() -> int:
    return native.onednn_plans()[3]


@pytest.fixture
def builtin() -> Iterator[Callable]:
    """Compute something without oneDNN."""

    def compute(function, *args):
        onednn.use(False)
        try:
            return function(*args)
        finally:
            onednn.use(True)

    yield compute


@needs_onednn
@pytest.mark.parametrize("name", GEOMETRIES)
def test_numbers_are_those_of_the_builtin_way(name, builtin):
    arrays = arrays_of(name)
    before = plans_taken()
    found = all_three(*arrays)
    assert plans_taken() > before
    exact = builtin(all_three, *[each.astype(np.float64) for each in arrays[:3]], arrays[3])
    for each, wanted in zip(found, exact, strict=True):
        assert each.dtype == np.float32
        np.testing.assert_allclose(each, wanted, rtol=0, atol=3e-6 * np.abs(wanted).max())


@needs_onednn
def test_random_geometries(builtin):
    draw = np.random.default_rng(11)
    pick = lambda *values: int(draw.choice(values))  # noqa: E731
    for _ in range(60):
        rank, groups = pick(1, 2, 2, 3), pick(1, 1, 1, 2, 16)
        inputs, outputs = pick(3, 16, 24, 32), pick(16, 32, 40)
        kernel, stride, dilation = (tuple(draw.integers(1, m, rank).tolist()) for m in (5, 4, 3))
        padding = tuple(draw.integers(0, 4, rank).tolist())
        sizes = tuple(draw.integers(9, {1: 90, 2: 24, 3: 12}[rank], rank).tolist())
        shape, weight = (pick(1, 2, 7), groups * inputs, *sizes), (groups, outputs, inputs, *kernel)
        GEOMETRIES["random"] = (shape, weight, stride, padding, dilation)
        arrays = arrays_of("random")
        del GEOMETRIES["random"]
        exact = builtin(all_three, *[each.astype(np.float64) for each in arrays[:3]], arrays[3])
        for each, wanted in zip(all_three(*arrays), exact, strict=True):
            limit = 3e-6 * np.abs(wanted).max()
            np.testing.assert_allclose(each, wanted, rtol=0, atol=limit, err_msg=f"{arrays[3]}")


@needs_onednn
@pytest.mark.parametrize("name", GEOMETRIES)
def test_two_threads_and_a_second_time_give_the_same_bits(name):
    arrays, before = arrays_of(name), taper.get_num_threads()
    results = []
    for count in (1, 2, 3):
        taper.set_num_threads(count)
        results.append([each.tobytes() for each in all_three(*arrays)])
    taper.set_num_threads(before)
    assert results[0] == results[1] == results[2]


@needs_onednn
def test_gradients_of_a_module_are_those_without_it(builtin):
    def gradients():
        taper.manual_seed(2)
        layers = taper.nn.Conv2d(3, 32, 3, padding=1), taper.nn.ConvTranspose2d(32, 16, 4, 2, 1)
        image = taper.randn(6, 3, 24, 24, requires_grad=True)
        (layers[1](layers[0](image).relu()) ** 2).mean().backward()
        return [image.grad, *[each.grad for layer in layers for each in layer.parameters()]]

    for with_it, without in zip(gradients(), builtin(gradients), strict=True):
        taper.testing.assert_close(with_it, without, rtol=1e-4, atol=1e-6)


@needs_onednn
def test_channels_last_and_other_views_give_the_same(builtin):
    image, weight = taper.randn(4, 32, 20, 20), taper.randn(32, 32, 3, 3)
    wanted = taper.nn.functional.conv2d(image, weight, padding=1)
    last = image.contiguous(memory_format=taper.channels_last)
    found = taper.nn.functional.conv2d(last, weight, padding=1)
    assert taper.equal(found, wanted) and found.is_contiguous(memory_format=taper.channels_last)
    doubled = image.repeat_interleave(2, 3)[..., ::2]
    assert taper.equal(taper.nn.functional.conv2d(doubled, weight, padding=1), wanted)


@needs_onednn
def test_plans_are_kept_and_their_number_has_a_bound(builtin):
    weight = np.ones((1, 16, 16, 3, 3), np.float32)

    def convolve(height: int) -> np.ndarray:
        array = np.full((1, 16, height, 40), height, np.float32)
        out = np.empty((1, 16, height - 2, 38), np.float32)
        return kernels.convolve(array, weight, None, (1, 1), (0, 0), (1, 1), out)

    for height in range(40, 340):
        assert convolve(height)[0, -1, -1, -1] == 144 * height
    kept, most, made, _ = native.onednn_plans()
    assert kept == most == 256
    convolve(339)
    assert plans_made() == made
    convolve(40)  # the one that was not used for longest
    assert plans_made() == made + 1


@needs_onednn
def test_other_operands_go_the_builtin_way():
    array, weight = np.ones((8, 32, 20, 20), np.float32), np.ones((1, 32, 32, 3, 3), np.float32)
    out, settings = np.zeros((8, 32, 20, 20), np.float32), ((1, 1), (1, 1), (1, 1))
    taken = plans_taken()
    refused = [
        (array.astype(np.float64), weight, out, *settings, None),
        (array, weight[:, :, :31], out, *settings, None),
        (array[:7], weight, out, *settings, None),
        (array, weight, out[:, :, :18], *settings, None),
        (array[:, :, ::2], weight, out, *settings, None),
        (array, weight, out, (1, 1, 1), (1, 1), (1, 1), None),
        (array, weight, out, (0, 1), (1, 1), (1, 1), None),
        (array, weight, out, (1, 1), (-1, 1), (1, 1), None),
        (array, weight, out, (1, 1), (1, 1), (1, 2**70), None),
        (array, weight, out, *settings, np.ones(31, np.float32)),
        (array, weight, out, *settings, np.ones(32)),
        (array, weight, "text", *settings, None),
    ]
    for arguments in refused:
        assert native.convolve(*arguments) is None
    out.flags.writeable = False
    assert native.convolve(array, weight, out, *settings, None) is None
    assert native.spread(out, weight, array, *settings, None) is None
    assert plans_taken() == taken and not out.any()
    with pytest.raises(TypeError, match="takes 7 arguments"):
        native.convolve(array, weight, out)


@needs_onednn
def test_results_without_places_and_of_few_go_the_builtin_way():
    taken = plans_taken()
    small = taper.nn.functional.conv2d(taper.ones(1, 1, 5, 5), taper.ones(1, 1, 3, 3))
    assert small.tolist() == [[[[9.0] * 3] * 3]]
    empty = taper.nn.functional.conv2d(taper.ones(0, 16, 50, 50), taper.ones(16, 16, 3, 3))
    assert empty.shape == (0, 16, 48, 48) and plans_taken() == taken


@needs_onednn
def test_what_is_not_finite_stays_where_it_is():
    image = taper.zeros(2, 32, 16, 16)
    image[0, 0, 8, 8], image[1, 0, 0, 0] = float("nan"), float("inf")
    found = taper.nn.functional.conv2d(image, taper.ones(32, 32, 3, 3), padding=1)
    assert found.isnan().sum() == 9 * 32 and found.isinf().sum() == 4 * 32


@needs_onednn
def test_threads_of_python_compute_beside_each_other():
    names = list(GEOMETRIES)[:6]
    given = {name: arrays_of(name) for name in names}
    wanted = {name: [each.tobytes() for each in all_three(*given[name])] for name in names}
    wrong: list[str] = []

    def work(shift: int) -> None:
        for name in names[shift:] + names[:shift]:
            if [each.tobytes() for each in all_three(*given[name])] != wanted[name]:
                wrong.append(name)

    threads = [threading.Thread(target=work, args=(shift,)) for shift in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def _in_child(given, wanted, sender) -> None:
    same, taken = [each.tobytes() for each in all_three(*given)] == wanted, plans_taken()
    all_three(*arrays_of("dilation"))
    sender.send((same, plans_taken() > taken))


@needs_onednn
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_goes_on_while_another_thread_makes_plans():
    given = arrays_of("groups")
    wanted = [each.tobytes() for each in all_three(*given)]
    stop = threading.Event()

    def make_plans() -> None:
        weight, height = np.ones((1, 16, 16, 3, 3), np.float32), 400
        while not stop.is_set():
            height += 1
            array = np.ones((1, 16, height, 12), np.float32)
            out = np.empty((1, 16, height - 2, 10), np.float32)
            kernels.convolve(array, weight, None, (1, 1), (0, 0), (1, 1), out)

    other = threading.Thread(target=make_plans)
    other.start()
    try:
        context = multiprocessing.get_context("fork")
        for _ in range(5):
            receiver, sender = context.Pipe(duplex=False)
            child = context.Process(target=_in_child, args=(given, wanted, sender))
            child.start()
            assert receiver.poll(60), "the child hangs"
            assert receiver.recv() == (True, True)
            child.join()
    finally:
        stop.set()
        other.join()


@needs_onednn
def test_pytorchs_switch_does_without():
    given = arrays_of("groups")
    with taper.backends.mkldnn.flags(enabled=False):
        taken = plans_taken()
        all_three(*given)
        assert plans_taken() == taken
    all_three(*given)
    assert plans_taken() > taken
    assert taper.backends.mkldnn.enabled and taper.backends.mkldnn.is_available()


@needs_onednn
def test_info_says_which_one_is_used():
    assert facts()["oneDNN"].startswith("3.")


# --- without it, or with something else in its place ------------------------------------------


PROGRAM = """
import taper
from taper.arrays.native import onednn
image, weight = taper.ones(4, 32, 20, 20), taper.ones(32, 32, 3, 3)
print(taper.nn.functional.conv2d(image, weight)[0, 0, 0, 0].item(), onednn.description())
"""


def run(folder: Path | None = None, **environment: str) -> subprocess.CompletedProcess:
    """Run the program, with `folder` in front of the places that packages are found in."""
    paths = ([str(folder)] if folder else []) + [str(Path(taper.__file__).parents[1])]
    variables = os.environ | environment | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-W", "always", "-c", PROGRAM]
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120)


@needs_native
def test_the_environment_does_without():
    done = run(TAPER_ONEDNN="0")
    assert done.stdout == "288.0 not used: TAPER_ONEDNN=0\n" and done.stderr == ""


def test_without_the_native_module_there_is_none():
    done = run(TAPER_NATIVE="0", TAPER_ONEDNN="1")
    wanted = "288.0 not used: there is no native module, which would use it\n"
    assert done.stdout == wanted and done.stderr == ""


def installed(folder: Path, library: str) -> Path:
    """A folder that looks as if the wheel had been installed, with another library."""
    packages = folder / "lib" / "site-packages"
    (packages / "onednn_cpu_gomp-9.dist-info").mkdir(parents=True)
    record = packages / "onednn_cpu_gomp-9.dist-info" / "RECORD"
    record.write_text("a.txt,,\n../libdnnl.so.3,sha256=x,1\n", encoding="utf-8")
    if library:
        source = folder / "library.c"
        source.write_text(library)
        target = str(folder / "lib" / "libdnnl.so.3")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", target, str(source)], check=True)
    return packages


VERSION = """
static const struct {{ int numbers[3]; const char *hash; unsigned of_cpu, of_gpu; }}
    version = {{{{{}, 7, 1}}, "", 2, 0}};
const void *dnnl_version(void) {{ return &version; }}
"""


@needs_native
@pytest.mark.skipif(shutil.which("gcc") is None, reason="no compiler to make a library with")
@pytest.mark.parametrize(
    ("library", "text"),
    [
        (VERSION.format(2), "libdnnl.so.3 is oneDNN 2.7.1; version 3 is needed"),
        (VERSION.format(4), "libdnnl.so.3 is oneDNN 4.7.1; version 3 is needed"),
        (VERSION.format(3), "not the library of onednn-cpu-gomp"),
        ("int nothing;", "not the library of onednn-cpu-gomp"),
        ("", "cannot open shared object file"),
    ],
)
def test_another_library_is_refused_with_a_warning(library, text, tmp_path):
    done = run(installed(tmp_path, library), TAPER_ONEDNN="1")
    assert done.stdout.startswith("288.0 not used: ") and text in done.stdout
    assert done.stderr.count("UserWarning: oneDNN is installed but cannot be used") == 1
    assert text in done.stderr
