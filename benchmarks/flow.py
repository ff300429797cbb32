"""How fast `flow_from_dataframe` is against keras-preprocessing's, on this machine.

Each figure is the median over rounds; in a round each loader runs once, in a process of its own,
one after the other, so that a busy machine slows both. The original loads in one thread, dfloader
in as many as there are cores; CPU time says what is left of the gain where no core is free.
Run: ``python benchmarks/flow.py``
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image
from skimage import data

AUGMENTATION = {
    "rotation_range": 20,
    "width_shift_range": 0.1,
    "height_shift_range": 0.1,
    "shear_range": 5,
    "zoom_range": 0.2,
    "horizontal_flip": True,
}
CASES = {
    "no augmentation": {},
    "rotation, shift, shear, zoom, flip": AUGMENTATION,
}
BUILD = "building on 100,000 files"
LOADERS = ("keras-preprocessing", "dfloader")
PICTURES = 512  # of 500x375 pixels, loaded as 224x224
FILES = 100_000
BUILDS = 5  # in a process; the first takes memory from the system, for either loader

Clock = dict[str, float]


def main() -> None:
    """Measure, print a table, and write JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.child:
        print(json.dumps(measure(*said.child)))
        return
    results = run(said.rounds)
    for case, figures in results.items():
        old, new = (figures[loader] for loader in LOADERS)
        print(
            f"{case}: {old['wall'] * 1e3:.4g} ms, dfloader {new['wall'] * 1e3:.4g} ms; "
            f"{figures['times']['wall']:.2f} times as fast "
            f"({figures['times']['cpu']:.2f} times by CPU time)"
        )
    if said.json:
        said.json.write_text(json.dumps(results, indent=2))


def run(rounds: int) -> dict[str, Any]:
    """Measure all cases: the loaders' medians, and the medians of the rounds' ratios."""
    with tempfile.TemporaryDirectory() as folder:
        write_pictures(Path(folder, "pictures"))
        write_files(Path(folder, "files"))
        seen: dict[str, dict[str, list[Clock]]] = {
            case: {loader: [] for loader in LOADERS} for case in (*CASES, BUILD)
        }
        for _ in range(rounds):
            for case, by_loader in seen.items():
                for loader in LOADERS:
                    by_loader[loader].append(child(case, loader, folder))
    return {case: summary(by_loader) for case, by_loader in seen.items()}


def summary(by_loader: dict[str, list[Clock]]) -> dict[str, Clock]:
    old, new = (by_loader[loader] for loader in LOADERS)
    ratios = [{clock: a[clock] / b[clock] for clock in a} for a, b in zip(old, new, strict=True)]
    return {loader: medians(runs) for loader, runs in by_loader.items()} | {
        "times": medians(ratios)
    }


def medians(runs: list[Clock]) -> Clock:
    return {clock: median(run[clock] for run in runs) for clock in ("wall", "cpu")}


def child(case: str, loader: str, folder: str) -> Clock:
    command = [sys.executable, __file__, "--child", case, loader, folder]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    clock: Clock = json.loads(done.stdout.splitlines()[-1])
    return clock


def measure(case: str, loader: str, folder: str) -> Clock:
    """Time one loader in this process: seconds an image, or seconds to build."""
    warnings.simplefilter("ignore")
    if case == BUILD:
        return time_building(loader, Path(folder, "files"))
    pictures = Path(folder, "pictures")
    names = sorted(path.name for path in pictures.iterdir())
    frame = pd.DataFrame({"filename": names, "class": ["a", "b"] * (PICTURES // 2)})
    batches = flow(loader, frame, pictures, **CASES[case])
    batches[0]
    spent = timed(lambda: [batches[i] and None for i in range(len(batches))])
    return {clock: seconds / PICTURES for clock, seconds in spent.items()}


def time_building(loader: str, folder: Path) -> Clock:
    frame = pd.DataFrame({"filename": [f"{i:06}.jpg" for i in range(FILES)]})
    frame["class"] = [f"class {i % 10}" for i in range(FILES)]
    flow(loader, frame[:10], folder)  # imports what it needs
    return medians([timed(lambda: flow(loader, frame, folder)) for _ in range(BUILDS)])


def timed(work: Callable[[], object]) -> Clock:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def flow(loader: str, frame: pd.DataFrame, folder: Path, **augmentation: object) -> Any:
    if loader == "dfloader":
        from dfloader.legacy import ImageDataGenerator
    else:
        from keras_preprocessing.image import ImageDataGenerator
    generator = ImageDataGenerator(rescale=1 / 255, **augmentation)
    return generator.flow_from_dataframe(frame, str(folder), target_size=(224, 224), seed=0)


def write_pictures(folder: Path) -> None:
    """Write 500x375 JPEGs cut from scikit-image's photographs."""
    folder.mkdir()
    photos = [data.astronaut(), data.coffee(), data.chelsea(), data.rocket()]
    large = [Image.fromarray(photo).resize((700, 525)) for photo in photos]
    rng = np.random.default_rng(0)
    for i in range(PICTURES):
        x, y = int(rng.integers(200)), int(rng.integers(150))
        large[i % 4].crop((x, y, x + 500, y + 375)).save(folder / f"{i:04}.jpg", quality=95)


def write_files(folder: Path) -> None:
    folder.mkdir()
    for i in range(FILES):
        (folder / f"{i:06}.jpg").touch()


if __name__ == "__main__":
    main()
