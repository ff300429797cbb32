"""An ImageDataGenerator as a pure function of an image and a generator. Imports NumPy only.

keras-preprocessing's, tf_keras' and Keras' are one code: parameters are drawn from NumPy's global
state and then applied. Here they are drawn from the row's own generator, by the same rules.
"""

import copy
from typing import Any

import numpy as np
import numpy.typing as npt

Image = npt.NDArray[Any]

_GEOMETRY = ("theta", "tx", "ty", "shear", "zx", "zy", "flip_horizontal", "flip_vertical")


def call_image_data_generator(
    idg: Any, image: Image, mask: Image | None, rng: np.random.Generator
) -> tuple[Any, Any]:
    """Transform and standardise one image, and move its mask alike.

    Args:
        idg: of any of the packages.
        image: (h, w, c), which may be changed in place.
        mask: (h, w, 1); nearest, 0 outside.
        rng: the row's generator.
    """
    drawn = _drawn(idg, image.shape, rng)
    if mask is not None:
        nearest = copy.copy(idg)
        nearest.interpolation_order, nearest.fill_mode, nearest.cval = 0, "constant", 0
        mask = nearest.apply_transform(mask, {name: drawn[name] for name in _GEOMETRY})
    return idg.standardize(idg.apply_transform(image, drawn)), mask


def _drawn(idg: Any, shape: tuple[int, ...], rng: np.random.Generator) -> dict[str, Any]:
    """Draw what ``idg.get_random_transform`` draws, which takes it from NumPy's global state."""
    low, high = idg.zoom_range
    zoom = (1.0, 1.0) if low == high == 1 else rng.uniform(low, high, 2)
    shift = idg.channel_shift_range
    brightness = idg.brightness_range
    return {
        "theta": rng.uniform(-1, 1) * idg.rotation_range,
        "tx": _shift(idg.height_shift_range, shape[0], rng),
        "ty": _shift(idg.width_shift_range, shape[1], rng),
        "shear": rng.uniform(-1, 1) * idg.shear_range,
        "zx": float(zoom[0]),
        "zy": float(zoom[1]),
        "flip_horizontal": bool(rng.random() < 0.5) and idg.horizontal_flip,
        "flip_vertical": bool(rng.random() < 0.5) and idg.vertical_flip,
        "channel_shift_intensity": rng.uniform(-shift, shift) if shift else None,
        "brightness": rng.uniform(*brightness) if brightness is not None else None,
    }


def _shift(limits: Any, side: int, rng: np.random.Generator) -> float:
    """Draw a shift in pixels from a fraction, a whole number of pixels, or a list of shifts."""
    if isinstance(limits, (list, tuple, np.ndarray)) or (isinstance(limits, int) and limits > 0):
        drawn = float(rng.choice(limits) * rng.choice([-1, 1]))
    else:
        drawn = float(rng.uniform(-limits, limits))
    return drawn * side if np.max(limits) < 1 else drawn
