"""tf.data service: a dispatcher and two workers in processes of their own."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dfloader import Augment, read_tfrecords, to_tf_dataset, write_tfrecords

ROOT = Path(__file__).parent.parent
COUNTED = {"y_col": "count", "class_mode": "raw"}
READING: dict[str, Any] = {"target_size": (16, 16), "seed": 1, "dtype": "uint8"}

Process = subprocess.Popen[str]


def started(call: str) -> tuple[Process, str]:
    """Start a server; give the process and the address that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-c", f"from dfloader import service; service.{call}"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    assert process.stdout is not None
    return process, process.stdout.readline().split()[-1]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])


def worker_of(address: str, port: int) -> Process:
    return started(f"run_worker({address!r}, {port}, 'localhost:{port}')")[0]


@pytest.fixture
def service() -> Iterator[tuple[str, dict[int, Process]]]:
    """Give the dispatcher's address, and the worker at each port."""
    dispatcher, address = started("run_dispatcher(0)")
    ports = [free_port(), free_port()]
    with ThreadPoolExecutor(2) as pool:
        workers = dict(zip(ports, pool.map(worker_of, [address, address], ports), strict=True))
    yield address, workers
    for process in (*workers.values(), dispatcher):
        process.kill()
        process.communicate()


@pytest.fixture
def many(df: pd.DataFrame) -> pd.DataFrame:
    frame = pd.concat([df] * 30, ignore_index=True)
    return frame.assign(count=range(len(frame)))


def seen(ds: Any) -> list[int]:
    return [int(value) for batch in ds.as_numpy_iterator() for value in batch[1]]


def test_each_row_once_an_epoch_and_none_twice_where_a_worker_is_killed_and_comes_back(
    service: tuple[str, dict[int, Process]], many: pd.DataFrame, tmp_path: Path
) -> None:
    address, workers = service
    with ThreadPoolExecutor(1) as pool:
        write_tfrecords(many, tmp_path, shards=12, executor=pool, **COUNTED)
    frame = to_tf_dataset(many, 4, service=address, **COUNTED, **READING)
    records = read_tfrecords(tmp_path, 4, service=address, **READING)
    for ds in (frame, records):
        first, second = seen(ds), seen(ds)
        assert sorted(first) == sorted(second) == list(range(600))
        assert first != second

    running = records.as_numpy_iterator()
    started_with = [int(y) for y in next(running)[1]]
    port, killed = next(iter(workers.items()))
    killed.kill()
    killed.communicate()
    workers[port] = worker_of(address, port)
    rest = [int(y) for batch in running for y in batch[1]]
    assert len({*started_with, *rest}) == len(started_with) + len(rest)  # none twice
    for ds in (frame, records):
        assert sorted(seen(ds)) == list(range(600))


@pytest.mark.parametrize(
    "spec",
    [
        {"cache": "memory"},
        {"shard": (0, 2)},
        {"on_error": "skip"},
        {"sampler": "balanced"},
        {"samples_per_epoch": 5},
    ],
)
def test_what_workers_cannot_do_is_said_at_once(spec: dict[str, Any], df: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match=f"service= does not go with {next(iter(spec))}="):
        to_tf_dataset(df, service="grpc://localhost:1", **spec, **READING)


def test_augmentation_is_refused(df: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="augment="):
        to_tf_dataset(
            df, service="grpc://localhost:1", augment=Augment(flip_horizontal=True), **READING
        )
