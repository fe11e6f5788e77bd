"""The optional native module; everything else about the package is said in pyproject.toml."""

import os
from glob import glob

import numpy
from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "taper._native",
            sources=sorted(glob("native/*.c")),
            depends=[*sorted(glob("native/*.h")), "src/taper/program/floats.h"],
            include_dirs=[numpy.get_include(), "src/taper/program"],
            # Results equal NumPy's to the bit: no operation may be merged with the next one.
            extra_compile_args=[
                "-O3",
                # Debug information is three quarters of the size; `tools/sanitizers.sh` wants it.
                "-g" if os.environ.get("TAPER_DEBUG") else "-g0",
                "-ffp-contract=off",
                "-fno-math-errno",
                "-fno-strict-aliasing",
                "-Wno-psabi",  # functions that take wide vectors are inlined
            ],
            optional=True,  # without a compiler the package is installed without it
        )
    ]
)
