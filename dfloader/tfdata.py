"""`to_tf_dataset`: the batches of a sequence as a native, parallel tf.data pipeline.

Python runs once a chunk of about a thousand rows, to hand over what the plan and the table say;
each image is read, decoded and resized by TensorFlow's own ops, with the arithmetic of decode and
render.
"""

import itertools
import os
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from dfloader.batch import Loader, assemble, prepare
from dfloader.frame import resolve
from dfloader.geometry import SCALES, nearest_index
from dfloader.header import JPEG_MAGIC
from dfloader.labels import each_encoder
from dfloader.plan import fresh_seed
from dfloader.spec import ImageSpec, parse
from dfloader.table import Columns, source_rows

_CHUNK_ROWS = 1024

# ITU-R 601-2 in 16 bits, as Pillow and libjpeg have it.
_LUMA = (19595, 38470, 7471)


def to_tf_dataset(
    df: Any,
    batch_size: int = 32,
    *,
    num_parallel_calls: int | None = None,
    prefetch: int = 2,
    deterministic: bool = True,
    repeat: bool = False,
    **spec: Any,
) -> "tf.data.Dataset":
    """Build a dataset of batches; its n-th pass is epoch n.

    Args:
        df: the frame.
        batch_size: rows in a batch.
        num_parallel_calls: images in work at once; None: one for each core this process may use.
        prefetch: batches kept ready.
        deterministic: keep the plan's order; False may be faster and gives another one.
        repeat: never end; epoch follows epoch.
        **spec: the common keywords, as for `DataFrameSequence`.

    Returns:
        A dataset of ``(x, y)``, or of ``x`` for ``class_mode=None``, with the attributes
        ``class_indices`` and ``class_names`` where there are classes.

    Raises:
        DataFrameError: the frame is wrong.
        TypeError: a keyword is unknown.

    Example:
        >>> import pandas as pd
        >>> df = pd.read_csv("sample_data/labels.csv")
        >>> ds = to_tf_dataset(df, 16, directory="sample_data", target_size=(64, 64))
        >>> [x.shape for x, y in ds.take(1)]
        [TensorShape([16, 64, 64, 3])]
    """
    said = parse(batch_size, spec, fresh_seed=fresh_seed())
    loader = prepare(resolve(df, said.frame), said)
    calls = num_parallel_calls or len(os.sched_getaffinity(0))
    return dataset(
        loader, calls=calls, prefetch=prefetch, deterministic=deterministic, repeat=repeat
    )


def dataset(
    loader: Loader, *, calls: int, prefetch: int, deterministic: bool, repeat: bool
) -> "tf.data.Dataset":
    """Build the pipeline of a loader.

    Raises:
        ValueError: it asks for what only `DataFrameSequence` does.
    """
    _check_supported(loader.image)
    if loader.augment is not None:
        raise ValueError("to_tf_dataset does not take augment=. Use DataFrameSequence for it.")
    order = loader.plan.spec
    ds = tf.data.Dataset.from_generator(
        _Passes(loader, repeat), output_signature=_chunk_signature(loader)
    )
    ds = ds.unbatch().map(
        lambda example: assemble(
            _image(example["path"], loader.image),
            Columns(**example["columns"]),
            y_is_x=loader.table.y_is_x,
        ),
        num_parallel_calls=calls,
        deterministic=deterministic,
    )
    ds = ds.batch(order.batch_size, drop_remainder=order.drop_remainder)
    length = tf.data.INFINITE_CARDINALITY if repeat else len(loader)
    ds = ds.apply(tf.data.experimental.assert_cardinality(length)).prefetch(prefetch)
    return _with_names(ds.with_options(_options()), loader)


class _Passes:
    """Gives the chunks of one epoch each time it is called: epoch 0, 1, 2, ..."""

    def __init__(self, loader: Loader, repeat: bool) -> None:
        self._loader = loader
        self._repeat = repeat
        self._epochs = itertools.count()

    def __call__(self) -> Iterator[dict[str, Any]]:
        yield from self._chunks(next(self._epochs))
        while self._repeat:
            yield from self._chunks(next(self._epochs))

    def _chunks(self, epoch: int) -> Iterator[dict[str, Any]]:
        table, plan = self._loader.table, self._loader.plan
        order = plan.order(epoch)[: len(plan) * plan.spec.batch_size]
        for start in range(0, len(order), _CHUNK_ROWS):
            rows = order[start : start + _CHUNK_ROWS]
            paths = table.images.take(source_rows(rows))
            yield {"path": paths, "columns": _given(table.take(rows))}


