"""Which rows come when, and what they are called: both loaders, from a user's side."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from dfloader import Augment, DataFrameSequence, split_dataframe, to_tf_dataset
from dfloader.source import Source

NAMES = ["b", "a", "d", "c", "g", "f", "e"]
SPEC: dict[str, Any] = {"target_size": (4, 4), "class_mode": "raw", "y_col": "row", "seed": 3}


@pytest.fixture
def df(tmp_path: Path) -> pd.DataFrame:
    """Seven pictures, whose names are in no order, each of one grey: ten times its row's number."""
    paths = [tmp_path / f"{name}.png" for name in NAMES]
    for row, path in enumerate(paths):
        Image.new("RGB", (4, 4), (10 * row,) * 3).save(path)
    labels = ["x", "y", "x", "y", "x", "y", "x"]
    return pd.DataFrame({"filename": map(str, paths), "row": range(7), "class": labels})


def sequence(df: pd.DataFrame, batch_size: int = 3, **spec: Any) -> DataFrameSequence:
    return DataFrameSequence(df, batch_size, **{**SPEC, "workers": 0, **spec})


def dataset(df: pd.DataFrame, batch_size: int = 3, **spec: Any) -> Any:
    return to_tf_dataset(df, batch_size, **{**SPEC, **spec})


def rows_of(batches: Any) -> list[list[int]]:
    """Read the rows of batches from their pictures and from y, which must agree."""
    out = []
    for x, y in batches:
        x, y = np.asarray(x), np.asarray(y)
        assert (x[:, 0, 0, 0] == 10 * y).all()
        out.append(y.tolist())
    return out


LOADERS = [sequence, dataset]


@pytest.mark.parametrize("loader", LOADERS)
def test_u050_frame_order_is_the_contract_without_shuffle(df: pd.DataFrame, loader: Any) -> None:
    assert rows_of(loader(df, shuffle=False)) == [[0, 1, 2], [3, 4, 5], [6]]


@pytest.mark.parametrize("loader", LOADERS)
def test_u054_iteration_is_one_finite_pass(df: pd.DataFrame, loader: Any) -> None:
    batches = rows_of(loader(df))
    assert [len(batch) for batch in batches] == [3, 3, 1]
    assert sorted(sum(batches, [])) == list(range(7))  # noqa: RUF017 (three short lists)


def test_u053_rows_names_the_rows_of_each_batch_in_any_epoch(df: pd.DataFrame) -> None:
    seq = sequence(df)
    for epoch in range(3):
        seq.set_epoch(epoch)
        assert rows_of(seq[i] for i in range(3)) == [seq.rows(i).tolist() for i in range(3)]
    assert seq.rows(-1).tolist() == seq.rows(2).tolist()
    with pytest.raises(IndexError):
        seq.rows(3)


def test_u057_u058_class_names_are_the_loaders_own(df: pd.DataFrame) -> None:
    spec = {"class_mode": "sparse", "y_col": "class"}
    seq, ds = sequence(df, **spec), dataset(df, **spec)
    assert seq.class_names == ds.class_names == ["x", "y"]
    assert seq.class_indices == ds.class_indices == {"x": 0, "y": 1}
    assert seq.encoder is not None
    assert seq.encoder.inverse_transform(seq[0][1]) == [df["class"][r] for r in seq.rows(0)]


def test_u059_picture_and_label_stay_together_however_rows_are_ordered(df: pd.DataFrame) -> None:
    shuffled = df.sample(frac=1, random_state=1)
    seq = sequence(shuffled)
    rows = np.concatenate([seq.rows(i) for i in range(3)])
    batches = rows_of(seq)
    assert np.concatenate(batches).tolist() == shuffled["row"].to_numpy()[rows].tolist()


