"""What stages cost, and the rates that follow: arithmetic on made-up costs, and real measuring."""

import time
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dfloader.augment import Augment
from dfloader.batch import Loader, prepare
from dfloader.costs import (
    PROCESSES,
    TF_DATA,
    THREADS,
    Call,
    Cost,
    Pixels,
    Stages,
    Training,
    Transport,
    fewest_workers,
    limit,
    rate,
)
from dfloader.errors import DecodeError
from dfloader.frame import resolve
from dfloader.overlap import alone_share
from dfloader.row_costs import EPOCH, render_files, row_costs
from dfloader.spec import parse
from dfloader.stages import measure_stages

# A row: 1 ms of reading, 4 of decoding, 1 of resizing, 2 of augmentation; half of it Python.
ROW = Stages(
    rows=64,
    frame_rows=1000,
    file_bytes=20_000,
    read=Cost(0.001, 0.009),
    reread=Cost(0.001),
    pixels=Pixels(Cost(0.004, alone=0.001), Cost(0.001), Cost(0.002)),
    memory_bytes=10**9,
)


def loader_of(df: pd.DataFrame, batch_size: int = 8, **spec: Any) -> Loader:
    said = parse(batch_size, {"target_size": (32, 32), "seed": 3, **spec}, fresh_seed=1)
    return prepare(resolve(df, said.frame), said)


def idle() -> None:
    time.sleep(0.002)


def spin() -> None:
    start = time.thread_time()
    while time.thread_time() - start < 0.005:
        pass


def dark(image: Any) -> Any:
    return image / 2


def test_costs_add_up() -> None:
    total = Cost(1.0, 2.0, 0.5) + Cost(3.0, 4.0, 1.0)
    assert total == Cost(4.0, 6.0, 1.5)
    assert total.seconds == 10


def test_files_that_fit_into_memory_are_read_from_there() -> None:
    assert ROW.steady_read == ROW.reread
    assert replace(ROW, frame_rows=10**6).steady_read == ROW.read
    assert replace(ROW, memory_bytes=None).steady_read == ROW.read


def test_a_row_costs_the_sum_of_its_stages() -> None:
    called = replace(ROW, calls=(Call("f", Cost(0.003, 0.001)),), unstaged=0.0005)
    assert ROW.load().seconds == pytest.approx(0.008)
    assert called.load() == Cost(*map(pytest.approx, (0.0115, 0.001, 0.0015)))
    assert sum(cost.seconds for cost in called.shares(THREADS).values()) == pytest.approx(0.0125)


def test_what_stages_cover_is_a_part_of_the_whole() -> None:
    assert replace(ROW, whole=Cost(0.010)).covered == pytest.approx(0.8)


def test_a_cache_saves_reading_decoding_and_resizing_not_callables() -> None:
    kept = replace(ROW, kept=Cost(0.0005), calls=(Call("f", Cost(0.003)),))
    assert kept.with_cache().load().seconds == pytest.approx(0.0035)
    assert kept.with_cache().shares(THREADS)["decode"].seconds == 0


def test_scaled_decoding_replaces_the_pixels_alone() -> None:
    full = replace(ROW, decode="full", scaled=Pixels(Cost(0.001), Cost(0.0005)))
    assert full.with_scaled_decode().load().seconds == pytest.approx(0.0025)


def test_records_cost_what_their_bytes_do() -> None:
    slow = replace(ROW, reread=ROW.read, per_byte=1e-7)
    assert slow.with_records().steady_read.seconds == pytest.approx(0.002)
    assert slow.with_records().steady_read.compute == pytest.approx(0.0002)
    assert replace(slow, per_byte=1.0).with_records().steady_read.seconds == pytest.approx(0.01)


def test_computing_is_shared_by_the_cores() -> None:
    assert rate(ROW, THREADS, 1, 2) == pytest.approx(125)
    assert rate(ROW, THREADS, 2, 2) == pytest.approx(250)
    assert rate(ROW, THREADS, 8, 2) == pytest.approx(250)
    assert limit(ROW, THREADS, 8, 2) == "cores"


def test_waiting_needs_workers_and_no_cores() -> None:
    waits = replace(ROW, reread=Cost(0.001, 0.072))
    assert rate(waits, THREADS, 10, 2) == pytest.approx(125)
    assert limit(waits, THREADS, 10, 2) == "workers"
    assert fewest_workers(waits, THREADS, 2) == 19  # 20 keep both cores busy
    assert fewest_workers(waits, THREADS, 2, wanted=24) == 2


def test_what_runs_alone_bounds_threads_and_not_processes() -> None:
    alone = replace(ROW, calls=(Call("f", Cost(0.016, alone=0.019)),))
    assert rate(alone, THREADS, 4, 4) == pytest.approx(50)
    assert limit(alone, THREADS, 4, 4) == "alone"
    assert rate(alone, PROCESSES, 4, 4) == pytest.approx(4 / 0.024)
    assert rate(alone, TF_DATA, 4, 4) == pytest.approx(1 / 0.019)


def test_processes_pay_for_transport() -> None:
    far = replace(ROW, transport=Transport(processes=Cost(0.002)))
    assert rate(far, PROCESSES, 2, 2) == pytest.approx(200)
    assert rate(far, THREADS, 2, 2) == pytest.approx(250)


