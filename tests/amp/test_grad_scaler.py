"""`GradScaler`: scaling, looking for infinities, stepping, and the scale itself."""

from __future__ import annotations

import copy
import math
import pickle
import warnings

import pytest

NO_SCALE = (
    "Attempted {} but _scale is None.  This may indicate your script did not use "
    "scaler.scale\\(loss or outputs\\) earlier in the iteration."
)


def optimizer_of(torch, grad=(1.0, 2.0), kind="SGD", **options):
    weight = torch.nn.Parameter(torch.ones(2))
    weight.grad = torch.tensor(grad)
    return weight, getattr(torch.optim, kind)([weight], lr=1.0, **options)


def scaler_of(torch, scale=4.0, **options):
    scaler = torch.amp.GradScaler("cpu", init_scale=scale, **options)
    scaler.scale(torch.ones(1))
    return scaler


# --- scaling ---------------------------------------------------------------------------------


def test_losses_are_scaled(torch):
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    assert (scaler.get_scale(), scaler.is_enabled()) == (4.0, True)
    one = torch.ones(1)
    found = scaler.scale([one, (one.half(), one.double())])
    assert [found[0].item(), found[1][0].item(), found[1][1].item()] == [4.0] * 3
    assert [each.dtype for each in found[1]] == [torch.float16, torch.float64]
    assert scaler.scale(torch.ones((), dtype=torch.bfloat16)).dtype is torch.float32
    assert [each.item() for each in scaler.scale(iter([one, one]))] == [4.0, 4.0]
    loss = torch.tensor(2.0, requires_grad=True)
    assert scaler.scale(loss).grad_fn.name() == "MulBackward0"
    with pytest.raises(ValueError, match="outputs must be a Tensor or an iterable of Tensors"):
        scaler.scale(3)


def test_a_whole_step(torch):
    weight, optimizer = optimizer_of(torch)
    optimizer.zero_grad()
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    scaler.scale((weight * torch.tensor([1.0, 3.0])).sum()).backward()
    assert weight.grad.tolist() == [1024.0, 3072.0]
    assert scaler.step(optimizer) is None
    assert weight.grad.tolist() == [1.0, 3.0]
    assert weight.tolist() == [0.0, -2.0]
    scaler.update()
    assert (scaler.get_scale(), scaler._get_growth_tracker()) == (1024.0, 1)


# --- infinities ------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_a_step_with_bad_gradients_is_skipped(torch, bad):
    weight, optimizer = optimizer_of(torch, (4.0, bad))
    scaler = scaler_of(torch)
    assert scaler.step(optimizer) is None
    assert weight.tolist() == [1.0, 1.0]
    assert weight.grad[0].item() == 1.0
    scaler.update()
    assert scaler.get_scale() == 2.0


def test_the_scale_grows_and_shrinks(torch):
    scaler = scaler_of(torch, growth_factor=3.0, backoff_factor=0.25, growth_interval=2)
    seen = []
    for grad in (1.0, 1.0, 1.0, math.inf, 1.0, 1.0):
        _, optimizer = optimizer_of(torch, (grad, 1.0))
        scaler.step(optimizer)
        scaler.update()
        seen.append((scaler.get_scale(), scaler._get_growth_tracker()))
    assert seen == [(4.0, 1), (12.0, 0), (12.0, 1), (3.0, 0), (3.0, 1), (9.0, 0)]


def test_gradients_are_unscaled_to_be_clipped(torch):
    weight, optimizer = optimizer_of(torch, (4.0, 8.0))
    scaler = scaler_of(torch)
    scaler.unscale_(optimizer)
    assert weight.grad.tolist() == [1.0, 2.0]
    torch.nn.utils.clip_grad_norm_([weight], 1.0)
    scaler.step(optimizer)
    assert weight.tolist() == pytest.approx([1 - 1 / 5**0.5, 1 - 2 / 5**0.5], abs=1e-6)


def test_several_optimizers(torch):
    first, one = optimizer_of(torch, (4.0, math.inf))
    second, two = optimizer_of(torch, (4.0, 8.0))
    scaler = scaler_of(torch)
    scaler.unscale_(two)
    scaler.step(one)
    scaler.step(two)
    assert (first.tolist(), second.tolist()) == ([1.0, 1.0], [0.0, -1.0])
    scaler.update()
    assert scaler.get_scale() == 2.0


@pytest.mark.parametrize("name", ["float64", "bfloat16"])
def test_other_dtypes(torch, name):
    weight = torch.nn.Parameter(torch.ones(2, dtype=getattr(torch, name)))
    weight.grad = torch.full_like(weight, 4.0)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler_of(torch).step(optimizer)
    assert (weight.tolist(), weight.grad.tolist()) == ([0.0, 0.0], [1.0, 1.0])


