"""Convolutions of captured programs: after Winograd where rounding may differ, else as eager."""

import numpy as np
import pytest

import taper
from taper.arrays import convolution as kernels
from taper.arrays.native import native
from taper.nn import functional as F

needs_native = pytest.mark.skipif(native is None, reason="there is no native module")

# Images, channels of input and output, height, width, padding: tiles that fit, and that do not.
GEOMETRIES = [
    (2, 16, 16, 12, 12, (1, 1)),
    (3, 17, 19, 9, 11, (1, 1)),
    (5, 16, 33, 7, 40, (2, 2)),
    (4, 20, 16, 13, 8, (0, 1)),
    (1, 32, 16, 70, 5, (2, 0)),
    (40, 16, 64, 4, 4, (1, 1)),
]


def arrays_of(images, inputs, outputs, height, width, padding, dtype=np.float32):
    draw = np.random.default_rng(0).standard_normal
    sizes = height + 2 * padding[0] - 2, width + 2 * padding[1] - 2
    shapes = (
        (images, inputs, height, width),
        (outputs, inputs, 3, 3),
        (images, outputs, *sizes),
        (outputs,),
    )
    return [draw(shape).astype(dtype) for shape in shapes]


def by_definition(array, weight, grad, bias, padding):
    """The convolution and its gradients, in float64."""
    array, weight, grad = (each.astype(np.float64) for each in (array, weight, grad))
    ones = (1, 1)
    settings = ones, padding, ones
    out = kernels.convolve(
        array, weight[None], bias.astype(np.float64), *settings, np.empty_like(grad)
    )
    back = kernels.spread(grad, weight[None], None, *settings, np.empty_like(array))
    found = kernels.weight_gradient(array, grad, (1, *weight.shape), *settings)
    return out, back, found.reshape(weight.shape)


def winograd(array, weight, grad, bias, padding):
    found = [np.empty_like(grad), np.empty_like(array), np.empty_like(weight)]
    done = [
        native.winograd(0, array, weight, found[0], padding, bias),
        native.winograd(1, found[1], weight, grad, padding, None),
        native.winograd(2, array, found[2], grad, padding, None),
    ]
    return found if all(done) else None


@needs_native
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_winograd_is_the_convolution_and_its_gradients(geometry):
    given, padding = arrays_of(*geometry), geometry[-1]
    found = winograd(*given, padding)
    if found is None:
        pytest.skip("the processor has no AVX-512")
    for own, wanted in zip(found, by_definition(*given, padding), strict=True):
        assert np.abs(own - wanted).max() <= 2e-6 * np.abs(wanted).max()


@needs_native
def test_winograd_does_not_depend_on_the_number_of_threads():
    given = arrays_of(*GEOMETRIES[2])
    before = taper.get_num_threads()
    try:
        found = []
        for threads in (1, 2):
            taper.set_num_threads(threads)
            found.append(winograd(*given, GEOMETRIES[2][-1]))
    finally:
        taper.set_num_threads(before)
    if found[0] is None:
        pytest.skip("the processor has no AVX-512")
    for one, two in zip(*found, strict=True):
        assert one.tobytes() == two.tobytes()


@needs_native
def test_what_is_not_for_winograd_is_left():
    array, weight, grad, bias = arrays_of(*GEOMETRIES[0])
    refused = [
        (array, weight, grad, (0, 0), bias),  # sizes that do not belong together
        (array, weight, grad, (1, 1), bias[:3]),
        (array.astype(np.float64), weight, grad, (1, 1), bias),
        (array.transpose(0, 1, 3, 2), weight, grad, (1, 1), bias),
        (array, weight[:, :, :2].copy(), grad, (1, 1), bias),
        (array, weight[:8], grad[:, :8].copy(), (1, 1), bias[:8]),  # few channels
        (array[:1, :, :3, :3].copy(), weight, grad[:1, :, :3, :3].copy(), (1, 1), bias),
    ]
    for one, two, three, padding, vector in refused:
        assert native.winograd(0, one, two, three, padding, vector) is None
    with pytest.raises(TypeError):
        native.winograd(0, array, weight, grad, (1, 1))


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("options", [{"padding": 1}, {"padding": 1, "stride": 2}, {"groups": 2}])
def test_a_captured_convolution_has_eager_modes_gradients(exact, options):
    def step(x, weight, bias, grad):
        x.grad = weight.grad = bias.grad = None
        out = F.conv2d(x, weight, bias, **options)
        out.backward(grad)
        return out.detach()

    def leaves():
        taper.manual_seed(0)
        inputs = 32 // options.get("groups", 1)
        x, weight, bias = taper.randn(3, 32, 14, 13), taper.randn(32, inputs, 3, 3), taper.randn(32)
        like = F.conv2d(x, weight, bias, **options)
        made = [each.requires_grad_() for each in (x, weight, bias)]
        return [*made, taper.randn(like.shape)]

    eager, own = leaves(), leaves()
    wanted = step(*eager)

    @taper.capture(exact=exact, strict=True)
    def captured():
        return step(*own)

    for _ in range(3):
        found = captured()
    pairs = [(found, wanted), *((a.grad, b.grad) for a, b in zip(own[:3], eager[:3], strict=True))]
    for one, two in pairs:
        if exact:
            assert one.numpy().tobytes() == two.numpy().tobytes()
        else:
            largest = np.abs(two.numpy()).max()
            assert np.abs(one.numpy() - two.numpy()).max() <= 2e-6 * largest
