"""What taper answers for devices, backends and compilers that are not there.

A public module (`taper.cuda`, `taper.backends.mkl`, `taper.jit`) lists its names; where nothing
real is behind a name, the name is bound to an answer of this room, and `answers.own` makes the
answer the module's own.  Real code replaces the line in the public module, never the room.
"""
