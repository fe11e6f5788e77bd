"""Modules of PyTorch that taper leaves out on purpose: why, and what to use instead.

Read only when a program has asked for one.
"""

from __future__ import annotations

MODULES = {
    "torch.classes": ("programs are Python", "use Python classes"),
    "torch.contrib": ("it holds PyTorch's experiments", "use `torch.utils.tensorboard`"),
    "torch.cpp": ("programs are Python", "use the module of that name without `cpp`"),
    "torch.export": ("programs run as they are written", "save the state_dict and the source"),
    "torch.monitor": ("it belongs to PyTorch's own services", "use `logging`"),
    "torch.nativert": ("programs are Python", "call the module itself"),
    "torch.nested": ("every tensor has one shape", "pad, or use `nn.utils.rnn.pack_sequence`"),
    "torch.numa": ("the system places processes", "start the launcher under `numactl`"),
    "torch.package": ("files hold tensors and no programs", "save the state_dict"),
    "torch.utils.bottleneck": ("it starts PyTorch's profilers", "use `torch.profiler`"),
    "torch.utils.data.datapipes": ("PyTorch gives them up", "use `IterableDataset`"),
    "torch.utils.mobile_optimizer": ("programs are Python", "call the module itself"),
    "torch.utils.show_pickle": ("it is a program of its own", "use `python -m pickletools`"),
}


def sentence(fullname: str) -> str | None:
    """Return why a module, or something in it, is missing; None if not on purpose.

    >>> sentence("torch.export.save")
    'taper leaves torch.export out on purpose (programs run as they are written): save ...'
    """
    while fullname not in MODULES:
        fullname = fullname.rpartition(".")[0]
        if not fullname:
            return None
    why, instead = MODULES[fullname]
    return f"taper leaves {fullname} out on purpose ({why}): {instead}"
