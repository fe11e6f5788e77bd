"""What the reducer of `DistributedDataParallel` says when gradients do not come as they should."""

from __future__ import annotations

from collections.abc import Sequence

from taper.distributed.debug_level import DebugLevel, get_debug_level


def not_finished(
    late: Sequence[int], names: dict[int, str], finds_unused: bool, rank: int
) -> RuntimeError:
    """Return the error for a pass that began while gradients of the one before had not come."""
    parts = [
        "Expected to have finished reduction in the prior iteration before starting a new one. "
        "This error indicates that your module has parameters that were not used in producing "
        "loss. "
    ]
    if finds_unused:
        parts.append(
            "Since `find_unused_parameters=True` is enabled, this likely  means that not all "
            "`forward` outputs participate in computing loss. You can fix this by "
        )
    else:
        parts.append(
            "You can enable unused parameter detection by passing the keyword argument "
            "`find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by "
        )
    parts.append(
        "\nmaking sure all `forward` function outputs participate in calculating loss. \nIf you "
        "already have done the above, then the distributed data parallel module wasn't able to "
        "locate the output tensors in the return value of your module's `forward` function. Please "
        "include the loss function and the structure of the return value of `forward` of your "
        "module when reporting this issue (e.g. list, dict, iterable)."
    )
    named = ", ".join(sorted(names.get(each, "") for each in late))
    says_names = get_debug_level() is not DebugLevel.OFF
    if says_names:
        parts.append(f"\nParameters which did not receive grad for rank {rank}: {named}")
    indices = " ".join(map(str, late))
    parts.append(f"\nParameter indices which did not receive grad for rank {rank}: {indices}")
    if not says_names:
        parts.append(
            "\n In addition, you can set the environment variable TORCH_DISTRIBUTED_DEBUG to "
            "either INFO or DETAIL to print out information about which particular parameters did "
            "not receive gradient on this rank as part of this error"
        )
    return RuntimeError("".join(parts))


def marked_twice(index: int, names: dict[int, str]) -> RuntimeError:
    """Return the error for a gradient that came twice in one pass."""
    return RuntimeError(
        "Expected to mark a variable ready only once. This error is caused by one of the following "
        "reasons: 1) Use of a module parameter outside the `forward` function. Please make sure "
        "model parameters are not shared across multiple concurrent forward-backward passes. or "
        "try to use _set_static_graph() as a workaround if this module graph does not change "
        "during training loop.2) Reused parameters in multiple reentrant backward passes. For "
        "example, if you use multiple `checkpoint` functions to wrap the same part of your model, "
        "it would result in the same set of parameters been used by different reentrant backward "
        "passes multiple times, and hence marking a variable ready multiple times. DDP does not "
        "support such use cases in default. You can try to use _set_static_graph() as a workaround "
        "if your module graph does not change over iterations."
        f"\nParameter at index {index} with name {names.get(index, '')} has been marked as ready "
        "twice. This means that multiple autograd engine  hooks have fired for this particular "
        "parameter during this iteration."
    )


def changed_graph() -> RuntimeError:
    """Return the error for a gradient that did not come in the first pass of a static graph."""
    return RuntimeError(
        "Your training graph has changed in this iteration, e.g., one parameter is unused in first "
        "iteration, but then got used in the second iteration. this is not compatible with "
        "static_graph set to True."
    )
