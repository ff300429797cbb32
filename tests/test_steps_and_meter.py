"""The cost of a training step, and the cost of a process tree."""

import subprocess
import sys
import time
from pathlib import Path

import keras
import numpy as np
import pytest

from dfloader import meter
from dfloader.meter import Clock, MemoryWatch, machine_now, require_psutil
from dfloader.steps import check_model, step_of
from dfloader.usage import WrongUseError

# Keras' own, where it saves a model.
SAVING = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def model() -> keras.Model:
    return keras.Sequential([keras.Input((2, 2, 3)), keras.layers.Flatten(), keras.layers.Dense(1)])


@pytest.mark.parametrize(("said", "kept"), [(None, None), ("none", None), ("5ms", "5ms")])
def test_a_cost_is_kept_as_it_was_said(said: str | None, kept: str | None) -> None:
    assert check_model(said) == kept


def test_what_is_no_model_says_what_is() -> None:
    with pytest.raises(WrongUseError, match="'5 hours' is no file, nor a cost such as '5ms'"):
        check_model("5 hours")


def test_a_step_of_milliseconds_takes_them() -> None:
    start = time.perf_counter()
    step_of("20ms")(None)
    assert time.perf_counter() - start >= 0.02


@SAVING
def test_a_step_of_a_file_trains_its_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = model()
    network.compile("sgd", "mse")
    network.save(tmp_path / "m.keras")
    seen: list[float] = []
    monkeypatch.setattr(
        keras.Model, "train_on_batch", lambda self, x, y: seen.append(float(np.sum(x) + y.sum()))
    )
    step_of(str(tmp_path / "m.keras"))((np.ones((2, 2, 2, 3)), np.ones(2)))
    assert seen == [26.0]


@SAVING
def test_a_model_that_is_not_compiled_is_refused(tmp_path: Path) -> None:
    model().save(tmp_path / "m.keras")
    with pytest.raises(WrongUseError, match=r"not compiled. Call model.compile"):
        step_of(str(tmp_path / "m.keras"))


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.keras").write_text("no model")
    with pytest.raises(WrongUseError, match="cannot load the model"):
        step_of(str(tmp_path / "m.keras"))


def test_the_clock_counts_the_work_of_children() -> None:
    clock = Clock()
    with clock.running():
        code = "import time\nwhile time.process_time() < 0.5: pass"
        subprocess.run([sys.executable, "-c", code], check=True)
    assert clock.cpu >= 0.4
    assert clock.wall >= 0.4


def test_the_watch_sees_memory_that_is_gone_again() -> None:
    before = MemoryWatch()
    before.look()
    with MemoryWatch() as watch:
        held = np.ones(100_000_000, np.uint8)
        time.sleep(0.5)
        assert held[-1] == 1
        del held
    assert watch.peak_bytes > before.peak_bytes + 80e6


def test_the_machine_is_described() -> None:
    found = machine_now(0.25)
    assert found.cores >= 1
    assert found.load_before == 0.25
    assert found.versions["dfloader"] == "0.1.0"
    assert "tensorflow" in found.versions


def test_absent_psutil_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meter, "find_spec", lambda name: None)
    with pytest.raises(WrongUseError, match=r'pip install "dfloader\[compare\]"'):
        require_psutil()
