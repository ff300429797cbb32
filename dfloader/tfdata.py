"""`to_tf_dataset`: the batches of a sequence as a native, parallel tf.data pipeline.

1. Python runs once a chunk of about a thousand rows, to hand over what plan and table say, and for
   rows whose files TensorFlow cannot decode; everything else is TensorFlow's own ops.
2. What a batch is `Loader` says. A batch that the ops cannot make is made by `Loader.load` itself,
   whose error names row and path.
3. Nothing of the frame is in the graph: the graph has the size of the spec.
"""

import itertools
import os
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import tensorflow as tf

from dfloader.batch import Loader, assemble, prepare
from dfloader.draws import NOTHING, Draws
from dfloader.draws import signature as draws_signature
from dfloader.example import Change, example_shape, write_example
from dfloader.failures import Failures
from dfloader.frame import resolve
from dfloader.header import NPY_MAGIC
from dfloader.labels import each_encoder
from dfloader.layers import NO_LAYERS, Layers
from dfloader.plan import fresh_seed
from dfloader.rows import draw_keys, source_rows
from dfloader.source import Source, is_address
from dfloader.spec import parse
from dfloader.table import Columns
from dfloader.tfmap import flat_mapped, mapped
from dfloader.tfmix import mixed
from dfloader.tfpixels import check_supported, picture
from dfloader.tfpython import called, in_python, layered
from dfloader.transforms import resolve as changes

_CHUNK_ROWS = 1024
# Batches in work at once: one can end while another goes on, and many cores need no more memory.
_BATCHES_IN_WORK = 2


def to_tf_dataset(
    df: Any,
    batch_size: int = 32,
    *,
    num_parallel_calls: int | None = None,
    prefetch: int = 2,
    deterministic: bool = True,
    repeat: bool = False,
    input_context: "tf.distribute.InputContext | None" = None,
    **spec: Any,
) -> "FrameDataset":
    """Build a dataset of batches; its n-th pass is epoch n.

    A pass counts from its first batch on: iterators that are never read do not.

    Args:
        df: the frame.
        batch_size: rows in a batch, which `distribute_datasets_from_function` gives to one replica
            and `experimental_distribute_dataset` splits between the replicas.
        num_parallel_calls: images of a batch in work at once, for each of the two batches in work;
            None: one for each core that this process may use.
        prefetch: batches kept ready.
        deterministic: keep the plan's order; False may be faster and gives another one.
        repeat: never end; epoch follows epoch.
        input_context: of `distribute_datasets_from_function`; says `shard`.
        **spec: the common keywords, as for `DataFrameSequence`.

    Returns:
        A dataset of ``(x, y)``, ``(x, y, w)``, or of ``x`` for ``class_mode=None``.

    Raises:
        DataFrameError: the frame is wrong.
        TypeError: a keyword is unknown.
        ValueError: a value is not allowed, or only `DataFrameSequence` takes it.

    Example:
        >>> import pandas as pd
        >>> df = pd.read_csv("sample_data/labels.csv")
        >>> ds = to_tf_dataset(df, 16, directory="sample_data", target_size=(64, 64))
        >>> [x.shape for x, y in ds.take(1)]
        [TensorShape([16, 64, 64, 3])]
    """
    said = parse(batch_size, _sharded(spec, input_context), fresh_seed=fresh_seed())
    loader = prepare(resolve(df, said.frame), said)
    return dataset(
        loader,
        num_parallel_calls=num_parallel_calls,
        prefetch=prefetch,
        deterministic=deterministic,
        repeat=repeat,
        layers=Layers(changes(said.augment).layers),
    )


def dataset(
    loader: Loader,
    *,
    num_parallel_calls: int | None = None,
    prefetch: int = 2,
    deterministic: bool = True,
    repeat: bool = False,
    first_epoch: int = 0,
    layers: Layers = NO_LAYERS,
) -> "FrameDataset":
    """Build the pipeline of a loader.

    Args:
        loader: what a batch is.
        num_parallel_calls: as all that follow, what it is for `to_tf_dataset`.
        prefetch: likewise.
        deterministic: likewise.
        repeat: likewise.
        first_epoch: of the first pass.

    Raises:
        ValueError: it asks for what only `DataFrameSequence` does.
    """
    check_supported(loader)
    failures = Failures()
    calls = num_parallel_calls or len(os.sched_getaffinity(0))
    batches = min(calls, _BATCHES_IN_WORK)
    load = _Batches(loader, failures, images_in_work=calls)
    ds = flat_mapped(_epochs(first_epoch, repeat), lambda epoch: _planned(loader, epoch))
    if layers:
        ds = mapped(
            ds,
            lambda epoch, i, given: (epoch, i, load(epoch, i, given)),
            calls=batches,
            deterministic=deterministic,
        )
        # One after the other: a layer has one random state.
        ds = mapped(ds, partial(layered, layers, loader.plan.spec.seed))
    else:
        ds = mapped(ds, load, calls=batches, deterministic=deterministic)
    if loader.image.on_error == "skip":
        ds = ds.concatenate(_end(failures, ds))
    length = tf.data.INFINITE_CARDINALITY if repeat else len(loader)
    ds = ds.apply(tf.data.experimental.assert_cardinality(length)).prefetch(prefetch)
    return FrameDataset(ds.with_options(_options()), loader, failures)


