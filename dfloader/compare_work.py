"""What a comparison is about: the frame and spec that every loader gets. May import pandas.

1. The frame is read and checked whole, once, before anything is measured.
2. The order of the classes is that of the whole frame, whichever rows are then read.
3. A pass reads the frame several times over where it is small, and rows drawn from it where it is
   large, so that a pass takes about the seconds that it should.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dfloader.batch import Loader, prepare
from dfloader.columns import to_pandas
from dfloader.comparison import Work
from dfloader.frame import resolve
from dfloader.labels import each_encoder
from dfloader.peers import Given
from dfloader.plan import fresh_seed
from dfloader.spec import Spec, parse

PROOF_BATCHES = 2
_SHOWN_CHARACTERS = 200  # of a keyword's value
# Said in every report, whether or not the user named them: they decide how much work an image is.
_TELLING = ("target_size", "dtype", "color_mode", "interpolation", "resize_mode", "decode")
_UNTOLD = ("seed", "directory", "classes", "batch_size", "validate")


@dataclass(frozen=True)
class Subject:
    """A frame that was read and checked.

    Attributes:
        frame: in pandas.
        batch_size: rows in a batch.
        spec: the common keywords, with a seed and the classes' order.
        said: the same, parsed.
    """

    frame: pd.DataFrame
    batch_size: int
    spec: Mapping[str, Any]
    said: Spec

    @cached_property
    def loader(self) -> Loader:
        """The loader of the whole frame, without its cache: nothing is loaded."""
        return prepare(resolve(self.frame, self.said.frame), replace(self.said, cache=None))

    @property
    def kept(self) -> npt.NDArray[np.int64]:
        """The positions of the rows that take part."""
        kept = self.loader.table.kept
        return np.arange(len(self.frame)) if kept is None else kept

    def few(self) -> Given:
        """Give the rows of the proof, drawn from the frame."""
        return self.given(PROOF_BATCHES * self.batch_size, repeat=False)

    def given(self, rows: int, *, repeat: bool = True) -> Given:
        """Give about so many rows: drawn from the frame, or the whole frame over and over."""
        kept = self.kept
        if rows < len(kept):
            chosen = np.random.default_rng(0).choice(kept, rows, replace=False)
        else:
            chosen = np.tile(kept, max(1, round(rows / len(kept))) if repeat else 1)
        frame = self.frame.iloc[chosen].reset_index(drop=True)
        return Given(frame, self.batch_size, self.spec)

    def work(self, name: str, rows: int, model: str | None) -> Work:
        """Describe it.

        Args:
            name: what the frame is called.
            rows: that a pass reads.
            model: what `check_model` gave.
        """
        told: dict[str, Any] = {word: getattr(self.said.image, word) for word in _TELLING}
        told["class_mode"] = self.said.frame.class_mode
        for word, (value, default) in keywords_of(self.said).items():
            if word not in _UNTOLD and value is not default and value != default:
                told[word] = value
        words = {word: _shortened(repr(value)) for word, value in told.items()}
        return Work(name, len(self.frame), rows, self.batch_size, words, model)


def read_subject(df: Any, batch_size: int, spec: Mapping[str, Any]) -> Subject:
    """Read a frame as a loader would.

    Raises:
        DataFrameError: the frame is wrong.
        TypeError: a keyword is unknown.
    """
    frame = to_pandas(df)
    said = parse(batch_size, spec, fresh_seed=fresh_seed())
    full = {**spec, "seed": said.order.seed}
    encoder = resolve(frame, said.frame).encoder
    if encoder is not None and encoder != {}:
        full["classes"] = each_encoder(encoder, lambda each: list(each.class_names))
    subject = Subject(frame, batch_size, full, parse(batch_size, full, fresh_seed=0))
    _ = subject.loader  # what is wrong with the spec shows here
    return subject


def keywords_of(spec: Spec) -> dict[str, tuple[Any, Any]]:
    """Give the value and the default of each keyword."""
    found: dict[str, tuple[Any, Any]] = {
        "augment": (spec.augment, None),
        "cache": (spec.cache, None),
    }
    for part in (spec.frame, spec.image, spec.order):
        for field in fields(part):
            default = None if field.default is MISSING else field.default
            found[field.name] = (getattr(part, field.name), default)
    return found


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"
