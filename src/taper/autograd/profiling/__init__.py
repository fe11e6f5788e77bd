"""What stands behind `autograd.profiler`: recording, the names of events, tables and traces."""
