"""From a file to its slot in a batch, on one thread: decode and resize to 224 x 224, uint8.

    python benchmarks/decode.py [--rounds 7]

CPU time of one image, as the machine may be busy: each measurement in a process of its own, rounds
interleaved, medians. Goals are ratios within a run. The last column is the largest amount of memory
that one more image allocates, beyond the content of its file.
"""

import argparse
import io
import json
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import simplejpeg
from PIL import Image

SIZE = (224, 224)
SECONDS = 1.0
BATCH = 8
FILES = ("500 x 375", "12 megapixels")

# (file, loader, against): how many times faster, at least.
GOALS = {
    ("500 x 375", "dfloader", "simplejpeg + cv2.resize"): 0.9,
    ("12 megapixels", "dfloader", "Pillow"): 3.5,
}

Load = Callable[[], object]


def dfloader(path: str, **said: str) -> Load:
    import pandas as pd

    from dfloader.batch import prepare
    from dfloader.frame import resolve
    from dfloader.spec import parse

    frame = pd.DataFrame({"filename": [path] * BATCH})
    spec = {"class_mode": None, "target_size": SIZE, "dtype": "uint8", "shuffle": False, **said}
    parsed = parse(BATCH, spec, fresh_seed=0)
    loader = prepare(resolve(frame, parsed.frame), parsed)
    rows = loader.plan.rows(0, 0)
    out = {"image": np.empty((BATCH, *SIZE, 3), parsed.image.dtype)}

    def load() -> None:
        loader.fill(0, rows, out)

    return load


def bare(path: str) -> Load:
    header = simplejpeg.decode_jpeg_header(Path(path).read_bytes())
    pixels = np.empty((*header[:2], 3), np.uint8)
    out = np.empty((*SIZE, 3), np.uint8)

    def load() -> None:
        for _ in range(BATCH):
            with open(path, "rb") as file:  # noqa: PTH123
                simplejpeg.decode_jpeg(file.read(), "RGB", buffer=pixels)
            cv2.resize(pixels, SIZE[::-1], dst=out, interpolation=cv2.INTER_LINEAR)

    return load


def pillow(path: str) -> Load:
    out = np.empty((*SIZE, 3), np.uint8)

    def load() -> None:
        for _ in range(BATCH):
            with Image.open(io.BytesIO(Path(path).read_bytes())) as image:
                resized = image.convert("RGB").resize(SIZE[::-1], Image.Resampling.BILINEAR)
            out[...] = np.asarray(resized)

    return load


LOADERS: dict[str, Callable[[str], Load]] = {
    "dfloader": dfloader,
    "dfloader, float32": lambda path: dfloader(path, dtype="float32"),
    "dfloader, area": lambda path: dfloader(path, interpolation="area"),
    "dfloader, full decode": lambda path: dfloader(path, decode="full"),
    "simplejpeg + cv2.resize": bare,
    "Pillow": pillow,
}


def measure(name: str, path: str) -> tuple[float, int]:
    """Give milliseconds of CPU an image, and bytes allocated beyond the file's."""
    cv2.setNumThreads(1)
    load = LOADERS[name](path)
    load()
    times: list[float] = []
    while sum(times) < SECONDS:
        began = time.process_time()
        load()
        times.append(time.process_time() - began)
    milliseconds = statistics.median(times) / BATCH * 1000
    tracemalloc.start()
    load()
    peak = tracemalloc.get_traced_memory()[1] - Path(path).stat().st_size
    return milliseconds, max(peak, 0)


def in_a_process(name: str, path: Path) -> tuple[float, int]:
    command = [sys.executable, __file__, "--one", name, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    milliseconds, peak = json.loads(done.stdout.splitlines()[-1])
    return milliseconds, peak


def compare(rounds: int) -> None:
    from pictures import large, photographs, small_noisy

    image = photographs()["astronaut"]
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / f"{i}.jpg" for i, name in enumerate(FILES)}
        paths[FILES[0]].write_bytes(small_noisy(image))
        paths[FILES[1]].write_bytes(large(image))
        for file, path in paths.items():
            results: dict[str, list[tuple[float, int]]] = {name: [] for name in LOADERS}
            for _ in range(rounds):
                for name in LOADERS:
                    results[name].append(in_a_process(name, path))
            report(file, path.stat().st_size, results)


def report(file: str, size: int, results: dict[str, list[tuple[float, int]]]) -> None:
    times = {name: statistics.median(ms for ms, _ in found) for name, found in results.items()}
    print(f"\n| {file}, {size / 1000:.0f} kB | ms | times Pillow's speed | kB allocated |")
    print("|---|---|---|---|")
    for name, found in results.items():
        peak = max(bytes_ for _, bytes_ in found) / 1000
        print(f"| {name} | {times[name]:.2f} | {times['Pillow'] / times[name]:.1f} | {peak:.0f} |")
    for (where, name, against), goal in GOALS.items():
        if where == file:
            ratio = times[against] / times[name]
            print(
                f"\n{'met' if ratio >= goal else 'MISSED'}: {ratio:.2f} of the speed of {against}"
                f" (goal: {goal})"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--one", nargs=2, metavar=("LOADER", "FILE"))
    said = parser.parse_args()
    if said.one is None:
        compare(said.rounds)
    else:
        print(json.dumps(measure(*said.one)))


if __name__ == "__main__":
    main()
