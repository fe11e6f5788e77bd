"""The ONNX nodes of each operator of the table: a function of a `Graph` and the arguments.

A tensor argument is a `Value`; a plain one is what the operator got, or a `Varying` if it depends
on a dynamic size.  `graph.results` says what the outputs will be.
"""
