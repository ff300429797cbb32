"""Records and caches: writing, reading, and the second epoch.

    python benchmarks/records.py [--rounds 5] [--images 600]

JPEGs of 500 x 375 pixels and about 90 kB become 224 x 224, uint8, on two threads. Each measurement
runs in a process of its own; rounds are interleaved; the table shows medians, and the ratio to what
a figure is held against with the goal beside it. The processor's time, of all threads and processes
together, is what to compare where others use the machine, too. Files are in the page cache.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import pandas as pd
from rich.console import Console
from rich.table import Table

SIZE = (224, 224)
BATCH = 32
SECONDS = 3.0
# Times the images, so that what happens once an epoch or a call, filling the buffer that shuffles
# records and starting two processes, is a small part.
READ, WRITTEN, SHRUNK = 10, 40, 8
READING = {"target_size": SIZE, "dtype": "uint8", "seed": 1}

# measurement: (what it is held against, times as fast at least).
GOALS = {
    "second epoch, cache='memory'": ("two threads, decode and resize from memory", 5.0),
    "second epoch, cache=folder": ("two threads, decode and resize from memory", 5.0),
    "records, tf.data": ("files, tf.data", 1.0),
    "records, sequence": ("files, sequence", 1.0),
    "write records": ("copy the files' bytes to disk", 0.8),
    "write records, max_side=256": ("two threads, decode whole and shrink", 0.8),
}


class Cost(NamedTuple):
    """Images a second, and microseconds of the processor that an image takes."""

    rate: float
    cpu: float


def processor() -> float:
    """Give the seconds that this process and those it waited for have used."""
    return sum(os.times()[:4])


def rate(work: Callable[[], int]) -> Cost:
    """Work once to warm up, then for some seconds."""
    work()
    done, used, start = 0, processor(), time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        done += work()
    return Cost(done / (time.perf_counter() - start), (processor() - used) / done * 1e6)


def once(work: Callable[[], int]) -> Cost:
    used, start = processor(), time.perf_counter()
    done = work()
    return Cost(done / (time.perf_counter() - start), (processor() - used) / done * 1e6)


def count(batches: object) -> int:
    return sum(len(batch[0]) for batch in batches)  # type: ignore[attr-defined]


def decoding(df: pd.DataFrame, _: Path) -> Cost:
    from dfloader import DataFrameSequence

    contents = [Path(name).read_bytes() for name in df["filename"]]
    seq = DataFrameSequence(df.assign(filename=contents), BATCH, workers=2, **READING)
    return rate(lambda: count(seq))


def shrinking(df: pd.DataFrame, _: Path) -> Cost:
    from dfloader.encode import shrunk

    contents = [Path(name).read_bytes() for name in df["filename"]]
    with ThreadPoolExecutor(2) as pool:
        return rate(lambda: sum(1 for _ in pool.map(lambda data: shrunk(data, 256), contents)))


def cached(df: pd.DataFrame, folder: Path, where: str) -> Cost:
    from dfloader import DataFrameSequence

    cache = where if where == "memory" else folder / "cache"
    seq = DataFrameSequence(df, BATCH, workers=2, cache=cache, **READING)
    return rate(lambda: count(seq))


def files(df: pd.DataFrame, _: Path, engine: str) -> Cost:
    from dfloader import DataFrameSequence, to_tf_dataset

    df = pd.concat([df] * READ)
    if engine == "tf.data":
        ds = to_tf_dataset(df, BATCH, **READING)
        return rate(lambda: count(ds))
    seq = DataFrameSequence(df, BATCH, workers=2, **READING)
    return rate(lambda: count(seq))


def records(df: pd.DataFrame, folder: Path, engine: str) -> Cost:
    from dfloader import DataFrameSequence, read_tfrecords

    if engine == "tf.data":
        ds = read_tfrecords(folder / "records", BATCH, **READING)
        return rate(lambda: count(ds))
    seq = DataFrameSequence.from_tfrecords(folder / "records", BATCH, workers=2, **READING)
    return rate(lambda: count(seq))


def copying(df: pd.DataFrame, folder: Path) -> Cost:
    """Write the same bytes to two files in two threads, and wait for the disk."""
    df = pd.concat([df] * WRITTEN)

    def copy(part: int) -> None:
        with (folder / f"copy-{part}").open("wb") as file:
            for name in df["filename"][part::2]:
                file.write(Path(name).read_bytes())
            file.flush()
            os.fsync(file.fileno())

    def both() -> int:
        threads = [threading.Thread(target=copy, args=(part,)) for part in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return len(df)

    try:
        return once(both)
    finally:
        for part in range(2):
            (folder / f"copy-{part}").unlink()


def writing(df: pd.DataFrame, folder: Path, max_side: int | None) -> Cost:
    from dfloader import write_tfrecords

    df = pd.concat([df] * (WRITTEN if max_side is None else SHRUNK))
    with tempfile.TemporaryDirectory(dir=folder) as out:

        def write() -> int:
            write_tfrecords(df, out, shards=4, max_side=max_side, progress=False)
            return len(df)

        # Its processes are not waited for by this one: what they used is not known.
        return once(write)._replace(cpu=math.nan)


MEASUREMENTS: dict[str, Callable[[pd.DataFrame, Path], Cost]] = {
    "two threads, decode and resize from memory": decoding,
    "second epoch, cache='memory'": lambda df, folder: cached(df, folder, "memory"),
    "second epoch, cache=folder": lambda df, folder: cached(df, folder, "folder"),
    "files, tf.data": lambda df, folder: files(df, folder, "tf.data"),
    "records, tf.data": lambda df, folder: records(df, folder, "tf.data"),
    "files, sequence": lambda df, folder: files(df, folder, "sequence"),
    "records, sequence": lambda df, folder: records(df, folder, "sequence"),
    "copy the files' bytes to disk": copying,
    "write records": lambda df, folder: writing(df, folder, None),
    "two threads, decode whole and shrink": shrinking,
    "write records, max_side=256": lambda df, folder: writing(df, folder, 256),
}


def measure(name: str, folder: Path) -> Cost:
    """Run one measurement in a process of its own."""
    command = [sys.executable, __file__, "--one", name, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Cost(*json.loads(done.stdout.splitlines()[-1]))


def prepare(folder: Path, images: int) -> None:
    from pictures import photographs, small_noisy

    from dfloader import write_tfrecords

    contents = [small_noisy(image) for image in photographs().values()]
    paths = [folder / f"{i:05}.jpg" for i in range(images)]
    for i, path in enumerate(paths):
        path.write_bytes(contents[i % len(contents)])
    df = pd.DataFrame({"filename": map(str, paths), "class": ["ab"[i % 2] for i in range(images)]})
    df.to_pickle(folder / "df.pkl")
    write_tfrecords(pd.concat([df] * READ), folder / "records", shards=4, progress=False)


def said(value: float, how: str) -> str:
    return "" if math.isnan(value) else format(value, how)


def report(figures: dict[str, list[Cost]], images: int) -> None:
    medians = {
        name: Cost(*map(statistics.median, zip(*values, strict=True)))
        for name, values in figures.items()
    }
    table = Table(title=f"{images} JPEGs of 500 x 375, load {os.getloadavg()[0]:.1f}")
    for column in ("what", "images/s", "CPU us", "against", "ratio", "CPU ratio", "goal", ""):
        table.add_column(column, justify="left" if column in ("what", "against") else "right")
    for name, value in medians.items():
        figures_of_it = (name, f"{value.rate:,.0f}", said(value.cpu, ",.0f"))
        if name not in GOALS:
            table.add_row(*figures_of_it)
            continue
        against, goal = GOALS[name]
        ratio, cpu = value.rate / medians[against].rate, medians[against].cpu / value.cpu
        met = "met" if ratio >= goal else "MISSED"
        table.add_row(
            *figures_of_it, against, said(ratio, ".2f"), said(cpu, ".2f"), f"{goal:.1f}", met
        )
    Console(width=160).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--images", type=int, default=600)
    parser.add_argument("--one", choices=MEASUREMENTS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.one:
        df = pd.read_pickle(said.folder / "df.pkl")
        print(json.dumps(MEASUREMENTS[said.one](df, said.folder)))
        return
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name), said.images)
        figures: dict[str, list[Cost]] = {name: [] for name in MEASUREMENTS}
        for _ in range(said.rounds):
            for each, values in figures.items():
                values.append(measure(each, Path(name)))
    report(figures, said.images)


if __name__ == "__main__":
    main()
