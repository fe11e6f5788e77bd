"""Agents of the launcher."""
