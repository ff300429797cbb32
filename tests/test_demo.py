"""The demo on a few pictures, and the parts it is made of."""

from contextlib import contextmanager
from pathlib import Path

import imageio.v3 as iio
import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

from dfloader import DataFrameError, photos, timing
from dfloader.cli import app
from dfloader.demo import Result, reaches_floor
from dfloader.spec import FrameSpec
from dfloader.tasks import Task, drawn_split, make_task, sample_task
from dfloader.timing import Speed
from dfloader.training import Training

ROOT = Path(__file__).parent.parent
COLUMNS = FrameSpec(class_mode="sparse")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """One epoch on 28 photographs beside their table, under the user's own column names."""
    folder = tmp_path_factory.mktemp("demo")
    frame = photos.write_photos(folder / "images", per_class=4).drop(columns="split")
    frame = frame.rename(columns={"filename": "photo", "class": "kind"})
    frame["photo"] = "images/" + frame["photo"]
    frame.to_csv(folder / "mine.csv", index=False)
    words = f"--x-col photo --y-col kind --epochs 1 --passes 1 --size 32 --out {folder}".split()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dfloader.demo.LONG_PASS", 1)
        result = CliRunner().invoke(app, ["demo", str(folder / "mine.csv"), *words, "--debug"])
    assert result.exit_code == 0, result.output
    return result.stdout, folder


def test_demo_prints_a_line_for_each_loader(demo: tuple[str, Path]) -> None:
    lines = demo[0].splitlines()
    table = lines[[i for i, line in enumerate(lines) if "accuracy" in line][-1] + 1 :][:3]
    accuracies = [float(line.split()[-4]) for line in table]
    assert [line.split()[-5] for line in table] == ["threads", "processes", "tf.data"]
    assert all(0 <= accuracy <= 1 for accuracy in accuracies)


def test_demo_is_plain_text_where_there_is_no_terminal(demo: tuple[str, Path]) -> None:
    assert demo[0].isascii()


@pytest.mark.parametrize("name", ["comparison.png", "examples.png"])
def test_demo_writes_its_pictures(demo: tuple[str, Path], name: str) -> None:
    picture = iio.imread(demo[1] / name)
    assert min(picture.shape[:2]) > 200
    assert picture[..., :3].std() > 10


def results(*accuracies: float) -> list[Result]:
    speed = Speed((1.0,), 1.0)
    return [Result(f"loader {i}", Training(a, 1.0), speed) for i, a in enumerate(accuracies)]


def test_floor_is_kept_by_every_loader(capsys: pytest.CaptureFixture[str]) -> None:
    task = sample_task()
    assert reaches_floor(task, results(0.95, 1.0), Console())
    assert not reaches_floor(task, results(0.949, 1.0), Console())
    assert "NOT reached through loader 0." in capsys.readouterr().out


def test_sample_data_is_split_as_its_column_says() -> None:
    task = sample_task()
    assert task.floor == 0.95
    assert set(task.train["split"]) == {"train"}
    assert set(task.val["split"]) == {"val"}
    assert task.classes == ["circle", "square", "star", "triangle"]


def task_of(df: pd.DataFrame) -> Task:
    return make_task("test", df, COLUMNS, seed=3)


def test_frame_without_split_gives_a_fifth_of_each_class(df: pd.DataFrame) -> None:
    task = task_of(df)
    assert len(task.train) + len(task.val) == 20
    assert task.val["class"].value_counts().to_dict() == {"cat": 1, "dog": 1, "emu": 1}


def test_drawn_split_depends_on_the_seed_alone() -> None:
    codes = np.arange(100, dtype=np.int32) % 4
    first, again, other = (drawn_split(codes, seed) for seed in (5, 5, 6))
    assert first.tolist() == again.tolist() != other.tolist()
    assert np.bincount(codes[first]).tolist() == [5, 5, 5, 5]


def test_other_word_in_split_names_its_rows(df: pd.DataFrame) -> None:
    df["split"] = ["train", "val", "test", "train"] * 5
    with pytest.raises(DataFrameError, match="'test'") as caught:
        task_of(df)
    assert caught.value.rows == (2, 6, 10, 14, 18)


def test_split_of_one_word_is_an_error(df: pd.DataFrame) -> None:
    df["split"] = "train"
    with pytest.raises(DataFrameError, match="says 'train' in every row"):
        task_of(df)


def test_single_class_is_an_error(df: pd.DataFrame) -> None:
    df["class"] = "cat"
    with pytest.raises(DataFrameError, match="Every row is of the class 'cat'"):
        task_of(df)


def test_classes_too_small_to_split_are_an_error(df: pd.DataFrame) -> None:
    df["class"] = [f"c{i // 2}" for i in range(20)]
    with pytest.raises(DataFrameError, match="No class has 3 rows"):
        task_of(df)


def test_photographs_repeat_and_vary_in_size(tmp_path: Path) -> None:
    first = photos.write_photos(tmp_path / "a", per_class=8, seed=1)
    again = photos.write_photos(tmp_path / "b", per_class=8, seed=1)
    pd.testing.assert_frame_equal(first, again)
    pixels = [(tmp_path / "a" / name).read_bytes() for name in first["filename"]]
    assert pixels == [(tmp_path / "b" / name).read_bytes() for name in again["filename"]]
    counts = first.groupby("class")["split"].agg(["size", lambda split: (split == "val").sum()])
    assert counts.to_numpy().tolist() == [[8, 2]] * len(photos.PICTURES)
    assert len({iio.improps(tmp_path / "a" / name).shape for name in first["filename"]}) > 20


@pytest.mark.parametrize("name", photos.PICTURES)
def test_photographs_of_train_and_val_share_no_pixel(name: str) -> None:
    picture = np.zeros(photos.PICTURES[name]().shape, np.uint8)
    for cell in photos.cells(picture):
        cell.pixels[...] += 1 if cell.split == "train" else 10
    assert set(np.unique(picture)) == {1, 10}


def test_a_pass_that_brings_too_few_images_is_an_error() -> None:
    @contextmanager
    def build():  # type: ignore[no-untyped-def]
        yield [(np.zeros((3, 1)), None)]

    assert set(timing.measure({"a": build}, 3, 2, lambda: None)) == {"a"}
    with pytest.raises(RuntimeError, match="3 images instead of 4"):
        timing.measure({"a": build}, 4, 2, lambda: None)


def test_speed_is_the_median_pass() -> None:
    assert Speed((10.0, 30.0, 20.0), 1.0).images_per_second == 20.0
