"""What two processes do together, in PyTorch's words: run with torch or with taper as the package.

`python checks.py PACKAGE FOLDER` writes what each rank saw into FOLDER/RANK.json.
"""

from __future__ import annotations

import datetime
import importlib
import json
import sys
import warnings
from pathlib import Path

p = importlib.import_module(sys.argv[1])
dist = importlib.import_module(f"{sys.argv[1]}.distributed")
R = dist.ReduceOp
DTYPES = "float32 float64 float16 bfloat16 int8 uint8 int16 int32 int64 bool complex64".split()
OPS = "SUM AVG PRODUCT MIN MAX BAND BOR BXOR".split()


def values(rank, dtype):
    return p.tensor([[3, 5, 1], [2, 4, 0]][rank]).to(getattr(p, dtype))


def reduced(rank, dtype, op):
    x = values(rank, dtype)
    dist.all_reduce(x, getattr(R, op))
    return x


def written(make, *targets):
    """The targets after something was written into them."""
    result = make(*targets)
    return (result, *targets)


def on(rank, which, make):
    return make() if rank == which else None


def checks(r):
    o, z = p.ones, p.zeros
    for dtype in DTYPES:
        for op in OPS:
            yield f"all_reduce {dtype} {op}", lambda d=dtype, k=op: reduced(r, d, k)
    yield "large", lambda: written(lambda x: dist.all_reduce(x), o(700_001) * (r + 1))[1].sum()
    yield (
        "large max",
        lambda: written(lambda x: dist.all_reduce(x, R.MAX), p.arange(600_000) * (1 - 2 * r))[
            1
        ].sum(),
    )
    yield "column", lambda: written(lambda x: dist.all_reduce(x), p.arange(6.0).reshape(2, 3).t())
    yield "empty", lambda: written(lambda x: dist.all_reduce(x), o(0))
    yield "zero-d", lambda: written(lambda x: dist.all_reduce(x), p.tensor(2.0))
    yield "leaf", lambda: written(lambda x: dist.all_reduce(x), o(2, requires_grad=True))
    yield (
        "reduce",
        lambda: (
            written(lambda x: dist.reduce(x, 0), o(2) * (r + 1))[1:]
            if r == 0
            else dist.reduce(o(2) * 2, 0)
        ),
    )
    yield "broadcast", lambda: written(lambda x: dist.broadcast(x, 1), o(2) * (r + 1))
    yield (
        "broadcast bool",
        lambda: written(lambda x: dist.broadcast(x, 0), p.tensor([r == 0, True])),
    )
    yield "broadcast 5", lambda: dist.broadcast(o(2), 5)
    yield "broadcast -1", lambda: dist.broadcast(o(2), -1)
    yield "broadcast int16", lambda: dist.broadcast(o(2).short(), 0)
    yield "all_gather", lambda: written(lambda a, b: dist.all_gather([a, b], o(2) * r), z(2), z(2))
    yield "all_gather short list", lambda: dist.all_gather([z(2)], o(2))
    yield "all_gather shapes", lambda: dist.all_gather([z(2), z(3)], o(2))
    yield "all_gather dtypes", lambda: dist.all_gather([z(2), z(2).long()], o(2))
    yield "into", lambda: written(lambda x: dist.all_gather_into_tensor(x, o(2) * r), z(4))
    yield (
        "into rows",
        lambda: written(lambda x: dist.all_gather_into_tensor(x, o(1, 2) * r), z(2, 2)),
    )
    yield "into stacked", lambda: dist.all_gather_into_tensor(z(2, 2), o(2))
    yield "into too long", lambda: dist.all_gather_into_tensor(z(5), o(2))
    yield (
        "reduce_scatter_tensor",
        lambda: written(lambda x: dist.reduce_scatter_tensor(x, p.arange(4.0)), z(2)),
    )
    yield (
        "reduce_scatter_tensor avg",
        lambda: written(lambda x: dist.reduce_scatter_tensor(x, p.arange(4.0) * r, R.AVG), z(2)),
    )
    yield (
        "reduce_scatter",
        lambda: written(lambda x: dist.reduce_scatter(x, [o(2), o(2) * 5]), z(2)),
    )
    yield (
        "reduce_scatter band",
        lambda: written(
            lambda x: dist.reduce_scatter(x, [p.tensor([1, 2]), p.tensor([3, 4])], R.BAND),
            z(2).long(),
        ),
    )
    yield "reduce_scatter short list", lambda: dist.reduce_scatter(z(2), [o(2)])
    yield (
        "gather",
        lambda: written(
            lambda a, b: dist.gather(o(2) * r, [a, b] if r else None, dst=1), z(2), z(2)
        ),
    )
    yield "gather not here", lambda: on(r, 1, lambda: dist.gather(o(2), [z(2)] * 2, dst=0))
    yield "gather nothing", lambda: on(r, 0, lambda: dist.gather(o(2), None, dst=0))
    yield "gather short list", lambda: dist.gather(o(2), [z(2)], dst=r)
    yield "gather shapes", lambda: dist.gather(o(2), [z(2), z(3)], dst=r)
    yield (
        "scatter",
        lambda: written(
            lambda x: dist.scatter(x, [o(2), o(2) * 7] if r == 0 else None, src=0), z(2)
        ),
    )
    yield "scatter shapes", lambda: dist.scatter(o(2), [z(2), z(3)], src=r)
    yield "scatter not here", lambda: on(r, 1, lambda: dist.scatter(o(2), [z(2)] * 2, src=0))
    yield (
        "all_to_all",
        lambda: written(
            lambda a, b: dist.all_to_all([a, b], [o(1) * r, o(1) * (r + 10)]), z(1), z(1)
        ),
    )
    yield (
        "all_to_all_single",
        lambda: written(lambda x: dist.all_to_all_single(x, p.arange(4.0) + 10 * r), z(4)),
    )
    yield (
        "all_to_all_single split",
        lambda: written(
            lambda x: dist.all_to_all_single(x, p.arange(4.0) + 10 * r, [1 + 2 * r] * 2, [1, 3]),
            z(2 + 4 * r),
        ),
    )
    yield (
        "all_to_all_single sum",
        lambda: dist.all_to_all_single(z(4), p.arange(4.0), [1, 2], [1, 3]),
    )
    yield (
        "all_to_all_single count",
        lambda: dist.all_to_all_single(z(4), p.arange(4.0), [1, 2, 1], [1, 3]),
    )
    yield "all_to_all short list", lambda: dist.all_to_all([z(1)], [o(1)])
    yield (
        "send",
        lambda: (
            dist.send(o(2) * 3, 1, tag=7)
            if r == 0
            else written(lambda x: dist.recv(x, 0, tag=7), z(2))
        ),
    )
    yield (
        "recv from anybody",
        lambda: dist.send(o(2) * 4, 1) if r == 0 else written(lambda x: dist.recv(x), z(2)),
    )
    yield (
        "isend",
        lambda: (
            dist.isend(o(2) * 3, 1).wait()
            if r == 0
            else written(lambda x: dist.irecv(x, 0).wait(), z(2))
        ),
    )
    yield (
        "large message",
        lambda: (
            dist.send(o(300_000), 1)
            if r == 0
            else written(lambda x: dist.recv(x, 0), z(300_000))[1].sum()
        ),
    )
    yield "tags", lambda: tags(r)
    yield (
        "batch",
        lambda: written(
            lambda x: [
                w.wait()
                for w in dist.batch_isend_irecv(
                    [dist.P2POp(dist.isend, o(2) * r, 1 - r), dist.P2POp(dist.irecv, x, 1 - r)]
                )
            ],
            z(2),
        ),
    )
    yield "batch of nothing", lambda: dist.batch_isend_irecv([])
    yield "batch of numbers", lambda: dist.batch_isend_irecv([3])
    yield "P2POp of send", lambda: dist.P2POp(dist.send, o(1), 0)
    yield "P2POp", lambda: dist.P2POp(dist.isend, o(1), 1 - r)
    yield "send to oneself", lambda: dist.send(o(1), r)
    yield "work", lambda: work(dist.all_reduce(o(1), async_op=True))
    yield "work of all_gather", lambda: work(dist.all_gather([z(1), z(1)], o(1), async_op=True))
    yield "work of broadcast", lambda: work(dist.broadcast(o(1) * r, 1, async_op=True))
    yield "work of barrier", lambda: work(dist.barrier(async_op=True))
    yield "works in order", lambda: in_order(r)
    yield "coalesced", lambda: written(lambda a, b: dist.all_reduce_coalesced([a, b]), o(1), o(2))
    yield "coalesced dtypes", lambda: dist.all_reduce_coalesced([o(1), o(2).long()])
    yield "all_gather_object", lambda: listed(2, lambda x: dist.all_gather_object(x, {"rank": r}))
    yield (
        "gather_object",
        lambda: listed(2, lambda x: dist.gather_object({"rank": r}, x if r == 0 else None, dst=0)),
    )
    yield (
        "broadcast_object_list",
        lambda: (lambda x: (dist.broadcast_object_list(x, src=1), x))([r, {"rank": r}]),
    )
    yield (
        "scatter_object_list",
        lambda: listed(
            1, lambda x: dist.scatter_object_list(x, ["a", {"b": 1}] if r == 0 else None, src=0)
        ),
    )
    yield (
        "send_object_list",
        lambda: (
            dist.send_object_list([1, "a"], 1)
            if r == 0
            else listed(2, lambda x: dist.recv_object_list(x, 0))
        ),
    )
    yield "objects into nothing", lambda: dist.scatter_object_list([], [1, 2])
    yield from groups(r)
    yield (
        "monitored_barrier",
        lambda: dist.monitored_barrier(timeout=datetime.timedelta(seconds=10)),
    )
    yield "barrier", lambda: dist.barrier()


