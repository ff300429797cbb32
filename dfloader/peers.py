"""Loaders of other packages, as one writes them: what they are measured with.

Each gives what one pass over the frame reads, from a `Given`. Frameworks are imported where they
are used, because each runs in a process of its own. What a peer can do `peers_check` says.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dfloader.batch import Loader, prepare
from dfloader.frame import resolve
from dfloader.spec import parse
from dfloader.table import Target

Passes = Callable[[], Iterator[Any]]

_QUEUE = 10  # batches that Keras' enqueuer keeps, its default


@dataclass(frozen=True)
class Given:
    """What every contestant loads.

    Attributes:
        frame: a pandas frame.
        batch_size: rows in a batch.
        spec: the common keywords, with a seed and, where there are classes, their order.
        records: the folder where the frame is as records, if anyone needs it.
    """

    frame: Any
    batch_size: int
    spec: Mapping[str, Any]
    records: str | None = None

    @cached_property
    def loader(self) -> Loader:
        """What the frame and the spec say."""
        said = parse(self.batch_size, self.spec, fresh_seed=0)
        return prepare(resolve(self.frame, said.frame), said)

    @cached_property
    def paths(self) -> list[str]:
        """The absolute path of each row's file."""
        images = self.loader.table.images
        return [os.path.abspath(os.fsdecode(path)) for path in images.take(self.rows)]  # noqa: PTH100

    @cached_property
    def rows(self) -> Any:
        """The positions of all rows."""
        return np.arange(len(self.loader.table))


def keras_preprocessing_flow(given: Given, workers: int, stack: ExitStack) -> Passes:
    """`flow_from_dataframe` of keras-preprocessing, batch after batch."""
    from keras_preprocessing.image import ImageDataGenerator

    flow = _flow(given, ImageDataGenerator)
    return lambda: (next(flow) for _ in range(len(flow)))


def keras_flow(given: Given, workers: int, stack: ExitStack) -> Passes:
    """`flow_from_dataframe` of Keras 3, read ahead by the threads that `fit` would start."""
    from keras.src.legacy.preprocessing.image import ImageDataGenerator
    from keras.src.trainers.data_adapters.py_dataset_adapter import OrderedEnqueuer

    flow = _flow(given, ImageDataGenerator)
    if not workers:
        return lambda: (next(flow) for _ in range(len(flow)))

    def passes() -> Iterator[Any]:
        enqueuer = OrderedEnqueuer(flow, workers=workers, max_queue_size=_QUEUE)
        enqueuer.start()
        try:
            batches = enqueuer.get()
            for _ in range(len(flow)):
                yield next(batches)
        finally:
            enqueuer.stop()

    return passes


def tf_by_hand(given: Given, workers: int, stack: ExitStack) -> Passes:
    """A tf.data pipeline as tutorials show it."""
    import tensorflow as tf

    image, order = given.loader.image, given.loader.plan.spec
    columns = given.loader.table.take(given.rows)
    kept = tuple(part for part in (columns.y, columns.w) if part is not None)

    def load(path: Any, *rest: Any) -> Any:
        pixels = tf.io.decode_image(
            tf.io.read_file(path), channels=image.channels or 3, expand_animations=False
        )
        pixels.set_shape((None, None, image.channels))
        pixels = tf.image.resize(pixels, image.target_size, method=image.interpolation)
        if image.dtype == "uint8":
            pixels = tf.saturate_cast(tf.round(pixels), tf.uint8)
        pixels = pixels if image.rescale is None else pixels * image.rescale
        return (pixels, *rest) if rest else pixels

    ds = tf.data.Dataset.from_tensor_slices((np.array(given.paths), *kept))
    ds = ds.shuffle(len(given.paths), seed=int(order.seed % 2**31)) if order.shuffle else ds
    ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.batch(given.batch_size, drop_remainder=order.drop_remainder)
    return passes_over(ds.prefetch(tf.data.AUTOTUNE))


