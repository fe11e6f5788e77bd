"""Operators that make tensors from nothing or from data, copy them, and give them back as data."""
