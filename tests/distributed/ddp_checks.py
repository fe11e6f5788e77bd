"""What two processes with DistributedDataParallel do: run with torch or with taper as the package.

`python ddp_checks.py PACKAGE FOLDER` writes what each rank saw into FOLDER/RANK.json.

Long because: one start of two processes serves all checks.
"""

import copy
import datetime
import importlib
import json
import logging
import pickle
import sys
import warnings
from collections import OrderedDict
from pathlib import Path

PACKAGE = sys.argv[1]
p = importlib.import_module(PACKAGE)
dist = importlib.import_module(f"{PACKAGE}.distributed")
checkpoint = importlib.import_module(f"{PACKAGE}.utils.checkpoint").checkpoint
nn, optim = p.nn, p.optim
DDP = nn.parallel.DistributedDataParallel


def algorithm(name):
    return importlib.import_module(f"{PACKAGE}.distributed.algorithms.{name}")


default_hooks = algorithm("ddp_comm_hooks.default_hooks")
power = algorithm("ddp_comm_hooks.powerSGD_hook")
post_local = algorithm("ddp_comm_hooks.post_localSGD_hook")
averagers = algorithm("model_averaging.averagers")
hierarchical = algorithm("model_averaging.hierarchical_model_averager")
joins = algorithm("join")
distributed_optim = importlib.import_module(f"{PACKAGE}.distributed.optim")

RANK = 0


def number(value):
    """A number with as many digits as the order of sums leaves."""
    return round(float(value), 4) + 0.0


def grads(module):
    return [None if each.grad is None else number(each.grad.sum()) for each in module.parameters()]


def inputs():
    return p.arange(6.0).reshape(2, 3) * (RANK + 1)


def small():
    p.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


def future(value):
    result = p.futures.Future()
    result.set_result(value)
    return result


class Branches(nn.Module):
    """A module that may leave out its middle."""

    def __init__(self):
        super().__init__()
        p.manual_seed(0)
        self.a, self.b, self.c = nn.Linear(3, 4), nn.Linear(3, 4), nn.Linear(4, 1)

    def forward(self, x, both=True):
        return self.c(self.a(x) + self.b(x) if both else self.a(x))


class Kinds(nn.Module):
    """Parameters of two dtypes and several sizes."""

    def __init__(self):
        super().__init__()
        p.manual_seed(0)
        self.a, self.b, self.c = nn.Linear(10, 20), nn.Linear(20, 30), nn.Linear(30, 5)
        self.d = nn.Parameter(p.ones(5, dtype=p.float64))

    def forward(self, x):
        return self.c(self.b(self.a(x)).relu()) * self.d


class Checkpointed(nn.Module):
    def __init__(self, reentrant, times):
        super().__init__()
        p.manual_seed(0)
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)
        self.reentrant, self.times = reentrant, times

    def forward(self, x):
        for _ in range(self.times):
            x = checkpoint(self.a, x, use_reentrant=self.reentrant)
        return self.b(x)


class Outputs(nn.Module):
    """Outputs in a structure, one of which a loss may leave out."""

    def __init__(self):
        super().__init__()
        p.manual_seed(0)
        self.a, self.b = nn.Linear(3, 2), nn.Linear(3, 2)

    def forward(self, x):
        return {"a": self.a(x), "b": (self.b(x), 3)}


# --- construction -------------------------------------------------------------------------------


