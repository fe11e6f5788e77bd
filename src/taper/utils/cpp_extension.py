"""`taper.utils.cpp_extension`: operators are Python; using one of its names raises an error."""

from __future__ import annotations

from taper.absent.answers import refused_class, refused_function

_NAMES = """
    BuildExtension CUDAExtension CppExtension SyclExtension check_compiler_is_gcc
    check_compiler_ok_for_platform get_compiler_abi_compatibility_and_version get_cxx_compiler
    get_default_build_root include_paths library_paths load load_inline
    remove_extension_h_precompiler_headers verify_ninja_availability
"""
CUDA_HOME = None
ROCM_HOME = None


def is_ninja_available() -> bool:
    """Return False: nothing is compiled.

    >>> from taper.utils import cpp_extension
    >>> cpp_extension.is_ninja_available()
    False
    """
    return False


for _name in _NAMES.split():
    _sentence = (
        f"torch.utils.cpp_extension.{_name} is not provided, operators are Python: use "
        "torch.autograd.Function with NumPy, or load a library with `ctypes`."
    )
    globals()[_name] = refused_class(_name, __name__, _sentence)
    globals()[_name].with_options = refused_function("with_options", __name__, _sentence)

__all__ = [*_NAMES.split(), "is_ninja_available"]
