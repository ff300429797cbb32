"""Every engine gives the batches of `Loader.load`, each row once, and leaves nothing behind."""

import gc
import pickle
import random
import threading
from concurrent.futures import Future
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest
from probe import Probe

from dfloader import Augment, DataFrameSequence, DecodeError
from dfloader.workers import Engine, Staff, ahead

STAFFS: dict[str, dict[str, Any]] = {
    "inline": {"workers": 0},
    **{f"threads-{n}": {"workers": n} for n in (1, 2, 4)},
    **{
        f"{method}-{n}": {"workers": n, "use_multiprocessing": True, "start_method": method}
        for method in ("forkserver", "spawn", "fork")
        for n in (1, 2, 4)
    },
}
ENGINES = [pytest.param(staff, id=name) for name, staff in STAFFS.items()]
ONE_OF_EACH = [
    pytest.param(STAFFS[name], id=name)
    for name in ("inline", "threads-2", "forkserver-2", "spawn-2", "fork-2")
]
PROCESSES = [{"use_multiprocessing": True, "start_method": m} for m in ("forkserver", "fork")]
SMALL = {"target_size": (24, 20), "seed": 3, "class_mode": "sparse"}

pytestmark = pytest.mark.filterwarnings(
    # Python 3.12 warns of fork in a process that has threads; TensorFlow has some.
    "ignore:.*multi-threaded, use of fork:DeprecationWarning"
)


def ask(question: str, df: pd.DataFrame, **staff: Any) -> float:
    seq = DataFrameSequence(df, 20, **SMALL)
    loader = Probe(**vars(seq._loader), question=question)
    engine = Engine(loader, Staff(**staff))
    try:
        return float(engine.submit(0, 0).result().batch[0].max())
    finally:
        engine.close()


def workers() -> set[int]:
    """Give the worker processes. Python's fork server and resource tracker are none: they stay."""
    me = psutil.Process()
    forked = [child for child in me.children() if child.cmdline() == me.cmdline()]
    servers = [c for c in me.children() if "forkserver" in " ".join(c.cmdline())]
    spawned = [c for c in me.children() if "spawn_main" in " ".join(c.cmdline())]
    served = [child for server in servers for child in server.children()]
    return {child.pid for child in (*forked, *spawned, *served)}


def our_threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("dfloader")]


@pytest.mark.parametrize("staff", ENGINES)
def test_batches_are_those_of_the_definition(df: pd.DataFrame, staff: dict[str, Any]) -> None:
    with DataFrameSequence(df, 8, **SMALL, **staff) as seq:
        for epoch in (0, 1):
            seq.set_epoch(epoch)
            expected = [seq._loader.load(epoch, i) for i in range(3)]
            for got in (list(seq), [seq[i] for i in (0, 1, 2)]):
                for (x, y), (x_expected, y_expected) in zip(got, expected, strict=True):
                    assert (x.dtype, x.shape) == (x_expected.dtype, x_expected.shape)
                    assert np.array_equal(x, x_expected)
                    assert np.array_equal(y, y_expected)


@pytest.mark.parametrize("staff", ONE_OF_EACH)
def test_u089_u090_u091_draws_are_distinct_and_the_same_from_every_engine(
    df: pd.DataFrame, staff: dict[str, Any]
) -> None:
    one = pd.concat([df[:1]] * 12)  # one picture: only the draws differ
    spec = {**SMALL, "augment": Augment(rotation=40, brightness=0.3)}
    with DataFrameSequence(one, 4, **spec, **staff) as seq:
        drawn = []
        for epoch in (0, 1):
            seq.set_epoch(epoch)
            batches = [x.copy() for x, _ in seq]
            for i, x in enumerate(batches):
                assert np.array_equal(x, seq._loader.load(epoch, i)[0])
            drawn += [image.tobytes() for x in batches for image in x]
    assert len(set(drawn)) == 24


@pytest.mark.parametrize("staff", ONE_OF_EACH)
def test_u102_each_row_comes_once_an_epoch(df: pd.DataFrame, staff: dict[str, Any]) -> None:
    spec = {**SMALL, "class_mode": "raw", "y_col": "count"}
    with DataFrameSequence(df, 6, **spec, **staff) as seq:
        orders = []
        for epoch in (0, 1):
            seq.set_epoch(epoch)
            orders.append(np.concatenate([y for _, y in seq]).tolist())
    assert [sorted(order) for order in orders] == [list(range(20))] * 2
    assert orders[0] != orders[1]


