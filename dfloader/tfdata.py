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

import pandas as pd
import tensorflow as tf

from dfloader.batch import Loader, prepare
from dfloader.failures import Failures
from dfloader.frame import resolve
from dfloader.labels import each_encoder
from dfloader.layers import NO_LAYERS, Layers
from dfloader.plan import fresh_seed
from dfloader.service import distributed
from dfloader.spec import parse
from dfloader.tfbatches import Batches, all_planned, options, planned
from dfloader.tfmap import flat_mapped, keeping, mapped
from dfloader.tfpixels import check_supported
from dfloader.tfpython import in_python, layered
from dfloader.transforms import resolve as changes

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
    service: str | None = None,
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
        service: ``grpc://host:port`` of a tf.data service, whose workers do the work: each row once
            an epoch, in no order of the plan's; each worker ends with a short batch of its own.
        **spec: the common keywords, as for `DataFrameSequence`.

    Returns:
        A dataset of ``(x, y)``, ``(x, y, w)``, or of ``x`` for ``class_mode=None``.

    Raises:
        DataFrameError: the frame is wrong.
        TypeError: a keyword is unknown.
        ValueError: a value is not allowed, or only `DataFrameSequence` takes it.

    Examples:
        >>> import pandas as pd
        >>> df = pd.read_csv("sample_data/labels.csv")
        >>> ds = to_tf_dataset(df, 16, directory="sample_data", target_size=(64, 64))
        >>> [x.shape for x, y in ds.take(1)]
        [TensorShape([16, 64, 64, 3])]
    """
    said = parse(batch_size, sharded(spec, input_context), fresh_seed=fresh_seed())
    loader = prepare(resolve(df, said.frame), said)
    return dataset(
        loader,
        num_parallel_calls=num_parallel_calls,
        prefetch=prefetch,
        deterministic=deterministic,
        repeat=repeat,
        service=service,
        layers=Layers(changes(said.augment).layers),
    )


def dataset(
    loader: Loader,
    *,
    repeat: bool = False,
    first_epoch: int = 0,
    service: str | None = None,
    **how: Any,
) -> "FrameDataset":
    """Build the pipeline of a loader.

    Args:
        loader: what a batch is.
        repeat: as for `to_tf_dataset`.
        first_epoch: of the first pass.
        service: as for `to_tf_dataset`.
        **how: as for `loaded`.

    Raises:
        ValueError: it asks for what only `DataFrameSequence` does.
    """
    if service is not None:
        return loaded(all_planned(loader), loader, repeat=repeat, service=service, **how)
    source = flat_mapped(epochs(first_epoch, repeat), lambda epoch: planned(loader, epoch))
    return loaded(source, loader, repeat=repeat, **how)


def loaded(
    source: "tf.data.Dataset",
    loader: Loader,
    *,
    num_parallel_calls: int | None = None,
    prefetch: int = 2,
    deterministic: bool = True,
    repeat: bool = False,
    service: str | None = None,
    layers: Layers = NO_LAYERS,
) -> "FrameDataset":
    """Load batches.

    Args:
        source: of each batch what `tfbatches.planned` says.
        loader: says what becomes of it.
        num_parallel_calls: as all that follow, what it is for `to_tf_dataset`.
        prefetch: likewise.
        deterministic: likewise.
        repeat: whether `source` goes on; with `service`, whether to begin again.
        service: likewise.
        layers: of Keras, to call on whole batches.

    Raises:
        ValueError: it asks for what only `DataFrameSequence` does.
    """
    check_supported(loader)
    failures = Failures()
    calls = num_parallel_calls or len(os.sched_getaffinity(0))
    batches = min(calls, _BATCHES_IN_WORK)
    load = Batches(loader, failures, images_in_work=calls)
    if layers:
        ds = mapped(
            source,
            lambda epoch, i, given: (epoch, i, load(epoch, i, given)),
            calls=batches,
            deterministic=deterministic,
        )
        # One after the other: a layer has one random state.
        ds = mapped(ds, partial(layered, layers, loader.plan.spec.seed))
    else:
        ds = mapped(source, load, calls=batches, deterministic=deterministic)
    if service is not None:
        ds = distributed(ds.with_options(options()), loader, service, layers=layers, repeat=repeat)
        return FrameDataset(ds.prefetch(prefetch).with_options(options()), loader, failures)
    if loader.image.on_error == "skip":
        end = _end(failures, ds)
        ds = keeping(ds.concatenate(end), ds, end)
    length = tf.data.INFINITE_CARDINALITY if repeat else len(loader)
    counted = ds.apply(tf.data.experimental.assert_cardinality(length))
    said = options(dealt=loader.plan.spec.shard is None)
    ready = keeping(counted.prefetch(prefetch).with_options(said), ds)
    return FrameDataset(ready, loader, failures)


class FrameDataset(tf.data.Dataset):  # type: ignore[misc]
    """A `tf.data.Dataset` that knows its frame. What is made of it (`map`, ...) does not.

    Attributes:
        encoder: the classes, to share with a validation set; None or a dict as below.
        class_names: the classes in order; None where there are none; a dict where outputs are
            several.
        class_indices: the number of each class, likewise.
        seed: of the order.
    """

    def __init__(self, ds: "tf.data.Dataset", loader: Loader, failures: Failures) -> None:
        self.encoder = loader.table.encoder
        self.class_names = each_encoder(self.encoder, lambda each: list(each.class_names))
        self.class_indices = each_encoder(self.encoder, lambda each: each.class_indices)
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


def sharded(spec: dict[str, Any], context: "tf.distribute.InputContext | None") -> dict[str, Any]:
    """Let `input_context` say the shard."""
    if context is None:
        return spec
    if spec.get("shard") is not None:
        raise ValueError(f"shard={spec['shard']!r} and input_context both say the shard. Drop one.")
    return {**spec, "shard": (context.input_pipeline_id, context.num_input_pipelines)}


def epochs(first: int, repeat: bool) -> "tf.data.Dataset":
    """Give the number of a pass when it is first read; then, with `repeat`, those after it."""
    count = itertools.count(first)

    begin = in_python(lambda _: next(count), tf.TensorSpec((), tf.int64))
    passes = tf.data.Dataset.from_tensors(0)
    return mapped(passes.repeat() if repeat else passes, begin)


def _end(failures: Failures, like: "tf.data.Dataset") -> "tf.data.Dataset":
    """Give no batch, but log what was left out when the last has been asked for."""

    def log(_: Any) -> int:
        failures.log()
        return 0

    log_op = in_python(log, tf.TensorSpec((), tf.int64))
    return flat_mapped(tf.data.Dataset.from_tensors(0), lambda one: like.take(log_op(one)))
