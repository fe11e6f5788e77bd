"""Checks of the seam on the fake device, run in a process of their own: prints what failed.

A process with a device in use is another one than the rest of the suite wants: the device stays.
Long because: the checks share that process, and the GPU's tests run the same ones.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import shutil
import subprocess
import sys
import traceback
import warnings

faulthandler.enable()
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import numpy as np  # noqa: E402
from fake import Runtime  # noqa: E402

import taper as torch  # noqa: E402
from taper.arrays.native import native  # noqa: E402
from taper.gpu import state  # noqa: E402
from taper.gpu.array import root_block  # noqa: E402
from taper.gpu.graphs import Graph  # noqa: E402

LIMIT = 64 << 20


def check_where_tensors_are():
    x = torch.ones(2, 3, device="cuda")
    assert str(x.device) == "cuda:0" and x.is_cuda and not x.is_cpu and x.get_device() == 0
    assert x.cpu().device.type == "cpu" and x.cpu().tolist() == [[1.0] * 3] * 2
    assert x.to("cuda") is x and x.cuda() is x and x.cuda(0) is x
    assert (x + x).device == x.device and x.t().device == x.device
    assert repr(x) == "tensor([[1., 1., 1.],\n        [1., 1., 1.]], device='cuda:0')"
    assert torch.zeros_like(x).is_cuda and x.new_ones(2).is_cuda
    assert torch.tensor([1.5], device="cuda:0").item() == 1.5


def check_default_device():
    with torch.device("cuda"):
        assert torch.ones(2).is_cuda and torch.arange(3).is_cuda
    assert torch.ones(2).is_cpu
    torch.set_default_device("cuda")
    try:
        assert torch.zeros(1).is_cuda
    finally:
        torch.set_default_device(None)


def check_mixed_devices():
    x, y = torch.ones(2, device="cuda"), torch.ones(2)
    for call in (lambda: x + y, lambda: y + x, lambda: torch.matmul(x, y)):
        try:
            call()
        except RuntimeError as error:
            assert str(error).startswith("Expected all tensors to be on the same device"), error
        else:
            raise AssertionError("tensors of two devices were combined")
    assert (x * torch.tensor(2.0)).tolist() == [2.0, 2.0]  # a 0-d tensor is a number
    assert (torch.tensor(2.0) * x).is_cuda


def check_no_numpy():
    try:
        torch.ones(2, device="cuda").numpy()
    except TypeError as error:
        assert "can't convert cuda:0 device type tensor to numpy" in str(error)
    else:
        raise AssertionError("an address of the device was given away")


def check_training_equals_the_cpu():
    losses = {}
    for device in ("cpu", "cuda"):
        torch.manual_seed(0)
        net = torch.nn.Sequential(
            torch.nn.Conv2d(1, 4, 3, padding=1),
            torch.nn.BatchNorm2d(4),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
            torch.nn.Flatten(),
            torch.nn.Linear(4 * 16, 8),
            torch.nn.LayerNorm(8),
            torch.nn.GELU(),
            torch.nn.Linear(8, 3),
        )
        x, y = torch.randn(6, 1, 8, 8), torch.arange(6).remainder(3)
        net, x, y = net.to(device), x.to(device), y.to(device)
        optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
        losses[device] = []
        for _ in range(6):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            losses[device].append(loss.item())
    assert np.allclose(losses["cpu"], losses["cuda"], rtol=1e-4), losses
    assert losses["cpu"][-1] < losses["cpu"][0]


def check_memory():
    before = torch.cuda.memory_allocated()
    x = torch.empty(1000, device="cuda")
    assert torch.cuda.memory_allocated() - before == 4096
    view = x[10:]
    del x
    assert torch.cuda.memory_allocated() - before == 4096  # the view holds the room
    del view
    assert torch.cuda.memory_allocated() == before
    assert torch.cuda.max_memory_allocated() >= before + 4096
    assert torch.cuda.memory_reserved() >= torch.cuda.memory_allocated()


def check_out_of_memory():
    held = []
    try:
        while True:
            held.append(torch.empty(1 << 20, device="cuda"))
    except torch.OutOfMemoryError as error:
        assert str(error).startswith("CUDA out of memory. Tried to allocate 4.00 MiB."), error
    count = len(held)
    held.clear()
    again = [torch.empty(1 << 20, device="cuda") for _ in range(count)]  # the room is there again
    assert again[0].is_cuda


def check_classes_under_the_paths_of_pytorch():
    code = """
