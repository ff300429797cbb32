"""The shim in threads and processes: each row once an epoch, every draw its own."""

import multiprocessing
import pickle
import sys
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from keras.src.legacy.preprocessing.image import ImageDataGenerator
from PIL import Image

from dfloader import flow_from_dataframe

ROWS = 24


@pytest.fixture(scope="module")
def frame(tmp_path_factory):
    """Flat pictures: the level of picture i is i, so that a batch says its rows."""
    folder = tmp_path_factory.mktemp("flat")
    for i in range(ROWS):
        Image.new("L", (6, 6), i).save(folder / f"{i:02}.png")
    names = [str(folder / f"{i:02}.png") for i in range(ROWS)]
    return pd.DataFrame({"filename": names, "class": ["a", "b"] * (ROWS // 2)})


def noise_below_one(x):
    """Add one number drawn from NumPy's global state: the row stays readable."""
    return x + np.random.uniform(0, 0.9)


def build(frame, seed=5, **words):
    generator = ImageDataGenerator(preprocessing_function=noise_below_one, **words)
    return flow_from_dataframe(
        frame, None, generator, target_size=(6, 6), color_mode="grayscale", batch_size=3,
        class_mode=None, seed=seed, verbose=0,
    )  # fmt: skip


def values(batches):
    return np.concatenate([batch[:, 0, 0, 0] for batch in batches])


def assert_each_row_once_with_its_own_draw(drawn):
    assert sorted(np.floor(drawn)) == list(range(ROWS))
    assert len(np.unique(np.round(drawn % 1, 6))) == ROWS


def in_processes(batches, method, workers=3):
    context = multiprocessing.get_context(method)
    with context.Pool(workers) as pool:
        return pool.map(batches.__getitem__, range(len(batches)), chunksize=1)


@pytest.mark.parametrize("seed", [5, None])
def test_threads_give_each_row_once_with_distinct_draws(frame, seed):
    batches = build(frame, seed)
    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(batches.__getitem__, range(len(batches))))
    assert_each_row_once_with_its_own_draw(values(got))


def test_threads_taking_next_share_one_pass(frame):
    batches = build(frame)
    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda _: next(batches), range(len(batches))))
    assert_each_row_once_with_its_own_draw(values(got))


@pytest.mark.parametrize("seed", [5, None])
def test_u089_u090_forked_processes_give_each_row_once_with_distinct_draws(frame, seed):
    batches = build(frame, seed)
    first = values(in_processes(batches, "fork"))
    batches.on_epoch_end()
    second = values(in_processes(batches, "fork"))
    assert_each_row_once_with_its_own_draw(first)
    assert_each_row_once_with_its_own_draw(second)
    assert not np.intersect1d(np.round(first % 1, 6), np.round(second % 1, 6)).size


def test_spawned_processes_give_each_row_once_with_distinct_draws(frame, without_main):
    batches = build(frame)
    drawn = values(in_processes(batches, "spawn", workers=2))
    assert_each_row_once_with_its_own_draw(drawn)
    np.testing.assert_array_equal(drawn, values(in_processes(batches, "fork")))


@pytest.fixture
def without_main(monkeypatch):
    """Spare the spawned workers the import of pytest's own main module."""
    monkeypatch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))


def test_u091_processes_draw_the_same_however_many_they_are(frame):
    one, three = (values(in_processes(build(frame), "fork", workers=n)) for n in (1, 3))
    np.testing.assert_array_equal(one, three)


def test_the_generators_own_draws_differ_between_forked_workers(frame):
    frame = frame.assign(filename=frame.filename.iloc[-1])
    generator = ImageDataGenerator(brightness_range=(0.2, 3))
    batches = flow_from_dataframe(
        frame, None, generator, target_size=(6, 6), batch_size=3, class_mode=None, seed=1, verbose=0
    )
    assert len(np.unique(values(in_processes(batches, "fork")))) > ROWS / 2


def test_u085_a_pickle_goes_on_where_the_iterator_stands(frame):
    batches = build(frame)
    next(batches)
    copy = pickle.loads(pickle.dumps(batches))
    for _ in range(2 * len(batches)):
        np.testing.assert_array_equal(next(copy), next(batches))


def test_the_order_in_workers_is_that_of_the_process_they_come_from(frame):
    batches = build(frame)
    here = values([build(frame)[i] for i in range(len(batches))])
    there = values(in_processes(batches, "fork"))
    np.testing.assert_array_equal(np.floor(here), np.floor(there))
