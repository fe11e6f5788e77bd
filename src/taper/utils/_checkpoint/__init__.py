"""The parts of `taper.utils.checkpoint`: frames, the reentrant kind, selection, logs."""