import taper.compat; taper.compat.install()
import torch
layer = torch.nn.Conv2d(1, 32, 5, padding=2)
x = torch.randn(8, 1, 16, 16)
assert torch.allclose(layer(x).cuda(), layer.cuda()(x.cuda()), atol=1e-5)
"""
    program = f"import fake; from taper.gpu import state; state.start(fake.Runtime({LIMIT}))" + code
    subprocess.run([sys.executable, "-c", program], cwd=HERE, check=True, timeout=60)


def check_all_classes_under_the_paths_of_pytorch():
    code = """
import pkgutil, sys, taper, taper.compat, importlib
from taper.gpu import world
for room in ("ops", "arrays", "sampling"):
    package = importlib.import_module("taper." + room)
    for each in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(each.name)
kinds = {
    kind
    for name, module in list(sys.modules.items())
    if name.startswith("taper.")
    for kind in vars(module).values()
    if isinstance(kind, type) and world._is_ours(kind)
}
taper.compat.install()
import torch
lost = [kind for kind in kinds if not world._is_ours(kind)]
assert len(kinds) > 40 and not lost, (len(kinds), lost)
x = torch.randn(2, 3, 8, 8)
layers = torch.nn.AvgPool2d(2), torch.nn.ConvTranspose2d(3, 2, 3), torch.nn.Upsample(scale_factor=2)
layers += torch.nn.GroupNorm(3, 3), torch.nn.LocalResponseNorm(2), torch.nn.Fold((8, 8), 2)
for layer in layers:
    given = x if not isinstance(layer, torch.nn.Fold) else torch.randn(2, 12, 49)
    wanted = layer(given)
    assert torch.allclose(wanted.cuda(), layer.cuda()(given.cuda()), atol=1e-5), layer
