"""The commands of `taper`, a module for each; `cli` imports the one that is wanted.

Each has `main(argv)`, which reads its own arguments and returns the exit code.
"""
