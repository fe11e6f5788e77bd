"""Arrays in the memory of a GPU, which kernels and formulas compute with as with NumPy's (D16).

`state.py` says whether there is a GPU and starts it; `array.py` is the array, `memory.py` gives it
room, `dispatch.py` and `ufuncs.py` compute NumPy's functions, `world.py` lets kernels make their
arrays on the device.  `cupy_runtime.py` alone knows CuPy.  Nothing here is imported before a
program asks for a GPU.  Must not know Tensor.
"""
