"""What a batch is made of: pictures, masks, and rows that fail."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from dfloader.batch import Loader, prepare
from dfloader.errors import DecodeError
from dfloader.frame import resolve
from dfloader.spec import parse


def loader(df: pd.DataFrame, batch_size: int = 32, **spec: Any) -> Loader:
    said = parse(batch_size, {"shuffle": False, "target_size": (24, 32), **spec}, fresh_seed=1)
    return prepare(resolve(df, said.frame), said)


@pytest.fixture
def broken(df: pd.DataFrame, tmp_path: Path) -> pd.DataFrame:
    """The frame with row 3 an empty file, row 5 half a JPEG, row 8 no file at all."""
    df = df.copy()
    (tmp_path / "empty.png").write_bytes(b"")
    whole = Path(df["filename"][2]).read_bytes()
    (tmp_path / "half.jpg").write_bytes(whole[: len(whole) // 2])
    for row, name in {3: "empty.png", 5: "half.jpg", 8: "missing.png"}.items():
        df.loc[row, "filename"] = str(tmp_path / name)
    return df


def test_u110_a_broken_file_names_row_path_and_reason(broken: pd.DataFrame) -> None:
    with pytest.raises(DecodeError, match=r"Row 3: '.*empty\.png': the file is empty") as caught:
        loader(broken, validate=False).load(0, 0)
    assert caught.value.rows == (3,)
    assert caught.value.path == broken["filename"][3]
    assert caught.value.reason == "the file is empty"
    assert caught.value.column == "filename"
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.rows, again.path, again.reason) == (
        str(caught.value),
        (3,),
        caught.value.path,
        "the file is empty",
    )


def test_a_picture_of_more_pixels_than_allowed_is_not_decoded(tmp_path: Path) -> None:
    path = tmp_path / "large.png"
    Image.new("RGB", (40, 30)).save(path)
    bomb = bytearray(path.read_bytes())
    bomb[16:24] = (2**31 - 1).to_bytes(4, "big") * 2
    (tmp_path / "bomb.png").write_bytes(bomb)
    df = pd.DataFrame({"filename": [str(path), str(tmp_path / "bomb.png")]})
    with pytest.raises(DecodeError, match=r"Row 1: .* more than max_pixels=89478485 allows"):
        loader(df, class_mode=None).load(0, 0)
    with pytest.raises(DecodeError, match=r"Row 0: .* 30 x 40 pixels .* max_pixels=1199 allows"):
        loader(df, class_mode=None, max_pixels=1199).load(0, 0)
    _, failures = loader(df, class_mode=None, max_pixels=1200, on_error="skip").loaded(0, 0)
    assert [error.rows for error in failures] == [(1,)]


def test_u110_skip_leaves_black_pictures_of_weight_0_and_says_so(broken: pd.DataFrame) -> None:
    batch, failures = loader(broken, on_error="skip").loaded(0, 0)
    x, y, w = batch
    bad = [3, 5, 8]
    assert (x[bad] == 0).all()
    assert (x.max(axis=(1, 2, 3)) > 0).sum() == 17
    assert w.tolist() == [0.0 if row in bad else 1.0 for row in range(20)]
    assert y.shape == (20, 3)
    assert [error.rows for error in failures] == [(3,), (5,), (8,)]
    assert [error.reason for error in failures] == [
        "the file is empty",
        "cannot decode: Premature end of JPEG file",
        "No such file or directory",
    ]


def test_skip_gives_the_other_rows_as_raise_does(df: pd.DataFrame) -> None:
    x, y = loader(df).load(0, 0)
    skipped, labels, w = loader(df, on_error="skip").load(0, 0)
    assert np.array_equal(skipped, x)
    assert np.array_equal(labels, y)
    assert w.dtype == np.float32
    assert (w == 1).all()


def test_skip_multiplies_into_the_weights_of_the_frame(broken: pd.DataFrame) -> None:
    broken["w"] = np.arange(20) / 2
    _, _, w = loader(broken, on_error="skip", weight_col="w").load(0, 0)
    assert w.tolist() == [0 if row in (3, 5, 8) else row / 2 for row in range(20)]


def test_skip_without_labels_gives_pictures_alone(broken: pd.DataFrame) -> None:
    batch, failures = loader(broken, on_error="skip", class_mode=None).loaded(0, 0)
    assert batch.shape == (20, 24, 32, 3)
    assert len(failures) == 3


def test_no_target_size_takes_the_size_of_the_files(df: pd.DataFrame) -> None:
    one_size = df.iloc[[0, 5, 10]].reset_index(drop=True)
    x, _ = loader(one_size, target_size=None).load(0, 0)
    with Image.open(one_size["filename"][0]) as image:
        assert x.shape == (3, image.height, image.width, 3)
    with pytest.raises(
        DecodeError, match=r"Row 1: .*the batch 40 x 60, and target_size=None needs"
    ):
        loader(df, target_size=None).load(0, 0)


def test_unchanged_keeps_channels_and_asks_for_one_number_of_them(df: pd.DataFrame) -> None:
    grey = df.iloc[[3, 7, 11]].reset_index(drop=True)
    x, _ = loader(grey, color_mode="unchanged").load(0, 0)
    assert x.shape == (3, 24, 32, 1)
    with pytest.raises(DecodeError, match=r"Row 3: .*it has 1 channels, the batch 3"):
        loader(df, color_mode="unchanged").load(0, 0)


def test_unchanged_skips_to_the_first_file_that_says_its_channels(broken: pd.DataFrame) -> None:
    grey = broken.iloc[[3, 7, 11]].reset_index(drop=True)
    x, _, w = loader(grey, color_mode="unchanged", on_error="skip").load(0, 0)
    assert x.shape == (3, 24, 32, 1)
    assert w.tolist() == [0, 1, 1]


def test_u117_files_and_arrays_of_many_channels(tmp_path: Path) -> None:
    arrays = [np.random.default_rng(i).random((20 + i, 30, 7)) for i in range(4)]
    for i, array in enumerate(arrays):
        np.save(tmp_path / f"{i}.npy", array)
    files = pd.DataFrame({"filename": [f"{i}.npy" for i in range(4)]})
    spec: dict[str, Any] = {"class_mode": None, "color_mode": "unchanged"}
    from_files = loader(files, directory=tmp_path, **spec).load(0, 0)
    from_frame = loader(pd.DataFrame({"image": arrays}), **spec).load(0, 0)
    assert from_files.shape == (4, 24, 32, 7)
    assert 0 <= from_files.min() < from_files.max() <= 255
    assert np.array_equal(from_files, from_frame)


@pytest.fixture
def masked(tmp_path: Path) -> pd.DataFrame:
    """Three pictures whose left half is white, with a mask that is 2 there, 7 elsewhere."""
    rows = []
    for i, (height, width) in enumerate([(40, 60), (61, 47), (64, 64)]):
        left = np.arange(width)[None, :].repeat(height, 0) < width // 2
        Image.fromarray(np.where(left, 255, 0).astype(np.uint8)).save(tmp_path / f"{i}.png")
        mask = Image.fromarray(np.where(left, 2, 7).astype(np.uint8))
        mask.putpalette([level for colour in range(256) for level in (255 - colour, 9, colour)])
        mask.save(tmp_path / f"mask{i}.png")
        rows.append({"filename": f"{i}.png", "mask": f"mask{i}.png", "class": "ab"[i % 2]})
    return pd.DataFrame(rows)


@pytest.mark.parametrize("resize_mode", ["stretch", "crop", "pad"])
def test_masks_follow_the_picture_and_keep_their_values(
    masked: pd.DataFrame, tmp_path: Path, resize_mode: str
) -> None:
    x, y = loader(
        masked,
        directory=tmp_path,
        mask_col="mask",
        class_mode=None,
        interpolation="nearest",
        resize_mode=resize_mode,
    ).load(0, 0)
    assert (y.shape, y.dtype) == ((3, 24, 32, 1), np.uint8)
    assert set(np.unique(y)) <= {0, 2, 7}
    assert np.array_equal(y == 2, x[..., :1] == 255)


def test_masks_and_labels_come_by_name(masked: pd.DataFrame, tmp_path: Path) -> None:
    _, y = loader(masked, directory=tmp_path, mask_col="mask").load(0, 0)
    assert sorted(y) == ["label", "mask"]
    assert y["label"].shape == (3, 2)
    assert y["mask"].shape == (3, 24, 32, 1)


def test_a_mask_of_another_aspect_names_its_own_file(masked: pd.DataFrame, tmp_path: Path) -> None:
    masked.loc[1, "mask"] = "mask0.png"
    with pytest.raises(DecodeError, match=r"Row 1: '.*mask0\.png': the mask is 40 x 60") as caught:
        loader(masked, directory=tmp_path, mask_col="mask").load(0, 0)
    assert caught.value.column == "mask"


def test_a_mask_that_fails_is_skipped_with_its_picture(
    masked: pd.DataFrame, tmp_path: Path
) -> None:
    masked.loc[1, "mask"] = "none.png"
    spec: dict[str, Any] = {"directory": tmp_path, "mask_col": "mask", "on_error": "skip"}
    (x, y, w), failures = loader(masked, **spec).loaded(0, 0)
    assert (x[1] == 0).all()
    assert (y["mask"][1] == 0).all()
    assert w["label"].tolist() == [1, 0, 1]
    assert failures[0].column == "mask"
