"""What the frame says reaches `fit` of Keras 3 as it should."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from PIL import Image

from dfloader import DataFrameSequence, to_tf_dataset

SPEC: dict[str, Any] = {"target_size": (4, 4), "seed": 1}
ROWS = 20
# The models below compute something known, and learn nothing.
pytestmark = pytest.mark.filterwarnings("ignore:The model does not have any trainable weights")


@pytest.fixture
def df(tmp_path: Path) -> pd.DataFrame:
    """Twenty pictures, each of one grey: its row's number."""
    paths = [tmp_path / f"{row}.png" for row in range(ROWS)]
    for row, path in enumerate(paths):
        Image.new("RGB", (4, 4), (row, row, row)).save(path)
    return pd.DataFrame(
        {
            "filename": map(str, paths),
            "class": list("aabbb") * 4,
            "row": np.arange(ROWS),
            "size": np.arange(ROWS) / 4,
            "w": np.arange(ROWS) % 3,
        }
    )


class Watched(keras.Model):
    """Writes down the target of every batch it is trained on, and a bar at the end of an epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def call(self, x: Any) -> Any:
        return keras.ops.mean(x, axis=(1, 2, 3))

    def train_step(self, data: Any) -> dict[str, Any]:
        y = data[1]
        tf.py_function(lambda y: self.seen.append(y.numpy().tolist()), [y], [])
        return {"loss": tf.reduce_mean(tf.cast(y, tf.float32))}

    def epochs(self, df: Any, **arguments: Any) -> list[list[list[int]]]:
        self.compile()
        bar = keras.callbacks.LambdaCallback(on_epoch_end=lambda *_: self.seen.append("|"))
        self.fit(df, verbose=0, callbacks=[bar], **arguments)
        return list(_split(self.seen))


def _split(seen: list[Any]) -> Iterator[list[list[int]]]:
    batches: list[list[int]] = []
    for batch in seen:
        if batch == "|":
            yield batches
            batches = []
        else:
            batches.append(batch)


def rows_of(df: pd.DataFrame, **spec: Any) -> DataFrameSequence:
    return DataFrameSequence(df, 4, class_mode="raw", y_col="row", **{**SPEC, **spec})


@pytest.mark.parametrize("workers", [1, 2])
def test_u071_u073_steps_that_divide_the_batches_go_through_every_row_once(
    df: pd.DataFrame, workers: int
) -> None:
    with rows_of(df.head(16), workers=workers) as seq:
        epochs = Watched().epochs(seq, steps_per_epoch=2, epochs=4)
    assert [len(batches) for batches in epochs] == [2, 2, 2, 2]
    for halves in (epochs[:2], epochs[2:]):
        assert sorted(np.ravel(halves).tolist()) == list(range(16))


@pytest.mark.filterwarnings("ignore:.*Your input ran out of data:UserWarning")
@pytest.mark.parametrize("workers", [1, 2])
def test_u071_other_steps_end_a_pass_with_kerass_short_epoch_and_no_row_lost(
    df: pd.DataFrame, workers: int
) -> None:
    """Keras 3 asks a PyDataset of known length for no batch beyond it: use samples_per_epoch."""
    with rows_of(df, workers=workers) as seq:
        epochs = Watched().epochs(seq, steps_per_epoch=2, epochs=6)
    assert [len(batches) for batches in epochs] == [2, 2, 1, 2, 2, 1]
    for thirds in (epochs[:3], epochs[3:]):
        assert sorted(np.ravel(thirds[0] + thirds[1] + thirds[2]).tolist()) == list(range(ROWS))


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_u071_u072_samples_per_epoch_makes_whole_epochs_that_go_on(
    df: pd.DataFrame, workers: int
) -> None:
    with rows_of(df, workers=workers, samples_per_epoch=8) as seq:
        epochs = Watched().epochs(seq, epochs=5)
    assert [len(batches) for batches in epochs] == [2] * 5
    assert sorted(np.ravel(epochs).tolist()) == sorted([*range(ROWS)] * 2)


def test_u071_a_repeated_dataset_takes_any_number_of_steps(df: pd.DataFrame) -> None:
    ds = to_tf_dataset(df, 4, class_mode="raw", y_col="row", repeat=True, **SPEC)
    epochs = Watched().epochs(ds, steps_per_epoch=3, epochs=5, shuffle=False)
    assert [len(batches) for batches in epochs] == [3] * 5
    assert sorted(np.ravel(epochs).tolist()) == sorted([*range(ROWS)] * 3)


@pytest.mark.parametrize("workers", [0, 2])
def test_u066_u069_u077_every_epoch_of_fit_has_every_row_once_in_its_own_order(
    df: pd.DataFrame, workers: int
) -> None:
    with rows_of(df, workers=workers) as seq:
        epochs = Watched().epochs(seq, epochs=3, shuffle=False)
        orders = [seq._loader.plan.order(epoch).tolist() for epoch in range(3)]
    assert [np.ravel(batches).tolist() for batches in epochs] == orders
    assert orders[0] != orders[1]


def test_u078_a_sequence_in_frame_order_needs_fit_shuffle_false(df: pd.DataFrame) -> None:
    with rows_of(df, shuffle=False) as seq:
        epochs = Watched().epochs(seq, epochs=1, shuffle=False)
    assert np.ravel(epochs).tolist() == list(range(ROWS))


def weighed_loss(df: pd.DataFrame, weights: Any) -> float:
    """The mean loss of a classifier that always says 0.25 for b: what fit must report."""
    y = df["class"].map({"a": 0.0, "b": 1.0}).to_numpy()
    loss = -(y * np.log(0.25) + (1 - y) * np.log(0.75))
    return float((loss * weights).sum() / len(df))


def constant(odds: float) -> Any:
    """A model of one sigmoid that says the same of every picture and does not learn."""
    layer = keras.layers.Dense(
        1,
        "sigmoid",
        kernel_initializer="zeros",
        bias_initializer=keras.initializers.Constant(float(np.log(odds))),
    )
    model = keras.Sequential([keras.Input((4, 4, 3)), keras.layers.GlobalAveragePooling2D(), layer])
    layer.trainable = False
    model.compile(loss="binary_crossentropy")
    return model


def test_kerass_class_weight_works_on_labels_without_weights(df: pd.DataFrame) -> None:
    with DataFrameSequence(df, 20, class_mode="binary", **SPEC) as seq:
        history = constant(1 / 3).fit(seq, class_weight={0: 1.0, 1: 3.0}, verbose=0).history
    weights = df["class"].map({"a": 1, "b": 3}).to_numpy()
    assert history["loss"][0] == pytest.approx(weighed_loss(df, weights), rel=1e-4)


def test_u047_class_weight_of_the_loader_joins_the_weight_column(df: pd.DataFrame) -> None:
    spec = {**SPEC, "weight_col": "w", "class_weight": {"a": 1, "b": 3}}
    with DataFrameSequence(df, 20, class_mode="binary", **spec) as seq:
        history = constant(1 / 3).fit(seq, verbose=0).history
        weights = df["w"] * df["class"].map({"a": 1, "b": 3})
        assert history["loss"][0] == pytest.approx(weighed_loss(df, weights.to_numpy()), rel=1e-4)
        with pytest.raises(ValueError, match=r"class_weight.*sample_weight"):
            constant(1 / 3).fit(seq, class_weight={0: 1.0, 1: 3.0}, verbose=0)


def heads() -> Any:
    """Two outputs by name, of which none learns: b's chance 0.25, size 1."""
    image = keras.Input((4, 4, 3))
    mean = keras.layers.GlobalAveragePooling2D()(image)
    bias = keras.initializers.Constant
    kind = keras.layers.Dense(
        1,
        "sigmoid",
        kernel_initializer="zeros",
        bias_initializer=bias(float(np.log(1 / 3))),
        trainable=False,
        name="class",
    )
    size = keras.layers.Dense(
        1, kernel_initializer="zeros", bias_initializer=bias(1.0), trainable=False, name="size"
    )
    model = keras.Model(image, {"class": kind(mean), "size": size(mean)})
    model.compile(loss={"class": "binary_crossentropy", "size": "mse"})
    return model


