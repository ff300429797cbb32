"""What the benchmark compares: each a function from a frame to what runs one pass.

Every one decodes the same files to the same size; frameworks are imported where they are used,
because each runs in a process of its own.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

SIDE = 224
BATCH = 32
WORKERS = 2
PASSES = 2

Run = Callable[["Meter"], int]  # goes over the frame, timed by the meter; gives the images in it
Meter = Any  # start() and stop()


def passes(once: Callable[[], int]) -> Run:
    """Time `PASSES` passes, after one that is not timed."""

    def run(meter: Meter) -> int:
        once()
        meter.start()
        images = sum(once() for _ in range(PASSES))
        meter.stop()
        return images

    return run


def floor(df: pd.DataFrame, stack: ExitStack) -> Run:
    """Two threads that only decode, every pixel, from memory into kept memory."""
    import simplejpeg

    files = [Path(name).read_bytes() for name in df["filename"].unique()]
    repeats = len(df) // len(files)
    height, width = simplejpeg.decode_jpeg_header(files[0])[:2]

    def decode(part: list[bytes]) -> int:
        buffer = np.empty(height * width * 3, np.uint8)
        for data in part:
            simplejpeg.decode_jpeg(data, buffer=buffer)
        return len(part)

    threads = stack.enter_context(ThreadPoolExecutor(WORKERS))
    parts = [(files * repeats)[k::WORKERS] for k in range(WORKERS)]
    return passes(lambda: sum(threads.map(decode, parts)))


def ours(**said: Any) -> Callable[[pd.DataFrame, ExitStack], Run]:
    def contestant(df: pd.DataFrame, stack: ExitStack) -> Run:
        seq = stack.enter_context(sequence(df, **said))
        return passes(lambda: sum(len(x) for x, _ in seq))

    return contestant


def sequence(df: pd.DataFrame, **said: Any) -> Any:
    from dfloader import DataFrameSequence

    return DataFrameSequence(df, BATCH, target_size=(SIDE, SIDE), workers=WORKERS, seed=0, **said)


def keras_preprocessing(df: pd.DataFrame, stack: ExitStack) -> Run:
    """flow_from_dataframe of keras-preprocessing, batch after batch."""
    from keras_preprocessing.image import ImageDataGenerator

    flow = ImageDataGenerator().flow_from_dataframe(
        df, target_size=(SIDE, SIDE), batch_size=BATCH, validate_filenames=False
    )
    return passes(lambda: sum(len(next(flow)[0]) for _ in range(len(flow))))


def keras_threads(df: pd.DataFrame, stack: ExitStack) -> Run:
    """flow_from_dataframe of Keras 3 in its best setting: two threads of its enqueuer."""
    from keras.src.legacy.preprocessing.image import ImageDataGenerator
    from keras.src.trainers.data_adapters.py_dataset_adapter import OrderedEnqueuer

    flow = ImageDataGenerator().flow_from_dataframe(
        df, target_size=(SIDE, SIDE), batch_size=BATCH, validate_filenames=False
    )

    def run() -> int:
        enqueuer = OrderedEnqueuer(flow, workers=WORKERS)
        enqueuer.start()
        batches = enqueuer.get()
        images = sum(len(next(batches)[0]) for _ in range(len(flow)))
        enqueuer.stop()
        return images

    return passes(run)


class _Files:
    """A torch dataset of the same work: decode, scaled as ours, and resize."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, i: int) -> tuple[Any, int]:
        import cv2
        import simplejpeg

        cv2.setNumThreads(1)
        data = Path(self.names[i]).read_bytes()
        height, width = simplejpeg.decode_jpeg_header(data)[:2]
        k = next((k for k in (8, 4, 2) if min(height, width) >= k * SIDE), 1)
        image = simplejpeg.decode_jpeg(
            data, min_height=-(-height // k), min_width=-(-width // k), min_factor=1
        )
        return cv2.resize(image, (SIDE, SIDE)), 0


def torch_loader(df: pd.DataFrame, stack: ExitStack) -> Run:
    """A torch DataLoader with two persistent workers."""
    from torch.utils.data import DataLoader

    loader = DataLoader(
        _Files(df["filename"].tolist()),
        batch_size=BATCH,
        shuffle=True,
        num_workers=WORKERS,
        persistent_workers=True,
    )
    return passes(lambda: sum(len(x) for x, _ in loader))


def fit(batches: Callable[[pd.DataFrame, ExitStack], Any]) -> Any:
    """Train a model that costs nothing: it looks at one pixel of each image."""

    def contestant(df: pd.DataFrame, stack: ExitStack) -> Run:
        import keras

        data = batches(df, stack)
        corner = keras.layers.Cropping2D(((0, SIDE - 1), (0, SIDE - 1)))
        classes = df["class"].nunique()
        model = keras.Sequential(
            [
                keras.Input((SIDE, SIDE, 3)),
                corner,
                keras.layers.Flatten(),
                keras.layers.Dense(classes),
            ]
        )
        model.compile("sgd", "mse")

        def run(meter: Meter) -> int:
            clock = keras.callbacks.LambdaCallback(
                on_epoch_begin=lambda epoch, logs: meter.start() if epoch == 1 else None,
                on_epoch_end=lambda epoch, logs: meter.stop(),
            )
            model.fit(data, verbose=0, epochs=1 + PASSES, callbacks=[clock])
            return PASSES * len(df)

        return run

    return contestant


def our_sequence(**said: Any) -> Callable[[pd.DataFrame, ExitStack], Any]:
    return lambda df, stack: stack.enter_context(sequence(df, **said))


def plain_sequence(df: pd.DataFrame, stack: ExitStack) -> Any:
    """A threaded PyDataset as one writes it by hand, with the same decoder and resize."""
    import cv2
    import keras
    import simplejpeg

    cv2.setNumThreads(1)
    classes = df["class"].astype("category").cat.codes.to_numpy()
    one_hot = np.eye(classes.max() + 1, dtype=np.float32)

    class Plain(keras.utils.PyDataset):
        def __len__(self) -> int:
            return -(-len(df) // BATCH)

        def __getitem__(self, i: int) -> Any:
            rows = slice(i * BATCH, (i + 1) * BATCH)
            images = [
                cv2.resize(simplejpeg.decode_jpeg(Path(name).read_bytes()), (SIDE, SIDE))
                for name in df["filename"].iloc[rows]
            ]
            return np.stack(images).astype(np.float32), one_hot[classes[rows]]

    return Plain(workers=WORKERS)


def tf_pipeline(df: pd.DataFrame, stack: ExitStack) -> Any:
    """A tf.data pipeline as one writes it by hand."""
    import tensorflow as tf

    classes = df["class"].astype("category").cat.codes.to_numpy()

    def load(name: Any, label: Any) -> Any:
        image = tf.io.decode_jpeg(tf.io.read_file(name), channels=3)
        return tf.image.resize(image, (SIDE, SIDE)), tf.one_hot(label, int(classes.max()) + 1)

    rows = tf.data.Dataset.from_tensor_slices((df["filename"].to_numpy(dtype=str), classes))
    rows = rows.shuffle(len(df)).map(load, num_parallel_calls=tf.data.AUTOTUNE)
    return rows.batch(BATCH).prefetch(tf.data.AUTOTUNE)


PROCESSES = {"use_multiprocessing": True}
UINT8 = {"dtype": "uint8"}
SMALL: dict[str, Any] = {
    "two threads that only decode": floor,
    "ours, threads": ours(**UINT8),
    "ours, processes": ours(**UINT8, **PROCESSES),
    "keras-preprocessing": keras_preprocessing,
    "Keras, two threads": keras_threads,
    "torch DataLoader": torch_loader,
}
LARGE: dict[str, Any] = {name: SMALL[name] for name in SMALL if name != "torch DataLoader"}
FIT: dict[str, Any] = {
    "bare loop, threads": ours(),
    "bare loop, processes": ours(**PROCESSES),
    "fit, threads": fit(our_sequence()),
    "fit, processes": fit(our_sequence(**PROCESSES)),
    "fit, plain PyDataset": fit(plain_sequence),
    "fit, tf.data by hand": fit(tf_pipeline),
}
SETS = {"500x375, uint8": SMALL, "12 megapixels, uint8": LARGE, "500x375, float32": FIT}