class FrameDataset(tf.data.Dataset):  # type: ignore[misc]
    """A `tf.data.Dataset` that knows its frame. What is made of it (`map`, ...) does not.

    Attributes:
        class_names: the classes in order; None where there are none; a dict where outputs are
            several.
        class_indices: the number of each class, likewise.
        seed: of the order.
    """

    def __init__(self, ds: "tf.data.Dataset", loader: Loader, failures: Failures) -> None:
        encoder = loader.table.encoder
        self.class_names = each_encoder(encoder, lambda each: list(each.class_names))
        self.class_indices = each_encoder(encoder, lambda each: each.class_indices)
        self.seed = loader.plan.spec.seed
        self._batches = ds
        self._failures = failures
        super().__init__(tf.data.experimental.to_variant(ds))

    @property
    def failures(self) -> pd.DataFrame:
        """The rows that ``on_error="skip"`` left black so far, one line each: row, path, reason."""
        return self._failures.frame()

    @property
    def element_spec(self) -> Any:
        return self._batches.element_spec

    def _inputs(self) -> list["tf.data.Dataset"]:
        return [self._batches]


def _sharded(spec: dict[str, Any], context: "tf.distribute.InputContext | None") -> dict[str, Any]:
    if context is None:
        return spec
    if spec.get("shard") is not None:
        raise ValueError(f"shard={spec['shard']!r} and input_context both say the shard. Drop one.")
    return {**spec, "shard": (context.input_pipeline_id, context.num_input_pipelines)}


def _epochs(first: int, repeat: bool) -> "tf.data.Dataset":
    """Give the number of a pass when it is first read; then, with `repeat`, those after it."""
    count = itertools.count(first)

    begin = in_python(lambda _: next(count), tf.TensorSpec((), tf.int64))
    passes = tf.data.Dataset.from_tensors(0)
    return mapped(passes.repeat() if repeat else passes, begin)