@pytest.mark.parametrize("native", [False, True])
def test_u017_u044_u048_several_outputs_with_weights_of_their_own(
    df: pd.DataFrame, native: bool
) -> None:
    spec = {
        **SPEC,
        "class_mode": {"class": "binary", "size": "raw"},
        "weight_col": {"size": "w"},
        "class_weight": {"class": {"b": 3}},
    }
    seq = DataFrameSequence(df, 20, **spec)
    data = to_tf_dataset(df, 20, **spec) if native else seq
    history = heads().fit(data, shuffle=False, verbose=0).history
    by_class = weighed_loss(df, df["class"].map({"a": 1, "b": 3}).to_numpy())
    by_size = float(((df["size"] - 1) ** 2 * df["w"]).mean())
    assert history["loss"][0] == pytest.approx(by_class + by_size, rel=1e-4)
    seq.close()


def test_one_weight_column_weighs_every_output(df: pd.DataFrame) -> None:
    spec = {**SPEC, "class_mode": {"class": "binary", "size": "raw"}, "weight_col": "w"}
    with DataFrameSequence(df, 20, **spec) as seq:
        history = heads().fit(seq, verbose=0).history
    by_size = float(((df["size"] - 1) ** 2 * df["w"]).mean())
    assert history["loss"][0] == pytest.approx(
        weighed_loss(df, df["w"].to_numpy()) + by_size, rel=1e-4
    )


@pytest.mark.parametrize("native", [False, True])
def test_u130_u131_image_and_table_columns_are_inputs_by_name(
    df: pd.DataFrame, native: bool
) -> None:
    image, meta = keras.Input((4, 4, 3), name="image"), keras.Input((2,), name="meta")
    mean = keras.layers.GlobalAveragePooling2D()(image)
    sums = keras.layers.Dense(1, kernel_initializer="ones", trainable=False)
    out = sums(keras.layers.Concatenate()([mean, meta]))
    model = keras.Model({"image": image, "meta": meta}, out)
    model.compile(loss="mae")
    spec = {**SPEC, "class_mode": "raw", "y_col": "size", "extra_cols": {"meta": ["w", "size"]}}
    seq = DataFrameSequence(df, 20, **spec)
    data = to_tf_dataset(df, 20, **spec) if native else seq
    history = model.fit(data, shuffle=False, verbose=0).history
    assert history["loss"][0] == pytest.approx(float((3 * df["row"] + df["w"]).mean()), rel=1e-4)
    seq.close()


