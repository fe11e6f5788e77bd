"""The errors of an export.  Knows nobody."""

from __future__ import annotations


class OnnxExporterError(RuntimeError):
    """A model cannot be written as ONNX; the text says which line of the program is the reason."""


class UnsupportedOperatorError(OnnxExporterError):
    """An operator that the export has no ONNX nodes for."""


class OnnxExporterWarning(UserWarning):
    """The export did something else than what was asked for."""
