"""The proof before a comparison: it passes where batches are equal, and fails loudly."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dfloader import contestants
from dfloader.compare_work import read_subject
from dfloader.contestants import KINDS, Contestant, _sequence
from dfloader.equality import Proved, Proving, UnequalBatchesError, difference

SPEC: dict[str, Any] = {"target_size": (24, 32), "class_mode": "sparse"}


def prove(df: pd.DataFrame, *loaders: str, **spec: Any) -> Proved:
    given = read_subject(df, 8, {**SPEC, **spec}).few()
    return Proving([Contestant(name, 0 if name == "inline" else 1) for name in loaders], given)()


def test_equal_loaders_are_named_with_their_rows_and_difference(df: pd.DataFrame) -> None:
    proved = prove(df, "inline", "threads", "tf.data", "cache")
    assert proved.proof.loaders == (
        "sequence, 1 thread",
        "to_tf_dataset, 1 thread",
        "sequence with a cache, 1 thread",
    )
    assert proved.proof.rows == 2 * 16
    assert 0 <= proved.proof.difference <= 0.02


def test_a_loader_that_differs_ends_the_proof_and_is_named(
    df: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = type(KINDS["threads"])(
        "wrong", partial(_sequence, rescale=1.001), ("dfloader.sequence",)
    )
    monkeypatch.setattr(contestants, "KINDS", {**KINDS, "threads": wrong})
    with pytest.raises(UnequalBatchesError, match=r"wrong, 1 thread .* batch 0: x differs by"):
        prove(df, "threads")


def test_what_an_engine_does_not_do_is_refused_with_its_reason(df: pd.DataFrame) -> None:
    proved = prove(df, "threads", "tf.data", interpolation="lanczos")
    assert proved.proof.loaders == ("sequence, 1 thread",)
    assert "does not take interpolation='lanczos'" in proved.refused[Contestant("tf.data", 1)]


def test_a_broken_image_is_the_usual_error(df: pd.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8 no more")
    df["filename"] = str(tmp_path / "broken.jpg")
    with pytest.raises(ValueError, match=r"Row \d+: .*broken.jpg"):
        prove(df, "threads")


X, Y = np.zeros((2, 4, 4, 3), np.float32), np.array([1, 0], np.int32)


@pytest.mark.parametrize(
    ("got", "what"),
    [
        ((X + 0.03, Y), "x differs by up to 0.03"),
        ((X, 1 - Y), "y differs by up to 1"),
        ((X, Y.astype(np.int64)), "int64"),
        ((X[:1], Y), r"\(1, 4, 4, 3\)"),
        ((X, Y, Y), "w"),
        ((X * np.nan, Y), "x differs by up to nan"),
        (None, "fewer batches"),
    ],
)
def test_every_kind_of_difference_is_seen(got: Any, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        difference(got, (X, Y), 0.02)


def test_pixels_may_differ_by_the_tolerance() -> None:
    assert difference((X + 0.01, Y), (X, Y), 0.02) == pytest.approx(0.01)