def listed(count, make):
    x = [None] * count
    return make(x), x


def tags(r):
    if r == 0:
        works = [dist.isend(p.ones(1) * tag, 1, tag=tag) for tag in (1, 2)]
        return [each.wait() for each in works]
    a, b = p.zeros(1), p.zeros(1)
    return dist.recv(b, 0, tag=2), dist.recv(a, 0, tag=1), a, b


def work(w):
    return w.wait(), w.is_completed(), w.is_success(), w.result(), w.get_future().wait()


def in_order(r):
    """Work that is queued, and a call that must wait behind it."""
    tensors = [p.full((40_000,), float(each)) for each in range(5)]
    works = [dist.all_reduce(each, async_op=True) for each in tensors]
    last = p.ones(1)
    dist.all_reduce(last)
    return [w.wait() for w in works], [each[0].item() for each in tensors], last


def groups(r):
    one = p.ones
    made = {}
    yield "new_group of one", lambda: made.setdefault("own", dist.new_group([1])) == -100
    yield "its rank", lambda: (dist.get_rank(made["own"]), dist.get_world_size(made["own"]))
    yield (
        "its collectives",
        lambda: (dist.all_reduce(one(1), group=made["own"]), dist.barrier(group=made["own"])),
    )
    yield (
        "its work",
        lambda: type(dist.all_reduce(one(1), group=made["own"], async_op=True)).__name__,
    )
    yield "no member sends", lambda: on(r, 0, lambda: dist.send(one(1), 0, group=made["own"]))
    yield "twice", lambda: dist.new_group([0, 0])
    yield "unknown", lambda: dist.new_group([0, 5])
    yield "too many", lambda: dist.new_group([0, 1, 2])
    yield "new_group of both", lambda: made.setdefault("both", dist.new_group([1, 0])).size()
    yield "its questions", lambda: questions(made["both"])
    yield (
        "its sum",
        lambda: written(lambda x: dist.all_reduce(x, group=made["both"]), one(2) * (r + 1)),
    )
    yield (
        "its broadcast",
        lambda: written(lambda x: dist.broadcast(x, group_src=1, group=made["both"]), one(2) * r),
    )
    yield "both ranks said", lambda: dist.broadcast(one(1), 0, group_src=0)
    yield "no rank said", lambda: dist.broadcast(one(1))
    yield "subgroups", lambda: [each == -100 for each in dist.new_subgroups(1)[1]]
    yield "subgroups of 3", lambda: dist.new_subgroups(3)
    yield (
        "subgroups listed",
        lambda: [each == -100 for each in dist.new_subgroups_by_enumeration([[0], [1]])[1]],
    )
    yield "in two subgroups", lambda: dist.new_subgroups_by_enumeration([[0], [0, 1]])
    yield "end of a group", lambda: dist.destroy_process_group(made["both"])
    yield "backend", lambda: (dist.get_backend(), dist.get_world_size(), dist.get_rank() == r)


def questions(group):
    ranks = dist.get_process_group_ranks(group)
    return (
        dist.get_rank(group),
        ranks,
        dist.get_global_rank(group, 0),
        dist.get_group_rank(group, 1),
        group.name(),
    )


def outcome(check):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return repr(check())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=30))
    rank = dist.get_rank()
    seen = {name: outcome(check) for name, check in checks(rank)}
    Path(sys.argv[2], f"{rank}.json").write_text(json.dumps(seen, indent=0))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
