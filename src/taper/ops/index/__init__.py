"""Operators that pick elements by index or mask, and put them back."""
