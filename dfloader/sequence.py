"""`DataFrameSequence`: random access to batches, as the Sequence of the Keras in use."""

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import numpy as np

from dfloader.backend import Sequence
from dfloader.batch import Batch, prepare
from dfloader.frame import resolve
from dfloader.labels import LabelEncoder, each_encoder
from dfloader.plan import fresh_seed
from dfloader.spec import parse
from dfloader.workers import Engine, ahead, result

_START_METHODS = ("forkserver", "spawn", "fork")


class DataFrameSequence(Sequence):
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

    Example:
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
        if start_method not in _START_METHODS:
            raise ValueError(f"start_method={start_method!r} is not one of {_START_METHODS}.")
        self._workers = workers
        self._processes = use_multiprocessing
        self._max_queue_size = max_queue_size
        self._start_method = start_method
        said = parse(batch_size, spec, fresh_seed=fresh_seed())
        self._loader = prepare(resolve(df, said.frame), said)
        self._epoch = 0
        self._begun = False
        self._engine: Engine | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._loader)

    def __getitem__(self, i: int) -> Batch:
        index = range(len(self))[i]
        if not self._processes or self._workers == 0:
            return self._loader.load(self._epoch, index)
        return result(self._submit(index))

    def __iter__(self) -> Iterator[Batch]:
        if self._workers == 0:
            return (self._loader.load(self._epoch, i) for i in range(len(self)))
        epoch = self._epoch
        return ahead(
            lambda i: self._started().submit(epoch, i), len(self), max(1, self._max_queue_size)
        )

    @property
    def n(self) -> int:
        """Rows of the frame that take part: all but those that unknown="drop" left out."""
        return self._loader.plan.rows_kept

    @property
    def seed(self) -> int:
        return self._loader.plan.spec.seed

    @property
    def encoder(self) -> LabelEncoder | dict[str, LabelEncoder] | None:
        """The classes; None where there are none; a dict where outputs are several."""
        return self._loader.table.encoder

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
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """Move to an epoch, 0 or later."""
        if epoch < 0:
            raise ValueError(f"epoch={epoch!r}: epochs count from 0.")
        self._epoch = epoch

    def on_epoch_begin(self) -> None:
        self._begun = True

    def on_epoch_end(self) -> None:
        """Move to the next epoch, with its own order."""
        if self._begun or not _called_by_keras_adapter():
            self._epoch += 1

    def rows(self, i: int) -> Any:
        """Give the frame positions of the rows in batch `i`, int64 (batch,); -1 for padding."""
        return np.maximum(self._loader.plan.rows(self._epoch, range(len(self))[i]), -1)

    def eval(self) -> "DataFrameSequence":
        """Give the same frame, unshuffled, each row once, and without augmentation."""
        plain = replace(self._loader, plan=self._loader.plan.ordered(), augment=None)
        twin = object.__new__(type(self))
        twin.__setstate__({**self.__getstate__(), "_loader": plain})
        twin.set_epoch(0)
        return twin

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

    @property
    def workers(self) -> int:
        return self._workers

    @workers.setter
    def workers(self, value: int) -> None:
        self.close()
        self._workers = value

    @property
    def use_multiprocessing(self) -> bool:
        """Always False: Keras must not start processes of its own around ours."""
        return False

    @use_multiprocessing.setter
    def use_multiprocessing(self, value: bool) -> None:
        self.close()
        self._processes = value

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_engine", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _engine=None, _lock=threading.Lock())

    def _submit(self, i: int) -> "Future[Batch]":
        return self._started().submit(self._epoch, i)

    def _started(self) -> Engine:
        with self._lock:
            if self._engine is None:
                self._engine = Engine(
                    self._loader,
                    workers=self._workers,
                    processes=self._processes,
                    method=self._start_method,
                )
            return self._engine


def _called_by_keras_adapter() -> bool:
    """Tell Keras 3's call before the first epoch from a user's own.

    Keras starts its threads before `on_epoch_begin`, so the epoch cannot be put right there.
    """
    caller: str = sys._getframe(2).f_globals.get("__name__", "")
    return caller.endswith("py_dataset_adapter")