def test_without_workers_everything_follows_on_each_other() -> None:
    slow = replace(ROW, reread=Cost(0.001, 0.001), batch=Cost(0.001))
    assert rate(slow, THREADS, 0, 2) == rate(slow, "inline", 0, 2) == pytest.approx(100)


def test_python_runs_alone() -> None:
    assert alone_share(spin, 0.005) > 0.6


def test_sleep_does_not_run_alone() -> None:
    assert alone_share(idle, 0.002) < 0.3


def test_a_lock_runs_alone_though_it_waits() -> None:
    lock = Lock()

    def locked() -> None:
        with lock:
            time.sleep(0.01)

    assert alone_share(locked, 0.01) > 0.6


@pytest.mark.parametrize(
    "spec",
    [
        {"rescale": 1 / 255},
        {"dtype": "uint8", "decode": "full"},
        {"augment": Augment(rotation=20, brightness=0.3, erase=1.0)},
        {"augment": Augment(crop_scale=(0.2, 1.0), flip_horizontal=True), "mask_col": "mask"},
    ],
)
def test_what_is_timed_is_what_is_loaded(df: pd.DataFrame, spec: dict[str, Any]) -> None:
    loader = loader_of(df.assign(mask=df["filename"]).iloc[[3, 11]], class_mode=None, **spec)
    for row in range(2):
        one = np.array([row])
        loaded, timed = loader.empty(one), loader.empty(one)
        loader.fill(EPOCH, one, loaded)
        sources = {"image": loader.table.images, "mask": loader.table.masks}
        files = {name: source.read(row) for name, source in sources.items() if source}
        slots = {name: values[0] for name, values in timed.items()}
        render_files(files, loader.image, loader.change(EPOCH, row), slots)
        assert loaded.keys() == timed.keys()
        for name, values in loaded.items():
            np.testing.assert_array_equal(values, timed[name])


def test_stages_are_measured_on_rows_of_the_frame(df: pd.DataFrame) -> None:
    found = measure_stages(loader_of(df, augment=[Augment(rotation=5), dark]), seconds=0.5)
    sizes = [Path(name).stat().st_size for name in df["filename"]]
    assert 4 <= found.rows <= 20
    assert found.frame_rows == 20
    assert found.kept_bytes == 32 * 32 * 3
    assert found.file_bytes == pytest.approx(np.mean(sizes)) or found.rows < 20
    assert [call.name for call in found.calls] == ["dark"]
    assert found.model is None
    assert not found.caches
    for cost in (found.read, found.pixels.decode, found.called, found.kept, found.whole):
        assert cost is not None and cost.compute > 0


def test_only_full_decoding_can_become_scaled(df: pd.DataFrame) -> None:
    large = df[df["filename"].str.endswith("04.jpg")]  # 333 x 500: more than 32 x 32 needs
    assert measure_stages(loader_of(large, decode="full", class_mode=None)).scaled is not None
    assert measure_stages(loader_of(large, class_mode=None)).scaled is None
    near = loader_of(large, decode="full", class_mode=None, target_size=(300, 400))
    assert measure_stages(near).scaled is None


def test_sizes_that_only_the_files_know_are_measured_too(df: pd.DataFrame) -> None:
    same = df[df["filename"].str.contains(r"(?:04|09|14)\.\w+$")]
    found = measure_stages(loader_of(same, target_size=None))
    assert found.rows == 3
    assert found.kept is None
    assert found.kept_bytes == 333 * 500 * 3


def test_a_cache_is_noted_and_left_empty(df: pd.DataFrame) -> None:
    loader = loader_of(df, cache="memory")
    assert loader.cache is not None
    assert measure_stages(loader, seconds=0.1).caches
    assert loader.cache.filled == 0


def test_a_bad_row_is_named(df: pd.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "bad.jpg").write_bytes(b"no picture")
    bad = df.head(3).assign(filename=[*df["filename"].head(2), str(tmp_path / "bad.jpg")])
    with pytest.raises(DecodeError, match=r"Row 2: .*bad\.jpg"):
        measure_stages(loader_of(bad))
    assert measure_stages(loader_of(bad, on_error="skip")).rows == 2


def test_rows_that_all_fail_are_an_error(df: pd.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "bad.jpg").write_bytes(b"no picture")
    bad = df.head(1).assign(filename=str(tmp_path / "bad.jpg"))
    with pytest.raises(DecodeError, match="none of the rows"):
        measure_stages(loader_of(bad, on_error="skip"))


def test_a_model_is_timed_an_image(df: pd.DataFrame) -> None:
    steps: list[int] = []

    def step(batch: Any) -> None:
        steps.append(len(batch[0]))
        time.sleep(0.08)

    found = measure_stages(loader_of(df), step=step, seconds=0.1).model
    assert isinstance(found, Training)
    assert found.seconds >= 0.01
    assert set(steps) == {8}
    assert len(steps) >= 3


def slow_load(path: str) -> Any:
    time.sleep(0.01)
    return np.zeros((4, 4, 3), np.uint8)


def test_waiting_is_told_from_computing(df: pd.DataFrame) -> None:
    found = row_costs(loader_of(df, loader=slow_load), np.array([0]))
    assert found.read.wait >= 0.009
    assert found.reread.wait >= 0.009
    assert found.pixels.decode.wait == 0
