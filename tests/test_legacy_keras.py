"""fit, evaluate and predict on the shim's batches, with Keras 3 and with tf_keras."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import keras
import numpy as np
import pytest
from keras.src.legacy.preprocessing.image import ImageDataGenerator

from dfloader import flow_from_dataframe

MODES = {
    "categorical": ("class", 3, "categorical_crossentropy"),
    "sparse": ("class", 3, "sparse_categorical_crossentropy"),
    "binary": ("two", 1, "binary_crossentropy"),
    "raw": ("size", 1, "mse"),
    "several raw": (["size", "count"], 2, "mse"),
    "multi-label": ("several", 3, "binary_crossentropy"),
    "multi_output": (["size", "count"], None, "mse"),
    "input": (None, None, "mse"),
}


@pytest.fixture
def labelled(df):
    df["two"] = ["yes", "no"] * 10
    df["several"] = [[name, "cat"] for name in df["class"]]
    df["weight"] = 1.0
    return df


def model_for(framework, mode):
    _, width, loss = MODES[mode]
    x = framework.Input((8, 8, 3))
    flat = framework.layers.Flatten()(x)
    if mode == "multi_output":
        outputs = [framework.layers.Dense(1, name=name)(flat) for name in ("size", "count")]
    elif mode == "input":
        outputs = framework.layers.Conv2D(3, 1)(x)
    else:
        outputs = framework.layers.Dense(width, activation="sigmoid")(flat)
    model = framework.Model(x, outputs)
    model.compile(loss=[loss, loss] if mode == "multi_output" else loss)
    return model


def flow_for(frame, mode, **words):
    y_col = MODES[mode][0] or "class"
    class_mode = {"several raw": "raw", "multi-label": "categorical"}.get(mode, mode)
    return flow_from_dataframe(
        frame, None, ImageDataGenerator(rescale=1 / 255, horizontal_flip=True), y_col=y_col,
        class_mode=class_mode, target_size=(8, 8), batch_size=6, verbose=0, seed=0, **words,
    )  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("weights", [None, "weight"])
def test_keras_3_fits_evaluates_and_predicts_every_mode(labelled, mode, weights):
    if weights and mode == "input":
        pytest.skip("Keras 3 does not spread a weight a row over the pixels of a target")
    batches = flow_for(labelled, mode, weight_col=weights)
    model = model_for(keras, mode)
    history = model.fit(batches, epochs=2, validation_data=flow_for(labelled, mode), verbose=0)
    assert len(history.history["loss"]) == len(history.history["val_loss"]) == 2
    assert np.all(np.isfinite(model.evaluate(batches, verbose=0)))
    predicted = model.predict(batches, verbose=0)
    assert (predicted[0] if mode == "multi_output" else predicted).shape[0] == 20


@pytest.mark.parametrize("words", [{"workers": 2}, {"workers": 2, "use_multiprocessing": True}])
def test_keras_3_workers_train_each_row_once(labelled, words):
    batches = flow_for(labelled, "raw")
    seen = []
    model = model_for(keras, "raw")
    model.run_eagerly = True
    step = model.train_step
    model.train_step = lambda data: seen.append(data[1].numpy()) or step(data)
    for word, value in words.items():
        setattr(batches, word, value)
    model.fit(batches, epochs=2, verbose=0)
    rows = np.concatenate(seen)
    for epoch in (rows[:20], rows[20:]):
        np.testing.assert_allclose(np.sort(epoch), np.sort(labelled["size"]))
    assert rows[:20].tolist() != rows[20:].tolist()


def test_fit_generator_takes_the_old_script(labelled):
    batches = flow_for(labelled, "categorical")
    model = model_for(keras, "categorical")
    from dfloader import fit_generator, predict_generator

    history = fit_generator(
        model, batches, steps_per_epoch=3, epochs=3, workers=2, validation_data=batches,
        validation_steps=2, class_weight={0: 1.0, 1: 2.0, 2: 1.0}, verbose=0,
    )  # fmt: skip
    assert history.epoch == [0, 1, 2]
    assert predict_generator(model, batches, steps=4).shape == (20, 3)


def test_predictions_without_shuffle_follow_the_frame(labelled):
    batches = flow_from_dataframe(
        labelled, class_mode=None, shuffle=False, target_size=(8, 8), batch_size=6, verbose=0
    )
    identity = keras.Sequential([keras.Input((8, 8, 3)), keras.layers.GlobalAveragePooling2D()])
    predicted = identity.predict(batches, verbose=0)
    means = [batches[i].mean((1, 2)) for i in range(len(batches))]
    np.testing.assert_allclose(predicted, np.concatenate(means), rtol=1e-4)


def test_tf_keras_fits_evaluates_and_predicts_every_mode(labelled, tmp_path):
    labelled.to_pickle(tmp_path / "frame.pkl")
    code = f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import warnings
        import numpy as np, pandas as pd, tf_keras
        from test_legacy_keras import MODES, flow_for, model_for
        frame = pd.read_pickle({str(tmp_path / "frame.pkl")!r})
        for mode in MODES:
            batches = flow_for(frame, mode)
            assert isinstance(batches, tf_keras.utils.Sequence)
            assert mode != "multi_output" or type(batches[0][1]) is list
            model = model_for(tf_keras, mode)
            words = {{"validation_data": flow_for(frame, mode), "verbose": 0}}
            history = model.fit(batches, epochs=2, **words)
            assert len(history.history["val_loss"]) == 2
            assert np.all(np.isfinite(model.evaluate(batches, verbose=0)))
            predicted = model.predict(batches, verbose=0)
            print(mode, (predicted[0] if mode == "multi_output" else predicted).shape[0])
        warnings.simplefilter("ignore")
        model.fit_generator(batches, steps_per_epoch=2, epochs=2, verbose=0)
        print("old method", len(model.history.epoch))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "2"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines()[-9:] == [*(f"{mode} 20" for mode in MODES), "old method 2"]
