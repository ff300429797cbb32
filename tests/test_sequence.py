"""A sequence by index, by iteration, and inside Keras."""

import pickle
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pandas as pd
import pytest

from dfloader import DataFrameError, DataFrameSequence, DecodeError

SMALL = {"target_size": (24, 20), "seed": 3}


def model(classes: int) -> keras.Model:
    layers = [keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(classes, "softmax")]
    model = keras.Sequential([keras.Input((24, 20, 3)), keras.layers.Rescaling(1 / 255), *layers])
    model.compile("sgd", "categorical_crossentropy", metrics=["accuracy"])
    return model


def test_batch_has_the_shapes_and_labels_of_its_rows(df: pd.DataFrame) -> None:
    seq = DataFrameSequence(df, 8, **SMALL)
    x, y = seq[1]
    assert (len(seq), x.shape, x.dtype, y.shape) == (3, (8, 24, 20, 3), np.float32, (8, 3))
    assert [seq.class_names[i] for i in y.argmax(1)] == df["class"].iloc[seq.rows(1)].tolist()


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"weight_col": "size"},
        {"extra_cols": {"meta": ["size", "count"]}},
        {"y_col": ["class", "size"], "class_mode": {"class": "sparse", "size": "raw"}},
    ],
    ids=str,
)
def test_u098_a_batch_is_a_tuple_of_numpy_arrays_or_dicts_of_them(
    df: pd.DataFrame, spec: dict[str, Any]
) -> None:
    batch = DataFrameSequence(df, 4, target_size=(8, 8), workers=0, **spec)[0]
    assert type(batch) is tuple and len(batch) == (3 if "weight_col" in spec else 2)
    for part in batch:
        assert type(part) in (np.ndarray, dict)
        leaves = part.values() if isinstance(part, dict) else [part]
        assert all(type(leaf) is np.ndarray for leaf in leaves)


def test_index_counts_from_the_end_and_has_limits(df: pd.DataFrame) -> None:
    seq = DataFrameSequence(df, 8, **SMALL)
    assert (seq[-1][0] == seq[2][0]).all()
    assert len(seq[2][0]) == 4
    with pytest.raises(IndexError):
        seq[3]


def test_the_calling_thread_loads_no_batch_before_it_is_asked_for(df: pd.DataFrame) -> None:
    seen: list[int] = []

    def note(image: Any) -> Any:
        seen.append(1)
        return image

    batches = iter(DataFrameSequence(df, 4, workers=0, augment=note, **SMALL))
    tried = len(seen)  # on one row, when the sequence is built
    next(batches)
    assert len(seen) - tried == 4


def test_iteration_is_one_finite_pass(df: pd.DataFrame) -> None:
    seq = DataFrameSequence(df, 8, workers=2, **SMALL)
    for _ in range(2):
        batches = list(seq)
        assert len(batches) == 3
        assert all((b[0] == seq[i][0]).all() for i, b in enumerate(batches))
    seq.close()


def test_epoch_end_gives_a_new_order_that_set_epoch_repeats(df: pd.DataFrame) -> None:
    seq = DataFrameSequence(df, 20, **SMALL)
    first = seq.rows(0).tolist()
    seq.on_epoch_end()
    assert (seq.epoch, seq.rows(0).tolist() != first) == (1, True)
    seq.set_epoch(0)
    assert seq.rows(0).tolist() == first


def test_fit_reads_every_row_once_an_epoch_from_epoch_0_on(df: pd.DataFrame) -> None:
    seen: list[tuple[int, int]] = []

    class Recording(DataFrameSequence):
        def __getitem__(self, i: int) -> object:
            seen.extend((self.epoch, int(row)) for row in self.rows(i))
            return super().__getitem__(i)

    network = model(3)
    network.fit(Recording(df, 8, **SMALL), epochs=2, verbose=0)
    training = seen[-40:]  # Keras reads batches 0 and 1 once more to learn the signature
    assert sorted(training) == [(epoch, row) for epoch in (0, 1) for row in range(20)]


def test_it_pickles(df: pd.DataFrame) -> None:
    seq = DataFrameSequence(df, 8, **SMALL)
    seq.set_epoch(4)
    twin = pickle.loads(pickle.dumps(seq))
    assert (twin.epoch, twin.seed) == (4, 3)
    assert (twin[1][0] == seq[1][0]).all()


def test_eval_is_the_frame_in_its_own_order(df: pd.DataFrame) -> None:
    seq = DataFrameSequence(df, 8, class_mode="sparse", **SMALL)
    y = np.concatenate([batch[1] for batch in seq.eval()])
    assert [seq.class_names[i] for i in y] == df["class"].tolist()


@pytest.mark.parametrize(
    ("keywords", "match"),
    [
        ({"x_col": "picture"}, r"x_col='picture' is not a column. Columns: \['filename'"),
        ({"y_col": "klass"}, "y_col='klass' is not a column"),
        ({"class_mode": "binary"}, "needs exactly two classes; column 'class' has 3"),
        ({"classes": ["cat", "dog"]}, r"not in classes=\['cat', 'dog'\]: 'emu' \(6 rows\)"),
    ],
)
def test_what_the_frame_cannot_give_is_said_at_the_door(
    df: pd.DataFrame, keywords: dict[str, object], match: str
) -> None:
    with pytest.raises(DataFrameError, match=match):
        DataFrameSequence(df, 8, **keywords)


def test_missing_file_names_row_and_path(df: pd.DataFrame) -> None:
    df.loc[7, "filename"] = "/nowhere/a.jpg"
    with pytest.raises(DataFrameError, match=r"row 7\): '/nowhere/a.jpg'.*directory=") as caught:
        DataFrameSequence(df, 8)
    assert (caught.value.column, caught.value.rows) == ("filename", (7,))


def test_broken_file_names_row_and_path(df: pd.DataFrame, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(b"\xff\xd8\xff not a picture")
    df.loc[2, "filename"] = str(broken)
    seq = DataFrameSequence(df, 20, shuffle=False)
    with pytest.raises(DecodeError, match=r"Row 2: .*broken.jpg") as caught:
        seq[0]
    assert (caught.value.rows, caught.value.path) == ((2,), str(broken))
