"""Boxes and key points follow the image (U125): a block in a picture is where its matrix says."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from PIL import Image

from dfloader import Augment, DataFrameSequence, DecodeError, to_tf_dataset
from dfloader.geometry import ORIENTATION_FLAGS

SIZES = [(90, 130), (131, 87), (64, 64), (75, 203)]  # height, width
LARGE = [(1103, 1501), (1490, 997)]
ORIENTATION = 0x0112
SPEC: dict[str, Any] = {"target_size": (48, 64), "class_mode": None, "shuffle": False, "seed": 5}
SIDE = 8  # of a block, about, in pixels of the target

Floats = npt.NDArray[np.float64]

AUGMENTS: dict[str, dict[str, Any]] = {
    "flip_horizontal": {"flip_horizontal": True},
    "flip_vertical": {"flip_vertical": True},
    "both_flips": {"flip_horizontal": True, "flip_vertical": True},
    "rotation": {"rotation": 180},
    "zoom": {"zoom": (0.5, 1.6)},
    "shear": {"shear": 30},
    "shift": {"shift": (0.2, 0.2)},
    "crop": {"crop_scale": (0.2, 0.9)},
    "all": {
        **{"flip_horizontal": True, "flip_vertical": True, "rotation": 40, "shear": 10},
        **{"zoom": (0.7, 1.2), "shift": (0.1, 0.1), "crop_scale": (0.4, 1)},
    },
}


class Marked:
    """Pictures of `sizes`, each with a block where the loader's matrix shows it in the image."""

    def __init__(
        self, folder: Path, sizes: Any, *, form: str = "png", orientation: int = 1
    ) -> None:
        self.sizes, self.orientation = sizes, orientation
        self.paths = [folder / f"{i}.{form}" for i in range(len(sizes))]
        self.frame = pd.DataFrame({"filename": list(map(str, self.paths))})
        for path, size in zip(self.paths, sizes, strict=True):
            self.save(np.zeros(size, np.uint8), path)

    def mark(self, matrices: Floats, target: tuple[int, int]) -> Floats:
        """Draw the blocks, and give their middles in the image, (n, 2), as matrices say."""
        middles = []
        for matrix, size, path in zip(matrices, self.sizes, self.paths, strict=True):
            x, y = self.seen(matrix, size, target)
            half = max(2, round(SIDE / 2 / abs(np.linalg.det(matrix[:, :2])) ** 0.5))
            picture = np.zeros(size, np.uint8)
            picture[y - half : y + half, x - half : x + half] = 255
            assert picture.sum() == 255 * (2 * half) ** 2
            self.save(picture, path)
            middles.append(matrix[:, :2] @ (x, y) + matrix[:, 2])
        return np.array(middles)

    def seen(self, matrix: Floats, size: tuple[int, int], target: tuple[int, int]) -> Any:
        """Choose the point of the inner picture that comes nearest to a place off the centre."""
        height, width = size
        y, x = np.mgrid[height // 4 : 3 * height // 4, width // 4 : 3 * width // 4].reshape(2, -1)
        there = np.stack([x, y], axis=1) @ matrix[:, :2].T + matrix[:, 2]
        wanted = (0.55 * target[1], 0.45 * target[0])
        best = np.argmin(((there - wanted) ** 2).sum(axis=1))
        return int(x[best]), int(y[best])

    def save(self, upright: npt.NDArray[np.uint8], path: Path) -> None:
        transpose, flip_rows, flip_columns = ORIENTATION_FLAGS[self.orientation]
        stored = upright[:: 1 - 2 * flip_rows, :: 1 - 2 * flip_columns]
        stored = stored.swapaxes(0, 1) if transpose else stored
        exif = Image.Exif()
        exif[ORIENTATION] = self.orientation
        options = {"quality": 95} if path.suffix == ".jpg" else {}
        Image.fromarray(np.ascontiguousarray(stored)).save(path, exif=exif, **options)


def middles(images: Any) -> Floats:
    """Find the middle (x, y) of what is bright in each image, which an affine map keeps."""
    bright = np.asarray(images, np.float64)[..., 0]
    bright = np.where(bright > 25, bright, 0)
    total = bright.sum(axis=(1, 2))
    assert (total > 0).all()
    x = (bright.sum(axis=1) @ (np.arange(bright.shape[2]) + 0.5)) / total
    y = (bright.sum(axis=2) @ (np.arange(bright.shape[1]) + 0.5)) / total
    return np.stack([x, y], axis=1)


def check(marked: Marked, within: float = 0.5, **spec: Any) -> None:
    said = {**SPEC, **spec}
    with DataFrameSequence(marked.frame, len(marked.sizes), workers=0, **said) as seq:
        for epoch in (0, 1):
            seq.set_epoch(epoch)
            matrices = seq.matrices(0)
            assert (matrices.dtype, matrices.shape) == (np.float64, (len(marked.sizes), 2, 3))
            expected = marked.mark(matrices, said["target_size"])
            assert abs(middles(seq[0]) - expected).max() < within


@pytest.mark.parametrize("interpolation", ["bilinear", "area"])
@pytest.mark.parametrize("resize_mode", ["stretch", "crop", "pad"])
@pytest.mark.parametrize("name", AUGMENTS)
def test_u125_a_block_is_where_each_option_puts_it(
    name: str, resize_mode: str, interpolation: str, tmp_path: Path
) -> None:
    said = {"resize_mode": resize_mode, "interpolation": interpolation}
    check(Marked(tmp_path, SIZES), augment=Augment(**AUGMENTS[name]), **said)


@pytest.mark.parametrize("resize_mode", ["stretch", "crop", "pad"])
@pytest.mark.parametrize("interpolation", ["bilinear", "area", "nearest", "bicubic"])
def test_u125_without_augmentation_too(
    resize_mode: str, interpolation: str, tmp_path: Path
) -> None:
    check(Marked(tmp_path, SIZES), resize_mode=resize_mode, interpolation=interpolation)


@pytest.mark.parametrize("augment", [None, "flip_horizontal", "crop", "all"])
@pytest.mark.parametrize("decode", ["scaled", "full"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_u125_large_photographs_however_they_were_held(
    orientation: int, decode: str, augment: str | None, tmp_path: Path
) -> None:
    drawn = None if augment is None else Augment(**AUGMENTS[augment])
    marked = Marked(tmp_path, LARGE, form="jpg", orientation=orientation)
    said: dict[str, Any] = {"decode": decode, "interpolation": "area", "target_size": (63, 85)}
    check(marked, 0.2, augment=drawn, **said)


def test_u125_as_stored_with_exif_false(tmp_path: Path) -> None:
    marked = Marked(tmp_path, [(90, 130)], orientation=6)
    seen = DataFrameSequence(marked.frame, exif=False, **SPEC).matrices(0)
    # Stored it is 130 x 90.
    assert np.allclose(seen[0], [[64 / 90, 0, 0], [0, 48 / 130, 0]])


@pytest.mark.parametrize("resize_mode", ["stretch", "pad"])
@pytest.mark.parametrize("name", ["both_flips", "all"])
def test_u125_pictures_from_a_cache(name: str, resize_mode: str, tmp_path: Path) -> None:
    """Augmented after they were kept at the target's size."""
    marked = Marked(tmp_path, LARGE, form="jpg", orientation=3)
    said: dict[str, Any] = {**SPEC, "augment": Augment(**AUGMENTS[name]), "workers": 0}
    said |= {"resize_mode": resize_mode, "cache": "memory"}
    expected = marked.mark(DataFrameSequence(marked.frame, **said).matrices(0), (48, 64))
    with DataFrameSequence(marked.frame, **said) as seq:
        assert abs(middles(seq[0]) - expected).max() < 0.5


@pytest.mark.parametrize("name", ["both_flips", "all"])
def test_u125_images_of_a_dataset_too(name: str, tmp_path: Path) -> None:
    marked = Marked(tmp_path, SIZES)
    said = {**SPEC, "shuffle": True, "augment": Augment(**AUGMENTS[name])}
    seq = DataFrameSequence(marked.frame, 4, **said)
    rows, matrices = seq.rows(0), seq.matrices(0)
    expected = marked.mark(matrices[np.argsort(rows)], (48, 64))[rows]
    (images,) = to_tf_dataset(marked.frame, 4, **said)
    assert abs(middles(images) - expected).max() < 0.5


def test_u125_a_flip_takes_a_pixel_to_its_mirror_image(tmp_path: Path) -> None:
    frame = Marked(tmp_path, [(10, 14)]).frame.iloc[[0] * 20]
    said = {**SPEC, "target_size": None, "augment": Augment(flip_horizontal=True)}
    matrices = DataFrameSequence(frame, 20, **said).matrices(0)
    x = matrices @ (3 + 0.5, 7 + 0.5, 1)
    assert {tuple(point) for point in x.tolist()} == {(3.5, 7.5), (14 - 1 - 3 + 0.5, 7.5)}


def test_u125_matrices_are_those_of_the_batch_and_its_epoch(tmp_path: Path) -> None:
    frame = Marked(tmp_path, SIZES).frame
    said = {**SPEC, "augment": Augment(rotation=40)}
    whole = DataFrameSequence(frame, 4, **said)
    parts = DataFrameSequence(frame, 3, **{**said, "shuffle": True})
    seen = np.concatenate([parts.matrices(0), parts.matrices(-1)])
    rows = np.concatenate([parts.rows(0), parts.rows(1)])
    assert np.array_equal(seen, whole.matrices(0)[rows])
    whole.set_epoch(1)
    assert not np.isclose(seen, whole.matrices(0)[rows]).all(axis=(1, 2)).any()
    plain = whole.eval().matrices(0)
    assert np.allclose(plain[0], [[64 / 130, 0, 0], [0, 48 / 90, 0]])


def test_u125_padding_has_its_rows_matrix_and_a_repeat_its_own(tmp_path: Path) -> None:
    frame = Marked(tmp_path, SIZES[:3]).frame
    said = {**SPEC, "augment": Augment(rotation=40), "shard": (1, 2)}
    short = DataFrameSequence(frame, 2, **said)
    whole = DataFrameSequence(frame, 3, **{**said, "shard": None}).matrices(0)
    row, padding = short.rows(0).tolist()
    assert padding == -1
    assert np.array_equal(short.matrices(0), whole[[row, row]])
    drawn = {"sampler": "w", "samples_per_epoch": 4, **said, "shard": None, "shuffle": True}
    again = DataFrameSequence(frame.assign(w=[0, 1, 0]), 4, **drawn).matrices(0)
    assert len(np.unique(again, axis=0)) == 4


def test_u125_a_file_without_a_size_is_nan_where_it_is_skipped_and_else_an_error(
    tmp_path: Path,
) -> None:
    marked = Marked(tmp_path, SIZES[:2])
    marked.paths[1].write_bytes(b"no picture")
    with pytest.raises(DecodeError, match=r"Row 1: '.*1\.png': not an image"):
        DataFrameSequence(marked.frame, **SPEC).matrices(0)
    matrices = DataFrameSequence(marked.frame, on_error="skip", **SPEC).matrices(0)
    assert np.isnan(matrices).all(axis=(1, 2)).tolist() == [False, True]
