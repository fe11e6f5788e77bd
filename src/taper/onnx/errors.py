"""The errors of an export."""

from __future__ import annotations


class OnnxExporterError(RuntimeError):
    """A model cannot be written as ONNX; the text names the line of the program."""


class UnsupportedOperatorError(OnnxExporterError):
    """The export has no ONNX nodes for an operator."""


class OnnxExporterWarning(UserWarning):
    """The export did something else than was asked for."""