def construction():
    yield "repr", lambda: DDP(small())
    yield "state", lambda: list(DDP(small()).state_dict())
    yield "lazy", lambda: DDP(nn.LazyLinear(3))
    yield "no module", lambda: DDP(3)
    yield "frozen", lambda: DDP(nn.ReLU())
    yield "device_ids", lambda: DDP(small(), device_ids=["cpu"])
    yield "output_device", lambda: DDP(small(), output_device="cpu")
    yield "no device_ids", lambda: type(DDP(small(), device_ids=[])).__name__
    yield "delay", lambda: DDP(small(), delay_all_reduce_named_params=[])
    yield "mesh and group", lambda: DDP(small(), process_group=dist.group.WORLD, device_mesh=3)
    yield "buffers off", lambda: synchronises(False, None)
    yield "buffers on", lambda: synchronises(True, False)
    yield "buffers off and on", lambda: synchronises(False, True)
    yield "parameter counts", lambda: DDP(nn.Linear(3, 4, bias=RANK == 0))
    yield "parameters of rank 0", parameters_of_rank_0
    yield "not synchronised", lambda: parameters_of_rank_0(init_sync=False)
    yield "ignored", ignored
    yield "pickled", pickled
    yield "copied", lambda: grads_after(copy.deepcopy(DDP(small())))
    yield "pickled with a group", lambda: pickle.dumps(DDP(small(), process_group=OTHER[0]))
    yield "with a group", lambda: grads_after(DDP(small(), process_group=OTHER[0]))
    yield "static graph twice", lambda: DDP(small(), static_graph=True)._set_static_graph()


OTHER = []


def synchronises(old, new):
    module = nn.BatchNorm1d(2)
    module.running_mean.fill_(RANK)
    wrapped = DDP(module, broadcast_buffers=old, forward_sync_buffers=new)
    return wrapped.will_sync_module_buffers(), wrapped.broadcast_buffers, module.running_mean


def parameters_of_rank_0(**options):
    module = nn.BatchNorm1d(2)
    with p.no_grad():
        module.weight.fill_(RANK)
        module.running_mean.fill_(RANK)
    DDP(module, **options)
    return module.weight.tolist(), module.running_mean.tolist()


def ignored():
    p.manual_seed(0)
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    with p.no_grad():
        module[0].weight.fill_(RANK)
        module[1].weight.fill_(RANK + 1)
    DDP._set_params_and_buffers_to_ignore_for_model(module, ["0.weight"])
    DDP(module)(p.ones(1, 2) * (RANK + 1)).sum().backward()
    return module[0].weight.tolist(), module[1].weight.tolist(), grads(module)


def pickled():
    return grads_after(pickle.loads(pickle.dumps(DDP(small()))))


def grads_after(module):
    module(inputs()).sum().backward()
    return grads(module)


# --- passes -------------------------------------------------------------------------------------


def passes():
    yield "twice", lambda: steps(DDP(small()), 2)
    yield "eval", lambda: steps(DDP(small()).eval(), 2)
    yield "unused once", lambda: branches([False])
    yield "unused twice", lambda: branches([False, False])
    yield "unused later", lambda: branches([True, False, False])
    find = {"find_unused_parameters": True}
    yield "find", lambda: branches([False, False, True], **find)
    yield "find, other ranks", lambda: branches([RANK == 0, RANK == 1, True], **find)
    yield "find, all used", lambda: branches([True, True], **find)
    static = {"static_graph": True}
    yield "static", lambda: branches([False, False, False], **static)
    yield "static, less", lambda: branches([True, False], **static)
    yield "static, more", lambda: branches([False, True], **static)
    yield "static, all used", lambda: branches([True, True, True], **static)
    for name, options in (("", {}), (" find", find), (" static", static)):
        yield f"backward twice{name}", lambda o=options: backward_twice(**o)
        yield f"forward twice{name}", lambda o=options: forward_twice(**o)
        yield f"two passes{name}", lambda o=options: two_passes(**o)
        yield f"node{name}", lambda o=options: DDP(small(), **o)(inputs()).grad_fn.name()
    yield "checkpoint", lambda: checkpointed(True, 1)
    yield "checkpoint twice", lambda: checkpointed(True, 2)
    yield "checkpoint twice static", lambda: checkpointed(True, 2, **static)
    yield "checkpoint find", lambda: checkpointed(True, 1, **find)
    yield "checkpoint without re-entry", lambda: checkpointed(False, 2)
    yield "no_sync", no_sync
    yield "no_sync forward", lambda: no_sync_part(True)
    yield "no_sync backward", lambda: no_sync_part(False)
    yield "views", views
    yield "views detached", views_detached
    yield "frozen later", frozen_later
    yield "grad", grad_of_grad
    yield "after an error", after_an_error
    yield "outputs", outputs
    yield "no_grad", no_grad
    yield "buffers", buffers
    yield "no buffers", lambda: buffers(forward_sync_buffers=False)


