"""The writers: `SummaryWriter`, which programs use, and `FileWriter`, one file of events.

Owns: folders and names of files, and the message `Event`.  What is recorded is encoded elsewhere,
before a file is touched: a call that fails has written nothing.
"""

from __future__ import annotations

import itertools
import operator
import os
import socket
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, NoReturn, Self

from taper.tensor import Tensor
from taper.utils._protobuf import double, integer, message, text
from taper.utils.tensorboard import summary
from taper.utils.tensorboard.embedding import Embedding, write_configuration
from taper.utils.tensorboard.figures import as_pictures
from taper.utils.tensorboard.graph import graph_of, graph_profile
from taper.utils.tensorboard.records import RecordFile

__all__ = ["FileWriter", "SummaryWriter"]

_VERSION = "brain.Event:2"
_START = 1  # of a session, in the enumeration SessionStatus
_numbers = itertools.count()  # of the files of this process


def _summary_event(encoded: bytes) -> bytes:
    return text(5, encoded)


class FileWriter:
    """One file of events in a folder, and the thread that writes it.

    Args:
        log_dir: the folder.
        max_queue: how many events may wait.
        flush_secs: the thread writes at least this often.
        filename_suffix: the end of the file's name.

    >>> import tempfile
    >>> from taper.utils.tensorboard import FileWriter
    >>> from taper.utils.tensorboard.summary import scalar
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     writer = FileWriter(folder)
    ...     writer.add_summary(scalar("loss", 0.5), global_step=1)
    ...     writer.close()
    """

    def __init__(
        self,
        log_dir: Any,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        self._log_dir = str(log_dir)
        self._options = (max_queue, flush_secs, filename_suffix)
        os.makedirs(self._log_dir, exist_ok=True)
        self._file = self._open()

    def _open(self) -> RecordFile:
        max_queue, flush_secs, suffix = self._options
        second, host = int(time.time()), socket.gethostname()
        name = f"events.out.tfevents.{second:010d}.{host}.{os.getpid()}.{next(_numbers)}" + suffix
        file = RecordFile(os.path.join(self._log_dir, name), max_queue, flush_secs)
        source = message(10, text(1, "taper.utils.tensorboard"))
        file.write(double(1, time.time()) + text(3, _VERSION) + source)
        return file

    def get_logdir(self) -> str:
        """Return the folder of the file."""
        return self._log_dir

    def add_event(self, event: bytes, step: Any = None, walltime: float | None = None) -> None:
        """Write fields of an `Event`, with the time and the step."""
        head = double(1, time.time() if walltime is None else walltime)
        if step is not None:
            head += integer(2, int(step))
        self._file.write(head + event)

    def add_summary(
        self, summary: bytes, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Write what a function of `taper.utils.tensorboard.summary` returned."""
        self.add_event(_summary_event(summary), global_step, walltime)

    def add_graph(self, graph_profile: tuple[bytes, bytes], walltime: float | None = None) -> None:
        """Write a `GraphDef`, and the `RunMetadata` that says where it ran."""
        graph, run = graph_profile
        self.add_event(text(4, graph), None, walltime)
        self.add_event(message(8, text(1, "step1"), text(2, run)), None, walltime)

    def flush(self) -> None:
        """Return when everything is in the file."""
        self._file.flush()

    def close(self) -> None:
        """Write everything and close the file."""
        self._file.close()

    def reopen(self) -> None:
        """Continue with a new file in the same folder."""
        self._file.close()
        self._file = self._open()


def _default_bins() -> list[float]:
    """Return the edges of a histogram: each a tenth further from zero, on both sides."""
    upper, edge = [], 1e-12
    while edge < 1e20:
        upper.append(edge)
        edge *= 1.1
    return [*(-each for each in reversed(upper)), 0, *upper]


class SummaryWriter:
    """Write what a training shows, for TensorBoard to draw.

    Args:
        log_dir: the folder; by default `runs/<date>_<host><comment>`.
        comment: the end of the default folder's name.
        purge_step: TensorBoard forgets what earlier files of the folder say about this step and
            later ones.
        max_queue: how many events may wait; a caller that adds to a full queue waits.
        flush_secs: a thread writes the events at least this often.
        filename_suffix: the end of the files' names.

    >>> import tempfile, taper
    >>> from taper.utils.tensorboard import SummaryWriter
    >>> with tempfile.TemporaryDirectory() as folder, SummaryWriter(folder) as writer:
    ...     for step in range(3):
    ...         writer.add_scalar("loss", 1 / (1 + step), step)
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            now = time.strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step = None if purge_step is None else operator.index(purge_step)
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._embeddings: list[Embedding] = []
        self._get_file_writer()
        self.default_bins = _default_bins()

    def _open(self, folder: Any) -> FileWriter:
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def _get_file_writer(self) -> FileWriter:
        """Return the writer of the folder itself; made again if it was closed."""
        if self.all_writers is None or self.file_writer is None:
            self.file_writer = self._open(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                self.file_writer.add_event(text(3, _VERSION), self.purge_step)
                session = message(7, integer(1, _START))
                self.file_writer.add_event(session, self.purge_step)
                self.purge_step = None
        return self.file_writer

    def _add(self, encoded: bytes, global_step: Any, walltime: float | None) -> None:
        self._get_file_writer().add_summary(encoded, global_step, walltime)

    def get_logdir(self) -> Any:
        """Return the folder of the files."""
        return self.log_dir

    # --- numbers ---

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Record a number: one of Python's or NumPy's, or a tensor of one element.

        Args:
            tag: the name of the diagram.
            scalar_value: the number.
            global_step: the step it belongs to.
            walltime: the time, by default now.
            new_style: write it as a tensor without dimensions.
            double_precision: keep 64 bits.
        """
        encoded = summary.scalar(
            tag, scalar_value, new_style=new_style, double_precision=double_precision
        )
        self._add(encoded, global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Record numbers for one diagram; each name gets its own folder, and so its own colour."""
        encoded = {tag: summary.scalar(main_tag, value) for tag, value in tag_scalar_dict.items()}
        walltime = time.time() if walltime is None else walltime
        folder = self._get_file_writer().get_logdir()
        writers = self.all_writers
        if writers is None:  # never: the line above has opened one
            raise OSError("Writer is closed")
        for tag, each in encoded.items():
            path = f"{folder}/{main_tag.replace('/', '_')}_{tag}"
            if path not in writers:
                writers[path] = self._open(path)
            writers[path].add_summary(each, global_step, walltime)

    def add_tensor(
        self, tag: str, tensor: Tensor, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Record a tensor."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Record how values are distributed; `bins` may be whatever `numpy.histogram` takes."""
        if isinstance(bins, str) and bins == "tensorflow":
            bins = self.default_bins
        self._add(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: Any,
        max: Any,
        num: Any,
        sum: Any,
        sum_squares: Any,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Record a histogram that was counted elsewhere; limits are the upper edges."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        numbers = (min, max, num, sum, sum_squares)
        encoded = summary.histogram_raw(tag, *numbers, bucket_limits, bucket_counts)
        self._add(encoded, global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Record precision and recall of predictions, the probabilities that labels are true."""
        encoded = summary.pr_curve(tag, labels, predictions, num_thresholds, weights)
        self._add(encoded, global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Record a curve that was counted elsewhere."""
        counts = (
            true_positive_counts,
            false_positive_counts,
            true_negative_counts,
            false_negative_counts,
        )
        encoded = summary.pr_curve_raw(tag, *counts, precision, recall, num_thresholds)
        self._add(encoded, global_step, walltime)

    # --- pictures and sound ---

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Record a picture: bytes, or numbers from 0 to 1, with the named axes."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Record pictures as one grid, eight in a row."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: Any = None,
    ) -> None:
        """Record a picture with boxes (left, top, right, bottom); labels need Pillow."""
        labels = [labels] if isinstance(labels, str) else labels
        if labels is not None and len(labels) != len(box_tensor):
            labels = None
        encoded = summary.image_boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels)
        self._add(encoded, global_step, walltime)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: int | None = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Record a figure of Matplotlib, or a list of figures of one size; `close` closes them."""
        pictures, axes = as_pictures(figure, close)
        self.add_image(tag, pictures, global_step, walltime, dataformats=axes)

    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: Any = None,
        fps: float = 4,
        walltime: float | None = None,
    ) -> NoReturn:
        """Refused: there is no encoder of moving pictures."""
        summary.video(tag, vid_tensor, fps)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: float = 44100,
        walltime: float | None = None,
    ) -> None:
        """Record one channel of sound, numbers from -1 to 1."""
        self._add(summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    # --- texts, graphs, points ---

    def add_text(
        self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Record a text, which TensorBoard reads as Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_graph(
        self,
        model: Any,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Record the operators of a forward pass, in the scopes of the modules.

        The model runs once, in evaluation mode.  `verbose` prints the nodes.  A model may return
        anything, so `use_strict_trace` has no effect.
        """
        nodes = graph_of(model, input_to_model)
        if verbose:
            print("\n".join(map(str, nodes)))
        self._get_file_writer().add_graph(graph_profile(nodes))

    def add_onnx_graph(self, prototxt: Any) -> NoReturn:
        """Refused: ONNX files are not read."""
        raise NotImplementedError(
            "add_onnx_graph reads ONNX files, which taper does not: use add_graph with the model."
        )

    def add_embedding(
        self,
        mat: Any,
        metadata: Sequence[Any] | None = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: Sequence[str] | None = None,
    ) -> None:
        """Write points for the projector, one in a row, with labels and small pictures of them."""
        step = str(0 if global_step is None else int(global_step)).zfill(5)
        embedding = Embedding(mat, metadata, label_img, metadata_header, tag, step)
        folder = self._get_file_writer().get_logdir()
        embedding.write(folder)
        self._embeddings.append(embedding)
        write_configuration(folder, self._embeddings)

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Mapping[str, Any] | None = None,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Record points in space (batch, number, 3), with triangles between them and colours."""
        encoded = summary.mesh(tag, vertices, colors, faces, config_dict)
        self._add(encoded, global_step, walltime)

    # --- plugins with settings of their own ---

    def add_hparams(
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Mapping[str, Any] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Record hyperparameters and their results, in a folder of their own."""
        parts = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        metrics = [summary.scalar(name, value) for name, value in metric_dict.items()]
        name = str(time.time()) if not run_name else run_name
        folder = os.path.join(self._get_file_writer().get_logdir(), name)
        with SummaryWriter(log_dir=folder) as writer:
            for each in (*parts, *metrics):
                writer._add(each, global_step, None)

    def add_custom_scalars(self, layout: Mapping[str, Any]) -> None:
        """Say which scalars stand together.

        The layout is `{category: {chart: ["Multiline" or "Margin", tags]}}`, once for a folder.
        """
        self._add(summary.custom_scalars(layout), None, None)

    def add_custom_scalars_multilinechart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Say that these scalars are lines of one diagram."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Say that these are a scalar and its lower and upper margin."""
        if len(tags) != 3:
            raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    # --- the files ---

    def flush(self) -> None:
        """Return when everything is in the files."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write everything and close the files; a later addition opens new ones."""
        writers = list((self.all_writers or {}).values())
        self.file_writer = self.all_writers = None
        errors = []
        for writer in writers:
            try:
                writer.close()
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
