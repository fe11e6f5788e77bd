"""Random arrays, number for number those of PyTorch 2.13 on the CPU.

Distributions are functions of NumPy arrays and a generator: ``continuous``, ``integers`` and
``discrete``.  They know nothing of Tensor.  Names follow PyTorch: a function whose name ends in an
underscore fills the array `out`, which may have any strides, and returns it.  Without a `generator`
they use the default one.

I1  An array is filled in the order of its memory: the dimension with the largest stride is the
    outermost one, whatever its position.
I2  A call that raises has drawn nothing and written nothing.
I3  Every draw consumes as many outputs of the generator as PyTorch's, so that the two libraries
    agree on the numbers after it as well.
"""
