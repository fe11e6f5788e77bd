"""Parameters averaged over processes from time to time."""
