"""Operators that sum, count, sort or search along dimensions."""
