"""How near a resized photograph comes to Pillow's antialiased bicubic of the full picture.

    python benchmarks/quality.py

Peak signal-to-noise ratio in decibels, the mean over scikit-image's photographs as JPEG of
500 x 375 and of 12 megapixels, to 224 x 224. Goals: `area` at least 44; the default (bilinear) no
worse than Keras' own at 500 x 375, and at least 6 better at 12 megapixels.
"""

import io
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from pictures import large, photographs, small
from PIL import Image

from dfloader.decode import decode, probe
from dfloader.render import render
from dfloader.spec import ImageSpec
from dfloader.view import see

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import tensorflow as tf

SIZE = (224, 224)
AREA_GOAL, GAIN_GOAL = 44.0, 6.0

Pixels = npt.NDArray[Any]


def ours(data: bytes, **said: Any) -> Pixels:
    """Load as a batch does."""
    spec = ImageSpec(target_size=SIZE, **said)
    header = probe(data)
    placement = see(*header.size(), spec, scaled=header.scalable).placement
    out = np.empty((*SIZE, 3), np.float32)
    render(decode(data, spec, header, scale=placement.scale), spec, out, placement=placement)
    return out


def keras(data: bytes, method: str = "bilinear") -> Pixels:
    """Load as `image_dataset_from_directory` does."""
    image = tf.io.decode_image(data, channels=3, expand_animations=False)
    return tf.image.resize(image, SIZE, method=method).numpy()


def pillow(data: bytes, resampling: Image.Resampling) -> Pixels:
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.resize(SIZE[::-1], resampling), np.float32)


DEFAULT, AREA, KERAS = (
    "dfloader, default (bilinear, scaled decode)",
    "dfloader, area",
    "Keras, bilinear (its default)",
)
METHODS: Mapping[str, Callable[[bytes], Pixels]] = {
    DEFAULT: ours,
    AREA: lambda data: ours(data, interpolation="area"),
    "dfloader, bicubic": lambda data: ours(data, interpolation="bicubic"),
    "dfloader, lanczos": lambda data: ours(data, interpolation="lanczos"),
    "dfloader, nearest": lambda data: ours(data, interpolation="nearest"),
    "dfloader, bilinear, full decode": lambda data: ours(data, decode="full"),
    "dfloader, area, full decode": lambda data: ours(data, interpolation="area", decode="full"),
    KERAS: keras,
    "Keras, nearest": lambda data: keras(data, "nearest"),
    "Pillow, bilinear (antialiased)": lambda data: pillow(data, Image.Resampling.BILINEAR),
}


def psnr(image: Pixels, reference: Pixels) -> float:
    return float(10 * np.log10(255**2 / np.mean((image - reference) ** 2)))


def measure(pictures: list[bytes]) -> dict[str, float]:
    references = [pillow(data, Image.Resampling.BICUBIC) for data in pictures]
    return {
        name: float(
            np.mean([psnr(load(data), ref) for data, ref in zip(pictures, references, strict=True)])
        )
        for name, load in METHODS.items()
    }


def main() -> None:
    pictures = photographs().values()
    near = measure([small(image) for image in pictures])
    far = measure([large(image) for image in pictures])
    print("| against Pillow's antialiased bicubic, dB | 500 x 375 | 12 megapixels |\n|---|---|---|")
    for name in METHODS:
        print(f"| {name} | {near[name]:.1f} | {far[name]:.1f} |")
    goals = {
        f"area at least {AREA_GOAL:.0f} dB": min(near[AREA], far[AREA]) >= AREA_GOAL,
        "default no worse than Keras at 500 x 375": near[DEFAULT] >= near[KERAS],
        f"default {GAIN_GOAL:.0f} dB better at 12 megapixels": far[DEFAULT] - far[KERAS]
        >= GAIN_GOAL,
    }
    print("\n" + "\n".join(f"{'met' if met else 'MISSED'}: {goal}" for goal, met in goals.items()))


if __name__ == "__main__":
    main()