"""
    program = f"import fake; from taper.gpu import state; state.start(fake.Runtime({LIMIT}))" + code
    subprocess.run([sys.executable, "-c", program], cwd=HERE, check=True, timeout=100)


def check_modules_and_operators_refuse_two_devices():
    here, there = torch.ones(2, 2), torch.ones(2, 2, device="cuda")
    where = torch.tensor([0])
    F = torch.nn.functional
    calls = {
        "linear": lambda: torch.nn.Linear(2, 2).cuda()(here),
        "attention": lambda: torch.nn.MultiheadAttention(2, 1).cuda()(here, here, here),
        "loss": lambda: F.cross_entropy(here, torch.tensor([0, 1]).cuda()),
        "target": lambda: F.cross_entropy(there, torch.tensor([0, 1])),
        "embedding": lambda: F.embedding(where, there),
        "read at": lambda: here[where.cuda()],
        "write at": lambda: here.index_put_((where.cuda(),), here[:1]),
        "set item": lambda: here.__setitem__(where.cuda(), here[:1]),
        "index_add_": lambda: here.index_add_(0, where.cuda(), here[:1]),
        "scatter_": lambda: here[0].scatter_(0, where.cuda(), 1.0),
        "masked_scatter_": lambda: here.masked_scatter_(there > 0, here),
        "index_fill_": lambda: there.index_fill_(0, where, 1.0),
        "gather of a number": lambda: torch.tensor(1.0).gather(0, where.cuda()),
        "renorm": lambda: torch.embedding_renorm_(here, where.cuda(), 1.0, 2.0),
    }
    for name, call in calls.items():
        try:
            call()
        except RuntimeError as error:
            assert str(error).startswith("Expected all tensors to be on the same device"), error
        else:
            raise AssertionError(name)
    assert here.eq(1).all() and there.eq(1).all()
    there[torch.tensor([1])] = 2.0  # indices may be on the processor
    assert there[torch.tensor([1])].tolist() == [[2.0, 2.0]]
    there.masked_fill_(there > 1, torch.tensor(3.0))  # and so may numbers
    assert here.fill_(there[1, 1]).tolist() == [[3.0, 3.0]] * 2


def check_no_operator_reads_the_device_beside_the_processor():
    """Whatever tensors of a row are on the device, a call ends with a result or an error."""
    from op_templates import CASES, Call, samples_of

    class Mixed(Call):
        chosen = 0

        def _tensor(self, array):
            tensor = super()._tensor(array)
            if self.chosen >> len(self.tensors) - 1 & 1:
                self.tensors[-1] = tensor = tensor.cuda()
            return tensor

    def run_all(case):
        for sample in list(samples_of(case))[:3]:
            count = len(Call(torch, case, sample, "float32").tensors)
            for Mixed.chosen in range(1, 1 << min(count, 3)):
                with contextlib.suppress(Exception), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    Mixed(torch, case, sample, "float32")()

    def survives(cases):
        child = os.fork()
        if not child:
            for case in cases:
                with contextlib.suppress(Exception):
                    run_all(case)
            os._exit(0)
        return not os.waitpid(child, 0)[1]

    bad = [CASES[nr : nr + 20] for nr in range(0, len(CASES), 20)]
    bad = [case.name for cases in bad if not survives(cases) for case in cases]
    assert not bad, bad


def check_gradients_and_leaves():
    w = torch.ones(3, device="cuda", requires_grad=True)
    (w * w).sum().backward()
    (w * w).sum().backward()
    assert w.grad.is_cuda and w.grad.tolist() == [4.0] * 3
    x = torch.ones(3, requires_grad=True)
    (x.cuda() * 2).sum().backward()  # back over the device's edge
    assert x.grad.is_cpu and x.grad.tolist() == [2.0] * 3
    (g,) = torch.autograd.grad((w**3).sum(), w, create_graph=True)
    assert torch.autograd.grad(g.sum(), w)[0].tolist() == [6.0] * 3


def check_writes():
    x = torch.zeros(3, 4, device="cuda")
    x[1] = 2
    x[:, 1] += 1
    x[x > 2] = -1
    x.t()[2].fill_(7)
    assert x.tolist() == [[0, 1, 7, 0], [2, -1, 7, 2], [0, 1, 7, 0]]
    x.copy_(torch.arange(12.0).reshape(3, 4))
    assert x.sum().item() == 66
    host = torch.empty(3, 4)
    host.copy_(x)
    assert host.sum().item() == 66


def check_batches_of_tensors_on_the_device():
    data = torch.utils.data.TensorDataset(torch.arange(6.0).cuda(), torch.arange(6).cuda())
    found = [each for batch in torch.utils.data.DataLoader(data, 4) for each in batch]
    assert all([each.is_cuda for each in found]) and found[2].tolist() == [4.0, 5.0]
    one, other = data[0][0], data[1][0]
    collate = torch.utils.data.default_collate
    assert collate([{"a": one}, {"a": other}])["a"].tolist() == [0.0, 1.0]
    assert torch.tensor([one, other]).tolist() == [0.0, 1.0]
    assert torch.nn.utils.rnn.pad_sequence([torch.ones(2).cuda(), torch.ones(1).cuda()]).is_cuda


def check_writes_in_place():
    x = torch.arange(6.0).reshape(2, 3).sub(2).cuda().requires_grad_()
    y = x * 1
    place = y.data_ptr()
    y += x.detach()
    y.mul_(3)
    y.sub_(1)
    y.relu_()
    assert y.data_ptr() == place and y._version == 4
    assert y.tolist() == [[0.0, 0.0, 0.0], [5.0, 11.0, 17.0]]
    y.sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0, 0.0], [3.0, 3.0, 3.0]]
    count = torch.zeros((), dtype=torch.int64, device="cuda")
    count.add_(1)
    count.add_(2)
    assert count.item() == 3
    try:
        count.add_(0.5)
    except RuntimeError as error:
        assert "can't be cast to the desired output type Long" in str(error), error
    else:
        raise AssertionError("a fraction was added to integers")


def check_copies_that_do_not_wait():
    runtime = state.runtime
    x = torch.arange(4.0).pin_memory()
    assert x.is_pinned()
    for copy, waits in (
        (lambda: x.cuda(non_blocking=True), 0),
        (lambda: x.to("cuda", non_blocking=True), 0),
        (lambda: x.cuda(), 1),
        (lambda: torch.empty(4).pin_memory().copy_(x.cuda(), non_blocking=True), 1),  # for x
        (lambda: torch.zeros(4, device="cuda").copy_(x, non_blocking=True), 0),
    ):
        before = runtime.waits
        y = copy()
        assert runtime.waits == before + waits
        assert y.tolist() == [0.0, 1.0, 2.0, 3.0]
    y = x.cuda()
    before = runtime.waits
    z = y.to("cpu", non_blocking=True)
    assert z.is_pinned() and runtime.waits == before and z.tolist() == x.tolist()
    assert not y.cpu().is_pinned() and runtime.waits == before + 1


def check_room_of_a_graph():
    runtime = state.runtime
    pool, outside, stream = runtime.pool, runtime.stream, runtime.new_stream(0)
    before = pool.in_use
    runtime.use_stream(stream)
    pool.fit(0)
    try:
        block = pool.take(600_000)
        place = block.address
        del block
        parts = [pool.take(400_000), pool.take(100_000)]
        assert parts[0].address == place  # the room of a larger block that is free
        if type(pool).__name__ == "NativePool":  # and the rest of it
            assert parts[1].address == place + 400_384
            parts.clear()
            assert pool.take(1_500_000).address == place  # neighbours are one again
    finally:
        pool.fit(None)
        runtime.use_stream(outside)
    parts.clear()
    held = pool.hold(stream)
    assert pool.in_use > before
    del held
    pool.give_back()
    assert pool.in_use == before


def _net():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3, padding=1),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(4 * 16, 3),
    ).cuda()


def _losses(captures, steps=8):
    """The losses of a training whose batches, learning rate and clipping come from outside."""
    net = _net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

    def step(x, y):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
        scheduler.step()
        return loss

    run = torch.capture(step) if captures else step
    losses = []
    for nr in range(steps):
        x = torch.arange(32.0).reshape(2, 1, 4, 4).sub(nr).cos().cuda()
        losses.append(run(x, torch.full((2, 3), nr / 4).cuda()))
    numbers = [each.item() for each in losses]  # each loss has memory of its own
    numbers += [p.sum().item() for p in net.parameters()] + [net[1].running_var.sum().item()]
    return [*numbers, net[1].num_batches_tracked.item(), net[0].weight._version], run


def check_captured_training():
    eager, _ = _losses(False)
    captured, run = _losses(True)
    assert np.allclose(eager, captured, rtol=1e-5), (eager, captured)
    assert "graphs and" in run.explain(), run.explain()
    assert "clip_grad_norm_()" in run.explain()
    assert "clip_grad_norm_(net.parameters(), 0.5) [in a graph]" in run.explain(), run.explain()


_OPTIMIZERS = {
    "SGD": {"lr": 0.1},
    "SGD with momentum": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01},
    "Adam": {"lr": 0.1, "amsgrad": True},
    "AdamW": {"lr": 0.1},
    "NAdam": {"lr": 0.1},
    "RAdam": {"lr": 0.1},
    "Adamax": {"lr": 0.1},
    "Adadelta": {"lr": 1.0},
    "Adagrad": {"lr": 0.1, "lr_decay": 0.1},
    "RMSprop": {"lr": 0.01, "momentum": 0.9},
    "Rprop": {"lr": 0.01},
    "ASGD": {"lr": 0.1},
}


def _stepped(name, options, captures, dtype=torch.float32, rate=None):
    """The parameters after steps that some wrapper runs, and that."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)).cuda().to(dtype)
    optimizer = getattr(torch.optim, name.split()[0])(net.parameters(), **options)

    def step(x):
        optimizer.zero_grad()
        net(x).square().sum().backward()
        optimizer.step()

    run = torch.capture(step) if captures else step
    for nr in range(8):
        if nr == 5 and rate:
            optimizer.param_groups[0]["lr"] = rate
        run(torch.arange(6.0).reshape(2, 3).sub(nr).cos().cuda().to(dtype))
    first = next(iter(net.parameters()))
    state = optimizer.state[first]
    numbers = [state[each].item() for each in type(optimizer)._scalars]
    numbers.append(first._version)
    return [p.detach().cpu().float() for p in net.parameters()], numbers, run


