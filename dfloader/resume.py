"""Go on with a training in the middle of an epoch. Imports Keras.

1. A folder holds `state.json` and the weights it names. The state is written last and in one step:
   a training that is killed while it stores leaves the state before, with its weights.
2. An epoch that was broken off is finished by a `fit` of its own: Keras 3 counts the batches of an
   epoch once a fit, and an epoch that runs dry makes the optimizer count one step too many.
"""

import json
import os
from pathlib import Path
from typing import Any

from dfloader.backend import LEGACY, Sequence, keras
from dfloader.batch import Batch
from dfloader.sequence import DataFrameSequence

_STATE = "state.json"
_OURS = ("x", "initial_epoch", "shuffle", "steps_per_epoch")


class Resume(keras.callbacks.Callback):  # type: ignore[misc]
    """A callback that stores where training is, and a `fit` that goes on there.

    Stored are the weights of the model and of its optimizer, seed, epoch and batch. The batches
    that follow are the very ones that would have come, in the middle of an epoch too, after
    ``kill -9`` as after Ctrl-C.

    Args:
        seq: what to train on. It is moved to where the folder says training was, seed included.
        folder: where to store; made if it is not there.
        every: batches between two stores; None: only at the end of an epoch.

    Attributes:
        state: what the folder said when this was made: seed, epoch, batch and the file of the
            weights; None where it said nothing.

    Examples:
        >>> import pandas as pd, keras, tempfile
        >>> from dfloader import DataFrameSequence, Resume
        >>> df = pd.read_csv("sample_data/labels.csv")
        >>> seq = DataFrameSequence(df, 32, directory="sample_data", target_size=(8, 8))
        >>> model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(4)])
        >>> model.compile(loss="mse")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     history = Resume(seq, folder, every=2).fit(model, epochs=2, verbose=0)
        ...     Resume(seq, folder).state["epoch"]
        2
    """

    def __init__(
        self, seq: DataFrameSequence, folder: str | os.PathLike[str], *, every: int | None = None
    ) -> None:
        super().__init__()
        self.seq = seq
        self.folder = Path(folder)
        self.every = every
        self.state = self._read()
        self._first = 0
        self._in_fit = False
        if self.state is not None:
            seq.load_state_dict(self.state)

    def fit(self, model: Any, *, epochs: int, callbacks: Any = (), **words: Any) -> dict[str, Any]:
        """Train up to `epochs` epochs, those before included, and store on the way.

        Args:
            model: compiled.
            epochs: as for ``fit``; nothing is trained where the folder has so many.
            callbacks: besides this one.
            **words: for ``fit``, without ``x``, ``initial_epoch``, ``steps_per_epoch`` and
                ``shuffle``: the sequence shuffles the rows, and an order that Keras makes could not
                be gone on with.

        Returns:
            The histories of all epochs trained now, joined: metric -> values. That of an epoch that
            was broken off is of the rest of it.

        Raises:
            TypeError: a word is this function's own.
            ValueError: the optimizer is one of `tf_keras.optimizers.legacy`, which no file of
                weights takes.
        """
        _check_storable(model.optimizer)
        for name in _OURS:
            if name in words:
                raise TypeError(f"{name}={words[name]!r}: Resume.fit says this itself. Drop it.")
        words["callbacks"] = [*callbacks, self]
        if self.state is not None:
            self._load(model, self.state["weights"])
        joined: dict[str, Any] = {}
        self._first = self.seq.state_dict()["batch"]
        if self._first:
            self._fit(joined, model, Rest(self.seq, self._first), self.seq.epoch + 1, words)
        self._first = 0
        if not model.stop_training:
            self._fit(joined, model, self.seq, epochs, words)
        return joined

    def on_train_begin(self, logs: Any = None) -> None:
        if not self._in_fit:
            raise RuntimeError(
                "Resume goes on with a fit of its own: Resume(seq, folder).fit(model, epochs=...)."
            )

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        done = self._first + batch + 1
        if self.every and done % self.every == 0 and done < len(self.seq):
            self._store(self.seq.epoch, done)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._store(epoch + 1, 0)

    def _fit(
        self, joined: dict[str, Any], model: Any, batches: Any, epochs: int, words: dict[str, Any]
    ) -> None:
        if self.seq.epoch < epochs:
            words = {**words, "initial_epoch": self.seq.epoch, "shuffle": False}
            self._in_fit = True
            try:
                history = model.fit(batches, epochs=epochs, **words)
            finally:
                self._in_fit = False
            for name, values in history.history.items():
                joined.setdefault(name, []).extend(values)

    def _load(self, model: Any, weights: str) -> None:
        if not model.built:
            batch = self.seq[0]
            model(batch[0] if isinstance(batch, tuple) else batch)
        if model.optimizer is not None:
            model.optimizer.build(model.trainable_variables)
        model.load_weights(self.folder / weights)

    def _store(self, epoch: int, batch: int) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        weights = f"{epoch:04}-{batch:08}.weights.h5"
        self.model.save_weights(self.folder / weights, overwrite=True)
        state = {"seed": self.seq.seed, "epoch": epoch, "batch": batch, "weights": weights}
        fresh = self.folder / f"{_STATE}.new"
        fresh.write_text(json.dumps(state))
        fresh.replace(self.folder / _STATE)
        for old in self.folder.glob("*.weights.h5"):
            if old.name != weights:
                old.unlink()

    def _read(self) -> dict[str, Any] | None:
        path = self.folder / _STATE
        return json.loads(path.read_text()) if path.exists() else None


def _check_storable(optimizer: Any) -> None:
    if optimizer is not None and not hasattr(optimizer, "build"):
        name = type(optimizer).__name__
        raise ValueError(
            f"Resume cannot store the state of {type(optimizer).__module__}.{name}. "
            f"Compile the model with keras.optimizers.{name}."
        )


class Rest(Sequence):
    """The batches of a sequence from one on, as Keras takes them."""

    def __init__(self, seq: DataFrameSequence, first: int) -> None:
        super().__init__()
        self.seq = seq
        self.first = first
        if not LEGACY:
            self.workers = seq.workers
            self.max_queue_size = seq.max_queue_size

    def __len__(self) -> int:
        return len(self.seq) - self.first

    def __getitem__(self, i: int) -> Batch:
        return self.seq[self.first + i]

    def on_epoch_begin(self) -> None:
        self.seq.on_epoch_begin()

    def on_epoch_end(self) -> None:
        self.seq.on_epoch_end()
