"""Losses: what training makes small, with the reductions that they share."""
