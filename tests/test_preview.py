"""Pictures of batches."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from typer.testing import CliRunner

from dfloader import Augment, DataFrameSequence, LabelEncoder
from dfloader.cli import app
from dfloader.preview import caption

OPTIONS: dict[str, Any] = {"target_size": (64, 64), "seed": 1, "workers": 0}


def test_grid_shows_the_batch_and_the_draws_of_its_first_row(df: pd.DataFrame) -> None:
    seq = DataFrameSequence(df, 6, augment=Augment(rotation=90), rescale=1 / 255, **OPTIONS)
    sheet = np.asarray(seq.preview(images=4, draws=3))
    first = np.rint(seq[0][0][0] * 255).astype(np.uint8)
    np.testing.assert_array_equal(sheet[4:132:2, 4:132:2], first)
    assert sheet.shape[0] > 2 * 128 and sheet.shape[1] >= 4 * 128
    again = np.asarray(seq.preview(images=4, draws=3))
    np.testing.assert_array_equal(sheet, again)
    assert np.asarray(seq.preview(images=4, draws=0)).shape[0] < sheet.shape[0]


def test_mask_is_laid_over_its_image(df: pd.DataFrame, tmp_path: Path) -> None:
    frame = df.iloc[:1].assign(mask=str(tmp_path / "mask.png"))
    with Image.open(frame["filename"][0]) as image:
        size = image.size
    mask = np.zeros(size[::-1], np.uint8)
    mask[: size[1] // 2] = 1
    Image.fromarray(mask).save(tmp_path / "mask.png")
    sheets = [
        np.asarray(DataFrameSequence(f, 1, mask_col=m, **OPTIONS).preview(draws=0))[4:132, 4:132]
        for f, m in ((frame, "mask"), (frame, None))
    ]
    np.testing.assert_array_equal(sheets[0][70:], sheets[1][70:])
    assert (sheets[0][:60] != sheets[1][:60]).any(axis=2).all()


@pytest.mark.parametrize(
    ("y", "text"),
    [
        (np.array([0, 1, 0]), "dog"),
        (np.array([0.25, 0.75, 0]), "dog 0.75, cat 0.25"),
        (np.array([1, 1, 0]), "cat, dog"),
        (np.int32(2), "emu"),
        (None, ""),
        ({"label": np.array([0, 0, 1]), "mask": np.zeros((4, 4, 1))}, "emu"),
    ],
)
def test_caption_names_classes_and_shares(y: Any, text: str) -> None:
    assert caption(y, LabelEncoder(("cat", "dog", "emu"))) == text


def test_caption_of_numbers() -> None:
    assert caption(np.array([1.25, 3.0]), None) == "1.25, 3"


def test_command_writes_the_picture_and_names_wrong_presets(
    df: pd.DataFrame, tmp_path: Path
) -> None:
    df.to_csv(tmp_path / "frame.csv", index=False)
    frame, out = str(tmp_path / "frame.csv"), tmp_path / "grid.png"
    done = CliRunner().invoke(app, ["preview", frame, "-o", str(out), "--augment", "light"])
    assert done.exit_code == 0
    with Image.open(out) as sheet:
        assert sheet.width > 128
    wrong = CliRunner().invoke(app, ["preview", frame, "--augment", "heavy"])
    assert wrong.exit_code == 2
