"""Starting several processes of one program: what `taper run --nproc-per-node` does."""
