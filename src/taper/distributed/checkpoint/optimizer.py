"""States of optimizers in older checkpoints: refused."""

from taper.distributed.refused import refuse

_INSTEAD = "use distributed.checkpoint.load with a state of get_optimizer_state_dict"

__all__ = [*refuse(globals(), "load_sharded_optimizer_state_dict", _INSTEAD)]
