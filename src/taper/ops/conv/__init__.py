"""Convolutions, and the windows they look through."""
