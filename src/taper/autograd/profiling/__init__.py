"""The machinery of `autograd.profiler`: recording, the names of events, tables and traces."""
