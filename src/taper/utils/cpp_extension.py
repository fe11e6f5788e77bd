"""`taper.utils.cpp_extension`: operators are Python; using one of its names raises an error."""

from __future__ import annotations

from typing import Any, NoReturn

_NAMES = """
    BuildExtension CUDAExtension CppExtension SyclExtension check_compiler_is_gcc
    check_compiler_ok_for_platform get_compiler_abi_compatibility_and_version get_cxx_compiler
    get_default_build_root include_paths library_paths load load_inline
    remove_extension_h_precompiler_headers verify_ninja_availability
"""
CUDA_HOME = None
ROCM_HOME = None


class _Absent:
    """A name of PyTorch's that raises when it is called."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"torch.utils.cpp_extension.{cls.__name__} is not provided, operators are Python: use "
            "torch.autograd.Function with NumPy, or load a library with `ctypes`."
        )

    with_options = classmethod(__new__)


def is_ninja_available() -> bool:
    """Return False: nothing is compiled.

    >>> from taper.utils import cpp_extension
    >>> cpp_extension.is_ninja_available()
    False
    """
    return False


for _name in _NAMES.split():
    globals()[_name] = type(_name, (_Absent,), {"__module__": __name__})

__all__ = [*_NAMES.split(), "is_ninja_available"]