def test_u062_eval_does_not_augment(df: pd.DataFrame) -> None:
    train, validation = split_dataframe(df, (0.5, 0.5))
    seq = sequence(train, augment=Augment(brightness=0.5), class_mode=None)
    plain = sequence(train, shuffle=False, class_mode=None)
    assert (seq.eval()[0] == plain[0]).all()
    assert not (np.sort(seq[0].ravel()) == np.sort(plain[0].ravel())).all()
    assert len(validation) + len(train) == 7


@pytest.mark.parametrize("loader", LOADERS)
def test_u063_validation_rows_never_reach_training(df: pd.DataFrame, loader: Any) -> None:
    train, validation = split_dataframe(df, (0.6, 0.4), seed=2)
    loaded = loader(train)
    seen = set()
    for _ in range(5):
        seen |= {row for batch in rows_of(loaded) for row in batch}
        if isinstance(loaded, DataFrameSequence):
            loaded.on_epoch_end()
    assert seen == set(train["row"])
    assert not seen & set(validation["row"])


@pytest.mark.parametrize("loader", LOADERS)
def test_u066_u067_u077_epochs_have_orders_of_their_own_that_a_seed_repeats(
    df: pd.DataFrame, loader: Any
) -> None:
    def epochs() -> list[list[int]]:
        loaded = loader(df, 7)
        found = []
        for _ in range(4):
            found += rows_of(loaded)
            if isinstance(loaded, DataFrameSequence):
                loaded.on_epoch_end()
        return found

    first = epochs()
    assert first == epochs()
    assert len({tuple(order) for order in first}) == 4


def test_u066_order_does_not_depend_on_how_often_batches_were_read(df: pd.DataFrame) -> None:
    seq, again = sequence(df), sequence(df)
    for i in (2, 0, 0, 1):
        seq[i]
    assert rows_of(seq[i] for i in range(3)) == rows_of(again)


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize(
    ("n", "batch_size", "whole", "all_of_them"), [(6, 3, 2, 2), (7, 3, 2, 3), (2, 3, 0, 1)]
)
def test_u074_u075_length_is_exact_with_and_without_the_short_batch(
    df: pd.DataFrame, loader: Any, n: int, batch_size: int, whole: int, all_of_them: int
) -> None:
    some = df.head(n)
    for drop, length in ((False, all_of_them), (True, whole)):
        loaded = loader(some, batch_size, drop_remainder=drop)
        assert len(loaded) == length
        assert len(rows_of(loaded)) == length


def test_u070_length_does_not_change_between_epochs(df: pd.DataFrame) -> None:
    seq = sequence(df, sampler="row", samples_per_epoch=10)
    lengths = []
    for _ in range(3):
        lengths.append(len(seq))
        seq.on_epoch_end()
    assert lengths == [4, 4, 4]


@pytest.mark.parametrize("spec", [{"sampler": "row"}, {"samples_per_epoch": 5}, {"shard": (1, 3)}])
def test_both_loaders_give_the_same_rows_of_a_planned_epoch(
    df: pd.DataFrame, spec: dict[str, Any]
) -> None:
    seq, ds = sequence(df, **spec), dataset(df, **spec)
    for epoch in range(3):
        seq.set_epoch(epoch)
        for mine, theirs in zip(seq, ds, strict=True):
            assert mine[1].tolist() == theirs[1].numpy().tolist()
            assert [w.tolist() for w in mine[2:]] == [w.numpy().tolist() for w in theirs[2:]]


def test_a_short_shard_repeats_a_row_with_weight_zero(df: pd.DataFrame) -> None:
    batches = [sequence(df, shard=(index, 3), shuffle=False)[0] for index in range(3)]
    assert [y.tolist() for _, y, _ in batches] == [[0, 3, 6], [1, 4, 1], [2, 5, 2]]
    assert [w.tolist() for _, _, w in batches] == [[1, 1, 1], [1, 1, 0], [1, 1, 0]]
    assert sequence(df, shard=(1, 3), shuffle=False).rows(0).tolist() == [1, 4, -1]
    assert len(sequence(df, shard=(0, 7), shuffle=False)[0]) == 2  # equal shares: no weights


