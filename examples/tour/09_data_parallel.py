"""Data parallelism is hooks: each worker's gradients are averaged as they arrive. Claim J2.

One process plays two workers.  Under `taper run --nproc-per-node 2` there are real ones, and
`all_reduce` takes the place of the sum.
"""

import os

import torch
import torch.distributed as dist
from torch import nn


def make_model():
    torch.manual_seed(0)
    return nn.Linear(2, 1)


x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
label = torch.tensor([[1.0], [0.0], [1.0], [0.0]])


def backward(model, part):
    nn.functional.mse_loss(model(x[part]), label[part]).backward()


def one_process():
    """Two replicas; the hook of the second one to arrive averages for both."""
    replicas = [make_model(), make_model()]
    arrived = {}

    def average(name):
        def hook(parameter):
            arrived.setdefault(name, []).append(parameter)
            if len(arrived[name]) == len(replicas):
                mean = sum(each.grad for each in arrived[name]) / len(replicas)
                for each in arrived[name]:
                    each.grad = mean.clone()
                print("averaged", name)

        return hook

    for model in replicas:
        for name, parameter in model.named_parameters():
            parameter.register_post_accumulate_grad_hook(average(name))
    backward(replicas[0], slice(0, 2))
    backward(replicas[1], slice(2, 4))
    return replicas[0]


def many_processes():
    """One replica in each process; the hook waits for the others' gradients."""
    dist.init_process_group("gloo")
    model = make_model()

    def average(parameter):
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(average)
    size = len(x) // dist.get_world_size()
    part = slice(dist.get_rank() * size, (dist.get_rank() + 1) * size)
    backward(model, part)
    wrapped = nn.parallel.DistributedDataParallel(make_model())  # does the same, in buckets
    backward(wrapped, part)
    if dist.get_rank() == 0:
        print("DistributedDataParallel:", wrapped.module.weight.grad, wrapped.module.bias.grad)
    return model


started_by_launcher = "WORLD_SIZE" in os.environ
model = many_processes() if started_by_launcher else one_process()
if not started_by_launcher or dist.get_rank() == 0:
    whole = make_model()
    backward(whole, slice(0, 4))
    print("averaged over workers:  ", model.weight.grad, model.bias.grad)
    print("of the whole batch:     ", whole.weight.grad, whole.bias.grad)
if started_by_launcher:
    dist.destroy_process_group()