def _planned(loader: Loader, epoch: "tf.Tensor") -> "tf.data.Dataset":
    """Give what plan and table say of each batch of an epoch."""
    order = loader.plan.spec
    size = _chunk_batches(order.batch_size) * order.batch_size
    signature = _signature(loader)
    chunk = in_python(lambda e, i: _chunk(loader, int(e), int(i), size), signature)
    numbers = tf.data.Dataset.range(-(-loader.plan.share // size))
    # One chunk ahead, so that no batch waits for Python.
    chunks = mapped(numbers, lambda i: chunk(epoch, i)).prefetch(1)
    # Only the last chunk is not whole batches.
    batches = chunks.rebatch(order.batch_size, drop_remainder=order.drop_remainder)
    return mapped(batches.enumerate(), lambda i, given: (epoch, i, given))


def _chunk_batches(batch_size: int) -> int:
    return -(-_CHUNK_ROWS // batch_size)


def _chunk(loader: Loader, epoch: int, i: int, size: int) -> dict[str, Any]:
    rows = loader.plan.order(epoch)[i * size : (i + 1) * size]
    own, table = source_rows(rows), loader.table
    example = {"row": draw_keys(rows), "image": _handed(table.images, own)}
    if table.masks is not None:
        example["mask"] = _handed(table.masks, own)
    drawn = _given(loader.draws(epoch, rows))
    return {"example": {**example, "drawn": drawn}, "columns": _given(table.take(rows))}


def _signature(loader: Loader) -> dict[str, Any]:
    strings = tf.TensorSpec((None,), tf.string)
    example: dict[str, Any] = {"row": tf.TensorSpec((None,), tf.int64), "image": strings}
    if loader.table.masks is not None:
        example["mask"] = strings
    drawn = NOTHING if loader.augment is None else draws_signature(loader.augment)
    return {
        "example": {**example, "drawn": _tensor_specs(_given(drawn))},
        "columns": _tensor_specs(_given(loader.table.signature())),
    }


class _Batches:
    """Makes batches: (epoch, number, what is planned) -> what the loader loads."""

    def __init__(self, loader: Loader, failures: Failures, *, images_in_work: int) -> None:
        self._loader = loader
        self._failures = failures
        self._images_in_work = images_in_work if images_in_work > 1 else None
        height, width, channels = loader.image.signature().shape
        image = tf.TensorSpec((height, width, channels), loader.image.dtype)
        mask = {"mask": tf.TensorSpec((height, width, 1), tf.uint8)} if loader.table.masks else {}
        self._pixels = {"image": image, **mask}

    def __call__(self, epoch: "tf.Tensor", i: "tf.Tensor", given: dict[str, Any]) -> Any:
        native = self._native(epoch, given)
        load = in_python(self._load, native.element_spec)
        instead = mapped(tf.data.Dataset.from_tensors((epoch, i)), load)
        # Either the ops make all of a batch, or Python makes it and says what is wrong.
        tried = native.ignore_errors().concatenate(instead).take(1)
        return tried.with_options(_options()).get_single_element()

    def _native(self, epoch: "tf.Tensor", given: dict[str, Any]) -> "tf.data.Dataset":
        """Give one batch, or an error and then nothing: drop_remainder leaves out a part of it."""
        ds = tf.data.Dataset.from_tensor_slices(given["example"])
        ds = mapped(ds, lambda row: self._example(epoch, row), calls=self._images_in_work)
        n = tf.size(given["example"]["row"], tf.int64)
        ds = ds.batch(n, drop_remainder=True)
        return mapped(ds, lambda pixels: self._assembled(pixels, given))

    def _example(self, epoch: "tf.Tensor", row: dict[str, Any]) -> dict[str, "tf.Tensor"]:
        loader = self._loader
        render = in_python(self._render, self._pixels)
        pixels = picture(
            _content(loader.table.images, row["image"]),
            None if loader.table.masks is None else _content(loader.table.masks, row["mask"]),
            loader.image,
            Change(loader.augment, Draws(**row["drawn"])),
            call=lambda made: called(loader, epoch, row["row"], made),
            otherwise=lambda: render(epoch, row["row"]),
        )
        return {name: tf.ensure_shape(pixels[name], s.shape) for name, s in self._pixels.items()}

    def _assembled(self, pixels: dict[str, "tf.Tensor"], given: dict[str, Any]) -> Any:
        order, table = self._loader.plan.spec, self._loader.table
        pixels, columns = mixed(pixels, given["columns"], given["example"]["drawn"].get("mix"))
        n = order.batch_size if order.drop_remainder else None
        pixels, columns = tf.nest.map_structure(
            lambda part: tf.ensure_shape(part, (n, *part.shape[1:])), (pixels, columns)
        )
        mask = pixels.get("mask")
        return assemble(pixels["image"], Columns(**columns), mask=mask, y_is_x=table.y_is_x)

    def _load(self, epoch: Any, i: Any) -> Any:
        loaded = self._loader.loaded(int(epoch), int(i))
        self._failures.add(loaded.failures)
        return loaded.batch

    def _render(self, epoch: Any, row: Any) -> dict[str, Any]:
        loader, r = self._loader, int(source_rows(np.array([row]))[0])
        height, width, channels = example_shape(loader.table, loader.image, r)
        out = {"image": np.empty((height, width, channels), loader.image.dtype)}
        if loader.table.masks is not None:
            out["mask"] = np.empty((height, width, 1), np.uint8)
        write_example(loader.table, loader.image, r, out, loader.change(int(epoch), int(row)))
        return out


def _handed(source: Source, rows: Any) -> Any:
    """Give paths, or contents; nothing for what only Python can read: addresses and arrays."""
    values = source.take(rows)
    nothing = os.fsencode(os.devnull) if source.kind == "path" else b""
    for i, value in enumerate(values):
        if is_address(value) if source.kind == "path" else value.startswith(NPY_MAGIC):
            values[i] = nothing
    return values


def _content(source: Source, value: "tf.Tensor") -> "tf.Tensor":
    return value if source.kind == "encoded" else tf.io.read_file(value)


def _end(failures: Failures, like: "tf.data.Dataset") -> "tf.data.Dataset":
    """Give no batch, but log what was left out when the last has been asked for."""

    def log(_: Any) -> int:
        failures.log()
        return 0

    log_op = in_python(log, tf.TensorSpec((), tf.int64))
    return flat_mapped(tf.data.Dataset.from_tensors(0), lambda one: like.take(log_op(one)))


def _given(parts: Any) -> dict[str, Any]:
    return {name: value for name, value in parts._asdict().items() if value is not None}


def _tensor_specs(tree: Any) -> Any:
    """Turn each `ArraySpec` in nested dicts into a TensorSpec with a leading axis."""
    if isinstance(tree, dict):
        return {name: _tensor_specs(part) for name, part in tree.items()}
    return tf.TensorSpec((None, *tree.shape), tree.dtype)


def _options() -> "tf.data.Options":
    options = tf.data.Options()
    # TF 2.21's tuner makes the end of every pass wait until its sleep, which doubles, is over.
    options.autotune.enabled = False
    # Sharding is the plan's: whole epochs, disjoint, of equal length.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return options
