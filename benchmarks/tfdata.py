"""Speed of `to_tf_dataset` against the pipeline that TensorFlow's guide teaches, beside the goals.

    python benchmarks/tfdata.py [--rounds 3] [--epochs 4] [--only 500x375]

Whole epochs by the wall clock, from asking for an iterator until it is gone. TensorFlow's autotuner
ends an epoch only when its own sleep is over (0.31, 0.63, 1.27, 2.55 ... seconds after the start),
so that one length of epochs says little: each round has three. Every contestant runs in a process
of its own; rounds take turns, so that a machine that slows down slows all of them; the table shows
medians. CPU milliseconds are the steadier measure on a machine that does other things.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
from pictures import large, photographs, small_noisy

SIZE = (224, 224)
BATCH = 32
CROP = (0.08, 1.0)
MEMORY_EPOCHS = 20
MEMORY_GOAL = 1.05  # resident after all epochs, by that after the fourth part of them

# what is measured: (set, contestant, against, factor), in images a second.
GOALS = [
    ("500x375", "dfloader", "guide", 1.05),
    ("12 megapixels", "dfloader", "guide", 2.2),
    ("12 megapixels", "dfloader, crop", "guide, crop", 1.8),
]
EPOCHS = {"500x375": (1024, 1448, 2048), "12 megapixels": (64, 91, 128)}
CONTESTANTS = {
    "500x375": ["dfloader", "guide", "dfloader, uint8", "guide, uint8"],
    "12 megapixels": ["dfloader", "guide", "dfloader, crop", "guide, crop"],
}


def ours(paths: list[str], **spec: Any) -> Any:
    from dfloader import to_tf_dataset

    frame = pd.DataFrame({"filename": paths, "class": [i % 10 for i in range(len(paths))]})
    return to_tf_dataset(frame, BATCH, target_size=SIZE, seed=0, validate=False, **spec)


def ours_crop(paths: list[str]) -> Any:
    from dfloader import Augment

    return ours(paths, augment=Augment(crop_scale=CROP))


def guide(paths: list[str], *, crop: bool = False, dtype: str = "float32") -> Any:
    """Build what https://www.tensorflow.org/guide/data and its image tutorial teach."""
    import tensorflow as tf

    def parse(path: Any, label: Any) -> Any:
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        if crop:
            begin, size, _ = tf.image.sample_distorted_bounding_box(
                tf.shape(image), tf.zeros((1, 0, 4)), area_range=CROP, min_object_covered=0.0,
                use_image_if_no_bounding_boxes=True,
            )  # fmt: skip
            image = tf.slice(image, begin, size)
        image = tf.image.resize(image, SIZE)
        return (tf.cast(tf.round(image), dtype) if dtype == "uint8" else image), label

    labels = tf.one_hot([i % 10 for i in range(len(paths))], 10)
    ds = tf.data.Dataset.from_tensor_slices((paths, labels)).shuffle(len(paths))
    ds = ds.map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    return ds.batch(BATCH).prefetch(tf.data.AUTOTUNE)


BUILD: dict[str, Callable[[list[str]], Any]] = {
    "dfloader": ours,
    "dfloader, uint8": lambda paths: ours(paths, dtype="uint8"),
    "dfloader, crop": ours_crop,
    "guide": guide,
    "guide, uint8": lambda paths: guide(paths, dtype="uint8"),
    "guide, crop": lambda paths: guide(paths, crop=True),
}


def measure(name: str, paths: list[str], epochs: int) -> dict[str, float]:
    """Read whole epochs, after one to warm up.

    Returns:
        Images a second, CPU milliseconds and page faults an image, megabytes resident.
    """
    ds = BUILD[name](paths)
    walls, cpus, faults = [], [], []
    for _ in range(epochs + 1):
        before, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        count = sum(len(x) for x, _ in ds)
        walls.append(time.perf_counter() - wall)
        after = resource.getrusage(resource.RUSAGE_SELF)
        cpus.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        faults.append(after.ru_minflt - before.ru_minflt)
        assert count == len(paths)
    n = len(paths)
    return {
        "images/s": n / statistics.median(walls[1:]),
        "CPU ms": 1000 * statistics.median(cpus[1:]) / n,
        "faults": statistics.median(faults[1:]) / n,
    }


def memory(paths: list[str]) -> list[float]:
    """Give the megabytes resident after each of many epochs."""
    ds, found = ours(paths), []
    for _ in range(MEMORY_EPOCHS):
        for _ in ds:
            pass
        found.append(psutil.Process().memory_info().rss / 2**20)
    return found


def child(job: str, paths: list[str], epochs: int) -> Any:
    """Run a job in a process of its own."""
    command = [sys.executable, __file__, "--job", job, "--epochs", str(epochs)]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        command, input=json.dumps(paths), capture_output=True, text=True, env=environment
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def write(folder: Path, name: str) -> list[str]:
    """Write the pictures of a set; a file is named more than once where there are more rows."""
    make = large if name == "12 megapixels" else small_noisy
    files = []
    for photo, pixels in photographs().items():
        files.append(folder / f"{name.replace(' ', '_')}_{photo}.jpg")
        files[-1].write_bytes(make(pixels))
    return [str(files[i % len(files)]) for i in range(max(EPOCHS[name]))]


def report(name: str, rounds: dict[str, list[dict[str, float]]]) -> None:
    medians = {
        contestant: {key: statistics.median(r[key] for r in found) for key in found[0]}
        for contestant, found in rounds.items()
    }
    print(
        f"\n{name}, epochs of {EPOCHS[name]} images, batches of {BATCH}, to {SIZE[0]} x {SIZE[1]}"
    )
    print(pd.DataFrame(medians).T.round(2).to_string())
    for set_, one, other, factor in GOALS:
        if set_ == name:
            got = [a["images/s"] / b["images/s"] for a, b in zip(rounds[one], rounds[other])]  # noqa: B905
            ratio = statistics.median(got)
            cpu = medians[other]["CPU ms"] / medians[one]["CPU ms"]
            told = "met" if ratio >= factor else "missed"
            spread = f"{min(got):.2f} to {max(got):.2f}"
            print(f"{one} / {other}: {ratio:.2f} ({spread}), CPU {cpu:.2f}; goal {factor}: {told}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--only", choices=EPOCHS)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.job:
        paths = json.load(sys.stdin)
        found = memory(paths) if said.job == "memory" else measure(said.job, paths, said.epochs)
        print(json.dumps(found))
        return
    load = os.getloadavg()[0]
    print(f"{len(os.sched_getaffinity(0))} cores, load {load:.1f}; all but idle: trust CPU ratios")
    with tempfile.TemporaryDirectory() as folder:
        for name in [said.only] if said.only else list(EPOCHS):
            paths = write(Path(folder), name)
            rounds: dict[str, list[dict[str, float]]] = {c: [] for c in CONTESTANTS[name]}
            for count in EPOCHS[name] * said.rounds:
                for contestant, found in rounds.items():
                    found.append(child(contestant, paths[:count], said.epochs))
            report(name, rounds)
        after = child("memory", write(Path(folder), "500x375"), 0)
    early = after[MEMORY_EPOCHS // 4]
    told = "met" if after[-1] <= MEMORY_GOAL * early else "missed"
    print(
        f"\nresident after {MEMORY_EPOCHS // 4} epochs {early:.0f} MB, after {MEMORY_EPOCHS} "
        f"{after[-1]:.0f} MB: {after[-1] / early:.3f}; goal {MEMORY_GOAL}: {told}"
    )


if __name__ == "__main__":
    main()