def _same(one, other, tolerance=1e-5):
    return all([torch.allclose(*each, tolerance, 1e-6) for each in zip(one, other, strict=True)])


def check_captured_steps():
    for name, options in _OPTIMIZERS.items():
        eager, numbers, _ = _stepped(name, options, False, rate=0.05)
        captured, others, run = _stepped(name, options, True, rate=0.05)
        assert _same(eager, captured) and numbers == others, (name, numbers, others)
        calls = 2 if name in ("RAdam", "ASGD") else 1  # whose rules change in the first steps
        assert f"1 graphs and {calls} calls" in run.explain() or calls == 2, (name, run.explain())


def check_captured_steps_in_half_precision():
    for name in ("SGD", "AdamW"):
        for dtype in (torch.float16, torch.bfloat16):
            eager, _, _ = _stepped(name, _OPTIMIZERS[name], False, dtype)
            captured, _, _ = _stepped(name, _OPTIMIZERS[name], True, dtype)
            assert _same(eager, captured, 0.02), (name, dtype, eager, captured)


def check_capturable():
    for name, options in _OPTIMIZERS.items():
        if name.startswith(("SGD", "Adagrad")):  # which have no such option
            continue
        plain, numbers, _ = _stepped(name, options, False, rate=0.05)
        for captures in (False, True):
            found = _stepped(name, {**options, "capturable": True}, captures, rate=0.05)
            assert _same(plain, found[0], 1e-4), (name, captures, plain, found[0])
            assert np.allclose(numbers, found[1]), (name, captures, numbers, found[1])
    weight = torch.ones(3, requires_grad=True)
    weight.sum().backward()
    try:
        torch.optim.Adam([weight], capturable=True).step()
    except AssertionError as error:
        assert "must be on supported devices" in str(error)
    else:
        raise AssertionError("a capturable step on the CPU")


