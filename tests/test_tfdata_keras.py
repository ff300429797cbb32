"""The pipeline in `fit`, `evaluate`, `predict`, a loop of one's own and `tf.distribute`."""

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
import tf_keras

from dfloader import to_tf_dataset

ROOT = Path(__file__).parent.parent
SMALL = {"target_size": (8, 8), "seed": 3}

# Keras tells its default shuffle=True of datasets, which it does not apply to them.
pytestmark = pytest.mark.filterwarnings("ignore:.shuffle=True. was passed:UserWarning")


def classifier(package: Any) -> Any:
    model = package.Sequential([package.layers.Flatten(), package.layers.Dense(3, "softmax")])
    model.compile("sgd", "categorical_crossentropy", metrics=["accuracy"])
    return model


@pytest.mark.parametrize("package", [keras, tf_keras], ids=["keras", "tf_keras"])
def test_fit_evaluate_and_predict(df: pd.DataFrame, package: Any) -> None:
    dataset = to_tf_dataset(df, 8, rescale=1 / 255, **SMALL)
    model = classifier(package)
    history = model.fit(dataset, validation_data=dataset, epochs=2, verbose=0).history
    assert len(history["loss"]) == len(history["val_loss"]) == 2
    assert np.isfinite(history["loss"]).all()
    assert np.isfinite(model.evaluate(dataset, verbose=0)).all()
    assert model.predict(dataset, verbose=0).shape == (20, 3)


@pytest.mark.parametrize("package", [keras, tf_keras], ids=["keras", "tf_keras"])
def test_each_epoch_of_fit_is_the_next_pass(df: pd.DataFrame, package: Any) -> None:
    spec = {"class_mode": "raw", "y_col": "count", **SMALL}
    seen: list[int] = []

    def look(y: Any) -> Any:
        seen.extend(y.tolist())
        return y.astype(np.float32)

    def with_look(x: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return x, tf.ensure_shape(tf.numpy_function(look, [y], tf.float32), (None,))

    model = package.Sequential([package.layers.Flatten(), package.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(to_tf_dataset(df, 8, **spec).map(with_look), epochs=3, verbose=0)
    twin = to_tf_dataset(df, 8, **spec)
    assert seen == [int(row) for _ in range(3) for _, y in twin for row in y]


def test_two_inputs_and_two_outputs_by_name(df: pd.DataFrame) -> None:
    image, size = keras.Input((8, 8, 3), name="image"), keras.Input((1,), name="meta")
    joined = keras.layers.Concatenate()([keras.layers.Flatten()(image), size])
    outputs = {
        "class": keras.layers.Dense(3, "softmax", name="class")(joined),
        "count": keras.layers.Dense(1, name="count")(joined),
    }
    model = keras.Model([image, size], outputs)
    model.compile("sgd", {"class": "sparse_categorical_crossentropy", "count": "mse"})
    dataset = to_tf_dataset(
        df,
        8,
        class_mode={"class": "sparse", "count": "raw"},
        extra_cols={"meta": ["size"]},
        weight_col="size",
        rescale=1 / 255,
        **SMALL,
    )
    assert np.isfinite(model.fit(dataset, verbose=0).history["loss"]).all()


def test_a_loop_in_a_function(df: pd.DataFrame) -> None:
    dataset = to_tf_dataset(df, 8, class_mode="raw", y_col="count", **SMALL)

    @tf.function
    def total() -> tf.Tensor:
        result = tf.constant(0, tf.int64)
        for _, y in dataset:
            result += tf.reduce_sum(y)
        return result

    assert [int(total()) for _ in range(2)] == [sum(range(20))] * 2


def in_two_devices(code: str, *paths: str) -> str:
    """Run code where TensorFlow has two logical CPUs, which must be said before it starts."""
    start = """
        import sys, pandas as pd, tensorflow as tf
        from dfloader import to_tf_dataset
        cpu = tf.config.list_physical_devices("CPU")[0]
        two = [tf.config.LogicalDeviceConfiguration()] * 2
        tf.config.set_logical_device_configuration(cpu, two)
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        frame = pd.DataFrame({"filename": sys.argv[1:], "id": range(len(sys.argv) - 1)})
        spec = dict(class_mode="raw", y_col="id", target_size=(8, 8), seed=3)
        def ids(batches, part):
            return [int(i) for batch in batches
                    for y in strategy.experimental_local_results(batch[part]) for i in y]
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(start) + textwrap.dedent(code), *paths],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_mirrored_strategy_gives_every_row_once_an_epoch(df: pd.DataFrame) -> None:
    code = """
        dataset, twin = (to_tf_dataset(frame, 8, **spec) for _ in range(2))
        distributed = strategy.experimental_distribute_dataset(dataset)
        for _ in range(2):
            assert ids(distributed, 1) == [int(i) for _, y in twin for i in y]
        def made(context):
            size = context.get_per_replica_batch_size(8)
            return to_tf_dataset(frame, size, input_context=context, **spec)
        assert sorted(ids(strategy.distribute_datasets_from_function(made), 1)) == list(range(20))
        print("done")
    """
    assert "done" in in_two_devices(code, *df["filename"])


@pytest.mark.parametrize("count", [2, 3])
def test_input_context_gives_disjoint_shards_of_equal_length(df: pd.DataFrame, count: int) -> None:
    found: list[int] = []
    for i in range(count):
        context = tf.distribute.InputContext(count, i, count)
        dataset = to_tf_dataset(
            df, 4, class_mode="raw", y_col="count", input_context=context, **SMALL
        )
        batches = [[part.numpy() for part in batch[1:]] for batch in dataset]
        share = -(-20 // count)
        assert len(batches) == len(dataset) == -(-share // 4)
        found += [y for ys, *w in batches for y, weight in zip(ys, *w or [ys * 0 + 1]) if weight]  # noqa: B905
    assert sorted(found) == list(range(20))


def test_input_context_and_shard_contradict_each_other(df: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match=r"shard=\(0, 2\) and input_context"):
        to_tf_dataset(df, shard=(0, 2), seed=1, input_context=tf.distribute.InputContext())
