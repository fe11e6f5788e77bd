"""Programs: a function of tensors written down once, then run without the Python that wrote it.

`recording` writes a program down while the function runs eagerly, `guards` decides for which calls
it holds, `executor` runs it, `lowering` and what it uses make it fast.  `form` is what they share.
Users see `taper.capture` (D15).
"""