def steps(module, count):
    seen = []
    for _ in range(count):
        module(inputs()).sum().backward()
        seen.append(grads(module))
    return seen


def branches(uses, **options):
    module = DDP(Branches(), **options)
    seen = []
    for use in uses:
        module(inputs(), use).sum().backward()
        seen.append(grads(module))
    return seen


def backward_twice(**options):
    module = DDP(small(), **options)
    loss = module(inputs()).sum()
    loss.backward(retain_graph=True)
    first = grads(module)
    loss.backward()
    return first, grads(module)


def forward_twice(**options):
    module = DDP(small(), **options)
    (module(inputs()).sum() + module(inputs()).sum()).backward()
    return grads(module)


def two_passes(**options):
    module = DDP(small(), **options)
    losses = [module(inputs()).sum() for _ in range(2)]
    for each in losses:
        each.backward()
    return grads(module)


def checkpointed(reentrant, times, **options):
    module = DDP(Checkpointed(reentrant, times), **options)
    for _ in range(2):
        module(inputs().requires_grad_()).sum().backward()
    return grads(module)


def no_sync():
    module = DDP(small())
    with module.no_sync():
        module(inputs()).sum().backward()
        first = grads(module)
    module(inputs()).sum().backward()
    return first, grads(module)


def no_sync_part(is_forward):
    module = DDP(small())
    if is_forward:
        with module.no_sync():
            loss = module(inputs()).sum()
        loss.backward()
    else:
        loss = module(inputs()).sum()
        with module.no_sync():
            loss.backward()
    return grads(module)


def views():
    module = DDP(small(), gradient_as_bucket_view=True)
    seen = []
    for step in range(4):
        module(inputs()).sum().backward()
        grad = module.module[0].weight.grad
        seen.append((grads(module), grad._base is not None, grad.storage_offset()))
        if step < 2:
            module.zero_grad(set_to_none=step == 0)
    return seen


def views_detached():
    module = DDP(small(), gradient_as_bucket_view=True)
    module(inputs()).sum().backward()
    module.module[0].weight.grad.detach_()


def frozen_later():
    module = DDP(small())
    module.module[0].weight.requires_grad_(False)
    return grads_after(module)


def grad_of_grad():
    module = DDP(small())
    loss = module(inputs()).pow(2).sum()
    (grad,) = p.autograd.grad(loss, [module.module[2].bias], create_graph=True)
    grad.sum().backward()
    return grads(module)


def after_an_error():
    module = DDP(small())
    handle = module.module[0].weight.register_hook(lambda grad: 1 / 0)
    try:
        module(inputs()).sum().backward()
    except ZeroDivisionError:
        handle.remove()
    module(inputs())


def outputs():
    module = DDP(Outputs(), find_unused_parameters=True)
    result = module(inputs())
    result["a"].sum().backward()
    first = grads(module)
    result = module(inputs())
    return first, type(result["b"]).__name__, result["b"][0].grad_fn.name(), result["b"][1]


def no_grad():
    module = DDP(small())
    with p.no_grad():
        result = module(inputs()).requires_grad
    return result, steps(module, 2)


