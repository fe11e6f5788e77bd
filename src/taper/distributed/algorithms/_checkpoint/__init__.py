"""Checkpoints of activations."""
