"""`taper.onnx`: models as ONNX files, for ONNX Runtime and others to run.

`export` watches a forward pass (`tracing`), finds out by further runs which numbers depend on sizes
(`dynamic`, `sizes`), maps each operator to ONNX nodes (`emitting`, `mapping`) and writes the file
(`model_file`).  It needs no other package.
"""

from __future__ import annotations

from taper.onnx import errors
from taper.onnx.errors import OnnxExporterError
from taper.onnx.exporting import ONNXProgram, export
from taper.onnx.modes import OperatorExportTypes, TrainingMode, is_in_onnx_export

producer_name = "taper"

__all__ = ["errors", "export", "is_in_onnx_export", "OnnxExporterError", "ONNXProgram"]
__all__ += ["OperatorExportTypes", "TrainingMode", "producer_name"]
