"""predict: outputs joined to the frame's own rows."""

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pandas as pd
import pytest

from dfloader import DataFrameError, DataFrameSequence, LabelEncoder, predict

CLASSES = ["ant", "bee", "cow"]
SPEC: dict[str, Any] = {"target_size": (4, 4)}


@pytest.fixture
def df() -> pd.DataFrame:
    """Eleven pictures that are bright in the channel of their class, under an odd index."""
    labels = [CLASSES[i * i % 3] if i % 4 else "cow" for i in range(11)]
    pictures = []
    for i, label in enumerate(labels):
        picture = np.zeros((4, 4, 3), np.uint8)
        picture[:, :, CLASSES.index(label)] = 200 + i
        pictures.append(picture)
    index = pd.Index([i // 2 for i in range(11)], name="case")
    columns = {"image": pd.Series(pictures, dtype=object).to_numpy(), "class": labels}
    return pd.DataFrame({**columns, "size": np.arange(11) / 2}, index=index)


def model_of(*layers: Any) -> Any:
    return keras.Sequential(
        [keras.Input((4, 4, 3)), keras.layers.GlobalAveragePooling2D(), *layers]
    )


@pytest.fixture
def classifier() -> Any:
    return model_of(keras.layers.Rescaling(1 / 20), keras.layers.Softmax())


def test_predictions_stand_beside_their_rows(df: pd.DataFrame, classifier: Any) -> None:
    before = df.copy(deep=True)
    out = predict(classifier, df, 4, **SPEC)
    assert list(out.columns) == [*df.columns, "prediction", "p_ant", "p_bee", "p_cow"]
    assert out["prediction"].tolist() == df["class"].tolist()
    assert out.index.equals(df.index)
    p = out[["p_ant", "p_bee", "p_cow"]].to_numpy()
    assert p.argmax(axis=1).tolist() == [CLASSES.index(label) for label in df["class"]]
    assert p.sum(axis=1) == pytest.approx(1)
    pd.testing.assert_frame_equal(df, before)


def test_u051_u052_a_shuffled_sequence_predicts_in_frame_order(
    df: pd.DataFrame, classifier: Any
) -> None:
    spec = {**SPEC, "sampler": "balanced", "samples_per_epoch": 5, "drop_remainder": True}
    with DataFrameSequence(df, 4, shuffle=True, weight_col="size", **spec) as seq:
        seq.set_epoch(2)
        out = predict(classifier, seq)
    assert out["prediction"].tolist() == df["class"].tolist()


def test_u053_the_short_last_batch_has_its_own_rows(df: pd.DataFrame) -> None:
    out = predict(model_of(), df, 4, class_mode="raw", y_col="size", **SPEC)
    brightest = out[["prediction_0", "prediction_1", "prediction_2"]].max(axis=1)
    assert brightest.tolist() == [200 + i for i in range(11)]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_u055_any_number_of_workers_gives_the_same(
    df: pd.DataFrame, classifier: Any, workers: int
) -> None:
    out = predict(classifier, df, 2, workers=workers, **SPEC)
    assert out["prediction"].tolist() == df["class"].tolist()


def test_a_frame_without_labels_needs_the_classes_of_training(
    df: pd.DataFrame, classifier: Any
) -> None:
    test = df.drop(columns="class")
    encoder = LabelEncoder(("x", "y", "z"))
    out = predict(classifier, test, classes=encoder, **SPEC)
    assert out["prediction"].tolist() == [
        dict(zip(CLASSES, "xyz", strict=True))[c] for c in df["class"]
    ]
    numbers = predict(classifier, test, **SPEC)
    assert [name for name in numbers if name not in test] == [f"prediction_{i}" for i in range(3)]


def test_a_test_frame_with_fewer_classes_is_refused_with_the_cure(
    df: pd.DataFrame, classifier: Any
) -> None:
    some = df[df["class"] != "bee"]
    with pytest.raises(DataFrameError, match=r"3 numbers a row.* 2 classes.*classes=train.encoder"):
        predict(classifier, some, **SPEC)
    out = predict(classifier, some, classes=CLASSES, **SPEC)
    assert out["prediction"].tolist() == some["class"].tolist()


def test_one_sigmoid_is_the_probability_of_the_second_class(df: pd.DataFrame) -> None:
    sigmoid = keras.layers.Dense(1, "sigmoid", kernel_initializer=keras.initializers.Constant(0.01))
    out = predict(model_of(sigmoid), df, class_mode="binary", classes=["no", "yes"], **SPEC)
    assert out["prediction"].tolist() == ["yes"] * 11
    assert (out["p_yes"] > 0.85).all()
    assert out["p_no"].to_numpy() == pytest.approx(1 - out["p_yes"].to_numpy())


def test_several_labels_a_row_are_a_tuple(df: pd.DataFrame) -> None:
    scaled = [keras.layers.Rescaling(1 / 255)]
    out = predict(model_of(*scaled), df, class_mode="multilabel", classes=CLASSES, **SPEC)
    assert out["prediction"].tolist() == [(label,) for label in df["class"]]


def test_a_number_is_one_column(df: pd.DataFrame) -> None:
    out = predict(model_of(keras.layers.Dense(1)), df, class_mode="raw", y_col="size", **SPEC)
    assert [name for name in out if name not in df] == ["prediction"]
    assert out["prediction"].dtype == np.float32


def test_pictures_are_kept_one_a_cell(df: pd.DataFrame) -> None:
    same = keras.Sequential([keras.Input((4, 4, 3)), keras.layers.Rescaling(1.0)])
    out = predict(same, df, class_mode="input", **SPEC)
    assert out["prediction"].iloc[3].shape == (4, 4, 3)
    assert out["prediction"].iloc[3].max() == 203


def test_several_outputs_have_their_names(df: pd.DataFrame) -> None:
    image = keras.Input((4, 4, 3))
    mean = keras.layers.GlobalAveragePooling2D()(image)
    kind = keras.layers.Softmax(name="class")(keras.layers.Rescaling(1 / 20)(mean))
    size = keras.layers.Dense(1, name="size")(mean)
    modes = {"class": "categorical", "size": "raw"}
    for model in (
        keras.Model(image, {"class": kind, "size": size}),
        keras.Model(image, [kind, size]),
    ):
        out = predict(model, df, class_mode=modes, **SPEC)
        assert [name for name in out if name not in df] == [
            "prediction_class",
            "p_class_ant",
            "p_class_bee",
            "p_class_cow",
            "prediction_size",
        ]
        assert out["prediction_class"].tolist() == df["class"].tolist()
        with DataFrameSequence(df, 3, class_mode=modes, **SPEC) as seq:
            pd.testing.assert_frame_equal(predict(model, seq), out)
    with pytest.raises(DataFrameError, match=r"outputs \['class', 'other'\], the model has"):
        predict(model, df.assign(other=1.0), class_mode={"class": "sparse", "other": "raw"}, **SPEC)


def test_extra_columns_reach_the_model(df: pd.DataFrame) -> None:
    image, meta = keras.Input((4, 4, 3), name="image"), keras.Input((1,), name="meta")
    grey = keras.ops.reshape(keras.ops.mean(image, axis=(1, 2, 3)), (-1, 1))
    model = keras.Model({"image": image, "meta": meta}, 2.0 * meta + 0.0 * grey)
    out = predict(model, df, class_mode=None, extra_cols={"meta": ["size"]}, **SPEC)
    assert out["prediction"].tolist() == (df["size"] * 2).tolist()


def test_a_row_that_cannot_be_read_has_missing_values(
    df: pd.DataFrame, classifier: Any, tmp_path: Path
) -> None:
    from PIL import Image

    paths = [str(tmp_path / f"{i}.png") for i in range(len(df))]
    for path, picture in zip(paths, df["image"], strict=True):
        Image.fromarray(picture).save(path)
    Path(paths[4]).write_bytes(b"<html>")
    Path(paths[9]).unlink()
    named = df.drop(columns="image").assign(filename=paths)
    out = predict(classifier, named, 4, on_error="skip", **SPEC)
    assert np.flatnonzero(out["prediction"].isna()).tolist() == [4, 9]
    assert np.flatnonzero(out["p_ant"].isna()).tolist() == [4, 9]
    read = out["prediction"].notna().to_numpy()
    assert out["prediction"][read].tolist() == named["class"][read].tolist()


def test_rows_dropped_for_their_label_have_missing_values(
    df: pd.DataFrame, classifier: Any
) -> None:
    renamed = df.assign(**{"class": df["class"].replace("bee", "wasp")})
    with DataFrameSequence(renamed, 4, classes=CLASSES, unknown="drop", **SPEC) as seq:
        out = predict(classifier, seq)
    assert out["prediction"].isna().tolist() == (renamed["class"] == "wasp").tolist()


def test_a_shard_predicts_its_own_rows(df: pd.DataFrame, classifier: Any) -> None:
    outs = []
    for index in range(2):
        with DataFrameSequence(df, 4, shard=(index, 2), seed=1, **SPEC) as seq:
            outs.append(predict(classifier, seq)["prediction"].to_numpy())
    both = np.where(pd.isna(outs[0]), outs[1], outs[0])
    assert (pd.isna(outs[0]) != pd.isna(outs[1])).all()
    assert both.tolist() == df["class"].tolist()


def test_outputs_that_are_no_probabilities_are_refused(df: pd.DataFrame) -> None:
    with pytest.raises(DataFrameError, match=r"are not probabilities.*Softmax"):
        predict(model_of(), df, **SPEC)


def test_a_column_that_is_there_already_is_named(df: pd.DataFrame, classifier: Any) -> None:
    with pytest.raises(DataFrameError, match="has a column 'prediction' already"):
        predict(classifier, df.assign(prediction=1), **SPEC)


def test_keywords_belong_to_frames_and_are_checked(df: pd.DataFrame, classifier: Any) -> None:
    with DataFrameSequence(df, 4, **SPEC) as seq, pytest.raises(TypeError, match="were said when"):
        predict(classifier, seq, target_size=(4, 4))
    with pytest.raises(TypeError, match="unknown keyword 'size'"):
        predict(classifier, df, size=4)


def test_a_pickled_sequence_says_that_it_has_no_frame(df: pd.DataFrame, classifier: Any) -> None:
    import pickle

    with DataFrameSequence(df, 4, **SPEC) as seq:
        again = pickle.loads(pickle.dumps(seq))
    with again, pytest.raises(RuntimeError, match="Pass the frame itself"):
        predict(classifier, again)
