"""`taper._dynamo.exc`: errors of a compiler, for programs that catch them."""

from __future__ import annotations


class TorchDynamoException(RuntimeError):  # noqa: N818 (PyTorch's name)
    """The base of the compiler's errors."""


class InvalidBackend(TorchDynamoException):
    """There is no backend of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available "
            "backends."
        )


class Unsupported(TorchDynamoException):
    """A program that a compiler cannot take; never raised here."""


class BackendCompilerFailed(TorchDynamoException):
    """A backend failed; never raised here."""


class RecompileError(TorchDynamoException):
    """A program would be compiled again; never raised here."""


class ResetRequired(TorchDynamoException):
    """`reset` must be called first; never raised here."""
