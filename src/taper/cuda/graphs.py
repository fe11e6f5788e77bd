"""`taper.cuda.graphs`: work that is captured from the device's queue and replayed as a whole.

Without a GPU every class says so, as in PyTorch.
"""

from __future__ import annotations

import gc
import importlib
import itertools
from typing import Any

from taper.absent.answers import dummy
from taper.cuda.streams import Stream
from taper.gpu import state
from taper.gpu.graphs import Graph

_handles = itertools.count(1)
_CAPTURES = "taper.program.capturing"


class CUDAGraph:
    """Work on the device, captured once and then replayed by a single launch.

    What the work reads and writes stays where it is: new data is copied into the tensors that were
    used in the capture.

    Args:
        keep_graph: accepted; what was captured is always kept.
    """

    def __init__(self, keep_graph: bool = False) -> None:
        if not state.device_count():
            dummy("CUDAGraph")
        state.start()
        self._graph: Graph | None = None
        self._pool = (0, next(_handles))

    def capture_begin(
        self,
        pool: Any = None,
        capture_error_mode: str = "global",
        check_input_liveness: bool = False,
    ) -> None:
        """Capture what is asked of the device from now on, instead of doing it."""
        if pool is not None:
            self._pool = pool
        self._graph = Graph()
        self._graph.begin()

    def capture_end(self) -> None:
        """End the capture."""
        if self._graph is None:
            raise RuntimeError("capture_end() called without a preceding capture_begin()")
        self._graph.end()
        self._graph.hold_room()

    def instantiate(self) -> None:
        """Make the graph ready to be replayed, which it is already."""

    def replay(self) -> None:
        """Do the work, in the current stream."""
        if self._graph is None or self._graph.handle is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        self._graph.launch()

    def reset(self) -> None:
        """Forget the work, and give its memory back."""
        self._graph = None

    def pool(self) -> Any:
        """Return a handle of the memory of the graph."""
        return self._pool

    def raw_cuda_graph_exec(self) -> int:
        """Return the driver's address of the graph."""
        if self._graph is None or self._graph.handle is None:
            raise RuntimeError(
                "You cannot access the raw cudaGraphExec_t instance until instantiate() has been "
                "called"
            )
        found: int = self._graph.handle
        return found

    def enable_debug_mode(self) -> None:
        """Accepted: nothing more is kept for `debug_dump`."""

    def debug_dump(self, debug_path: str) -> None:
        """Write nothing: the driver has forgotten how the graph was captured."""


class graph:
    """A block whose work is captured into a graph.

    Args:
        cuda_graph: the graph.
        pool: a handle of the memory to use; each graph has its own.
        stream: accepted; the work is captured from a stream of the graph's own.
        capture_error_mode: accepted; what waits for the device is refused.
    """

    default_capture_stream: Any = None

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: Any = None,
        stream: Stream | None = None,
        capture_error_mode: str = "global",
        enable_annotations: bool = False,
        check_input_liveness: bool = False,
    ) -> None:
        if not state.device_count():
            raise RuntimeError("torch.cuda.Stream requires CUDA support")
        self.cuda_graph, self._pool = cuda_graph, pool
        self.capture_error_mode = capture_error_mode

    def __enter__(self) -> None:
        state.runtime.synchronize()
        gc.collect()
        self.cuda_graph.capture_begin(self._pool, self.capture_error_mode)

    def __exit__(self, *raised: object) -> None:
        self.cuda_graph.capture_end()


def graph_pool_handle() -> Any:
    """Return a handle for the memory of graphs; each graph has its own memory anyway."""
    if not state.device_count():
        dummy("_graph_pool_handle")
    return (next(_handles), 0)


def is_current_stream_capturing() -> bool:
    """Tell whether work is captured into a graph now."""
    if not state.device_count():
        dummy("_cuda_isCurrentStreamCapturing")
    return state.capturing is not None


def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Any = None,
) -> Any:
    """Return functions or modules whose forward and backward are replayed as graphs.

    A module is returned itself, with another `forward`; in the other mode (`train`, `eval`) and
    with arguments of another kind it is recorded anew.

    Args:
        callables: a function or module, or a tuple of them.
        sample_args: tensors as the calls will have them; a tuple of tuples for several callables.
        num_warmup_iters: calls before the return, at least 3.
        allow_unused_input: accepted: an input that is not used has no gradient.
        pool: accepted: each graph has its own memory.
    """
    if not state.device_count():
        dummy("CUDAGraph")
    # late: what captures functions lies above
    captures = importlib.import_module(_CAPTURES)
    several = isinstance(callables, tuple)
    given = zip(callables, sample_args, strict=True) if several else [(callables, sample_args)]
    made = [
        captures.graphed(each, arguments, max(num_warmup_iters, 3)) for each, arguments in given
    ]
    return tuple(made) if several else made[0]
