"""Callables that worker processes can import."""

import random
from typing import Any

import numpy as np
import numpy.typing as npt

Image = npt.NDArray[Any]


def flipped(image: Image) -> Image:
    return image[:, ::-1]


def darker(image: Image) -> Image:
    return image * 0.5


def noisy(image: Image, rng: np.random.Generator) -> Image:
    return image + rng.uniform(0, 100, (1, 1, 1)).astype(image.dtype)


def noisy_keyword(image: Image, amount: float = 1.0, *, rng: Any = None) -> Image:
    return image + rng.uniform(0, amount)


def global_noise(image: Image) -> Image:
    return image * 0 + np.float32(np.random.rand() + random.random())  # noqa: NPY002


def wrong_shape(image: Image) -> Image:
    return image[:-1]


def failing(image: Image) -> Image:
    if image.mean() < 1e9:
        raise KeyError("no such thing")
    return image


class Turned:
    """Called as Albumentations is, with a state of its own that can be seeded."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng()

    def set_random_seed(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def __call__(self, *args: Any, force_apply: bool = False, **data: Any) -> dict[str, Any]:
        turns = int(self.rng.integers(4))
        return {name: np.ascontiguousarray(np.rot90(part, turns)) for name, part in data.items()}


def dicom_like(path: str) -> Image:
    """Read what no decoder knows: 12 bytes of our own, then 16 x 12 pixels."""
    with open(path, "rb") as file:  # noqa: PTH123
        return np.frombuffer(file.read()[12:], np.uint8).reshape(16, 12)
