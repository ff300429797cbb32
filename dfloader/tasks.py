"""What `dfloader demo` trains on: a frame, and which of its rows validate. May import pandas."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dfloader.columns import name_rows
from dfloader.errors import DataFrameError
from dfloader.frame import resolve
from dfloader.frame_files import read_frame
from dfloader.photos import write_photos
from dfloader.spec import FrameSpec
from dfloader.table import Target
from dfloader.usage import WrongUseError

FLOOR = 0.95  # validation accuracy that the built-in sets reach through every loader
SHARE = 0.2  # of the rows of each class, for validation, where the frame does not say
SPLIT = "split"
SAMPLE = Path("sample_data", "labels.csv")


@dataclass(frozen=True)
class Task:
    """A frame to train on, and to validate on.

    Attributes:
        name: how to call it in a title.
        frame: every row.
        columns: which columns are meant, and where relative paths start.
        classes: their names, in order.
        validates: for each row, whether it validates; the others are trained on.
        floor: the validation accuracy it must reach, if there is one.
    """

    name: str
    frame: pd.DataFrame
    columns: FrameSpec
    classes: list[Any]
    validates: npt.NDArray[np.bool_]
    floor: float | None = None

    @property
    def train(self) -> pd.DataFrame:
        """The rows trained on."""
        return self.frame[~self.validates]

    @property
    def val(self) -> pd.DataFrame:
        """The rows validated on."""
        return self.frame[self.validates]


def sample_task() -> Task:
    """The drawn shapes in `sample_data`, of the working directory or else of the checkout."""
    places = [Path.cwd(), Path(__file__).resolve().parent.parent]
    for place in places:
        if (place / SAMPLE).is_file():
            columns = FrameSpec(directory=(place / SAMPLE).parent, class_mode="sparse")
            return make_task("sample_data", read_frame(place / SAMPLE), columns, 0, FLOOR)
    looked = " nor in ".join(str(place) for place in dict.fromkeys(places))
    raise WrongUseError(
        f"There is no {SAMPLE} in {looked}. Run this in the project's root, "
        "or try `dfloader demo --photos` or `dfloader demo FRAME`, which need no sample_data."
    )


def photos_task(folder: Path, seed: int) -> Task:
    """Photographs cut into a folder, labelled by the picture they come from."""
    frame = write_photos(folder, seed=seed)
    return make_task(
        "photographs", frame, FrameSpec(directory=folder, class_mode="sparse"), 0, FLOOR
    )


def frame_task(
    path: Path, *, directory: Path | None, x_col: str | None, y_col: str | None, seed: int
) -> Task:
    """The user's own frame."""
    columns = FrameSpec(
        directory=directory or path.parent, x_col=x_col, y_col=y_col, class_mode="sparse"
    )
    return make_task(path.name, read_frame(path), columns, seed)


def make_task(
    name: str, frame: pd.DataFrame, columns: FrameSpec, seed: int, floor: float | None = None
) -> Task:
    """Split a frame as its column `split` says, or else at random by class.

    Raises:
        DataFrameError: the frame cannot be read as `columns` says, or cannot be split.
    """
    target = resolve(frame, columns).target
    assert isinstance(target, Target) and target.encoder is not None  # class_mode is sparse
    classes = list(target.encoder.class_names)
    if len(classes) < 2:
        raise DataFrameError(
            f"Every row is of the class {classes[0]!r}.", hint="A classifier needs two or more."
        )
    codes = target.take(np.arange(len(frame)))
    validates = given_split(frame) if SPLIT in frame else drawn_split(codes, seed)
    return Task(name, frame, columns, classes, validates, floor)


def given_split(frame: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Read the column `split`: which rows say `val`, where the others say `train`."""
    other = np.flatnonzero(~frame[SPLIT].isin(["train", "val"]))
    if len(other):
        raise DataFrameError(
            f"Column {SPLIT!r} says neither 'train' nor 'val' but "
            f"{frame[SPLIT].iloc[other[0]]!r} ({name_rows(frame, other.tolist())}).",
            column=SPLIT,
            rows=other[:5].tolist(),
            hint="Say one of the two, and take rows of neither out of the frame.",
        )
    validates: npt.NDArray[np.bool_] = (frame[SPLIT] == "val").to_numpy(dtype=bool)
    if validates.all() or not validates.any():
        raise DataFrameError(
            f"Column {SPLIT!r} says {frame[SPLIT].iloc[0]!r} in every row.",
            column=SPLIT,
            hint="Say 'train' and 'val', or drop the column: then a fifth is drawn.",
        )
    return validates


def drawn_split(codes: npt.NDArray[np.int32], seed: int) -> npt.NDArray[np.bool_]:
    """Draw a fifth of the rows of each class; the same seed draws the same rows.

    Args:
        codes: the class number of each row.
        seed: of the draw.
    """
    order = np.random.default_rng(seed).permutation(len(codes))
    validates = np.zeros(len(codes), dtype=bool)
    for code in np.unique(codes):
        rows = order[codes[order] == code]
        validates[rows[: int(SHARE * len(rows) + 0.5)]] = True
    if not validates.any():
        raise DataFrameError(
            "No class has 3 rows or more, and a fifth of less is no row to validate on.",
            hint="Say 'train' or 'val' in a column 'split'.",
        )
    return validates
