"""Time to build a loader from a frame and to check its files, and the memory it keeps.

    python benchmarks/table.py [--rounds 3]

Each measurement runs in a process of its own; rounds are interleaved; the table shows medians, with
the goal beside the figure. Times are of the wall, with those of the processor below, which a busy
machine changes less. Above 100,000 rows the files are named several times, since what counts is the
rows. `kept` is resident memory above the frame, or what the loader's arrays come to if that is more
(memory freed by the frame's own making may be used again).
"""

import argparse
import json
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import psutil

ROWS = (10_000, 100_000, 1_000_000)
FILES = 100_000
SIDE = 8  # pixels; what is in a file does not count here

# (what, rows) -> the most it may be; seconds, or bytes a row for "kept".
GOALS = {("build", 1_000_000): 5.0, ("kept", 1_000_000): 400.0, ("validate", 100_000): 2.0}
GOALS[("check", 100_000)] = 2.0
UNITS = {"kept": "B/row"}


def frame_of(folder: Path, rows: int) -> pd.DataFrame:
    """Make a frame whose rows name the files in turn, with a class and a weight."""
    numbers = np.arange(rows)
    return pd.DataFrame(
        {
            "filename": [f"{folder}/{i % FILES:06}.jpg" for i in numbers],
            "class": [f"class {i % 1000:03}" for i in numbers],
            "weight": 1 + numbers / rows,
        }
    )


def build(df: pd.DataFrame) -> object:
    """Build all that a loader keeps, without a look at the disk."""
    return _prepared(df, validate=False)


def validate(df: pd.DataFrame) -> object:
    return _prepared(df, validate=True)


def check(df: pd.DataFrame) -> object:
    import dfloader

    return dfloader.check(df)


def isfile(df: pd.DataFrame) -> object:
    """What keras-preprocessing does."""
    import os

    return df["filename"].map(os.path.isfile).all()


def _prepared(df: pd.DataFrame, **spec: object) -> object:
    from dfloader.batch import prepare
    from dfloader.frame import resolve
    from dfloader.spec import parse

    said = parse(32, {"weight_col": "weight", **spec}, fresh_seed=1)
    loader = prepare(resolve(df, said.frame), said)
    loader.plan.rows(0, 0)
    return loader


MEASURED: dict[str, Callable[[pd.DataFrame], object]] = {
    "build": build,
    "validate": validate,
    "check": check,
    "isfile": isfile,
}


def measure(what: str, rows: int, folder: Path) -> dict[str, float]:
    """Run one thing once, after a run on a few rows that imports all it needs."""
    MEASURED[what](frame_of(folder, 100))
    df = frame_of(folder, rows)
    process = psutil.Process()
    before, started, cpu = process.memory_info().rss, time.perf_counter(), time.process_time()
    result = MEASURED[what](df)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    kept = max(process.memory_info().rss - before, len(pickle.dumps(result)))
    return {"seconds": seconds, "cpu": cpu, "kept": kept / rows}


def in_a_process(what: str, rows: int, folder: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", what, str(rows), str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def make_files(folder: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (SIDE, SIDE, 3), np.uint8)
    content = cv2.imencode(".jpg", noise)[1].tobytes()
    for i in range(FILES):
        (folder / f"{i:06}.jpg").write_bytes(content)


def report(results: dict[tuple[str, int], list[float]]) -> None:
    print(f"{'':14}" + "".join(f"{rows:>14,}" for rows in ROWS) + "   rows")
    for what in (*MEASURED, *(f"{what} cpu" for what in MEASURED), "kept"):
        unit = UNITS.get(what, "s")
        medians = [statistics.median(results[what, rows]) for rows in ROWS]
        print(f"{what:14}" + "".join(f"{value:14.3f}" for value in medians) + f"   {unit}")
    for (what, rows), most in GOALS.items():
        value = statistics.median(results[what, rows])
        said = "holds" if value <= most else "MISSED"
        unit = UNITS.get(what, "s")
        print(f"{what} at {rows:,}: {value:.2f} {unit}, goal {most:g} {unit}: {said}")
    for what in ("build", "validate", "check"):
        small, large = (statistics.median(results[f"{what} cpu", rows]) for rows in ROWS[1:])
        print(f"{what}: {large / small:.1f} times the processor time for 10 times the rows")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.one:
        what, rows, folder = said.one
        print(json.dumps(measure(what, int(rows), Path(folder))))
        return
    results: dict[tuple[str, int], list[float]] = {}
    with tempfile.TemporaryDirectory() as name:
        make_files(Path(name))
        for _ in range(said.rounds):
            for rows in ROWS:
                for what in MEASURED:
                    one = in_a_process(what, rows, Path(name))
                    results.setdefault((what, rows), []).append(one["seconds"])
                    results.setdefault((f"{what} cpu", rows), []).append(one["cpu"])
                    if what == "build":
                        results.setdefault(("kept", rows), []).append(one["kept"])
    report(results)


if __name__ == "__main__":
    main()
