"""Algorithms of several processes."""