def tf_directory(given: Given, workers: int, stack: ExitStack) -> Passes:
    """Keras' `image_dataset_from_directory`, on links to the files in a folder for each class."""
    import keras

    image, order = given.loader.image, given.loader.plan.spec
    folder = _linked(given, stack)
    labels = {"categorical": "categorical", "sparse": "int", "binary": "binary", None: None}
    ds = keras.utils.image_dataset_from_directory(
        folder,
        labels=None if given.loader.table.target is None else "inferred",
        label_mode=labels[given.loader.table.class_mode],
        color_mode=image.color_mode,
        batch_size=given.batch_size,
        image_size=image.target_size,
        shuffle=order.shuffle,
        seed=int(order.seed % 2**31),
        interpolation=image.interpolation,
        verbose=False,
    )
    return passes_over(ds)


def torch_loader(given: Given, workers: int, stack: ExitStack) -> Passes:
    """A torch DataLoader with persistent workers over this package's decoder."""
    from torch.utils.data import DataLoader

    order = given.loader.plan.spec
    loader = DataLoader(
        Examples(given.loader),
        batch_size=given.batch_size,
        shuffle=order.shuffle,
        num_workers=workers,
        persistent_workers=workers > 0,
        drop_last=order.drop_remainder,
    )
    return passes_over(loader)


@dataclass(frozen=True)
class Examples:
    """A frame as torch reads a data set: row by row."""

    loader: Loader

    def __len__(self) -> int:
        return len(self.loader.table)

    def __getitem__(self, row: int) -> Any:
        batch = self.loader.loaded_rows(0, np.array([row])).batch
        parts = batch if isinstance(batch, tuple) else (batch,)
        example = tuple(part[0] for part in parts)
        return example if isinstance(batch, tuple) else example[0]


def passes_over(batches: Any) -> Passes:
    """Give one pass after the other over what can be iterated again and again."""

    def passes() -> Iterator[Any]:
        yield from batches

    return passes


def _flow(given: Given, generator: Any) -> Any:
    """Call `flow_from_dataframe` of an `ImageDataGenerator`, which wants classes as text."""
    import pandas as pd

    loader = given.loader
    image, order, mode = loader.image, loader.plan.spec, loader.table.class_mode
    columns: dict[str, Any] = {"filename": given.paths}
    words: dict[str, Any] = {"class_mode": mode}
    if mode is not None:
        target = _target(loader)
        assert target is not None and target.encoder is not None
        names = [str(name) for name in target.encoder.class_names]
        columns["class"] = np.array(names, object)[target.data]
        words["classes"] = names
    if loader.table.weights is not None:
        columns["weight"] = loader.table.weights
        words["weight_col"] = "weight"
    return generator(rescale=image.rescale, dtype=image.dtype).flow_from_dataframe(
        pd.DataFrame(columns),
        target_size=image.target_size,
        color_mode=image.color_mode,
        batch_size=given.batch_size,
        shuffle=order.shuffle,
        seed=int(order.seed % 2**31),
        interpolation=image.interpolation,
        **words,
    )


def _target(loader: Loader) -> Target | None:
    target = loader.table.target
    assert target is None or isinstance(target, Target)  # `peers_check` lets no dict through
    return target


def _linked(given: Given, stack: ExitStack) -> str:
    """Make a folder that holds a link to each row's file, in a folder of its class."""
    folder = stack.enter_context(TemporaryDirectory(prefix="dfloader-"))
    target = _target(given.loader)
    codes = np.zeros(len(given.paths), int) if target is None else target.data
    for code in range(1 if target is None else target.classes):
        Path(folder, f"{code:06}").mkdir()
    for row, (path, code) in enumerate(zip(given.paths, codes.tolist(), strict=True)):
        Path(folder, f"{code:06}", f"{row:09}{Path(path).suffix}").symlink_to(path)
    return folder