@pytest.mark.parametrize("staff", ONE_OF_EACH)
def test_batches_without_a_known_size_are_those_of_the_definition(
    df: pd.DataFrame, staff: dict[str, Any]
) -> None:
    same = df[df["filename"].str.contains(r"/(?:00|05|10|15)\.")]
    with DataFrameSequence(same, 2, target_size=None, seed=1, **staff) as seq:
        expected = [seq._loader.load(0, i) for i in range(2)]
        for (x, y), (x_expected, y_expected) in zip(seq, expected, strict=True):
            assert np.array_equal(x, x_expected)
            assert np.array_equal(y, y_expected)


@pytest.mark.parametrize("staff", ONE_OF_EACH)
def test_u101_a_broken_file_names_row_and_path_from_every_engine(
    df: pd.DataFrame, staff: dict[str, Any], tmp_path: Any
) -> None:
    for row in (2, 11):
        broken = tmp_path / f"broken{row}.jpg"
        broken.write_bytes(b"\xff\xd8\xff not a picture")
        df.loc[row, "filename"] = str(broken)
    with DataFrameSequence(df, 20, shuffle=False, **SMALL | staff) as seq:
        for _ in range(2):
            with pytest.raises(DecodeError, match=r"Row 2: .*broken2.jpg") as caught:
                seq[0]
            assert (caught.value.rows, caught.value.path) == ((2,), str(tmp_path / "broken2.jpg"))
            assert caught.value.__cause__ is not None


