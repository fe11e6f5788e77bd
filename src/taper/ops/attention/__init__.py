"""Attention: scaled dot products, and several heads of them."""