def test_u038_nothing_is_printed(df: pd.DataFrame, capfd: pytest.CaptureFixture[str]) -> None:
    rows_of(sequence(df))
    assert capfd.readouterr() == ("", "")


def test_a_built_loader_never_looks_at_the_frame_again(df: pd.DataFrame) -> None:
    seq = sequence(df, shuffle=False)
    df.loc[:, "filename"] = "nope"
    df.loc[:, "row"] = 99
    del df["class"]
    assert rows_of(seq) == [[0, 1, 2], [3, 4, 5], [6]]


def test_dropped_rows_are_in_no_batch_and_keep_their_positions(
    df: pd.DataFrame, caplog: pytest.LogCaptureFixture
) -> None:
    spec = {"class_mode": "sparse", "y_col": "class", "classes": ["y"], "unknown": "drop"}
    with caplog.at_level(logging.WARNING, "dfloader"):
        seq = sequence(df, shuffle=False, **spec)
    assert (seq.n, len(seq)) == (3, 1)
    assert seq.rows(0).tolist() == [1, 3, 5]
    assert seq[0][0][:, 0, 0, 0].tolist() == [10, 30, 50]
    assert "4 of 7 rows dropped" in caplog.text


def test_u042_a_row_drawn_twice_in_an_epoch_is_augmented_anew(df: pd.DataFrame) -> None:
    spec = {"class_mode": None, "sampler": "w", "samples_per_epoch": 4, "seed": 3}
    spec |= {"target_size": (4, 4), "augment": Augment(brightness=0.5)}
    one = df.assign(w=[0, 0, 0, 0, 0, 1, 0])
    with DataFrameSequence(one, 4, **spec) as seq:
        assert seq.rows(0).tolist() == [5, 5, 5, 5]
        x = seq[0]
    assert len(set(x[:, 0, 0, 0].tolist())) == 4


@pytest.mark.parametrize("loader", LOADERS)
def test_u093_order_and_augmentation_have_seeds_of_their_own(df: pd.DataFrame, loader: Any) -> None:
    def loaded(seed: int, augment_seed: int | None) -> tuple[Any, Any]:
        augment = Augment(brightness=0.5, seed=augment_seed)
        ((x, y),) = loader(df, 7, seed=seed, augment=augment)
        order = np.asarray(y).tolist()
        return order, (np.asarray(x)[:, 0, 0, 0] / np.maximum(order, 1)).tolist()

    order, factors = loaded(1, 5)
    assert loaded(1, 5) == (order, factors)
    assert loaded(1, 6)[0] == order and loaded(1, 6)[1] != factors
    other, same_factors = loaded(2, 5)
    assert other != order
    by_row = dict(zip(order, factors, strict=True))
    assert same_factors == pytest.approx([by_row[row] for row in other])


@pytest.mark.parametrize("ahead", [1, 3])
def test_u079_no_more_is_loaded_ahead_than_was_said(
    df: pd.DataFrame, monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    read: list[int] = []
    take = Source.read

    def noted(source: Source, row: int) -> bytes:
        read.append(row)
        return take(source, row)

    monkeypatch.setattr(Source, "read", noted)
    many = pd.concat([df] * 10, ignore_index=True)
    with sequence(many, 1, workers=1, max_queue_size=ahead, shuffle=False) as seq:
        batches = iter(seq)
        for taken in range(1, 20):
            next(batches)
            assert max(read) < taken + ahead
        batches.close()  # type: ignore[attr-defined]


def test_u068_batches_do_not_depend_on_when_an_epoch_begins(df: pd.DataFrame) -> None:
    """Threads may ask for batches of an epoch before and after it is said to begin."""
    seq = sequence(df)
    before = rows_of(seq[i] for i in range(3))
    seq.on_epoch_begin()
    assert rows_of(seq[i] for i in range(3)) == before