def same() -> Any:
    """A model whose output is its input, a hundredth brighter."""
    model = keras.Sequential([keras.Input((4, 4, 3)), keras.layers.Rescaling(1.0, offset=2.0)])
    model.compile(loss="mse", weighted_metrics=["mae"])
    return model


@pytest.mark.parametrize("native", [False, True])
def test_class_mode_input_with_weights(df: pd.DataFrame, native: bool) -> None:
    spec = {**SPEC, "class_mode": "input", "weight_col": "w"}
    seq = DataFrameSequence(df, 20, **spec)
    data = to_tf_dataset(df, 20, **spec) if native else seq
    history = same().fit(data, shuffle=False, verbose=0).history
    assert history["loss"][0] == pytest.approx(4 * df["w"].mean(), rel=1e-4)
    assert history["mae"][0] == pytest.approx(2, rel=1e-4)
    seq.close()


def test_u049_masks_with_weights_beside_labels(df: pd.DataFrame) -> None:
    masks = [np.full((4, 4), i % 2, np.uint8) for i in range(ROWS)]
    df["mask"] = pd.Series(masks, dtype=object)
    image = keras.Input((4, 4, 3))
    grey = keras.layers.Conv2D(1, 1, kernel_initializer="zeros", trainable=False, name="mask")(
        image
    )
    mean = keras.layers.GlobalAveragePooling2D()(image)
    bias = keras.initializers.Constant(float(np.log(1 / 3)))
    kind = keras.layers.Dense(
        1,
        "sigmoid",
        kernel_initializer="zeros",
        bias_initializer=bias,
        trainable=False,
        name="label",
    )(mean)
    model = keras.Model(image, {"label": kind, "mask": grey})
    model.compile(loss={"label": "binary_crossentropy", "mask": "mse"})
    spec = {**SPEC, "class_mode": "binary", "mask_col": "mask", "weight_col": "w"}
    with DataFrameSequence(df, 20, **spec) as seq:
        history = model.fit(seq, verbose=0).history
    by_mask = float((df["row"] % 2 * df["w"]).mean())
    assert history["loss"][0] == pytest.approx(
        weighed_loss(df, df["w"].to_numpy()) + by_mask, rel=1e-4
    )


def test_multilabel_and_categorical_fit(df: pd.DataFrame) -> None:
    df["tags"] = [["a"], ["a", "b"], [], ["c"]] * 5
    for mode, column, width in (("multilabel", "tags", 3), ("categorical", "class", 2)):
        model = keras.Sequential(
            [keras.Input((4, 4, 3)), keras.layers.Flatten(), keras.layers.Dense(width, "sigmoid")]
        )
        model.compile(loss="binary_crossentropy")
        with DataFrameSequence(df, 6, class_mode=mode, y_col=column, **SPEC) as seq:
            history = model.fit(seq, epochs=2, validation_data=seq.eval(), verbose=0).history
        assert len(history["val_loss"]) == 2


def test_u076_validation_sees_the_same_rows_every_epoch(df: pd.DataFrame) -> None:
    with rows_of(df) as train, rows_of(df, shuffle=False) as validation:
        sums = keras.layers.Dense(1, kernel_initializer="ones", trainable=False)
        layers = [keras.Input((4, 4, 3)), keras.layers.GlobalAveragePooling2D(), sums]
        model = keras.Sequential(layers)
        model.compile(loss="mae")
        history = model.fit(train, epochs=3, validation_data=validation, verbose=0).history
    assert len(set(np.round(history["val_loss"], 4).tolist())) == 1


def test_u056_evaluate_counts_each_row_once(df: pd.DataFrame) -> None:
    with DataFrameSequence(df, 3, class_mode="binary", workers=3, **SPEC) as seq:
        loss = constant(1 / 3).evaluate(seq, verbose=0)
    assert loss == pytest.approx(weighed_loss(df, np.ones(ROWS)), rel=1e-4)


def test_a_balanced_sampler_in_fit(df: pd.DataFrame) -> None:
    spec = {**SPEC, "sampler": "balanced", "samples_per_epoch": 400, "class_mode": "binary"}
    with DataFrameSequence(df, 40, **spec) as seq:
        shares = [batch[1].mean() for batch in seq]
        assert len(constant(1).fit(seq, verbose=0).history["loss"]) == 1
    assert np.mean(shares) == pytest.approx(0.5, abs=0.06)


def test_u023_u099_a_sequence_is_the_dataset_of_the_keras_in_use(df: pd.DataFrame) -> None:
    with rows_of(df) as seq:
        assert isinstance(seq, keras.utils.PyDataset)