@pytest.mark.parametrize("staff", ONE_OF_EACH)
def test_a_skipped_row_is_black_has_no_weight_and_is_listed(
    df: pd.DataFrame, staff: dict[str, Any], tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for row in (11, 2):
        df.loc[row, "filename"] = str(tmp_path / f"missing{row}.jpg")
    said = {**SMALL, "on_error": "skip", "shuffle": False, **staff}
    with DataFrameSequence(df, 20, **said) as seq:
        x, _, weight = seq[0]
        seq[0]
        seq.on_epoch_end()
        seq.on_epoch_end()
    assert np.flatnonzero(weight == 0).tolist() == [2, 11]
    assert x.any(axis=(1, 2, 3)).tolist() == [row not in (2, 11) for row in range(20)]
    path = str(tmp_path / "missing2.jpg")
    assert seq.failures.iloc[0].tolist() == [2, path, "No such file or directory"]
    assert seq.failures["row"].tolist() == [2, 11]
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("2 rows were left black with weight 0. Row 2: ")


@pytest.mark.parametrize("staff", PROCESSES)
def test_the_traceback_in_the_worker_is_the_cause(df: pd.DataFrame, staff: dict[str, Any]) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        ask("1 / 0", df, **staff)
    assert "probe.py" in str(caught.value.__cause__)
    assert "ZeroDivisionError" in str(caught.value.__cause__)


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_u082_a_worker_loads_no_framework_and_no_pandas(df: pd.DataFrame, method: str) -> None:
    count = "sum(name in sys.modules for name in {})"
    staff = {"use_multiprocessing": True, "start_method": method}
    assert ask(count.format(("dfloader.batch", "numpy")), df, **staff) == 2
    assert ask(count.format(("tensorflow", "keras", "tf_keras", "pandas")), df, **staff) == 0


@pytest.mark.parametrize("staff", PROCESSES)
def test_u101_a_killed_worker_is_an_error_and_the_next_call_starts_others(
    df: pd.DataFrame, staff: dict[str, Any]
) -> None:
    with DataFrameSequence(df, 8, workers=2, **SMALL, **staff) as seq:
        expected = seq[0][0].copy()
        with pytest.raises(RuntimeError, match=r"worker process died \(killed by SIGKILL\)"):
            ask("os.kill(os.getpid(), 9)", df, workers=2, **staff)
        with pytest.raises(RuntimeError, match=r"worker process died \(exit code 7\)"):
            ask("os._exit(7)", df, workers=2, **staff)
        assert np.array_equal(seq[0][0], expected)


def test_sequences_that_say_the_same_share_their_workers(df: pd.DataFrame) -> None:
    said: dict[str, Any] = {"workers": 2, "use_multiprocessing": True}
    train, val = (DataFrameSequence(df, 8, **SMALL, **said) for _ in range(2))
    train[0], val[0], val.eval()[0]
    assert train._engine._pool is val._engine._pool
    train.close()
    assert len(val[0][0]) == 8
    val.close()


@pytest.mark.parametrize(
    ("name", "how"),
    [
        *((name, "close") for name in ("threads-2", "forkserver-2", "spawn-2", "fork-2")),
        *(("forkserver-2", how) for how in ("with", "collect", "abandon a pass")),
    ],
)
def test_u084_u087_nothing_stays_behind(df: pd.DataFrame, name: str, how: str) -> None:
    staff = STAFFS[name]
    DataFrameSequence(df, 8, **SMALL, **staff)[0]  # the fork server stays once it is there
    gc.collect()
    before = (workers(), our_threads(), psutil.Process().num_fds())
    seq = DataFrameSequence(df, 4, **SMALL, **staff)
    if how == "with":
        with seq:
            list(seq)
    elif how == "abandon a pass":
        next(iter(seq))
    else:
        list(seq)
    if how == "close":
        seq.close()
    del seq
    gc.collect()
    assert (workers(), our_threads(), psutil.Process().num_fds()) == before


@pytest.mark.parametrize("staff", ONE_OF_EACH)
def test_a_user_may_keep_every_batch(df: pd.DataFrame, staff: dict[str, Any]) -> None:
    with DataFrameSequence(df, 1, max_queue_size=2, **SMALL, **staff) as seq:
        expected = [seq._loader.load(0, i)[0] for i in range(20)]
        kept = [x for x, _ in seq]
        list(seq)
    assert all(np.array_equal(a, b) for a, b in zip(kept, expected, strict=True))


@pytest.mark.parametrize("staff", ONE_OF_EACH)
def test_batches_lie_where_tensorflow_takes_them_as_they_are(
    df: pd.DataFrame, staff: dict[str, Any]
) -> None:
    with DataFrameSequence(df, 8, **SMALL, **staff) as seq:
        assert all(x.ctypes.data % 64 == 0 for x, _ in seq)


def test_u085_a_lambda_is_refused_where_workers_could_not_have_it(df: pd.DataFrame) -> None:
    seq = DataFrameSequence(df, 8, **SMALL)
    loader = seq._loader
    object.__setattr__(loader, "extra", lambda image: image)
    Staff(use_multiprocessing=True, start_method="fork").check(loader)
    Staff().check(loader)
    with pytest.raises(ValueError, match=r"lambda.*must be importable.*start_method='fork'"):
        Staff(use_multiprocessing=True).check(loader)


@pytest.mark.parametrize(
    ("keywords", "match"),
    [
        ({"workers": -1}, "workers=-1 is not a whole number from 0 on"),
        ({"workers": 1.5}, r"workers=1\.5 is not"),
        ({"max_queue_size": 0}, "max_queue_size=0 is not a whole number from 1 on"),
        ({"start_method": "thread"}, "start_method='thread' is not one of forkserver, spawn, fork"),
    ],
)
def test_wrong_staff_is_refused(df: pd.DataFrame, keywords: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        DataFrameSequence(df, 8, **keywords)


def test_u085_a_running_sequence_pickles(df: pd.DataFrame) -> None:
    with DataFrameSequence(df, 8, workers=2, use_multiprocessing=True, **SMALL) as seq:
        expected = seq[1][0]
        with pickle.loads(pickle.dumps(seq)) as twin:
            assert np.array_equal(twin[1][0], expected)


def test_the_global_random_states_stay_as_they_are(df: pd.DataFrame) -> None:
    before = (random.getstate(), np.random.get_state()[1].tolist())  # noqa: NPY002
    with DataFrameSequence(df, 8, workers=2, **SMALL) as seq:
        list(seq)
        seq.on_epoch_end()
        list(seq)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002


def test_no_more_batches_are_in_work_than_the_queue_may_hold() -> None:
    asked: list[int] = []

    def submit(i: int) -> "Future[Any]":
        asked.append(i)
        done: Future[Any] = Future()
        done.set_result(i)
        return done

    for taken, i in enumerate(ahead(submit, range(100), 5)):
        assert i == taken
        assert len(asked) == min(100, taken + 5)


def test_u100_a_long_frame_costs_a_worker_little_memory(df: pd.DataFrame) -> None:
    def own_memory(rows: int) -> int:
        long = df.iloc[np.arange(rows) % 20]
        said: dict[str, Any] = {**SMALL, "use_multiprocessing": True, "validate": False}
        with DataFrameSequence(long, 8, **said) as seq:
            seq[0]
            (worker,) = workers()
            return int(psutil.Process(worker).memory_full_info().uss)

    table = 300_000 * len(df["filename"][0])  # bytes of the paths alone
    assert own_memory(300_000) - own_memory(20) < table / 2
