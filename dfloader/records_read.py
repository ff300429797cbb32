"""`read_tfrecords`: records as a native, parallel tf.data pipeline. Imports TensorFlow.

What is read comes from the records alone, by a parser that the schema says; pixels and batches are
made as `to_tf_dataset` makes them.
"""

import os
from pathlib import Path
from typing import Any

import tensorflow as tf

from dfloader.batch import Loader, prepare
from dfloader.layers import Layers
from dfloader.plan import fresh_seed
from dfloader.records_order import reading
from dfloader.records_schema import Feature, Output, Schema, check_reading, read_schema, tree
from dfloader.records_table import read_table
from dfloader.spec import OrderSpec, parse
from dfloader.table import Columns
from dfloader.tfbatches import drawn
from dfloader.tfdata import FrameDataset, dataset, epochs, loaded, sharded
from dfloader.tfmap import flat_mapped, mapped, shuffled
from dfloader.tfpython import in_python
from dfloader.transforms import resolve

_BUFFER_BYTES = 256 * 2**20
_OPEN_FILES = 8  # read at once when shuffling, so that neighbours in a file part early
_READ_BYTES = 2**20


def read_tfrecords(
    folder: str | os.PathLike[str],
    batch_size: int = 32,
    *,
    shuffle_buffer: int | None = None,
    num_parallel_calls: int | None = None,
    prefetch: int = 2,
    deterministic: bool = True,
    repeat: bool = False,
    input_context: "tf.distribute.InputContext | None" = None,
    service: str | None = None,
    **spec: Any,
) -> FrameDataset:
    """Read what `write_tfrecords` wrote as a dataset of batches; its n-th pass is epoch n.

    The same elements as `to_tf_dataset` gives of the frame; with ``shuffle=False`` in the same
    order. Shuffled, the files change their order every epoch, eight are read at once, and a buffer
    mixes what they give. For an order that is random throughout use
    `DataFrameSequence.from_tfrecords`.

    Args:
        folder: that of the records.
        batch_size: rows in a batch.
        shuffle_buffer: records, still encoded, that the buffer holds; None: as many as 256 MiB do.
        num_parallel_calls: images in work at once; None: one for each core this process may use.
        prefetch: batches kept ready.
        deterministic: one order for one seed; False may be faster.
        repeat: never end; epoch follows epoch.
        input_context: of `distribute_datasets_from_function`; says `shard`.
        service: ``grpc://host:port`` of a tf.data service, as for `to_tf_dataset`; what workers
            share are the files, so that there should be several for each.
        **spec: as for `to_tf_dataset`, but for columns and labels: the schema says those.

    Raises:
        DataFrameError: the folder does not hold a whole set of records.
        TypeError: a keyword is unknown, or is the schema's.
        ValueError: a value is not allowed, or only `DataFrameSequence` takes it.

    Examples:
        >>> import pandas as pd, tempfile
        >>> from dfloader import write_tfrecords
        >>> df = pd.read_csv("sample_data/labels.csv")
        >>> folder = write_tfrecords(df, tempfile.mkdtemp(), directory="sample_data")
        >>> [x.shape for x, y in read_tfrecords(folder, 16, target_size=(64, 64)).take(1)]
        [TensorShape([16, 64, 64, 3])]
    """
    check_reading(spec)
    said = parse(batch_size, sharded(spec, input_context), fresh_seed=fresh_seed())
    _check_order(said.frame.sampler, said.order)
    path = Path(folder).absolute()
    schema = read_schema(path)
    loader = prepare(read_table(path), said)
    calls = num_parallel_calls or len(os.sched_getaffinity(0))
    how: dict[str, Any] = {"num_parallel_calls": num_parallel_calls, "prefetch": prefetch}
    how |= {"deterministic": deterministic, "repeat": repeat, "service": service}
    how |= {"layers": Layers(resolve(said.augment).layers)}
    if loader.cache is not None:  # it has the rows at random already
        return dataset(loader, **how)
    buffer = shuffle_buffer or _buffered(schema)
    records = _Records(path, schema, loader, buffer=buffer, calls=calls)
    if service is not None:
        return loaded(records.without_python(), loader, **how)
    planned = flat_mapped(epochs(0, repeat), lambda epoch: records(epoch, deterministic))
    return loaded(planned, loader, **how)


def _check_order(sampler: Any, order: OrderSpec) -> None:
    for name, value in (("sampler", sampler), ("samples_per_epoch", order.samples_per_epoch)):
        if value is not None:
            raise ValueError(
                f"read_tfrecords does not take {name}={value!r}: it reads each record once, in the "
                "order of the files. Use DataFrameSequence.from_tfrecords."
            )