def _capturable_training(by_hand):
    weight = torch.arange(3.0).cuda().requires_grad_()
    rate, x = torch.tensor(0.1).cuda(), torch.ones(3).cuda()
    optimizer = torch.optim.AdamW([weight], lr=rate, capturable=True)

    def step():
        optimizer.zero_grad()
        (weight * x).square().sum().backward()
        optimizer.step()

    step()
    graph = torch.cuda.CUDAGraph()
    if by_hand:
        with torch.cuda.graph(graph):
            step()
    for nr in range(4):
        x.fill_(1.0 + nr)
        rate.fill_(0.1 / (1 + nr))
        if by_hand:
            graph.replay()
        else:
            step()
    assert optimizer.state[weight]["step"].is_cuda
    return [*weight.tolist(), optimizer.state[weight]["step"].item()]


def check_capturable_graph_by_hand():
    eager, replayed = (_capturable_training(by_hand) for by_hand in (False, True))
    assert np.allclose(eager, replayed), (eager, replayed)


def check_loss_of_half_types():
    logits = torch.arange(30.0).reshape(6, 5).cos()
    here = logits.to(torch.bfloat16).float().requires_grad_()
    target = torch.arange(6).remainder(5)
    wanted = torch.nn.functional.cross_entropy(here, target)
    wanted.backward()
    there = logits.cuda().to(torch.bfloat16).requires_grad_()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        found = torch.nn.functional.cross_entropy(there, target.cuda())
    node = found.grad_fn.next_functions[0][0]  # nothing is cast in between
    assert node.name() == "LogSoftmaxBackward0", node
    assert node.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
    found.backward()
    assert found.dtype is torch.float32 and there.grad.dtype is torch.bfloat16
    assert _same(
        [wanted.detach(), here.grad], [found.detach().cpu(), there.grad.cpu().float()], 0.01
    )


