"""Parts of `torch.fx` that libraries ask for."""
