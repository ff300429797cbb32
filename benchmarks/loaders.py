"""Speed of `DataFrameSequence` against its peers, with the goals beside the figures.

    python benchmarks/loaders.py [--rounds 3] [--only 500x375] [--python PYTHON]

Every loader runs in a process of its own; rounds take turns, so that a machine that slows down
slows all of them; the table shows medians. CPU milliseconds count workers, too, and are the
steadier measure on a machine that does other things. A peer that is not installed is left out;
`--python` names an interpreter that has it (torch, say).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import imageio.v3 as iio
import numpy as np
import pandas as pd
import psutil
from contestants import SETS, UINT8, sequence
from skimage import data

# what is measured: (set, contestant, against, factor); in images a second, or as said.
GOALS = [
    ("500x375, uint8", "ours, threads", "two threads that only decode", 0.85),
    ("500x375, uint8", "ours, processes", "two threads that only decode", 0.85),
    ("500x375, uint8", "ours, threads", "keras-preprocessing", 2.2),
    ("500x375, uint8", "ours, threads", "Keras, two threads", 1.5),
    ("500x375, uint8", "ours, threads", "torch DataLoader", 1.2),
    ("12 megapixels, uint8", "ours, threads", "keras-preprocessing", 2.6),
    ("12 megapixels, uint8", "ours, threads", "Keras, two threads", 2.6),
    ("12 megapixels, uint8", "ours, threads", "two threads that only decode", 1.5),
    ("500x375, float32", "fit, threads", "fit, tf.data by hand", 1.25),
    ("500x375, float32", "fit, threads", "fit, plain PyDataset", 1.4),
    ("500x375, float32", "fit, threads", "bare loop, threads", 0.85),
]
CPU_GOAL = 1.75 / 1.4  # CPU time an image in fit, by that of a bare decode
FIRST_BATCH_GOAL = 3.0  # times the time that one core takes to decode it
READY_GOAL = 1.0  # seconds until a worker process answers
MEMORY_GOAL = 120.0  # MB that are a worker's own


@dataclass
class Meter:
    """Wall clock and CPU time of this process and its workers."""

    wall: float = 0.0
    cpu: float = 0.0

    def start(self) -> None:
        self._wall, self._cpu = time.perf_counter(), _cpu()

    def stop(self) -> None:
        if hasattr(self, "_wall"):
            self.wall, self.cpu = time.perf_counter() - self._wall, _cpu() - self._cpu


def _cpu() -> float:
    me = psutil.Process()
    times = [process.cpu_times() for process in (me, *me.children(recursive=True))]
    return sum(t.user + t.system for t in times)


def photos(folder: Path, count: int, size: tuple[int, int], quality: int) -> list[str]:
    """Write JPEGs cut from a photograph, with the grain that a camera adds."""
    rng = np.random.default_rng(0)
    source = data.retina()
    grain = rng.normal(0, 9, (*size, 1)).astype(np.float32)
    names = [str(folder / f"{i:04}.jpg") for i in range(count)]
    for name in names:
        top, left = rng.integers(0, source.shape[0] - 400, 2)
        cut = cv2.resize(source[top : top + 300, left : left + 400], size[::-1], interpolation=2)
        iio.imwrite(name, np.clip(cut + grain, 0, 255).astype(np.uint8), quality=quality)
    mean = np.mean([Path(name).stat().st_size for name in names])
    print(f"{count} photos of {size[0]} x {size[1]}, {mean / 1000:.0f} kB on average")
    return names


def frame(names: list[str], rows: int) -> pd.DataFrame:
    chosen = (names * -(-rows // len(names)))[:rows]
    return pd.DataFrame({"filename": chosen, "class": [f"c{i % 10}" for i in range(rows)]})


def run(group: str, name: str, df: pd.DataFrame) -> dict[str, float]:
    """Run one contestant in this process."""
    meter = Meter()
    with ExitStack() as stack:
        images = SETS[group][name](df, stack)(meter)
    return {"images a second": images / meter.wall, "CPU ms": 1000 * meter.cpu / images}


def starting(df: pd.DataFrame) -> dict[str, float]:
    """Measure what comes before the first pass."""
    from dfloader.batch import Loader

    one_core = Loader.load
    with sequence(df, **UINT8) as seq:
        one_core(seq._loader, 0, 0)
        start = time.perf_counter()
        one_core(seq._loader, 0, 1)
        decode = time.perf_counter() - start
        start = time.perf_counter()
        next(iter(seq))
        first = time.perf_counter() - start
    with sequence(df[:32], **UINT8, use_multiprocessing=True) as seq:
        seq.staff = type(seq.staff)(workers=1, use_multiprocessing=True)
        start = time.perf_counter()
        next(iter(seq))
        ready = time.perf_counter() - start - decode
        worker = max(psutil.Process().children(recursive=True), key=lambda p: p.create_time())
        memory = worker.memory_full_info().uss / 1e6
    return {"first batch": first / decode, "ready": ready, "memory": memory}


def fresh(python: str, folder: str, *what: str) -> Any:
    """Run a part in a process of its own; None where a module is missing."""
    environment = {
        **os.environ,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "PYTHONPATH": str(Path(__file__).parent.parent),
    }
    command = [python, __file__, "--folder", folder, "--run", *what]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if "ModuleNotFoundError" in done.stderr:
        return None
    if done.returncode:
        raise RuntimeError(f"{what}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def frames(folder: str) -> dict[str, pd.DataFrame]:
    return {group: pd.read_csv(f"{folder}/{i}.csv") for i, group in enumerate(SETS)}


def write_frames(folder: Path, images: int) -> None:
    for name in ("small", "large"):
        (folder / name).mkdir()
    small = photos(folder / "small", min(images, 256), (375, 500), 92)
    large = photos(folder / "large", min(images // 16, 32), (3000, 4000), 75)
    for i, group in enumerate(SETS):
        rows = frame(large, images // 16) if "12" in group else frame(small, images)
        rows.to_csv(folder / f"{i}.csv", index=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--images", type=int, default=2048)
    parser.add_argument("--only", default="")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--photos", help="folder to keep them in; made anew without")
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("--run", nargs="+", help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.run == ["starting"]:
        print(json.dumps(starting(frames(said.folder)["500x375, uint8"])))
    elif said.run:
        print(json.dumps(run(*said.run, frames(said.folder)[said.run[0]])))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            folder = said.photos or temporary
            if not Path(folder, "0.csv").exists():
                write_frames(Path(folder), said.images)
            compare(folder, said)


def compare(folder: str, said: argparse.Namespace) -> None:
    tasks = [(g, n) for g, names in SETS.items() for n in names if said.only in f"{g}: {n}"]
    found: dict[tuple[str, str], list[dict[str, float]]] = {task: [] for task in tasks}
    begun: list[dict[str, float]] = []
    for _ in range(said.rounds):
        for task in tasks:
            result = fresh(said.python, folder, *task)
            if result is not None:
                found[task].append(result)
        begun.append(fresh(said.python, folder, "starting"))
    print(f"\nload average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    medians = {task: middle(results) for task, results in found.items() if results}
    for (group, name), values in medians.items():
        speed, cpu = values["images a second"], values["CPU ms"]
        print(f"{group:<22}{name:<30}{speed:>8.0f} images/s {cpu:>7.2f} CPU ms an image")
    print()
    for line in judged(medians, middle(begun)):
        print(line)


def middle(results: list[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(result[key] for result in results) for key in results[0]}


def judged(medians: dict[tuple[str, str], dict[str, float]], begun: dict[str, float]) -> list[str]:
    lines = []
    for group, ours, other, factor in GOALS:
        if (group, ours) in medians and (group, other) in medians:
            a, b = medians[group, ours], medians[group, other]
            speed = a["images a second"] / b["images a second"]
            cpu = b["CPU ms"] / a["CPU ms"]
            lines.append(
                f"{group}: {ours} / {other}: {speed:.2f} by the clock, {cpu:.2f} by CPU time "
                f"(goal {factor})"
            )
    fit, bare = (
        ("500x375, float32", "fit, threads"),
        ("500x375, uint8", "two threads that only decode"),
    )
    if fit in medians and bare in medians:
        ratio = medians[fit]["CPU ms"] / medians[bare]["CPU ms"]
        lines.append(
            f"CPU time an image in fit / bare decode: {ratio:.2f} (goal <= {CPU_GOAL:.2f})"
        )
    return [
        *lines,
        f"first batch / its decode time: {begun['first batch']:.2f} (goal <= {FIRST_BATCH_GOAL})",
        f"worker ready: {begun['ready']:.2f} s (goal <= {READY_GOAL})",
        f"memory of a worker: {begun['memory']:.0f} MB (goal < {MEMORY_GOAL:.0f})",
    ]


if __name__ == "__main__":
    main()
