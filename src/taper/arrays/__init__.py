"""What kernels compute with: NumPy arrays alone, and nothing of tensors, operators or autograd."""
