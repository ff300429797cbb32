"""`DataFrameSequence`: random access to batches, as the Sequence of the Keras in use."""

import os
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
from PIL.Image import Image

from dfloader.backend import ASKS_AHEAD, ends_no_epoch
from dfloader.batch import Batch, Loaded, prepare
from dfloader.failures import Failures
from dfloader.foresight import Foresight
from dfloader.frame import resolve
from dfloader.generators import install
from dfloader.keras_staff import Staffed
from dfloader.labels import LabelEncoder, each_encoder
from dfloader.layers import Layers
from dfloader.plan import fresh_seed
from dfloader.points import matrices_of
from dfloader.position import Position
from dfloader.preview import preview
from dfloader.records_schema import check_reading
from dfloader.records_table import read_table
from dfloader.rows import frame_rows
from dfloader.spec import parse
from dfloader.transforms import resolve as changes
from dfloader.workers import Engine, Staff, ahead

install()  # model.fit_generator and the other two, where Keras lacks them

_NOT_PICKLED = ("_engine", "_lock", "_foresight")


class DataFrameSequence(Staffed):
    """Batches of a frame, by index.

    Args:
        df: the frame; it is read once and never changed.
        batch_size: rows in a batch.
        workers: threads or processes that load ahead; 0: none, load in the calling thread.
        use_multiprocessing: processes instead of threads.
        max_queue_size: batches in work or waiting, at most.
        start_method: how processes start: forkserver, spawn or fork.
        **spec: the common keywords, as for `to_tf_dataset`.

    Raises:
        DataFrameError: the frame is wrong.
        TypeError: a keyword is unknown.

    Note:
        With ``fit(steps_per_epoch=k)`` Keras 3 goes through the batches in portions of k, and where
        k does not divide their number ends each pass with a short epoch and a warning.
        ``samples_per_epoch=k * batch_size`` makes epochs of one length that go on where the last
        stopped.

    Examples:
        >>> import pandas as pd
        >>> df = pd.read_csv("sample_data/labels.csv")
        >>> seq = DataFrameSequence(df, 16, directory="sample_data", target_size=(64, 64))
        >>> x, y = seq[0]
        >>> x.shape, str(x.dtype), y.shape
        ((16, 64, 64, 3), 'float32', (16, 4))
    """

    def __init__(
        self,
        df: Any,
        batch_size: int = 32,
        *,
        workers: int = 1,
        use_multiprocessing: bool = False,
        max_queue_size: int = 10,
        start_method: str = "forkserver",
        **spec: Any,
    ) -> None:
        super().__init__()
        self._staff = Staff(workers, use_multiprocessing, max_queue_size, start_method)
        said = parse(batch_size, spec, fresh_seed=fresh_seed())
        self._frame = df
        self._loader = prepare(resolve(df, said.frame), said)
        self._layers = Layers(changes(said.augment).layers)
        self._position = Position()
        self._failures = Failures()
        self._engine: Engine | None = None
        self._lock = threading.Lock()
        self._foresight = Foresight()
        self._staff.check(self._loader)

    @classmethod
    def from_tfrecords(
        cls, folder: str | os.PathLike[str], batch_size: int = 32, **spec: Any
    ) -> "DataFrameSequence":
        """Read what `write_tfrecords` wrote, any batch at any time, through the records' index.

        Args:
            folder: that of the records.
            batch_size: rows in a batch.
            **spec: as for the constructor, but for columns and labels: the schema says those.

        Raises:
            DataFrameError: the folder does not hold a whole set of records.
            TypeError: a keyword is unknown, or is the schema's.
        """
        check_reading(spec)
        return cls(read_table(folder), batch_size, **spec)

    def __len__(self) -> int:
        if not ASKS_AHEAD:
            self._foresight.asked_how_many()
        return len(self._loader)

    def __getitem__(self, i: int) -> Batch:
        index = self._index(i)
        submit = partial(self._submit, self.epoch)
        if ASKS_AHEAD or not self._staff.workers:  # Keras asks ahead by itself, or nobody shall
            future = submit(index)
        else:
            future = self._foresight.take(
                index, submit, count=len(self._loader), depth=self._staff.max_queue_size
            )
        try:
            return self._received(future.result(), self.epoch, index)
        finally:
            future.cancel()  # nobody else waits for it: of use where Ctrl-C ends the waiting

    def __iter__(self) -> Iterator[Batch]:
        return self._pass(self.epoch, self._position.start())

    @property
    def n(self) -> int:
        """Rows of the frame that take part: all but those that unknown="drop" left out."""
        return self._loader.plan.rows_kept

    @property
    def seed(self) -> int:
        return self._loader.plan.spec.seed

    @property
    def failures(self) -> pd.DataFrame:
        """The rows that ``on_error="skip"`` left black so far, one line each: row, path, reason."""
        return self._failures.frame()

    @property
    def encoder(self) -> LabelEncoder | dict[str, LabelEncoder] | None:
        """The classes; None where there are none; a dict where outputs are several."""
        return self._loader.table.encoder

    @property
    def class_mode(self) -> Any:
        """The class mode; a dict where outputs are several."""
        return self._loader.table.class_mode

    @property
    def frame(self) -> Any:
        """The frame that the sequence was built from; not pickled with it."""
        if self._frame is None:
            raise RuntimeError("A sequence that was pickled has no frame. Pass the frame itself.")
        return self._frame

    @property
    def class_names(self) -> Any:
        """The classes in order, as `encoder` has them."""
        return each_encoder(self.encoder, lambda encoder: list(encoder.class_names))

    @property
    def class_indices(self) -> Any:
        """The number of each class, as `encoder` has them."""
        return each_encoder(self.encoder, lambda encoder: encoder.class_indices)

    @property
    def epoch(self) -> int:
        """The epoch that batches come from; the first is 0."""
        return self._position.epoch

    def set_epoch(self, epoch: int) -> None:
        """Move to the start of an epoch, 0 or later."""
        self._move(epoch, 0)

    def on_epoch_end(self) -> None:
        """Move to the next epoch, with its own order."""
        if not ends_no_epoch():
            self._move(self.epoch + 1, 0)
            self._failures.log()

    def state_dict(self) -> dict[str, int]:
        """Say where the running pass is: seed, epoch, the batch that comes next."""
        return {"seed": self.seed, "epoch": self.epoch, "batch": self._position.batch}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Go on where `state_dict` was called: the next pass starts with the batch it names."""
        plan = self._loader.plan
        if state["seed"] != self.seed:
            self.close()
            spec = replace(plan.spec, seed=state["seed"])
            self._loader = replace(self._loader, plan=replace(plan, spec=spec))
        self._move(state["epoch"], range(len(self) + 1)[state["batch"]])

    def rows(self, i: int) -> Any:
        """Give the frame positions of the rows in batch `i`, int64 (batch,); -1 for padding."""
        return frame_rows(self._loader.plan.rows(self.epoch, self._index(i)))

    def matrices(self, i: int) -> Any:
        """Give for each row of batch `i` where its points go, float64 (batch, 2, 3).

        ``m[:, :2] @ (x, y) + m[:, 2]`` takes a point of the upright picture at its full size to the
        pixels of the image. Pixel edges are whole numbers: a pixel's middle is at + 1/2. Padding
        has its row's matrix; a row skipped because its file says no size has NaN.
        """
        return matrices_of(
            self._loader, self.epoch, self._loader.plan.rows(self.epoch, self._index(i))
        )

    def eval(self) -> "DataFrameSequence":
        """Give the same frame, unshuffled, each row once, and without augmentation."""
        plain = replace(self._loader, plan=self._loader.plan.ordered(), augment=None, calls=())
        twin = object.__new__(type(self))
        twin.__setstate__({**self.__getstate__(), "_loader": plain})
        twin._layers = Layers(())
        twin._position = Position()
        twin._failures = Failures()
        return twin

    def to_tf_dataset(self, **options: Any) -> Any:
        """Give the same batches, from this epoch on, as a `tf.data.Dataset`.

        Args:
            **options: num_parallel_calls, prefetch, deterministic and repeat, as for the function
                `to_tf_dataset`.
        """
        # Only here: TensorFlow takes seconds to import, and Keras may run without it.
        from dfloader.tfdata import dataset

        return dataset(self._loader, first_epoch=self.epoch, layers=self._layers, **options)

    def preview(self, *, images: int = 16, draws: int = 8) -> Image:
        """Draw the first batch of this epoch, and its first row as several epochs give it.

        Args:
            images: of the batch, at most.
            draws: how often the first row; 0: not at all.

        Returns:
            A picture of Pillow's, which a notebook shows and ``save`` writes to a file.
        """
        return preview(self._loader, self[0], epoch=self.epoch, images=images, draws=draws)

    def close(self) -> None:
        """Stop the workers; the sequence can still be used, and starts new ones."""
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def __enter__(self) -> "DataFrameSequence":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        kept = {k: v for k, v in self.__dict__.items() if k not in _NOT_PICKLED}
        return {**kept, "_frame": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _engine=None, _lock=threading.Lock(), _foresight=Foresight())

    def _pass(self, epoch: int, start: int) -> Iterator[Batch]:
        indices = range(start, len(self))
        submit = partial(self._submit, epoch)
        # The calling thread would load a whole queue before it gave the first batch.
        depth = self._staff.max_queue_size if self._staff.workers else 1
        batches = ahead(submit, indices, depth)
        for i, loaded in zip(indices, batches, strict=True):
            self._position.gave(epoch, i)
            yield self._received(loaded, epoch, i)

    def _received(self, loaded: Loaded, epoch: int, i: int) -> Batch:
        self._failures.add(loaded.failures)
        return self._layers.on_batch(loaded.batch, self.seed, epoch, i)

    def _index(self, i: int) -> int:
        return range(len(self._loader))[i]

    def _move(self, epoch: int, batch: int) -> None:
        self._position.move(epoch, batch)
        self._foresight.forget()

    def _submit(self, epoch: int, i: int) -> "Future[Loaded]":
        return self._started().submit(epoch, i)

    def _started(self) -> Engine:
        with self._lock:
            if self._engine is None or not self._engine.alive:
                self._engine = Engine(self._loader, self._staff)
            return self._engine
