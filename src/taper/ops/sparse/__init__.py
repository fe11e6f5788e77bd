"""Sparse tensors: making, converting and computing with them.

`rules` is what operators of the table do with them (importing it puts the methods on the class);
`making` and `converting` have the functions that make them from dense tensors and back.
"""