def check_place_of_numbers_for_launches():
    outside = state.runtime.stream
    graph = Graph()
    graph.begin()
    try:
        _ = torch.ones(3).cuda() + 1  # its memory is free again
        place = graph.place((3,), np.dtype(np.float32))
    finally:
        graph.end()
    assert root_block(place).stream == outside != graph.stream


def check_loaded_states():
    weight = torch.ones(3, requires_grad=True)
    other = torch.optim.Adam([weight])
    weight.sum().backward()
    other.step()
    there = torch.ones(3).cuda().requires_grad_()
    optimizer = torch.optim.Adam([there], capturable=True)
    optimizer.load_state_dict(other.state_dict())
    assert all([each.is_cuda for each in optimizer.state[there].values()])


def check_views_of_what_lies_in_another_order():
    x = torch.arange(96.0).reshape(2, 3, 4, 4)
    here, there = x.transpose(1, 2) * 2, x.cuda().transpose(1, 2) * 2
    assert there.stride() == here.stride() != here.contiguous().stride()
    for look in (
        lambda each: each.expand(2, 4, 3, 4),
        lambda each: each.expand(5, 2, 4, 3, 4),
        lambda each: each.as_strided((4, 3), (1, 8), 2),
    ):
        assert look(there).cpu().tolist() == look(here).tolist()
        assert look(there).stride() == look(here).stride()
    there.as_strided((96,), (1,)).mul_(2)  # memory is shared
    assert there.cpu().tolist() == (here * 2).tolist()
    for order in "CFAK":
        assert there._array.ravel(order).tolist() == (here * 2)._array.ravel(order).tolist(), order
        assert there._array.flatten(order).tolist() == (here * 2)._array.flatten(order).tolist()
    assert torch.equal((there @ there.mT).cpu(), (here * 2) @ (here * 2).mT)


def _chain(x, y, row, dtype):
    z = torch.tanh(x * 1.5 + 0.25).exp() - y.t() * row
    half = (z.to(dtype) * 3).relu() + torch.nn.functional.gelu(z.to(dtype))
    return torch.where(z > 0, z / 3, half.float()).abs().sqrt() + row, z.sigmoid()


def _chained(wrap, dtype):
    """Results and gradients of element-wise operations over operands that lie in many ways."""
    x = torch.arange(600.0).reshape(20, 30).cos().cuda().requires_grad_()
    y = torch.arange(600.0).reshape(30, 20).sin().cuda().requires_grad_()
    row = torch.arange(30.0).div(9).cuda().requires_grad_()

    def step():
        one, other = _chain(x, y, row, dtype)
        ((one * other).sum() + one[:, 3:].square().mean()).backward()
        return one, other

    run = wrap(step)
    for _ in range(5):
        for each in (x, y, row):
            each.grad = None
        found = run()
    return [each.detach().cpu() for each in (*found, x.grad, y.grad, row.grad)], run


def check_captured_chains():
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.bfloat16, 0.03)):
        eager, _ = _chained(lambda function: function, dtype)
        captured, run = _chained(torch.capture, dtype)
        for nr, (one, other) in enumerate(zip(eager, captured, strict=True)):
            assert one.stride() == other.stride(), nr
            assert torch.allclose(one, other, tolerance, tolerance), (nr, (one - other).abs().max())
        if shutil.which("g++"):
            assert "= chain: mul add tanh" in run.explain(), run.explain()


def check_arrays_of_the_processor_refuse_the_device():
    x = torch.ones(2, device="cuda")
    array = np.zeros(2)
    if native is not None:
        try:
            array[...] = x._array
        except TypeError as error:
            assert "can't convert cuda:0 device type tensor to numpy" in str(error)
        else:
            raise AssertionError("an address of the device was read")
    array[...] = np.ones(2)
    assert array.tolist() == [1, 1]


def check_captured_forward():
    weight = torch.arange(4.0).cuda().requires_grad_()
    forward = torch.capture(lambda x: (x * weight).sin().sum())
    kept = []
    for nr in range(8):
        x = torch.full((4,), float(nr)).cuda()
        weight.grad = None
        loss = forward(x)
        if nr == 6:
            other = forward(x + 1)  # a second pass while the first is not through
            other.backward()
        loss.backward()
        kept.append(weight.grad)
        wanted = x.cpu() * (x.cpu() * torch.arange(4.0)).cos()
        if nr == 6:
            wanted = wanted + (x.cpu() + 1) * ((x.cpu() + 1) * torch.arange(4.0)).cos()
        assert torch.allclose(weight.grad.cpu(), wanted), nr
    assert len({each.sum().item() for each in kept}) == 8  # held gradients keep their numbers


