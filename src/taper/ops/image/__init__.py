"""Operators on images: padding, resampling, sampling at a grid, pixels as channels."""
