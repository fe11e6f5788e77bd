"""`taper.utils.tensorboard`: numbers, pictures and graphs in files that TensorBoard shows.

The files are written with NumPy alone; TensorBoard is only needed to look at them.
"""

from __future__ import annotations

from taper.utils.tensorboard.records import RecordWriter
from taper.utils.tensorboard.writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
