"""What augmentation costs: from a file to its 224 x 224 slot in a batch, float32.

    python benchmarks/augment.py [--rounds 7] [--images 512]

First on one thread, CPU time of one image, as the machine may be busy. Then whole loaders by the
wall clock, each in a process of its own, with two workers where they have any. Rounds interleaved,
medians, each goal a ratio within the run. The geometry is flips, rotation, shift, zoom and shear.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pandas as pd
from keras_preprocessing.image import ImageDataGenerator, img_to_array, load_img
from pictures import large, photographs, small_noisy

from dfloader import Augment
from dfloader.batch import prepare
from dfloader.frame import resolve
from dfloader.spec import parse

SIZE = (224, 224)
BATCH = 16
SMALL, LARGE = "500 x 375", "12 megapixels"
GEOMETRY: dict[str, Any] = {
    "flip_horizontal": True,
    "rotation": 20,
    "shift": (0.1, 0.1),
    "zoom": (0.8, 1.2),
    "shear": 10,
}
# (file, one, against): the most that one may take, in times of the other.
GOALS = {
    (SMALL, "geometry", "no augmentation"): 1.6,
    (LARGE, "random crop", "no augmentation"): 1.0,
}
FASTER = 8.0  # times keras-preprocessing's flow with the same geometry, by the wall clock
PASSES = 2


def dfloader(path: str, augment: Augment | None) -> Callable[[int], object]:
    frame = pd.DataFrame({"filename": [path] * BATCH})
    spec = {"class_mode": None, "target_size": SIZE, "augment": augment}
    parsed = parse(BATCH, spec, fresh_seed=0)
    loader = prepare(resolve(frame, parsed.frame), parsed)
    rows = loader.plan.rows(0, 0)
    out = {"image": np.empty((BATCH, *SIZE, 3), np.float32)}
    return lambda epoch: loader.fill(epoch, rows, out)


def image_data_generator() -> Any:
    return ImageDataGenerator(
        rotation_range=20,
        width_shift_range=0.1,
        height_shift_range=0.1,
        zoom_range=0.2,
        shear_range=10,
        horizontal_flip=True,
    )


def generator(path: str) -> Callable[[int], object]:
    idg = image_data_generator()

    def load(_: int) -> None:
        for _ in range(BATCH):
            image = load_img(path, target_size=SIZE, interpolation="bilinear")
            idg.standardize(idg.random_transform(img_to_array(image)))

    return load


LOADERS: dict[str, Callable[[str], Callable[[int], object]]] = {
    "no augmentation": lambda path: dfloader(path, None),
    "geometry": lambda path: dfloader(path, Augment(**GEOMETRY)),
    "colour": lambda path: dfloader(path, Augment(brightness=0.4, contrast=0.4, saturation=0.4)),
    "random crop": lambda path: dfloader(path, Augment(crop_scale=(0.08, 1), flip_horizontal=True)),
    "imagenet": lambda path: dfloader(path, Augment.imagenet()),
    "ImageDataGenerator": generator,
}


def compare(rounds: int) -> None:
    image = photographs()["astronaut"]
    with tempfile.TemporaryDirectory() as folder:
        for name, encoded in ((SMALL, small_noisy(image)), (LARGE, large(image))):
            path = Path(folder) / f"{len(encoded)}.jpg"
            path.write_bytes(encoded)
            loads = {loader: make(str(path)) for loader, make in LOADERS.items()}
            times: dict[str, list[float]] = {loader: [] for loader in loads}
            for epoch in range(rounds + 1):
                for loader, load in loads.items():
                    began = time.process_time()
                    load(epoch)
                    times[loader].append((time.process_time() - began) / BATCH * 1000)
            # The first round warms up.
            report(name, {loader: statistics.median(t[1:]) for loader, t in times.items()})


def report(file: str, times: dict[str, float]) -> None:
    print(f"\n| {file} | ms | times no augmentation |\n|---|---|---|")
    for name, milliseconds in times.items():
        ratio = milliseconds / times["no augmentation"]
        print(f"| {name} | {milliseconds:.2f} | {ratio:.2f} |")
    for (where, one, other), most in GOALS.items():
        if where == file:
            ratio = times[one] / times[other]
            verdict = "reached" if ratio <= most else "missed"
            print(f"\n{one} takes {ratio:.2f} of {other}; goal at most {most:.3g}: {verdict}")


def ours(df: pd.DataFrame, **said: Any) -> Callable[[], int]:
    from dfloader import DataFrameSequence

    augment = Augment(**GEOMETRY)
    seq = DataFrameSequence(df, 32, target_size=SIZE, augment=augment, workers=2, **said)
    return lambda: sum(len(x) for x, _ in seq)


def tf_data(df: pd.DataFrame) -> Callable[[], int]:
    from dfloader import to_tf_dataset

    ds = to_tf_dataset(df, 32, target_size=SIZE, augment=Augment(**GEOMETRY))
    return lambda: sum(len(x) for x, _ in ds)


def keras_preprocessing(df: pd.DataFrame) -> Callable[[], int]:
    flow = image_data_generator().flow_from_dataframe(
        df, target_size=SIZE, interpolation="bilinear", validate_filenames=False
    )
    return lambda: sum(len(next(flow)[0]) for _ in range(len(flow)))


FLOWS: dict[str, Callable[[pd.DataFrame], Callable[[], int]]] = {
    "dfloader, two threads": ours,
    "dfloader, two processes": lambda df: ours(df, use_multiprocessing=True),
    "dfloader, tf.data": tf_data,
    "keras-preprocessing": keras_preprocessing,
}


def rate(name: str, path: str, images: int) -> float:
    """Give the images a second of one loader, after a pass that is not timed."""
    once = FLOWS[name](
        pd.DataFrame({"filename": [path] * images, "class": ["a", "b"] * (images // 2)})
    )
    once()
    began = time.perf_counter()
    return sum(once() for _ in range(PASSES)) / (time.perf_counter() - began)


def compare_flows(rounds: int, images: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "photo.jpg"
        path.write_bytes(small_noisy(photographs()["astronaut"]))
        rates: dict[str, list[float]] = {name: [] for name in FLOWS}
        for _ in range(rounds):
            for name, found in rates.items():
                command = [sys.executable, __file__, "--flow", name, str(path), str(images)]
                environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
                done = subprocess.run(
                    command, env=environment, check=True, capture_output=True, text=True
                )
                found.append(json.loads(done.stdout.splitlines()[-1]))
    medians = {name: statistics.median(found) for name, found in rates.items()}
    print(f"\n| {SMALL}, geometry | images/s | times keras-preprocessing |\n|---|---|---|")
    for name, value in medians.items():
        print(f"| {name} | {value:,.0f} | {value / medians['keras-preprocessing']:.1f} |")
    best = max(medians.values()) / medians["keras-preprocessing"]
    verdict = "reached" if best >= FASTER else "missed"
    print(f"\nThe best is {best:.1f} times as fast; goal {FASTER:g}: {verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--images", type=int, default=512)
    parser.add_argument("--flow", nargs=3, help=argparse.SUPPRESS)
    said = parser.parse_args()
    cv2.setNumThreads(1)
    warnings.filterwarnings("ignore", message="Please import .affine_transform.")
    if said.flow:
        print(json.dumps(rate(said.flow[0], said.flow[1], int(said.flow[2]))))
        return
    compare(said.rounds)
    compare_flows(min(said.rounds, 3), said.images)


if __name__ == "__main__":
    main()
