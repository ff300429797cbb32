"""loader=: a function of the user's from a path to an array (U118), through every engine."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from callables import dicom_like

from dfloader import (
    DataFrameError,
    DataFrameSequence,
    DecodeError,
    read_tfrecords,
    to_tf_dataset,
    write_tfrecords,
)

SPEC: dict[str, Any] = {"class_mode": None, "target_size": (16, 12), "shuffle": False, "seed": 1}


@pytest.fixture
def own_format(tmp_path: Path) -> tuple[pd.DataFrame, npt.NDArray[np.uint8]]:
    """A frame of files that no decoder knows, and their pixels (5, 16, 12, 1)."""
    pixels = np.random.default_rng(0).integers(0, 256, (5, 16, 12, 1), np.uint8)
    for i, image in enumerate(pixels):
        (tmp_path / f"{i}.own").write_bytes(b"our own head" + image.tobytes())
    paths = [str(tmp_path / f"{i}.own") for i in range(5)]
    return pd.DataFrame({"filename": paths}), pixels


@pytest.mark.parametrize("engine", [{"workers": 0}, {"workers": 2}, {"use_multiprocessing": True}])
def test_u118_a_sequence_loads_what_the_function_gives(
    own_format: tuple[pd.DataFrame, npt.NDArray[np.uint8]], engine: dict[str, Any]
) -> None:
    frame, pixels = own_format
    with DataFrameSequence(frame, 3, loader=dicom_like, **SPEC, **engine) as seq:
        found = np.concatenate(list(seq))
    assert np.array_equal(found, pixels.astype(np.float32).repeat(3, axis=3))


def test_u118_tf_data_gives_the_same(
    own_format: tuple[pd.DataFrame, npt.NDArray[np.uint8]],
) -> None:
    frame, pixels = own_format
    dataset = to_tf_dataset(frame, 5, loader=dicom_like, color_mode="grayscale", **SPEC)
    assert np.array_equal(next(iter(dataset)), pixels)


def test_u118_numpy_itself_is_a_loader_and_sixteen_bits_keep_their_range(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.full((4, 4), 65535, np.uint16))
    frame = pd.DataFrame({"filename": [str(tmp_path / "a.npy")]})
    seq = DataFrameSequence(frame, loader=np.load, class_mode=None, target_size=None)
    assert (seq[0] == 255).all() and seq[0].shape == (1, 4, 4, 3)


def test_records_and_caches_keep_what_the_function_gave(
    own_format: tuple[pd.DataFrame, npt.NDArray[np.uint8]], tmp_path: Path
) -> None:
    frame, pixels = own_format
    write_tfrecords(frame, tmp_path / "records", loader=dicom_like, class_mode=None, progress=False)
    said = {name: value for name, value in SPEC.items() if name != "class_mode"}
    records = read_tfrecords(tmp_path / "records", 5, color_mode="grayscale", **said)
    assert np.array_equal(next(iter(records)), pixels)
    with DataFrameSequence(frame, 5, loader=dicom_like, cache="memory", **SPEC) as seq:
        assert np.array_equal(seq[0], seq[0])
        assert np.array_equal(seq[0][..., :1], pixels)


def test_a_cache_knows_one_function_from_another(
    own_format: tuple[pd.DataFrame, npt.NDArray[np.uint8]], tmp_path: Path
) -> None:
    frame, _ = own_format
    said = {"cache": tmp_path / "cache", "workers": 0, **SPEC}
    assert DataFrameSequence(frame, 5, loader=dicom_like, **said)[0].any()
    assert not DataFrameSequence(frame, 5, loader=black, **said)[0].any()


def test_a_cache_knows_what_is_bound_to_a_function_and_refuses_what_has_no_name(
    own_format: tuple[pd.DataFrame, npt.NDArray[np.uint8]],
) -> None:
    frame, _ = own_format
    said = {"cache": "memory", "workers": 0, **SPEC}
    one, two = (DataFrameSequence(frame, 5, loader=partial(grey, level=n), **said) for n in (1, 2))
    assert (one[0] == 1).all() and (two[0] == 2).all()
    with pytest.raises(DataFrameError, match=r"Define it at the top of a module"):
        DataFrameSequence(frame, 5, loader=lambda path: grey(path, 3), **said)


def grey(path: str, level: int) -> npt.NDArray[np.uint8]:
    return np.full((16, 12), level, np.uint8)


def black(path: str) -> npt.NDArray[np.uint8]:
    return np.zeros((16, 12), np.uint8)


def failing(path: str) -> npt.NDArray[np.uint8]:
    raise KeyError("no pixel data")


def words(path: str) -> Any:
    return np.array(["no picture"])


@pytest.mark.parametrize(
    ("loader", "said"),
    [
        (failing, r"Row 0: .*0\.own': loader failed: KeyError: 'no pixel data'"),
        (
            words,
            r"Row 0: .*loader must give an array of numbers, .* or \(h, w, c\), not <U10",
        ),
    ],
)
def test_what_is_wrong_names_row_and_path(
    own_format: tuple[pd.DataFrame, npt.NDArray[np.uint8]], loader: Any, said: str
) -> None:
    frame, _ = own_format
    with pytest.raises(DecodeError, match=said):
        _ = DataFrameSequence(frame, loader=loader, workers=0, **SPEC)[0]
    skipping = DataFrameSequence(frame, loader=loader, workers=0, on_error="skip", **SPEC)
    assert not skipping[0].any() and len(skipping.failures) == 5


def test_what_cannot_be_used_is_said_when_the_sequence_is_made(
    own_format: tuple[pd.DataFrame, npt.NDArray[np.uint8]],
) -> None:
    frame, pixels = own_format
    with pytest.raises(TypeError, match="loader='dicom' is not a function from a path"):
        DataFrameSequence(frame, loader="dicom", **SPEC)
    arrays = pd.DataFrame({"filename": list(pixels)})
    with pytest.raises(DataFrameError, match="holds the images themselves, and loader= takes"):
        DataFrameSequence(arrays, loader=dicom_like, **SPEC)
    with pytest.raises(ValueError, match="must be importable"):
        DataFrameSequence(frame, loader=lambda p: p, use_multiprocessing=True, **SPEC)
