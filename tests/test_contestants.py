"""Who takes part in a comparison, who is left out and why, and what each loads."""

from collections import Counter
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dfloader import Augment
from dfloader.bout import Bout, count
from dfloader.compare_work import read_subject
from dfloader.contestants import KINDS, Contestant, lineup
from dfloader.peers_check import PEERS, reason_against
from dfloader.records_write import write_tfrecords

SPEC: dict[str, Any] = {"target_size": (24, 32), "class_mode": "sparse"}
PEER_NAMES = [name for name in PEERS if name != "torch" or find_spec("torch")]


def against(df: pd.DataFrame, peer: str, **spec: Any) -> str | None:
    subject = read_subject(df, 8, {**SPEC, **spec})
    return reason_against(peer, subject.said, subject.loader)


def test_by_default_everyone_takes_part_but_cache_and_records() -> None:
    assert [(each.loader, each.workers) for each in lineup(None, (0, 2))] == [
        ("inline", 0),
        ("threads", 2),
        ("processes", 2),
        ("tf.data", 2),
        ("keras-preprocessing", 0),
        ("keras", 2),
        ("tf.data by hand", 0),
        ("image_dataset_from_directory", 0),
        ("torch", 2),
    ]


def test_ours_run_with_every_number_of_workers_peers_with_the_largest() -> None:
    found = lineup(["threads", "torch"], (4, 1, 2))
    assert [each.name for each in found] == [
        "sequence, 1 thread",
        "sequence, 2 threads",
        "sequence, 4 threads",
        "torch DataLoader, 4 processes",
    ]


def test_an_unknown_loader_is_an_error_with_a_guess() -> None:
    with pytest.raises(ValueError, match=r"'thread' is none of .* Did you mean 'threads'"):
        lineup(["thread"], (2,))


@pytest.mark.parametrize("workers", [[-1], [1.5]])
def test_workers_are_whole_numbers(workers: list[Any]) -> None:
    with pytest.raises(ValueError, match="is not a whole number"):
        lineup(None, workers)


def test_a_lineup_of_nobody_says_what_to_name() -> None:
    with pytest.raises(ValueError, match="Name a number from 1 on"):
        lineup(["threads"], (0,))


@pytest.mark.parametrize(
    ("spec", "peer", "reason"),
    [
        ({"augment": Augment(rotation=5)}, "keras", "it has nothing like augment"),
        ({"on_error": "skip"}, "tf.data by hand", "it has nothing like on_error"),
        ({"resize_mode": "pad"}, "keras-preprocessing", "it does not do resize_mode='pad'"),
        ({"class_mode": "raw", "y_col": "size"}, "keras", "it does not do class_mode='raw'"),
        (
            {"class_mode": {"class": "sparse", "size": "raw"}},
            "keras",
            "it has nothing like several outputs in class_mode",
        ),
        ({"dtype": "uint8"}, "image_dataset_from_directory", "it does not do dtype='uint8'"),
        ({"cache": "memory"}, "tf.data by hand", "it has nothing like cache"),
    ],
)
def test_a_peer_is_left_out_for_what_it_cannot_do(
    df: pd.DataFrame, spec: dict[str, Any], peer: str, reason: str
) -> None:
    assert against(df, peer, **spec) == reason
    assert against(df, peer) is None


def test_masks_leave_every_peer_out(df: pd.DataFrame) -> None:
    df["mask"] = df["filename"]
    for peer in PEER_NAMES:
        assert against(df, peer, mask_col="mask") == "it has nothing like mask_col"


def test_a_peer_is_left_out_for_files_it_does_not_read(df: pd.DataFrame) -> None:
    df.loc[4, "filename"] = "x.tif"
    said = {"validate": False}
    assert against(df, "tf.data by hand", **said) == "it does not read .tif (row 4)"
    assert against(df, "keras-preprocessing", **said) is None


def test_bytes_in_the_frame_leave_out_who_reads_files(df: pd.DataFrame) -> None:
    df["filename"] = [Path(path).read_bytes() for path in df["filename"]]
    assert against(df, "tf.data by hand") == "it reads local files only"


def test_a_missing_package_says_what_to_install(
    df: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dfloader.peers_check.find_spec", lambda name: None)
    assert against(df, "torch") == "torch is not installed: python -m pip install torch"


@pytest.mark.parametrize("name", [n for n in KINDS if n != "torch" or find_spec("torch")])
def test_a_pass_has_every_row_once_with_its_label(
    df: pd.DataFrame, name: str, tmp_path: Path
) -> None:
    given = read_subject(df, 8, SPEC).given(20)
    if name == "records":
        folder = write_tfrecords(df, tmp_path / "r", class_mode="sparse", progress=False)
        given = type(given)(given.frame, 8, given.spec, str(folder))
    labels: Counter[int] = Counter()
    with ExitStack() as stack:
        passes = KINDS[name].build(given, 1 if name != "inline" else 0, stack)
        for _ in range(2):
            for x, y in passes():
                assert tuple(x.shape[1:]) == (24, 32, 3)
                assert "float32" in str(x.dtype)
                labels.update(np.asarray(y).astype(int).tolist())
    assert labels == {0: 14, 1: 14, 2: 12}


def test_a_bout_measures_everything(df: pd.DataFrame) -> None:
    given = read_subject(df, 8, SPEC).given(20)
    found = Bout(Contestant("threads", 1), given, 0.01, "1ms")()
    assert found.images_per_second >= found.wall_images_per_second > 0
    assert found.cpu_ms_per_image > 0
    assert found.first_batch_seconds > 0
    assert found.peak_mb > 50
    assert found.wait_share is not None and 0 < found.wait_share < 1
    assert found.trained_images_per_second is not None
    assert 0 < found.trained_images_per_second <= 8 / 0.001


def test_a_bout_without_a_batch_is_an_error(df: pd.DataFrame) -> None:
    given = read_subject(df, 64, {**SPEC, "drop_remainder": True}).given(20)
    with pytest.raises(ValueError, match="no batch"):
        Bout(Contestant("inline", 0), given, 0.01)()


@pytest.mark.parametrize(
    "batch", [np.zeros((3, 1)), (np.zeros((3, 1)), 0), ({"image": np.zeros(3)}, 0)]
)
def test_images_of_a_batch_are_counted(batch: Any) -> None:
    assert count(batch) == 3


def test_a_small_frame_is_repeated_and_a_large_one_is_drawn_from(df: pd.DataFrame) -> None:
    subject = read_subject(df, 8, SPEC)
    assert Counter(subject.given(60).frame["filename"]) == dict.fromkeys(df["filename"], 3)
    drawn = subject.given(7)
    assert len(set(drawn.frame["filename"])) == 7
    assert drawn.loader.table.encoder is not None
    assert list(drawn.loader.table.encoder.class_names) == ["cat", "dog", "emu"]  # type: ignore[union-attr]
