"""`taper.backends`: switches of PyTorch's backends, which programs set without asking.

There is one backend, NumPy on the CPU.  The switches keep what is assigned to them and change
nothing; the questions tell the truth.
"""

from taper.backends import cpu, cuda, cudnn, mha, mkl, mkldnn, mps, openmp, opt_einsum

__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]
