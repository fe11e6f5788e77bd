"""Special functions, element by element."""
