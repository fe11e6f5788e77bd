"""`torch._functorch`: the transforms of `taper.func` under the names of PyTorch's modules."""
