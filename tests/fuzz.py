"""Mutated copies of the sample files through `check(decode=True)`: every run ends in a report.

    python tests/fuzz.py --count 10000 --seed 0

Bytes are flipped, cut out and repeated. The copies are checked, and loaded with on_error="skip", in
child processes, a few hundred in each, so that a crash, a hang or a greedy decoder is seen from
outside, and its files kept.
"""

import argparse
import io
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import imagecodecs
import numpy as np
import pandas as pd
import tifffile
from PIL import Image

AWKWARD = Path(__file__).parent.parent / "sample_data" / "awkward"
CHUNK = 250
SECONDS_PER_FILE = 0.5  # on average, far more than any takes
MEBIBYTES = 2048  # of resident memory, a decoder's own and the pixels of the largest picture

Mutation = Callable[[np.random.Generator, bytearray], None]


def flip(rng: np.random.Generator, data: bytearray) -> None:
    """Change some bytes, with a liking for the header."""
    for _ in range(rng.integers(1, 9)):
        end = len(data) if rng.random() < 0.5 else min(len(data), 256)
        data[rng.integers(end)] = int(rng.integers(256))


def spread(rng: np.random.Generator, data: bytearray) -> None:
    """Write the extremes of a number that is 1, 2 or 4 bytes long."""
    value = rng.choice([b"\0", b"\xff", b"\0\0", b"\xff\xff", b"\x7f\xff\xff\xff", b"\xff" * 4])
    at = int(rng.integers(min(len(data), 256)))
    data[at : at + len(value)] = value


def cut(rng: np.random.Generator, data: bytearray) -> None:
    """Take the end away."""
    del data[rng.integers(1, len(data) + 1) :]


def remove(rng: np.random.Generator, data: bytearray) -> None:
    """Take a piece out of the middle."""
    start = rng.integers(len(data))
    del data[start : start + rng.integers(1, 65)]


def repeat(rng: np.random.Generator, data: bytearray) -> None:
    """Say a piece twice."""
    start = rng.integers(len(data))
    piece = data[start : start + rng.integers(1, 257)]
    data[start:start] = piece


MUTATIONS: list[Mutation] = [flip, flip, spread, cut, remove, repeat]


def seeds() -> list[bytes]:
    """Give the sample files, and formats that are not among them."""
    files = [path.read_bytes() for path in sorted(AWKWARD.iterdir()) if path.suffix != ".md"]
    image = np.asarray(Image.open(AWKWARD / "plain.bmp"))
    picture = Image.fromarray(image)
    for form in ("TIFF", "GIF", "PPM", "TGA", "PCX", "JPEG2000", "ICO", "WEBP", "AVIF", "SGI"):
        file = io.BytesIO()
        picture.save(file, form)
        files.append(file.getvalue())
    for options in (
        {"compression": "lzw", "predictor": True},
        {"compression": "deflate"},
        {"compression": "jpeg"},
        {"compression": "jpeg2000"},
        {"compression": "webp"},
        {"compression": "zstd"},
        {"compression": "packbits"},
        {"tile": (16, 16)},
        {"planarconfig": "separate"},
    ):
        file = io.BytesIO()
        pixels = np.moveaxis(image, 2, 0) if "planarconfig" in options else image
        tifffile.imwrite(file, pixels, photometric="rgb", **options)
        files.append(file.getvalue())
    for compression in ("group4", "tiff_lzw"):
        file = io.BytesIO()
        picture.convert("1" if compression == "group4" else "CMYK").save(
            file, "TIFF", compression=compression
        )
        files.append(file.getvalue())
    file = io.BytesIO()
    np.save(file, image)
    files.append(file.getvalue())
    files.append(imagecodecs.png_encode(image.astype(np.uint16) * 257))
    files.append(imagecodecs.jpeg8_encode(image[..., 0].astype(np.uint16), bitspersample=12))
    return [data for data in files if data]


def mutants(count: int, seed: int) -> Iterator[bytes]:
    """Give `count` mutated copies, the same for the same seed."""
    rng = np.random.default_rng(seed)
    sources = seeds()
    for i in range(count):
        data = bytearray(sources[i % len(sources)])
        for _ in range(rng.integers(1, 4)):
            if data:
                MUTATIONS[rng.integers(len(MUTATIONS))](rng, data)
        yield bytes(data)


def check_folder(folder: Path) -> None:
    """Check the files of a folder, in a process of its own, and print what came of it."""
    from dfloader.batch import prepare
    from dfloader.checks import check
    from dfloader.frame import resolve
    from dfloader.spec import parse

    frame = pd.DataFrame({"filename": sorted(str(path) for path in folder.iterdir())})
    report = check(frame, decode=True)
    keywords = {"class_mode": None, "shuffle": False, "on_error": "skip", "target_size": (48, 48)}
    said = parse(len(frame), keywords, fresh_seed=0)
    failures = prepare(resolve(frame, said.frame), said).loaded(0, 0).failures
    # A loader wants up to four channels, so it may find fault with more; with less, never.
    assert set(report["row"]) <= {row for error in failures for row in error.rows}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(len(frame), len(report), peak)


def run(count: int, seed: int, folder: Path) -> int:
    """Check mutated copies in `folder`; give the number of chunks that did not end in a report."""
    bad, checked, broken, peak, began = 0, 0, 0, 0, time.monotonic()
    for number, start in enumerate(range(0, count, CHUNK)):
        chunk = folder / f"{number:04}"
        chunk.mkdir()
        size = min(CHUNK, count - start)
        for i, data in enumerate(mutants(size, seed * 1_000_003 + number)):
            (chunk / f"{i:04}").write_bytes(data)
        said = _in_a_process(chunk, SECONDS_PER_FILE * size + 60)
        if said is None or said[2] > MEBIBYTES:
            bad += 1
            print(f"chunk {number}: {'no report' if said is None else f'{said[2]} MiB'}: {chunk}")
            continue
        checked, broken, peak = checked + said[0], broken + said[1], max(peak, said[2])
        for path in chunk.iterdir():
            path.unlink()
    seconds = time.monotonic() - began
    print(
        f"{checked} copies, {broken} found broken, {peak} MiB at most, {seconds:.0f} s; {bad} bad"
    )
    return bad


def _in_a_process(chunk: Path, seconds: float) -> list[int] | None:
    command = [sys.executable, "-W", "ignore", __file__, "--folder", str(chunk)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        print(f"{chunk}: no end after {seconds:.0f} s")
        return None
    if done.returncode != 0:
        print(f"{chunk}: status {done.returncode}\n{done.stderr[-2000:]}")
        return None
    return [int(number) for number in done.stdout.split()[-3:]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="check the files of this folder and no more")
    said = parser.parse_args()
    if said.folder is not None:
        check_folder(said.folder)
        return
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    sys.exit(1 if run(said.count, said.seed, folder) else 0)


if __name__ == "__main__":
    main()
