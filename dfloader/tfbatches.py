"""Batches in the graph: what is planned for one -> what the loader loads.

Imports batch, example, tfmap, tfmix, tfpixels, tfpython.
"""

import os
from typing import Any

import numpy as np
import tensorflow as tf

from dfloader.batch import Loader, assemble
from dfloader.draws import NOTHING, Draws
from dfloader.draws import signature as draws_signature
from dfloader.example import Change, example_shape, write_example
from dfloader.failures import Failures
from dfloader.header import NPY_MAGIC
from dfloader.rows import draw_keys, source_rows
from dfloader.source import Source, is_address
from dfloader.table import Columns
from dfloader.tfmap import mapped, shuffled
from dfloader.tfmix import mixed
from dfloader.tfpixels import picture
from dfloader.tfpython import called, in_python

_CHUNK_ROWS = 1024


class Batches:
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
        if self._loader.cache is not None:
            return load(epoch, given["rows"])
        instead = mapped(tf.data.Dataset.from_tensors((epoch, given["rows"])), load)
        # Either the ops make all of a batch, or Python makes it and says what is wrong.
        tried = native.ignore_errors().concatenate(instead).take(1)
        return tried.with_options(options()).get_single_element()

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

    def _load(self, epoch: Any, rows: Any) -> Any:
        loaded = self._loader.loaded_rows(int(epoch), rows)
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


def planned(loader: Loader, epoch: "tf.Tensor") -> "tf.data.Dataset":
    """Give what plan and table say of each batch of an epoch."""
    order = loader.plan.spec
    many = -(-_CHUNK_ROWS // order.batch_size)
    starts = tf.data.Dataset.range(0, len(loader), many)
    chunk = in_python(lambda e, i: _chunk(loader, int(e), int(i), many), _signature(loader))
    # One chunk ahead, so that no batch waits for Python.
    chunks = mapped(starts, lambda i: chunk(epoch, i)).prefetch(1)
    # Only the last chunk is not whole batches.
    batches = chunks.rebatch(order.batch_size, drop_remainder=order.drop_remainder)
    return mapped(batches.enumerate(), lambda i, given: (epoch, i, given))


def _chunk(loader: Loader, epoch: int, start: int, many: int) -> dict[str, Any]:
    """Give what `many` batches take, from batch `start` on."""
    numbers = range(start, min(start + many, len(loader)))
    return _of_rows(loader, epoch, np.concatenate([loader.plan.rows(epoch, i) for i in numbers]))


def all_planned(loader: Loader) -> "tf.data.Dataset":
    """Give the same as `planned` without Python and epochs: all rows lie in the graph."""
    order = loader.plan.spec
    rows = loader.plan.ordered().order(0)
    ds = tf.data.Dataset.from_tensor_slices(_of_rows(loader, 0, rows))
    # Without a seed: with one, every pass would have the same order.
    ds = shuffled(ds, len(rows)) if order.shuffle else ds
    ds = ds.batch(order.batch_size, drop_remainder=order.drop_remainder)
    first = tf.constant(0, tf.int64)
    return mapped(ds, lambda given: (first, first, given))


def _of_rows(loader: Loader, epoch: int, rows: Any) -> dict[str, Any]:
    own, table = source_rows(rows), loader.table
    example = {"row": draw_keys(rows), "image": _handed(loader, table.images, own)}
    if table.masks is not None:
        example["mask"] = _handed(loader, table.masks, own)
    example |= {"drawn": _given(loader.draws(epoch, rows))}
    return {"rows": rows, "example": example, "columns": _given(table.take(rows))}


def drawn(loader: Loader, epoch: "tf.Tensor", rows: "tf.Tensor") -> dict[str, "tf.Tensor"]:
    """Give what rows (n,) go through in an epoch, as an op."""
    draw = in_python(lambda e, r: _given(loader.draws(int(e), r)), _drawn_signature(loader))
    return draw(epoch, rows) if loader.augment is not None else {}


def _signature(loader: Loader) -> dict[str, Any]:
    strings = tf.TensorSpec((None,), tf.string)
    example: dict[str, Any] = {"row": tf.TensorSpec((None,), tf.int64), "image": strings}
    if loader.table.masks is not None:
        example["mask"] = strings
    return {
        "rows": tf.TensorSpec((None,), tf.int64),
        "example": {**example, "drawn": _drawn_signature(loader)},
        "columns": _tensor_specs(_given(loader.table.signature())),
    }


def _drawn_signature(loader: Loader) -> dict[str, Any]:
    drawn = NOTHING if loader.augment is None else draws_signature(loader.augment)
    signature: dict[str, Any] = _tensor_specs(_given(drawn))
    return signature


def _handed(loader: Loader, source: Source, rows: Any) -> Any:
    """Give paths, or contents; nothing for what only Python reads: addresses, arrays, a cache."""
    if loader.cache is not None:
        return np.full(len(rows), b"", object)
    nothing = os.fsencode(os.devnull) if source.kind == "path" else b""
    if source.loader is not None:
        return np.full(len(rows), nothing, object)
    values = source.take(rows)
    for i, value in enumerate(values):
        if is_address(value) if source.kind == "path" else value.startswith(NPY_MAGIC):
            values[i] = nothing
    return values


def _content(source: Source, value: "tf.Tensor") -> "tf.Tensor":
    return value if source.kind == "encoded" else tf.io.read_file(value)


def _given(parts: Any) -> dict[str, Any]:
    return {name: value for name, value in parts._asdict().items() if value is not None}


def _tensor_specs(tree: Any) -> Any:
    """Turn each `ArraySpec` in nested dicts into a TensorSpec with a leading axis."""
    if isinstance(tree, dict):
        return {name: _tensor_specs(part) for name, part in tree.items()}
    return tf.TensorSpec((None, *tree.shape), tree.dtype)


def options(*, dealt: bool = False) -> "tf.data.Options":
    """Give the options that every dataset of a pipeline has.

    Args:
        dealt: whether a strategy of several processes may deal the batches out to them.
    """
    options = tf.data.Options()
    # TF 2.21's tuner makes the end of every pass wait until its sleep, which doubles, is over.
    options.autotune.enabled = False
    # A shard is the plan's, and what is made of it must not be cut again. Without one every process
    # has the whole, which OFF would have all of them train on, and FILE finds no files in.
    policy = tf.data.experimental.AutoShardPolicy
    options.experimental_distribute.auto_shard_policy = policy.DATA if dealt else policy.OFF
    return options