def check_held_gradients():
    weight = torch.ones(3).cuda().requires_grad_()

    @torch.capture
    def step(x):
        weight.grad = None
        (weight * x).sum().backward()

    kept = []
    for nr in range(12):
        step(torch.full((3,), float(nr)).cuda())
        kept.append(weight.grad)
    assert [each[0].item() for each in kept] == list(map(float, range(12)))
    accumulated = torch.capture(lambda x: (weight * x).sum().backward())
    weight.grad = None
    for _ in range(8):
        accumulated(torch.ones(3).cuda())
    assert weight.grad.tolist() == [8.0] * 3
    with torch.no_grad():
        weight.data = torch.full((3,), 2.0).cuda()  # another memory
    weight.grad = None
    accumulated(torch.ones(3).cuda())
    assert weight.grad.tolist() == [1.0] * 3


def check_graphs_by_hand():
    x, weight = torch.ones(4, device="cuda"), torch.full((4,), 2.0).cuda().requires_grad_()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        assert torch.cuda.is_current_stream_capturing()
        weight.grad = None
        y = x * weight
        y.sum().backward()
    assert not torch.cuda.is_current_stream_capturing()
    for number in (3.0, 5.0):
        x.copy_(torch.full((4,), number))
        graph.replay()
        assert y.tolist() == [2 * number] * 4 and weight.grad.tolist() == [number] * 4
    try:
        torch.cuda.CUDAGraph().replay()
    except RuntimeError as error:
        assert "without a preceding successful capture" in str(error)
    else:
        raise AssertionError("an empty graph was replayed")


def check_graphed_callables():
    layer = torch.nn.Linear(3, 2).cuda()
    copy = torch.nn.Linear(3, 2).cuda()
    copy.load_state_dict(layer.state_dict())
    x = torch.ones(4, 3).cuda()
    made = torch.cuda.make_graphed_callables(layer, (x,))
    assert made is layer
    for nr in range(4):
        x = torch.full((4, 3), nr / 2).cuda()
        losses = [each(x).square().sum() for each in (made, copy)]
        assert torch.allclose(*losses)
        for each in losses:
            each.backward()
    assert torch.allclose(layer.weight.grad, copy.weight.grad)


def check_captured_draws():
    x, found = torch.ones(50).cuda(), []
    for wrap in (torch.capture, lambda function: function):
        torch.manual_seed(3)
        run = wrap(lambda x: torch.nn.functional.dropout(x) + torch.rand_like(x))
        found.append([run(x).sum().item() for _ in range(6)])
    assert found[0] == found[1] and len(set(found[0])) == 6, found


def check_captured_mixture():
    total = torch.zeros(2)

    @torch.capture
    def step(x, y):
        total.add_(x)  # on the processor
        return (x.cuda() * 2 + y).sum()

    found = [step(torch.full((2,), float(nr)), torch.ones(2).cuda()).item() for nr in range(6)]
    assert found == [4.0 * nr + 2 for nr in range(6)], found
    assert total.tolist() == [15.0, 15.0]


def check_rows_of_the_table():
    import table

    rows = table.ROWS[3::16]
    found = {case.name: table.problems_of(case) for case in rows}
    bad = {name: each[0] for name, each in found.items() if each}
    assert len(bad) <= len(rows) // 12, bad


def main() -> None:
    state.start(Runtime(LIMIT))
    failed = 0
    wanted = tuple(sys.argv[1:])  # parts of names
    for name, check in list(globals().items()):
        if name.startswith("check_") and (not wanted or any(each in name for each in wanted)):
            try:
                check()
                print("passed", name, flush=True)
            except BaseException:
                failed += 1
                print("failed", name, flush=True)
                traceback.print_exc(file=sys.stdout)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
