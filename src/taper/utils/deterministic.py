"""`taper.utils.deterministic`: all algorithms are deterministic; the switch keeps its value."""

fill_uninitialized_memory: bool = True