def buffers(**options):
    module = DDP(nn.BatchNorm1d(3), **options)
    seen = [module.will_sync_module_buffers()]

    def see():
        seen.append([number(each) for each in module.module.running_mean])

    for step in range(2):
        module(inputs() + RANK * step).sum().backward()
        see()
    module.eval()
    module(inputs())
    see()
    with p.no_grad():
        module(inputs())
    with module.no_sync():
        seen.append(module.will_sync_module_buffers())
    module.train()
    for _ in range(2):
        module(inputs())
        see()
    with module.no_sync():
        module(inputs())
    see()
    return seen


# --- buckets and hooks ----------------------------------------------------------------------------


def hooks():
    cap = {"bucket_cap_mb": 0.001}
    yield "buckets", lambda: buckets()
    yield "buckets small", lambda: buckets(**cap)
    yield "buckets find", lambda: buckets(find_unused_parameters=True, **cap)
    yield "buckets static", lambda: buckets(static_graph=True, **cap)
    yield "buckets static unused", static_buckets
    sizes = [p.empty(each) for each in (10, 20)] + [p.empty(3, dtype=p.float64)]
    sizes += [p.empty(each) for each in (30, 5, 5)]
    divide = dist._compute_bucket_assignment_by_size
    yield "assignment", lambda: divide(sizes, [100, 160])
    yield "assignment in order", lambda: divide(sizes, [100, 160], [False] * 6, [5, 4, 3, 2, 1, 0])
    yield "assignment to one", lambda: divide(sizes, [sys.maxsize])
    yield "hook order", hook_order
    yield "hook 3", lambda: hooked(3)
    yield "hook of one", lambda: hooked(lambda state: None)
    yield "hook of 3", lambda: hooked(lambda state, bucket: future(3))
    yield "hook raises", lambda: hooked(lambda state, bucket: 1 / 0)
    yield "hook annotation", lambda: hooked(wrong_bucket)
    yield "hook result", lambda: hooked(wrong_result)
    yield "hook annotated", lambda: hooked(right)
    yield "hook twice", hook_twice
    yield "hook late", hook_late
    yield (
        "hook in another dtype",
        lambda: hooked(lambda s, bucket: future(bucket.buffer().double())),
    )
    yield "set_buffer", lambda: hooked(replacing)
    yield "new result", lambda: hooked(sevens, gradient_as_bucket_view=True)
    yield "collectives in callbacks", lambda: hooked(chained)
    for name in ("allreduce_hook", "fp16_compress_hook"):
        yield name, lambda n=name: trained(getattr(default_hooks, n))
    yield "fp16 wrapper", lambda: trained(default_hooks.fp16_compress_wrapper(sevenths))
    yield "PowerSGD too early", lambda: power.PowerSGDState(None, start_powerSGD_iter=1)
    yield "PowerSGD state", lambda: sorted(power.PowerSGDState(None).__getstate__())
    for rank in (1, 2, 3):
        for options in (
            {},
            {"warm_start": False},
            {"use_error_feedback": False},
            {"batch_tensors_with_same_shape": True},
        ):
            name = f"PowerSGD {rank} {' '.join(options)}"
            yield (
                name,
                lambda r=rank, o=options: trained(
                    power.powerSGD_hook, power.PowerSGDState(None, r, 2, 1, **o)
                ),
            )
    yield (
        "PowerSGD in half precision",
        lambda: trained(
            default_hooks.fp16_compress_wrapper(power.powerSGD_hook),
            power.PowerSGDState(None, 1, 2, 1),
        ),
    )
    yield from averages()


def wrong_bucket(state, bucket: int):
    pass


def wrong_result(state, bucket: dist.GradBucket) -> int:
    pass


def right(state, bucket: dist.GradBucket) -> p.futures.Future[p.Tensor]:
    return future(bucket.buffer())


def replacing(state, bucket):
    bucket.set_buffer(p.ones_like(bucket.buffer()) * 7)
    return future(bucket.buffer())


def sevens(state, bucket):
    return future(p.ones_like(bucket.buffer()) * 7)