def _chunk_signature(loader: Loader) -> dict[str, Any]:
    columns = _given(loader.table.signature())
    return {"path": tf.TensorSpec((None,), tf.string), "columns": _tensor_specs(columns)}


def _given(columns: Columns) -> dict[str, Any]:
    return {name: value for name, value in columns._asdict().items() if value is not None}


def _tensor_specs(tree: Any) -> Any:
    """Turn each `ArraySpec` in nested dicts into a TensorSpec with a leading axis."""
    if isinstance(tree, dict):
        return {name: _tensor_specs(part) for name, part in tree.items()}
    return tf.TensorSpec((None, *tree.shape), tree.dtype)


def _image(path: "tf.Tensor", spec: ImageSpec) -> "tf.Tensor":
    image = _resize(_decode(tf.io.read_file(path), spec), spec)
    if spec.rescale is not None:
        image = image * spec.rescale
    image.set_shape(spec.signature().shape)
    return image


def _decode(data: "tf.Tensor", spec: ImageSpec) -> "tf.Tensor":
    is_jpeg = tf.strings.substr(data, 0, len(JPEG_MAGIC)) == JPEG_MAGIC
    return tf.cond(is_jpeg, lambda: _decode_jpeg(data, spec), lambda: _decode_other(data, spec))


def _decode_jpeg(data: "tf.Tensor", spec: ImageSpec) -> "tf.Tensor":
    def at(k: int) -> "tf.Tensor":
        return tf.io.decode_jpeg(
            data, channels=spec.channels, ratio=k, dct_method="INTEGER_ACCURATE"
        )

    if spec.decode == "full" or spec.target_size is None:
        return at(1)
    height, width, _ = tf.unstack(tf.image.extract_jpeg_shape(data))
    rows, columns = spec.target_size
    branches = [
        ((-(-height // k) >= rows) & (-(-width // k) >= columns), lambda k=k: at(k)) for k in SCALES
    ]
    return tf.case(branches, default=lambda: at(1))


def _decode_other(data: "tf.Tensor", spec: ImageSpec) -> "tf.Tensor":
    image = tf.io.decode_image(data, channels=3, expand_animations=False)
    image.set_shape((None, None, 3))
    if spec.channels == 3:
        return image
    luma = tf.reduce_sum(tf.cast(image, tf.int32) * tf.constant(_LUMA), axis=-1, keepdims=True)
    return tf.cast((luma + 0x8000) // 0x10000, tf.uint8)


def _resize(image: "tf.Tensor", spec: ImageSpec) -> "tf.Tensor":
    if spec.target_size is not None:
        image = _RESIZE[spec.interpolation](image, spec.target_size)
    if spec.dtype == "uint8" and image.dtype != tf.uint8:
        image = tf.round(image)
    return tf.cast(image, spec.dtype)


def _bilinear(image: "tf.Tensor", size: tuple[int, int]) -> "tf.Tensor":
    return tf.image.resize(image, size)


def _nearest(image: "tf.Tensor", size: tuple[int, int]) -> "tf.Tensor":
    shape = tf.shape(image, out_type=tf.int64)
    rows = nearest_index(shape[0], tf.range(size[0] + 1, dtype=tf.int64))
    columns = nearest_index(shape[1], tf.range(size[1] + 1, dtype=tf.int64))
    return tf.gather(tf.gather(image, rows), columns, axis=1)


_RESIZE = {"bilinear": _bilinear, "nearest": _nearest}


_SUPPORTED = {
    "color_mode": ("rgb", "grayscale"),
    "interpolation": tuple(_RESIZE),
    "resize_mode": ("stretch",),
    "dtype": ("float32", "uint8"),
    "on_error": ("raise",),
}


def _check_supported(spec: ImageSpec) -> None:
    for name, values in _SUPPORTED.items():
        if getattr(spec, name) not in values:
            raise ValueError(
                f"to_tf_dataset does not take {name}={getattr(spec, name)!r}, only "
                f"{', '.join(map(repr, values))}. Use DataFrameSequence for it."
            )


def _options() -> "tf.data.Options":
    options = tf.data.Options()
    # TF 2.21's tuner makes the end of every pass wait until its sleep, which doubles, is over.
    options.autotune.enabled = False
    return options


def _with_names(ds: "tf.data.Dataset", loader: Loader) -> "tf.data.Dataset":
    encoder = loader.table.encoder
    if encoder is not None:
        ds.class_indices = each_encoder(encoder, lambda each: each.class_indices)
        ds.class_names = each_encoder(encoder, lambda each: list(each.class_names))
    return ds
