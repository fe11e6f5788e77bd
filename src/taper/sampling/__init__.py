"""Random arrays, number for number those of PyTorch 2.13 on the CPU.

Distributions, each a function of NumPy arrays and a generator: ``continuous``, ``integers`` and
``discrete``. They know nothing of Tensor. Names follow PyTorch: a function that ends in an
underscore fills the array `out`, which may have any strides, and returns it. Without a
`generator` the default one is used.

I1  An array is filled in the order of its memory: the dimension with the largest stride is the
    outermost one, whatever its position.
I2  A call that raises has drawn nothing and written nothing.
I3  Every draw consumes as many outputs of the generator as PyTorch's, so that the two libraries
    agree on what comes after it as well.
"""