def sevenths(state, bucket):
    return future(bucket.buffer() / 7)


def chained(state, bucket):
    """A hook whose callbacks send, too."""

    def again(done):
        value = done.value()[0]
        return dist.all_reduce(value, async_op=True).get_future().wait()[0]

    return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(again)


def buckets(**options):
    module, seen = DDP(Kinds(), **options), []

    def hook(state, bucket):
        shapes = [list(each.shape) for each in bucket.parameters()]
        assert shapes == [list(each.shape) for each in bucket.gradients()]
        seen.append((bucket.index(), bucket.is_last(), bucket.buffer().numel(), shapes))
        return future(bucket.buffer())

    module.register_comm_hook(None, hook)
    for _ in range(4):
        seen.append("pass")
        module(p.ones(2, 10) * (RANK + 1)).sum().backward()
    return seen


def static_buckets():
    module, seen = DDP(Branches(), static_graph=True, bucket_cap_mb=0.00001), []

    def hook(state, bucket):
        seen.append((bucket.index(), [list(each.shape) for each in bucket.parameters()]))
        return future(bucket.buffer())

    module.register_comm_hook(None, hook)
    for _ in range(3):
        module(inputs(), False).sum().backward()
    return seen


def hook_order():
    module, seen = DDP(small(), bucket_cap_mb=0.00001), []
    for name, parameter in module.named_parameters():
        parameter.register_hook(lambda grad, n=name: seen.append(f"hook {n}"))
        parameter.register_post_accumulate_grad_hook(
            lambda each, n=name: seen.append(f"post {n} {number(each.grad.sum())}")
        )

    def hook(state, bucket):
        seen.append(f"sent {bucket.index()} {bucket.is_last()}")
        return future(bucket.buffer())

    module.register_comm_hook(None, hook)
    steps(module, 2)
    return seen


def hooked(hook, **options):
    module = DDP(small(), **options)
    module.register_comm_hook(None, hook)
    return steps(module, 2)


def hook_twice():
    module = DDP(small())
    module.register_comm_hook(None, right)
    module.register_comm_hook(None, right)


def hook_late():
    module = DDP(small())
    steps(module, 1)
    module.register_comm_hook(None, right)
    return steps(module, 1)


def trained(hook=None, state=None, count=4, average=None, around=None):
    p.manual_seed(0)
    module = DDP(nn.Sequential(nn.Linear(8, 12), nn.Tanh(), nn.Linear(12, 6)))
    if hook is not None:
        module.register_comm_hook(state, hook)
    optimizer = optim.SGD(module.parameters(), lr=0.1)
    if around is not None:
        optimizer = around(optimizer)
    p.manual_seed(5 + RANK)
    losses = []
    for _ in range(count):
        optimizer.zero_grad()
        loss = module(p.randn(4, 8)).pow(2).mean()
        loss.backward()
        optimizer.step()
        if average is not None:
            average.average_parameters(module.parameters())
        losses.append(number(loss))
    return losses, [number(each.sum()) for each in module.parameters()], grads(module)


def averages():
    local = post_local.PostLocalSGDState
    hook = post_local.post_localSGD_hook
    periodic = averagers.PeriodicModelAverager
    yield "post-local", lambda: trained(hook, local(None, OTHER[1], 2))
    yield "averager", lambda: trained(hook, local(None, OTHER[1], 2, False), 5, periodic(2, 1))
    yield (
        "optimizer",
        lambda: trained(
            hook,
            local(None, OTHER[1], 2),
            5,
            around=lambda o: distributed_optim.PostLocalSGDOptimizer(o, periodic(2, 1)),
        ),
    )
    yield (
        "hierarchy",
        lambda: trained(
            hook,
            local(None, OTHER[1], 1, False),
            5,
            hierarchical.HierarchicalModelAverager(OrderedDict([(2, 2)]), 1),
        ),
    )
    yield "period 0", lambda: periodic(0)
    yield "steps -1", lambda: periodic(1, -1)
    yield "no hierarchy", lambda: hierarchical.HierarchicalModelAverager(OrderedDict())
    yield "hierarchy of 1", lambda: hierarchical.HierarchicalModelAverager(OrderedDict([(2, 1)]))


