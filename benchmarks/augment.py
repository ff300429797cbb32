"""What augmentation costs: from a file to its 224 x 224 slot in a batch, float32, on one thread.

    python benchmarks/augment.py [--rounds 7]

CPU time of one image, as the machine may be busy: rounds interleaved, medians, each goal a ratio
within the run. The geometry is flips, rotation, shift, zoom and shear.
"""

import argparse
import statistics
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
    (SMALL, "geometry", "ImageDataGenerator"): 1 / 8,
    (SMALL, "geometry", "no augmentation"): 1.6,
    (LARGE, "random crop", "no augmentation"): 1.0,
}


def dfloader(path: str, augment: Augment | None) -> Callable[[int], object]:
    frame = pd.DataFrame({"filename": [path] * BATCH})
    spec = {"class_mode": None, "target_size": SIZE, "augment": augment}
    parsed = parse(BATCH, spec, fresh_seed=0)
    loader = prepare(resolve(frame, parsed.frame), parsed)
    rows = loader.plan.rows(0, 0)
    out = {"image": np.empty((BATCH, *SIZE, 3), np.float32)}
    return lambda epoch: loader.fill(epoch, rows, out)


def generator(path: str) -> Callable[[int], object]:
    idg = ImageDataGenerator(
        rotation_range=20,
        width_shift_range=0.1,
        height_shift_range=0.1,
        zoom_range=0.2,
        shear_range=10,
        horizontal_flip=True,
    )

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


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=7)
    cv2.setNumThreads(1)
    warnings.filterwarnings("ignore", message="Please import .affine_transform.")
    compare(arguments.parse_args().rounds)
