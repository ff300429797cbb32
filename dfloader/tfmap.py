"""map, flat_map and shuffle of tf.data, as ops of their own. Imports TensorFlow only.

`Dataset.map` compiles its function as one for several devices. That runs TensorFlow's graph
optimiser at the start of every pass (captured_function.cc and meta_optimizer.cc of TF 2.21; 0.3 s
of a core for the function that decodes), and turns branches into dead ends that are walked for
every image (a quarter of the time of a small JPEG). A function with the attribute
``experimental_ints_on_device`` is compiled for the CPU alone and has neither. `Dataset.map` takes
no attributes, so that its op is called here.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

_ONE_DEVICE = {"experimental_ints_on_device": True}


def mapped(
    ds: "tf.data.Dataset",
    function: Callable[..., Any],
    *,
    calls: int | None = None,
    deterministic: bool = True,
) -> "tf.data.Dataset":
    """Apply `function` to each element, as `Dataset.map` does.

    Args:
        ds: elements are nested tensors; a tuple becomes several arguments.
        function: tensors to nested tensors.
        calls: at work at once; None: one after the other, in the thread that asks.
        deterministic: keep the order.
    """
    traced = _traced(ds, function)
    structure = _specs(traced)
    arguments = {"input_dataset": tf.data.experimental.to_variant(ds), "f": traced}
    arguments |= {"other_arguments": traced.captured_inputs, **_described(structure)}
    if calls is None:
        variant = tf.raw_ops.MapDataset(**arguments, preserve_cardinality=True)
    else:
        variant = tf.raw_ops.ParallelMapDatasetV2(
            **arguments,
            num_parallel_calls=tf.constant(calls, tf.int64),
            deterministic="true" if deterministic else "false",
            preserve_cardinality=True,
        )
    return _dataset(variant, structure, ds, traced)


def flat_mapped(
    ds: "tf.data.Dataset", function: Callable[..., "tf.data.Dataset"]
) -> "tf.data.Dataset":
    """Put the datasets that `function` makes of each element one after the other."""
    structure: Any = None

    def variant_of(*element: Any) -> "tf.Tensor":
        nonlocal structure
        made = function(*element)
        structure = made.element_spec
        return tf.data.experimental.to_variant(made)

    traced = _traced(ds, variant_of)
    variant = tf.raw_ops.FlatMapDataset(
        input_dataset=tf.data.experimental.to_variant(ds),
        other_arguments=traced.captured_inputs,
        f=traced,
        **_described(structure),
    )
    return _dataset(variant, structure, ds, traced)


def shuffled(
    ds: "tf.data.Dataset", buffer: int, seed: "tf.Tensor | None" = None
) -> "tf.data.Dataset":
    """Mix elements in a buffer, as `Dataset.shuffle` does, whatever `tf.random.set_seed` said.

    Args:
        ds: any dataset.
        buffer: elements in the buffer.
        seed: int64; the same seed gives the same order. None: another order every time.
    """
    first, second = (0, 0) if seed is None else (seed, 1)  # two zeros ask for random ones
    variant = tf.raw_ops.ShuffleDataset(
        input_dataset=tf.data.experimental.to_variant(ds),
        buffer_size=tf.constant(buffer, tf.int64),
        seed=tf.cast(first, tf.int64),
        seed2=tf.cast(second, tf.int64),
        reshuffle_each_iteration=seed is None,
        **_described(ds.element_spec),
    )
    return _dataset(variant, ds.element_spec, ds)


def keeping(ds: "tf.data.Dataset", *needed: Any) -> "tf.data.Dataset":
    """Let a dataset keep what TensorFlow knows by name or number only, and what its inputs keep.

    Its tensor keeps it: that is all that a concrete function has of a dataset.
    """
    variant = tf.data.experimental.to_variant(ds)
    kept = [
        tf.data.experimental.to_variant(n) if isinstance(n, tf.data.Dataset) else n for n in needed
    ]
    variant.dfloader_kept = [*getattr(variant, "dfloader_kept", ()), *kept]
    return ds


def _traced(ds: "tf.data.Dataset", function: Callable[..., Any]) -> Any:
    spec = ds.element_spec

    def flat(*tensors: "tf.Tensor") -> Any:
        element = tf.nest.pack_sequence_as(spec, tensors)
        return function(*element) if isinstance(element, tuple) else function(element)

    traced = tf.function(
        flat,
        input_signature=tf.nest.flatten(spec),
        autograph=False,
        experimental_attributes=_ONE_DEVICE,
    ).get_concrete_function()
    if not tf.executing_eagerly():
        traced.add_to_graph()
    return traced


def _specs(traced: Any) -> Any:
    return tf.nest.map_structure(
        lambda part: tf.TensorSpec(part.shape, part.dtype), traced.structured_outputs
    )


def _described(structure: Any) -> dict[str, Any]:
    specs = tf.nest.flatten(structure)
    return {"output_types": [s.dtype for s in specs], "output_shapes": [s.shape for s in specs]}


def _dataset(variant: "tf.Tensor", structure: Any, *needed: Any) -> "tf.data.Dataset":
    return keeping(tf.data.experimental.from_variant(variant, structure), *needed)
