"""What `dfloader demo` trains on: a frame, and which of its rows validate. May import pandas."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from dfloader.errors import DataFrameError
from dfloader.frames import FrameFileError, read_frame
from dfloader.photos import write_photos

Rows = npt.NDArray[np.bool_]

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
        validates: for each row, whether it validates; the others are trained on.
        directory: where relative paths start.
        x_col: the column of paths; None: found by its name.
        y_col: the column of labels; None: found by its name.
        floor: the validation accuracy it must reach, if there is one.
    """

    name: str
    frame: pd.DataFrame
    validates: Rows
    directory: Path
    x_col: str | None = None
    y_col: str | None = None
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
            frame = read_frame(place / SAMPLE)
            return Task("sample_data", frame, given(frame), (place / SAMPLE).parent, floor=FLOOR)
    looked = " nor in ".join(str(place) for place in dict.fromkeys(places))
    raise FrameFileError(
        f"There is no {SAMPLE} in {looked}. Run this in the project's root, "
        "or try `dfloader demo --photos` or `dfloader demo FRAME`, which need no sample_data."
    )


def photos_task(folder: Path, seed: int) -> Task:
    """Photographs cut into a folder, labelled by the picture they come from."""
    frame = write_photos(folder, seed=seed)
    return Task("photographs", frame, given(frame), folder, floor=FLOOR)


def frame_task(
    path: Path, *, directory: Path | None, x_col: str | None, y_col: str | None, seed: int
) -> Task:
    """The user's own frame: split as its column `split` says, or else at random by class."""
    frame = read_frame(path)
    validates = given(frame) if SPLIT in frame else drawn(frame, _target(frame, y_col), seed)
    return Task(path.name, frame, validates, directory or path.parent, x_col, y_col)


def given(frame: pd.DataFrame) -> Rows:
    """Read the column `split`: which rows say `val`, where the others say `train`."""
    split = frame[SPLIT]
    _no_other_words(split)
    validates: Rows = (split == "val").to_numpy(dtype=bool)
    if validates.all() or not validates.any():
        raise DataFrameError(
            f"Column {SPLIT!r} says {'val' if validates.any() else 'train'!r} in every row.",
            column=SPLIT,
            hint="Both 'train' and 'val' are needed; without the column a fifth of the rows "
            "is drawn.",
        )
    return validates


def drawn(frame: pd.DataFrame, target: str, seed: int) -> Rows:
    """Draw a fifth of the rows of each class; the same seed draws the same rows."""
    order = np.random.default_rng(seed).permutation(len(frame))
    shuffled = frame[target].iloc[order]
    by_class = shuffled.groupby(shuffled.to_numpy())
    counts = by_class.transform("size").to_numpy()
    validates = np.zeros(len(frame), dtype=bool)
    validates[order] = by_class.cumcount().to_numpy() < np.floor(SHARE * counts + 0.5)
    if not validates.any():
        raise DataFrameError(
            f"Column {target!r} has no class of 3 rows or more.",
            column=target,
            hint="A fifth of such a class is no row: say 'train' or 'val' in a column 'split'.",
        )
    return validates


def _no_other_words(split: "pd.Series[str]") -> None:
    other = np.flatnonzero(~split.isin(["train", "val"]))
    if len(other):
        shown = ", ".join(str(row) for row in other[:5]) + (", ..." if len(other) > 5 else "")
        raise DataFrameError(
            f"Column {SPLIT!r} says {split.iloc[other[0]]!r} in row {other[0]}, and neither "
            f"'train' nor 'val' in {len(other)} rows ({shown}).",
            column=SPLIT,
            rows=other[:5].tolist(),
            hint="Say one of the two, and leave out rows of neither.",
        )
