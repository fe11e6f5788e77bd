"""Files for TensorBoard's projector: points, their labels and small pictures of them.

Owns: the layout of a folder of embeddings.  The projector reads these files itself; nothing of them
goes into the file of events.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from taper.files.atomic import replacing
from taper.utils.tensorboard import images
from taper.utils.tensorboard.arrays import as_array

CONFIGURATION = "projector_config.pbtxt"


def encoded(tag: str) -> str:
    """Return a tag as the name of a folder.

    >>> encoded("a/b")
    'a%2fb'
    """
    return tag.replace("%", "%25").replace("/", "%2f").replace("\\", "%5c")


def labels_file(metadata: Sequence[Any], header: Sequence[str] | None) -> str:
    """Return the text of `metadata.tsv`: a label in each line, or a row of several columns."""
    if not header:
        return "".join(f"{each}\n" for each in metadata)
    if len(header) != len(metadata[0]):
        raise AssertionError("len of header must be equal to the number of columns in metadata")
    rows = [header, *metadata]
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)


def points_file(points: np.ndarray) -> str:
    """Return the text of `tensors.tsv`: a point in each line."""
    return "".join("\t".join(map(str, row)) + "\n" for row in points.tolist())


def sprite(pictures: np.ndarray) -> bytes:
    """Return pictures (number, channels, height, width) on a square sheet, as a PNG file."""
    sheet = images.grid(pictures, columns=math.ceil(math.sqrt(len(pictures))))
    channels, height, width = sheet.shape
    square = np.zeros((width, width, channels))
    square[:height] = sheet.transpose(1, 2, 0)[:width]
    return images.png(np.clip(square * 255, 0, 255).astype(np.uint8))


class Embedding:
    """Points, checked and ready to be written; `folder` is relative to that of the events."""

    def __init__(
        self,
        points: Any,
        metadata: Sequence[Any] | None,
        pictures: Any,
        header: Sequence[str] | None,
        tag: str,
        step: str,
    ) -> None:
        self.points = as_array(points)
        if self.points.ndim != 2:
            raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
        self.name, self.folder = f"{tag}:{step}", f"{step}/{encoded(tag)}"
        self.files: dict[str, bytes] = {}
        self.picture_size: tuple[int, int] | None = None
        if metadata is not None:
            if len(self.points) != len(metadata):
                raise AssertionError("#labels should equal with #data points")
            self.files["metadata.tsv"] = labels_file(metadata, header).encode()
        if pictures is not None:
            array = as_array(pictures)
            if len(self.points) != len(array):
                raise AssertionError("#images should equal with #data points")
            self.files["sprite.png"] = sprite(array)
            self.picture_size = array.shape[3], array.shape[2]
        self.files["tensors.tsv"] = points_file(self.points).encode()

    def write(self, log_dir: str) -> None:
        """Write the files into the folder of the events."""
        folder = os.path.join(log_dir, *self.folder.split("/"))
        if os.path.isdir(folder):
            print("warning: Embedding dir exists, did you set global_step for add_embedding()?")
        os.makedirs(folder, exist_ok=True)
        for name, content in self.files.items():
            _replace(os.path.join(folder, name), content)

    def configuration(self) -> str:
        """Return what the projector must know, in the text form of protocol buffers."""
        lines = [f"tensor_name: {_quoted(self.name)}"]
        if "metadata.tsv" in self.files:
            lines.append(f"metadata_path: {_quoted(self.folder + '/metadata.tsv')}")
        if self.picture_size is not None:
            sizes = "".join(f"    single_image_dim: {each}\n" for each in self.picture_size)
            path = _quoted(self.folder + "/sprite.png")
            lines.append(f"sprite {{\n    image_path: {path}\n{sizes}  }}")
        lines.append(f"tensor_path: {_quoted(self.folder + '/tensors.tsv')}")
        return "embeddings {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def write_configuration(log_dir: str, embeddings: Sequence[Embedding]) -> None:
    """Write the list of all embeddings at once, since the projector may be reading it."""
    content = "".join(each.configuration() for each in embeddings)
    _replace(os.path.join(log_dir, CONFIGURATION), content.encode())


def _replace(path: str, content: bytes) -> None:
    with replacing(path) as file:
        file.write(content)