def test_refused_gradients(torch):
    weight = torch.nn.Parameter(torch.ones(2, dtype=torch.float16))
    weight.grad = torch.ones_like(weight)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler = scaler_of(torch)
    with pytest.raises(ValueError, match=r"Attempting to unscale FP16 gradients\."):
        scaler.unscale_(optimizer)
    with pytest.raises(ValueError, match=r"Attempting to unscale FP16 gradients\."):
        scaler.step(optimizer)
    assert weight.grad.tolist() == [1.0, 1.0]


# --- errors ----------------------------------------------------------------------------------


def test_factors_are_checked(torch):
    with pytest.raises(AssertionError, match=r"The growth factor must be > 1\.0\."):
        torch.amp.GradScaler("cpu", growth_factor=1.0)
    with pytest.raises(AssertionError, match=r"The backoff factor must be < 1\.0\."):
        torch.amp.GradScaler("cpu", backoff_factor=1.0)


def test_calls_in_the_wrong_order(torch):
    _, optimizer = optimizer_of(torch)
    scaler = torch.amp.GradScaler("cpu")
    for name, call in (
        ("step", lambda: scaler.step(optimizer)),
        ("unscale_", lambda: scaler.unscale_(optimizer)),
        ("update", lambda: scaler.update()),
        ("update", lambda: scaler.update(2.0)),
    ):
        with pytest.raises(AssertionError, match=NO_SCALE.format(name)):
            call()
    scaler.scale(torch.ones(1))
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        scaler.update()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) has already been called on this optim"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called since the last"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) is being called after step\(\)"):
        scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="Closure use is not currently supported if GradScaler"):
        scaler.step(optimizer, closure=lambda: 1.0)
    scaler.update()
    assert scaler.step(optimizer) is None


def test_an_optimizer_without_gradients(torch):
    weight, optimizer = optimizer_of(torch)
    weight.grad = None
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer"):
        scaler_of(torch).step(optimizer)


def test_the_scale_may_be_set(torch):
    scaler = scaler_of(torch)
    scaler.update(8.0)
    assert scaler.get_scale() == 8.0
    scaler.update(torch.tensor(3.0))
    assert scaler.get_scale() == 3.0
    for bad in (torch.tensor([3.0, 2.0]), torch.tensor(3.0, requires_grad=True)):
        with pytest.raises(AssertionError, match="new_scale should be a float or a 1-element"):
            scaler.update(bad)
    scaler.set_growth_factor(5.0)
    scaler.set_backoff_factor(0.125)
    scaler.set_growth_interval(7)
    found = scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()
    assert found == (5.0, 0.125, 7)


# --- disabled --------------------------------------------------------------------------------


def test_disabled(torch):
    weight, optimizer = optimizer_of(torch)
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    loss = torch.ones(1)
    assert scaler.scale(loss) is loss
    assert scaler.unscale_(optimizer) is None
    assert scaler.step(optimizer, lambda: 1.5) == 1.5
    assert weight.tolist() == [0.0, -1.0]
    assert scaler.update() is None
    assert (scaler.get_scale(), scaler.is_enabled(), scaler._get_growth_tracker()) == (
        1.0,
        False,
        0,
    )
    assert scaler.state_dict() == {}
    assert scaler.load_state_dict({}) is None


def test_without_cuda_it_is_disabled(torch):
    with pytest.warns(UserWarning, match="enabled, but CUDA is not available.  Disabling"):
        assert not torch.amp.GradScaler().is_enabled()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not torch.amp.GradScaler("cuda", enabled=False).is_enabled()


# --- keeping it ------------------------------------------------------------------------------


def test_the_state_goes_into_a_dictionary_and_back(torch):
    scaler = scaler_of(torch, growth_interval=3)
    _, optimizer = optimizer_of(torch)
    scaler.step(optimizer)
    scaler.update()
    state = scaler.state_dict()
    assert state == {
        "scale": 4.0,
        "growth_factor": 2.0,
        "backoff_factor": 0.5,
        "growth_interval": 3,
        "_growth_tracker": 1,
    }
    for other in (torch.amp.GradScaler("cpu"), scaler_of(torch, 1.0)):
        other.load_state_dict(state)
        assert other.state_dict() == state
        assert other.scale(torch.ones(1)).item() == 4.0
    with pytest.raises(RuntimeError, match="The source state dict is empty, possibly because it"):
        scaler.load_state_dict({})


def test_pickling(torch):
    scaler = scaler_of(torch)
    _, optimizer = optimizer_of(torch)
    scaler.step(optimizer)
    with pytest.raises(AssertionError, match="may only be pickled at the beginning of an iterat"):
        pickle.dumps(scaler)
    scaler.update()
    for other in (pickle.loads(pickle.dumps(scaler)), copy.deepcopy(scaler)):
        assert other.state_dict() == scaler.state_dict()
        assert other._scale is None
    disabled = torch.amp.GradScaler("cpu", enabled=False)
    assert not pickle.loads(pickle.dumps(disabled)).is_enabled()


