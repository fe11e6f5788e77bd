"""Normalisation of batches, samples and weights."""
