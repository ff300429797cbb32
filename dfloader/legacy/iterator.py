"""`DataFrameIterator`: the original's iterator as a Sequence of the Keras in use.

Contract:
1. In the process that built it, the order and every draw are the original's, from a private copy
   of NumPy's global state; that state is left as it was.
2. In another process (a worker) the order is that of the process it came from, and each row's
   draws depend on (seed, epoch, row), so that no two workers repeat one another.
3. Batches may be loaded by several threads at once; each call is one batch of the stream.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dfloader.backend import LEGACY, Sequence, keras
from dfloader.legacy.checks import CLASS_MODES
from dfloader.legacy.files import EXTENSIONS
from dfloader.legacy.generator import draw, runs_user_code, transform
from dfloader.legacy.pixels import Look, load
from dfloader.legacy.rows import Rows
from dfloader.legacy.stream import copy_of_global, lent, stream_of_row

MOST_THREADS = 8  # beyond, the interpreter lock is the limit
HASHES = 10**7  # the original draws the number in a saved file's name below this

Batch = Any
Stream = np.random.RandomState


@dataclass(frozen=True)
class Settings:
    """What was said to `flow_from_dataframe`, under the names the iterator shows it by."""

    image_data_generator: Any
    directory: str
    class_mode: str | None
    batch_size: int
    shuffle: bool
    seed: int | None
    save_to_dir: str | None
    save_prefix: str
    save_format: str
    subset: str | None
    split: tuple[float, float] | None
    dtype: Any


class DataFrameIterator(Sequence):
    """Endless batches of images and targets of a frame, by index or by ``next``.

    Made by `flow_from_dataframe`, which documents the arguments. Attributes are the original's:
    those of `Settings` and `Look`, and ``filenames``, ``filepaths``, ``labels``,
    ``sample_weight``, ``samples``, ``n``, ``batch_index``, ``index_array``,
    ``total_batches_seen``, ``image_shape``; where the class mode has classes, ``classes`` and
    ``class_indices``.
    """

    allowed_class_modes: ClassVar[set[str | None]] = CLASS_MODES
    white_list_formats: ClassVar[tuple[str, ...]] = EXTENSIONS

    image_data_generator: Any
    directory: str
    class_mode: str | None
    batch_size: int
    shuffle: bool
    seed: int | None
    save_to_dir: str | None
    save_prefix: str
    save_format: str
    target_size: tuple[int, int]
    color_mode: str
    interpolation: str
    data_format: str
    dtype: Any
    classes: list[Any]
    class_indices: dict[str, int]

    def __init__(self, rows: Rows, look: Look, settings: Settings) -> None:
        super().__init__()
        vars(self).update(vars(look) | vars(settings))
        self.image_shape = look.shape
        self._names = rows.names
        self.samples = self.n = len(rows)
        if rows.class_indices is not None and rows.classes is not None:
            self.class_indices, self.classes = rows.class_indices, rows.classes
        self._targets, self._sample_weight = rows.targets, rows.weights
        self.batch_index = 0
        self.total_batches_seen = 0
        self.index_array: npt.NDArray[np.int64] | None = None
        self._stream: Stream | None = None
        self._epoch = 0
        self._home = os.getpid()
        self._key = copy_of_global().randint(2**31) if self.seed is None else self.seed
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    @cached_property
    def filenames(self) -> list[str]:
        return self._names.tolist()

    @property
    def filepaths(self) -> list[str]:
        """The path of each row, joined to ``directory``."""
        return [os.path.join(self.directory, name) for name in self.filenames]

    @property
    def labels(self) -> Any:
        """Class numbers, or for ``raw`` and ``multi_output`` the targets."""
        return self._targets if self.class_mode in ("raw", "multi_output") else self.classes

    @property
    def sample_weight(self) -> npt.NDArray[Any] | None:
        return self._sample_weight

    def __len__(self) -> int:
        return -(-self.n // self.batch_size)

    def __getitem__(self, index: int) -> Batch:
        if index >= len(self):
            raise ValueError(
                f"Asked to retrieve element {index}, but the Sequence has length {len(self)}"
            )
        with self._locked():
            stream = self._next_stream()
            if self.index_array is None:
                order = Stream(self._key % 2**32) if self._in_worker else stream
                self._set_index_array(order)
            rows = self._rows(self.batch_size * index, self.batch_size * (index + 1))
        return self._load(rows, stream)

    def __iter__(self) -> "DataFrameIterator":
        return self

    def __next__(self) -> Batch:
        with self._locked():
            stream = self._next_stream()
            if self.batch_index == 0:
                self._set_index_array(stream)
            start = self.batch_index * self.batch_size % self.n if self.n else 0
            more = start + self.batch_size < self.n
            self.batch_index = self.batch_index + 1 if more else 0
            rows = self._rows(start, start + self.batch_size)
        return self._load(rows, stream)

    def reset(self) -> None:
        """Let ``next`` begin a new pass, with a new order."""
        self.batch_index = 0

    def on_epoch_end(self) -> None:
        """Draw the order of the next epoch."""
        with self._locked():
            self._epoch += 1
            self._stream = self._stream or copy_of_global()
            self._set_index_array(self._stream)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_lock", "_pool")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock(), _pool=None)

    @property
    def _in_worker(self) -> bool:
        return os.getpid() != self._home

    def _locked(self) -> AbstractContextManager[Any]:
        """A forked worker has one thread, and may have inherited the lock in use."""
        return nullcontext() if self._in_worker else self._lock

    def _next_stream(self) -> Stream:
        """Count a batch, and return the stream as the original seeds it before that batch."""
        if self.seed is not None:
            self._stream = Stream(self.seed + self.total_batches_seen)
        elif self._stream is None:
            self._stream = copy_of_global()
        self.total_batches_seen += 1
        return self._stream

    def _set_index_array(self, stream: Stream) -> None:
        self.index_array = stream.permutation(self.n) if self.shuffle else np.arange(self.n)

    def _rows(self, start: int, stop: int) -> npt.NDArray[np.int64]:
        assert self.index_array is not None
        return self.index_array[start:stop]

    def _load(self, rows: npt.NDArray[np.int64], stream: Stream) -> Batch:
        streams = [self._stream_of(row, stream) for row in rows]
        images = self._images(rows, streams)
        if self.save_to_dir:
            self._save(images, rows, streams)
        return self._with_targets(images, rows)

    def _stream_of(self, row: int, stream: Stream) -> Stream:
        return stream_of_row(self._key, self._epoch, row) if self._in_worker else stream

    def _images(self, rows: npt.NDArray[np.int64], streams: list[Stream]) -> npt.NDArray[Any]:
        batch = np.empty((len(rows), *self.image_shape), dtype=self.dtype)
        generator = self.image_data_generator
        if generator is not None and runs_user_code(generator):
            self._fill_in_turn(batch, rows, streams)
            return batch
        with self._locked():
            drawn = [generator and draw(generator, self.image_shape, rng) for rng in streams]

        floatx = keras.backend.floatx()
        # The generator works in floatx, and on a view of rows, columns, channels: a mean over
        # another layout is rounded otherwise.
        in_place = batch.dtype == floatx and self.data_format == "channels_last"

        def fill(i: int) -> None:
            batch[i] = pixels = self._read(rows[i])
            if generator is not None:
                x = batch[i] if in_place else pixels.astype(floatx)
                self._augment(batch, i, x, drawn[i])

        self._each(len(rows), fill)
        return batch

    def _fill_in_turn(
        self, batch: npt.NDArray[Any], rows: npt.NDArray[np.int64], streams: list[Stream]
    ) -> None:
        """Fill the batch while the stream is NumPy's global state, for the user's own draws."""
        pixels: list[Any] = [None] * len(rows)

        def read(i: int) -> None:
            pixels[i] = self._read(rows[i])

        self._each(len(rows), read)
        for stream, members in groupby(range(len(rows)), key=streams.__getitem__):
            with lent(stream, self._in_worker) as rng:
                for i in members:
                    parameters = draw(self.image_data_generator, self.image_shape, rng)
                    x = pixels[i].astype(keras.backend.floatx())
                    self._augment(batch, i, x, parameters)

    def _augment(self, batch: npt.NDArray[Any], i: int, x: Any, parameters: Any) -> None:
        x = transform(self.image_data_generator, x, parameters)
        batch[i] = self.image_data_generator.standardize(x)

    def _read(self, row: int) -> npt.NDArray[Any]:
        look = Look(self.target_size, self.color_mode, self.interpolation, self.data_format)
        return load(os.path.join(self.directory, self.filenames[row]), look)

    def _each(self, n: int, work: Callable[[int], None]) -> None:
        """Do the work for 0..n-1; of several errors the first one's is raised."""
        threads = 1 if self._in_worker else min(n, MOST_THREADS, os.cpu_count() or 1)
        if threads <= 1:
            _run(work, range(n))
            return
        with self._lock:
            self._pool = self._pool or ThreadPoolExecutor(MOST_THREADS, "flow_from_dataframe")
        bounds = [n * k // threads for k in range(threads + 1)]
        parts = [range(a, b) for a, b in pairwise(bounds)]
        for part in [self._pool.submit(_run, work, part) for part in parts]:
            part.result()

    def _save(
        self, images: npt.NDArray[Any], rows: npt.NDArray[np.int64], streams: list[Stream]
    ) -> None:
        for image, row, stream in zip(images, rows, streams, strict=True):
            picture = keras.utils.array_to_img(image, self.data_format, scale=True)
            name = f"{self.save_prefix}_{row}_{stream.randint(HASHES)}.{self.save_format}"
            picture.save(os.path.join(str(self.save_to_dir), name))

    def _with_targets(self, images: npt.NDArray[Any], rows: npt.NDArray[np.int64]) -> Batch:
        if self.class_mode is None:
            return images
        if self._sample_weight is None:
            return images, self._targets_of(images, rows)
        return images, self._targets_of(images, rows), self._sample_weight[rows]

    def _targets_of(self, images: npt.NDArray[Any], rows: npt.NDArray[np.int64]) -> Any:
        if self.class_mode == "input":
            return images.copy()
        if self.class_mode == "raw":
            return self._targets[rows]
        if self.class_mode == "multi_output":
            outputs = [values[rows] for values in self._targets]
            return outputs if LEGACY else tuple(outputs)  # Keras 3 takes no list inside a batch
        if self.class_mode != "categorical":
            return np.array([self.classes[row] for row in rows], dtype=self.dtype)
        hot = np.zeros((len(rows), len(self.class_indices)), dtype=self.dtype)
        for i, row in enumerate(rows):
            hot[i, self.classes[row]] = 1
        return hot


def _run(work: Callable[[int], None], items: range) -> None:
    for i in items:
        work(i)