# --- optimizers that unscale themselves ------------------------------------------------------


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "Adagrad"])
@pytest.mark.parametrize("unscale", [True, False])
def test_fused_optimizers(torch, kind, unscale):
    def trained(scaler, **options):
        weight, optimizer = optimizer_of(torch, (4.0, 8.0), kind, **options)
        for _ in range(3):
            weight.grad.copy_(torch.tensor([4.0, -2.0]))
            if scaler is None:
                weight.grad.div_(4.0)
                optimizer.step()
                continue
            if unscale:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
        assert weight.grad.tolist() == [1.0, -0.5]
        assert not hasattr(optimizer, "grad_scale") and not hasattr(optimizer, "found_inf")
        return weight.tolist()

    assert trained(scaler_of(torch), fused=True) == pytest.approx(trained(None), abs=1e-6)
    assert trained(scaler_of(torch)) == pytest.approx(trained(None), abs=1e-6)


@pytest.mark.parametrize("kind", ["Adam", "AdamW", "Adagrad"])
def test_fused_optimizers_skip_bad_gradients(torch, kind):
    weight, optimizer = optimizer_of(torch, (4.0, math.inf), kind, fused=True)
    scaler = scaler_of(torch)
    scaler.step(optimizer)
    scaler.update()
    assert (weight.tolist(), weight.grad.tolist()) == ([1.0, 1.0], [4.0, math.inf])
    assert optimizer.state[weight]["step"].item() == 0
    assert scaler.get_scale() == 2.0


def test_own_optimizers_find_what_was_set(torch):
    seen = []

    class Own(torch.optim.SGD):
        _step_supports_amp_scaling = True

        def step(self, closure=None):
            scale = self.grad_scale
            seen.append((None if scale is None else scale.item(), float(self.found_inf)))
            return 5

    for unscale in (True, False):
        for grad in (1.0, math.inf):
            weight = torch.nn.Parameter(torch.ones(1))
            weight.grad = torch.tensor([grad])
            optimizer, scaler = Own([weight], lr=1.0), scaler_of(torch)
            if unscale:
                scaler.unscale_(optimizer)
            assert scaler.step(optimizer) == 5
    assert seen == [(None, 0.0), (None, 1.0), (4.0, 0.0), (4.0, 1.0)]


def test_own_optimizers_may_take_the_scaler(torch):
    seen = []

    class Own(torch.optim.SGD):
        _step_supports_amp_scaling = True

        def step(self, closure=None, grad_scaler=None):
            seen.append(grad_scaler)

    scaler = scaler_of(torch)
    with pytest.warns(FutureWarning, match="GradScaler is going to stop passing itself as a keyw"):
        scaler.step(Own([torch.nn.Parameter(torch.ones(1))], lr=1.0))
    assert seen == [scaler]


# --- the functions on tensors ----------------------------------------------------------------


def test_unscaling_tensors(torch):
    grads = [torch.ones(2), torch.tensor([math.nan]), torch.zeros(0), torch.ones(1).half()]
    found = torch.zeros(1)
    torch._amp_foreach_non_finite_check_and_unscale_(grads, found, torch.tensor(0.5))
    assert [grads[0].tolist(), grads[3].tolist(), found.item()] == [[0.5, 0.5], [0.5], 1.0]
    overflow, found = [torch.full((1,), 60000.0).half()], torch.zeros(1)
    torch._amp_foreach_non_finite_check_and_unscale_(overflow, found, torch.tensor(4.0))
    assert (overflow[0].item(), found.item()) == (math.inf, 0.0)
    for inverse, flag, text in (
        (torch.ones(2), torch.zeros(1), "inv_scale must be a 1-element tensor."),
        (torch.ones(1), torch.zeros(2), "found_inf must be a 1-element tensor."),
        (torch.ones(1).double(), torch.zeros(1), "inv_scale must be a float tensor."),
        (torch.ones(1), torch.zeros(1).double(), "found_inf must be a float tensor."),
    ):
        with pytest.raises(RuntimeError, match=text):
            torch._amp_foreach_non_finite_check_and_unscale_([torch.ones(1)], flag, inverse)
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        torch._amp_foreach_non_finite_check_and_unscale_(
            [torch.ones(1).long()], torch.zeros(1), torch.ones(1)
        )


def test_updating_a_scale(torch):
    scale, tracker = torch.tensor(4.0), torch.tensor(0, dtype=torch.int32)
    update = torch._amp_update_scale_
    assert update(scale, tracker, torch.zeros(1), 2.0, 0.5, 1) is scale
    assert (scale.item(), tracker.item()) == (8.0, 0)
    assert update(scale, tracker, torch.ones(1), 2.0, 0.5, 1).item() == 4.0
    large = torch.tensor(3e38)
    assert update(large, tracker, torch.zeros(1), 2.0, 0.5, 1).item() < math.inf
    with pytest.raises(RuntimeError, match="growth_tracker must be an int tensor"):
        update(scale, torch.tensor(0.0), torch.ones(1), 2.0, 0.5, 1)
    with pytest.raises(RuntimeError, match="current_scale must be a float tensor"):
        update(scale.double(), tracker, torch.ones(1), 2.0, 0.5, 1)
