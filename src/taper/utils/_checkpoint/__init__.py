"""What `taper.utils.checkpoint` is made of: frames, the reentrant kind, selection, logs."""
