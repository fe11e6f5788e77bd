"""The types of `taper.utils`.  Written by tools/stubs.py (`make docs`)."""

from taper.utils import benchmark as benchmark
from taper.utils import checkpoint as checkpoint
from taper.utils import collect_env as collect_env
from taper.utils import cpp_extension as cpp_extension
from taper.utils import data as data
from taper.utils import deterministic as deterministic
from taper.utils import dlpack as dlpack
from taper.utils import flop_counter as flop_counter
from taper.utils import hooks as hooks
from taper.utils import model_zoo as model_zoo
from taper.utils import module_tracker as module_tracker
from taper.utils import tensorboard as tensorboard
from taper.utils import weak as weak