def _buffered(schema: Schema) -> int:
    record = max(1, sum(shard.bytes for shard in schema.shards) // schema.rows)
    return min(schema.rows, max(1, _BUFFER_BYTES // record))


class _Records:
    """Gives what an epoch's batches are made of: (epoch, rows, what is planned)."""

    def __init__(
        self, folder: Path, schema: Schema, loader: Loader, *, buffer: int, calls: int
    ) -> None:
        self._files = [str(folder / shard.name) for shard in schema.shards]
        self._sizes = [shard.rows for shard in schema.shards]
        self._schema = schema
        self._loader = loader
        self._buffer = buffer
        self._calls = calls

    def __call__(self, epoch: "tf.Tensor", deterministic: bool) -> "tf.data.Dataset":
        order = self._loader.plan.spec
        ds = self._records(epoch, deterministic)
        ds = ds.batch(order.batch_size, drop_remainder=order.drop_remainder)
        return mapped(
            ds.enumerate(), lambda i, record: (epoch, i, self._planned(epoch, *record))
        ).prefetch(1)

    def without_python(self) -> "tf.data.Dataset":
        """Give the same for workers of a service: files are dealt out, and no epoch is counted."""
        order = self._loader.plan.spec
        ds = tf.data.Dataset.from_tensor_slices(self._files)
        # Without a seed: with one, every pass would have the same order.
        ds = shuffled(ds, len(self._files)) if order.shuffle else ds
        # In parallel: TF 2.21 gives every file to every worker where a serial interleave follows
        # a shuffle.
        ds = ds.interleave(
            lambda file: tf.data.TFRecordDataset(file, buffer_size=_READ_BYTES),
            cycle_length=_OPEN_FILES if order.shuffle else 1,
            num_parallel_calls=self._calls,
        )
        ds = shuffled(ds, self._buffer) if order.shuffle else ds
        ds = ds.batch(order.batch_size, drop_remainder=order.drop_remainder)
        first = tf.constant(0, tf.int64)
        return mapped(ds, lambda record: (first, first, self._planned(first, record, None)))

    def _records(self, epoch: "tf.Tensor", deterministic: bool) -> "tf.data.Dataset":
        """Give serialised records, each with whether it is padding."""
        order = self._loader.plan.spec
        parts, pad, seed = self._reading(epoch)
        ds = tf.data.Dataset.from_tensor_slices(parts)
        if order.shuffle:
            ds = ds.interleave(
                self._part,
                cycle_length=_OPEN_FILES,
                num_parallel_calls=min(self._calls, _OPEN_FILES),
                deterministic=deterministic,
            )
            ds = shuffled(ds, self._buffer, seed)
        else:
            ds = flat_mapped(ds, self._part)
            ds = ds if order.shard is None else ds.shard(order.shard[1], order.shard[0])
        padding = flat_mapped(tf.data.Dataset.from_tensor_slices(pad), self._part)
        return mapped(ds, lambda record: (record, False)).concatenate(
            mapped(padding, lambda record: (record, True))
        )

    def _reading(self, epoch: "tf.Tensor") -> Any:
        parts = tf.TensorSpec((None, 3), tf.int64)
        signature = (parts, parts, tf.TensorSpec((), tf.int64))
        order = self._loader.plan.spec
        plan = in_python(lambda e: tuple(reading(self._sizes, order, int(e))), signature)
        return plan(epoch)

    def _part(self, part: "tf.Tensor") -> "tf.data.Dataset":
        file = tf.gather(tf.constant(self._files), part[0])
        return tf.data.TFRecordDataset(file, buffer_size=_READ_BYTES).skip(part[1]).take(part[2])

    def _planned(self, epoch: "tf.Tensor", records: "tf.Tensor", pad: "tf.Tensor | None") -> Any:
        pad = tf.zeros(tf.shape(records), tf.bool) if pad is None else pad
        parsed = parse_records(records, self._schema)
        rows = parsed["row"]
        example = {name: parsed[name] for name in parsed if name in ("row", "image", "mask")}
        example["drawn"] = drawn(self._loader, epoch, rows)
        columns = self._columns(parsed, pad)
        return {"rows": tf.where(pad, ~rows, rows), "example": example, "columns": columns}

    def _columns(self, parsed: dict[str, "tf.Tensor"], pad: "tf.Tensor") -> dict[str, Any]:
        """Name the parsed numbers as `Columns` does; padding has weight 0."""
        targets: dict[str, tf.Tensor] = {
            name: encoded(parsed[name], out) for name, out in self._schema.outputs.items()
        }
        w = tree("w", parsed)
        if self._loader.table.weights is not None:
            counts = tf.cast(~pad, tf.float32)
            w = counts if w is None else tf.nest.map_structure(lambda part: part * counts, w)
        columns = Columns(tree("y", targets), w, tree("extra", parsed))
        return {name: value for name, value in columns._asdict().items() if value is not None}


def parse_records(records: "tf.Tensor", schema: Schema) -> dict[str, "tf.Tensor"]:
    """Parse serialised records (n,) as the schema says: features (n, ...) by name."""
    wanted = {name: f for name, f in schema.features.items() if name != "path"}
    parsed: dict[str, tf.Tensor] = tf.io.parse_example(
        records, {name: _parser(name, feature) for name, feature in wanted.items()}
    )
    return parsed


def _parser(name: str, feature: Feature) -> Any:
    dtype = tf.string if feature.dtype == "bytes" else tf.as_dtype(feature.dtype)
    if feature.shape is None:
        return tf.io.RaggedFeature(dtype, name, row_splits_dtype=tf.int64)
    return tf.io.FixedLenFeature(feature.shape, dtype)


def encoded(values: Any, output: Output) -> "tf.Tensor":
    """Turn what a record holds of a target into y: `Target.take`, in TensorFlow's ops."""
    if output.class_names is None:
        return values
    classes = len(output.class_names)
    if output.mode == "categorical":
        return tf.one_hot(values, classes)
    if output.mode == "multilabel":
        hot = tf.one_hot(values.to_tensor(default_value=-1), classes)
        return tf.minimum(tf.reduce_sum(hot, axis=1), 1)
    return tf.cast(values, {"sparse": tf.int32, "binary": tf.float32}[output.mode])