# --- uneven inputs --------------------------------------------------------------------------------


def uneven():
    yield "join", lambda: joined([2, 4])
    yield "join, other rank", lambda: joined([4, 2])
    yield "join, even", lambda: joined([3, 3])
    yield "join, none", lambda: joined([0, 3])
    yield "join, divided", lambda: joined([2, 4], divide_by_initial_world_size=False)
    yield "join, views", lambda: joined([2, 4], module={"gradient_as_bucket_view": True})
    yield "join, find", lambda: joined([2, 4], module={"find_unused_parameters": True})
    yield "join, raising", lambda: joined([2, 4], throw_on_early_termination=True)
    yield "join, off", lambda: joined([2, 2], enable=False)
    yield "join, buffers", join_buffers
    yield "join, no_sync", join_no_sync
    yield "Join of nothing", lambda: joins.Join([])
    yield "Join of 3", lambda: joins.Join([3])
    yield "own joinable", own_joinable


def joined(counts, module=None, **options):
    p.manual_seed(0)
    net = DDP(nn.Sequential(nn.Linear(8, 12), nn.Tanh(), nn.Linear(12, 6)), **(module or {}))
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    p.manual_seed(5 + RANK)
    losses = []
    with net.join(**options):
        for _ in range(counts[RANK]):
            optimizer.zero_grad()
            loss = net(p.randn(4, 8)).pow(2).mean()
            loss.backward()
            optimizer.step()
            losses.append(number(loss))
    return losses, [number(each.sum()) for each in net.parameters()]


def join_buffers():
    p.manual_seed(0)
    net = DDP(nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4)))
    p.manual_seed(5 + RANK)
    with net.join():
        for _ in range([2, 4][RANK]):
            net(p.randn(4, 8)).pow(2).mean().backward()
    return [number(each) for each in net.module[1].running_mean], net.module[1].num_batches_tracked


def join_no_sync():
    net = DDP(small())
    with net.join():
        for step in range([2, 4][RANK]):
            if step % 2 == 0:
                with net.no_sync():
                    net(inputs()).sum().backward()
            else:
                net(inputs()).sum().backward()
    return grads(net)


class Sum(joins.Joinable):
    def __init__(self):
        super().__init__()
        self.total = 0

    def __call__(self):
        joins.Join.notify_join_context(self)
        value = p.ones(1)
        dist.all_reduce(value)
        self.total += value.item()

    def join_hook(self, **options):
        return SumHook(self)

    @property
    def join_device(self):
        return p.device("cpu")

    @property
    def join_process_group(self):
        return dist.group.WORLD


class SumHook(joins.JoinHook):
    def __init__(self, owner):
        self.owner = owner

    def main_hook(self):
        dist.all_reduce(p.zeros(1))

    def post_hook(self, is_last_joiner):
        self.owner.total = (self.owner.total, is_last_joiner)


def own_joinable():
    counter = Sum()
    with joins.Join([counter]):
        for _ in range(3 + RANK):
            counter()
    return counter.total


def outcome(check):
    try:
        return repr(check())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def main():
    global RANK
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=30))
    RANK = dist.get_rank()
    OTHER.append(dist.new_group([0, 1]))
    OTHER.append(dist.new_subgroups(1)[0])
    every = [*construction(), *passes(), *hooks(), *uneven()]
    seen = {}
    for name, check in every:
        seen[name] = outcome(check)
        dist.barrier()  # whatever one rank does, all begin the next check together
    Path(sys.argv[2], f"{RANK}.json").write_text(json.dumps(seen, indent=0))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
